"""EC2's refusals are reported with what to do about them, on a separate line."""
import csv
import pytest
from program import ROOT, spec

ERRORS = ROOT / 'providers/aws/errors.csv'


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    return home


def words(text):
    return ' '.join(text.split())


def test_every_code_has_a_hint():
    with open(ERRORS, newline='', encoding='utf-8') as f:
        rows = list(csv.DictReader(f))
    assert len(rows) > 100 and len({r['code'] for r in rows}) == len(rows)
    for row in rows:
        assert row['hint'] and None not in row, row
        assert '"' not in row['hint'] and not row['hint'].endswith('.'), row


@pytest.mark.parametrize('code, hint', [
    ('VcpuLimitExceeded', 'hint: ask for a higher quota: Running On-Demand instances of this family in Service Quotas'),
    ('InsufficientInstanceCapacity', 'hint: name other zones or another instance type or try again later; '
                                     'the created resources are kept and recorded'),
])
def test_a_refused_launch_says_what_to_do(sim, home, code, hint):
    sim.fault(action='RunInstances', when='before', status=400, code=code, message='No more for you.',
              count=1000)
    said = home.apply(code=None)
    assert said.code in (3, 8), said
    assert hint in words(said.err), said
    assert f'{code}: No more for you. [' in words(said.err), 'the message is EC2\'s own: ' + said.err
    assert 'No more for you. (' not in words(said.err + said.out)


def test_an_expired_request_need_not_be_an_expired_token(sim, home):
    """Keys of a user, which never expire, can be meant as well."""
    sim.fault(action='DescribeVpcs', when='before', status=400, code='RequestExpired', message='Request has expired.', count=0)
    said = words(home.run('plan', code=7).err)
    assert 'hint: if the credentials are temporary they have expired: get new ones; else check what delays requests' in said, said


def test_a_group_that_others_use_is_explained(sim, home):
    home.apply()
    sim.fault(action='DeleteSecurityGroup', when='before', status=400, code='OperationNotPermitted',
              message='Not this one.')
    said = home.run('destroy', 'cluster.yaml', '--auto-approve', code=None)
    assert said.code == 3 and 'hint: turn termination protection off first' in words(said.err), said


def test_a_fault_of_ec2_is_no_refusal(sim, home):
    sim.fault(action='DescribeVpcs', when='before', status=500, code='InternalError', message='An internal error.',
              count=100)
    said = home.run('plan', 'cluster.yaml', code=1)
    assert 'EC2 failed in DescribeVpcs (InternalError): An internal error.' in words(said.err), said
    assert 'hint: a fault of EC2: run it again' in words(said.err), said
    sim.faults_clear()
    sim.fault(action='DescribeVpcs', when='before', status=403, code='UnauthorizedOperation', message='You may not.')
    said = home.run('plan', 'cluster.yaml', code=7)
    assert 'EC2 refused DescribeVpcs (UnauthorizedOperation): You may not.' in words(said.err), said

"""What a cloud reports in advance about a plan's creations (providers/template: GET /v1/check)."""
import os

import pytest
from report_schemas import validator
from template_cloud import Cloud
from test_template import ThirdHome, changes, installed, modules, spec  # pylint: disable=unused-import


@pytest.fixture
def cloud():
    with Cloud() as cloud:
        yield cloud


@pytest.fixture
def home(tmp_path, cloud, modules):     # pylint: disable=redefined-outer-name
    home = ThirdHome(tmp_path, cloud, modules)
    home.write('cluster.yaml', spec(cloud))
    return home


def asked(cloud):
    """How often the three sizes of the spec were checked."""
    n = len([path for _, path in cloud.requests if path.startswith('/v1/check?')])
    assert n % 3 == 0
    return n / 3


def test_a_quota_that_is_too_small_ends_the_plan_under_the_line_of_the_pool(home, cloud):
    cloud.quota = {'left': {'gpu.small': 2}}
    said = home.run('plan', 'cluster.yaml', '--out', 'plan.json', code=8)
    assert '4 more gpu.small are needed, the quota allows 2' in said.err and '[provider.quota]' in said.err
    assert 'cluster.yaml:8:' in said.err and '  small: {accelerators: "T4:1", nodes: 4}' in said.err and '^' in said.err
    assert 'ask for a higher quota, or make the pool smaller' in said.err
    assert 'Planning failed: see the errors. Nothing will be applied.' in said.out
    assert not os.path.exists(home.path('plan.json')), 'what has errors is not saved'
    report = home.run('plan', 'cluster.yaml', '--format', 'json', code=8).json()
    finding, = [d for d in report['diagnostics'] if d['code'] == 'provider.quota']
    assert finding['range']['start']['line'] == 8 and report['errored']
    validator('plan.schema.json').validate(report)
    assert home.apply(code=8).err.count('[provider.quota]') == 1 and not changes(cloud)
    home.write('cluster.yaml', spec(cloud, small=2))
    home.apply()
    assert len(cloud.live()) == 4


def test_a_missing_permission_ends_with_7(home, cloud):
    cloud.quota = {'denied': {'gpu.huge': 'this key may not create gpu.huge'}}
    said = home.apply(code=7)
    assert 'this key may not create gpu.huge' in said.err and 'cluster.yaml:7:' in said.err and not changes(cloud)


def test_it_can_be_left_out(home, cloud):
    cloud.quota = {'denied': {'gpu.huge': 'this key may not create gpu.huge'}}
    home.run('plan', 'cluster.yaml', '--skip-preflight')
    home.apply('cluster.yaml', '--skip-preflight')
    assert not asked(cloud) and len(cloud.live()) == 6


def test_a_warning_does_not_end_anything_and_it_is_asked_once_a_command(home, cloud):
    cloud.quota = {'notes': {'cpu.large': 'cpu.large is scarce in a1'}}
    assert 'cpu.large is scarce in a1' in home.run('plan', 'cluster.yaml').err
    assert asked(cloud) == 1
    said = home.apply()
    assert 'Warning: cpu.large is scarce in a1' in said.err and asked(cloud) == 2
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.run('drift', 'cluster.yaml')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert asked(cloud) == 2, 'nothing was to be created'


def test_a_saved_plan_is_checked_again_before_it_is_applied(home, cloud):
    home.run('plan', 'cluster.yaml', '--out', 'plan.json')
    cloud.quota = {'left': {'gpu.small': 3}}
    said = home.run('apply', 'plan.json', code=8)
    assert 'the quota allows 3' in said.err and 'cluster.yaml:8' in said.err and not changes(cloud)
    home.run('apply', 'plan.json', '--skip-preflight')
    assert len(cloud.live()) == 6


def test_a_check_that_fails_is_a_warning(home, cloud):
    cloud.quota = None
    said = home.apply()
    assert 'quota and permissions could not be checked beforehand' in said.err and '[plan.unchecked]' in said.err
    assert 'this key may not see the quota' in said.err and len(cloud.live()) == 6


def test_what_it_says_is_in_the_stream_of_apply(home, cloud):
    cloud.quota = {'left': {'gpu.small': 1}}
    told = home.apply('cluster.yaml', '--json', code=8).told()
    assert 'provider.quota' in [d['code'] for d in told] and not changes(cloud)

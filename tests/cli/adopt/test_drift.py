"""What `raygpu drift` reports if something keeps it from seeing everything, or if the spec requests what is not
allowed: only the drift that was seen."""
import pytest
from program import spec
from sim_server import tags_of


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 1}, pool_extra=', protect: true'))
    home.apply()
    return home


def end(sim, pool):
    node = [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == pool][0]
    sim.ok('TerminateInstances', {'InstanceId.1': node['instanceId']})


def test_what_could_not_be_read_hides_no_drift_of_what_could(sim, home):
    end(sim, 'serve')
    sim.fault(action='DescribeSecurityGroups', when='before', status=403, code='UnauthorizedOperation', count=0)
    report = home.run('drift', 'cluster.yaml', '--no-settle', '--format', 'json', code=7).json()
    assert [(d['address'], d['type']) for d in report['drift']] == [('aws.instance.serve[0]', 'missing')]
    assert report['unread'] == 1
    end(sim, 'head')
    report = home.run('drift', '--cluster', 'research', '--no-settle', '--format', 'json', code=7).json()
    assert [d['address'] for d in report['drift']] == ['aws.instance.head', 'aws.instance.serve[0]']


def test_what_the_spec_may_not_have_is_no_matter_of_drift(sim, home):
    home.write('cluster.yaml', spec(pools={'train': 2}, extra='budget: {hourly_usd: 0.5}\n'))
    assert home.run('plan', 'cluster.yaml', '--no-settle', code=None).code in (1, 9)
    assert home.run('drift', 'cluster.yaml', '--no-settle').out.startswith('No drift.')
    end(sim, 'serve')
    report = home.run('drift', 'cluster.yaml', '--no-settle', '--format', 'json', code=2).json()
    assert [d['address'] for d in report['drift']] == ['aws.instance.serve[0]']

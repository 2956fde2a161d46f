"""`raygpu logs`: what a node printed on its console, over EC2's GetConsoleOutput."""
import pytest
from program import spec

POOL = 'aws.instance.serve'


@pytest.fixture
def cluster(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


def test_logs_prints_the_console_and_the_state(cluster, sim):
    sim.knobs(node_faults=[{'how': 'retry', 'type': 'g4dn*', 'count': 1, 'step': 'pull', 'reason': "can't pull x"}])
    cluster.apply('cluster.yaml', '--no-wait')
    sim.counters_reset()
    bad, good = cluster.run('logs', POOL + '[0]'), cluster.run('logs', POOL + '[1]')
    assert bad.err.endswith("): failed and tries again at step pull: can't pull x\n")
    assert "raygpu: can't pull x; trying again\n" in bad.out and '\r' not in bad.out
    assert good.err.startswith(POOL + '[1] (i-') and good.err.endswith('): joined Ray\n')
    document = cluster.run('logs', 'aws.instance.head', '--json').json()
    assert (document['state'], document['gpus'], document['driver']) == ('joined', 0, None)
    assert ' nodes boot=' in document['console']
    assert sim.counters()['mutating'] == 0
    assert sim.counters()['actions']['GetConsoleOutput']['requests'] == 3


@pytest.mark.parametrize('how,step,said', [
    ('fail', 'gpus', 'failed at step gpus: it does not work'),
    ('hang', 'pull', 'pulling, step pull'),
    ('silent', 'docker', 'its start script has not reported anything yet'),
])
def test_a_broken_node_says_where_it_is(how, step, said, cluster, sim):
    sim.knobs(node_faults=[{'how': how, 'type': 'g4dn*', 'step': step}])
    cluster.apply('cluster.yaml', '--no-wait')
    assert said in cluster.run('logs', POOL + '[0]').err


def test_a_type_without_the_newest_output_shows_the_older_one(home, sim):
    home.write('raygpu.yaml', 'catalog: {instance_types: {aws: {p3.2xlarge: '
               '{vcpus: 8, memory: 61GiB, accelerators: V100-16GB:1}}}}\n')
    home.write('cluster.yaml', spec(pools={'old': ('V100-16GB:1', 1)}))
    home.apply('cluster.yaml', '--no-wait')
    sim.counters_reset()
    assert 'v1 booted' in home.run('logs', 'aws.instance.old[0]').out
    assert sim.counters()['actions']['GetConsoleOutput'] == {'requests': 2, 'errors': 1, 'injected': 0}


@pytest.mark.parametrize('address,said', [
    ('aws.security_group.nodes', 'aws.security_group.nodes is not a node'),
    (POOL + '[7]', 'the state has no resource aws.instance.serve[7]'),
    ('serve', 'serve is a pool: name one of its nodes, such as aws.instance.serve[0]'),
])
def test_only_nodes_have_a_console(address, said, cluster):
    cluster.apply()
    assert said in ' '.join(cluster.run('logs', address, code=4).err.split())


def test_a_node_that_is_gone_is_an_error(cluster, sim):
    cluster.apply()
    sim.knobs(terminated_ms=0)
    node, = [i for i in sim.live_instances() if i['instanceType'] == 'm5.2xlarge']
    sim.ok('TerminateInstances', {'InstanceId.1': node['instanceId']})
    result = cluster.run('logs', 'aws.instance.head', code=1)
    assert 'cannot read the console of aws.instance.head: ' in result.err and node['instanceId'] in result.err

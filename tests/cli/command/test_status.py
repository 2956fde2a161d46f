"""status: by pool what is required, what runs and what Ray has of it."""
import os
import re
import time

import pytest
from program import spec
from report_schemas import validator
from sim_server import show_console


def status(home, *arguments, code=0):
    """The documents of the clusters."""
    document = home.run('status', '--json', *arguments, code=code).json()
    validator('status.schema.json').validate(document)
    return document['clusters']


def pools(cluster):
    return {row['pool']: tuple(row[key] for key in ('desired', 'running', 'joined', 'gpus', 'gpus_in_ray')) for row in cluster['pools']}


@pytest.fixture
def applied(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 3, 'train': 2}))
    home.apply()
    sim.counters_reset()
    return home


def test_a_healthy_cluster(applied, sim):
    cluster, = status(applied, '--detailed-exitcode')
    assert cluster['healthy'] is True and not cluster['findings'] and cluster['to_apply'] == {'add': 0, 'change': 0, 'destroy': 0}
    assert pools(cluster) == {'head': (1, 1, 1, 0, 0), 'serve': (3, 3, 3, 3, 3), 'train': (2, 2, 2, 2, 2)}
    assert cluster['pools'][1]['drivers'] == ['550.90.07'] and cluster['last_change']['command'] == 'apply'
    counters = sim.counters()
    assert counters['mutating'] == 0 and counters['actions']['GetConsoleOutput']['requests'] == 1
    out = applied.run('status').out
    assert out.startswith('research: healthy. 6 nodes running, 6 in Ray.\n')
    assert re.search(r'^serve +3 +3 +3 +3 +3  g4dn.xlarge  550.90.07$', out, re.MULTILINE)
    assert 'Last change: apply by ' in out and max(map(len, out.split('\n'))) <= 80


def test_a_node_that_is_gone(applied, sim):
    gone = re.search(r'\bid += "(i-\w+)"', applied.run('state', 'show', 'aws.instance.serve[2]').out)[1]
    sim.ok('TerminateInstances', {'InstanceId.1': gone})
    cluster, = status(applied)
    assert cluster['healthy'] is False and pools(cluster)['serve'] == (3, 2, 2, 3, 2)
    assert [finding['text'] for finding in cluster['findings']] == ['aws.instance.serve[2] has been deleted']
    assert cluster['to_apply'] == {'add': 1, 'change': 0, 'destroy': 0}
    out = ' '.join(applied.run('status', '--detailed-exitcode', code=2).out.split())
    assert 'research: not healthy. 5 nodes running, 5 in Ray.' in out
    assert 'An apply would add 1, change 0 and destroy 0 resources: `raygpu plan` lists them.' in out


def test_what_ray_waits_for(applied, sim):
    """As the head of a real cluster reports it; what is not of that form is left out."""
    now = int(time.time())

    def edit(text):
        boot = re.findall(r'v1 nodes (boot=\w+) ', text)[-1]
        return text + f'raygpu: v1 demand {boot} step=ray at={now} requests=44 groups=1 shapes="40xCPU:0.5,3xCPU:1+GPU:8,x,7,1xGPU" end\n'
    show_console(sim, edit)
    cluster, = status(applied)
    assert cluster['demand'] == {'at_s': now, 'requests': 44, 'groups': 1, 'shapes': [
        {'count': 40, 'resources': {'CPU': 0.5}}, {'count': 3, 'resources': {'CPU': 1.0, 'GPU': 8.0}}]}
    out = ' '.join(applied.run('status').out.split())
    assert '44 tasks and actors wait for resources: 40 x {CPU: 0.5}, 3 x {CPU: 1, GPU: 8}. 1 placement group waits for resources.' in out


def test_a_spec_that_was_not_applied_yet_requires_more(applied):
    applied.write('cluster.yaml', spec(pools={'serve': 4, 'train': 2}))
    cluster, = status(applied)
    assert pools(cluster)['serve'] == (4, 3, 3, 3, 3) and cluster['healthy'] is False and not cluster['findings']
    assert cluster['to_apply']['add'] == 1


def test_nodes_that_join_late_are_named(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    sim.knobs(node_faults=[{'how': 'hang', 'type': 'g4dn*', 'step': 'gpus'}])
    home.apply('cluster.yaml', '--no-wait')
    cluster, = status(home, '--detailed-exitcode', code=2)
    assert cluster['healthy'] is False and not cluster['findings']
    assert 'serve: 2 of 3 nodes may still join Ray.' in home.run('status').out


def test_nodes_that_join_are_not_healthy_yet(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    sim.knobs(join_ms=600000)
    home.apply('cluster.yaml', '--no-wait')
    cluster, = status(home)
    assert cluster['healthy'] is None and pools(cluster)['serve'] == (1, 1, None, 1, None) and cluster['members_s'] is None
    out = home.run('status', '--detailed-exitcode', code=2).out
    assert out.startswith('research: unknown. 2 nodes running.\n') and 'Which nodes are members of Ray is not known.' in out


def test_without_a_spec(applied):
    os.remove(applied.path('cluster.yaml'))
    cluster, = status(applied, '--cluster', 'research')
    assert cluster['healthy'] is True and pools(cluster)['train'] == (2, 2, 2, 2, 2)


def test_one_that_fails_does_not_stop_the_others(applied):
    applied.write('another.yaml', spec('another', pools={'serve': 1}).replace('T4:1', 'T4:1000'))
    done = applied.run('status', 'another.yaml', 'cluster.yaml', '--json', code=4)
    assert [cluster['cluster'] for cluster in done.json()['clusters']] == ['research']
    assert 'another.yaml' in done.err
    out = applied.run('status', 'another.yaml', 'cluster.yaml', code=4).out
    assert out.startswith('research: healthy.')


def test_a_cluster_that_was_never_applied(home):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    assert 'cluster research was never applied' in home.run('status', code=4).err


def test_what_may_not_be_read_is_an_error(applied, sim):
    sim.fault(action='DescribeInstances', status=403, code='UnauthorizedOperation', message='no', count=0)
    assert applied.run('status', code=7).out == ''

"""kill -9 at the requests of an apply and at their answers: the next apply completes it, with one cluster and one token.

The default run samples the instants, --long (RAYGPU_LONG) takes all of them; RAYGPU_KILL_STEP overrides it."""
import os
import signal

import pytest
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay
from kueue import Kueue
from mig import CONFIG, STATE
from test_kube_nodes import SLICES, a100, cut, labels, manager, marks  # noqa: F401  pylint: disable=unused-import

LONG = os.environ.get('RAYGPU_LONG')
STEP = int(os.environ.get('RAYGPU_KILL_STEP', '1' if LONG else '12'))


def killed(cluster, home, when, number, command='apply'):
    """False: the command ended before its request of that number."""
    running = []

    def kill(request):
        del request
        running[0].send_signal(signal.SIGKILL)
        running[0].wait()

    cluster.requests.clear()
    cluster.rules.clear()
    cluster.rule(skip=number, match=lambda request: running and 'host' in request.headers, **{when: kill})
    running.append(home.start(command, 'cluster.yaml', '--auto-approve'))
    running[0].communicate(timeout=120)
    cluster.rules.clear()
    return running[0].returncode == -signal.SIGKILL


def check(cluster, home):
    """The next runs complete it, and nothing remains."""
    home.apply()
    [ray] = cluster.list('RayCluster', 'ml')
    assert [group['groupName'] for group in ray['spec']['workerGroupSpecs']] == ['train', 'serve']
    assert len(cluster.list('Secret', 'ml')) == 1
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert cluster.list('RayCluster', 'ml') == [] and cluster.list('Secret', 'ml') == []


@pytest.mark.parametrize('when', ['before', 'after'])
def test_at_each_request(cluster, world, home, when):
    home.write('cluster.yaml', spec({'train': 2, 'serve': 1}))
    kills = number = 0
    while killed(cluster, home, when, number):
        kills += 1
        number += STEP
        check(cluster, home)
    assert kills


@pytest.mark.parametrize('when', ['before', 'after'] if LONG else ['after'])
def test_at_each_request_of_an_update(cluster, world, home, when):
    """A changed template, a larger pool and a new one; then back, which the next kill interrupts in turn."""
    versions = spec({'train': 2, 'serve': 1}), spec({'train': 3, 'serve': 1, 'more': 1}, env={'serve': 'A: b'})
    home.write('cluster.yaml', versions[0])
    home.apply()
    kills = number = 0
    while True:
        kills += 1
        home.write('cluster.yaml', versions[kills % 2])
        if not killed(cluster, home, when, number):
            break
        number += STEP
        home.apply()
        [ray] = cluster.list('RayCluster', 'ml')
        assert [(group['groupName'], group['replicas']) for group in ray['spec']['workerGroupSpecs']] == [
            [('train', 2), ('serve', 1)], [('train', 3), ('serve', 1), ('more', 1)]][kills % 2]
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        world.settle()
        home.run('drift', 'cluster.yaml')
    assert kills > 1


@pytest.mark.parametrize('when', ['before', 'after'] if LONG else ['before'])
def test_at_each_request_of_a_disabled_pool(cluster, world, home, when):
    """It goes and comes back, and the head stays; the next kill interrupts the way back in turn."""
    on = spec({'train': 2, 'serve': ('T4:1', '{min: 1, max: 2}')})
    versions = on, on.replace('serve: {', 'serve: {enabled: false, ')
    home.write('cluster.yaml', on)
    home.apply()
    [head] = cluster.list('Pod', 'ml', 'ray.io/group=headgroup')
    kills = number = 0
    while True:
        kills += 1
        home.write('cluster.yaml', versions[kills % 2])
        if not killed(cluster, home, when, number):
            break
        number += STEP
        home.apply()
        world.settle()
        [ray] = cluster.list('RayCluster', 'ml')
        assert [group['groupName'] for group in ray['spec']['workerGroupSpecs']] == [['train', 'serve'], ['train']][kills % 2]
        assert [one['metadata']['uid'] for one in cluster.list('Pod', 'ml', 'ray.io/group=headgroup')] == [head['metadata']['uid']]
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    assert kills > 1


QUEUE = 'queue: {name: team, cluster_queue: all, quotas: {cpu: 100, memory: 500Gi, gpus: {T4: 8}}, priority: {name: research, value: 7}}'
KINDS = {'RayCluster': 1, 'Secret': 1, 'RayJob': 1, 'LocalQueue': 1, 'ClusterQueue': 1, 'ResourceFlavor': 2, 'WorkloadPriorityClass': 1}


@pytest.mark.skipif(not LONG, reason='a minute: only with --long')
@pytest.mark.parametrize('when', ['before', 'after'])
def test_at_each_request_with_a_queue(queues, nodes, home, when):
    """Also Kueue's objects and a job are there once after the next apply, and none after destroy."""
    home.write('cluster.yaml', spec({'train': 2}, provider=QUEUE, extra='jobs: {one: {entrypoint: python one.py}}\n'))
    kills = number = 0
    with Controllers(queues, nodes, KubeRay(), Kueue()) as world:
        while killed(queues, home, when, number):
            kills += 1
            number += STEP
            home.apply()
            world.settle()
            assert {kind: len(queues.list(kind)) for kind in KINDS} == KINDS
            home.run('plan', 'cluster.yaml', '--detailed-exitcode')
            home.run('destroy', 'cluster.yaml', '--auto-approve')
            assert {kind: len(queues.list(kind)) for kind in KINDS} == dict.fromkeys(KINDS, 0)
    assert kills


def test_while_it_waits_for_pods(cluster, nodes, home):
    """The RayCluster is there with its groups, and only the cluster is recorded."""
    home.write('cluster.yaml', spec({'train': 2, 'serve': 1}))
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    while not [one for one in cluster.requests if one.verb == 'list' and one.resource == 'pods' and cluster.list('RayCluster', 'ml')]:
        assert process.poll() is None
    process.kill()
    process.communicate()
    said = home.run('plan', 'cluster.yaml', code=None)
    assert 'diff.conflict' not in said.out + said.err and 'Plan:' in said.out, said
    with Controllers(cluster, nodes, KubeRay()):
        check(cluster, home)


@pytest.mark.parametrize('when', ['created', 'waiting'])
def test_a_pool_that_the_spec_drops_after_a_kill(cluster, nodes, home, when):
    """Its group came with the RayCluster and has no record: the next plan removes it, with its pods."""
    home.write('cluster.yaml', spec({'train': 2, 'serve': 1}))
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    while not (cluster.list('RayCluster', 'ml') if when == 'created' else cluster.counts().get('list pods')):
        assert process.poll() is None
    process.kill()
    process.communicate()
    cluster.patch('RayCluster', [{'op': 'add', 'path': '/spec/workerGroupSpecs/-', 'value': {
        'groupName': 'theirs', 'template': {'spec': {'containers': [{'name': 'ray', 'image': 'x'}]}}}}], 'ml', 'research')
    with Controllers(cluster, nodes, KubeRay()) as world:
        world.settle()
        home.write('cluster.yaml', spec({'train': 2}))
        out = home.run('plan', 'cluster.yaml').out
        assert 'kubernetes.worker_group.serve will be destroyed' in out and 'kubernetes.worker_group.theirs will' not in out, out
        home.run('plan', 'cluster.yaml', '--out', 'saved')
        uid = cluster.get('RayCluster', 'ml', 'research')['metadata']['uid']
        home.run('apply', 'saved')
        assert cluster.get('RayCluster', 'ml', 'research')['metadata']['uid'] == uid
        assert [group['groupName'] for group in cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs']] == ['train', 'theirs']
        assert cluster.list('Pod', 'ml', 'ray.io/group=serve') == []
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def check_nodes(cluster, profile):
    """Nodes of ours are as the spec has them, and no other node has a label or mark of ours."""
    for name in ('a-1', 'a-2', 'b-1', 'cpu'):
        ours = bool(profile) and name.startswith('a-')
        assert labels(cluster, name).get(CONFIG) == f'all-{profile}' if ours else bool(marks(cluster, name)) == ours, name
        assert not ours or labels(cluster, name)[STATE] == 'success' and marks(cluster, name) == marks(cluster, 'a-1') != [], name
    assert CONFIG not in labels(cluster, 'b-1') and CONFIG not in labels(cluster, 'cpu')


def uncut(cluster, manager):  # noqa: F811
    """The nodes as they were before any apply."""
    for name in ('a-1', 'a-2'):
        cluster.patch('Node', {'metadata': {'labels': {CONFIG: None, STATE: None}}}, None, name)
    manager.settle()


@pytest.mark.parametrize('killing, when', [('first', 'before'), ('changed', 'after'), ('dropped', 'before'), ('destroy', 'after')] + (
    [('first', 'after'), ('changed', 'before'), ('dropped', 'after'), ('destroy', 'before')] if LONG else []))
def test_at_each_request_of_managed_nodes(cluster, manager, home, killing, when):  # noqa: F811
    """Nodes that are cut for the first time and again, and given back: the next run completes it, whatever it was."""
    kills = number = 0
    while True:
        uncut(cluster, manager)
        home.write('cluster.yaml', cut())
        if killing != 'first':
            home.apply()
        if killing == 'changed':
            home.write('cluster.yaml', cut(profile='2g.10gb'))
        if killing == 'dropped':
            home.write('cluster.yaml', cut().replace('manage_nodes: true', 'manage_nodes: false'))
        if not killed(cluster, home, when, number, 'destroy' if killing == 'destroy' else 'apply'):
            break
        kills += 1
        number += STEP
        if killing != 'destroy':
            home.apply()
            check_nodes(cluster, {'first': '1g.5gb', 'changed': '2g.10gb', 'dropped': None}[killing])
            home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        home.run('destroy', 'cluster.yaml', '--auto-approve')
        check_nodes(cluster, None)
        assert cluster.list('RayCluster', 'ml') == []
    assert kills

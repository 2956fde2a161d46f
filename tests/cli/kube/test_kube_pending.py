"""Pods that do not start: apply says why in the cluster's own words, waits for what will pass, and for nothing else."""
import threading

import pytest
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay
from nodes import Nodes, gpu_node, pod_condition


def words(result):
    return ' '.join((result.out + result.err).split())


def apply(home, *more, pools=None, code=None, provider=''):
    home.write('cluster.yaml', spec(pools or {'train': 2}, provider=provider))
    return home.apply('cluster.yaml', *more, code=code)


class Autoscaler:
    """Of nodes: says what it does about each pod without a node."""

    def __init__(self, reason, message):
        self.reason, self.message, self.told = reason, message, set()

    def step(self, cluster):
        for pod in cluster.list('Pod', 'ml'):
            name = pod['metadata']['name']
            if not pod['spec'].get('nodeName') and name not in self.told and pod.get('status', {}).get('conditions'):
                self.told.add(name)
                cluster.event('Pod', 'ml', name, 'NotTriggerScaleUp', 'pod didn\'t trigger scale-up: 1 in backoff after failed scale-up')
                cluster.event('Pod', 'ml', name, self.reason, self.message, at='2026-01-01T00:00:30Z')


class Waiting(Nodes):
    """Containers that wait for a reason."""

    def __init__(self, reason, message='', restarts=0):
        super().__init__()
        self.state, self.restarts = {'waiting': {'reason': reason, 'message': message}}, restarts

    def start(self, cluster, pod):
        if pod['metadata']['labels']['ray.io/node-type'] == 'head':
            super().start(cluster, pod)
            return
        one = {'name': 'ray-worker', 'image': 'x', 'imageID': '', 'ready': False, 'restartCount': self.restarts, 'state': self.state}
        if self.restarts:
            one['lastState'] = {'terminated': {'exitCode': 1, 'reason': 'Error'}}
        self.tell(cluster, pod, {'phase': 'Pending', 'containerStatuses': [one], 'conditions': [pod_condition('PodScheduled', True, '')]})


def test_no_node_has_room(cluster, world, home):
    """Without an autoscaler: capacity, with the scheduler's text. The pods stay, and the next apply takes them."""
    result = apply(home, pools={'train': ('T4:4', 3)}, code=3)
    assert 'of 3 pods are ready' in words(result) and ': 0/3 nodes are available: 2 Insufficient nvidia.com/gpu, 1 node(s)' in words(result), result
    assert '[provider.capacity]' in result.err and 'cluster.yaml:7' in result.err
    home.run('plan', 'cluster.yaml')
    gpu_node(cluster, 'gpu-3', 'Tesla-T4', 4)
    world.settle()
    home.apply()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_an_autoscaler_adds_nodes(cluster, nodes, home):
    """They are waited for, whatever it said before."""
    scaler = Autoscaler('TriggeredScaleUp', 'pod triggered scale-up: [{gpu 2->3 (max: 3)}]')

    def add(request):
        if scaler.told and b'TriggeredScaleUp' in request.answer and not cluster.get('Node', None, 'added'):
            gpu_node(cluster, 'added', 'Tesla-T4', 4)

    cluster.rule(verb='list', resource='events', times=None, after=add)
    with Controllers(cluster, nodes, KubeRay(), scaler):
        apply(home, pools={'train': ('T4:4', 3)}, provider='scheduling_timeout_s: 600')
    assert cluster.get('Node', None, 'added')


def test_an_autoscaler_adds_none(cluster, nodes, home):
    """Its reason is in the error too; a time-out of the user does not change its mind."""
    scaler = Autoscaler('NotTriggerScaleUp', 'pod didn\'t trigger scale-up: 1 max node group size reached')
    with Controllers(cluster, nodes, KubeRay(), scaler):
        result = apply(home, pools={'train': ('T4:4', 3)}, provider='scheduling_timeout_s: 3600', code=3)
    assert 'max node group size reached' in words(result) and 'Insufficient nvidia.com/gpu' in words(result), result


def test_events_may_be_hidden(cluster, world, home):
    cluster.denied.add(('list', 'events'))
    assert 'Insufficient nvidia.com/gpu' in words(apply(home, pools={'train': ('T4:4', 3)}, code=3))


def test_the_operator_refuses(cluster, home):
    """KubeRay writes an event, no status, and makes no pods."""
    cluster.event('RayCluster', 'ml', 'research', 'InvalidRayClusterSpec', 'spec.networkPolicy requires the RayClusterNetworkPolicy feature gate')
    result = apply(home, provider='network_policy: DenyAllIngress', code=3)
    assert 'KubeRay refuses it: spec.networkPolicy requires the RayClusterNetworkPolicy feature gate' in words(result), result


def test_no_wait(cluster, home):
    """Nobody makes pods here: the RayCluster is all that is waited for."""
    apply(home, '--no-wait')
    assert cluster.counts(writes=True) == {'create secrets': 1, 'create rayclusters': 1} and not cluster.list('Pod', 'ml')


@pytest.mark.parametrize('reason, restarts, said', [
    ('CrashLoopBackOff', 6, 'container ray-worker ended with status 1 (Error), 6 times'),
    ('InvalidImageName', 0, 'image x cannot be pulled'),
])
def test_containers_that_do_not_start(cluster, reason, restarts, said, home):
    gpu_node(cluster, 'cpu', 'Tesla-T4', 8)
    with Controllers(cluster, Waiting(reason, restarts=restarts), KubeRay()):
        result = apply(home, code=3)
    assert said in words(result) and reason in words(result), result


def test_logs(cluster, world, home):
    """Of the head's pod; of a group, each pod's under its name."""
    apply(home)
    [head] = cluster.list('Pod', 'ml', 'ray.io/node-type=head')
    workers = [pod['metadata']['name'] for pod in cluster.list('Pod', 'ml', 'ray.io/group=train')]
    cluster.logs[('ml', head['metadata']['name'])] = 'Ray runtime started.\n'
    cluster.logs[('ml', workers[0])] = 'first\n' + 'line\n' * 20000 + 'the last line'
    assert 'Ray runtime started.' in home.run('logs', 'kubernetes.ray_cluster.research').out
    result = home.run('logs', 'kubernetes.worker_group.train')
    assert [line for line in result.out.splitlines() if line.startswith('==>')] == [f'==> {name} <==' for name in workers]
    assert 'the last line' in result.out and 'first' not in result.out and len(result.out) < 70000 and not result.err
    [query] = [one.query for one in cluster.requests if one.subresource == 'log' and one.name == head['metadata']['name']]
    assert query == {'container': 'ray-head', 'tailLines': '1000'}
    cluster.denied.add(('get', 'pods/log'))
    assert 'no log: ' in home.run('logs', 'kubernetes.ray_cluster.research').out


class Mounting(Waiting):
    """The kubelet says in an event which volume it cannot mount, until `fixed` is set."""

    def __init__(self, message, fixed=None):
        super().__init__('ContainerCreating')
        self.message, self.fixed, self.told = message, fixed, set()

    def start(self, cluster, pod):
        if self.fixed and self.fixed.is_set():
            Nodes.start(self, cluster, pod)
            return
        super().start(cluster, pod)
        name = pod['metadata']['name']
        if pod['metadata']['labels']['ray.io/node-type'] != 'head' and name not in self.told:
            self.told.add(name)
            cluster.event('Pod', 'ml', name, 'Scheduled', 'assigned to a node')
            cluster.event('Pod', 'ml', name, 'FailedMount', self.message, at='2026-01-01T00:00:30Z')


def test_a_volume_that_cannot_be_mounted(cluster, nodes, home):
    """A missing secret is final; the event has its name."""
    with Controllers(cluster, Mounting('MountVolume.SetUp failed for volume "keys" : secret "ssh-keys" not found'), KubeRay()):
        result = apply(home, code=3)
    assert 'MountVolume.SetUp failed for volume "keys" : secret "ssh-keys" not found' in words(result) and '0 of 2 pods are ready' in words(result), result
    assert '[provider.invalid]' in result.err and 'FailedMount' in result.err


def test_a_volume_that_is_mounted_later(cluster, nodes, home):
    """It is waited for, and the reason is shown with the progress."""
    fixed = threading.Event()

    def mount(request):
        if b'FailedMount' in request.answer and not fixed.is_set():
            fixed.set()
            cluster.wake()

    cluster.rule(verb='list', resource='events', times=None, after=mount)
    with Controllers(cluster, Mounting('Unable to attach or mount volumes: timed out waiting for the condition', fixed), KubeRay()):
        apply(home)
    assert fixed.is_set()

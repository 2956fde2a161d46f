"""The controllers do what raygpu's tests rely on; what they write is what the published schemas allow."""
import copy
import json

import pytest
from autoscaler import Autoscaler
from controllers import Controllers
from kuberay import KubeRay
from kueue import Kueue
from nodes import Nodes, gpu_node
from test_manifests import CLUSTER

T4 = 'Tesla-T4'


def ray_cluster(name='research', replicas=2, gpus=1, queue=None, priority=None, **group):
    """A head without GPUs and one group of workers."""
    pod = {'spec': {'containers': [{'name': 'ray', 'image': 'rayproject/ray:2.56.1', 'resources': {'limits': {'cpu': '1'}}}]}}
    worker = copy.deepcopy(pod)
    worker['spec']['containers'][0]['resources']['limits']['nvidia.com/gpu'] = str(gpus)
    labels = {'kueue.x-k8s.io/queue-name': queue} if queue else {}
    if priority:
        labels['kueue.x-k8s.io/priority-class'] = priority
    one = copy.deepcopy(CLUSTER)
    one['metadata'].update(name=name, labels=labels)
    one['spec'] = {'rayVersion': '2.56.1', 'headGroupSpec': {'rayStartParams': {}, 'template': pod}, 'workerGroupSpecs': [
        {'groupName': 'train', 'replicas': replicas, 'minReplicas': 0, 'maxReplicas': 100, 'rayStartParams': {}, 'template': worker, **group}]}
    return one


def make(cluster, document):
    """As a client: with admission."""
    path = '/apis/ray.io/v1/namespaces/ml/rayclusters'
    code, _, text = cluster.serve(cluster.new_request('POST', path, json.dumps(document).encode()))
    return code, json.loads(text)


@pytest.fixture
def world(queues):
    cluster = queues
    gpu_node(cluster, 'cpu')
    gpu_node(cluster, 'gpu', T4, 4)
    cluster.nodes = Nodes()
    cluster.kueue = Kueue()
    with Controllers(cluster, cluster.nodes, KubeRay(), cluster.kueue) as running:
        yield running


def groups_of(cluster):
    found = {}
    for pod in cluster.list('Pod', 'ml'):
        key = pod['metadata']['labels']['ray.io/group'], pod.get('status', {}).get('phase')
        found[key] = found.get(key, 0) + 1
    return found


def test_pods_follow_the_groups(cluster, world):
    assert make(cluster, ray_cluster())[0] == 201
    world.settle()
    assert groups_of(cluster) == {('headgroup', 'Running'): 1, ('train', 'Running'): 2}
    status = cluster.get('RayCluster', 'ml', 'research')['status']
    assert status['state'] == 'ready' and status['readyWorkerReplicas'] == 2 and status['head']['podIP']
    Autoscaler(cluster, 'ml', 'research', 'train').write(3)
    world.settle()
    pods = [pod['metadata']['name'] for pod in cluster.list('Pod', 'ml', 'ray.io/group=train')]
    assert len(pods) == 3
    autoscaler = Autoscaler(cluster, 'ml', 'research', 'train')
    autoscaler.write(2, workers_to_delete=[pods[0]])
    assert autoscaler.written == [2], autoscaler.refused
    world.settle()
    assert pods[0] not in [pod['metadata']['name'] for pod in cluster.list('Pod', 'ml', 'ray.io/group=train')]
    assert groups_of(cluster) == {('headgroup', 'Running'): 1, ('train', 'Running'): 2}
    cluster.delete('RayCluster', 'ml', 'research')
    world.settle()
    assert groups_of(cluster) == {}


def test_a_changed_template_changes_only_new_pods(cluster, world):
    make(cluster, ray_cluster())
    world.settle()
    before = {pod['metadata']['name'] for pod in cluster.list('Pod', 'ml')}
    cluster.patch('RayCluster', [{'op': 'add', 'path': '/spec/workerGroupSpecs/0/template/metadata', 'value': {'annotations': {'hash': 'new'}}}], 'ml', 'research')
    world.settle()
    assert {pod['metadata']['name'] for pod in cluster.list('Pod', 'ml')} == before
    cluster.delete('Pod', 'ml', next(name for name in before if 'train' in name))
    world.settle()
    [fresh] = [pod for pod in cluster.list('Pod', 'ml') if pod['metadata']['name'] not in before]
    assert fresh['metadata']['annotations'] == {'hash': 'new'}


def test_pods_say_why_they_do_not_run(cluster, world):
    make(cluster, ray_cluster(replicas=6))
    world.settle()
    assert groups_of(cluster) == {('headgroup', 'Running'): 1, ('train', 'Running'): 4, ('train', 'Pending'): 2}
    waiting = next(pod for pod in cluster.list('Pod', 'ml') if pod['status']['phase'] == 'Pending')
    [told] = [one for one in waiting['status']['conditions'] if one['type'] == 'PodScheduled']
    assert (told['reason'], told['message']) == ('Unschedulable', '0/2 nodes are available: 2 Insufficient nvidia.com/gpu.')
    cluster.nodes.broken_images.add('rayproject/ray:nope')
    broken = ray_cluster('other', replicas=0)
    broken['spec']['headGroupSpec']['template']['spec']['containers'][0]['image'] = 'rayproject/ray:nope'
    make(cluster, broken)
    world.settle()
    [pod] = cluster.list('Pod', 'ml', 'ray.io/cluster=other')
    assert pod['status']['containerStatuses'][0]['state']['waiting']['reason'] == 'ImagePullBackOff'


def test_quota_of_the_namespace(cluster, world):
    cluster.create('ResourceQuota', {'metadata': {'name': 'gpus'}, 'spec': {'hard': {'requests.nvidia.com/gpu': '1'}}}, 'ml')
    make(cluster, ray_cluster())
    world.settle()
    conditions = {one['type']: one for one in cluster.get('RayCluster', 'ml', 'research')['status']['conditions']}
    assert conditions['ReplicaFailure']['status'] == 'True'
    assert 'exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=1' in conditions['ReplicaFailure']['message']


# ---- Kueue

def queue(cluster, gpus, **more):
    cluster.create('ResourceFlavor', {'metadata': {'name': 't4'}, 'spec': {'nodeLabels': {'nvidia.com/gpu.product': T4}}})
    cluster.create('ResourceFlavor', {'metadata': {'name': 'cpu'}})
    cluster.create('ClusterQueue', {'metadata': {'name': 'team'}, 'spec': {'namespaceSelector': {}, 'resourceGroups': [
        {'coveredResources': ['cpu'], 'flavors': [{'name': 'cpu', 'resources': [{'name': 'cpu', 'nominalQuota': 100}]}]},
        {'coveredResources': ['nvidia.com/gpu'], 'flavors': [{'name': 't4', 'resources': [{'name': 'nvidia.com/gpu', 'nominalQuota': gpus}]}]}], **more}})
    cluster.create('LocalQueue', {'metadata': {'name': 'local'}, 'spec': {'clusterQueue': 'team'}}, 'ml')


def told(cluster, name):
    """The Workload's condition about quota."""
    [one] = [w for w in cluster.list('Workload', 'ml') if w['metadata']['ownerReferences'][0]['name'] == name]
    return next(c for c in one['status']['conditions'] if c['type'] == 'QuotaReserved')


def test_admission_is_of_all_pods_or_none(cluster, world):
    queue(cluster, gpus=4)
    code, answer = make(cluster, ray_cluster(queue='local', replicas=3))
    assert code == 201 and answer['spec']['suspend'] is True
    world.settle()
    one = cluster.get('RayCluster', 'ml', 'research')
    assert one['spec']['suspend'] is False
    assert one['spec']['workerGroupSpecs'][0]['template']['spec']['nodeSelector'] == {'nvidia.com/gpu.product': T4}
    assert groups_of(cluster) == {('headgroup', 'Running'): 1, ('train', 'Running'): 3}
    make(cluster, ray_cluster('second', queue='local', replicas=2))
    make(cluster, ray_cluster('third', queue='local', replicas=5))
    world.settle()
    assert not cluster.list('Pod', 'ml', 'ray.io/cluster=second')
    assert told(cluster, 'second')['message'] == "couldn't assign flavors to pod set train: insufficient unused quota for nvidia.com/gpu in flavor t4, 1 more needed"
    assert told(cluster, 'third')['message'] == \
        "couldn't assign flavors to pod set train: insufficient quota for nvidia.com/gpu in flavor t4, request > maximum capacity (5 > 4)"
    cluster.delete('RayCluster', 'ml', 'research')
    world.settle()
    assert len(cluster.list('Pod', 'ml', 'ray.io/cluster=second')) == 3


def test_priorities_preempt(cluster, world):
    queue(cluster, gpus=4, preemption={'withinClusterQueue': 'LowerPriority'})
    cluster.create('WorkloadPriorityClass', {'metadata': {'name': 'high'}, 'value': 1000})
    make(cluster, ray_cluster(queue='local', replicas=3))
    world.settle()
    make(cluster, ray_cluster('urgent', queue='local', replicas=4, priority='high'))
    world.settle()
    assert cluster.get('RayCluster', 'ml', 'research')['spec']['suspend'] is True
    assert cluster.get('RayCluster', 'ml', 'research')['status']['state'] == 'suspended'
    assert len(cluster.list('Pod', 'ml', 'ray.io/cluster=urgent')) == 5


def test_admission_checks(cluster, world):
    cluster.create('AdmissionCheck', {'metadata': {'name': 'capacity'}, 'spec': {'controllerName': 'kueue.x-k8s.io/provisioning-request'}})
    queue(cluster, gpus=4, admissionChecksStrategy={'admissionChecks': [{'name': 'capacity'}]})
    make(cluster, ray_cluster(queue='local'))
    world.settle()
    assert told(cluster, 'research')['status'] == 'True' and not cluster.list('Pod', 'ml')
    cluster.kueue.checks['capacity'] = 'Ready'
    world.settle()
    assert len(cluster.list('Pod', 'ml')) == 3


def test_webhook(cluster, world):
    one = ray_cluster(queue='local')
    one['spec']['enableInTreeAutoscaling'] = True
    code, answer = make(cluster, one)
    assert code == 403 and answer['message'].startswith('admission webhook "vraycluster.kb.io" denied the request: spec.enableInTreeAutoscaling')
    assert world is not None

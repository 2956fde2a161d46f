"""Clusters in Kueue's queues: they start as a whole or not at all, in the order of their priorities, and what belongs to others stays."""
import pytest
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay
from kueue import Kueue
from program import Home

SHARED = 'queue: {name: team, priority: PRIORITY}'
FLAVOR = {'nodeLabels': {'nvidia.com/gpu.product': 'Tesla-T4'}}


@pytest.fixture
def kueue():
    return Kueue()


@pytest.fixture
def operators(queues, nodes, kueue):
    with Controllers(queues, nodes, KubeRay(), kueue) as running:
        yield running


@pytest.fixture
def shared(queues):
    """A queue of the administrators with 3 GPUs, and two priorities."""
    queues.create('ResourceFlavor', {'metadata': {'name': 'all'}, 'spec': {}})
    queues.create('ClusterQueue', {'metadata': {'name': 'lab'}, 'spec': {
        'namespaceSelector': {}, 'queueingStrategy': 'StrictFIFO', 'resourceGroups': [
            {'coveredResources': ['cpu', 'memory', 'nvidia.com/gpu'], 'flavors': [{'name': 'all', 'resources': [
                {'name': 'cpu', 'nominalQuota': '100'}, {'name': 'memory', 'nominalQuota': '500Gi'},
                {'name': 'nvidia.com/gpu', 'nominalQuota': '3'}]}]}]}})
    queues.create('LocalQueue', {'metadata': {'name': 'team'}, 'spec': {'clusterQueue': 'lab'}}, 'ml')
    for name, value in (('low', 1), ('high', 100)):
        queues.create('WorkloadPriorityClass', {'metadata': {'name': name}, 'value': value})
    return queues


def said(result):
    return ' '.join((result.out + result.err).split())


def gang(name, nodes, priority='low'):
    return spec({'train': nodes}, provider=SHARED.replace('PRIORITY', priority), name=name).replace('nodes: ', 'gang: true, nodes: ')


def applied(home, name, nodes, priority='low', code=0):
    home.write(f'{name}.yaml', gang(name, nodes, priority))
    return home.run('apply', f'{name}.yaml', '--auto-approve', code=code)


def pods(cluster, name):
    return len(cluster.list('Pod', 'ml', f'ray.io/cluster={name}'))


def test_a_gang_waits_as_a_whole_until_there_is_quota(shared, operators, home):
    """One GPU is free and the gang needs three: no pod of it exists. It starts when another cluster ends."""
    assert 'waits in the queue' not in said(applied(home, 'first', 2))
    text = said(applied(home, 'second', 3, code=3))
    assert 'second waits in the queue team' in text and 'insufficient unused quota for nvidia.com/gpu' in text and '2 more needed' in text
    assert pods(shared, 'first') == 3 and pods(shared, 'second') == 0
    for command in (('plan', 'second.yaml', '--detailed-exitcode'), ('drift', 'second.yaml')):
        text = said(home.run(*command))
        assert 'second waits in the queue team' in text and 'insufficient unused quota for nvidia.com/gpu' in text, text
    home.run('destroy', 'first.yaml', '--auto-approve')
    operators.settle()
    assert pods(shared, 'first') == 0 and pods(shared, 'second') == 4
    assert 'waits in the queue' not in said(home.run('plan', 'second.yaml', '--detailed-exitcode'))
    home.run('drift', 'second.yaml')
    home.run('destroy', 'second.yaml', '--auto-approve')
    for kind, name in (('LocalQueue', 'team'), ('ClusterQueue', 'lab'), ('ResourceFlavor', 'all'), ('WorkloadPriorityClass', 'high')):
        assert shared.get(kind, 'ml', name), kind


def test_priorities_order_who_waits(shared, operators, home):
    """The later one with the higher priority starts first."""
    applied(home, 'first', 3)
    applied(home, 'patient', 3, code=3)
    applied(home, 'urgent', 3, 'high', code=3)
    assert [pods(shared, name) for name in ('first', 'patient', 'urgent')] == [4, 0, 0]
    home.run('destroy', 'first.yaml', '--auto-approve')
    operators.settle()
    assert [pods(shared, name) for name in ('patient', 'urgent')] == [0, 4]
    home.write('patient.yaml', gang('patient', 2))
    home.run('destroy', 'urgent.yaml', '--auto-approve')
    operators.settle()
    assert pods(shared, 'patient') == 4


OWN = 'queue: {name: own, cluster_queue: own, quotas: {cpu: 100, memory: 500Gi, gpus: {T4: 4}}, flavors: {T4: theirs, cpu: theirs}, ' \
      'priority: {name: research, value: 7}}'


def test_what_another_team_owns_survives_destroy(queues, operators, home):
    """The flavor is only referred to; the queues and the priority class are this cluster's."""
    theirs = queues.create('ResourceFlavor', {'metadata': {'name': 'theirs'}, 'spec': FLAVOR})
    home.write('cluster.yaml', spec({'train': 2}, provider=OWN))
    queues.requests.clear()
    home.apply()
    assert queues.counts(writes=True) == {f'create {name}': 1 for name in (
        'secrets', 'rayclusters', 'clusterqueues', 'localqueues', 'workloadpriorityclasses')}
    operators.settle()
    [queue] = queues.list('ClusterQueue')
    assert {one['name'] for group in queue['spec']['resourceGroups'] for one in group['flavors']} == {'theirs'}
    assert pods(queues, 'research') == 3
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    for kind in ('RayCluster', 'Secret', 'ClusterQueue', 'LocalQueue', 'WorkloadPriorityClass'):
        assert queues.list(kind) == [], kind
    assert queues.get('ResourceFlavor', None, 'theirs')['metadata']['uid'] == theirs['metadata']['uid']


def test_a_flavor_of_others_with_our_name_is_left_alone(queues, operators, home):
    """Its name is taken: the apply reports it, and destroy does not delete it."""
    home.write('cluster.yaml', spec({'train': 1}, provider='queue: {name: own, cluster_queue: own, quotas: {cpu: 100, memory: 500Gi, gpus: {T4: 4}}}'))
    home.apply()
    names = sorted(one['metadata']['name'] for one in queues.list('ResourceFlavor'))
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert queues.list('ResourceFlavor') == []
    theirs = queues.create('ResourceFlavor', {'metadata': {'name': names[-1]}, 'spec': FLAVOR})
    result = home.run('apply', 'cluster.yaml', '--auto-approve', code=None)
    assert result.code != 0 and 'AlreadyExists' in said(result) and 'has no ownership labels of raygpu' in said(result), result
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert [one['metadata']['uid'] for one in queues.list('ResourceFlavor')] == [theirs['metadata']['uid']]
    assert queues.list('ClusterQueue') == []


def test_nodes_are_provided_before_the_pods(queues, operators, kueue, home):
    """An AdmissionCheck with a ProvisioningRequestConfig: the cluster has quota, and waits for its nodes."""
    home.write('cluster.yaml', spec({'train': 2}, provider='queue: {name: own, quotas: {cpu: 100, memory: 500Gi, gpus: {T4: 4}}, '
                                    'provisioning: {class: queued-provisioning.gke.io, retries: 1}}'))
    result = home.run('apply', 'cluster.yaml', '--auto-approve', code=3)
    [check] = queues.list('AdmissionCheck')
    assert f'research waits in the queue own: the admission check {check["metadata"]["name"]} is Pending' in said(result), result
    assert pods(queues, 'research') == 0
    kueue.checks[check['metadata']['name']] = 'Ready'
    operators.settle()
    assert pods(queues, 'research') == 3
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    for kind in ('AdmissionCheck', 'ProvisioningRequestConfig', 'ClusterQueue', 'LocalQueue', 'ResourceFlavor', 'RayCluster'):
        assert queues.list(kind) == [], kind


def test_two_namespaces_share_a_cluster_queue(queues, operators, home, tmp_path):
    """The second cluster names the ClusterQueue of the first, and only adds its LocalQueue."""
    home.write('cluster.yaml', spec({'train': 1}, provider='queue: {name: own, cluster_queue: all, quotas: {cpu: 100, memory: 500Gi, gpus: {T4: 2}}}'))
    home.apply()
    (tmp_path / 'other').mkdir()
    other = Home(tmp_path / 'other', home.env)
    queues.namespace('vision')
    other.write('cluster.yaml', spec({'train': 1}, provider='queue: {name: guests, cluster_queue: all}', name='vision').replace(
        'namespace: ml', 'namespace: vision'))
    other.apply()
    operators.settle()
    assert len(queues.list('Pod', 'vision')) == 2
    other.run('destroy', 'cluster.yaml', '--auto-approve')
    assert len(queues.list('ClusterQueue')) == 1 and queues.list('LocalQueue', 'vision') == []
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')

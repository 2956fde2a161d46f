"""Nodes: MIG slices that raygpu has the GPU Operator make, and what drift says of the labels of nodes."""
import pytest
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay
from mig import CONFIG, STATE, MigManager
from nodes import Nodes, gpu_node

SLICES = 'manage_nodes: true'
TEAM = 'provider: {node_selector: {team: vision}}'


def words(text):
    return ' '.join(text.split())


def cut(nodes=2, provider=SLICES, profile='1g.5gb'):
    return spec({'cut': ('A100-40GB:2', nodes)}, provider=provider).replace(f'nodes: {nodes}}}', f'nodes: {nodes}, share: {{mig: {profile}}}, {TEAM}}}')


def labels(cluster, name):
    return cluster.get('Node', None, name)['metadata']['labels']


def marks(cluster, name):
    meta = cluster.get('Node', None, name)['metadata']
    return sorted(key for part in ('labels', 'annotations') for key in meta.get(part, {}) if key.startswith('raygpu.io/'))


@pytest.fixture
def a100(cluster):
    """Two nodes with two A100 each, which are the team's, and one of others."""
    gpu_node(cluster, 'cpu')
    for name, team in (('a-1', 'vision'), ('a-2', 'vision'), ('b-1', 'speech')):
        gpu_node(cluster, name, 'NVIDIA-A100-SXM4-40GB', 2, labels={'team': team})


@pytest.fixture
def manager(cluster, a100, request):
    """The MIG manager, KubeRay and the kubelets."""
    del a100
    with Controllers(cluster, Nodes(), KubeRay(), MigManager(**getattr(request, 'param', {}))) as running:
        yield running


@pytest.mark.parametrize('manager', [{}, {'strategy': 'single'}], indirect=True, ids=['mixed', 'single'])
def test_gpus_are_cut_before_their_pods_exist(cluster, manager, home, request):
    strategy = request.node.callspec.params['manager'].get('strategy', 'mixed')
    states = []
    cluster.rule(verb='create', resource='rayclusters', dry=False, before=lambda _: states.append([labels(cluster, name)[STATE] for name in ('a-1', 'a-2')]) and None)
    home.write('cluster.yaml', cut(provider=SLICES + f', mig_strategy: {strategy}'))
    cluster.requests.clear()
    home.apply()
    assert states == [['success', 'success']]
    assert cluster.counts(writes=True) == {'patch nodes': 2, 'create secrets': 1, 'create rayclusters': 1}
    assert [labels(cluster, name).get(CONFIG) for name in ('a-1', 'a-2', 'b-1')] == ['all-1g.5gb', 'all-1g.5gb', None]
    pods = cluster.list('Pod', 'ml', 'ray.io/group=cut')
    resource = 'nvidia.com/mig-1g.5gb' if strategy == 'mixed' else 'nvidia.com/gpu'
    assert [pod['spec']['containers'][0]['resources']['limits'][resource] for pod in pods] == ['14', '14']
    assert sorted(pod['spec']['nodeName'] for pod in pods) == ['a-1', 'a-2']
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.run('drift', 'cluster.yaml')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert marks(cluster, 'a-1') == marks(cluster, 'a-2') == []
    assert labels(cluster, 'a-1')[CONFIG] == 'all-1g.5gb'  # left as it is


def test_other_labels_are_drift_and_put_right(cluster, manager, home):
    """Someone cuts a node differently; then a node joins."""
    home.write('cluster.yaml', cut())
    home.apply()
    cluster.patch('Node', {'metadata': {'labels': {CONFIG: 'all-disabled'}}}, None, 'a-2')
    manager.settle()
    assert 'a-1: all-1g.5gb, a-2: all-disabled' in words(home.run('drift', 'cluster.yaml', code=2).out)
    home.apply()
    assert labels(cluster, 'a-2')[CONFIG] == 'all-1g.5gb' and labels(cluster, 'a-2')[STATE] == 'success'
    gpu_node(cluster, 'a-3', 'NVIDIA-A100-SXM4-40GB', 2, labels={'team': 'vision'})
    assert 'a-3: none' in words(home.run('drift', 'cluster.yaml', code=2).out)
    home.write('cluster.yaml', cut(3))
    home.apply()
    assert labels(cluster, 'a-3')[CONFIG] == 'all-1g.5gb' and marks(cluster, 'a-3') == marks(cluster, 'a-1')
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_other_slices_end_no_pods(cluster, manager, home):
    """The plan says which pods must end first. Without the pool, then with it, works."""
    home.write('cluster.yaml', cut())
    result = home.run('plan', 'cluster.yaml')
    assert 'the GPUs of a-1 (not cut), a-2 (not cut) are cut to all-1g.5gb' in words(result.err) and 'Warning' not in result.err, result
    home.apply()
    home.write('cluster.yaml', cut(profile='2g.10gb'))
    said = words(home.run('plan', 'cluster.yaml').err)
    assert 'the GPUs of a-1 (all-1g.5gb), a-2 (all-1g.5gb) are cut to all-2g.10gb: the MIG manager fails while pods use them' in said, said
    assert 'Warning' in said and '2 pods of this cluster run there' in said, said
    home.write('cluster.yaml', cut(profile='2g.10gb').split('pools:')[0].replace(', ' + SLICES, '') + 'pools: {}\n')
    home.apply()
    assert marks(cluster, 'a-1') == [] and cluster.list('Pod', 'ml', 'ray.io/group=cut') == []
    home.write('cluster.yaml', cut(profile='2g.10gb'))
    said = words(home.run('plan', 'cluster.yaml').err)
    assert 'are cut to all-2g.10gb' in said and 'Warning' not in said, said
    home.apply()
    assert [labels(cluster, name)[CONFIG] for name in ('a-1', 'a-2')] == ['all-2g.10gb'] * 2


@pytest.mark.parametrize('manager', [{'broken': ['a-2']}], indirect=True)
def test_a_node_that_cannot_be_cut(cluster, manager, home):
    """No pod is created for it; the operator tries again when its label changes."""
    home.write('cluster.yaml', cut())
    result = home.apply(code=None)
    assert result.code != 0 and 'a-2: nvidia.com/mig.config.state is failed' in words(result.err + result.out), result
    assert cluster.list('RayCluster', 'ml') == []
    assert 'kubectl label node NODE nvidia.com/mig.config-' in words(home.apply(code=None).err)
    manager.controllers[2].broken.clear()
    cluster.patch('Node', {'metadata': {'labels': {CONFIG: None}}}, None, 'a-2')
    manager.settle()
    home.apply()
    assert labels(cluster, 'a-2')[STATE] == 'success' and len(cluster.list('Pod', 'ml', 'ray.io/group=cut')) == 2


def test_whose_nodes_they_are(cluster, manager, home, tmp_path):
    """No node has the labels; or they are those of another cluster. A lost answer changes nothing."""
    home.write('cluster.yaml', cut().replace('team: vision', 'team: nobody'))
    assert 'no node has the labels team=nobody' in words(home.apply(code=None).err)
    cluster.lose(verb='patch', resource='nodes')
    home.write('cluster.yaml', cut())
    home.apply()
    home.write('other.yaml', cut().replace('cluster: research', 'cluster: other'))
    home.env['RAYGPU_STATE'] = home.path('other.db')
    result = home.run('apply', 'other.yaml', '--auto-approve', code=None)
    assert result.code != 0 and 'node a-1 is configured for the cluster research' in words(result.err), result


def test_a_lost_state_is_rebuilt(cluster, manager, home):
    home.write('cluster.yaml', cut())
    home.apply()
    home.env['RAYGPU_STATE'] = home.path('rebuilt.db')
    home.run('state', 'rebuild', 'cluster.yaml')
    assert 'kubernetes.gpu_nodes.cut' in home.run('state', 'list').out
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_the_configuration_of_the_device_plugin(cluster, world, home):
    """Time slicing by a configuration that the operator has: a label, and no wait."""
    cluster.patch('Node', {'metadata': {'labels': {'team': 'vision'}}}, None, 'gpu-1')
    home.write('cluster.yaml', spec(provider=SLICES).replace(
        'nodes: 2}', 'nodes: 2, provider: {node_selector: {team: vision}, device_plugin_config: slices-4}}'))
    home.apply()
    assert labels(cluster, 'gpu-1')['nvidia.com/device-plugin.config'] == 'slices-4' and STATE not in labels(cluster, 'gpu-1')
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


@pytest.mark.parametrize('changed, told', [
    ({'nvidia.com/cuda.driver-version.full': '470.57.02', 'nvidia.com/cuda.runtime-version.full': '11.4'},
     'has the NVIDIA driver 470.57.02, which supports CUDA 11, and the image needs CUDA 12'),
    ({'nvidia.com/cuda.driver.major': '450', 'nvidia.com/cuda.driver.minor': '80', 'nvidia.com/cuda.runtime.major': '11'}, 'has the NVIDIA driver 450.80'),
    ({CONFIG: 'all-balanced', STATE: 'failed'}, 'has nvidia.com/mig.config.state: failed'),
    ({'nvidia.com/gpu.product': 'Tesla-T4-SHARED'}, 'has the label nvidia.com/gpu.product: Tesla-T4-SHARED, and the pool needs Tesla-T4'),
    ({'nvidia.com/cuda.driver-version.full': '535.1', 'nvidia.com/cuda.runtime-version.full': '12.0'}, None)])
def test_drift_of_a_nodes_labels(cluster, world, home, changed, told):
    home.write('cluster.yaml', spec({'train': 1}))
    home.apply()
    [pod] = cluster.list('Pod', 'ml', 'ray.io/group=train')
    cluster.patch('Node', {'metadata': {'labels': changed}}, None, pod['spec']['nodeName'])
    cluster.requests.clear()
    out = words(home.run('drift', 'cluster.yaml', code=2 if told else 0).out)
    assert max(cluster.counts().values()) == 1 and len(cluster.requests) <= 8
    if told:
        assert f'kubernetes.worker_group.train runs on the node {pod["spec"]["nodeName"]}, which {told}' in out, out


def test_without_sight_of_nodes(cluster, world, home):
    home.write('cluster.yaml', spec({'train': 1}))
    home.apply()
    cluster.denied.add(('list', 'nodes'))
    home.run('drift', 'cluster.yaml')

"""What a spec becomes on Kubernetes, without a server: the manifests of `raygpu export kuberay`, against the published schemas
and as recorded in tests/golden/kubernetes, and what is refused. RAYGPU_UPDATE_GOLDEN=1 rewrites the files; review the difference."""
import json
import os
import shlex

import manifests
import pytest
import yaml
from program import ROOT, Home

GOLDEN = ROOT / 'tests/golden/kubernetes'
EXAMPLES = ('gke', 'mig', 'dev')

PLAIN = '''cluster: research
labels: {team: ml}
provider:
  name: kubernetes
ray: {version: 2.56.1, python: "3.11"}
head: {instance_type: cpu}
pools:
  train: {accelerators: "A100-40GB:8", nodes: 2}
  serve: {accelerators: "T4:1", nodes: {min: 1, max: 4}}
'''
NAME, TRAIN, HEAD = '  name: kubernetes\n', 'nodes: 2}', 'head: {instance_type: cpu}'
QUEUED = (', nodes: {min: 1, max: 4}', ', nodes: 1')


def setting(text, *more):
    return ((NAME, NAME + f'  {text}\n'), *more)


def train(text, *more):
    return ((TRAIN, 'nodes: 2, ' + text + '}'), *more)


def serve(text):
    return (('max: 4}}', 'max: 4}, ' + text + '}'),)


# what changes: pairs of a text of the spec and its replacement
REFUSED = {
    'a name of 54 characters': (('cluster: research', 'cluster: ' + 'r' * 54),),
    'a label with a colon': (('team: ml', '"team:a": ml'),),
    'a label of the queue': (('team: ml', 'kueue.x-k8s.io/queue-name: ml'),),
    'a pool named head': (('  train:', '  head:'),),
    'a maximum below the minimum': (('max: 4', 'max: 0'),),
    '18 worker groups under Kueue': setting('queue: shared', QUEUED, (
        '  train:', ''.join(f'  p{i}: {{accelerators: "T4:1", nodes: 1}}\n' for i in range(16)) + '  train:')),
    'an elastic pool under Kueue': setting('queue: shared'),
    'an elastic gang under Kueue': setting('queue: shared', ('nodes: {min: 1, max: 4}', 'nodes: {min: 1, max: 4}, gang: true')),
    'a gang without Kueue': train('gang: true'),
    'a region': setting('region: us-central1'),
    'a zone': train('zones: [us-central1-a]'),
    'a machine image': train('image: ubuntu'),
    'a disk type': train('disk: {type: gp3}'),
    'a disk size': train('disk: {size: 200}'),
    'a public address': ((HEAD, 'head: {instance_type: cpu, public_ip: true}'),),
    'placement': train('network: {placement: cluster}'),
    'RDMA': train('network: {rdma: true}'),
    'a diagnosis of GPUs': train('health: {diag: 1}'),
    'a reservation': train('market: {reservation: cr-1}'),
    'spot nodes without their label': train('market: spot'),
    'a price limit': setting('spot: {node_selector: {spot: "true"}}', *train('market: {spot: {max_price: 1}}')),
    'pods of several markets': setting('spot: {node_selector: {spot: "true"}}', *train('market: {spot: {on_demand_floor: 1}}')),
    'a model without a known label': (('A100-40GB:8', 'A40:8'),),
    'several profiles with the strategy single': setting('mig_strategy: single', *train('share: {mig: [3g.20gb, 2g.10gb]}')),
    'a resource for MIG slices': train('share: {mig: 1g.5gb}, provider: {gpu_resource: nvidia.com/gpu}'),
    'a setting that pods do not have': train('provider: {cpus: 4}'),
    'pods of a pool that is not there': setting('pods: {trian: {cpu: 4}}'),
    'both places of the settings of pods': setting('pods: {train: {cpu: 4}}', *train('provider: {memory: 32Gi}')),
    'an autoscaler without elastic pools': setting('autoscaler: {version: v2}', QUEUED),
    'a cohort without quotas': setting('queue: {name: q, cohort: ml}', QUEUED),
    'quotas without a model': setting('queue: {name: q, quotas: {cpu: 10, memory: 10Gi, gpus: {T4: 8}}}', QUEUED),
    'quotas for MIG slices': setting('queue: {name: q, quotas: {cpu: 10, memory: 10Gi, gpus: {T4: 8, A100-40GB: 8}}}', QUEUED,
                                     *train('share: {mig: 1g.5gb}')),
    'nodes that the spec does not name': setting('manage_nodes: true', *train('share: {mig: 1g.5gb}')),
    'nodes of two pools': setting('manage_nodes: true', *train('share: {mig: 1g.5gb}, provider: {node_selector: {a: b}}'),
                                  *serve('provider: {node_selector: {a: b}, device_plugin_config: x}')),
    'labels of nodes that raygpu does not manage': setting('pods: {serve: {device_plugin_config: x}}',
                                                           *train('provider: {mig_config: all-balanced}')),
    'a MIG configuration without a name': setting('manage_nodes: true',
                                                   *train('share: {mig: [3g.20gb, 2g.10gb]}, provider: {node_selector: {a: b}}')),
    'nodes of GKE': setting('manage_nodes: true\n  gpu_label: cloud.google.com/gke-accelerator'),
    'whole nodes of GKE': setting('gpu_label: cloud.google.com/gke-accelerator', *train('share: node')),
    'another unit of sharing': train('share: slice'),
    'new pods before the old ones': train('replace: {max_surge: 1}'),
    'a user of Redis twice': setting('fault_tolerance: {redis: {address: r, username: u, username_secret: {name: s, key: k}}}'),
    'an init container of another kind': setting('cdi: daemon_set'),
    'settings that raygpu does not have': setting('history_server: true\n  upgrade: all'),
    'a quantity with a unit of storage makers': train('provider: {memory: 64GB}'),
}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def changed(pairs):
    text = PLAIN
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def as_recorded(name, text):
    path = GOLDEN / name
    if os.environ.get('RAYGPU_UPDATE_GOLDEN'):
        path.write_text(text, encoding='utf-8')
    assert text == path.read_text(encoding='utf-8')


def exported(home, spec):
    home.write('cluster.yaml', spec)
    return list(yaml.safe_load_all(home.run('export', 'kuberay', 'cluster.yaml').out))


def cluster_of(documents):
    cluster, = [one for one in documents if one['kind'] == 'RayCluster']
    return cluster['spec']


def container(group):
    one, = group['template']['spec']['containers']
    return one


def groups_of(documents):
    return {group['groupName']: group for group in cluster_of(documents)['workerGroupSpecs']}


def test_a_pool_whose_lease_has_ended_is_exported_without_nodes_and_says_so(home):
    home.write('cluster.yaml', PLAIN.replace('nodes: 2}', 'nodes: 2, expires: 2024-01-31}', 1))
    result = home.run('export', 'kuberay', 'cluster.yaml')
    assert 'it is exported without nodes [plan.lease-ended]' in ' '.join(result.err.split()) and 'cluster.yaml:' in result.err, result


def test_labels_may_have_a_domain(home):
    """Other schedulers of gangs find their queue by such a label of the RayCluster."""
    labels = {'volcano.sh/queue-name': 'research', 'ray.io/scheduler-name': 'volcano', 'team': 'ml'}
    documents = exported(home, PLAIN.replace('{team: ml}', json.dumps(labels)))
    cluster, = [one for one in documents if one['kind'] == 'RayCluster']
    assert labels.items() <= cluster['metadata']['labels'].items()


@pytest.mark.parametrize('name', EXAMPLES)
def test_the_manifests_of_an_example(home, name):
    spec = (ROOT / f'examples/kubernetes-{name}.yaml').read_text(encoding='utf-8')
    home.write('cluster.yaml', spec)
    text = home.run('export', 'kuberay', 'cluster.yaml').out
    as_recorded(f'{name}.kuberay.yaml', text)
    documents = list(yaml.safe_load_all(text))
    assert [manifests.refused(one) for one in documents] == [[]] * len(documents)
    assert home.run('export', 'kuberay', 'cluster.yaml').out == text
    # the same with quoted texts for a reader of YAML 1.1 as for one of JSON
    assert json.loads(json.dumps(documents)) == documents and 'auth_token' not in json.dumps(documents)


def test_what_is_refused(home):
    parts = []
    for what, pairs in REFUSED.items():
        home.write('cluster.yaml', changed(pairs))
        result = home.run('export', 'kuberay', 'cluster.yaml', code=None)
        assert result.code in (1, 4) and not result.out, (what, result)
        checked = home.run('validate', 'cluster.yaml', code=None)
        assert (checked.code, checked.err) == (result.code, result.err), what
        parts.append(f'--- {what}\n{result.err}')
    as_recorded('refused.txt', '\n'.join(parts))


@pytest.mark.parametrize('empty', ['nodes: 0', 'nodes: 2, enabled: false'])
def test_a_pool_without_nodes_keeps_its_settings(home, empty):
    home.write('cluster.yaml', changed([*setting('pods: {train: {cpu: 4}}'), (TRAIN, empty + '}')]))
    home.run('validate', 'cluster.yaml')
    assert 'train' not in home.run('export', 'kuberay', 'cluster.yaml').out


def test_money_is_unknown(home):
    home.write('cluster.yaml', PLAIN + 'budget: {hourly_usd: 100}\n')
    refused = home.run('fit', 'cluster.yaml', code=9)
    assert '[budget.unknown]' in refused.err and 'no price' in refused.err + refused.out
    home.write('raygpu.yaml', '''catalog:
  prices:
    kubernetes:
      - {instance_type: cpu, hourly_usd: 0.5}
      - {instance_type: "A100-40GB:8", hourly_usd: 20}
      - {instance_type: "T4:1", hourly_usd: 1}
''')
    home.run('fit', 'cluster.yaml')


def test_gpu_hours_need_no_prices(home):
    home.write('cluster.yaml', PLAIN + 'budget: {daily_gpu_hours: 480}\n')
    home.run('fit', 'cluster.yaml')  # 16 A100 and at most 4 T4
    home.write('cluster.yaml', PLAIN + 'budget: {daily_gpu_hours: 479}\n')
    refused = home.run('fit', 'cluster.yaml', code=9)
    assert '[budget.exceeded]' in refused.err and '480' in refused.err, refused


def test_settings_of_ray_start_are_parameters(home):
    documents = exported(home, PLAIN.replace('head: {instance_type: cpu', 'head: {ray_start: {system_config: {health_check_period_ms: 5000}}, instance_type: cpu')
                         .replace('"A100-40GB:8", nodes: 2}', '"A100-40GB:8", nodes: 2, ray_start: {memory: 4, object_store_memory: 2GB}}'))
    head, train = cluster_of(documents)['headGroupSpec']['rayStartParams'], groups_of(documents)['train']['rayStartParams']
    assert shlex.split(head['system-config']) == ['{"health_check_period_ms":5000}']
    assert (train['memory'], train['object-store-memory']) == ('4294967296', '2147483648')


def test_a_head_and_pods_without_gpus_see_none(home):
    documents = exported(home, PLAIN.replace('"A100-40GB:8", nodes: 2}', '"A100-40GB:8", nodes: 2}\n  cpus: {instance_type: cpu, nodes: 1, num_cpus: 0}'))
    spec, groups = cluster_of(documents), groups_of(documents)
    for group in (spec['headGroupSpec'], groups['cpus']):
        env = {one['name']: one['value'] for one in container(group)['env']}
        assert env['NVIDIA_VISIBLE_DEVICES'] == 'void' and group['rayStartParams']['num-gpus'] == '0'
    assert groups['cpus']['rayStartParams']['num-cpus'] == '0' and 'num-cpus' not in spec['headGroupSpec']['rayStartParams']
    env = {one['name'] for one in container(groups['train'])['env']}
    # KubeRay sets them, and the autoscaler depends on its values
    assert env.isdisjoint({'NVIDIA_VISIBLE_DEVICES', 'RAY_NODE_TYPE_NAME', 'RAY_AUTH_MODE', 'RAY_AUTH_TOKEN'})
    assert spec['authOptions'] == {'mode': 'token', 'secretName': 'research-ray-token'}
    # what Ray's autoscaler does with it (ray/autoscaler/_private/kuberay/autoscaling_config.py)
    text = groups['train']['rayStartParams']['resources']
    assert json.loads(text[1:-1].replace('\\', ''))['accelerator_type:A100'] == 1


def test_the_autoscaler_owns_the_size_between_the_limits(home):
    documents = exported(home, PLAIN)
    spec, groups = cluster_of(documents), groups_of(documents)
    assert (groups['serve']['minReplicas'], groups['serve']['maxReplicas'], groups['serve']['replicas']) == (1, 4, 1)
    assert (groups['train']['minReplicas'], groups['train']['maxReplicas'], groups['train']['replicas']) == (2, 2, 2)
    assert spec['enableInTreeAutoscaling'] and spec['autoscalerOptions']['version'] == 'v2'
    assert {group['template']['spec']['restartPolicy'] for group in (spec['headGroupSpec'], *groups.values())} == {'Never'}


def test_authentication_can_be_off(home):
    documents = exported(home, PLAIN.replace('python: "3.11"', 'python: "3.11", auth: none'))
    spec = cluster_of(documents)
    assert spec['authOptions'] == {'mode': 'disabled'}
    assert {'name': 'RAY_AUTH_MODE', 'value': 'disabled'} in container(spec['headGroupSpec'])['env']


def test_the_template_tells_its_own_hash(home):
    def hashes(spec):
        return {name: group['template']['metadata']['annotations']['raygpu.io/template-hash']
                for name, group in groups_of(exported(home, spec)).items()}
    before = hashes(PLAIN)
    assert hashes(PLAIN.replace('nodes: 2', 'nodes: 7')) == before, 'the number of pods is not part of it'
    after = hashes(PLAIN.replace(TRAIN, 'nodes: 2, env: {A: "1"}}'))
    assert after['serve'] == before['serve'] and after['train'] != before['train']


@pytest.mark.parametrize('text,path,value', [
    ('fault_tolerance: {redis: {address: "redis:6379", username: ray, password_secret: {name: redis, key: password}}}',
     ('gcsFaultToleranceOptions', 'redisPassword', 'valueFrom', 'secretKeyRef'), {'name': 'redis', 'key': 'password'}),
    ('fault_tolerance: {volume: {size: 10Gi, storage_class: fast}}', ('gcsFaultToleranceOptions', 'storage'),
     {'size': '10Gi', 'storageClassName': 'fast', 'deletionPolicy': 'DeleteWithCluster'}),
    ('fault_tolerance: {redis: {address: "redis:6379", username_secret: {name: redis, key: user}}}',
     ('gcsFaultToleranceOptions', 'redisUsername'), {'valueFrom': {'secretKeyRef': {'name': 'redis', 'key': 'user'}}}),
    ('fault_tolerance: {volume: {claim: gcs, sub_path: ray}}', ('gcsFaultToleranceOptions',),
     {'backend': 'rocksdb', 'storage': {'claimName': 'gcs', 'subPath': 'ray', 'deletionPolicy': 'DeleteWithCluster'}}),
    ('fault_tolerance: {volume: {size: 1Gi, access_modes: [ReadWriteMany], deletion: Retain}}', ('gcsFaultToleranceOptions', 'storage'),
     {'size': '1Gi', 'accessModes': ['ReadWriteMany'], 'deletionPolicy': 'Retain'}),
    ('history_server: {image: collector:1, env: {BUCKET: logs}, secrets: {KEY: {name: s3, key: secret}}, cpu: 500m, memory: 1Gi}',
     ('historyServerOptions', 'collectorOptions'),
     {'image': 'collector:1', 'env': [{'name': 'BUCKET', 'value': 'logs'},
                                      {'name': 'KEY', 'valueFrom': {'secretKeyRef': {'name': 's3', 'key': 'secret'}}}],
      'resources': {'limits': {'cpu': '500m', 'memory': '1Gi'}, 'requests': {'cpu': '500m', 'memory': '1Gi'}}}),
    ('tls: true', ('tlsOptions',), {'enabled': True}),
    ('network_policy: DenyAllIngress', ('networkPolicy',), {'mode': 'DenyAllIngress'}),
    ('service_type: LoadBalancer', ('headGroupSpec', 'serviceType'), 'LoadBalancer'),
    ('autoscaler: {version: v1, upscaling: Aggressive, cpu: 1}', ('autoscalerOptions', 'resources', 'limits', 'cpu'), '1'),
])
def test_settings_of_the_cluster(home, text, path, value):
    documents = exported(home, changed(setting(text)))
    assert not any(manifests.refused(one) for one in documents)
    at = cluster_of(documents)
    for step in path:
        at = at[step]
    assert at == value


@pytest.mark.parametrize('gpu_label,more,selector,resource', [
    ('nvidia.com/gpu.product', 'mig_strategy: single', 'NVIDIA-A100-SXM4-40GB-MIG-1g.5gb', 'nvidia.com/gpu'),
    ('nvidia.com/gpu.product', 'mig_strategy: mixed', 'NVIDIA-A100-SXM4-40GB', 'nvidia.com/mig-1g.5gb'),
    ('cloud.google.com/gke-accelerator', 'mig_strategy: mixed', 'nvidia-tesla-a100', 'nvidia.com/gpu'),
])
def test_mig_slices_by_strategy(home, gpu_label, more, selector, resource):
    documents = exported(home, changed(setting(f'{more}\n  gpu_label: {gpu_label}', *train('share: {mig: 1g.5gb}'))))
    group = groups_of(documents)['train']
    assert container(group)['resources']['limits'][resource] == '56' and group['rayStartParams']['num-gpus'] == '56'
    assert selector in json.dumps(group['template']['spec'])
    assert ('gke-gpu-partition-size' in json.dumps(group)) == gpu_label.startswith('cloud')


@pytest.mark.parametrize('share,count', [('node', '8'), ('gpu', None)])
def test_whole_nodes_or_single_gpus(home, share, count):
    """With `node`, no pod of others gets GPUs of the same node."""
    group = groups_of(exported(home, changed(train(f'share: {share}'))))['train']
    assert group['template']['spec'].get('nodeSelector', {}).get('nvidia.com/gpu.count') == count
    assert container(group)['resources']['limits']['nvidia.com/gpu'] == '8' and group['rayStartParams']['num-gpus'] == '8'


@pytest.mark.parametrize('text,image,root', [
    ('cdi: init', 'nvcr.io/nvidia/k8s/container-toolkit:v1.17.8-ubuntu20.04', '/run/nvidia/driver'),
    ('cdi: {image: "registry.example/toolkit:1", driver_root: /home/kubernetes/bin/nvidia}', 'registry.example/toolkit:1', '/home/kubernetes/bin/nvidia')])
def test_an_init_container_writes_the_cdi_specification(home, text, image, root):
    """Privileged, only on request and only where there are GPUs; it requests none and sees none."""
    documents = exported(home, changed(setting(text)))
    assert not any(manifests.refused(one) for one in documents)
    spec = groups_of(documents)['train']['template']['spec']
    [init] = spec['initContainers']
    assert init['image'] == image and f'--driver-root={root}' in init['command'] and init['securityContext']['privileged']
    assert init['env'] == [{'name': 'NVIDIA_VISIBLE_DEVICES', 'value': 'void'}] and 'nvidia' not in json.dumps(init['resources'])
    assert {one['hostPath']['path'] for one in spec['volumes']} == {'/var/run/cdi', '/dev', root}
    assert 'initContainers' not in cluster_of(documents)['headGroupSpec']['template']['spec']
    assert 'privileged' not in json.dumps(exported(home, PLAIN))


def test_a_label_of_the_users_own_chooses_the_nodes(home):
    documents = exported(home, changed(train('provider: {node_selector: {nvidia.com/gpu.product: NVIDIA-A40}}',
                                             ('A100-40GB:8', 'A40:8'))))
    spec = groups_of(documents)['train']['template']['spec']
    assert spec['nodeSelector'] == {'nvidia.com/gpu.product': 'NVIDIA-A40'} and 'affinity' not in spec


def test_the_former_place_of_the_settings_of_pods(home):
    """The same manifests, and a warning that names the new place."""
    limits = '{cpu: 4, memory: 32Gi, annotations: {a: b}}'
    home.write('cluster.yaml', changed(setting(f'pods: {{train: {limits}, head: {{cpu: 3}}}}')))
    former = home.run('export', 'kuberay', 'cluster.yaml')
    home.write('cluster.yaml', changed(train(f'provider: {limits}', (HEAD, 'head: {instance_type: cpu, provider: {cpu: 3}}'))))
    now = home.run('export', 'kuberay', 'cluster.yaml')
    assert now.out == former.out and '"cpu": "3"' in json.dumps(list(yaml.safe_load_all(now.out))) and not now.err
    assert former.err.count('Warning: ') == 2
    assert 'Warning: provider.pods.train is deprecated [provider.warning]' in former.err and 'on cluster.yaml:5:17' in former.err
    assert 'move its settings to pools.train.provider' in former.err and 'move its settings to head.provider' in former.err


@pytest.mark.parametrize('form', [
    lambda seconds: setting(f'drain_s: {seconds}'),
    lambda seconds: train(f'provider: {{drain_s: {seconds}, tolerations: [{{key: gpu, effect: NoExecute, seconds: {seconds}}}]}}'),
    lambda seconds: setting(f'pods: {{train: {{drain_s: {seconds}}}}}'),
], ids=['of the provider', 'of a pool', 'in the former place'])
def test_a_whole_number_with_a_point_is_an_integer(home, form):
    """JSON Schema takes 30.0 for an integer."""
    documents = exported(home, changed(form('30.0')))
    assert groups_of(documents)['train']['template']['spec']['terminationGracePeriodSeconds'] == 90
    assert documents == exported(home, changed(form('30')))


def test_init_writes_a_spec_that_works(home):
    home.run('init', '--provider', 'kubernetes', 'cluster.yaml')
    home.run('validate', 'cluster.yaml')
    documents = list(yaml.safe_load_all(home.run('export', 'kuberay', 'cluster.yaml').out))
    assert [manifests.refused(one) for one in documents] == [[]] and set(groups_of(documents)) == {'serve'}

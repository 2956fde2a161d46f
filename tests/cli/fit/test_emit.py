"""`raygpu fit --emit train|serve|python`: the modules compile, answer, and use only what the cluster's Ray has.

No Ray can be installed here. Its signatures below are copied from its documentation and source, independently of
src/catalog/data/ray_options.csv: ray.train.ScalingConfig of docs.ray.io (and ray PRs 43090, 58845,
59414), @serve.deployment of docs.ray.io and python/ray/serve/_private/config.py (ray PRs 37830, 57694), options of
python/ray/_common/ray_option_utils.py, ray.util.placement_group of docs.ray.io."""
import json
import os
import py_compile
import random
import sys
import types

import pytest

import placing
import ray_rules
from program import ROOT, Home

GOLDEN = ROOT / 'tests/golden/fit'
SHARING = ROOT / 'examples/gpu-sharing.yaml'
VERSIONS = ['2.10.0', '2.46.0', '2.49.2', '2.50.1', '2.51.1', '2.52.0', '2.53.0', '2.54.0', '2.55.1', '2.60.0']

SPEC = '''cluster: c
provider: {name: aws, region: us-east-1}
ray: {version: %s, auth: none, image: example.com/ray:1}
head: {instance_type: m5.2xlarge}
pools:
%s
workloads:
%s
'''
POOLS = {'big': '{instance_type: p4d.24xlarge, nodes: 4}', 'small': '{accelerators: T4, nodes: 8}',
         'cheap': '{accelerators: T4, nodes: 4, labels: {tier: cheap}}', 'cpus': '{instance_type: m5.2xlarge, nodes: 2}',
         'elastic': '{accelerators: L4, nodes: {min: 2, max: 6}}'}
WORKLOADS = {
    'train': '{gpus: 8, nodes: 4, gang: true, cpus: 16, memory: 64GiB, pool: big}',
    'one': '{gpus: 1, nodes: 4, gang: true, accelerators: T4, pool: small}',
    'shared': '{gpus: 0.25, replicas: 8, pool: cheap}',
    'labelled': '{gpus: 1, replicas: 2, labels: {tier: cheap}}',
    'cpus': '{gpus: 0, cpus: 2, replicas: 4, pool: cpus}',
    'node': '{gpus: 4, pool: big}',
    'online': '{gpus: 1, replicas: 4, accelerators: L4}'}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def at_least(version, release):
    return tuple(map(int, version.split('.')[:2])) >= tuple(map(int, release.split('.')))


def emit(home, form, version='2.60.0', pools=None, workloads=None, code=0):
    """The module's names, and what stderr says."""
    def lines(items):
        return '\n'.join(f'  {name}: {text}' for name, text in items.items())
    home.write('c.yaml', SPEC % (version, lines(pools or POOLS), lines(workloads or WORKLOADS)))
    done = home.run('fit', 'c.yaml', '--emit', form, code=code)
    path = os.path.join(home.folder, f'{form}.py')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(done.out)
    py_compile.compile(path, doraise=True)
    module = {}
    exec(compile(done.out, path, 'exec'), module)  # pylint: disable=exec-used
    return module, done.err


# --- Ray Train ------------------------------------------------------------------------------

def scaling_config_of(version):
    """A stand-in with the signature that this version has; it refuses what Ray refuses."""
    known = {'num_workers', 'use_gpu', 'resources_per_worker', 'placement_strategy'}
    known |= {'trainer_resources'} if not at_least(version, '2.51') else set()
    known |= {'accelerator_type'} if at_least(version, '2.10') else set()
    known |= {'label_selector'} if at_least(version, '2.53') else set()

    class ScalingConfig:
        def __init__(self, **given):
            assert set(given) <= known, f'Ray {version} has no {set(given) - known}'
            self.given = given
            workers, each = given['num_workers'], given['resources_per_worker']
            assert isinstance(workers, int) and workers >= 1
            assert all(amount > 0 for amount in each.values()) and each
            assert bool(each.get('GPU')) == given['use_gpu']
            assert each.get('GPU', 0) <= 1 or each['GPU'] == int(each['GPU'])
            assert given['placement_strategy'] in ('PACK', 'SPREAD', 'STRICT_PACK', 'STRICT_SPREAD')
            selector = given.get('label_selector', {})
            assert isinstance(selector, dict) or len(selector) == workers
    return ScalingConfig


def scaling(monkeypatch, module, version, workload, pool=None):
    fake = types.ModuleType('ray.train')
    fake.ScalingConfig = scaling_config_of(version)
    monkeypatch.setitem(sys.modules, 'ray', types.ModuleType('ray'))
    monkeypatch.setitem(sys.modules, 'ray.train', fake)
    return module['scaling_config'](workload, pool).given


@pytest.mark.parametrize('version', VERSIONS)
def test_scaling_configs_are_of_that_ray(home, monkeypatch, version):
    module, err = emit(home, 'train', version)
    assert set(module['WORKLOADS']) == set(WORKLOADS)
    given = {name: scaling(monkeypatch, module, version, name) for name in WORKLOADS}
    # one worker for each GPU: 4 nodes of 8
    assert given['train']['num_workers'] == 32 and given['train']['placement_strategy'] == 'PACK'
    # until ScalingConfig has accelerator_type, a trace of a resource names the GPU
    gpu = {'accelerator_type:A100': 0.001} if not at_least(version, '2.10') else {}
    assert given['train']['resources_per_worker'] == {'CPU': 2, 'GPU': 1, 'memory': 8 * 2 ** 30} | gpu
    assert given['node']['num_workers'] == 4 and given['node']['placement_strategy'] == 'STRICT_PACK'
    assert given['one'] | {'num_workers': 4, 'placement_strategy': 'STRICT_SPREAD'} == given['one']
    assert given['shared']['resources_per_worker'].items() >= {'CPU': 1, 'GPU': 0.25}.items()
    assert given['cpus']['use_gpu'] is False and given['cpus']['resources_per_worker'] == {'CPU': 2}
    if at_least(version, '2.53'):
        assert given['one']['label_selector'] == {'ray.io/node-group': 'small'}
        assert given['labelled']['label_selector']['tier'] == 'cheap'
        assert 'cannot select nodes' not in err
    elif at_least(version, '2.10'):
        assert given['one']['accelerator_type'] == 'T4' and given['train']['accelerator_type'] == 'A100'
    # two pools have T4: without labels, the GPU's name does not choose one
    if not at_least(version, '2.53'):
        assert 'workload one may run on other pools' in ' '.join(err.split())
        assert 'workload train may run on other pools' not in ' '.join(err.split())


# --- Ray Serve ------------------------------------------------------------------------------

def check_deployment(version, given):
    """The rules of ReplicaConfig and DeploymentConfig in python/ray/serve/_private/config.py."""
    known = {'num_replicas', 'autoscaling_config', 'ray_actor_options', 'placement_group_bundles',
             'placement_group_strategy'}
    actor = {'num_cpus', 'num_gpus', 'memory', 'resources'}
    if at_least(version, '2.54'):
        known |= {'placement_group_bundle_label_selector'}
        actor |= {'label_selector'}
    assert set(given) <= known and set(given['ray_actor_options']) <= actor
    assert ('num_replicas' in given) != ('autoscaling_config' in given)
    if 'autoscaling_config' in given:
        bounds = given['autoscaling_config']
        assert 0 <= bounds['min_replicas'] < bounds['max_replicas'] and len(bounds) == 2
    options = given['ray_actor_options']
    assert 'num_cpus' in options  # its default is 1
    assert not {'CPU', 'GPU', 'memory'} & set(options.get('resources', {}))
    bundles = given.get('placement_group_bundles')
    assert (bundles is None) == ('placement_group_strategy' not in given)
    if bundles is None:
        assert 'placement_group_bundle_label_selector' not in given
        return
    first = bundles[0]
    assert first.get('CPU', 0) >= options['num_cpus'] and first.get('GPU', 0) >= options.get('num_gpus', 0)
    assert first.get('memory', 0) >= options.get('memory', 0)
    assert all(first.get(name, 0) >= amount for name, amount in options.get('resources', {}).items())
    selectors = given.get('placement_group_bundle_label_selector', bundles)
    assert len(selectors) == len(bundles)


@pytest.mark.parametrize('version', VERSIONS)
def test_deployments_are_of_that_ray(home, version):
    module, err = emit(home, 'serve', version)
    given = {name: module['deployment'](name) for name in WORKLOADS}
    for one in given.values():
        check_deployment(version, one)
    assert given['train']['num_replicas'] == 1 and len(given['train']['placement_group_bundles']) == 4
    assert given['train']['placement_group_strategy'] == 'STRICT_SPREAD'
    assert given['train']['ray_actor_options']['num_gpus'] == 8
    assert given['shared']['num_replicas'] == 8 and given['shared']['ray_actor_options']['num_gpus'] == 0.25
    assert 'num_gpus' not in given['cpus']['ray_actor_options']
    assert given['online']['autoscaling_config'] == {'min_replicas': 2, 'max_replicas': 4}
    options = given['labelled']['ray_actor_options']
    if at_least(version, '2.54'):
        assert options['label_selector']['tier'] == 'cheap' and 'cannot select nodes' not in err
        assert len(given['train']['placement_group_bundle_label_selector']) == 4
    else:
        assert options['resources'] == {'accelerator_type:T4': 0.001}
        assert given['train']['placement_group_bundles'][0]['accelerator_type:A100'] == 0.001
        assert 'cannot select nodes by label: workload labelled' in ' '.join(err.split())


# --- tasks and actors -----------------------------------------------------------------------

@pytest.mark.parametrize('version', VERSIONS)
def test_options_of_tasks_are_of_that_ray(home, version):
    module, _ = emit(home, 'python', version)
    selectors = at_least(version, '2.49')
    for name in WORKLOADS:
        options = module['options'](name)
        assert set(options) <= {'num_cpus', 'num_gpus', 'memory', 'resources'} | ({'label_selector'} if selectors else set())
        assert not {'CPU', 'GPU'} & set(options.get('resources', {}))
    group = module['placement_group']('train')
    assert set(group) <= {'bundles', 'strategy'} | ({'bundle_label_selector'} if selectors else set())
    assert len(group['bundles']) == 4


def test_each_way_of_a_workload_can_be_had(home):
    """Of three halves of a GPU two must be on one node, so they are a group."""
    pools = {'p': '{instance_type: g4dn.xlarge, nodes: 4}'}
    module, _ = emit(home, 'python', pools=pools, workloads={'whole': '{gpus: 1, replicas: 2}', 'half': '{gpus: 0.5, cpus: 0.5, replicas: 3}'})
    ways = module['submissions']('half')
    assert sorted((count, len(how.get('bundles', []))) for count, how in ways) == [(1, 0), (1, 2)], ways
    assert (1, module['placement_group']('half', 'p')) in ways and (1, module['options']('half', 'p')) in ways
    assert module['submissions']('whole') == [(2, module['options']('whole'))]


# --- groups ---------------------------------------------------------------------------------

GROUPS = {
    'packed': '{gpus: 1, replicas: 3, gang: true, pool: small}',
    'uneven': '{strategy: PACK, bundles: [{gpus: 4, cpus: 8}, {gpus: 0, cpus: 4, count: 2}], pool: big}',
    'mixed': '{gpus: 0.25, gpu_memory: 8GB, nodes: 3, gang: true, same_gpu: false, pool: [lone, elastic]}'}
TWO = {'big': POOLS['big'], 'small': POOLS['small'], 'lone': '{accelerators: T4, nodes: 1}', 'elastic': '{accelerators: L4, nodes: 2}'}


def test_a_gang_of_single_tasks_is_one_replica(home, monkeypatch):
    module, _ = emit(home, 'serve', pools=TWO, workloads=GROUPS)
    packed = module['deployment']('packed')
    check_deployment('2.60.0', packed)
    assert packed['num_replicas'] == 1 and packed['placement_group_bundles'] == [{'CPU': 1, 'GPU': 1}] * 3
    module, _ = emit(home, 'train', pools=TWO, workloads=GROUPS)
    assert module['WORKLOADS']['packed'][0]['replicas'] == 1
    assert scaling(monkeypatch, module, '2.60.0', 'packed')['num_workers'] == 3


def test_unequal_bundles_are_of_serve_but_not_of_train(home):
    module, _ = emit(home, 'serve', pools=TWO, workloads=GROUPS)
    for name in GROUPS:
        check_deployment('2.60.0', module['deployment'](name))
    assert module['deployment']('uneven')['placement_group_bundles'] == [{'CPU': 8, 'GPU': 4}, {'CPU': 4}, {'CPU': 4}]
    mixed = module['deployment']('mixed')
    shares = dict(zip((s['ray.io/node-group'] for s in mixed['placement_group_bundle_label_selector']),
                      (b['GPU'] for b in mixed['placement_group_bundles'])))
    assert shares == {'lone': 0.5, 'elastic': 0.3334}
    module, err = emit(home, 'train', pools=TWO, workloads=GROUPS)
    assert module['WORKLOADS']['uneven'] == module['WORKLOADS']['mixed'] == []
    assert err.count('bundles of different') == 2


def test_replicas_that_must_share_nodes_are_one_deployment_and_a_warning(home):
    """A whole GPU is free for `whole` only if two halves of `half` are on one node."""
    pools, workloads = {'p': '{accelerators: T4, nodes: 2}'}, {'half': '{gpus: 0.5, replicas: 2}', 'whole': '{gpus: 1}'}
    for form, said in (('serve', 'RAY_SERVE_USE_PACK_SCHEDULING_STRATEGY=1'), ('train', 'placement groups')):
        module, err = emit(home, form, pools=pools, workloads=workloads)
        entry, = module['WORKLOADS']['half']
        assert entry['replicas'] == 2 and entry['arguments'].get('num_replicas', 2) == 2
        assert 'label_selector' in str(entry) and 'placement_group' not in str(entry)
        assert said in ' '.join(err.split())


# --- what is emitted can be placed ----------------------------------------------------------

def random_spec(rng):
    kinds = ['accelerators: T4', 'instance_type: g4dn.12xlarge', 'accelerators: L4', 'instance_type: g5.12xlarge',
             'instance_type: p4d.24xlarge', 'instance_type: p4d.24xlarge, share: {mig: 1g.5gb}']
    pools = {f'p{i}': '{%s, nodes: %d}' % (rng.choice(kinds), rng.randint(1, 5)) for i in range(rng.randint(1, 4))}
    forms = ['gpus: %g, replicas: %d', 'gpus: %g, nodes: %d', 'gpus: %g, nodes: %d, gang: true, same_gpu: false',
             'gpus: %g, replicas: %d, gang: true', 'strategy: STRICT_PACK, bundles: [{gpus: %g, count: %d}]',
             'strategy: SPREAD, bundles: [{gpus: %g, count: %d}]']
    workloads = {}
    for i in range(12):
        text = rng.choice(forms) % (rng.choice([0.25, 0.5, 1, 1, 2, 4, 8]), rng.randint(1, 4))
        pool = rng.choice(['', f', pool: {rng.choice(list(pools))}'])
        memory = rng.choice(['', ', gpu_memory: 12GB']) if 'bundles' not in text else ''
        workloads[f'w{i}'] = '{' + text + pool + memory + '}'
    return pools, workloads


def can_place(bundles, strategy, nodes):
    """As Ray places it on the empty cluster, greedily. bundles: [(resources, label selector)]."""
    bundles = [(ray_rules.amounts_of(resources), selector) for resources, selector in bundles]
    machines, rng = [ray_rules.Machine(node) for node in nodes], random.Random(1)
    if strategy is None:
        return ray_rules.place_task(machines, bundles[0], rng)
    return ray_rules.place_group(machines, bundles, strategy, rng, True)


@pytest.mark.parametrize('seed', range(400 if os.environ.get('RAYGPU_LONG') else 12))
def test_what_fits_alone_can_be_placed_as_emitted(home, seed):
    """Each by itself."""
    pools, workloads = random_spec(random.Random(seed))
    train, _ = emit(home, 'train', pools=pools, workloads=workloads, code=None)
    serve, _ = emit(home, 'serve', pools=pools, workloads=workloads, code=None)
    report = json.loads(home.run('fit', 'c.yaml', '--json', code=None).out)
    nodes = placing.make_nodes({p['pool']: {'instance_type': p['instance_type'], 'nodes': p['nodes'],
                                            'share': {'mig': p['slice']}} for p in report['pools']})
    checked = 0
    for said in report['workloads']:
        if said['at_once'] == 0 or not said['together']:
            continue
        for entry in train['WORKLOADS'][said['workload']]:
            given = entry['arguments']
            each, selector = given['resources_per_worker'], given['label_selector']
            count = given['num_workers']
            selectors = selector if isinstance(selector, list) else [selector] * count
            assert can_place([(each, one) for one in selectors], given['placement_strategy'], nodes), (said, entry)
            checked += 1
        for entry in serve['WORKLOADS'][said['workload']]:
            given = entry['arguments']
            check_deployment('2.60.0', given)
            bundles = given.get('placement_group_bundles')
            if bundles is None:
                options = given['ray_actor_options']
                group = [({'CPU': options['num_cpus'], 'GPU': options['num_gpus']}, options['label_selector'])]
            else:
                group = list(zip(bundles, given['placement_group_bundle_label_selector']))
            assert can_place(group, given.get('placement_group_strategy'), nodes), (said, entry)
            checked += 1
    assert checked > 0 or not any(w['together'] for w in report['workloads'])


# --- the whole module -----------------------------------------------------------------------

@pytest.mark.parametrize('form', ['train', 'serve'])
def test_the_module_is_as_recorded(home, form):
    text = home.run('fit', str(SHARING), '--emit', form).out
    path = GOLDEN / f'sharing_{form}.py'
    if os.environ.get('RAYGPU_UPDATE_GOLDEN'):
        path.write_text(text)
    assert path.read_text() == text
    assert home.run('fit', str(SHARING), '--emit', form).out == text


@pytest.mark.parametrize('form, function', [('train', 'scaling_config'), ('serve', 'deployment')])
def test_a_pool_that_a_workload_does_not_run_on_is_an_error(home, form, function):
    module, _ = emit(home, form)
    with pytest.raises(LookupError):
        module[function]('train', 'small')
    with pytest.raises(KeyError):
        module[function]('nothing')


def test_a_caller_cannot_change_the_module(home):
    module, _ = emit(home, 'serve')
    module['deployment']('train')['placement_group_bundles'].clear()
    assert len(module['deployment']('train')['placement_group_bundles']) == 4


def test_a_workload_that_never_runs_has_no_entry(home):
    module, err = emit(home, 'train', workloads={'w': '{gpus: 16}', 'v': '{gpus: 1}'}, code=4)
    assert module['WORKLOADS']['w'] == [] and module['WORKLOADS']['v'] and 'fit.never' in err


def test_an_unknown_form_names_the_known_ones(home):
    assert 'python, train or serve' in home.run('fit', str(SHARING), '--emit', 'perl', code=4).err

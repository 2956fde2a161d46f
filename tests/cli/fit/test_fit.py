"""`raygpu fit`, and the workloads of a plan: the whole program with specs."""
import json
import py_compile
import re

import jsonschema
import pytest

from program import ROOT, Home
from sim_server import Sim

GOLDEN = ROOT / 'tests/golden/fit'
SHARING = ROOT / 'examples/gpu-sharing.yaml'
SCHEMA = json.loads((ROOT / 'schemas/fit.schema.json').read_text())

HEAD = '''cluster: c
provider: {name: aws, region: us-east-1}
ray: {version: %s, python: "3.11"}
head: {instance_type: m5.2xlarge}
pools:
%s
workloads:
%s
'''


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def write(home, pools, workloads, ray='2.56.1'):
    def lines(items):
        return '\n'.join(f'  {name}: {text}' for name, text in items.items())
    home.write('c.yaml', HEAD % (ray, lines(pools), lines(workloads)))


def fit(home, pools, workloads, code=0, **more):
    write(home, pools, workloads, **more)
    result = home.run('fit', 'c.yaml', '--json', code=code).json()
    jsonschema.Draft202012Validator(SCHEMA).validate(result)
    return result, {w['workload']: w for w in result['workloads']}


def codes(result):
    return [d['code'] for d in result['diagnostics']]


def said(result):
    diag, = result['diagnostics']
    return diag


def compare(name, text, update):
    path = GOLDEN / name
    if update:
        path.write_text(text)
    assert path.read_text() == text


@pytest.fixture
def update():
    import os
    return bool(os.environ.get('RAYGPU_UPDATE_GOLDEN'))


# --- the report of the research cluster -----------------------------------------------------

def test_the_report_as_text_is_as_recorded(home, update):
    text = home.run('fit', str(SHARING)).out
    compare('sharing.txt', text, update)
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_report_as_json_keeps_its_schema(home, update):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    result = home.run('fit', str(SHARING), '--json').json()
    jsonschema.Draft202012Validator(SCHEMA).validate(result)
    compare('sharing.json', json.dumps(result, indent=1) + '\n', update)


def test_same_spec_same_bytes(home):
    first = home.run('fit', str(SHARING), '--json').out
    assert home.run('fit', str(SHARING), '--json').out == first


def test_the_python_module_compiles_and_answers(home, update, tmp_path):
    text = home.run('fit', str(SHARING), '--emit', 'python').out
    compare('sharing.py', text, update)
    path = tmp_path / 'steering.py'
    path.write_text(text)
    py_compile.compile(str(path), doraise=True)
    module = {}
    exec(compile(text, str(path), 'exec'), module)  # pylint: disable=exec-used
    assert module['options']('embed') == {
        'num_cpus': 1, 'num_gpus': 0.25, 'label_selector': {'ray.io/node-group': 'serve'}}
    assert module['placement_group']('finetune') == {
        'bundles': [{'CPU': 1, 'GPU': 8}] * 2, 'strategy': 'STRICT_SPREAD',
        'bundle_label_selector': [{'ray.io/node-group': 'train'}] * 2}
    with pytest.raises(LookupError):
        module['options']('embed', 'train')


def test_a_plan_carries_the_report(tmp_path):
    with Sim() as sim:
        home = Home(tmp_path, sim.env())
        home.write('c.yaml', SHARING.read_text())
        plan = home.run('plan', 'c.yaml', '--out', 'p.json')
        assert 'Workloads: all of them fit at once.' in plan.out
        assert re.search(r'^  notebooks +40 +56 +40 +fits +small$', plan.out, re.M)
        assert 'A100 1g.5gb 56' in re.sub(r' 0 -> ', ' ', plan.out)
        own = home.run('show', 'p.json', '--json').json()['raygpu']
        jsonschema.Draft202012Validator(SCHEMA).validate(own['fit'])
        assert home.run('show', 'p.json').out.count('notebooks') == 1


def test_a_plan_fails_where_a_workload_never_runs(tmp_path):
    with Sim() as sim:
        home = Home(tmp_path, sim.env())
        write(home, {'a': '{accelerators: T4, nodes: 1}'}, {'w': '{gpus: 2}'})
        result = home.run('plan', 'c.yaml', code=4)
        assert 'fit.never' in result.err and 'Nothing will be applied' in result.out


def test_a_spec_without_workloads_has_a_cost_alone(home):
    result = home.run('fit', str(ROOT / 'examples/minimal.yaml'))
    assert result.out.startswith('  POOL') and 'WORKLOAD' not in result.out and 'no workloads' in result.err
    report = home.run('fit', str(ROOT / 'examples/minimal.yaml'), '--json').json()
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    assert report['workloads'] is None and report['cost']['most']['nodes'] > 0
    assert home.run('fit', str(ROOT / 'examples/minimal.yaml'), '--emit', 'python').out == ''


# --- cost at the minimum and the maximum ----------------------------------------------------

HEAD_PRICE, T4_PRICE = 384000, 526000  # providers/aws/prices.csv, us-east-1: m5.2xlarge, g4dn.xlarge
RANGE = {'serve': '{accelerators: T4, nodes: {min: 2, max: 10}}', 'old': '{accelerators: T4, nodes: 1}'}


def budgeted(home, pools, budget, workloads=None):
    write(home, pools, workloads or {})
    text = home.read('c.yaml')
    home.write('c.yaml', text.replace('workloads:\n', '') + budget if not workloads else text + budget)


def test_elastic_pools_cost_from_their_least_to_their_most(home):
    budgeted(home, RANGE, '', {'w': '{gpus: 1}'})
    report = home.run('fit', 'c.yaml', '--json').json()
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    cost = report['cost']
    assert (cost['least']['nodes'], cost['most']['nodes']) == (4, 12)
    assert cost['least']['microusd_hour'] == HEAD_PRICE + 3 * T4_PRICE
    assert cost['most']['microusd_hour'] == HEAD_PRICE + 11 * T4_PRICE
    assert [p['pool'] for p in cost['pools']] == ['head', 'serve', 'old']
    text = home.run('fit', 'c.yaml').out
    assert [line.split() for line in text.split('\n') if line.startswith('  serve ')][-1][:8] == [
        'serve', '2', 'to', '10', '$1.05', 'to', '$5.26', '$767.96']
    assert all(len(line) <= 80 for line in text.split('\n'))


def test_validate_refuses_a_range_as_plan_does(home):
    budgeted(home, RANGE, '')
    errors = [home.run(*command, code=4).err for command in (['validate', 'c.yaml'], ['plan', 'c.yaml'])]
    assert errors[0] == errors[1] and '[spec.not-supported-yet]' in errors[0]
    assert home.run('validate', 'c.yaml', '--json', code=4).json()['valid'] is False
    home.run('fit', 'c.yaml')


@pytest.mark.parametrize('budget, code', [
    ('hourly_usd: 6.17', 0), ('hourly_usd: 6.16', 9), ('hourly_usd: 1', 9), ('monthly_usd: 4504.1', 0),
    ('monthly_usd: 4504', 9), ('pools: {serve: {hourly_usd: 5.26}}', 0), ('pools: {serve: {hourly_usd: 5.25}}', 9),
    ('pools: {old: {hourly_usd: 0.526}}', 0)])
def test_a_budget_holds_the_most(home, budget, code):
    """384000 + 11 x 526000 micro-USD an hour are 6.17 USD."""
    budgeted(home, RANGE, f'budget: {{{budget}}}\n')
    said = home.run('fit', 'c.yaml', code=code)
    assert ('budget.exceeded' in said.err) == bool(code)
    assert '  total' in said.out, 'the figures are told all the same'
    if code:
        assert 'with every pool at its maximum' in ' '.join(said.err.split())
        line = [n for n, text in enumerate(home.read('c.yaml').split('\n'), 1) if text.startswith('budget')][0]
        assert f'on c.yaml:{line}:' in said.err


def test_a_project_files_budget_holds_the_most_too(home):
    budgeted(home, RANGE, '')
    home.write('raygpu.yaml', 'budget: {hourly_usd: 6}\n')
    said = home.run('fit', 'c.yaml', code=9)
    assert 'raygpu.yaml:1:' in said.err


# --- what never runs, and what would help ---------------------------------------------------

def test_memory_that_no_gpu_has(home):
    result, w = fit(home, {'legacy': '{accelerators: "V100-32GB:8", nodes: 2}'},
                    {'finetune': '{gpus: 8, gpu_memory: 80GB}'}, code=4)
    diag = said(result)
    assert diag['code'] == 'fit.never'
    assert diag['summary'] == ('workload finetune needs 80 GB on one GPU; the largest in the cluster is '
                               '32 GB (V100-32GB, pool legacy)')
    assert diag['range']['start']['line'] == 8
    assert re.fullmatch(r'cheapest: a pool of 1 node of p\S+ \(\S+ x 8\), \$[\d.]+ per hour', diag['hint'])
    assert w['finetune']['verdict'] == 'never' and w['finetune']['at_once'] == 0


def test_memory_that_the_gpus_just_have_is_not_the_reason(home):
    result, w = fit(home, {'serve': '{accelerators: T4, nodes: 2}'}, {'w': '{gpus: 2, gpu_memory: 16GB}'}, code=4)
    assert said(result)['summary'] == "workload w cannot run on any pool"
    assert {p['pool']: p['why'] for p in w['w']['pools']}['serve'] == 'needs 2 GPUs on one node; g4dn.xlarge has 1'


def test_one_more_node_of_a_pool_is_the_cheapest(home):
    pools = {'serve': '{accelerators: T4, nodes: 2}'}
    result, w = fit(home, pools, {'w': '{gpus: 1, replicas: 3, accelerators: T4}'})
    assert codes(result) == ['fit.short']
    remedy = w['w']['remedy']
    assert remedy['pool'] == 'serve' and remedy['nodes'] == 1
    pools['serve'] = '{accelerators: T4, nodes: 3}'
    result, w = fit(home, pools, {'w': '{gpus: 1, replicas: 3, accelerators: T4}'})
    assert codes(result) == [] and w['w']['verdict'] == 'fits' and w['w']['remedy'] is None


@pytest.mark.parametrize('workload,why', [
    ('{gpus: 2}', 'needs 2 GPUs on one node; g4dn.xlarge has 1'),
    ('{gpus: 1, compute_capability: "8.0"}', 'needs compute capability 8.0; T4 has 7.5'),
    ('{gpus: 1, accelerators: A100}', 'its GPU is T4'),
    ('{gpus: 1, cpus: 5}', 'needs 5 CPUs on one node; g4dn.xlarge has 4'),
    ('{gpus: 1, memory: 16GB}', 'needs 16 GiB of memory on one node; Ray offers 10.4 of g4dn.xlarge'),
    ('{gpus: 1, labels: {a: c}}', 'label a is b, not c'),
    ('{gpus: 1, labels: {a: "!in(b, c)"}}', 'label a is b, not !in(b, c)'),
    ('{gpus: 1, labels: {x: z}}', 'label x is not there, not z'),
    ('{gpus: 1, resources: {special: 3}}', 'needs 3 of resource special on one node; it has 2'),
])
def test_why_a_pool_cannot_take_it(home, workload, why):
    result, w = fit(home, {'p': '{accelerators: T4, nodes: 1, labels: {a: b}, resources: {special: 2}}'},
                    {'w': workload}, code=4)
    assert codes(result) == ['fit.never']
    assert {p['pool']: p['why'] for p in w['w']['pools']}['p'] == why


@pytest.mark.parametrize('workload', [
    '{gpus: 1, labels: {a: "in(b,c)"}}', '{gpus: 1, labels: {a: "!c", x: "!y"}}',
    '{gpus: 1, resources: {special: 2}}', '{gpus: 1, labels: {ray.io/accelerator-type: T4}}',
    '{gpus: 1, compute_capability: ">=7.5", accelerators: [V100, T4]}', '{gpus: 0, pool: head}'])
def test_selectors_that_hold(home, workload):
    result, w = fit(home, {'p': '{accelerators: T4, nodes: 1, labels: {a: b}, resources: {special: 2}}'},
                    {'w': workload})
    assert codes(result) == [] and w['w']['verdict'] == 'fits'


@pytest.mark.parametrize('provider, head, setting, cpus, why', [
    ('aws, region: us-east-1', 'm5.2xlarge', '{threads_per_core: 1}', 2, 'needs 3 CPUs on one node; g4dn.xlarge has 2'),
    ('gcp, region: us-central1', 'n2-standard-8', '{threads_per_core: 1}', 2, 'needs 3 CPUs on one node; n1-standard-4+nvidia-tesla-t4:1 has 2'),
    ('kubernetes', 'cpu', '{cpu: 1}', 1, 'needs 2 CPUs on one node; T4:1 has 1'),
    ('kubernetes', 'cpu', '{cpu: "1500m"}', 2, 'needs 3 CPUs on one node; T4:1 has 2'),
    ('kubernetes', 'cpu', '{cpu: "16"}', 16, 'needs 17 CPUs on one node; T4:1 has 16'),
])
def test_a_setting_of_the_pool_changes_the_cpus(home, provider, head, setting, cpus, why):
    pool = f'{{accelerators: "T4:1", nodes: 1, provider: {setting}'

    def verdict(more, wish):
        write(home, {'p': pool + more + '}'}, {'w': f'{{gpus: 1, cpus: {wish}}}'})
        home.write('c.yaml', home.read('c.yaml').replace('aws, region: us-east-1', provider).replace('m5.2xlarge', head))
        return home.run('fit', 'c.yaml', '--json', code=None).json()['workloads'][0]
    assert verdict('', cpus)['verdict'] == 'fits'
    never = verdict('', cpus + 1)
    assert never['verdict'] == 'never'
    assert {p['pool']: p['why'] for p in never['pools']}['p'] == why
    assert verdict(f', num_cpus: {cpus + 1}', cpus + 1)['verdict'] == 'fits'


def test_a_pool_without_cpus_runs_no_task_that_requires_one(home):
    pools = {'p': '{instance_type: m5.2xlarge, nodes: 1, num_cpus: 0}', 'q': '{instance_type: m5.2xlarge, nodes: 1, num_cpus: 3}'}
    result, w = fit(home, pools, {'w': '{gpus: 0, pool: p}', 'y': '{gpus: 0, replicas: 3, pool: q}'}, code=4)
    assert codes(result) == ['fit.never']
    assert {name: one['verdict'] for name, one in w.items()} == {'w': 'never', 'y': 'fits'}
    assert {p['pool']: p['why'] for p in w['w']['pools']}['p'] == 'needs 1 CPUs on one node; m5.2xlarge has num_cpus: 0'
    write(home, pools, {'y': '{gpus: 0, replicas: 4, pool: q}'})
    assert home.run('fit', 'c.yaml', '--json').json()['workloads'][0]['at_once'] == 3


def test_memory_is_what_the_spec_gives_ray(home):
    """m5.2xlarge has 32 GiB: of Ray's own choice about 21 for tasks."""
    def verdict(start, wish):
        _, w = fit(home, {'p': '{instance_type: m5.2xlarge, nodes: 1%s}' % start}, {'w': f'{{gpus: 0, memory: {wish}GB, pool: p}}'}, code=None)
        return w['w']['verdict']
    assert [verdict('', 18), verdict('', 28)] == ['fits', 'never']
    assert [verdict(', ray_start: {memory: 12GB}', size) for size in (12, 13)] == ['fits', 'never']
    assert [verdict(', ray_start: {object_store_memory: 2GB}', size) for size in (27, 29)] == ['fits', 'never']
    result, _ = fit(home, {'p': '{instance_type: m5.2xlarge, nodes: 1, ray_start: {memory: 20GB, object_store_memory: 13GB}}'}, {'w': '{gpus: 0}'}, code=4)
    assert codes(result) == ['compat.ray-memory'] and 'm5.2xlarge has 32 GiB' in result['diagnostics'][0]['summary']


# --- fractions, slices, turns ---------------------------------------------------------------

def test_a_part_takes_its_share_of_the_memory(home):
    pools = {'serve': '{accelerators: T4, nodes: 1}', 'big': '{accelerators: "A100:8", nodes: 1}'}
    _, w = fit(home, pools, {'embed': '{gpus: 0.1, gpu_memory: 8GB, cpus: 0.1}'})
    on = {p['pool']: p for p in w['embed']['pools']}
    assert (on['serve']['num_gpus'], on['serve']['per_node']) == (0.5, 2)
    assert (on['big']['num_gpus'], on['big']['per_node']) == (0.2, 40)


def test_time_slices_bound_the_tasks_of_a_gpu(home):
    for turns, most in ((2, 2), (3, 3), (4, 4)):
        pools = {'serve': f'{{accelerators: T4, nodes: 1, share: {{time_slices: {turns}}}}}'}
        _, w = fit(home, pools, {'embed': '{gpus: 0.01, cpus: 0.1}'})
        assert w['embed']['at_once'] == most
    _, w = fit(home, {'serve': '{accelerators: T4, nodes: 1}'}, {'embed': '{gpus: 0.01, cpus: 0}'})
    assert w['embed']['at_once'] == 100


def test_slices_are_gpus_of_their_own(home):
    pools = {'mc': '{accelerators: "A100:8", nodes: 1, share: {mig: 1g.5gb}}'}
    _, w = fit(home, pools, {'a': '{gpus: 1, gpu_memory: 5GB, replicas: 56}'})
    assert w['a']['verdict'] == 'fits' and w['a']['at_once'] == 56
    result, _ = fit(home, pools, {'a': '{gpus: 1, gpu_memory: 6GB}'}, code=4)
    assert 'the largest in the cluster is 5 GB' in said(result)['summary']
    result, w = fit(home, pools, {'a': '{gpus: 2}'}, code=4)
    assert {p['pool']: p['why'] for p in w['a']['pools']}['mc'] == 'a program can use one MIG slice only'


def test_of_different_slices_the_smallest_counts(home):
    pools = {'mc': '{accelerators: "A100:8", nodes: 1, share: {mig: [3g.20gb, 2g.10gb, 1g.5gb]}}'}
    result, w = fit(home, pools, {'a': '{gpus: 1, gpu_memory: 5GB, replicas: 24}'})
    assert codes(result) == ['compat.mixed-slices'] and w['a']['at_once'] == 24
    fit(home, pools, {'a': '{gpus: 1, gpu_memory: 10GB}'}, code=4)


# --- gangs ----------------------------------------------------------------------------------

TRAIN = {'train': '{accelerators: "A100:8", nodes: 6}'}


def test_a_gang_larger_than_the_pool_is_refused(home):
    pools = {'train': '{accelerators: "A100:8", nodes: {min: 0, max: 3}}'}
    result, _ = fit(home, pools, {'t': '{gpus: 8, nodes: 4}'}, code=4)
    diag = said(result)
    assert diag['code'] == 'fit.gang-too-large'
    assert diag['summary'] == 'workload t spans 4 nodes at once; at most 3 fit on GPUs of one model'
    result, w = fit(home, pools, {'t': '{gpus: 8, nodes: 3}'})
    assert (w['t']['at_once'], w['t']['at_once_min']) == (1, 0) and result['elastic']


def test_a_gang_needs_all_its_replicas(home):
    result, _ = fit(home, TRAIN, {'t': '{gpus: 4, replicas: 13, gang: true}'}, code=4)
    assert codes(result) == ['fit.gang-too-large']
    result, w = fit(home, TRAIN, {'t': '{gpus: 4, replicas: 12, gang: true}'})
    group = w['t']['ray'][0]['placement_group']
    bundle, = group['bundles']
    assert codes(result) == [] and (bundle['count'], group['strategy']) == (12, 'PACK')


def test_two_gangs_that_each_hold_half_are_refused(home):
    gang = '{gpus: 8, nodes: 2, replicas: 2, gang: true}'
    result, _ = fit(home, {'train': '{accelerators: "A100:8", nodes: 4}'}, {'a': gang, 'b': gang}, code=4)
    assert 'fit.deadlock' in codes(result)
    diag, = [d for d in result['diagnostics'] if d['code'] == 'fit.deadlock']
    assert 'a can hold 1 of its 2 replicas, b can hold 1 of its 2 replicas' in diag['detail']
    result, _ = fit(home, {'train': '{accelerators: "A100:8", nodes: 8}'}, {'a': gang, 'b': gang})
    assert codes(result) == [] and result['all_fit']


def test_a_deadlock_names_all_its_gangs(home):
    gang = '{gpus: 8, nodes: 2, replicas: 2, gang: true}'
    result, _ = fit(home, {'train': '{accelerators: "A100:8", nodes: 6}'}, {'a': gang, 'b': gang, 'c': gang}, code=4)
    diag, = [d for d in result['diagnostics'] if d['code'] == 'fit.deadlock']
    assert diag['summary'] == 'gangs a, b and c fit alone, but not together'
    assert 'c can hold 1 of its 2 replicas' in diag['detail']


@pytest.mark.parametrize('strategy, alone', [('PACK', 6), ('STRICT_PACK', 2), ('STRICT_SPREAD', 3)])
def test_a_gang_alone_is_counted_beyond_its_replicas(home, strategy, alone):
    _, w = fit(home, {'p': '{instance_type: g4dn.xlarge, nodes: 3}'}, {'w': f'{{gpus: 0.5, gang: true, strategy: {strategy}}}'})
    assert w['w']['at_once'] == alone


@pytest.mark.parametrize('accelerators, code, said', [
    ('A1000', 'catalog.unknown-accelerator', 'did you mean `A100`?'),
    ('[A100, MI300X]', 'catalog.unsupported-accelerator', 'use NVIDIA GPUs'),
    ('TPU-v4', 'catalog.unsupported-accelerator', 'use NVIDIA GPUs')])
def test_the_accelerators_of_a_workload_are_known(home, accelerators, code, said):
    write(home, {'a': '{accelerators: "A100:8", nodes: 1}'}, {'w': f'{{gpus: 1, accelerators: {accelerators}}}'})
    for command in 'fit', 'validate':
        diag, = home.run(command, 'c.yaml', '--json', code=4).json()['diagnostics']
        assert diag['code'] == code and said in diag['hint'] and diag['range']['start']['line'] == 8


def test_a_longer_name_of_the_gpu_is_pointed_out(home):
    result, w = fit(home, {'a': '{instance_type: p4de.24xlarge, nodes: 1}'}, {'w': '{gpus: 8, accelerators: A100}'}, code=4)
    assert said(result)['hint'] == 'write `accelerators: [A100, A100-80GB]` to run it on pool a'
    _, w = fit(home, {'a': '{instance_type: p4de.24xlarge, nodes: 1}'}, {'w': '{gpus: 8, accelerators: [A100, A100-80GB]}'})
    assert w['w']['verdict'] == 'fits'


@pytest.mark.parametrize('gpus, instead', [(16, ['nodes: 2, gpus: 8', 'bundles: [{gpus: 1, count: 16}]']),
                                           (12, ['bundles: [{gpus: 1, count: 12}]'])])
def test_more_gpus_than_a_node_has_need_a_group(home, gpus, instead):
    pools = {'a': '{accelerators: "A100:8", nodes: 2}'}
    result, _ = fit(home, pools, {'w': f'{{gpus: {gpus}}}'}, code=4)
    hint = said(result)['hint']
    assert hint.startswith('one task uses GPUs of one node') and ('nodes: 2' in hint) == (gpus == 16)
    for text in instead:
        assert text.split(', ')[0] in hint
        _, w = fit(home, pools, {'w': f'{{{text}}}'})
        assert w['w']['verdict'] == 'fits'


def test_gangs_of_one_group_each_wait_for_one_another(home):
    """Ray reserves a group as a whole, so two of them, or three, never block each other."""
    gang = '{gpus: 8, nodes: 4, gang: true}'
    for n in (2, 3):
        result, w = fit(home, TRAIN, {f'g{i}': gang for i in range(n)})
        assert codes(result) == ['fit.contended'] * (n - 1)
        assert [w[f'g{i}']['verdict'] for i in range(n)] == ['fits'] + ['contended'] * (n - 1)
        diag = result['diagnostics'][0]
        assert diag['summary'] == 'gang g1 fits alone, but not beside the other workloads'
        assert 'as a whole or not at all: it waits until' in diag['detail']
    result, w = fit(home, TRAIN, {'a': '{gpus: 8, nodes: 4}', 'b': '{gpus: 8, nodes: 4}'})
    assert codes(result) == ['fit.contended'] and w['a']['verdict'] == 'fits'


# --- what groups consist of -----------------------------------------------------------------

UNEQUAL = {'a': '{instance_type: g5.xlarge, nodes: 1}', 'b': '{instance_type: g4dn.xlarge, nodes: 1}'}


def bundles_of(workload):
    entry, = workload['ray']
    return entry['groups'], entry['placement_group']


def test_a_gang_over_unequal_pools_is_one_group_with_a_bundle_for_each(home):
    gang = '{gpus: 0.25, gpu_memory: 8GB, nodes: 2, gang: true%s}'
    result, w = fit(home, UNEQUAL, {'train': gang % ''}, code=4)
    assert said(result)['summary'] == 'workload train spans 2 nodes at once; at most 1 fit on GPUs of one model'
    result, w = fit(home, UNEQUAL, {'train': gang % ', same_gpu: false'})
    assert codes(result) == ['fit.mixed-gpus']
    groups, group = bundles_of(w['train'])
    assert groups == 1 and group['strategy'] == 'STRICT_SPREAD'
    assert [(b['count'], b['resources']['GPU'], b['label_selector']) for b in group['bundles']] == [
        (1, 0.3334, {'ray.io/node-group': 'a'}), (1, 0.5, {'ray.io/node-group': 'b'})]


def test_gpus_of_one_model_in_two_pools_are_alike(home):
    pools = {'a': '{instance_type: g4dn.xlarge, nodes: 1}', 'b': '{instance_type: g4dn.12xlarge, nodes: 1}'}
    result, w = fit(home, pools, {'train': '{gpus: 1, nodes: 2, gang: true}'})
    assert codes(result) == []
    assert bundles_of(w['train'])[1]['bundles'][0]['label_selector'] == {'ray.io/node-group': 'in(a,b)'}


@pytest.mark.parametrize('strategy,code', [
    ('STRICT_PACK', 4), ('STRICT_SPREAD', 4), ('PACK', 0), ('SPREAD', 0)])
def test_strategies(home, strategy, code):
    """Six GPUs on two nodes with four each: not on one node, not on six."""
    _, w = fit(home, {'a': '{instance_type: g4dn.12xlarge, nodes: 2}'},
               {'w': f'{{gpus: 1, replicas: 6, gang: true, strategy: {strategy}}}'}, code=code)
    assert w['w']['strategy'] == strategy
    if code == 0:
        assert bundles_of(w['w'])[1]['strategy'] == strategy


T4_ONLY = {'accelerator_type:T4': 0.001}


def test_unequal_bundles(home):
    pools = {'a': '{instance_type: g4dn.12xlarge, nodes: 1}', 'b': '{instance_type: g4dn.xlarge, nodes: 4}'}
    group = '{bundles: [{gpus: 0, cpus: 8}, {gpus: 1, count: 4}], strategy: %s}'
    _, w = fit(home, pools, {'w': group % 'STRICT_PACK'})
    groups, group_json = bundles_of(w['w'])
    assert groups == 1 and [(b['count'], b['resources'], b['label_selector'], b['pools']) for b in group_json['bundles']] == [
        (1, {'CPU': 8}, {'ray.io/node-group': 'a'}, ['a']), (4, {'CPU': 1, 'GPU': 1}, {'ray.io/node-group': 'a'}, ['a'])]
    _, w = fit(home, pools, {'w': group % 'STRICT_SPREAD'})
    assert w['w']['verdict'] == 'fits'
    result, _ = fit(home, {'b': pools['b']}, {'w': group % 'STRICT_PACK'}, code=4)
    assert codes(result) == ['fit.gang-too-large']
    assert said(result)['summary'] == 'workload w: its 5 bundles do not fit at once on GPUs of one model'


def test_ray_before_2_54_ignores_selectors_of_groups_on_one_node(home):
    """Tried with five releases: src/catalog/data/ray_options.csv. What holds a group on its GPUs there is their resource."""
    pools = {'a': '{instance_type: g5.12xlarge, nodes: 1}', 'b': '{instance_type: g4dn.12xlarge, nodes: 1}'}
    group = '{bundles: [{gpus: 1, count: 2}], strategy: STRICT_PACK, pool: b}'
    result, w = fit(home, pools, {'w': group}, ray='2.53.0, auth: none')
    bundle, = bundles_of(w['w'])[1]['bundles']
    assert codes(result) == [] and bundle['resources'] == {'CPU': 1, 'GPU': 1, **T4_ONLY} and 'label_selector' not in bundle
    result, w = fit(home, pools, {'w': group}, ray='2.54.0')
    bundle, = bundles_of(w['w'])[1]['bundles']
    assert codes(result) == [] and bundle['resources'] == {'CPU': 1, 'GPU': 1}
    assert bundle['label_selector'] == {'ray.io/node-group': 'b'}
    # selectors of other groups count
    _, w = fit(home, pools, {'w': group.replace('STRICT_PACK', 'PACK')}, ray='2.53.0, auth: none')
    assert bundles_of(w['w'])[1]['bundles'][0]['label_selector'] == {'ray.io/node-group': 'b'}


def test_where_ray_may_put_a_group_that_must_not_run_there(home):
    pools = {'a': '{instance_type: g4dn.12xlarge, nodes: 1}', 'b': '{instance_type: g4dn.12xlarge, nodes: 1}'}
    group = '{bundles: [{gpus: 1, count: 2}], strategy: STRICT_PACK, pool: b}'
    result, _ = fit(home, pools, {'w': group}, ray='2.53.0, auth: none')
    diag = said(result)
    assert (diag['code'], diag['severity']) == ('fit.strays', 'warning')
    assert diag['summary'] == 'Ray 2.53.0 may place workload w on pool a'
    assert diag['detail'] == 'this release ignores the label selectors of STRICT_PACK groups'
    assert diag['hint'].startswith('use Ray 2.54 or later, or ')
    # a release that has no label selectors at all: the next ones would not help a group on one node
    diag = said(fit(home, pools, {'w': group}, ray='2.48.0, auth: none')[0])
    assert diag['detail'] == 'this release has no label selectors' and diag['hint'].startswith('use Ray 2.54 or later, or ')
    diag = said(fit(home, pools, {'w': '{gpus: 1, pool: b}'}, ray='2.48.0, auth: none')[0])
    assert diag['hint'].startswith('use Ray 2.49 or later, or ')
    # not on nodes that are too small for it, nor where the selector counts, nor if it may run there
    for others, workload, ray in (({'a': '{instance_type: g4dn.xlarge, nodes: 1}'}, group, '2.53.0, auth: none'), ({}, group, '2.54.0'),
                                  ({}, group.replace(', pool: b', ''), '2.53.0, auth: none'), ({}, '{gpus: 1, pool: b}', '2.53.0, auth: none')):
        assert codes(fit(home, {**pools, **others}, {'w': workload}, ray=ray)[0]) == []
    # a resource that only the right pool has
    pools['b'] = pools['b'].replace('}', ', resources: {mine: 2}}')
    own = group.replace('gpus: 1, count', 'gpus: 1, resources: {mine: 1}, count')
    assert codes(fit(home, pools, {'w': own}, ray='2.53.0, auth: none')[0]) == []
    # without GPUs
    cpus = '{bundles: [{gpus: 0, cpus: 2, count: 2}], strategy: STRICT_PACK, pool: b}'
    assert said(fit(home, pools, {'w': cpus}, ray='2.53.0, auth: none')[0])['summary'] == 'Ray 2.53.0 may place workload w on pool a'


def test_more_small_nodes_do_not_draw_a_gang_away(home):
    for nodes in (29, 30, 60):
        pools = {'big': '{accelerators: "A100:8", nodes: 2}', 'small': f'{{accelerators: "T4:1", nodes: {nodes}}}'}
        result, _ = fit(home, pools, {'ddp': '{gpus: 1, nodes: 2, gang: true}',
                                      'train': '{gpus: 8, gpu_memory: 40GB, replicas: 2}'})
        assert codes(result) == [] and result['all_fit'] and result['exact']


def test_what_leans_on_packing_is_a_group(home):
    pools = {'a': '{instance_type: g4dn.12xlarge, nodes: 2}'}
    result, w = fit(home, pools, {'small': '{gpus: 1, replicas: 4}', 'large': '{gpus: 4}'})
    assert result['all_fit'] and result['leans_on_packing']
    groups, group = bundles_of(w['small'])
    assert (groups, group['strategy'], group['bundles'][0]['count']) == (1, 'STRICT_PACK', 4)
    assert 'placement_group' not in w['large']['ray'][0]
    assert 'as its default' in home.run('fit', 'c.yaml').out
    result, w = fit(home, pools, {'small': '{gpus: 1, replicas: 8}'})
    assert not result['leans_on_packing'] and 'placement_group' not in w['small']['ray'][0]


# --- what is counted ------------------------------------------------------------------------

def test_gib_are_what_the_gpu_reports(home):
    result, w = fit(home, {'a': '{instance_type: g5.xlarge, nodes: 1}'}, {'w': '{gpus: 1, gpu_memory: 24GiB}'}, code=4)
    assert {p['pool']: p['why'] for p in w['w']['pools']}['a'] == 'needs 24 GiB on one GPU; A10G has 22.49 GiB'
    fit(home, {'a': '{instance_type: g5.xlarge, nodes: 1}'}, {'w': '{gpus: 1, gpu_memory: 22GiB}'})
    fit(home, {'a': '{instance_type: g5.xlarge, nodes: 1}'}, {'w': '{gpus: 1, gpu_memory: 24GB}'})


def test_selectors_are_printed_without_spaces(home):
    _, w = fit(home, {'a': '{instance_type: g4dn.xlarge, nodes: 1, labels: {tier: silver}}'},
               {'w': '{gpus: 1, labels: {tier: "in(gold, silver)"}}'})
    assert w['w']['ray'][0]['options']['label_selector']['tier'] == 'in(gold,silver)'


def test_memory_as_ray_counts_it(home):
    """The object store gets 30 % of a small node, and 200e9 bytes of a large one."""
    fit(home, {'a': '{instance_type: p4d.24xlarge, nodes: 1}'}, {'w': '{gpus: 8, memory: 900GiB}'})
    fit(home, {'a': '{instance_type: g4dn.xlarge, nodes: 1}'}, {'w': '{gpus: 1, memory: 10GiB}'})
    fit(home, {'a': '{instance_type: g4dn.xlarge, nodes: 1}'}, {'w': '{gpus: 1, memory: 11GiB}'}, code=4)


def test_words_where_something_else_than_gpus_is_missing(home):
    result, w = fit(home, {'a': '{instance_type: g4dn.xlarge, nodes: 2, share: {time_slices: 8}}'},
                    {'w': '{gpus: 0.125, replicas: 16}'})
    assert said(result)['detail'] == 'a: the CPU of a node is enough for 4, its GPUs for 8'
    assert {p['pool']: p.get('binds') for p in w['w']['pools']}['a'] == 'CPU'
    result, _ = fit(home, {'a': '{instance_type: g4dn.12xlarge, nodes: 2}'}, {'w': '{gpus: 0}'})
    assert result['gpus'] == {'total': 8, 'used': 0, 'stranded': 0} and result['fragmentation'] == 0
    assert 'No workload needs a GPU; the cluster has 8.' in home.run('fit', 'c.yaml').out
    mixed = {'mc': '{accelerators: "A100:8", nodes: 1, share: {mig: [3g.20gb, 2g.10gb, 1g.5gb]}}'}
    result, _ = fit(home, mixed, {'w': '{gpus: 1, gpu_memory: 20GB}'}, code=4)
    diag, = [d for d in result['diagnostics'] if d['code'] == 'fit.never']
    assert 'the largest that Ray can select in the cluster is 5 GB' in diag['summary']


# --- remedies -------------------------------------------------------------------------------

def remedy_of(home, pools, workload, code=0, extra=''):
    write(home, pools, {'w': workload})
    home.write('c.yaml', home.read('c.yaml') + extra)
    result = home.run('fit', 'c.yaml', '--json', code=code).json()
    return result['workloads'][0]['remedy']


T4 = {'a': '{instance_type: g4dn.xlarge, nodes: 1}'}


def test_a_remedy_counts_host_memory(home):
    remedy = remedy_of(home, T4, '{gpus: 0.25, memory: 16GiB, replicas: 4}', 4)
    pools = dict(T4, new=f'{{instance_type: {remedy["instance_type"]}, nodes: {remedy["nodes"]}}}')
    result, w = fit(home, pools, {'w': '{gpus: 0.25, memory: 16GiB, replicas: 4}'})
    assert w['w']['verdict'] == 'fits' and w['w']['remedy'] is None


def test_remedies_for_contended_and_for_cpu_work(home):
    result, w = fit(home, T4, {'a': '{gpus: 1}', 'b': '{gpus: 1}'})
    assert w['b']['verdict'] == 'contended' and (w['b']['remedy']['pool'], w['b']['remedy']['nodes']) == ('a', 1)
    remedy = remedy_of(home, T4, '{gpus: 0, cpus: 30, replicas: 2}', 4)
    assert remedy['accelerator'] is None and remedy['pool'] is None and remedy['nodes'] > 0


def test_a_gang_is_not_completed_with_other_gpus(home):
    remedy = remedy_of(home, {'a': '{instance_type: p4d.24xlarge, nodes: 1}', 'b': '{instance_type: g4dn.metal, nodes: 1}'},
                       '{gpus: 8, nodes: 2, gang: true, gpu_memory: 40GB}', 4)
    assert remedy['pool'] == 'a' and remedy['nodes'] == 1


def test_remedies_are_within_the_policy(home):
    denied = 'policy: {deny_accelerators: [A100]}\n'
    a100 = {'a': '{instance_type: p4d.24xlarge, nodes: 1}'}
    assert remedy_of(home, a100, '{gpus: 8, gpu_memory: 40GB, replicas: 2}')['accelerator'] == 'A100-40GB'
    remedy = remedy_of(home, a100, '{gpus: 8, gpu_memory: 40GB, replicas: 2}', extra=denied)
    assert remedy is None or not remedy['accelerator'].startswith('A100')
    assert remedy_of(home, T4, '{gpus: 1, replicas: 3}', extra='policy: {max_nodes: 3}\n')['instance_type'] != 'g4dn.xlarge'
    assert remedy_of(home, T4, '{gpus: 1, replicas: 3}', extra='policy: {max_nodes: 2}\n') is None


def test_remedies_have_the_market_the_labels_and_the_resources(home):
    spot = {'a': '{instance_type: g4dn.xlarge, nodes: 1, market: spot}'}
    remedy = remedy_of(home, spot, '{gpus: 1, replicas: 2, labels: {ray.io/market-type: spot}}')
    assert remedy['pool'] == 'a' and remedy['market'] == 'spot' and remedy['microusd_hour'] < 526000
    remedy = remedy_of(home, T4, '{gpus: 1, labels: {ray.io/market-type: spot}}', 4)
    assert remedy['pool'] is None and remedy['market'] == 'spot'
    remedy = remedy_of(home, T4, '{gpus: 1, resources: {mig-3g.20gb: 1}}', 4)
    assert remedy['mig'] == '3g.20gb'
    remedy = remedy_of(home, T4, '{gpus: 1, resources: {licence: 1}, labels: {tier: "in(gold, silver)"}}', 4)
    assert remedy['labels'] == {'tier': 'gold'} and remedy['resources'] == {'licence': 1}
    hint = home.run('fit', 'c.yaml', code=4).err
    assert 'labels: {tier: gold}, resources: {licence: 1}' in ' '.join(hint.split())


def test_without_prices_more_nodes_of_a_pool_are_a_remedy(home):
    """On Kubernetes no price is known; in some regions none of a type. Fewest nodes first."""
    def spec(nodes):
        return (HEAD % ('2.56.1', f'  a: {{accelerators: "T4:1", nodes: {nodes}}}\n  b: {{accelerators: "T4:4", nodes: 1}}',
                        '  w: {gpus: 1, replicas: 14}')).replace(
            '{name: aws, region: us-east-1}', '{name: kubernetes}').replace('m5.2xlarge', 'cpu')
    home.write('c.yaml', spec(2))
    run = home.run('fit', 'c.yaml', '--json').json()
    jsonschema.Draft202012Validator(SCHEMA).validate(run)
    remedy = run['workloads'][0]['remedy']
    assert (remedy['pool'], remedy['nodes'], remedy['microusd_hour']) == ('b', 2, None)
    hint = ' '.join(home.run('fit', 'c.yaml').err.split())
    assert 'hint: 2 more nodes of pool b (T4:4); no price is known' in hint
    home.write('c.yaml', spec(2).replace('nodes: 1}', 'nodes: 3}'))
    assert home.run('fit', 'c.yaml', '--json').json()['workloads'][0]['verdict'] == 'fits'


def test_slices_and_fractions_where_they_cost_less(home):
    notebooks = '{gpus: 1, gpu_memory: 5GB, replicas: 40}'
    remedy = remedy_of(home, T4, notebooks)
    assert remedy['workload_gpus'] == 0.3333 and (remedy['pool'], remedy['nodes']) == ('a', 13)
    remedy = remedy_of(home, T4, '{gpus: 1, replicas: 80, compute_capability: "8.0", accelerators: A100}', 4)
    assert remedy['mig'] and remedy['nodes'] < 10


# --- explain --------------------------------------------------------------------------------

def test_explain(home):
    text = home.run('fit', str(SHARING), '--explain', 'finetune').out
    assert text.startswith('finetune needs on each of 2 nodes: 8 GPUs, 40 GB of GPU memory, 1 CPU.')
    assert re.search(r'^  train +p4d.24xlarge +2 +1 +GPU$', text, re.M)
    assert '\n  not on serve: needs 40 GB on one GPU; T4 has 16 GB\n' in text
    assert max(map(len, text.splitlines())) <= 80
    report = home.run('fit', str(SHARING), '--explain', 'finetune', '--json').json()
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    rows = {row['pool']: row for row in report['explained']['rows']}
    assert [lack['what'] for lack in rows['serve']['lacks']] == ['compute_capability', 'gpu_memory', 'gpus']
    assert rows['train']['lacks'] == [] and rows['train']['per_node'] == 1
    assert rows['train']['node']['memory_mib'] > 900 * 1024
    wrong = home.run('fit', str(SHARING), '--explain', 'finetun', code=4)
    assert 'did you mean `finetune`?' in wrong.err and wrong.out == ''
    home.run('fit', str(SHARING), '--explain', 'finetune', '--emit', 'python', code=4)


def test_a_remedy_keeps_to_the_budget_or_says_by_how_much_not(home):
    def remedy(usd):
        spec = HEAD % ('2.56.1', '  a: {accelerators: T4, nodes: 1}', '  w: {gpus: 1, replicas: 3}')
        home.write('c.yaml', spec + f'budget: {{hourly_usd: {usd}}}\n')
        run = home.run('fit', 'c.yaml', '--json', code=None)
        return run.json()['workloads'][0]['remedy']
    assert remedy(100)['over_budget_microusd_hour'] == 0
    enough = remedy(100)['microusd_hour']
    tight = remedy(1)
    assert tight['over_budget_microusd_hour'] > 0
    assert tight['over_budget_microusd_hour'] <= tight['microusd_hour'] and tight['microusd_hour'] >= enough
    assert 'above the budget' in home.run('fit', 'c.yaml', code=None).err


def test_slices_of_gpus_that_are_there(home):
    """Several programs on one GPU need slices where fractions are not an option: groups."""
    _, w = fit(home, {'p': '{accelerators: "A100:8", nodes: 1}'},
               {'w': '{gpus: 1, gpu_memory: 5GB, replicas: 50, gang: true}'}, code=None)
    remedy = w['w']['remedy']
    assert (remedy['pool'], remedy['mig'], remedy['nodes'], remedy['microusd_hour']) == ('p', '1g.5gb', 0, 0)
    text = home.run('fit', 'c.yaml', code=None).err
    assert 'share: {mig: 1g.5gb} for pool p (p4d.24xlarge)' in text
    fit(home, {'p': '{accelerators: "A100:8", nodes: 1, share: {mig: 1g.5gb}}'},
        {'w': '{gpus: 1, gpu_memory: 5GB, replicas: 50, gang: true}'})


def test_explain_is_about_one_workload(home):
    """The others are placed, too, but neither their findings nor their remedies are reported."""
    write(home, {'p': '{accelerators: T4, nodes: 2}'},
          {'gang': '{gpus: 1, nodes: 4, replicas: 2}', 'vast': '{gpus: 1, gpu_memory: 80GB}', 'small': '{gpus: 1}'})
    run = home.run('fit', 'c.yaml', '--explain', 'gang', code=4)
    assert run.out.startswith('Each of 2 replicas of gang needs on each of 4 nodes: 1 GPU, 1 CPU.')
    assert 'gang spans 4 nodes at once; at most 2 fit' in run.err
    assert 'vast' not in run.err and 'small' not in run.err
    report = home.run('fit', 'c.yaml', '--explain', 'small', '--json').json()
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    assert [w['workload'] for w in report['workloads']] == ['small'] and report['diagnostics'] == []
    assert report['explained']['nodes'] == 0 and report['explained']['replicas'] == 1
    assert not report['all_fit']
    report = home.run('fit', 'c.yaml', '--explain', 'gang', '--json', code=4).json()
    assert codes(report) == ['fit.gang-too-large'] and report['explained']['nodes'] == 4


def test_explain_reports_a_deadlock_to_its_gangs(home):
    write(home, {'p': '{accelerators: "A100:8", nodes: 5}', 't': '{accelerators: T4, nodes: 1}'},
          {'a': '{gpus: 8, nodes: 2, replicas: 2, gang: true}', 'b': '{gpus: 8, nodes: 2, replicas: 2, gang: true}',
           'c': '{gpus: 0.5}'})
    for name, found in ('a', True), ('b', True), ('c', False):
        report = home.run('fit', 'c.yaml', '--explain', name, '--json', code=None).json()
        assert ('fit.deadlock' in codes(report)) == found


def test_explain_has_each_bundle(home):
    write(home, T4, {'w': '{bundles: [{gpus: 0, cpus: 2}, {gpus: 1, count: 2}]}'})
    text = home.run('fit', 'c.yaml', '--explain', 'w', code=None).out
    assert 'w, bundle 1 (1 of it) needs' in text and 'w, bundle 2 (2 of it) needs' in text
    assert 'STRICT' not in text
    write(home, T4, {'w': '{bundles: [{gpus: 0, cpus: 2}, {gpus: 1}], strategy: STRICT_PACK}'})
    text = home.run('fit', 'c.yaml', '--explain', 'w').out
    assert text.endswith('\nSTRICT_PACK: all bundles of a replica are on one node.\n')


# --- the rest -------------------------------------------------------------------------------

def test_what_no_workload_can_use_is_stranded(home):
    result, _ = fit(home, {'p': '{accelerators: "A100:8", nodes: 2}'}, {'w': '{gpus: 5, replicas: 2}'})
    assert result['gpus'] == {'total': 16, 'used': 10, 'stranded': 6}
    assert result['fragmentation'] == 0.375
    text = ' '.join(home.run('fit', 'c.yaml').out.split())
    assert ('With all workloads placed, 10 of 16 GPUs are used and 6 stranded (fragmentation 37.5 %): free, but on '
            'nodes where no workload fits any more.') in text


def test_what_is_not_placed_says_so(home):
    gang = '{gpus: 8, nodes: 4, gang: true}'
    write(home, TRAIN, {'g0': gang, 'g1': gang})
    text = home.run('fit', 'c.yaml').out
    assert '\n  g0: placement group' in text and '\n  g1 (not placed): placement group' in text
    assert re.search(r'^  g1 .* contended +train$', text, re.M)
    write(home, UNEQUAL, {'train': '{gpus: 1, nodes: 2, gang: true}'})
    text = home.run('fit', 'c.yaml', code=4).out
    assert re.search(r'^  train .* never +nowhere$', text, re.M) and 'train (not placed): placement group' in text
    write(home, UNEQUAL, {'vast': '{gpus: 1, gpu_memory: 80GB}'})
    assert "Ray's options" not in home.run('fit', 'c.yaml', code=4).out


@pytest.mark.parametrize('ray,selector', [('2.49.0', True), ('2.48.0', False)])
def test_selectors_only_where_ray_has_them(home, ray, selector):
    _, w = fit(home, {'p': '{accelerators: T4, nodes: 1}'}, {'w': '{gpus: 1}'},
               ray=f'{ray}, auth: none, image: "rayproject/ray:{ray}-py311-cu121"')
    options = w['w']['ray'][0]['options']
    assert ('label_selector' in options) == selector
    assert options.get('resources') == (None if selector else {'accelerator_type:T4': 0.001})


def test_bad_words_are_refused(home):
    assert 'python' in home.run('fit', str(SHARING), '--emit', 'perl', code=4).err
    home.run('fit', str(SHARING), '--emit', 'python', '--json', code=4)


def python_module(home):
    names = {}
    exec(home.run('fit', 'c.yaml', '--emit', 'python', code=None).out, names)  # pylint: disable=exec-used
    return names


def test_the_module_says_what_it_has_no_options_for(home):
    write(home, {'a': '{accelerators: "T4:1", nodes: 1}'},
          {'one': '{gpus: 1}', 'large': '{gpus: 8}'})
    module = python_module(home)
    with pytest.raises(LookupError, match='workload large runs on no pool'):
        module['options']('large')
    with pytest.raises(LookupError, match='workload one does not run on pool b'):
        module['options']('one', 'b')
    with pytest.raises(LookupError, match='workload one needs no placement group'):
        module['placement_group']('one')


def test_none_of_the_replicas_is_a_count_in_words(home):
    result, _ = fit(home, {'a': '{accelerators: "T4:4", nodes: 1}'},
                    {'first': '{gpus: 4}', 'second': '{gpus: 1, replicas: 3}'})
    assert said(result)['summary'] == ('workload second fits alone, but none of its 3 replicas '
                                       'beside the other workloads')
    text = home.run('fit', 'c.yaml').out
    assert 'With what fits placed, 4 of 4 GPUs are used.' in text
    assert 'stranded (' not in text


def test_the_remedy_for_many_combinations_is_still_tested(home):
    workloads = {
        'w1': '{gpus: 3, replicas: 70}',
        'w2': '{bundles: [{gpus: 2, count: 3}, {gpus: 0.3, count: 2}], replicas: 20, '
              'strategy: STRICT_SPREAD}',
        'w3': '{gpus: 0.4, replicas: 100, gpu_memory: 10GB}',
        'w4': '{gpus: 5, replicas: 25}',
        'w5': '{bundles: [{gpus: 1, count: 7}], replicas: 9, strategy: STRICT_PACK, gang: true}'}
    pools = {'a': '{accelerators: "A100:8", nodes: 40}', 'b': '{accelerators: "T4:4", nodes: 60}'}
    _, found = fit(home, pools, workloads)
    remedy = found['w5']['remedy']
    pools['c'] = f'{{instance_type: {remedy["instance_type"]}, nodes: {remedy["nodes"]}' + (
        f', share: {{mig: {remedy["mig"]}}}}}' if remedy['mig'] else '}')
    _, found = fit(home, pools, workloads)
    assert found['w5']['verdict'] == 'fits'


def test_a_reservation_is_not_made_larger(home):
    result, found = fit(home, {'a': '{accelerators: "T4:1", nodes: 1, '
                                    'market: {reservation: cr-0123456789abcdef0}}'},
                        {'w': '{gpus: 1, replicas: 2, pool: a}'})
    assert found['w']['verdict'] == 'short' and found['w']['remedy'] is None


def test_where_the_search_gives_up_first_fit_is_the_least(home):
    group = '{bundles: [{gpus: 2, count: 2}, {gpus: 0.3, count: 2}], replicas: %d, strategy: %s}'
    _, found = fit(home, {'a': '{accelerators: "A100:8", nodes: 3}',
                          'b': '{accelerators: "T4:4", nodes: 10}'},
                   {'w0': group % (3, 'STRICT_PACK'), 'w1': group % (5, 'PACK'),
                    'w2': '{gpus: 1, replicas: 10}', 'w3': '{gpus: 0.3, replicas: 21}'})
    assert [w['verdict'] for w in found.values()] == ['fits'] * 4


# What a workload of it needs: GPUs/CPUs/GiB/replicas/pools. Together 121.3 GPUs, of 121.
FULL = """
    2/4/40/1/0123467 0.5/1/8/7/0123467 1/6/16/6/012356 4/10/6/1/01456 0.75/4/12/4/013456 0.2/3/4/16/1234567 6/30/2/3/0124567
    0.25/4/14/6/013456 3/24/38/2/012347 1/8/8/6/1234567 0.3/2/8/4/2567 0.125/3/10/12/013567 2/12/12/5/01267 0.4/1/8/4/123567
    2/12/4/3/0123456 0.2/1/16/9/023467 2/4/32/3/134567 0.1/1/12/16/12567 5/20/58/2/0123467 0.1/4/2/28/023457 2/10/30/4/02457
    0.1/4/16/5/01347 0.2/4/16/8/013567 5/12/24/1/01234567 0.75/4/6/14/0123567"""
FULL_POOLS = ['a2-highgpu-8g', 'g2-standard-48', 'a3-highgpu-8g', 'g2-standard-24', 'a2-highgpu-4g', 'g2-standard-16',
              'a2-ultragpu-8g', 'n1-standard-64+nvidia-tesla-t4:4']


def test_a_cluster_that_is_full_to_the_brim_is_decided(home):
    """25 workloads on 8 pools, of which none admits all: the sum of their GPUs is what refutes it, without a search."""
    workloads = {}
    for i, row in enumerate(FULL.split()):
        gpus, cpus, gib, replicas, where = row.split('/')
        workloads[f'w{i}'] = {'gpus': float(gpus), 'cpus': int(cpus), 'memory': f'{gib}GiB', 'replicas': int(replicas),
                              'pool': [f'p{p}' for p in where]}
    pools = {f'p{i}': {'instance_type': t, 'nodes': 4 if i == 7 else 3} for i, t in enumerate(FULL_POOLS)}
    home.write('c.yaml', json.dumps({'cluster': 'c', 'provider': {'name': 'gcp', 'region': 'us-central1'},
                                     'ray': {'version': '2.56.1', 'auth': 'none', 'image': 'example.com/ray:1'},
                                     'head': {'instance_type': 'n2-standard-8'}, 'pools': pools, 'workloads': workloads}))
    result = home.run('fit', 'c.yaml', '--json', code=None).json()
    assert result['gpus']['total'] == 121 and result['exact'] and not result['all_fit']
    said = {w['workload']: (w['verdict'], w['together']) for w in result['workloads'] if w['verdict'] != 'fits'}
    assert said == {'w24': ('contended', 13)}


def test_a_cluster_without_any_price_says_so_once(home):
    home.write('c.yaml', 'cluster: c\nprovider: {name: kubernetes}\nray: {version: 2.56.1, auth: none, image: "example.com/ray:1"}\n'
                         'head: {instance_type: cpu}\npools:\n  gpu: {accelerators: "T4:1", nodes: {min: 0, max: 4}}\n'
                         'workloads:\n  w: {gpus: 1}\n')
    text = ' '.join(home.run('fit', 'c.yaml').out.split())
    assert text.count('No price of any node is known') == 1 and 'PER HOUR' not in text and 'unknown' not in text

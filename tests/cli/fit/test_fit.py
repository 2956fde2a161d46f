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


def write(home, pools, workloads, ray='2.52.0'):
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
    result, w = fit(home, {'legacy': '{accelerators: "V100:4", nodes: 2}'},
                    {'finetune': '{gpus: 8, gpu_memory: 80GB}'}, code=4)
    diag = said(result)
    assert diag['code'] == 'fit.never'
    assert diag['summary'] == ('workload finetune needs 80 GB on one GPU; the largest in the cluster is '
                               '16 GB (V100-16GB, pool legacy)')
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
    ('{gpus: 1, memory: 16GB}', 'needs 16 GiB of memory on one node; Ray offers 11 of g4dn.xlarge'),
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
    assert codes(result) == [] and w['a']['at_once'] == 24
    fit(home, pools, {'a': '{gpus: 1, gpu_memory: 10GB}'}, code=4)


# --- gangs ----------------------------------------------------------------------------------

TRAIN = {'train': '{accelerators: "A100:8", nodes: 6}'}


def test_a_gang_larger_than_the_pool_is_refused(home):
    pools = {'train': '{accelerators: "A100:8", nodes: {min: 0, max: 3}}'}
    result, _ = fit(home, pools, {'t': '{gpus: 8, nodes: 4}'}, code=4)
    diag = said(result)
    assert diag['code'] == 'fit.gang-too-large'
    assert diag['summary'] == 'workload t spans 4 nodes at once; at most 3 fit'
    result, w = fit(home, pools, {'t': '{gpus: 8, nodes: 3}'})
    assert (w['t']['at_once'], w['t']['at_once_min']) == (1, 0) and result['elastic']


def test_a_gang_needs_all_its_replicas(home):
    result, _ = fit(home, TRAIN, {'t': '{gpus: 4, replicas: 13, gang: true}'}, code=4)
    assert codes(result) == ['fit.gang-too-large']
    result, w = fit(home, TRAIN, {'t': '{gpus: 4, replicas: 12, gang: true}'})
    group = w['t']['ray'][0]['placement_group']
    assert codes(result) == [] and (group['count'], group['strategy']) == (12, 'PACK')


def test_two_gangs_that_each_hold_half_are_refused(home):
    gang = '{gpus: 8, nodes: 2, replicas: 2, gang: true}'
    result, _ = fit(home, {'train': '{accelerators: "A100:8", nodes: 4}'}, {'a': gang, 'b': gang}, code=4)
    assert 'fit.deadlock' in codes(result)
    diag, = [d for d in result['diagnostics'] if d['code'] == 'fit.deadlock']
    assert 'a can hold 1 of its 2 replicas and b 1 of its 2' in diag['detail']
    result, _ = fit(home, {'train': '{accelerators: "A100:8", nodes: 8}'}, {'a': gang, 'b': gang})
    assert codes(result) == [] and result['all_fit']


def test_two_gangs_of_one_group_each_wait_for_one_another(home):
    gang = '{gpus: 8, nodes: 4, gang: true}'
    result, _ = fit(home, TRAIN, {'a': gang, 'b': gang}, code=4)
    assert 'fit.deadlock' in codes(result)
    result, w = fit(home, TRAIN, {'a': '{gpus: 8, nodes: 4}', 'b': '{gpus: 8, nodes: 4}'})
    assert codes(result) == ['fit.contended'] and w['a']['verdict'] == 'fits'


# --- the rest -------------------------------------------------------------------------------

def test_what_no_workload_can_use_is_stranded(home):
    result, _ = fit(home, {'p': '{accelerators: "A100:8", nodes: 2}'}, {'w': '{gpus: 5, replicas: 2}'})
    assert result['gpus'] == {'total': 16, 'used': 10, 'stranded': 6}
    assert result['fragmentation'] == 0.375


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

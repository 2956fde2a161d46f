"""`catalog` of the project file: an invented GPU from data alone, negotiated prices, and what is refused."""
import csv
import io
import json
import os
import shutil
import sqlite3

import pytest
from program import ROOT, Home, spec
from sim_server import Sim

EXAMPLE = os.path.join(ROOT, 'examples/own-catalog')
H900 = 'H900: {memory: 288GB, compute_capability: "11.0"'
P9 = 'p9.48xlarge: {accelerators: H900:8, vcpus: 192, memory: 4TiB, network_gbps: 3200}'
# us-east-1, providers/aws/prices.csv
M5, P4D, P9_PRICE, T4 = 384000, 21957642, 161500000, 526000
SPEC = spec(pools={'big': ('H900:8', 1)})


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def catalog(home, *lines):
    home.write('raygpu.yaml', 'catalog:\n' + ''.join(f'  {line}\n' for line in lines))


def one_line(text):
    return ' '.join(text.split())


def off(price, percent):
    return round(price * (100 - percent) / 100)


def test_an_invented_gpu_is_planned_made_costed_and_destroyed(tmp_path):
    with Sim('--scenario', os.path.join(EXAMPLE, 'sim.scenario.yaml'), '--boot-ms', '20', '--shutdown-ms', '20') as sim:
        home = Home(tmp_path, sim.env())
        for name in ('raygpu.yaml', 'cluster.yaml'):
            shutil.copy(os.path.join(EXAMPLE, name), home.path(name))
        home.run('plan', '--out', 'p.json')
        plan = json.loads(home.read('p.json'))
        per_hour = off(M5, 9) + 2 * P9_PRICE + off(P4D, 30)
        assert plan['raygpu']['cost']['after'] == {
            'microusd_hour': per_hour, 'microusd_month': 730 * per_hour, 'unpriced': 0}
        assert [p['after'].get('carbon_mg_hour', 0) > 0 for p in plan['raygpu']['pools']] == [True] * 3
        home.run('apply', 'p.json')
        nodes = sim.live_instances()
        assert sorted(n['instanceType'] for n in nodes) == ['m5.2xlarge', 'p4d.24xlarge', 'p9.48xlarge', 'p9.48xlarge']
        with sqlite3.connect(home.state) as db:
            [[pin]] = db.execute("SELECT pin FROM lifetimes WHERE address = 'aws.instance.big[0]'")
        pin = json.loads(pin)
        assert (pin['instance_type'], pin['price_microusd_hour'], pin['price_quality'], pin['price_date'],
                pin['reason']) == ('p9.48xlarge', P9_PRICE, 'negotiated', '2026-10-01',
                                   'the only offer of H900:8 in us-east-1')
        # what a node reports about itself to Ray
        shown = home.run('state', 'show', 'aws.instance.big[0]', '--json').out
        assert '--labels=ray.io/accelerator-type=H900,' in shown and 'accelerator_type:H900' in shown
        home.run('plan', '--detailed-exitcode')
        assert home.run('cost', '--json').json()['total']['microusd_hour'] == per_hour
        # the pinned price stays when the contract changes; a plan from the state needs no catalog
        home.write('raygpu.yaml', home.read('raygpu.yaml').replace('161.50', '99').replace('percent: 9', 'percent: 8'))
        home.run('plan', '--detailed-exitcode')
        assert home.run('cost', '--json').json()['total']['microusd_hour'] == per_hour
        os.unlink(home.path('raygpu.yaml'))
        assert 'unknown accelerator "H900"' in home.run('plan', code=4).err
        home.run('destroy', '--auto-approve')
        assert sim.live_instances() == []


def test_every_command_that_chooses_sees_it(home):
    home.write('cluster.yaml', SPEC + 'workloads:\n  a: {gpus: 8, gpu_memory: 250GB}\n')
    for command in ('validate', 'fit'):
        assert 'unknown accelerator "H900"' in home.run(command, 'cluster.yaml', code=4).err
    catalog(home, 'gpus:', f'  {H900}, names: [B-TWO], ray_type: H9}}', 'instance_types: {aws: {' + P9 + '}}',
            'prices: {aws: [{instance_type: p9.48xlarge, region: us-east-1, hourly_usd: 161.5}]}')
    home.run('validate', 'cluster.yaml')
    assert '"p9.48xlarge"' in home.run('fit', 'cluster.yaml', '--json').out
    for asked in (('cluster.yaml',), ('h900:8',), ('b-two:8',), ('{gpu_memory: ">=280GB", compute_capability: ">=11.0", count: 8}',)):
        [found] = home.run('offers', *asked, '--json').json()['lists']
        [offer] = found['offers']
        assert (offer['instance_type'], offer['gpu'], offer['accelerator']) == ('p9.48xlarge', 'H900', 'H9')
        assert offer['on_demand'] == {'microusd_hour': P9_PRICE, 'zone': None, 'quality': 'negotiated', 'date': None,
                                      'own': 'raygpu.yaml:5'}
        assert offer['own'] == {'gpu': 'raygpu.yaml:3', 'instance_type': 'raygpu.yaml:4'}
        assert offer['carbon'] is None, 'without power_w nothing is counted'
    [line] = csv.DictReader(io.StringIO(home.run('offers', 'H900:8', '--csv').out))
    assert line['own'] == 'GPU raygpu.yaml:3, type raygpu.yaml:4, price raygpu.yaml:5' and line['rejected'] == ''
    text = home.run('offers', 'H900:8').out
    assert '  own: GPU raygpu.yaml:3, type raygpu.yaml:4, price raygpu.yaml:5\n' in text
    assert max(map(len, text.splitlines())) <= 80
    # its price rows determine where it is sold
    home.write('cluster.yaml', SPEC.replace('us-east-1', 'us-west-2'))
    assert 'H900:8 is offered in us-east-1' in one_line(home.run('validate', code=4).err)


def test_a_quote_in_the_place_of_a_row_stays_one_field_of_csv(home):
    os.mkdir(home.path('a"b,c'))
    home.write('a"b,c/cluster.yaml', SPEC)
    catalog(home, 'gpus:', f'  {H900}}}', 'instance_types: {aws: {' + P9 + '}}',
            'prices: {aws: [{instance_type: p9.48xlarge, region: us-east-1, hourly_usd: 161.5}]}')
    os.rename(home.path('raygpu.yaml'), home.path('a"b,c/raygpu.yaml'))
    text = home.run('offers', 'a"b,c/cluster.yaml', '--csv').out
    [line] = csv.DictReader(io.StringIO(text, newline=''), strict=True)
    assert line['own'].startswith('GPU a"b,c/raygpu.yaml:3, type a"b,c/raygpu.yaml:4'), text


def test_mig_slices_of_an_own_model(home):
    catalog(home, 'gpus:', f'  {H900}, mig: {{1g.36gb: 7, 2g.72gb: 3}}}}', 'instance_types: {aws: {' + P9 + '}}')
    share = 'workloads:\n  a: {gpus: 1, gpu_memory: 30GB, replicas: %d}\n'
    cut = SPEC.replace('nodes: 1', 'nodes: 1, share: {mig: 1g.36gb}')
    home.write('cluster.yaml', cut + share % 56)
    assert 'workload a' not in home.run('fit', 'cluster.yaml').err
    home.write('cluster.yaml', cut + share % 57)
    assert 'workload a: 56 of 57 replicas fit at once' in home.run('fit', 'cluster.yaml').err
    home.write('cluster.yaml', cut.replace('1g.36gb', '3g.100gb'))
    told = one_line(home.run('validate', code=4).err)
    assert 'H900 has no MIG profile 3g.100gb' in told and '1g.36gb (7), 2g.72gb (3)' in told


def test_memory_as_the_gpu_reports_it(home):
    """H900: 288 GB are 274,658 MiB at least; the user's card reports 284,208."""
    catalog(home, 'gpus:', f'  {H900}, memory_mib: 284208, mig: {{1g.36gb: {{count: 7, memory_mib: 33792}}, 2g.72gb: 3}}}}',
            'instance_types: {aws: {' + P9 + '}}')
    home.write('cluster.yaml', SPEC + 'workloads:\n  a: {gpus: 8, gpu_memory: 277GiB}\n')
    home.run('fit')
    home.write('cluster.yaml', SPEC + 'workloads:\n  a: {gpus: 8, gpu_memory: 278GiB}\n')
    assert 'workload a cannot run on any pool' in home.run('fit', code=4).err
    for profile, mib, fits in (('1g.36gb', 33792, '33GiB'), ('2g.72gb', 64880, '63GiB')):
        cut = SPEC.replace('nodes: 1', f'nodes: 1, share: {{mig: {profile}}}')
        home.write('cluster.yaml', cut + f'workloads:\n  a: {{gpus: 1, gpu_memory: {fits}}}\n')
        home.run('fit')
        home.write('cluster.yaml', cut + f'workloads:\n  a: {{gpus: 1, gpu_memory: {mib // 1024 + 1}GiB}}\n')
        home.run('fit', code=4)


def test_the_memory_of_a_built_in_slice_can_be_corrected(home):
    slices = spec(pools={'big': ('A100:8', 1)}).replace('nodes: 1', 'nodes: 1, share: {mig: 1g.5gb}')
    home.write('cluster.yaml', slices + 'workloads:\n  a: {gpus: 1, gpu_memory: 4.5GiB}\n')
    home.run('fit')
    catalog(home, 'gpus: {A100-40GB: {memory_mib: 40536, mig: {1g.5gb: {memory_mib: 4096}}}}')
    home.run('fit', code=4)
    home.write('cluster.yaml', slices + 'workloads:\n  a: {gpus: 1, gpu_memory: 4GiB}\n')
    home.run('fit')


def test_discounts_the_last_that_matches_holds_and_only_on_list_prices(home):
    def prices(query, **more):
        [found] = home.run('offers', query, '--provider', 'aws', '--limit', '0', '--json', **more).json()['lists']
        return {(o['region'], o['instance_type'], kind): (o[kind]['microusd_hour'], o[kind]['quality'], o[kind]['own'])
                for o in found['offers'] for kind in ('on_demand', 'spot') if o[kind]}
    before = prices('T4')
    assert {own for _, _, own in before.values()} == {None}
    catalog(home, 'prices:', '  aws:', '    - {discount_percent: 12.5}',
            '    - {instance_type: "g4dn.?xlarge", region: "us-*", discount_percent: 50}',
            '    - {market: spot, discount_percent: 5}',
            '    - {instance_type: g4dn.xlarge, region: us-east-1, hourly_usd: 0.1}',
            '    - {instance_type: g4dn.2xlarge, region: us-east-1, market: spot, hourly_usd: 0.05}')
    after = prices('T4')
    own = {('us-east-1', 'g4dn.xlarge', 'on_demand'): (100000, 'negotiated', 'raygpu.yaml:7'),
           ('us-east-1', 'g4dn.2xlarge', 'spot'): (50000, 'negotiated', 'raygpu.yaml:8')}
    assert own.items() <= after.items() and set(after) == set(before) | set(own)
    for key, (list_price, quality, _) in before.items():
        region, name, kind = key
        if key in own:
            continue
        if list_price is None:
            assert after[key] == (None, quality, None)
        elif kind == 'spot':
            assert after[key] == (off(list_price, 5), 'negotiated', 'raygpu.yaml:6'), key
        elif region.startswith('us-') and len(name) == len('g4dn.2xlarge'):
            assert after[key] == (off(list_price, 50), 'negotiated', 'raygpu.yaml:5'), key
        else:
            assert abs(after[key][0] - list_price * 0.875) <= 1 and after[key][2] == 'raygpu.yaml:4', key
    assert any(list_price is None for list_price, _, _ in before.values())
    # a plan in one region reads only that region, and has the same result
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    told = home.run('offers', 'cluster.yaml', '--json').json()['lists'][0]['offers'][0]
    assert told['on_demand']['microusd_hour'] == 100000


def test_other_figures_for_what_is_built_in(home):
    catalog(home, 'gpus: {T4: {memory: 15GB, power_w: 700}}', 'instance_types: {aws: {g4dn.xlarge: {network_gbps: 40, placement: false}}}')
    [found] = home.run('offers', 'T4', '--region', 'us-east-1', '--json', '--provider', 'aws').json()['lists']
    first, second = found['offers'][:2]
    assert (first['instance_type'], first['gpu_memory_gb'], first['network_gbps'], first['vcpus']) == ('g4dn.xlarge', 15, 40, 4)
    assert second['own'] == {'gpu': 'raygpu.yaml:2', 'instance_type': None} and second['gpu_memory_gb'] == 15
    os.unlink(home.path('raygpu.yaml'))
    [plain] = home.run('offers', 'T4', '--region', 'us-east-1', '--json', '--provider', 'aws').json()['lists']
    assert first['carbon']['mg_hour'] > 3 * plain['offers'][0]['carbon']['mg_hour']


def test_providers_without_a_module_have_a_catalog_too(home):
    catalog(home, f'gpus: {{{H900}}}}}', 'instance_types:', '  gcp: {z9-highgpu-8g: {accelerators: H900:8, vcpus: 208, memory: 2952GiB}}',
            'prices: {gcp: [{instance_type: z9-highgpu-8g, region: europe-west4, hourly_usd: 99}]}')
    [found] = home.run('offers', 'H900:8', '--json').json()['lists']
    assert [(o['provider'], o['region']) for o in found['offers']] == [('gcp', 'europe-west4')]


def test_the_man_page_names_every_field(home):
    with open(os.path.join(ROOT, 'schemas/project.schema.json'), encoding='utf-8') as f:
        schema = json.load(f)
    with open(os.path.join(ROOT, 'man/raygpu-spec.5.scd'), encoding='utf-8') as f:
        page = f.read().split('# A CATALOG OF YOUR OWN')[1].split('# FILES')[0]
    fields = {name for part in ('own_gpu', 'own_type', 'own_price') for name in schema['$defs'][part]['properties']}
    assert len(fields) > 20 and {f for f in fields if f'_{f}_' not in page} == set()
    for properties in [schema['$defs'][part]['properties'] for part in ('own_gpu', 'own_type', 'own_price')]:
        assert all('description' in p for p in properties.values())
    home.write('raygpu.yaml', page.split('```')[1].replace('\\', ''))
    home.write('cluster.yaml', SPEC)
    assert 'raygpu.yaml:12' in home.run('offers', 'A100:8', '--region', 'us-east-1').out
    home.run('validate')


# lines below `catalog:`; the message; its place
REFUSED = [
    (['gpus: {H900: {memory: 40GiB, compute_capability: "9.0"}}'], 'a size in GB, as GPUs are sold, such as 288GB', '2:25'),
    (['gpus: {H900: {memory: 40GB, compute_capability: 9.0}}'], 'must be text', '2:51'),
    (['gpus: {H900: {memory: 40GB, bandwith_gb_s: 4}}'], 'did you mean `bandwidth_gb_s`?', '2:31'),
    (['gpus: {H900: {memory: 40GB}}'], 'the new GPU model H900 has no "compute_capability"', '2:16'),
    (['gpus: {A100: {memory: 40GB}}'], '"A100" is a name of built-in GPU models', '2:16'),
    (['gpus: {A100-40GB: {mig: {1g.5gb: 8}}}'], 'how many slices of 1g.5gb fit on A100-40GB is built in', '2:36'),
    (['gpus: {A100-40GB: {mig: {1g.6gb: {memory_mib: 5000}}}}'], '1g.6gb is not one of them', '2:36'),
    (['gpus: {A100-40GB: {mig: {1g.5gb: {memory_mib: 9856}}}}'], '9856 MiB is not the memory of a slice 1g.5gb', '2:36'),
    (['gpus: {A100-40GB: {mig: {1g.5gb: {count: 7}}}}'], 'only their memory_mib can be changed', '2:36'),
    (['gpus: {A100-40GB: {mig: {1g.5gb: {}}}}'], 'must have at least 1 entry', '2:28'),
    (['gpus: {' + H900 + ', mig: {1g.36gb: {memory_mib: 33792}}}}'], 'the new MIG profile 1g.36gb has no "count"', '2:75'),
    (['gpus: {' + H900 + ', mig: {1g.36gb: seven}}}'], 'must be a whole number or a mapping', '2:75'),
    (['gpus: {T4: {memory_mib: 23034}}'], '23034 MiB is not the memory of a GPU that is sold with 16 GB', '2:27'),
    (['gpus: {T4: {memory_mib: 15GB}}'], 'must be a whole number', '2:27'),
    (['gpus: {A100-40GB: {power_w: .nan}}'], '.nan is not a number', '2:31'),
    (['gpus: {A100-40GB: {power_w: -3}}'], 'must be at least 0.001', '2:31'),
    (['gpus: {A100-40GB: {precisions: [fp17]}}'], 'did you mean', '2:35'),
    (['gpus: {A100-40GB: {power_w: 1}, A100-40GB: {power_w: 2}}'], 'A100-40GB', '2:35'),
    (['instance_types: {aws: {p9.x: {vcpus: 4}}}'], 'the new instance type p9.x has no "memory"', '2:32'),
    (['instance_types: {aws: {p9.x: {vcpus: 4, memory: 64GB}}}'], 'a size in GiB or TiB', '2:51'),
    (['instance_types: {aws: {p9.x: {vcpus: 4, memory: 64GiB, accelerators: H900:8}}}'],
     'unknown accelerator "H900"', '2:72'),
    (['instance_types: {aws: {p9.x: {vcpus: 4, memory: 64GiB, accelerators: V100:8}}}'],
     '"V100" may be any of several GPU models', '2:72'),
    (['instance_types: {aws: {p9.x: {vcpus: 4, memory: 64GiB, accelerators: A100*8}}}'], 'must be MODEL:COUNT', '2:72'),
    (['instance_types: {awz: {p9.x: {vcpus: 4, memory: 64GiB}}}'], 'there is no catalog for a provider "awz"', '2:25'),
    (['prices: {aws: [{hourly_usd: 4, region: us-east-1}]}'], 'this price has no "instance_type"', '2:18'),
    (['prices: {aws: [{hourly_usd: 4, region: us-east-11, instance_type: p4d.24xlarge}]}'],
     'did you mean `us-east-1`?', '2:42'),
    (['prices:', '  aws:'] + 2 * ['    - {hourly_usd: 4, region: us-east-1, instance_type: p4d.24xlarge}'],
     'the on_demand price of p4d.24xlarge in us-east-1 is given twice', '5:9'),
    (['prices: {aws: [{hourly_usd: 4, discount_percent: 4}]}'], 'not both', '2:18'),
    (['prices: {aws: [{hourly_usd: 0, region: us-east-1, instance_type: p4d.24xlarge}]}'], 'must be at least 0.0001', '2:31'),
    (['prices: {aws: [{discount_percent: 100}]}'], 'must be at most 99', '2:37'),
    (['prices: {aws: [{discount_percent: 10, instance_type: "p44*"}]}'], 'no aws instance type matches "p44*"', '2:56'),
    (['prices: {aws: [{discount_percent: 10, region: "mars-*"}]}'], 'no aws region matches "mars-*"', '2:49'),
    (['prices: {aws: [{discount_percent: 10, market: reserved}]}'], 'must be on_demand or spot', '2:49'),
    (['prices: {aws: []}'], 'at least 1 entry', '2:12'),
    (['price: {}'], 'did you mean `prices`?', '2:3'),
]


@pytest.mark.parametrize('lines, said, place', REFUSED, ids=[said for _, said, _ in REFUSED])
def test_what_is_wrong_is_told_at_its_line(home, lines, said, place):
    home.write('cluster.yaml', spec())
    catalog(home, *lines)
    for arguments in (('validate', 'cluster.yaml'), ('offers', 'T4')):
        told = home.run(*arguments, code=4)
        assert said in one_line(told.err), told
        assert f'raygpu.yaml:{place}' in told.err, told
        assert told.out == '' or 'valid' not in told.out


def test_rows_of_a_provider_that_a_spec_does_not_use_are_not_read(home):
    """As lazily as the tables: rows for gcp are checked when gcp is opened."""
    home.write('cluster.yaml', spec())
    catalog(home, 'instance_types: {gcp: {z9: {vcpus: 4}}}')
    home.run('validate', 'cluster.yaml')
    assert 'z9 has no "memory"' in home.run('offers', 'T4', code=4).err

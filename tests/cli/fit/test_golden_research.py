"""The whole plan of the research cluster: an A100 gang, V100s, T4s in time slices, A100s in MIG slices.

tests/golden/plan/research.txt is the output of `raygpu plan` for examples/gpu-sharing.yaml against
raygpu-sim, with the cloud's ids numbered in the order of their occurrence and without the size of the boot
files. RAYGPU_UPDATE_GOLDEN=1 rewrites it; review the difference. The important figures are also computed here
from the data files, so that no update can make them wrong unnoticed."""
import csv
import os
import re
import shutil

import pytest
from program import ROOT, Home
from sim_server import Sim

GOLDEN = ROOT / 'tests/golden/plan/research.txt'
# (type, nodes, GPU model, GPUs) by pool, as in the example
NODES = {'head': ('m5.2xlarge', 1, None, 0), 'train': ('p4d.24xlarge', 2, 'A100-40GB', 8),
         'legacy': ('p3dn.24xlarge', 1, 'V100-32GB', 8), 'serve': ('g4dn.xlarge', 4, 'T4', 1),
         'small': ('p4d.24xlarge', 1, 'A100-40GB', 8)}
HOURS_A_MONTH = 730
UTILISATION = 0.5


def rows(path):
    with open(ROOT / path, newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f))


def row(path, **wanted):
    [found] = [r for r in rows(path) if all(r[k] == v for k, v in wanted.items())]
    return found


def numbered(text):
    """subnet-051cb81f99fe6ccd1 -> subnet-1: the same id stays the same."""
    seen = {}

    def number(match):
        kind = match[1]
        names = seen.setdefault(kind, {})
        return f'{kind}-{names.setdefault(match[0], len(names) + 1)}'
    text = re.sub(r'\b(ami|vpc|subnet|sg|eni|i)-[0-9a-f]{8,17}\b', number, text)
    return re.sub(r'\(text of about [0-9.]+ KiB, digest [0-9a-f]+\)', '(text)', text)


def price(kind):
    return round(float(row('providers/aws/prices.csv', region='us-east-1', zone='', instance_type=kind,
                           kind='on_demand')['usd_per_hour']) * 1e6)


def grams(kind, model, gpus):
    """src/catalog/data/CARBON.md's formula."""
    host = row('src/catalog/data/host_power.csv', provider='aws')
    size = row('providers/aws/instance_types.csv', instance_type=kind)

    def at(idle, full):
        return float(idle) + UTILISATION * (float(full) - float(idle))
    watts = float(size['vcpus']) * at(host['vcpu_idle_watts'], host['vcpu_full_watts'])
    watts += float(size['memory_gib']) * float(host['memory_watts_per_gb'])
    if gpus:
        power = row('src/catalog/data/gpu_power.csv', gpu_model=model)
        watts += gpus * at(power['idle_watts'], power['full_watts'])
    grid = row('src/catalog/data/grid_intensity.csv', provider='aws', region='us-east-1')
    return watts / 1000 * float(host['pue']) * float(grid['g_co2e_per_kwh'])


@pytest.fixture(scope='module', name='plan')
def fixture_plan(tmp_path_factory):
    with Sim() as sim:
        home = Home(tmp_path_factory.mktemp('research'), sim.env())
        shutil.copy(ROOT / 'examples/gpu-sharing.yaml', home.path('research.yaml'))
        told = home.run('plan', 'research.yaml', '--out', 'p.json')
        again = home.run('plan', 'research.yaml', '--out', 'again.json')
        assert home.read('p.json') == home.read('again.json')
        assert told.out.replace('p.json', 'again.json') == again.out
        return told, home.run('show', 'p.json', '--json').json()['raygpu']


def test_the_whole_text_is_as_recorded(plan):
    told, _ = plan
    text = numbered(told.out) + ('--- stderr\n' + numbered(told.err) if told.err else '')
    if os.environ.get('RAYGPU_UPDATE_GOLDEN'):
        GOLDEN.write_text(text, encoding='utf-8')
    assert text == GOLDEN.read_text(encoding='utf-8')
    assert max(map(len, text.splitlines())) <= 80


def test_the_cost_is_the_sum_of_the_price_list(plan):
    told, own = plan
    hour = sum(nodes * price(kind) for kind, nodes, _, _ in NODES.values())
    assert own['cost']['after'] == {'microusd_hour': hour, 'microusd_month': hour * HOURS_A_MONTH, 'unpriced': 0}
    assert f'$0.00 -> ${hour / 1e6:.2f} per hour' in told.out
    assert {p['pool']: p['after']['microusd_hour'] for p in own['pools']} == {
        pool: nodes * price(kind) for pool, (kind, nodes, _, _) in NODES.items()}


def test_the_carbon_is_that_of_the_formula(plan):
    told, own = plan
    total = sum(nodes * grams(kind, model, gpus) for kind, nodes, model, gpus in NODES.values())
    for pool in own['pools']:
        kind, nodes, model, gpus = NODES[pool['pool']]
        assert abs(pool['after']['carbon_mg_hour'] - 1000 * nodes * grams(kind, model, gpus)) <= nodes
    assert f'Carbon: 0.000 -> {total / 1000:.3f} kg CO2e per hour' in told.out


def test_the_fit_report_counts_slices_and_shares(plan):
    told, own = plan
    pools = {p['pool']: p for p in own['fit']['pools']}
    assert own['fit']['all_fit'] and own['fit']['exact']
    # seven 1g.5gb of each A100, four tasks of 0.25 on each T4
    slices = int(row('src/catalog/data/mig_profiles.csv', gpu_model='A100-40GB', profile='1g.5gb')['instances'])
    assert slices == 7 and pools['small']['gpus_per_node'] == 8 * slices
    assert pools['serve']['time_slices'] == 4
    workloads = {w['workload']: (w['at_once'], w['together']) for w in own['fit']['workloads']}
    assert workloads == {'finetune': (1, 1), 'reproduce': (2, 1), 'embed': (16, 12), 'notebooks': (56, 40)}
    assert 'A100 1g.5gb 0 -> 56' in told.out

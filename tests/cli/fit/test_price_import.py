"""src/catalog/import: which prices it refuses, and that the shipped tables have none of them."""
import csv
import subprocess
import sys

import pytest
from program import ROOT

IMPORT = ROOT / 'src/catalog/import'
TYPES = ('cloud,instance_type,family,arch,vcpu,memory_gib,gpu_vendor,gpu_model,gpu_count,gpu_partition,rdma,'
         'network_text,network_gbps_peak,network_gbps_baseline,purchase\n')
PRICES = 'cloud,region,zone,instance_type,kind,usd_per_hour,quality,date\n'
GOOD = (('r1', 'on_demand', '1.0'), ('r2', 'on_demand', '1.1'), ('r3', 'on_demand', '0.9'), ('r1', 'spot', '0.3'))


@pytest.fixture(name='checks', scope='module')
def fixture_checks():
    sys.path.insert(0, str(IMPORT))
    try:
        import checks
        yield checks
    finally:
        sys.path.remove(str(IMPORT))


def imported(tmp_path, rows):
    """Azure's table of the rows, and what the importer printed. Rows: region, type, kind, price."""
    (tmp_path / 'gpu').mkdir()
    names = sorted({name for _, name, _, _ in rows})
    (tmp_path / 'gpu/instance_types.csv').write_text(TYPES + ''.join(
        f'azure,{n},f,x86_64,16,64,,,0,,,,,,on-demand|spot\n' for n in names))
    (tmp_path / 'gpu/prices.csv').write_text(PRICES + ''.join(
        f'azure,{r},,{n},{k},{usd},list,2026-06-18\n' for r, n, k, usd in rows))
    (tmp_path / 'gpu/retired_types.csv').write_text('cloud,instance_type,status,since,source\n')
    said = subprocess.run([sys.executable, IMPORT / 'import.py', '--into', tmp_path, tmp_path, 'azure'],
                          capture_output=True, text=True, check=True).stdout
    with open(tmp_path / 'providers/azure/prices.csv', newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f)), [line for line in said.split('\n') if 'refused' in line]


def base(name='Standard_D16s_v5'):
    return [(r, name, k, usd) for r, k, usd in GOOD]


def test_prices_in_line_are_taken(tmp_path):
    rows, refused = imported(tmp_path, base())
    assert refused == []
    assert sorted((r['region'], r['kind'], r['usd_per_hour']) for r in rows) == sorted(GOOD)


@pytest.mark.parametrize('usd,taken', [('0.39', False), ('0.41', True), ('2.9', True), ('3.1', False), ('100', False)])
def test_a_price_that_other_regions_do_not_bear_out(tmp_path, usd, taken):
    """Of a median of 1.0. The region keeps the type, without a price."""
    rows, refused = imported(tmp_path, base() + [('r4', 'Standard_D16s_v5', 'on_demand', usd)])
    [row] = [r for r in rows if r['region'] == 'r4']
    assert (row['usd_per_hour'], row['quality']) == ((usd, 'list') if taken else ('', 'unknown'))
    assert len(refused) == (0 if taken else 1) and ('median' in ''.join(refused)) is not taken


@pytest.mark.parametrize('usd,taken', [('1.1', False), ('1.2', False), ('1.09', True), ('0.01', False)])
def test_spot_prices(tmp_path, usd, taken):
    rows, refused = imported(tmp_path, base() + [('r2', 'Standard_D16s_v5', 'spot', usd)])
    assert [r['usd_per_hour'] for r in rows if r['region'] == 'r2' and r['kind'] == 'spot'] == ([usd] if taken else [])
    assert len(refused) == (0 if taken else 1)


@pytest.mark.parametrize('usd,taken', [('0.95', True), ('1.0', True), ('1.69', False)])
def test_windows_prices(tmp_path, usd, taken):
    """USD 0.046 for each of 16 vCPUs more than 0.95."""
    rows, refused = imported(tmp_path, base() + [('r1', 'Standard_D16as_v5', 'on_demand', usd)])
    [row] = [r for r in rows if r['instance_type'] == 'Standard_D16as_v5']
    assert row['usd_per_hour'] == (usd if taken else '')
    assert len(refused) == (0 if taken else 1) and ('Windows' in ''.join(refused)) is not taken


@pytest.mark.parametrize('provider', ['aws', 'azure', 'gcp'])
def test_the_shipped_tables_are_in_line(checks, provider):
    prices = {}
    with open(ROOT / f'providers/{provider}/prices.csv', newline='', encoding='utf-8') as f:
        for r in csv.DictReader(f):
            key = r['region'], r['zone'], r['instance_type'], r['kind']
            assert key not in prices
            prices[key] = r['usd_per_hour'], r['quality'], r['date']
    assert len(prices) > 2500 and checks.refuse(prices) == {}


def test_retired_types_are_in_no_table():
    for provider in ('aws', 'azure'):
        def column(table, provider=provider):
            with open(ROOT / f'providers/{provider}/{table}.csv', newline='', encoding='utf-8') as f:
                return {r['instance_type'] for r in csv.DictReader(f)}
        retired = column('retired')
        assert len(retired) > 10
        assert not retired & column('instance_types') and not retired & column('prices')

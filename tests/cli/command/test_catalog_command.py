"""`raygpu catalog`: what the tables contain, counted here from the files; and the check of a project file."""
import csv

import pytest
from program import ROOT



def rows(provider, table):
    with open(ROOT / f'providers/{provider}/{table}.csv', newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f))


def test_counts_are_those_of_the_files(home):
    found = {p['provider']: p for p in home.run('catalog', '--json').json()['providers']}
    for provider in ('aws', 'azure', 'gcp'):
        prices, shown = rows(provider, 'prices'), found[provider]
        assert shown['types'] == len(rows(provider, 'instance_types')) and shown['own_types'] == 0
        assert shown['gpu_types'] == sum(bool(t['gpu_model']) for t in rows(provider, 'instance_types'))
        assert shown['prices'] == sum(bool(p['usd_per_hour']) for p in prices)
        assert shown['unpriced'] == sum(not p['usd_per_hour'] for p in prices)
        assert shown['derived'] == sum(p['quality'] == 'derived' for p in prices)
        assert shown['old'] >= sum(p['date'] < '2025' and p['quality'] != 'unknown' for p in prices)
        assert sum(s['prices'] for s in shown['sources']) == len(prices), 'each price has a source'
        assert all(s['source'] and s['prices'] > 0 for s in shown['sources'])
    assert found['aws']['retired_types'] == 12 and found['azure']['retired_types'] == 11


def test_the_table(home):
    out = home.run('catalog').out
    assert out.startswith('PROVIDER ') and '\naws  ' in out and '\n  spot      observed 2024 ' in out
    assert 'DERIVED~: computed from other prices.' in out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count('\n' + ' ' * 40) > 5, 'long sources continue in their column'


@pytest.mark.parametrize('text,said', [
    ('gpus: {H900: {memory: 288GB, compute_capability: "11.0"}}', 'the power of H900 is not known'),
    ('instance_types: {aws: {p9.x: {vcpus: 4, memory: 64GiB}}}', 'the price of p9.x is not known'),
    ('instance_types: {aws: {p3.2xlarge: {vcpus: 8, memory: 61GiB}}}', 'aws no longer sells p3.2xlarge'),
    ('prices: {aws: [{instance_type: p5.48xlarge, region: us-east-1, hourly_usd: 6.88}]}', '0.10 times the median'),
    ('prices: {gcp: [{instance_type: g2-standard-4, region: us-central1, hourly_usd: 9}]}', 'times the median'),
    ('prices: {aws: [{instance_type: g4dn.xlarge, region: us-east-1, market: spot, hourly_usd: 0.53}]}',
     'is not below its on-demand price'),
    ('prices: {aws: [{instance_type: g4dn.xlarge, region: us-east-1, hourly_usd: 0.5, date: "2024-10-01"}]}',
     'older than a year'),
])
def test_doubtful_rows(home, text, said):
    home.write('own.yaml', f'catalog: {{{text}}}\n')
    result = home.run('catalog', 'check', 'own.yaml')
    assert said in ' '.join(result.err.split()) and '[catalog.doubtful-row]' in result.err
    assert 'own.yaml:1:' in result.err and ' warning' in result.out and '0 warnings' not in result.out


def test_good_rows_are_silent(home):
    home.write('own.yaml', 'catalog:\n  gpus: {H900: {memory: 288GB, compute_capability: "11.0", power_w: 1800}}\n'
               '  instance_types: {aws: {p9.x: {vcpus: 192, memory: 4TiB, accelerators: H900:8}}}\n  prices:\n    aws:\n'
               '      - {instance_type: p9.x, region: us-east-1, hourly_usd: 161.5}\n'
               '      - {instance_type: g4dn.xlarge, region: us-east-1, hourly_usd: 0.5}\n'
               '      - {discount_percent: 9}\n')
    result = home.run('catalog', 'check', 'own.yaml')
    assert result.err == '' and result.out == 'own.yaml: 1 GPU model, 1 instance type, 3 prices; 0 warnings.\n'


@pytest.mark.parametrize('text,code', [
    ('catalog: {prices: {azure: [{instance_type: nope, region: eastus, hourly_usd: 1}]}}', 'catalog.unknown-type'),
    ('catalog: {prices: {azure: [{instance_type: Standard_D8s_v5, region: nowhere, hourly_usd: 1}]}}',
     'catalog.unknown-region'),
    ('budget: {hourly_usd: 5}', 'usage.bad-argument')])
def test_wrong_files(home, text, code):
    home.write('own.yaml', text + '\n')
    assert f'[{code}]' in home.run('catalog', 'check', 'own.yaml', code=4).err


@pytest.mark.parametrize('arguments', [('check',), ('list',), ('check', 'a', 'b')])
def test_usage(home, arguments):
    home.run('catalog', *arguments, code=4)

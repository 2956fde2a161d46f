"""`raygpu offers`, and how a plan chooses among them."""
import csv
import io

import pytest
from program import Home, spec
from sim_server import Sim


@pytest.fixture(name='home')
def fixture_home(tmp_path):
    return Home(tmp_path)


def offers(home, *arguments):
    return home.run('offers', *arguments, '--limit', '0', '--json').json()['lists']


def key(offer):
    return offer['provider'], offer['region'], offer['instance_type']


@pytest.mark.parametrize('word', ['A100:8', 'V100:8', 'T4:1'])
def test_the_mission_s_accelerators_are_on_all_three_clouds(home, word):
    """AWS and Azure have retired all V100s but those of 32 GB."""
    query = '{name: [V100, V100-32GB], count: 8}' if word == 'V100:8' else word
    [found] = offers(home, query)
    priced = [o for o in found['offers'] if o['on_demand'] and o['on_demand']['microusd_hour']]
    assert {o['provider'] for o in priced} == {'aws', 'azure', 'gcp'}
    assert {o['accelerator'] for o in found['offers']} == {word.split(':')[0]}
    assert {o['gpus'] for o in found['offers']} == {int(word.split(':')[1])}
    prices = [o['on_demand']['microusd_hour'] for o in priced]
    assert prices == sorted(prices)
    assert len({key(o) for o in found['offers']}) == found['found']


def test_a_type_is_offered_only_as_it_is_sold(home):
    """a3-highgpu-1g is sold only on spot, whatever on-demand price the table has for it."""
    where = ('H100:1', '--provider', 'gcp', '--region', 'us-central1')
    [on_demand] = home.run('offers', *where, '--json', code=4).json()['lists']
    [spot] = offers(home, *where, '--market', 'spot')
    assert 'a3-highgpu-1g' not in [o['instance_type'] for o in on_demand['offers']]
    [sold] = [o for o in spot['offers'] if o['instance_type'] == 'a3-highgpu-1g']
    assert sold['markets'] == 'spot' and sold['on_demand'] is None and sold['spot']['microusd_hour'] > 0
    [everything] = offers(home, *where, '--all')
    [why] = [o['rejected'] for o in everything['offers'] if o['instance_type'] == 'a3-highgpu-1g']
    assert why == 'not sold on demand, only on spot'


def test_constraints_hold_and_carbon_ranks(home):
    query = '{gpu_memory: ">=40GB", compute_capability: ">=8.0", count: 8}'
    [found] = offers(home, query, '--optimize', 'carbon')
    assert found['found'] > 100
    assert all(o['gpu_memory_gb'] >= 40 and o['gpus'] == 8 for o in found['offers'])
    assert {o['accelerator'] for o in found['offers']} >= {'A100', 'H100', 'H200'}
    carbon = [o['carbon']['mg_hour'] for o in found['offers']
              if o['carbon'] and o['on_demand'] and o['on_demand']['microusd_hour']]
    assert len(carbon) > 100 and carbon == sorted(carbon)


def test_a_list_is_an_order_of_preference(home):
    [found] = offers(home, '[H100:8, A100:8]', '--region', 'us-east-1')
    assert [o['preference'] for o in found['offers']] == sorted(
        o['preference'] for o in found['offers'])
    assert found['offers'][0]['accelerator'] == 'H100'
    assert found['offers'][-1]['accelerator'] == 'A100'


def test_spot_ranks_by_spot_prices(home):
    [found] = offers(home, 'V100:1', '--market', 'spot')
    spot = [o['spot']['microusd_hour'] for o in found['offers'] if o['spot']]
    assert len(spot) > 3 and spot == sorted(spot)
    assert all(o['spot'] for o in found['offers'][:len(spot)])


def test_all_tells_why_the_others_are_rejected(home):
    [found] = offers(home, 'A100:8', '--provider', 'aws', '--region', 'us-east-1', '--all')
    why = {o['instance_type']: o['rejected'] for o in found['offers']}
    assert why['p4d.24xlarge'] is None
    assert why['g4dn.xlarge'] == 'T4, not A100'
    assert why['m5.2xlarge'] == 'no GPU'
    assert why['g4ad.xlarge'] == "AMD GPUs, not NVIDIA's"


def test_text_fits_80_columns_and_names_what_cannot_be_planned(home):
    text = home.run('offers', 'T4:1', '--limit', '0').out
    assert max(map(len, text.splitlines())) <= 80
    assert 'No module for azure is installed' in text
    assert 'No module for aws is installed' not in text


def test_csv_is_the_same_list(home):
    rows = list(csv.DictReader(io.StringIO(
        home.run('offers', 'T4:1', '--limit', '0', '--csv').out)))
    [found] = offers(home, 'T4:1')
    assert [(r['provider'], r['region'], r['instance_type']) for r in rows] == [
        key(o) for o in found['offers']]


def test_bytes_are_the_same_each_time(home):
    runs = {home.run('offers', '--json', '--limit', '0').out for _ in range(3)}
    assert len(runs) == 1


def test_of_a_spec_each_pool_in_its_region(home):
    home.write('cluster.yaml', spec(pools={'a': ('A100:8', 1), 'b': ('[H200:8, T4:1]', 2)}).replace(
        '"[H200:8, T4:1]"', '[H200:8, T4:1]'))
    lists = offers(home, 'cluster.yaml')
    assert [found['wish'] for found in lists] == ['a', 'b']
    assert {key(o)[:2] for found in lists for o in found['offers']} == {('aws', 'us-east-1')}


@pytest.mark.parametrize('arguments,words', [
    (['B999:1'], 'catalog.unknown-accelerator'),
    (['A100:0'], 'spec.bad-accelerator'),
    (['{gpu_memory: lots}'], 'spec.bad-pattern'),
    (['A100:8', '--provider', 'nowhere'], 'provider.not-found'),
    (['A100:8', '--region', 'nowhere-1'], 'catalog.unknown-region'),
    (['A100:8', '--market', 'black'], 'usage.bad-argument'),
    (['A100:8', '--optimize', 'speed'], 'usage.bad-argument'),
    (['no-such.yaml'], 'file.unreadable'),
])
def test_mistakes_are_told(home, arguments, words):
    result = home.run('offers', *arguments, code=None)
    assert result.code in (1, 4)
    assert words in result.err


# --- the choice of a plan -----------------------------------------------------------------

def types_of(home):
    plan = home.run('plan', 'cluster.yaml', '--format', 'json').json()
    return {c['address']: c['change']['after']['instance_type']
            for c in plan['resource_changes'] if c['type'] == 'aws.instance'}


def write(home, accelerators, extra=''):
    text = spec(pools={'serve': 1}, extra=extra)
    assert '"T4:1"' in text
    home.write('cluster.yaml', text.replace('"T4:1"', accelerators))


def test_a_plan_takes_the_first_preference_that_there_is(home):
    with Sim() as sim:
        home.env.update(sim.env())
        write(home, '[GB300:8, {name: [L4, T4], count: 1}]')
        assert types_of(home)['aws.instance.serve[0]'] == 'g4dn.xlarge'


def test_a_choice_stays_until_the_spec_no_longer_admits_it(home, tmp_path):
    with Sim() as sim:
        home.env.update(sim.env())
        write(home, '{name: [L4, T4], count: 1, gpu_memory: ">=24GB"}')
        home.run('plan', 'cluster.yaml', '--out', 'first.plan')
        assert 'cheapest of' in (tmp_path / 'first.plan').read_text()
        home.run('apply', 'first.plan')
        # the T4 is cheaper, but the chosen type still satisfies the spec
        write(home, '{name: [L4, T4], count: 1}')
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        # only on request
        result = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--reoptimize', code=2)
        assert 'g4dn.xlarge' in result.out
        # or when it must
        write(home, 'T4:1')
        result = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
        assert 'g4dn.xlarge' in result.out
        assert 'was chosen for pool serve, and no longer fits the spec: L4, not T4' \
            in ' '.join(result.err.split())


def test_min_gbps_is_enforced(home):
    pools = '  serve: {accelerators: "T4:1", nodes: 1, network: {min_gbps: 20}}\n'
    home.write('cluster.yaml', spec(pools={}) + pools)
    with Sim() as sim:
        home.env.update(sim.env())
        # g4dn.xlarge is the cheapest, with 5 Gbit/s
        assert types_of(home)['aws.instance.serve[0]'] == 'g4dn.4xlarge'
    home.write('cluster.yaml', spec(pools={}) + pools.replace('20', '400'))
    result = home.run('validate', 'cluster.yaml', code=4)
    words = ' '.join(result.err.split())
    assert 'catalog.no-offer' in words and 'Gbps of network, not >=400' in words
    home.write('cluster.yaml', spec(pools={}) + pools.replace(
        'accelerators: "T4:1"', 'instance_type: g4dn.xlarge'))
    assert 'fit.network-too-slow' in home.run('validate', 'cluster.yaml', code=4).err


def test_a_wrong_query_is_shown_as_it_was_typed(home):
    told = home.run('offers', 'FOO', code=4).err
    assert 'Error: unknown accelerator "FOO"' in told and 'query' not in told.lower() and ' | ' not in told
    assert 'known accelerators: ' in told and ' H100, ' in told
    assert 'names that begin alike: H100, H100-80GB,' in home.run('offers', 'h1oo', code=4).err
    assert 'did you mean `H100-80GB`?' in home.run('offers', 'H100-80', code=4).err
    assert '  {cont: 8}\n   ^^^^\n  hint: did you mean `count`?' in home.run('offers', '{cont: 8}', code=4).err
    assert '  [A100, FOO]\n         ^^^\n' in home.run('offers', '[A100, FOO]', code=4).err
    assert 'count must be a whole number' in home.run('offers', '{count: x}', code=4).err
    assert 'the query is empty' in home.run('offers', '', code=4).err
    assert 'a query is one line' in home.run('offers', 'A100\nT4', code=4).err
    [diag] = home.run('offers', '{cont: 8}', '--json', code=4).json()['diagnostics']
    assert 'range' not in diag and diag['summary'] == 'unknown key "cont" in QUERY'


def test_an_instance_type_is_no_accelerator(home):
    told = ' '.join(home.run('offers', 'p4d.24xlarge', code=4).err.split())
    assert '"p4d.24xlarge" is an instance type of aws' in told and '`raygpu offers A100-40GB:8`' in told
    for name, why in (('g5g.xlarge', 'an arm64 host, not x86_64'), ('g6f.large', 'a slice of a GPU, not whole ones'),
                      ('m5.large', 'no GPU')):
        told = home.run('offers', name, code=4).err
        assert f'offers does not list it: {why}' in told and 'hint' not in told


def test_columns_are_aligned_however_long_the_names_are(home):
    for provider in ('aws', 'azure', 'gcp'):
        lines = home.run('offers', '--provider', provider, '--limit', '0').out.splitlines()
        head = next(line for line in lines if line.startswith('PLACE'))
        at, date = head.index('INSTANCE TYPE'), head.index('PRICE DATE')
        rows = [line for line in lines if line.startswith(provider + ' ')]
        assert len(rows) > 100 and max(map(len, lines)) <= 80
        for row in rows:
            assert row[at - 1] == ' ' and row[at] != ' ' and row[date - 1] == ' ' and row[date:].strip('0123456789-') == '', row


@pytest.mark.parametrize('gpu, region', [('V100:1', 'europe-west4'), ('T4:4', 'asia-east1'), ('P100:2', 'us-east1')])
@pytest.mark.parametrize('market', ['on_demand', 'spot'])
def test_attached_gpus_have_a_price_in_their_regions(home, gpu, region, market):
    [found] = offers(home, gpu, '--provider', 'gcp', '--region', region, '--market', market)
    attached = [o for o in found['offers'] if '+nvidia-tesla-' in o['instance_type']]
    prices = [o[market]['microusd_hour'] for o in attached]
    assert prices and all(prices)

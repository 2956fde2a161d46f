"""`raygpu offers` against the shipped CSV files, by brute force: the set of offers of every constraint, and their order.

The rules are written down again here, from raygpu.1 and raygpu-spec(5); only the figures are shared, as files."""
import csv
import itertools
import re
import shlex
import time
from fractions import Fraction

import pytest
from program import ROOT

PROVIDERS = ('aws', 'azure', 'gcp')


def rows(path):
    with open(ROOT / path, newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f))


class Data:
    def __init__(self):
        self.models = {m['gpu_model']: m for m in rows('src/catalog/data/gpu_models.csv')}
        self.types, self.prices, self.regions = {}, {}, {}
        for provider in PROVIDERS:
            for t in rows(f'providers/{provider}/instance_types.csv'):
                self.types[provider, t['instance_type']] = t
            for p in rows(f'providers/{provider}/prices.csv'):
                key = provider, p['region'], p['instance_type']
                self.prices.setdefault(key, {}).setdefault(p['kind'], []).append(p)

    def price(self, key, kind):
        """The cheapest zone's; None: unknown."""
        provider, _, name = key
        sold = self.types[provider, name]['markets'] or 'on_demand|spot'
        known = [micro(p['usd_per_hour']) for p in self.prices[key].get(kind, ()) if p['usd_per_hour']]
        return min(known, default=None) if kind in sold.split('|') else None

    def sold(self, key, kind):
        return kind in (self.types[key[0], key[2]]['markets'] or 'on_demand|spot').split('|')


@pytest.fixture(scope='module', name='data')
def fixture_data():
    return Data()


def micro(usd):
    return round(float(usd) * 1e6)


def means(model, word):
    return word.lower() in (n.lower() for n in model['names'].split('|'))


class Wish:
    """One accelerator: the query's text, and the same as figures."""

    def __init__(self, text, names=(), count=None, gb=None, gib=None, capability=None):
        self.text, self.names, self.count = text, names, count
        self.gb, self.gib, self.capability = gb, gib, capability

    def holds(self, data, t):
        model = data.models.get(t['gpu_model'])
        if not model or model['vendor'] != 'NVIDIA' or float(t['gpu_fraction']) != 1 or t['arch'] != 'x86_64':
            return False
        gpus = int(t['gpus'])
        return ((not self.names or any(means(model, n) for n in self.names)) and
                (self.count is None or gpus == self.count) and
                (self.gb is None or int(model['memory_gb']) >= self.gb) and
                (self.gib is None or int(model['memory_mib']) / 1024 >= self.gib) and
                (self.capability is None or float(model['compute_capability']) >= self.capability))


WISHES = [
    Wish('T4:1', ['T4'], 1), Wish('T4', ['T4']), Wish('H200', ['H200']), Wish('B200', ['B200']),
    Wish('V100-32GB', ['V100-32GB']), Wish('A100:8', ['A100'], 8), Wish('A100', ['A100']), Wish('L4:4', ['L4'], 4),
    Wish('A100-80GB:1', ['A100-80GB'], 1), Wish('RTX-PRO-6000', ['RTX-PRO-6000']), Wish('V100:8', ['V100'], 8),
    Wish('{gpu_memory: ">=40GB", count: 8}', gb=40, count=8), Wish('{gpu_memory: ">=40GiB"}', gib=40),
    Wish('{gpu_memory: ">=80GiB"}', gib=80), Wish('{gpu_memory: ">=24GiB", count: 1}', gib=24, count=1),
    Wish('{compute_capability: ">=9.0"}', capability=9.0),
    Wish('{name: [L4, A10G, T4], gpu_memory: ">=20GB"}', ['L4', 'A10G', 'T4'], gb=20)]


def expected(data, wish, market):
    return {key for key, kinds in data.prices.items()
            if 'on_demand' in kinds or 'spot' in kinds
            if wish.holds(data, data.types[key[0], key[2]]) and data.sold(key, market)}


def is_old(date):
    """More than a year before today, by the last day that it can mean; such spot prices come last."""
    day = date + {4: '-12-31', 7: '-31', 10: ''}[len(date)]
    return f'{int(day[:4]) + 1}{day[4:]}' < time.strftime('%Y-%m-%d', time.gmtime())


def per_gpu(data, key, amount):
    return Fraction(amount, int(data.types[key[0], key[2]]['gpus']))


@pytest.mark.parametrize('market', ['on_demand', 'spot'])
@pytest.mark.parametrize('wish', WISHES, ids=lambda w: w.text)
def test_the_same_offers_in_the_order_of_their_price(home, data, wish, market):
    [found] = home.run('offers', wish.text, '--market', market, '--limit', '0', '--json', code=None).json()['lists']
    keys = [(o['provider'], o['region'], o['instance_type']) for o in found['offers']]
    assert len(set(keys)) == len(keys) == found['found']
    assert set(keys) == expected(data, wish, market)
    amounts = []
    for key, offer in zip(keys, found['offers']):
        price = data.price(key, market)
        shown = offer[market]['microusd_hour'] if offer[market] else None
        assert shown == price
        old = market == 'spot' and price is not None and is_old(offer[market]['date'])
        amounts.append(None if price is None else (old, per_gpu(data, key, price)))
    known = [a for a in amounts if a is not None]
    assert known == sorted(known) and amounts[:len(known)] == known, 'an unknown price is never before a known one'


@pytest.mark.parametrize('optimize', ['carbon', 'balanced'])
@pytest.mark.parametrize('wish', WISHES[:12], ids=lambda w: w.text)
def test_other_orders(home, data, wish, optimize):
    [found] = home.run('offers', wish.text, '--optimize', optimize, '--limit', '0', '--json', code=None).json()['lists']
    priced = [o for o in found['offers'] if o['on_demand'] and o['on_demand']['microusd_hour']]
    assert priced == found['offers'][:len(priced)]
    both = [(Fraction(o['on_demand']['microusd_hour'], o['gpus']), Fraction(o['carbon']['mg_hour'], o['gpus']))
            for o in priced if o['carbon']]
    if optimize == 'carbon':
        assert [c for _, c in both] == sorted(c for _, c in both)
    elif both:
        cheapest = min(Fraction(o['on_demand']['microusd_hour'], o['gpus']) for o in priced)
        cleanest = min(Fraction(o['carbon']['mg_hour'], o['gpus']) for o in found['offers'] if o['carbon'])
        merits = [p / cheapest / 2 + c / cleanest / 2 for p, c in both]
        assert all(a <= b + 1e-9 for a, b in itertools.pairwise(merits))


def test_all_sorts_the_rejected_by_their_price_per_gpu(home, data):
    [found] = home.run('offers', 'H100:8', '--all', '--limit', '0', '--json').json()['lists']
    kept = [o for o in found['offers'] if not o['rejected']]
    rest = found['offers'][len(kept):]
    assert all(o['rejected'] for o in rest) and len(rest) > 4000
    gpus = [o for o in rest if o['gpus'] and o['on_demand'] and o['on_demand']['microusd_hour']]
    prices = [Fraction(o['on_demand']['microusd_hour'], o['gpus']) for o in gpus]
    assert prices == sorted(prices) and rest[:len(gpus)] == gpus
    assert {(o['provider'], o['instance_type']) for o in found['offers']} == {
        (p, n) for p, _, n in data.prices}


@pytest.mark.parametrize('query,said,unsaid', [
    ('V100:8 --provider aws --region us-east-1',
     ['offered in gcp us-central1, gcp us-east1, gcp us-west1', 'nearest: p3dn.24xlarge (aws us-east-1, V100-32GB, not V100)',
      'retired in or before 2026-05: aws p3.16xlarge, p3.2xlarge, p3.8xlarge', 'did you mean `V100-32GB:8`?'],
     ['not offered there']),
    ('V100:4 --provider aws', ['nearest: p3dn.24xlarge', 'without --provider and --region'], ['did you mean']),
    # another model: one that is like it in memory and compute capability
    ('K80', ['retired in or before 2026-05: aws p2.16xlarge', 'nearest: '], ['offered in', 'B200', 'B300', 'H200']),
    ('L40', ['L40S', 'not L40)'], ['offered in', 'B200', 'B300']),
    ('GH200', ['H100', 'not GH200)'], ['offered in', 'B300']),
    ('A100:3', ['GPUs per node that are sold: 1, 2, 4, 8, 16', ', 2 GPUs, not 3)', ', 4 GPUs, not 3)'],
     ['offered in']),
    ('H200:1', ['GPUs per node that are sold: 8', '8 GPUs, not 1'], ['retired']),
    ('H200 --provider aws --region eu-west-1',
     ['GPUs per node that are sold: 8', 'offered in aws us-east-1, aws us-east-2, aws us-west-2,', ' more'],
     ['nearest', 'not offered there']),
    ('GB200', ['an arm64 host, not x86_64'], ['g4dn', 'T4, not']),
    ("'{gpu_memory: \">=400GB\"}'", ['nearest: p6-b300.48xlarge (aws us-west-2, 288 GB a GPU, not >=400)'], ['16 GB a GPU']),
    ('H100:1 --provider gcp --region us-central1', ['nearest: a3-highgpu-1g (gcp us-central1, not sold on demand'], []),
    ('T4:1 --provider azure --region brazilsoutheast', ['offered in aws us-east-1'], []),
])
def test_nothing_left_says_why(home, query, said, unsaid):
    result = home.run('offers', *shlex.split(query), code=4)
    text = ' '.join(result.err.split())
    assert '[catalog.no-offer]' in text and '0 offers.\n' in result.out
    assert not [s for s in said if s not in text] and not [s for s in unsaid if s in text], text


def test_other_models_of_a_name(home):
    """They are not what was asked for, but the user may have meant them."""
    [found] = home.run('offers', 'V100:8', '--json').json()['lists']
    assert found['other_models'] == ['V100-32GB:8'] and {o['gpu'] for o in found['offers']} == {'V100-16GB'}
    assert 'Other models of that name, not listed: V100-32GB:8.' in home.run('offers', 'V100:8').out
    [found] = home.run('offers', 'A100', '--json').json()['lists']
    assert found['other_models'] == ['A100-80GB', 'A100-80GB-PCIe']
    [found] = home.run('offers', 'T4', '--json').json()['lists']
    assert found['other_models'] == []
    assert 'not listed' not in home.run('offers', 'T4').out


def test_a_retired_type_is_no_unknown_accelerator(home):
    told = home.run('offers', 'p3.8xlarge', code=4).err
    assert '[catalog.retired-type]' in told and 'p3dn.24xlarge' in told


def test_marks(home):
    """Derived, and older than a year on the day that the clock shows."""
    out = home.run('offers', 'A100-80GB:1', '--market', 'spot', '--provider', 'azure', '--limit', '3').out
    assert re.search(r' [0-9.]+\* ', out.split('PRICE DATE')[1])
    assert '* older than a year' in out and ' 2024\n' in out
    csv_rows = list(csv.DictReader(home.run('offers', 'A100-80GB:1', '--provider', 'azure', '--csv').out.split('\n')))
    assert {r['on_demand_date'] for r in csv_rows} == {'2026-06-18'}


def test_a_name_with_spaces_is_understood(home):
    result = home.run('offers', 'rtx 6000', code=4)
    assert '[catalog.unknown-accelerator]' in result.err and 'did you mean `RTX-PRO-6000`?' in result.err
    assert home.run('offers', 'RTX PRO 6000', '--csv').out == home.run('offers', 'RTX-PRO-6000', '--csv').out

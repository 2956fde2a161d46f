"""Prices show what they are worth wherever a plan has them: candidates, places, the overview of several clusters."""
import csv
import os
import re

import pytest
from program import ROOT, Home, spec
from report_schemas import validator
from shared import sim  # noqa: F401

# older than a year for good; the type that is planned first has a price without a date
OLD = '2020-01-01'
CATALOG = f'''catalog:
  prices:
    aws:
      - {{instance_type: m5.2xlarge, region: us-east-1, hourly_usd: 0.3}}
      - {{instance_type: m5.2xlarge, region: us-west-2, hourly_usd: 0.3}}
      - {{instance_type: g4dn.xlarge, region: us-east-1, hourly_usd: 0.1}}
      - {{instance_type: g4dn.xlarge, region: us-west-2, hourly_usd: 0.2, date: "{OLD}"}}
      - {{instance_type: g4dn.2xlarge, region: us-east-1, hourly_usd: 0.15, date: "{OLD}"}}
'''


@pytest.fixture
def home(tmp_path, sim):
    sim.reset()
    home = Home(tmp_path, {**sim.env(), 'RAYGPU_STATE': '.raygpu/state.db'})
    home.write('raygpu.yaml', CATALOG)
    return home


def one_line(text):
    return ' '.join(text.split())


def test_a_candidate_has_the_mark_of_its_price_which_is_explained_once(home):
    home.write('cluster.yaml', spec())
    text = home.run('plan', 'cluster.yaml', '--verbose').out
    table, after = text.split('If head is unavailable')
    assert '*' not in table and 'then g4dn.2xlarge ($0.15* per hour) in' in one_line(after)
    assert re.search(r'^(~ derived from other prices; )?\* older than a year$', after, re.M) and text.count('older than') == 1
    home.run('plan', 'cluster.yaml', '--out', 'p.json')
    shown = [c for p in home.run('plan', 'cluster.yaml', '--format', 'json').json()['raygpu']['capacity']['pools']
             if p['pool'] == 'serve' for c in p['candidates']]
    assert {c['price_date'] for c in shown if c['instance_type'] == 'g4dn.2xlarge'} == {OLD}
    assert {(c['price_date'], c['price_quality']) for c in shown if c['instance_type'] == 'g4dn.xlarge'} == \
        {(None, 'negotiated')}


def test_candidates_on_spot_have_the_price_of_each_zone(home):
    """The simulated account's us-east-1a is use1-az6, b is use1-az1: prices.csv has what each cost."""
    with open(ROOT / 'providers/aws/prices.csv', newline='', encoding='utf-8') as f:
        prices = {r['zone']: float(r['usd_per_hour']) for r in csv.DictReader(f)
                  if (r['region'], r['instance_type'], r['kind']) == ('us-east-1', 'p4d.24xlarge', 'spot')}
    assert len(set(prices.values())) == 4
    home.write('cluster.yaml', spec(pools={'train': ('A100:8', 1)}, pool_extra=', market: spot'))
    said = one_line(home.run('plan', 'cluster.yaml', '--verbose').out)
    a, b, c, d = (f'${prices[zone]:.2f}' for zone in ('use1-az6', 'use1-az1', 'use1-az2', 'use1-az4'))
    assert b < a < d < c and f'$0.00 -> {b}' in said
    assert f'If train is unavailable: us-east-1a ({a}), us-east-1d ({d}), us-east-1c ({c})' in said
    shown = [x for p in home.run('plan', 'cluster.yaml', '--format', 'json').json()['raygpu']['capacity']['pools']
             if p['pool'] == 'train' for x in p['candidates']]
    assert [f'${x["price_microusd_hour"] / 1e6:.2f}' for x in shown] == [b, a, d, c]


def test_a_mark_in_the_table_is_not_explained_again(home):
    home.write('raygpu.yaml', CATALOG.replace('usd: 0.1}', f'usd: 0.1, date: "{OLD}"}}'))
    home.write('cluster.yaml', spec())
    text = home.run('plan', 'cluster.yaml', '--verbose').out
    assert '-> $0.10*' in text and '($0.15* per hour)' in one_line(text) and text.count('older than a year') == 1


def test_places_have_the_marks_of_their_prices(home):
    home.env.pop('AWS_REGION', None)
    home.write('cluster.yaml', spec().replace(
        'provider: {name: aws, region: us-east-1}',
        'provider: {any_of: [{name: aws, region: us-east-1}, {name: aws, region: us-west-2}]}'))
    text = home.run('plan', 'cluster.yaml').out
    place = one_line(text[text.index('Place: '):])
    assert 'aws us-east-1, cheapest of 2 candidates $0.40 per hour' in place and 'aws us-west-2 $0.50* per hour' in place
    assert '* older than a year' in text


def test_the_overview_of_several_clusters_has_them(home):
    os.mkdir(home.path('c'))
    home.write('c/a.yaml', spec('a'))
    home.write('c/b.yaml', spec('b', region='us-west-2'))
    result = home.run('plan', 'c', '--report', 'markdown=all.md')
    table = result.out.rsplit('CLUSTER', 1)[1]
    cells = {line.split()[0]: line for line in table.split('\n') if line.startswith('  ')}
    assert '$0.40 ' in cells['a'] and '$0.50*' in cells['b'] and '$0.90*' in cells['total']
    assert '\n* older than a year\n' in table
    overview = home.read('all.md').split('<details>')[0]
    assert '$0.50\\*' in overview and '\\* older than a year' in overview
    whole = home.run('plan', 'c', '--format', 'json').json()
    validator('plans.schema.json').validate(whole)
    assert [p.get('price_date') for p in whole['plans']] == [None, OLD] and whole['totals']['price_date'] == OLD


def test_a_removed_spec_whose_price_is_unknown_is_not_free(home):
    home.write('cluster.yaml', spec())
    home.git('init', '-q')
    home.git('add', 'cluster.yaml')
    home.git('commit', '-qm', 'one')
    home.apply('cluster.yaml')
    home.edit_state("UPDATE resources SET pin = json_set(pin, '$.price_microusd_hour', json('null')) WHERE pool = 'serve'")
    os.unlink(home.path('cluster.yaml'))
    home.git('add', '-A')
    home.git('commit', '-qm', 'two')
    result = home.run('plan', '--changed-since', 'HEAD~1')
    assert 'at least $0.30 per hour' in one_line(result.err) and '+ 1 unpriced' in result.out
    [removed] = home.run('plan', '--changed-since', 'HEAD~1', '--format', 'json').json()['removed']
    assert (removed['microusd_hour'], removed['unpriced_nodes']) == (300000, 1)

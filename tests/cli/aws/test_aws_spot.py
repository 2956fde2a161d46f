"""Pools with `market: spot`: the plan, the requests to EC2, and what happens to nodes that EC2 reclaims."""
import itertools
import os
import re

import pytest
from program import Home, spec
from sim_server import tags_of

SPOT = ', market: spot'
# prices.csv: the highest spot price of g4dn.xlarge in us-east-1, and its on-demand price
SPOT_PRICE, ON_DEMAND_PRICE = 200000, 526000  # of use1-az2, the cheapest, which is us-east-1c here


@pytest.fixture
def home(home):
    write(home, 2, SPOT)
    return home


def write(home, nodes, market=''):
    home.write('cluster.yaml', spec(pools={'serve': nodes}, pool_extra=market))


def named(home, max_price):
    """The type is the user's choice, so EC2 decides about the limit."""
    text = spec(pools={'serve': 2}, pool_extra=f', market: {{spot: {{max_price: {max_price}}}}}')
    home.write('cluster.yaml', text.replace('accelerators: "T4:1"', 'instance_type: g4dn.xlarge'))


def pool(sim, name='serve'):
    return [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == name]


def requests(sim):
    return sim.ok('DescribeSpotInstanceRequests').findall('spotInstanceRequestSet/item')


def markets(plan):
    return {m['market']: m['after'] for m in plan['raygpu']['cost']['markets']}


def no_changes(home, *more):
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle', *more)
    assert 'No changes.' in said.out, said
    return said


def test_a_plan_says_spot_and_what_it_costs(home):
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert re.search(r'\+ market += "spot"\n', said.out)
    assert 'of it on-demand $0.00 -> $0.38, spot $0.00 -> $0.40' in said.out
    assert 'spot prices move: counted as they were last seen' in said.out
    bought = markets(home.run('plan', 'cluster.yaml', '--format', 'json').json())
    assert bought['spot']['microusd_hour'] == 2 * SPOT_PRICE and bought['spot']['nodes'] == 2
    assert bought['on-demand']['nodes'] == 1, 'the head'


def test_a_place_is_counted_where_its_spot_nodes_go(sim, home):
    """The cheapest zone: places are compared by what the plan will cost there."""
    places = ', '.join(f'{{name: aws, region: {region}, egress_check: false}}' for region in ('us-east-1', 'us-east-2'))
    home.write('cluster.yaml', re.sub('(?m)^provider: .*$', f'provider: {{any_of: [{places}]}}', spec(pools={'train': ('A100:8', 2)}, pool_extra=SPOT)))
    said = home.run('plan', 'cluster.yaml').out
    cost, = re.findall(r'Cost: \$0\.00 -> (\$[0-9.]+) per hour', said)
    assert re.search(r'Place: aws us-east-1, cheapest of 2 candidates\n +' + re.escape(cost) + ' per hour', said), said
    assert '"us-east-1b"' in said, 'where an A100:8 costs a third of what it does elsewhere'


def test_ec2_is_asked_for_one_time_spot_instances(sim, home):
    write(home, 2, ', market: {spot: {max_price: 0.30}}')
    home.apply('cluster.yaml', '--trace', 'trace.jsonl')
    nodes = pool(sim)
    assert [n['instanceLifecycle'] for n in nodes] == ['spot', 'spot']
    assert 'instanceLifecycle' not in pool(sim, 'head')[0]
    assert {(r.findtext('state'), r.findtext('type'), r.findtext('spotPrice'), r.findtext('instanceInterruptionBehavior'))
            for r in requests(sim)} == {('active', 'one-time', '0.3', 'terminate')}
    sent = [call for call in home.read('trace.jsonl').split('\n') if 'Action=RunInstances' in call and 'DryRun' not in call]
    asked = [call for call in sent if 'InstanceMarketOptions.' in call]
    for request in requests(sim):
        tags = {t.findtext('key'): t.findtext('value') for t in request.findall('tagSet/item')}
        assert tags['raygpu:cluster'] == 'research' and tags['raygpu:pool'] == 'serve', 'as policies on tags require'
    assert len(sent) == 2 and len(asked) == 1, 'the head is not spot'
    for word in ('MarketType=spot', 'SpotOptions.MaxPrice=0.3&', 'SpotOptions.SpotInstanceType=one-time',
                 'SpotOptions.InstanceInterruptionBehavior=terminate'):
        assert 'InstanceMarketOptions.' + word in asked[0]
    no_changes(home)
    assert home.run('drift', 'cluster.yaml', '--no-settle').out.startswith('No drift.')
    cost = home.run('cost', '--by', 'market').out
    assert [line.split()[:2] for line in cost.split('\n')[1:3]] == [['on-demand', '1'], ['spot', '2']]
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert sim.live_instances() == [] and {r.findtext('state') for r in requests(sim)} == {'closed'}


def test_without_a_limit_none_is_sent(sim, home):
    home.apply()
    assert len(requests(sim)) == 2
    assert {r.findtext('spotPrice') for r in requests(sim)} == {None}


def test_another_market_replaces_the_nodes(sim, home):
    home.apply()
    before = {i['instanceId'] for i in pool(sim)}
    write(home, 2)
    said = home.run('plan', 'cluster.yaml', '--no-settle')
    assert '~ market = "spot" -> "on-demand" # forces replacement' in ' '.join(said.out.split())
    assert 'Plan: 2 to add, 0 to change, 2 to destroy.' in said.out
    bought = markets(home.run('plan', 'cluster.yaml', '--no-settle', '--format', 'json').json())
    assert bought['spot'] == {'nodes': 0, 'microusd_hour': 0, 'unpriced': 0}
    home.apply('cluster.yaml', '--no-settle')
    assert {i.get('instanceLifecycle') for i in pool(sim)} == {None}
    assert not before & {i['instanceId'] for i in pool(sim)}
    assert 'spot' not in no_changes(home).out
    # and back: the price that was pinned on demand does not apply to spot
    write(home, 2, SPOT)
    bought = markets(home.run('plan', 'cluster.yaml', '--no-settle', '--format', 'json').json())
    assert bought['spot']['microusd_hour'] == 2 * SPOT_PRICE
    home.apply('cluster.yaml', '--no-settle')
    assert [i['instanceLifecycle'] for i in pool(sim)] == ['spot', 'spot']
    no_changes(home)


def test_another_limit_replaces_the_nodes(home):
    home.apply()
    write(home, 2, ', market: {spot: {max_price: 0.5}}')
    said = home.run('plan', 'cluster.yaml', '--no-settle')
    assert re.search(r'\+ spot_max_price = "0\.5" # forces replacement \(market\.spot\.max_price\)', said.out)
    home.apply('cluster.yaml', '--no-settle')
    no_changes(home)
    write(home, 2, SPOT)
    said = home.run('plan', 'cluster.yaml', '--no-settle')
    assert '\n          because of market.spot.max_price "0.5" -> ""\n' in said.out


@pytest.mark.parametrize('replacements', ['3', '0'])
def test_a_node_that_is_reclaimed_before_it_joins_ray(sim, tmp_path, replacements):
    """EC2 goes on to answer with its console, but apply does not wait for its time limit."""
    home = Home(tmp_path, sim.env())
    sim.knobs(join_ms=3600000)
    write(home, 2, SPOT)
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--max-replacements', replacements)
    before = list(itertools.takewhile(lambda line: 'Ray: head 0 of 1' not in line, process.stderr))
    lost = sim.reclaim(count=1, notice_ms=0)
    sim.knobs(join_ms=0)
    _, err = process.communicate(timeout=120)
    assert 'did not join Ray: its machine is gone' in err, ''.join(before) + err
    assert process.returncode == (3 if replacements == '0' else 0), err
    home.apply()
    assert len(pool(sim)) == 2 and lost[0] not in {i['instanceId'] for i in pool(sim)}


def test_a_reclaimed_node_is_drift_and_made_again(sim, home):
    home.apply()
    lost, kept = (i['instanceId'] for i in pool(sim))
    assert sim.reclaim(instance_ids=[lost], notice_ms=0) == [lost]
    said = home.run('drift', 'cluster.yaml', '--no-settle', code=2)
    assert f'id = "{lost}" (reclaimed by EC2 (spot))' in said.out, said
    row, = home.run('drift', 'cluster.yaml', '--no-settle', '--format', 'json', code=2).json()['drift']
    assert (row['type'], row['id'], row['status']) == ('missing', lost, 'reclaimed by EC2 (spot)')
    said = home.apply('cluster.yaml', '--no-settle')
    assert '1 added, 0 changed, 0 destroyed' in said.out
    now = {i['instanceId']: i['instanceLifecycle'] for i in pool(sim)}
    assert kept in now and lost not in now and list(now.values()) == ['spot', 'spot']
    no_changes(home)


def test_a_limit_below_the_price_of_the_day(sim, home):
    """A warning at plan time, because the catalog's price is old; EC2's own message at apply time."""
    named(home, 0.1)
    said = home.run('plan', 'cluster.yaml')
    assert '[fit.above-max-price]' in said.err and 'g4dn.xlarge cost 0.2 on spot' in said.err
    sim.knobs(spot_prices={'g4dn.xlarge': 0.2})
    said = home.apply(code=3)
    assert 'SpotMaxPriceTooLow' in said.err and 'raise it' in said.err
    assert [tags_of(i)['raygpu:pool'] for i in sim.live_instances()] == ['head']
    named(home, 0.25)
    said = home.apply('cluster.yaml', '--no-settle')
    assert 'fit.above-max-price' not in said.err
    assert len(pool(sim)) == 2
    no_changes(home)


def test_spot_has_a_quota_of_its_own(sim, home):
    """L-3819A6DF: vCPUs of G and VT on spot; g4dn.xlarge has 4."""
    sim.knobs(quotas={'L-3819A6DF': 0})
    said = home.run('plan', 'cluster.yaml', code=8)
    assert '"All G and VT Spot Instance Requests" of 0' in ' '.join(said.err.split())
    said = home.apply('cluster.yaml', '--skip-preflight', code=3)
    assert 'MaxSpotInstanceCountExceeded' in said.err and 'All Spot Instance Requests of this family' in said.err
    assert pool(sim) == [] and len(pool(sim, 'head')) == 1
    sim.knobs(quotas={'L-3819A6DF': 8})
    home.apply('cluster.yaml', '--no-settle')
    assert len(pool(sim)) == 2
    no_changes(home)


def test_a_lost_answer_makes_no_second_batch(sim, home):
    sim.fault(action='RunInstances', when='after', status=500, code='InternalError', count=2)
    home.apply()
    assert len(pool(sim)) == 2 and len(requests(sim)) == 2
    no_changes(home)


def test_a_lost_state_knows_the_market_again(sim, home):
    home.apply()
    os.unlink(home.state)
    home.run('state', 'rebuild', 'cluster.yaml')
    no_changes(home)
    assert 'spot $0.40' in home.run('plan', 'cluster.yaml', '--verbose').out


def test_policy_and_head(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 2}, pool_extra=SPOT, extra='policy: {allow_markets: [on-demand]}\n'))
    said = home.run('plan', 'cluster.yaml', code=9)
    assert 'the market spot (pool serve) is not among those' in said.err and '[policy.market]' in said.err
    home.write('cluster.yaml', spec(pools={'serve': 2}, head='m5.2xlarge, market: spot'))
    said = home.run('validate', 'cluster.yaml', code=4)
    assert 'head.market must be on_demand' in said.err
    assert sim.counters()['mutating'] == 0


def test_no_price_seen_is_no_price(home):
    """The catalog has no spot price of a p3 in us-east-1; its on-demand price is not used instead."""
    home.write('cluster.yaml', spec(pools={'serve': ('V100-32GB:8', 1)}, pool_extra=SPOT))
    said = home.run('plan', 'cluster.yaml')
    assert 'no spot price is known for p3dn.24xlarge in us-east-1' in said.err
    bought = markets(home.run('plan', 'cluster.yaml', '--format', 'json').json())
    assert bought['spot'] == {'nodes': 1, 'microusd_hour': 0, 'unpriced': 1}


def test_a_limit_is_a_wish_that_offers_satisfy(home):
    """The cheapest zone of us-east-1 had g4dn.xlarge at 0.2; on demand the next size costs 0.752."""
    write(home, 2, ', market: {spot: {max_price: 0.2}}')
    plan = home.run('plan', 'cluster.yaml', '--format', 'json').json()
    chosen, = [p for p in plan['raygpu']['pools'] if p['pool'] == 'serve']
    assert (chosen['instance_type'], chosen['reason']) == (
        'g4dn.xlarge', 'the only offer of T4:1 in us-east-1 on spot'), 'what others cost on spot is not known'
    write(home, 2, ', market: {spot: {max_price: 0.1}}')
    said = home.run('plan', 'cluster.yaml', code=4)
    text = ' '.join(said.err.split())
    assert 'catalog.no-offer' in said.err and 'has T4:1 for max_price' in text
    assert 'g4dn.xlarge (spot price 0.2 USD per hour, above the max_price of 0.1)' in text
    rows = home.run('offers', 'cluster.yaml', '--all', '--limit', '0', '--json').json()['lists'][0]['offers']
    why = {row['instance_type']: row['rejected'] for row in rows}
    assert why['g4dn.xlarge'] == 'spot price 0.2 USD per hour, above the max_price of 0.1'
    assert all(row['rejected'] for row in rows if row['spot'] and row['spot']['microusd_hour'] > 100000)


def test_the_market_stands_in_the_table_and_the_reason_is_shown(home):
    said = home.run('plan', 'cluster.yaml').out
    rows = [line.split() for line in said.split('\n') if line.startswith('  ')]
    assert ['POOL', 'TYPE', 'MARKET', 'NODES', 'GPUS', 'PER', 'HOUR'] in rows
    assert ['serve', 'g4dn.xlarge', 'spot', '0'] in [row[:4] for row in rows]
    assert 'Chosen for head' not in said, 'its type is named in the spec'
    home.apply()
    assert '# chosen: cheapest of' in home.run('show').out
    pools = {p['pool']: p for p in home.run('plan', 'cluster.yaml', '--no-settle', '--format', 'json').json()['raygpu']['pools']}
    assert pools['serve']['market'] == 'spot' and pools['head']['market'] == 'on-demand'
    assert pools['serve']['reason'].startswith('cheapest of') and pools['head']['reason'] == 'named in the spec'
    write(home, 2)
    assert '  spot -> on-demand  2 ' in home.run('plan', 'cluster.yaml', '--no-settle', '--summary').out

"""Pools with `market: {reservation: ID}`: on-demand capacity reservations and Capacity Blocks, and `offers --blocks`."""
import json
import os
import re
import subprocess
import time

import pytest
from program import spec
from report_schemas import validator
from sim_server import tags_of

KIND, ZONE = 'p4d.24xlarge', 'us-east-1a'
PRICE = 21957642  # of p4d.24xlarge in us-east-1, on demand
QUOTA = 'L-417A185B'


def reserve(sim, count=2, kind=KIND, zone=ZONE, **more):
    form = {'InstanceType': kind, 'InstancePlatform': 'Linux/UNIX', 'AvailabilityZone': zone,
            'InstanceCount': count, 'InstanceMatchCriteria': 'targeted', **more}
    return sim.ok('CreateCapacityReservation', form).findtext('capacityReservation/capacityReservationId')


def buy(sim, count=2, **more):
    """A Capacity Block."""
    sim.knobs(capacity_blocks=[{'type': KIND, 'zone': ZONE, 'count': 4, 'hours': 48, 'fee': 1000.5, **more}])
    found = sim.ok('DescribeCapacityBlockOfferings', {'CapacityDurationHours': 48, 'InstanceCount': count})
    return sim.ok('PurchaseCapacityBlock', {
        'CapacityBlockOfferingId': found.findtext('.//capacityBlockOfferingId'),
        'InstancePlatform': 'Linux/UNIX'}).findtext('capacityReservation/capacityReservationId')


def shown(sim, wanted):
    return sim.ok('DescribeCapacityReservations', {'CapacityReservationId.1': wanted}).find('capacityReservationSet/item')


def wait_until(sim, wanted, state):
    deadline = time.monotonic() + 120
    while shown(sim, wanted).findtext('state') != state:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def write(home, wanted, nodes=2, extra='', more='', accelerators='A100:8'):
    home.write('cluster.yaml', spec(pools={'train': (accelerators, nodes)}, extra=extra,
                                    pool_extra=f', market: {{reservation: {wanted}}}{more}'))


def pool(sim, name='train'):
    return [i for i in sim.live_instances() if tags_of(i).get('raygpu:pool') == name]


def no_changes(home):
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle')
    assert 'No changes.' in said.out
    return said


def asked(sim, action='DescribeCapacityReservations'):
    return sim.counters()['actions'].get(action, {}).get('requests', 0)


def test_nodes_are_launched_into_the_reservation_and_nowhere_else(sim, home):
    sim.knobs(capacity={KIND: {ZONE: 2, '*': 9}}, quotas={QUOTA: 192, 'L-1216C47A': 1000})
    wanted = reserve(sim)
    write(home, wanted)
    said = home.run('plan', 'cluster.yaml')
    assert re.search(r'train +p4d.24xlarge +reserved +0 -> 2 +A100 0 -> 16 +\$0.00 -> \$43.92', said.out)
    assert 'reserved: prepaid nodes count 0, others the on-demand price' in re.sub(r'\s+', ' ', said.out)
    assert f'+ capacity_reservation = "{wanted}"' in said.out
    assert asked(sim) == 1
    plan = home.run('plan', 'cluster.yaml', '--format', 'json').json()
    validator('plan.schema.json').validate(plan)
    market, = [m for m in plan['raygpu']['cost']['markets'] if m['market'] == 'reserved']
    assert market['after']['microusd_hour'] == 2 * PRICE
    home.apply('cluster.yaml', '--no-settle')
    nodes = pool(sim)
    assert {(i['capacityReservationId'], i['placement']['availabilityZone'], i['instanceType'], i.get('instanceLifecycle'))
            for i in nodes} == {(wanted, ZONE, KIND, None)}
    assert len(nodes) == 2 and shown(sim, wanted).findtext('availableInstanceCount') == '0'
    no_changes(home)
    assert 'No drift.' in home.run('drift', 'cluster.yaml').out
    assert 'No drift.' in home.run('drift').out, 'without the spec'


def test_a_reservation_leaves_no_choice_of_the_type(sim, home):
    """The cheapest type of the accelerator is another one, and no zone is preferred to that of the reservation."""
    wanted = reserve(sim, 1, 'g4dn.12xlarge', 'us-east-1c')
    write(home, wanted, 1)
    home.write('cluster.yaml', home.read('cluster.yaml').replace('"A100:8"', '{gpu_memory: ">=16GB", count: 4}'))
    home.apply('cluster.yaml', '--no-settle')
    node, = pool(sim)
    assert (node['instanceType'], node['placement']['availabilityZone']) == ('g4dn.12xlarge', 'us-east-1c')
    assert home.run('plan', 'cluster.yaml', '--reoptimize', '--detailed-exitcode', '--no-settle').code == 0


def test_a_block_is_prepaid_and_needs_no_quota(sim, home):
    sim.knobs(quotas={QUOTA: 0, 'L-1216C47A': 1000}, capacity={KIND: {'*': 0}})
    wanted = buy(sim)
    write(home, wanted, extra='budget: {hourly_usd: 1}\n', more=', network: {placement: cluster}')
    said = home.run('plan', 'cluster.yaml')
    assert re.search(r'reserved +0 -> 2 +A100 0 -> 16 +\$0.00\n', said.out), said.out
    assert '+ market               = "capacity-block"' in said.out
    home.apply('cluster.yaml', '--no-settle', '--trace', 'trace.jsonl')
    assert {(i['capacityReservationId'], i['instanceLifecycle']) for i in pool(sim)} == {(wanted, 'capacity-block')}
    launch, = [call for call in home.read('trace.jsonl').split('\n') if 'Action=RunInstances' in call
               and 'DryRun' not in call and 'MarketType=capacity-block' in call]
    assert f'CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId={wanted}' in launch
    assert 'Placement.GroupName' not in launch, 'a block is one'
    no_changes(home)
    assert '$0.00' in home.run('cost', '--by', 'market').out


def test_a_budget_counts_what_is_billed_by_the_hour(sim, home):
    write(home, reserve(sim), extra='budget: {hourly_usd: 40}\n')
    said = home.run('plan', 'cluster.yaml', code=9)
    assert '[budget.exceeded]' in said.err


def test_nodes_wait_for_the_start_of_their_block(sim, home):
    """The rest of the cluster works; the next apply after the start completes it."""
    wanted = buy(sim, starts_in_ms=3600000)
    home.write('cluster.yaml', spec(pools={'serve': 1}) +
               f'  train: {{accelerators: "A100:8", nodes: 2, gang: true, market: {{reservation: {wanted}}}}}\n')
    start = shown(sim, wanted).findtext('startDate').replace('.000Z', 'Z')
    said = home.run('plan', 'cluster.yaml')
    assert '[plan.reservation-starts]' in said.err and start in said.err
    said = home.apply('cluster.yaml', '--no-settle', code=3)
    assert 'InvalidCapacityReservationState.PendingActivation' in said.err
    assert f'reservation {wanted} starts at {start}: run apply again then' in re.sub(r'\s+', ' ', said.err)
    assert 'Note: ' in said.err and len(pool(sim, 'serve')) == 1 and pool(sim) == []
    said = home.apply('cluster.yaml', '--no-settle', '--capacity-timeout', '30m', code=8)
    assert 'trying again' not in said.err, 'a wait that ends before the start is in vain'
    other = buy(sim, starts_in_ms=0)
    home.write('cluster.yaml', home.read('cluster.yaml').replace(wanted, other))
    home.apply('cluster.yaml', '--no-settle')
    assert len(pool(sim)) == 2
    no_changes(home)


def test_apply_waits_for_the_start(sim, home):
    wanted = buy(sim, starts_in_ms=8000)  # the plan is made before that, on a slow machine too
    write(home, wanted)
    said = home.apply('cluster.yaml', '--no-settle', '--capacity-timeout', '10m')
    assert re.search(rf'train: reservation {wanted} starts at [-0-9T:Z]+, trying again in \d+ s', said.err), said.err
    assert len(pool(sim)) == 2
    no_changes(home)


def test_nothing_is_removed_for_a_block_that_has_not_started(sim, home):
    home.write('cluster.yaml', spec(pools={'train': ('A100:8', 1)}))
    home.apply('cluster.yaml', '--no-settle')
    write(home, buy(sim, starts_in_ms=3600000), 1)
    said = home.run('plan', 'cluster.yaml', '--no-settle', code=8)
    assert '1 existing node of pool train would be removed before that' in re.sub(r'\s+', ' ', said.err)
    home.apply('cluster.yaml', '--no-settle', code=8)
    assert len(pool(sim)) == 1


def test_the_end_is_announced_a_week_before(sim, home):
    wanted = buy(sim)  # of two days
    write(home, wanted)
    end = shown(sim, wanted).findtext('endDate').replace('.000Z', 'Z')
    assert f'reservation {wanted} of pool train ends at {end}' in re.sub(r'\s+', ' ', home.run('plan', 'cluster.yaml').err)
    home.apply('cluster.yaml', '--no-settle')
    for arguments in (['plan', 'cluster.yaml', '--no-settle'], ['drift', 'cluster.yaml'], ['drift']):
        said = re.sub(r'\s+', ' ', home.run(*arguments).err)
        assert '[plan.reservation-ends]' in said and 'the cloud terminates its nodes from' in said, arguments
    far = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 9 * 86400))
    near = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 6 * 86400))
    write(home, reserve(sim, EndDateType='limited', EndDate=far))
    assert 'reservation-ends' not in home.run('plan', 'cluster.yaml', '--no-settle').err
    write(home, reserve(sim, EndDateType='limited', EndDate=near))
    said = re.sub(r'\s+', ' ', home.run('plan', 'cluster.yaml', '--no-settle').err)
    assert 'its nodes continue after that, without reserved capacity' in said


def test_the_end_of_a_block(sim, home):
    sim.knobs(terminated_ms=3600000)
    wanted = buy(sim, lasts_ms=16000, clear_ms=1000)
    write(home, wanted)
    home.apply('cluster.yaml', '--no-settle')
    wait_until(sim, wanted, 'expired')
    assert pool(sim) == []
    said = home.run('drift', 'cluster.yaml', code=2)
    assert 'ended by EC2 with its Capacity Block' in said.out
    assert f'reservation {wanted} ended at' in re.sub(r'\s+', ' ', said.err)
    said = home.run('plan', 'cluster.yaml', '--no-settle', code=8)
    assert '[plan.reservation-over]' in said.err
    assert re.search(rf'reservation {wanted} ended at \S+: no node of pool train can be created in it',
                     re.sub(r'\s+', ' ', said.err))
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply('cluster.yaml', '--no-settle')


def test_a_pool_without_nodes_needs_no_reservation(sim, home):
    """It is looked at when the pool has nodes again."""
    write(home, 'cr-00000000000000001', nodes=0)
    home.run('plan', 'cluster.yaml')
    assert not asked(sim)
    write(home, 'cr-00000000000000001')
    assert 'fit.no-reservation' in home.run('plan', 'cluster.yaml', code=4).err


def test_a_placement_group_is_warned_of(sim, home):
    """EC2 counts a reservation in a placement group only if it was made there; a block needs none."""
    write(home, reserve(sim), more=', network: {placement: cluster}')
    said = ' '.join(home.run('plan', 'cluster.yaml').err.split())
    assert said.count('was not made in the placement group of pool train: EC2 may not launch its nodes there') == 1 and 'cluster.yaml:' in said
    write(home, buy(sim), more=', network: {placement: cluster}')
    assert 'placement group' not in home.run('plan', 'cluster.yaml').err


def test_nodes_outlive_a_cancelled_reservation(sim, home):
    wanted = reserve(sim)
    write(home, wanted)
    home.apply('cluster.yaml', '--no-settle')
    sim.ok('CancelCapacityReservation', {'CapacityReservationId': wanted})
    said = no_changes(home)
    assert f'reservation {wanted} is cancelled, and pool train has 2 nodes in it' in re.sub(r'\s+', ' ', said.err)
    assert 'No drift.' in home.run('drift', 'cluster.yaml').out
    write(home, wanted, 3)
    home.run('plan', 'cluster.yaml', '--no-settle', code=8)


def test_everything_that_does_not_match_is_told_at_once(sim, home):
    small = reserve(sim, 1, 'g4dn.xlarge')
    away = reserve(sim, 1, KIND, 'us-east-1b')
    windows = reserve(sim, 1, InstancePlatform='Windows')
    alone = reserve(sim, 1, Tenancy='dedicated')
    pools = {'a': ('accelerators: "A100:8"', small, ''), 'b': (f'instance_type: {KIND}', small, ''),
             'c': ('accelerators: "A100:8"', away, ', zones: [us-east-1a]'),
             'd': ('accelerators: "A100:8"', windows, ''), 'e': ('accelerators: "A100:8"', alone, ''),
             'f': ('accelerators: "A100:8"', 'cr-0123456789abcdef0', '')}
    lines = [f'  {n}: {{{shape}, nodes: 1, market: {{reservation: {i}}}{more}}}' for n, (shape, i, more) in pools.items()]
    home.write('cluster.yaml', spec(pools={}) + '\n'.join(lines) + '\n')
    said = home.run('plan', 'cluster.yaml', code=4)
    flat = re.sub(r'\s+', ' ', said.err)
    assert f'reservation {small} is of g4dn.xlarge, which does not fit pool a:' in flat
    assert f'reservation {small} is of g4dn.xlarge, not of {KIND}' in flat
    assert f'reservation {away} is in us-east-1b, not in us-east-1a' in flat
    assert f'reservation {windows} cannot be used by pool d: it is for Windows' in flat
    assert f'reservation {alone} cannot be used by pool e: its tenancy is dedicated' in flat
    assert 'there is no reservation cr-0123456789abcdef0' in flat
    assert [int(n) for n in re.findall(r'on cluster.yaml:(\d+):', said.err)] == list(range(7, 13))
    assert pool(sim) == [] and sim.live_instances() == []


def test_all_pools_of_a_reservation_must_fit(sim, home):
    wanted = reserve(sim, 3)
    home.write('cluster.yaml', spec(pools={'a': ('A100:8', 2), 'b': ('A100:8', 2)},
                                    pool_extra=f', market: {{reservation: {wanted}}}'))
    said = home.run('plan', 'cluster.yaml', code=8)
    assert f'reservation {wanted} has room for 3 more of its 3 nodes, and the plan creates 4 (pool a, b)' in re.sub(
        r'\s+', ' ', said.err)
    home.write('cluster.yaml', spec(pools={'a': ('A100:8', 2), 'b': ('A100:8', 1)},
                                    pool_extra=f', market: {{reservation: {wanted}}}'))
    home.apply('cluster.yaml', '--no-settle')
    assert len(sim.live_instances()) == 4


def test_a_replaced_node_takes_the_place_of_the_old_one(sim, home):
    wanted = reserve(sim)
    write(home, wanted)
    home.apply('cluster.yaml', '--no-settle')
    first = {i['instanceId'] for i in pool(sim)}
    write(home, wanted, more=', disk: {size: 200}')
    home.apply('cluster.yaml', '--no-settle')
    assert len(pool(sim)) == 2 and not first & {i['instanceId'] for i in pool(sim)}
    write(home, wanted, more=', disk: {size: 300}, replace: {max_surge: 1}')
    said = home.run('plan', 'cluster.yaml', '--no-settle', code=8)
    assert '[plan.reservation-full]' in said.err, 'the new node comes first, and there is no room for it'


def test_another_pool_gets_the_places_of_a_removed_one_only_afterwards(sim, home):
    wanted = reserve(sim)
    write(home, wanted)
    home.apply('cluster.yaml', '--no-settle')
    nodes = {i['instanceId'] for i in pool(sim)}
    home.write('cluster.yaml', home.read('cluster.yaml').replace('train:', 'tune:'))
    said = home.run('apply', 'cluster.yaml', '--auto-approve', '--no-settle', code=8)
    assert '[plan.reservation-full]' in said.err
    assert {i['instanceId'] for i in pool(sim)} == nodes, 'nothing is removed for nodes that there is no room for'


def test_another_market_replaces_the_nodes(sim, home):
    wanted = reserve(sim)
    write(home, wanted)
    home.apply('cluster.yaml', '--no-settle')
    home.write('cluster.yaml', spec(pools={'train': ('A100:8', 2)}))
    said = home.run('plan', 'cluster.yaml', '--no-settle', '--detailed-exitcode', code=2)
    assert 'forces replacement (market.reservation)' in said.out and 'Plan: 2 to add, 0 to change, 2 to destroy.' in said.out
    home.apply('cluster.yaml', '--no-settle')
    assert [i for i in pool(sim) if 'capacityReservationId' in i] == []
    no_changes(home)


def test_a_match_with_an_open_reservation_is_no_drift(sim, home):
    wanted = reserve(sim, 1, InstanceMatchCriteria='open')
    home.write('cluster.yaml', spec(pools={'train': ('A100:8', 1)}, pool_extra=f', zones: [{ZONE}]'))
    home.apply('cluster.yaml', '--no-settle')
    assert pool(sim)[0]['capacityReservationId'] == wanted
    no_changes(home)
    assert 'No drift.' in home.run('drift', 'cluster.yaml').out


def test_a_rebuilt_state_knows_the_reservation(sim, home):
    write(home, buy(sim))
    home.apply('cluster.yaml', '--no-settle')
    os.unlink(home.state)
    home.run('state', 'rebuild', 'cluster.yaml')
    no_changes(home)


def test_a_saved_plan_launches_into_the_reservation(sim, home):
    wanted = buy(sim)
    write(home, wanted)
    home.run('plan', 'cluster.yaml', '--out', 'p.json')
    home.run('apply', 'p.json', '--no-settle')
    assert {i['capacityReservationId'] for i in pool(sim)} == {wanted}


@pytest.mark.parametrize('text, code, said', [
    (spec(pools={'a': 1}, pool_extra=', market: {reservation: r-1}'), 4, '"r-1" is not a reservation of aws'),
    (spec(pools={'a': 1}, pool_extra=', market: {reservation: cr-0123456789abcdef0}').replace(
        '{name: aws, region: us-east-1}', '{any_of: [{name: aws, region: us-east-1}]}'), 4,
     'a reservation is in one region, but provider.any_of leaves the region open'),
    (spec(pools={'a': 1}, pool_extra=', market: {reservation: cr-0123456789abcdef0}', extra='policy: {allow_markets: [spot]}\n'),
     9, 'market reserved'),
    (spec(pools={'a': 1}, pool_extra=', market: {reservation: cr-0123456789abcdef0, spot: {max_price: 1}}'), 4,
     'give either spot or reservation'),
])
def test_specs_are_checked_without_the_cloud(home, text, code, said):
    home.write('cluster.yaml', text)
    assert said in re.sub(r'\s+', ' ', home.run('validate', 'cluster.yaml', code=code).err)


def test_the_policy_has_what_a_reservation_needs(sim, home):
    wanted = reserve(sim)
    write(home, wanted)
    policy = home.run('iam', 'cluster.yaml').out
    assert f'capacity-reservation/{wanted}' in policy and 'ec2:DescribeCapacityReservations' in policy
    assert 'ec2:DescribeCapacityReservations' in home.run('iam', 'cluster.yaml', '--for', 'plan').out
    home.write('cluster.yaml', spec())
    assert 'apacity' not in home.run('iam', 'cluster.yaml').out


def test_offers_lists_blocks(sim, home):
    sim.knobs(capacity_blocks=[
        {'type': KIND, 'zone': 'us-east-1b', 'count': 4, 'hours': 48, 'fee': 900, 'starts_in_ms': 7200000},
        {'type': KIND, 'zone': ZONE, 'count': 4, 'hours': 48, 'fee': 1000.5, 'starts_in_ms': 3600000},
        {'type': KIND, 'zone': ZONE, 'count': 4, 'hours': 24, 'fee': 600}])
    home.write('cluster.yaml', spec(pools={'train': ('A100:8', 2)}))
    said = home.run('offers', '--blocks', 'cluster.yaml', '--days', '2')
    assert re.search(r'train, 2 nodes, 2 days: 2 blocks\n\np4d.24xlarge +2 x +us-east-1a +cb-\w{17}\n  \S+ to \S+ +'
                     r'\$2001.00 \(\$2.61 per GPU-hour\)\np4d.24xlarge +2 x +us-east-1b', said.out), said.out
    assert 'train, 2 nodes, 1 day: 1 block\n' in home.run('offers', '--blocks').out
    report = home.run('offers', '--blocks', 'A100:8', '--provider', 'aws', '--region', 'us-east-1', '--nodes', '3',
                      '--days', '2', '--json').json()
    found, = report['lists']
    first = found['blocks'][0]
    assert (found['nodes'], found['days'], found['instance_types']) == (3, 2, [KIND])
    assert (first['zone'], first['count'], first['fee_microusd'], first['currency'], first['gpus']) == (
        ZONE, 3, 3001500000, 'USD', 8)
    late = home.run('offers', '--blocks', '--days', '2', '--from', found['blocks'][1]['start'], '--json').json()
    assert [b['zone'] for b in late['lists'][0]['blocks']] == ['us-east-1b']
    assert home.run('offers', '--blocks', '--days', '2', '--to', first['start'], '--json').json()['lists'][0]['blocks'] == []
    assert asked(sim, 'PurchaseCapacityBlock') == 0


@pytest.mark.parametrize('arguments, code, said', [
    (['--days', '15'], 1, 'no Capacity Block lasts 15 days'), (['--nodes', '65'], 1, 'a Capacity Block has 1 to 64 instances'),
    (['--from', 'soon'], 4, '--from is a date such as 2026-12-01'), (['--csv'], 4, 'are not for --blocks'),
    (['A100:8'], 4, '--blocks with a query needs --provider and --region'),
])
def test_queries_for_blocks_are_checked(home, arguments, code, said):
    home.write('cluster.yaml', spec(pools={'train': ('A100:8', 2)}))
    assert said in re.sub(r'\s+', ' ', home.run('offers', '--blocks', *arguments, code=code).err)
    assert '--nodes, --days, --from and --to are for --blocks' in home.run('offers', '--days', '1', code=4).err


@pytest.mark.skipif(not os.access('/usr/bin/aws', os.X_OK), reason="Debian's awscli is not installed")
def test_the_official_client_sees_it(sim, home):
    write(home, reserve(sim))
    home.apply('cluster.yaml', '--no-settle')
    done = subprocess.run(['/usr/bin/aws', '--endpoint-url', sim.url, '--output', 'json', 'ec2', 'describe-instances', '--query',
                           'Reservations[].Instances[].[CapacityReservationId, InstanceType]'],
                          env=sim.env(), capture_output=True, text=True, timeout=120, check=True)
    assert sorted(t for r, t in json.loads(done.stdout) if r) == [KIND, KIND]

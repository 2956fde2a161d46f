"""kill -9 at seeded random instants while apply moves from candidate to candidate: the spec ends where the cloud has
capacity, nothing is left behind elsewhere, and no two candidates ever hold nodes for one slot.

RAYGPU_FAILOVER_KILLS sets the number of kills of each scenario (5; 25 with --long), RAYGPU_SEED the seed (1)."""
import os
import random
import sys
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli'))
from program import Home, spec  # noqa: E402
from sim_server import Sim, tags_of  # noqa: E402

KILLS = int(os.environ.get('RAYGPU_FAILOVER_KILLS', '25' if os.environ.get('RAYGPU_LONG') else '5'))
SEED = int(os.environ.get('RAYGPU_SEED', '1'))
P4D = 'p4d.24xlarge'
REGIONS = ['us-east-1', 'us-west-2']
ANY = 'provider: {any_of: [{name: aws, region: us-west-2}, {name: aws, region: us-east-1}]}'
SPOT = ', market: {spot: {fallback: on_demand}}'
# what the pool adds, the place, the capacity; then the zone and the market where all of it ends
SCENARIOS = {
    'third-zone': ('', None, {P4D: {'us-east-1a': 0, 'us-east-1b': 2}}, ('us-east-1c', 'on-demand')),
    'gang': (', gang: true', None, {P4D: {'us-east-1a': 7, 'us-east-1b': 7}}, ('us-east-1c', 'on-demand')),
    'none-but-on-demand': (SPOT, None, {f'{P4D}:spot': {'*': 0}, f'{P4D}:on-demand': {'us-east-1a': 0}},
                           ('us-east-1b', 'on-demand')),
    'head-elsewhere': ('', None, {'m5.2xlarge': {'us-east-1a': 0, 'us-east-1b': 0}}, ('us-east-1a', 'on-demand')),
    'reservation': (', market: {reservation: ID}', None, {P4D: {'us-east-1b': 3, '*': 0}}, ('us-east-1b', 'on-demand')),
    'block-that-starts-later': (', market: {reservation: ID}', None, {P4D: {'*': 0}}, ('us-east-1b', 'capacity-block')),
    'another-region': ('', ANY, {P4D: {f'us-west-2{zone}': 0 for zone in 'abcdef'}}, ('us-east-1a', 'on-demand')),
}


def nodes(sim, region):
    """[(slot, zone, market)] of the pool's nodes in a region."""
    return [(i.get('clientToken'), i['placement']['availabilityZone'], i.get('instanceLifecycle', 'on-demand'))
            for i in sim.live_instances(region) if tags_of(i)['raygpu:pool'] == 'train']


def check(sim, home, count, end, mixed):
    found = [node for region in REGIONS for node in nodes(sim, region)]
    assert len(found) == count, found
    if not mixed:  # the zone of an interrupted request comes first in the next run: any that has capacity
        assert {market for _, _, market in found} == {end[1]} and len({zone for _, zone, _ in found}) == 1, found
        assert found[0][1][:-1] == end[0][:-1] and found[0][1] >= end[0], found
    live = [i for region in REGIONS for i in sim.live_instances(region)]
    recorded = home.run('show', '--json').json()['values']['root_module']['resources']
    assert {r['values']['id'] for r in recorded if r['type'] == 'aws.instance'} == {i['instanceId'] for i in live}
    assert not [r for r in recorded if r['pending']]
    groups = [g for region in REGIONS for g in sim.world(region)['security_groups'] if g['groupName'] != 'default']
    own = [i for region in REGIONS for i in sim.world(region)['network_interfaces']
           if not i.get('attachment', {}).get('deleteOnTermination')]
    assert len(groups) == 1 and len(own) == 1, 'nothing is left behind elsewhere'


def reserve(sim, block):
    """The id of a reservation for 3 nodes; a Capacity Block starts a little later."""
    kind = {'InstancePlatform': 'Linux/UNIX'}
    if not block:
        made = sim.ok('CreateCapacityReservation', {**kind, 'InstanceType': P4D, 'AvailabilityZone': 'us-east-1b', 'InstanceCount': 3,
                                                    'InstanceMatchCriteria': 'targeted'})
    else:
        sim.knobs(capacity_blocks=[{'type': P4D, 'zone': 'us-east-1b', 'count': 3, 'hours': 24, 'fee': 1, 'starts_in_ms': 3000}])
        found = sim.ok('DescribeCapacityBlockOfferings', {'CapacityDurationHours': 24, 'InstanceCount': 3})
        made = sim.ok('PurchaseCapacityBlock', {
            **kind, 'CapacityBlockOfferingId': found.findtext('.//capacityBlockOfferingId')})
    return made.findtext('capacityReservation/capacityReservationId')


def killed(home, chance, longest_s):
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--capacity-timeout', home.patience)
    time.sleep(chance.uniform(0.0, longest_s))
    alive = process.poll() is None
    process.kill()
    process.communicate()
    return alive


@pytest.mark.parametrize('name', SCENARIOS)
def test_kill_9_between_candidates(tmp_path, name):
    extra, places, capacity, end = SCENARIOS[name]
    count = 8 if name == 'gang' else 3
    chance = random.Random(SEED)
    real = 0
    text = spec(pools={'train': ('A100:8', count)}, pool_extra=extra)
    if places:
        text = text.replace('provider: {name: aws, region: us-east-1}', places)
    with Sim('--boot-ms', '20', '--shutdown-ms', '20', '--consistency-ms', '60', '--seed', SEED) as sim:
        sim.knobs(latency_ms=6, capacity=capacity)
        sim.fault(action='RunInstances', when='after', status=500, code='InternalError', message='lost',
                  probability=0.05, count=0)
        home = Home(tmp_path, sim.env())
        home.patience = '60s' if name.startswith('block') else '0'
        if 'ID' in text:
            text = text.replace('ID', reserve(sim, name.startswith('block')))
        home.write('cluster.yaml', text)
        while real < KILLS:
            for _ in range(chance.randrange(1, 4)):
                real += killed(home, chance, 0.9)
                slots = [node for region in REGIONS for node in nodes(sim, region)]
                assert len(slots) <= count, slots
            for _ in range(5):  # a refusal after a lost answer says nothing of the first request: once more
                result = home.apply('cluster.yaml', '--capacity-timeout', home.patience, code=None)
                if not result.code:
                    break
            assert result.code == 0, (real, result.code, result.out, result.err)
            check(sim, home, count, end, name == 'third-zone')
            home.run('plan', 'cluster.yaml', '--detailed-exitcode')
            for _ in range(3):
                if home.run('destroy', 'cluster.yaml', '--auto-approve', code=None).code == 0:
                    break
            assert not [i for region in REGIONS for i in sim.live_instances(region)]
    print(f'{real} kills of a running raygpu, scenario {name}, seed {SEED}')

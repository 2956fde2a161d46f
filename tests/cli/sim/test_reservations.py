"""Capacity reservations and Capacity Blocks."""
import time

import pytest
from helpers import launch, run, states, subnet, wait_state

TARGET = 'CapacityReservationSpecification__CapacityReservationTarget__CapacityReservationId'
BLOCK = {'InstanceMarketOptions__MarketType': 'capacity-block'}
KIND = 'p4d.24xlarge'
ZONE = 'us-east-1a'


def reserve(sim, count=2, kind=KIND, zone=ZONE, **more):
    form = {'InstanceType': kind, 'InstancePlatform': 'Linux/UNIX', 'AvailabilityZone': zone,
            'InstanceCount': count, 'InstanceMatchCriteria': 'targeted', **more}
    return sim.ok('CreateCapacityReservation', form).findtext('capacityReservation/capacityReservationId')


def shown(sim, wanted):
    found = sim.ok('DescribeCapacityReservations', {'CapacityReservationId.1': wanted})
    return found.find('capacityReservationSet/item')


def free(sim, wanted):
    return int(shown(sim, wanted).findtext('availableInstanceCount'))


def offer(sim, **more):
    sim.knobs(capacity_blocks=[{'type': KIND, 'zone': ZONE, 'count': 4, 'hours': 48, 'fee': 1000.5, **more}])


def offerings(sim, **more):
    form = {'InstanceType': KIND, 'InstanceCount': 2, 'CapacityDurationHours': 48, **more}
    return sim.ok('DescribeCapacityBlockOfferings', form).findall('capacityBlockOfferingSet/item')


def buy(sim, **more):
    offer(sim, **more)
    found, = offerings(sim)
    return sim.ok('PurchaseCapacityBlock', {
        'CapacityBlockOfferingId': found.findtext('capacityBlockOfferingId'),
        'InstancePlatform': 'Linux/UNIX'}).findtext('capacityReservation/capacityReservationId')


def wait_reservation(sim, wanted, state):
    deadline = time.monotonic() + 120
    while shown(sim, wanted).findtext('state') != state:
        assert time.monotonic() < deadline, shown(sim, wanted).findtext('state')
        time.sleep(0.01)


def test_a_targeted_launch_takes_from_its_reservation(sim):
    sim.knobs(capacity={KIND: {ZONE: 2, '*': 0}}, quotas={'L-417A185B': 192})
    wanted = reserve(sim)
    assert (shown(sim, wanted).findtext('state'), free(sim, wanted)) == ('active', 2)
    assert sim.error('RunInstances', run(sim, kind=KIND, SubnetId=subnet(sim, ZONE)))[1] in (
        'InsufficientInstanceCapacity', 'VcpuLimitExceeded'), 'the reservation holds both'
    first, = launch(sim, kind=KIND, SubnetId=subnet(sim, ZONE), **{TARGET: wanted})
    item = sim.ok('DescribeInstances', {'InstanceId.1': first}).find('.//instancesSet/item')
    assert item.findtext('capacityReservationId') == wanted
    assert item.findtext('capacityReservationSpecification/capacityReservationTarget/capacityReservationId') == wanted
    assert item.find('instanceLifecycle') is None
    assert free(sim, wanted) == 1
    assert sim.error('RunInstances', run(sim, 2, kind=KIND, **{TARGET: wanted})) == (400, 'ReservationCapacityExceeded')
    launch(sim, 5, 1, kind=KIND, **{TARGET: wanted})
    assert free(sim, wanted) == 0
    wait_state(sim, 'running', first)
    sim.ok('TerminateInstances', {'InstanceId.1': first})
    wait_state(sim, 'terminated', first)
    assert free(sim, wanted) == 1


@pytest.mark.parametrize('params, code', [
    ({'kind': 'g4dn.xlarge'}, 'ReservationCapacityExceeded'),
    ({'Placement__AvailabilityZone': 'us-east-1b'}, 'ReservationCapacityExceeded'),
    (BLOCK, 'InvalidParameterCombination'),
    ({TARGET: 'cr-0123456789abcdef0'}, 'InvalidCapacityReservationId.NotFound'),
    ({TARGET: 'cr-1'}, 'InvalidCapacityReservationId.Malformed'),
])
def test_a_launch_must_match(sim, params, code):
    form = run(sim, **{'kind': KIND, TARGET: reserve(sim), **params})
    assert sim.error('RunInstances', form) == (400, code)


def test_open_ones_take_whoever_matches(sim):
    wanted = reserve(sim, 1, 'g4dn.xlarge', InstanceMatchCriteria='open')
    first, second = launch(sim, 2, SubnetId=subnet(sim, ZONE))
    found = {i.findtext('instanceId'): i.findtext('capacityReservationId') for i in
             sim.ok('DescribeInstances').iter('item') if i.find('instanceId') is not None
             and i.find('capacityReservationSpecification') is not None}
    assert found == {first: wanted, second: None}
    sim.ok('CancelCapacityReservation', {'CapacityReservationId': wanted})
    assert shown(sim, wanted).findtext('state') == 'cancelled'
    assert sim.ok('DescribeInstances', {'InstanceId.1': first}).find('.//capacityReservationId') is None
    assert states(sim, first)[first] in ('pending', 'running'), 'it goes on without'


@pytest.mark.parametrize('params, code', [
    ({'InstanceCount': 0}, 'InvalidParameterValue'), ({'InstanceType': 'x9.huge'}, 'InvalidParameterValue'),
    ({'EndDateType': 'limited'}, 'InvalidParameterCombination'), ({'InstanceCount': 3}, 'InstanceLimitExceeded'),
    ({'EndDateType': 'limited', 'EndDate': '2020-01-01T00:00:00Z'}, 'InvalidParameterValue'),
    ({'OutpostArn': 'arn'}, 'UnsupportedOperation'),
])
def test_reservations_are_checked(sim, params, code):
    sim.knobs(quotas={'L-417A185B': 192})
    form = {'InstanceType': KIND, 'InstancePlatform': 'Linux/UNIX', 'AvailabilityZone': ZONE, 'InstanceCount': 1}
    assert sim.error('CreateCapacityReservation', {**form, **params}) == (400, code)


def test_a_token_makes_one_reservation(sim):
    first = reserve(sim, ClientToken='t')
    assert reserve(sim, ClientToken='t') == first
    assert len(sim.ok('DescribeCapacityReservations').findall('capacityReservationSet/item')) == 1


def test_offerings_of_blocks(sim):
    offer(sim, starts_in_ms=3600000)
    found, = offerings(sim)
    assert (found.findtext('upfrontFee'), found.findtext('instanceCount')) == ('2001.00', '2')
    assert offerings(sim, InstanceType='p5.48xlarge') == offerings(sim, CapacityDurationHours=24) == []
    assert offerings(sim, InstanceCount=5) == []
    assert offerings(sim, EndDateRange=found.findtext('startDate')) == []
    assert offerings(sim, StartDateRange=found.findtext('endDate')) == []
    for bad in ({'CapacityDurationHours': 25}, {'CapacityDurationHours': 15 * 24}, {'InstanceCount': 65}):
        assert sim.error('DescribeCapacityBlockOfferings', {'CapacityDurationHours': 24, **bad}) == (
            400, 'InvalidParameterValue')
    assert sim.error('PurchaseCapacityBlock', {'CapacityBlockOfferingId': 'cb-0', 'InstancePlatform': 'Linux/UNIX'})[
        1] == 'InvalidCapacityBlockOfferingIdNotFound'


def test_the_life_of_a_block(sim):
    """Scheduled, active, and its instances are terminated before its end; no capacity or quota counts."""
    sim.knobs(capacity={KIND: {'*': 0}}, quotas={'L-417A185B': 0})
    wanted = buy(sim, starts_in_ms=60000)
    assert (shown(sim, wanted).findtext('state'), shown(sim, wanted).findtext('reservationType'), free(sim, wanted)) == (
        'scheduled', 'capacity-block', 0)
    form = run(sim, kind=KIND, **BLOCK, **{TARGET: wanted})
    assert sim.error('RunInstances', form) == (400, 'InvalidCapacityReservationState.PendingActivation')
    assert sim.error('CancelCapacityReservation', {'CapacityReservationId': wanted})[1] == 'OperationNotPermitted'
    soon = buy(sim, starts_in_ms=100, lasts_ms=6000, clear_ms=1000)
    wait_reservation(sim, soon, 'active')
    assert sim.error('RunInstances', run(sim, kind=KIND, **{TARGET: soon}))[1] == 'InvalidParameterCombination'
    first, second = launch(sim, 2, kind=KIND, **BLOCK, **{TARGET: soon})
    assert sim.ok('DescribeInstances').findtext('.//instanceLifecycle') == 'capacity-block'
    wait_state(sim, 'terminated', first, second)
    wait_reservation(sim, soon, 'expired')
    assert sim.error('RunInstances', run(sim, kind=KIND, **BLOCK, **{TARGET: soon}))[1] == 'ReservationCapacityExceeded'


def test_a_stopped_instance_starts_in_its_reservation_only(sim):
    wanted = reserve(sim, 1, 'g4dn.xlarge')
    first, = launch(sim, **{TARGET: wanted})
    wait_state(sim, 'running', first)
    sim.ok('StopInstances', {'InstanceId.1': first})
    wait_state(sim, 'stopped', first)
    launch(sim, **{TARGET: wanted})
    assert sim.error('StartInstances', {'InstanceId.1': first}) == (400, 'ReservationCapacityExceeded')

"""vCPU quotas and request throttling."""
import time

import pytest
from helpers import launch, run, wait_state

SPOT = {'InstanceMarketOptions__MarketType': 'spot'}


def test_a_family_has_one_quota_for_all_its_types(sim):
    """g4dn.xlarge has 4 vCPUs, g5.2xlarge 8."""
    sim.knobs(quotas={'L-DB2E81BA': 16})
    launch(sim, 2)
    launch(sim, kind='g5.2xlarge')
    assert sim.error('RunInstances', run(sim)) == (400, 'VcpuLimitExceeded')
    status, root = sim.ec2('RunInstances', run(sim))
    assert 'current vCPU limit of 16 allows' in root.findtext('.//Message')
    launch(sim, kind='m5.large')
    launch(sim, **SPOT)
    assert sim.ec2('RunInstances', run(sim), region='eu-west-1')[1].findtext('.//Code') != 'VcpuLimitExceeded'


def test_a_launch_gets_what_the_quota_leaves(sim):
    sim.knobs(quotas={'L-DB2E81BA': 11})
    assert len(launch(sim, 5, 1)) == 2
    assert sim.error('RunInstances', run(sim, 5, 2)) == (400, 'VcpuLimitExceeded')


def test_spot_has_a_quota_of_its_own(sim):
    sim.knobs(quotas={'L-3819A6DF': 4, 'L-DB2E81BA': 0})
    launch(sim, **SPOT)
    assert sim.error('RunInstances', run(sim, **SPOT)) == (400, 'MaxSpotInstanceCountExceeded')
    assert sim.error('RunInstances', run(sim)) == (400, 'VcpuLimitExceeded')


def test_stopped_instances_do_not_count_until_they_start(sim):
    first, = launch(sim)
    wait_state(sim, 'running', first)
    sim.ok('StopInstances', {'InstanceId.1': first})
    wait_state(sim, 'stopped', first)
    sim.knobs(quotas={'L-DB2E81BA': 4})
    second, = launch(sim)
    assert sim.error('StartInstances', {'InstanceId.1': first}) == (400, 'VcpuLimitExceeded')
    sim.ok('TerminateInstances', {'InstanceId.1': second})
    wait_state(sim, 'terminated', second)
    sim.ok('StartInstances', {'InstanceId.1': first})


@pytest.mark.parametrize('kind, code', [
    ('p4d.24xlarge', 'L-417A185B'), ('g6.xlarge', 'L-DB2E81BA'),
    ('dl1.24xlarge', 'L-6E869C2A'), ('m6i.2xlarge', 'L-1216C47A')])
def test_families_find_their_codes(sim, kind, code):
    sim.knobs(quotas={code: 0})
    assert sim.error('RunInstances', run(sim, kind=kind)) == (400, 'VcpuLimitExceeded')


@pytest.mark.parametrize('knob', [{'quotas': {'L-00000000': 1}}, {'quotas': {'L-417A185B': -1}},
                                  {'buckets': {'RunInstances': [1]}}, {'buckets': {'RunInstances': [1, 'x']}},
                                  {'spot_prices': {'x': '1'}}, {'throttle': 2}])
def test_odd_limits_are_refused(sim, knob):
    with pytest.raises(RuntimeError, match='400'):
        sim.knobs(**knob)


def burst(sim, action, count, params=None):
    return [sim.ec2(action, params)[0] for _ in range(count)]


def test_run_instances_has_ec2s_small_bucket(sim):
    """5 requests at once, 2 more each second; other actions are not affected."""
    form = run(sim, DryRun='true')
    assert burst(sim, 'RunInstances', 8, form).count(503) == 0, 'off at the start'
    sim.knobs(throttle=1)
    start = time.monotonic()
    seen = burst(sim, 'RunInstances', 9, form)
    most = 5 + 2 * (time.monotonic() - start)
    assert seen[:5] == [412] * 5 and set(seen) <= {412, 503} and seen.count(412) <= most
    status, root = sim.ec2('DescribeVpcs')
    assert status == 200
    sim.skip(1)
    assert burst(sim, 'RunInstances', 2, form) == [412, 412]


def test_buckets_count_actions_regions_and_filters_apart(sim):
    sim.knobs(throttle=1, buckets={'DescribeInstances:unfiltered': [2, 0], 'DescribeInstances': [3, 0]})
    assert burst(sim, 'DescribeInstances', 3) == [200, 200, 503]
    assert burst(sim, 'DescribeInstances', 4, {'MaxResults': 5}) == [200, 200, 200, 503]
    assert sim.ec2('DescribeInstances', region='eu-west-1')[0] == 200
    assert sim.error('DescribeInstances') == (503, 'RequestLimitExceeded')
    sim.reset()
    assert burst(sim, 'DescribeInstances', 3) == [200] * 3


def test_instances_have_a_bucket_too(sim):
    """One request for many empties it like many for one; a refusal takes nothing and changes nothing."""
    sim.knobs(throttle=1, buckets={'RunInstances:instances': [6, 0], 'TerminateInstances:instances': [3, 0]})
    wanted = launch(sim, 4)
    assert sim.error('RunInstances', run(sim, 3)) == (503, 'RequestLimitExceeded')
    assert len(sim.live_instances()) == 4
    wanted += launch(sim, 2)
    assert sim.error('TerminateInstances', {f'InstanceId.{n}': i for n, i in enumerate(wanted[:4], 1)}) == (
        503, 'RequestLimitExceeded')
    assert len(sim.live_instances()) == 6
    sim.ok('TerminateInstances', {f'InstanceId.{n}': i for n, i in enumerate(wanted[:3], 1)})


def test_a_dry_run_says_nothing_of_capacity_and_quota(sim):
    sim.knobs(quotas={'L-DB2E81BA': 0}, capacity={'*': {'*': 0}})
    assert sim.error('RunInstances', run(sim, DryRun='true')) == (412, 'DryRunOperation')
    assert sim.error('RunInstances', run(sim))[1] == 'InsufficientInstanceCapacity'

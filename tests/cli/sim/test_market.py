"""Spot instances, placement groups, metadata options."""
import pytest
from helpers import launch, run, states, subnet, tagged, wait_state

SPOT = {'InstanceMarketOptions__MarketType': 'spot'}
OPTIONS = 'InstanceMarketOptions__SpotOptions__'


def requests(sim):
    return sim.ok('DescribeSpotInstanceRequests').findall('spotInstanceRequestSet/item')


def test_a_spot_launch_makes_an_active_request(sim):
    wanted = launch(sim, 2, **SPOT, **{OPTIONS + 'MaxPrice': '1.5'}, **tagged('spot-instances-request', team='ml'))
    found = requests(sim)
    assert [r.findtext('instanceId') for r in found] == wanted
    assert {(r.findtext('state'), r.findtext('status/code'), r.findtext('spotPrice'), r.findtext('tagSet/item/value'))
            for r in found} == {('active', 'fulfilled', '1.5', 'ml')}
    shown = sim.ok('DescribeInstances', {'Filter.1.Name': 'instance-lifecycle', 'Filter.1.Value.1': 'spot'})
    item = shown.find('.//instancesSet/item')
    assert item.findtext('spotInstanceRequestId') == found[0].findtext('spotInstanceRequestId')
    assert sim.error('StopInstances', {'InstanceId.1': wanted[0]})[0] == 400


def test_the_user_ends_a_spot_instance(sim):
    wanted, = launch(sim, **SPOT)
    wait_state(sim, 'running', wanted)
    sim.ok('TerminateInstances', {'InstanceId.1': wanted})
    assert [(r.findtext('state'), r.findtext('status/code')) for r in requests(sim)] == [
        ('closed', 'instance-terminated-by-user')]


def test_the_market_takes_instances_back(sim):
    """Notice first, then the end; on-demand instances and other types stay."""
    spot = launch(sim, 3, **SPOT)
    others = launch(sim) + launch(sim, kind='m5.large', **SPOT)
    wait_state(sim, 'running', *spot, *others)
    hit = sim.reclaim(type='g4dn.xlarge', count=2, notice_ms=1500)
    assert hit == spot[:2]
    assert sim.reclaim(instance_ids=hit, notice_ms=1) == [], 'told once'
    assert {r.findtext('status/code') for r in requests(sim)[:2]} == {'marked-for-termination'}
    assert set(states(sim, *hit).values()) == {'running'}
    wait_state(sim, 'terminated', *hit)
    wait_state(sim, 'running', spot[2], *others)
    assert {(r.findtext('state'), r.findtext('status/code')) for r in requests(sim)[:2]} == {
        ('closed', 'instance-terminated-no-capacity')}
    root = sim.ok('DescribeInstances', {'InstanceId.1': hit[0]})
    assert root.findtext('.//stateReason/code') == 'Server.SpotInstanceTermination'


@pytest.mark.parametrize('rule', [{'count': 0}, {'notice_ms': -1}, {'instance_ids': 'i-1'}, {'colour': 'red'}])
def test_odd_reclaims_are_refused(sim, rule):
    with pytest.raises(RuntimeError, match='not a reclaim'):
        sim.reclaim(**rule)


def test_a_cancelled_request_leaves_its_instance(sim):
    wanted, = launch(sim, **SPOT)
    request = requests(sim)[0].findtext('spotInstanceRequestId')
    sim.ok('CancelSpotInstanceRequests', {'SpotInstanceRequestId.1': request})
    assert requests(sim)[0].findtext('status/code') == 'request-canceled-and-instance-running'
    wait_state(sim, 'running', wanted)
    sim.ok('TerminateInstances', {'InstanceId.1': wanted})
    assert requests(sim)[0].findtext('state') == 'cancelled'


@pytest.mark.parametrize('params, code', [
    ({OPTIONS + 'MaxPrice': '0.1'}, 'SpotMaxPriceTooLow'), ({OPTIONS + 'MaxPrice': 'much'}, 'InvalidParameterValue'),
    ({OPTIONS + 'MaxPrice': 'nan'}, 'InvalidParameterValue'),
    ({OPTIONS + 'SpotInstanceType': 'persistent'}, 'UnsupportedOperation'),
    ({OPTIONS + 'InstanceInterruptionBehavior': 'stop'}, 'InvalidParameterCombination'),
    ({OPTIONS + 'ValidUntil': 'soon'}, 'UnsupportedOperation'),
    ({'InstanceMarketOptions__MarketType': 'black'}, 'InvalidParameterValue'),
    ({'InstanceMarketOptions__MarketType': 'capacity-block'}, 'InvalidParameterCombination'),
])
def test_spot_options_are_checked(sim, params, code):
    sim.knobs(spot_prices={'g4dn.xlarge': 0.2})
    assert sim.error('RunInstances', run(sim, **{**SPOT, **params})) == (400, code)
    assert sim.world('us-east-1')['instances'] == []


def test_a_cluster_group_stays_in_one_zone(sim):
    sim.ok('CreatePlacementGroup', {'GroupName': 'ring', 'Strategy': 'cluster'})
    place = {'Placement__GroupName': 'ring', 'kind': 'p4d.24xlarge'}
    zones = [z for z in ('us-east-1a', 'us-east-1b', 'us-east-1c', 'us-east-1d')
             if sim.ec2('RunInstances', run(sim, kind='p4d.24xlarge', SubnetId=subnet(sim, z)))[0] == 200]
    first, = launch(sim, SubnetId=subnet(sim, zones[0]), **place)
    assert sim.error('RunInstances', run(sim, SubnetId=subnet(sim, zones[1]), **place)) == (
        400, 'InvalidPlacementGroup.InUse')
    shown = sim.ok('DescribeInstances', {'Filter.1.Name': 'placement-group-name', 'Filter.1.Value.1': 'ring'})
    group = sim.ok('DescribePlacementGroups', {'GroupName.1': 'ring'}).find('placementGroupSet/item')
    assert shown.findtext('.//placement/groupId') == group.findtext('groupId')
    assert sim.error('DeletePlacementGroup', {'GroupName': 'ring'}) == (400, 'InvalidPlacementGroup.InUse')
    sim.ok('TerminateInstances', {'InstanceId.1': first})
    wait_state(sim, 'terminated', first)
    sim.ok('DeletePlacementGroup', {'GroupName': 'ring'})
    assert sim.error('DescribePlacementGroups', {'GroupName.1': 'ring'}) == (400, 'InvalidPlacementGroup.Unknown')


def test_placement_groups_are_checked(sim):
    sim.ok('CreatePlacementGroup', {'GroupName': 'ring'})
    assert sim.error('CreatePlacementGroup', {'GroupName': 'ring'}) == (400, 'InvalidPlacementGroup.Duplicate')
    assert sim.error('CreatePlacementGroup', {}) == (400, 'MissingParameter')
    assert sim.error('CreatePlacementGroup', {'GroupName': 'x', 'PartitionCount': 3}) == (
        400, 'InvalidParameterCombination')
    assert sim.error('CreatePlacementGroup', {'GroupName': 'x', 'Strategy': 'line'}) == (400, 'InvalidParameterValue')
    assert sim.error('RunInstances', run(sim, Placement__GroupName='none')) == (400, 'InvalidPlacementGroup.Unknown')
    assert sim.error('RunInstances', run(sim, kind='t3.large', Placement__GroupName='ring')) == (
        400, 'InvalidParameterCombination')


def test_metadata_options_change(sim):
    wanted, = launch(sim)
    sim.ok('ModifyInstanceMetadataOptions', {'InstanceId': wanted, 'HttpTokens': 'optional',
                                             'HttpPutResponseHopLimit': 3})
    shown = sim.ok('DescribeInstances').find('.//metadataOptions')
    assert (shown.findtext('httpTokens'), shown.findtext('httpPutResponseHopLimit')) == ('optional', '3')
    for bad in ({'HttpPutResponseHopLimit': 65}, {'HttpTokens': 'maybe'}):
        assert sim.error('ModifyInstanceMetadataOptions', {'InstanceId': wanted, **bad}) == (
            400, 'InvalidParameterValue')


def test_a_reclaim_survives_a_restart(tmp_path):
    from sim_server import Sim
    with Sim('--boot-ms', '0', '--shutdown-ms', '0', world=str(tmp_path / 'world')) as sim:
        wanted, = launch(sim, **SPOT)
        sim.reclaim(notice_ms=300)
        sim.restart()
        wait_state(sim, 'terminated', wanted)

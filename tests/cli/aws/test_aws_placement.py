"""Pools with `network: {placement: cluster}`: one zone, one placement group, created before the nodes and
deleted after them."""
import os
import pytest
from program import Home, spec
from sim_server import tags_of
from test_moto import Moto

PLACED = ', network: {placement: cluster}'


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}, pool_extra=PLACED))
    return home


def groups(sim):
    return {g['groupName']: g for g in sim.world('us-east-1').get('placement_groups', [])}


def pool(sim, name='serve'):
    return [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == name]


def placements(sim):
    return {i['placement']['groupName'] for i in pool(sim)}


def no_changes(home, *more):
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle', *more)
    assert 'No changes.' in said.out, said


def test_a_group_is_made_first_and_deleted_last(sim, home):
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert 'aws.placement_group.serve' in plan.out
    assert 'Plan: 7 to add' in plan.out
    home.apply()
    (name, group), = groups(sim).items()
    assert name.startswith('raygpu-research-serve-') and group['strategy'] == 'cluster'
    marks = tags_of(group)
    assert marks['raygpu:kind'] == 'aws.placement_group' and marks['raygpu:name'] == 'serve'
    assert marks['team'] == 'ml'
    assert placements(sim) == {name} and len(pool(sim)) == 2
    no_changes(home)
    assert home.run('drift', 'cluster.yaml', '--no-settle').out.startswith('No drift.')

    # another label: in place, by the group's id
    home.write('cluster.yaml', home.read('cluster.yaml').replace('team: ml', 'team: other'))
    ids = {i['instanceId'] for i in pool(sim)}
    home.apply('cluster.yaml', '--no-settle')
    assert tags_of(groups(sim)[name])['team'] == 'other' and {i['instanceId'] for i in pool(sim)} == ids
    no_changes(home)

    # instances take a while to terminate: the group waits for them
    sim.knobs(shutdown_ms=400)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert groups(sim) == {} and sim.live_instances() == []


def test_placement_comes_and_goes_with_new_nodes(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    sim.counters_reset()
    no_changes(home)
    assert 'DescribePlacementGroups' not in sim.counters()['actions'], 'nobody asked for one'
    home.write('cluster.yaml', spec(pools={'serve': 2}, pool_extra=PLACED))
    plan = home.run('plan', 'cluster.yaml', '--no-settle')
    assert 'Plan: 3 to add, 0 to change, 2 to destroy.' in plan.out
    assert 'forces replacement' in plan.out
    home.apply('cluster.yaml', '--no-settle')
    assert placements(sim) == set(groups(sim)) and len(pool(sim)) == 2
    no_changes(home)
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply('cluster.yaml', '--no-settle')
    assert placements(sim) == {''} and groups(sim) == {} and len(pool(sim)) == 2
    no_changes(home)


def test_a_spread_pool_gathers_where_most_nodes_are(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 1}, pool_extra=', zones: [us-east-1a]'))
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 3}, pool_extra=', zones: [us-east-1b, us-east-1a]'))
    home.apply('cluster.yaml', '--no-settle')
    zones = [i['placement']['availabilityZone'] for i in pool(sim)]
    assert sorted(zones) == ['us-east-1a', 'us-east-1b', 'us-east-1b']
    home.write('cluster.yaml', spec(pools={'serve': 3}, pool_extra=', zones: [us-east-1a, us-east-1b]' + PLACED))
    home.apply('cluster.yaml', '--no-settle')
    assert {i['placement']['availabilityZone'] for i in pool(sim)} == {'us-east-1b'}
    assert len(placements(sim)) == 1
    no_changes(home)
    # the whole pool leaves a zone: the group is free for the next when the old nodes are gone
    sim.knobs(shutdown_ms=300)
    home.write('cluster.yaml', spec(pools={'serve': 3}, pool_extra=', zones: [us-east-1a]' + PLACED))
    home.apply('cluster.yaml', '--no-settle')
    assert {i['placement']['availabilityZone'] for i in pool(sim)} == {'us-east-1a'} and len(pool(sim)) == 3
    no_changes(home)


def test_a_group_deleted_by_hand_is_drift(sim, home):
    home.apply()
    (name,), nodes = groups(sim), pool(sim)
    sim.knobs(shutdown_ms=0)
    assert sim.error('DeletePlacementGroup', {'GroupName': name}) == (400, 'InvalidPlacementGroup.InUse')
    for node in nodes:
        sim.ok('TerminateInstances', {'InstanceId.1': node['instanceId']})
    sim.ok('DeletePlacementGroup', {'GroupName': name})
    # an hour later: a missing resource that is too recent may only be invisible
    home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
    drift = home.run('drift', 'cluster.yaml', '--format', 'json', '--no-settle', code=2).json()
    assert {d['address'] for d in drift['drift']} == \
        {'aws.placement_group.serve', 'aws.instance.serve[0]', 'aws.instance.serve[1]'}
    home.apply('cluster.yaml', '--no-settle')
    (again,) = groups(sim)
    assert again != name and placements(sim) == {again}
    no_changes(home)


def test_a_lost_state_finds_the_group(sim, home):
    home.apply()
    os.unlink(home.state)
    home.run('state', 'rebuild', 'cluster.yaml')
    assert 'aws.placement_group.serve' in home.run('state', 'list', '--cluster', 'research').out
    no_changes(home)


def test_a_lost_answer_makes_no_second_group(sim, home):
    sim.fault(action='CreatePlacementGroup', when='after', status=500, code='InternalError', count=1)
    home.apply()
    assert len(groups(sim)) == 1
    no_changes(home)


def test_types_without_cluster_placement_are_told_at_plan_time(sim, home):
    text = spec(pools={'serve': 1}).replace('accelerators: "T4:1"', 'instance_type: t3.xlarge')
    home.write('cluster.yaml', text.replace('nodes: 1', 'nodes: 1' + PLACED))
    sim.counters_reset()
    said = home.run('validate', 'cluster.yaml', code=4)
    assert "t3.xlarge cannot be placed in a cluster placement group" in said.err and '[fit.no-placement]' in said.err
    assert 'cluster.yaml:7:' in said.err
    assert sim.counters()['requests'] == 0


def test_moto_has_no_placement_groups(tmp_path):
    """An EC2 without the actions works for clusters without placement, and reports them missing for others."""
    with Moto() as moto:
        home = Home(tmp_path, moto.env())
        extra = f', image: {moto.image()}, zones: [us-east-1a]'
        text = spec(pools={'serve': 1}, pool_extra=extra).replace('head: {', f'head: {{{extra[2:]}, ')
        home.write('cluster.yaml', text)
        home.apply()
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        home.write('cluster.yaml', text.replace('nodes: 1', 'nodes: 1' + PLACED))
        said = home.run('plan', 'cluster.yaml', code=None)
        assert said.code == 1 and 'aws.placement_group could not be read' in said.err, said

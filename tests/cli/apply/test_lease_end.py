"""Leases that end while nobody runs anything: the nodes end themselves. The simulated machines have a timer only if their user data
starts it, and see the lease only if EC2 would show it to them."""
from datetime import datetime, timedelta, timezone

import pytest
from program import spec
from sim_server import tags_of

END = datetime(2031, 6, 15, 18, tzinfo=timezone.utc)
LATER = END + timedelta(days=30)


def text(when):
    return when.strftime('%Y-%m-%dT%H:%M:%SZ')


def leased(expires, *, pool='', **more):
    return spec(pools={'serve': 2}, extra=f'expires: {text(expires)}\n' if expires else '', pool_extra=pool, **more)


def nodes(sim):
    return {i['instanceId']: i for i in sim.world('us-east-1')['instances']}


def states(sim):
    """Of what EC2 still shows: the terminated ones of the last hour."""
    return sorted(i['instanceState']['name'] for i in nodes(sim).values())


def ends(sim):
    return {tags_of(i).get('raygpu:expires') for i in nodes(sim).values()}


def made(sim):
    """What was called since the last time, besides reading."""
    actions = {name for name, count in sim.counters()['actions'].items() if not name.startswith(('Describe', 'Get'))}
    sim.counters_reset()
    return actions


def test_nodes_end_themselves_when_the_lease_does(sim, home):
    sim.knobs(shutdown_ms=7200000)
    home.write('cluster.yaml', leased(END))
    home.apply()
    assert ends(sim) == {text(END)}
    sim.skip_to(END - timedelta(hours=1))
    assert states(sim) == ['running'] * 3
    sim.skip_to(END)
    assert states(sim) == ['shutting-down'] * 3
    sim.skip_to(END + timedelta(hours=2, seconds=1))
    assert states(sim) == ['terminated'] * 3
    assert not sim.world('us-east-1')['volumes']
    drift = home.run('drift', 'cluster.yaml', code=2)
    assert drift.out.count('powered off from inside') == 3, drift


def test_extending_and_removing_a_lease_leaves_every_node_as_it_was(sim, home):
    home.write('cluster.yaml', leased(END))
    home.apply()
    before = nodes(sim)
    made(sim)
    home.write('cluster.yaml', leased(LATER))
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert 'Plan: 0 to add, 3 to change, 0 to destroy.' in plan.out
    home.apply()
    assert made(sim) == {'CreateTags'}
    assert list(nodes(sim)) == list(before) and ends(sim) == {text(LATER)}
    sim.skip_to(END + timedelta(days=1))
    assert states(sim) == ['running'] * 3
    home.write('cluster.yaml', leased(None))
    home.apply()
    assert made(sim) == {'DeleteTags'}
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    sim.skip_to(LATER + timedelta(days=1))
    assert list(nodes(sim)) == list(before) and states(sim) == ['running'] * 3


def test_a_cluster_that_gets_a_lease_later_keeps_its_nodes(sim, home):
    home.write('cluster.yaml', leased(None))
    home.apply()
    before = nodes(sim)
    assert ends(sim) == {None}
    made(sim)
    home.write('cluster.yaml', leased(END))
    home.apply()
    assert made(sim) == {'CreateTags', 'ModifyInstanceMetadataOptions'}
    assert list(nodes(sim)) == list(before)
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    sim.skip_to(END)
    assert states(sim) == ['terminated'] * 3


def test_a_pool_ends_before_its_cluster(sim, home):
    home.write('cluster.yaml', leased(LATER, pool=f', expires: {text(END)}'))
    home.apply()
    sim.skip_to(END)
    assert states(sim) == ['running', 'terminated', 'terminated']
    sim.skip_to(LATER)
    assert states(sim) == ['terminated']


def test_a_lease_that_others_changed_is_drift(sim, home):
    home.write('cluster.yaml', leased(END))
    home.apply()
    victim = next(iter(nodes(sim)))
    sim.ok('CreateTags', {'ResourceId.1': victim, 'Tag.1.Key': 'raygpu:expires', 'Tag.1.Value': 'never'})
    assert 'expires' in home.run('drift', 'cluster.yaml', '--no-settle', code=2).out
    home.apply('cluster.yaml', '--no-settle')
    assert ends(sim) == {text(END)}


@pytest.mark.parametrize('key', ['cost center', 'example.com/team'])
def test_labels_that_ec2_does_not_show_leave_the_end_to_reap(key, sim, home):
    """EC2 refuses such keys on instances whose metadata service shows tags."""
    home.write('cluster.yaml', leased(END))
    home.apply()
    before = nodes(sim)
    home.write('cluster.yaml', leased(END).replace('team: ml', f'"{key}": ml'))
    result = home.apply()
    assert f'EC2 does not show tags to instances that have the label "{key}"' in ' '.join(result.err.split())
    assert result.err.count('cannot end their lease') == 1
    assert list(nodes(sim)) == list(before)
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    sim.skip_to(END + timedelta(days=1))
    assert states(sim) == ['running'] * 3 and ends(sim) == {text(END)}
    home.write('cluster.yaml', leased(LATER))
    home.apply()
    sim.skip_to(LATER)
    assert states(sim) == ['terminated'] * 3


def test_spot_nodes_end_too(sim, home):
    home.write('cluster.yaml', leased(END, pool=', market: spot'))
    home.apply()
    sim.skip_to(END)
    assert states(sim) == ['terminated'] * 3
    assert {r['state'] for r in sim.world('us-east-1')['spot_requests']} == {'closed'}


def test_a_protected_pool_and_its_head_stay(sim, home):
    written = leased(END).replace('nodes: 2', 'nodes: 1, protect: true')
    home.write('cluster.yaml', written.replace('pools:', 'pools:\n  other: {accelerators: "T4:1", nodes: 1}'))
    home.apply()
    assert {tags_of(i)['raygpu:pool']: tags_of(i).get('raygpu:expires') for i in nodes(sim).values()} == \
        {'head': None, 'serve': None, 'other': text(END)}
    sim.skip_to(END)
    assert states(sim) == ['running', 'running', 'terminated']

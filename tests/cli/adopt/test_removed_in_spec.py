"""`removed` in the spec: a pool leaves the spec, and its machines stay."""
import pytest
from program import spec
from sim_server import tags_of

GONE = 'removed: {old: {destroy: false}}\n'


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'old': 2, 'serve': 1}))
    home.apply()
    return home


def removed(extra=GONE, pools=None):
    return spec(pools=pools or {'serve': 1}, extra=extra)


def said(result):
    return ' '.join(result.err.split())


def shown(result):
    """The plan's text, without line breaks in its comments."""
    return ' '.join(result.out.replace('\n  # ', ' ').split())


def marks(tags):
    return {key for key in tags if key.startswith('raygpu:')}


def old(sim):
    """{id: tags} of the instances that were the pool's; their names stay."""
    return {one['instanceId']: tags_of(one) for one in sim.live_instances() if tags_of(one)['Name'] == 'research-old'}


def tagged(sim, kind, ids):
    """Keys of raygpu's tags on resources of the world that have one of these ids."""
    world = sim.world('us-east-1')
    found = [one for one in world[kind] if ids & {one.get('volumeId'), one.get('networkInterfaceId')}]
    assert len(found) == len(ids)
    return [marks(tags_of(one)) for one in found]


def recorded(home):
    return sorted(home.run('state', 'list').out.split())


def test_planned_applied_and_then_a_no_op(sim, home):
    values = [home.run('state', 'show', f'aws.instance.old[{n}]', '--json').json()['values'] for n in (0, 1)]
    before = {one['instanceId'] for one in sim.live_instances()}
    home.write('cluster.yaml', removed())
    assert 'No drift' in home.run('drift').out
    plan = home.run('plan', '--detailed-exitcode', '--out', 'plan.json', code=2)
    for n in (0, 1):
        assert f'  # aws.instance.old[{n}] will no longer be managed by raygpu, but will not be destroyed\n' in plan.out
    assert '+ $1.05 per hour for 2 nodes no longer counted' in plan.out and '2 -> 0 (forgotten)' in plan.out, plan
    assert 'GPUs that Ray will see: T4 3 (2 no longer managed)' in plan.out, plan
    old_pool, = (one for one in home.run('show', '--json', 'plan.json').json()['raygpu']['pools'] if one['pool'] == 'old')
    assert old_pool['forgotten']['nodes'] == 2 and old_pool['after']['nodes'] == 0
    assert 'cluster.yaml:8' in plan.out and 'its ownership tags are removed' in shown(plan)
    assert 'Plan: 0 to add, 0 to change, 0 to destroy, 2 to forget.' in plan.out
    assert 'aws.instance.old[0] and 1 more will be forgotten, but will still use aws.security_group.nodes' in said(plan)
    changes = {one['address']: one for one in home.run('show', '--json', 'plan.json').json()['resource_changes']}
    assert changes['aws.instance.old[0]']['change']['actions'] == ['forget']
    applied = home.apply()
    assert 'Resources: 0 added, 0 changed, 0 destroyed, 2 forgotten.' in applied.out
    assert {one['instanceId'] for one in sim.live_instances()} == before
    assert len(old(sim)) == 2 and not any(marks(tags) for tags in old(sim).values())
    assert all(tags['team'] == 'ml' for tags in old(sim).values()), 'the labels of the spec are not ownership tags'
    assert not any(tagged(sim, 'volumes', {one['root_volume_id'] for one in values}))
    assert not any(tagged(sim, 'network_interfaces', {one['network_interface'] for one in values}))
    assert not [one for one in recorded(home) if '.old' in one]
    assert '2 forget' in home.run('log').out
    for command in (['plan', '--detailed-exitcode'], ['validate']):
        done = home.run(*command)
        assert 'pool old is no longer in the state: delete its `removed` entry' in said(done)
        assert 'cluster.yaml:8' in said(done)
    home.run('drift')
    home.write('cluster.yaml', removed(''))
    assert 'removed' not in home.run('plan', '--detailed-exitcode').err
    home.run('drift')


def test_a_saved_plan_forgets(sim, home):
    home.write('cluster.yaml', removed())
    plan = home.run('plan', '--out', 'plan.json')
    assert home.run('show', 'plan.json').out.startswith(plan.out.split('Spec:')[0])
    assert '2 forgotten' in home.run('apply', 'plan.json', '--auto-approve').out
    assert len(old(sim)) == 2 and 'No changes.' in home.run('plan', '--detailed-exitcode').out
    assert 'plan.stale' in home.run('apply', 'plan.json', '--auto-approve', code=6).err


def test_tags_are_kept_on_request(sim, home):
    home.write('cluster.yaml', removed('removed: {old: {destroy: false, keep_tags: true}}\n'))
    before = old(sim)
    plan = home.run('plan')
    assert 'it keeps its ownership tags' in shown(plan)
    sim.counters_reset()
    home.apply()
    assert sim.counters()['mutating'] == 0 and old(sim) == before
    done = home.run('plan', '--detailed-exitcode')
    assert 'delete its' not in done.err, 'without the entry, they would be reported as unmanaged'
    home.run('drift')
    home.write('cluster.yaml', removed(''))
    assert "has this cluster's ownership tags, but is not recorded" in said(home.run('plan'))


def test_destroy_true_is_a_plain_removal(sim, home):
    home.write('cluster.yaml', removed('removed: {old: {destroy: true}}\n'))
    assert 'Plan: 0 to add, 0 to change, 2 to destroy.' in home.run('plan').out
    home.apply()
    assert not old(sim)


def test_a_protected_pool_may_be_forgotten(sim, home):
    home.write('cluster.yaml', spec(pools={'old': 2, 'serve': 1}, pool_extra=', protect: true'))
    home.apply()
    home.write('cluster.yaml', removed('').replace('nodes: 1', 'nodes: 1, protect: true'))
    assert 'plan.protected' in home.run('plan', code=9).err
    home.write('cluster.yaml', removed().replace('nodes: 1', 'nodes: 1, protect: true'))
    home.apply()
    assert len(old(sim)) == 2


def test_destroy_forgets_them_too_and_what_they_use(sim, home):
    home.write('cluster.yaml', removed())
    assert [one['raygpu']['action'] for one in home.run('plan', '--json').events() if one['type'] == 'planned_change'] == ['release'] * 2
    plan = home.run('plan', '--destroy')
    assert '# aws.security_group.nodes will no longer be managed by raygpu, but will not be destroyed' in plan.out
    assert 'a resource that is forgotten uses it' in shown(plan)
    assert '3 to forget' in plan.out
    done = home.run('destroy', '--auto-approve').out
    assert '3 forgotten' in done and not recorded(home)
    assert set(old(sim)) == {one['instanceId'] for one in sim.live_instances()} and len(old(sim)) == 2
    group, = [one for one in sim.world('us-east-1')['security_groups'] if one['groupName'] != 'default']
    assert not marks(tags_of(group))


def test_a_placement_group_goes_with_its_pool(sim, home):
    home.write('cluster.yaml', spec(pools={'old': ('A100:8', 2), 'serve': 1}).replace(
        'nodes: 2', 'nodes: 2, network: {placement: cluster}'))
    home.apply()
    home.write('cluster.yaml', removed())
    assert '3 to forget' in home.run('plan').out
    home.apply()
    group, = sim.world('us-east-1')['placement_groups']
    assert not marks(tags_of(group)) and len(old(sim)) == 2
    assert 'No changes.' in home.run('plan', '--detailed-exitcode').out


def test_what_no_longer_exists_is_only_forgotten(sim, home):
    sim.ok('TerminateInstances', {'InstanceId.1': min(old(sim))})
    home.write('cluster.yaml', removed())
    home.apply()
    assert len(old(sim)) == 1 and 'No changes.' in home.run('plan', '--detailed-exitcode').out


def test_renamed_grown_imported_and_forgotten_in_one_change(sim, home):
    node = home.run('state', 'show', 'aws.instance.old[1]', '--json').json()['values']['id']
    home.run('state', 'rm', 'aws.instance.old[1]')
    before = {one['instanceId'] for one in sim.live_instances()}
    text = removed(GONE + f'imports: [{{address: "aws.instance.big[1]", id: {node}, as_is: true}}]\n', {'big': 3})
    home.write('cluster.yaml', text.replace('  big: {', '  big: {renamed_from: serve, ', 1))
    plan = home.run('plan', '--out', 'plan.json')
    assert 'Plan: 1 to import, 1 to add, 2 to change, 0 to destroy, 1 to forget.' in plan.out
    home.run('apply', 'plan.json', '--auto-approve')
    after = {one['instanceId'] for one in sim.live_instances()}
    assert before < after and len(after) == len(before) + 1
    assert [one for one in recorded(home) if 'instance' in one] == [
        'aws.instance.big[0]', 'aws.instance.big[1]', 'aws.instance.big[2]', 'aws.instance.head']
    for command in (['plan', '--detailed-exitcode'], ['validate']):
        done = said(home.run(*command))
        assert 'has its new name' in done and 'has been imported' in done and 'pool old is no longer in the state' in done


WRONG = {
    'a pool of the spec': (removed(GONE, {'old': 1}), 'the spec still has a pool "old"', 2),
    'the head': (removed('removed: {head: {destroy: false}}\n'), 'the head is not a pool', 1),
    'a pool that was renamed': (removed().replace('nodes: 1', 'nodes: 1, renamed_from: old'), 'another pool was renamed from "old"', 2),
    'no tags of nothing': (removed('removed: {old: {destroy: true, keep_tags: true}}\n'), 'what is destroyed keeps no tags', 1),
    'no decision': (removed('removed: {old: {}}\n'), 'removed.old has no "destroy"', 1),
}


@pytest.mark.parametrize('case', WRONG)
def test_a_spec_that_contradicts_itself(home, case):
    text, summary, lines = WRONG[case]
    home.write('cluster.yaml', text)
    result = home.run('validate', code=4)
    assert summary in said(result) and said(result).count('cluster.yaml:') == lines, result


LEASED = 'expires: 2099-12-01\n'


def test_what_is_forgotten_has_no_lease_any_more(sim, home):
    home.write('cluster.yaml', spec(pools={'old': 2, 'serve': 1}, extra=LEASED))
    home.apply()
    assert all('raygpu:expires' in tags for tags in old(sim).values())
    home.write('cluster.yaml', removed(LEASED + 'removed: {old: {destroy: false, keep_tags: true}}\n'))
    refused = said(home.run('plan', code=4))
    assert 'pool old cannot be forgotten with its tags: its lease ends its nodes 2099-12-01 00:00 UTC' in refused
    assert 'cluster.yaml:9' in refused
    assert 'aws.instance.old[0] still has a lease, which ends it 2099-12-01 00:00 UTC' in said(home.run('state', 'rm', 'aws.instance.old[0]'))
    home.write('cluster.yaml', removed(LEASED + GONE))
    home.apply()
    assert sorted('raygpu:expires' in tags for tags in old(sim).values()) == [False, True], 'all but what `state rm` forgot'

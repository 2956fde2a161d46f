"""`renamed_from`: a pool gets another name in the spec, and keeps its nodes."""
import pytest
from cut import Cut
from program import spec
from sim_server import tags_of


def renamed(new='big', old='train', nodes=2, more=None, extra=''):
    text = spec(pools={new: nodes, **(more or {})})
    return text.replace(f'  {new}: {{', f'  {new}: {{renamed_from: {old}, ', 1) + extra


def nodes(sim):
    """{id: (pool, Name)} of the worker nodes."""
    tags = {one['instanceId']: tags_of(one) for one in sim.live_instances()}
    return {name: (one['raygpu:pool'], one['Name']) for name, one in tags.items() if one['raygpu:pool'] != 'head'}


def recorded(home):
    return sorted(home.run('state', 'list').out.split())


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'train': 2}))
    home.apply()
    return home


def test_the_nodes_stay_and_get_the_new_name(sim, home):
    before = nodes(sim)
    home.write('cluster.yaml', renamed())
    plan = home.run('plan', '--detailed-exitcode', code=2).out
    assert 'Pools to be renamed:\n\n  ~ train -> big\n' in plan
    assert 'Plan: 0 to add, 2 to change, 0 to destroy.' in plan
    assert recorded(home)[-2:] == ['aws.security_group.nodes', 'raygpu.secret.ray_token'], 'a plan records nothing'
    sim.counters_reset()
    home.apply()
    assert sim.counters()['mutating'] <= 2
    after = nodes(sim)
    assert set(after) == set(before)
    assert sorted(after.values()) == [('big', 'research-big')] * 2
    assert [one for one in recorded(home) if 'instance' in one] == \
        ['aws.instance.big[0]', 'aws.instance.big[1]', 'aws.instance.head']
    done = home.run('plan', '--detailed-exitcode')
    assert 'No changes.' in done.out and 'pool big has its new name' in done.err
    home.write('cluster.yaml', spec(pools={'big': 2}))
    again = home.run('plan', '--detailed-exitcode')
    assert 'No changes.' in again.out and 'new name' not in again.err
    assert '2 move' in home.run('log').out


def test_rename_and_grow_in_one_change(sim, home):
    before = nodes(sim)
    home.write('cluster.yaml', renamed(nodes=4, more={'other': 1}))
    assert 'Plan: 3 to add, 2 to change, 0 to destroy.' in home.run('plan').out
    home.apply()
    assert set(before) < set(nodes(sim))
    assert sorted(pool for pool, _ in nodes(sim).values()) == ['big'] * 4 + ['other']
    assert 'No changes.' in home.run('plan').out


def test_a_chain_of_names(sim, home):
    before = nodes(sim)
    home.write('cluster.yaml', renamed(new='c', old='[b, train]'))
    home.apply()
    assert set(nodes(sim)) == set(before)
    home.write('cluster.yaml', renamed(new='d', old='[c, b, train]'))
    home.apply()
    assert set(nodes(sim)) == set(before) and {pool for pool, _ in nodes(sim).values()} == {'d'}


def test_a_saved_plan_renames(sim, home):
    before = nodes(sim)
    home.write('cluster.yaml', renamed())
    plan = home.run('plan', '--out', 'plan.json')
    assert home.run('show', '--json', 'plan.json').json()['raygpu']['renames'] == [{'from': 'train', 'to': 'big'}]
    assert home.run('show', 'plan.json').out.startswith(plan.out.split('Spec:')[0])
    home.run('apply', 'plan.json', '--auto-approve')
    assert set(nodes(sim)) == set(before) and {pool for pool, _ in nodes(sim).values()} == {'big'}
    assert 'No changes.' in home.run('plan').out
    stale = home.run('apply', 'plan.json', '--auto-approve', code=None)
    assert stale.code and nodes(sim).keys() == before.keys()


def test_a_cluster_that_never_had_the_pool(sim, home):
    home.run('destroy', '--auto-approve')
    home.write('cluster.yaml', renamed())
    assert 'renamed' not in home.apply().err
    assert {pool for pool, _ in nodes(sim).values()} == {'big'}


def test_a_cluster_is_destroyed_under_its_old_names(sim, home):
    home.write('cluster.yaml', renamed())
    home.run('destroy', '--auto-approve')
    assert not sim.live_instances() and not recorded(home)


def kill_at(sim, home, at, action):
    """An apply that is killed when its first such request reaches the cloud, or is answered."""
    with Cut(sim.url, lambda url: {'AWS_ENDPOINT_URL': url}, (at, f'^(?!.*DryRun=true).*Action={action}')) as cut:
        assert cut.run(home, 'apply', '--auto-approve') == -9


@pytest.mark.parametrize('at', ['request', 'answer'])
def test_a_killed_rename_goes_on(sim, home, at):
    before = nodes(sim)
    home.write('cluster.yaml', renamed())
    kill_at(sim, home, at, 'CreateTags')
    home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
    home.apply()
    assert set(nodes(sim)) == set(before) and {pool for pool, _ in nodes(sim).values()} == {'big'}
    assert 'No changes.' in home.run('plan').out


def test_a_node_whose_creation_is_open_is_not_left_out(sim, home):
    home.write('cluster.yaml', spec(pools={'train': 3}))
    kill_at(sim, home, 'answer', 'RunInstances')
    home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
    home.write('cluster.yaml', renamed(nodes=3))
    told = home.run('plan', '--target', 'aws.instance.head', code=None)
    assert told.code and 'an interrupted run was creating `aws.instance.big[2]`, which is excluded' in ' '.join(told.err.split()), told
    assert 'plan.bad-rename' in told.err and 'cluster.yaml:' in told.err
    home.apply()
    assert [pool for pool, _ in nodes(sim).values()] == ['big'] * 3


WRONG = {
    'the old name is still a pool': (renamed(more={'train': 1}), 'the spec still has a pool "train"'),
    'two pools from one': (spec(pools={'a': 1, 'b': 1}).replace('nodes: 1', 'nodes: 1, renamed_from: train'),
                           'another pool was renamed from "train" too'),
    'from the head': (renamed(old='head'), 'the head is not a pool'),
    'not a name': (renamed(old='7'), 'pools.big.renamed_from'),
}


@pytest.mark.parametrize('case', WRONG)
def test_a_spec_that_contradicts_itself(home, case):
    text, said = WRONG[case]
    home.write('cluster.yaml', text)
    assert said in ' '.join(home.run('validate', code=4).err.split())


def test_an_unknown_old_name_destroys_nothing(sim, home):
    home.write('cluster.yaml', renamed(old='trian'))
    said = ' '.join(home.run('plan', code=4).err.split())
    assert 'pool big was renamed from trian, but no such pool is recorded' in said
    assert 'recorded, and not in the spec: train' in said and 'cluster.yaml:7' in said
    home.run('apply', '--auto-approve', code=4)
    assert len(nodes(sim)) == 2


def test_both_names_are_recorded(sim, home):
    home.write('cluster.yaml', spec(pools={'train': 2, 'big': 1}))
    home.apply()
    home.write('cluster.yaml', renamed())
    assert 'both are recorded' in ' '.join(home.run('plan', code=4).err.split())

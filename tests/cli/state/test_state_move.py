"""raygpu state mv: other addresses, the same resources."""
import pytest
from program import spec
from sim_server import tags_of


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'train': 3}))
    home.apply()
    return home


def ids(sim):
    return {i['instanceId'] for i in sim.live_instances()}


@pytest.mark.parametrize('compressed', [False, True])
def test_a_pool_is_renamed_and_no_node_is_replaced(sim, home, compressed):
    if compressed:
        many = ', env: {%s}' % ', '.join(f'V{i}: "{i:0200x}"' for i in range(190))
        home.write('cluster.yaml', spec(pools={'train': 3}, pool_extra=many))
        home.apply()
    before = ids(sim)
    look = home.run('state', 'mv', 'aws.instance.train', 'aws.instance.big', '--dry-run')
    assert look.out.count('Would move') == 3
    assert home.run('state', 'list').out.count('train[') == 3
    sim.counters_reset()
    moved = home.run('state', 'mv', 'aws.instance.train', 'aws.instance.big')
    assert 'Successfully moved 3 object(s).' in moved.out
    assert 'RAY_NODE_TYPE_NAME' in moved.err and 'ray.io/node-group' in moved.err
    assert sim.counters()['requests'] == 0
    home.write('cluster.yaml', spec(pools={'big': 3}, pool_extra=many if compressed else ''))
    plan = home.run('plan', '--detailed-exitcode', code=2)
    assert 'Plan: 0 to add, 3 to change, 0 to destroy.' in plan.out
    assert '"aws.instance.train[0]" -> "aws.instance.big[0]"' in plan.out
    home.run('drift')
    applied = home.apply()
    assert 'Resources: 0 added, 3 changed, 0 destroyed.' in applied.out
    assert sim.counters()['actions']['CreateTags']['requests'] <= 2  # one for all three, not one per node
    assert ids(sim) == before
    home.run('plan', '--detailed-exitcode')
    home.run('state', 'rebuild', '--state', 'new.db')
    told = home.run('state', 'list', '--state', 'new.db').out
    assert told == home.run('state', 'list').out and 'big[2]' in told


def test_one_record_gets_another_index(sim, home):
    before = ids(sim)
    home.run('state', 'rm', 'aws.instance.train[0]')
    node = next(i for i in sim.live_instances() if i['instanceId'] not in
                {r['values']['id'] for r in home.run('show', '--json').json()['values']['root_module']['resources']
                 if r['type'] == 'aws.instance'})
    sim.ok('TerminateInstances', {'InstanceId.1': node['instanceId']})
    rows = home.run('state', 'mv', 'aws.instance.train[2]', 'aws.instance.train[0]', '--json').json()
    assert rows == [{'from': 'aws.instance.train[2]', 'to': 'aws.instance.train[0]'}]
    home.write('cluster.yaml', spec(pools={'train': 2}))
    plan = home.run('plan', '--detailed-exitcode', code=2)
    assert 'Plan: 0 to add, 1 to change, 0 to destroy.' in plan.out
    home.apply()
    home.run('plan', '--detailed-exitcode')
    assert ids(sim) == before - {node['instanceId']}
    tags = [tags_of(i).get('raygpu:index') for i in sim.live_instances()]
    assert sorted(t for t in tags if t) == ['0']
    home.run('state', 'rebuild', '--state', 'new.db')
    assert home.run('state', 'list', '--state', 'new.db').out == home.run('state', 'list').out


def records(home):
    return {r['address']: r for r in home.run('state', 'pull').json()['clusters'][0]['resources']}


def test_a_pool_is_renamed_with_its_placement_group(sim, home):
    placed = ', network: {placement: cluster}'
    home.write('cluster.yaml', spec(pools={'train': 3}, pool_extra=placed))
    home.apply()
    before = ids(sim)
    group, = sim.world('us-east-1')['placement_groups']
    look = home.run('state', 'mv', 'aws.instance.train', 'aws.instance.big', '--dry-run')
    assert 'Would move "aws.placement_group.train" to "aws.placement_group.big"' in look.out
    moved = home.run('state', 'mv', 'aws.instance.train', 'aws.instance.big')
    assert 'Successfully moved 4 object(s).' in moved.out
    node = records(home)['aws.instance.big[2]']
    assert node['attributes']['placement_group'] == {'$ref': 'aws.placement_group.big', 'attr': 'group_name'}
    assert 'aws.placement_group.big' in node['depends_on']
    assert 'aws.placement_group.train' not in str(records(home)['aws.instance.big[0]']['attributes'])
    home.run('drift')
    home.write('cluster.yaml', spec(pools={'big': 3}, pool_extra=placed))
    plan = home.run('plan', '--detailed-exitcode', code=2)
    assert 'Plan: 0 to add, 4 to change, 0 to destroy.' in plan.out and 'replace' not in plan.out
    home.apply()
    home.run('plan', '--detailed-exitcode')
    assert ids(sim) == before
    after, = sim.world('us-east-1')['placement_groups']
    assert after['groupName'] == group['groupName'] and tags_of(after)['raygpu:name'] == 'big'
    home.run('state', 'rebuild', '--state', 'new.db')
    assert home.run('state', 'list', '--state', 'new.db').out == home.run('state', 'list').out
    home.write('cluster.yaml', spec(pools={'big': 4}, pool_extra=placed))
    assert 'Plan: 1 to add, 0 to change, 0 to destroy.' in home.run('plan').out
    home.apply()
    assert {i['placement'].get('groupName') for i in sim.live_instances()} - {'', None} == {
        group['groupName']}
    # the old name is free for another pool, with another group
    home.write('cluster.yaml', spec(pools={'big': 4, 'train': 2}, pool_extra=placed))
    home.apply()
    assert len(sim.world('us-east-1')['placement_groups']) == 2
    home.run('destroy', '--auto-approve')
    assert not sim.live_instances() and not sim.world('us-east-1')['placement_groups']


def test_references_follow_what_is_moved(sim, home):
    before = ids(sim)
    home.run('state', 'mv', 'aws.security_group.nodes', 'aws.security_group.x')
    node = records(home)['aws.instance.train[1]']
    assert 'aws.security_group.x' in str(node['attributes']['security_groups'])
    assert 'aws.security_group.x' in node['depends_on'] and 'aws.security_group.nodes' not in node['depends_on']
    home.run('drift')
    home.run('state', 'mv', 'aws.security_group.x', 'aws.security_group.nodes')
    home.apply()
    home.run('plan', '--detailed-exitcode')
    assert ids(sim) == before
    # moving a single node does not change the marks of the others
    home.run('state', 'mv', 'aws.instance.train[2]', 'aws.instance.solo[0]')
    told = records(home)
    assert told['aws.instance.solo[0]']['attributes'] != told['aws.instance.train[0]']['attributes']
    home.write('cluster.yaml', spec(pools={'train': 2, 'solo': 1}))
    home.apply()
    assert ids(sim) == before


def test_an_open_creation_holds_what_it_refers_to(sim, home):
    home.write('cluster.yaml', spec(pools={'train': 4}))
    sim.fault(action='RunInstances', when='after', status=500, code='InternalError', count=0)
    home.apply(code=None)
    sim.faults_clear()
    result = home.run('state', 'mv', 'aws.security_group.nodes', 'aws.security_group.x', code=6)
    assert 'train[3] refers to the record to move' in ' '.join(result.err.split())
    assert 'aws.security_group.nodes' in home.run('state', 'list').out


def test_what_a_move_refuses(sim, home):
    def refused(*words, code, text):
        before = home.run('state', 'list').out
        assert text in ' '.join(home.run('state', 'mv', *words, code=code).err.split())
        assert home.run('state', 'list').out == before

    refused('aws.instance.train[0]', 'aws.instance.train[1]', code=6, text='is already recorded')
    refused('aws.instance.train', 'aws.instance.train', code=6, text='is already recorded')
    refused('aws.instance.none', 'aws.instance.big', code=4, text='has no aws.instance.none')
    refused('aws.instance.train[0]', 'aws.security_group.x', code=4, text='another kind')
    refused('raygpu.secret.ray_token', 'raygpu.secret.other', code=4, text='cannot be moved')
    refused('aws.instance.train[0]', code=4, text='wrong number of arguments')
    refused('nonsense', 'aws.instance.x', code=4, text='is not an address')


def test_an_open_creation_is_not_moved(sim, home):
    home.write('cluster.yaml', spec(pools={'train': 4}))
    sim.fault(action='RunInstances', when='after', status=500, code='InternalError', count=0)
    home.apply(code=None)
    sim.faults_clear()
    assert 'train[3]' in home.run('state', 'list').out
    result = home.run('state', 'mv', 'aws.instance.train', 'aws.instance.big', code=6)
    assert 'still open' in ' '.join(result.err.split())
    assert 'big' not in home.run('state', 'list').out


def test_a_plan_made_before_a_move_is_stale(sim, home):
    home.write('cluster.yaml', spec(pools={'train': 2}))
    home.run('plan', '--out', 'plan.json')
    home.run('state', 'mv', 'aws.instance.train', 'aws.instance.big')
    home.run('apply', 'plan.json', code=6)


def test_commands_that_change_the_state_alone_are_in_the_log(sim, home):
    home.run('state', 'mv', 'aws.instance.train[2]', 'aws.instance.spare')
    home.run('state', 'rm', 'aws.instance.spare')
    runs = home.run('log', '--json').json()
    assert [run['command'] for run in runs] == ['state rm', 'state mv', 'apply']
    assert [run['outcome'] for run in runs] == ['done'] * 3
    steps = home.run('log', runs[1]['id'], '--json').json()['steps']
    assert [(s['action'], s['address']) for s in steps] == [('move', 'aws.instance.spare')]
    home.run('state', 'rebuild', '--state', 'new.db')
    run, = home.run('log', '--state', 'new.db', '--json').json()
    assert (run['command'], run['outcome']) == ('state rebuild', 'done')
    text = home.run('log').out
    assert 'state mv' in text and '1 move' in text


def test_json_of_show_and_rm(sim, home):
    row = home.run('state', 'show', 'aws.instance.train[1]', '--json').json()
    whole = home.run('show', '--json').json()['values']['root_module']['resources']
    assert row in whole
    assert row['values']['id'] in ids(sim) and row['ownership'] == 'created'
    secret = home.run('state', 'show', 'raygpu.secret.ray_token', '--json').json()
    assert secret['values']['value'] is None
    gone = home.run('state', 'rm', 'aws.instance.train[1]', '--json').json()
    assert gone == [{'address': 'aws.instance.train[1]', 'id': row['values']['id']}]

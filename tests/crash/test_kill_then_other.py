"""kill -9 while the nodes of a pool are created on the simulated EC2, then an apply of another spec. For each kind of
change: what runs afterwards is what that spec has, all of it is recorded, and plan, drift and `state orphans` agree.

The kill is placed by the request: before EC2 gets RunInstances, or after it committed and before raygpu gets the
answer. tests/crash/test_kill_then_other_cloud.py: other clouds and stores."""
import pytest
from then_other import IMMEDIATE, KINDS, LATER, Cut, Ec2, Home, Sim, Start, before, changes, check, go_on, pool, spec, tags_of

BEFORE = before(Ec2)
INTERRUPTED = BEFORE + pool()
CHANGES = changes(Ec2)
environment = Ec2.environment


def begun(folder, first, interrupted, at, left):
    start = Start(Ec2, folder)
    start.apply(first)
    return start.kill(interrupted, at, left)


@pytest.fixture(name='start', scope='module', params=['answer', 'request'])
def fixture_start(tmp_path_factory, request):
    return begun(tmp_path_factory.mktemp('start'), BEFORE, INTERRUPTED, (request.param, Ec2.launch), 6 if request.param == 'answer' else 2)


@pytest.fixture(name='leaving', scope='module', params=['answer', 'request'])
def fixture_leaving(tmp_path_factory, request):
    """Two of four nodes are being removed when it is killed."""
    return begun(tmp_path_factory.mktemp('leaving'), INTERRUPTED, BEFORE + pool(nodes=2), (request.param, Ec2.removal),
                 4 if request.param == 'answer' else 6)


@pytest.mark.parametrize('change', KINDS)
def test_then_another_spec(start, change):
    go_on(start, change)


@pytest.fixture(name='replacing', scope='module', params=['', ', replace: {max_surge: 1}'], ids=['room', 'surge'])
def fixture_replacing(tmp_path_factory, request):
    """The first of four nodes is being replaced when it is killed, at its removal."""
    return begun(tmp_path_factory.mktemp('replacing'), INTERRUPTED, BEFORE + pool(value='2', extra=request.param),
                 ('answer', Ec2.removal), 6 if request.param else 5)


@pytest.mark.parametrize('change', ['the same', 'replaced one by one', 'replaced with a surge', 'another type', 'smaller, another disk', 'larger, replaced',
                                    'removed', 'renamed', 'renamed, replaced', 'renamed, smaller'])
def test_then_another_spec_than_the_smaller_one(leaving, change):
    go_on(leaving, change)


@pytest.mark.parametrize('change', ['the same', 'replaced with a surge', 'removed', 'renamed', 'renamed, replaced', 'renamed, smaller'])
def test_then_another_spec_than_the_replacement(replacing, change):
    go_on(replacing, change)


@pytest.mark.parametrize('start', ['request'], indirect=True)
@pytest.mark.parametrize('index', [1, 3])
@pytest.mark.parametrize('change', ['the same', 'replaced one by one', 'smaller', 'removed', 'renamed', 'renamed, replaced', 'renamed, smaller'])
def test_the_repeated_request_returns_more_than_was_open(start, change, index):
    """As after an answer that said that this one was not created."""
    pools, text = CHANGES[change]
    sim, home = start.again(f'{change.replace(" ", "-")}-{index}')
    with sim:
        home.edit_state(f"DELETE FROM journal_members WHERE address = 'aws.instance.b[{index}]'")
        home.write('cluster.yaml', text)
        home.apply('cluster.yaml', '--no-wait')
        check(Ec2, sim, home, pools)


@pytest.mark.parametrize('start', ['answer'], indirect=True)
def test_the_repeated_request_returns_what_has_another_address(start):
    """One of the created nodes is recorded, and moved to another pool, before its siblings are known."""
    sim, home = start.again('moved')
    with sim:
        node = [one['instanceId'] for one in sim.live_instances() if tags_of(one)['raygpu:pool'] == 'b'][1]
        home.edit_state("DELETE FROM journal_members WHERE address = 'aws.instance.b[1]'")
        home.write('cluster.yaml', spec(pools={'serve': ('T4:1', 1), 'c': ('L4:1', 2)}))
        home.run('import', 'cluster.yaml', 'aws.instance.c[1]', node, '--as-is')
        home.apply('cluster.yaml', '--no-wait')
        assert node in {one['instanceId'] for one in sim.live_instances()}
        check(Ec2, sim, home, {'c': 2})


def test_what_runs_is_no_ghost_for_longer_than_the_cloud_may_show_it(start):
    sim, home = start.again('ghost')
    with sim:
        home.apply('cluster.yaml', '--no-wait')
        node = home.run('state', 'show', 'aws.instance.b[0]', '--json').json()['values']['id']
        home.run('state', 'rm', 'aws.instance.b[0]')
        home.edit_state(("INSERT INTO tombstones (cluster, id, removed_s) SELECT id, ?, strftime('%s', 'now') FROM clusters", (node,)))
        young = home.run('plan', '--no-settle')
        assert 'was removed a short while ago' in young.err and 'diff.unmanaged' not in young.err
        home.edit_state('UPDATE tombstones SET removed_s = removed_s - 100')
        assert node in home.run('state', 'orphans', code=2).out
        assert node in home.run('drift', code=2).out


@pytest.mark.parametrize('what', ['i-', 'pg-'])
@pytest.mark.parametrize('at', ['request', 'answer'])
def test_a_pool_that_is_given_up_keeps_its_placement_group(tmp_path, at, what):
    with Sim(*IMMEDIATE) as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', BEFORE + pool('p1', nodes=2, extra=', network: {placement: cluster}'))
        home.apply('cluster.yaml', '--no-wait')
        nodes = {one['instanceId'] for one in sim.live_instances()}
        home.edit_state(LATER)
        home.write('cluster.yaml', BEFORE + 'removed: {p1: {destroy: false}}\n')
        with Cut(sim.url, environment, (at, f'Action=DeleteTags.*={what}')) as cut:
            assert cut.run(home, 'apply', '--auto-approve', '--parallelism', '1') == -9
        home.edit_state(LATER)
        home.apply('cluster.yaml', '--no-wait')
        assert {one['instanceId'] for one in sim.live_instances()} == nodes
        assert len(sim.world('us-east-1')['placement_groups']) == 1
        assert 'p1' not in home.run('state', 'list').out
        assert 'No changes.' in home.run('plan', '--detailed-exitcode').out


def test_a_placement_group_whose_pool_was_forgotten_is_released(tmp_path):
    """As versions that forgot the nodes first left it."""
    with Sim(*IMMEDIATE) as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', BEFORE + pool('p1', nodes=1, extra=', network: {placement: cluster}'))
        home.apply('cluster.yaml', '--no-wait')
        home.edit_state(LATER, "DELETE FROM resources WHERE pool = 'p1'")
        home.write('cluster.yaml', BEFORE + 'removed: {p1: {destroy: false}}\n')
        assert '1 to forget' in home.run('plan').out
        home.apply('cluster.yaml', '--no-wait')
        assert len(sim.world('us-east-1')['placement_groups']) == 1 and 'p1' not in home.run('state', 'list').out

"""kill -9 while the nodes of a pool are created on the simulated EC2, then an apply of another spec. For each kind of
change: what runs afterwards is what that spec has, all of it is recorded, and plan, drift and `state orphans` agree.

The kill is placed by the request: before EC2 gets RunInstances, or after it committed and before raygpu gets the
answer."""
import os
import shutil
import sys

import pytest

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli')]
from cut import Cut  # noqa: E402
from program import Home, spec  # noqa: E402
from sim_server import Sim, tags_of  # noqa: E402

BEFORE = spec()


def pool(name='b', nodes=4, kind='L4:1', value='1', extra=''):
    return f'  {name}: {{accelerators: "{kind}", nodes: {nodes}, env: {{X: "{value}"}}{extra}}}\n'


LAUNCH = '^(?!.*DryRun=true).*Action=RunInstances'
INTERRUPTED = BEFORE + pool()
LATER = 'UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600'
# the pools' nodes afterwards, and the spec that is applied after the kill
CHANGES = {
    'the same': ({'b': 4}, INTERRUPTED),
    'replaced one by one': ({'b': 4}, BEFORE + pool(value='2')),
    'replaced two at a time': ({'b': 4}, BEFORE + pool(value='2', extra=', replace: {max_unavailable: 2}')),
    'replaced with a surge': ({'b': 4}, BEFORE + pool(value='2', extra=', replace: {max_surge: 1}')),
    'replaced at once': ({'b': 4}, BEFORE + pool(value='2', extra=', replace: {max_unavailable: 4}')),
    'a gang': ({'b': 4}, BEFORE + pool(value='2', extra=', gang: true')),
    'another type': ({'b': 4}, BEFORE + pool(kind='T4:1')),
    'another zone': ({'b': 4}, BEFORE + pool(extra=', zones: [us-east-1b]')),
    'another disk': ({'b': 4}, BEFORE + pool(extra=', disk: {size: 300GB}')),
    'spot': ({'b': 4}, BEFORE + pool(extra=', market: spot')),
    'smaller': ({'b': 2}, BEFORE + pool(nodes=2)),
    'smaller, another disk': ({'b': 2}, BEFORE + pool(nodes=2, extra=', disk: {size: 300GB}')),
    'larger': ({'b': 6}, BEFORE + pool(nodes=6)),
    'larger, replaced': ({'b': 6}, BEFORE + pool(nodes=6, value='2')),
    'removed': ({}, BEFORE),
    'disabled': ({}, BEFORE + pool(extra=', enabled: false')),
    'renamed': ({'c': 4}, BEFORE + pool('c', extra=', renamed_from: b')),
    'renamed, replaced': ({'c': 4}, BEFORE + pool('c', value='2', extra=', renamed_from: b')),
    'renamed, smaller': ({'c': 2}, BEFORE + pool('c', nodes=2, extra=', renamed_from: b')),
    'another pool': ({'c': 2}, BEFORE + pool('c', nodes=2)),
    'another head': ({'b': 4}, spec(head='m5.4xlarge') + pool(value='2')),
}


def environment(url):
    return {'AWS_ENDPOINT_URL': url}


def simulator(world):
    return Sim('--boot-ms', '0', '--shutdown-ms', '0', world=str(world))


class Start:
    """The state and the world after the kill, to go on from again and again. `left`: how many nodes there are then."""

    def __init__(self, folder, before, interrupted, at, left):
        self.folder = folder
        (folder / 'home').mkdir()
        with simulator(folder / 'world') as sim:
            home = Home(folder / 'home', sim.env())
            home.write('cluster.yaml', before)
            home.apply('cluster.yaml', '--no-wait')
            home.edit_state(LATER)
            home.write('cluster.yaml', interrupted)
            with Cut(sim.url, environment, at) as cut:
                assert cut.run(home, 'apply', '--auto-approve', '--no-wait') == -9
            assert len(sim.live_instances()) == left

    def again(self, name):
        shutil.copytree(self.folder / 'home', self.folder / name)
        shutil.copy(self.folder / 'world', self.folder / f'world-{name}')
        sim = simulator(self.folder / f'world-{name}')
        return sim, Home(self.folder / name, sim.env())


@pytest.fixture(name='start', scope='module', params=['answer', 'request'])
def fixture_start(tmp_path_factory, request):
    return Start(tmp_path_factory.mktemp('start'), BEFORE, INTERRUPTED, (request.param, LAUNCH), 6 if request.param == 'answer' else 2)


@pytest.fixture(name='leaving', scope='module', params=['answer', 'request'])
def fixture_leaving(tmp_path_factory, request):
    """Two of four nodes are being removed when it is killed."""
    return Start(tmp_path_factory.mktemp('leaving'), INTERRUPTED, BEFORE + pool(nodes=2), (request.param, 'Action=TerminateInstances'),
                 4 if request.param == 'answer' else 6)


def pools_of(sim):
    counts = {}
    for instance in sim.live_instances():
        name = tags_of(instance)['raygpu:pool']
        counts[name] = counts.get(name, 0) + 1
    return counts


def check(sim, home, pools):
    assert pools_of(sim) == {'head': 1, 'serve': 1, **pools}
    recorded = home.run('show', '--json').json()['values']['root_module']['resources']
    ids = sorted(one['values']['id'] for one in recorded if one['type'] == 'aws.instance')
    assert ids == sorted(one['instanceId'] for one in sim.live_instances()) and not [one for one in recorded if one['pending']]
    assert 'No changes.' in home.run('plan', '--detailed-exitcode').out


def go_on(start, change):
    pools, text = CHANGES[change]
    sim, home = start.again(change.replace(' ', '-'))
    with sim:
        home.write('cluster.yaml', text)
        result = home.apply('cluster.yaml', '--no-wait')
        assert 'CRITICAL' not in result.err, result
        check(sim, home, pools)


@pytest.mark.parametrize('change', CHANGES)
def test_then_another_spec(start, change):
    go_on(start, change)


@pytest.fixture(name='replacing', scope='module', params=['', ', replace: {max_surge: 1}'], ids=['room', 'surge'])
def fixture_replacing(tmp_path_factory, request):
    """The first of four nodes is being replaced when it is killed, at its removal."""
    return Start(tmp_path_factory.mktemp('replacing'), INTERRUPTED, BEFORE + pool(value='2', extra=request.param),
                 ('answer', 'Action=TerminateInstances'), 6 if request.param else 5)


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
        check(sim, home, pools)


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
        check(sim, home, {'c': 2})


def test_then_another_type_that_only_another_zone_has(start):
    sim, home = start.again('failover')
    with sim:
        sim.knobs(capacity={'g4dn.xlarge': {'us-east-1a': 0}})
        home.write('cluster.yaml', BEFORE + pool(kind='T4:1'))
        home.apply('cluster.yaml', '--no-wait')
        check(sim, home, {'b': 4})
        zones = {one['placement']['availabilityZone'] for one in sim.live_instances() if tags_of(one)['raygpu:pool'] == 'b'}
        assert 'us-east-1a' not in zones


@pytest.mark.parametrize('launch', ['m5.2xlarge', 'g6.xlarge'])
def test_then_another_type_that_only_another_region_has(tmp_path, launch):
    """The head, or the nodes, are being created in one place when it is killed; the cluster moves to the other."""
    text = spec(pools={'b': ('L4:1', 2)}).replace('provider: {name: aws, region: us-east-1}',
                                                  'provider: {any_of: [{name: aws, region: us-west-2}, {name: aws, region: us-east-1}]}')
    with simulator(tmp_path / 'world') as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', text)
        with Cut(sim.url, environment, ('answer', LAUNCH + f'.*InstanceType={launch}')) as cut:
            assert cut.run(home, 'apply', '--auto-approve', '--no-wait') == -9
        sim.knobs(capacity={'p4d.24xlarge': {f'us-west-2{zone}': 0 for zone in 'abcdef'}})
        home.write('cluster.yaml', text.replace('L4:1', 'A100:8'))
        home.edit_state(LATER)
        home.apply('cluster.yaml', '--no-wait')
        assert not sim.live_instances('us-west-2') and len(sim.live_instances('us-east-1')) == 3
        assert not [one for one in sim.world('us-west-2')['security_groups'] if one['groupName'] != 'default']
        assert 'No changes.' in home.run('plan', '--detailed-exitcode').out


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
    with simulator(tmp_path / 'world') as sim:
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
    with simulator(tmp_path / 'world') as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', BEFORE + pool('p1', nodes=1, extra=', network: {placement: cluster}'))
        home.apply('cluster.yaml', '--no-wait')
        home.edit_state(LATER, "DELETE FROM resources WHERE pool = 'p1'")
        home.write('cluster.yaml', BEFORE + 'removed: {p1: {destroy: false}}\n')
        assert '1 to forget' in home.run('plan').out
        home.apply('cluster.yaml', '--no-wait')
        assert len(sim.world('us-east-1')['placement_groups']) == 1 and 'p1' not in home.run('state', 'list').out

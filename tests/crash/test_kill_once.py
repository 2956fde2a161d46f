"""kill -9 at each request and each answer of an apply that carries out `renamed_from`, `imports` and `removed` of a
spec on the simulated EC2: before the cloud gets the request, and after it committed and before raygpu gets the answer;
and at each step in which the state becomes durable.
The next apply completes the change, every machine is still there, and then the lines do nothing.

The default run samples the instants, --long (RAYGPU_LONG) takes all of them; RAYGPU_KILL_STEP overrides it."""
import os
import shutil
import subprocess
import sys

import pytest

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli')]
from cut import Cut  # noqa: E402
from program import Home, spec  # noqa: E402
from sim_server import Sim, tags_of  # noqa: E402

STEP = int(os.environ.get('RAYGPU_KILL_STEP', '1' if os.environ.get('RAYGPU_LONG') else '3'))
BEFORE = spec(pools={'old': 1, 'serve': 2})
SCENARIOS = {
    # nodes of the pools afterwards, the spec; NODE is someone's own machine
    'imports': ({'old': 1, 'serve': 3}, spec(pools={'old': 1, 'serve': 3}, extra='imports: [{address: "aws.instance.serve[2]", id: NODE, as_is: true}]\n')),
    'removed': ({'serve': 2}, spec(pools={'serve': 2}, extra='removed: {old: {destroy: false}}\n')),
    'all': ({'big': 4}, spec(pools={'big': 4}, extra='removed: {old: {destroy: false}}\n'
                             'imports: [{address: "aws.instance.big[2]", id: NODE, as_is: true}]\n').replace(
                                 '  big: {', '  big: {renamed_from: serve, ', 1)),
}


def environment(url):
    return {'AWS_ENDPOINT_URL': url}


def instances(sim):
    return {one['instanceId']: tags_of(one) for one in sim.live_instances()}


class Start:
    """A cluster, and a machine that is not of it, to begin with again and again."""

    def __init__(self, folder):
        self.folder = folder
        with Sim('--boot-ms', '0', '--shutdown-ms', '0', world=str(folder / 'world')) as sim:
            (folder / 'home').mkdir()
            home = Home(folder / 'home', sim.env())
            home.write('cluster.yaml', BEFORE)
            home.apply()
            like, group = (home.run('state', 'show', address, '--json').json()['values']
                           for address in ('aws.instance.serve[0]', 'aws.security_group.nodes'))
            self.node = sim.ok('RunInstances', {
                'ImageId': like['image_id'], 'InstanceType': like['instance_type'], 'MinCount': '1', 'MaxCount': '1',
                'SubnetId': like['subnet_id'], 'SecurityGroupId.1': group['id']}).findtext('instancesSet/item/instanceId')
            self.instances = set(instances(sim))
            home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')

    def again(self, name, text):
        """A simulator with that world, and a folder with that state and this spec."""
        folder = self.folder / name
        shutil.copytree(self.folder / 'home', folder)
        shutil.copy(self.folder / 'world', self.folder / f'world-{name}')
        sim = Sim('--boot-ms', '0', '--shutdown-ms', '0', world=str(self.folder / f'world-{name}'))
        home = Home(folder, sim.env())
        home.write('cluster.yaml', text.replace('NODE', self.node))
        return sim, home


def check(sim, start, home, pools):
    assert start.instances <= set(instances(sim)), 'a machine is lost'
    said = ' '.join(check_pools(sim, home, pools).err.split())
    assert 'can be removed' in said or 'delete its `removed` entry' in said


def check_pools(sim, home, pools):
    now = instances(sim)
    counts = {}
    for tags in now.values():
        pool = tags.get('raygpu:pool')
        if pool:
            counts[pool] = counts.get(pool, 0) + 1
    assert counts == {'head': 1, **pools}, counts
    recorded = home.run('show', '--json').json()['values']['root_module']['resources']
    ids = {one['values']['id'] for one in recorded if one['type'] == 'aws.instance'}
    assert ids == {name for name, tags in now.items() if 'raygpu:pool' in tags} and not [one for one in recorded if one['pending']]
    done = home.run('plan', '--detailed-exitcode')
    assert 'No changes.' in done.out
    return done


@pytest.mark.parametrize('scenario', SCENARIOS)
def test_kill_9_at_each_request(tmp_path, scenario):
    pools, text = SCENARIOS[scenario]
    start = Start(tmp_path)
    sim, home = start.again('whole', text)
    with sim, Cut(sim.url, environment) as cut:
        assert cut.run(home, 'apply', '--auto-approve', '--no-wait') == 0
        check(sim, start, home, pools)
        last = cut.count
    assert last >= 5
    killed, instants = 0, [(what, number) for number in range(last, 0, -1) for what in ('answer', 'request')][::STEP]
    for what, number in instants:  # from the last one: a sample has those that change something
        sim, home = start.again(f'{what}-{number}', text)
        with sim:
            with Cut(sim.url, environment, (what, number)) as cut:
                killed += cut.run(home, 'apply', '--auto-approve', '--no-wait') < 0
            assert start.instances <= set(instances(sim)), (what, number)
            home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
            result = home.apply('cluster.yaml', '--no-wait', code=None)
            assert result.code == 0, (what, number, result)
            check(sim, start, home, pools)
    assert killed >= len(instants) - 2  # some runs make a request less
    print(f'{killed} kills of {2 * last} instants')


@pytest.fixture(name='at_sync', scope='session')
def fixture_at_sync(tmp_path_factory):
    library = str(tmp_path_factory.mktemp('at_sync') / 'at_sync.so')
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'at_sync.c')
    subprocess.run(['cc', '-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], check=True)
    return library


def apply_until(home, library, number):
    """Applies, and dies before that step; its exit code and the number of steps."""
    syncs = os.path.join(home.folder, 'syncs')
    code = home.run('apply', '--auto-approve', '--no-wait', code=None,
                    env={'LD_PRELOAD': library, 'SYNCS': syncs, 'KILL_AT': str(number)}).code
    return code, os.path.getsize(syncs)


@pytest.mark.parametrize('scenario', SCENARIOS)
def test_kill_9_at_each_step_of_the_state(tmp_path, at_sync, scenario):
    pools, text = SCENARIOS[scenario]
    start = Start(tmp_path)
    sim, home = start.again('whole', text)
    with sim:
        code, steps = apply_until(home, at_sync, 0)
        assert code == 0
        check(sim, start, home, pools)
    assert steps >= 10
    killed, instants = 0, range(steps, 0, -4 * STEP if STEP > 1 else -1)
    for number in instants:
        sim, home = start.again(f'step-{number}', text)
        with sim:
            code, _ = apply_until(home, at_sync, number)
            killed += code == -9
            assert start.instances <= set(instances(sim)), number
            home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
            result = home.apply('cluster.yaml', '--no-wait', code=None)
            assert result.code == 0, (number, result)
            check(sim, start, home, pools)
    assert killed >= len(instants) / 2  # answers that come together are recorded together: some runs have fewer steps
    print(f'{killed} kills of {steps} steps')


def disabled(pools):
    return spec(pools={'old': 1, 'serve': 2}).replace('  serve: {', '  serve: {enabled: false, ') if pools == {'old': 1} else BEFORE


@pytest.mark.parametrize('scenario', ['disabled', 'enabled again', 'leased'])
def test_kill_9_at_each_step_of_the_state_of_what_stays_in_the_spec(tmp_path, at_sync, scenario):
    start = Start(tmp_path)
    pools = {'old': 1} if scenario == 'disabled' else {'old': 1, 'serve': 2}
    text = BEFORE + 'expires: 2099-12-01\n' if scenario == 'leased' else disabled(pools)

    def begin(name):
        sim, home = start.again(name, text)
        if scenario == 'enabled again':
            home.write('cluster.yaml', disabled({'old': 1}))
            home.apply('cluster.yaml', '--no-wait')
            home.write('cluster.yaml', text)
        return sim, home

    sim, home = begin('whole')
    with sim:
        code, steps = apply_until(home, at_sync, 0)
        assert code == 0
        check_pools(sim, home, pools)
    assert steps >= 10
    killed, instants = 0, range(steps, 0, -5 * STEP if STEP > 1 else -1)
    for number in instants:
        sim, home = begin(f'step-{number}')
        with sim:
            code, _ = apply_until(home, at_sync, number)
            killed += code == -9
            home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
            result = home.apply('cluster.yaml', '--no-wait', code=None)
            assert result.code == 0, (number, result)
            check_pools(sim, home, pools)
            if scenario == 'leased':
                assert set(instances(sim)) == start.instances
                assert all(tags['raygpu:expires'] == '2099-12-01T00:00:00Z' for tags in instances(sim).values() if 'raygpu:pool' in tags)
    assert killed >= len(instants) / 2
    print(f'{killed} kills of {steps} steps')

"""kill -9 in the middle of an update in place, with a cloud that shows an old view for a while: "no changes" is
never reported wrongly, whatever the spec is by then, and the next apply that may act brings the world to the
spec.

RAYGPU_UPDATE_KILLS sets the number of kills (2; 60 with --long), RAYGPU_SEED the seed (1)."""
import os
import random
import re
import sys
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli'))
from program import Home, spec  # noqa: E402
from sim_server import Sim, tags_of  # noqa: E402

KILLS = int(os.environ.get('RAYGPU_UPDATE_KILLS', '60' if os.environ.get('RAYGPU_LONG') else '2'))
SEED = int(os.environ.get('RAYGPU_SEED', '1'))
LATENCY_S, DELAY_S = 0.4, 1.5  # of a change of tags: half before it takes effect; of what Describe calls show


@pytest.fixture
def home(tmp_path):
    with Sim('--boot-ms', '20', '--shutdown-ms', '20', '--seed', SEED) as sim:
        home = Home(tmp_path, sim.env())
        home.sim = sim
        write(home, 'red')
        home.apply()
        sim.knobs(consistency_ms=int(1000 * DELAY_S),
                  latency_by_action={'CreateTags': int(1000 * LATENCY_S), 'DeleteTags': int(1000 * LATENCY_S)})
        time.sleep(DELAY_S)  # everything that was created is visible
        yield home


def write(home, color):
    home.write('cluster.yaml', spec(pools={'serve': 2}).replace('team: ml', f'team: {color}'))


def colors_by_id(home):
    """The actual colours of the managed resources, whatever Describe calls show."""
    world = home.sim.world('us-east-1')
    head = next(i for i in home.sim.live_instances() if tags_of(i)['raygpu:pool'] == 'head')
    things = home.sim.live_instances() + [
        group for group in world['security_groups'] if group['groupName'] != 'default'] + [
        interface for interface in world['network_interfaces']
        if interface.get('attachment', {}).get('instanceId') == head['instanceId']]
    assert len(things) == 5  # the head with its interface, two nodes, their group
    return {thing.get('instanceId') or thing.get('groupId') or thing['networkInterfaceId']: tags_of(thing)['team']
            for thing in things}


def truth(home):
    return set(colors_by_id(home).values())


def recorded_ids(text):
    """The resources that a plan would record as the cloud has them."""
    blocks = re.findall(r' will be recorded as it is\n  (?:#.*\n  )*\. resource (?s:.*?)\n    \}\n', text)
    return [ident for block in blocks for ident in re.findall(r'\b(?:i|sg|eni)-[0-9a-f]+', block)]


def killed_in_update(home, seconds):
    """Starts an apply and kills it this long after its first change of tags has reached the cloud; true if it was
    still running."""
    home.sim.counters_reset()
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--no-settle')
    while not home.sim.counters()['mutating'] and process.poll() is None:
        time.sleep(0.01)
    time.sleep(seconds)
    alive = process.poll() is None
    process.kill()
    process.communicate()
    return alive


def finish(home):
    """Time for the requests that the dead process sent, and for the old view to end."""
    time.sleep(LATENCY_S + DELAY_S)


@pytest.mark.parametrize('seconds', [0.05, 0.3], ids=['before the cloud took it', 'after'])
def test_a_spec_put_back_is_not_no_changes(home, seconds):
    write(home, 'blue')
    assert killed_in_update(home, seconds)
    write(home, 'red')
    plan = home.run('plan', 'cluster.yaml', '--no-settle', '--detailed-exitcode', code=None)
    # the cloud still shows red, which is recorded and desired; blue will follow
    assert plan.code != 0 and 'No changes' not in plan.out, plan
    finish(home)
    assert 'blue' in truth(home)
    plan = home.run('plan', 'cluster.yaml', '--no-settle', '--detailed-exitcode', code=2)
    assert 'blue' in plan.out
    home.apply('cluster.yaml', '--no-settle')
    assert truth(home) == {'red'}


def test_a_spec_that_stays_is_reached(home):
    write(home, 'blue')
    assert killed_in_update(home, 0.05)
    plan = home.run('plan', 'cluster.yaml', '--no-settle', '--detailed-exitcode', code=None)
    assert plan.code != 0 and 'No changes' not in plan.out, plan
    home.apply()
    assert truth(home) == {'blue'}
    finish(home)
    home.run('plan', 'cluster.yaml', '--no-settle', '--detailed-exitcode')


def test_a_finished_update_is_not_undone_by_an_old_view(home):
    write(home, 'blue')
    home.apply()
    assert truth(home) == {'blue'}
    write(home, 'red')
    # the cloud still shows red
    plan = home.run('plan', 'cluster.yaml', '--no-settle', '--detailed-exitcode', code=None)
    assert plan.code != 0 and 'recorded as it is' not in plan.out, plan
    home.apply()
    assert truth(home) == {'red'}

def test_no_changes_is_said_of_the_truth_only(home):
    chance = random.Random(SEED)
    colors = ['red', 'blue']
    kills = said = 0
    for _ in range(10 * KILLS):  # in some cases nothing is left to be killed: a plan may report that it has to wait
        if kills == KILLS:
            break
        write(home, chance.choice(colors))
        kills += killed_in_update(home, chance.uniform(0, 3 * LATENCY_S))
        color = chance.choice(colors)
        write(home, color)
        time.sleep(chance.choice([0, LATENCY_S, LATENCY_S + DELAY_S]))
        plan = home.run('plan', 'cluster.yaml', '--no-settle', '--detailed-exitcode', code=None)
        # a killed update that took effect is recorded once the cloud must show it, an old view never
        assert all(colors_by_id(home)[ident] == color for ident in recorded_ids(plan.out)), plan
        if plan.code == 0:
            said += 1
            time.sleep(LATENCY_S)  # what was in progress then
            assert truth(home) == {color}, plan
    finish(home)
    write(home, 'green')
    home.apply('cluster.yaml', '--no-settle')
    assert truth(home) == {'green'}
    print(f'{kills} kills in an update, "no changes" {said} times, seed {SEED}')

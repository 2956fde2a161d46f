"""kill -9 from outside at seeded random times of apply, of repair after a manual termination, and of destroy,
with a consistency delay and errors after commit. After the next apply the world contains exactly the desired
nodes and the state agrees: no orphan, no duplicate.

RAYGPU_KILLS sets the number of kills (24; 100 with --long), RAYGPU_SEED the seed (1; tests/run.sh: the number of commits). Four clouds share the
kills in parallel, each with its own seed."""
import os
import random
import sys
import time

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli'))
from program import Home, spec  # noqa: E402
from sim_server import Sim, tags_of  # noqa: E402

KILLS = int(os.environ.get('RAYGPU_KILLS', '100' if os.environ.get('RAYGPU_LONG') else '24'))
SEED = int(os.environ.get('RAYGPU_SEED', '1'))
CLOUDS = 4
POOLS = {'train': ('A100:8', 3), 'serve': ('T4:1', 4)}
NODES = 8


def check(sim, home):
    """Compares the world file with the state."""
    live = sim.live_instances()
    counts = {}
    for instance in live:
        pool = tags_of(instance)['raygpu:pool']
        counts[pool] = counts.get(pool, 0) + 1
    assert counts == {'head': 1, 'train': 3, 'serve': 4}, counts
    world = sim.world('us-east-1')
    assert len([g for g in world['security_groups'] if g['groupName'] != 'default']) == 1
    recorded = home.run('show', '--json').json()['values']['root_module']['resources']
    ids = {r['values']['id'] for r in recorded if r['type'] == 'aws.instance'}
    assert ids == {i['instanceId'] for i in live}
    assert not [r for r in recorded if r['pending']]


def killed(home, chance, longest_s, *command):
    """Starts a command and kills it after a random time; true if it was still running."""
    process = home.start(*command)
    time.sleep(chance.uniform(0.0, longest_s))
    alive = process.poll() is None
    process.kill()
    process.communicate()
    return alive


@pytest.mark.parametrize('cloud', range(CLOUDS))
def test_kill_9(tmp_path, cloud):
    seed = CLOUDS * (SEED - 1) + cloud + 1
    kills = (KILLS + cloud) // CLOUDS  # they add up
    chance = random.Random(seed)
    real = 0
    with Sim('--boot-ms', '20', '--shutdown-ms', '20', '--consistency-ms', '60', '--seed', seed) as sim:
        sim.knobs(latency_ms=6)
        for action in ('RunInstances', 'CreateNetworkInterface', 'CreateSecurityGroup', 'TerminateInstances'):
            sim.fault(action=action, when='after', status=500, code='InternalError', message='lost',
                      probability=0.15, count=0)
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec(pools=POOLS))
        home.apply()
        check(sim, home)
        phase = 0
        while real < kills:
            phase += 1
            if phase % 3 == 0:  # destroy, killed; then apply again
                real += killed(home, chance, 0.5, 'destroy', 'cluster.yaml', '--auto-approve')
            elif phase % 3 == 1:  # repair after a manual termination
                victims = chance.sample(sim.live_instances(), 2)
                for victim in victims:
                    sim.ec2('TerminateInstances', {'InstanceId.1': victim['instanceId']})
                time.sleep(0.1)  # longer than the consistency delay: nobody can see it before
                real += killed(home, chance, 0.4, 'apply', 'cluster.yaml', '--auto-approve')
            for _ in range(chance.randrange(0, 3)):  # apply, killed, up to three times in a row
                real += killed(home, chance, 0.4, 'apply', 'cluster.yaml', '--auto-approve')
            result = home.apply(code=None)
            if result.code:  # a fault after commit on every try is a real failure: once more
                result = home.apply(code=None)
            assert result.code == 0, (phase, result.code, result.err[-3000:])
            check(sim, home)
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        for _ in range(3):
            if home.run('destroy', 'cluster.yaml', '--auto-approve', code=None).code == 0:
                break
        assert not sim.live_instances()
        assert not [g for g in sim.world('us-east-1')['security_groups'] if g['groupName'] != 'default']
    print(f'{real} kills of a running raygpu, {phase} rounds, seed {seed}')

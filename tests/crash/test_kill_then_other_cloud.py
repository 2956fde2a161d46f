"""kill -9, then an apply of another spec (test_kill_then_other.py), also on the simulated Compute Engine and with a state elsewhere; and
kills at a random request or answer of the whole apply.

--long (RAYGPU_LONG) takes each kind of change over each cloud and store; the default run takes each kind once, over a cloud and a store that
RAYGPU_SEED chooses (1; tests/run.sh: the number of commits). RAYGPU_OTHER_KILLS: random kills of each of VARIANTS, over each cloud (1; 20
with --long)."""
import itertools
import os
import random

import pytest
from then_other import (CLOUDS, IMMEDIATE, KINDS, Both, ComputeEngine, Cut, Ec2, Elsewhere, Home, Start, apply_change, before, check_end, check_nodes,
                        go_on, pool, spec, state_server)

LONG = bool(os.environ.get('RAYGPU_LONG'))
SEED = int(os.environ.get('RAYGPU_SEED', '1'))
KILLS = int(os.environ.get('RAYGPU_OTHER_KILLS', '20' if LONG else '1'))
# The simulated EC2 with a local state has a file of its own.
PLACES = [(*place, at) for place in (('gce', 'file'), ('ec2', 'http'), ('gce', 'http')) for at in ('answer', 'request')]
VARIANTS = ['another type', 'another zone', 'another disk', 'spot', 'smaller, another disk', 'replaced at once', 'renamed']


def in_turn():
    """(place, kind): all, or for each kind the place whose turn it is."""
    return [(place, kind) for number, kind in enumerate(KINDS) for turn, place in enumerate(PLACES)
            if LONG or turn == (number + SEED) % len(PLACES)]


@pytest.fixture(name='tf_server', scope='module')
def fixture_tf_server():
    with state_server() as server:
        yield server


@pytest.fixture(name='starts', scope='module')
def fixture_starts(tmp_path_factory, request):
    """Of a cloud, a store, and where it was killed."""
    made = {}

    def start(cloud, store, at=None):
        if (cloud, store, at) not in made:
            keep = (lambda home: Elsewhere(home, request)) if store == 'http' else None
            one = made[cloud, store, at] = Start(CLOUDS[cloud], tmp_path_factory.mktemp(f'{cloud}-{store}'), keep)
            one.apply(before(one.cloud))
            if at:
                one.kill(before(one.cloud) + pool(), (at, one.cloud.launch), 6 if at == 'answer' else 2)
        return made[cloud, store, at]
    return start


@pytest.mark.parametrize(('place', 'change'), [pytest.param(*one, id='-'.join((*one[0], one[1]))) for one in in_turn()])
def test_then_another_spec(starts, place, change):
    go_on(starts(*place), change)


@pytest.fixture(name='requests', scope='module')
def fixture_requests(tmp_path_factory):
    """How many an apply makes that nothing interrupts, on a cloud: of a new cluster, or of a new pool."""
    counts = {}

    def count(cloud, new):
        if (cloud, new) not in counts:
            folder = tmp_path_factory.mktemp('whole')
            start = Start(CLOUDS[cloud], folder)
            if not new:
                start.apply(before(start.cloud))
            sim, home = start.again('whole')
            with sim, Cut(sim.url, start.cloud.environment) as cut:
                home.write('cluster.yaml', before(start.cloud) + pool())
                assert cut.run(home, 'apply', '--auto-approve', '--no-wait') == 0
            counts[cloud, new] = cut.count
        return counts[cloud, new]
    return count


@pytest.mark.parametrize('number', range(KILLS))
@pytest.mark.parametrize(('cloud', 'change'), itertools.product(CLOUDS, VARIANTS))
def test_killed_anywhere(tmp_path, starts, requests, cloud, change, number):
    """Every other kill hits the first apply of the cluster, the others that of a new pool."""
    new = bool((SEED + number) % 2)
    chance = random.Random(f'{SEED} {cloud} {change} {number}')
    last = requests(cloud, new)
    at = (chance.choice(['request', 'answer']), chance.randrange(1, last + 1))
    start = Start(CLOUDS[cloud], tmp_path) if new else starts(cloud, 'file')
    sim, home = start.again(f'{change.replace(" ", "-")}-{number}')
    with sim:
        home.write('cluster.yaml', before(start.cloud) + pool())
        with Cut(sim.url, start.cloud.environment, at) as cut:
            killed = cut.run(home, 'apply', '--auto-approve', '--no-wait') < 0
            cut.wait_for_the_others()
        print(f'RAYGPU_SEED={SEED} RAYGPU_OTHER_KILLS={number + 1}, {"a new cluster" if new else "a new pool"}: {at[0]} {at[1]} of {last}:',
              cut.killed_at if killed else 'not reached')
        assert killed or at[1] > 0.8 * last, 'an apply has about as many requests each time'
        apply_change(start.cloud, sim, home, change)


# the cloud, its places in order of price, a head, and what the first place has none of
MOVES = {
    'ec2': (Ec2, '{name: aws, region: us-west-2}, ' + Ec2.place, 'instance_type: m5.2xlarge',
            {'p4d.24xlarge': {f'us-west-2{zone}': 0 for zone in 'abcdef'}}),
    'gce': (ComputeEngine, ComputeEngine.place + ', {name: gcp, region: europe-west4}', 'instance_type: n2-standard-8',
            {'a2-highgpu-8g': {f'us-central1-{zone}': 0 for zone in 'abcf'}}),
    'both': (Both, f'{Ec2.place}, {ComputeEngine.place}', 'accelerators: T4', {'p4d.24xlarge': {'*': 0}}),
}


@pytest.mark.parametrize('at', ['request', 'answer'])
@pytest.mark.parametrize('launched', ['head', 'b'])
@pytest.mark.parametrize('move', MOVES)
def test_then_another_type_that_only_another_place_has(tmp_path, move, launched, at):
    """The head, or the nodes, are being created in one place when it is killed; the cluster moves to the other."""
    cloud, places, head, capacity = MOVES[move]
    text = spec(pools={'b': ('T4:1', 2)}).replace('instance_type: m5.2xlarge', head).replace(Ec2.place, f'{{any_of: [{places}]}}')
    with cloud.server(*IMMEDIATE) as sim:
        home = Home(tmp_path, cloud.credentials(sim))
        home.write('cluster.yaml', text)
        with Cut(sim.url, cloud.environment, (at, cloud.launch_of.format(launched))) as cut:
            assert cut.run(home, 'apply', '--auto-approve', '--no-wait') == -9
            cut.wait_for_the_others()
        sim.knobs(capacity=capacity)
        home.write('cluster.yaml', text.replace('"T4:1"', '"A100:8"'))
        said = home.apply('cluster.yaml', '--no-wait')
        assert 'has no capacity for the cluster: removing what was created there' in said.out + said.err, said
        check_nodes(cloud, sim, home, {'b': 2})
        check_end(cloud, sim, home)

"""INT, TERM and HUP in each phase of plan, apply, drift and destroy: the run ends with 130, or it had already ended, and the next
one completes the change. What only reads one cluster ends by the signal itself. The signal comes at a step of the state, or at a
request to the cloud (cut.py), never by time."""
import os
import signal
import subprocess
import sys

import pytest

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli')]
from cut import Cut  # noqa: E402
from program import Home, spec  # noqa: E402
from sim_server import Sim, tags_of  # noqa: E402

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
NAMES = ['one', 'two']


def environment(url):
    return {'AWS_ENDPOINT_URL': url}


@pytest.fixture(name='at_sync', scope='module')
def fixture_at_sync(tmp_path_factory):
    library = str(tmp_path_factory.mktemp('at_sync') / 'at_sync.so')
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'at_sync.c')
    subprocess.run(['cc', '-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], check=True)
    return library


def user(folder, sim):
    folder.mkdir()
    home = Home(folder, sim.env())
    for name in NAMES:
        home.write(f'{name}.yaml', spec(name=name))
    return home


def age(home):
    """What the cloud shows of an hour ago counts."""
    home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')


def applied(folder, sim):
    home = user(folder, sim)
    home.apply('one.yaml', '--no-wait')
    age(home)
    return home


def clusters(sim):
    return sorted({tags_of(one)['raygpu:cluster'] for one in sim.live_instances()})


def ends(code, sign, at, reads=False):
    """The signal may come when everything is done. At a step or a request, raygpu catches it."""
    assert code in (0, 130) or (reads and code == -sign), (code, sign, at)
    return code != 0


def run_at(home, at_sync, number, sign, *command):
    """The exit code of a run that gets the signal at that step of the state, and how many steps it had."""
    syncs = os.path.join(home.folder, 'syncs')
    # AddressSanitizer requires to be the first library
    sanitizer = home.env.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'
    code = home.run(*command, code=None, env={'LD_PRELOAD': at_sync, 'ASAN_OPTIONS': sanitizer, 'SYNCS': syncs, 'KILL_AT': str(number),
                                              **({'KILL_WITH': str(int(sign))} if sign else {})}).code
    return code, os.path.getsize(syncs)


def test_a_signal_at_steps_of_the_state(tmp_path, at_sync):
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim:
        home = applied(tmp_path / 'whole', sim)
        code, steps = run_at(home, at_sync, 0, None, 'destroy', 'one.yaml', '--auto-approve')
        assert code == 0 and steps >= 5 and not sim.live_instances()
        interrupted = 0
        for number in range(1, steps + 1, 4):
            sign = SIGNALS[number % 3]
            home = applied(tmp_path / str(number), sim)
            assert clusters(sim) == ['one']
            code, _ = run_at(home, at_sync, number, sign, 'destroy', 'one.yaml', '--auto-approve')
            interrupted += ends(code, sign, number)
            age(home)
            home.run('destroy', 'one.yaml', '--auto-approve')
            assert not sim.live_instances(), number
        assert interrupted


def interrupt(sim, home, *command, reads=False):
    """A signal at every fourth request of the command, each time that it is run again; how often it was interrupted."""
    interrupted = number = 0
    while True:
        number += 4
        sign = SIGNALS[number % 3]
        with Cut(sim.url, environment, ('request', number), sign) as cut:
            interrupted += ends(cut.run(home, *command), sign, number, reads)
        if cut.count < number or number > 60:
            return interrupted


def test_a_signal_at_each_request(tmp_path):
    specs = [f'{name}.yaml' for name in NAMES]
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim:
        home = user(tmp_path / 'home', sim)
        assert interrupt(sim, home, 'apply', *specs, '--auto-approve', '--no-wait')
        home.run('apply', *specs, '--auto-approve', '--no-wait')
        assert clusters(sim) == NAMES and len(sim.live_instances()) == 4
        age(home)
        for words in (['one.yaml'], specs):
            assert interrupt(sim, home, 'plan', *words, reads=True)
            assert interrupt(sim, home, 'drift', *words, reads=True)
        assert interrupt(sim, home, 'destroy', *specs, '--auto-approve')
        home.run('destroy', *specs, '--auto-approve')
        assert not sim.live_instances()

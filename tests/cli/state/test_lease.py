"""The lock of a state in a bucket is renewed while its run lasts; a run whose lock was taken over stops. Every quarter of a second
instead of 45 s, so it expires after one second."""
import contextlib
import os
import signal
import threading
import time

import pytest
from program import Home, spec
from store_checks import check

CLUSTER = 'clusters/research/'


@pytest.fixture
def url(s3):
    s3.front.lose = s3.front.before = lambda method, path: None
    s3.front.inspect = lambda handler, body: None
    s3.front.seen.clear()
    yield s3.url()
    s3.front.lose = lambda method, path: None
    s3.front.inspect = lambda handler, body: None


@pytest.fixture
def home(home, url):
    home.env['RAYGPU_STATE'] = url
    home.env['RAYGPU_LOOPBACK_LEASE_MS'] = '250'
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


class Held:
    """A run, and its first transaction, which the server does not get before `go`."""

    def __init__(self, s3, home, command='apply'):
        self.s3, self.go, arrived = s3, threading.Event(), threading.Event()

        def inspect(handler, body):
            if handler.command == 'PUT' and handler.path.endswith('.change') and not arrived.is_set():
                arrived.set()
                self.go.wait(300)
        s3.front.inspect = inspect
        self.process = home.start(command, 'cluster.yaml', '--auto-approve')
        assert arrived.wait(200)

    def end(self):
        self.go.set()
        out, err = self.process.communicate(timeout=300)
        return self.process.returncode, out + err

    def renewals(self, status=200):
        return len([seen for seen in list(self.s3.front.seen) if seen[0] == 'PUT' and seen[1].endswith('/lock') and seen[2] == status])

    def wait(self, renewals, status=200):
        while self.renewals(status) < renewals:
            assert self.process.poll() is None
            time.sleep(0.02)


def threads(pid):
    """The names of a process's threads."""
    for task in os.listdir(f'/proc/{pid}/task'):
        with contextlib.suppress(OSError), open(f'/proc/{pid}/task/{task}/comm', encoding='ascii') as f:
            yield f.read().strip()


def test_it_is_renewed_while_a_run_lasts(sim, home, s3):
    home.apply()
    s3.front.seen.clear()
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    run = Held(s3, home)
    taken = s3.document(home.env['RAYGPU_STATE'], CLUSTER + 'lock')
    assert taken['ttl_s'] == 1
    run.wait(8)  # twice as long as it would last
    assert s3.document(home.env['RAYGPU_STATE'], CLUSTER + 'lock') == taken
    assert run.end()[0] == 0
    assert 'id' not in s3.document(home.env['RAYGPU_STATE'], CLUSTER + 'lock')
    check(sim, home, 3)


def test_a_renewal_whose_answer_is_lost(sim, home, s3):
    """It is repeated, and the lock is still the run's own."""
    home.apply()
    s3.front.seen.clear()
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    run = Held(s3, home)
    lost = []
    s3.front.lose = lambda method, path: method == 'PUT' and path.endswith('/lock') and len(lost) < 3 and not lost.append(path)
    while len(lost) < 3:
        assert run.process.poll() is None
        time.sleep(0.02)
    run.wait(run.renewals() + 3)
    code, told = run.end()
    assert code == 0 and len(lost) == 3, told
    check(sim, home, 3)


def test_another_took_the_lock(sim, home, s3):
    """The renewal notices it, and the run sends nothing to the cloud, although its next number is still free."""
    home.apply()
    s3.front.seen.clear()
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    run = Held(s3, home)
    sim.counters_reset()
    assert 'lease' in threads(run.process.pid)
    lock = s3.document(home.env['RAYGPU_STATE'], CLUSTER + 'lock')
    s3.put_document(home.env['RAYGPU_STATE'], CLUSTER + 'lock', {**lock, 'id': 'e' * 32, 'pid': 0, 'ttl_s': 0, 'host': 'another'})
    run.wait(1, 412)
    while 'lease' in threads(run.process.pid):  # it has nothing to renew any more
        time.sleep(0.02)
    refused = s3.document(home.env['RAYGPU_STATE'], CLUSTER + 'lock')
    assert refused['id'] == 'e' * 32, 'it is left to the other'
    code, told = run.end()
    assert code in (3, 5) and 'state.lost-lock' in told, told
    assert sim.counters()['mutating'] == 0
    home.apply('cluster.yaml', '--lock-timeout', '300')
    check(sim, home, 3)


def test_a_machine_that_slept(tmp_path, sim, home, s3):
    """Its lock expires, another run takes it over and completes the cluster; awake, the first is refused and does nothing more."""
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    (tmp_path / 'other').mkdir()
    other = Home(tmp_path / 'other', home.env)
    other.env['RAYGPU_STATE'] = home.env['RAYGPU_STATE']
    other.write('cluster.yaml', home.read('cluster.yaml'))
    run = Held(s3, home)
    os.kill(run.process.pid, signal.SIGSTOP)
    try:
        assert 'Apply complete' in other.apply('cluster.yaml', '--lock-timeout', '300').out
        check(sim, other, 4)
        sim.counters_reset()
    finally:
        os.kill(run.process.pid, signal.SIGCONT)
    code, told = run.end()
    assert code in (3, 5) and 'state.lost-lock' in told, told
    assert sim.counters()['mutating'] == 0
    check(sim, other, 4)
    assert 'No changes' in home.run('plan', 'cluster.yaml').out

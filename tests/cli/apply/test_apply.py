"""apply and destroy as a process: signals, the lock, the prompt, exit codes."""
import os
import pty
import re
import signal
import sqlite3
import subprocess
import time

import pytest
from program import binary, spec


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


def wait_for(condition, limit_s=20):
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def open_rows(home):
    with sqlite3.connect(f'file:{home.state}?mode=ro', uri=True) as state:
        return state.execute('select count(*) from journal').fetchone()[0]


def interrupt(process, before_s=60):
    """Ctrl-C; (exit code, stderr), and it ends before what it waits for."""
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=before_s)
    return process.returncode, err


def test_interrupt_ends_the_wait_for_the_lock(home, sim):
    sim.knobs(latency_ms=900)
    first = home.start('apply', 'cluster.yaml', '--auto-approve')
    wait_for(lambda: os.path.exists(home.state + '.research.lock'))
    second = home.start('apply', 'cluster.yaml', '--auto-approve', '--lock-timeout', '60')
    waiting = second.stderr.readline()
    assert waiting.startswith('Waiting for the lock of cluster "research", held by ') and f'process {first.pid}: raygpu apply' in waiting
    assert re.search(r'This can take up to (59|60) s\.$', waiting.strip()), waiting
    code, err = interrupt(second)
    assert code == 130 and 'state.locked' in err
    sim.knobs(latency_ms=0)
    first.communicate(timeout=60)
    assert first.returncode == 0


def test_interrupt_while_it_plans_ends_at_once(home, sim):
    sim.knobs(latency_ms=15000)
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    wait_for(lambda: sim.counters()['requests'])
    code, _ = interrupt(process, before_s=14)
    assert code == 130
    assert sim.counters()['mutating'] == 0


def test_interrupt_while_it_applies_tells_what_is_open(home, sim):
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    sim.knobs(latency_by_action={'RunInstances': 15000})
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    wait_for(lambda: open_rows(home))
    code, err = interrupt(process, before_s=14)
    assert code == 130
    assert 'aws.instance.serve[2], aws.instance.serve[3]' in err and 'journal' in err
    sim.knobs(latency_by_action={})
    home.apply()
    assert len(sim.live_instances()) == 5
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


@pytest.mark.parametrize('answer, code', [(b'yes\n', 0), (b'y\n', 1), (b'\x04', 1), (None, 130)])
def test_the_question_on_a_terminal(home, sim, answer, code):
    controller, terminal = pty.openpty()
    process = subprocess.Popen([binary(), 'apply', 'cluster.yaml'], cwd=home.folder, env=home.env,
                               stdin=terminal, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    os.close(terminal)
    seen = ''
    while 'Enter a value: ' not in seen:
        seen += process.stderr.read(1)
    if answer is None:
        process.send_signal(signal.SIGINT)
    else:
        os.write(controller, answer)
    _, err = process.communicate(timeout=60)
    os.close(controller)
    assert process.returncode == code, err
    assert len(sim.live_instances()) == (3 if code == 0 else 0)


def test_a_plan_that_says_it_has_errors_is_not_applied(home, sim):
    home.run('plan', 'cluster.yaml', '--out', 'p.json')
    home.write('p.json', home.read('p.json').replace('"errored": false', '"errored": true'))
    result = home.run('apply', 'p.json', code=4)
    assert 'plan.bad-file' in result.err
    assert sim.counters()['mutating'] == 0


@pytest.mark.parametrize('option', ['--target', '--exclude', '--replace'])
def test_a_saved_plan_is_applied_whole_or_not_at_all(home, sim, option):
    home.run('plan', '--out', 'p.json')
    result = home.run('apply', 'p.json', option, 'aws.instance.head', code=4)
    assert f'a saved plan is always applied whole: {option} selects what to plan' in ' '.join(result.err.split())
    assert not sim.live_instances() and sim.counters()['mutating'] == 0


def test_nothing_done_is_the_class_of_the_first_error(home, sim):
    sim.fault(action='CreateSecurityGroup', when='before', status=403, code='UnauthorizedOperation',
              message='no', count=0)
    result = home.apply(code=None)
    assert result.code == 3, 'the Ray token was made'
    assert home.apply(code=None).code == 7, 'nothing more was done'


def test_a_refused_replay_looks_for_what_was_made(home, sim):
    """The first RunInstances is lost after commit, and then further launches are denied."""
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    sim.fault(action='RunInstances', when='after', close=True, count=0)
    assert home.apply(code=None).code == 1
    assert len(sim.live_instances()) == 5
    sim.faults_clear()
    sim.fault(action='RunInstances', when='before', status=403, code='UnauthorizedOperation',
              message='no', count=0)
    home.apply()
    assert len(sim.live_instances()) == 5
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


@pytest.mark.parametrize('verb, noun', [('Modifying', 'Modifications'), ('Destroying', 'Destruction')])
def test_each_change_is_told_by_its_name_when_it_begins_and_ends(home, verb, noun):
    def told(result, verb, noun):
        lines = result.err.splitlines()
        begun = {line.split(': ')[0] for line in lines if f': {verb}...' in line}
        ended = {line.split(': ')[0] for line in lines if f': {noun} complete after ' in line}
        assert begun == ended >= {'aws.instance.head', 'aws.instance.serve[0]', 'aws.instance.serve[1]'}, result

    told(home.apply(), 'Creating', 'Creation')
    if verb == 'Modifying':
        home.write('cluster.yaml', spec(pools={'serve': 2}).replace('team: ml', 'team: vision'))
        told(home.apply(), verb, noun)
    else:
        told(home.run('destroy', 'cluster.yaml', '--auto-approve'), verb, noun)

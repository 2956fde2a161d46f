"""A state behind Terraform's HTTP backend protocol."""
import json
import os
import shutil
import subprocess
import time

import pytest
from program import spec
from sim_server import tags_of
from store_checks import check, words
from tf_state_server import StateServer

USER = 'ci:not-a-real-password'


@pytest.fixture
def server():
    with StateServer(USER) as server:
        yield server


@pytest.fixture
def home(home, server):
    home.env['RAYGPU_STATE'] = server.url('team')
    home.env['TF_HTTP_USERNAME'], home.env['TF_HTTP_PASSWORD'] = USER.split(':')
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


def test_machines_share_it(sim, home, other, server):
    home.apply()
    document = json.loads(server.states['/team'])
    assert document['version'] == 4 and document['serial'] > 5 and document['resources'] == [] and not server.locks
    server.seen.clear()
    assert 'No changes' in other.run('plan', 'cluster.yaml', '--detailed-exitcode').out
    assert [method for method, _ in server.seen] == ['GET'], 'one request'
    other.write('cluster.yaml', spec(pools={'serve': 3}))
    assert '1 added, 0 changed, 0 destroyed' in other.apply().out
    assert [run['outcome'] for run in home.run('log', '--json').json()] == ['done', 'done']
    assert sorted(tags_of(i)['raygpu:pool'] for i in sim.live_instances()) == ['head', 'serve', 'serve', 'serve']
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert other.run('state', 'list').out == ''


def test_the_lock(sim, home, server):
    home.apply()
    server.locks['/team'] = {'ID': 'abc-1', 'Operation': 'OperationTypeApply', 'Info': '', 'Who': 'ann@laptop', 'Version': '1.11.4',
                             'Created': '2026-01-02T03:04:05.678Z', 'Path': ''}
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    assert 'reports a lock only to a run that requests it' in ' '.join(home.run('doctor').out.split())
    refused = words(home.apply(code=5))
    assert 'ann@laptop' in refused and 'since 2026-01-02T03:04:05Z' in refused and 'state unlock abc-1' in refused
    assert 'Ended the lock of the state' in home.run('state', 'unlock', 'abc-1').out
    home.apply()


def test_the_lock_of_a_killed_process_ends(home, server):
    """On this machine; also that of a single write, whose holder has no cluster."""
    home.apply()
    process = subprocess.Popen(['true'])
    process.wait()
    with open('/proc/sys/kernel/random/boot_id', encoding='ascii') as f:
        machine = f'{f.read().strip()} {os.readlink("/proc/self/ns/pid")}'
    for there, code in ((machine, 0), (machine + '0', 5)):
        info = {'id': 'abc-2', 'user': 'ann', 'host': 'laptop', 'command': 'state', 'pid': process.pid, 'machine': there}
        server.locks['/team'] = {'ID': 'abc-2', 'Info': json.dumps(info), 'Who': 'ann@laptop', 'Created': '2026-01-02T03:04:05Z'}
        home.apply(code=code)


def test_a_first_run_that_waits_for_the_lock(home, server):
    """The version of the tables is written when it has the lock."""
    server.locks['/team'] = {'ID': 'abc-1', 'Who': 'ann@laptop', 'Created': '2026-01-02T03:04:05.678Z'}
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--lock-timeout', '300')
    while [method for method, _ in server.seen].count('LOCK') < 2:
        assert process.poll() is None
        time.sleep(0.02)
    server.locks.clear()
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, out + err
    assert [name for name in json.loads(server.states['/team'])['raygpu'] if name.startswith('tables.')]
    assert 'No changes' in home.run('plan', 'cluster.yaml').out


def test_a_lost_lock_stops_the_run(sim, home, server):
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    server.steals = True
    refused = home.apply(code=None)
    assert refused.code in (3, 5) and 'state.lost-lock' in refused.err, refused
    server.locks.clear()
    home.apply()
    assert len(sim.live_instances()) == 5


def test_errors(home, server):
    refused = home.run('plan', 'cluster.yaml', env={'TF_HTTP_PASSWORD': 'wrong-one'}, code=7)
    assert 'TF_HTTP_PASSWORD' in refused.err and 'wrong-one' not in refused.err
    with_user = server.url('team').replace('//', f'//{USER}@')
    planned = home.run('plan', 'cluster.yaml', '--state', with_user, '--out', 'saved.plan', env={'TF_HTTP_USERNAME': '', 'TF_HTTP_PASSWORD': ''})
    assert USER.split(':')[1] not in planned.out + planned.err + home.read('saved.plan')
    server.states['/team'] = json.dumps({'version': 4, 'serial': 1, 'lineage': 'x', 'resources': [{}]}).encode()
    assert 'state.not-a-state' in home.run('plan', 'cluster.yaml', code=1).err
    assert 'without encryption' in words(home.run('plan', 'cluster.yaml', '--state', 'http://example.com/state', code=4))


def changed(state, **members):
    return json.dumps({**json.loads(state), **members}).encode()


def with_object(state, name, value):
    document = json.loads(state)
    return changed(state, raygpu={**document['raygpu'], name: value})


LOGIN_PAGE = b'<!DOCTYPE html><html><body><form action="/login">Sign in</form></body></html>'
NOT_THE_DOCUMENT = {
    'a login page': (lambda state: LOGIN_PAGE, 'text/html'),
    'half of it': (lambda state: state[:len(state) // 2], 'application/json'),
    'a list': (lambda state: b'[]', 'application/json'),
    'null': (lambda state: b'null', 'application/json'),
    'blanks': (lambda state: b' \n', 'application/json'),
    'an empty object': (lambda state: b'{}', 'application/json'),
    'an error as an object': (lambda state: b'{"error": "no session"}', 'application/json'),
    'deeply nested': (lambda state: b'{"a":' * 5000 + b'1' + b'}' * 5000, 'application/json'),
    'NUL in a key': (lambda state: state.replace(b'"raygpu"', b'"raygpu\\u0000"'), 'application/json'),
    'not UTF-8': (lambda state: state.replace(b'"raygpu"', b'"ray\xff\xfegpu"'), 'application/json'),
    'a name twice': (lambda state: state[:-1] + b',"raygpu":{}}', 'application/json'),
    'more after it': (lambda state: state + b'{}', 'application/json'),
    'the version of the tables as a number': (lambda state: with_object(state, 'tables.1', 1), 'application/json'),
    'objects as a list': (lambda state: changed(state, raygpu=[]), 'application/json'),
    'no serial': (lambda state: changed(state, serial=None), 'application/json'),
}
COMMANDS = [('state', 'list'), ('plan', 'cluster.yaml'), ('state', 'pull'), ('apply', 'cluster.yaml', '--auto-approve'),
            ('destroy', 'cluster.yaml', '--auto-approve')]


def test_an_answer_that_is_not_the_document_is_no_empty_state(sim, home, server):
    """Nothing is read from it, nothing is written over it, and no cloud is called."""
    home.apply()
    state = server.states['/team']
    for name, (make, kind) in NOT_THE_DOCUMENT.items():
        body = make(state)
        assert body != state, name
        server.reads = lambda state, body=body, kind=kind: (200, body, kind)
        for command in COMMANDS if name in ('a login page', 'half of it') else COMMANDS[:1] + COMMANDS[3:]:
            calls = sim.counters()['requests']
            refused = home.run(*command, code=1)
            assert '[state.corrupt]' in refused.err and refused.out == '', (name, command, refused)
            assert server.states['/team'] == state and not server.locks, (name, command)
            assert sim.counters()['requests'] == calls, (name, command)
    server.reads = lambda state: (200, LOGIN_PAGE, 'text/html')
    refused = words(home.run('state', 'list', code=1))
    assert f'{len(LOGIN_PAGE)} bytes of text/html' in refused and 'Sign in' not in refused
    server.reads = lambda state: None
    assert 'No changes' in home.run('plan', 'cluster.yaml').out


@pytest.mark.parametrize('answer', [(404, b'not found', 'text/plain'), (204,), (200, b'', 'text/plain')])
def test_no_document_yet(home, server, answer):
    server.reads = lambda state: None if state else answer
    assert 'state.no-such-cluster' in home.run('state', 'list', code=4).err
    home.apply()
    assert 'No changes' in home.run('plan', 'cluster.yaml').out


def test_a_document_that_vanishes_in_mid_run_is_not_begun_again(sim, home, server):
    home.apply()
    state = server.states['/team']
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    posts = []
    server.refuses = lambda method: 507 if method == 'POST' and (posts.append(method) or len(posts) == 3) else None
    server.reads = lambda state: (404,) if len(posts) > 2 else None
    refused = home.apply(code=None)
    assert refused.code in (1, 3) and len(posts) == 3, (refused, posts)
    assert json.loads(server.states['/team'])['lineage'] == json.loads(state)['lineage']
    server.refuses, server.reads = (lambda method: None), (lambda state: None)
    home.apply()
    check(sim, home, 4)


@pytest.mark.parametrize(('status', 'told', 'diag'), [(507, 'free some disk space', 'state.unwritable'),
                                                      (413, 'accept larger documents', 'state.unwritable'),
                                                      (403, 'TF_HTTP_PASSWORD', 'state.denied')])
def test_a_refusal_in_mid_run(sim, home, server, status, told, diag):
    """One clear error, and the next apply completes it."""
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    posts = []
    server.refuses = lambda method: status if method == 'POST' and (posts.append(method) or len(posts) > 2) else None
    result = home.apply(code=None)
    assert len(posts) > 2
    assert result.code in (1, 3, 7) and result.err.count(diag) == 1 and told in words(result), result
    server.refuses = lambda method: None
    home.apply()
    check(sim, home, 4)


@pytest.mark.skipif(not shutil.which('terraform'), reason='Terraform is not installed')
def test_terraform_passes_against_this_server(tmp_path, server):
    """So what raygpu speaks here is what Terraform speaks."""
    (tmp_path / 'main.tf').write_text(
        'terraform {\n  backend "http" {\n    address = "%s"\n    lock_address = "%s"\n    unlock_address = "%s"\n  }\n}\n'
        'resource "terraform_data" "a" {}\n' % ((server.url('terraform'),) * 3))
    env = {**os.environ, 'TF_HTTP_USERNAME': USER.split(':')[0], 'TF_HTTP_PASSWORD': USER.split(':')[1]}
    env.pop('TF_CLI_CONFIG_FILE', None)
    for command in (('init', '-input=false'), ('apply', '-auto-approve'), ('plan', '-detailed-exitcode'), ('destroy', '-auto-approve')):
        done = subprocess.run(['terraform', *command, '-no-color'], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(server.states['/terraform'])['serial'] > 1 and not server.locks

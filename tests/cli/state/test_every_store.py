"""What every store has to do, over each of stores.py: one state for several machines, locks, kill -9, damage, a slow and a failing
server. Only what is special to one store is tested elsewhere (test_state_files.py, test_postgres.py ...)."""
import json
import os
import random
import re
import time

import pytest
from document_stores import ROW_DAMAGES
from program import spec
from s3_server import Front
from store_checks import check, words
from stores import wait_for

LONG = bool(os.environ.get('RAYGPU_LONG'))
KILLS = int(os.environ.get('RAYGPU_STORE_KILLS', '100' if LONG else '4'))
SEED = int(os.environ.get('RAYGPU_SEED', '1'))


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


def faults(sim):
    """Answers that are lost after the cloud acted."""
    for action in ('RunInstances', 'CreateNetworkInterface', 'CreateSecurityGroup', 'TerminateInstances'):
        sim.fault(action=action, when='after', status=500, code='InternalError', message='lost', probability=0.15, count=0)


def repair(home):
    """A fault on every try of a run is a real failure: once more."""
    for _ in range(3):
        result = home.apply('cluster.yaml', '--lock-timeout', '60', code=None)
        if result.code == 0:
            return
    raise AssertionError(result)


def test_two_machines_share_it(home, other):
    home.apply()
    assert 'No changes' in other.run('plan', 'cluster.yaml', '--detailed-exitcode').out
    other.write('cluster.yaml', spec(pools={'serve': 3}))
    assert '1 added, 0 changed, 0 destroyed' in other.apply().out
    assert home.run('state', 'list').out.count('aws.instance.serve') == 3
    assert [run['outcome'] for run in home.run('log', '--json').json()] == ['done', 'done']
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert other.run('state', 'list').out == ''


def test_a_document_replaces_what_it_has(home, other):
    home.apply()
    text = home.run('state', 'pull').out
    home.write('kept.json', text)
    assert other.run('state', 'pull').out == text
    assert not other.run('state', 'push', '-', stdin=text).out.count('added')
    other.run('state', 'rm', 'aws.instance.serve[1]')
    refused = home.run('state', 'push', 'kept.json', code=6)
    assert 'state.push-refused' in refused.err
    home.run('state', 'push', 'kept.json', '--force')
    assert 'No changes' in other.run('plan', 'cluster.yaml').out
    assert [run['command'] for run in other.run('log', '--json').json()][0] == 'state push --force'


def test_the_lock_names_its_holder_and_ends_with_it(sim, home, other):
    home.apply()
    sim.knobs(latency_ms=600000)
    first = home.start('destroy', 'cluster.yaml', '--auto-approve')
    wait_for(home.store, 'locks', first)
    refused = other.run('state', 'rm', 'aws.instance.serve[0]', '--lock-timeout', '0', code=5)
    assert f'process {first.pid}: raygpu destroy' in words(refused), refused
    first.kill()
    first.communicate()
    sim.knobs(latency_ms=0)
    assert 'Apply complete' in other.run('apply', 'cluster.yaml', '--auto-approve', '--lock-timeout', '60').out


def lock_line(home):
    """What doctor reports of it; the spec has an error, so the cloud is not asked."""
    checks = home.run('doctor', '--json', code=4).json()['checks']
    return next(check for check in checks if check['area'] == 'lock')


def test_doctor_shows_who_has_the_lock_without_taking_it(sim, home, other):
    home.apply()
    other.write('cluster.yaml', home.read('cluster.yaml') + 'nonsense: 1\n')
    assert lock_line(other)['status'] == 'ok'
    sim.knobs(latency_ms=600000)
    first = home.start('destroy', 'cluster.yaml', '--auto-approve')
    wait_for(home.store, 'locks', first)
    line = lock_line(other)
    first.kill()
    first.communicate()
    sim.knobs(latency_ms=0)
    if home.store.place.startswith('http'):  # that protocol only shows it to a run that requests the lock
        assert line['status'] == 'ok' and 'only to a run that requests it' in line['summary'], line
        return
    assert line['code'] == 'state.locked' and f'process {first.pid}: raygpu destroy, since 20' in line['detail'], line
    for _ in range(600):  # a server may notice later that the connection has ended
        line = lock_line(other)
        if line.get('code') != 'state.locked':
            break
        time.sleep(0.1)
    assert line['code'] == 'doctor.lock-left' and f'process {first.pid}: ' in line['detail'], line
    assert 'Apply complete' in home.apply('cluster.yaml', '--lock-timeout', '60').out
    assert lock_line(other)['status'] == 'ok'


def test_a_stale_plan_and_two_writers(sim, home, other):
    """Clusters of one state do not wait for each other, unless its server has one lock for all."""
    home.specs.append(spec('second', pools={'serve': 2}))
    other.write('cluster.yaml', home.specs[-1])
    sim.knobs(latency_ms=30)
    waiting = ('--lock-timeout', '60') if home.store.lock_of_all else ()
    runs = [h.start('apply', 'cluster.yaml', '--auto-approve', *waiting) for h in (home, other)]
    for run in runs:
        out, err = run.communicate(timeout=100)
        assert run.returncode == 0, out + err
    assert {run['cluster'] for run in other.run('log', '--json').json()} == {'research', 'second'}
    home.run('plan', 'cluster.yaml', '--out', 'saved.plan')
    home.run('state', 'rm', 'aws.instance.serve[1]', '--cluster', 'research')
    assert home.run('apply', 'saved.plan', code=6)
    document = home.run('state', 'pull').json()
    assert [c['name'] for c in document['clusters']] == ['research', 'second']


def test_readers_see_whole_transactions(sim, home, other):
    """While another machine applies: without its lock, and never half of a step."""
    sim.knobs(latency_ms=20)
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    sizes = set()
    while process.poll() is None:
        result = other.run('state', 'pull', code=None)
        assert result.code == 0 or 'state.no-such-cluster' in result.err, result
        if result.code == 0:
            cluster, = result.json()['clusters']
            recorded = {r['address'] for r in cluster['resources']}
            pending = {m['address'] for row in cluster['journal'] for m in row['members']}
            assert not recorded & pending
            sizes.add(len(recorded))
    assert process.wait() == 0 and sizes
    process.communicate()
    check(sim, other, 2)


def test_kill_9(sim, home, place):
    """At seeded random instants."""
    chance = random.Random(SEED)
    sim.knobs(latency_ms=6, consistency_ms=40, boot_ms=10, shutdown_ms=10)
    faults(sim)
    real = rounds = 0
    while real < KILLS:
        rounds += 1
        home.write('cluster.yaml', spec(pools={'serve': 2 + rounds % 3}))
        for _ in range(chance.randrange(1, 3)):
            process = home.start('apply', 'cluster.yaml', '--auto-approve', '--lock-timeout', '30')
            time.sleep(chance.uniform(0.05, 0.7))
            real += process.poll() is None
            process.kill()
            process.communicate()
        repair(home)
        check(sim, home, 2 + rounds % 3)
    sim.faults_clear()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    print(f'{real} kills of a running apply over {place}, {rounds} rounds, seed {SEED}')


@pytest.mark.distant_only
def test_killed_at_every_write(sim, home):
    """Just before a write arrives, and when it is done but the answer is not there; all of them in --long."""
    sizes = iter(range(1, 1000))
    with home.store.proxy() as proxy:
        home.env['RAYGPU_STATE'] = home.store.through(proxy)
        home.apply()
        now = 2

        def begin():
            """One node more, or one less, so that each run creates or removes something."""
            nonlocal now
            now = 2 + next(sizes) % 2
            home.write('cluster.yaml', spec(pools={'serve': now}))
        points = None if LONG else [(2, True), (3, True), (4, False), (5, True), (6, False)]
        kills = 0
        for killed in proxy.kills(begin, lambda: home.start('apply', 'cluster.yaml', '--auto-approve', '--lock-timeout', '60'), points):
            kills += killed
            repair(home)
            check(sim, home, now)
    assert kills >= 5, kills


@pytest.mark.distant_only
def test_a_lost_answer_after_the_commit(sim, home):
    """raygpu asks what became of it, and neither repeats nor loses it."""
    with home.store.proxy() as proxy:
        proxy.cut = 6
        home.env['RAYGPU_STATE'] = home.store.through(proxy)
        home.apply('cluster.yaml', '--lock-timeout', '30', code=None)
        assert proxy.cuts > 0
        proxy.cut = 0
        home.apply('cluster.yaml', '--lock-timeout', '30')
        check(sim, home, 2)


@pytest.mark.distant_only
def test_a_slow_server(sim, home):
    with home.store.proxy() as proxy:
        home.env['RAYGPU_STATE'] = home.store.through(proxy)
        proxy.delay_s = 0.1
        home.apply()
        assert 'No changes' in home.run('plan', 'cluster.yaml').out
        check(sim, home, 2)


@pytest.mark.distant_only
def test_a_server_that_went_away(sim, home):
    """Before the run: one clear error, and no request to the cloud that changes anything."""
    with home.store.proxy() as proxy:
        home.env['RAYGPU_STATE'] = home.store.through(proxy)
        home.apply()
    sim.counters_reset()
    for command in (('plan', 'cluster.yaml'), ('apply', 'cluster.yaml', '--auto-approve'), ('state', 'list'), ('log',)):
        refused = home.run(*command, code=1)
        assert 'state.unreachable' in refused.err and refused.err.count('Error:') == 1 and 'hint:' in refused.err, refused
    assert sim.counters()['mutating'] == 0


@pytest.mark.distant_only
def test_a_lost_lock_stops_the_run(sim, home):
    """Its connection is cut, and another run takes the lock before it is back."""
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    sim.knobs(latency_by_action={'RunInstances': 4000})  # long enough to be seen, and for the theft
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    wait_for(home.store, 'locks', process)
    home.store.steal_lock()
    out, err = process.communicate(timeout=100)
    assert process.returncode in (3, 5) and 'state.lost-lock' in err, out + err
    sim.knobs(latency_by_action={})
    home.apply()
    check(sim, home, 4)


def tell_damages(home, damages):
    """Each is reported, and nothing is done; then the state is written again."""
    home.apply()
    home.write('kept.json', home.run('state', 'pull').out)
    for what in damages:
        home.store.damage(what)
        for command in (('plan', 'cluster.yaml'), ('apply', 'cluster.yaml', '--auto-approve')):
            told = home.run(*command, code=1)
            assert 'state.corrupt' in told.err and 'hint:' in told.err, (what, told)
        home.store.lose()
        home.run('state', 'push', 'kept.json')
    assert 'No changes' in home.run('plan', 'cluster.yaml').out


def test_damage_is_told(home):
    tell_damages(home, ROW_DAMAGES)


@pytest.mark.documents_only
def test_damaged_bytes_are_told(home):
    tell_damages(home, ['cut', 'bit', 'empty', 'other'])


HTML = [('Content-Type', 'text/html')]
# What the server of a store, or a proxy before it, may answer to a request that reads: of the true answer, and of another server.
ANSWERS = {
    'a login page': lambda status, content, headers, other: (200, b'<!DOCTYPE html><html><body>Sign in</body></html>', HTML),
    'half of it': lambda status, content, headers, other: (200, content[:len(content) // 2], headers),
    'deeply nested': lambda status, content, headers, other:
        (200, b'<a>' * 9000 + b'</a>' * 9000 if content.startswith(b'<') else b'{"a":' * 9000 + b'1' + b'}' * 9000, headers),
    'a NUL in it': lambda status, content, headers, other: (200, content[:9] + b'\0' + content[9:], headers),
    'another type': lambda status, content, headers, other: (200, b'<a/>' if content.startswith(b'<') else b'[]', headers),
    'an empty object': lambda status, content, headers, other: (200, b'{}', headers),
    'an error as an object': lambda status, content, headers, other: (200, b'{"error": "no session"}', headers),
    'a redirect': lambda status, content, headers, other: (302, b'', [('Location', other)]),
    'no body': lambda status, content, headers, other: (200, b'', headers),
    '204': lambda status, content, headers, other: (204, b'', []),
    '404': lambda status, content, headers, other: (404, b'<html>Not found</html>', HTML)}
# Terraform's HTTP protocol: there is no state yet. Then the cloud has the last word.
NO_STATE_YET = ('no body', '204', '404')
READING = [('state', 'list'), ('plan', 'cluster.yaml'), ('apply', 'cluster.yaml', '--auto-approve'),
           ('destroy', 'cluster.yaml', '--auto-approve')]


@pytest.mark.documents_only
def test_an_answer_that_is_not_the_stores_own_is_no_empty_state(sim, home, place, thief):
    """Nothing is read from it, nothing is written over it, and nothing is changed in a cloud."""
    url, came = thief
    home.apply()
    kept = list(home.store.kept())
    with Front(home.store.port) as front:
        home.env['RAYGPU_STATE'] = home.store.through(front)
        assert 'No changes' in home.run('plan', 'cluster.yaml').out
        for name, make in ANSWERS.items():
            front.instead = lambda status, content, headers, make=make: make(status, content, headers, url)
            for command in READING:
                sim.counters_reset()
                told = home.run(*command, code=None)
                asked = sim.counters()
                if place == 'http' and name in NO_STATE_YET:
                    assert told.code == (4 if command[0] == 'state' else 6), (name, command, told)
                    assert ('state.no-such-cluster' if command[0] == 'state' else 'plan.name-taken') in told.err, (name, command, told)
                else:
                    assert told.code == 1 and '[state.' in told.err and asked['requests'] == 0, (name, command, told)
                assert told.out == '' or told.code == 6, (name, command, told)
                assert asked['mutating'] == 0 and list(home.store.kept()) == kept, (name, command, told)
        front.instead = lambda *_: None
        assert 'No changes' in home.run('plan', 'cluster.yaml').out
    assert came == []


def test_a_big_state(home):
    home.apply()
    document = home.run('state', 'pull').json()
    cluster = document['clusters'][0]
    node = next(r for r in cluster['resources'] if r['address'] == 'aws.instance.serve[0]')
    for i in range(10, 2010):
        cluster['resources'].append({**node, 'address': f'aws.instance.many[{i}]', 'id': f'i-many{i}', 'pool': 'many', 'marked': None})
    cluster['serial'] += 1
    home.write('big.json', json.dumps(document))
    assert '2000 resources added' in home.run('state', 'push', 'big.json').out
    assert home.run('state', 'list').out.count('many') == 2000
    assert json.loads(home.run('state', 'pull').out)['clusters'] == sorted_like(document)


def sorted_like(document):
    for cluster in document['clusters']:
        cluster['resources'].sort(key=lambda r: (r['address'].split('[')[0], int((re.findall(r'\[(\d+)\]', r['address']) or [-1])[0])))
    return document['clusters']

"""A state in an S3 bucket, on moto's server: what is written and read, who may write, and what goes wrong. Machines are those of
raygpu-sim."""
import gzip
import hashlib
import json
import os
import random
import shutil
import threading
import time

import pytest
from program import Home, spec
from sim_server import Sim
from store_checks import check, words

LONG = bool(os.environ.get('RAYGPU_LONG'))
KILLS = 100 if LONG else 2
CLUSTER = 'clusters/research/'


@pytest.fixture
def url(s3):
    s3.front.lose = s3.front.before = lambda method, path: None
    s3.front.inspect = lambda handler, body: None
    return s3.url()


@pytest.fixture
def home(home, url):
    home.env['RAYGPU_STATE'] = url
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


def test_machines_share_it(home, other, s3, url):
    home.apply()
    assert not os.path.exists(home.path('.raygpu'))
    kinds = {name.rsplit('.', 1)[-1] for name in s3.names(url) if name.startswith(CLUSTER)}
    assert kinds == {'snapshot', 'history', CLUSTER + 'lock'}, 'a finished run leaves one snapshot'
    s3.front.seen.clear()
    assert 'No changes' in other.run('plan', 'cluster.yaml', '--detailed-exitcode').out
    assert [seen[0] for seen in s3.front.seen] == ['GET', 'GET'], 'a listing and the snapshot'
    other.write('cluster.yaml', spec(pools={'serve': 3}))
    assert '1 added, 0 changed, 0 destroyed' in other.apply().out
    assert home.run('state', 'list').out.count('aws.instance.serve') == 3
    assert [run['outcome'] for run in home.run('log', '--json').json()] == ['done', 'done']
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert other.run('state', 'list').out == ''
    assert len(home.run('log', '--json').json()) == 3


def test_what_is_written_follows_what_changes(home, s3, url):
    """Not the size of the state."""
    home.write('cluster.yaml', spec(pools={'serve': 2, 'many': 60}))
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 3, 'many': 60}))
    s3.front.seen.clear()
    home.apply()
    changes = [sent for method, path, _, sent in s3.front.seen if method == 'PUT' and path.endswith('.change')]
    assert changes and max(changes) < 16000 and sum(changes) < 40000, changes
    assert len([path for method, path, *_ in s3.front.seen if method == 'PUT' and path.endswith('.snapshot')]) == 1


def test_the_name_and_a_saved_plan(home, other, s3, url):
    home.run('plan', 'cluster.yaml', '--out', 'saved.plan', '--trace', 'trace')
    assert url.split('?', 1)[0] in home.read('saved.plan')
    for text in (home.read('saved.plan'), home.read('trace')):
        assert home.env['AWS_SECRET_ACCESS_KEY'] not in text
    shutil.copy(home.path('saved.plan'), other.path('saved.plan'))
    assert 'Apply complete' in other.run('apply', 'saved.plan').out
    home.run('apply', 'saved.plan', code=6)
    refused = home.run('plan', 'cluster.yaml', '--state', 's3://AKIAKEY:not-a-real-secret@' + url[5:], code=1)
    assert 'has credentials before its bucket' in words(refused) and 'not-a-real-secret' not in refused.err
    refused = home.run('plan', 'cluster.yaml', '--state', url + '&secret_key=not-a-real-secret', code=4)
    assert 'unknown parameter "secret_key"' in words(refused) and 'not-a-real-secret' not in refused.err


def test_reading_changes_nothing(home, s3, url):
    home.apply()
    s3.front.seen.clear()
    for command in (('plan', 'cluster.yaml'), ('drift', 'cluster.yaml'), ('show',), ('log',), ('state', 'pull')):
        home.run(*command)
    assert {seen[0] for seen in s3.front.seen} == {'GET'}


def held(s3, url, **values):
    """A lock as its holder wrote it."""
    lock = {'format': 1, 'id': 'f' * 32, 'user': 'ci', 'host': 'runner-7', 'command': 'apply', 'pid': 4711, 'started_s': 1700000000,
            'ttl_s': 180, 'job': 'https://ci.example.org/jobs/9', 'machine': 'another', **values}
    s3.put_document(url, CLUSTER + 'lock', lock)
    return lock['id']


def test_a_lock_names_its_holder_and_can_be_ended(home, s3, url):
    home.apply()
    lock = held(s3, url)
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    refused = home.apply(code=5)
    told = words(refused)
    shown = ' '.join(home.run('doctor').out.split())
    for text in ('ci@runner-7', 'process 4711: raygpu apply', 'since 2023-11-14', 'https://ci.example.org/jobs/9', f'state unlock {lock}'):
        assert text in told and text in shown, (text, told, shown)
    assert 'has no lock 0000' in words(home.run('state', 'unlock', '0000', code=4))
    assert 'Ended the lock of cluster research' in home.run('state', 'unlock', lock).out
    assert 'has no lock' in words(home.run('state', 'unlock', lock, code=4))
    home.apply()


def test_a_lock_expires(sim, home, s3, url):
    """By the clock of the server: its age is the difference of two of its times."""
    home.apply()
    held(s3, url, ttl_s=-1)
    home.apply(code=5)
    held(s3, url, ttl_s=0)
    time.sleep(1.1)  # a whole second of HTTP's dates
    assert 'the last run of cluster research died while it had the lock' in ' '.join(home.run('doctor').out.split())
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    home.apply()
    check(sim, home, 3)


def hold_a_change(s3):
    """The next transaction waits, before the server has it, until the event is set."""
    go, held = threading.Event(), threading.Event()

    def inspect(handler, body):
        if handler.command == 'PUT' and handler.path.endswith('.change') and not held.is_set():
            held.set()
            go.wait(120)
    s3.front.inspect = inspect
    return held, go


def test_the_job_is_named(home, other, s3, url):
    home.apply()
    home.env['CI_JOB_URL'] = 'https://gitlab.example.org/-/jobs/77'
    held, go = hold_a_change(s3)
    first = home.start('destroy', 'cluster.yaml', '--auto-approve')
    assert held.wait(60)
    refused = other.run('state', 'rm', 'aws.instance.serve[0]', code=5)
    assert f'process {first.pid}: raygpu destroy' in words(refused) and 'jobs/77' in words(refused)
    first.kill()
    first.communicate()
    go.set()
    assert 'Apply complete' in other.apply().out, 'on this machine, its process is known to be dead'


def test_a_lost_lock_stops_the_run(sim, home, other, s3, url):
    """`state unlock` while the run is on: its next write fails, and it sends nothing more to the cloud."""
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    held, go = hold_a_change(s3)
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    assert held.wait(60)
    assert 'Ended' in other.run('state', 'unlock', s3.wait_locked(url)).out
    go.set()
    out, err = process.communicate(timeout=100)
    assert process.returncode in (3, 5) and 'state.lost-lock' in err, out + err
    home.apply()
    check(sim, home, 4)


def test_kill_9(tmp_path, s3):
    """At seeded random instants, with answers of the cloud and of the store that are lost after they acted."""
    chance = random.Random(1)
    s3.front.lose = lambda method, path: method == 'PUT' and chance.random() < 0.05
    with Sim('--boot-ms', '10', '--shutdown-ms', '10', '--consistency-ms', '40', '--seed', 1) as sim:
        sim.knobs(latency_ms=6)
        for action in ('RunInstances', 'CreateNetworkInterface', 'CreateSecurityGroup', 'TerminateInstances'):
            sim.fault(action=action, when='after', status=500, code='InternalError', message='lost', probability=0.15, count=0)
        home = Home(tmp_path, sim.env())
        home.env['RAYGPU_STATE'] = s3.url()
        real = rounds = 0
        while real < KILLS:
            rounds += 1
            home.write('cluster.yaml', spec(pools={'serve': 2 + rounds % 3}))
            for _ in range(chance.randrange(1, 3)):
                process = home.start('apply', 'cluster.yaml', '--auto-approve', '--lock-timeout', '30')
                time.sleep(chance.uniform(0.05, 0.9))
                real += process.poll() is None
                process.kill()
                process.communicate()
            for _ in range(3):
                result = home.apply('cluster.yaml', '--lock-timeout', '30', code=None)
                if result.code == 0:
                    break
            assert result.code == 0, result
            check(sim, home, 2 + rounds % 3)
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_another_writes_without_the_lock(home, s3, url):
    """Its number is taken: nothing is overwritten."""
    home.apply()
    number = int(next(n for n in s3.names(url) if n.endswith('.snapshot')).split('/')[-1].split('.')[0])
    s3.front.lose = lambda method, path: method == 'PUT' and path.endswith('/lock') and s3.put_document(
        url, f'{CLUSTER}{number + 1:020}.change', {'format': 1, 'by': 'someone', 'fence': True})
    s3.front.before = lambda method, path: (412, b'') if method == 'PUT' and path.endswith(f'{number + 2:020}.change') else None
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    refused = home.apply(code=None)
    assert refused.code in (3, 5) and 'state.lost-lock' in refused.err, refused
    s3.front.before = s3.front.lose = lambda method, path: None
    home.apply()


def test_a_slow_snapshot_reader(home, other, s3, url):
    """A run makes a new snapshot, and deletes the old one, between the listing and the reading of another."""
    home.apply()
    todo = [True]

    def before(method, path):
        if method == 'GET' and path.endswith('.snapshot') and todo and todo.pop():
            home.run('state', 'rm', 'aws.instance.serve[1]')
    s3.front.before = before
    assert 'aws.instance.serve[1]' not in other.run('state', 'list').out
    assert not todo


def test_errors_say_what_to_do(home, s3, url):
    def refused(code, place=url, command=('plan', 'cluster.yaml')):
        result = home.run(*command, '--state', place, code=code)
        assert result.err.count('Error:') == 1 and 'hint:' in result.err, result
        return words(result)
    assert 'create the bucket' in refused(1, s3.url(bucket='missing-bucket'))
    assert 'could not be reached' in refused(1, url.replace(str(s3.front.server_address[1]), '9'))
    assert 'does not name a bucket' in refused(1, 's3:///prefix')
    s3.front.before = lambda method, path: (403, b'<Error><Code>AccessDenied</Code><Message>no</Message></Error>')
    assert 's3:ListBucket' in refused(7) and 'state.denied' in refused(7)
    s3.front.before = lambda method, path: method == 'PUT' and (
        403, b'<Error><Code>AccessDenied</Code><Message>no</Message></Error>')
    apply = ('apply', 'cluster.yaml', '--auto-approve')
    assert 's3:PutObject' in refused(7, command=apply)
    s3.front.before = lambda method, path: method == 'PUT' and (
        507, b'<Error><Code>XMinioStorageFull</Code><Message>full</Message></Error>')
    assert 'free some disk space' in refused(1, command=apply)


def test_who_gets_signed_requests(home, s3, url):
    """A pull request can change the URL of raygpu.yaml: its endpoint must be Amazon's, or allowed."""
    def told(endpoint, **env):
        home.write('raygpu.yaml', f'state: "s3://bucket/prefix?region=us-east-1&endpoint={endpoint}"\n')
        return words(home.run('plan', 'cluster.yaml', code=1, env={'RAYGPU_STATE': '', 'https_proxy': 'http://127.0.0.1:9', **env}))
    refused = 'would get signed requests: "https://'
    for elsewhere in ('https://minio.example', 'https://amazonaws.com.example', 'https://notamazonaws.com'):
        assert refused in told(elsewhere) and 'RAYGPU_ALLOW_ENDPOINTS' in told(elsewhere)
    assert 'could not be reached' in told('https://s3.eu-west-1.amazonaws.com')
    assert 'could not be reached' in told('https://minio.example', RAYGPU_ALLOW_ENDPOINTS='https://minio.example/')


REFUSALS = {'full': (507, 'XMinioStorageFull', 'free some disk space', 'state.unwritable'),
            'quota': (403, 'QuotaExceeded', 'free some space in the bucket', 'state.unwritable'),
            'denied': (403, 'AccessDenied', 's3:PutObject', 'state.denied'),
            'clock': (403, 'RequestTimeTooSkewed', 'set the clock', 'state.denied')}


@pytest.mark.parametrize(('why', 'what'), [*((why, '.change') for why in REFUSALS), ('full', '/lock'), ('full', '.snapshot')])
def test_a_refusal_in_mid_run(sim, home, s3, url, why, what):
    """Of one kind of objects: one clear error if it is needed, and the next apply completes it."""
    status, code, told, diag = REFUSALS[why]
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    seen = []

    def before(method, path):  # the first change is the beginning of the run, the next an intent
        if method != 'PUT' or not path.endswith(what):
            return None
        seen.append(path)
        return None if what == '.change' and len(seen) < 3 else (
            status, f'<Error><Code>{code}</Code><Message>no</Message></Error>'.encode())
    s3.front.before = before
    result = home.apply(code=None)
    assert seen
    if what == '.snapshot':  # the changes are as good
        assert result.code == 0 and 'Error:' not in result.err, result
    else:
        assert result.code in (1, 3, 7) and result.err.count(diag) == 1 and told in words(result), result
    s3.front.before = lambda method, path: None
    home.apply()
    check(sim, home, 4)


def test_a_server_without_conditions_is_refused(home, s3, url):
    """It would let two runs overwrite each other's state."""
    s3.front.before = lambda method, path: (200, b'', [('ETag', '"x"')]) if method == 'PUT' else None
    assert 'ignores conditions' in words(home.apply(code=1))


def test_a_bucket_without_versions_is_a_note(home, s3):
    s3.make_bucket('unversioned', versioning=False)
    home.env['RAYGPU_STATE'] = s3.url(bucket='unversioned')
    # as S3 writes it; moto calls it otherwise
    s3.front.before = lambda method, path: 'versioning=' in path and (
        200, b'<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>')
    assert 'keeps no old versions' in words(home.apply())
    assert 'keeps no old versions' not in words(home.apply())


def test_the_region_of_the_bucket_is_followed(home, s3, url):
    """S3 says 301 or 400 to requests that are signed for another region than the bucket's."""
    signed = []

    def before(method, path):
        answer = answers[len(signed) % 2]
        signed.append(path)
        return answer if len(signed) == 1 else None
    answers = [(301, b'<Error><Code>PermanentRedirect</Code><Message>elsewhere</Message></Error>', [('x-amz-bucket-region', 'eu-west-3')]),
               None]
    s3.front.before = before
    home.run('plan', 'cluster.yaml', '--trace', 'trace')
    assert len(signed) >= 2 and signed[0] == signed[1]
    signed.clear()
    answers[0] = (400, b'<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region is wrong</Message>'
                       b'<Region>eu-west-3</Region></Error>')
    home.run('plan', 'cluster.yaml')
    assert len(signed) >= 2 and signed[0] == signed[1]


def test_encryption_headers(home, s3, url):
    sent = set()

    def inspect(handler, body):
        if handler.command == 'PUT':
            sent.add((handler.headers.get('x-amz-server-side-encryption'),
                      handler.headers.get('x-amz-server-side-encryption-aws-kms-key-id')))
    s3.front.inspect = inspect
    home.env['RAYGPU_STATE'] = s3.url(sse='aws:kms', kms_key_id='alias/raygpu')
    home.apply()
    assert sent == {('aws:kms', 'alias/raygpu')}


def test_a_lost_answer_after_the_write(sim, home, s3, url):
    """raygpu finds its own write, and neither repeats nor loses it."""
    lost = []
    s3.front.lose = lambda method, path: method == 'PUT' and path not in lost and not lost.append(path)
    home.apply()
    assert len(lost) > 5
    check(sim, home, 2)


def test_moved_states_are_refused(home, s3, url):
    home.apply()
    s3.put_document(url, 'moved', {'format': 1, 'to': 's3://new/place'})
    refused = home.run('plan', 'cluster.yaml', code=4)
    assert 'state.migrated' in refused.err and 's3://new/place' in words(refused)


def test_signatures(sim, home, s3, url):
    """Signature Version 4 of S3: with the hash of the body as a header, over all headers that matter."""
    checked = []

    def inspect(handler, body):
        given = handler.headers['Authorization']
        signed = given.split('SignedHeaders=')[1].split(',')[0].split(';')
        assert handler.headers['x-amz-content-sha256'] == hashlib.sha256(body).hexdigest()
        assert {'if-match', 'if-none-match'} & {name.lower() for name in handler.headers} <= set(signed)
        own = sim.sign(body, handler.command, handler.path, service='s3', stamp=handler.headers['X-Amz-Date'],
                       headers={name.title() if name == 'host' else name: handler.headers[name] for name in signed})
        checked.append(given.split('Signature=')[1] == own['Authorization'].split('Signature=')[1])
        return None if checked[-1] else (403, b'<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>')
    s3.front.inspect = inspect
    home.apply()
    home.run('state', 'rm', 'aws.instance.serve[1]')
    assert len(checked) > 20 and all(checked)
    refused = home.run('plan', 'cluster.yaml', env={'AWS_SECRET_ACCESS_KEY': 'wrong'}, code=7)
    assert 'SignatureDoesNotMatch' in words(refused) and 'state.denied' in refused.err

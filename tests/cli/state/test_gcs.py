"""A state in a bucket of Google Cloud Storage, on gs_server.py: what is special to it. What every store has to do is in
test_every_store.py. Machines are those of raygpu-sim."""
import os
import re
import shutil
import threading

import pytest
from program import spec
from store_checks import check, words

CLUSTER = 'clusters/research/'
KEY = 'projects/p/locations/eu/keyRings/ci/cryptoKeys/state'
READING = {'storage.objects.get', 'storage.objects.list'}
WRITING = READING | {'storage.objects.create', 'storage.objects.delete', 'storage.buckets.get'}


@pytest.fixture
def url(gs):
    gs.reset()
    return gs.url()


@pytest.fixture
def home(home, gs, url):
    for name in [name for name in home.env if name.startswith(('GOOGLE_', 'CLOUDSDK_'))]:
        del home.env[name]
    home.env.update(gs.env(), RAYGPU_STATE=url)
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


def refused(home, code, place=None, command=('plan', 'cluster.yaml'), env=None):
    result = home.run(*command, *(['--state', place] if place else []), code=code, env=env)
    assert result.err.count('Error:') == 1 and 'hint:' in result.err, result
    return words(result)


APPLY = ('apply', 'cluster.yaml', '--auto-approve')


def test_machines_share_it(home, other, gs, url):
    """Plan, apply, drift and log, with the permissions that the documentation names, and no more."""
    gs.allowed = WRITING
    home.apply()
    assert not os.path.exists(home.path('.raygpu'))
    kinds = {name.rsplit('.', 1)[-1] for name in gs.names(url) if name.startswith(CLUSTER)}
    assert kinds == {'snapshot', 'history', CLUSTER + 'lock'}, 'a finished run leaves one snapshot'
    gs.allowed = READING
    gs.seen.clear()
    assert 'No changes' in other.run('plan', 'cluster.yaml', '--detailed-exitcode').out
    assert [method for method, *_ in gs.seen] == ['objects.list', 'objects.get'], 'a listing and the snapshot'
    for command in (('drift', 'cluster.yaml'), ('show',), ('log',), ('state', 'pull')):
        other.run(*command)
    assert {method for method, *_ in gs.seen} == {'objects.list', 'objects.get'}
    gs.allowed = WRITING
    other.write('cluster.yaml', spec(pools={'serve': 3}))
    assert '1 added, 0 changed, 0 destroyed' in other.apply().out
    assert [run['outcome'] for run in home.run('log', '--json').json()] == ['done', 'done']
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert other.run('state', 'list').out == ''


def test_the_role_that_raygpu_prints(home):
    role = {task: set(home.run('iam', home.write('gcp.yaml', (
        'cluster: research\nprovider: {name: gcp, region: us-central1, project: demo-project}\n'
        'ray: {version: 2.56.1, python: "3.11", image: "rayproject/ray:2.56.1-py311-cu121"}\nhead: {instance_type: e2-standard-4}\n'
        'pools:\n  w: {accelerators: "T4:1", nodes: 1}\n')), '--for', task).json()['includedPermissions']) for task in ('state', 'state-read')}
    assert role == {'state': WRITING, 'state-read': READING | {'storage.buckets.get'}}


def hold_a_change(gs):
    """The cluster's next transaction waits, before the server has it, until the event is set."""
    go, held = threading.Event(), threading.Event()

    def before(op):
        if op.method == 'objects.insert' and CLUSTER in op.name and op.name.endswith('.change') and not held.is_set():
            held.set()
            go.wait(300)
    gs.before = before
    return held, go


def test_of_two_runs_the_second_is_refused(sim, home, other, gs):
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    held, go = hold_a_change(gs)
    run = home.start(*APPLY)
    try:
        assert held.wait(120)
        told = words(other.run('state', 'rm', 'aws.instance.head', code=5))
        assert f'process {run.pid}: raygpu apply' in told
    finally:
        go.set()
    out, err = run.communicate(timeout=300)
    assert run.returncode == 0, out + err
    check(sim, home, 3)


def test_a_lost_lock_stops_the_run(sim, home, other, gs, url):
    """`state unlock` while the run is on: its next write is an unmet condition, and it sends nothing more to the cloud."""
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 4}))
    held, go = hold_a_change(gs)
    process = home.start(*APPLY)
    try:
        assert held.wait(120)
        assert 'Ended' in other.run('state', 'unlock', gs.wait_locked(url)).out
        sim.counters_reset()
    finally:
        go.set()
    out, err = process.communicate(timeout=300)
    assert process.returncode in (3, 5) and 'state.lost-lock' in err, out + err
    assert sim.counters()['mutating'] == 0
    assert ('objects.insert', 412) in {(method, status) for method, _, status, _ in gs.seen}
    home.apply()
    check(sim, home, 4)


def test_another_holder_is_named(home, gs, url):
    home.apply()
    gs.put_document(url, CLUSTER + 'lock', {
        'format': 1, 'id': 'f' * 32, 'user': 'ci', 'host': 'runner-7', 'command': 'apply', 'pid': 4711, 'started_s': 1700000000,
        'ttl_s': 180, 'job': 'https://ci.example.org/jobs/9', 'machine': 'another'})
    told = refused(home, 5, command=APPLY)
    assert 'ci@runner-7' in told and 'https://ci.example.org/jobs/9' in told and 'state unlock ' + 'f' * 32 in told
    lock = gs.document(url, CLUSTER + 'lock')
    gs.place(url)[0][gs.place(url)[1] + CLUSTER + 'lock']['at'] -= 200  # by the server's clock it has expired
    home.apply()
    assert gs.document(url, CLUSTER + 'lock') != lock


@pytest.mark.parametrize('answer', ['cut', (503, 'backendError')], ids=['cut', '503'])
def test_answers_that_are_lost_after_the_write(sim, home, gs, answer):
    """The repeated request gets 412 because of the first one: raygpu finds its own write, and neither repeats nor loses it."""
    lost, repeated = set(), []

    def after(op):
        first = op.method == 'objects.insert' and op.name not in lost
        lost.update([op.name] if first else [])
        return answer if first else None

    def before(op):
        repeated.extend([op.name] if op.method == 'objects.insert' and op.name in lost else [])
    gs.after, gs.before = after, before
    home.apply()
    assert len(lost) > 5 and len(repeated) > 5
    check(sim, home, 2)


def test_refusals_for_now_are_repeated(sim, home, gs):
    """The first request of each method, and, as for too many writes of one object, the first three of the lock."""
    seen = []

    def before(op):
        seen.append(op.method)
        if op.method == 'objects.insert' and op.name.endswith('/lock'):
            seen.append('lock')
            return (429, 'rateLimitExceeded') if seen.count('lock') < 4 else None
        return (503, 'backendError') if seen.count(op.method) == 1 else None
    gs.before = before
    home.apply()
    assert {'objects.list', 'objects.get', 'objects.insert', 'objects.delete', 'buckets.get'} < set(seen) and seen.count('lock') > 4
    check(sim, home, 2)


def test_a_token_that_is_revoked_is_renewed(home, gs):
    home.apply()
    revoked = []

    def before(op):
        if not revoked:
            revoked.append(op.headers['Authorization'])
            gs.tokens.clear()
    gs.before = before
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    assert revoked


def test_a_long_list_has_pages(home, gs, url):
    home.apply()
    gs.page = 1
    gs.seen.clear()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    pages = [method for method, *_ in gs.seen if method == 'objects.list']
    assert len(pages) == len(gs.names(url)) > 3


def test_errors_say_what_to_do(home, gs, url):
    assert 'create the bucket' in refused(home, 1, gs.url(bucket='missing-bucket'))
    assert 'create the bucket' in refused(home, 1, gs.url(bucket='missing-bucket'), APPLY)
    assert 'could not be reached' in refused(home, 1, url.replace(str(gs.port), '9'))
    assert 'does not name a bucket' in refused(home, 1, 'gs:///prefix')
    assert 'projects/PROJECT/locations' in refused(home, 1, gs.url(kms_key_name='alias'))
    gs.allowed = set()
    assert 'storage.objects.list' in refused(home, 7) and 'state.denied' in refused(home, 7)
    gs.allowed = READING
    assert 'does not have storage.objects.create access' in refused(home, 7, command=APPLY)
    gs.allowed = WRITING - {'storage.objects.delete'}
    home.apply()
    assert 'does not have storage.objects.delete access' in refused(home, 7, command=APPLY), 'the lock is replaced'
    gs.allowed, home.env['GCE_METADATA_HOST'] = None, '127.0.0.1:1'
    assert 'no Google credentials were found' in refused(home, 7)


def test_a_server_without_conditions_is_refused(home, gs):
    """It would let two runs overwrite each other's state."""
    gs.before = lambda op: op.query.pop('ifGenerationMatch', None) and None
    assert 'ignores conditions' in refused(home, 1, command=APPLY)


def test_damage_is_told(home, gs, url):
    home.apply()
    objects, prefix, _ = gs.place(url)
    name = next(n for n in gs.names(url) if n.endswith('.snapshot'))
    stored = objects[prefix + name]
    good = stored['content']
    stored['content'] = good[:50] + bytes([good[50] ^ 1]) + good[51:]  # on its way: the checksum is the old one
    assert 'does not have its checksum' in refused(home, 1)
    gs.put(url, name, stored['content'])
    assert 'state.corrupt' in refused(home, 1)
    gs.put(url, name, good)
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_what_is_sent(home, gs):
    """Keys, the project that pays, no caching, and generations as conditions of all writes."""
    sent = []
    gs.before = lambda op: sent.append(op)
    home.env['RAYGPU_STATE'] = gs.url(kms_key_name=KEY)
    home.env['GOOGLE_CLOUD_QUOTA_PROJECT'] = 'payer-project'
    home.apply()
    writes = [op for op in sent if op.method == 'objects.insert']
    assert {op.query['kmsKeyName'] for op in writes} == {KEY}
    assert {op.body[0]['cacheControl'] for op in writes} == {'no-store'} and all('md5Hash' in op.body[0] for op in writes)
    assert all(op.query['ifGenerationMatch'].isdigit() for op in writes)
    assert {op.query['ifGenerationMatch'] == '0' for op in writes if op.name.endswith('/lock')} == {True, False}
    assert {op.headers['X-Goog-User-Project'] for op in sent} == {'payer-project'}


@pytest.mark.parametrize('properties, note', [
    ({'versioning': {}}, 'keeps no old versions'), ({'versioning': {'enabled': True}}, None),
    ({'versioning': {}, 'softDeletePolicy': {'retentionDurationSeconds': '604800'}}, 'for only 7 days')], ids=['none', 'on', 'soft'])
def test_a_bucket_without_versions_is_a_note(home, gs, properties, note):
    gs.make_bucket('unversioned', **properties)
    home.env['RAYGPU_STATE'] = gs.url(bucket='unversioned')
    told = words(home.apply())
    assert note in told if note else 'old versions' not in told
    assert 'old versions' not in words(home.apply()), 'it is told once'


def test_who_may_not_ask_for_versioning_is_not_told(home, gs):
    gs.make_bucket('unversioned', versioning={})
    gs.allowed = WRITING - {'storage.buckets.get'}
    home.env['RAYGPU_STATE'] = gs.url(bucket='unversioned')
    assert 'old versions' not in words(home.apply())


def test_who_gets_the_token(home, gs, url):
    """A pull request can change the URL of raygpu.yaml: its endpoint must be Google's, or allowed."""
    own = f'storage.invalid:{gs.port}'
    gs.seen.clear()
    elsewhere = 'gs://bucket/prefix?endpoint=https://' + own
    assert 'would get Google\'s access token' in refused(home, 1, elsewhere)
    assert 'would get Google\'s access token' in refused(home, 1, 'gs://bucket/p?endpoint=http://storage.googleapis.com')
    assert 'is not a URL' in refused(home, 1, 'gs://bucket/p?endpoint=storage.googleapis.com')
    told = refused(home, 1, elsewhere, env={'RAYGPU_ALLOW_ENDPOINTS': 'https://' + own})
    assert 'could not be reached' in told and not gs.seen
    told = refused(home, 1, 'gs://ya29.a-token@bucket/p')
    assert 'has credentials before its bucket' in told and 'a-token' not in told
    assert 'unknown parameter "token"' in refused(home, 4, url + '&token=ya29.a-token')


@pytest.mark.parametrize('host', ['http://127.0.0.1:{}', '127.0.0.1:{}'])
def test_an_emulator_gets_no_token(home, gs, host):
    gs.anonymous, seen = True, []
    gs.before = lambda op: seen.append(op.headers['Authorization'])
    home.env.update(STORAGE_EMULATOR_HOST=host.format(gs.port), RAYGPU_STATE='gs://raygpu-state/emulated', GCE_METADATA_HOST='127.0.0.1:1')
    home.run('plan', 'cluster.yaml')
    assert seen and set(seen) == {None}


def test_no_secret_is_traced(home, other, gs, url):
    """Neither tokens nor what the state holds; a saved plan has the place without its parameters."""
    home.run('plan', 'cluster.yaml', '--out', 'saved.plan', '--trace', 'trace')
    assert url.split('?', 1)[0] in home.read('saved.plan')
    shutil.copy(home.path('saved.plan'), other.path('saved.plan'))
    assert 'Apply complete' in other.run('apply', 'saved.plan', '--trace', 'trace').out
    resources = other.run('state', 'pull').json()['clusters'][0]['resources']
    secrets = [value for one in resources if one['address'].startswith('raygpu.secret') for value in one['outputs'].values()]
    told = home.read('saved.plan') + home.read('trace') + other.read('trace')
    assert len(re.findall('"objects.insert"', told)) > 5 and secrets
    assert not [secret for secret in [*gs.tokens, *secrets] if secret in told]

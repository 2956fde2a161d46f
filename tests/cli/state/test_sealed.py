"""Sealed secrets: where they are not, what goes on without the key, and its rotation."""
import base64
import fcntl
import json
import os
import struct

import pytest
from postgres_server import needs_postgres
from program import spec
from store_proxy import Proxy
from stores import files_of

ONE, TWO = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
KEYS = {'RAYGPU_STATE_KEY': ONE}
ROTATED = {'RAYGPU_STATE_KEY': TWO, 'RAYGPU_STATE_KEY_OLD': ONE}
WRONG = {'RAYGPU_STATE_KEY': TWO}
WHOLE_FILE = struct.pack('hhqqi', fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
F_OFD_SETLK = 37


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    return home


def words(result):
    return ' '.join(result.err.split())


def leave_open(sim, home, env):
    """A token, and a creation of unknown outcome, whose input has the token in its user data."""
    assert sim.fault(action='RunInstances', when='after', close=True, count=0)
    home.run('apply', 'cluster.yaml', '--auto-approve', code=None, env=env)
    sim.faults_clear()
    assert sim.live_instances()


def token_of(home, env):
    token = home.run('output', 'ray_token', env=env).out.strip()
    assert len(token) == 64
    return token


def forms(text):
    yield text.encode()
    for shift in range(3):
        yield base64.b64encode(b'x' * shift + text.encode() + b'zzz')[4:-8]


def kept(home):
    """By the store, and in the user's folder."""
    return b'\n'.join([*home.store.kept(), *files_of(home.folder)])


def is_in(secret, data):
    return any(form in data for form in forms(secret))


@pytest.mark.parametrize('sealed', [True, False])
def test_where_the_token_is(sim, home, sealed):
    env = KEYS if sealed else {}
    leave_open(sim, home, env)
    token = token_of(home, env)
    assert is_in(token, kept(home)) != sealed
    if not sealed:
        return
    texts = []
    for use in (['plan', 'cluster.yaml', '--out', 'p.json', '--trace', 'trace'], ['plan', 'cluster.yaml', '--format', 'json'],
                ['apply', 'cluster.yaml', '--auto-approve', '--trace', 'trace'], ['show', '--json'], ['state', 'show'],
                ['state', 'pull', '--out', 'pulled.json'], ['state', 'pull', '--redact', '--out', 'redacted.json'],
                ['drift', 'cluster.yaml', '--json', '--trace', 'trace'], ['log', '--json'],
                ['state', 'rekey']):
        done = home.run(*use, env={**env, 'RAYGPU_LOG': 'debug'})
        texts += [done.out, done.err]
    assert len(sim.live_instances()) == 2
    data = kept(home) + ''.join(texts).encode()
    for secret in (token, ONE, (b'\x01' * 32).hex()):
        assert not is_in(secret, data)
    assert '"$sealed"' in home.read('pulled.json') and '"$sealed"' not in home.read('redacted.json')
    assert '$redacted' in home.read('redacted.json')


@pytest.mark.parametrize('env', [{}, WRONG, {'RAYGPU_STATE_KEY': ''}], ids=['none', 'wrong', 'empty'])
def test_without_the_key(sim, home, env):
    empty = '' in env.values()
    home.run('apply', 'cluster.yaml', '--auto-approve', env=KEYS)
    for use in (['plan', 'cluster.yaml'], ['drift', 'cluster.yaml'], ['show'], ['state', 'list'], ['output', 'head_id']):
        done = home.run(*use, env=env)
        assert 'state.sealed' in done.err and "1 secret of cluster research can't be read or shown" in words(done)
        assert ('Warning' in done.err) == ('another one' in words(done)) == (env == WRONG)
    for use in (['plan', 'cluster.yaml'], ['apply', 'cluster.yaml', '--auto-approve']):
        assert 'No changes' in home.run(*use, env={} if empty else env).out
    for use in (['state', 'pull'], ['log'], ['cost']):
        home.run(*use, env=env)
    for use in (['output', 'ray_token'], ['connect', 'cluster.yaml', '--print']):
        refused = home.run(*use, env=env, code=7)
        assert 'state.sealed' in refused.err and not refused.out
    if not empty:
        assert 'state.sealed' in home.run('import', 'cluster.yaml', 'aws.instance.serve[0]', 'i-00000000000000000', env=env, code=7).err
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    before = sim.live_instances()
    assert '1 to add' in home.run('plan', 'cluster.yaml', env=env).out
    refused = home.run('apply', 'cluster.yaml', '--auto-approve', env=env, code=4 if empty else 7)
    assert ('state.bad-key' if empty else 'state.sealed') in refused.err
    assert sim.live_instances() == before
    home.run('apply', 'cluster.yaml', '--auto-approve', env=KEYS)
    assert len(sim.live_instances()) == 3
    if not empty:
        home.run('destroy', 'cluster.yaml', '--auto-approve', env=env)
        assert not sim.live_instances()


def test_a_state_that_was_not_sealed(sim, home, place):
    leave_open(sim, home, {})
    token = token_of(home, {})
    said = home.run('plan', 'cluster.yaml', env=KEYS)
    assert 'state.unsealed' in said.err and '2 secrets of cluster research are not sealed' in words(said)
    before = sim.live_instances()
    refused = home.run('apply', 'cluster.yaml', '--auto-approve', env=KEYS, code=7)
    assert 'state.unsealed' in refused.err and 'raygpu state rekey' in words(refused) and sim.live_instances() == before
    home.run('state', 'rekey', env=KEYS)
    home.run('apply', 'cluster.yaml', '--auto-approve', env=KEYS)
    done = home.run('plan', 'cluster.yaml', env=KEYS)
    assert 'No changes' in done.out and 'state.' not in done.err
    assert token_of(home, KEYS) == token
    assert token not in home.run('state', 'pull', env=KEYS).out
    if place == 'file':  # PostgreSQL keeps old versions of rows until it vacuums
        assert not is_in(token, kept(home))


def test_clear_text_instead_of_a_sealed_secret(sim, home):
    """Who can write to the state must not choose the token of new nodes."""
    home.run('apply', 'cluster.yaml', '--auto-approve', env=KEYS)
    token = token_of(home, KEYS)
    home.edit_state(f"UPDATE resources SET outputs = '{{\"value\":\"{'e' * 64}\"}}' WHERE kind = 'raygpu.secret'")
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    before = sim.live_instances()
    assert 'state.unsealed' in home.run('plan', 'cluster.yaml', env=KEYS).err
    for use in (['apply', 'cluster.yaml', '--auto-approve'], ['import', 'cluster.yaml', 'aws.instance.serve[1]', 'i-00000000000000000']):
        refused = home.run(*use, env=KEYS, code=7)
        assert 'state.unsealed' in refused.err and 'someone has replaced them' in words(refused), refused
    assert sim.live_instances() == before and b'e' * 64 in kept(home)
    home.run('state', 'rm', 'raygpu.secret.ray_token', env=KEYS)
    home.run('apply', 'cluster.yaml', '--auto-approve', env=KEYS)
    assert len(sim.live_instances()) == 3 and token_of(home, KEYS) not in (token, 'e' * 64)


def test_damaged(home):
    home.run('apply', 'cluster.yaml', '--auto-approve', env=KEYS)
    home.edit_state("UPDATE resources SET outputs = replace(outputs, '\"}}', 'AAAA\"}}') WHERE kind = 'raygpu.secret'")
    for use in (['plan', 'cluster.yaml'], ['output', 'ray_token'], ['apply', 'cluster.yaml', '--auto-approve']):
        refused = home.run(*use, env=KEYS, code=1)
        assert 'state.corrupt' in refused.err and 'a sealed secret is not what was written' in words(refused)


def test_rotation(home):
    home.run('apply', 'cluster.yaml', '--auto-approve', env=KEYS)
    token = token_of(home, KEYS)
    for env in ({}, WRONG):
        refused = home.run('state', 'rekey', env=env, code=7)
        assert 'state.sealed' in refused.err and token_of(home, KEYS) == token
    assert token_of(home, ROTATED) == token
    said = home.run('state', 'rekey', env=ROTATED).out
    assert said.startswith('Cluster research: 1 secret sealed with the key ')
    rows = home.run('state', 'rekey', '--json', env=ROTATED).json()
    assert rows == [{'cluster': 'research', 'sealed': 0, 'key': said.split()[-1].rstrip('.')}]
    assert token_of(home, WRONG) == token
    home.run('output', 'ray_token', env=KEYS, code=7)
    assert home.run('state', 'rekey', '--unseal', env=WRONG).out == 'Cluster research: 1 secret is no longer sealed.\n'
    assert token_of(home, {}) == token


def rows_of(home, env, names):
    return [home.run('output', 'ray_token', '--cluster', name, env=env, code=None).code for name in names]


@pytest.mark.file_only
def test_a_rotation_killed_between_two_clusters(home):
    """The lock of the second cluster holds it there."""
    names = ['research', 'second']
    home.write('second.yaml', spec('second', pools={'serve': 1}))
    for name in ('cluster.yaml', 'second.yaml'):
        home.run('apply', name, '--auto-approve', env=KEYS)
    with open(f'{home.state}.second.lock', 'ab') as lock:
        fcntl.fcntl(lock, F_OFD_SETLK, WHOLE_FILE)
        home.env.update(ROTATED)
        process = home.start('state', 'rekey', '--lock-timeout', '600')
        while rows_of(home, {'RAYGPU_STATE_KEY_OLD': ''}, names[:1]) != [0]:
            assert process.poll() is None
        process.kill()
        process.communicate()
    assert rows_of(home, {'RAYGPU_STATE_KEY_OLD': ''}, names) == [0, 7]
    assert rows_of(home, {}, names) == [0, 0]
    done = home.run('state', 'rekey', '--json').json()
    assert [row['sealed'] for row in done] == [0, 1]
    assert rows_of(home, {'RAYGPU_STATE_KEY_OLD': ''}, names) == [0, 0]


@needs_postgres
@pytest.mark.file_only
def test_a_rotation_killed_at_every_write(sim, home, server):
    home.env.update(ROTATED)
    schema = server.url().split('schema=')[1]
    with Proxy(server.port) as proxy:
        through = server.url(schema, port=proxy.own)
        home.env['RAYGPU_STATE'] = server.url(schema)
        leave_open(sim, home, KEYS)
        token = token_of(home, KEYS)

        def begin():
            home.run('state', 'rekey', env={'RAYGPU_STATE_KEY': ONE, 'RAYGPU_STATE_KEY_OLD': TWO})

        def start():
            home.env['RAYGPU_STATE'] = through
            process = home.start('state', 'rekey')
            home.env['RAYGPU_STATE'] = server.url(schema)
            return process
        rounds = 0
        for killed in proxy.kills(begin, start):
            rounds += 1
            opened = [home.run('output', 'ray_token', env={'RAYGPU_STATE_KEY': key, 'RAYGPU_STATE_KEY_OLD': ''}, code=None)
                      for key in (ONE, TWO)]
            assert sorted(one.code for one in opened) == [0, 7] and (killed or opened[1].code == 0)
            assert token_of(home, {}) == token
            home.run('state', 'rekey')
            assert token_of(home, {'RAYGPU_STATE_KEY_OLD': ''}) == token
    assert rounds > 2
    home.run('apply', 'cluster.yaml', '--auto-approve')  # the open creation's input opens too
    assert len(sim.live_instances()) == 2


@pytest.mark.file_only
def test_where_keys_come_from(home):
    home.write('key', f'# made on Monday\n{ONE}\n')
    home.run('apply', 'cluster.yaml', '--auto-approve', env={'RAYGPU_STATE_KEY_FILE': 'key'})
    token = token_of(home, KEYS)
    assert token_of(home, {'RAYGPU_STATE_KEY_CMD': 'cat key'}) == token
    assert token_of(home, {'RAYGPU_STATE_KEY': (b'\x01' * 32).hex()}) == token
    assert token_of(home, {'RAYGPU_STATE_KEY': f'{TWO},{ONE}'}) == token
    assert token_of(home, {'RAYGPU_STATE_KEY_CMD': f'echo {TWO}; cat key'}) == token
    for env, text in (({'RAYGPU_STATE_KEY': 'correct horse'}, 'not a key'), ({'RAYGPU_STATE_KEY_FILE': 'missing'}, 'cannot be read'),
                      ({'RAYGPU_STATE_KEY_CMD': 'exit 3'}, 'exit status 3'), ({'RAYGPU_STATE_KEY_CMD': 'true'}, 'contains no key'),
                      ({**KEYS, 'RAYGPU_STATE_KEY_FILE': 'key'}, 'only one of'), ({**KEYS, 'RAYGPU_STATE_KEY_OLD': 'x'}, '_OLD contains')):
        refused = home.run('plan', 'cluster.yaml', env=env, code=4)
        assert 'state.bad-key' in refused.err and text in words(refused) and 'horse' not in refused.err, refused


@pytest.mark.file_only
def test_a_program_that_raygpu_starts_gets_no_key(home):
    """The command that prints a key is such a program; so are the shell of connect and credential helpers."""
    home.run('apply', 'cluster.yaml', '--auto-approve', env={
        'RAYGPU_STATE_KEY_CMD': f'env > seen; echo {ONE}', 'RAYGPU_STATE_KEY_OLD': TWO})
    assert 'PATH=' in home.read('seen') and 'RAYGPU_STATE_KEY_OLD' not in home.read('seen') and TWO not in home.read('seen')
    if os.path.exists('/proc/self/environ'):  # nor from the first environment of raygpu
        home.run('plan', 'cluster.yaml', env={'RAYGPU_STATE_KEY_CMD': f"tr '\\0' '\\n' < /proc/$PPID/environ > seen; echo {ONE}", 'RAYGPU_STATE_KEY_OLD': TWO})
        assert 'RAYGPU_STATE_KEY_OLD=' in home.read('seen') and TWO not in home.read('seen')


def test_documents(home):
    home.run('apply', 'cluster.yaml', '--auto-approve', env=KEYS)
    token = token_of(home, KEYS)
    text = home.run('state', 'pull').out
    document = json.loads(text)
    home.write('sealed.json', text)
    assert 'already matches' in home.run('state', 'push', 'sealed.json').out
    secret = next(r for r in document['clusters'][0]['resources'] if r['address'] == 'raygpu.secret.ray_token')
    secret['outputs'] = {'value': token}
    document['clusters'][0]['serial'] += 1
    home.write('clear.json', json.dumps(document))
    assert 'state.sealed' in home.run('state', 'push', 'clear.json', code=7).err
    home.run('state', 'push', 'clear.json', env=KEYS)
    assert token not in home.run('state', 'pull').out and token_of(home, KEYS) == token
    home.store.lose()
    assert 'state.sealed' in home.run('state', 'push', 'sealed.json', env=WRONG, code=7).err
    document['clusters'][0]['lineage'] = 'f' * 32
    secret['outputs'] = json.loads(text)['clusters'][0]['resources'][-1]['outputs']
    home.write('foreign.json', json.dumps(document))
    assert 'state.bad-document' in home.run('state', 'push', 'foreign.json', env=KEYS, code=4).err
    home.run('state', 'push', 'sealed.json')
    assert token_of(home, KEYS) == token


@needs_postgres
@pytest.mark.file_only
def test_it_moves_sealed(home, server):
    home.run('apply', 'cluster.yaml', '--auto-approve', env=KEYS)
    token, url = token_of(home, KEYS), server.url()
    home.run('state', 'migrate', home.state, url)
    assert token not in home.run('state', 'pull', '--state', url).out
    assert home.run('output', 'ray_token', '--state', url, env=KEYS).out.strip() == token

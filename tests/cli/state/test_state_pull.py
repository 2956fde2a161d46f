"""raygpu state pull and push: the state as a document, and back."""
import copy
import fcntl
import glob
import json
import os
import signal
import sqlite3
import stat
import struct
import time

import pytest
from program import spec
from report_schemas import validator


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'train': 3}))
    home.apply()
    return home


def pull(home, *more):
    text = home.run('state', 'pull', *more).out
    document = json.loads(text)
    errors = list(validator('state.schema.json').iter_errors(document))
    assert not errors, errors[0]
    return text


def words(result):
    return ' '.join(result.err.split())


def token(home):
    with sqlite3.connect(home.state) as db:
        (outputs,), = db.execute("SELECT outputs FROM resources WHERE kind = 'raygpu.secret'")
    return json.loads(outputs)['value']


def files(home):
    """What a refused command must leave unchanged; lock files come and go."""
    folder = home.path('.raygpu')
    return {name: open(os.path.join(folder, name), 'rb').read()
            for name in sorted(os.listdir(folder)) if not name.endswith('.lock')}


def test_a_lost_state_comes_back_from_its_document(sim, home):
    text = pull(home)
    home.run('state', 'pull', '--out', 'state.json')
    assert home.read('state.json') == text
    assert stat.S_IMODE(os.stat(home.path('state.json')).st_mode) == 0o600
    os.remove(home.state)
    sim.counters_reset()
    told = home.run('state', 'push', 'state.json').out
    assert '7 resources added, 0 removed, 0 replaced' in told and 'kept in' not in told
    assert sim.counters()['requests'] == 0
    assert pull(home) == text
    assert stat.S_IMODE(os.stat(home.state).st_mode) == 0o600
    home.run('plan', '--detailed-exitcode')
    home.run('drift')
    home.write('cluster.yaml', spec(pools={'train': 4}))
    assert 'Resources: 1 added, 0 changed, 0 destroyed.' in home.apply().out
    home.run('destroy', '--auto-approve')
    assert not sim.live_instances()


def test_standard_input_and_another_file(home):
    text = pull(home)
    told = home.run('state', 'push', '-', '--state', 'other.db', '--json', stdin=text).json()
    report, = told['clusters']
    assert told['backup'] is None and report['changed'] and report['serial_before'] is None
    assert len(report['added']) == 7 and report['removed'] == report['lost'] == []
    assert home.run('state', 'pull', '--state', 'other.db').out == text
    bad = home.run('state', 'push', '-', '--state', 'none.db', stdin=text[:-200], code=4)
    assert 'on <stdin>:' in bad.err and 'not valid JSON' in words(bad)
    assert not os.path.exists(home.path('none.db'))


def test_what_was_applied_since_is_not_lost_silently(sim, home):
    home.run('state', 'pull', '--out', 'old.json')
    home.write('cluster.yaml', spec(pools={'train': 4}))
    home.apply()
    node = next(r for r in json.loads(pull(home))['clusters'][0]['resources']
                if r['address'] == 'aws.instance.train[3]')
    before, was = files(home), pull(home)
    refused = home.run('state', 'push', 'old.json', code=6)
    assert 'the document is older' in words(refused) and 'pull again' in words(refused)
    look = home.run('state', 'push', 'old.json', '--force', '--dry-run')
    assert f"aws.instance.train[3] ({node['id']})" in look.err and 'costing money' in words(look)
    assert '1 removed' in look.out and '- aws.instance.train[3]' in look.out and 'kept in' not in look.out
    assert files(home) == before
    pushed = home.run('state', 'push', 'old.json', '--force')
    assert f"aws.instance.train[3] ({node['id']})" in pushed.err and '- aws.instance.train[3]' in pushed.out
    backup, = glob.glob(home.path('.raygpu/state.db.push-*.bak'))
    assert os.path.basename(backup) in pushed.out
    assert home.run('state', 'pull', '--state', backup).out == was
    assert stat.S_IMODE(os.stat(backup).st_mode) == 0o600
    run = home.run('log', '--json').json()[0]
    assert run['command'] == 'state push --force' and run['changes'] == {'forget': 1}
    assert node['id'] in home.run('state', 'orphans', code=2).out
    home.run('state', 'list', '--state', backup)


def test_an_edited_document_needs_a_higher_serial(home):
    document = json.loads(pull(home))
    cluster = document['clusters'][0]
    cluster['resources'] = [r for r in cluster['resources'] if r['address'] != 'aws.instance.train[1]']
    cluster['lifetimes'] = [r for r in cluster['lifetimes'] if r['resource'] != 'aws.instance.train[1]']
    home.write('edited.json', json.dumps(document))
    assert 'other content' in words(home.run('state', 'push', 'edited.json', code=6))
    cluster['serial'] += 1
    home.write('edited.json', json.dumps(document))
    pushed = home.run('state', 'push', 'edited.json')
    assert 'may be running' in words(pushed) and '- aws.instance.train[1]' in pushed.out
    assert json.loads(pull(home)) == {**document, 'blobs': json.loads(pull(home))['blobs']}
    assert 'already matches the document' in home.run('state', 'push', 'edited.json').out
    assert len(glob.glob(home.path('.raygpu/*.bak'))) == 1


def test_another_cluster_of_the_same_name_is_refused(tmp_path, sim, home):
    home.run('state', 'pull', '--out', 'state.json')
    os.rename(home.state, home.path('kept.db'))
    home.write('cluster.yaml', spec(pools={'train': 1}, region='us-west-2'))
    home.apply()
    before = files(home)
    refused = home.run('state', 'push', 'state.json', code=6)
    assert 'lineage' in words(refused)
    assert files(home) == before


@pytest.mark.parametrize('force', [(), ('--force',)])
def test_open_creations_are_never_overwritten(sim, home, force):
    home.run('state', 'pull', '--out', 'state.json')
    home.write('cluster.yaml', spec(pools={'train': 4}))
    sim.fault(action='RunInstances', when='after', status=500, code='InternalError', count=0)
    home.apply(code=None)
    sim.faults_clear()
    before = files(home)
    assert 'of unknown outcome' in words(home.run('state', 'push', 'state.json', *force, code=6))
    open_one = pull(home)
    assert json.loads(open_one)['clusters'][0]['journal'][0]['members'][0]['address'] == 'aws.instance.train[3]'
    refused = home.run('state', 'push', '-', *force, '--state', 'other.db', stdin=open_one, code=6)
    assert '/clusters/0/journal' in refused.err and 'raygpu apply' in words(refused)
    assert files(home) == before and not os.path.exists(home.path('other.db'))
    assert token(home) not in pull(home, '--redact')


def test_redacted_documents_hold_no_secret_and_are_refused(home):
    secret = token(home)
    home.write('cluster.yaml', spec(pools={'train': 3}, pool_extra=', env: {PASS: "hunter2hunter2"}'))
    home.apply()
    assert secret in pull(home)
    text = pull(home, '--redact')
    assert secret not in text and 'hunter2' not in text
    assert 'g4dn.xlarge' in text and '"$redacted"' in text
    home.write('redacted.json', text)
    before = files(home)
    for more in ((), ('--force',)):
        assert 'secrets were removed' in words(home.run('state', 'push', 'redacted.json', *more, code=4))
    document = json.loads(text)
    del document['redacted']
    home.write('redacted.json', json.dumps(document))
    assert 'state.redacted' in words(home.run('state', 'push', 'redacted.json', '--force', code=4))
    assert files(home) == before


def change(path, value):
    def hurt(document):
        at = document
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
    return hurt


NODE = ('clusters', 0, 'resources', 0)
HOSTILE = {
    'newer': (change(('raygpu_format',), 2), 'formats up to 1', 1),
    'text-for-number': (change(('clusters', 0, 'serial'), '7'), 'must be of type', 4),
    'huge-number': (change(('clusters', 0, 'serial'), 2 ** 62), 'breaks the rule maximum', 4),
    'no-address': (change((*NODE, 'address'), "x'; DROP TABLE clusters"), 'must be of the form', 4),
    'unknown-key': (change((*NODE, 'extra'), 1), 'unknown key', 4),
    'dangling': (change((*NODE, 'depends_on'), ['aws.instance.none']), 'refers to aws.instance.none', 4),
    'dangling-ref': (change((*NODE, 'attributes', 'x'), [{'$ref': 'aws.instance.none', 'attr': 'id'}]),
                     'refers to aws.instance.none', 4),
    'twice': (lambda d: d['clusters'][0]['resources'].append(copy.deepcopy(d['clusters'][0]['resources'][0])),
              'is already recorded at', 4),
    'clusters-twice': (lambda d: d['clusters'].append(copy.deepcopy(d['clusters'][0])), 'is already recorded at', 4),
    'no-cluster': (change(('clusters',), []), 'minItems', 4),
    'deep': (change((*NODE, 'attributes', 'x'), json.loads('[' * 400 + ']' * 400)), 'nested too deep', 4),
    'lost-blob': (change(('blobs',), {}), 'refers to no value', 4),
}


@pytest.mark.parametrize('name', HOSTILE)
def test_hostile_documents_change_nothing(home, name):
    hurt, text, code = HOSTILE[name]
    document = json.loads(pull(home))
    hurt(document)
    home.write('bad.json', json.dumps(document, indent=1))
    before = files(home)
    result = home.run('state', 'push', 'bad.json', code=code)
    assert text in words(result) and '[state.' in result.err
    assert files(home) == before
    home.run('state', 'push', 'bad.json', '--state', 'new.db', code=code)
    assert not os.path.exists(home.path('new.db'))


def test_cut_and_huge_documents_change_nothing(home):
    text = pull(home)
    before = files(home)
    for cut in (0, 1, 100, len(text) // 2, len(text) - 3):
        home.write('bad.json', text[:cut])
        assert 'not valid JSON' in words(home.run('state', 'push', 'bad.json', code=4))
    home.write('bad.json', '[' * 1000000)
    home.run('state', 'push', 'bad.json', code=4)
    with open(home.path('bad.json'), 'wb') as f:
        f.truncate(512 * 1024 * 1024 + 2)
    assert 'larger than a state' in words(home.run('state', 'push', 'bad.json', code=4))
    home.run('state', 'push', 'none.json', code=4)
    home.run('state', 'push', '.', code=4)
    assert files(home) == before


def test_independent_validator_has_the_same_verdicts(home):
    schema = validator('state.schema.json')
    document = json.loads(pull(home))
    verdicts = []
    for value in (None, 0, -1, 2 ** 60, 'x', [], {}, 0.5, ['a.b.c']):
        for path in (('serial',), ('lineage',), ('config',), ('facts',), ('runs',), ('runs', 0, 'meta'),
                     ('resources', 0, 'pin'), ('resources', 0, 'depends_on'), ('resources', 0, 'generation'),
                     ('lifetimes', 0, 'ended_s'), ('history_from_s',)):
            changed = copy.deepcopy(document)
            change(('clusters', 0, *path), value)(changed)
            fine = schema.is_valid(changed)
            told = home.run('state', 'push', '-', '--state', 'none.db', '--dry-run', '--force', code=None,
                            stdin=json.dumps(changed))
            shape = any(w in words(told) for w in ('must be', 'is missing', 'breaks the rule', 'unknown key'))
            assert fine == (not shape), (path, value, told)
            verdicts.append(fine)
    assert True in verdicts and False in verdicts


def test_several_clusters(sim, home):
    home.write('two.yaml', spec(name='two', pools={'serve': 1}))
    home.apply('two.yaml')
    both, one = pull(home), pull(home, '--cluster', 'two')
    assert [c['name'] for c in json.loads(both)['clusters']] == ['research', 'two']
    assert json.loads(both)['clusters'][1] == json.loads(one)['clusters'][0]
    home.run('state', 'pull', '--cluster', 'none', code=4)
    home.write('both.json', both)
    home.write('one.json', one)
    home.run('state', 'push', 'both.json', '--cluster', 'research', '--state', 'new.db')
    assert home.run('state', 'pull', '--state', 'new.db').json()['clusters'] == json.loads(both)['clusters'][:1]
    home.run('state', 'push', 'one.json', '--state', 'new.db')
    assert home.run('state', 'pull', '--state', 'new.db').out == both
    # the other cluster has changed since, and stays
    home.run('state', 'rm', 'aws.instance.train[0]', '--cluster', 'research')
    home.run('state', 'rm', 'aws.instance.serve[0]', '--cluster', 'two')
    kept = json.loads(pull(home, '--cluster', 'research'))
    home.run('state', 'push', 'one.json', '--force')
    assert json.loads(pull(home, '--cluster', 'research')) == kept
    home.run('plan', 'two.yaml', '--detailed-exitcode')


# struct flock of a 64-bit Linux: the whole file, written to
WHOLE_FILE = struct.pack('hhqqi', fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
F_OFD_SETLK = 37


def test_nothing_is_pushed_past_a_lock(home):
    document = json.loads(pull(home))
    document['clusters'][0]['serial'] += 1
    home.write('state.json', json.dumps(document))
    before = files(home)
    with open(home.state + '.research.lock', 'w', encoding='utf-8') as lock:
        fcntl.fcntl(lock, F_OFD_SETLK, WHOLE_FILE)
        refused = home.run('state', 'push', 'state.json', code=5)
        assert 'is locked by another run' in words(refused)
        assert files(home) == before
        home.run('state', 'push', 'state.json', '--dry-run')
        waiting = home.start('state', 'push', 'state.json', '--lock-timeout', '60')
    out, err = waiting.communicate(timeout=90)
    assert waiting.returncode == 0, out + err
    assert json.loads(pull(home))['clusters'][0]['serial'] == document['clusters'][0]['serial']


def test_options_of_other_verbs_are_refused(home):
    for line in (('list', '--out', 'x'), ('push', 'x', '--redact'), ('pull', '--force'), ('rm', 'x', '--force'),
                 ('pull', 'x'), ('push',), ('push', 'x', 'y'), ('show', 'x', '--dry-run'), ('pull', '--lineage', 'x')):
        assert home.run('state', *line, code=4).err


def many(document, n):
    """The same cluster with n more nodes, each with a record of its own."""
    document = copy.deepcopy(document)
    cluster = document['clusters'][0]
    node = next(r for r in cluster['resources'] if r['address'] == 'aws.instance.train[0]')
    for i in range(10, 10 + n):
        cluster['resources'].insert(i % 3, {**node, 'address': f'aws.instance.many[{i}]', 'id': f'i-many{i}', 'pool': 'many',
                                     'marked': None, 'attributes': {**node['attributes'], 'number': i}})
    cluster['serial'] += 1
    return document


def test_a_killed_push_leaves_the_old_state_or_the_new(home):
    old = pull(home)
    home.write('new.json', json.dumps(many(json.loads(old), 2000)))
    home.run('state', 'push', 'new.json', '--state', 'fine.db')
    new = home.run('state', 'pull', '--state', 'fine.db').out
    first = files(home)['state.db']
    seen = {old: 0, new: 0}
    pause = 0.01
    for _ in range(12):
        for name in os.listdir(home.path('.raygpu')):
            os.remove(home.path('.raygpu/' + name))
        with open(home.state, 'wb') as f:
            f.write(first)
        process = home.start('state', 'push', 'new.json')
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed = process.returncode == -signal.SIGKILL
        pause = pause * 1.5 if killed else pause * 0.7
        seen[home.run('state', 'pull').out] += 1
    home.run('state', 'push', 'new.json')
    assert pull(home) == new
    assert seen[old] > 0, seen

"""raygpu debug-bundle: what is in the archive, and that no secret is."""
import base64
import contextlib
import gzip
import io
import json
import os
import pty
import re
import subprocess
import tarfile
import urllib.parse
import zipfile

import pytest
from program import Home, binary, spec
from report_schemas import validator
from shared import sim  # noqa: F401

NAME = 'raygpu-debug-research.tar.gz'
TOKEN = 'IQoJb3JpZ2luX2VjEDA+session/token=='
PASSWORD = 'a-password+of/postgres'
KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture
def home(tmp_path, sim):  # noqa: F811
    """After a run that left a trace; the spec extends a file."""
    sim.reset()
    home = Home(tmp_path, sim.env())
    home.env['RAYGPU_STATE_KEY'] = KEY
    home.write('base.yaml', spec(pools={'serve': 2}).replace('cluster: research\n', ''))
    home.write('cluster.yaml', 'extends: base.yaml\ncluster: research\n')
    home.write('raygpu.yaml', 'policy: {max_nodes: 40}\n')
    home.apply('cluster.yaml', '--no-wait', '--trace', 'run.jsonl')
    return home


def unpack(home, name=NAME):
    with tarfile.open(home.path(name)) as tar:
        members = tar.getmembers()
        assert [one.name for one in members] == sorted(one.name for one in members)
        assert all(one.mode == 0o600 and one.mtime == 0 and one.uid == 0 and one.isfile() for one in members)
        return {one.name: tar.extractfile(one).read().decode() for one in members}


def inner(text):
    """A text, and what is packed in it, however deep."""
    yield text
    for word in re.findall(r'[A-Za-z0-9+/]{40,}={0,2}', text):
        with contextlib.suppress(ValueError, OSError, EOFError):
            data = base64.b64decode(word + '=' * (-len(word) % 4))
            if data[:2] == b'\x1f\x8b':
                data = gzip.GzipFile(fileobj=io.BytesIO(data)).read()
            yield from inner(data.decode())


def forms(secret):
    yield secret
    yield urllib.parse.quote(secret, safe='')
    yield base64.b64encode(secret.encode()).decode().rstrip('=')[:-1]


def test_it_has_all_that_explains_a_run(home):
    with open(home.path('run.jsonl'), 'rb') as f:
        trace = f.read().decode()
    home.run('plan', '--out', 'saved.json')
    said = home.run('debug-bundle', '--trace', 'run.jsonl', '--plan', 'saved.json', '--auto-approve')
    files = unpack(home)
    assert list(files) == ['doctor.json', 'log.json', 'plan.json', 'saved-plan.json', 'spec/cluster.yaml', 'spec/extends-01-base.yaml',
                           'spec/raygpu.yaml', 'state.json', 'trace.jsonl', 'versions.json']
    for name, text in files.items():
        assert re.search(rf'^  {re.escape(name)} +{len(text.encode())} bytes  \w', said.out, re.M), said
    assert os.stat(home.path(NAME)).st_mode & 0o777 == 0o600 and said.out.endswith(f'\nWrote {NAME}.\n') and not said.err
    assert files['trace.jsonl'].startswith(trace) and 'RunInstances' in trace
    assert files['spec/extends-01-base.yaml'] == home.read('base.yaml') and files['saved-plan.json'] == home.read('saved.json')
    validator('doctor.schema.json').validate(json.loads(files['doctor.json']))
    state, log = json.loads(files['state.json']), json.loads(files['log.json'])
    assert state['redacted'] and [one['name'] for one in state['clusters']] == ['research']
    assert log[0]['command'] == 'apply' and {'head', 'serve'} <= {one['address'].split('.')[2].split('[')[0] for one in log[0]['steps']}
    assert json.loads(files['plan.json'])['resource_changes'] is not None
    assert json.loads(files['versions.json'])['raygpu'] and 'libcurl' in files['versions.json']


def test_it_asks_and_overwrites_nothing(home):
    refused = home.run('debug-bundle', code=4)
    assert 'cannot ask for approval: no terminal' in refused.err and 'state.json' in refused.out
    assert not os.path.exists(home.path(NAME))
    for word, code in (('no', 1), ('yes', 0)):
        main, terminal = pty.openpty()
        os.write(main, word.encode() + b'\n')
        process = subprocess.run([binary(), 'debug-bundle'], cwd=home.folder, env=home.env, stdin=terminal, capture_output=True,
                                 text=True, check=False)
        os.close(main)
        os.close(terminal)
        assert process.returncode == code and 'Do you want to write this archive?' in process.stderr, process
        assert os.path.exists(home.path(NAME)) == (code == 0)
    with open(home.path(NAME), 'rb') as f:
        first = f.read()
    assert 'already exists' in home.run('debug-bundle', '--auto-approve', code=1).err
    os.symlink('nowhere', home.path('link.tar.gz'))
    home.run('debug-bundle', '--auto-approve', '--out', 'link.tar.gz', code=1)
    # the same again: the same bytes
    document = home.run('debug-bundle', '--auto-approve', '--json', '--out', 'again.tar.gz').json()
    validator('bundle.schema.json').validate(document)
    assert [one['name'] for one in document['files']] == list(unpack(home, 'again.tar.gz')) and document['not_included'] == []
    assert unpack(home, 'again.tar.gz') == unpack(home)
    with open(home.path('again.tar.gz'), 'rb') as f:
        assert f.read() == first
    home.run('debug-bundle', '--auto-approve', '--out', 'small.tar.zst')
    with open(home.path('small.tar.zst'), 'rb') as f:
        assert f.read(4) == b'\x28\xb5\x2f\xfd'
    home.run('debug-bundle', '--auto-approve', '--out', 'small.zip')
    with zipfile.ZipFile(home.path('small.zip')) as archive:
        assert archive.testzip() is None and archive.namelist() == list(unpack(home))
        assert archive.read('spec/cluster.yaml').decode() == home.read('cluster.yaml')


def test_it_names_what_it_cannot_know_to_be_secret(home):
    planted = {'env': 'in-env-1', 'setup_commands': 'in-setup-2', 'initialization_commands': 'in-init-3', 'options': 'in_mount_4'}
    home.write('cluster.yaml', 'extends: base.yaml\ncluster: research\n'
               'head: {env: {PGPASS: in-env-1}}\nsetup_commands: [login in-setup-2]\ninitialization_commands: [login in-init-3]\n'
               'mounts: [{type: nfs, source: "nfs.example.org:/x", path: /mnt/x, options: "rw,password=in_mount_4"}]\n')
    said = home.run('debug-bundle', '--auto-approve')
    files = unpack(home)
    for name, text in planted.items():
        assert 'plan.json' in files, said
        assert text in files['spec/cluster.yaml'] and any(text in part for part in inner(files['plan.json'])), name
        assert f'`{name}`' in said.out.split('\n\n', 1)[1], 'the file must be checked for it'
    assert all(name in said.out.split('Secrets that', 1)[1] for name in ('spec/', 'plan.json', 'saved-plan.json', 'state.json', 'log.json'))


def plant(home, secrets):
    """Into everything that is included as it is, in every form."""
    lines = [f'# {text}\n' for secret in secrets for text in forms(secret)]
    for name in ('base.yaml', 'cluster.yaml', 'raygpu.yaml'):
        home.write(name, home.read(name) + ''.join(lines))
    with open(home.path('run.jsonl'), 'a', encoding='utf-8') as f:
        f.writelines(json.dumps({'note': line}) + '\n' for line in lines)
    home.write('saved.json', json.dumps(lines))


@pytest.mark.parametrize('way', ['as it is', 'session', 'profile', 'postgres', 'no spec'])
def test_no_secret_is_in_it(home, way):
    secrets = [home.run('output', 'ray_token').out.strip(), KEY, home.env['AWS_SECRET_ACCESS_KEY']]
    env = {}
    if way == 'session':
        secrets.append(TOKEN)
        env['AWS_SESSION_TOKEN'] = TOKEN
    if way == 'profile':
        path = home.write('keys', '[ci]\naws_access_key_id = {AWS_ACCESS_KEY_ID}\n'
                                  'aws_secret_access_key = {AWS_SECRET_ACCESS_KEY}\n'.format(**home.env))
        env.update(AWS_PROFILE='ci', AWS_SHARED_CREDENTIALS_FILE=path)
        del home.env['AWS_ACCESS_KEY_ID'], home.env['AWS_SECRET_ACCESS_KEY']
    if way == 'postgres':  # nothing is there: its secrets are not known, but neither are those of the other state
        secrets = [KEY, home.env['AWS_SECRET_ACCESS_KEY'], PASSWORD]
        env['RAYGPU_STATE'] = f'postgres://me:{urllib.parse.quote(PASSWORD, safe="")}@127.0.0.1:1/infra?connect_timeout=1'
    assert all(len(secret) > 15 for secret in secrets)
    plant(home, secrets)
    if way == 'no spec':
        home.write('cluster.yaml', 'pools: [' + home.read('cluster.yaml'))
    home.run('debug-bundle', '--trace', 'run.jsonl', '--plan', 'saved.json', '--auto-approve', '--out', NAME, env=env)
    files = unpack(home)
    assert '[redacted]' in files['spec/cluster.yaml'] and '[redacted]' in files['trace.jsonl']
    if way == 'as it is':
        assert 'state.json' in files and 'plan.json' in files
    for name, text in files.items():
        for part in inner(text):
            for secret in secrets:
                assert not [form for form in forms(secret) if form in part], (name, secret)

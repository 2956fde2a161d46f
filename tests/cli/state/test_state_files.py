"""Files of every state version, opened by every command; several clusters in one file."""
import os
import shutil
import sqlite3

import pytest
from program import ROOT, Home, spec
from sim_server import Sim

MIGRATE = ROOT / 'tests/migrate'
VERSIONS = sorted((name for name in os.listdir(MIGRATE) if name.endswith('.db')), key=lambda name: (len(name), name))


@pytest.fixture
def old(tmp_path, request):
    home = Home(tmp_path)
    os.makedirs(home.path('.raygpu'), mode=0o700)
    shutil.copy(os.path.join(MIGRATE, request.param), home.state)
    return home


def contents(folder):
    return {name: open(os.path.join(folder, name), 'rb').read() for name in sorted(os.listdir(folder))}


@pytest.mark.parametrize('old', VERSIONS, indirect=True)
def test_reading_commands_open_it_and_change_no_byte(old):
    before = contents(old.path('.raygpu'))
    assert 'aws.instance.train[0]' in old.run('state', 'list').out
    assert 'i-0' in old.run('state', 'show', 'aws.instance.train[0]').out
    assert old.run('state', 'show', 'aws.instance.train[0]', '--json').json()['values']['id'] == 'i-0'
    assert 'aws.instance.train[2]' in old.run('show').out
    assert len(old.run('show', '--json').json()['values']['root_module']['resources']) == 4
    assert 'partial' in old.run('log').out
    old.run('state', 'mv', 'aws.instance.train[0]', 'aws.instance.big[0]', '--dry-run')
    assert contents(old.path('.raygpu')) == before


@pytest.mark.parametrize('old', VERSIONS, indirect=True)
@pytest.mark.parametrize('words', [('rm', 'aws.instance.train[0]'),
                                   ('mv', 'aws.instance.train[0]', 'aws.instance.big[0]')])
def test_writing_commands_migrate_it_and_keep_a_copy(old, words):
    version = int(os.path.basename(old.state) and sqlite3.connect(old.state).execute('PRAGMA user_version').fetchone()[0])
    kept = contents(old.path('.raygpu'))['state.db']
    old.run('state', *words)
    newest = int(VERSIONS[-1][len('state_v'):-len('.db')])
    assert sqlite3.connect(old.state).execute('PRAGMA user_version').fetchone()[0] == newest
    assert 'train[0]' not in old.run('state', 'list').out
    if version < newest:
        assert contents(old.path('.raygpu'))[f'state.db.v{version}.bak'] == kept


def test_a_newer_state_is_refused_by_every_command(tmp_path):
    home = Home(tmp_path)
    home.write('cluster.yaml', spec())
    os.makedirs(home.path('.raygpu'), mode=0o700)
    shutil.copy(os.path.join(MIGRATE, VERSIONS[-1]), home.state)
    with sqlite3.connect(home.state) as db:
        db.execute('PRAGMA user_version = 98')
    db.close()
    before = contents(home.path('.raygpu'))
    for words in (('state', 'list'), ('state', 'rm', 'x'), ('state', 'mv', 'x', 'y'), ('log',), ('show',),
                  ('plan',), ('drift',), ('apply', '--auto-approve'), ('state', 'orphans'),
                  ('state', 'pull'), ('state', 'rebuild'), ('import', 'cluster.yaml', 'aws.instance.serve[0]', 'i-1')):
        result = home.run(*words, code=1)
        assert 'version 98' in result.err and 'install the newer raygpu' in ' '.join(result.err.split())
    assert contents(home.path('.raygpu')) == before


def test_several_clusters_keep_apart(tmp_path):
    with Sim('--boot-ms', '20', '--shutdown-ms', '20') as sim:
        home = Home(tmp_path, sim.env())
        for name in ('one', 'two'):
            home.write(f'{name}.yaml', spec(name=name, pools={'serve': 1}))
            home.apply(f'{name}.yaml')
        for words in (('state', 'list'), ('state', 'show', 'aws.instance.head'), ('state', 'orphans'),
                      ('state', 'rm', 'aws.instance.serve[0]'), ('state', 'mv', 'aws.instance.serve', 'aws.instance.x')):
            result = home.run(*words, code=4)
            assert 'several clusters: one, two' in ' '.join(result.err.split())
        two = home.run('state', 'list', '--cluster', 'two').out
        home.run('state', 'mv', 'aws.instance.serve', 'aws.instance.big', '--cluster', 'one')
        assert home.run('state', 'list', '--cluster', 'two').out == two
        assert 'aws.instance.big[0]' in home.run('state', 'list', '--cluster', 'one').out
        assert [r['command'] for r in home.run('log', '--cluster', 'one', '--json').json()] == ['state mv', 'apply']
        assert [r['command'] for r in home.run('log', '--cluster', 'two', '--json').json()] == ['apply']
        home.run('plan', 'two.yaml', '--detailed-exitcode')
        home.run('state', 'orphans', '--cluster', 'two')
        home.run('destroy', '--cluster', 'two', '--auto-approve')
        assert len(sim.live_instances()) == 2
        # a lock belongs to one cluster: the other's does not stop a writer
        home.run('state', 'rm', 'aws.instance.big[0]', '--cluster', 'one')

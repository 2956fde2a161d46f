"""raygpu state migrate: between a file and each store elsewhere, killed at every write, and what becomes of the old state."""
import json
import os
import shutil

import pytest
from document_stores import Documents
from postgres_server import PASSWORD, needs_postgres
from program import spec
from sim_server import tags_of
from stores import DISTANT, STORES, parameters

LONG = bool(os.environ.get('RAYGPU_LONG'))
USES = [('plan', 'cluster.yaml'), ('apply', 'cluster.yaml', '--auto-approve'), ('drift', 'cluster.yaml'),
        ('destroy', 'cluster.yaml', '--auto-approve'), ('show',), ('state', 'pull'), ('state', 'list'), ('log',), ('cost',),
        ('state', 'rm', 'aws.instance.head'), ('output',)]


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


def words(result):
    return ' '.join(result.err.split())


def content(home, place):
    """What it has, without the serials, which rise; None: it is refused."""
    result = home.run('state', 'pull', '--state', place, code=None)
    if result.code:
        assert any(code in result.err for code in ('state.migrated', 'state.half-moved', 'state.no-such-cluster')), result
        return None
    document = result.json()
    for cluster in document['clusters']:
        del cluster['serial']
    return document


def check(sim, home, place, serve):
    """The next apply finds all of it: no orphan, no duplicate."""
    home.run('apply', 'cluster.yaml', '--auto-approve', '--state', place)
    live = sim.live_instances()
    assert sorted(tags_of(i)['raygpu:pool'] for i in live) == ['head'] + ['serve'] * serve
    assert 'No changes' in home.run('plan', 'cluster.yaml', '--state', place).out


def leave_open(sim, home, place):
    """A creation of unknown outcome: its nodes exist, and only the journal knows of them."""
    fault = sim.fault(action='RunInstances', when='after', close=True, count=0)
    assert fault
    home.run('apply', 'cluster.yaml', '--auto-approve', '--state', place, code=None)
    sim.faults_clear()
    journal = home.run('state', 'pull', '--state', place).json()['clusters'][0]['journal']
    assert journal and sim.live_instances()


def over(*names):
    """With --long, each store elsewhere."""
    return pytest.mark.parametrize('store', parameters(DISTANT if LONG else names), indirect=True)


@pytest.fixture
def store(home, request):
    """Elsewhere; without --state, the file is meant."""
    store = STORES[request.param][0](home, request)
    del home.env['RAYGPU_STATE']
    return store


@pytest.fixture
def url(store):
    return store.place


@over('postgres', 's3')
def test_there_and_back(sim, home, url):
    leave_open(sim, home, home.state)
    before = content(home, home.state)
    dry = home.run('state', 'migrate', home.state, url, '--dry-run')
    assert 'open creation' in dry.out and 'would be moved' in dry.out and PASSWORD not in dry.out
    assert content(home, url) is None and content(home, home.state) == before
    sim.counters_reset()
    moved = home.run('state', 'migrate', home.state, url, '--json').json()
    assert moved['clusters'][0]['open'] > 0 and len(moved['clusters'][0]['digest']) == 64
    assert PASSWORD not in json.dumps(moved) and sim.counters()['requests'] == 0
    assert content(home, url) == before
    for use in USES:
        refused = home.run(*use, code=4)
        assert 'state.migrated' in refused.err and moved['to'] in words(refused) and PASSWORD not in refused.err, (use, refused)
    check(sim, home, url, 2)
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    check(sim, home, url, 3)
    after = content(home, url)
    home.run('state', 'pull', '--state', url, '--out', 'after.json')
    home.run('state', 'migrate', url, home.state)  # over what was left there
    assert content(home, home.state) == after
    for use in [*USES, ('state', 'push', 'after.json')]:
        refused = home.run(*use, '--state', url, code=4)
        assert 'state.migrated' in refused.err and os.path.realpath(home.state) in ''.join(refused.err.split()), (use, refused)
    assert 'moved before' in home.run('state', 'migrate', url, home.state).out
    check(sim, home, home.state, 3)
    runs = [run['outcome'] for run in home.run('log', '--json').json()]
    assert len(runs) >= 3 and runs[0] == 'done'
    home.run('state', 'migrate', home.state, url)
    assert 'No changes' in home.run('plan', 'cluster.yaml', '--state', url).out


@over('postgres')
def test_targets_that_are_refused(home, store, url):
    home.apply()
    shutil.copy(home.state, home.path('copy.db'))
    kept = content(home, home.state)
    home.write('theirs.yaml', spec(region='us-west-2'))
    home.run('apply', 'theirs.yaml', '--auto-approve', '--state', url)  # the same name, another lineage
    theirs = content(home, url)
    for words_of in (('--dry-run',), ()):
        refused = home.run('state', 'migrate', home.state, url, *words_of, code=6)
        assert 'state.migrate-refused' in refused.err and 'lineage' in refused.err and PASSWORD not in refused.err
    refused = home.run('state', 'migrate', home.state, 'copy.db', code=6)
    assert 'state.migrate-refused' in refused.err and 'two copies' in words(refused)
    assert content(home, home.state) == kept and content(home, url) == theirs
    assert 'state.migrate-refused' in home.run('state', 'migrate', home.state, home.state, code=6).err
    assert 'state.no-such-cluster' in home.run('state', 'migrate', 'missing.db', store.new(), code=4).err
    assert not os.path.exists(home.path('missing.db'))
    if hasattr(store, 'wrong'):
        denied = home.run('state', 'migrate', home.state, store.wrong(), code=7)
        assert 'state.denied' in denied.err and content(home, home.state) == kept
    home.run('state', 'migrate', home.state, 'new/x.db')
    assert 'state.migrate-refused' in home.run('state', 'migrate', 'copy.db', 'new/x.db', code=6).err
    refused = home.run('state', 'migrate', home.state, store.new(), code=4)
    assert 'state.migrated' in refused.err and 'new/x.db' in ''.join(refused.err.split())


@over('postgres')
def test_other_clusters_of_the_target_stay(home, url):
    """Two teams move into one database, and its clusters do not wait for each other."""
    home.apply()
    home.write('second.yaml', spec('second', pools={'serve': 1}))
    home.run('apply', 'second.yaml', '--auto-approve', '--state', 'second.db')
    home.run('state', 'migrate', home.state, url)
    home.run('state', 'migrate', 'second.db', url)
    assert [c['name'] for c in content(home, url)['clusters']] == ['research', 'second']
    for name in ('cluster.yaml', 'second.yaml'):
        assert 'No changes' in home.run('plan', name, '--state', url).out
    both = content(home, url)
    moved = home.run('state', 'migrate', url, 'both.db').out
    assert 'Cluster research' in moved and 'Cluster second' in moved
    assert content(home, 'both.db') == both


@over('postgres')
def test_it_waits_for_a_run(sim, home, url):
    home.apply()
    sim.knobs(latency_ms=60000)
    process = home.start('apply', 'cluster.yaml', '--auto-approve')  # holds the lock, and waits for the cloud
    while not sim.counters()['requests']:  # while it plans, under its lock
        assert process.poll() is None
    refused = home.run('state', 'migrate', home.state, url, code=5)
    assert 'state.locked' in refused.err and 'raygpu apply' in words(refused)
    process.kill()
    process.communicate()
    sim.knobs(latency_ms=0)
    home.run('state', 'migrate', home.state, url)


def points_of(store):
    """Stores of documents have many writes."""
    return [(2, True), (5, True), (8, False)] if isinstance(store, Documents) and not LONG else None


@over('postgres', 's3')
@pytest.mark.parametrize('way', ['into', 'out of'])
def test_killed_at_every_write(sim, home, store, way):
    """Of the server; those of files are in tests/unit/test_transfer_migrate.c."""
    leave_open(sim, home, home.state)
    shutil.copy(home.state, home.path('kept.db'))
    before = content(home, home.state)
    places = []
    rounds = neither = 0

    def begin():
        """A new schema each time; the same file."""
        places[:] = [home.state, store.through(proxy, store.new())]
        shutil.copy(home.path('kept.db'), home.state)
        if way == 'out of':
            home.run('state', 'migrate', *places)
            os.remove(home.state)
            places.reverse()
    with store.proxy() as proxy:
        for killed in proxy.kills(begin, lambda: home.start('state', 'migrate', *places), points_of(store)):
            rounds += 1
            old, new = (content(home, place) for place in places)
            assert not (old and new) and old in (None, before) and new in (None, before), rounds
            neither += not old and not new  # between the two marks
            assert killed or (new and not old)
            home.run('state', 'migrate', *places)
            assert content(home, places[0]) is None and content(home, places[1]) == before
    assert (rounds > 8 and neither > 0) or points_of(store), (rounds, neither)


@needs_postgres
def test_older_tables_and_deleted_sums(home, server):
    """Tables of version 9, whose clusters had one column less; rows that were edited by hand."""
    url = home.env['RAYGPU_STATE'] = server.url()
    schema = url.split('schema=')[1]
    home.apply()
    server.sql(f'ALTER TABLE {schema}.clusters DROP COLUMN moved; UPDATE {schema}.state SET version = 9;'
               f"UPDATE {schema}.sums SET sum = sum + 1 WHERE name = 'clusters'")  # of rows without it
    assert 'have version 9' in words(home.run('plan', 'cluster.yaml', code=1))
    for pools in ({'serve': 3}, {'serve': 2}):
        home.write('cluster.yaml', spec(pools=pools))
        home.apply()
        assert 'No changes' in home.run('plan', 'cluster.yaml').out
        server.sql(f'DELETE FROM {schema}.sums')
    server.sql(f"UPDATE {schema}.resources SET cloud_id = 'i-0' WHERE cloud_id LIKE 'i-%'")
    home.run('state', 'list')
    assert server.sql(f'SELECT count(*) FROM {schema}.sums') == [['0']]

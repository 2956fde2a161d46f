"""A state in PostgreSQL: what teams and their pipelines do with it, and what goes wrong."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import time

import postgres_server
import pytest
from postgres_server import PASSWORD, Postgres, free_port, needs_postgres
from program import ROOT, Home, spec
from sim_server import Sim
from store_checks import check, words

pytestmark = needs_postgres
LONG = bool(os.environ.get('RAYGPU_LONG'))


@pytest.fixture
def url(server):
    return server.url()


@pytest.fixture
def home(home, url):
    home.env['RAYGPU_STATE'] = url
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


def schema_of(url):
    return re.search(r'schema=(\w+)', url).group(1)


def test_the_password_is_never_told(home, other, server, url):
    home.env['RAYGPU_LOG'] = 'debug'
    planned = home.run('plan', 'cluster.yaml', '--out', 'saved.plan', '--trace', 'trace')
    plan = home.read('saved.plan')
    name = f'postgres://127.0.0.1:{server.port}/postgres?schema={schema_of(url)}'
    assert name in plan
    applied = home.run('apply', 'saved.plan')
    failed = home.run('state', 'list', '--state', url.replace(f':{server.port}/', f':{free_port()}/'), code=1)
    assert 'state.unreachable' in failed.err
    for text in (plan, home.read('trace'), *(r.out + r.err for r in (planned, applied, failed))):
        assert PASSWORD not in text and 'raygpu:' + PASSWORD not in text
    shutil.copy(home.path('saved.plan'), other.path('saved.plan'))
    stale = other.run('apply', 'saved.plan', code=6)  # it was applied
    assert PASSWORD not in stale.err


def test_a_saved_plan_is_applied_by_another_user(home, other, server, url):
    """The plan names the store, not who planned; that job has credentials of its own."""
    schema = schema_of(url)
    home.run('plan', 'cluster.yaml', '--out', 'saved.plan')
    shutil.copy(home.path('saved.plan'), other.path('saved.plan'))
    del other.env['RAYGPU_STATE']
    other.write('raygpu.yaml', f'state: postgres://127.0.0.1:{server.port}/postgres?schema={schema}\n')
    other.env.update(PGUSER='raygpu', PGPASSWORD=PASSWORD)
    assert 'Apply complete' in other.run('apply', 'saved.plan').out
    other.write('raygpu.yaml', f'state: postgres://127.0.0.1:{server.port}/postgres?schema=elsewhere\n')
    assert 'plan.wrong-state' in other.run('apply', 'saved.plan', code=6).err


def test_where_it_is(home, server, url):
    del home.env['RAYGPU_STATE']
    home.write('raygpu.yaml', f'state: {url}\n')
    refused = home.run('plan', 'cluster.yaml', code=4)
    assert 'state.password' in refused.err and 'raygpu.yaml:1:' in refused.err and 'PGPASSWORD' in refused.err
    assert PASSWORD not in refused.err
    home.write('raygpu.yaml', 'state: kept/here.db\n')
    home.apply()
    assert os.path.exists(home.path('kept/here.db'))
    assert 'state.no-such-cluster' in home.run('state', 'list', '--state', url, code=4).err
    home.write('raygpu.yaml', 'state: [faulty\n')
    assert home.run('state', 'list', code=4).out == '', 'no other state is used instead'
    for place in ('azblob://account/container', 'ftp://example.com/state'):
        refused = home.run('state', 'list', '--state', place, code=4)
        assert 'state.unknown-store' in refused.err and place.split(':')[0] in refused.err


def test_a_reading_role_plans_and_drifts(home, server, url):
    home.apply()
    schema = schema_of(url)
    server.sql(f"CREATE ROLE r{schema} LOGIN PASSWORD 'reads'; GRANT USAGE ON SCHEMA {schema} TO r{schema};"
               f'GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO r{schema}')
    home.env['RAYGPU_STATE'] = server.url(schema, f'r{schema}', 'reads')
    assert 'No changes' in home.run('plan', 'cluster.yaml').out
    home.run('drift', 'cluster.yaml')
    home.run('show')
    home.run('log')
    home.run('state', 'pull')
    refused = home.run('apply', 'cluster.yaml', '--auto-approve', code=7)
    assert 'state.denied' in refused.err and 'permission denied' in refused.err
    server.sql(f'REVOKE SELECT ON {schema}.identities FROM r{schema}')
    refused = home.run('plan', 'cluster.yaml', code=7)
    assert 'permission denied for table identities' in words(refused) and 'raygpu-state(5)' in refused.err


def test_the_view_of_the_man_page_shows_the_nodes(home, server, url):
    home.apply()
    schema = schema_of(url)
    with open(ROOT / 'man/raygpu-state.5.scd', encoding='utf-8') as f:
        view = re.search(r'CREATE VIEW nodes .*?;', f.read(), re.S).group().replace('++\n', '\n')
    server.sql(view.replace('raygpu.', f'{schema}.').replace('VIEW nodes', f'VIEW nodes_{schema}'))
    rows = server.sql(f"SELECT cluster, address, pool, instance_type, zone, market, attributes ->> 'instance_type' FROM nodes_{schema}"
                      " WHERE created > now() - interval '1 hour' AND id LIKE 'i-%' ORDER BY address")
    kept = [row for row in json.loads(home.run('state', 'pull').out)['clusters'][0]['resources'] if row['pin']]
    pins = [(row['address'], row['pool'], row['pin']) for row in sorted(kept, key=lambda row: row['address'])]
    assert rows == [['research', address, pool, pin['instance_type'], pin['zone'], 'on-demand', pin['instance_type']]
                    for address, pool, pin in pins] and len(rows) == 3
    server.sql(f'DROP VIEW nodes_{schema}')


class Session:
    """psql that runs SQL and stays until it is closed."""

    def __init__(self, server, user, password, text):
        self.process = subprocess.Popen(['psql', '-qAtX', '-h', '127.0.0.1', '-p', str(server.port), '-U', user, '-d', 'postgres'],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, 'PGPASSWORD': password})
        self.process.stdin.write(text + ';\n\\echo ready\n')
        self.process.stdin.flush()
        self.said = []
        while 'ready\n' not in self.said:
            self.said.append(self.process.stdout.readline())
            assert self.said[-1], self.said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=60)


def lock_key(schema, cluster):
    """The number of src/remote/lock.c, which anyone can also read in pg_locks while a run has it."""
    digest = hashlib.sha256(f'raygpu lock\n{schema}\n{cluster}'.encode()).digest()
    return int.from_bytes(digest[:8], 'big', signed=True)


def test_who_may_not_write_blocks_nobody(sim, home, other, server, url):
    """Every role that may connect can take an advisory lock."""
    schema = schema_of(url)
    home.apply()
    server.sql(f"CREATE ROLE s{schema} LOGIN PASSWORD 'nothing'; CREATE ROLE r{schema} LOGIN PASSWORD 'reads';"
               f'GRANT USAGE ON SCHEMA {schema} TO r{schema}; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO r{schema}')
    other.env['RAYGPU_STATE'] = url

    def is_locked():
        return 'state.locked' in other.run('state', 'rm', 'aws.instance.serve[0]', '--lock-timeout', '0', code=5).err
    for nodes, (user, password) in enumerate(((f's{schema}', 'nothing'), (f'r{schema}', 'reads')), 3):
        home.write('cluster.yaml', spec(pools={'serve': nodes}))
        # the run waits, with its lock, until the table is free
        with Session(server, 'raygpu', PASSWORD, f'BEGIN; LOCK TABLE {schema}.runs IN EXCLUSIVE MODE'):
            with Session(server, user, password, f'SELECT pg_try_advisory_lock({lock_key(schema, "research")})') as blocker:
                assert blocker.said[0] == 't\n'
                run = home.start('apply', 'cluster.yaml', '--auto-approve', '--lock-timeout', '0')
                wait_for(server, url, 'locks', run)
                assert is_locked()
            assert is_locked(), 'also when the other lock is free again'
        out, err = run.communicate(timeout=100)
        assert run.returncode == 0, out + err
        check(sim, home, nodes)
    assert server.sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [['0']]


def test_who_may_not_write_does_not_block_the_first_run(home, server, url):
    """Of two that create the tables at the same time, the second waits for the first."""
    schema = schema_of(url)
    server.sql(f"CREATE ROLE f{schema} LOGIN PASSWORD 'nothing'")
    with Session(server, f'f{schema}', 'nothing', f'SELECT pg_try_advisory_lock({lock_key(schema, "")})') as blocker:
        assert blocker.said[0] == 't\n'
        with Session(server, 'raygpu', PASSWORD, f'BEGIN; CREATE SCHEMA {schema}'):
            run = home.start('apply', 'cluster.yaml', '--auto-approve')
            while not server.sql("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE SCHEMA%' AND wait_event_type = 'Lock'"):
                assert run.poll() is None, run.communicate()
                time.sleep(0.02)
            other = home.start('state', 'list')
            assert 'state.no-such-cluster' in other.communicate(timeout=100)[1]
        out, err = run.communicate(timeout=100)
        # the session ends without COMMIT: the schema is the run's
        assert run.returncode == 0, out + err
    with Session(server, 'raygpu', PASSWORD, f'DROP SCHEMA {schema} CASCADE; BEGIN; CREATE SCHEMA {schema}') as first:
        run = home.start('state', 'rm', 'x')
        while not server.sql("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'CREATE SCHEMA%' AND wait_event_type = 'Lock'"):
            assert run.poll() is None, run.communicate()
            time.sleep(0.02)
        first.process.stdin.write('COMMIT;\n')
        first.process.stdin.flush()
        assert 'state.no-such-cluster' in run.communicate(timeout=100)[1]


def test_errors_say_what_to_do(home, server, url):
    def refused(place, code):
        result = home.run('plan', 'cluster.yaml', '--state', place, code=code)
        assert result.err.count('Error:') == 1 and 'hint:' in result.err, result
        return words(result)
    assert 'password authentication failed' in refused(server.url(password='wrong'), 7)
    assert 'has no such database' in refused(url.replace('/postgres?', '/missing?'), 1)
    assert 'could not be reached' in refused(url.replace(f':{server.port}/', f':{free_port()}/'), 1)
    assert 'is not a PostgreSQL URL' in refused('postgres://raygpu:100%@127.0.0.1/x', 1)


def test_no_permission_on_one_table(sim, home, server, url):
    """Of those that a run writes one after the other: it stops with one error, and the next apply completes it."""
    home.apply()
    schema, writer, nodes = schema_of(url), 'w' + schema_of(url), 2
    server.sql(f"CREATE ROLE {writer} LOGIN PASSWORD 'writes'; GRANT USAGE ON SCHEMA {schema} TO {writer};"
               f'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {writer};'
               f'GRANT USAGE ON SEQUENCE {schema}.ids TO {writer}')
    home.env['RAYGPU_STATE'] = server.url(schema, writer, 'writes')
    for table in ('locks', 'runs', 'journal', 'journal_members', 'resources', 'lifetimes', 'run_changes'):
        nodes += 1
        home.write('cluster.yaml', spec(pools={'serve': nodes}))
        server.sql(f'REVOKE INSERT ON {schema}.{table} FROM {writer}')
        refused = home.apply('cluster.yaml', code=None)
        assert refused.code in (3, 7) and refused.err.count('state.denied') == 1, (table, refused)
        assert f'permission denied for table {table}' in words(refused) and 'raygpu-state(5)' in words(refused)
        server.sql(f'GRANT INSERT ON {schema}.{table} TO {writer}')
        home.apply()
        check(sim, home, nodes)


@pytest.fixture(scope='module')
def full_disk(tmp_path_factory):
    """A library that lets no table grow while a file exists: a real disk that is full needs root."""
    if not shutil.which('cc'):
        pytest.skip('no C compiler')
    library = str(tmp_path_factory.mktemp('full') / 'full.so')
    subprocess.run(['cc', '-shared', '-fPIC', '-O1', '-o', library, os.path.join(os.path.dirname(postgres_server.__file__), 'full_disk.c'),
                    '-ldl'], check=True)
    for folder in (library, os.path.dirname(library), os.path.dirname(os.path.dirname(library))):
        os.chmod(folder, 0o755)
    return library


def test_the_disk_of_the_server_is_full(sim, home, full_disk):
    with Postgres() as server:
        flag = os.path.join(server.folder, 'full')
        library = shutil.copy(full_disk, os.path.join(server.folder, 'full.so'))
        os.chmod(library, 0o755)
        server.stop()
        server.start(LD_PRELOAD=library, FULL_DISK=flag)
        home.env['RAYGPU_STATE'] = server.url()
        home.apply()
        home.write('cluster.yaml', spec(pools={'serve': 40}))
        open(flag, 'w', encoding='utf-8').close()
        for _ in range(2):
            refused = home.apply('cluster.yaml', code=None)
            text = words(refused)
            assert refused.code in (1, 3) and 'the disk of the server is full' in text and 'state.unwritable' in text, refused
            assert 'free some disk space' in text and 'No space left on device' in text and refused.err.count('state.unwritable') == 1
            home.run('drift', 'cluster.yaml', code=None)
        os.unlink(flag)
        home.apply()
        check(sim, home, 40)


def wait_for(server, url, table, process):
    """Until the table exists and has a row, while the process runs."""
    schema = schema_of(url)
    while not server.sql(f"SELECT 1 FROM pg_tables WHERE schemaname = '{schema}' AND tablename = '{table}'") or \
            not server.sql(f'SELECT 1 FROM {schema}.{table}'):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def test_the_server_is_killed_in_mid_apply(tmp_path):
    """It comes back: the run goes on. It stays away: the run stops, and the next apply completes it."""
    with Postgres() as server, Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim:
        home = Home(tmp_path, sim.env())
        home.env['RAYGPU_STATE'] = server.url()
        sim.knobs(latency_by_action={'RunInstances': 4000})  # long enough to be seen
        home.write('cluster.yaml', spec(pools={'serve': 4, 'more': 4}))
        for _ in range(3 if LONG else 1):
            process = home.start('apply', 'cluster.yaml', '--auto-approve')
            wait_for(server, home.env['RAYGPU_STATE'], 'journal', process)
            server.stop('immediate')
            said = next((line for line in process.stderr if 'connection to the state was lost; trying again for up to' in line), None)
            assert said, process.communicate()
            server.start()
            out, err = process.communicate(timeout=100)
            assert process.returncode == 0, out + err
            home.run('plan', 'cluster.yaml', '--detailed-exitcode')
            home.run('destroy', 'cluster.yaml', '--auto-approve')
        if not LONG:  # half a minute, until raygpu gives up
            return
        process = home.start('apply', 'cluster.yaml', '--auto-approve')
        wait_for(server, home.env['RAYGPU_STATE'], 'journal', process)
        server.stop('immediate')
        out, err = process.communicate(timeout=100)
        assert process.returncode in (1, 3) and 'state.unreachable' in err, out + err
        server.start()
        home.apply()
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        assert len(sim.live_instances()) == 9


def test_the_connection_of_a_network_is_verified(home, server, url, tmp_path):
    """A server certificate that nobody signed; loopback addresses need none."""
    key, certificate = os.path.join(server.folder, 'data/server.key'), os.path.join(server.folder, 'data/server.crt')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=db.example.org', '-addext',
                    'subjectAltName=DNS:db.example.org', '-keyout', key, '-out', certificate], check=True, capture_output=True)
    if os.geteuid() == 0:
        shutil.chown(key, 'nobody')
        shutil.chown(certificate, 'nobody')
    os.chmod(key, 0o600)
    server.sql('ALTER SYSTEM SET ssl = on')
    server.sql('SELECT pg_reload_conf()')
    shutil.copy(certificate, home.path('root.crt'))
    os.chmod(home.path('root.crt'), 0o644)
    address = '&hostaddr=127.0.0.1'  # of the name in the URL, without a name server
    network = url.replace('127.0.0.1', 'db.example.org')
    trusted = f'{network}{address}&sslrootcert={home.path("root.crt")}'
    try:
        for place, code, told in ((f'{network}{address}&sslmode=verify-full', 1, 'certificate verify failed'),
                                  (trusted + '&sslmode=verify-full', 4, 'has no cluster'),
                                  (trusted.replace('db.example.org', 'other.example.org') + '&sslmode=verify-full', 1, 'does not match host name'),
                                  (f'{network}{address}&sslmode=require', 4, 'has no cluster')):
            result = home.run('state', 'list', '--state', place, code=code)
            assert told in words(result), result
    finally:
        server.sql('ALTER SYSTEM SET ssl = off')
        server.sql('SELECT pg_reload_conf()')


@pytest.mark.skipif(not shutil.which('pgbouncer') and not os.path.exists('/usr/sbin/pgbouncer'),
                    reason='Debian package pgbouncer is not installed')
def test_a_pool_of_connections(sim, home, other, server, url, tmp_path):
    port = free_port()
    folder = server.folder + '/pool'
    os.makedirs(folder, exist_ok=True)
    with open(folder + '/users', 'w', encoding='utf-8') as f:
        f.write(f'"raygpu" "{PASSWORD}"\n')
    with open(folder + '/ini', 'w', encoding='utf-8') as f:
        f.write(f'[databases]\npostgres = host=127.0.0.1 port={server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n'
                f'unix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {folder}/users\npool_mode = session\n')
    if os.geteuid() == 0:
        for path in (folder, folder + '/users', folder + '/ini'):
            shutil.chown(path, 'nobody')
    pool = subprocess.Popen(['pgbouncer' if shutil.which('pgbouncer') else '/usr/sbin/pgbouncer', '-q', folder + '/ini'],
                            **({'user': 'nobody'} if os.geteuid() == 0 else {}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        home.env['RAYGPU_STATE'] = other.env['RAYGPU_STATE'] = url.replace(f':{server.port}/', f':{port}/')
        for _ in range(200):
            if home.run('state', 'list', code=None).code == 4:  # reached, and has no cluster
                break
            time.sleep(0.05)
        home.apply()
        sim.knobs(latency_by_action={'RunInstances': 4000})
        home.write('cluster.yaml', spec(pools={'serve': 3}))
        first = home.start('apply', 'cluster.yaml', '--auto-approve')
        wait_for(server, url, 'locks', first)
        assert 'state.locked' in other.run('state', 'rm', 'aws.instance.serve[0]', '--lock-timeout', '0', code=5).err
        out, err = first.communicate(timeout=100)
        assert first.returncode == 0, out + err
        check(sim, home, 3)
    finally:
        pool.terminate()
        pool.wait()

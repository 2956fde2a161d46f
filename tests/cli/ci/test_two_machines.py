"""The jobs of the GitHub example, as shell, each on a new machine (a network namespace with its own files; without the rights for
that, a folder), with the state in S3 (moto's server) or PostgreSQL: planned on one, applied on another, cancelled, repaired, and the
drift of a night."""
import http.server
import json
import os
import signal
import subprocess
import threading
import time

import pytest
from postgres_server import PASSWORD, Postgres, needs_postgres
from program import binary, spec
from runner import NAMESPACES, GitHub, cancelled
from s3_server import BUCKET, S3
from sim_server import KEY, SECRET, Sim


class InPostgres:
    """A schema with a role for each purpose."""

    def __init__(self, server):
        self.server, self.port = server, server.port
        self.schema = 'ci' + os.urandom(6).hex()
        reader, writer = self.schema + 'r', self.schema + 'w'
        self.sql(f"""CREATE ROLE {reader} LOGIN PASSWORD '{PASSWORD}-r'; CREATE ROLE {writer} LOGIN PASSWORD '{PASSWORD}-w';
            CREATE SCHEMA {self.schema} AUTHORIZATION {writer}; GRANT USAGE ON SCHEMA {self.schema} TO {reader};
            ALTER DEFAULT PRIVILEGES FOR ROLE {writer} IN SCHEMA {self.schema} GRANT SELECT ON TABLES TO {reader}""")
        self.reads, self.writes = ({'PGUSER': user, 'PGPASSWORD': f'{PASSWORD}-{user[-1]}'} for user in (reader, writer))
        self.place = f'postgres://127.0.0.1:{server.port}/postgres?schema={self.schema}'
        self.named = self.place

    def sql(self, text):
        return self.server.sql(text.replace('@', getattr(self, 'schema', '') + '.'))

    def open_creates(self):
        return int(self.sql('SELECT count(*) FROM @journal')[0][0])

    def written(self):
        """Only the role that writes can."""
        return 0


class InS3:
    """A prefix of a bucket; the server would accept writes of anyone, so they are counted."""

    def __init__(self, server):
        self.server, self.port = server, server.front.server_port
        self.place, self.named = server.url(), f's3://{BUCKET}/'
        self.reads = self.writes = {}

    def written(self):
        return len([1 for method, *_ in self.server.front.seen if method != 'GET'])


@pytest.fixture(name='postgres', scope='module')
def a_database():
    with Postgres() as server:
        yield server


@pytest.fixture(name='store')
def where_the_state_is(request):
    if getattr(request, 'param', '') == 's3':
        with S3() as server:
            yield InS3(server)
    else:
        yield InPostgres(request.getfixturevalue('postgres'))


class Comments(http.server.ThreadingHTTPServer):
    """GitHub's comments of issues."""
    daemon_threads = True

    def __init__(self):
        self.bodies = ['first'] * 130  # the second page has ours
        self.bodies[7] = '<!-- raygpu:plan:* -->\nof a stranger, who could change it later'
        self.bodies[8] = '<!-- raygpu:plan:a -->\nof a stranger, who could change it later'
        self.asked = []
        super().__init__(('127.0.0.1', 0), Answer)
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class Answer(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        server.asked.append((self.command, self.path))
        sent = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        status, said = 200, {}
        if self.headers['Authorization'] != 'Bearer of-this-job':
            status = 401
        elif self.command == 'GET':
            page = int(self.path.rsplit('page=', 1)[1])
            said = [self.comment(at) for at in range(len(server.bodies))][100 * (page - 1):100 * page]
        else:
            at = len(server.bodies) if self.command == 'POST' else int(self.path.rsplit('/', 1)[1])
            server.bodies[at:at + 1] = [json.loads(sent)['body']]
            said = self.comment(at)
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PATCH = do_GET

    def comment(self, at):
        return {'id': at, 'body': self.server.bodies[at], 'user': {'login': 'github-actions[bot]' if at >= 130 else 'stranger'}}


@pytest.fixture(name='cloud')
def a_cloud():
    with Sim('--boot-ms', '0', '--shutdown-ms', '0', '--access-key', f'{KEY}:{SECRET}', '--access-key', f'AKIDREADER:{SECRET}') as sim:
        yield sim


@pytest.fixture(name='team')
def a_team(tmp_path, store, cloud):
    """A repository on GitHub, and what its jobs reach: a state, a cloud, GitHub's API."""
    team = Team(tmp_path, store, cloud)
    yield team
    team.comments.shutdown()
    assert not os.listdir(team.github.parent), 'every machine is gone after its job'


class Team:
    def __init__(self, folder, store, cloud):
        self.store, self.comments = store, Comments()
        self.repository = str(folder / 'clusters.git')
        api = f'http://127.0.0.1:{self.comments.server_port}'
        keys = {'AWS_SECRET_ACCESS_KEY': SECRET}
        self.github = GitHub(
            str(folder), self.repository, [store.port, cloud.port, self.comments.server_port],
            {'RAYGPU_STATE': store.place, 'AWS_ENDPOINT_URL': cloud.url, 'GITHUB_API_URL': api, 'AWS_EC2_METADATA_DISABLED': 'true',
             'RAYGPU_LOOPBACK_BACKOFF_MS': '50', 'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', ''),
             'UBSAN_OPTIONS': os.environ.get('UBSAN_OPTIONS', '')},
            {'raygpu-read': {'AWS_ACCESS_KEY_ID': 'AKIDREADER', **store.reads, **keys},
             'raygpu-apply': {'AWS_ACCESS_KEY_ID': KEY, **store.writes, **keys}})
        os.makedirs(self.repository + '/clusters')
        self.git('init', '-q', '-b', 'main')
        self.commit(1)

    def git(self, *words):
        who = {f'GIT_{whose}_{what}': 'a@example.org' for whose in ('AUTHOR', 'COMMITTER') for what in ('NAME', 'EMAIL')}
        subprocess.run(['git', *words], cwd=self.repository, check=True, env={**os.environ, **who}, stdout=subprocess.DEVNULL)

    def state(self):
        env = {**os.environ, **self.github.env, **self.github.roles['raygpu-read'], 'AWS_REGION': 'us-east-1'}
        return json.loads(subprocess.run([binary(), 'state', 'pull'], env=env, check=True, capture_output=True).stdout)

    def commit(self, nodes, branch='main'):
        self.git('checkout', '-q', '-B', branch)
        with open(self.repository + '/clusters/a.yaml', 'w', encoding='utf-8') as f:
            f.write(spec('a', pools={'serve': nodes}))
        self.git('add', '-A')
        self.git('commit', '-qm', f'{nodes} nodes')


@pytest.mark.parametrize('store', ['s3', pytest.param('postgres', marks=needs_postgres)], indirect=True)
def test_planned_here_applied_there(team, store, cloud):
    github = team.github
    team.commit(2, 'topic')
    asked = github.run('pull_request')
    assert asked.jobs == {'plan'} and asked.plan.code == 0, asked.plan.output
    assert 'a: aws.instance.serve[0]' in asked.plan.output
    assert len(team.comments.bodies) == 131 and team.comments.bodies[-1].startswith('<!-- raygpu:plan:')
    assert '6 to add' in team.comments.bodies[-1], team.comments.bodies[-1]
    team.commit(3, 'topic')
    github.run('pull_request')
    assert len(team.comments.bodies) == 131 and team.comments.asked[-1][0] == 'PATCH', 'one comment, kept up to date'
    assert all('of a stranger' in body for body in team.comments.bodies[7:9])
    assert cloud.counters()['mutating'] == 0 and not store.written()

    team.git('checkout', '-q', 'main')
    team.git('merge', '-q', 'topic')
    merged = github.run('push')
    assert merged.jobs == {'save', 'apply'}
    assert merged.save.outputs == {'changes': 'true'} and merged.apply.code == 0, merged.apply.output
    assert merged.save.machine.outside != merged.apply.machine.outside
    assert len(cloud.live_instances()) == 4
    plan = github.artefact('raygpu-plans/a.json')
    assert store.named in plan, 'the plan names the store'
    for secret in (PASSWORD, SECRET, KEY, 'AKIDREADER', *store.reads.values()):
        assert secret not in plan

    before = store.written()
    assert github.run('workflow_dispatch').jobs == {'save'}, 'nothing to apply'
    nightly = github.run('schedule')
    assert nightly.jobs == {'drift'} and nightly.drift.code == 0, nightly.drift.output
    cloud.ec2('TerminateInstances', **{'InstanceId.1': cloud.live_instances()[-1]['instanceId']})
    nightly = github.run('schedule')
    assert nightly.drift.code == 2 and 'has been deleted' in nightly.drift.output, nightly.drift.output
    assert store.written() == before
    assert github.run('workflow_dispatch').apply.code == 0 and len(cloud.live_instances()) == 4
    state = team.state()
    assert state['clusters'][0]['lineage'] in github.artefact('raygpu-plans/a.json')
    runs = [run['meta'] for run in state['clusters'][0]['runs']]
    machines = [os.path.basename(one.outside) for one in github.machines if '/apply-' in one.outside]
    assert len(machines) == 2 and (not NAMESPACES or {run['host'] for run in runs} == set(machines))


@needs_postgres
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGKILL])
def test_the_next_job_repairs_after_a_cancelled_one(team, store, cloud, number):
    cloud.knobs(latency_by_action={'RunInstances': 15000})

    def cancel(process):
        while process.poll() is None and not (cloud.counters()['mutating'] and store.open_creates()):
            time.sleep(0.02)
        cancelled(process, number)
    stopped = team.github.run('push', cancel).apply
    assert stopped.code == (130 if number == signal.SIGINT else -number), stopped.output
    assert store.open_creates(), 'what it left open'
    cloud.knobs(latency_by_action={})
    repaired = team.github.run('workflow_dispatch')
    assert repaired.apply.code == 0, repaired.apply.output
    assert len(cloud.live_instances()) == 2, 'no orphan and no duplicate'
    assert store.open_creates() == 0
    assert team.github.run('workflow_dispatch').jobs == {'save'}

"""raygpu doctor: finds each planted fault, with a line in the right area, and nothing on a healthy set-up."""
import contextlib
import fcntl
import http.client
import http.server
import os
import shutil
import socket
import sqlite3
import struct
import threading
import time
from email.utils import formatdate

import pytest
from program import Home, spec
from report_schemas import validator
from shared import sim  # noqa: F401

BUILD = os.environ.get('RAYGPU_BUILD', '')
GCP = 'provider: {name: gcp, region: us-central1, project: my-project}'


@pytest.fixture
def home(tmp_path, sim):  # noqa: F811
    """A healthy one."""
    sim.reset()
    home = Home(tmp_path, sim.env())
    for name in ('http_proxy', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY', 'no_proxy', 'NO_PROXY'):
        home.env.pop(name, None)
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.write('.gitignore', '.raygpu\n')
    home.git('init', '-q')
    home.git('add', '.')
    home.git('commit', '-qm', 'specs')
    return home


def examine(home, *arguments, code=0, **more):
    document = home.run('doctor', *arguments, '--json', code=code, **more).json()
    validator('doctor.schema.json').validate(document)
    assert document['exit_code'] == code
    return document


def findings(document, status):
    return [(one['area'], one['code']) for one in document['checks'] if one['status'] == status]


@contextlib.contextmanager
def closed_port():
    """A port where connections are refused: bound, but nobody listens."""
    with socket.socket() as one:
        one.bind(('127.0.0.1', 0))
        yield one.getsockname()[1]


@contextlib.contextmanager
def late_server(port, seconds):
    """Passes requests on to the simulator, and sends back another time of day."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
            upstream = http.client.HTTPConnection('127.0.0.1', port)
            upstream.request(self.command, self.path, body, dict(self.headers))
            answer = upstream.getresponse()
            content = answer.read()
            self.send_response_only(answer.status)
            self.send_header('Date', formatdate(time.time() + seconds, usegmt=True))
            self.send_header('Content-Type', answer.headers.get('Content-Type', 'text/xml'))
            self.send_header('Content-Length', str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def locked(home):
    """By a process that lives: this one."""
    home.apply('cluster.yaml', '--no-wait')
    with open(home.state + '.research.lock', 'r+b') as file:
        whole = struct.pack('hhqqi', fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(file, 37, whole)  # F_OFD_SETLK
        yield


def killed_apply(home, sim):  # noqa: F811
    """Ends an apply with SIGKILL while it waits for the cloud, with the lock."""
    sim.knobs(latency_ms=600000)
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    rows = []
    while not rows:
        assert process.poll() is None
        with contextlib.suppress(sqlite3.OperationalError), \
                contextlib.closing(sqlite3.connect(f'file:{home.state}?mode=ro', uri=True)) as db:
            rows = db.execute('SELECT 1 FROM locks').fetchall()
        time.sleep(0.02)
    process.kill()
    process.communicate()
    sim.knobs(latency_ms=0)


# ---- the planted faults: each changes a healthy set-up, and returns the environment that doctor runs with

def denied(action, code='UnauthorizedOperation'):
    def plant(stack, home, sim):  # noqa: F811
        sim.fault(action=action, when='before', status=403, code=code, message='You may not.', count=0)
    return plant


def edited(*pairs):
    def plant(stack, home, sim):  # noqa: F811
        text = home.read('cluster.yaml')
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        home.write('cluster.yaml', text)
    return plant


def environment(**values):
    return lambda stack, home, sim: values


def no_credentials(stack, home, sim):  # noqa: F811
    del home.env['AWS_ACCESS_KEY_ID'], home.env['AWS_SECRET_ACCESS_KEY']


def unreadable_file(stack, home, sim):  # noqa: F811
    edited(('provider: {name: aws, region: us-east-1}', GCP), ('m5.2xlarge', 'n2-standard-8'))(stack, home, sim)
    return {'GOOGLE_APPLICATION_CREDENTIALS': home.folder}  # root can read every file, but no folder


def clock_off(stack, home, sim):  # noqa: F811
    return {'AWS_ENDPOINT_URL': f'http://127.0.0.1:{stack.enter_context(late_server(sim.port, 600))}'}


def dead_proxy(stack, home, sim):  # noqa: F811
    return {'https_proxy': f'http://user:secret-of-the-proxy@127.0.0.1:{stack.enter_context(closed_port())}'}


def refused_endpoint(stack, home, sim):  # noqa: F811
    return {'AWS_ENDPOINT_URL': f'http://127.0.0.1:{stack.enter_context(closed_port())}'}


def held_lock(stack, home, sim):  # noqa: F811
    stack.enter_context(locked(home))


def left_lock(stack, home, sim):  # noqa: F811
    killed_apply(home, sim)


def other_file(stack, home, sim):  # noqa: F811
    os.makedirs(os.path.dirname(home.state))
    home.write(home.state, 'this is not a state, whatever its name says\n' * 100)


def damaged_state(stack, home, sim):  # noqa: F811
    home.apply('cluster.yaml', '--no-wait')
    with contextlib.closing(sqlite3.connect(home.state)) as db, db:
        db.execute("UPDATE resources SET cloud_id = 'i-0' WHERE name = 'head' AND kind = 'aws.instance'")


def unreachable_store(stack, home, sim):  # noqa: F811
    return {'RAYGPU_STATE': f'https://127.0.0.1:{stack.enter_context(closed_port())}/state'}


def newer_module(stack, home, sim):  # noqa: F811
    folder = home.path('modules')
    os.mkdir(folder, 0o755)
    shutil.copy(os.path.join(BUILD, 'src/provider/odd_newer.so'), os.path.join(folder, 'aws.so'))
    return {'RAYGPU_PROVIDER_PATH': folder}


def no_repository(stack, home, sim):  # noqa: F811
    shutil.rmtree(home.path('.git'))


def other_account(stack, home, sim):  # noqa: F811
    home.apply('cluster.yaml', '--no-wait')
    home.edit_state("UPDATE clusters SET account = '999999999999'")


def may_only_read(stack, home, sim):  # noqa: F811
    """Nothing is to be created: only a try shows it."""
    home.apply('cluster.yaml', '--no-wait')
    denied('RunInstances:dry_run')(stack, home, sim)


def no_quota_left(stack, home, sim):  # noqa: F811
    """What exists has used it up, which is as it should be; the missing permission is not."""
    home.apply('cluster.yaml', '--no-wait')
    no_quota(stack, home, sim)
    denied('RunInstances:dry_run')(stack, home, sim)


def no_quota(stack, home, sim):  # noqa: F811
    sim.knobs(quotas={'L-DB2E81BA': 0})


def no_ssh(stack, home, sim):  # noqa: F811
    sim.knobs(key_pairs=['mine'])
    edited(('region: us-east-1', 'region: us-east-1, key_name: mine, ssh_from: [203.0.113.7/32], ssh_user: ubuntu'))(stack, home, sim)
    return {'PATH': home.folder}


FAULTS = {
    'credentials missing': (no_credentials, 7, 'error', 'credentials', 'provider.denied'),
    'credentials expired': (denied('GetCallerIdentity', 'ExpiredToken'), 7, 'error', 'credentials', 'provider.denied'),
    'credentials file unreadable': (unreadable_file, 7, 'error', 'credentials', 'provider.denied'),
    'account of another state': (other_account, 7, 'error', 'account', 'plan.wrong-account'),
    'permission for plan denied': (denied('DescribeInstances'), 7, 'error', 'permissions', 'provider.denied'),
    'permission for apply denied': (denied('RunInstances:dry_run'), 0, 'warning', 'permissions', 'provider.denied'),
    'permission for apply denied, nothing to create': (may_only_read, 0, 'warning', 'permissions', 'provider.denied'),
    'permission for apply denied, quota used up': (no_quota_left, 0, 'warning', 'permissions', 'provider.denied'),
    'clock off by ten minutes': (clock_off, 1, 'error', 'clock', 'doctor.clock'),
    'proxy unreachable': (dead_proxy, 1, 'error', 'proxy', 'doctor.proxy'),
    'endpoint refused': (refused_endpoint, 1, 'error', 'endpoints', 'http.connect'),
    'state locked': (held_lock, 0, 'warning', 'lock', 'state.locked'),
    'state locked by a dead holder': (left_lock, 0, 'warning', 'lock', 'doctor.lock-left'),
    'state is another file': (other_file, 1, 'error', 'state', 'state.not-a-state'),
    'state damaged': (damaged_state, 1, 'error', 'state', 'state.corrupt'),
    'store unreachable': (unreachable_store, 1, 'error', 'state', 'state.unreachable'),
    'key of the state unreadable': (environment(RAYGPU_STATE_KEY_FILE='/no/such/key'), 4, 'error', 'state', 'state.bad-key'),
    'module missing': (edited(('name: aws', 'name: nosuch')), 4, 'error', 'modules', 'provider.not-found'),
    'module with another ABI': (newer_module, 1, 'error', 'modules', 'provider.refused'),
    'quota 0': (no_quota, 8, 'error', 'quotas', 'provider.quota'),
    'image missing': (edited(('m5.2xlarge', 'm5.2xlarge, image: ami-00000000')), 1, 'error', 'plan', 'provider.invalid'),
    'Python without Ray': (edited(('3.11', '3.8'), ('py311', 'py38')), 4, 'error', 'versions', 'compat.ray-python'),
    'Ray never released': (edited(('2.56.1', '2.52.77')), 4, 'error', 'versions', 'compat.no-such-ray'),
    'spec invalid': (edited(('pools:', 'pool:')), 4, 'error', 'spec', 'spec.unknown-key'),
    'program of connect missing': (no_ssh, 0, 'warning', 'connect', 'doctor.connect'),
    'not a git repository': (no_repository, 0, 'warning', 'git', 'git.no-repository'),
}


def test_a_healthy_set_up_has_no_findings(home):
    for applied in (False, True):
        document = examine(home)
        assert not findings(document, 'error') + findings(document, 'warning') and not document['not_checked'], document
        areas = {one['area'] for one in document['checks']}
        assert areas == set(validator('doctor.schema.json').schema['$defs']['area']['enum'])
        if not applied:
            assert not os.path.exists(home.state)
            home.apply('cluster.yaml', '--no-wait')
    said = home.run('doctor')
    assert said.out.endswith('\nNo problems found.\n') and not said.err, said
    assert 'of aws: from the environment: AWS_ACCESS_KEY_ID' in said.out
    assert 'apply: the creation of the whole cluster was tried without making anything' in ' '.join(said.out.split())
    assert home.env['AWS_SECRET_ACCESS_KEY'] not in said.out + home.run('doctor', '--json').out


@pytest.mark.parametrize('name', FAULTS)
def test_each_fault_is_found(name, home, sim):  # noqa: F811
    plant, code, status, area, finding = FAULTS[name]
    with contextlib.ExitStack() as stack:
        env = plant(stack, home, sim) or {}
        document = examine(home, code=code, env=env)
    assert (area, finding) in findings(document, status), document
    line = next(one for one in document['checks'] if one.get('code') == finding)
    assert line.get('hint') or line.get('detail') or line.get('line'), line
    # a fault has consequences elsewhere only where that is the same fault
    others = {one for one in findings(document, 'error') if one[0] != area}
    assert not others or name in ('clock off by ten minutes', 'endpoint refused'), document
    assert 'secret-of-the-proxy' not in str(document)


def test_the_text_has_a_line_for_each_check_and_what_to_do(home):
    del home.env['AWS_SECRET_ACCESS_KEY']
    said = home.run('doctor', code=7)
    lines = said.out.splitlines()
    at = lines.index('error    credentials  AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not')
    assert lines[at + 1] == ' ' * 22 + '-> set both, or none and use a profile'
    assert lines[-2:] == ['Not checked: clock (no server answered with its time)', '1 error.'] and not said.err, said


def test_without_a_spec_what_can_be_seen_is_checked(home):
    home.apply('cluster.yaml', '--no-wait')
    os.unlink(home.path('cluster.yaml'))
    document = examine(home)
    assert not findings(document, 'error') + findings(document, 'warning')
    assert {'versions', 'modules', 'proxy', 'state', 'lock', 'credentials', 'account', 'clock', 'endpoints'} == {
        one['area'] for one in document['checks']}
    assert {one['area'] for one in document['not_checked']} == {'git', 'spec', 'permissions', 'quotas', 'plan'}
    home.run('doctor', '-', code=4)


def test_credentials_of_a_profile_are_named_by_section_and_file(home):
    path = home.write('keys', '[ci]\naws_access_key_id = {AWS_ACCESS_KEY_ID}\n'
                              'aws_secret_access_key = {AWS_SECRET_ACCESS_KEY}\n'.format(**home.env))
    del home.env['AWS_ACCESS_KEY_ID'], home.env['AWS_SECRET_ACCESS_KEY']
    said = home.run('doctor', env={'AWS_PROFILE': 'ci', 'AWS_SHARED_CREDENTIALS_FILE': path})
    assert f'of aws: from section [ci] of {path}' in ' '.join(said.out.split()), said


def test_a_spec_that_is_not_there_is_one_error(tmp_path):
    home = Home(tmp_path)
    said = home.run('doctor', 'nosuch.yaml', code=4)
    assert said.out.count('error ') == 1 and 'nosuch.yaml cannot be read' in said.out and '1 error.' in said.out, said

"""Every failure of the other side: a clear error that says what to do, the right exit code, and a consistent
state: once the fault is gone, one apply completes the cluster."""
import base64
import gzip
import os
import re
import shutil
import sqlite3
import subprocess

import pytest
from ports import free_port
from program import Home, spec
from sim_server import Sim


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


def completes(home, sim, nodes=3):
    """After the fault: one apply brings the world to the desired state, and does no more."""
    home.apply()
    assert len(sim.live_instances()) == nodes
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_no_credentials(home):
    env = {k: '' for k in ('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY')}
    result = home.run('plan', 'cluster.yaml', code=7, env=env)
    assert 'no AWS credentials found' in result.err
    assert 'AWS_ACCESS_KEY_ID' in result.err and 'credentials' in result.err


def test_wrong_credentials(home, sim):
    sim.fault(action='*', when='before', status=401, code='AuthFailure',
              message='AWS was not able to validate the provided access credentials', count=0)
    result = home.apply(code=7)
    assert 'AuthFailure' in result.err and 'hint:' in result.err
    sim.faults_clear()
    completes(home, sim)


def test_refused_connection(home, sim):
    env = {'AWS_ENDPOINT_URL': f'http://127.0.0.1:{free_port()}'}
    result = home.apply(code=1, env=env)
    assert 'http.connect' in result.err and env['AWS_ENDPOINT_URL'] in result.err
    completes(home, sim)


def test_tls_failure(tmp_path):
    if not shutil.which('openssl'):
        pytest.skip('openssl is not installed')
    cert, key = tmp_path / 'cert.pem', tmp_path / 'key.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert,
                    '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'],
                   check=True, capture_output=True)
    with Sim('--tls-cert', cert, '--tls-key', key, scheme='https') as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec())
        result = home.run('plan', 'cluster.yaml', code=1)
        assert 'http.tls' in result.err and ' SSL certificate' in result.err and 'sSL' not in result.err
        assert 'set AWS_CA_BUNDLE or SSL_CERT_FILE to its file' in ' '.join(result.err.split())
        for name in ('AWS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE'):
            home.run('plan', 'cluster.yaml', env={name: str(cert)})
        home.run('plan', 'cluster.yaml', env={'AWS_CA_BUNDLE': str(key), 'SSL_CERT_FILE': str(cert)}, code=1)
        home.write('config', f'[profile ci]\nca_bundle = {cert}\n')
        home.run('plan', 'cluster.yaml', env={'AWS_CONFIG_FILE': home.path('config'), 'AWS_PROFILE': 'ci', 'SSL_CERT_FILE': str(key)})


def test_forbidden(home, sim):
    sim.fault(action='RunInstances', when='before', status=403, code='UnauthorizedOperation',
              message='You are not authorized to perform this operation.', count=0)
    result = home.apply(code=None)
    assert result.code in (3, 7)
    assert 'UnauthorizedOperation' in result.err and 'cluster.yaml:' in result.err
    assert not sim.live_instances()
    sim.faults_clear()
    completes(home, sim)


def test_throttling_storm_is_waited_out(home, sim):
    sim.fault(action='RunInstances', when='before', status=503, code='RequestLimitExceeded',
              message='Request limit exceeded.', count=2)
    sim.fault(action='DescribeInstances', when='before', status=429, code='RequestLimitExceeded',
              message='slow down', count=1, retry_after=1)
    completes(home, sim)


def test_endless_throttling_is_an_error(home, sim):
    home.apply()
    sim.fault(action='DescribeInstances', when='before', status=503, code='RequestLimitExceeded',
              message='Request limit exceeded.', retry_after=0, count=0)
    result = home.run('plan', 'cluster.yaml', code=1, timeout=300)
    assert 'RequestLimitExceeded' in result.err
    assert 'to add' not in result.out
    sim.faults_clear()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_server_errors_with_html(home, sim):
    sim.fault(action='RunInstances', when='before', status=500, body='<html><h1>oops</h1></html>', count=2)
    completes(home, sim)


def test_error_after_commit_makes_no_second_node(home, sim):
    sim.fault(action='RunInstances', when='after', status=500, code='InternalError', message='lost it', count=2)
    sim.fault(action='CreateNetworkInterface', when='after', close=True, count=1)
    sim.fault(action='CreateSecurityGroup', when='after', status=500, code='InternalError', message='x', count=1)
    completes(home, sim)
    world = sim.world('us-east-1')
    assert len([g for g in world['security_groups'] if g['groupName'] != 'default']) == 1
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not sim.live_instances()


@pytest.mark.parametrize('size', [40, 400, 1500])
def test_truncated_replies_are_never_drift(home, sim, size):
    home.apply()
    sim.fault(action='DescribeInstances', when='after', truncate=size, count=0)
    result = home.run('drift', 'cluster.yaml', '--format', 'json', code=1, timeout=300)
    assert '"type": "missing"' not in result.out
    assert 'Error: ' in result.err
    plan = home.run('plan', 'cluster.yaml', code=1, timeout=300)
    assert 'will be created' not in plan.out
    sim.faults_clear()
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')


def test_failed_reading_is_an_error_not_drift(home, sim):
    home.apply()
    sim.fault(action='DescribeNetworkInterfaces', when='before', status=403, code='UnauthorizedOperation',
              message='no', count=0)
    result = home.run('drift', 'cluster.yaml', code=7)
    assert 'has been deleted' not in result.out
    sim.faults_clear()


def forms_of(token):
    """What a leak would look like."""
    yield token.encode()
    for lead in (b'', b'x', b'xy'):
        encoded = base64.b64encode(lead + token.encode() + b'zzz')
        yield encoded[4:-8]
    yield base64.b64encode(gzip.compress(token.encode(), mtime=0))


def test_the_ray_token_is_nowhere_but_in_the_state(home, sim):
    home.git('init', '-q')
    arguments = []
    texts = []
    for command in (['plan', 'cluster.yaml', '--out', 'p.json', '--trace', 'trace.jsonl'],
                    ['apply', 'p.json', '--trace', 'trace.jsonl'],
                    ['plan', 'cluster.yaml', '--format', 'json', '--trace', 'trace.jsonl'],
                    ['show', '--json'], ['show'], ['state', 'show', 'raygpu.secret.ray_token'],
                    ['state', 'show', 'aws.instance.head'], ['drift', 'cluster.yaml', '--json'],
                    ['apply', 'cluster.yaml', '--auto-approve', '--replace', 'aws.instance.serve[0]',
                     '--trace', 'trace.jsonl']):
        process = home.start(*command)
        with open(f'/proc/{process.pid}/cmdline', 'rb') as f:
            arguments.append(f.read())
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (command, err)
        texts += [out.encode(), err.encode()]
    world = sim.world('us-east-1')
    data = base64.b64decode(next(
        u for u in world['user_data'] if u['digest'] == sim.live_instances()[0]['_userData'])['data'])
    if data[:2] == b'\x1f\x8b':
        data = gzip.decompress(data)
    rows = sqlite3.connect(f'file:{home.state}?mode=ro', uri=True).execute(
        "select outputs from resources where kind = 'raygpu.secret'").fetchall()
    token = re.search(r'[0-9a-f]{64}', str(rows)).group(0)
    assert token.encode() in data, 'the nodes do get it'
    for name in ('p.json', 'trace.jsonl'):
        with open(home.path(name), 'rb') as f:
            texts.append(f.read())
    assert len(texts[-1]) > 1000
    for text in texts + arguments:
        for form in forms_of(token):
            assert form not in text
    assert os.stat(home.state).st_mode & 0o077 == 0
    assert os.stat(home.path('trace.jsonl')).st_mode & 0o077 == 0


def test_interrupt_lets_requests_end_and_the_next_run_goes_on(home, sim):
    import signal
    sim.counters_reset()
    sim.knobs(latency_ms=700)
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    sim.wait_for_change(process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    sim.knobs(latency_ms=0)
    completes(home, sim)

"""`raygpu output` and `raygpu connect`: what the state has of a cluster, and its ports on this machine.
Replacements for `aws` and `ssh` check their arguments, record them and really forward, on loopback."""
import json
import os
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from ports import free_port
from program import IMAGE

FORWARDER = f'''#!{sys.executable}
import json, os, re, socket, subprocess, sys, threading
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(os.environ['STAND_IN_LOG'], 'a') as f:
    f.write(json.dumps([name, *words]) + '\\n')
if os.environ.get('STAND_IN_FAILS'):
    sys.exit(name + ': ' + os.environ['STAND_IN_FAILS'])
if name == 'aws':
    pairs = re.findall(r'portNumber=(\\d+),localPortNumber=(\\d+)', ' '.join(words))
else:
    pairs = [(r, l) for l, r in re.findall(r'127\\.0\\.0\\.1:(\\d+):127\\.0\\.0\\.1:(\\d+)', ' '.join(words))]
if name == 'aws' and not os.environ.get('STAND_IN_PLUGIN'):  # as the CLI does: a program of its own does the work
    sys.exit(subprocess.call([sys.executable, *sys.argv], env={{**os.environ, 'STAND_IN_PLUGIN': '1'}}))
def pump(a, b):
    while data := a.recv(4096):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
def serve(listener, remote):
    while True:
        client, _ = listener.accept()
        try:
            server = socket.create_connection(('127.0.0.1', int(os.environ['STAND_IN_' + remote])))
        except OSError:
            client.close()
            continue
        for pair in ((client, server), (server, client)):
            threading.Thread(target=pump, args=pair, daemon=True).start()
threads = []
for remote, local in pairs:
    listener = socket.create_server(('127.0.0.1', int(local)))
    threads.append(threading.Thread(target=serve, args=(listener, remote)))
    threads[-1].start()
threads[0].join()
'''


class Dashboard(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({'path': self.path, 'token': self.headers.get('Authorization')}).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


SPEC = f'''cluster: research
provider: {{name: aws, region: us-east-1, SETTINGS}}
ray: {{version: 2.56.1, python: "3.11", image: "{IMAGE}"}}
head: {{instance_type: m5.2xlarge, public_ip: true}}
pools: {{serve: {{accelerators: "T4:1", nodes: 2}}}}
'''
CLIENT = ('import json, os, urllib.request as u; '
          'print(json.dumps([json.load(u.urlopen(u.Request(os.environ["RAY_API_SERVER_ADDRESS"] + "/api/version", '
          'headers={"Authorization": os.environ["RAY_AUTH_TOKEN"]}))), os.environ["RAY_ADDRESS"], '
          'os.environ["RAY_AUTH_MODE"], os.environ["RAYGPU_CLUSTER"]]))')


@pytest.fixture
def home(home):
    os.mkdir(home.path('bin'))
    for name in ('aws', 'ssh', 'session-manager-plugin'):
        home.write('bin/' + name, FORWARDER)
        os.chmod(home.path('bin/' + name), 0o755)
    home.env.update(PATH=home.path('bin') + ':' + home.env['PATH'], STAND_IN_LOG=home.path('calls'))
    return home


def apply(home, settings):
    home.write('cluster.yaml', SPEC.replace('SETTINGS', settings))
    return home.apply()


@pytest.fixture
def dashboard(home):
    server = HTTPServer(('127.0.0.1', 0), Dashboard)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home.env.update(STAND_IN_8265=str(server.server_port), STAND_IN_10001=str(server.server_port))
    yield server
    server.shutdown()
    server.server_close()


def calls(home):
    return [json.loads(line) for line in home.read('calls').splitlines()]


def ports():
    a, b = free_port(), free_port()
    return a, b, ['--dashboard-port', a, '--client-port', b]


def test_outputs(sim, home):
    end = apply(home, 'instance_profile: ray').out
    head = [i for i in sim.live_instances() if 'amiLaunchIndex' in i and i['instanceType'] == 'm5.2xlarge'][0]
    outputs = home.run('output', '--json').json()
    assert outputs['head_id'] == head['instanceId'] and outputs['head_address'] == head['privateIpAddress']
    assert outputs['cluster'] == 'research' and outputs['region'] == 'us-east-1'
    assert outputs['dashboard_url'] == 'http://127.0.0.1:8265' and outputs['client_url'] == 'ray://127.0.0.1:10001'
    assert outputs['node_ids']['head'] == [head['instanceId']] and len(outputs['node_ids']['serve']) == 2
    assert f'Head: {head["privateIpAddress"]}' in end and 'raygpu connect cluster.yaml -- ray job submit' in end
    token = home.run('output', 'cluster.yaml', 'ray_token').out.strip()
    assert len(token) >= 32 and token not in home.run('output').out + home.run('output', '--json').out + end
    assert home.run('output', 'head_address').out == head['privateIpAddress'] + '\n'
    assert home.run('output', '--cluster', 'research', 'head_id', '--json').json() == head['instanceId']
    assert 'outputs: cluster, provider' in ' '.join(home.run('output', 'head_ip', code=4).err.split())
    home.run('destroy', '--auto-approve')
    assert home.run('output', 'head_address').out == ''
    assert 'has no head in the state' in home.run('connect', code=1).err


def nobody_listens(*numbers):
    """A moment later: the plug-in ends with the process that started it, which alone is raygpu's child."""
    deadline = time.monotonic() + 120
    for number in numbers:
        while True:
            try:
                socket.create_server(('127.0.0.1', number)).close()
                break
            except OSError:
                assert time.monotonic() < deadline, number
                time.sleep(0.02)


def test_session_manager_and_the_token_in_the_environment(sim, home, dashboard):
    apply(home, 'instance_profile: ray')
    head, token = (home.run('output', name).out.strip() for name in ('head_id', 'ray_token'))
    dash, client, options = ports()
    done = home.run('connect', 'cluster.yaml', *options, '--', sys.executable, '-c', CLIENT)
    assert done.json() == [{'path': '/api/version', 'token': token}, f'ray://127.0.0.1:{client}', 'token', 'research']
    assert token not in done.err and f'http://127.0.0.1:{dash}' in done.err
    first = [c for c in calls(home) if f'portNumber=8265,localPortNumber={dash}' in c]
    assert first[0] == ['aws', 'ssm', 'start-session', '--region', 'us-east-1', '--target', head, '--document-name',
                        'AWS-StartPortForwardingSession', '--parameters', f'portNumber=8265,localPortNumber={dash}']
    assert any(f'portNumber=10001,localPortNumber={client}' in c for c in calls(home))
    nobody_listens(dash, client)
    assert home.run('connect', *options, '--', 'sh', '-c', 'exit 7', code=7).out == ''
    assert home.run('connect', *options, '--', 'sh', '-c', 'kill -KILL $$', code=137).out == ''


def test_a_shell(sim, home, dashboard):
    apply(home, 'instance_profile: ray')
    home.write('bin/myshell', '#!/bin/sh\necho "in a shell for $RAYGPU_CLUSTER"\n')
    os.chmod(home.path('bin/myshell'), 0o755)
    done = home.run('connect', *ports()[2], env={'SHELL': home.path('bin/myshell')})
    assert done.out == 'in a shell for research\n' and 'exit) to disconnect' in done.err


def test_what_is_printed_is_what_would_run(sim, home):
    apply(home, 'instance_profile: ray')
    head = home.run('output', 'head_id').out.strip()
    text = home.run('connect', 'cluster.yaml', '--print').out
    assert text.splitlines() == [
        f'aws ssm start-session --region us-east-1 --target {head} --document-name AWS-StartPortForwardingSession '
        f'--parameters portNumber={port},localPortNumber={port} &' for port in (8265, 10001)] + [
        'export RAY_API_SERVER_ADDRESS=http://127.0.0.1:8265', 'export RAY_ADDRESS=ray://127.0.0.1:10001',
        'export RAYGPU_CLUSTER=research', 'export RAY_AUTH_MODE=token',
        'export RAY_AUTH_TOKEN="$(raygpu output cluster.yaml ray_token)"']
    assert not os.path.exists(home.path('calls'))


def test_ssh_to_an_open_port_of_the_head_alone(sim, home, dashboard):
    sim.knobs(key_pairs=['mine'])
    apply(home, 'key_name: mine, ssh_from: [203.0.113.7/32], ssh_user: ec2-user')
    address, token = (home.run('output', name).out.strip() for name in ('head_public_address', 'ray_token'))
    dash, client, options = ports()
    done = home.run('connect', *options, '-i', home.path('my key'), '--', sys.executable, '-c', CLIENT)
    assert done.json()[0] == {'path': '/api/version', 'token': token}
    assert calls(home) == [[
        'ssh', '-N', '-o', 'ExitOnForwardFailure=yes', '-o', 'ServerAliveInterval=30', '-i', home.path('my key'),
        '-L', f'127.0.0.1:{dash}:127.0.0.1:8265', '-L', f'127.0.0.1:{client}:127.0.0.1:10001', '--', f'ec2-user@{address}']]
    assert f"-i '{home.path('my key')}'" in home.run('connect', '-i', home.path('my key'), '--print').out
    groups = {g['groupId']: g for g in sim.world('us-east-1')['security_groups']}
    for node in sim.live_instances():
        assert node['keyName'] == 'mine'
        rules = [r for g in node['groupSet'] for r in groups[g['groupId']]['ipPermissions']]
        open_ports = [(r.get('fromPort'), x['cidrIp']) for r in rules for x in r.get('ipRanges') or []]
        assert open_ports == ([(22, '203.0.113.7/32')] if node['instanceType'] == 'm5.2xlarge' else [])
    apply(home, 'key_name: mine, ssh_user: ec2-user')  # closed again, in place
    assert len(sim.world('us-east-1')['security_groups']) == len(groups) - 1
    assert 'No changes.' in home.run('plan', '--no-settle').out
    apply(home, 'instance_profile: ray')
    said = home.run('connect', '--via', 'ssh', '--print')
    assert 'ubuntu@' in said.out


def test_recorded_settings_are_no_options(sim, home, dashboard):
    """Who can write to the state cannot choose options of the programs that connect runs."""
    sim.knobs(key_pairs=['mine'])
    apply(home, 'key_name: mine, instance_profile: ray')
    for setting, value, code, told in (('ssh_user', '-oProxyCommand=touch pwned', 4, 'provider.bad-config'),
                                       ('profile', '--debug', 1, 'its profile begins with "-"')):
        before = home.run('state', 'pull').out
        home.edit_state(f"UPDATE clusters SET config = json_set(config, '$.{setting}', '{value}')")
        assert home.run('state', 'pull').out != before
        for way in ('ssh', 'session-manager') if code == 4 else ('session-manager',):
            refused = home.run('connect', '--via', way, '--', 'true', code=code)
            assert told in ' '.join(refused.err.split()), refused
        home.edit_state(f"UPDATE clusters SET config = json_remove(config, '$.{setting}')")
    assert not os.path.exists(home.path('calls')) and not os.path.exists(home.path('pwned'))


def test_what_goes_wrong_is_said(sim, home, dashboard):
    apply(home, 'instance_profile: ray')
    _, client, options = ports()
    said = home.run('connect', *options, code=1, env={'STAND_IN_FAILS': 'TargetNotConnected: i-1 is not connected'})
    assert 'TargetNotConnected' in said.err and 'cannot connect through session-manager' in ' '.join(said.err.split())
    with socket.create_server(('127.0.0.1', client)):
        assert '--client-port' in home.run('connect', *options, code=1).err
    assert 'it has: session-manager, ssh' in home.run('connect', '--via', 'telnet', code=1).err
    os.unlink(home.path('bin/aws'))
    said = home.run('connect', *options, code=1, env={'PATH': home.path('bin')})
    assert '`aws`, which the connection needs, is not installed' in ' '.join(said.err.split())
    home.write('bin/aws', FORWARDER)
    os.chmod(home.path('bin/aws'), 0o755)
    os.unlink(home.path('bin/session-manager-plugin'))
    said = home.run('connect', *options, code=1, env={'PATH': home.path('bin')})
    assert '`session-manager-plugin`, which the connection needs' in ' '.join(said.err.split())
    checks = home.run('doctor', 'cluster.yaml', '--json', code=None, env={'PATH': home.path('bin')}).json()['checks']
    assert [c['summary'] for c in checks if c['area'] == 'connect'] == \
        ['`session-manager-plugin`, which `raygpu connect` needs, is not installed']


def test_it_is_offered_only_where_it_can_work(sim, home):
    sim.knobs(key_pairs=['mine'])
    ways = 'provider.instance_profile (session-manager); or'
    end = apply(home, 'egress_check: true').out
    assert max(map(len, end[end.index('\nHead: '):].splitlines())) <= 80
    end = ' '.join(end.split())
    assert 'raygpu connect cluster.yaml' not in end and f'For `raygpu connect`, set {ways} provider.key_name and provider.ssh_from or' in end
    said = ' '.join(home.run('connect', code=1).err.split())
    assert f'its spec does not set {ways} provider.key_name' in said and 'connect.no-way' in said
    assert not os.path.exists(home.path('calls'))
    checks = home.run('doctor', 'cluster.yaml', '--json', code=None).json()['checks']
    assert any(c['area'] == 'connect' and c['summary'].startswith(f'not set up: that needs {ways}') for c in checks), checks
    apply(home, 'key_name: mine')
    said = ' '.join(home.run('connect', '--via', 'ssh', code=1).err.split())
    assert 'its spec does not set provider.ssh_from or provider.security_groups (ssh)' in said


def test_ended_by_a_signal_it_leaves_nothing_behind(sim, home, dashboard):
    apply(home, 'instance_profile: ray')
    dash, client, options = ports()
    process = home.start('connect', *options, '--', 'sh', '-c', 'echo up; exec sleep 60')
    assert process.stdout.readline() == 'up\n'
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == -signal.SIGTERM
    nobody_listens(dash, client)

"""What raygpu makes of answers that are missing, cut off or endless, of errors, and what it never shows. The same behaviour
on EC2: the files named at each section."""
import csv
import http.server
import json
import os
import re
import signal
import sqlite3
import threading
import time

import pytest
from gce_server import gce_env
from program import ROOT, Home
from test_gcp_as_on_aws import id_of, ids, values_of
from test_gcp_failures import flat, place_of, requests, write
from test_gcp_story import clean, nodes, spec, table

TWO = {'w': 'accelerators: "T4:1", nodes: 2'}


@pytest.fixture
def home(home):
    write(home, TWO)
    home.apply()
    return home


# ---- adopt/test_drift.py, aws/test_aws_access.py, apply/test_failures.py

def test_disks_that_are_listed_are_not_asked_for_one_by_one(gce, home):
    before = requests(gce, 'disks.get'), requests(gce, 'disks.aggregatedList')
    home.run('drift', 'cluster.yaml')
    assert requests(gce, 'disks.get') == before[0] and requests(gce, 'disks.aggregatedList') > before[1]


def test_what_could_not_be_read_hides_no_drift_of_what_could(gce, home):
    lost = nodes(gce, 'w')[0]
    gce.done(gce.delete(place_of(lost)))
    gce.knobs(denied_permissions=['compute.firewalls.list'])
    said = home.run('drift', 'cluster.yaml', '--format', 'json', code=7)
    report = said.json()
    assert [d['type'] for d in report['drift']] == ['missing'] and report['drift'][0]['address'].startswith('gcp.instance.w[')
    assert report['unread'] == 2 and flat(said).count("'compute.firewalls.list'") == 1
    plan = home.run('plan', 'cluster.yaml', code=7)
    assert 'cannot be planned' in plan.out and 'has been deleted' not in plan.out.split('gcp.firewall', 1)[-1]


def test_no_connection_is_one_error(home):
    env = {'CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE': 'http://127.0.0.1:1/compute/v1/'}
    for command in (['plan'], ['drift'], ['destroy', '--auto-approve']):
        result = home.run(*command, code=1, env=env)
        assert result.err.count('Error: ') == 1 and result.out == '' and 'http.connect' in result.err, result


@pytest.mark.parametrize('size', [40, 900])
def test_truncated_answers_are_never_drift(gce, home, size):
    gce.fault(action='instances.aggregatedList', when='after', truncate=size, count=0)
    drift = home.run('drift', 'cluster.yaml', '--format', 'json', code=1)
    assert '"type": "missing"' not in drift.out and 'Error: ' in drift.err
    assert 'will be created' not in home.run('plan', 'cluster.yaml', code=1).out
    gce.faults_clear()
    clean(home)


def test_a_fault_of_google_is_no_refusal(gce, home):
    gce.fault(action='firewalls.list', status=500, body='<html><h1>oops</h1></html>', count=2)
    clean(home)
    gce.fault(action='firewalls.list', status=503, code='backendError', message='Try again.', count=0)
    said = home.run('plan', 'cluster.yaml', code=1)
    assert 'Compute Engine failed in firewalls.list' in flat(said) and 'refused' not in said.err, said


def test_every_code_has_a_hint():
    with open(ROOT / 'providers/gcp/errors.csv', newline='', encoding='utf-8') as f:
        rows = list(csv.DictReader(f))
    assert len(rows) > 45 and len({r['code'] for r in rows}) == len(rows)
    for row in rows:
        assert row['hint'] and None not in row, row
        assert '"' not in row['hint'] and not row['hint'].endswith('.'), row


# ---- aws/test_aws_endless.py

class Endless:
    """The simulator, but every page of instances has another page after it."""

    def __init__(self, gce):
        endless = self
        self.requests = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

            def do_GET(self):
                listed = 'aggregated/instances' in self.path
                endless.requests += listed
                path = re.sub('pageToken=[^&]*', '', self.path)
                _, _, text = gce.request('GET', path, headers={k: v for k, v in self.headers.items() if k == 'Metadata-Flavor'})
                if listed:
                    text = json.dumps({**json.loads(text), 'nextPageToken': 't0'})
                self.send_response(200)
                self.send_header('Metadata-Flavor', 'Google')
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f'http://127.0.0.1:{self.server.server_address[1]}'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def test_a_list_that_never_ends_is_given_up(gce, home):
    with Endless(gce) as cloud:
        said = home.run('plan', 'cluster.yaml', env={'CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE': cloud.url + '/compute/v1/'}, code=1)
        assert 'the same page was returned twice, so the list would never end' in flat(said) and cloud.requests < 20, said
    clean(home)


# ---- apply/test_failures.py: no secret in a plan, trace, log or what a state shows

def test_secrets_are_nowhere(gce, tmp_path):
    home = Home(tmp_path, gce_env(gce, RAYGPU_TEST_NO_WAIT='1'))
    home.git('init', '-q')
    write(home, TWO)
    texts, arguments = [], []
    for command in (['plan', 'cluster.yaml', '--out', 'p.json', '--trace', 'trace'], ['apply', 'p.json', '--no-wait', '--trace', 'trace'],
                    ['plan', 'cluster.yaml', '--json', '--trace', 'trace'], ['show', '--json'], ['show'], ['log', '--json'],
                    ['logs', 'gcp.instance.head'], ['state', 'show', 'raygpu.secret.ray_token'], ['state', 'show', 'gcp.instance.head'],
                    ['drift', 'cluster.yaml', '--format', 'json'],
                    ['apply', 'cluster.yaml', '--auto-approve', '--no-wait', '--replace', 'gcp.instance.w[0]', '--trace', 'trace']):
        process = home.start(*command)
        with open(f'/proc/{process.pid}/cmdline', 'rb') as f:
            arguments.append(f.read().decode())
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (command, out, err)
        texts.append((command[0], out + err))
    rows = sqlite3.connect(f'file:{home.state}?mode=ro', uri=True).execute("select outputs from resources where kind = 'raygpu.secret'").fetchall()
    token = re.search(r'[0-9a-f]{64}', str(rows)).group(0)
    users = [item['value'] for i in nodes(gce) for item in i['metadata']['items'] if item['key'] == 'user-data']
    assert users and all(token in text for text in users), 'the nodes do get it'
    texts += [(name, home.read(name)) for name in ('p.json', 'trace')]
    assert len(texts[-1][1]) > 1000
    for name, text in texts + [('arguments', ' '.join(arguments))]:
        for secret in (token, 'ya29.'):
            assert secret not in text, (name, secret)
    assert os.stat(home.path('trace')).st_mode & 0o077 == 0


# ---- adopt/test_import.py, adopt/test_renamed.py, adopt/test_other_account.py

def test_what_an_import_refuses(gce, home):
    write(home, {'w': TWO['w'].replace('nodes: 2', 'nodes: 3')})
    mine = values_of(home, 'gcp.instance.w[0]')['id']
    body = {'machineType': 'zones/us-central1-a/machineTypes/n2-standard-4',
            'disks': [{'boot': True, 'autoDelete': True, 'initializeParams': {
                'sourceImage': 'projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64'}}],
            'networkInterfaces': [{'subnetwork': 'projects/demo-project/regions/us-central1/subnetworks/default'}]}
    for name in ('free', 'theirs'):
        more = {'labels': {'raygpu-lineage': 'f' * 32}} if name == 'theirs' else {}
        gce.done(gce.insert('zones/us-central1-a/instances', {**body, 'name': name, **more}))
    free, theirs = (id_of(next(i for i in nodes(gce) if i['name'] == name)) for name in ('free', 'theirs'))
    for words, text in ((('gcp.instance.w[2]', 'us-central1-a/12345'), 'there is no gcp.instance'),
                        (('gcp.instance.w[2]', 'us-central1-a'), 'there is no gcp.instance'),
                        (('gcp.instance.w[7]', free), 'the spec has no gcp.instance.w[7]'),
                        (('gcp.instance.w[2]', mine), 'is already recorded'),
                        (('gcp.instance.w[2]', theirs), 'belongs to another state')):
        result = home.run('import', 'cluster.yaml', *words, code=4)
        assert text in flat(result) and 'Import successful' not in result.out, result
    assert 'w[2]' not in home.run('state', 'list').out


def test_a_pool_gets_another_name_in_the_spec(gce, home):
    before = ids(gce)
    write(home, {'big': TWO['w'] + ', renamed_from: w', 'new': TWO['w'].replace('2', '1')})
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2).out
    assert '~ w -> big' in plan and 'Plan: 1 to add, 2 to change, 0 to destroy.' in plan
    home.apply()
    assert before < ids(gce) and len(nodes(gce, 'big')) == 2 and len(nodes(gce, 'new')) == 1
    clean(home)


def test_a_saved_plan_is_not_carried_out_in_another_project(gce, home):
    write(home, {'w': TWO['w'].replace('2', '3')})
    home.run('plan', 'cluster.yaml', '--out', 'saved')
    said = home.run('apply', 'saved', env={'GOOGLE_CLOUD_PROJECT': 'other-project'}, code=None)
    assert said.code not in (0, 2) and 'other-project' in said.err and len(nodes(gce)) == 3, said
    home.run('apply', 'saved')
    assert len(nodes(gce)) == 4


# ---- apply/test_removals.py, apply/test_story.py

@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_wait_loses_nothing(gce, home, number):
    gce.fault(action='firewalls.delete', status=400, code='resourceInUseByAnotherResource', message='in use', count=0)
    gce.counters_reset()
    process = home.start('destroy', '--auto-approve')
    while requests(gce, 'firewalls.delete') < 5:  # both have been refused, so it waits
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    if number == signal.SIGINT:
        assert process.returncode == 130 and 'left in the journal for the next apply to resolve: gcp.firewall' in out + err
    assert 'gcp.firewall' in home.run('state', 'list').out and not nodes(gce)
    gce.faults_clear()
    home.run('destroy', '--auto-approve')
    assert not home.run('state', 'list').out.strip()
    assert not [f for f in table(gce, 'firewalls') if f['name'].startswith('raygpu-')]


def test_no_changes_after_a_new_commit_of_the_same_spec(gce, tmp_path):
    home = Home(tmp_path, gce_env(gce, RAYGPU_TEST_NO_WAIT='1'))
    home.git('init', '-q')
    home.write('cluster.yaml', spec(TWO))
    home.git('add', '.')
    home.git('commit', '-qm', 'one')
    first = home.git('rev-parse', 'HEAD')
    home.apply()
    assert all(first.startswith(i['labels']['raygpu-commit']) for i in nodes(gce))
    home.git('commit', '-q', '--allow-empty', '-m', 'two')
    assert 'No changes.' in clean(home).out
    home.run('drift', 'cluster.yaml')

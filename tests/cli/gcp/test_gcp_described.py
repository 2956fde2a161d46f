"""Every request of a cluster's life is one that Google describes: prism, a checker that is not ours, answers each
of them from Google's own description of compute.v1 (tests/data/gcp). It knows paths, methods, members, types and enums
of bodies; names of query parameters, which it lets pass, are compared with the description here.

prism is installed from npm (npm_packages.py)."""
import concurrent.futures
import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from gce_server import gce_env
from npm_packages import install
from ports import free_port
from program import ROOT, Home
from recorder import Recorder, Request
from test_gcp_story import OLD_IMAGE, nodes, spec, table

PACKAGES = ('@stoplight/prism-cli@5.14.2', 'google-discovery-to-swagger@2.1.0')
DESCRIPTION = ROOT / 'tests/data/gcp/compute.v1.json'


@pytest.fixture(name='prism', scope='module')
def checker(tmp_path_factory):
    """Sends a request to prism: (status, answer)."""
    modules, folder, port = install('prism', PACKAGES), tmp_path_factory.mktemp('prism'), free_port()
    subprocess.run(['node', os.path.join(os.path.dirname(__file__), 'swagger.js'), str(DESCRIPTION), str(folder / 'compute.json')],
                   env={**os.environ, 'NODE_PATH': modules}, check=True)
    log = folder / 'log'
    with open(log, 'w', encoding='utf-8') as f:
        process = subprocess.Popen([modules + '/.bin/prism', 'mock', '-h', '127.0.0.1', '-p', str(port), '--errors',
                                    str(folder / 'compute.json')], stdout=f, stderr=f)
    deadline = time.monotonic() + 600  # it took more than 120 on a machine with a load of 50
    while 'Prism is listening' not in log.read_text(encoding='utf-8'):
        assert process.poll() is None and time.monotonic() < deadline, log.read_text(encoding='utf-8')
        time.sleep(0.1)

    def ask(request):
        url = f'http://127.0.0.1:{port}{request.path}' + ('?' + request.query if request.query else '')
        sent = urllib.request.Request(url, request.body.encode() or None, {'Content-Type': 'application/json'}, method=request.method)
        try:
            with urllib.request.urlopen(sent, timeout=60) as got:
                return got.status, got.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
    yield ask
    process.terminate()
    process.wait(timeout=30)


def methods():
    """[(HTTP method, pattern of the path, names of query parameters)]"""
    described = json.loads(DESCRIPTION.read_text(encoding='utf-8'))
    common = {'fields', 'prettyPrint', 'alt', 'key', 'quotaUser'}
    return [(one['httpMethod'], re.compile('/' + re.sub(r'\{\w+\}', '[^/]+', one['path'])),
             common | {name for name, p in one.get('parameters', {}).items() if p['location'] == 'query'})
            for family in described['resources'].values() for one in family['methods'].values()]


def unknown_parameters(request, known):
    for method, pattern, names in known:
        if method == request.method and pattern.fullmatch(request.path):
            given = {part.split('=')[0] for part in request.query.split('&') if part}
            return given - names
    return {'(no such method)'}


STORY = {'train': 'accelerators: "A100:1", nodes: 2, network: {placement: cluster}', 'legacy': f'accelerators: "V100:1", nodes: 2, image: {OLD_IMAGE}',
         'serve': 'accelerators: "T4:1", nodes: 3, market: spot, disk: {size: 200GB, type: pd-ssd}',
         'held': 'instance_type: g2-standard-4, nodes: 1, market: {reservation: ours}, zones: [us-central1-a]'}


def whole_life(gce, recorder, tmp_path):
    """Plan, apply, nothing to do, tampering, drift, repair, other labels, tags and addresses, fewer nodes, destroy."""
    home = Home(tmp_path, gce_env(gce, RAYGPU_TEST_NO_WAIT='1', CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=recorder.endpoint))
    gce.done(gce.insert('zones/us-central1-a/reservations', {
        'name': 'ours', 'specificReservationRequired': True,
        'specificReservation': {'count': '1', 'instanceProperties': {'machineType': 'g2-standard-4'}}}))
    account = ', service_account: nodes@demo-project.iam.gserviceaccount.com'
    home.write('cluster.yaml', spec(STORY, provider=account + ', network_tags: [mine]'))
    home.run('plan', 'cluster.yaml')
    home.apply()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    label, stopped = nodes(gce, 'train')
    url = 'zones/{}/instances/{}'.format
    gce.done(gce.insert(url(label['zone'].split('/')[-1], label['name']) + '/setLabels',
                        {'labels': {**label['labels'], 'team': 'other'}, 'labelFingerprint': label['labelFingerprint']}))
    gce.done(gce.insert(url(stopped['zone'].split('/')[-1], stopped['name']) + '/stop', None))
    rule = next(f for f in table(gce, 'firewalls') if '-closed-' in f['name'])
    gce.done(gce.call('PATCH', 'global/firewalls/' + rule['name'], {'disabled': True})[1])
    gce.done(gce.insert(url(label['zone'].split('/')[-1], label['name']) + '/setMetadata', {
        'fingerprint': label['metadata']['fingerprint'], 'items': [{'key': 'ssh-keys', 'value': 'theirs'}]}))
    home.run('drift', 'cluster.yaml', code=2)
    home.apply()
    other = {**STORY, 'serve': STORY['serve'] + ', public_ip: true'}
    home.write('cluster.yaml', spec(other, provider=account + ', network_tags: [theirs]'))
    home.apply()
    home.run('logs', 'gcp.instance.head', code=None)
    home.write('cluster.yaml', spec({'train': STORY['train'].replace('nodes: 2', 'nodes: 1')}, provider=account))
    home.apply()
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not nodes(gce)


def test_every_request_is_described(gce, prism, tmp_path):
    with Recorder(gce) as recorder:
        whole_life(gce, recorder, tmp_path)
        sent = list(dict.fromkeys(recorder.requests))
    called = {re.sub('.*/', '', one.path) for one in sent if one.method == 'POST'}
    assert {'bulkInsert', 'setLabels', 'setTags', 'setMetadata', 'start', 'addAccessConfig', 'wait', 'firewalls', 'addresses',
            'resourcePolicies', 'instances'} <= called, called
    assert len(sent) > 80
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        refused = [(one, status, answer) for one, (status, answer) in zip(sent, pool.map(prism, sent)) if status >= 400]
    assert not refused, f'{len(refused)} of {len(sent)}: {refused[:3]}'
    known = methods()
    strange = {(one.method, one.path): names for one in sent if (names := unknown_parameters(one, known))}
    assert not strange, strange
    # the grammar of filters has numbers too: 12e34 without quotes would be one
    filters = [text for one in sent for text in urllib.parse.parse_qs(one.query).get('filter', [])]
    values = [value for text in filters for value in re.findall(r'labels\.[\w-]+ ?!?= ?(\S*)', text)]
    assert values and not [value for value in values if not re.fullmatch(r'"[^"]*"\)?', value)], values


BULK = '/projects/p/zones/z/instances/bulkInsert'


@pytest.mark.parametrize('request_', [
    Request('POST', BULK, '', '{"count": 3}'), Request('POST', BULK, '', '{"cuont": "3"}'),
    Request('POST', BULK, '', '{"instanceProperties": {"scheduling": {"provisioningModel": "CHEAP"}}}'),
    Request('GET', '/projects/p/zones/z/nodes', '', '')], ids=['type', 'member', 'word', 'path'])
def test_prism_refuses(prism, request_):
    assert prism(request_)[0] in (404, 422)


def test_unknown_query_parameters_are_found():
    assert unknown_parameters(Request('POST', BULK, 'requestId=1&requestID=2', ''), methods()) == {'requestID'}

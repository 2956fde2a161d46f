"""What a real API server answers: each row of probes.csv, asked of the one that is built, with the CRDs of KubeRay and Kueue.

raygpu's module relies on these answers. A row that fails here shows what a newer server does differently."""
import copy
import csv
import json
import os
import subprocess
import threading

import pytest
from test_manifests import CLUSTER, QUEUE

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'probes.csv'), encoding='utf-8') as file:
    ROWS = list(csv.DictReader(file))
PROBES = {}
ALL = '/apis/ray.io/v1/namespaces/ml/rayclusters'
ONE = ALL + '/research'
APPLY, JSON, MERGE = 'application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'
BY_RAYGPU = '?fieldManager=raygpu'
WRITERS, PATCHES = 8, 20  # at the same time; 40 of each time out (504) on a busy machine


def probe(number, name):
    """The number of a row of its name, from 0."""
    def kept(function):
        PROBES[name, number] = function
        return function
    return kept


def document(**changes):
    """A RayCluster; replicas, and more members of its spec."""
    one = copy.deepcopy(CLUSTER)
    if 'replicas' in changes:
        one['spec']['workerGroupSpecs'][0]['replicas'] = changes.pop('replicas')
    one['spec'].update(changes)
    return one


class Client:
    def __init__(self, cluster):
        self.cluster = cluster

    def send(self, method, path, body=None, form='application/json'):
        """(status, parsed answer or text)."""
        request = self.cluster.new_request(method, path, None if body is None else json.dumps(body).encode(), form)
        code, headers, text = self.cluster.serve(request)
        return code, json.loads(text) if 'json' in headers.get('Content-Type', '') and not request.verb == 'watch' else text.decode()

    def good(self, *words, code=200):
        got, answer = self.send(*words)
        assert got == code, answer
        return answer

    def bad(self, code, reason, *words):
        got, answer = self.send(*words)
        assert (got, answer['reason']) == (code, reason), answer
        return answer['message']

    def applied(self, **changes):
        return self.good('PATCH', ONE + BY_RAYGPU, document(**changes), APPLY, code=201)

    def scale(self, replicas):
        """As the autoscaler does it."""
        return self.good('PATCH', ONE + '?fieldManager=autoscaler',
                         [{'op': 'replace', 'path': '/spec/workerGroupSpecs/0/replicas', 'value': replicas}], JSON)


@pytest.fixture
def client(queues):
    return Client(queues)


def rows():
    seen = {}
    for row in ROWS:
        seen[row['probe']] = seen.get(row['probe'], -1) + 1
        yield pytest.param(row['probe'], seen[row['probe']], id=f"{row['probe']}: {row['request']}")


@pytest.mark.parametrize('name, number', rows())
def test_row(client, name, number):
    PROBES[name, number](client)


def test_every_row_has_a_probe():
    assert sorted(PROBES) == sorted(one.values[:2] for one in rows())


# ---- creating and applying

@probe(0, 'create')
def _(client):
    meta = client.good('POST', ALL, document(), code=201)['metadata']
    assert meta['resourceVersion'] and meta['uid']


@probe(0, 'create again')
def _(client):
    client.good('POST', ALL, document(), code=201)
    client.bad(409, 'AlreadyExists', 'POST', ALL, document())


@probe(0, 'dry run')
def _(client):
    assert client.good('POST', ALL + '?dryRun=All', document(), code=201)['metadata']['uid']
    client.bad(404, 'NotFound', 'GET', ONE)


@probe(0, 'apply first')
def _(client):
    client.applied()


@probe(0, 'apply again')
def _(client):
    first = client.applied()
    again = client.good('PATCH', ONE + BY_RAYGPU, document(), APPLY)
    assert again['metadata']['resourceVersion'] == first['metadata']['resourceVersion']


@probe(0, 'apply dry run')
def _(client):
    client.applied()
    changed = client.good('PATCH', ONE + BY_RAYGPU + '&dryRun=All', document(rayVersion='2.53.0'), APPLY)
    assert changed['spec']['rayVersion'] == '2.53.0'
    assert client.good('GET', ONE)['spec']['rayVersion'] == '2.56.1'


@probe(0, 'defaults')
def _(client):
    group = client.good('POST', ALL, document(), code=201)['spec']['workerGroupSpecs'][0]
    assert (group['priority'], group['numOfHosts']) == (0, 1)
    queue = client.good('POST', '/apis/kueue.x-k8s.io/v1beta2/clusterqueues', QUEUE, code=201)['spec']
    assert {'flavorFungibility', 'preemption', 'queueingStrategy', 'stopPolicy'} <= set(queue) and not set(queue) & set(
        CLUSTER), queue


# ---- what is refused

@probe(0, 'unknown field')
def _(client):
    assert 'strict decoding error: unknown field "spec.x"' in client.bad(400, 'BadRequest', 'POST', ALL + '?fieldValidation=Strict', document(x=1))


@probe(1, 'unknown field')
def _(client):
    code, answer = client.send('PATCH', ONE + BY_RAYGPU, document(x=1), APPLY)
    assert code == 500 and 'field not declared in schema' in answer['message'], answer


@probe(0, 'wrong type')
def _(client):
    code, answer = client.send('POST', ALL, document(replicas='2'))
    assert (code, answer['reason']) == (422, 'Invalid') and any('replicas' in one['field'] for one in answer['details']['causes']), answer


@probe(1, 'wrong type')
def _(client):
    code, answer = client.send('PATCH', ONE + BY_RAYGPU, document(replicas='2'), APPLY)
    assert code == 500 and 'expected numeric' in answer['message'] and '.spec' in answer['message'], answer


@probe(0, 'missing required')
def _(client):
    lacking = document()
    del lacking['spec']['headGroupSpec']['template']
    for words in (('POST', ALL, lacking), ('PATCH', ONE + BY_RAYGPU, lacking, APPLY)):
        code, answer = client.send(*words)
        assert (code, answer['reason']) == (422, 'Invalid'), answer
        assert [one['field'] for one in answer['details']['causes']][:1] == ['spec.headGroupSpec.template'], answer


@probe(0, 'min above max')
def _(client):
    one = document()
    one['spec']['workerGroupSpecs'][0].update(minReplicas=5, maxReplicas=2)
    client.good('POST', ALL, one, code=201)


# ---- two writers

def managers(answer, field):
    return [one['manager'] for one in answer['metadata']['managedFields'] if field in one['fieldsV1'].get('f:spec', {})]


@probe(0, 'other manager changes replicas')
def _(client):
    client.applied()
    assert managers(client.scale(7), 'f:workerGroupSpecs') == ['autoscaler']


@probe(0, 'apply after that')
def _(client):
    client.applied()
    client.scale(7)
    for _ in range(2):
        message = client.bad(409, 'Conflict', 'PATCH', ONE + BY_RAYGPU, document(replicas=3), APPLY)
        assert '"autoscaler"' in message and '.spec.workerGroupSpecs' in message, message
    _, answer = client.send('PATCH', ONE + BY_RAYGPU, document(replicas=3), APPLY)
    assert answer['details']['causes'][0]['reason'] == 'FieldManagerConflict', answer


@probe(1, 'apply after that')
def _(client):
    client.applied()
    client.scale(7)
    forced = client.good('PATCH', ONE + BY_RAYGPU + '&force=true', document(replicas=3), APPLY)
    assert forced['spec']['workerGroupSpecs'][0]['replicas'] == 3


@probe(0, 'who changed it')
def _(client):
    client.applied()
    [entry] = [one for one in client.scale(7)['metadata']['managedFields'] if one['manager'] == 'autoscaler']
    assert entry['fieldsV1'] == {'f:spec': {'f:workerGroupSpecs': {}}}


@probe(0, 'guarded patch')
def _(client):
    client.good('POST', ALL, document(), code=201)
    failed = []

    def write(member):
        for value in range(1, PATCHES + 1):
            code, answer = client.send('PATCH', ONE, [
                {'op': 'test', 'path': '/spec/workerGroupSpecs/0/groupName', 'value': 'train'},
                {'op': 'add', 'path': f'/spec/workerGroupSpecs/0/template/metadata/labels/{member}', 'value': str(value)}], JSON)
            if code != 200:
                failed.append(answer)

    writers = [threading.Thread(target=write, args=(f'writer-{n}',)) for n in range(WRITERS)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert not failed, failed[:2]
    labels = client.good('GET', ONE)['spec']['workerGroupSpecs'][0]['template']['metadata']['labels']
    assert labels == {'team': 'ml', **{f'writer-{n}': str(PATCHES) for n in range(WRITERS)}}


@probe(1, 'guarded patch')
def _(client):
    client.good('POST', ALL, document(), code=201)
    message = client.bad(422, 'Invalid', 'PATCH', ONE, [{'op': 'test', 'path': '/spec/workerGroupSpecs/0/groupName', 'value': 'serve'},
                                                       {'op': 'replace', 'path': '/spec/workerGroupSpecs/0/replicas', 'value': 9}], JSON)
    assert message == 'the server rejected our request due to an error in our request'
    assert client.good('GET', ONE)['spec']['workerGroupSpecs'][0]['replicas'] == 2


@probe(0, 'stale write')
def _(client):
    old = client.good('POST', ALL, document(), code=201)
    client.scale(7)
    client.bad(409, 'Conflict', 'PUT', ONE, old)


# ---- deleting, status

@probe(0, 'wrong uid')
def _(client):
    client.good('POST', ALL, document(), code=201)
    client.bad(409, 'Conflict', 'DELETE', ONE, {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'preconditions': {'uid': 'another'}})


@probe(0, 'foreground delete')
def _(client):
    client.good('POST', ALL, document(), code=201)
    client.good('DELETE', ONE, {'kind': 'DeleteOptions', 'apiVersion': 'v1', 'propagationPolicy': 'Foreground'})
    assert client.good('GET', ONE)['metadata']['finalizers'] == ['foregroundDeletion']
    client.good('PATCH', ONE, {'metadata': {'finalizers': None}}, MERGE)
    client.bad(404, 'NotFound', 'GET', ONE)


@probe(0, 'status')
def _(client):
    before = client.good('POST', ALL, document(), code=201)
    after = client.good('PATCH', ONE + '/status', {'status': {'state': 'ready'}, 'spec': {'rayVersion': 'x'}}, MERGE)
    assert after['status']['state'] == 'ready' and after['spec']['rayVersion'] == '2.56.1'
    assert after['metadata']['generation'] == before['metadata']['generation']


# ---- lists

def five(client):
    for number in range(5):
        one = document()
        one['metadata']['name'] = f'research-{number}'
        client.good('POST', ALL, one, code=201)


@probe(0, 'page')
def _(client):
    five(client)
    first = client.good('GET', ALL + '?limit=2')
    assert first['metadata']['remainingItemCount'] == 3
    names, page = [], first
    while True:
        names += [one['metadata']['name'] for one in page['items']]
        if not page['metadata'].get('continue'):
            break
        page = client.good('GET', ALL + '?limit=2&continue=' + page['metadata']['continue'])
    assert names == [f'research-{number}' for number in range(5)]


@probe(0, 'old page')
def _(client):
    five(client)
    page = client.good('GET', ALL + '?limit=2')['metadata']['continue']
    client.good('PATCH', ALL + '/research-4', {'metadata': {'labels': {'a': 'b'}}}, MERGE)
    client.cluster.api.compact()
    client.cluster.restart()  # it also keeps old lists in memory, for some minutes
    code, answer = client.send('GET', ALL + '?limit=2&continue=' + page)
    assert (code, answer['reason']) == (410, 'Expired') and answer['metadata']['continue'], answer


@probe(0, 'bad page')
def _(client):
    five(client)
    client.bad(400, 'BadRequest', 'GET', ALL + '?limit=2&continue=x')


@probe(0, 'watch too old')
def _(client):
    five(client)
    client.cluster.api.compact()
    code, text = client.send('GET', ALL + '?watch=1&resourceVersion=1&timeoutSeconds=5')
    assert code in (200, 410), text
    event = json.loads(text.split('\n')[0])
    told = event['object'] if code == 200 else event
    assert (told['code'], told['reason']) == (410, 'Expired') and 'too old resource version' in told['message'], text


# ---- what is not there, what is not allowed

@probe(0, 'no such kind')
def _(client):
    for path in ('/apis/ray.io/v1/rayclusterz', '/apis/ray.io/v9/rayclusters', '/apis/nowhere.io/v1/things'):
        assert client.send('GET', path) == (404, '404 page not found\n')
    assert client.send('GET', ONE)[1]['kind'] == 'Status'


@probe(0, 'forbidden')
def _(client):
    client.cluster.denied.add(('create', 'rayclusters'))
    code, answer = client.send('POST', ALL, document())
    assert (code, answer['reason'], answer['details']['kind']) == (403, 'Forbidden', 'rayclusters')
    assert 'cannot create resource "rayclusters" in API group "ray.io" in the namespace "ml"' in answer['message']


# ---- what is in front of the server

def test_kubectl_sees_and_edits(queues, tmp_path):
    """The official client: discovery, create, server-side apply, patch, get, delete."""
    cluster = queues
    env = {**os.environ, 'HOME': str(tmp_path), 'KUBECONFIG': cluster.kubeconfig(tmp_path / 'config', namespace='ml')}

    def kubectl(*words, stdin=None, code=0):
        process = subprocess.run([cluster.kubectl, *words], env=env, input=stdin, capture_output=True, text=True, check=False)
        assert process.returncode == code, (words, process.stdout, process.stderr)
        return process.stdout + process.stderr

    assert {'secrets', 'namespaces', 'pods', 'rayclusters', 'clusterqueues'} <= {line.split()[0] for line in kubectl('api-resources').splitlines()}
    assert kubectl('create', '-f', '-', stdin=json.dumps(CLUSTER)) == 'raycluster.ray.io/research created\n'
    kubectl('patch', 'raycluster', 'research', '--type=json', '-p', '[{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 5}]')
    assert kubectl('get', 'raycluster', 'research', '-o', 'jsonpath={.spec.workerGroupSpecs[0].replicas}') == '5'
    secret = {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'token'}, 'stringData': {'auth_token': 'x'}}
    assert kubectl('apply', '--server-side', '-f', '-', stdin=json.dumps(secret)) == 'secret/token serverside-applied\n'
    assert kubectl('get', 'secret', 'token', '-o', 'jsonpath={.data.auth_token} {.type}') == 'eA== Opaque'
    assert 'namespaces "nowhere" not found' in kubectl('create', '-n', 'nowhere', '-f', '-', stdin=json.dumps(secret), code=1)
    assert kubectl('delete', 'raycluster', 'research') == 'raycluster.ray.io "research" deleted from ml namespace\n'
    assert 'rayclusters.ray.io "research" not found' in kubectl('get', 'raycluster', 'research', code=1)


def test_tokens_and_faults(cluster, tmp_path):
    """A token that the cluster does not know is 401; a client certificate of its authority needs none; faults come as asked."""
    cluster.fault(verb='list', resource='rayclusters', code=429, reason='TooManyRequests', headers={'Retry-After': '1'}, times=1)
    client = Client(cluster)
    assert client.send('GET', ALL)[0] == 429
    assert client.send('GET', ALL)[0] == 200
    cluster.lose(verb='create', resource='rayclusters')
    assert cluster.serve(cluster.new_request('POST', ALL, json.dumps(document()).encode())) is not None
    assert client.send('GET', ONE)[0] == 200
    pair = cluster.client_certificate('someone')
    asked = ['curl', '-s', '-o', str(tmp_path / 'out'), '-w', '%{http_code}', '--cacert', cluster.ca + '.crt', cluster.url + ALL]
    for more, code in (([], '401'), (['-H', 'Authorization: Bearer no'], '401'), (['--cert', pair + '.crt', '--key', pair + '.key'], '200')):
        assert subprocess.run(asked + more, capture_output=True, text=True, check=True).stdout == code
    cluster.fault(times=1)
    assert subprocess.run(asked, capture_output=True, text=True, check=False).returncode == 52  # empty reply

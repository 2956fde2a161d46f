"""From plan to destroy against the real API server, with kubectl beside it."""
import base64
import json
import os
import subprocess

import manifests
import pytest
from kube_spec import spec


@pytest.fixture
def kubectl(cluster, home):
    def run(*words, stdin=None):
        process = subprocess.run([cluster.kubectl, *words], env=home.env, input=stdin, capture_output=True, text=True, check=False)
        assert process.returncode == 0, (words, process.stdout, process.stderr)
        return process.stdout
    return run


def replicas(cluster, pool='train'):
    return next(one['replicas'] for one in cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs'] if one['groupName'] == pool)


def running(cluster, pool='train'):
    return sorted(pod['metadata']['name'] for pod in cluster.list('Pod', 'ml', f'ray.io/group={pool}') if pod['status']['phase'] == 'Running')


def test_story(cluster, world, home, kubectl):
    text = spec(labels='{team: ml, example.com/stage: trial}')
    home.write('cluster.yaml', text.replace('nodes: 2}', 'nodes: 2, labels: {example.org/team: x}}'))
    assert 'Plan: 4 to add, 0 to change, 0 to destroy.' in home.run('plan', 'cluster.yaml').out
    home.apply('cluster.yaml', '--trace', 'trace')
    assert cluster.counts(writes=True) == {'create secrets': 1, 'create rayclusters': 1}
    assert kubectl('get', 'raycluster', 'research', '-o', 'jsonpath={.status.state} {.status.readyWorkerReplicas}') == 'ready 2'
    assert kubectl('get', 'pod', '-l', 'example.org/team=x', '-o', 'name').split() == [f'pod/{name}' for name in running(cluster)]
    created = [one.object() for one in cluster.requests if one.verb == 'create' and one.writes]
    for document in created:
        document['apiVersion'] = document['apiVersion'].replace('core.front/', '')
        assert manifests.refused(document) == []
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')

    kubectl('patch', 'raycluster', 'research', '--type=json', '-p', '[{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 1}]')
    world.settle()
    assert 'replicas' in home.run('drift', 'cluster.yaml', code=2).out
    cluster.requests.clear()
    home.apply()
    assert cluster.counts(writes=True) == {'patch rayclusters': 1}
    assert replicas(cluster) == 2 and len(running(cluster)) == 2
    home.run('drift', 'cluster.yaml')

    cluster.requests.clear()
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    world.settle()
    assert [cluster.list(kind, 'ml') for kind in ('RayCluster', 'Secret', 'Pod')] == [[], [], []]
    assert not [one for one in cluster.requests if one.verb == 'watch']


def test_scale_and_groups(cluster, world, home):
    """A pool gets more nodes, another one comes and goes: the pods follow."""
    home.write('cluster.yaml', spec({'train': 2}))
    home.apply()
    home.write('cluster.yaml', spec({'train': 3, 'serve': ('T4:2', 1)}))
    home.apply()
    world.settle()
    assert len(running(cluster)) == 3 and len(running(cluster, 'serve')) == 1
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.write('cluster.yaml', spec({'serve': ('T4:2', 1)}))
    home.apply()
    world.settle()
    assert running(cluster) == [] and len(running(cluster, 'serve')) == 1
    assert [one['groupName'] for one in cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs']] == ['serve']
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_a_changed_template_is_rolled(cluster, world, home):
    home.write('cluster.yaml', spec({'train': 3}))
    home.apply()
    before = running(cluster)
    home.write('cluster.yaml', spec({'train': 3}, env={'train': 'NCCL_DEBUG: INFO'}))
    home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    home.apply()
    world.settle()
    after = running(cluster)
    assert len(after) == 3 and not set(before) & set(after)
    for pod in cluster.list('Pod', 'ml', 'ray.io/group=train'):
        assert {'name': 'NCCL_DEBUG', 'value': 'INFO'} in pod['spec']['containers'][0]['env']
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_pods_of_an_old_template_are_drift(cluster, world, home, kubectl):
    """Someone changed the template and put it back: pods that were started in between are replaced by apply."""
    home.write('cluster.yaml', spec({'train': 2}))
    home.apply()
    kubectl('patch', 'raycluster', 'research', '--type=json', '-p', json.dumps([
        {'op': 'replace', 'path': '/spec/workerGroupSpecs/0/template/metadata/annotations/raygpu.io~1template-hash', 'value': '0'}]))
    assert 'train' in home.run('drift', 'cluster.yaml', code=2).out
    home.apply()
    world.settle()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    assert len(running(cluster)) == 2


def test_the_token_is_seen_nowhere(cluster, world, home):
    """Neither in a plan, a trace, a log nor an error; only in the state and in the Secret."""
    home.write('cluster.yaml', spec())
    said = [home.run('plan', 'cluster.yaml', '--out', 'saved', '--trace', 'trace-plan')]
    said.append(home.run('apply', 'saved', '--trace', 'trace', '--json'))
    for words in (('show', 'cluster.yaml', '--json'), ('output', 'cluster.yaml'), ('state', 'list'), ('log',), ('drift', 'cluster.yaml', '--json', '--trace', 'trace-drift')):
        said.append(home.run(*words, code=None))
    [secret] = cluster.list('Secret', 'ml')
    encoded = secret['data']['auth_token']
    token = base64.b64decode(encoded).decode()
    files = [open(home.path(name), encoding='utf-8').read() for name in ('trace', 'trace-plan', 'trace-drift') if os.path.exists(home.path(name))]
    assert len(token) >= 32 and len(files) == 3
    for text in [one.out for one in said] + [one.err for one in said] + files:
        assert token not in text and encoded not in text
    reads = [one for one in cluster.requests if one.resource == 'secrets' and one.method == 'GET']
    assert reads and all('PartialObjectMetadata' in one.headers['accept'] for one in reads)


def test_secrets_are_in_no_state_dump(cluster, world, home):
    """Neither Ray's token nor the user's credentials: in state commands, saved plans, logs and traces. Only `state pull` without --redact, which `state push`
    reads, has Ray's token."""
    plugin = home.write('login', '#!/bin/sh\nprintf \'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", '
                        '"status": {"token": "%s"}}\' plug-in-token-of-the-user\n')
    os.chmod(plugin, 0o755)
    cluster.tokens = {'plug-in-token-of-the-user'}
    cluster.kubeconfig(home.path('kubeconfig'), namespace='ml', user={'exec': {
        'apiVersion': 'client.authentication.k8s.io/v1', 'command': plugin, 'interactiveMode': 'Never'}})
    home.write('cluster.yaml', spec())
    said = [home.run('plan', 'cluster.yaml', '--out', 'saved', '--trace', 'trace-1', '--verbose'), home.run('apply', 'saved', '--trace', 'trace-2', '--json')]
    for words in (('state', 'pull', '--redact'), ('state', 'show', 'raygpu.secret.ray_token'), ('state', 'show', 'kubernetes.secret.token'), ('show', '--json'),
                  ('show', 'saved', '--json'), ('output', '--json'), ('log', '--json'), ('export', 'kuberay', 'cluster.yaml'), ('graph', 'cluster.yaml')):
        said.append(home.run(*words, code=None))
    token = base64.b64decode(cluster.list('Secret', 'ml')[0]['data']['auth_token']).decode()
    texts = [one.out + one.err for one in said] + [open(home.path(name), encoding='utf-8').read() for name in ('trace-1', 'trace-2')]
    for text in texts:
        assert 'plug-in-token-of-the-user' not in text and base64.b64encode(token.encode()).decode() not in text, text
    assert [one for one in texts if token in one] == []
    pulled = home.run('state', 'pull').out
    assert token in pulled and 'plug-in-token-of-the-user' not in pulled

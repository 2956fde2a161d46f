"""What raygpu does, and what it reports, when the Kubernetes API, a webhook or the cluster refuses. The server is the real one."""
import itertools
import json

import front
import pytest
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay
from kueue import Kueue


def words(result):
    return ' '.join((result.out + result.err).split())


@pytest.fixture
def user(home, world):
    assert world
    home.write('cluster.yaml', spec(pools={'train': 1}))
    return home


def as_manager(cluster, manager, patch, form='merge-patch'):
    path = cluster.path('RayCluster', 'ml', 'research') + f'?fieldManager={manager}'
    cluster.serve(cluster.new_request('PATCH', path, json.dumps(patch).encode(), f'application/{form}+json'))


def test_the_namespace_is_missing(cluster, user):
    user.write('cluster.yaml', spec(pools={'train': 1}).replace('namespace: ml', 'namespace: nope'))
    result = user.apply(code=1)
    assert 'kubectl create namespace' in words(result) and 'nope' in words(result), result
    assert cluster.counts(writes=True).get('create rayclusters') is None


def test_a_plan_needs_no_permission_to_write(cluster, user):
    for verb, resource in (('create', 'rayclusters'), ('create', 'secrets'), ('list', 'nodes')):
        cluster.fault(403, 'Forbidden', f'{resource} is forbidden: User "u" cannot {verb} resource "{resource}" in the namespace "ml"', verb=verb,
                      resource=resource, times=None)
    result = user.run('plan', 'cluster.yaml')
    assert 'the credentials may not list nodes' in words(result), result
    assert 'cannot create resource "rayclusters" in the namespace "ml"' in words(result)
    user.apply(code=7)
    assert cluster.list('Secret', 'ml') == []


def test_doctor_tries_to_create_what_exists(cluster, user):
    """Nothing is to be created, and the credentials may only read: a later apply would be refused."""
    user.apply()
    assert 'the creation of the whole cluster was tried without making anything' in words(user.run('doctor', 'cluster.yaml'))
    before = cluster.list('RayCluster', 'ml'), cluster.list('Secret', 'ml')
    cluster.fault(403, 'Forbidden', 'rayclusters is forbidden: User "u" cannot create resource "rayclusters" in the namespace "ml"', verb='create',
                  resource='rayclusters', times=None)
    said = words(user.run('doctor', 'cluster.yaml'))
    assert 'warning permissions' in said and 'cannot create resource "rayclusters" in the namespace "ml"' in said
    assert (cluster.list('RayCluster', 'ml'), cluster.list('Secret', 'ml')) == before


@pytest.mark.parametrize('code, reason', [(429, 'TooManyRequests'), (500, 'InternalError'), (503, 'ServiceUnavailable'), (401, 'Unauthorized')])
def test_faults_that_pass(cluster, user, code, reason):
    for verb, dry in (('list', None), ('create', False)):
        cluster.fault(code, reason, 'for now', {'Retry-After': '0'}, verb=verb, resource='rayclusters', dry=dry)
    user.apply()
    assert len(cluster.list('RayCluster', 'ml')) == 1


def test_a_storm_of_429(cluster, user):
    """Every other request is refused: each is sent again, and nothing is made twice."""
    turn = itertools.count()
    cluster.fault(429, 'TooManyRequests', 'for now', {'Retry-After': '0'}, times=None, match=lambda _: next(turn) % 2 == 0)
    user.apply()
    cluster.rules.clear()
    assert len(cluster.list('RayCluster', 'ml')) == len(cluster.list('Secret', 'ml')) == 1
    refused = [one for one in cluster.requests if one.status == 429]
    assert len(refused) >= 8, refused
    user.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_a_list_that_expires_starts_again(cluster, user):
    user.apply()
    page = json.dumps({'kind': 'PodList', 'apiVersion': 'v1', 'metadata': {'continue': 'more'}, 'items': cluster.list('Pod', 'ml')[:1]})
    cluster.fault(200, body=page, verb='list', resource='pods', match=lambda one: 'continue' not in one.query)
    cluster.fault(410, 'Expired', 'The provided continue parameter is too old', verb='list', resource='pods', match=lambda one: 'continue' in one.query)
    assert 'No drift' in user.run('drift', 'cluster.yaml').out
    assert cluster.counts()['list pods'] >= 3


def test_a_webhook_refuses_before_anything_exists(cluster, user):
    def refuse(request, _):
        if request.resource == 'rayclusters' and request.verb == 'create':
            raise front.denied_by('policy.example.org', 'images must come from registry.example.org')

    cluster.admission.append(refuse)
    result = user.apply(code=None)
    cluster.admission.remove(refuse)
    assert result.code in (1, 7) and 'images must come from registry.example.org' in words(result), result
    assert cluster.list('Secret', 'ml') == [] and cluster.list('RayCluster', 'ml') == []


def test_an_undeclared_field_is_not_sent_again(cluster, user):
    user.apply()
    as_manager(cluster, 'raygpu', {'spec': {'rayVersion': '2.51.0'}})
    cluster.fault(500, '', 'failed to create typed patch object (ml/research; ray.io/v1): .spec.x: field not declared in schema', verb='patch',
                  resource='rayclusters', times=None)
    before = cluster.counts().get('patch rayclusters', 0)
    result = user.apply(code=1)
    assert 'field not declared in schema' in words(result) and 'the CRD in the cluster is older' in words(result), result
    assert cluster.counts()['patch rayclusters'] == before + 1


def test_fields_of_another_manager(cluster, user):
    user.apply()
    as_manager(cluster, 'kubectl-edit', {'spec': {'rayVersion': '2.51.0'}})
    user.run('drift', 'cluster.yaml', code=2)
    result = user.apply(code=1)
    assert 'conflict with "kubectl-edit"' in words(result) and '.spec.rayVersion' in words(result), result
    assert 'raygpu apply --force-conflicts' in words(result)
    user.apply('cluster.yaml', '--force-conflicts')
    assert cluster.get('RayCluster', 'ml', 'research')['spec']['rayVersion'] == '2.56.1'
    user.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_an_object_that_others_made_again(cluster, user, world):
    user.apply()
    document = cluster.get('RayCluster', 'ml', 'research')
    for name in ('uid', 'resourceVersion', 'creationTimestamp', 'managedFields', 'generation'):
        document['metadata'].pop(name, None)
    cluster.delete('RayCluster', 'ml', 'research')
    world.settle()
    cluster.create('RayCluster', document, 'ml')
    world.settle()
    assert '~ uid' in user.run('drift', 'cluster.yaml', code=2).out
    user.apply()
    user.run('drift', 'cluster.yaml')

    def swap(request):
        uid = cluster.get('RayCluster', 'ml', 'research')['metadata']['uid']
        request.body = request.body.replace(uid.encode(), b'0' * len(uid))

    cluster.rule(verb='delete', resource='rayclusters', before=swap)
    result = user.run('destroy', 'cluster.yaml', '--auto-approve', code=None)
    assert result.code != 0 and 'was deleted and created again by others' in words(result), result
    assert cluster.get('RayCluster', 'ml', 'research')


def test_an_image_that_cannot_be_pulled(nodes, user):
    nodes.broken_images.add('rayproject/ray:2.56.1-py311-cu121')
    result = user.apply(code=None)
    assert result.code != 0 and 'image rayproject/ray:2.56.1-py311-cu121 cannot be pulled' in words(result), result
    assert 'ImagePullBackOff' in words(result)


def test_a_finalizer_that_holds(cluster, user):
    """Its name is shown while destroy waits; once it is gone, so is the object."""
    user.apply()
    cluster.patch('Secret', {'metadata': {'finalizers': ['example.org/hold']}}, 'ml', 'research-ray-token')
    process = user.start('destroy', 'cluster.yaml', '--auto-approve')
    said = next((line for line in process.stderr if 'finalizer' in line), '')
    assert 'it is marked as deleted, but the finalizer example.org/hold holds it' in said
    cluster.patch('Secret', {'metadata': {'finalizers': None}}, 'ml', 'research-ray-token')
    process.communicate(timeout=120)
    assert process.returncode == 0 and cluster.list('Secret', 'ml') == []


def test_the_name_belongs_to_another_state(cluster, user):
    user.apply()
    user.env['RAYGPU_STATE'] = user.path('other.db')
    result = user.apply(code=None)
    assert result.code != 0 and 'research' in words(result), result
    assert len(cluster.list('RayCluster', 'ml')) == 1


def test_lost_answers_make_nothing_twice(cluster, user):
    for resource in ('secrets', 'rayclusters'):
        cluster.lose(verb='create', resource=resource, dry=False)
    user.apply()
    assert len(cluster.list('RayCluster', 'ml')) == len(cluster.list('Secret', 'ml')) == 1
    cluster.lose(verb='patch', resource='rayclusters')
    user.write('cluster.yaml', spec(pools={'train': 1, 'more': 1}))
    user.apply()
    groups = cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs']
    assert sorted(one['groupName'] for one in groups) == ['more', 'train']
    cluster.lose(verb='delete', resource='rayclusters')
    user.run('destroy', 'cluster.yaml', '--auto-approve')
    assert cluster.list('RayCluster', 'ml') == [] and cluster.list('Secret', 'ml') == []


def test_no_node_has_the_gpu(user):
    user.write('cluster.yaml', spec(pools={'train': ('A100:8', 1)}))
    assert 'no node of the cluster has an A100' in words(user.run('plan', 'cluster.yaml'))
    user.write('cluster.yaml', spec(pools={'train': ('T4:8', 1)}))
    assert 'the largest has 4' in words(user.run('plan', 'cluster.yaml'))
    user.write('cluster.yaml', spec(pools={'train': ('T4:4', 1)}))
    assert 'no node' not in words(user.run('plan', 'cluster.yaml'))


def test_a_queue_that_is_full_is_no_failure(queues, nodes, home):
    quota = 'queue: {name: team, cluster_queue: all, quotas: {cpu: 100, memory: 500Gi, gpus: {T4: N}}}'
    with Controllers(queues, nodes, KubeRay(), Kueue()) as world:
        home.write('cluster.yaml', spec(pools={'train': 2}, provider=quota.replace('N', '1')))
        result = home.apply(code=3)
        assert 'research waits in the queue team' in words(result) and 'insufficient quota for nvidia.com/gpu' in words(result), result
        assert queues.list('Pod', 'ml') == []
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        home.write('cluster.yaml', spec(pools={'train': 2}, provider=quota.replace('N', '2')))
        home.apply()
        world.settle()
        assert len(queues.list('Pod', 'ml')) == 3
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        home.run('destroy', 'cluster.yaml', '--auto-approve')
        for kind in ('RayCluster', 'Secret', 'LocalQueue', 'ClusterQueue', 'ResourceFlavor'):
            assert queues.list(kind) == []


def test_roles_for_a_spec(cluster, user):
    """What an apply sends is in the roles, and they are what `kubectl create -f` takes."""
    document = user.run('iam', 'cluster.yaml', '--for', 'apply').json()
    assert [(one['kind'], one['metadata']) for one in document['items']] == [
        ('Role', {'name': 'raygpu-apply', 'namespace': 'ml'}), ('ClusterRole', {'name': 'raygpu-apply'})]
    user.apply()
    user.write('cluster.yaml', spec(pools={'train': 1}, env={'train': 'A: b'}))
    user.apply()
    user.run('destroy', 'cluster.yaml', '--auto-approve')
    allowed = {f'{verb} {resource}' for role in document['items'] for rule in role['rules'] for resource in rule['resources'] for verb in rule['verbs']}
    assert set(cluster.counts()) <= allowed, set(cluster.counts()) - allowed

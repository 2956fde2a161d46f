"""How many requests raygpu sends, counted by the server."""
import pytest
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay

POOLS = [f'pool-{number}' for number in range(5)]


def pools(nodes=60, **changed):
    return {name: changed.get(name.replace('-', '_'), nodes) for name in POOLS}


def applied(cluster, home, text):
    """What one apply changes, without the pods that are deleted."""
    home.write('cluster.yaml', text)
    cluster.requests.clear()
    home.apply()
    return cluster.counts(writes=True)


def test_three_hundred_workers_are_two_calls(cluster, large, home):
    """A Secret and a RayCluster; then one patch, however many pools grow."""
    assert applied(cluster, home, spec(pools())) == {'create secrets': 1, 'create rayclusters': 1}
    groups = cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs']
    assert [(one['groupName'], one['replicas']) for one in groups] == [(name, 60) for name in POOLS]
    assert applied(cluster, home, spec(pools(pool_1=61))) == {'patch rayclusters': 1}
    assert applied(cluster, home, spec(pools(pool_1=62, pool_2=61, pool_4=63))) == {'patch rayclusters': 1}
    assert applied(cluster, home, spec(pools(pool_1=62, pool_2=61, pool_4=63))) == {}
    groups = cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs']
    assert [one['replicas'] for one in groups] == [60, 62, 61, 60, 63]


def test_what_a_first_apply_reads(cluster, large, home):
    """Once what is there, once in advance, then only whether the pods are ready: nothing for each pool."""
    applied(cluster, home, spec(pools()))
    before, waiting = [], {}
    for one in cluster.requests:
        if str(one) in ('get rayclusters', 'list pods'):
            waiting[str(one)] = waiting.get(str(one), 0) + 1
        elif str(one) != 'list events':  # asked while KubeRay has done nothing yet
            before.append(str(one) + ('?dryRun' if one.dry else ''))
    assert sorted(before) == ['create rayclusters', 'create rayclusters?dryRun', 'create secrets', 'create secrets?dryRun', 'get namespaces', 'list nodes',
                              'list rayclusters', 'list secrets']
    assert waiting['get rayclusters'] == waiting['list pods']


def test_each_patch_tests_the_groups_name(cluster, world, home):
    """An index may be another group's by the time that the patch arrives."""
    applied(cluster, home, spec(pools(1)))
    applied(cluster, home, spec(pools(1, pool_1=2, pool_3=2)))
    [patch] = [one.object() for one in cluster.requests if one.verb == 'patch' and one.writes]
    tested = {one['path'].rsplit('/', 1)[0]: one['value'] for one in patch if one['op'] == 'test' and one['path'].endswith('/groupName')}
    assert tested == {'/spec/workerGroupSpecs/1': 'pool-1', '/spec/workerGroupSpecs/3': 'pool-3'}
    written = [one['path'] for one in patch if one['op'] != 'test']
    assert written and all(path.startswith(tuple(tested)) and path.count('/') == 4 for path in written), written


def test_a_plan_without_changes(cluster, world, home):
    """One list of each kind, the pods, the namespace; nothing is written and nothing watched."""
    home.write('cluster.yaml', spec())
    home.apply()
    world.settle()
    for words in (('plan', 'cluster.yaml', '--detailed-exitcode'), ('drift', 'cluster.yaml')):
        cluster.requests.clear()
        home.run(*words)
        assert len(cluster.requests) <= 8, [str(one) for one in cluster.requests]
        assert {one.method for one in cluster.requests} == {'GET'} and not [one for one in cluster.requests if one.verb == 'watch']
        assert max(cluster.counts().values()) == 1


def test_lists_are_paged(cluster, nodes, home):
    """500 objects a page, also when the list expires half-way and starts again."""
    with Controllers(cluster, nodes, KubeRay()):
        applied(cluster, home, spec({'train': 2}))
    own = cluster.get('RayCluster', 'ml', 'research')['metadata']
    owner = [{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'name': 'research', 'uid': own['uid'], 'controller': True}]
    for number in range(620):
        cluster.create('Pod', {'metadata': {'name': f'pod-{number}', 'ownerReferences': owner, 'labels': {
            'ray.io/cluster': 'research', 'ray.io/group': 'train', 'ray.io/node-type': 'worker', 'ray.io/is-ray-node': 'yes'}},
            'spec': {'containers': [{'name': 'ray', 'image': 'x'}]}}, 'ml')
    cluster.requests.clear()
    home.run('plan', 'cluster.yaml')
    assert cluster.counts()['list pods'] == 2
    assert [one.query.get('limit') for one in cluster.requests if one.resource == 'pods'] == ['500', '500']
    cluster.fault(410, 'Expired', 'the provided continue parameter is too old', verb='list', resource='pods',
                  match=lambda request: 'continue' in request.query)
    cluster.requests.clear()
    home.run('plan', 'cluster.yaml')
    assert [one.status for one in cluster.requests if one.resource == 'pods'] == [200, 410, 200, 200]


def test_strict_validation_is_asked_for(cluster, world, home):
    applied(cluster, home, spec())
    applied(cluster, home, spec({'train': 3}))
    writes = [one for one in cluster.requests if one.writes]
    assert writes and all(one.query.get('fieldValidation') == 'Strict' for one in writes)


@pytest.mark.parametrize('verb, resource', [('create', 'rayclusters'), ('create', 'secrets'), ('list', 'pods'), ('list', 'nodes')])
def test_forbidden_is_named(cluster, world, home, verb, resource):
    """Verb, resource and namespace; without sight of the nodes a plan works, and says so."""
    cluster.denied.add((verb, resource))
    home.write('cluster.yaml', spec())
    if resource == 'pods':
        cluster.denied.clear()
        home.apply()
        cluster.denied.add((verb, resource))
        assert f'cannot {verb} resource "{resource}"' in ' '.join(home.run('plan', 'cluster.yaml', code=7).err.split())
    elif resource == 'nodes':
        result = home.run('plan', 'cluster.yaml')
        assert 'nodes' in result.out + result.err
    else:
        result = home.apply(code=None)
        assert result.code in (3, 7) and f'cannot {verb} resource "{resource}"' in ' '.join((result.err + result.out).split()), result

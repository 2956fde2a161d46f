"""A lease on Kubernetes: an annotation of the RayCluster, changed without restarting anything."""
from kube_spec import spec


def leased(end):
    return spec(extra=f'expires: {end}\n' if end else '')


def notes(cluster):
    return cluster.get('RayCluster', 'ml', 'research')['metadata']['annotations']


def pods(cluster):
    return sorted(pod['metadata']['uid'] for pod in cluster.list('Pod', 'ml'))


def apply(cluster, home, end):
    home.write('cluster.yaml', leased(end))
    cluster.requests.clear()
    home.apply()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_a_lease_comes_changes_and_goes_in_place(cluster, world, home):
    apply(cluster, home, None)
    before, marks = pods(cluster), notes(cluster)
    assert 'raygpu.io/expires' not in marks and 'raygpu.io/address' in marks
    for end, shown in (('2031-06-15T18:00:00Z', '2031-06-15T18:00:00Z'), ('2031-07-01', '2031-07-01T00:00:00Z')):
        apply(cluster, home, end)
        assert notes(cluster) == {**marks, 'raygpu.io/expires': shown}
    apply(cluster, home, None)
    assert notes(cluster) == marks
    world.settle()
    assert pods(cluster) == before and len(before) == 3
    assert not [one for one in cluster.requests if one.writes and 'pods' in str(one)]


def test_it_is_there_from_the_start_and_in_manifests(cluster, world, home):
    apply(cluster, home, '2031-06-15T18:00:00Z')
    marks = notes(cluster)
    assert marks['raygpu.io/expires'] == '2031-06-15T18:00:00Z'
    assert 'raygpu.io/expires: "2031-06-15T18:00:00Z"' in home.run('export', 'kuberay', 'cluster.yaml').out
    apply(cluster, home, '2031-06-16T18:00:00Z')
    world.settle()
    assert notes(cluster) == {**marks, 'raygpu.io/expires': '2031-06-16T18:00:00Z'}


def as_if_ended(home, lease):
    home.edit_state(*(f"UPDATE clusters SET facts = json_set(facts, '$.leases.{lease}.{key}', facts ->> '$.leases.{lease}.{key}' - 9999999)"
                      for key in ('began_s', 'ends_s')))


def test_reap_removes_a_pool_then_the_cluster(cluster, world, home):
    home.write('cluster.yaml', spec(pools={'train': 1, 'serve': 1}, extra='expires: 2w\n').replace('nodes: ', 'expires: 72h, nodes: ', 1))
    home.apply()
    as_if_ended(home, 'pools.train')
    home.run('reap')
    world.settle()
    groups = cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs']
    assert [group['groupName'] for group in groups] == ['serve'] and len(pods(cluster)) == 2
    as_if_ended(home, 'cluster')
    home.run('reap')
    world.settle()
    assert not cluster.list('RayCluster', 'ml') and not pods(cluster)
    assert 'Nothing to reap.' in home.run('reap').out

"""`enabled: false` on Kubernetes: the worker group goes and comes back, and the head's pod stays."""
import pytest
from kube_spec import spec

RANGE = {'train': 2, 'serve': ('T4:1', '{min: 1, max: 3}')}


def off(text, pool):
    return text.replace(f'  {pool}: {{', f'  {pool}: {{enabled: false, ')


def groups(cluster):
    [ray] = cluster.list('RayCluster', 'ml')
    return [group['groupName'] for group in ray['spec'].get('workerGroupSpecs') or []]


def pods(cluster, group):
    return [one['metadata']['uid'] for one in cluster.list('Pod', 'ml', f'ray.io/group={group}')]


@pytest.mark.parametrize('pool', ['train', 'serve'])
def test_a_group_goes_and_comes_back(cluster, world, home, pool):
    """Without its only elastic pool the head still runs the autoscaler: it would be replaced otherwise."""
    text, other = spec(RANGE), {'train': 'serve', 'serve': 'train'}[pool]
    home.write('cluster.yaml', text)
    home.apply()
    head, stays = pods(cluster, 'headgroup'), pods(cluster, other)
    assert head and stays and pods(cluster, pool)
    home.write('cluster.yaml', off(text, pool))
    said = ' '.join(home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2).out.split())
    assert 'Plan: 0 to add, 0 to change, 1 to destroy.' in said
    assert f'kubernetes.worker_group.{pool} will be destroyed' in said and f'(pool {pool} is disabled at cluster.yaml:' in said
    home.apply()
    world.settle()
    assert groups(cluster) == [other] and not pods(cluster, pool)
    assert cluster.list('RayCluster', 'ml')[0]['spec']['enableInTreeAutoscaling']
    assert (pods(cluster, 'headgroup'), pods(cluster, other)) == (head, stays)
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.run('drift', 'cluster.yaml')
    home.write('cluster.yaml', text)
    said = ' '.join(home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2).out.split())
    assert f'Pool {pool} is enabled again, as it was: ' in said and 'Plan: 1 to add, 0 to change, 0 to destroy.' in said
    home.apply()
    world.settle()
    assert sorted(groups(cluster)) == ['serve', 'train'] and pods(cluster, pool)
    assert (pods(cluster, 'headgroup'), pods(cluster, other)) == (head, stays)
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


@pytest.mark.parametrize('ended', [False, True], ids=['disabled', 'lease ended'])
def test_settings_in_the_former_place_of_a_pool_without_nodes(cluster, world, home, ended):
    """They wait for the pool; those of a pool that the spec does not have are refused."""
    text = spec({'train': 1, 'serve': 1}, provider='pods: {train: {cpu: 1}, serve: {cpu: 1}}')
    without = text.replace('  train: {', '  train: {expires: 2024-01-31, ') if ended else off(text, 'train')
    home.write('cluster.yaml', without)
    home.run('export', 'kuberay', 'cluster.yaml')
    home.apply()
    assert groups(cluster) == ['serve']
    home.write('cluster.yaml', without.replace('pods: {train', 'pods: {trian'))
    assert 'provider.pods has settings of "trian", which is not a pool' in ' '.join(home.run('plan', 'cluster.yaml', code=1).err.split())


def test_all_workers(cluster, world, home):
    home.write('cluster.yaml', spec(RANGE))
    home.apply()
    head = pods(cluster, 'headgroup')
    home.write('cluster.yaml', spec(RANGE, extra='workers: {enabled: false}\n'))
    home.apply()
    world.settle()
    assert groups(cluster) == [] and pods(cluster, 'headgroup') == head
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert cluster.list('RayCluster', 'ml') == []


def test_a_cluster_that_starts_without_a_pool(cluster, world, home):
    home.write('cluster.yaml', off(spec(RANGE), 'serve'))
    home.apply()
    head = pods(cluster, 'headgroup')
    assert groups(cluster) == ['train']
    home.write('cluster.yaml', spec(RANGE))
    home.apply()
    world.settle()
    assert groups(cluster) == ['train', 'serve'] and pods(cluster, 'headgroup') == head

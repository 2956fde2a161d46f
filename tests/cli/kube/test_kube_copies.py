"""Two copies of one state, which apply at the same time: one cluster."""
import shutil
import threading

import pytest
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay
from program import Home


@pytest.fixture
def together(cluster, nodes, home, tmp_path):
    """Two homes; `run` has both do the same, the requests of a resource waiting for each other."""
    (tmp_path / 'other').mkdir()
    other = Home(tmp_path / 'other', home.env)

    def copy():
        if (tmp_path / '.raygpu').exists():
            shutil.copytree(tmp_path / '.raygpu', tmp_path / 'other/.raygpu', dirs_exist_ok=True)

    def run(text, verb, resource):
        gate = threading.Barrier(2)

        def wait(_):
            try:
                gate.wait(30)
            except threading.BrokenBarrierError:
                pass

        rule = cluster.rule(verb=verb, resource=resource, dry=False, times=2, before=wait)
        found = []
        for one in (home, other):
            one.write('cluster.yaml', text)
        threads = [threading.Thread(target=lambda one=one: found.append(one.run('apply', 'cluster.yaml', '--auto-approve', code=None))) for one in (home, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert rule.times <= 0, 'both have come to it'
        return sorted(found, key=lambda result: result.code)

    with Controllers(cluster, nodes, KubeRay()) as world:
        yield home, other, copy, run, world


def objects(cluster):
    return [len(cluster.list(kind, 'ml')) for kind in ('RayCluster', 'Secret')]


def test_a_first_apply_is_won_by_one(cluster, together):
    """The name is the lock: the other one is refused with AlreadyExists, and its destroy deletes nothing."""
    _, _, _, run, _ = together
    won, lost = run(spec({'train': 2}), 'create', 'secrets')
    assert won.code == 0 and lost.code != 0 and 'AlreadyExists' in lost.err, (won, lost)
    assert 'another copy of raygpu applied' in ' '.join(lost.err.split())
    assert objects(cluster) == [1, 1]
    for one in together[:2]:
        if one.run('plan', 'cluster.yaml', '--detailed-exitcode', code=None).code != 0:
            one.run('destroy', 'cluster.yaml', '--auto-approve', code=None)
    assert objects(cluster) == [1, 1]


def test_a_group_is_added_by_one(cluster, together):
    """Both have the same record and add the same pool: the group is there once, and both have it."""
    home, other, copy, run, world = together
    home.write('cluster.yaml', spec({'train': 1}))
    home.apply()
    copy()
    results = run(spec({'train': 1, 'serve': 2}), 'patch', 'rayclusters')
    assert [one.code for one in results] == [0, 0], results
    [ray] = cluster.list('RayCluster', 'ml')
    assert [one['groupName'] for one in ray['spec']['workerGroupSpecs']] == ['train', 'serve']
    world.settle()
    for one in (home, other):
        one.run('plan', 'cluster.yaml', '--detailed-exitcode')

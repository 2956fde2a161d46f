"""Ray's autoscaler and raygpu write to one RayCluster at the same time. --long (RAYGPU_LONG) makes 200 changes, the default run 12."""
import bisect
import json
import os

from autoscaler import Autoscaler
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay

CHANGES = 200 if os.environ.get('RAYGPU_LONG') else 12
SMALL = ('T4:1', '{min: 0, max: 5}')
ELASTIC = ('T4:1', '{min: 0, max: 100}')


def group(cluster, name):
    return next((one for one in cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs'] if one['groupName'] == name), None)


def apply(home, pools, **more):
    home.write('cluster.yaml', spec(pools, **more))
    return home.apply()


def test_replicas_of_elastic_pools_are_the_autoscalers(cluster, large, home):
    apply(home, {'train': ELASTIC, 'fixed': 1})
    autoscaler = Autoscaler(cluster, 'ml', 'research', 'train')
    autoscaler.write(7, workers_to_delete=['x'])
    home.run('drift', 'cluster.yaml')
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    apply(home, {'train': ('T4:1', '{min: 1, max: 100}'), 'fixed': 2}, env={'train': 'A: b'})
    assert group(cluster, 'train')['replicas'] == 7 and group(cluster, 'train')['scaleStrategy'] == {'workersToDelete': ['x']}
    assert group(cluster, 'train')['minReplicas'] == 1 and group(cluster, 'fixed')['replicas'] == 2
    assert autoscaler.written == [7]


def test_an_added_group_is_added_once(cluster, large, home):
    """Its answer was lost, or another writer came first."""
    apply(home, {'train': 2})
    cluster.lose(verb='patch', resource='rayclusters', dry=False)
    apply(home, {'train': 2, 'serve': 1})
    cluster.rule(verb='patch', resource='rayclusters', dry=False, before=lambda request: cluster.patch(
        'RayCluster', {'metadata': {'annotations': {'by': 'others'}}}, 'ml', 'research') and None)
    apply(home, {'train': 2, 'serve': 1, 'more': 1})
    names = [one['groupName'] for one in cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs']]
    assert sorted(names) == ['more', 'serve', 'train']
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_a_group_that_moved_is_found_anew(cluster, large, home):
    """Others put a group before ours while our patch is on its way: its tests fail (422), and the next one has the new indexes."""
    apply(home, {'train': 2, 'serve': 1})
    theirs = {'groupName': 'theirs', 'replicas': 0, 'template': {'spec': {'containers': [{'name': 'ray', 'image': 'x'}]}}}
    cluster.rule(verb='patch', resource='rayclusters', dry=False, before=lambda request: cluster.patch(
        'RayCluster', [{'op': 'add', 'path': '/spec/workerGroupSpecs/0', 'value': theirs}], 'ml', 'research') and None)
    cluster.requests.clear()
    apply(home, {'train': 3, 'serve': 2})
    assert [one.status for one in cluster.requests if one.verb == 'patch' and one.writes] == [422, 200]
    groups = cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs']
    assert [(one['groupName'], one['replicas']) for one in groups] == [('theirs', 0), ('train', 3), ('serve', 2)]
    assert groups[0]['template'] == theirs['template']


class Steps:
    """What raygpu writes next: one group's template changes, another comes or goes."""

    def __init__(self):
        self.number, self.added = 0, False

    def next(self):
        self.number += 1
        if self.number % 3 == 0:
            self.added = not self.added
        pools = {'train': ELASTIC, 'serve': SMALL, **({'extra': SMALL} if self.added else {})}
        return pools, {'serve': f'STEP: "{self.number}"'} if self.number % 2 else {'train': f'STEP: "{self.number}"'}


def in_container(one, name):
    return {entry['name']: entry['value'] for entry in one['template']['spec']['containers'][0]['env']}.get(name)


def seen(cluster, autoscaler):
    """`replicas` after each of raygpu's patches, and what the autoscaler had written by then, in the order of the API server's versions."""
    for request in cluster.requests:
        if request.verb == 'patch' and request.resource == 'rayclusters' and request.status == 200:
            answer = json.loads(request.answer)
            place = bisect.bisect(autoscaler.versions, int(answer['metadata']['resourceVersion']))
            [now] = [one['replicas'] for one in answer['spec']['workerGroupSpecs'] if one['groupName'] == autoscaler.group]
            yield now, autoscaler.written[place - 1] if place else 0


def test_neither_writer_loses_a_write(cluster, nodes, home):
    """Ray's autoscaler writes replicas, 50 times a second, while raygpu changes templates, adds and removes groups."""
    with Controllers(cluster, nodes, KubeRay()):
        apply(home, {'train': ELASTIC, 'serve': SMALL})
    for pod in cluster.list('Pod', 'ml'):  # from here on without KubeRay: the time would go into rolling pods
        cluster.delete('Pod', 'ml', pod['metadata']['name'])
    cluster.requests.clear()
    steps = Steps()
    with Autoscaler(cluster, 'ml', 'research', 'train', values=range(1, 100000)) as autoscaler:
        for _ in range(CHANGES):
            pools, env = steps.next()
            apply(home, pools, env=env)
            groups = cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs']
            assert sorted(one['groupName'] for one in groups) == sorted(pools), 'no group twice, none lost'
            for pool, text in env.items():
                changed = next(one for one in groups if one['groupName'] == pool)
                assert in_container(changed, 'STEP') == text.split('"')[1]
        home.run('drift', 'cluster.yaml')
    assert group(cluster, 'train')['replicas'] == autoscaler.written[-1] and not autoscaler.refused
    assert group(cluster, 'train')['scaleStrategy'] == {'workersToDelete': []}
    after = list(seen(cluster, autoscaler))
    assert len(after) >= CHANGES and len(autoscaler.written) > CHANGES
    assert [one for one in after if one[0] != one[1]] == []
    home.run('drift', 'cluster.yaml')
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')

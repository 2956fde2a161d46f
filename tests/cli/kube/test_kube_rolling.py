"""A changed template: what the plan says of it, how many pods are replaced at a time, and how a worker's node is drained."""
import itertools
import subprocess

import pytest
import yaml
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay
from kueue import Kueue

HASH = '/spec/workerGroupSpecs/0/template/metadata/annotations/raygpu.io~1template-hash'


def words(text):
    return ' '.join(text.split())


def changed(text, value='INFO', together=None):
    """Another environment of the workers' pods."""
    more = f', replace: {{max_unavailable: {together}}}' if together else ''
    return text.replace('nodes: 4}', f'nodes: 4, env: {{NCCL_DEBUG: {value}}}{more}}}')


def deleted_together(cluster):
    """How many pods were deleted after each look at them."""
    looks = [one for one in cluster.requests if one.resource == 'pods']
    return [len(list(group)) for verb, group in itertools.groupby(looks, lambda one: one.verb) if verb == 'delete']


@pytest.mark.parametrize('together, runs', [(None, [1, 1, 1, 1]), (2, [2, 2]), ('"75%"', [3, 1])])
def test_so_many_at_a_time(cluster, world, home, together, runs):
    home.write('cluster.yaml', spec({'train': 4}))
    home.apply()
    world.settle()
    home.write('cluster.yaml', changed(spec({'train': 4}), together=together))
    cluster.requests.clear()
    said = words(home.apply().err)
    assert f'pods are replaced {runs[0]} at a time, and their tasks have 30 s to end' in said, said
    deleted = deleted_together(cluster)
    # one pod may be ready before the other of its pair: its successor need not wait for both
    assert deleted[0] == runs[0] and max(deleted) == runs[0] and sum(deleted) == 4, deleted
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    if together:  # the number alone changes nothing
        home.write('cluster.yaml', changed(spec({'train': 4})))
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_drift_counts_the_pods_of_an_old_template(cluster, world, home):
    """One pod was started while the template was another."""
    home.write('cluster.yaml', spec({'train': 3}))
    home.apply()

    def set_hash(value):
        cluster.patch('RayCluster', [{'op': 'replace', 'path': HASH, 'value': value}], 'ml', 'research')

    group = cluster.get('RayCluster', 'ml', 'research')['spec']['workerGroupSpecs'][0]
    set_hash('0123456789abcdef')
    first = cluster.list('Pod', 'ml', 'ray.io/group=train')[0]['metadata']['name']
    cluster.delete('Pod', 'ml', first)
    world.settle()
    set_hash(group['template']['metadata']['annotations']['raygpu.io/template-hash'])
    world.settle()
    assert '1 of 3 pods run the old template' in words(home.run('drift', 'cluster.yaml', code=2).out)
    assert '1 of 3 pods run the old template' in words(home.run('plan', 'cluster.yaml').out)
    cluster.requests.clear()
    home.apply()
    assert deleted_together(cluster) == [1]
    home.run('drift', 'cluster.yaml')


def test_what_ends_with_the_head(cluster, world, home):
    """Everything; with Ray's control store elsewhere, only what runs on the head."""
    home.write('cluster.yaml', spec({'train': 1}))
    home.apply()
    head = ('head: {instance_type: cpu}', 'head: {instance_type: cpu, env: {A: b}}')
    home.write('cluster.yaml', spec({'train': 1}).replace(*head))
    said = words(home.run('plan', 'cluster.yaml').err)
    assert 'Warning: the head is restarted: every running job and actor of the cluster ends' in said, said
    assert 'nodes of' not in said  # the workers stay
    kept = spec({'train': 1}, provider='fault_tolerance: {redis: {address: "redis:6379"}}').replace(*head)
    home.write('cluster.yaml', kept)
    assert 'tasks and actors of the workers go on' in words(home.run('plan', 'cluster.yaml').err)
    home.apply()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_under_kueue_the_cluster_queues_anew(queues, nodes, home):
    quota = 'queue: {name: team, cluster_queue: all, quotas: {cpu: 100, memory: 500Gi, gpus: {T4: 8}}}'
    with Controllers(queues, nodes, KubeRay(), Kueue()) as world:
        home.write('cluster.yaml', spec({'train': 1}, provider=quota))
        home.apply()
        world.settle()
        home.write('cluster.yaml', spec({'train': 1}, provider=quota, env={'train': 'A: b'}))
        assert 'Kueue may queue the whole cluster again: all pods end, and it waits in the queue team' in words(home.run('plan', 'cluster.yaml').err)


# ---- the preStop hook

RAY = '''#!/bin/sh
printf '%s\\n' "$@" >"$0.called"
'''
PYTHON = '#!/bin/sh\necho "2026-01-01 INFO connected"\necho 0123abcd\n'


@pytest.fixture
def hook(home, tmp_path):
    """Runs the hook of a worker as a kubelet does, with these programs in the container."""
    home.write('cluster.yaml', spec({'train': 1}))
    text = home.run('export', 'kuberay', 'cluster.yaml').out
    [ray] = [one for one in yaml.safe_load_all(text) if one['kind'] == 'RayCluster']
    pod = ray['spec']['workerGroupSpecs'][0]['template']['spec']
    assert pod['terminationGracePeriodSeconds'] == 90
    assert 'lifecycle' not in ray['spec']['headGroupSpec']['template']['spec']['containers'][0]
    command = pod['containers'][0]['lifecycle']['preStop']['exec']['command']

    def run(**programs):
        folder = tmp_path / 'bin'
        folder.mkdir()
        for name, content in programs.items():
            (folder / name).write_text(content)
            (folder / name).chmod(0o755)
        done = subprocess.run(command, env={'PATH': f'{folder}:/usr/bin:/bin'}, capture_output=True, text=True, check=False, timeout=60)
        called = folder / 'ray.called'
        return done.returncode, called.read_text().split('\n') if called.exists() else None
    return run


def test_a_worker_is_drained_before_it_ends(hook):
    code, called = hook(ray=RAY, python3=PYTHON)
    assert code == 0
    assert called[:3] == ['drain-node', '--node-id', '0123abcd'] and called[called.index('--deadline-remaining-seconds') + 1] == '30'


@pytest.mark.parametrize('python', ['#!/bin/sh\nexit 1\n', '#!/bin/sh\nexit 0\n'])
def test_a_node_that_left_ray_ends_at_once(hook, python):
    assert hook(ray=RAY, python3=python) == (0, None)


def test_moved_settings_of_a_pool_replace_nothing(cluster, world, home):
    """Those of provider.pods, applied, and then in the pool itself."""
    limits = '{cpu: 3, memory: 12Gi, annotations: {a: b}, drain_s: 10}'
    home.write('cluster.yaml', spec({'train': 2}, provider=f'pods: {{train: {limits}, head: {{cpu: 1}}}}'))
    assert 'provider.pods.train is deprecated' in home.apply().err
    home.write('cluster.yaml', spec({'train': 2}).replace('nodes: 2}', f'nodes: 2, provider: {limits}}}').replace(
        'head: {instance_type: cpu}', 'head: {instance_type: cpu, provider: {cpu: 1}}'))
    moved = home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    assert 'No changes.' in moved.out and 'deprecated' not in moved.err
    home.write('cluster.yaml', spec({'train': 2}))
    assert 'cpu: 1' not in home.read('cluster.yaml')
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2).out.count('will be updated in-place') == 2


def test_without_draining(home):
    home.write('cluster.yaml', spec({'train': 1, 'serve': 1}, provider='drain_s: 0').replace(
        'serve: {accelerators: "T4:1", ', 'serve: {accelerators: "T4:1", provider: {drain_s: 600}, '))
    [ray] = [one for one in yaml.safe_load_all(home.run('export', 'kuberay', 'cluster.yaml').out) if one['kind'] == 'RayCluster']
    train, serve = (one['template']['spec'] for one in ray['spec']['workerGroupSpecs'])
    assert 'terminationGracePeriodSeconds' not in train and 'lifecycle' not in train['containers'][0]
    assert serve['terminationGracePeriodSeconds'] == 660 and serve['containers'][0]['lifecycle']['preStop']['exec']['command'][-1] == '600'

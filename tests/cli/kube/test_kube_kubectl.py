"""kubectl beside raygpu in the whole story: what it sees of each object, and what raygpu reports of each of its edits. With the kubectl of the
server's build (Debian unstable), and with the one that is installed: with --long (RAYGPU_LONG) both, else the installed one if there is one."""
import os
import shutil
import subprocess

import pytest
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay
from kueue import Kueue

QUEUE = 'queue: {name: team, cluster_queue: all, quotas: {cpu: 100, memory: 500Gi, gpus: {T4: 8}}}'
JOB = 'jobs: {one: {entrypoint: python one.py}}\n'
WHICH = ['built', 'installed'] if os.environ.get('RAYGPU_LONG') else ['installed' if shutil.which('kubectl') else 'built']


@pytest.fixture(params=WHICH)
def kubectl(request, queues, home):
    """Runs it as a user does; `editor`: what `kubectl edit` starts."""
    program = queues.kubectl if request.param == 'built' else shutil.which('kubectl')
    if not program:
        pytest.skip('kubectl is not installed')
    home.env.update(HOME=str(home.folder), KUBECACHEDIR=home.path('kubectl-cache'))

    def run(*words, editor='', code=0):
        process = subprocess.run([program, *words], env={**home.env, 'KUBE_EDITOR': editor}, capture_output=True, text=True, check=False)
        assert process.returncode == code, (words, process.stdout, process.stderr)
        return process.stdout + process.stderr
    return run


def drift(home):
    return home.run('drift', 'cluster.yaml', code=2).out


def repaired(home, *options):
    home.apply('cluster.yaml', *options)
    home.run('drift', 'cluster.yaml')


def test_kubectl_sees_and_edits_every_object(queues, nodes, home, kubectl):
    with Controllers(queues, nodes, KubeRay(), Kueue()) as world:
        home.write('cluster.yaml', spec({'train': 2, 'serve': 1}, provider=QUEUE, extra=JOB))
        home.apply()
        world.settle()
        assert set(kubectl('get', 'raycluster,rayjob,secret,localqueue', '-o', 'name', '-l', 'raygpu.io/cluster=research').split()) >= {
            'raycluster.ray.io/research', 'secret/research-ray-token', 'localqueue.kueue.x-k8s.io/team'}
        assert kubectl('get', 'clusterqueue,resourceflavor', '-o', 'name', '-l', 'raygpu.io/cluster=research').count('\n') == 3
        assert kubectl('get', 'raycluster', 'research', '-o', 'jsonpath={.status.state} {.status.readyWorkerReplicas}') == 'ready 3'
        described = kubectl('describe', 'raycluster', 'research')
        assert 'raygpu.io/address: kubernetes.ray_cluster.research' in described and 'Group Name:' in described

        # another template of a group, by an editor: the group's pods are rolled back
        kubectl('edit', 'raycluster', 'research', editor="sed -i 's/rayproject\\/ray:2.56.1-py311-cu121/rayproject\\/ray:nightly/'")
        world.settle()
        text = drift(home)
        assert 'rayproject/ray:nightly' in text and 'kubernetes.worker_group.train' in text and 'kubernetes.ray_cluster.research' in text
        forced(home)
        images = {one['spec']['containers'][0]['image'] for one in queues.list('Pod', 'ml')}
        assert images == {'rayproject/ray:2.56.1-py311-cu121'}

        # a quota, and a label
        kubectl('patch', 'clusterqueue', 'all', '--type=merge', '-p', '{"spec": {"queueingStrategy": "StrictFIFO"}}')
        kubectl('label', 'localqueue', 'team', 'team=other', '--overwrite')
        text = drift(home)
        assert 'StrictFIFO' in text and '"other"' in text
        forced(home)

        # what others add is theirs
        kubectl('annotate', 'raycluster', 'research', 'example.org/owner=me')
        kubectl('label', 'secret', 'research-ray-token', 'example.org/backup=yes')
        home.run('drift', 'cluster.yaml')

        # a pod is replaced by KubeRay; a cluster only by raygpu
        kubectl('delete', 'pod', queues.list('Pod', 'ml', 'ray.io/group=train')[0]['metadata']['name'])
        world.settle()
        home.run('drift', 'cluster.yaml')
        kubectl('delete', 'rayjob', '--all')
        home.run('drift', 'cluster.yaml')
        kubectl('delete', 'raycluster', 'research')
        world.settle()
        assert 'kubernetes.ray_cluster.research has been deleted' in drift(home)
        repaired(home)
        world.settle()
        assert kubectl('get', 'raycluster', 'research', '-o', 'jsonpath={.status.readyWorkerReplicas}') == '3'
        home.run('destroy', 'cluster.yaml', '--auto-approve')
        assert 'No resources found' in kubectl('get', 'raycluster,rayjob,localqueue')


def forced(home):
    """What kubectl changed is kubectl's: raygpu takes it back only by the user's word."""
    refused = home.apply(code=None)
    assert refused.code != 0 and 'conflict with "kubectl' in ' '.join(refused.err.split()), refused
    repaired(home, '--force-conflicts')

"""The way round by GitOps: `raygpu export kuberay`, applied by kubectl, then taken over by `raygpu state rebuild`."""
import base64
import re
import subprocess

import pytest
import yaml
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay
from kueue import Kueue

QUEUE = 'queue: {name: team, cluster_queue: all, quotas: {cpu: 100, memory: 500Gi, gpus: {T4: 8}}}'
JOB = 'jobs:\n  finetune: {entrypoint: python train.py, runtime_env: {env_vars: {A: b}}}\n'


@pytest.fixture
def shell(cluster, home):
    """Commands as a user types them; kubectl is that of the server's build."""
    def run(text, stdin=None):
        process = subprocess.run(['bash', '-ec', text.replace('kubectl', cluster.kubectl)], env=home.env, cwd=home.folder, input=stdin, capture_output=True,
                                 text=True, check=False)
        assert process.returncode == 0, (text, process.stdout, process.stderr)
        return process.stdout
    return run


def commands_of(text):
    """The commands in the comments of an export."""
    return re.findall(r'^#   (kubectl .*)$', text, re.M)


@pytest.mark.parametrize('pools, provider, extra', [
    ({'train': 2, 'serve': ('T4:1', '{min: 1, max: 3}')}, '', ''),
    ({'train': 2}, QUEUE, JOB)], ids=['elastic', 'queue and job'])
def test_exported_objects_are_taken_over_unchanged(queues, nodes, home, shell, pools, provider, extra):
    """kubectl applies them, the state is rebuilt from their marks, and a plan has nothing to change."""
    home.write('cluster.yaml', spec(pools, provider=provider, extra=extra))
    text = home.run('export', 'kuberay', 'cluster.yaml').out
    home.write('manifests.yaml', text)
    home.write('FILE', 'a' * 43)
    create, *marks = commands_of(text)
    # the test server has no protobuf, in which kubectl would create it
    shell(f'{create} --dry-run=client -o yaml | kubectl create -f -')
    for command in marks:
        shell(command)
    with Controllers(queues, nodes, KubeRay(), Kueue()) as world:
        shell('kubectl apply --namespace ml -f manifests.yaml')
        world.settle()
        home.run('state', 'rebuild', 'cluster.yaml')
        result = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=None)
        assert result.code == 0, str(result.out)
        home.run('drift', 'cluster.yaml')
        queues.requests.clear()
        home.apply()
        assert queues.counts(writes=True) == {}
        home.run('destroy', 'cluster.yaml', '--auto-approve')
        for document in yaml.safe_load_all(text):
            assert queues.list(document['kind']) == [], document['kind']
        assert queues.list('Secret', 'ml') == []


def test_a_lost_state_is_rebuilt(cluster, world, home):
    """With Ray's token, which is read back from the Secret and appears in no trace."""
    home.write('cluster.yaml', spec({'train': 2}, extra=JOB))
    home.apply()
    world.settle()
    home.env['RAYGPU_STATE'] = home.path('rebuilt.db')
    home.run('state', 'rebuild', 'cluster.yaml', '--trace', 'trace')
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    encoded = cluster.list('Secret', 'ml')[0]['data']['auth_token']
    with open(home.path('trace'), encoding='utf-8') as file:
        trace = file.read()
    assert 'Secret.get' in trace and encoded not in trace and base64.b64decode(encoded).decode() not in trace
    cluster.denied.add(('get', 'secrets'))
    home.env['RAYGPU_STATE'] = home.path('again.db')
    result = home.run('state', 'rebuild', 'cluster.yaml', code=7)
    assert 'cannot get resource "secrets"' in ' '.join(result.err.split())

"""Plans on Kubernetes, as recorded in tests/golden/kubernetes: the research cluster, MIG slices in a shared queue, an elastic pool, a job.
RAYGPU_UPDATE_GOLDEN=1 rewrites the files; review the difference."""
import os
import re

import pytest
from nodes import gpu_node
from program import ROOT

GOLDEN = ROOT / 'tests/golden/kubernetes'
JOB = 'jobs:\n  finetune: {entrypoint: python train.py, runtime_env: {pip: [torch==2.7.0]}, timeout_s: 3600}\n'
MACHINES = r'^.*\b(public_ip|disk|zones):.*\n|(?<=\S) # (eight|resolves|AWS).*$'


def research():
    """examples/research.yaml with pods instead of machines, as examples/quickstart.sh has it."""
    text = (ROOT / 'examples/research.yaml').read_text(encoding='utf-8')
    text = text.replace('name: aws\n  region: us-east-1', 'name: kubernetes\n  namespace: ml').replace('m5.2xlarge', 'cpu')
    return re.sub(MACHINES, '', text, flags=re.M) + JOB


def example(name):
    return (ROOT / f'examples/kubernetes-{name}.yaml').read_text(encoding='utf-8')


def as_recorded(name, text):
    path = GOLDEN / name
    if os.environ.get('RAYGPU_UPDATE_GOLDEN'):
        path.write_text(text, encoding='utf-8')
    assert text == path.read_text(encoding='utf-8')


@pytest.mark.parametrize('name, text, namespace, context', [
    ('research', research(), 'ml', 'test'), ('mig', example('mig'), 'vision', 'lab'), ('dev', example('dev'), 'dev', 'test')], ids=['research', 'mig', 'dev'])
def test_a_first_plan(queues, home, name, text, namespace, context):
    """Two nodes have GPUs, so the plan also reports models that no node has."""
    gpu_node(queues, 'cpu')
    gpu_node(queues, 'gpu', 'Tesla-T4', 4)
    gpu_node(queues, 'sliced', 'NVIDIA-A100-SXM4-40GB', 28, resource='nvidia.com/mig-1g.5gb')
    if namespace != 'ml':
        queues.namespace(namespace)
    queues.kubeconfig(home.path('kubeconfig'), namespace='ml', context=context)
    home.write('cluster.yaml', text)
    result = home.run('plan', 'cluster.yaml', env={'RAYGPU_ALLOW_PROFILES': context})
    assert [one for one in queues.requests if one.writes] == []
    as_recorded(f'{name}.plan.txt', f'{result.out}--- stderr\n{result.err}')

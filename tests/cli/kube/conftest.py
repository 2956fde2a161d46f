"""raygpu on Kubernetes: a cluster of tests/kube with KubeRay and nodes, and a user's folder whose kubeconfig names it."""
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../kube'))
from controllers import Controllers  # noqa: E402
from fixtures import cluster, queues, shared_cluster, shared_queues  # noqa: E402,F401
from kuberay import KubeRay  # noqa: E402
from nodes import Nodes, gpu_node  # noqa: E402
from program import Home  # noqa: E402


@pytest.fixture
def nodes(cluster):  # noqa: F811
    """One for heads and two with 4 T4 each."""
    gpu_node(cluster, 'cpu')
    gpu_node(cluster, 'gpu-1', 'Tesla-T4', 4)
    gpu_node(cluster, 'gpu-2', 'Tesla-T4', 4)
    return Nodes()


@pytest.fixture
def world(cluster, nodes):  # noqa: F811
    with Controllers(cluster, nodes, KubeRay()) as running:
        yield running


@pytest.fixture
def large(cluster, world):  # noqa: F811
    """Room for 400 workers of one GPU."""
    gpu_node(cluster, 'large', 'Tesla-T4', 400, cpu=4000, memory='8Ti')
    return world


@pytest.fixture
def home(cluster, tmp_path):  # noqa: F811
    return Home(tmp_path, {'KUBECONFIG': cluster.kubeconfig(tmp_path / 'kubeconfig', namespace='ml')})

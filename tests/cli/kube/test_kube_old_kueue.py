"""A Kueue that serves only v1beta1: the same spec, under the older names."""

import apiserver
import front
import pytest
from controllers import Controllers
from kube_spec import spec
from kuberay import KubeRay
from kueue import Kueue
from nodes import Nodes, gpu_node
from program import Home


@pytest.fixture
def old(tmp_path):
    if not apiserver.folder():
        pytest.skip(apiserver.NO_SERVER)
    with front.Cluster(front.RAY + front.KUEUE, versions={kind: ['v1beta1'] for kind in front.KUEUE}) as cluster:
        cluster.namespace('ml')
        gpu_node(cluster, 'gpu', 'Tesla-T4', 4)
        yield cluster


def test_v1beta1_only(old, tmp_path):
    home = Home(tmp_path, {'KUBECONFIG': old.kubeconfig(tmp_path / 'kubeconfig', namespace='ml')})
    queue = 'queue: {name: team, cluster_queue: all, cohort: lab, quotas: {cpu: 100, memory: 500Gi, gpus: {T4: 4}}, priority: {name: high, value: 10}}'
    with Controllers(old, Nodes(), KubeRay(), Kueue()) as world:
        home.write('cluster.yaml', spec({'train': 2}, provider=queue))
        home.apply()
        world.settle()
        made = old.get('ClusterQueue', None, 'all')
        assert made['apiVersion'] == 'kueue.x-k8s.io/v1beta1' and made['spec']['cohort'] == 'lab'
        assert {one.version for one in old.requests if one.group == 'kueue.x-k8s.io'} == {'v1beta1'}
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        home.write('cluster.yaml', spec({'train': 2}, provider=queue.replace('T4: 4', 'T4: 8').replace('cohort: lab', 'cohort: other')))
        home.apply()
        assert old.get('ClusterQueue', None, 'all')['spec']['cohort'] == 'other'
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        home.run('destroy', 'cluster.yaml', '--auto-approve')
        for kind in ('RayCluster', 'LocalQueue', 'ClusterQueue', 'ResourceFlavor', 'WorkloadPriorityClass'):
            assert old.list(kind) == []

"""The checker of manifests refuses what a server with the published CRDs refuses, and says where."""
import copy

import manifests
import pytest
import schemas

GROUP = {'groupName': 'train', 'replicas': 2, 'minReplicas': 2, 'maxReplicas': 2, 'rayStartParams': {'num-gpus': '8'},
         'template': {'metadata': {'labels': {'team': 'ml'}},
                      'spec': {'containers': [{'name': 'ray', 'image': 'rayproject/ray:2.56.1', 'ports': [{'containerPort': 8080}],
                                               'resources': {'limits': {'nvidia.com/gpu': 8, 'memory': '512Gi'}}}]}}}
CLUSTER = {'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'research', 'namespace': 'ml'},
           'spec': {'rayVersion': '2.56.1', 'headGroupSpec': {'rayStartParams': {}, 'template': GROUP['template']},
                    'workerGroupSpecs': [GROUP]}}
QUEUE = {'apiVersion': 'kueue.x-k8s.io/v1beta2', 'kind': 'ClusterQueue', 'metadata': {'name': 'gpu'},
         'spec': {'namespaceSelector': {}, 'resourceGroups': [{'coveredResources': ['nvidia.com/gpu'], 'flavors': [
             {'name': 'a100', 'resources': [{'name': 'nvidia.com/gpu', 'nominalQuota': 16}]}]}]}}
SECRET = {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'token'}, 'type': 'Opaque', 'data': {'auth_token': 'eA=='}}


def changed(document, path, value):
    document = copy.deepcopy(document)
    part = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return document


@pytest.mark.parametrize('document', [CLUSTER, QUEUE, SECRET], ids=lambda one: one['kind'])
def test_good(document):
    assert manifests.refused(document) == []


@pytest.mark.parametrize('document, path, value, text', [
    (CLUSTER, ('spec', 'rayVersoin'), '2.56.1', 'spec.rayVersoin: unknown field'),
    (CLUSTER, ('spec', 'workerGroupSpecs', 0, 'replicas'), '2', "spec.workerGroupSpecs[0].replicas: '2' is not of type 'integer'"),
    (CLUSTER, ('spec', 'workerGroupSpecs', 0, 'rayStartParams', 'num-gpus'), 8,
     "spec.workerGroupSpecs[0].rayStartParams.num-gpus: 8 is not of type 'string'"),
    (CLUSTER, ('spec', 'workerGroupSpecs', 0, 'template', 'spec', 'containers', 0, 'resources', 'limits', 'memory'), '512 GB',
     "spec.workerGroupSpecs[0].template.spec.containers[0].resources.limits.memory: '512 GB' is not a quantity"),
    (CLUSTER, ('spec', 'workerGroupSpecs', 0, 'template', 'metadata', 'labels'), {'a:b': 'c'},
     "spec.workerGroupSpecs[0].template.metadata.labels: 'a:b' is not a qualified name"),
    (CLUSTER, ('metadata',), {'name': 'Research'}, "metadata.name: 'Research' is not a DNS name"),
    (CLUSTER, ('metadata',), {'name': 'research', 'lables': {}}, 'metadata.lables: unknown field'),
    (QUEUE, ('spec', 'cohort'), 'all', 'spec.cohort: unknown field'),  # the name of v1beta1
    (QUEUE, ('spec', 'queueingStrategy'), 'Fifo', "spec.queueingStrategy: 'Fifo' is not one of ['StrictFIFO', 'BestEffortFIFO']"),
    (SECRET, ('data', 'auth_token'), 7, "data.auth_token: 7 is not of type 'string'"),
    (SECRET, ('spec',), {}, 'spec: unknown field'),
    (SECRET, ('metadata', 'labels'), {'a': 'x y'}, "metadata.labels.a: 'x y' is not a label value"),
])
def test_refused(document, path, value, text):
    found = manifests.refused(changed(document, path, value))
    assert any(one.endswith(text) or text in one for one in found), found


def test_missing():
    document = copy.deepcopy(CLUSTER)
    del document['spec']['headGroupSpec']['template']
    assert manifests.refused(document) == ["spec.headGroupSpec: 'template' is a required property"]
    assert manifests.refused({'apiVersion': 'ray.io/v1', 'kind': 'RayClusters'}) == ['ray.io/v1 RayClusters: no published schema of this kind']


@pytest.mark.parametrize('kind', schemas.kinds())
def test_every_kind_has_a_checker(kind):
    versions = [one for one in schemas.published()['crds'] if one['kind'] == kind]
    for one in versions:
        empty = {'apiVersion': f"{one['group']}/{one['version']}", 'kind': kind, 'metadata': {'name': 'x'}, 'nonsense': 1}
        assert 'nonsense: unknown field' in manifests.refused(empty)

"""Dry runs before anything exists: what the API server and webhooks refuse or change is shown at the line of the spec."""
import re

import pytest
from front import Refused
from kube_spec import spec


def words(result):
    return ' '.join((result.out + result.err).split())


def lines(result):
    """Of the spec, that findings name."""
    return [int(line.split(':')[1]) for line in result.err.splitlines() if line.strip().startswith('on cluster.yaml:')]


def test_a_crd_without_the_field(cluster, home):
    """An older KubeRay: each field is named, at its setting, and nothing is created."""
    home.write('cluster.yaml', spec(provider='network_policy: DenyAllIngress, tls: true').replace(', network_policy', ',\n  network_policy').replace(', tls', ',\n  tls'))
    with cluster.older('RayCluster', 'networkPolicy', 'tlsOptions'):
        for command, code in (('plan', 1), ('apply', 1)):
            result = home.run(command, 'cluster.yaml', *(['--auto-approve'] if command == 'apply' else []), code=code)
            assert 'the API of the cluster does not have the field spec.networkPolicy' in words(result), result
            assert 'the API of the cluster does not have the field spec.tlsOptions' in words(result)
            assert 'the CRD in the cluster is older than the field' in words(result) and sorted(lines(result)) == [4, 5]
    assert cluster.counts(writes=True) == {}
    home.run('plan', 'cluster.yaml')


def test_causes_are_at_the_lines_of_the_spec(cluster, home):
    """As CEL rules and validating webhooks answer: one error for each field."""
    def refuse(request, document):
        if request.resource == 'rayclusters':
            fields = ('spec.workerGroupSpecs[1].maxReplicas', 'spec.headGroupSpec.template.spec.containers[0].image', 'spec.rayVersion')
            raise Refused(422, 'Invalid', 'RayCluster.ray.io "research" is invalid', name='research', causes=[
                {'reason': 'FieldValueInvalid', 'field': field, 'message': f'Invalid value: not this {field[-5:]}'} for field in fields])

    cluster.admission.append(refuse)
    home.write('cluster.yaml', spec({'train': 1, 'serve': 1}))
    result = home.run('plan', 'cluster.yaml', code=1)
    assert 'spec.workerGroupSpecs[1].maxReplicas: Invalid value: not this licas' in words(result), result
    assert sorted(lines(result)) == [4, 4, 8]


@pytest.mark.parametrize('former', [True, False], ids=['former place', 'of the pool'])
def test_causes_in_settings_of_a_pool_are_at_their_place(cluster, home, former):
    def refuse(request, document):
        if request.resource == 'rayclusters':
            raise Refused(422, 'Invalid', 'RayCluster.ray.io "research" is invalid', name='research', causes=[
                {'reason': 'FieldValueInvalid', 'field': f'spec.{group}.template.spec.priorityClassName', 'message': 'no such class'}
                for group in ('workerGroupSpecs[0]', 'headGroupSpec')])

    cluster.admission.append(refuse)
    own = 'priority_class: none-such'
    text = spec({'train': 1}, provider=f'\n  pods: {{train: {{{own}}},\n    head: {{{own}}}}}' if former else '')
    if not former:
        text = text.replace('head: {', f'head: {{\n  provider: {{{own}}}, ').replace('  train: {', f'  train: {{\n    provider: {{{own}}}, ')
    home.write('cluster.yaml', text)
    expected = [number for number, line in enumerate(text.splitlines(), 1) if own in line]
    result = home.run('plan', 'cluster.yaml', code=1)
    at = [int(line) for line in re.findall(r'Error: .*?on cluster\.yaml:(\d+)', result.err, re.DOTALL)]
    assert len(expected) == 2 and sorted(at) == expected and 'no such class' in words(result), result


def test_a_webhook_is_down(cluster, home):
    """A plan warns; it is not a fault of the spec."""
    def fail(request, document):
        if request.resource == 'rayclusters':
            raise Refused(500, 'InternalError', 'Internal error occurred: failed calling webhook "vraycluster.kb.io": connection refused')

    cluster.admission.append(fail)
    home.write('cluster.yaml', spec())
    result = home.run('plan', 'cluster.yaml')
    assert 'failed calling webhook "vraycluster.kb.io"' in words(result) and 'kubectl get validatingwebhookconfigurations' in words(result), result
    assert home.apply(code=None).code != 0
    assert cluster.list('RayCluster', 'ml') == []


def test_what_webhooks_change_is_a_note(cluster, world, home):
    """Changed fields, sidecars, added labels; defaults of the CRD are not mentioned."""
    def change(request, document):
        if request.resource == 'rayclusters' and request.verb == 'create':
            head = document['spec']['headGroupSpec']['template']['spec']
            head['containers'].append({'name': 'sidecar', 'image': 'proxy'})
            head['containers'][0]['image'] = 'registry.example.org/ray'
            document['metadata'].setdefault('labels', {})['cost'] = 'x'

    cluster.admission.append(change)
    home.write('cluster.yaml', spec())
    result = home.run('plan', 'cluster.yaml')
    assert 'admission webhooks of the cluster change research: ' in words(result), result
    for part in ('metadata.labels.cost is added: "x"', 'spec.headGroupSpec.template.spec.containers has other elements',
                 'spec.headGroupSpec.template.spec.containers[0].image becomes "registry.example.org/ray"'):
        assert part in words(result), (part, result)
    assert 'numOfHosts' not in words(result) and 'priority' not in words(result)
    cluster.admission.clear()
    assert 'webhooks' not in words(home.run('plan', 'cluster.yaml'))


def changed(nodes, more=''):
    """A spec whose pool and whose cluster differ from spec()."""
    return spec({'train': nodes, **({'serve': 1} if more else {})}, labels='{team: vision}')


def dry_runs(cluster):
    return sorted((one.verb, one.resource) for one in cluster.requests if one.method != 'GET' and 'dryRun' in one.query)


def test_updates_are_tried(cluster, world, home):
    """One patch for all groups, one apply of the RayCluster; nothing is written."""
    home.write('cluster.yaml', spec())
    home.apply()
    home.write('cluster.yaml', changed(3, 'serve'))
    before = cluster.get('RayCluster', 'ml', 'research')
    cluster.requests.clear()
    home.run('plan', 'cluster.yaml')
    assert set(dry_runs(cluster)) == {('patch', 'rayclusters'), ('patch', 'secrets')} and cluster.counts(writes=True) == {}
    assert cluster.get('RayCluster', 'ml', 'research') == before
    patched = [one.object() for one in cluster.requests if one.method == 'PATCH' and isinstance(one.object(), list)]
    assert [[op['path'] for op in patch if op['op'] == 'add'] for patch in patched] == [
        [f'/spec/workerGroupSpecs/0/{name}' for name in ('minReplicas', 'maxReplicas', 'replicas')] + ['/spec/workerGroupSpecs/-']]
    home.apply()
    cluster.requests.clear()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    assert dry_runs(cluster) == []


def test_a_webhook_refuses_a_change(cluster, world, home):
    """The plan says it, at the line of the pool, and nothing is changed."""
    home.write('cluster.yaml', spec())
    home.apply()

    def refuse(request, document):
        if request.resource == 'rayclusters' and document['spec']['workerGroupSpecs'][0]['replicas'] > 2:
            raise Refused(403, 'Forbidden', 'admission webhook "policy.example.org" denied the request: no more than 2 nodes', causes=[
                {'reason': 'FieldValueInvalid', 'field': 'spec.workerGroupSpecs[0].replicas', 'message': 'no more than 2 nodes'}])

    cluster.admission.append(refuse)
    home.write('cluster.yaml', spec({'train': 3}))
    cluster.requests.clear()
    for command in ('plan', 'apply'):
        result = home.run(command, 'cluster.yaml', *(['--auto-approve'] if command == 'apply' else []), code=None)
        assert result.code not in (0, 2) and 'spec.workerGroupSpecs[0].replicas: no more than 2 nodes' in words(result) and lines(result) == [7], result
    assert cluster.counts(writes=True) == {}


def test_what_webhooks_change_in_updates_is_a_note(cluster, world, home):
    home.write('cluster.yaml', spec())
    home.apply()
    cluster.patch('RayCluster', {'metadata': {'labels': {'cost': 'theirs'}}}, 'ml', 'research')

    def change(request, document):
        if request.resource == 'rayclusters' and request.verb == 'patch':
            document['spec']['workerGroupSpecs'][0]['maxReplicas'] = 7
            document['metadata']['labels']['team'] = 'webhook'

    cluster.admission.append(change)
    home.write('cluster.yaml', changed(3))
    said = words(home.run('plan', 'cluster.yaml'))
    assert 'admission webhooks of the cluster change research: spec.workerGroupSpecs[0].maxReplicas becomes 7' in said, said
    assert 'change research: metadata.labels.team becomes "webhook"' in said and 'cost' not in said, said


def test_updates_without_the_permission_are_a_note(cluster, world, home):
    home.write('cluster.yaml', spec())
    home.apply()
    cluster.denied.add(('patch', 'rayclusters'))
    home.write('cluster.yaml', changed(3))
    assert 'cannot patch resource "rayclusters"' in words(home.run('plan', 'cluster.yaml'))
    assert 'cannot patch resource "rayclusters"' in words(home.apply(code=7))
    assert [one for one in cluster.requests if one.writes and one.status < 300 and one.verb == 'patch'] == []


def test_a_field_of_another_manager_in_a_plan(cluster, world, home):
    """A warning: --force-conflicts may be the answer."""
    home.write('cluster.yaml', spec())
    home.apply()
    cluster.call('PATCH', 'RayCluster', {'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'research'}, 'spec': {'rayVersion': '2.51.0'}},
                 'ml', 'research', query='?fieldManager=someone&force=true', content_type='application/apply-patch+yaml')
    said = words(home.run('plan', 'cluster.yaml'))
    assert 'someone' in said and '.spec.rayVersion' in said, said

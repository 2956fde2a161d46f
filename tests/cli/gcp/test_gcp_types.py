"""Machine types that no table has are described by Compute Engine (machineTypes.aggregatedList), once: what it says is kept with
the state."""
import json

import pytest
from test_gcp_story import nodes, spec

NEW = 'a9-highgpu-8g'
TYPES = {NEW: {'vcpus': 208, 'memory_gib': 1872, 'gpus': {'name': 'nvidia-h200-141gb', 'count': 8}, 'regions': ['us-central1']},
         'c9-standard-8': {'vcpus': 8, 'memory_gib': 32}, 'c9-standard-4': {'vcpus': 4, 'memory_gib': 16, 'regions': ['europe-west4']}}


@pytest.fixture
def gce(gce):
    gce.control('PUT', 'scenario', {'cloud': 'gcp', 'instance_types': TYPES})
    return gce


def flat(text):
    return ' '.join(text.replace('│', ' ').split())


def asked(gce):
    return gce.counters()['actions'].get('machineTypes.aggregatedList', {}).get('requests', 0)


def test_plan_apply_no_changes_destroy(gce, home):
    home.write('cluster.yaml', spec({'w': f'instance_type: {NEW}, nodes: 2', 'c': 'instance_type: c9-standard-8, nodes: 1'}))
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    said = flat(plan.out + plan.err)
    assert f'no table has {NEW}: the cloud reports 208 vCPUs, 1872 GiB, 8 H200-141GB' in said, plan
    assert 'no table has c9-standard-8: the cloud reports 8 vCPUs, 32 GiB' in said, plan
    assert '2 unpriced' in said and asked(gce) == 1, plan
    home.run('plan', 'cluster.yaml', '--out', 'saved.plan')
    gce.counters_reset()
    home.run('apply', 'saved.plan', '--auto-approve')
    assert asked(gce) == 0, 'the plan has what the cloud said'
    assert {i['scheduling']['onHostMaintenance'] for i in nodes(gce, 'w')} == {'TERMINATE'}
    assert len(nodes(gce, 'w')) == 2 and len(nodes(gce, 'c')) == 1
    gce.counters_reset()
    again = home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    actions = gce.counters()['actions']
    assert 'No changes.' in again.out and not [name for name in actions if name.startswith('machineTypes')], (again, actions)
    gce.counters_reset()
    assert NEW in home.run('state', 'pull').out and NEW in home.run('show', 'saved.plan').out
    assert gce.counters()['requests'] == 0
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not nodes(gce) and asked(gce) == 0


def test_one_request_more(gce, home):
    home.write('cluster.yaml', spec({'c': 'instance_type: c9-standard-8, nodes: 1'}))
    home.write('raygpu.yaml', 'catalog: {instance_types: {gcp: {c9-standard-8: {vcpus: 8, memory: 32GiB}}}}\n')
    home.run('plan', 'cluster.yaml')
    listed = gce.counters()['requests']
    gce.counters_reset()
    home.write('raygpu.yaml', 'policy: {max_nodes: 99}\n')
    home.run('plan', 'cluster.yaml')
    assert gce.counters()['requests'] == listed + 1


@pytest.mark.parametrize('name, near', [('n2-standrd-8', 'n2-standard-8'), ('c9-standard-4', None)])
def test_one_that_the_region_does_not_have(gce, home, name, near):
    home.write('cluster.yaml', spec({'w': f'instance_type: {name}, nodes: 1'}))
    said = home.run('plan', 'cluster.yaml', code=4)
    assert f'"{name}" is not in the catalog of gcp machine types, and the region has none of this name' in flat(said.err), said
    assert 'cluster.yaml:7:' in said.err and (not near or f'did you mean `{near}`?' in said.err), said
    assert gce.counters()['mutating'] == 0


def test_offline_it_is_a_warning(gce, home):
    home.write('cluster.yaml', spec({'w': f'instance_type: {NEW}, nodes: 1'}))
    said = home.run('validate', 'cluster.yaml')
    assert f'"{NEW}" is not in the catalog of gcp machine types: the cloud will be asked at plan time' in flat(said.out + said.err), said
    assert gce.counters()['requests'] == 0


@pytest.mark.parametrize('name', ['n2-custom-3-8192', 'n2-standard-4+nvidia-tesla-t4:1'])
def test_a_name_that_breaks_a_rule_is_an_error_offline_too(gce, home, name):
    home.write('cluster.yaml', spec({'w': f'instance_type: "{name}", nodes: 1'}))
    assert 'catalog.unknown-type' in home.run('validate', 'cluster.yaml', code=4).err
    home.run('plan', 'cluster.yaml', code=4)
    assert asked(gce) == 0


def test_an_accelerator_that_raygpu_does_not_know(gce, home):
    gce.control('PUT', 'scenario', {'cloud': 'gcp', 'instance_types': {
        NEW: {'vcpus': 208, 'memory_gib': 1872, 'gpus': {'name': 'nvidia-r100', 'count': 8}},
        'x9-8t': {'vcpus': 208, 'memory_gib': 1872, 'gpus': {'name': 'ct9', 'count': 8}}}})
    home.write('cluster.yaml', spec({'w': f'instance_type: {NEW}, nodes: 1', 't': 'instance_type: x9-8t, nodes: 1'}))
    said = home.run('plan', 'cluster.yaml', code=4)
    assert f'"{NEW}" has 8 NVIDIA "nvidia-r100", which is not in raygpu\'s catalog of GPUs' in flat(said.err), said
    assert '"x9-8t" has 8 Google "ct9", on which raygpu cannot run Ray' in flat(said.err), said
    home.write('raygpu.yaml', 'catalog: {gpus: {R100: {memory: 288GB, compute_capability: "11.0", names: [nvidia-r100]}}}\n')
    home.write('cluster.yaml', spec({'w': f'instance_type: {NEW}, nodes: 1'}))
    said = home.run('plan', 'cluster.yaml')
    assert '8 R100' in flat(said.out + said.err), said


def test_the_type_of_a_reservation_is_asked_too(gce, home):
    gce.done(gce.insert('zones/us-central1-a/reservations', {'name': 'held', 'specificReservationRequired': True, 'specificReservation': {
        'count': '2', 'instanceProperties': {'machineType': 'c9-standard-8'}}}))
    home.write('cluster.yaml', spec({'w': 'instance_type: c9-standard-8, nodes: 1, market: {reservation: held}'}))
    home.apply()
    assert len(nodes(gce, 'w')) == 1
    assert 'No changes.' in home.run('plan', 'cluster.yaml').out


def test_a_scenario_is_checked(gce):
    for types, said in (({'c9': {'vcpus': 8, 'memory_gib': 32}}, 'a name is like'), ({'n2-standard-8': {'vcpus': 8, 'memory_gib': 32}}, 'already exists'),
                        ({'c9-x': {'vcpus': 8, 'memory_gib': 32, 'regions': ['mars']}}, 'no region "mars"'), ({'c9-x': {'vcpus': 0, 'memory_gib': 32}}, 'vcpus is from'),
                        ({'c9-x': {'vcpus': 1, 'memory_gib': 32, 'arch': 'vax'}}, 'x86_64 or arm64'), ({'c9-x': {}}, 'vcpus')):
        with pytest.raises(RuntimeError) as failure:
            gce.control('PUT', 'scenario', {'cloud': 'gcp', 'instance_types': types})
        assert said in json.loads(str(failure.value).split(' ', 3)[-1])['error'], failure.value

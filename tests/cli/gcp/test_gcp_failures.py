"""What goes wrong on Compute Engine, and what raygpu makes of it."""
import re

import pytest
from gce_server import PROJECT, gce_env
from program import Home
from test_gcp_story import clean, nodes, spec, table

WORK = {'w': 'accelerators: "T4:1", nodes: 4'}


def flat(result):
    return re.sub(r'\s+', ' ', result.err)


def write(home, pools=None, **more):
    home.write('cluster.yaml', spec(WORK if pools is None else pools, **more))


def test_nodes_join(gce, tmp_path):
    """An apply waits until the nodes have joined Ray, by their serial port."""
    home = Home(tmp_path, gce_env(gce))
    gce.knobs(join_ms=200)
    write(home)
    result = home.apply()
    assert 'Apply complete!' in result.out
    assert 'joined' in result.out + result.err
    assert 'no apply has seen' not in clean(home).err
    assert 'raygpu: v1 joined' in home.run('logs', 'gcp.instance.head').out


def test_nodes_install_docker_where_images_have_none(gce, tmp_path):
    home = Home(tmp_path, gce_env(gce))
    gce.knobs(image_docker=0)
    write(home)
    assert 'joined' in str(home.apply())
    user_data = next(i['value'] for i in nodes(gce, 'w')[0]['metadata']['items'] if i['key'] == 'user-data')
    assert '/usr/local/lib/raygpu/install-docker' in user_data


def test_no_capacity_anywhere(gce, home):
    gce.knobs(capacity={'*': {'*': 0}, 'n2-standard-8': {'*': 5}})
    write(home, {'w': 'instance_type: a2-highgpu-1g, nodes: 2'})
    result = home.apply(code=None)
    assert result.code in (3, 8), result
    assert not nodes(gce, 'w') and len(nodes(gce)) == 1
    gce.knobs(capacity={})
    home.apply()
    assert len(nodes(gce, 'w')) == 2


@pytest.mark.parametrize('code, again', [('ZONE_RESOURCE_POOL_EXHAUSTED', True), ('INVALID_USAGE', False)])
def test_an_operation_that_fails_late(gce, home, code, again):
    """HTTP 200 only means that the request was accepted. What has no capacity is created in the next zone."""
    write(home, {'w': 'accelerators: "T4:1", nodes: 1, zones: [us-central1-b, us-central1-c]'})
    gce.knobs(operation_faults=[{'type': 'insert', 'target': 'research-w-*', 'code': code, 'status': 400, 'message': 'too late', 'count': 1}])
    result = home.apply(code=None)
    failed = [o for o in table(gce, 'operations') if 'error' in o]
    assert [o['error']['errors'][0]['code'] for o in failed if o['operationType'] == 'insert'] == [code], failed
    assert [i['zone'][-1] for i in nodes(gce, 'w')] == (['c'] if again else [])
    assert result.code == (0 if again else 3), result
    assert 'too late' in flat(result) or again
    home.apply()
    assert len(nodes(gce)) == 2
    clean(home)


def labels_change(home, pools=None):
    home.write('cluster.yaml', spec(WORK if pools is None else pools).replace('team: ml', 'team: ops'))


def teams(gce):
    return {r['labels']['team'] for name in ('instances', 'addresses') for r in table(gce, name)}


def forget(gce, scope, count=100):
    gce.fault(action=f'{scope}Operations.wait', status=404, code='notFound', message='The operation was not found', count=count)


def requests(gce, action):
    return gce.counters()['actions'].get(action, {}).get('requests', 0)


def test_operations_that_are_forgotten_but_were_done(gce, home):
    """The resource shows what was done."""
    gce.knobs(operation_ms=0)
    for scope in ('global', 'region', 'zone'):
        forget(gce, scope)
    write(home)
    home.apply()
    assert len(nodes(gce)) == 5
    labels_change(home)
    home.apply()
    assert teams(gce) == {'ops'}
    assert requests(gce, 'addresses.setLabels') == 1
    assert requests(gce, 'instances.setLabels') == 5
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not table(gce, 'addresses')
    assert not [f for f in table(gce, 'firewalls') if f['name'].startswith('raygpu-')]


def test_changes_that_are_lost_are_not_done(gce, home):
    write(home, {'w': 'accelerators: "T4:1", nodes: 2'})
    home.apply()
    labels_change(home, {'w': 'accelerators: "T4:1", nodes: 2'})
    for scope, name, target in (('region', 'addresses', 'raygpu-*'), ('zone', 'instances', 'research-*')):
        gce.knobs(operation_ms=0, operation_faults=[{'type': 'setLabels', 'target': target, 'code': 'X'}])
        forget(gce, scope)
        result = home.apply(code=None)
        assert result.code not in (0, 2) and 'no longer knows the operation operation-' in flat(result), result
        assert 'OPERATION_FORGOTTEN' in flat(result)
        assert {r['labels']['team'] for r in table(gce, name)} == {'ml'}
        if scope == 'region':
            assert requests(gce, 'addresses.setLabels') == 2, 'sent once more'
        gce.faults_clear()
    gce.knobs(operation_faults=[])
    home.apply()
    assert teams(gce) == {'ops'}
    clean(home)


def test_a_removal_that_is_lost_is_repeated(gce, home):
    write(home)
    home.apply()
    gce.knobs(operation_ms=0, operation_faults=[{'type': 'delete', 'target': 'raygpu-research-closed-*', 'code': 'X', 'count': 1}])
    gce.counters_reset()
    forget(gce, 'global', 2)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert requests(gce, 'firewalls.delete') == 3
    assert not [f for f in table(gce, 'firewalls') if f['name'].startswith('raygpu-')]


def test_a_firewall_rule_that_is_in_use_at_destroy(gce, home):
    write(home)
    home.apply()
    gce.fault(action='firewalls.delete', status=400, code='resourceInUseByAnotherResource', message='in use', count=2)
    gce.counters_reset()
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert requests(gce, 'firewalls.delete') == 4, 'both, until they are gone'
    assert not [f for f in table(gce, 'firewalls') if f['name'].startswith('raygpu-')]


@pytest.mark.parametrize('late', [False, True])
def test_the_address_was_changed_meanwhile(gce, home, late):
    """Once more with the new fingerprint, then it is a conflict."""
    def stale(count):
        if late:
            gce.knobs(operation_faults=[{'type': 'setLabels', 'target': 'raygpu-*', 'code': 'CONDITION_NOT_MET', 'status': 412, 'count': count}])
        else:
            gce.fault(action='addresses.setLabels', status=412, code='conditionNotMet', message='stale', count=count)
    write(home)
    home.apply()
    labels_change(home)
    stale(2)
    result = home.apply(code=None)
    assert result.code not in (0, 2) and requests(gce, 'addresses.setLabels') == 2, result
    assert 'changed at the same time' in flat(result)
    home.write('cluster.yaml', spec(WORK).replace('team: ml', 'team: dev'))
    stale(1)
    home.apply()
    assert requests(gce, 'addresses.setLabels') == 4
    assert teams(gce) == {'dev'}
    clean(home)


def test_one_of_many_changes_fails(gce, home):
    pools = {'w': 'accelerators: "T4:1", nodes: 12'}
    write(home, pools)
    home.apply()
    name = nodes(gce, 'w')[0]['name']
    labels_change(home, pools)
    gce.knobs(operation_faults=[{'type': 'setLabels', 'target': name, 'code': 'PERMISSIONS_ERROR', 'status': 403, 'message': 'not this one'}])
    gce.counters_reset()
    result = home.apply(code=None)
    assert result.code not in (0, 2) and 'not this one' in flat(result), result
    assert [i['name'] for i in nodes(gce) if i['labels']['team'] == 'ml'] == [name]
    assert requests(gce, 'zoneOperations.wait') <= 5
    gce.knobs(operation_faults=[])
    home.apply()
    clean(home)


def place_of(one):
    return f'zones/{one["zone"].split("/")[-1]}/instances/{one["name"]}'


def test_a_suspended_node_is_resumed(gce, home):
    write(home)
    home.apply()
    one = nodes(gce, 'w')[0]
    gce.done(gce.insert(place_of(one) + '/suspend', None))
    report = home.run('drift', 'cluster.yaml', code=2).out
    assert 'instance_state' in report and 'suspended' in report
    home.apply()
    assert {i['status'] for i in nodes(gce)} == {'RUNNING'}
    assert requests(gce, 'instances.resume') == 1 and not requests(gce, 'instances.start')
    clean(home)


@pytest.mark.parametrize('verb, undone', [('stop', 'start'), ('suspend', 'resume')])
def test_a_node_that_is_still_stopping(gce, home, verb, undone):
    """Compute Engine refuses to start it before it has stopped."""
    write(home)
    home.apply()
    gce.knobs(shutdown_ms=1500)
    gce.insert(place_of(nodes(gce, 'w')[0]) + '/' + verb, None)
    home.apply()
    assert {i['status'] for i in nodes(gce)} == {'RUNNING'}
    assert requests(gce, 'instances.' + undone) == 1, 'when it had stopped'
    clean(home)


@pytest.mark.parametrize('project, said', [('My Project', 'is not the id of a project'), ('123456789012', 'is the number of a project'),
                                           ('example.com:a', 'is not the id of a project'), ('a/../b', 'is not the id of a project')])
def test_a_project_that_cannot_be_one(gce, home, project, said):
    write(home)
    result = home.run('plan', 'cluster.yaml', env={'GOOGLE_CLOUD_PROJECT': project}, code=None)
    assert result.code not in (0, 2) and f'"{project}", from GOOGLE_CLOUD_PROJECT, {said}' in flat(result), result
    assert 'cluster.yaml:3' in result.err and 'my-project-123' in result.err
    assert gce.counters()['requests'] == 0


def test_a_project_of_a_domain(gce, home):
    write(home)
    home.env['GOOGLE_CLOUD_PROJECT'] = 'example.com:my-project'
    home.apply()
    assert len(gce.world('example.com:my-project')['instances']) == 5
    clean(home)


@pytest.mark.parametrize('action', ['instances.insert', 'instances.bulkInsert', 'firewalls.insert', 'addresses.insert'])
@pytest.mark.parametrize('when', ['before', 'after'])
@pytest.mark.parametrize('memory', [None, 0])
def test_an_answer_that_is_lost(gce, home, action, when, memory):
    """The next try, in this run or the next one, finds what the first one made."""
    if memory is not None:
        gce.knobs(request_id_s=memory)
    gce.fault(action=action, when=when, close=True, count=8)
    write(home)
    home.apply(code=None)
    gce.faults_clear()
    home.apply()
    clean(home)
    assert len(nodes(gce)) == 5
    assert len([f for f in table(gce, 'firewalls') if f['name'].startswith('raygpu-')]) == 2
    assert len(table(gce, 'addresses')) == 1


def test_a_list_that_is_behind(gce, home):
    """What was created is not taken for a lack of capacity while the list does not show it yet."""
    gce.knobs(consistency_ms=300)
    write(home)
    result = home.apply()
    assert 'RESOURCE_POOL_EXHAUSTED' not in result.err and 'PREEMPTED' not in result.err
    assert len(nodes(gce)) == 5 and len({i['zone'] for i in nodes(gce, 'w')}) == 1
    gce.knobs(consistency_ms=0)
    clean(home)


def test_a_missing_permission_is_named(gce, home):
    gce.knobs(denied_permissions=['compute.instances.create'])
    write(home)
    result = home.apply(code=None)
    assert result.code in (3, 7), result
    assert 'compute.instances.create' in flat(result)


def test_an_organization_policy_against_external_addresses(gce, home):
    gce.knobs(external_addresses=0)
    write(home, {'w': 'accelerators: "T4:1", nodes: 1, public_ip: true'})
    result = home.apply(code=None)
    assert 'Cloud NAT' in flat(result) and result.code != 0


def test_a_full_subnetwork(gce, home):
    gce.fault(action='instances.bulkInsert', status=400, code='IP_SPACE_EXHAUSTED', message='the range is full', count=0)
    write(home)
    result = home.apply(code=None)
    assert result.code != 0 and 'expand' in flat(result)


def test_a_rate_limit_ends(gce, home):
    gce.fault(action='instances.*', status=403, code='rateLimitExceeded', message='Quota exceeded for quota metric', count=4)
    write(home)
    home.apply()
    assert len(nodes(gce)) == 5


def test_a_fingerprint_that_changed_meanwhile(gce, home):
    write(home)
    home.apply()
    home.write('cluster.yaml', spec(WORK).replace('team: ml', 'team: ops'))
    gce.fault(action='instances.setLabels', status=412, code='conditionNotMet', message='stale', count=1)
    home.apply()
    assert {i['labels']['team'] for i in nodes(gce)} == {'ops'}
    clean(home)


def test_a_fingerprint_that_keeps_changing(gce, home):
    write(home)
    home.apply()
    home.write('cluster.yaml', spec(WORK).replace('team: ml', 'team: ops'))
    gce.fault(action='instances.setLabels', status=412, code='conditionNotMet', message='stale', count=20)
    home.apply(code=3)
    assert 'ops' not in {i['labels']['team'] for i in nodes(gce)}
    gce.faults_clear()
    home.apply()
    assert {i['labels']['team'] for i in nodes(gce)} == {'ops'}


def strip_labels(gce):
    for one in nodes(gce, 'w'):
        gce.done(gce.insert(place_of(one) + '/setLabels', {'labels': {}, 'labelFingerprint': one['labelFingerprint']}))


def test_a_role_that_may_not_list_operations_can_change_labels(gce, home):
    """Then nothing is known of what an earlier run began; roles of an earlier raygpu have no such permission."""
    write(home, {'w': 'accelerators: "T4:1", nodes: 1'})
    home.apply()
    gce.knobs(denied_permissions=[f'compute.{place}Operations.list' for place in ('zone', 'region', 'global')])
    home.write('cluster.yaml', home.read('cluster.yaml').replace('team: ml', 'team: blue'))
    home.apply()
    assert {node['labels']['team'] for node in nodes(gce)} == {'blue'}
    assert 'No changes.' in home.run('plan', '--no-settle').out


def test_nodes_whose_labels_were_removed_are_repaired(gce, home):
    write(home, {'w': 'accelerators: "T4:1", nodes: 6'})
    home.apply()
    strip_labels(gce)
    assert nodes(gce, 'w') == []
    home.apply()
    assert len(nodes(gce, 'w')) == 6 and len(nodes(gce)) == 7
    clean(home)


def test_nodes_without_labels_are_not_forgotten_before_they_are_gone(gce, home):
    write(home, {'w': 'accelerators: "T4:1", nodes: 6'})
    home.apply()
    strip_labels(gce)
    write(home, {'w': 'accelerators: "T4:1", nodes: 0'})
    gce.knobs(operation_faults=[{'type': 'delete', 'code': 'INVALID_USAGE'}])
    home.apply(code=1)
    assert len(nodes(gce)) == 7
    assert len(home.run('state', 'list').out.split('gcp.instance.w[')) == 7, 'what is still there stays recorded'


def test_a_zone_that_cannot_be_read_stops_the_plan(gce, home):
    write(home)
    home.apply()
    gce.knobs(unreachable=['us-central1-a'])
    result = home.run('plan', 'cluster.yaml', code=None)
    assert result.code != 0 and 'us-central1-a' in flat(result)
    gce.knobs(unreachable=['europe-west4-a'])
    clean(home)


def test_a_name_that_another_state_has_is_refused(gce, home, tmp_path):
    write(home)
    other = tmp_path / 'other'
    other.mkdir()
    home.apply()
    again = Home(other, home.env | {'RAYGPU_TEST_NO_WAIT': '1'})
    again.write('cluster.yaml', spec(WORK))
    result = again.apply(code=None)
    assert result.code != 0 and 'plan.name-taken' in result.err
    assert len(nodes(gce)) == 5


def test_protected_nodes_stay(gce, home):
    write(home, {'w': 'accelerators: "T4:1", nodes: 2, protect: true'})
    home.apply()
    write(home, {'x': 'accelerators: "T4:1", nodes: 1'})
    result = home.apply(code=None)
    assert result.code != 0 and 'protect' in result.err
    assert len(nodes(gce, 'w')) == 2


def test_another_project_is_refused(gce, home):
    write(home)
    home.apply()
    result = home.run('plan', 'cluster.yaml', env={'GOOGLE_CLOUD_PROJECT': 'other-project'}, code=None)
    assert result.code != 0 and 'other-project' in result.err
    assert PROJECT in result.err


@pytest.mark.parametrize('project, words', [(None, 'no Google Cloud project is named'), (PROJECT, 'no Google credentials were found')])
def test_one_error_where_one_thing_is_wrong(tmp_path, project, words):
    """Neither a plan nor the metadata server that this machine does not have."""
    home = Home(tmp_path, {'GCE_METADATA_HOST': '127.0.0.1:9', **({'GOOGLE_CLOUD_PROJECT': project} if project else {})})
    write(home)
    said = home.run('plan', 'cluster.yaml', code=None)
    assert said.code in (1, 7) and said.err.count('Error:') == 1 and words in flat(said), said
    assert 'Planning failed' not in said.out and 'PER HOUR' not in said.out, said


def test_labels_are_recorded_beside_what_cannot_be(gce, home):
    """Changed metadata show only as another digest, which --refresh-only leaves."""
    write(home, {'w': 'accelerators: "T4:1", nodes: 1'})
    home.apply()
    home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
    one = nodes(gce, 'w')[0]
    gce.done(gce.insert(place_of(one) + '/setLabels', {'labels': {**one['labels'], 'team': 'other'}, 'labelFingerprint': one['labelFingerprint']}))
    one = nodes(gce, 'w')[0]
    gce.done(gce.insert(place_of(one) + '/setMetadata', {
        'fingerprint': one['metadata']['fingerprint'], 'items': one['metadata']['items'] + [{'key': 'ssh-keys', 'value': 'theirs'}]}))
    plan = home.run('plan', 'cluster.yaml', '--refresh-only', '--detailed-exitcode', code=2).out
    assert 'will be recorded as it is' in plan and 'left to a plan without --refresh-only: ' in plan
    home.apply('cluster.yaml', '--refresh-only')
    drift = home.run('drift', 'cluster.yaml', code=2).out
    assert '~ metadata_fingerprint' in drift and 'other' not in drift

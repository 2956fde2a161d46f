"""Instances of the simulated Compute Engine: created one by one and in bulk, read, changed, deleted."""
import uuid

import pytest
from gce_server import IMAGE, PROJECT, ROOT, ZONE, bulk, instance

HERE = f'zones/{ZONE}/instances'


def test_an_insert_is_accepted_then_done(gce):
    operation = gce.insert(HERE, instance('head', labels={'owner': 'me'}))
    assert operation['status'] == 'PENDING' and operation['operationType'] == 'insert'
    end = gce.done(operation)
    assert end['progress'] == 100 and end['endTime'] >= end['startTime'] >= end['insertTime']
    made = gce.get(HERE + '/head')
    assert made['status'] == 'RUNNING' and made['labels'] == {'owner': 'me'}
    assert made['id'] == end['targetId'] and made['selfLink'] == end['targetLink']
    assert gce.get(f'{HERE}/{made["id"]}') == made, 'the number is as good as the name'
    assert 'accessConfigs' not in made['networkInterfaces'][0]
    disk = gce.get(f'zones/{ZONE}/disks/head')
    assert disk['users'] == [made['selfLink']] and disk['sizeGb'] == '50'
    assert disk['sourceImage'].startswith(ROOT + 'projects/ubuntu-os-cloud/global/images/ubuntu-2404')


def test_a_delete_takes_the_disk_along_or_not(gce):
    kept = instance('kept')
    kept['disks'][0]['autoDelete'] = False
    for body in (kept, instance('gone')):
        gce.done(gce.insert(HERE, body))
        gce.done(gce.delete(f'{HERE}/{body["name"]}'))
        assert gce.call('GET', f'{HERE}/{body["name"]}')[0] == 404
    assert gce.call('GET', f'zones/{ZONE}/disks/gone')[0] == 404
    assert 'users' not in gce.get(f'zones/{ZONE}/disks/kept')
    gce.done(gce.insert(HERE, instance('slow')))
    gce.knobs(shutdown_ms=3600 * 1000)
    gce.delete(HERE + '/slow')
    assert gce.get(HERE + '/slow')['status'] == 'STOPPING'
    assert gce.call('POST', HERE + '/slow/start')[0] == 400, 'not ready'


def test_a_name_is_taken_while_the_instance_exists(gce):
    gce.done(gce.insert(HERE, instance('head')))
    status, answer = gce.call('POST', HERE, instance('head'))
    assert status == 409 and answer['error']['errors'][0]['reason'] == 'alreadyExists'
    first = gce.get(HERE + '/head')['id']
    gce.done(gce.delete(HERE + '/head'))
    gce.done(gce.insert(HERE, instance('head')))
    assert gce.get(HERE + '/head')['id'] != first
    assert gce.call('GET', f'{HERE}/{first}')[0] == 404, 'the number of another one'


def test_a_request_id_is_remembered(gce):
    ident = str(uuid.uuid4())
    first = gce.insert(HERE, instance('a'), requestId=ident)
    gce.done(first)
    gce.done(gce.delete(HERE + '/a'))
    assert gce.insert(HERE, instance('a'), requestId=ident)['name'] == first['name']
    assert gce.call('GET', HERE + '/a')[0] == 404, 'nothing was made'
    assert gce.call('POST', HERE, instance('b'), requestId=ident)[0] == 400, 'another request'
    for bad in ('x', '00000000-0000-0000-0000-000000000000'):
        assert gce.call('POST', HERE, instance('c'), requestId=bad)[0] == 400
    gce.knobs(request_id_s=0)
    ident = str(uuid.uuid4())
    gce.done(gce.insert(HERE, instance('d'), requestId=ident))
    assert gce.call('POST', HERE, instance('d'), requestId=ident)[0] == 409


def test_bulk_makes_all_of_one_body(gce):
    names = [f'w-{i}' for i in range(5)]
    operation = gce.insert(HERE + '/bulkInsert', bulk(names, 1, 'n1-standard-8', gpu=('nvidia-tesla-v100', 1), spot=True,
                                                     labels={'pool': 'w'}))
    end = gce.done(operation)
    status = end['instancesBulkInsertOperationMetadata']['perLocationStatus'][f'zones/{ZONE}']
    assert status == {'targetVmCount': 5, 'createdVmCount': 5, 'deletedVmCount': 0, 'failedToCreateVmCount': 0,
                      'status': 'DONE'}
    listed = gce.get(HERE, filter='labels.pool=w')['items']
    assert [i['name'] for i in listed] == names
    assert len({i['networkInterfaces'][0]['networkIP'] for i in listed}) == 5
    assert listed[0]['scheduling']['provisioningModel'] == 'SPOT'
    assert listed[0]['guestAccelerators'][0]['acceleratorType'].endswith('/nvidia-tesla-v100')
    children = gce.get(f'zones/{ZONE}/operations', filter=f'operationGroupId={end["operationGroupId"]}')['items']
    assert sorted(o['operationType'] for o in children) == ['bulkInsert'] + ['insert'] * 5


def test_bulk_names_by_a_pattern(gce):
    gce.done(gce.insert(HERE, instance('n-02')))
    gce.done(gce.insert(HERE + '/bulkInsert', bulk((3, 'n-##'))))
    assert [i['name'] for i in gce.get(HERE)['items']] == ['n-01', 'n-02', 'n-03', 'n-04']


def test_min_count_left_out_means_count(gce):
    gce.knobs(capacity={'e2-standard-4': {ZONE: 2}}, bulk_precheck=0)
    end = gce.wait(gce.insert(HERE + '/bulkInsert', bulk(['a', 'b', 'c'])))
    assert [e['code'] for e in end['error']['errors']] == [
        'VM_MIN_COUNT_NOT_REACHED', 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS']
    status = end['instancesBulkInsertOperationMetadata']['perLocationStatus'][f'zones/{ZONE}']
    assert status['createdVmCount'] == status['deletedVmCount'] == 2 and status['failedToCreateVmCount'] == 1
    assert 'items' not in gce.get(HERE), 'rolled back'
    assert 'items' not in gce.get(f'zones/{ZONE}/disks')


def test_half_a_bulk(gce):
    gce.knobs(capacity={'e2-standard-4': {ZONE: 2}})
    end = gce.done(gce.insert(HERE + '/bulkInsert', bulk(['a', 'b', 'c'], 1)))
    status = end['instancesBulkInsertOperationMetadata']['perLocationStatus'][f'zones/{ZONE}']
    assert (status['createdVmCount'], status['failedToCreateVmCount']) == (2, 1)
    failed = gce.get(f'zones/{ZONE}/operations',
                     filter=f'operationGroupId={end["operationGroupId"]} AND httpErrorStatusCode=503')['items']
    assert [o['targetLink'].rsplit('/', 1)[1] for o in failed] == ['c']
    info = failed[0]['error']['errors'][0]['errorDetails'][0]['errorInfo']
    assert info['metadatas'] == {'vmType': 'e2-standard-4', 'zone': ZONE, 'attachment': ''}


def test_bulk_looks_at_capacity_first(gce):
    gce.knobs(capacity={'e2-standard-4': {ZONE: 0}})
    status, answer = gce.call('POST', HERE + '/bulkInsert', bulk(['a'], 1))
    assert (status, answer['error']['errors'][0]['reason']) == (503, 'insufficientCapacity')
    assert 'items' not in gce.get(HERE) and 'items' not in gce.get(f'zones/{ZONE}/operations')


@pytest.mark.parametrize('change, field', [
    ({'machineType': f'projects/{PROJECT}/zones/{ZONE}/machineTypes/e2-standard-4'}, 'machineType'),
    ({'networkInterfaces': []}, 'networkInterfaces'),
    ({'labels': {'Owner': 'me'}}, 'labels'),
    ({'disks': []}, 'disks'),
    ({'disks': [{'boot': True, 'initializeParams': {'sourceImage': 'projects/x-project/global/images/none'}}]},
     'sourceImage'),
    ({'disks': [{'boot': True, 'initializeParams': {'sourceImage': IMAGE, 'diskSizeGb': '1'}}]}, 'diskSizeGb'),
    ({'disks': [{'boot': True, 'initializeParams': {'sourceImage': IMAGE, 'diskType': 'hyperdisk-balanced'}}]},
     'diskType'),
    ({'guestAccelerators': [{'acceleratorType': 'nvidia-tesla-v100', 'acceleratorCount': 1}]}, 'onHostMaintenance'),
    ({'scheduling': {'provisioningModel': 'SPOT', 'automaticRestart': True}}, 'scheduling'),
    ({'metadata': {'items': [{'key': 'k', 'value': 'x' * 262145}]}}, 'metadata'),
])
def test_what_bulk_refuses(gce, change, field):
    body = bulk(['a'], 1, 'n1-standard-8' if 'guestAccelerators' in change else 'e2-standard-4')
    body['instanceProperties'].update(change)
    status, answer = gce.call('POST', HERE + '/bulkInsert', body)
    assert status == 400 and field in answer['error']['message'], answer


def test_insert_takes_urls_only(gce):
    body = instance('a')
    body['machineType'] = 'e2-standard-4'
    status, answer = gce.call('POST', HERE, body)
    assert status == 400 and 'malformed' in answer['error']['message']


def test_stop_and_start(gce):
    gce.done(gce.insert(HERE, instance('a')))
    gce.done(gce.call('POST', HERE + '/a/stop')[1])
    assert gce.get(HERE + '/a')['status'] == 'TERMINATED'
    gce.knobs(capacity={'e2-standard-4': {ZONE: 0}})
    assert gce.failed(gce.call('POST', HERE + '/a/start')[1]) == ['ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS']
    assert gce.get(HERE + '/a')['status'] == 'TERMINATED'
    gce.knobs(capacity={})
    gce.done(gce.call('POST', HERE + '/a/start')[1])
    assert gce.get(HERE + '/a')['status'] == 'RUNNING'


def test_labels_and_tags_have_fingerprints(gce):
    gce.done(gce.insert(HERE, instance('a', labels={'x': '1'})))
    made = gce.get(HERE + '/a')
    body = {'labels': {'x': '2'}, 'labelFingerprint': made['labelFingerprint']}
    gce.done(gce.call('POST', HERE + '/a/setLabels', body)[1])
    assert gce.get(HERE + '/a')['labels'] == {'x': '2'}
    status, answer = gce.call('POST', HERE + '/a/setLabels', body)
    assert (status, answer['error']['errors'][0]['reason']) == (412, 'conditionNotMet')
    tags = {'items': ['t'], 'fingerprint': made['tags']['fingerprint']}
    gce.done(gce.call('POST', HERE + '/a/setTags', tags)[1])
    assert gce.get(HERE + '/a')['tags']['items'] == ['t']
    assert gce.call('POST', HERE + '/a/setTags', tags)[0] == 412
    disk = gce.get(f'zones/{ZONE}/disks/a')
    gce.done(gce.call('POST', f'zones/{ZONE}/disks/a/setLabels',
                      {'labels': {'y': '1'}, 'labelFingerprint': disk['labelFingerprint']})[1])
    assert gce.get(f'zones/{ZONE}/disks/a')['labels'] == {'y': '1'}
    metadata = {'items': [{'key': 'k', 'value': 'v'}], 'fingerprint': made['metadata']['fingerprint']}
    gce.done(gce.call('POST', HERE + '/a/setMetadata', metadata)[1])
    assert gce.get(HERE + '/a')['metadata']['fingerprint'] != metadata['fingerprint']
    assert gce.call('POST', HERE + '/a/setMetadata', metadata)[0] == 412


def test_access_configs(gce):
    gce.done(gce.insert(HERE, instance('a')))
    gce.done(gce.call('POST', HERE + '/a/addAccessConfig', {'name': 'External NAT'}, networkInterface='nic0')[1])
    config = gce.get(HERE + '/a')['networkInterfaces'][0]['accessConfigs'][0]
    assert config['type'] == 'ONE_TO_ONE_NAT' and config['natIP'].startswith('34.')
    assert gce.call('POST', HERE + '/a/addAccessConfig', {}, networkInterface='nic0')[0] == 400
    assert gce.call('POST', HERE + '/a/deleteAccessConfig', networkInterface='nic0')[0] == 400, 'a required parameter'
    gce.done(gce.call('POST', HERE + '/a/deleteAccessConfig', networkInterface='nic0',
                      accessConfig='External NAT')[1])
    assert 'accessConfigs' not in gce.get(HERE + '/a')['networkInterfaces'][0]


def test_deletion_protection(gce):
    gce.done(gce.insert(HERE, instance('a', deletionProtection=True)))
    assert gce.call('DELETE', HERE + '/a')[0] == 400
    gce.done(gce.call('POST', HERE + '/a/setDeletionProtection', deletionProtection='false')[1])
    gce.done(gce.delete(HERE + '/a'))


def test_the_machine_type_of_a_stopped_instance_changes(gce):
    body = {'machineType': f'zones/{ZONE}/machineTypes/n1-standard-8'}
    gce.done(gce.insert(HERE, instance('a', 'n1-standard-4', gpu=('nvidia-tesla-t4', 1))))
    assert gce.call('POST', HERE + '/a/setMachineType', body)[0] == 400, 'it runs'
    gce.done(gce.insert(HERE + '/a/stop', None))
    assert gce.call('POST', HERE + '/a/setMachineType', {})[0] == 400
    assert gce.call('POST', HERE + '/a/setMachineType', {'machineType': f'zones/{ZONE}/machineTypes/n1-standard-96'})[0] == 400
    gce.done(gce.insert(HERE + '/a/setMachineType', body))
    gce.knobs(capacity={'n1-standard-8+nvidia-tesla-t4:1': {'*': 0}})
    assert gce.failed(gce.insert(HERE + '/a/start', None)) == ['ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS']
    gce.knobs(capacity={})
    gce.done(gce.insert(HERE + '/a/start', None))
    assert gce.get(HERE + '/a')['machineType'].endswith('/n1-standard-8')


@pytest.mark.parametrize('type_, more, said', [
    ('c4-standard-8', {'disk': 'pd-balanced'}, '[pd-balanced] features are not compatible'),
    ('e2-standard-4', {'scheduling': {'onHostMaintenance': 'TERMINATE'}}, 'e2 instances do not support onHostMaintenance=TERMINATE'),
    ('e2-standard-4', {'serviceAccounts': [{'email': 'me@example.com'}]}, "of type 'serviceAccount' was not found"),
    ('e2-standard-4', {'serviceAccounts': [{'email': 'gone@demo-project.iam.gserviceaccount.com'}]}, "of type 'serviceAccount' was not found"),
    ('e2-standard-4', {'serviceAccounts': [{'email': 'default'}] * 2}, 'At most one service account'),
    ('e2-standard-4', {'tags': {'items': ['Bad_Tag']}}, 'Must be a match of regex'),
    ('e2-standard-4', {'tags': {'items': ['a', 'a']}}, 'Tags must be unique'),
    ('e2-standard-4', {'metadata': {'items': [{'key': 'a', 'value': '1'}, {'key': 'a', 'value': '2'}]}}, 'duplicate keys'),
])
@pytest.mark.parametrize('as_bulk', [False, True])
def test_what_google_refuses_is_refused(gce, type_, more, said, as_bulk):
    gce.knobs(google_service_accounts=['kept@demo-project.iam.gserviceaccount.com'])
    path, body = (HERE + '/bulkInsert', bulk(['a'], type_=type_, **more)) if as_bulk else (HERE, instance('a', type_, **more))
    status, answer = gce.call('POST', path, body)
    assert status == 400 and said in answer['error']['message'], answer


def test_what_google_accepts_is_accepted(gce):
    gce.knobs(google_service_accounts=['kept@demo-project.iam.gserviceaccount.com'])
    gce.done(gce.insert(HERE, instance('a', 'c4-standard-8')))
    assert gce.get(f'zones/{ZONE}/disks/a')['type'].endswith('/hyperdisk-balanced')
    gce.done(gce.insert(HERE, instance('b', spot=True, serviceAccounts=[{'email': 'kept@demo-project.iam.gserviceaccount.com'}])))
    status, answer = gce.call('POST', HERE + '/b/setTags', {'items': ['-'], 'fingerprint': gce.get(HERE + '/b')['tags']['fingerprint']})
    assert status == 400, answer

"""Operations of the simulated Compute Engine: their life, late failures, waiting, and what a restart keeps."""
import json
import threading
import time
import uuid

from gce_server import PROJECT, ROOT, ZONE, Gce, bulk, instance

HERE = f'zones/{ZONE}/instances'
FIREWALL = {'name': 'fw', 'allowed': [{'IPProtocol': 'all'}], 'sourceTags': ['a'], 'targetTags': ['a']}


def test_an_operation_passes_through_its_states(gce):
    gce.knobs(boot_ms=3600 * 1000)
    operation = gce.insert(HERE, instance('a'))
    path = f'zones/{ZONE}/operations/{operation["name"]}'
    assert operation['progress'] == 0 and 'startTime' not in operation
    assert (gce.get(path)['status'], gce.get(HERE + '/a')['status']) == ('PENDING', 'PROVISIONING')
    gce.knobs(boot_ms=0, operation_faults=[{'code': 'x', 'never': True}])
    operation = gce.insert(HERE, instance('b'))
    assert (gce.get(path.rsplit('/', 1)[0] + '/' + operation['id'])['status'],
            gce.get(HERE + '/b')['status']) == ('RUNNING', 'STAGING')
    gce.knobs(operation_faults=[])
    operation = gce.insert(HERE, instance('c'))
    assert (gce.wait(operation)['status'], gce.get(HERE + '/c')['status']) == ('DONE', 'RUNNING')


def test_wait_may_answer_before_the_end(gce):
    gce.knobs(boot_ms=3600 * 1000, wait_ms=30)
    operation = gce.insert(HERE, instance('a'))
    assert gce.wait(operation)['status'] != 'DONE'
    counters = gce.counters()
    assert counters['actions']['zoneOperations.wait']['requests'] == 1
    assert counters['mutating'] == 1, 'wait counts as a read'


def test_a_waiting_call_holds_nobody_up(gce):
    gce.knobs(boot_ms=3600 * 1000, wait_ms=60 * 1000)
    operation = gce.insert(HERE, instance('a'))
    waiting = threading.Thread(target=gce.call, args=(
        'POST', f'zones/{ZONE}/operations/{operation["name"]}/wait'), daemon=True)
    waiting.start()
    assert gce.get(HERE)['items'][0]['status'] == 'PROVISIONING'
    gce.control('POST', 'reset')
    waiting.join(20)
    assert not waiting.is_alive(), 'the operation has gone, so the call ended'


def test_the_server_stops_while_a_call_waits():
    with Gce() as gce:
        gce.knobs(boot_ms=3600 * 1000)
        operation = gce.insert(HERE, instance('a'))

        def wait():
            try:
                gce.wait(operation)
            except OSError:
                pass
        threading.Thread(target=wait, daemon=True).start()
        gce.get(HERE)
        assert gce.stop() == 0


def test_a_late_failure_undoes_what_it_began(gce):
    gce.knobs(operation_faults=[{'type': 'insert', 'target': 'a', 'code': 'INTERNAL_ERROR', 'status': 500, 'count': 1},
                                {'type': 'setLabels', 'code': 'INTERNAL_ERROR'},
                                {'type': 'delete', 'code': 'RESOURCE_IN_USE_BY_ANOTHER_RESOURCE', 'status': 400},
                                {'type': 'insert', 'target': 'fw', 'code': 'QUOTA_EXCEEDED', 'status': 403}])
    operation = gce.insert(HERE, instance('a'))
    assert gce.failed(operation) == ['INTERNAL_ERROR']
    assert gce.call('GET', HERE + '/a')[0] == 404 and gce.call('GET', f'zones/{ZONE}/disks/a')[0] == 404
    gce.done(gce.insert(HERE, instance('a', labels={'x': '1'})))
    made = gce.get(HERE + '/a')
    end = gce.wait(gce.call('POST', HERE + '/a/setLabels',
                            {'labels': {}, 'labelFingerprint': made['labelFingerprint']})[1])
    assert (end['httpErrorStatusCode'], end['httpErrorMessage']) == (503, 'SERVICE UNAVAILABLE')
    assert gce.get(HERE + '/a')['labels'] == {'x': '1'}
    assert gce.failed(gce.delete(HERE + '/a')) == ['RESOURCE_IN_USE_BY_ANOTHER_RESOURCE']
    assert gce.get(HERE + '/a')['status'] == 'RUNNING'
    operation = gce.insert('global/firewalls', FIREWALL)
    assert gce.failed(operation) == ['QUOTA_EXCEEDED']
    assert gce.call('GET', 'global/firewalls/fw')[0] == 404


def test_one_machine_of_a_bulk_fails_late(gce):
    gce.knobs(operation_faults=[{'type': 'insert', 'target': 'b', 'code': 'ZONE_RESOURCE_POOL_EXHAUSTED'}])
    end = gce.done(gce.insert(HERE + '/bulkInsert', bulk(['a', 'b', 'c'], 1)))
    failed = gce.get(f'zones/{ZONE}/operations',
                     filter=f'operationGroupId={end["operationGroupId"]} AND error.errors.code:*')['items']
    assert [o['targetLink'].rsplit('/', 1)[1] for o in failed] == ['b']
    assert [i['name'] for i in gce.get(HERE)['items']] == ['a', 'c']


def test_an_operation_that_never_ends(gce):
    gce.knobs(operation_faults=[{'type': 'insert', 'code': 'x', 'never': True}], wait_ms=20)
    operation = gce.insert(HERE, instance('a'))
    assert gce.wait(operation)['status'] == gce.wait(operation)['status'] == 'RUNNING'


def test_a_finished_operation_is_forgotten(gce):
    gce.knobs(operation_keep_ms=0)
    operation = gce.insert('global/firewalls', FIREWALL)
    deadline = time.monotonic() + 120
    while gce.call('GET', f'global/operations/{operation["name"]}')[0] != 404:
        assert time.monotonic() < deadline
    assert gce.get('global/firewalls/fw')['name'] == 'fw'


def test_operations_can_be_deleted_when_done(gce):
    gce.knobs(operation_ms=3600 * 1000)
    operation = gce.insert('global/firewalls', FIREWALL)
    path = f'global/operations/{operation["name"]}'
    assert gce.call('DELETE', path)[0] == 400
    gce.knobs(operation_ms=1)
    operation = gce.insert('global/firewalls', {**FIREWALL, 'name': 'fw2'})
    gce.done(operation)
    path = f'global/operations/{operation["name"]}'
    assert gce.call('DELETE', path) == (204, None) and gce.call('GET', path)[0] == 404


def test_a_restart_keeps_everything(tmp_path):
    ident = str(uuid.uuid4())
    with Gce('--boot-ms', '300', world=str(tmp_path / 'world.json')) as gce:
        operation = gce.insert(HERE, instance('a', labels={'x': '1'}), requestId=ident)
        before = gce.get(HERE + '/a')
        token = gce.request('POST', '/token', raw=b'grant_type=refresh_token&refresh_token=1//raygpu-sim&client_id=client'
                            b'&client_secret=secret', headers={'Content-Type': 'application/x-www-form-urlencoded'})[2]
        gce.restart()
        assert gce.done(operation)['name'] == operation['name']
        assert gce.get(HERE + '/a') | {'status': '', 'lastStartTimestamp': ''} == before | {
            'status': '', 'lastStartTimestamp': ''}
        assert gce.insert(HERE, instance('a', labels={'x': '1'}), requestId=ident)['name'] == operation['name']
        gce.insert(HERE, instance('b'))
        addresses = {i['networkInterfaces'][0]['networkIP'] for i in gce.get(HERE)['items']}
        assert len(addresses) == 2, 'addresses in use are known again'
        status, _, _ = gce.request('GET', f'/compute/v1/projects/{PROJECT}/{HERE}', headers={
            'Authorization': 'Bearer ' + json.loads(token)['access_token']})
        assert status == 200


def test_answers_lost_before_and_after(gce):
    gce.fault(action='instances.insert', when='after', close=True)
    try:
        gce.call('POST', HERE, instance('a'), requestId='11111111-2222-4333-8444-555555555555')
        raise AssertionError('it was answered')
    except (ConnectionError, OSError):
        pass
    operation = gce.insert(HERE, instance('a'), requestId='11111111-2222-4333-8444-555555555555')
    gce.done(operation)
    assert operation['targetLink'] == f'{ROOT}projects/{PROJECT}/{HERE}/a'
    gce.fault(action='instances.insert', status=503, code='backendError', message='later')
    status, answer = gce.call('POST', HERE, instance('b'))
    assert status == 503 and answer['error'] == {
        'code': 503, 'message': 'later',
        'errors': [{'message': 'later', 'domain': 'global', 'reason': 'backendError'}]}
    assert gce.call('GET', HERE + '/b')[0] == 404

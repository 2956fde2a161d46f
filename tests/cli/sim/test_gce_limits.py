"""Limits of the simulated Compute Engine: capacity, quotas, rates, permissions, preemption."""
from gce_server import REGION, ZONE, Gce, bulk, instance

HERE = f'zones/{ZONE}/instances'
V100 = ('nvidia-tesla-v100', 1)


def reason(answer):
    return answer['error']['errors'][0]['reason']


def test_capacity_by_type_and_market(gce):
    gce.knobs(capacity={'n1-standard-8+nvidia-tesla-v100:1': {ZONE: 1}, 'e2-standard-4:spot': {'*': 0}})
    gce.done(gce.insert(HERE, instance('a', 'n1-standard-8', gpu=V100)))
    end = gce.wait(gce.insert(HERE, instance('b', 'n1-standard-8', gpu=V100)))
    [error] = end['error']['errors']
    assert error['code'] == 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS' and end['httpErrorStatusCode'] == 503
    assert error['errorDetails'][0]['errorInfo']['metadatas']['attachment'] == 'nvidia-tesla-v100:1'
    gce.done(gce.insert(HERE, instance('c', 'n1-standard-8')))
    assert gce.failed(gce.insert(HERE, instance('d', spot=True)))
    gce.done(gce.insert(HERE, instance('e')))
    gce.done(gce.call('POST', HERE + '/a/stop')[1])
    gce.done(gce.insert(HERE, instance('b', 'n1-standard-8', gpu=V100)))


def test_quotas(gce):
    gce.knobs(quotas={f'{REGION}/NVIDIA_V100_GPUS': 1, 'GPUS_ALL_REGIONS': 2, 'PREEMPTIBLE_NVIDIA_V100_GPUS': 4,
                      'CPUS': 100})
    gce.done(gce.insert(HERE, instance('a', 'n1-standard-8', gpu=V100)))
    [error] = gce.wait(gce.insert(HERE, instance('b', 'n1-standard-8', gpu=V100)))['error']['errors']
    assert error['code'] == 'QUOTA_EXCEEDED' and 'NVIDIA_V100_GPUS' in error['message']
    assert error['errorDetails'][0]['quotaInfo'] == {
        'metricName': 'compute.googleapis.com/nvidia_v100_gpus', 'limitName': 'NVIDIA-V100-GPUS-per-project-region',
        'dimensions': {'region': REGION}, 'limit': 1.0}
    quotas = {q['metric']: (q['usage'], q['limit']) for q in gce.get('regions/' + REGION)['quotas']}
    assert quotas['NVIDIA_V100_GPUS'] == (1, 1) and quotas['CPUS'] == (8, 100)
    quotas = {q['metric']: (q['usage'], q['limit']) for q in gce.get('')['quotas']}
    assert quotas['GPUS_ALL_REGIONS'] == (1, 2)
    gce.done(gce.insert(HERE, instance('s', 'n1-standard-8', gpu=V100, spot=True)))
    status, answer = gce.call('POST', HERE + '/bulkInsert', bulk(['x', 'y'], 1, 'n1-standard-8', gpu=V100, spot=True))
    assert (status, reason(answer)) == (403, 'quotaExceeded') and 'GPUS_ALL_REGIONS' in answer['error']['message']
    gce.knobs(quotas={})
    gce.done(gce.insert(HERE, instance('b', 'n1-standard-8', gpu=V100)))
    for bad in ('NVIDIA_H100_GPUS', 'nvidia_v100_gpus', 'X'):
        try:
            gce.knobs(quotas={bad: 1})
            raise AssertionError(bad)
        except RuntimeError as error:
            assert 'quotas' in str(error)


def test_rates(gce):
    gce.knobs(throttle=1, buckets={'read:us-central1': [2, 0], 'write:global': [0, 0]})
    assert [gce.call('GET', HERE)[0] for _ in range(3)] == [200, 200, 403]
    status, answer = gce.call('GET', HERE)
    assert reason(answer) == 'rateLimitExceeded' and answer['error']['errors'][0]['domain'] == 'usageLimits'
    assert answer['error']['details'][0]['reason'] == 'RATE_LIMIT_EXCEEDED'
    assert gce.call('GET', 'zones/europe-west4-a/instances')[0] == 200, 'another region'
    assert gce.call('GET', 'global/firewalls')[0] == 200
    assert gce.call('DELETE', 'global/firewalls/default-allow-ssh')[0] == 403


def test_ten_bulk_operations_at_once(gce):
    gce.knobs(boot_ms=3600 * 1000)
    for i in range(10):
        gce.insert(HERE + '/bulkInsert', bulk([f'a{i}'], 1))
    status, answer = gce.call('POST', HERE + '/bulkInsert', bulk(['b'], 1))
    assert (status, reason(answer)) == (403, 'rateLimitExceeded')


def test_the_api_and_permissions(gce):
    gce.knobs(disabled_apis=['off-project'], denied_permissions=['compute.disks.create', 'compute.firewalls.update'],
              google_projects=['demo-project', 'off-project'])
    status, answer = gce.call('GET', 'zones', project='off-project')
    assert (status, reason(answer)) == (403, 'accessNotConfigured')
    assert answer['error']['details'][0]['reason'] == 'SERVICE_DISABLED' and 'off-project' in answer['error']['message']
    assert gce.call('GET', 'zones', project='no-project')[0] == 404
    assert gce.call('GET', 'global/images', project='ubuntu-os-cloud')[0] == 200
    status, answer = gce.call('POST', HERE, instance('a'))
    assert (status, reason(answer)) == (403, 'forbidden') and "'compute.disks.create'" in answer['error']['message']
    status, answer = gce.call('PATCH', 'global/firewalls/default-allow-ssh', {'priority': 1})
    assert "'compute.firewalls.update'" in answer['error']['message']
    asked = ['compute.disks.create', 'compute.instances.get']
    assert gce.call('POST', HERE + '/a/testIamPermissions', {'permissions': asked})[1] == {'permissions': asked[1:]}


def test_external_addresses_may_be_forbidden(gce):
    gce.knobs(external_addresses=0)
    body = instance('a')
    body['networkInterfaces'][0]['accessConfigs'] = [{'type': 'ONE_TO_ONE_NAT'}]
    assert gce.failed(gce.insert(HERE, body)) == ['VM_EXTERNAL_IP_ACCESS_POLICY_CONSTRAINT']


def test_types_and_their_market(gce):
    body = instance('a', 'a3-highgpu-1g', disk='pd-balanced')
    status, answer = gce.call('POST', HERE, body)
    assert status == 400 and 'provisioning model' in answer['error']['message']
    status, answer = gce.call('POST', HERE, instance('a', 'n1-standard-96', gpu=('nvidia-tesla-v100', 1)))
    assert status == 400 and 'not compatible' in answer['error']['message']


def test_preemption(gce):
    gce.done(gce.insert(HERE + '/bulkInsert', bulk(['a', 'b'], 1, spot=True)))
    stopped = instance('c', spot=True)
    stopped['scheduling']['instanceTerminationAction'] = 'STOP'
    gce.done(gce.insert(HERE, stopped))
    gce.done(gce.insert(HERE, instance('d')))
    hit = gce.reclaim(type='e2-standard-4', notice_ms=3600 * 1000, instance_ids=['a'])
    assert hit == [gce.get(HERE + '/a')['id']] and gce.get(HERE + '/a')['status'] == 'STOPPING'
    assert len(gce.reclaim(zone=ZONE, notice_ms=1)) == 2, 'neither on-demand ones nor the one that is ending'
    [first, second] = gce.get(f'zones/{ZONE}/operations',
                              filter='operationType=compute.instances.preempted AND targetLink!="*/a"')['items']
    assert {gce.done(first)['user'], gce.done(second)['user']} == {'system'}
    assert {i['name']: i['status'] for i in gce.get(HERE)['items']} == {
        'a': 'STOPPING', 'c': 'TERMINATED', 'd': 'RUNNING'}


def test_what_ends_while_it_starts(gce):
    gce.knobs(boot_ms=3600 * 1000)
    gce.insert(HERE + '/bulkInsert', bulk(['a', 'b'], 1, spot=True))
    assert len(gce.reclaim(instance_ids=['a'], notice_ms=0)) == 1
    gce.done(gce.delete(HERE + '/b'))
    assert 'items' not in gce.get(HERE)
    gce.knobs(boot_ms=200, shutdown_ms=3600 * 1000)
    first = gce.insert(HERE, instance('c'))
    gce.delete(HERE + '/c')
    gce.done(first)
    assert gce.get(HERE + '/c')['status'] == 'STOPPING', 'it does not come back'


def test_a_start_needs_its_gpus_again(gce):
    gce.done(gce.insert(HERE, instance('a', 'n1-standard-8', gpu=V100)))
    gce.done(gce.call('POST', HERE + '/a/stop')[1])
    gce.knobs(quotas={'NVIDIA_V100_GPUS': 0})
    assert gce.failed(gce.call('POST', HERE + '/a/start')[1]) == ['QUOTA_EXCEEDED']


def test_the_clock_may_be_ahead():
    with Gce('--clock-offset-s', '7200') as gce:
        _, headers, _ = gce.request('GET', '/compute/v1/projects/demo-project/zones')
        assert headers['Date']
        assert gce.call('GET', 'zones')[0] == 200

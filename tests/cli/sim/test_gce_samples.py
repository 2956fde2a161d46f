"""The simulated Compute Engine answers in the shapes of tests/data/gcp/operation_samples.json."""
import json
import os

import pytest
from gce_server import ZONE, bulk, instance

HERE = f'zones/{ZONE}/instances'
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../data/gcp/operation_samples.json'),
          encoding='utf-8') as _file:
    SAMPLES = json.load(_file)


def accepted(gce):
    return gce.call('POST', HERE, instance('c1-head'))


def running(gce):
    gce.knobs(operation_faults=[{'code': 'x', 'never': True}], boot_ms=0)
    return gce.call('GET', f'zones/{ZONE}/operations/{accepted(gce)[1]["name"]}')


def done(gce):
    return 200, gce.wait(accepted(gce)[1])


def stockout(gce):
    gce.knobs(capacity={'*': {'*': 0}})
    return done(gce)


def quota(gce):
    gce.knobs(quotas={'NVIDIA_A100_GPUS': 0})
    return 200, gce.wait(gce.insert(HERE, instance('a', 'a2-highgpu-1g')))


def half_a_bulk(gce):
    gce.knobs(capacity={'*': {'*': 3}})
    return 200, gce.wait(gce.insert(HERE + '/bulkInsert', bulk(['a', 'b', 'c', 'd'], 1)))


def exists(gce):
    done(gce)
    return accepted(gce)


def missing(gce):
    return gce.call('GET', HERE + '/x')


def stale(gce):
    done(gce)
    return gce.call('POST', HERE + '/c1-head/setLabels', {'labels': {}, 'labelFingerprint': 'AAAA'})


def limited(gce):
    gce.knobs(throttle=1, buckets={'read:us-central1': [0, 0]})
    return gce.call('GET', HERE)


def differences(sample, answer, path=''):
    """Members of the sample that the answer lacks, or has in another type; codes and reasons must be equal."""
    if isinstance(sample, dict):
        if set(map(type, sample.values())) == {dict} and path.endswith('perLocationStatus'):
            return differences(*(next(iter(x.values())) for x in (sample, answer)), path)
        return [d for key, value in sample.items() for d in (
            differences(value, answer[key], f'{path}.{key}') if key in answer else [f'{path}.{key} is missing'])]
    if isinstance(sample, list):
        return [d for a, b in zip(sample, answer) for d in differences(a, b, path + '[]')] + (
            [] if len(sample) == len(answer) else [f'{path}: {len(answer)} entries'])
    number = isinstance(sample, (int, float)) and isinstance(answer, (int, float))
    exact = path.rsplit('.', 1)[-1] in ('code', 'reason', 'kind', 'operationType', 'domain', 'location', 'metricName',
                                        'limitName', 'httpErrorStatusCode', 'httpErrorMessage', 'createdVmCount', '@type')
    if exact and sample != answer or not number and not isinstance(answer, type(sample)):
        return [f'{path}: {answer!r}, not {sample!r}']
    return []


@pytest.mark.parametrize('name, make', [
    ('insert_accepted', running), ('done', done), ('done_stockout', stockout), ('done_quota', quota),
    ('bulk_insert_meta', half_a_bulk), ('already_exists', exists), ('not_found', missing), ('stale_fingerprint', stale),
    ('rate_limited', limited)])
def test_samples(gce, name, make):
    status, answer = make(gce)
    assert status == SAMPLES[name]['status']
    assert differences(SAMPLES[name]['body'], answer) == []


def test_every_sample_is_compared():
    assert len(SAMPLES) == 1 + 9

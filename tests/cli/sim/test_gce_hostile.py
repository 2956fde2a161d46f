"""Requests to the simulated Compute Engine that no client sends. The server answers each and keeps running (under
sanitizers, too)."""
import json
import random
import string

import pytest
from gce_server import DESCRIPTION, PROJECT, ZONE, Gce, bulk, complaints, instance

HERE = f'zones/{ZONE}/instances'
ROOT = f'/compute/v1/projects/{PROJECT}/'


@pytest.fixture(name='server', scope='module')
def running():
    with Gce('--boot-ms', '0', '--shutdown-ms', '0') as gce:
        yield gce


def ask(server, method, path, raw=None, **headers):
    status, _, text = server.request(method, path, raw=raw, headers=headers)
    assert server.control('GET', 'ready') == {'ready': True}
    return status, text


@pytest.mark.parametrize('raw, reason', [
    (b'{', 'parseError'), (b'[]', 'parseError'), (b'"x"', 'parseError'), (b'null', 'parseError'),
    (b'\xff\xfe', 'parseError'), (b'{"a": 1, "a": 2}', 'parseError'), (b'{"name": "a\\u0000b"}', 'parseError'),
    (b'[' * 100000, 'parseError'), (b'{"a":' * 3000, 'parseError'), (b'', 'required'), (b'{}', 'required'),
    (b'{"name": 1}', 'invalid'), (b'{"name": null}', 'required'), (b'{"name": ["a"]}', 'invalid'),
    (b'{"_key": "x"}', 'invalid'), (b'{"labels": {"a": {"b": 1}}}', 'invalid'), (b'{"disks": {"0": 1}}', 'invalid'),
    (b'{"disks": [null]}', 'required'), (b'{"scheduling": {"provisioningModel": "spot"}}', 'invalid'),
    (b'{"guestAccelerators": [{"acceleratorCount": 1e30}]}', 'invalid'),
    (b'{"disks": [{"diskSizeGb": "99999999999999999999"}]}', 'invalid'),
    (b'{"sourceMachineImage": "x"}', 'notImplemented'), (b'{"name": "' + b'a' * 100000 + b'"}', 'invalid')])
def test_bodies(server, raw, reason):
    status, text = ask(server, 'POST', ROOT + HERE, raw)
    assert 400 <= status <= 501
    assert json.loads(text)['error']['errors'][0]['reason'] == reason, text[:300]


@pytest.mark.parametrize('path, status', [
    ('/compute/v1/', 404), ('/compute/v1/projects', 404), ('/compute/v1/projects/', 404),
    ('/compute/v1/projects//zones', 404), ('/compute/v1/projects/%00/zones', 404),
    ('/compute/v1/projects/..%2f..%2fx/zones', 400), ('/compute/v1/projects/UPPER-case/zones', 400),
    ('/compute/v1/projects/%ff%fe/zones', 404), ('/compute/v1/projects/x/zones', 400),
    (ROOT + 'zones/' + 'a' * 5000 + '/instances', 400), (ROOT + HERE + '/%2e%2e', 400),
    (ROOT + HERE + '/A', 400), (ROOT + HERE + '/99999999999999999999', 404), (ROOT + HERE + '/0', 400),
    (ROOT + HERE + '?maxResults=1&maxResults=2', 400), (ROOT + HERE + '?a=%zz', 400), (ROOT + HERE + '?a=%ff', 400),
    (ROOT + HERE + '?unknown=1', 400), (ROOT + HERE + '?alt=media', 400), (ROOT + HERE + '?maxResults=-1', 400),
    (ROOT + HERE + '?pageToken=%00', 400), (ROOT + HERE + '?pageToken=AAAA', 400), (ROOT + HERE + '?pageToken=fA', 400),
    (ROOT + HERE + '?returnPartialSuccess=maybe', 400), (ROOT + 'global/instanceTemplates', 501),
    (ROOT + 'zones/' + ZONE + '/instanceGroupManagers', 501)])
def test_paths_and_parameters(server, path, status):
    assert ask(server, 'GET', path)[0] == status


def test_an_empty_text_counts_as_no_body(server):
    """Google's own clients send it with each POST that needs no body."""
    assert ask(server, 'POST', ROOT + HERE + '/none/stop', b'""')[0] == 404, 'not a parse error'
    assert 'required' in str(ask(server, 'POST', ROOT + HERE, b'""'))


def test_a_body_where_none_belongs(server):
    assert ask(server, 'POST', ROOT + HERE + '/a/stop', b'{"a": 1}')[0] == 400
    assert ask(server, 'PATCH', ROOT + HERE, b'{}')[0] == 404


def test_counts_and_names_of_bulk(server):
    base = bulk(['a'], 1)
    for change in ({'count': '0'}, {'count': '-1'}, {'count': '5001'}, {'count': 'x'}, {'count': '2'},
                   {'minCount': '2'}, {'minCount': '0'}, {'count': 1}, {'perInstanceProperties': {'a': {'name': 'b'}}},
                   {'perInstanceProperties': {'A': {}}}, {'namePattern': 'x-#'},
                   {'perInstanceProperties': {}, 'namePattern': 'x'},
                   {'perInstanceProperties': {}, 'namePattern': '#-#'},
                   {'perInstanceProperties': {}, 'namePattern': '#' * 200},
                   {'perInstanceProperties': {}, 'namePattern': '%s%n#'}, {'instanceProperties': None}):
        status, answer = server.call('POST', HERE + '/bulkInsert', {**base, **change})
        assert status == 400, (change, answer)


def mutate(rng, value):
    """One place of a body, changed at random."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        return {**value, key: mutate(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        return value[:at] + [mutate(rng, value[at])] + value[at + 1:]
    return rng.choice([None, True, -1, 10 ** 18, 1.5, '', 'x', 'zones/', '/' * 50, 'projects//zones//x', [], {}, [[]],
                       {'': ''}, '\u0000', '%s%n', 'é' * 100, ''.join(rng.choices(string.printable, k=40)), value])


@pytest.mark.parametrize('seed', range(8))
def test_bodies_changed_at_random(server, seed):
    rng = random.Random(seed)
    bodies = [(HERE, instance('a', 'n1-standard-8', gpu=('nvidia-tesla-v100', 1), spot=True, labels={'a': 'b'})),
              (HERE + '/bulkInsert', bulk(['a', 'b'], 1, labels={'a': 'b'})),
              ('global/firewalls', {'name': 'f', 'allowed': [{'IPProtocol': 'tcp', 'ports': ['1']}],
                                    'sourceRanges': ['10.0.0.0/8'], 'priority': 1}),
              ('regions/us-central1/addresses', {'name': 'a', 'addressType': 'INTERNAL',
                                                 'subnetwork': 'regions/us-central1/subnetworks/default'})]
    for _ in range(60):
        path, body = rng.choice(bodies)
        raw = json.dumps(mutate(rng, body)).encode()
        status, text = ask(server, 'POST', ROOT + path, raw)
        assert text, raw
        answer = json.loads(text)
        if status == 200:
            assert complaints(DESCRIPTION['schemas/Operation'], answer) == []
        else:
            assert 400 <= status <= 503 and answer['error']['code'] == status
            assert status != 500, text

"""A raygpu-sim as Google Compute Engine.

    from gce_server import Gce

    with Gce('--boot-ms', '30') as gce:
        status, body = gce.call('GET', 'zones/us-central1-a/instances/head')       # below projects/PROJECT
        gce.done(gce.insert('zones/us-central1-a/instances', instance('head')))    # waits for the operation
        gce.world()['instances']                                                   # the current state

Everything of sim_server.Sim is there too: knobs, fault, counters, restart."""
import json
import os
import urllib.error
import urllib.parse
import urllib.request

from inherited import inherited
from sim_server import Sim

PROJECT = 'demo-project'
REGION = 'us-central1'
ZONE = 'us-central1-a'
ROOT = 'https://www.googleapis.com/compute/v1/'
TOKEN = 'ya29.raygpu-sim'
IMAGE = 'projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64'


def zonal(path, zone=ZONE, project=PROJECT):
    return f'projects/{project}/zones/{zone}/{path}'


def properties(type_='e2-standard-4', *, bulk=False, zone=ZONE, labels=None, spot=False, gpu=None, disk=None, **more):
    """What instances.insert and bulkInsert have in common."""
    def name(resource, value):
        return value if bulk else zonal(f'{resource}/{value}', zone)
    scheduling = {}
    if spot:
        scheduling = {'provisioningModel': 'SPOT', 'instanceTerminationAction': 'DELETE', 'automaticRestart': False,
                      'onHostMaintenance': 'TERMINATE'}
    elif gpu or type_.startswith(('a2', 'a3', 'g2')):
        scheduling = {'onHostMaintenance': 'TERMINATE'}
    params = {'sourceImage': IMAGE, 'diskSizeGb': '50', 'labels': labels or {}}
    if disk:
        params['diskType'] = name('diskTypes', disk)
    body = {'machineType': name('machineTypes', type_), 'labels': labels or {}, 'scheduling': scheduling,
            'disks': [{'boot': True, 'autoDelete': True, 'initializeParams': params}],
            'networkInterfaces': [{'subnetwork': f'projects/{PROJECT}/regions/{zone[:-2]}/subnetworks/default'}]}
    if gpu:
        body['guestAccelerators'] = [{'acceleratorType': name('acceleratorTypes', gpu[0]), 'acceleratorCount': gpu[1]}]
    body.update(more)
    return body


def instance(name, type_='e2-standard-4', **more):
    return {'name': name, **properties(type_, **more)}


def bulk(names, minimum=None, type_='e2-standard-4', **more):
    """A body of bulkInsert: names, or a count and a pattern."""
    body = {'instanceProperties': properties(type_, bulk=True, **more)}
    if isinstance(names, tuple):
        body.update(count=str(names[0]), namePattern=names[1])
    else:
        body.update(count=str(len(names)), perInstanceProperties={n: {'name': n} for n in names})
    if minimum is not None:
        body['minCount'] = str(minimum)
    return body


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../providers/gcp/sim/data/compute.json'),
          encoding='utf-8') as _file:
    DESCRIPTION = json.load(_file)


def complaints(schema, value, path=''):
    """What an answer has that Google's description of it does not allow."""
    if '$ref' in schema:
        schema = DESCRIPTION['schemas/' + schema['$ref']]
    kind = schema['type']
    types = {'string': str, 'boolean': bool, 'integer': int, 'number': (int, float), 'array': list, 'object': dict}
    if not isinstance(value, types[kind]) or isinstance(value, bool) != (kind == 'boolean'):
        return [f'{path}: {value!r} is not of type {kind}']
    if schema.get('format') in ('int64', 'uint64') and not value.lstrip('-').isdigit():
        return [f'{path}: {value!r} is not a number']
    if 'enum' in schema and value not in schema['enum']:
        return [f'{path}: {value!r} is not in the enumeration']
    if kind == 'array':
        return [c for i, v in enumerate(value) for c in complaints(schema['items'], v, f'{path}[{i}]')]
    if kind != 'object':
        return []
    found = []
    for name, member in value.items():
        own = schema.get('properties', {}).get(name, schema.get('additionalProperties'))
        found += complaints(own, member, f'{path}.{name}') if own else [f'{path}.{name} is unknown']
    return found


def method_of(method, path):
    """The description of the method of a path below projects/, by the most literal template."""
    given, best = path.split('/'), (-1, None)
    for key, entry in DESCRIPTION.items():
        template = entry['path'].split('/') if key.startswith('methods/') else []
        if len(template) == len(given) and entry['httpMethod'] == method and all(
                t == g or t.startswith('{') for t, g in zip(template, given)):
            best = max(best, (sum(map(str.__eq__, template, given)), key))
    return DESCRIPTION[best[1]] if best[1] else None


class Gce(Sim):
    """One server; `call` sends a bearer token that it knows from the start, and checks each good answer against
    Google's description."""

    def request(self, method, path, body=None, headers=None, raw=None):
        """One request as it is: (status, headers, text)."""
        data = raw if raw is not None else json.dumps(body).encode() if body is not None else None
        headers = {'Authorization': 'Bearer ' + TOKEN, 'Content-Type': 'application/json', **(headers or {})}
        request = urllib.request.Request(self.url + path, data=data, method=method,
                                         headers={k: v for k, v in headers.items() if v is not None})
        try:
            with urllib.request.urlopen(request, timeout=150) as answer:
                return answer.status, dict(answer.headers), answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read().decode()

    def call(self, method, path, body=None, headers=None, project=PROJECT, **query):
        """One call below projects/PROJECT (an empty path is the project): (status, parsed answer)."""
        text = f'/compute/v1/projects/{project}' + ('/' + path if path else '')
        if query:
            text += '?' + urllib.parse.urlencode(query)
        status, _, answer = self.request(method, text, body, headers)
        value = json.loads(answer) if answer else None
        described = method_of(method, text.split('?')[0].removeprefix('/compute/v1/'))
        if status == 200 and described and 'response' in described:
            found = complaints({'$ref': described['response']}, value)
            assert not found, found[:5]
        return status, value

    def get(self, path, **query):
        """The answer of a call that has to succeed."""
        status, answer = self.call('GET', path, **query)
        assert status == 200, answer
        return answer

    def insert(self, path, body, **query):
        """The operation of a POST that has to be accepted."""
        status, answer = self.call('POST', path, body, **query)
        assert status == 200, answer
        assert answer['kind'] == 'compute#operation', answer
        return answer

    def delete(self, path, **query):
        status, answer = self.call('DELETE', path, **query)
        assert status == 200, answer
        return answer

    def wait(self, operation):
        """The operation when it is done."""
        path = operation['selfLink'].split(f'projects/{PROJECT}/', 1)[1]
        status, answer = self.call('POST', path + '/wait')
        assert status == 200, answer
        return answer

    def done(self, operation):
        """The same, which must have ended well."""
        end = self.wait(operation)
        assert end['status'] == 'DONE' and 'error' not in end, end
        return end

    def failed(self, operation):
        """The error codes of an operation that must have failed."""
        end = self.wait(operation)
        assert end['status'] == 'DONE' and 'error' in end, end
        return [error['code'] for error in end['error']['errors']]

    def world(self, project=PROJECT):  # pylint: disable=arguments-renamed
        """The tables of a project, whatever the consistency delay."""
        return self.control('GET', 'world')['projects'].get(project, {})


def gce_env(gce, **more):
    """Credentials of the metadata server, as on a machine in Google Cloud."""
    return inherited(**{'GCE_METADATA_HOST': gce.url.split('//')[1], 'GOOGLE_CLOUD_PROJECT': PROJECT,
                        'CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE': gce.url + '/compute/v1/',
                        'CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER': gce.url + '/', **more})

"""A whole Kubernetes cluster for tests: the real server of custom resources (apiserver.py), and before it what that one lacks.

    with Cluster() as cluster:                       # KubeRay's, Kueue's and the core kinds are installed
        cluster.kubeconfig(path, namespace='ml')
        cluster.create('Pod', {...}, namespace='ml')
        cluster.counts()                             # {'create rayclusters': 1, ...} of the clients' requests
        cluster.fault(verb='patch', resource='rayclusters', status=429, headers={'Retry-After': '0'}, times=3)

* Discovery: /api, /apis (also aggregated), /api/v1, /openapi/v3, from the CRDs that are there.
* Core kinds are kept as custom resources of the group core.front with the schemas of core-smd.json, in the same etcd: server-side
  apply, conflicts, managedFields, paging, dry runs and watch of them are the real code's.
* Admission of namespaces, Secrets' stringData, eviction, pods' logs, access reviews, bearer tokens and 403 are done here, as the
  API server does them. `admission` is where webhooks are: functions that change an object or raise Refused.
* Everything is recorded, and `fault`, `lose` and `watch` say what goes wrong or what is to happen at a request."""
import base64
import contextlib
import dataclasses
import json
import os
import re
import socket
import ssl
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import apiserver
import schemas
import yaml

CORE = ('Namespace', 'Node', 'Pod', 'Secret', 'ConfigMap', 'Service', 'ServiceAccount', 'Event', 'ResourceQuota', 'PersistentVolumeClaim')
CLUSTER_WIDE = ('Namespace', 'Node')
SHORT = {'Namespace': ['ns'], 'Node': ['no'], 'Pod': ['po'], 'ConfigMap': ['cm'], 'Service': ['svc'], 'ServiceAccount': ['sa'],
         'Event': ['ev'], 'ResourceQuota': ['quota'], 'PersistentVolumeClaim': ['pvc']}
RAY = ('RayCluster', 'RayJob')
KUEUE = ('AdmissionCheck', 'ClusterQueue', 'Cohort', 'LocalQueue', 'ProvisioningRequestConfig', 'ResourceFlavor', 'Workload',
         'WorkloadPriorityClass')
CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
TOKEN = 'kube-test-token'
VERSION = 'v1.36.4'
AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
REVIEWS = ('selfsubjectaccessreviews', 'selfsubjectrulesreviews')


def plural(kind):
    return kind.lower() + 's'


def kept_as(name):
    """The API takes /apis/GROUP/VERSION/namespaces/NAME for a namespace of the group, so these need another name there."""
    return 'frontnamespaces' if name == 'namespaces' else name


def paths(crd):
    """Of all its objects, in each version."""
    spec = crd['spec']
    return [f"/apis/{spec['group']}/{one['name']}/{spec['names']['plural']}" for one in spec['versions']]


def core_crd(kind):
    """The CRD that stands for a core kind."""
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': kept_as(plural(kind)) + '.core.front'},
            'spec': {'group': 'core.front', 'scope': 'Cluster' if kind in CLUSTER_WIDE else 'Namespaced',
                     'names': {'plural': kept_as(plural(kind)), 'singular': kind.lower(), 'kind': kind, 'listKind': kind + 'List', 'shortNames': SHORT.get(kind, [])},
                     'versions': [{'name': 'v1', 'served': True, 'storage': True, 'subresources': {'status': {}} if kind != 'Event' else {},
                                   'selectableFields': [{'jsonPath': '.involvedObject.name'}] if kind == 'Event' else [],
                                   'schema': {'openAPIV3Schema': schemas.core_root(schemas.core_kinds()['v1', kind])}}]}}


def status(code, reason, message, **more):
    """The API's answer to what fails."""
    return {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Failure', 'message': message, 'reason': reason,
            **({'details': more} if more else {}), 'code': code}


class Refused(Exception):
    """A webhook's, or the server's own admission's."""

    def __init__(self, code, reason, message, **details):
        super().__init__(message)
        self.code, self.body = code, status(code, reason, message, **details)


def denied_by(webhook, message):
    return Refused(403, 'Forbidden', f'admission webhook "{webhook}" denied the request: {message}')


@dataclasses.dataclass
class Request:
    method: str
    path: str
    query: dict
    headers: dict
    body: bytes
    verb: str = ''
    group: str = ''
    version: str = ''
    resource: str = ''
    subresource: str = ''
    namespace: str = ''
    name: str = ''
    status: int = 0
    answer: bytes = b''

    def __post_init__(self):
        found = re.match(r'/(?:api|apis/([^/]+))/(v[^/]+)/(?:namespaces/([^/]+)/(?!status$|finalize$))?([^/]+)(?:/([^/]+))?(?:/([^/]+))?$', self.path)
        if not found:
            return
        self.group, self.version, self.namespace, self.resource, self.name, self.subresource = (one or '' for one in found.groups())
        named = bool(self.name)
        self.verb = {'GET': 'get' if named else 'watch' if self.query.get('watch') in ('1', 'true') else 'list', 'POST': 'create',
                     'PUT': 'update', 'PATCH': 'patch', 'DELETE': 'delete' if named else 'deletecollection'}.get(self.method, '')

    @property
    def core(self):
        return self.path.startswith('/api/v1/')

    @property
    def dry(self):
        return self.query.get('dryRun') == 'All'

    @property
    def writes(self):
        """It changes what is stored, if it succeeds."""
        return self.method != 'GET' and not self.dry and self.resource not in REVIEWS

    def object(self):
        """The body as an object; a server-side apply may be YAML."""
        return yaml.safe_load(self.body) if 'yaml' in self.headers.get('content-type', '') else json.loads(self.body)

    def __str__(self):
        return f"{self.verb} {self.resource}{'/' + self.subresource if self.subresource else ''}"


@dataclasses.dataclass
class Rule:
    """What happens at some requests: `before` may answer (status, headers, bytes) or cut (CUT); `after` sees the answer."""
    verb: str | None = None
    resource: str | None = None
    match: object = None
    times: int | None = 1
    skip: int = 0
    before: object = None
    after: object = None
    dry: bool | None = None  # None: dry runs as well

    def applies(self, request):
        if (self.verb and request.verb != self.verb) or (self.resource and request.resource != self.resource):
            return False
        if self.dry is not None and request.dry != self.dry or (self.match and not self.match(request)):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return self.times is None or self.times >= 0


CUT = object()


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    timeout = 600

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass

    def reply(self, code, headers, body):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def any(self):
        path, _, query = self.path.partition('?')
        length = int(self.headers.get('Content-Length') or 0)
        request = Request(self.command, path, dict(urllib.parse.parse_qsl(query, keep_blank_values=True)),
                          {name.lower(): value for name, value in self.headers.items()}, self.rfile.read(length))
        answer = self.server.cluster.serve(request, self)
        if answer is CUT:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif answer is not None:
            self.reply(*answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = any


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    allow_reuse_address = True

    def __init__(self, cluster, tls):
        super().__init__(('127.0.0.1', 0), Handler)
        self.cluster, self.tls, self.open = cluster, tls, set()

    def get_request(self):
        client, address = super().get_request()
        client = self.tls.wrap_socket(client, server_side=True, do_handshake_on_connect=False)  # in the client's own thread
        self.open.add(client)
        return client, address

    def shutdown_request(self, request):
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, *_):  # pylint: disable=arguments-differ
        pass  # clients that are killed, and handshakes that fail


class Cluster:
    def __init__(self, kinds=RAY + KUEUE, core=CORE, versions=None, audience=TOKEN):
        self.kinds, self.core, self.versions = list(kinds), list(core), versions or {}
        self.api = apiserver.ApiServer()
        self.tokens = {audience}
        self.lock = threading.RLock()
        self.crds = {}  # by name, as they are installed
        self.writes, self.written = 0, threading.Condition()
        self.requests, self.rules, self.denied, self.admission, self.logs = [], [], set(), [], {}
        self.server = self.thread = self.ca = self.url = None

    # ---- life

    def __enter__(self):
        self.api.__enter__()
        try:
            self.install(*self.kinds)
            self.ca = apiserver.authority(self.api.folder, 'front-ca')
            self.listen()
        except BaseException:
            self.api.__exit__()
            raise
        return self

    def listen(self):
        pair = apiserver.certificate(self.ca, 'front', '/CN=kubernetes', 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default')
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(pair + '.crt', pair + '.key')
        tls.load_verify_locations(self.ca + '.crt')
        tls.verify_mode = ssl.CERT_OPTIONAL
        self.server = Server(self, tls)
        self.url = f'https://127.0.0.1:{self.server.server_port}'
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.api.__exit__()

    def install(self, *kinds):
        """CRDs of these kinds and of the core kinds; returns when they are served."""
        self.kinds += [kind for kind in kinds if kind not in self.kinds]
        for one in [core_crd(kind) for kind in self.core] + [schemas.crd(kind, self.versions.get(kind)) for kind in kinds]:
            if one['metadata']['name'] in self.crds:
                continue
            code, answer = self.api.call('POST', CRDS, one)
            assert code == 201, answer
            self.crds[one['metadata']['name']] = one
        self.until_served()

    def uninstall(self, *kinds):
        for kind in kinds:
            name = schemas.crd(kind)['metadata']['name']
            self.api.call('DELETE', f'{CRDS}/{name}')
            while self.api.call('GET', f'{CRDS}/{name}')[0] != 404:  # its objects go first
                time.sleep(0.02)
            del self.crds[name]
            self.kinds.remove(kind)

    @contextlib.contextmanager
    def older(self, kind, *fields):
        """The CRD of an older operator, whose `spec` does not have these fields."""
        crd = schemas.crd(kind)
        names, at = crd['spec']['names']['plural'], f"{CRDS}/{crd['metadata']['name']}"
        document = {**crd, 'spec': json.loads(json.dumps(crd['spec']))}
        for version in document['spec']['versions']:
            for field in fields:
                del version['schema']['openAPIV3Schema']['properties']['spec']['properties'][field]
        self.update_crd(at, document, names, fields[0], False)
        try:
            yield
        finally:
            self.update_crd(at, crd, names, fields[0], True)

    def update_crd(self, at, document, names, field, known):
        """Returns when the server checks objects with it."""
        version = self.api.call('GET', at)[1]['metadata']['resourceVersion']
        code, answer = self.api.call('PUT', at, {**document, 'metadata': {**document['metadata'], 'resourceVersion': version}})
        assert code == 200, answer
        stored = next(one['name'] for one in document['spec']['versions'] if one['storage'])
        group, kind = document['spec']['group'], document['spec']['names']['kind']
        probe = {'apiVersion': f'{group}/{stored}', 'kind': kind, 'metadata': {'name': 'probe'}, 'spec': {field: 1}}
        path = f'/apis/{group}/{stored}/namespaces/default/{names}?dryRun=All&fieldValidation=Strict'
        for _ in range(1200):
            if ('unknown field' in self.api.call('POST', path, probe)[1]['message']) != known:
                return
            time.sleep(0.05)
        raise RuntimeError(f'the CRD of {kind} did not change')

    def event(self, kind, namespace, name, reason, message, at='2026-01-01T00:00:00Z'):
        """What a controller says about an object."""
        self.create('Event', {'metadata': {'generateName': name + '-'}, 'reason': reason, 'message': message, 'lastTimestamp': at,
                              'involvedObject': {'kind': kind, 'namespace': namespace, 'name': name}}, namespace)

    def until_served(self):
        """A CRD is served some time after it was created, and after a start of the server."""
        missing = {path for one in self.crds.values() for path in paths(one)}
        for _ in range(1200):
            missing = {path for path in missing if self.api.send('GET', path + '?limit=1')[0] != 200}
            if not missing:
                return
            time.sleep(0.05)
        raise RuntimeError(f'not served: {missing}')

    def reset(self):
        """Removes all objects, rules and records."""
        self.rules, self.denied, self.admission, self.logs, self.tokens = [], set(), [], {}, {TOKEN}
        for one in self.crds.values():
            path, names = paths(one)[0], one['spec']['names']['plural']
            for item in self.api.call('GET', path)[1].get('items', []):
                meta = item['metadata']
                at = path.removesuffix(names) + f"namespaces/{meta['namespace']}/{names}" if 'namespace' in meta else path
                if meta.get('finalizers'):
                    self.api.call('PATCH', f"{at}/{meta['name']}", {'metadata': {'finalizers': None}}, 'application/merge-patch+json')
                self.api.call('DELETE', f"{at}/{meta['name']}")
        self.requests = []

    def restart(self):
        """The API server is killed and starts again; clients lose their connections."""
        for one in list(self.server.open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.api.restart()
        self.until_served()

    # ---- for tests

    def kubeconfig(self, path, namespace='default', user=None, context='test', **cluster):
        """Writes one with a token; `user` and more members of the cluster replace or add to it."""
        document = {'apiVersion': 'v1', 'kind': 'Config', 'current-context': context,
                    'clusters': [{'name': 'test', 'cluster': {'server': self.url, 'certificate-authority': self.ca + '.crt', **cluster}}],
                    'users': [{'name': 'test', 'user': user or {'token': TOKEN}}],
                    'contexts': [{'name': context, 'context': {'cluster': 'test', 'user': 'test', 'namespace': namespace}}]}
        with open(path, 'w', encoding='utf-8') as file:
            yaml.safe_dump(document, file)
        return str(path)

    def client_certificate(self, name, days=3650):
        """NAME.crt and NAME.key that the cluster accepts, but not after `days`."""
        return apiserver.certificate(self.ca, name, f'/O=testers/CN={name}', days=days)

    def path(self, kind, namespace=None, name=None, subresource=None):
        if kind in self.core:
            base, names = '/apis/core.front/v1', kept_as(plural(kind))
            namespace = None if kind in CLUSTER_WIDE else namespace
        else:
            spec = schemas.crd(kind, self.versions.get(kind))['spec']
            stored = next(one['name'] for one in spec['versions'] if one['storage'])
            base, names = f"/apis/{spec['group']}/{stored}", spec['names']['plural']
            namespace = namespace if spec['scope'] == 'Namespaced' else None
        parts = [base, *(['namespaces', namespace] if namespace else []), names, *([name] if name else []), *([subresource] if subresource else [])]
        return '/'.join(parts)

    def call(self, method, kind, body=None, namespace=None, name=None, subresource=None, query='', content_type='application/json'):
        """As the cluster's own part, past the front: neither recorded nor admitted."""
        if isinstance(body, dict) and kind in self.core and 'kind' in body:
            body = {**body, 'apiVersion': 'core.front/v1'}
        code, answer = self.api.call(method, self.path(kind, namespace, name, subresource) + query, body, content_type)
        if method != 'GET' and code < 300:
            self.wake()
        return code, answer

    def wake(self):
        """Controllers look again."""
        with self.written:
            self.writes += 1
            self.written.notify_all()

    def create(self, kind, body, namespace=None):
        version = 'v1' if kind in self.core else '/'.join(self.path(kind).split('/')[2:4])
        document = {'apiVersion': version, 'kind': kind, **body}
        code, answer = self.call('POST', kind, document, namespace)
        assert code == 201, answer
        if 'status' in body:
            self.patch(kind, {'status': body['status']}, namespace, answer['metadata']['name'], 'status')
        return answer

    def get(self, kind, namespace=None, name=None):
        """One object, or None."""
        code, answer = self.call('GET', kind, None, namespace, name)
        return answer if code == 200 else None

    def list(self, kind, namespace=None, labels=''):
        code, answer = self.call('GET', kind, None, namespace, query='?labelSelector=' + urllib.parse.quote(labels) if labels else '')
        assert code == 200, answer
        return answer['items']

    def patch(self, kind, body, namespace=None, name=None, subresource=None):
        """A merge patch, or a JSON patch if body is a list."""
        form = 'json-patch' if isinstance(body, list) else 'merge-patch'
        code, answer = self.call('PATCH', kind, body, namespace, name, subresource, content_type=f'application/{form}+json')
        assert code == 200 or code == 404, answer
        return answer

    def delete(self, kind, namespace=None, name=None):
        return self.call('DELETE', kind, None, namespace, name)[0]

    def namespace(self, name):
        self.create('Namespace', {'metadata': {'name': name}, 'status': {'phase': 'Active'}})
        return name

    def counts(self, writes=False):
        """{'create rayclusters': 1, ...}; writes: only what changes something."""
        found = {}
        for one in list(self.requests):
            if one.verb and (one.writes or not writes):
                found[str(one)] = found.get(str(one), 0) + 1
        return found

    def fault(self, code=None, reason='', message='', headers=None, body=None, **when):
        """Requests are answered with this instead; code None: the connection is cut and nothing is stored."""
        answer = CUT
        if code is not None:
            text = json.dumps(status(code, reason, message)) if body is None else body
            answer = (code, {'Content-Type': 'application/json', **(headers or {})}, text.encode())
        return self.rule(before=lambda request: answer, **when)

    def lose(self, **when):
        """Requests are carried out, but their answers do not arrive."""
        return self.rule(after=lambda request: CUT, **when)

    @staticmethod
    def new_request(method, path, body=None, form='application/json'):
        """For `serve`: as if a client had sent it."""
        path, _, query = path.partition('?')
        return Request(method, path, dict(urllib.parse.parse_qsl(query)), {'content-type': form, 'accept': 'application/json'}, body or b'')

    @property
    def kubectl(self):
        return os.path.join(self.api.bin, 'kubectl')

    def rule(self, **members):
        one = Rule(**members)
        with self.lock:
            self.rules.append(one)
        return one

    # ---- one request

    def serve(self, request, handler=None):
        with self.lock:
            self.requests.append(request)
            chosen = [one for one in self.rules if one.applies(request)]
        for one in chosen:
            if one.before and (answer := one.before(request)) is not None:
                request.status = 0 if answer is CUT else answer[0]
                return answer
        try:
            answer = self.answer(request, handler)
        except Refused as refused:
            answer = said(refused.code, refused.body)
        except OSError as error:  # the API server is being restarted
            answer = (503, {'Content-Type': 'text/plain'}, str(error).encode())
        if answer is None:
            return None
        request.status, request.answer = answer[0], answer[2]
        if request.writes and request.status < 300:
            self.wake()
        for one in chosen:
            if one.after and one.after(request) is CUT:
                return CUT
        return answer

    def answer(self, request, handler):
        if handler and not self.authenticated(request, handler.connection.getpeercert()):
            raise Refused(401, 'Unauthorized', 'Unauthorized')
        own = self.discovery(request)
        if own is not None:
            return own
        if request.resource in REVIEWS:
            return said(201, self.review(request))
        if 'protobuf' in request.headers.get('content-type', ''):
            raise Refused(415, 'UnsupportedMediaType', 'this test server speaks no protobuf: use kubectl create -f or kubectl apply')
        self.allow(request)
        if request.core and request.resource == 'pods' and request.subresource in ('log', 'eviction'):
            return self.pod(request)
        self.admit(request)
        if request.verb == 'watch' and handler:
            return self.watch(request, handler)
        return self.admit_patch(request) or self.forward(request)

    def authenticated(self, request, certificate):
        token = request.headers.get('authorization', '')
        return bool(certificate) if not token else token.startswith('Bearer ') and token[7:] in self.tokens

    def allow(self, request):
        resource = request.resource + ('/' + request.subresource if request.subresource else '')
        if (request.verb, resource) in self.denied:
            scope = f' in the namespace "{request.namespace}"' if request.namespace else ' at the cluster scope'
            name = f' "{request.name}"' if request.name else ''
            message = f'{request.resource}{"." + request.group if request.group else ""}{name} is forbidden: User "test" cannot {request.verb} ' \
                      f'resource "{resource}" in API group "{request.group}"{scope}'
            raise Refused(403, 'Forbidden', message, **({'name': request.name} if request.name else {}), kind=request.resource)

    def review(self, request):
        review = json.loads(request.body)
        if request.resource == 'selfsubjectrulesreviews':
            raise Refused(404, 'NotFound', 'the server could not find the requested resource')
        asked = review['spec'].get('resourceAttributes', {})
        resource = asked.get('resource', '') + ('/' + asked['subresource'] if asked.get('subresource') else '')
        review['status'] = {'allowed': (asked.get('verb'), resource) not in self.denied}
        return review

    def admit(self, request):
        """Before an object is stored, or would be in a dry run."""
        applies = request.method == 'PATCH' and 'apply-patch' in request.headers.get('content-type', '')
        if request.method not in ('POST', 'PUT') and not applies or request.subresource:
            return
        try:
            document = request.object()
        except ValueError:
            return  # the server says what is wrong with it
        if not isinstance(document, dict):
            return
        if request.namespace and request.verb == 'create' and 'Namespace' in self.core:
            self.admit_namespace(request.namespace, request.resource)
        if request.core:
            document['apiVersion'] = 'core.front/v1' if document.get('apiVersion') == 'v1' else document.get('apiVersion')
        if request.core and request.resource == 'secrets':
            fill_secret(document)
        for webhook in list(self.admission) if not applies else []:
            webhook(request, document)
        request.body = json.dumps(document).encode()

    def admit_patch(self, request):
        """Webhooks see the object as it will be. The answer to a dry run that they change; None: the patch is to be done."""
        if request.method != 'PATCH' or request.subresource or not self.admission:
            return None
        trial = dataclasses.replace(request, query={**request.query, 'dryRun': 'All'})
        code, headers, body = self.forward(trial)
        if code >= 300:
            return code, headers, body
        document = json.loads(body)
        for webhook in list(self.admission):
            webhook(request, document)
        if document == json.loads(body):
            return None
        if not request.dry:
            raise Refused(501, 'NotImplemented', 'this test server has no webhooks that change objects in patches, except in dry runs')
        return code, headers, json.dumps(document).encode()

    def admit_namespace(self, name, resource):
        found = self.get('Namespace', None, name)
        if not found:
            raise Refused(404, 'NotFound', f'namespaces "{name}" not found', name=name, kind='namespaces')
        if found['metadata'].get('deletionTimestamp') or found.get('status', {}).get('phase') == 'Terminating':
            message = f'{resource} is forbidden: unable to create new content in namespace {name} because it is being terminated'
            raise Refused(403, 'Forbidden', message, kind=resource, causes=[
                {'reason': 'NamespaceTerminating', 'message': f'namespace {name} is being terminated', 'field': 'metadata.namespace'}])

    def pod(self, request):
        """Logs and eviction."""
        found = self.get('Pod', request.namespace, request.name)
        if not found:
            raise Refused(404, 'NotFound', f'pods "{request.name}" not found', name=request.name, kind='pods')
        if request.subresource == 'log':
            return 200, {'Content-Type': 'text/plain'}, self.logs.get((request.namespace, request.name), '').encode()
        self.delete('Pod', request.namespace, request.name)
        return said(201, {'kind': 'Status', 'apiVersion': 'v1', 'metadata': {}, 'status': 'Success', 'code': 201})

    def target(self, request):
        """The same request for the server of custom resources."""
        path = '/apis/core.front' + request.path[len('/api'):] if request.core else request.path
        if request.core and request.resource == 'namespaces':
            path = path.replace('/namespaces', '/' + kept_as('namespaces'), 1)
        query = urllib.parse.urlencode(request.query)
        accept = request.headers.get('accept', '')
        headers = {'Accept': 'application/json' if 'protobuf' in accept or not accept else accept,
                   **{name: request.headers[name] for name in ('content-type', 'user-agent') if name in request.headers}}
        return path + ('?' + query if query else ''), headers

    def forward(self, request):
        path, headers = self.target(request)
        code, got, body = self.api.send(request.method, path, request.body or None, headers)
        if request.core or b'core.front' in body:
            body = as_core(body)
        kept = {name: got[name] for name in ('Content-Type', 'Retry-After', 'Warning', 'Audit-Id') if got[name]}
        return code, kept, body

    def watch(self, request, handler):
        """Passed on line by line; kubectl's, as raygpu never watches."""
        path, headers = self.target(request)
        connection = self.api.connect()
        connection.request('GET', path, None, headers)
        answer = connection.getresponse()
        handler.send_response(answer.status)
        handler.send_header('Content-Type', answer.headers['Content-Type'])
        handler.send_header('Transfer-Encoding', 'chunked')
        handler.end_headers()
        while True:
            line = as_core(answer.readline())
            handler.wfile.write(b'%x\r\n%s\r\n' % (len(line), line))
            handler.wfile.flush()
            if not line:
                return None

    # ---- discovery

    def groups(self):
        """{group: {version: [resource, ...]}} of what is installed; the core group is ''."""
        found = {'apiextensions.k8s.io': {'v1': [resource('customresourcedefinitions', 'CustomResourceDefinition', False, ['crd', 'crds'])]},
                 'authorization.k8s.io': {'v1': [resource(REVIEWS[0], 'SelfSubjectAccessReview', False, verbs=['create'])]}}
        for one in self.crds.values():
            spec, names = one['spec'], one['spec']['names']
            group = found.setdefault('' if spec['group'] == 'core.front' else spec['group'], {})
            for version in spec['versions']:
                if version['served']:
                    kept = group.setdefault(version['name'], [])
                    name = plural(names['kind']) if spec['group'] == 'core.front' else names['plural']
                    kept.append(resource(name, names['kind'], spec['scope'] == 'Namespaced', names.get('shortNames')))
                    if 'status' in version.get('subresources', {}):
                        kept.append(resource(name + '/status', names['kind'], spec['scope'] == 'Namespaced', verbs=['get', 'patch', 'update']))
        return found

    def discovery(self, request):
        if request.method != 'GET':
            return None
        aggregated = 'as=APIGroupDiscoveryList' in request.headers.get('accept', '')
        if request.path in ('/api', '/apis') and aggregated:
            return said(200, aggregated_list(self.groups(), request.path == '/api'), AGGREGATED)
        if request.path == '/version':
            return said(200, {'major': '1', 'minor': VERSION.split('.')[1], 'gitVersion': VERSION, 'platform': 'linux/amd64'})
        if request.path == '/api':
            return said(200, {'kind': 'APIVersions', 'versions': ['v1'], 'serverAddressByClientCIDRs': []})
        if request.path == '/apis':
            return said(200, {'kind': 'APIGroupList', 'apiVersion': 'v1',
                              'groups': [group_entry(name, versions) for name, versions in self.groups().items() if name]})
        if found := re.fullmatch(r'/(?:api|apis/([^/]+))/(v[^/]+)', request.path):
            versions = self.groups().get(found[1] or '', {})
            if found[2] not in versions:
                return None  # the server's own 404
            return said(200, {'kind': 'APIResourceList', 'apiVersion': 'v1', 'groupVersion': (found[1] + '/' if found[1] else '') + found[2],
                              'resources': versions[found[2]]})
        return self.openapi(request.path)

    def openapi(self, path):
        if path == '/openapi/v3':
            document = self.api.call('GET', '/openapi/v3')[1]
            document['paths']['api/v1'] = {'serverRelativeURL': '/openapi/v3/api/v1?hash=0'}
            return said(200, document)
        if path != '/openapi/v3/api/v1':
            return None
        field = {'name': 'fieldValidation', 'in': 'query', 'schema': {'type': 'string'}}
        return said(200, {'openapi': '3.0.0', 'info': {'title': 'core', 'version': 'v1'}, 'paths': {
            f'/api/v1/{plural(kind)}/{{name}}': {'patch': {
                'x-kubernetes-action': 'patch', 'parameters': [field],
                'x-kubernetes-group-version-kind': {'group': '', 'version': 'v1', 'kind': kind}}} for kind in self.core}})


def said(code, document, form='application/json'):
    return code, {'Content-Type': form}, json.dumps(document).encode()


def as_core(body):
    """Core kinds under their own names again."""
    body = body.replace(b'frontnamespaces', b'namespaces').replace(b'core.front/v1', b'v1').replace(b'.core.front', b'')
    return re.sub(rb'"group": ?"core.front",\s*', b'', body)


def fill_secret(document):
    """stringData is written into data, base64; the type is Opaque unless it is given."""
    document.setdefault('type', 'Opaque')
    for name, text in (document.pop('stringData', None) or {}).items():
        document.setdefault('data', {})[name] = base64.b64encode(text.encode()).decode()
    for name, value in (document.get('data') or {}).items():
        try:
            base64.b64decode(value, validate=True)
        except (ValueError, TypeError):
            raise Refused(400, 'BadRequest', f'Secret in version "v1" cannot be handled as a Secret: illegal base64 data in data.{name}') from None


def resource(name, kind, namespaced, short=None, verbs=None):
    return {'name': name, 'singularName': kind.lower(), 'namespaced': namespaced, 'kind': kind, 'verbs': verbs or VERBS,
            **({'shortNames': short} if short else {})}


def rank(version):
    """v2 before v1, v1 before v1beta2, beta before alpha."""
    found = re.fullmatch(r'v(\d+)(?:(alpha|beta)(\d+))?', version)
    return {None: 0, 'beta': 1, 'alpha': 2}[found[2]], -int(found[1]), -int(found[3] or 0)


def group_entry(name, versions):
    listed = [{'groupVersion': f'{name}/{one}', 'version': one} for one in sorted(versions, key=rank)]
    return {'name': name, 'versions': listed, 'preferredVersion': listed[0]}


def aggregated_list(groups, core):
    """apidiscovery.k8s.io/v2, which clients since 1.26 ask for first."""
    items = []
    for name, versions in groups.items():
        if (name == '') != core:
            continue
        items.append({'metadata': {'name': name, 'creationTimestamp': None} if name else {'creationTimestamp': None}, 'versions': [
            {'version': version, 'freshness': 'Current', 'resources': [
                {'resource': one['name'], 'singularResource': one['singularName'], 'scope': 'Namespaced' if one['namespaced'] else 'Cluster',
                 'responseKind': {'group': name, 'version': version, 'kind': one['kind']}, 'verbs': one['verbs'],
                 **({'shortNames': one['shortNames']} if 'shortNames' in one else {})}
                for one in versions[version] if '/' not in one['name']]} for version in sorted(versions, key=rank)]})
    return {'kind': 'APIGroupDiscoveryList', 'apiVersion': 'apidiscovery.k8s.io/v2', 'metadata': {}, 'items': items}

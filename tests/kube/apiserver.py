"""The real API server of CustomResourceDefinitions and its etcd, as built by build.sh.

    with ApiServer() as api:
        status, answer = api.call('GET', '/apis/ray.io/v1/rayclusters')

It serves only custom resources, to a client certificate. front.py makes a whole cluster of it."""
import base64
import glob
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../cli'))
import ports  # noqa: E402, after the path to it

NO_SERVER = 'the real API server of Kubernetes: with --long or RAYGPU_KUBE=1 (tests/kube/README.md)'


def folder():
    """Of the newest build; None: not built, or not to be used (RAYGPU_KUBE=0)."""
    if os.environ.get('RAYGPU_KUBE') == '0':
        return None
    cache = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache'), 'raygpu-kube')
    found = sorted(glob.glob(os.path.join(cache, '*', 'VERSIONS')), key=os.path.getmtime)
    return os.path.dirname(found[-1]) if found else None


def openssl(*words):
    subprocess.run(['openssl', *words], check=True, capture_output=True)


def authority(folder, name='ca'):
    """A certificate authority: NAME.crt and NAME.key."""
    path = os.path.join(folder, name)
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', path + '.key',
            '-out', path + '.crt', '-subj', f'/CN={name}', '-days', '3650')
    return path


def certificate(ca, name, subject, *extensions, days=3650):
    """A certificate of that authority, in its folder: NAME.crt and NAME.key."""
    path = os.path.join(os.path.dirname(ca), name)
    openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', path + '.key',
            '-out', path + '.csr', '-subj', subject)
    with open(path + '.ext', 'w', encoding='utf-8') as file:
        file.write('\n'.join(extensions))
    openssl('x509', '-req', '-in', path + '.csr', '-CA', ca + '.crt', '-CAkey', ca + '.key', '-CAcreateserial',
            '-extfile', path + '.ext', '-out', path + '.crt', '-days', str(days))
    return path


class ApiServer:
    def __init__(self):
        self.bin = folder()
        self.folder = tempfile.mkdtemp(prefix='raygpu-kube-')
        self.port, self.etcd_port, peer_port = (ports.free_port() for _ in range(3))
        self.peer = f'http://127.0.0.1:{peer_port}'
        self.processes = {}
        self.connections = threading.local()
        self.tls = None

    def __enter__(self):
        ca = authority(self.folder)
        client = certificate(ca, 'client', '/O=system:masters/CN=admin')
        self.tls = ssl._create_unverified_context()  # pylint: disable=protected-access
        self.tls.load_cert_chain(client + '.crt', client + '.key')
        try:
            self.start_etcd()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in list(self.processes):
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def spawn(self, name, *words):
        with open(os.path.join(self.folder, name + '.log'), 'ab') as log:
            self.processes[name] = subprocess.Popen([os.path.join(self.bin, name), *words], stdin=subprocess.DEVNULL,
                                                    stdout=log, stderr=log)

    def kill(self, name):
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def start_etcd(self):
        url = f'http://127.0.0.1:{self.etcd_port}'
        data = os.path.join(self.folder, 'etcd-data')
        os.makedirs(data, mode=0o700)
        self.spawn('etcd', '--data-dir', data, '--listen-client-urls', url, '--advertise-client-urls', url,
                   '--listen-peer-urls', self.peer, '--initial-advertise-peer-urls', self.peer,
                   '--initial-cluster', f'default={self.peer}', '--unsafe-no-fsync')

    def start(self):
        kubeconfig = self.kubeconfig()
        self.spawn('apiextensions-apiserver', f'--etcd-servers=http://127.0.0.1:{self.etcd_port}', '--bind-address=127.0.0.1',
                   f'--secure-port={self.port}', f'--cert-dir={self.folder}/certs', f'--kubeconfig={kubeconfig}',
                   f'--authentication-kubeconfig={kubeconfig}', f'--authorization-kubeconfig={kubeconfig}',
                   '--authentication-skip-lookup', f'--client-ca-file={self.folder}/ca.crt',
                   '--enable-priority-and-fairness=false', '--disable-admission-plugins=NamespaceLifecycle,'
                   'MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy')
        for _ in range(1200):  # 60 s on a busy machine
            if self.processes['apiextensions-apiserver'].poll() is not None:
                break
            try:
                if self.call('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=1')[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        with open(os.path.join(self.folder, 'apiextensions-apiserver.log'), encoding='utf-8', errors='replace') as log:
            raise RuntimeError('the API server did not start:\n' + log.read()[-2000:])

    def compact(self):
        """Old versions are dropped, as the API server does every five minutes: lists that go on from them have expired."""
        url = f'http://127.0.0.1:{self.etcd_port}/v3/'

        def post(path, body):
            return json.load(urllib.request.urlopen(urllib.request.Request(url + path, json.dumps(body).encode()), timeout=30))

        revision = post('kv/range', {'key': base64.b64encode(b'x').decode()})['header']['revision']
        post('kv/compaction', {'revision': revision, 'physical': True})

    def restart(self):
        """The server ends as by a power cut and starts again; etcd keeps its data."""
        self.kill('apiextensions-apiserver')
        self.start()

    def kubeconfig(self):
        path = os.path.join(self.folder, 'kubeconfig')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'c',
                       'clusters': [{'name': 'c', 'cluster': {'server': f'https://127.0.0.1:{self.port}', 'insecure-skip-tls-verify': True}}],
                       'users': [{'name': 'u', 'user': {'client-certificate': self.folder + '/client.crt', 'client-key': self.folder + '/client.key'}}],
                       'contexts': [{'name': 'c', 'context': {'cluster': 'c', 'user': 'u'}}]}, file)
        return path

    def connect(self):
        return http.client.HTTPSConnection('127.0.0.1', self.port, context=self.tls, timeout=120)

    def send(self, method, path, body=None, headers=None):
        """One exchange over this thread's connection: (status, headers, bytes)."""
        for last in (False, True):
            fresh = getattr(self.connections, 'one', None) is None
            if fresh:
                self.connections.one = self.connect()
            try:
                self.connections.one.request(method, path, body, headers or {})
                answer = self.connections.one.getresponse()
                return answer.status, answer.headers, answer.read()
            except (OSError, http.client.HTTPException):
                self.connections.one.close()
                self.connections.one = None
                if fresh or last:  # a kept connection may have been closed by the server meanwhile
                    raise
        raise AssertionError

    def call(self, method, path, body=None, content_type='application/json'):
        """(status, parsed answer)."""
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        status, headers, said = self.send(method, path, data, {'Content-Type': content_type, 'Accept': 'application/json'})
        parsed = json.loads(said) if 'json' in (headers.get('Content-Type') or '') else said.decode()
        return status, parsed

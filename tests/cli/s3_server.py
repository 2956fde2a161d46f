"""S3 on moto's server, an S3 that others wrote (5.2 knows conditions for writing), behind a front of ours that counts requests
and loses answers.

    with S3() as s3:
        home.env['RAYGPU_STATE'] = s3.url()      # a prefix of its own each time
        s3.objects(url)                          # {name: bytes}, without the prefix
        s3.lose = lambda method, path: True      # called with each request; True: it is done, and not answered"""
import gzip
import http.client
import http.server
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.parse
import uuid
import xml.etree.ElementTree as ElementTree

import pytest
from pip_packages import moto
from ports import free_port

UP = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'aws/moto-up.sh')
BUCKET = 'raygpu-state'
AS_SOMEONE = {'Authorization': 'AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request'}
SPACE = '{http://s3.amazonaws.com/doc/2006-03-01/}'


class Front(http.server.ThreadingHTTPServer):
    """Passes requests on to `port`, as they are."""
    daemon_threads = True

    def __init__(self, port):
        self.port = port
        self.seen = []                       # (method, path, status, bytes sent)
        self.before = self.lose = lambda method, path: None
        self.inspect = lambda handler, body: None
        self.instead = lambda status, content, headers: None    # of the answer to a GET: another one
        super().__init__(('127.0.0.1', 0), Pass)
        self.own = self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # a killed raygpu


class Pass(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, format, *args):
        pass

    def forward(self):
        front = self.server
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        answer = front.inspect(self, body) or front.before(self.command, self.path)
        if answer:
            return self.reply(*answer)
        connection = http.client.HTTPConnection('127.0.0.1', front.port, timeout=60)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() != 'connection':
                connection.putheader(name, value)
        connection.endheaders(body)
        told = connection.getresponse()
        content = told.read()
        connection.close()
        front.seen.append((self.command, self.path, told.status, len(body)))
        if front.lose(self.command, self.path):
            self.close_connection = True
            return None
        instead = front.instead(told.status, content, told.getheaders()) if self.command == 'GET' else None
        return self.reply(*(instead or (told.status, content, told.getheaders())))

    def reply(self, status, content, headers=()):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ('content-length', 'transfer-encoding', 'connection', 'server'):
                self.send_header(name, value)
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    do_GET = do_PUT = do_DELETE = do_POST = do_LOCK = do_UNLOCK = forward


class S3:
    def __init__(self, *settings):
        self.folder = tempfile.mkdtemp(prefix='raygpu-s3-')
        self.pid_file = os.path.join(self.folder, 'pid')
        self.settings = settings

    def __enter__(self):
        self.port = free_port()
        done = subprocess.run([UP, str(self.port), self.pid_file, *self.settings], env={**os.environ, 'MOTO_SERVER': moto()},
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 77:
            shutil.rmtree(self.folder)
            pytest.skip('moto is not installed')
        assert done.returncode == 0, done.stdout
        self.front = Front(self.port)
        self.endpoint = f'http://127.0.0.1:{self.front.server_address[1]}'
        self.make_bucket(BUCKET)
        return self

    def __exit__(self, *_):
        self.front.shutdown()
        self.front.server_close()
        with open(self.pid_file, encoding='ascii') as f:
            os.kill(int(f.read()), signal.SIGKILL)
        shutil.rmtree(self.folder)

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        connection.request(method, path, body, {**AS_SOMEONE, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def make_bucket(self, name, versioning=True):
        assert self.request('PUT', f'/{name}')[0] == 200
        if versioning:
            text = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'
            assert self.request('PUT', f'/{name}?versioning', text)[0] == 200

    def url(self, prefix=None, bucket=BUCKET, **parameters):
        prefix = prefix or 'p' + uuid.uuid4().hex[:12]
        query = urllib.parse.urlencode({'endpoint': self.endpoint, **parameters})
        return f's3://{bucket}/{prefix}?{query}'

    def names(self, url):
        bucket, prefix = self.place(url)
        text = self.request('GET', f'/{bucket}?list-type=2&prefix={prefix}')[1]
        keys = ElementTree.fromstring(text).iterfind(f'.//{SPACE}Key')
        return sorted(key.text[len(prefix):] for key in keys)

    @staticmethod
    def place(url):
        parts = urllib.parse.urlsplit(url)
        return parts.netloc, parts.path.strip('/') + '/'

    def get(self, url, name):
        bucket, prefix = self.place(url)
        status, content = self.request('GET', f'/{bucket}/{prefix}{name}')
        return content if status == 200 else None

    def put(self, url, name, content):
        bucket, prefix = self.place(url)
        assert self.request('PUT', f'/{bucket}/{prefix}{name}', content)[0] == 200

    def versions(self, url):
        """The contents of all objects that were ever there."""
        bucket, prefix = self.place(url)
        text = self.request('GET', f'/{bucket}?versions&prefix={prefix}')[1]
        for version in ElementTree.fromstring(text).iterfind(f'.//{SPACE}Version'):
            key, number = (version.find(SPACE + name).text for name in ('Key', 'VersionId'))
            yield self.request('GET', f'/{bucket}/{key}?versionId={number}')[1]

    def document(self, url, name):
        return json.loads(gzip.decompress(self.get(url, name)))

    def put_document(self, url, name, document):
        self.put(url, name, gzip.compress(json.dumps(document).encode()))

    def remove(self, url, name):
        bucket, prefix = self.place(url)
        self.request('DELETE', f'/{bucket}/{prefix}{name}')

    def wait_locked(self, url, cluster='research'):
        """Until a run has the lock; its id."""
        while True:
            content = self.get(url, f'clusters/{cluster}/lock')
            lock = json.loads(gzip.decompress(content)) if content else {}
            if 'id' in lock:
                return lock['id']
            time.sleep(0.02)

    def wait_for(self, url, ending):
        """The name of the first object that ends so."""
        while True:
            for name in self.names(url):
                if name.endswith(ending):
                    return name
            time.sleep(0.02)

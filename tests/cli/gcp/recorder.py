"""A server in front of a raygpu-sim that keeps every request to the Compute Engine API.

    with Recorder(gce) as recorder:
        ...                          # a client that uses recorder.endpoint
        recorder.requests            # [Request(method, path, query, body)], paths below /compute/v1
"""
import collections
import http.client
import http.server
import threading
import urllib.parse

Request = collections.namedtuple('Request', 'method path query body')
BASE = '/compute/v1'


class Recorder:
    def __init__(self, gce):
        self.requests = []
        upstream = urllib.parse.urlsplit(gce.url).netloc
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def answer(self):
                body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
                parts = urllib.parse.urlsplit(self.path)
                if parts.path.startswith(BASE + '/'):
                    recorder.requests.append(Request(self.command, parts.path[len(BASE):], parts.query, body.decode()))
                server = http.client.HTTPConnection(upstream, timeout=120)
                headers = {k: v for k, v in self.headers.items() if k.lower() not in ('connection', 'accept-encoding')}
                server.request(self.command, self.path, body, headers)
                got = server.getresponse()
                data = got.read()
                self.send_response(got.status)
                for name, value in got.getheaders():
                    if name.lower() not in ('connection', 'content-length', 'transfer-encoding', 'date'):
                        self.send_header(name, value)
                self.send_header('Content-Length', str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                server.close()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *words):  # pylint: disable=arguments-differ
                pass
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.endpoint = f'http://127.0.0.1:{self.server.server_port}{BASE}/'

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

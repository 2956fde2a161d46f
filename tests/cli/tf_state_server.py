"""A server of Terraform's HTTP backend protocol (developer.hashicorp.com/terraform/language/backend/http): one state for each
path, LOCK and UNLOCK with the lock's JSON, 423 with the holder's. Terraform's own backend passes against it, see test_http.py."""
import base64
import http.server
import json
import threading
import urllib.parse


class StateServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, user=None):
        self.states, self.locks, self.seen, self.user = {}, {}, [], user
        self.turn, self.steals = threading.Lock(), False
        self.refuses = lambda method: None       # or the status
        self.reads = lambda state: None          # or (status, body, type), in place of the answer to GET
        super().__init__(('127.0.0.1', 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, name):
        return f'http://127.0.0.1:{self.server_address[1]}/{name}'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # a killed client


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, format, *args):
        pass

    def serve(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        parts = urllib.parse.urlsplit(self.path)
        wanted = 'Basic ' + base64.b64encode((self.server.user or '').encode()).decode()
        with self.server.turn:
            self.server.seen.append((self.command, len(body)))
            if self.server.user and self.headers.get('Authorization') != wanted:
                return self.reply(401)
            if status := self.server.refuses(self.command):
                return self.reply(status)
            return self.reply(*getattr(self, 'on_' + self.command.lower())(parts, body))

    def reply(self, status, content=b'', kind='application/json'):
        self.send_response_only(status)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def on_get(self, parts, body):
        state = self.server.states.get(parts.path)
        return self.server.reads(state) or ((200, state) if state else (404,))

    def on_post(self, parts, body):
        if self.server.steals:  # another run takes the lock
            self.server.steals = False
            self.server.locks[parts.path] = {'ID': 'another'}
        lock = self.server.locks.get(parts.path)
        if dict(urllib.parse.parse_qsl(parts.query)).get('ID') != (lock and lock['ID']):
            return 423, json.dumps(lock).encode()
        json.loads(body)
        self.server.states[parts.path] = body
        return (200,)

    def on_lock(self, parts, body):
        if parts.path in self.server.locks:
            return 423, json.dumps(self.server.locks[parts.path]).encode()
        self.server.locks[parts.path] = json.loads(body)
        return (200,)

    def on_unlock(self, parts, body):
        lock = self.server.locks.get(parts.path)
        given = json.loads(body or b'{}').get('ID')
        if lock and given not in (None, '', lock['ID']):
            return 423, json.dumps(lock).encode()
        self.server.locks.pop(parts.path, None)
        return (200,)

    do_GET = do_POST = do_LOCK = do_UNLOCK = serve

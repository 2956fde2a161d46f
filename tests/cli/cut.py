"""A proxy before a simulated cloud that kills its client at one of its requests: before the cloud gets it, or after
the cloud committed it and before the client gets the answer.

    with Cut(sim.url, lambda url: {'AWS_ENDPOINT_URL': url}, ('answer', 3)) as cut:
        killed = cut.run(home, 'apply', '--auto-approve') < 0"""
import http.client
import http.server
import re
import signal
import subprocess
import threading
import time
import urllib.parse


class Cut:
    """`environment`: of its URL, the variables that lead raygpu there. `at`: ('request', 3) or ('answer', 3); instead of
    the number, a pattern of the first such request's address or body; None only counts. `count`: how many requests came.
    `sign`: the signal that the client gets there; after another one than SIGKILL its request goes on."""

    def __init__(self, url, environment, at=None, sign=signal.SIGKILL):
        self.target = urllib.parse.urlsplit(url).netloc
        self.environment = environment
        self.at = at
        self.sign = sign
        self.client = None
        self.started = threading.Event()
        self.lock = threading.Lock()
        self.count = 0
        self.open = 0  # connections
        self.found = None  # the number of the first request of the pattern
        self.killed_at = None  # what began the request at which the client was killed

    def number(self, text):
        with self.lock:
            self.count += 1
            if self.found is None and self.at and isinstance(self.at[1], str) and re.search(self.at[1].encode(), text):
                self.found = self.count
            return self.count

    def reached(self, what, number, text):
        """True if the client was killed here."""
        if not self.at or self.at[0] != what or number not in (self.at[1], self.found):
            return False
        self.started.wait()
        self.client.send_signal(self.sign)
        if self.sign != signal.SIGKILL:
            return False
        self.client.wait()
        self.killed_at = text[:200].decode(errors='replace')
        return True

    def opened(self, change):
        with self.lock:
            self.open += change

    def wait_for_the_others(self):
        """Until the cloud has answered what the client sent beside the request at which it was killed."""
        while self.open:
            time.sleep(0.01)

    def __enter__(self):
        cut = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

            def forward(self):
                body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
                sent = f'{self.command} {self.path} '.encode() + body
                number = cut.number(sent)
                if cut.reached('request', number, sent):
                    self.close_connection = True
                    return
                upstream = http.client.HTTPConnection(cut.target, timeout=150)
                upstream.request(self.command, self.path, body, dict(self.headers))
                reply = upstream.getresponse()
                text = reply.read()
                upstream.close()
                if cut.reached('answer', number, sent):
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name in ('Content-Type', 'Metadata-Flavor'):
                    if reply.headers.get(name):
                        self.send_header(name, reply.headers[name])
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = forward

            def handle(self):
                cut.opened(1)
                try:
                    super().handle()
                except OSError:  # of a client that was killed
                    pass
                finally:
                    cut.opened(-1)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

        self.server = Server(('127.0.0.1', 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={'poll_interval': 0.02}, daemon=True).start()
        self.url = f'http://127.0.0.1:{self.server.server_address[1]}'
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def run(self, home, *arguments):
        """Starts a command through this proxy; its exit code, negative if it was killed."""
        env, home.env = home.env, {**home.env, **self.environment(self.url)}
        self.client = home.start(*arguments)
        home.env = env
        self.started.set()
        try:
            self.client.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            self.client.kill()
            raise
        return self.client.returncode

"""Counts round trips in a row: a proxy that answers nothing while its client still works.

    with Rounds(sim) as rounds:
        home = Home(tmp_path, sim.env(AWS_ENDPOINT_URL=rounds.url))
        rounds.run(home, 'plan', 'cluster.yaml')      # [['DescribeImages', ...], ...]: a list per round

Requests are held until every thread of the client sleeps and no more of them arrive; then all of them are
answered. So what the client sends concurrently is one round however busy the machine is, and the number of
rounds is the length of the longest chain of requests in which each waited for the previous answer."""
import http.client
import http.server
import re
import threading
import time
import urllib.parse
from pathlib import Path

CALM_S = 0.2    # how long nothing must happen: a busy machine is slow to start the thread of a request
STEP_S = 0.004


def is_asleep(pid):
    try:
        states = [re.search(r'\) (\w)', (task / 'stat').read_text()).group(1)
                  for task in Path(f'/proc/{pid}/task').iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return not set(states) & set('RD')


def name_of(headers, body):
    """GetParameter, DescribeImages."""
    target = headers.get('X-Amz-Target')
    return target.split('.')[-1] if target else urllib.parse.parse_qs(body.decode()).get('Action', ['?'])[0]


class Rounds:
    def __init__(self, sim):
        self.target = urllib.parse.urlsplit(sim.url).netloc
        self.changed = threading.Condition()
        self.held, self.released, self.rounds = [], set(), []
        self.moved = 0.0

    def hold(self, name):
        """Returns when the request's round begins."""
        with self.changed:
            ticket = object()
            self.held.append((ticket, name))
            self.moved = time.monotonic()
            self.changed.wait_for(lambda: ticket in self.released)
        return ticket

    def let_go(self, ticket):
        with self.changed:
            self.released.discard(ticket)
            self.moved = time.monotonic()

    def release(self, pid):
        """Starts a round when the client waits for nothing else."""
        with self.changed:
            if not self.held or self.released:
                return
            if not is_asleep(pid):
                self.moved = time.monotonic()
            if time.monotonic() - self.moved < CALM_S:
                return
            self.rounds.append(sorted(name for _, name in self.held))
            self.released.update(ticket for ticket, _ in self.held)
            self.held.clear()
            self.changed.notify_all()

    def run(self, home, *arguments, code=0):
        """Runs raygpu to its end, which must have this exit code; returns its rounds."""
        self.rounds = []
        process = home.start(*arguments)
        texts = []
        reader = threading.Thread(target=lambda: texts.extend(process.communicate()))
        reader.start()
        while reader.is_alive():
            self.release(process.pid)
            time.sleep(STEP_S)
        assert process.returncode == code, f'{arguments}: {process.returncode}\n' + '\n'.join(texts)
        return self.rounds

    def __enter__(self):
        rounds = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
                ticket = rounds.hold(name_of(self.headers, body))
                upstream = http.client.HTTPConnection(rounds.target, timeout=60)
                upstream.request('POST', self.path, body, dict(self.headers))
                reply = upstream.getresponse()
                text = reply.read()
                self.send_response(reply.status)
                self.send_header('Content-Type', reply.headers.get('Content-Type', 'text/xml'))
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                self.wfile.flush()
                rounds.let_go(ticket)
                upstream.close()

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

        self.server = Server(('127.0.0.1', 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f'http://127.0.0.1:{self.server.server_address[1]}'
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

"""A server that keeps its clients busy forever: lists without an end, waits of days."""
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from program import spec

SETS = {'DescribeInstances': 'reservationSet', 'DescribeNetworkInterfaces': 'networkInterfaceSet',
        'DescribeSecurityGroups': 'securityGroupInfo'}
SEEN = ('<item><instancesSet><item><instanceId>i-1</instanceId><instanceState><name>running</name></instanceState>'
        '<tagSet><item><key>raygpu:lineage</key><value>x</value></item></tagSet></item></instancesSet></item>')


class Endless:
    """EC2 with the same page token on every page of instances; each contains `item`."""

    def __init__(self, item='', busy=False):
        self.requests = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length'])).decode()
                action = dict(urllib.parse.parse_qsl(body))['Action']
                server.requests += 1
                text = '<Response/>'
                if action in SETS:
                    more = '<nextToken>t0</nextToken>' if action == 'DescribeInstances' else ''
                    text = (f'<{action}Response><{SETS[action]}>{item if more else ""}</{SETS[action]}>{more}'
                            f'</{action}Response>')
                self.send_response(503 if busy else 200)
                if busy:
                    self.send_header('Retry-After', '999999')
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

        self.server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.env = {'AWS_ENDPOINT_URL': f'http://127.0.0.1:{self.server.server_address[1]}'}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec())
    home.apply()
    return home


@pytest.mark.parametrize('item', ['', SEEN], ids=['empty pages', 'the same thing on each page'])
def test_a_list_that_never_ends_is_given_up(item, home):
    with Endless(item) as cloud:
        said = home.run('plan', '--no-settle', env=cloud.env, code=1)
        assert 'the same page token was returned twice, so the list would never end' in ' '.join(said.err.split())
        assert cloud.requests < 20
    assert 'No changes.' in home.run('plan', '--no-settle').out


def test_a_wait_of_days_is_refused_at_once(home):
    with Endless(busy=True) as cloud:
        said = home.run('plan', '--no-settle', env=cloud.env, code=1)
        assert 'asks to wait 999999 s' in ' '.join(said.err.split()) and 'http.timeout' in said.err

"""The head repeats on its console what its Ray sees of the cluster: the scripts run for real, with a dashboard
that answers in the form of Ray's `GET /nodes?view=summary`."""
import base64
import hashlib
import http.server
import json
import sys
import threading
import time

import pytest

from test_boot import GOLDEN, ROOT, Node, fit, option

SCRIPT = ROOT / 'src/boot/report-nodes.py'


def ray_node(instance, gpus=0, driver=None, state='ALIVE'):
    """As Ray writes it: map keys in camel case, resources only if there are any; a dead node has little left."""
    labels = {'raygpu.io/driver': driver} if driver else {}
    return {'hostname': 'ip-10-0-1-1', 'ip': '10.0.1.1', 'gpus': [], 'raylet': {
        'nodeId': '11', 'instanceId': instance, 'state': state, 'labels': labels,
        'resourcesTotal': {'CPU': 8.0, **({'GPU': float(gpus)} if gpus else {})}}}


class Dashboard(http.server.BaseHTTPRequestHandler):
    nodes = []
    demand = []  # [resources, how many]
    groups = []
    asked = 0  # times for its nodes, by someone with any token

    def do_GET(self):
        type(self).asked += self.path.startswith('/nodes')
        answers = {
            '/nodes?view=summary': {'result': True, 'data': {'summary': type(self).nodes}},
            '/api/version': {'version': '4', 'ray_version': '2.56.1'},
            # as the monitor of Ray 2.56 without --autoscaling-config writes it; null before its first report
            '/api/cluster_status': {'result': True, 'data': {'autoscalingStatus': None, 'clusterStatus': {
                'loadMetricsReport': {'resourceDemand': type(self).demand, 'pgDemand': type(self).groups}} if type(self).demand else None}},
        }
        good = self.headers['Authorization'] == 'Bearer <token>' and self.headers['User-Agent'] == 'raygpu'
        self.send_response(200 if good else 401)
        self.end_headers()
        if good:
            self.wfile.write(json.dumps(answers[self.path]).encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def dashboard():
    class One(Dashboard):
        pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), One)
    threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.01}, daemon=True).start()
    One.url = f'http://127.0.0.1:{server.server_port}'
    yield One
    server.shutdown()
    server.server_close()


class Head(Node):
    """Its container runs until the file `stop` exists."""

    def __init__(self, folder, dashboard):
        super().__init__(folder, fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
        (folder / 'healthz').write_text('success')
        (folder / 'ray').write_text(f'until [ -e {folder}/stop ]; do /bin/sleep 0.02; done')
        self.program('sleep', 'exec /bin/sleep 0.02')
        self.program('python3', f'exec {sys.executable} -I -S "$@"')
        docker = (self.bin / 'docker').read_text()
        (self.bin / 'docker').write_text(docker.replace('case "$1" in', f'''case "$1" in
            exec) [ "$*" = "exec --interactive ray python3 -" ] || exit 2
                  sed 's|http://127.0.0.1:8265|{dashboard.url}|' |
                  RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH={folder}/run/raygpu/token python3 - ; exit ;;''', 1))

    def run(self, *steps):
        """Starts it; each step is called in turn when its condition is true."""
        thread = threading.Thread(target=self.start)
        thread.start()
        try:
            for ready, then in steps:
                deadline = time.monotonic() + 120
                while not ready():
                    assert time.monotonic() < deadline, self.console.read_text()
                    time.sleep(0.02)
                then()
        finally:
            (self.folder / 'stop').touch()
            thread.join()

    def rosters(self):
        return [said for state, said in self.reports() if state == 'nodes'] if self.console.exists() else []


def asked_more(dashboard, n):
    """True once the dashboard was asked n times more than at the first call."""
    first = []

    def enough():
        first.append(dashboard.asked)
        return dashboard.asked >= first[0] + n
    return enough


def key(instance, width=6):
    return base64.b64encode(hashlib.sha256(instance.encode()).digest())[:width].decode()


def test_the_head_reports_members_when_they_change(tmp_path, dashboard):
    dashboard.nodes = [ray_node('i-head')]
    head = Head(tmp_path / 'n', dashboard)

    def join():
        dashboard.nodes = [ray_node('i-head'), ray_node('i-a', 8, '550.90.07'), ray_node('i-b', 8, '550.90.07'),
                           ray_node('i-dead', 8, '550.90.07', 'DEAD'), ray_node('', 8)]

    head.run((head.rosters, join), (lambda: len(head.rosters()) >= 3, lambda: None), (asked_more(dashboard, 4), lambda: None))
    first, *second = head.rosters()
    assert first['ids'] == key('i-head') and (first['part'], first['parts'], first['width']) == ('1', '1', '6')
    assert [(said['gpus'], said['driver'], said['ids']) for said in second] == [
        ('0', '', key('i-head')), ('8', '550.90.07', ''.join(sorted((key('i-a'), key('i-b')))))]
    assert {said['parts'] for said in second} == {'2'} and second[0]['at'] == second[1]['at']


def test_what_ray_waits_for_is_reported(tmp_path, dashboard):
    dashboard.nodes = [ray_node('i-head')]
    dashboard.demand = [[{'CPU': 1.0, 'GPU': 8.0, 'memory': 2e9}, 3], [{'CPU': 0.5, 'a name, with "all"': 2.0}, 40]]
    dashboard.groups = [[{'strategy': 'PACK', 'bundles': [[{'GPU': 1.0}, 4]]}, 2]]
    head = Head(tmp_path / 'n', dashboard)

    def demands():
        return [pairs for state, pairs in head.reports() if state == 'demand'] if head.console.exists() else []
    head.run((demands, lambda: None))
    said, *_ = demands()
    assert (said['requests'], said['groups'], said['shapes']) == ('43', '2', '40xCPU:0.5+a_name__with__all_:2,3xCPU:1+GPU:8+memory:2000000000')
    assert head.rosters()[0]['ray'] == '2.56.1'


def test_a_dashboard_that_does_not_answer_is_waited_for(tmp_path, dashboard):
    head = Head(tmp_path / 'n', dashboard)
    (head.folder / 'etc/raygpu/token').write_text('another')

    def joined():
        return any(state == 'joined' for state, _ in head.reports()) if head.console.exists() else False

    head.run((joined, lambda: None), (asked_more(dashboard, 2), lambda: None))
    assert not head.rosters()
    assert head.reports()[-1][0] == 'failed'


def script_lines(nodes, tmp_path):
    """What report-nodes.py prints of these nodes."""
    body = SCRIPT.read_text().replace("ask('/nodes?view=summary')['data']['summary']", 'NODES').replace(
        'version()) + demand()', "' ray=2.56.1')")
    printed = []
    exec(compile(body, SCRIPT, 'exec'), {'NODES': nodes, 'print': printed.append})
    lines = printed[0].split('\n')
    assert all(line.startswith('nodes ') for line in lines)
    return [line[6:] for line in lines]


@pytest.mark.parametrize('n,width,limit', [(1000, 6, 8192), (2500, 6, 19000), (10000, 4, 50000)])
def test_a_large_cluster_stays_small(n, width, limit, tmp_path):
    nodes = [ray_node(f'i-{i:017x}', 8 if i % 3 else 4, '550.90.07') for i in range(n)]
    lines = script_lines(nodes, tmp_path)
    assert sum(len(f'raygpu: v1 nodes boot=01234567 step=ray at=1790000000 {line} end\n') for line in lines) < limit
    assert all(len(dict(w.split('=', 1) for w in line.split())['ids']) <= 1000 for line in lines)
    assert ''.join(dict(w.split('=', 1) for w in line.split())['ids'] for line in lines).count(key('i-' + '0' * 17, width)) >= 1
    assert [line.split()[0] for line in lines] == [f'part={i}' for i in range(1, len(lines) + 1)]


def test_who_has_no_instance_id_is_named_by_address(tmp_path):
    nodes = [ray_node('i-head', 0)] + [ray_node('', 0) for _ in range(3)]
    for i, node in enumerate(nodes):
        node['raylet']['nodeManagerAddress'] = f'10.0.0.{i}'
    nodes[3]['raylet']['state'] = 'DEAD'
    assert script_lines(nodes, tmp_path) == [f'part=1 parts=1 width=6 gpus=0 driver= ids={key("i-head")} ray=2.56.1 without_id=2 others=10.0.0.1,10.0.0.2']


def test_the_driver_is_a_label_of_the_node(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][1], gpus=8)
    assert node.start()[0] == 0
    labels = option(node.docker_args(), '--labels').split(',')
    assert 'raygpu.io/driver=550.90.07' in labels and 'ray.io/accelerator-type=A100' in labels

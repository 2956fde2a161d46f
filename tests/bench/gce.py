"""Compute Engine: plan with a full refresh where nothing changed, against recorded answers of raygpu-sim and curl fetching
the same ones; and apply of 300 nodes.

The cluster is really applied on raygpu-sim. A first plan records the answers, with the members that `fields=` names or,
as if the parameter did not exist, with all. Each run must say "No changes." and request each recorded answer once."""
import http.client
import http.server
import os
import re
import shutil
import tempfile
import threading
import urllib.parse

from gce_server import PROJECT, Gce
from measure import median, run, seconds, table
from program import Home, binary

ZONES = ('us-central1-a', 'us-central1-b', 'us-central1-c', 'us-central1-f')
HEAD = ['nodes', '`fields=`', 'MB', 'raygpu wall s', 'raygpu CPU s', 'peak MiB', 'calls', 'curl wall s', 'curl CPU s',
        'wall ratio']
APPLY = ['nodes', 'latency ms', 'wall s', 'CPU s', 'peak MiB', 'calls', 'changing calls']


class Answers:
    """A server of answers from memory; what it does not have it gets from `upstream` and keeps."""

    def __init__(self, gce, fields):
        self.upstream = urllib.parse.urlsplit(gce.url).netloc
        self.fields = fields
        self.kept = {}
        self.requests = 0

    def fetch(self, target, headers):
        if not self.fields:
            target = re.sub(r'[?&]fields=[^&]*', lambda found: '?' if found[0][0] == '?' else '', target)
        connection = http.client.HTTPConnection(self.upstream, timeout=150)
        connection.request('GET', target, headers=headers)
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        if reply.status != 200:
            raise RuntimeError(f'{target}: {reply.status}')
        return reply.headers.get('Content-Type'), body

    def __enter__(self):
        answers = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            disable_nagle_algorithm = True

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass

            def do_GET(self):
                answers.requests += 1
                if self.path not in answers.kept:
                    answers.kept[self.path] = answers.fetch(self.path, dict(self.headers))
                kind, body = answers.kept[self.path]
                self.send_response(200)
                self.send_header('Metadata-Flavor', 'Google')
                self.send_header('Content-Type', kind)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

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

    def curl_config(self, folder):
        path = os.path.join(folder, 'curl.conf')
        with open(path, 'w', encoding='utf-8') as f:
            f.write('next\n'.join(f'url = "{self.url}{target}"\noutput = "/dev/null"\nsilent\nfail\ngloboff\n'
                                  for target in self.kept))
        return path


def environment(url):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('GOOGLE_', 'CLOUDSDK_', 'GCE_', 'AWS_'))}
    return {**env, 'GCE_METADATA_HOST': url.split('//')[1], 'GOOGLE_CLOUD_PROJECT': PROJECT,
            'CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE': url + '/compute/v1/'}


def new_home(folder, gce, nodes, pools):
    """A spec for a head and pools with `nodes` instances in all, in a subnetwork that has addresses for them."""
    gce.done(gce.insert('regions/us-central1/subnetworks', {
        'name': 'wide', 'network': f'projects/{PROJECT}/global/networks/default', 'ipCidrRange': '10.0.0.0/16'}))
    home = Home(folder, environment(gce.url))
    share, rest = divmod(nodes - 1, pools)
    lines = ['cluster: research', 'provider: {name: gcp, region: us-central1, subnetwork: wide}',
             'ray: {version: 2.56.1, python: "3.11", image: "rayproject/ray:2.56.1-py311-cu121"}',
             'head: {instance_type: n2-standard-8, public_ip: true}', 'pools:']
    lines += [f'  pool{i}: {{accelerators: "T4:1", nodes: {share + (i < rest)}, zones: [{ZONES[i % len(ZONES)]}], public_ip: true}}'
              for i in range(pools)]
    home.write('cluster.yaml', '\n'.join(lines) + '\n')
    return home


def apply(home):
    return run([binary(), 'apply', 'cluster.yaml', '--auto-approve', '--no-wait'], cwd=home.folder, env=home.env)


def check(used, calls, expected):
    if used.code or 'No changes.' not in used.out or calls != expected:
        raise RuntimeError(f'plan ended with {used.code} after {calls} calls, not {expected}:\n{used.out[-3000:]}')


def refresh(gce, home, nodes, fields, repeats):
    with Answers(gce, fields) as answers:
        home.env.update(environment(answers.url))
        plan = [binary(), 'plan', 'cluster.yaml']
        ours, theirs = [run(plan, cwd=home.folder, env=home.env)], []
        expected = len(answers.kept)
        check(ours[0], answers.requests, expected)
        curl = ['curl', '-K', answers.curl_config(home.folder)]
        ours.clear()
        for _ in range(repeats):
            answers.requests = 0
            ours.append(run(plan, cwd=home.folder, env=home.env))
            check(ours[-1], answers.requests, expected)
            theirs.append(run(curl, cwd=home.folder))
            if theirs[-1].code or answers.requests != 2 * expected:
                raise RuntimeError(f'curl ended with {theirs[-1].code}')
        size = sum(len(body) for _, body in answers.kept.values())
        wall, curl_wall = median(ours, 'wall_s'), median(theirs, 'wall_s')
        return [f'{nodes:,}', 'yes' if fields else 'no', f'{size / 1e6:.1f}', seconds(wall), seconds(median(ours, 'cpu_s')),
                f'{median(ours, "rss_mib"):.0f}', expected, seconds(curl_wall), seconds(median(theirs, 'cpu_s')),
                f'{wall / curl_wall:.1f}']


def refresh_rows(nodes, repeats):
    folder = tempfile.mkdtemp(prefix='raygpu-bench-')
    try:
        with Gce('--boot-ms', '0') as gce:
            home = new_home(folder, gce, nodes, 10)
            used = apply(home)
            if used.code:
                raise RuntimeError(used.out[-3000:])
            return [refresh(gce, home, nodes, fields, repeats) for fields in (True, False)]
    finally:
        shutil.rmtree(folder)


def apply_row(latency_ms, repeats):
    runs = []
    for _ in range(repeats):
        folder = tempfile.mkdtemp(prefix='raygpu-bench-')
        try:
            with Gce('--boot-ms', '0') as gce:
                home = new_home(folder, gce, 301, 3)
                gce.knobs(latency_ms=latency_ms)
                gce.counters_reset()
                runs.append(apply(home))
                counters = gce.counters()
                if runs[-1].code or len(gce.world()['instances']) != 301:
                    raise RuntimeError(runs[-1].out[-3000:])
        finally:
            shutil.rmtree(folder)
    return ['head and 300', latency_ms, seconds(median(runs, 'wall_s')), seconds(median(runs, 'cpu_s')),
            f'{median(runs, "rss_mib"):.0f}', counters['requests'], counters['mutating']]


def section(counts, repeats):
    print('### Compute Engine: no-op plan, recorded answers\n')
    print(table(HEAD, [row for nodes in counts for row in refresh_rows(nodes, repeats)]), '\n', flush=True)
    print('### Compute Engine: apply on raygpu-sim\n')
    print(table(APPLY, [apply_row(latency, min(repeats, 3)) for latency in (0, 200)]), '\n', flush=True)

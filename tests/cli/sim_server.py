"""A raygpu-sim for a test.

    from sim_server import Sim

    with Sim('--consistency-ms', '300') as sim:       # any command-line options
        env = sim.env()                               # AWS_ENDPOINT_URL, keys and region to run with
        sim.ec2('DescribeInstances')                  # one signed call: (status, xml.etree root)
        sim.knobs(latency_ms=20)                      # change behaviour; without arguments: read it
        sim.fault(action='RunInstances', when='after', status=500, code='InternalError')
        sim.counters()['mutating']                    # requests since the start or counters_reset()
        sim.world('us-east-1')['instances']           # the current state, whatever the consistency delay
        sim.live_instances()                          # those that are neither terminated nor terminating

The server listens on a free loopback port, `sim.url`. The program is $RAYGPU_SIM, or
cmd/raygpu-sim/raygpu-sim in the build directory $RAYGPU_BUILD. World documents have EC2's own member names
(instanceId, instanceState.name, tagSet, ...); members that begin with "_" are the simulator's."""
import base64
import hashlib
import hmac
import json
import math
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree

from inherited import inherited

REGION = 'us-east-1'
PATIENCE_S = 120  # for what comes soon: it matters only where it never comes
# The pair that raygpu-sim knows from the start.
KEY = 'AKIDEXAMPLE'
SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
# Nodes without a public address reach their image; the simulator's own default VPC has an internet gateway only.
NETWORK = {'egress': {'*': 'nat_gateway'}}


def sim_binary():
    """The program under test; the tests must not pass because it was not found."""
    path = os.environ.get('RAYGPU_SIM')
    if not path and os.environ.get('RAYGPU_BUILD'):
        path = os.path.join(os.environ['RAYGPU_BUILD'], 'cmd/raygpu-sim/raygpu-sim')
    if not path:
        raise RuntimeError('set RAYGPU_SIM or RAYGPU_BUILD to say where raygpu-sim is')
    return path


def plain(root):
    """Drops the XML namespace, so that find('instancesSet/item') works."""
    for element in root.iter():
        element.tag = element.tag.split('}', 1)[-1]
    return root


class Sim:
    """One server process; stop() or leaving the `with` block ends it."""

    def __init__(self, *options, world=None, region=REGION, port=0, scheme='http'):
        self.region = region
        self.options = list(map(str, options))
        if '--knobs' not in self.options:
            self.options += ['--knobs', '{}']
        at = self.options.index('--knobs') + 1
        self.options[at] = json.dumps({**NETWORK, **json.loads(self.options[at])})
        self.folder = tempfile.mkdtemp(prefix='raygpu-sim-')
        self.world_path = world
        self.port = port
        self.scheme = scheme
        self.process = None
        self.start()

    def start(self):
        port_file = os.path.join(self.folder, 'port')
        if os.path.exists(port_file):
            os.unlink(port_file)
        command = [sim_binary(), '--port', str(self.port), '--port-file', port_file]
        if self.world_path:
            command += ['--world', self.world_path]
        self.stderr = open(os.path.join(self.folder, 'stderr'), 'ab')
        self.process = subprocess.Popen(command + self.options, stderr=self.stderr,
                                        stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while not os.path.exists(port_file):
            if self.process.poll() is not None:
                raise RuntimeError(f'raygpu-sim ended with {self.process.returncode}: {self.log()}')
            if time.monotonic() > deadline:
                raise RuntimeError('raygpu-sim does not come up: ' + self.log())
            time.sleep(0.005)
        with open(port_file) as f:
            self.port = int(f.read())
        self.url = f'{self.scheme}://127.0.0.1:{self.port}'

    def log(self):
        with open(os.path.join(self.folder, 'stderr'), errors='replace') as f:
            return f.read()

    def stop(self):
        """Stops the server cleanly and returns its exit code."""
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.process = None
        self.stderr.close()
        return code

    def restart(self):
        """Stops and starts again on the same port; keeps the world if it has a file."""
        self.stop()
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        code = self.stop()
        log = self.log()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert 'Sanitizer' not in log and 'runtime error' not in log, log
        assert code in (0, None), f'raygpu-sim ended with {code}: {log}'

    def env(self, **more):
        """Environment for a client."""
        env = inherited(AWS_ENDPOINT_URL=self.url, AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET,
                   AWS_DEFAULT_REGION=self.region, AWS_REGION=self.region,
                   AWS_EC2_METADATA_DISABLED='true', AWS_CONFIG_FILE='/dev/null',
                   AWS_SHARED_CREDENTIALS_FILE='/dev/null')
        env.update(more)
        return env

    # The EC2 API

    def sign(self, body, method='POST', path='/', *, service='ec2', region=None, key=KEY, secret=SECRET,
             token=None, stamp=None, headers=None):
        """The headers of a signed request: Signature Version 4, independent of the server's own code."""
        stamp = stamp or time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())
        scope = f'{stamp[:8]}/{region or self.region}/{service}/aws4_request'
        out = {'Host': f'127.0.0.1:{self.port}', 'X-Amz-Date': stamp, **(headers or {})}
        if token:
            out['X-Amz-Security-Token'] = token
        lower = {name.lower(): ' '.join(value.split()) for name, value in out.items()}
        names = ';'.join(sorted(lower))
        place, _, query = path.partition('?')
        pairs = sorted((urllib.parse.quote(k, '~'), urllib.parse.quote(v, '~'))
                       for k, v in urllib.parse.parse_qsl(query, keep_blank_values=True))
        canonical = '\n'.join([method, urllib.parse.quote(place, '/~'), '&'.join('='.join(p) for p in pairs),
                               *(f'{n}:{lower[n]}' for n in sorted(lower)), '', names,
                               hashlib.sha256(body or b'').hexdigest()])
        text = '\n'.join(['AWS4-HMAC-SHA256', stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        mac = ('AWS4' + secret).encode()
        for part in [*scope.split('/'), text]:
            mac = hmac.digest(mac, part.encode(), 'sha256')
        out['Authorization'] = (f'AWS4-HMAC-SHA256 Credential={key}/{scope}, SignedHeaders={names}, '
                                f'Signature={mac.hex()}')
        return out

    def raw(self, body, headers=None, method='POST', path='/', timeout=180, **signing):
        """One request as given, signed unless `headers` are given; (status, headers, bytes)."""
        if isinstance(body, str):
            body = body.encode()
        if headers is None:
            headers = self.sign(body, method, path, **signing)
        request = urllib.request.Request(self.url + path, data=body, method=method)
        for name, value in headers.items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:
                return reply.status, reply.headers, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def ec2(self, action, params=None, *, version='2016-11-15', service='ec2', region=None, **more):
        """One call: params are wire names ("InstanceId.1"). (status, XML root without namespace)."""
        form = {'Action': action, 'Version': version, **(params or {}), **more}
        status, _, body = self.raw(urllib.parse.urlencode(form), service=service, region=region)
        return status, plain(ElementTree.fromstring(body))

    def ok(self, action, params=None, **more):
        status, root = self.ec2(action, params, **more)
        assert status == 200, ElementTree.tostring(root).decode()
        return root

    def error(self, action, params=None, **more):
        """The (status, code) of a call that must fail."""
        status, root = self.ec2(action, params, **more)
        assert status != 200, 'succeeded: ' + ElementTree.tostring(root).decode()
        return status, root.findtext('.//Code')

    # The control endpoint

    def control(self, method, path, value=None):
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(self.url + '/_sim/' + path, data=body, method=method)
        if body is not None:
            request.add_header('Content-Type', 'application/json')
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.loads(reply.read() or b'null')
        except urllib.error.HTTPError as error:
            raise RuntimeError(f'{method} {path}: {error.code} {error.read().decode()}') from None

    def counters(self):
        """{requests, reading, mutating, dry_run, errors, refused, actions: {NAME: {...}}}"""
        return self.control('GET', 'counters')

    def counters_reset(self):
        self.control('POST', 'counters/reset')

    def knobs(self, **values):
        return self.control('PUT', 'knobs', values) if values else self.control('GET', 'knobs')

    def fault(self, **rule):
        """Adds one fault; see raygpu-sim(1) for its members. Returns its id."""
        return self.control('POST', 'faults', rule)

    def faults_clear(self):
        self.control('DELETE', 'faults')

    def reclaim(self, **rule):
        """Reclaims spot instances: instance_ids, type, zone, count, notice_ms. Returns ids."""
        return self.control('POST', 'reclaim', rule)['instance_ids']

    def skip_to(self, when):
        """Lets the simulated time pass until then, a datetime with a zone; that of clients does not."""
        seconds = math.ceil(when.timestamp() - self.control('POST', 'skip', {'seconds': 0})['now_s'])
        self.control('POST', 'skip', {'seconds': max(0, seconds)})

    def settle(self):
        """Until no instance is on its way from one state to another."""
        deadline = time.monotonic() + PATIENCE_S
        while any(one['instanceState']['name'] in ('pending', 'stopping', 'shutting-down') for region in self.world()['regions'].values()
                  for one in region['instances']):
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def skip(self, seconds):
        """Lets the simulated time pass; that of clients does not."""
        self.control('POST', 'skip', {'seconds': seconds})

    def wait_for_change(self, process):
        """Until the process has sent a request that changes something: it has its lock, and is in the middle of its work."""
        while not self.counters()['mutating']:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)

    def reset(self):
        """An empty world, the knobs of the command line, no faults, counters at 0."""
        self.control('POST', 'reset')

    def world(self, region=None):
        """The whole world file's content, or one region's tables."""
        world = self.control('GET', 'world')
        if region is None:
            return world
        return world['regions'].get(region, {
            'instances': [], 'network_interfaces': [], 'volumes': [], 'security_groups': []})

    def live_instances(self, region=None):
        return [i for i in self.world(region or self.region)['instances']
                if i['instanceState']['name'] not in ('shutting-down', 'terminated')]


def tags_of(doc):
    """{key: value} of a world document."""
    return {tag['key']: tag['value'] for tag in doc.get('tagSet', [])}


def show_console(sim, edit):
    """From now on each console is the head's, with the text that `edit` makes of it."""
    head, = (one for one in sim.live_instances() if tags_of(one)['raygpu:pool'] == 'head')
    reply = sim.ok('GetConsoleOutput', {'InstanceId': head['instanceId'], 'Latest': 'true'})
    output = reply.find('{*}output')
    output.text = base64.b64encode(edit(base64.b64decode(output.text).decode()).encode()).decode()
    sim.fault(action='GetConsoleOutput', status=200, body=ElementTree.tostring(reply).decode(), count=0)

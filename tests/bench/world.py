"""A cluster of any size as raygpu's state records it, and the cloud's matching answers.

Ten pools are really applied with one node each against raygpu-sim; bench-fill copies those records up to the
requested size; the pages are the simulator's own records with each node's id, addresses and volume filled in.
This is verified: refresh.py requires "No changes." from a plan that reads all of them."""
import os
import re
import sqlite3
import subprocess
import time
import urllib.request

from program import Home, spec
from sim_server import Sim

PAGE = 1000  # EC2's maximum
BATCH = 1000
SHAPES = ('A100:8', 'V100-32GB:8', 'T4:1', 'T4:4', 'A10G:4')
POOLS = [(f'pool{i}', SHAPES[i % len(SHAPES)]) for i in range(10)]
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def built(name):
    return os.path.join(os.environ['RAYGPU_BUILD'], name)


def sizes(nodes):
    """{pool: workers} of a cluster with this many nodes, including the head."""
    share, rest = divmod(nodes - 1, len(POOLS))
    return {name: share + (i < rest) for i, (name, _) in enumerate(POOLS)}


def write_spec(home, workers):
    home.write('cluster.yaml', spec(pools={name: (shape, workers[name]) for name, shape in POOLS}))


def indent(xml):
    """EC2 indents its documents by four spaces per level; the simulator does not."""
    out, depth, after_text = [], 0, False
    for tag, text in re.findall(r'(<[^>]*>)([^<]*)', xml):
        closing = tag.startswith('</')
        depth -= closing
        out.append(tag if closing and after_text else '\n' + '    ' * depth + tag if out else tag)
        text = text.strip('\n')
        out.append(text)
        depth += not closing and not tag.endswith(('/>', '?>'))
        after_text = bool(text) or not closing and not tag.endswith(('/>', '?>'))
    return ''.join(out)


class World:
    """A folder with a spec, a state and the matching answers of a cloud."""

    def __init__(self, folder, nodes, indented=False):
        self.folder = str(folder)
        self.nodes = nodes
        self.indented = indented
        self.pages = os.path.join(self.folder, 'pages')
        os.makedirs(self.pages)
        self.bytes = 0
        self.calls = 0
        self.forms = []
        self.answers = {}
        self.apply_small()
        self.fill()
        self.write_answers()

    def apply_small(self):
        with Sim('--boot-ms', '0') as sim:
            self.home = Home(self.folder, sim.env())
            write_spec(self.home, {name: 1 for name, _ in POOLS})
            self.home.apply()
            for action, kind in (('DescribeInstances', 'aws.instance'), ('DescribeSecurityGroups', 'aws.security_group'),
                                 ('DescribeNetworkInterfaces', 'aws.network_interface')):
                form = f'Action={action}&Filter.1.Name=tag%3Araygpu%3Akind&Filter.1.Value.1={kind}&Version=2016-11-15'
                self.answers[action] = sim.raw(form)[2].decode()
            form = 'Action=GetCallerIdentity&Version=2011-06-15'
            self.answers['GetCallerIdentity'] = sim.raw(form, service='sts')[2].decode()

    def fill(self):
        workers = sizes(self.nodes)
        write_spec(self.home, workers)
        subprocess.run([built('tests/bench/bench-fill'), self.home.state, 'research',
                        *(f'{name}={count}' for name, count in workers.items())], check=True, timeout=600)

    # The answers

    def put(self, action, number, text):
        if self.indented:
            text = indent(text)
        with open(os.path.join(self.pages, f'{action}.{number}'), 'w', encoding='utf-8') as f:
            f.write(text)
        self.bytes += len(text)
        self.calls += 1
        self.forms.append(f'Action={action}&Version=2016-11-15' + (f'&NextToken=page-{number}' if number else ''))

    def write_answers(self):
        interfaces = self.answers['DescribeNetworkInterfaces']
        self.put('GetCallerIdentity', 0, self.answers['GetCallerIdentity'])
        self.put('DescribeSecurityGroups', 0, self.answers['DescribeSecurityGroups'])
        self.put('DescribeNetworkInterfaces', 0, interfaces)
        records = self.records()
        for number, start in enumerate(range(0, len(records), PAGE)):
            last = start + PAGE >= len(records)
            self.put('DescribeInstances', number, self.page(records[start:start + PAGE], number, last))

    def page(self, records, number, last):
        """records: (reservation key, text of the <item>); adjacent ones of one launch share a reservation."""
        out = [HEAD, '<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
               f'<requestId>{number:08x}-0000-4000-8000-000000000000</requestId><reservationSet>']
        open_key = None
        for key, text in records:
            if key != open_key:
                out.append('</instancesSet></item>' if open_key else '')
                out.append(f'<item><reservationId>r-{abs(hash(key)) % 16**17:017x}</reservationId>'
                           '<ownerId>123456789012</ownerId><groupSet/><instancesSet>')
                open_key = key
            out.append(text)
        out.append('</instancesSet></item></reservationSet>')
        out.append('' if last else f'<nextToken>page-{number + 1}</nextToken>')
        return ''.join(out) + '</DescribeInstancesResponse>'

    def records(self):
        """Every recorded instance as EC2 would report it, in the order of launches."""
        templates = self.templates()
        with sqlite3.connect(self.home.state) as state:
            rows = state.execute("SELECT name, coalesce(idx, -1), cloud_id, outputs ->> 'private_ip', "
                                 "outputs ->> 'network_interface', outputs ->> 'root_volume_id' FROM resources "
                                 "WHERE kind = 'aws.instance' ORDER BY rowid").fetchall()
        out = []
        for name, index, cloud_id, address, interface, volume in rows:
            batch = 0 if index < 1 else 1 + (index - 1) // BATCH
            first = 0 if index < 1 else 1 + (batch - 1) * BATCH
            last = min(first + BATCH, sizes(self.nodes).get(name, 1)) - 1 if first else 0
            # a launch's nodes have its index in their marks, and their position in it
            out.append(((name, batch), templates[name].format(
                id=cloud_id, ip=address, host=address.replace('.', '-'), eni=interface, vol=volume,
                place=index - first if first else 0, indexes=f'{first}-{last}' if last > first else first)))
        return out

    def templates(self):
        """{name: the record of its one instance with {id} {ip} {host} {eni} {vol} {place} {indexes}}"""
        out = {}
        for text in re.findall(r'<item><instanceId>.*?</item>(?=</instancesSet>)', self.answers['DescribeInstances']):
            def value(pattern, text=text):
                return re.search(pattern, text).group(1)
            name = value(r'<key>raygpu:name</key><value>([^<]*)<')
            address = value(r'<privateIpAddress>([^<]*)<')
            for old, new in ((value(r'<instanceId>([^<]*)<'), '{id}'), (address, '{ip}'),
                             (address.replace('.', '-'), '{host}'), (value(r'<volumeId>([^<]*)<'), '{vol}'),
                             (value(r'<networkInterfaceId>([^<]*)<'), '{eni}'),
                             ('<amiLaunchIndex>0<', '<amiLaunchIndex>{place}<'),
                             ('<key>raygpu:indexes</key><value>0<', '<key>raygpu:indexes</key><value>{indexes}<')):
                text = text.replace(old, new)
            out[name] = text
        return out


class Pages:
    """The static server over a world's answers."""

    def __init__(self, world, latency_ms=0):
        port_file = os.path.join(world.folder, 'port')
        if os.path.exists(port_file):
            os.unlink(port_file)
        self.process = subprocess.Popen([built('tests/bench/bench-pages'), world.pages, port_file, str(latency_ms)],
                                        stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while not os.path.exists(port_file):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError('bench-pages does not come up')
            time.sleep(0.01)
        with open(port_file, encoding='ascii') as f:
            self.url = f'http://127.0.0.1:{f.read()}'
        self.world = world

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=20)

    def env(self):
        return {**self.world.home.env, 'AWS_ENDPOINT_URL': self.url}

    def count(self):
        """Requests since the last call of this."""
        with urllib.request.urlopen(self.url + '/count', timeout=20) as reply:
            return int(reply.read())

    def curl_config(self):
        """A file for `curl -K`: the same forms in sequence over one connection."""
        path = os.path.join(self.world.folder, 'curl.conf')
        with open(path, 'w', encoding='utf-8') as f:
            f.write('next\n'.join(f'url = "{self.url}"\ndata = "{form}"\noutput = "/dev/null"\nsilent\nfail\n'
                                  for form in self.world.forms))
        return path

"""A cluster that `raygpu apply` made on a simulated EC2, whose machines are hosts here: the user data of each, under a real Docker Engine
and a real Ray. Nodes join with what the spec promises, the watcher, the token and the drain do what they say, and raygpu reads their real
consoles. Only GPUs are not real (nvidia_smi.py)."""
import base64
import gzip
import hashlib
import json
import os
import sys
import textwrap
from xml.etree import ElementTree

import pytest
import yaml
from conftest import HERE, environment
from hosts import Host, Network, wait_for
from ports import free_port
from program import Home
from ray_versions import OLDEST
from sim_server import Sim
from test_boot import fit

SPEC = """
cluster: real
provider: {name: aws, region: us-east-1, instance_profile: ray}
ray: {version: @, image: "rayproject/ray:@-py311"}
head:
  instance_type: m5.large
  resources: {control: 2}
pools:
  train:
    accelerators: A100-40GB:8
    nodes: 1
    market: spot
    labels: {team: vision}
    resources: {slots: 3}
    env: {GREETING: "two words, $HOME and 'quotes'"}
    setup_commands: ["echo set-up >/tmp/set-up"]
    initialization_commands: ["echo initialized >/tmp/initialized"]
"""
# the cloud's own part: no metadata service here; a notice is a file
CLOUD = """
read_identity() { instance_id=$(cat /var/lib/cloud/data/instance-id); }
read_notice() { notice=$(cat /tmp/notice 2>/dev/null) || notice=; }
"""


def user_data(sim, instance):
    root = sim.ok('DescribeInstanceAttribute', InstanceId=instance['instanceId'], Attribute='userData')
    return yaml.safe_load(gzip.decompress(base64.b64decode(root.findtext('userData/value'))))


class Cluster:
    """head, worker: a Host, with `instance` of the simulated EC2 and `node`, as `fit` sees it."""

    def __init__(self, image, tmp):
        self.version, self.archive = image
        self.tmp, self.hosts, self.apply = tmp, [], None
        self.sim = Sim('--boot-ms', '0', '--shutdown-ms', '0')
        self.home = Home(tmp, self.sim.env())
        self.network = Network(f'rgn{os.getpid()}', '172.31.255.254/16')

    def make(self):
        self.home.write('cluster.yaml', SPEC.replace('@', self.version))
        self.sim.knobs(join_ms=3600000)  # what the simulated nodes would say is not asked
        self.apply = self.home.start('apply', 'cluster.yaml', '--auto-approve')
        wait_for(lambda: len(self.sim.live_instances()) == 2, 300, 'raygpu makes no instances')
        self.token = self.home.run('output', 'cluster.yaml', 'ray_token').out.strip()
        nodes = {node['pool']: node for node in fit(self.tmp / 'cluster.yaml')['fitted']['nodes']}
        for instance in sorted(self.sim.live_instances(), key=lambda one: one['instanceType']):
            host = Host(self.network, self.tmp / instance['instanceId'], instance['privateIpAddress'])
            self.hosts.append(host)
            host.instance = instance
            host.start_docker()
            host.load_image(self.archive, f'rayproject/ray:{self.version}-py311')
        self.head, self.worker = self.hosts
        self.worker.stand_in_gpus('A100-40GB', 8)
        for host, pool in ((self.head, 'head'), (self.worker, 'train')):
            host.node = nodes[pool]
            host.put('/usr/local/lib/raygpu/cloud', CLOUD, '0755')
            host.boot(user_data(self.sim, host.instance), without=['/usr/local/lib/raygpu/cloud'])
        for host in self.hosts:
            self.wait_for_state(host, 'joined')
        self.end_apply()

    def end_apply(self):
        """It waits for what the head's console says of all nodes."""
        shown = ''

        def ended():
            nonlocal shown
            if self.head.console() != shown:
                shown = self.head.console()
                self.show_console(self.head)
            return self.apply.poll() is not None
        wait_for(ended, 600, self.head.console)
        out, err = self.apply.communicate()
        assert self.apply.returncode == 0 and 'Apply complete!' in out, out + err

    def wait_for_state(self, host, state, times=1):
        wait_for(lambda: host.states().count(state) >= times, 600, lambda: f'{host.address}: {host.console()}\n{log(host)}')

    def show_console(self, host):
        """From now on the simulated EC2 has this host's console for all."""
        reply = self.sim.ok('GetConsoleOutput', {'InstanceId': host.instance['instanceId'], 'Latest': 'true'})
        reply.find('{*}output').text = base64.b64encode(host.console().encode()).decode()
        self.sim.faults_clear()
        self.sim.fault(action='GetConsoleOutput', status=200, body=ElementTree.tostring(reply).decode(), count=0)

    def close(self):
        if self.apply and self.apply.poll() is None:
            self.apply.kill()
        for host in self.hosts:
            host.close()
        self.network.close()
        self.sim.stop()


@pytest.fixture(scope='module')
def cluster(image, tmp_path_factory):
    made = Cluster(image, tmp_path_factory.mktemp('hosts'))
    try:
        made.make()
        yield made
    finally:
        made.close()


def log(host):
    return (host.folder / 'start-ray.log').read_text(errors='replace')[-6000:]


def container(host, *command, **options):
    return host.run('/usr/bin/docker', 'exec', '-i', *command, timeout=3000, **options)


def python(host, text):
    """Runs Python in the host's container; the last line of its output, as JSON."""
    done = container(host, 'ray', 'python3', '-', input=textwrap.dedent(text))
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def ray_list_nodes(host):
    """{pool: node} of those alive, as people see them."""
    done = container(host, 'ray', 'ray', 'list', 'nodes', '--detail', '--format', 'json', '--filter', 'state=ALIVE')
    assert done.returncode == 0, done.stdout + done.stderr
    return {node['labels']['ray.io/node-group']: node for node in json.loads(done.stdout)}


def test_nodes_join_with_what_the_spec_promises(cluster):
    nodes = ray_list_nodes(cluster.head)
    assert len(nodes) == len(cluster.hosts)
    for host in cluster.hosts:
        boot = host.node['boot']
        seen = nodes[boot['labels']['ray.io/node-group']]
        assert seen['node_ip'] == host.address and seen['is_head_node'] == (host is cluster.head)
        labels = {**boot['labels'], 'ray.io/availability-zone': host.instance['placement']['availabilityZone']}
        assert {key: seen['labels'].get(key) for key in labels} == labels
        assert {key: seen['resources_total'].get(key) for key in boot['resources']} == boot['resources']
        assert seen['resources_total'].get('GPU', 0) == boot['gpus']
    train, head = nodes['train'], nodes[cluster.head.node['boot']['labels']['ray.io/node-group']]
    assert train['resources_total']['GPU'] == 8 and train['resources_total']['slots'] == 3
    assert train['labels']['team'] == 'vision' and train['labels']['ray.io/market-type'] == 'spot'
    assert train['labels']['raygpu.io/driver'] == '550.90.07'
    assert head['resources_total']['control'] == 2


def test_a_task_runs_where_its_options_say(cluster):
    answer = python(cluster.head, """
        import json, os, ray
        ray.init(address='auto', logging_level='ERROR', log_to_driver=False)
        @ray.remote(num_gpus=2, label_selector={'team': 'vision'})
        def task():
            return [ray.util.get_node_ip_address(), os.environ['CUDA_VISIBLE_DEVICES'], os.environ['GREETING'], os.path.exists('/tmp/set-up')]
        print(json.dumps(ray.get(task.remote())))
        """)
    assert answer == [cluster.worker.address, '0,1', "two words, $HOME and 'quotes'", True]
    assert cluster.worker.run('cat', '/tmp/initialized').stdout == 'initialized\n'


def test_without_the_token_nobody_gets_in(cluster):
    head, worker = cluster.hosts
    url = 'http://127.0.0.1:8265/api/jobs/'
    code = ['curl', '--silent', '--output', '/dev/null', '--write-out', '%{http_code}', '--max-time', '600']
    # only the head itself, and what `raygpu connect` forwards, reaches the dashboard
    assert head.run(*code, url.replace('127.0.0.1', head.address)).returncode == 7
    assert head.must(*code, url) == '401'
    assert head.must(*code, '--header', f'Authorization: Bearer {cluster.token}', url) == '200'
    # compat.open-agent: what the table says of this release is so, and start-ray closes the port
    job = ['--header', 'Content-Type: application/json', '--data', '{"entrypoint": "true"}']
    old, agent = cluster.version == OLDEST, [*code, *job, f'http://{head.address}:52365/api/job_agent/jobs/']
    assert head.must(*agent) == ('200' if old else '401')
    assert worker.run(*agent).stdout == ('000' if old else '401')
    driver = ['python3', '-c', f'import ray; ray.init(address="{head.address}:6379", log_to_driver=False); print(len(ray.nodes()))']
    assert container(worker, 'ray', *driver).stdout == '2\n'
    for command in (driver, ['ray', 'status', '--address', f'{head.address}:6379']):
        refused = container(worker, '--env', 'RAY_AUTH_TOKEN_PATH=/dev/null', 'ray', *command)
        assert refused.returncode != 0 and '2\n' != refused.stdout and 'token' in (refused.stdout + refused.stderr).lower()
    # the container's user reads a copy; the file on the host is root's
    assert head.must('stat', '--format', '%a %u', '/etc/raygpu/token', '/run/raygpu/token').split('\n')[:2] == ['600 0', '400 1000']


def test_a_job_is_submitted_through_a_connection(cluster):
    """With the client of this machine and what `raygpu connect` puts into its environment; Session Manager is a stand-in (forward.py)."""
    folder = cluster.tmp / 'bin'
    folder.mkdir()
    for name in ('aws', 'session-manager-plugin'):
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable} {HERE}/forward.py "$@"\n')
        (folder / name).chmod(0o755)
    env = {'PATH': f'{folder}:{os.environ["PATH"]}', 'HEAD': cluster.head.pid}
    task = ("import ray; ray.init(); get = ray.remote(num_gpus=1)(lambda: ray.util.get_node_ip_address()); "
            "print('ran on', ray.get(get.remote()))")
    done = cluster.home.run('connect', 'cluster.yaml', '--dashboard-port', free_port(), '--client-port', free_port(), '--',
                            environment(cluster.version) / 'bin/ray', 'job', 'submit', '--', 'python3', '-c', task, env=env, timeout=3000)
    assert f'ran on {cluster.worker.address}' in done.out and 'succeeded' in done.out


def test_raygpu_reads_their_consoles(cluster):
    head, worker = cluster.hosts

    def roster():
        return [pairs for state, pairs in head.reports() if state == 'nodes' and pairs['gpus'] == '8']
    wait_for(roster, 600, head.console)
    assert roster()[-1]['driver'] == '550.90.07'
    assert roster()[-1]['ids'] == base64.b64encode(hashlib.sha256(worker.instance['instanceId'].encode()).digest())[:6].decode()
    cluster.show_console(worker)
    logs = cluster.home.run('logs', 'aws.instance.train[0]', '--json').json()
    assert (logs['state'], logs['gpus'], logs['driver']) == ('joined', 8, '550.90.07')
    cluster.show_console(head)
    assert cluster.home.run('logs', 'aws.instance.head').err.endswith('): joined Ray\n')
    assert cluster.home.run('drift', 'cluster.yaml').out.startswith('No drift.')
    status, = cluster.home.run('status', 'cluster.yaml', '--detailed-exitcode', '--json').json()['clusters']
    assert status['healthy'] is True and status['ray_version'] == cluster.version
    train = next(pool for pool in status['pools'] if pool['pool'] == 'train')
    assert (train['joined'], train['gpus_in_ray'], train['drivers']) == (1, 8, ['550.90.07'])


def test_what_ray_waits_for_is_shown(cluster):
    """A task that fits on no node, while its driver runs."""
    head = cluster.head
    driver = """
        import ray, time
        ray.init(address='auto', logging_level='ERROR', log_to_driver=False)
        task = ray.remote(num_gpus=9)(lambda: 1)
        waits = [task.remote() for _ in range(3)]
        time.sleep(1800)
        """
    done = container(head, '--detach', 'ray', 'python3', '-c', textwrap.dedent(driver))
    assert done.returncode == 0, done.stderr

    def demand():
        said = [pairs for state, pairs in head.reports() if state == 'demand']
        return said and said[-1]['requests'] != '0' and said[-1]
    wait_for(demand, 600, head.console)
    assert (demand()['requests'], demand()['shapes']) == ('3', '3xCPU:1+GPU:9')
    head.must('pkill', '-f', '[t]ime.sleep.1800')
    cluster.show_console(head)
    out = ' '.join(cluster.home.run('status', 'cluster.yaml').out.split())
    assert '3 tasks and actors wait for resources: 3 x {CPU: 1, GPU: 9}.' in out


def test_a_node_that_someone_started_by_hand_is_drift(cluster):
    """A second raylet on the worker, without an instance id; then it ends."""
    head, worker = cluster.hosts
    done = container(worker, '--detach', 'ray', 'env', '-u', 'RAY_CLOUD_INSTANCE_ID', 'ray', 'start', '--block', f'--address={head.address}:6379',
                     '--num-cpus=0', '--num-gpus=0', '--object-store-memory=80000000', '--dashboard-agent-listen-port=52366')
    assert done.returncode == 0, done.stderr

    def others():
        return [pairs.get('others') for state, pairs in head.reports() if state == 'nodes' and pairs['part'] == '1'][-1]
    wait_for(others, 600, head.console)
    assert others() == worker.address
    cluster.show_console(head)
    assert (f'# aws.instance.head has a node in its Ray that raygpu does not know: {worker.address}'
            in cluster.home.run('drift', 'cluster.yaml', code=2).out)
    worker.must('pkill', '-KILL', '-f', '[r]aylet.*listen-port=52366')
    wait_for(lambda: not others(), 600, head.console)
    cluster.show_console(head)
    assert cluster.home.run('drift', 'cluster.yaml').out.startswith('No drift.')


def test_a_raylet_that_ends_comes_back(cluster):
    """By a signal after which `ray start --block` goes on, as if all was well."""
    before = cluster.worker.states().count('joined')
    cluster.worker.must('pkill', '-TERM', '-x', 'raylet')
    cluster.wait_for_state(cluster.worker, 'joined', before + 1)
    assert 'Ray is dead on this node; starting Ray again' in log(cluster.worker)
    assert ray_list_nodes(cluster.head)['train']['resources_total']['GPU'] == 8


def test_a_killed_head_comes_back_and_workers_rejoin(cluster):
    before = [host.states().count('joined') for host in cluster.hosts]
    cluster.head.must('/usr/bin/docker', 'kill', 'ray')
    for host, joined in zip(cluster.hosts, before):
        cluster.wait_for_state(host, 'joined', joined + 1)
    assert ray_list_nodes(cluster.head)['train']['resources_total']['GPU'] == 8


ACTOR = """
import json, ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On
ray.init(address='auto', namespace='x', logging_level='ERROR', log_to_driver=False)
train = next(n['NodeID'] for n in ray.nodes() if n['Alive'] and n['Labels']['ray.io/node-group'] == 'train')
@ray.remote
class Where:
    def address(self):
        return ray.util.get_node_ip_address()
actor = Where.options(name=NAME, lifetime='detached', max_restarts=1, max_task_retries=-1, num_cpus=1, scheduling_strategy=On(train, soft=True)).remote()
print(json.dumps(ray.get(actor.address.remote())))
"""
MOVED = """
import json, ray
ray.init(address='auto', namespace='x', logging_level='ERROR', log_to_driver=False)
where = ray.get(ray.get_actor(NAME).address.remote())
from ray.util.state import list_actors
actor, = list_actors(filters=[('name', '=', NAME)], detail=True)
print(json.dumps([where, actor.num_restarts_due_to_node_preemption]))
ray.kill(ray.get_actor(NAME))
"""


def test_a_worker_that_shuts_down_is_drained_and_its_actor_moves(cluster):
    """systemd's part, which stops the service, is the test's; as after a reboot, Ray starts again."""
    head, worker = cluster.hosts
    assert python(head, ACTOR.replace('NAME', "'leaving'")) == worker.address
    before = worker.states().count('joined')
    worker.must(worker.stop_ray, timeout=600)
    assert worker.states().count('drained') == 1, worker.console() + log(worker)
    assert python(head, MOVED.replace('NAME', "'leaving'")) == [head.address, 1], 'the restart of its actor is one that Ray foresaw'
    cluster.wait_for_state(worker, 'joined', before + 1)
    assert 'reclaimed' not in worker.states() and 'reason="this node shuts down"' in worker.console()


def test_a_notice_drains_the_node_and_moves_its_actor(cluster):
    head, worker = cluster.hosts
    assert python(head, ACTOR.replace('NAME', "'first'")) == worker.address
    drained = worker.states().count('drained')
    worker.must('bash', '-c', "date -u --date='+75 seconds' +%Y-%m-%dT%H:%M:%SZ >/tmp/notice")
    wait_for(lambda: worker.states().count('drained') > drained or 'could not be drained' in log(worker), 600, lambda: worker.console() + log(worker))
    assert worker.states()[-2:] == ['reclaimed', 'drained'], worker.console() + log(worker)
    assert python(head, ACTOR.replace('NAME', "'second'")) == head.address, 'what asks for a node that is drained gets another'
    # at the deadline Ray ends, and stays down
    wait_for(lambda: worker.ray.ended == 78, 300, lambda: f'{worker.ray.ended} {log(worker)}')
    assert python(head, MOVED.replace('NAME', "'first'")) == [head.address, 1], 'the restart of its actor is one that Ray foresaw'
    assert 'train' not in ray_list_nodes(head)
    wait_for(lambda: [pairs['gpus'] for state, pairs in head.reports() if state == 'nodes'][-1] == '0', 600, head.console)
    cluster.show_console(worker)
    print(cluster.home.run('logs', 'aws.instance.train[0]').err)
    cluster.show_console(head)
    assert '# aws.instance.train[0] runs, but is not a member of Ray' in cluster.home.run('drift', 'cluster.yaml', code=2).out

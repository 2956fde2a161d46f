"""Machines that are there, over the module ssh: real sshd, a real Docker Engine and a real Ray on each host. A job runs where its options
say, a node that is killed is drift and repaired, one without power is unknown and comes back, and a destroy leaves nothing."""


import pytest
from conftest import environment
from hosts import wait_for
from ports import free_port
from program import Home
from ray_versions import OLDEST
from ssh_hosts import skip_where_not, ssh_hosts

GPUS = [None, 'A100-40GB:8', 'V100-16GB:4', 'T4:1', 'T4:1']
POOLS = {'train': 'A100-40GB:8', 'legacy': 'V100-16GB:4', 'serve': 'T4:1'}
# a task for each accelerator, and where it ran; Ray's own words for the models
JOB = """
import ray
ray.init()
def where():
    return ray.util.get_node_ip_address()
for model, gpus in (('A100', 8), ('V100', 4), ('T4', 1)):
    options = dict(num_gpus=gpus, label_selector={'ray.io/accelerator-type': model})
    print('task', model, ray.get(ray.remote(where).options(**options).remote()))
"""
OURS = '/etc/raygpu /usr/local/lib/raygpu /var/lib/raygpu /var/log/raygpu /etc/cron.d/raygpu'


def spec(rack, version):
    hosts = [f'    - {{address: {host.folder.name}, internal_address: {host.address}{f", gpus: {chr(34)}{gpus}{chr(34)}" if gpus else ""}}}'
             for host, gpus in zip(rack.hosts, GPUS)]
    pools = [f'  {pool}: {{accelerators: "{gpus}", nodes: 1}}' for pool, gpus in POOLS.items()]
    return '\n'.join(['cluster: rack', 'provider:', '  name: ssh', f'  ssh_config: {rack.config}', '  hosts:', *hosts,
                      f'ray: {{version: {version}, image: "rayproject/ray:{version}-py311-cu121"}}', 'head: {instance_type: cpu}', 'pools:', *pools, ''])


@pytest.fixture(scope='module')
def rack(image, tmp_path_factory):
    skip_where_not()
    version, archive = image
    wishes = [{'gpus': gpus, 'image': (archive, f'rayproject/ray:{version}-py311-cu121')} for gpus in GPUS]
    with ssh_hosts(wishes, tmp_path_factory.mktemp('rack')) as made:
        made.version = version
        yield made


def claim(host):
    done = host.run('sed', '-n', 's/^address //p', '/var/lib/raygpu/claims/node')
    return done.stdout.strip()


def host_of(rack, address):
    found, = [host for host in rack.hosts if claim(host) == address]
    return found


def log(host):
    return host.run('tail', '-n', '60', '/var/log/raygpu/start.log').stdout + host.run('tail', '-n', '20', '/var/log/raygpu/boot.log').stdout


def left(host):
    """What of raygpu is there."""
    return host.run('bash', '-c', f'ls -d {OURS} 2>/dev/null; pgrep --full --list-full raygp[u]/; docker ps --all --quiet').stdout.splitlines()


def joined(host):
    return host.run('cat', '/var/log/raygpu/boot.log').stdout.count('raygpu: v1 joined ')


def test_the_life_of_a_cluster(rack, tmp_path):
    home = Home(tmp_path, {'RAYGPU_ALLOW_PROFILES': str(rack.config)})
    home.env.pop('XDG_RUNTIME_DIR', None)
    home.write('cluster.yaml', spec(rack, rack.version))

    def told(command, *arguments, code=0):
        end = home.run(command, 'cluster.yaml', *arguments, code=code, timeout=3000)
        return ' '.join((end.out + end.err).split())

    said = told('apply', '--auto-approve')
    assert 'Ray: head 1 of 1 joined' in said and 'Apply complete! Resources: 5 added' in said, said
    nodes = {pool: host_of(rack, f'ssh.node.{pool}[0]') for pool in POOLS}
    spare, = [host for host in rack.hosts if not claim(host)]

    def job():
        home.write('job.py', JOB)
        done = home.run('connect', 'cluster.yaml', '--dashboard-port', free_port(), '--client-port', free_port(), '--',
                        environment(rack.version) / 'bin/ray', 'job', 'submit', '--working-dir', '.', '--', 'python3', 'job.py', timeout=3000)
        return [line.split()[1:] for line in done.out.splitlines() if line.startswith('task ')]
    where = [['A100', nodes['train'].address], ['V100', nodes['legacy'].address], ['T4', nodes['serve'].address]]
    assert job() == where

    # someone ends the service of a node: drift, and the next apply starts it again
    node = nodes['legacy']
    before = joined(node)
    node.must('bash', '-c', 'pkill -KILL -f raygpu/supervis[e]; pkill -KILL -f raygpu/start-ra[y]; docker rm --force ray')
    assert '~ service' in told('drift', code=2)
    said = told('apply', '--auto-approve')
    assert '1 changed, 0 destroyed' in said, said
    wait_for(lambda: joined(node) > before, 600, lambda: log(node))

    # a host without power is not missing: nothing is created in its place, and Ray is back after its boot
    node = nodes['serve']
    before = joined(node)
    node.cut_power()
    assert 'the state of `ssh.node.serve[0]` is unknown' in told('plan', code=None)
    assert not claim(spare)
    node.power_on()
    wait_for(lambda: joined(node) > before, 600, lambda: log(node))
    assert 'No changes.' in told('plan', '--detailed-exitcode')
    assert job() == where

    closed = ['--dport 52365' in host.must('iptables', '-S') for host in nodes.values()]
    assert set(closed) == {rack.version == OLDEST}, 'agents that run jobs without the token are closed to other hosts'
    told('destroy', '--auto-approve')
    assert not any('52365' in host.must('iptables', '-S') for host in rack.hosts)
    assert {host.folder.name: left(host) for host in rack.hosts} == {host.folder.name: [] for host in rack.hosts}

"""A rack of real hosts, each with its own sshd, and a user's folder whose specs name them. Docker and Ray are stand-ins."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from program import ROOT, Home

sys.path[:0] = [str(ROOT / 'tests/hosts'), str(ROOT / 'tests/cli/boot')]
from ssh_hosts import skip_where_not, ssh_hosts  # noqa: E402  pylint: disable=wrong-import-position

HERE = Path(__file__).parent
HOSTS = [{}, {'gpus': 'T4:1'}, {'gpus': 'T4:1', 'user': 'ops'}, {}, {'gpus': 'T4:1'}]  # the specs of most tests name four
OURS = '/etc/raygpu /usr/local/lib/raygpu /var/lib/raygpu /var/log/raygpu /run/raygpu /run/raygpu.lock /etc/systemd/system/raygpu-ray.service'


def equip(host):
    """Docker, and the container toolkit of hosts with GPUs; sudo for who is not root."""
    host.put('/usr/local/bin/docker', (HERE / 'docker.sh').read_text(encoding='utf-8'), '0755')
    host.put('/usr/local/bin/nvidia-ctk', '#!/bin/sh\n', '0755')
    host.must('bash', '-c', 'echo "127.0.0.1 localhost $(hostname)" >/etc/hosts')  # sudo looks the name up
    if host.user != 'root':
        host.put('/etc/sudoers.d/ops', f'{host.user} ALL=(ALL) NOPASSWD: ALL\n', '0440')


@pytest.fixture(scope='session')
def hosts(tmp_path_factory):
    skip_where_not()
    with ssh_hosts([{**host, 'disk': '100m'} for host in HOSTS], tmp_path_factory.mktemp('rack')) as rack:
        rack.sockets = tempfile.mkdtemp(dir='/tmp')
        for host in rack.hosts:
            equip(host)
        yield rack
        for socket in os.listdir(rack.sockets):
            subprocess.run(['ssh', '-o', f'ControlPath={rack.sockets}/{socket}', '-O', 'exit', 'any'], capture_output=True, check=False)
        shutil.rmtree(rack.sockets)


@pytest.fixture
def rack(hosts):
    """The hosts, as if nothing of raygpu had ever been there."""
    for host in hosts.hosts:
        host.login_shell(None)
        host.run('bash', '-c', 'pids=$(pgrep -f raygpu/supervis[e]); docker stop ray; for pid in $pids; do kill -KILL -- "-$pid"; done; '
                 f'while pgrep -f "raygpu/(supervis|start-ra)[ey]"; do sleep 0.1; done; rm -rf {OURS} /etc/cron.d/raygpu')
    return hosts


class RackHome(Home):
    """Connections are shared: much cheaper, and as users have it. A test of faults has its own for each command (`alone`)."""
    def __init__(self, folder, rack, alone=False):
        super().__init__(folder, {'RAYGPU_ALLOW_PROFILES': str(rack.config), 'RAYGPU_ALLOW_ENDPOINTS': 'accept-new'})
        self.env['XDG_RUNTIME_DIR'] = '' if alone else str(rack.sockets)
        self.rack = rack

    def spec(self, nodes=1, name='research', hosts=None, pool='accelerators: "T4:1"', more=''):
        lines = hosts or [f'    - {{address: {host.folder.name}, internal_address: {host.address}{like}}}'
                          for host, like in zip(self.rack.hosts, ('', ', gpus: "T4:1"', ', gpus: "T4:1"', ''))]
        self.write('cluster.yaml', '\n'.join([
            f'cluster: {name}', 'provider:', '  name: ssh', f'  ssh_config: {self.rack.config}', '  hosts:', *lines,
            'ray: {version: 2.56.1, python: "3.11"}', 'head: {instance_type: cpu}', 'pools:',
            f'  train: {{{pool}, nodes: {nodes}}}', more, '']))

    def told(self, command, *arguments, code=0):
        end = self.run(command, 'cluster.yaml', *arguments, code=code)
        return ' '.join((end.out + end.err).split())

    def apply(self, *arguments, code=0):
        return self.told('apply', '--auto-approve', *arguments, code=code)


@pytest.fixture
def home(tmp_path, rack):
    return RackHome(tmp_path, rack)


@pytest.fixture
def alone(tmp_path, rack):
    return RackHome(tmp_path, rack, alone=True)


def claims(host):
    """What its claim says; {}: nothing has claimed it."""
    done = host.run('cat', '/var/lib/raygpu/claims/node')
    return dict(line.split(' ', 1) for line in done.stdout.splitlines()) if done.returncode == 0 else {}


def ours(host):
    """What of raygpu is on the host."""
    return host.run('bash', '-c', f'ls -d {OURS} /etc/cron.d/raygpu 2>/dev/null; pgrep -f raygpu/supervis[e]').stdout.split()

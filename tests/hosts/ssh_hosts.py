"""Hosts that are reached by ssh, as a rack has them: a real sshd with a key of its own, and GPUs that nvidia-smi shows.

    with ssh_hosts([{'gpus': 'A100-40GB:4'}, {'gpus': 'T4:1', 'user': 'ray'}, {}], folder) as rack:
        rack.config               an ssh_config file that names them h1, h2, h3
        rack.key, rack.known_hosts
        rack.hosts[0].address     reachable from this machine, port 22

What a host has: hosts.py, and the methods below. Only root can make them: `skip_where_not()` first."""
import contextlib
import fcntl
import os
import shutil
import textwrap
from pathlib import Path

import pytest

from hosts import MOST_FILES, NOFILE, Host, Network, must, run, wait_for

FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
PROGRAMS = {'sshd': 'openssh-server', 'ssh': 'openssh-client', 'ip': 'iproute2', 'tini': 'tini', 'setpriv': 'util-linux'}


def skip_where_not():
    """Skips the test where there can be no such hosts."""
    if os.getuid() != 0:
        pytest.skip('hosts need root')
    missing = [package for program, package in PROGRAMS.items() if not shutil.which(program, path='/usr/sbin:/usr/bin:/sbin:/bin')]
    if missing:
        pytest.skip(f'hosts need {" ".join(missing)}')
    allowed = run('unshare', '--mount', '--net', '--pid', '--uts', '--ipc', '--fork', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt')
    if allowed.returncode:
        pytest.skip(f'this machine allows no namespaces: {allowed.stderr.strip()[-200:]}')


class Wire(Network):
    """A network that this machine reaches too. Its addresses are those for benchmarks (RFC 2544), a /24 for each test at a time."""

    def __init__(self):
        locks = Path('/run/raygpu-test-networks')
        locks.mkdir(exist_ok=True)
        self.number, self.lock = next(self._free(locks))
        self.port = f'rgs{self.number}p'
        run('ip', 'netns', 'del', f'rgs{self.number}')  # of a test that was killed
        run('ip', 'link', 'del', self.port)
        super().__init__(f'rgs{self.number}', f'198.18.{self.number}.1/24')
        must('ip', 'link', 'add', self.port, 'type', 'veth', 'peer', 'name', 'out', 'netns', self.name)
        must('ip', '-n', self.name, 'link', 'set', 'out', 'master', 'bridge0', 'up')
        must('ip', 'addr', 'add', f'198.18.{self.number}.254/24', 'dev', self.port)
        must('ip', 'link', 'set', self.port, 'up')

    def _free(self, locks):
        for number in range(1, 255):
            lock = open(locks / str(number), 'w', encoding='ascii')
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                continue
            yield number, lock

    def close(self):
        run('ip', 'link', 'del', self.port)
        super().close()
        self.lock.close()


SSHD = """
    Port 22
    HostKey /etc/ssh/host_key
    AuthorizedKeysFile /etc/ssh/authorized_keys
    PasswordAuthentication no
    KbdInteractiveAuthentication no
    UsePAM no
    PrintMotd no
    Subsystem sftp /usr/lib/openssh/sftp-server
    """
# what starts with the host, in order; cron is not installed, so its @reboot is done here
BOOT = {
    'sshd': """\
        #!/bin/sh
        install -d -m 0755 /run/sshd
        exec /usr/sbin/sshd -f /etc/ssh/host_config -E /var/log/sshd.log
        """,
    'dockerd': """\
        #!/bin/sh
        [ ! -e /etc/docker/daemon.json ] || setsid dockerd >>/var/log/dockerd.log 2>&1 </dev/null &
        """,
    'reboot': """\
        #!/bin/sh
        sed -n 's/^@reboot root //p' /etc/cron.d/* 2>/dev/null | while read -r line; do setsid sh -c "$line" >/dev/null 2>&1 </dev/null & done
        """,
}
RC = '#!/bin/sh\n' + ''.join(f'/etc/boot/{name}\n' for name in BOOT)
# docker, with as many open files as this machine allows
DOCKER = f"""\
    #!/bin/bash
    exec /usr/bin/docker "${{@/#{NOFILE}/nofile={MOST_FILES}:{MOST_FILES}}}"
    """
UNIT = """
    [Unit]
    ConditionPathExists=/etc/ssh/host_config
    [Service]
    RuntimeDirectory=sshd
    ExecStart=/usr/sbin/sshd -D -f /etc/ssh/host_config -E /var/log/sshd.log
    KillMode=process
    """


class SshHost(Host):
    """`user`: who logs in, made for it where it is not root. `image`: (archive, name) of what its Docker Engine has; None: no engine.
    `init`: 'systemd' (without logind; no engine runs there), else there is none."""

    port = 22

    def __init__(self, wire, folder, address, public_key, gpus=None, user='root', image=None, **options):
        self.user, self.gpus, self.skew = user, gpus, None
        super().__init__(wire, folder, address, units={'sshd.service': UNIT}, **options)
        try:
            self.new_key()
            self.put('/etc/ssh/authorized_keys', public_key)
            if self.first != 'systemd':
                for name, text in BOOT.items():
                    self.put(f'/etc/boot/{name}', textwrap.dedent(text), '0755')
                self.put('/etc/rc.local', RC, '0755')
            if user != 'root':
                self.must('useradd', '--create-home', '--shell', '/bin/bash', '--password', '*', user)
            if gpus:
                model, _, count = gpus.partition(':')
                self.stand_in_gpus(model, int(count or 1))
            self._configure()
            self._start_sshd()
            if image:
                self._start_engine(*image)
        except BaseException:
            self.close()
            raise

    def _start_engine(self, archive, name):
        self.configure_docker()
        self.put('/usr/local/bin/docker', textwrap.dedent(DOCKER), '0755')
        self.must('/etc/boot/dockerd')
        self.wait_for_docker()
        self.load_image(archive, name)

    def _configure(self):
        """Writes sshd's file: sessions that begin from now on follow it."""
        text = textwrap.dedent(SSHD)
        if self.skew:
            text += f'SetEnv LD_PRELOAD={FAKETIME} FAKETIME={self.skew}\n'
        self.put('/etc/ssh/host_config', text)

    def new_key(self):
        """A host key: a second one is that of another machine."""
        self.must('bash', '-c', "rm -f /etc/ssh/host_key*; ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/host_key")

    def public_key(self):
        return ' '.join(self.must('cat', '/etc/ssh/host_key.pub').split()[:2])

    def restart_sshd(self):
        self._configure()
        if self.first == 'systemd':
            self.must('systemctl', 'stop', 'sshd')
        else:
            self.run('pkill', '-o', '-x', 'sshd')
        wait_for(lambda: not self.listens(), 60, 'sshd does not end')
        self._start_sshd()

    def _start_sshd(self):
        self.must(*(['systemctl', 'start', 'sshd'] if self.first == 'systemd' else ['/etc/boot/sshd']))
        wait_for(self.listens, 120, 'sshd does not listen')

    def listens(self):
        return ':22 ' in self.must('ss', '--listening', '--tcp', '--numeric', '--no-header')

    def power_on(self):
        super().power_on()
        if self.run('test', '-e', '/etc/ssh/host_config').returncode == 0:
            wait_for(self.listens, 120, 'sshd does not listen')

    # ---- faults

    def cut_link(self):
        """No packet passes."""
        must('ip', '-n', self.network.name, 'link', 'set', self.link, 'down')

    def mend_link(self):
        must('ip', '-n', self.network.name, 'link', 'set', self.link, 'up')

    def slow_link(self, rate='64kbit'):
        """What the host receives passes at this rate; None: as before."""
        run('tc', '-n', self.network.name, 'qdisc', 'del', 'dev', self.link, 'root')
        if rate:
            must('tc', '-n', self.network.name, 'qdisc', 'add', 'dev', self.link, 'root', 'tbf', 'rate', rate, 'burst', '16kb', 'latency', '400ms')

    def fill_disk(self, leave=0):
        """Leaves so many bytes of it."""
        free = int(self.must('stat', '--file-system', '--format', '%a', '/').strip()) * int(self.must('stat', '--file-system', '--format', '%S', '/').strip())
        self.must('fallocate', '--length', max(free - leave, 1), '/var/full')

    def free_disk(self):
        self.must('rm', '-f', '/var/full')

    def set_clock(self, skew):
        """Of what logs in from now on: '-1h', '+20m'; None: as this machine's."""
        self.skew = skew
        self.restart_sshd()

    def login_shell(self, text):
        """A script as the user's shell: one with a banner, one that hangs. None: bash."""
        if text:
            self.put('/usr/local/bin/login-shell', text, '0755')
        self.must('usermod', '--shell', '/usr/local/bin/login-shell' if text else '/bin/bash', self.user)

    def processes(self):
        """Of the host: {pid: command line}."""
        lines = self.must('ps', '-eo', 'pid=,args=').splitlines()
        return {int(line.split(None, 1)[0]): line.split(None, 1)[1] for line in lines if line.strip()}


class Rack:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.hosts = []
        self.key, self.known_hosts, self.config = (self.folder / name for name in ('key', 'known_hosts', 'ssh_config'))
        must('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', self.key)

    def write(self):
        """The files of who logs in: known hosts and ssh_config."""
        self.known_hosts.write_text(''.join(f'{host.address} {host.public_key()}\n' for host in self.hosts), encoding='ascii')
        self.config.write_text(''.join(textwrap.dedent(f"""\
            Host {host.folder.name} {host.address}
              HostName {host.address}
              User {host.user}
              IdentityFile {self.key}
              IdentitiesOnly yes
              UserKnownHostsFile {self.known_hosts}
              StrictHostKeyChecking yes
            """) for host in self.hosts), encoding='utf-8')

    def ssh(self, host, *command, connect=60, **options):
        return run('ssh', '-F', self.config, '-o', 'BatchMode=yes', '-o', f'ConnectTimeout={connect}', host.folder.name, *command, **options)


@contextlib.contextmanager
def ssh_hosts(wishes, folder, shared=()):
    """A Rack of a host for each wish: arguments of SshHost, and `name`. `shared`: folders of this machine that they see, such as a virtual
    environment below /tmp; each has a /tmp of its own."""
    rack = Rack(folder)
    wire = Wire()
    try:
        for number, wish in enumerate(wishes, 1):
            options = dict(wish)
            name = options.pop('name', f'h{number}')
            rack.hosts.append(SshHost(wire, rack.folder / name, f'198.18.{wire.number}.{number + 10}', Path(f'{rack.key}.pub').read_text('ascii'), shared=shared, **options))
        rack.write()
        yield rack
    finally:
        for host in rack.hosts:
            host.close()
        wire.close()

"""Real hosts on this machine: namespaces with an address, a real Docker Engine and the files that a node boots from."""
import ipaddress
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import textwrap
import threading
import time
from pathlib import Path

import nvidia_smi

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

NOFILE = 'nofile=65536:65536'
MOST_FILES = min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
# of this machine, not of its hosts
MASKED = [f'{name}.service' for name in (
    'systemd-udevd', 'systemd-udev-trigger', 'systemd-sysctl', 'systemd-modules-load', 'systemd-remount-fs', 'systemd-timesyncd',
    'systemd-binfmt', 'systemd-hwdb-update', 'systemd-random-seed', 'systemd-networkd', 'systemd-resolved', 'systemd-tmpfiles-setup-dev',
    'systemd-logind', 'dbus', 'getty@tty1', 'console-getty', 'systemd-firstboot', 'systemd-pstore', 'e2scrub_reap')] + [
    'systemd-udevd-kernel.socket', 'systemd-udevd-control.socket', 'dev-hugepages.mount', 'dev-mqueue.mount', 'sys-kernel-debug.mount',
    'sys-kernel-tracing.mount', 'sys-kernel-config.mount', 'sys-fs-fuse-connections.mount', 'proc-sys-fs-binfmt_misc.automount',
    'docker.socket', 'getty.target', 'remote-fs.target', 'timers.target', 'tmp.mount']
HOST_UNIT = """
    [Unit]
    DefaultDependencies=no
    [Service]
    Type=oneshot
    ExecStart=/bin/sh -c 'echo ready >/run/host'
    """


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


def must(*command, **options):
    done = run(*command, **options)
    assert done.returncode == 0, (command, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def tied(*command):
    """A process that ends with this one, however it ends."""
    return subprocess.Popen(['setpriv', '--pdeathsig', 'KILL', *map(str, command)], start_new_session=True)


def end(pid):
    try:
        os.kill(int(pid), signal.SIGKILL)
    except ProcessLookupError:
        pass


class Network:
    """A bridge in a namespace of its own; `router`: its address there, with the length of the network's prefix."""

    def __init__(self, name, router):
        self.name = name
        self.router = ipaddress.ip_interface(router)
        self.links = 0
        must('ip', 'netns', 'add', name)
        for command in ('link set lo up', 'link add name bridge0 type bridge', f'addr add {router} dev bridge0', 'link set bridge0 up'):
            must('ip', '-n', name, *command.split())

    def link(self):
        self.links += 1
        return f'{self.name}x{self.links}'

    def close(self):
        run('ip', 'netns', 'del', self.name)


class Host:
    """`shared`: folders of this machine that it sees as they are; `init`: its first process,
    tini or systemd, which starts the units of `units` and none of this machine's."""

    def __init__(self, network, folder, address, shared=(), disk='6g', init='tini', units=None):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True)
        self.network, self.first, self.shared = network, init, [ROOT, *shared]
        self.address, self.link = address, network.link()
        self.groups = f'raygpu-test-{self.link}'
        self.services, self.pid, self.init = [], None, None
        self.chassis = tied('unshare', '--mount', '--net', '--propagation', 'private', HERE / 'chassis.sh', self.folder, disk)
        try:
            wait_for((self.folder / 'ready').exists, 120, 'the chassis did not start')
            self._connect()
            if init == 'systemd':
                self._write_units(units or {})
            self.power_on()
        except BaseException:
            self.close()
            raise

    def _connect(self):
        must('ip', 'link', 'add', self.link, 'netns', self.network.name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', self.chassis.pid)
        must('ip', '-n', self.network.name, 'link', 'set', self.link, 'master', 'bridge0', 'up')
        router = self.network.router
        for command in (f'addr add {self.address}/{router.network.prefixlen} dev eth0', 'link set eth0 up', f'route add default via {router.ip}'):
            must('nsenter', '--target', self.chassis.pid, '--net', 'ip', *command.split())

    def _write_units(self, units):
        """On its disk, before it starts: nothing of what this machine starts, but `units`."""
        etc = f'/proc/{self.chassis.pid}/root{self.folder}/disk/upper/etc'
        system = f'{etc}/systemd/system'
        os.makedirs(f'{system}/multi-user.target.wants')
        os.setxattr(system, 'trusted.overlay.opaque', b'y')
        units = {'host.service': HOST_UNIT, **units}
        for name, text in units.items():
            Path(system, name).write_text(textwrap.dedent(text), encoding='utf-8')
            os.symlink(f'../{name}', f'{system}/multi-user.target.wants/{name}')
        for name in MASKED:
            os.symlink('/dev/null', f'{system}/{name}')
        os.symlink('/lib/systemd/system/multi-user.target', f'{system}/default.target')

    def power_on(self):
        """Starts it; returns when /etc/rc.local, if there is one, has ended."""
        self.init = tied('nsenter', '--target', self.chassis.pid, '--mount', '--net',
                         'unshare', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child', '--propagation', 'private',
                         HERE / 'enter.sh', self.folder, self.first, self.groups, *self.shared)
        wait_for(self._inner, 120, 'the host did not start')
        self.pid = self._inner()
        wait_for(lambda: self.run('test', '-e', '/run/host').returncode == 0, 120, 'the host did not start')

    def cut_power(self):
        """Ends all of it at once; power_on() finds its disk as it was."""
        for service in self.services:
            service.forget()
        self.services = []
        if self.init:
            end(self.pid or self.init.pid)
            self.init.wait(60)
        self.init = self.pid = None

    def reboot(self):
        self.cut_power()
        self.power_on()

    def _inner(self):
        """The first process of the host: a child of unshare."""
        with open(f'/proc/{self.init.pid}/task/{self.init.pid}/children', encoding='ascii') as f:
            children = f.read().split()
        return children[0] if children else None

    def _inside(self, command):
        return ['nsenter', '--target', self.pid, '--mount', '--pid', '--net', '--ipc', '--uts', '--root', '--wdns=/',
                '/usr/bin/env', '-i', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root',
                *[str(word) for word in command]]

    def run(self, *command, **options):
        return run(*self._inside(command), **options)

    def must(self, *command, **options):
        return must(*self._inside(command), **options)

    def put(self, path, text, mode='0644'):
        self.must('bash', '-c', f'mkdir -p {shlex.quote(os.path.dirname(path))} && cat >{shlex.quote(path)} && chmod {mode} {shlex.quote(path)}',
                  input=text)

    def console(self):
        return (self.folder / 'console').read_text(encoding='ascii', errors='replace')

    def reports(self):
        """What the node reported: [(state, {key: value})]."""
        for line in self.console().splitlines():
            words = shlex.split(line)
            if words[:2] == ['raygpu:', 'v1'] and words[-1] == 'end':
                yield words[2], dict(word.split('=', 1) for word in words[3:-1])

    def states(self):
        return [state for state, _ in self.reports()]

    def stand_in_gpus(self, model, count):
        state = self.folder / 'gpus.json'
        nvidia_smi.new(state, count, model=model, unit=int(self.address.rsplit('.', 1)[1]))
        self.put('/opt/gpus.json', state.read_text(), '0666')
        self.put('/usr/bin/nvidia-smi', f'#!/bin/sh\nexec /usr/bin/python3 {ROOT}/tests/cli/boot/nvidia_smi.py /opt/gpus.json "$@"\n', '0755')
        self.put('/usr/bin/nvidia-ctk', '#!/bin/sh\nexit 0\n', '0755')

    # ---- services

    def start(self, *command, restart=None):
        """A process of the host, as systemd runs one: `restart` (seconds, exit status after which it stays down)."""
        service = Service(self, command, restart)
        self.services.append(service)
        return service

    def configure_docker(self):
        # a stand-in for the hook of NVIDIA's toolkit: the engine accepts --gpus, and containers get no devices
        self.put('/usr/bin/nvidia-container-runtime-hook', '#!/bin/sh\nexit 0\n', '0755')
        self.put('/etc/docker/daemon.json', json.dumps({
            'storage-driver': 'overlay2', 'iptables': False, 'ip6tables': False, 'bridge': 'none', 'userland-proxy': False,
            'cgroup-parent': f'/{self.groups}', 'exec-opts': ['native.cgroupdriver=cgroupfs'], 'log-level': 'warn'}))

    def wait_for_docker(self):
        wait_for(lambda: self.run('/usr/bin/docker', 'info').returncode == 0, 300, 'the engine does not answer')

    def start_docker(self):
        self.configure_docker()
        self.start('/usr/sbin/dockerd')
        self.wait_for_docker()

    def load_image(self, archive, name):
        change = ['--change', 'ENV PATH=/opt/ray/bin:/usr/local/bin:/usr/bin:/bin PYTHONPATH=/opt/ray HOME=/home/ray',
                  '--change', 'USER ray', '--change', 'WORKDIR /home/ray']
        with open(archive, 'rb') as f:
            done = subprocess.run(self._inside(['/usr/bin/docker', 'import', *change, '-', name]), stdin=f, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr

    def _within_limits(self, text):
        """The one change to the scripts: a machine of tests may not allow as many open files as a node has."""
        return text.replace(NOFILE, f'nofile={MOST_FILES}:{MOST_FILES}')

    def boot(self, user_data, without=()):
        """What cloud-init does with a cloud-config of raygpu: files, then the unit."""
        for file in user_data['write_files']:
            if file['path'] not in without:
                self.put(file['path'], self._within_limits(file['content']), file['permissions'])
        self.put('/var/lib/cloud/data/instance-id', f'{self.folder.name}\n')
        unit = dict(line.split('=', 1) for line in user_data_file(user_data, '/etc/systemd/system/raygpu-ray.service').splitlines() if '=' in line)
        self.stop_ray = unit['ExecStop'].removeprefix('-')
        self.ray = self.start(unit['ExecStart'], restart=(1, int(unit['RestartPreventExitStatus'])))

    def close(self):
        self.cut_power()
        end(self.chassis.pid)
        self.chassis.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)
        for groups in Path('/sys/fs/cgroup').glob(f'**/{self.groups}'):
            for one in [*sorted(groups.rglob('*'), reverse=True), groups]:
                if one.is_dir():
                    subprocess.run(['rmdir', one], capture_output=True, check=False)


def user_data_file(user_data, path):
    return next(file['content'] for file in user_data['write_files'] if file['path'] == path)


class Service(threading.Thread):
    """Restarts a command when it ends, unless its exit status forbids it."""

    def __init__(self, host, command, restart):
        super().__init__(daemon=True)
        self.host, self.command, self.restart = host, command, restart
        self.log = host.folder / f'{os.path.basename(str(command[0]))}.log'
        self.process, self.ended, self.over, self.starts = None, None, False, 0
        self.start()

    def run(self):
        with open(self.log, 'ab') as log:
            while not self.over:
                self.starts += 1
                self.process = subprocess.Popen(self.host._inside(self.command), stdout=log, stderr=log, start_new_session=True)
                self.ended = None
                code = self.process.wait()
                self.ended = code
                if not self.restart or code == self.restart[1]:
                    return
                time.sleep(self.restart[0])

    def forget(self):
        self.over = True


def wait_for(condition, seconds, otherwise):
    """Asks until it holds. `seconds` are those of an idle machine: on a busy one each question takes longer, and all of them are asked."""
    for _ in range(seconds * 5):
        if condition():
            return
        time.sleep(0.2)
    raise AssertionError(otherwise() if callable(otherwise) else otherwise)

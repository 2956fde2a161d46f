"""A Docker Engine of the tests' own, and a minimal Debian as its image: no registry is asked."""
import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hosts import end, must, run, tied, wait_for

HERE = Path(__file__).resolve().parent


def install():
    """Debian's Docker Engine and what makes hosts, which nothing else needs."""
    programs = {'dockerd': 'docker.io', 'debootstrap': 'debootstrap', 'ip': 'iproute2', 'nsenter': 'util-linux'}
    missing = [package for program, package in programs.items() if not shutil.which(program, path='/usr/sbin:/usr/bin:/sbin:/bin')]
    if missing:
        done = subprocess.run(['timeout', '600', 'apt-get', '-o', 'DPkg::Lock::Timeout=300', 'install', '-y', '-q', '--no-install-recommends', *missing],
                              env={**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'}, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f'apt-get cannot install {" ".join(missing)}: {" ".join(done.stderr.split())[-200:]}')


@contextlib.contextmanager
def docker_engine(folder):
    """The environment in which `docker` talks to it. Its containers have no network but the machine's: `--network host`. Processes and
    mounts are in namespaces that end with this process, however it ends."""
    if os.getuid() != 0:
        pytest.skip('a Docker Engine needs root')
    install()
    config, socket = folder / 'daemon.json', folder / 'docker.sock'
    config.write_text(json.dumps({
        'data-root': str(folder / 'data'), 'exec-root': str(folder / 'exec'), 'pidfile': str(folder / 'pid'), 'hosts': [f'unix://{socket}'],
        'storage-driver': 'overlay2', 'iptables': False, 'ip6tables': False, 'bridge': 'none', 'userland-proxy': False,
        'exec-opts': ['native.cgroupdriver=cgroupfs'], 'log-level': 'warn'}), encoding='utf-8')
    env = {**os.environ, 'DOCKER_HOST': f'unix://{socket}'}
    engine = tied('unshare', '--mount', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc', '--propagation', 'private',
                  'sh', '-c', 'exec tini -- /usr/sbin/dockerd --config-file "$0" >"$1" 2>&1', config, folder / 'log')
    try:
        wait_for(lambda: run('docker', 'info', env=env).returncode == 0, 120,
                 lambda: 'the engine does not answer: ' + (folder / 'log').read_text(encoding='utf-8')[-2000:])
        yield env
    finally:
        end(engine.pid)
        engine.wait(60)
        shutil.rmtree(folder / 'data', ignore_errors=True)


def import_debian(folder, env, name):
    """A minimal Debian 12 becomes that image."""
    root = folder / 'debian'
    made = run('timeout', '900', HERE / 'debian.sh', root)
    if made.returncode:
        pytest.skip(f'debootstrap failed: {" ".join(made.stderr.split())[-200:]}')
    archive = folder / 'debian.tar'
    must('tar', '-C', root, '-cf', archive, '--exclude=./proc/*', '--exclude=./sys/*', '--exclude=./dev/*', '.')
    must('docker', 'import', archive, name, env=env)
    shutil.rmtree(root)
    archive.unlink()

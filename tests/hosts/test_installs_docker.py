"""The user data of a node of Google's default image, on a Debian without docker and with the base package of NVIDIA's toolkit alone, held
at its version as there: apt-get and dpkg are real, and install from a repository whose packages hold a script each. Runs with --long."""
import base64
import gzip
import hashlib
import os
import subprocess
import sys

import pytest
from conftest import HERE
from hosts import must, run
from own_docker import install

sys.path[:0] = [str(HERE.parent / 'cli'), str(HERE.parent / 'cli/gcp')]
from gce_server import Gce, gce_env  # noqa: E402
from program import Home  # noqa: E402
from test_boot import files_of  # noqa: E402
from test_gcp_story import nodes, spec  # noqa: E402

pytestmark = pytest.mark.skipif(os.getuid() != 0 or not os.environ.get('RAYGPU_LONG'), reason='needs root, and runs with --long')

LOG = '#!/bin/sh\necho "$(basename "$0") $*" >>/calls\n'
OLD, NEW = '1.17.8-1', '1.18.1-1'
TOOLKIT = {'libnvidia-container1': [], 'libnvidia-container-tools': ['libnvidia-container1'], 'nvidia-container-toolkit-base': [],
           'nvidia-container-toolkit': ['nvidia-container-toolkit-base', 'libnvidia-container-tools']}
PROGRAMS = {'docker.io': 'docker', 'nvidia-container-toolkit-base': 'nvidia-ctk', 'nvidia-container-toolkit': 'nvidia-container-runtime-hook'}


def package(folder, name, version, depends=()):
    """Its file in the repository, and its paragraph of Packages."""
    root = folder / f'{name}-{version}'
    (root / 'DEBIAN').mkdir(parents=True)
    # the parts of one release need each other's version: without `=VERSION` apt-get would take the newest, which the held one forbids
    needs = f'Depends: {", ".join(f"{one} (= {version})" for one in depends)}\n' if depends else ''
    control = f'Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\n{needs}Description: a stand-in\n'
    (root / 'DEBIAN/control').write_text(control)
    if name in PROGRAMS:
        (root / 'usr/bin').mkdir(parents=True)
        (root / 'usr/bin' / PROGRAMS[name]).write_text(LOG)
        (root / 'usr/bin' / PROGRAMS[name]).chmod(0o755)
    file = folder / 'repo' / f'{name}_{version}_all.deb'
    file.parent.mkdir(exist_ok=True)
    must('dpkg-deb', '--root-owner-group', '--build', root, file)
    data = file.read_bytes()
    return f'{control}Filename: ./{file.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n'


@pytest.fixture
def image(tmp_path):
    """The root of the machine, and how to run a program in it."""
    install()
    root, work = tmp_path / 'root', tmp_path / 'packages'
    made = run('timeout', '900', HERE / 'debian.sh', root, 'curl')
    if made.returncode:
        pytest.skip(f'debootstrap failed: {" ".join(made.stderr.split())[-200:]}')
    texts = package(work, 'docker.io', '24.0-1') + ''.join(package(work, name, version, needs) for version in (OLD, NEW) for name, needs in TOOLKIT.items())
    (work / 'repo/Packages').write_text(texts)
    must('cp', '-a', work / 'repo', root / 'repo')
    (root / 'etc/apt/sources.list').write_text('deb [trusted=yes] file:/repo ./\n')
    for name in ('systemctl', 'journalctl'):
        (root / 'usr/bin' / name).write_text(LOG)
        (root / 'usr/bin' / name).chmod(0o755)

    def inside(*command):
        return subprocess.run(['chroot', root, *command], capture_output=True, text=True, timeout=600, check=False)
    must('mount', '--bind', '/proc', root / 'proc')
    assert inside('dpkg', '-i', f'/repo/nvidia-container-toolkit-base_{OLD}_all.deb').returncode == 0
    assert inside('apt-mark', 'hold', 'nvidia-container-toolkit-base').returncode == 0
    yield root, inside
    must('umount', root / 'proc')


def user_data(tmp_path):
    with Gce('--boot-ms', '0', '--shutdown-ms', '0') as gce:
        home = Home(tmp_path, gce_env(gce, RAYGPU_TEST_NO_WAIT='1'))
        home.write('cluster.yaml', spec({'serve': 'accelerators: "T4:1", nodes: 1'}))
        home.apply()
        items = {item['key']: item['value'] for item in nodes(gce, 'serve')[0]['metadata']['items']}
    data = items['user-data'].encode()
    if items.get('user-data-encoding') == 'base64':
        data = base64.b64decode(data)
    return (gzip.decompress(data) if data.startswith(b'\x1f\x8b') else data).decode()


def test_a_node_of_the_default_image_gets_docker_and_the_toolkit(image, tmp_path):
    root, inside = image
    for path, (mode, content) in files_of(user_data(tmp_path)).items():
        at = root / path.lstrip('/')
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(content)
        at.chmod(int(mode, 8))
    done = inside('/usr/local/lib/raygpu/start-ray')
    said = done.stdout + done.stderr
    # what it lacks then is a driver, which no package of this test has
    assert done.returncode == 78 and 'no nvidia-smi on this image' in said, said
    versions = inside('dpkg-query', '--show', '--showformat', '${Package} ${Version}\n', 'docker.io', '*nvidia*').stdout.split('\n')
    assert {'docker.io 24.0-1', *(f'{name} {OLD}' for name in TOOLKIT)} <= set(versions), said
    calls = (root / 'calls').read_text().splitlines()
    assert calls[:2] == ['nvidia-ctk runtime configure --runtime=docker', 'systemctl restart docker'] and 'docker info' in calls
    # the next start changes nothing
    (root / 'calls').unlink()
    assert inside('/usr/local/lib/raygpu/start-ray').returncode == 78
    assert (root / 'calls').read_text().splitlines() == ['docker info']

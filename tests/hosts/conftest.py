"""Two hosts on which the start scripts run as they are: a real Docker Engine, a real container, a real Ray."""
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / 'cli'), str(HERE.parent / 'cli/boot')]
os.environ.setdefault('RAYGPU_BUILD', str(ROOT / 'build-gcc'))

from own_docker import install  # noqa: E402
from ray_versions import NEWEST, OLDEST  # noqa: E402

VERSIONS = [OLDEST, NEWEST] if os.environ.get('RAYGPU_LONG') else [OLDEST]
WORK = Path(os.environ.get('RAYGPU_TEST_DIR', f'/tmp/raygpu-test-{os.getuid()}')) / 'hosts'


def environment(version):
    """A virtual environment with that Ray, whole; skipped by name where it cannot be made."""
    folder = WORK / f'ray-{version}'
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / f'ray-{version}.lock', 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / 'made').exists():
            subprocess.run(['/usr/bin/python3', '-m', 'venv', '--clear', folder], check=True)
            done = subprocess.run([folder / 'bin/pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:',
                                   f'ray[default]=={version}'], capture_output=True, text=True, timeout=1800, check=False)
            if done.returncode:
                pytest.skip(f'Ray {version} cannot be installed: {" ".join(done.stderr.split())[-200:]}')
            (folder / 'made').touch()
    return folder


def make_image(version):
    """The archive of an image with that Ray; skipped by name where it cannot be made."""
    if os.getuid() != 0:
        pytest.skip('hosts need root')
    install()
    made = subprocess.run(['timeout', '900', HERE / 'image.sh', WORK, version], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f'the image with Ray {version} cannot be made: {" ".join(made.stderr.split())[-200:] or made.returncode}')
    return made.stdout.split()[-1]


@pytest.fixture(scope='module', params=VERSIONS)
def image(request):
    return request.param, make_image(request.param)

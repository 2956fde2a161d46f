"""Programs that only npm has. Without npm, or if it cannot reach its registry, tests that need them are skipped."""
import fcntl
import os
import shutil
import subprocess

import pytest


def install(name, packages, *options):
    """The folder of the packages (NAME@VERSION), below $RAYGPU_TEST_DIR; one process installs them once while others wait."""
    if not shutil.which('npm'):
        pytest.skip('npm is not installed')
    work = os.path.join(os.environ.get('RAYGPU_TEST_DIR', f'/tmp/raygpu-test-{os.getuid()}'), name)
    os.makedirs(work, exist_ok=True)
    mark = os.path.join(work, 'installed')
    with open(os.path.join(work, 'lock'), 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(mark) or open(mark, encoding='utf-8').read() != repr(packages):
            done = subprocess.run(['timeout', '240', 'npm', 'install', '--no-audit', '--no-fund', '--fetch-retries=1', *options,
                                   '--prefix', work, *packages], capture_output=True, text=True, check=False)
            if done.returncode:
                why = ' '.join(done.stderr.split())[:200] or f'no answer, exit code {done.returncode}'
                pytest.skip(f'npm cannot install {" ".join(packages)}: {why}')
            with open(mark, 'w', encoding='utf-8') as f:
                f.write(repr(packages))
    return os.path.join(work, 'node_modules')

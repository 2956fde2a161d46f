"""Files of published Go modules. Without Go, or if its proxy cannot be reached, tests that need them are skipped."""
import fcntl
import json
import os
import shutil
import subprocess

import pytest


def folder_of(module, version):
    """The module's files, in a module cache of the tests' own; one process fetches them while others wait."""
    if not shutil.which('go'):
        pytest.skip('go is not installed')
    work = os.path.join(os.environ.get('RAYGPU_TEST_DIR', f'/tmp/raygpu-test-{os.getuid()}'), 'go')
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(work, 'lock'), 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        env = {**os.environ, 'GOPATH': work, 'GOFLAGS': '-mod=mod -modcacherw', 'GOTOOLCHAIN': 'local'}
        done = subprocess.run(['timeout', '120', 'go', 'mod', 'download', '-json', f'{module}@{version}'], cwd=work, env=env,
                              capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout or '{}')
    if done.returncode or 'Dir' not in answer:
        why = answer.get('Error') or ' '.join(done.stderr.split())[:200] or f'no answer, exit code {done.returncode}'
        pytest.skip(f'go cannot fetch {module} {version}: {why}')
    return answer['Dir']

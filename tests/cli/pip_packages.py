"""Programs that PyPI has. Without it, tests that need them are skipped, by name."""
import fcntl
import glob
import os
import shutil
import subprocess
import sys

import pytest


def install(name, packages, program):
    """The path of a program of these packages (NAME==VERSION), in a virtual environment below $RAYGPU_TEST_DIR; one process makes it
    while others wait."""
    work = os.path.join(os.environ.get('RAYGPU_TEST_DIR', f'/tmp/raygpu-test-{os.getuid()}'), name)
    mark, path = os.path.join(work, 'installed'), os.path.join(work, 'venv/bin', program)
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(work, 'lock'), 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path) or not os.path.exists(mark) or open(mark, encoding='utf-8').read() != repr(packages):
            shutil.rmtree(os.path.join(work, 'venv'), ignore_errors=True)
            for command in ([sys.executable, '-m', 'venv', 'venv'],
                            ['timeout', '300', 'venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '1', *packages]):
                done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
                if done.returncode:
                    why = ' '.join((done.stderr or done.stdout).split())[-200:] or f'exit code {done.returncode}'
                    pytest.skip(f'{" ".join(packages)} cannot be installed: {why}')
            with open(mark, 'w', encoding='utf-8') as f:
                f.write(repr(packages))
    return path


def moto():
    """An independent EC2 and S3."""
    there = [*glob.glob(os.path.expanduser('~/.pyenv/versions/*/bin/moto_server')), shutil.which('moto_server')]
    return next((path for path in there if path), None) or install('moto', ['moto[ec2,s3,sts,iam,ssm,server]==5.2.1'], 'moto_server')

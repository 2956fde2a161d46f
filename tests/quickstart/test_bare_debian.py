"""The README's two commands on a new machine: a bare Debian 12 that has only what their installation adds
(bare-debian.sh)."""
import os
import re
import signal
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, 'bare-debian.sh')
WORK = os.path.join(os.environ.get('RAYGPU_TEST_DIR', f'/tmp/raygpu-test-{os.getuid()}'), 'bare-debian')
pytestmark = pytest.mark.skipif(not os.environ.get('RAYGPU_LONG') and not os.environ.get('RAYGPU_BARE'),
                                reason='a bare Debian: with --long, or after a change of what it installs')


def start(*command):
    # a shell cannot trap what its parent ignores, as a background job does
    return subprocess.Popen([SCRIPT, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def done(process):
    """The command's output; skips the test if there is no bare Debian."""
    said = process.communicate()[0]
    if process.returncode == 77:
        pytest.skip(said.strip())
    assert process.returncode == 0, said
    return said


def leftovers():
    with open('/proc/mounts', encoding='utf-8') as f:
        mounts = [line for line in f if WORK in line]
    return mounts + [name for name in os.listdir(WORK) if name.startswith('run.')]


def test_the_quick_start():
    assert 'instances, interfaces, groups left in the cloud: 0 0 0' in done(start('examples/quickstart.sh'))
    assert not leftovers()


@pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='with --long')
def test_the_tests_are_installed_and_built_and_pass():
    """The parts of tests/run.sh that depend on the machine most."""
    said = done(start('bash', '-c', 'tests/install.sh test && meson setup build && ninja -C build && '
                      'meson test -C build --print-errorlogs --timeout-multiplier 4'))
    assert 'abi_header_cpp17' in said and re.search(r'^Skipped: +0 *$', said, re.M)
    assert not leftovers()


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_interrupted_it_leaves_nothing(number):
    process = start('bash', '-c', 'echo it runs; exec sleep 1000')
    if (line := process.stdout.readline()) != 'it runs\n':
        pytest.fail(line + done(process))
    process.send_signal(number)
    process.communicate(timeout=60)  # ends when all of its processes have ended
    assert process.returncode == 128 + number
    assert not leftovers()

"""What the system refuses: memory, file size. An error, never death by a signal; the state stays valid and the
next apply completes the work."""
import os
import resource
import subprocess
import time

import pytest
from program import Home, binary, spec

MIB = 1 << 20


def limited(home, limits, *arguments):
    def set_limits():
        for which, size in limits.items():
            resource.setrlimit(which, (size, resource.RLIM_INFINITY))
    return subprocess.run([binary(), *arguments], cwd=home.folder, env=home.env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=120, preexec_fn=set_limits)


def converges(home, sim, nodes):
    home.apply('cluster.yaml', '--no-settle')
    home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle')
    assert len(sim.live_instances()) == nodes


def is_sanitized():
    with open(binary(), 'rb') as f:
        return b'__asan_init' in f.read()


@pytest.mark.skipif(is_sanitized(), reason='ASan reserves terabytes')
def test_an_apply_that_runs_out_of_memory_loses_nothing(sim, home):
    """From barely enough to load the program to enough for everything."""
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    failed = 0
    for size in range(30, 200, 6):
        result = limited(home, {resource.RLIMIT_AS: size * MIB}, 'apply', 'cluster.yaml', '--auto-approve',
                         '--no-settle')
        assert result.returncode >= 0 and 'is not a JSON object' not in result.stderr, (size, result)
        failed += result.returncode != 0
    assert failed, 'no size was too small'
    converges(home, sim, 3)


@pytest.mark.skipif(is_sanitized(), reason='ASan reserves terabytes')
def test_out_of_memory_is_an_error(tmp_path):
    """A large spec, refused if there is enough memory: what fails is one of many allocations of jansson and GLib."""
    home = Home(tmp_path)
    pools = ''.join(f'  p{i}: {{accelerators: "T4:1", nodes: 30, labels: {{l: "{i:060}"}}}}\n' for i in range(5000))
    home.write('cluster.yaml', spec(pools={}) + pools)
    said = 0
    for size in range(20, 120, 5):
        result = limited(home, {resource.RLIMIT_AS: size * MIB}, 'validate', 'cluster.yaml', '--json')
        assert result.returncode in (0, 1, 4, 127), (size, result.returncode, result.stderr[-500:])  # 127: the loader's
        if 'out of memory' in result.stderr:
            assert result.returncode == 1 and 'run the command again' in ' '.join(result.stderr.split())
            assert 'ended the process' not in result.stderr, result.stderr
            said += 1
    assert said, 'no size was too small'


@pytest.mark.parametrize('blocks', [0, 4, 16, 64, 100, 130, 160, 200])
def test_a_limit_on_files_is_an_error(sim, home, blocks):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    result = limited(home, {resource.RLIMIT_FSIZE: blocks * 1024}, 'apply', 'cluster.yaml', '--auto-approve',
                     '--no-settle')
    assert result.returncode >= 0, result
    if result.returncode:
        assert '[state.unwritable]' in result.stderr, result
    if os.path.exists(home.state):
        home.run('state', 'list', code=None)
    converges(home, sim, 3)


def test_no_core_files(home):
    """They would contain the keys."""
    process = subprocess.Popen([binary(), 'validate', '-'], cwd=home.folder, env=home.env, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (MIB, MIB)))
    try:
        until = time.monotonic() + 120  # it reads its input after main has set it
        limits = {}
        while limits.get('Max core file size') != '0' and time.monotonic() < until:
            time.sleep(0.01)
            limits = dict(line.rsplit(None, 3)[:2] for line in open(f'/proc/{process.pid}/limits') if 'core' in line)
        assert limits['Max core file size'] == '0'
    finally:
        process.communicate(b'', timeout=60)


@pytest.mark.parametrize('words', [('plan', 'cluster.yaml'), ('apply', 'cluster.yaml', '--auto-approve'),
                                   ('state', 'list'), ('state', 'rebuild')])
def test_a_link_to_nothing_is_no_empty_state(sim, home, words):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    os.mkdir(home.path('.raygpu'))
    os.symlink('/nowhere/state.db', home.state)
    result = home.run(*words, code=1)
    assert 'is a symbolic link to a file that does not exist' in ' '.join(result.err.split())
    assert not sim.live_instances() and os.path.islink(home.state)

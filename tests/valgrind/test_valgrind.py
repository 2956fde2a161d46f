"""The C unit tests, and raygpu itself from validate to destroy, under valgrind's memcheck: no decision depends
on an uninitialised value, nothing is lost, no file descriptor stays open (tests/run.sh --long; the last
figures are in README.md)."""
import json
import os
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get('RAYGPU_BUILD', os.path.join(ROOT, 'build'))
sys.path.insert(0, os.path.join(ROOT, 'tests/cli'))
pytestmark = pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='with --long')

FAULTS = 9  # the exit code that distinguishes valgrind's findings from the program's own
VALGRIND = ['valgrind', '--leak-check=full', '--show-leak-kinds=definite,indirect',
            '--errors-for-leak-kinds=definite,indirect', '--track-fds=yes', '--num-callers=30',
            '--child-silent-after-fork=yes', f'--error-exitcode={FAULTS}',
            f'--suppressions={HERE}/suppressed.supp', '--gen-suppressions=all']
# Memory from malloc, and limits of processor time that allow for valgrind.
ENV = {'G_SLICE': 'always-malloc', 'RAYGPU_TEST_SLOWER': '50'}


def unit_tests():
    """{name: test}: the build's C programs; the rest of its tests run compilers and scripts."""
    text = subprocess.run(['meson', 'introspect', BUILD, '--tests'], check=True, capture_output=True, text=True).stdout
    return {test['name']: test for test in json.loads(text)
            if 'raygpu:unit' in test['suite'] and test['cmd'][0].startswith(os.path.realpath(BUILD))}


def left_open(log):
    """The descriptors that the program opened and did not close, each with where."""
    found = re.findall(r'Open (?:file descriptor|AF_\w+ socket) \d+:.*\n((?:==\d+== {3,}.*\n)+)', log)
    # g_test_trap_subprocess leaves the descriptor of GLib's own worker thread open
    return [place for place in found if not re.search('<inherited from parent>|g_test_trap_subprocess', place)]


def check(log):
    with open(log, encoding='utf-8', errors='replace') as f:
        text = f.read()
    assert re.search(r'ERROR SUMMARY: 0 errors', text), text[-20000:]
    assert not left_open(text), text[-20000:]


@pytest.mark.parametrize('name', unit_tests() if os.environ.get('RAYGPU_LONG') else [])
def test_unit(name, tmp_path):
    test = unit_tests()[name]
    log = tmp_path / 'valgrind'
    done = subprocess.run([*VALGRIND, f'--log-file={log}', *test['cmd']], cwd=test['workdir'], check=False,
                          env={**os.environ, **test['env'], **ENV}, stdin=subprocess.DEVNULL, timeout=3000,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
    check(log)
    assert done.returncode == 0, done.stdout[-6000:]


@pytest.fixture
def raygpu(tmp_path, monkeypatch):
    """Makes tests/cli/program.py run raygpu under valgrind; returns the folder of its logs."""
    logs = tmp_path / 'logs'
    logs.mkdir()
    wrapper = tmp_path / 'raygpu'
    words = [*VALGRIND, '--trace-children=no', f'--log-file={logs}/%p', f'{BUILD}/cmd/raygpu/raygpu']
    wrapper.write_text('#!/bin/sh\nexec ' + ' '.join(f"'{word}'" for word in words) + ' "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv('RAYGPU', str(wrapper))
    for name, value in ENV.items():
        monkeypatch.setenv(name, value)
    return logs


def life(home, steps):
    """Runs the steps, [(exit code, *words)]; returns how many."""
    for code, *words in steps:
        home.run(*words, code=code, timeout=900)
    return len(steps)


def check_logs(logs, runs):
    files = os.listdir(logs)
    assert len(files) == runs
    for name in files:
        check(logs / name)


def test_the_program(raygpu, tmp_path):
    from program import Home, spec  # pylint: disable=import-outside-toplevel
    from sim_server import Sim  # pylint: disable=import-outside-toplevel
    with Sim('--boot-ms', '50', '--shutdown-ms', '50') as sim:
        home = Home(tmp_path, sim.env(**ENV))
        home.write('cluster.yaml', spec(pools={'train': ('A100:8', 2), 'serve': 3}))
        home.write('wrong.yaml', spec(extra='polls: {}\n'))
        home.git('init', '-q')
        home.git('add', 'cluster.yaml')
        home.git('commit', '-qm', 'a cluster')
        runs = life(home, [
            (0, 'version'), (0, 'validate', 'cluster.yaml'), (4, 'validate', 'wrong.yaml'),
            (0, 'fit', 'cluster.yaml'), (0, 'offers', 'T4:1'),
            (0, 'plan', 'cluster.yaml', '--out', 'saved'), (0, 'apply', 'saved'),
            (0, 'plan', 'cluster.yaml', '--detailed-exitcode'), (0, 'show', '--json'),
            (0, 'state', 'list'), (0, 'cost', 'cluster.yaml'), (0, 'drift', 'cluster.yaml', '--format', 'json')])
        sim.ok('TerminateInstances', {'InstanceId.1': sim.live_instances()[0]['instanceId']})
        sim.fault(action='RunInstances', when='before', status=500, code='InternalError')
        runs += life(home, [(2, 'drift', 'cluster.yaml', '--format', 'junit'),
                            (0, 'apply', 'cluster.yaml', '--auto-approve')])
        home.write('cluster.yaml', spec(pools={'train': ('A100:8', 1), 'serve': 1}))
        runs += life(home, [(0, 'plan', 'cluster.yaml', '--format', 'markdown', '--ref', 'HEAD'),
                            (0, 'apply', 'cluster.yaml', '--auto-approve'), (0, 'log'),
                            (0, 'destroy', 'cluster.yaml', '--auto-approve')])
        assert not sim.live_instances()
    check_logs(raygpu, runs)


def test_the_program_on_compute_engine(raygpu, tmp_path):
    """With what EC2 does not have: operations, fingerprints, a bulkInsert of which half fails, lost answers."""
    sys.path.insert(0, os.path.join(ROOT, 'tests/cli/gcp'))
    from gce_server import Gce, gce_env  # pylint: disable=import-outside-toplevel
    from program import Home  # pylint: disable=import-outside-toplevel
    from test_gcp_story import nodes, spec  # pylint: disable=import-outside-toplevel
    pools = {'train': 'accelerators: "A100:1", nodes: 3, network: {placement: cluster}, zones: [us-central1-a]',
             'serve': 'accelerators: "T4:1", nodes: 6, market: spot, public_ip: true'}
    with Gce('--boot-ms', '50', '--shutdown-ms', '50') as gce:
        home = Home(tmp_path, gce_env(gce, **ENV, RAYGPU_TEST_NO_WAIT='1'))
        home.write('cluster.yaml', spec(pools))
        gce.knobs(operation_ms=20, capacity={'n1-standard-4+nvidia-tesla-t4:1': {'us-central1-a': 4, '*': 9}})
        gce.fault(action='instances.bulkInsert', when='after', close=True, count=1)
        runs = life(home, [
            (0, 'validate', 'cluster.yaml'), (0, 'iam', 'cluster.yaml'), (0, 'plan', 'cluster.yaml', '--out', 'saved'),
            (0, 'apply', 'saved'), (0, 'plan', 'cluster.yaml', '--detailed-exitcode'),
            (0, 'drift', 'cluster.yaml', '--format', 'json')])
        one, other = nodes(gce, 'serve')[:2]
        place = 'zones/{0[zone]}/instances/{0[name]}'.format
        for node in (one, other):
            node['zone'] = node['zone'].split('/')[-1]
        gce.done(gce.insert(place(one) + '/stop', None))
        gce.done(gce.delete(place(other)))
        gce.fault(action='instances.setLabels', status=412, code='conditionNotMet', message='stale', count=1)
        home.write('cluster.yaml', spec({**pools, 'serve': pools['serve'].replace(', public_ip: true', '')}).replace('team: ml', 'team: ops'))
        runs += life(home, [(2, 'drift', 'cluster.yaml', '--format', 'junit'),
                            (0, 'apply', 'cluster.yaml', '--auto-approve')])
        gce.knobs(denied_permissions=['compute.instances.list'])
        runs += life(home, [(7, 'plan', 'cluster.yaml')])
        gce.knobs(denied_permissions=[])
        runs += life(home, [(0, 'state', 'rebuild', 'cluster.yaml', '--state', 'new.db'),
                            (0, 'logs', 'gcp.instance.head'), (0, 'log'),
                            (0, 'destroy', 'cluster.yaml', '--auto-approve')])
        assert not nodes(gce)
    check_logs(raygpu, runs)


def test_the_program_on_kubernetes(raygpu, tmp_path):
    """The module's requests against the real API server: a first apply, no changes, a new template, a job, destroy."""
    sys.path[:0] = [os.path.join(ROOT, 'tests/kube'), os.path.join(ROOT, 'tests/cli/kube')]
    import apiserver  # pylint: disable=import-outside-toplevel
    import front  # pylint: disable=import-outside-toplevel
    from controllers import Controllers  # pylint: disable=import-outside-toplevel
    from kube_spec import spec  # pylint: disable=import-outside-toplevel
    from kuberay import KubeRay  # pylint: disable=import-outside-toplevel
    from nodes import Nodes, gpu_node  # pylint: disable=import-outside-toplevel
    from program import Home  # pylint: disable=import-outside-toplevel
    if not apiserver.folder():
        pytest.skip(apiserver.NO_SERVER)
    with front.Cluster(front.RAY) as cluster, Controllers(cluster, Nodes(), KubeRay()):
        cluster.namespace('ml')
        gpu_node(cluster, 'cpu')
        gpu_node(cluster, 'gpu', 'Tesla-T4', 8)
        home = Home(tmp_path, {**ENV, 'KUBECONFIG': cluster.kubeconfig(tmp_path / 'kubeconfig', namespace='ml')})
        home.write('cluster.yaml', spec({'train': 1, 'serve': ('T4:1', '{min: 0, max: 2}')}, extra='jobs: {one: {entrypoint: "true"}}\n'))
        steps = [('plan', 'cluster.yaml', '--trace', 'trace'), ('apply', 'cluster.yaml', '--auto-approve'), ('plan', 'cluster.yaml', '--detailed-exitcode'),
                 ('drift', 'cluster.yaml'), ('export', 'kuberay', 'cluster.yaml'), ('iam', 'cluster.yaml')]
        for words in steps:
            home.run(*words, timeout=600)
        home.write('cluster.yaml', spec({'train': 2, 'more': 1}, env={'train': 'A: b'}))
        home.run('apply', 'cluster.yaml', '--auto-approve', timeout=600)
        home.env['RAYGPU_STATE'] = home.path('rebuilt.db')
        home.run('state', 'rebuild', 'cluster.yaml', timeout=600)
        home.run('destroy', 'cluster.yaml', '--auto-approve', timeout=600)
        assert cluster.list('RayCluster', 'ml') == []
    files = os.listdir(raygpu)
    assert len(files) == len(steps) + 3
    for name in files:
        check(raygpu / name)


def faulty(tmp_path, body):
    """memcheck's log for a program with this body."""
    (tmp_path / 'fault.c').write_text('#include <stdlib.h>\n#include <fcntl.h>\n#include <unistd.h>\n'
                                      f'int main(void) {{ int *p = malloc(8); {body} return 0; }}\n')
    subprocess.run(['cc', '-O0', '-g', '-w', 'fault.c', '-o', 'fault'], cwd=tmp_path, check=True)
    subprocess.run([*VALGRIND, '--log-file=log', './fault'], cwd=tmp_path, check=False)
    return tmp_path / 'log'


def test_a_sound_program_is_let_be(tmp_path):
    check(faulty(tmp_path, 'free(p);'))


@pytest.mark.parametrize('body', ['p = NULL;', 'if (p[1]) close(99); free(p);', 'open("/dev/null", O_RDONLY); free(p);'])
def test_a_fault_is_found(body, tmp_path):
    with pytest.raises(AssertionError):
        check(faulty(tmp_path, body))

"""Text of a pull request cannot send commands to the CI system that logs the job.

The two parsers are GitHub's runner's (actions/runner, src/Runner.Common/ActionCommand.cs: TryParseV2 and
TryParse, as called by ActionCommandManager.cs), with stop-commands; the third is Azure Pipelines'
(src/Microsoft.VisualStudio. Services.Agent/Command.cs). Standard output and standard error are one log, as in
a job."""
import json
import os
import re
import subprocess

import pytest
from program import Home, binary, spec
from sim_server import Sim

KNOWN = {'set-output', 'set-env', 'add-path', 'add-mask', 'save-state', 'error', 'warning', 'notice', 'debug', 'group',
         'endgroup', 'echo', 'add-matcher', 'remove-matcher', 'stop-commands'}
V2 = '::set-output name=exitcode::0'
V1 = '##[set-output name=exitcode;]0'
VSO = '##vso[task.setvariable variable=exitcode]0'
#: Long enough that every wrapped text has lines that begin with a "::" of it; short enough for a quoted line.
WORDS = f'{V1} {VSO} ' + f'{V2} ' * 30


def parse_v2(line, known):
    line = line.lstrip()
    end = line.find('::', 2)
    if not line.startswith('::') or end < 0:
        return None
    name = line[2:end].split(' ')[0].lower()
    return (name, line[end + 2:]) if name in known else None


def parse_v1(line, known):
    at = line.find('##[')
    end = line.find(']', at)
    if at < 0 or end < 0:
        return None
    name = line[at + 3:end].split(' ')[0].lower()
    return (name, line[end + 1:]) if name in known else None


def parse_vso(line):
    at = line.find('##vso[')
    return None if at < 0 or line.find(']', at) < 0 else ('vso', line[at:])


def obeyed(log):
    """The commands that the runner, and Azure Pipelines, would execute."""
    found, stop, known = [], None, set(KNOWN)
    for line in re.split(r'\r\n|\n|\r', log):
        command = parse_v2(line, known) or parse_v1(line, known)
        if command and stop:
            if command[0] == stop:
                known.discard(stop)
                stop = None
        elif command and command[0] == 'stop-commands':
            stop = command[1].lower()
            known.add(stop)
        elif command:
            found.append(command)
        if parse_vso(line):
            found.append(parse_vso(line))
    return found


def test_the_parsers_know_commands():
    """A parser that finds nothing would accept everything below."""
    assert obeyed(f'a\n  {V2}\n') == [('set-output', '0')]
    assert obeyed(f'12 | cluster: {V1}') == [('set-output', '0')]
    assert obeyed(f'x {VSO}')[0][0] == 'vso'
    assert obeyed(f'::stop-commands::w\n{V2}\n::w::\n{V2}') == [('set-output', '0')]
    assert obeyed(f'x {V2}\n##[other]x\n::other::x') == []


@pytest.fixture(scope='module')
def sim():
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as server:
        yield server


@pytest.fixture
def home(tmp_path, sim):
    sim.reset()
    return Home(tmp_path, {**sim.env(), 'GITHUB_STEP_SUMMARY': ''})


def log_of(home, *arguments):
    """Both streams in one, as in a job's log."""
    return subprocess.run([binary(), *arguments], cwd=home.folder, env=home.env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=120
                          ).stdout.decode('utf-8', 'replace')


GOOD = spec(pools={'a': 1})
QUOTED = json.dumps(WORDS)
FIELDS = {
    'cluster': GOOD.replace('cluster: research', f'cluster: {QUOTED}'),
    'label': GOOD.replace('team: ml', f'team: {QUOTED}'),
    'label-key': GOOD.replace('team: ml', f'{QUOTED}: ml'),
    'provider': GOOD.replace('name: aws', f'name: {QUOTED}'),
    'region': GOOD.replace('us-east-1', QUOTED),
    'provider-setting': GOOD.replace('us-east-1', f'us-east-1, vpc: {QUOTED}'),
    'version': GOOD.replace('2.56.1,', f'{QUOTED},'),
    'python': GOOD.replace('"3.11"', QUOTED),
    'image': re.sub(r'image: ".*"', f'image: {QUOTED[:-2]}"'.replace('\\', r'\\'), GOOD),
    'instance-type': GOOD.replace('m5.2xlarge', QUOTED),
    'accelerators': GOOD.replace('"T4:1"', QUOTED),
    'nodes': GOOD.replace('nodes: 1', f'nodes: {QUOTED}'),
    'zones': GOOD.replace('nodes: 1', f'nodes: 1, zones: [{QUOTED}]'),
    'ami': GOOD.replace('nodes: 1', f'nodes: 1, image: {QUOTED}'),
    'env': GOOD.replace('nodes: 1', f'nodes: 1, env: {{A: {QUOTED}}}'),
    'env-name': GOOD.replace('nodes: 1', f'nodes: 1, env: {{{QUOTED}: a}}'),
    'pool': GOOD.replace('  a:', f'  {QUOTED}:'),
    'key': GOOD + f'{QUOTED}: 1\n',
    'comment': GOOD.replace('nodes: 1}', f'nodes: no}} # {WORDS}'),
    'broken': GOOD + f'  {QUOTED}: [\n {V2}\n',
    'workload': GOOD + f'workloads: {{w: {{gpus: 1, env: {QUOTED}}}}}\n',
    'label-kept': GOOD.replace('team: ml', f'team: "{V1}", b: "{V2}"'),
}
RUNS = {'text': ['plan'], 'github': ['plan', '--format', 'github'], 'markdown': ['plan', '--format', 'markdown'],
        'json': ['plan', '--format', 'json'], 'stream': ['plan', '--json'], 'validate': ['validate'],
        'validate-json': ['validate', '--json'],
        'apply': ['apply', '--auto-approve'], 'junit': ['plan', '--format', 'junit'], 'fit': ['fit']}


@pytest.mark.parametrize('run', RUNS)
@pytest.mark.parametrize('field', FIELDS)
def test_a_spec_gives_no_orders(home, field, run):
    home.write('cluster.yaml', FIELDS[field])
    log = log_of(home, *RUNS[run])
    own = [c for c in obeyed(log) if run == 'github' and c[0] in ('error', 'warning', 'notice')]
    assert obeyed(log) == own, log
    assert 'set-output' in log or run not in ('validate', 'text') or field in ('env', 'label-kept', 'workload'), log
    if run == 'github':
        assert log.count('hint:') <= 2 * log.count('Error: '), log


def test_several_specs_and_a_file_name(home):
    os.mkdir(home.path('clusters'))
    for name in (f'a {V1}.yaml', f'b\n{V2}\n.yaml', 'c.yaml'):
        home.write(f'clusters/{name}', GOOD.replace('research', 'r' + name[0]) + 'nodez: 1\n')
    home.write('clusters/d.yaml', GOOD)
    for more in ([], ['--format', 'github'], ['--format', 'markdown'], ['--json']):
        log = log_of(home, 'plan', 'clusters', *more)
        assert all(c[0] in ('error', 'warning', 'notice') for c in obeyed(log)), log
        assert 'set-output' in log
    assert obeyed(log_of(home, 'validate', f'no\n{V2}')) == []
    assert obeyed(log_of(home, 'apply', 'clusters', '--auto-approve')) == []


@pytest.mark.parametrize('more', [[], ['--format', 'github'], ['--format', 'markdown'], ['--json']])
def test_an_error_of_the_cloud(home, sim, more):
    home.write('cluster.yaml', GOOD)
    sim.fault(action='DescribeVpcs', count=0, status=400, code='Odd', message=f'x\n{WORDS}\n{V2}')
    log = log_of(home, 'plan', *more)
    assert all(c[0] in ('error', 'warning', 'notice') for c in obeyed(log)), log
    assert 'set-output' in log


def test_an_error_of_the_cloud_while_applying(home, sim):
    home.write('cluster.yaml', GOOD)
    sim.fault(action='RunInstances', count=0, status=400, code='Odd', message=f'{WORDS}\n{V2}')
    for more in ([], ['--json']):
        log = log_of(home, 'apply', '--auto-approve', *more)
        assert obeyed(log) == [] and 'set-output' in log


def test_the_developers_log(home, sim):
    home.write('cluster.yaml', GOOD)
    home.env['RAYGPU_LOG'] = 'debug'
    sim.fault(action='DescribeVpcs', count=0, status=400, code=V1, message=f'x\n{V2}')
    assert obeyed(log_of(home, 'plan', f'--cluster={V1}')) == obeyed(log_of(home, 'plan')) == []


def test_json_keeps_the_words(home):
    home.write('cluster.yaml', FIELDS['cluster'])
    document = home.run('validate', '--json', code=4).json()
    assert V1 in json.dumps(document['diagnostics'][0]['range'] and document['diagnostics'][0]['snippet'])


def test_github_has_each_diagnostic_once(home):
    home.write('cluster.yaml', GOOD + 'nodez: 1\n')
    result = home.run('plan', '--format', 'github', code=4)
    assert result.err == '' and result.out.count('Error: ') == 1
    os.mkdir(home.path('clusters'))
    for name in 'ab':
        home.write(f'clusters/{name}.yaml', GOOD.replace('research', name) + 'nodez: 1\n')
    result = home.run('plan', 'clusters', '--format', 'github', code=4)
    assert 'Error' not in result.err and result.out.count('Error: ') == 2

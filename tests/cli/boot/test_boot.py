"""What nodes run first: golden files, real validators, and the start script run for real.

The helper src/boot/fit_view runs spec, catalog, fit and boot on files. With RAYGPU_UPDATE_GOLDEN=1 the golden
files are written instead of compared."""
import gzip
import json
import os
import random
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
import yaml
import nvidia_smi
from program import ROOT

GOLDEN = ROOT / 'tests/golden'
FACTS = GOLDEN / 'fit/facts.json'
LIMIT = 16384
LINEAGE = '0123456789abcdef0123456789abcdef'


def fit(spec, facts=FACTS, pins='-', lineage='-', limit=LIMIT):
    view = Path(os.environ['RAYGPU_BUILD']) / 'src/boot/fit_view'
    done = subprocess.run(
        [view, ROOT / 'providers/aws', spec, facts, pins, lineage, str(limit)],
        stdout=subprocess.PIPE, check=False, text=True)
    assert done.returncode in (0, 1)
    result = json.loads(done.stdout)
    assert (done.returncode == 0) == ('fitted' in result), result
    return result


def compare(path, text):
    if os.environ.get('RAYGPU_UPDATE_GOLDEN'):
        path.write_text(text)
    assert path.read_text() == text


def spec_file(tmp_path, head='', pools='  {}', ray=''):
    path = tmp_path / 'spec.yaml'
    path.write_text(
        'cluster: c\nprovider: {name: aws, region: us-east-1}\n'
        f'ray: {{version: 2.56.1, python: "3.11"{ray}}}\n'
        f'head:\n  instance_type: m5.2xlarge\n{head}pools:\n{pools}\n')
    return path


def files_of(user_data):
    """The files that cloud-init would write: path -> (mode, content)."""
    assert user_data.startswith('#cloud-config\n')
    config = yaml.safe_load(user_data)
    assert config['runcmd'][-1][-1] == 'raygpu-ray.service'
    assert len(config['runcmd']) == 2
    return {f['path']: (f['permissions'], f['content']) for f in config['write_files']}


def groups_of(result):
    return list(zip(result['fitted']['nodes'], result['user_data']))


# --- golden files -------------------------------------------------------------------------

@pytest.mark.parametrize('name', ['plain', 'hostile'])
def test_user_data_is_as_recorded(name):
    for node, text in groups_of(fit(GOLDEN / f'boot/{name}.yaml')):
        compare(GOLDEN / f'boot/{name}.{node["pool"]}.txt', text)


@pytest.mark.parametrize('pins,name', [('-', 'first'), (GOLDEN / 'fit/research.pins.json', 'pinned')])
def test_fitted_document_is_as_recorded_and_keeps_the_schema(pins, name):
    first = pins == '-'
    result = fit(GOLDEN / 'fit/research.yaml', facts=FACTS if first else '-', pins=pins,
                 lineage='-' if first else LINEAGE)
    schema = json.loads((ROOT / 'schemas/fitted.schema.json').read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(result['fitted'])
    for node in result['fitted']['nodes']:
        del node['boot']
    compare(GOLDEN / f'fit/research.{name}.json',
            json.dumps({k: result[k] for k in ('request', 'fitted', 'errors')}, indent=1) + '\n')


@pytest.mark.parametrize('by', ['container', 'nothing'])
def test_what_boots_without_cloud_init_gets_the_ray_node_itself(by):
    result = fit(GOLDEN / 'boot/plain.yaml', limit=by)
    schema = json.loads((ROOT / 'schemas/fitted.schema.json').read_text())
    jsonschema.Draft202012Validator(schema).validate(result['fitted'])
    compare(GOLDEN / f'boot/plain.{by}.json',
            json.dumps({node['pool']: node['boot'] for node in result['fitted']['nodes']}, indent=1) + '\n')
    assert '/etc/raygpu' not in json.dumps(result['fitted']['nodes'])


# --- validators ---------------------------------------------------------------------------

@pytest.mark.skipif(not shutil.which('cloud-init'), reason='cloud-init is not installed')
@pytest.mark.parametrize('name', ['plain', 'hostile'])
def test_cloud_init_accepts_it(name, tmp_path):
    for node, text in groups_of(fit(GOLDEN / f'boot/{name}.yaml')):
        path = tmp_path / node['pool']
        path.write_text(text)
        done = subprocess.run(['cloud-init', 'schema', '--config-file', path], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 0, done.stdout
        assert 'Valid' in done.stdout
    path.write_text(text.replace('"write_files": [', '"write_files": ["x", '))
    done = subprocess.run(['cloud-init', 'schema', '--config-file', path], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert done.returncode != 0, 'the validator finds nothing wrong with anything'


@pytest.mark.skipif(not shutil.which('shellcheck'), reason='shellcheck is not installed')
@pytest.mark.parametrize('name', ['plain', 'hostile'])
def test_shellcheck_is_content(name, tmp_path):
    for _, text in groups_of(fit(GOLDEN / f'boot/{name}.yaml')):
        conf = tmp_path / 'node.conf'
        conf.write_text(files_of(text)['/etc/raygpu/node.conf'][1])
        # SC2034: these variables are for start-ray; SC2016: $ in quotes stays as it is
        subprocess.run(['shellcheck', '--shell=bash', '--exclude=SC2034,SC2016', conf], check=True)


@pytest.mark.skipif(not shutil.which('shellcheck'), reason='shellcheck is not installed')
def test_shellcheck_is_content_with_the_scripts():
    scripts = sorted((ROOT / 'src/boot').glob('*.sh')) + sorted((ROOT / 'providers').glob('*/boot/*.sh'))
    assert len(scripts) >= 7
    subprocess.run(['shellcheck', *scripts], check=True)


def test_scripts_go_to_nodes_without_their_comments():
    files = files_of(fit(GOLDEN / 'boot/plain.yaml')['user_data'][1])
    for name, source in (('start-ray', 'src/boot/start-ray.sh'), ('gate', 'src/boot/gate.sh'),
                         ('cloud', 'providers/aws/boot/cloud.sh')):
        first, *lines = (ROOT / source).read_text().split('\n')
        expected = '\n'.join([first, *(line for line in lines if not line.lstrip().startswith('#'))])
        assert files[f'/usr/local/lib/raygpu/{name}'][1] == expected


@pytest.mark.skipif(not shutil.which('systemd-analyze'), reason='systemd-analyze is not installed')
def test_systemd_accepts_the_unit(tmp_path):
    text = fit(GOLDEN / 'boot/plain.yaml')['user_data'][0]
    unit = files_of(text)['/etc/systemd/system/raygpu-ray.service'][1]
    path = tmp_path / 'raygpu-ray.service'
    path.write_text(unit.replace('/usr/local/lib/raygpu/start-ray', '/bin/true'))
    done = subprocess.run(['systemd-analyze', 'verify', path], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert 'raygpu-ray' not in done.stdout, done.stdout


# --- the token ----------------------------------------------------------------------------

def test_the_token_is_only_a_reference():
    result = fit(GOLDEN / 'boot/plain.yaml')
    for node, text in groups_of(result):
        whole = node['boot']['user_data']
        pieces = whole.get('$gzip_base64', whole)['$join']
        refs = [p for p in pieces if isinstance(p, dict)]
        assert {'$ref': 'raygpu.secret.ray_token', 'attr': 'value'} in refs
        head = {'$ref': '@head', 'attr': 'address'}
        assert (head in refs) == (node['role'] == 'worker')
        assert len(refs) == (1 if node['role'] == 'head' else 2)
        assert text.count('<token>') == 1
        assert files_of(text)['/etc/raygpu/token'] == ('0600', '<token>')


def test_without_authentication_there_is_no_token(tmp_path):
    spec = spec_file(tmp_path, ray=', auth: none')
    node, text = groups_of(fit(spec))[0]
    assert '$ref' not in json.dumps(node['boot']['user_data'])
    assert '/etc/raygpu/token' not in files_of(text)
    env = files_of(text)['/etc/raygpu/ray.env'][1].split('\n')
    assert [line for line in env if line.startswith('RAY_AUTH')] == ['RAY_AUTH_MODE=disabled']


@pytest.mark.parametrize('version,there', [('2.48.0', False), ('2.49.0', True)])
def test_labels_are_left_out_where_ray_does_not_know_them(version, there, tmp_path):
    spec = spec_file(tmp_path, ray=', auth: none')
    spec.write_text(spec.read_text().replace('2.56.1', version))
    conf = files_of(fit(spec)['user_data'][0])['/etc/raygpu/node.conf'][1]
    assert ('--labels=' in conf) == there


def test_ray_counts_the_cpus_that_the_spec_says(tmp_path):
    spec = spec_file(tmp_path, '  num_cpus: 0\n', '  some: {accelerators: T4, nodes: 1, num_cpus: 3}\n  all: {accelerators: T4, nodes: 1}')
    result = fit(spec)
    schema = json.loads((ROOT / 'schemas/fitted.schema.json').read_text())
    jsonschema.Draft202012Validator(schema).validate(result['fitted'])
    words = {node['pool']: re.findall(r'--num-cpus=\d+', text) for node, text in groups_of(result)}
    assert words == {'head': ['--num-cpus=0'], 'some': ['--num-cpus=3'], 'all': []}


def test_ray_starts_with_the_memory_that_the_spec_says(tmp_path):
    start = '{object_store_memory: 8, memory: 20GB, system_config: {health_check_period_ms: 5000, "a b": "$x \'y\'"}}'
    result = fit(spec_file(tmp_path, f'  ray_start: {start}\n', '  some: {accelerators: "A100:8", nodes: 1, ray_start: {object_store_memory: 600GB}}\n'
                           '  all: {accelerators: T4, nodes: 1}'))
    schema = json.loads((ROOT / 'schemas/fitted.schema.json').read_text())
    jsonschema.Draft202012Validator(schema).validate(result['fitted'])
    words = {}
    for node, text in groups_of(result):
        conf = files_of(text)['/etc/raygpu/node.conf'][1]
        words[node['pool']] = [word for word in shlex.split(conf) if re.match('--(memory|object-store-memory|system-config)=|shm_mib=', word)]
    gib = 2 ** 30
    assert words['head'][1:] == [f'--memory={20 * gib}', f'--object-store-memory={8 * gib}',
                                 '--system-config={"a b":"$x \'y\'","health_check_period_ms":5000}']
    assert words['some'] == [f'shm_mib={600 * 1024 * 105 // 100}', f'--object-store-memory={600 * gib}']
    assert len(words['all']) == 1 and words['all'][0].startswith('shm_mib=')


# --- size ---------------------------------------------------------------------------------

def noise(n, seed=1):
    return ''.join(random.Random(seed).choices('0123456789abcdefghijklmnopqrstuvwxyz', k=n))


def test_long_user_data_is_compressed(tmp_path):
    words = '\n'.join(f'    V{i}: "{"word " * 700}"' for i in range(6))
    node, text = groups_of(fit(spec_file(tmp_path, f'  env:\n{words}\n')))[0]
    assert len(text.encode()) > LIMIT
    assert list(node['boot']['user_data']) == ['$gzip_base64']
    assert len(gzip.compress(text.encode(), 9)) <= LIMIT


def test_the_longest_references_count(tmp_path):
    """Just under the limit with short samples, over it with a real token: compressed."""
    size = len(fit(spec_file(tmp_path))['user_data'][0].encode())
    grown = size - len('<token>') + 64
    for limit, kind in ((grown, '$join'), (grown - 1, '$gzip_base64')):
        node = fit(spec_file(tmp_path), limit=limit)['fitted']['nodes'][0]
        assert list(node['boot']['user_data']) == [kind]


def test_too_large_is_refused_never_cut(tmp_path):
    words = '\n'.join(f'    V{i}: "{noise(4000, i)}"' for i in range(8))
    result = fit(spec_file(tmp_path, f'  env:\n{words}\n'))
    assert 'fitted' not in result
    error, = result['errors']
    assert error['code'] == 'boot.too-large'
    assert '16384' in error['summary']
    assert 'env' in error['hint']
    assert error['line'] == 7  # the value of env


# --- what cannot be represented --------------------------------------------------------------

@pytest.mark.parametrize('head', [
    '  env: {RAY_AUTH_TOKEN: x}\n',
    '  env: {RAY_NODE_TYPE_NAME: x}\n',
    '  env: {NVIDIA_VISIBLE_DEVICES: all}\n',
    '  env: {"1X": x}\n',
    '  env: {"A B": x}\n',
    '  env: {"A=B": x}\n',
    '  resources: {GPU: 4}\n',
    '  resources: {memory: 4}\n',
    '  labels: {"a,b": c}\n',
    '  labels: {a: "b,c=d"}\n',
])
def test_what_ray_or_docker_would_misread_is_refused(head, tmp_path):
    result = fit(spec_file(tmp_path, head))
    assert 'fitted' not in result
    error, = result['errors']
    assert error['code'].startswith('spec.')
    assert error['line'] == 6


# --- the start script, run ----------------------------------------------------------------

class Node:
    """A machine: the files of one user data under a folder, and replacements for its programs."""

    places = ()    # further folders that its scripts search
    printed = ''    # by the last start, which the console shows too

    def __init__(self, folder, user_data, gpus=0):
        self.folder = folder
        self.bin = folder / 'bin'
        self.bin.mkdir(parents=True)
        for path, (mode, content) in files_of(user_data).items():
            at = folder / path.lstrip('/')
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_text(content if path.endswith('node.conf') else self.moved(content))
            at.chmod(int(mode, 8))
        for word in ('bash', 'cat', 'date', 'env', 'grep', 'head', 'id', 'install', 'rm', 'sed', 'timeout'):
            (self.bin / word).symlink_to(shutil.which(word))
        self.program('sleep', f'echo "$1" >>"{folder}/slept"')
        self.program('systemctl', f'echo "$*" >>"{folder}/systemctl.log"')
        self.program('mountpoint', f'[ -e "{folder}/mounted" ]')
        (folder / 'dev').mkdir()
        self.console = folder / 'dev/console'
        uid = os.getuid()
        self.program('docker', f'''
            case "$1" in
            info|image|pull) exit 0 ;;
            ps) [ "$*" != "ps --all --quiet --filter name=^ray$ --filter label=raygpu.io/node" ] || cat "{folder}/old" 2>/dev/null; exit 0 ;;
            rm) echo "$*" >"{folder}/removed"; exit ;;
            stop) : >"{folder}/stopped"; exit ;;
            version) cat "{folder}/docker-version" 2>/dev/null || echo 28.5.2; exit ;;
            esac
            case "$*" in
            *"--env NVIDIA_VISIBLE_DEVICES=void --entrypoint id"*) echo {uid} ;;
            *) printf '%s\\0' "$@" >"{folder}/docker.args"; . "{folder}/ray" ;;
            esac''')
        (folder / 'ray').write_text('')    # what the container does
        self.program('curl', f'''
            case "$*" in
            *healthz)
                echo >>"{folder}/asked"
                read -r answer 2>/dev/null <"{folder}/healthz"
                [ "$answer" != refused ] || exit 7
                printf %s "$answer"
                exit ;;
            esac
            printf '%s\\n' "$*" >>"{folder}/curl.log"
            case "$*" in
            *PUT*api/token) printf SESSION ;;
            *"metadata-token: SESSION"*instance-id) printf i-0123 ;;
            *"metadata-token: SESSION"*local-ipv4) printf 10.9.8.7 ;;
            *) exit 22 ;;
            esac''')
        if gpus:
            self.program('nvidia-ctk', 'true')
            self.state = folder / 'nvidia.json'
            nvidia_smi.new(self.state, gpus)
            self.program('nvidia-smi', f'exec {sys.executable} -I -S {nvidia_smi.__file__} {self.state} "$@"')

    def moved(self, text):
        for path in ('/etc/raygpu', '/run/raygpu', '/usr/local/lib/raygpu', '/var/log/raygpu', '/var/lib/raygpu',
                     '/opt/dlami', '/dev/console', *self.places):
            text = text.replace(path, f'{self.folder}{path}')
        return text

    def program(self, name, body):
        path = self.bin / name
        path.write_text(f'#!{shutil.which("bash")}\n{body}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def start(self, **env):
        done = subprocess.run(
            [self.bin / 'bash', self.folder / 'usr/local/lib/raygpu/start-ray'], check=False,
            env={'PATH': str(self.bin), 'HOME': str(self.folder), **env}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.printed = done.stdout + done.stderr
        return done.returncode, done.stderr

    def reports(self):
        """What raygpu reads: (state, {key: value}) of each line."""
        for _ in range(500):  # a script that runs is between the two, now and then
            lines = self.console.read_text().splitlines()
            log = (self.folder / 'var/log/raygpu/boot.log').read_text().splitlines()
            if lines == (logged := [line for line in log if line.startswith('raygpu: v1 ')]):
                break
            time.sleep(0.02)
        assert lines == logged
        words = [shlex.split(line) for line in lines]
        assert all(w[:2] == ['raygpu:', 'v1'] and w[-1] == 'end' for w in words), lines
        return [(w[2], dict(pair.split('=', 1) for pair in w[3:-1])) for w in words]

    def docker_args(self):
        return (self.folder / 'docker.args').read_bytes().decode().split('\0')[:-1]

    def container_env(self):
        """The environment as docker would build it: its env files take lines literally."""
        args, env = self.docker_args(), {}
        for option, value in zip(args, args[1:]):
            if option == '--env-file':
                for line in Path(value).read_bytes().decode().split('\n'):
                    line = line.removesuffix('\r')
                    if line.lstrip() and not line.lstrip().startswith('#'):
                        name, text = line.lstrip().split('=', 1)
                        env[name] = text
            if option == '--env':
                name, text = value.split('=', 1)
                env[name] = text
        return env


def option(args, name):
    found = [a[len(name) + 1:] for a in args if a.startswith(name + '=')]
    assert len(found) == 1, (name, args)
    return found[0]


def test_only_a_container_of_raygpu_is_removed(tmp_path):
    """Left by a start that was killed. Docker shows it, with this label."""
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    node.start()
    assert not (node.folder / 'removed').exists()
    (node.folder / 'old').write_text('0123456789ab\n')
    node.start()
    assert (node.folder / 'removed').read_text() == 'rm --force ray\n'


def test_head_starts(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    status, said = node.start()
    assert status == 0, said
    assert '<token>' not in said
    args = node.docker_args()
    image = args.index('rayproject/ray:2.56.1-py311-cu121')
    before, ray = args[:image], args[image + 1:]
    assert before[:6] == ['run', '--rm', '--name', 'ray', '--init', '--network']
    assert before[before.index('--label') + 1] == 'raygpu.io/node' and not (node.folder / 'removed').exists()
    assert before[before.index('--shm-size') + 1] == '9831m'
    assert '--gpus' not in before
    assert not any('<token>' in a for a in args), 'the token is in argv'
    assert ray[:2] == ['ray', 'start']
    assert '--head' in ray and '--block' in ray and '--disable-usage-stats' in ray
    assert option(ray, '--num-gpus') == '0'
    assert option(ray, '--port') == '6379'
    assert option(ray, '--dashboard-host') == '127.0.0.1'
    assert option(ray, '--node-ip-address') == '10.9.8.7'
    assert not any(a.startswith(('--num-cpus', '--address')) for a in ray)
    env = node.container_env()
    assert env['RAY_CLOUD_INSTANCE_ID'] == 'i-0123'
    assert env['RAY_NODE_TYPE_NAME'] == 'head'
    assert env['RAY_CLOUD_INSTANCE_TYPE_NAME'] == 'm5.2xlarge'
    assert env['NVIDIA_VISIBLE_DEVICES'] == 'void'
    assert env['RAY_AUTH_MODE'] == 'token'
    assert (node.folder / 'run/raygpu/token').read_text() == '<token>'
    assert stat.S_IMODE((node.folder / 'run/raygpu/token').stat().st_mode) == 0o400


def test_worker_joins_the_head(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][1], gpus=8)
    status, said = node.start()
    assert status == 0, said
    args = node.docker_args()
    assert args[args.index('--gpus') + 1] == 'all'
    assert option(args, '--address') == '10.1.2.3:6379'
    assert option(args, '--num-gpus') == '8'
    assert json.loads(option(args, '--resources')) == {
        'accelerator_type:A100': 1, 'accelerator_type:A100-40G': 1}
    labels = dict(p.split('=') for p in option(args, '--labels').split(','))
    assert labels['ray.io/accelerator-type'] == 'A100'
    assert labels['ray.io/market-type'] == 'on-demand'
    assert labels['ray.io/availability-zone'] == 'us-east-1b'
    assert labels['ray.io/availability-region'] == 'us-east-1'
    assert labels['ray.io/node-group'] == 'train'
    assert labels['raygpu.io/cluster'] == 'plain'
    assert 'NVIDIA_VISIBLE_DEVICES' not in node.container_env()
    assert '--head' not in args


@pytest.mark.parametrize('route,address', [
    ('192.0.2.1 via 10.1.0.1 dev ens5 src 10.1.2.9 uid 0 \\    cache', '10.1.2.9'),
    ('192.0.2.1 dev wg0 table 7', None), (None, None)])
def test_without_a_fragment_the_address_is_that_of_the_default_route(route, address, tmp_path):
    class Plain(Node):
        places = ('/var/lib/cloud',)

    node = Plain(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    (node.folder / 'usr/local/lib/raygpu/cloud').unlink()
    (node.folder / 'var/lib/cloud/data').mkdir(parents=True)
    (node.folder / 'var/lib/cloud/data/instance-id').write_text('vm-7\n')
    if route:
        node.program('ip', f"[ \"$*\" = '-4 -o route get 192.0.2.1' ] && echo '{route}'")
    status, said = node.start()
    assert status == 0, said
    assert [a for a in node.docker_args() if a.startswith('--node-ip-address')] == (
        [f'--node-ip-address={address}'] if address else [])
    assert node.container_env()['RAY_CLOUD_INSTANCE_ID'] == 'vm-7'
    assert not (node.folder / 'curl.log').exists()


def test_no_empty_array_is_expanded(tmp_path):
    """Which bash before 4.4 (Amazon Linux 2, the default image of V100 nodes, has 4.2) refuses under set -u."""
    spec = spec_file(tmp_path, ray=', auth: none')
    node = Node(tmp_path / 'n', fit(spec)['user_data'][0])
    watch = tmp_path / 'watch'
    watch.write_text("""trap 'case $BASH_COMMAND in
        *container_args\\[@\\]*) [ "${#container_args[@]}" -gt 0 ] || exit 99 ;;
        *ray_args\\[@\\]*) [ "${#ray_args[@]}" -gt 0 ] || exit 99 ;;
        esac' DEBUG
""")
    status, said = node.start(BASH_ENV=str(watch))
    assert status == 0, said
    assert node.container_env()['RAY_CLOUD_INSTANCE_ID'] == 'i-0123'


PATIENCE = {'RAY_DASHBOARD_STARTUP_TIMEOUT_S': '600', 'RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT': '600'}


def test_the_dashboard_of_a_slow_head_gets_its_time(tmp_path):
    head, worker = (Node(tmp_path / name, fit(GOLDEN / 'boot/plain.yaml')['user_data'][i], gpus=8 * i) for i, name in enumerate(('head', 'worker')))
    for node in head, worker:
        node.start()
    assert PATIENCE.items() <= head.container_env().items()
    assert not PATIENCE.keys() & worker.container_env().keys()
    own = next(iter(PATIENCE))
    text = (GOLDEN / 'boot/hostile.yaml').read_text().replace('  env:\n', f'  env:\n    {own}: "90"\n', 1)
    (tmp_path / 'own.yaml').write_text(text)
    node = Node(tmp_path / 'own', fit(tmp_path / 'own.yaml')['user_data'][0])
    node.start()
    assert node.container_env()[own] == '90'


def test_hostile_values_arrive_unchanged(tmp_path):
    spec = yaml.safe_load((GOLDEN / 'boot/hostile.yaml').read_text())
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/hostile.yaml')['user_data'][0])
    status, said = node.start()
    assert status == 0, said
    env = node.container_env()
    for name, value in spec['head']['env'].items():
        assert env.pop(name) == value, name
    assert sorted(env) == ['NVIDIA_VISIBLE_DEVICES', 'RAY_AUTH_MODE', 'RAY_CLOUD_INSTANCE_ID',
                           'RAY_CLOUD_INSTANCE_TYPE_NAME', *sorted(PATIENCE), 'RAY_NODE_TYPE_NAME']
    assert json.loads(option(node.docker_args(), '--resources')) == {'special.thing': 1}


@pytest.mark.parametrize('missing,status,said', [
    ('docker', 78, 'no docker on this image'),
    ('nvidia-smi', 78, 'no GPU driver'),
    ('nvidia-ctk', 78, 'nvidia-container-toolkit'),
    ('curl', 78, 'no curl'),
])
def test_a_missing_program_is_said_and_not_retried(missing, status, said, tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][1], gpus=8)
    (node.bin / missing).unlink()
    got, text = node.start()
    assert got == status
    assert text.startswith('raygpu: ') and said in text
    assert not (node.folder / 'docker.args').exists()


def test_silent_metadata_is_said_and_retried(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    node.program('curl', 'exit 28')
    status, text = node.start()
    assert status == 1
    assert 'metadata service does not answer' in text


def test_an_empty_token_file_is_refused(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    (node.folder / 'etc/raygpu/token').write_text('')
    status, text = node.start()
    assert status == 78
    assert 'no Ray token' in text


# --- what the node reports -------------------------------------------------------------------

WAIT_FOR_JOIN = 'until grep -q "v1 joined" {folder}/dev/console; do sleep 0.02; done'


def test_each_step_is_reported(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][1], gpus=8)
    (node.folder / 'healthz').write_text('success')
    (node.folder / 'ray').write_text(WAIT_FOR_JOIN.format(folder=node.folder))
    assert node.start()[0] == 0
    got = node.reports()
    assert [(state, said['step']) for state, said in got] == [
        ('booted', 'start'), ('doing', 'docker'), ('doing', 'driver'), ('driver', 'driver'), ('doing', 'gpus'),
        ('gpus', 'gpus'), ('doing', 'gate'),
        ('doing', 'identity'), ('pulling', 'pull'), ('pulled', 'pull'), ('doing', 'container'), ('doing', 'token'),
        ('doing', 'ray'),
        ('joined', 'ray'), ('failed', 'ray')]
    boot = Path('/proc/sys/kernel/random/boot_id').read_text()[:8]
    assert {said['boot'] for _, said in got} == {boot}
    said = dict(got)
    assert said['gpus']['gpu'].split(',') == [nvidia_smi.uuid(i) for i in range(8)] and said['gpus']['seen'] == '8'
    assert said['joined'] == {'boot': boot, 'step': 'ray', 'instance': 'i-0123', 'gpus': '8', 'driver': '550.90.07'}
    assert said['failed'] == {'boot': boot, 'step': 'ray', 'code': '0', 'reason': 'the container ended with status 0'}


@pytest.mark.parametrize('program,body,step,code,reason', [
    ('docker', 'exit 1', 'docker', '1', 'docker does not answer'),
    ('nvidia-smi', 'exit 9', 'driver', '1', 'nvidia-smi shows no driver'),
    ('curl', 'exit 28', 'identity', '1', 'the metadata service does not answer'),
    ('docker', '[ $1 = info ] || { printf "one\\nno such host\\n" >&2; exit 1; }', 'pull', '1',
     "can't pull rayproject/ray:2.56.1-py311-cu121: no such host"),
    ('docker', 'case $1 in info|image) ;; *) exit 125 ;; esac', 'container', '1',
     'rayproject/ray:2.56.1-py311-cu121 does not run'),
    ('install', 'case "$*" in *"-m 0400"*) exit 3 ;; *-d*) exec /bin/mkdir -p "${@: -1}" ;; esac', 'token', '3',
     'start-ray ended with status 3'),
])
def test_a_failure_names_its_step(program, body, step, code, reason, tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][1], gpus=8)
    (node.bin / program).unlink()
    node.program(program, body)
    assert node.start()[0] == int(code)
    state, said = node.reports()[-1]
    assert (state, said['step'], said['code'], said['reason']) == ('failed', step, code, reason)


def test_a_ray_that_ends_is_reported_with_its_status(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    (node.folder / 'ray').write_text('exit 7')
    assert node.start()[0] == 7
    state, said = node.reports()[-1]
    assert (state, said['step'], said['code']) == ('failed', 'ray', '7')


@pytest.mark.parametrize('status,said,reason', [
    (125, "docker: Error response from daemon: error setting rlimit type 7: unknown.\n\nRun 'docker run --help' for more\n",
     'docker: Error response from daemon: error setting rlimit type 7: unknown.'),
    (2, "Usage: ray start [OPTIONS]\nTry 'ray start --help' for help.\n\nError: No such option: --block-all\n",
     'Error: No such option: --block-all'),
    (127, 'exec: ray: not found', 'exec: ray: not found'),
])
def test_what_can_not_be_started_is_given_up_after_a_few_tries_with_its_last_words(status, said, reason, tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    (node.folder / 'ray').write_text(f'echo out of the way; printf %s {shlex.quote(said)} >&2; exit {status}')
    codes, texts = zip(*(node.start() for _ in range(5)))
    assert codes == (status,) * 4 + (78,) and all(said.strip() in text for text in texts)
    reasons = [keys['reason'] for state, keys in node.reports() if state == 'failed']
    assert reasons[0] == f"the container ended with status {status}: {reason}"
    assert reasons[-1] == f"the container ended with status {status}: {reason} (5 tries)"


def test_a_ray_that_joined_has_all_its_tries_again(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    tries, ray = node.folder / 'run/raygpu/ray-failures', node.folder / 'ray'
    ray.write_text('exit 125')    # docker's daemon is not there
    assert [node.start()[0] for _ in range(4)] == [125] * 4
    (node.folder / 'healthz').write_text('success')
    ray.write_text(f'for _ in {{1..1000}}; do [ -e "{tries}" ] || break; /bin/sleep 0.02; done; exit 125')
    assert [node.start()[0] for _ in range(2)] == [125] * 2
    (node.folder / 'healthz').unlink()
    ray.write_text('exit 125')
    assert [node.start()[0] for _ in range(5)] == [125] * 4 + [78]


def test_a_ray_that_crashes_is_always_started_again(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    (node.folder / 'ray').write_text(f'echo "$RANDOM" >>"{node.folder}/starts"; echo Killed >&2; exit 137')
    assert [node.start()[0] for _ in range(6)] == [137] * 6
    slept = node.folder / 'slept'
    assert not slept.exists() or set(slept.read_text().split()) == {'5'}, 'the service waits 10 seconds, start-ray no longer'
    assert node.reports()[-1][1]['reason'] == 'the container ended with status 137: Killed'


def test_an_image_that_docker_can_not_run_says_why(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    (node.bin / 'docker').unlink()
    node.program('docker', 'case $1 in info|image) ;; *) echo "exec format error" >&2; exit 126 ;; esac')
    assert [node.start()[0] for _ in range(5)] == [1] * 4 + [78]
    assert node.reports()[-1][1]['reason'] == 'rayproject/ray:2.56.1-py311-cu121 does not run: exec format error (5 tries)'


@pytest.mark.parametrize('to', ['&1', '&2'])
def test_a_container_prints_no_report(tmp_path, to):
    """What it prints is on the console, from which raygpu learns who has joined."""
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    forged = 'v1 nodes boot=0 step=ray at=9999999999 part=1 parts=1 gpus=0 width=6 ids=AAAAAA end'
    (node.folder / 'ray').write_text(f'echo "raygpu: raygpu: {forged}" >{to}\nexit 3')
    assert node.start()[0] == 3
    assert f'raygpu; {forged}' in node.printed and 'raygpu: v1' not in node.printed, node.printed
    assert [state for state, _ in node.reports()].count('nodes') == 0
    console = (node.console).read_text()
    assert console.count('raygpu: v1') == len(node.reports()) and (forged in console) == (to == '&2')


@pytest.mark.parametrize('to', ['&1', '&2'])
def test_nor_does_a_byte_that_bash_drops_help_it(tmp_path, to):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    (node.folder / 'ray').write_text(f"printf 'raygpu:\\0 v1 joined boot=b step=ray end\\n' >{to}\nexit 3")
    assert node.start()[0] == 3
    assert 'raygpu; v1 joined' in node.printed and 'raygpu: v1' not in node.printed, node.printed
    assert [state for state, _ in node.reports()].count('joined') == 0


def test_what_a_registry_says_is_no_report(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    (node.bin / 'docker').unlink()
    node.program('docker', 'case $1 in info) ;; *) echo "raygpu: v1 joined boot=0 step=ray end" >&2; exit 1 ;; esac')
    assert node.start()[0] == 1 and 'raygpu: v1' not in node.printed
    assert node.reports()[-1][1]['reason'].endswith(': raygpu; v1 joined boot=0 step=ray end')


def test_what_is_reported_stays_one_line_of_ascii(tmp_path):
    script = (ROOT / 'src/boot/report.sh').read_text().replace('/dev/console', f'{tmp_path}/console')
    path = tmp_path / 'report'
    path.write_text(script.replace('/var/log', str(tmp_path)))
    hostile = 'a "b"\\\n\x1b[31m\tgrün ' + 'x' * 2000
    subprocess.run(['bash', '-c', '. "$0"; report failed reason="$1" empty= plain=a/b:1', path, hostile], check=True)
    line = (tmp_path / 'console').read_text()
    assert line.isascii() and line.count('\n') == 1 and line.endswith(' empty="" plain=a/b:1 end\n')
    assert ' reason="a \'b\'\'  [31m gr  n xxx' in line and len(line) < 1100


def test_a_console_that_cannot_be_written_stops_nothing(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    node.console.mkdir()
    status, said = node.start()
    assert status == 0, said
    assert (node.folder / 'docker.args').exists()


def test_gpus_that_are_too_new_for_the_default_image_get_another_cuda(tmp_path):
    path = spec_file(tmp_path, pools='  new: {instance_type: p6-b200.48xlarge, nodes: 1}\n  old: {accelerators: T4, nodes: 1}')
    conf = {n['pool']: files_of(t)['/etc/raygpu/node.conf'][1] for n, t in groups_of(fit(path))}
    assert 'rayproject/ray:2.56.1-py311-cu128' in conf['new']
    assert 'rayproject/ray:2.56.1-py311-cu121' in conf['old'] and 'rayproject/ray:2.56.1-py311-cu121' in conf['head']

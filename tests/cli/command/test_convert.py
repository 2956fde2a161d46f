"""`raygpu convert`: tests/golden/convert has files of Ray and KubeRay (NAME.yaml) and what becomes of each (NAME.spec,
with the codes of errors and warnings). RAYGPU_UPDATE_GOLDEN=1 rewrites the latter; review the difference."""
import json
import os
import pathlib
import random

import pytest
import yaml
from go_modules import folder_of
from program import ROOT, Home

FOLDER = ROOT / 'tests/golden/convert'
FILES = sorted(path.stem for path in FOLDER.glob('*.yaml'))
SCHEMA = json.loads((ROOT / 'tests/data/ray/ray-schema.json').read_text(encoding='utf-8'))


@pytest.fixture
def desk(tmp_path):
    """A user's folder: convert uses no cloud."""
    return Home(tmp_path)


def text_of(name):
    return (FOLDER / f'{name}.yaml').read_text(encoding='utf-8')


def convert(desk, text, *more):
    """The exit code and the document of --json."""
    desk.write('input.yaml', text)
    result = desk.run('convert', 'input.yaml', '--json', *more, code=None)
    return result.code, result.json()


def escaped(key):
    return str(key).replace('~', '~0').replace('/', '~1')


def cluster_of(text):
    """The document that is the cluster, of a file that may have several."""
    documents = [one for one in yaml.load_all(text, Loader=Words) if isinstance(one, dict)]
    return next((one for one in documents if str(one.get('kind', 'Ray')).startswith('Ray')), documents[0])


def members(value, pointer=''):
    """(pointer, value) of everything that has no members."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not items:
        yield pointer, value
    for key, member in items:
        yield from members(member, f'{pointer}/{escaped(key)}')


def forgotten(text, document):
    """What the file has and `keys` does not, by itself or as a part of something; or only by its last resort."""
    known = {key['pointer'] for key in document['keys'] if key.get('reason') != 'it was not read'}
    for pointer, _ in members(cluster_of(text)):
        steps = pointer.split('/')
        if not any('/'.join(steps[:i]) in known for i in range(2, len(steps) + 1)):
            yield pointer


class Words(yaml.SafeLoader):
    """Without dates and the like: convert reads JSON's types only."""


Words.yaml_implicit_resolvers = {first: [(tag, form) for tag, form in rows if tag.rsplit(':', 1)[1] in ('int', 'null', 'merge')]
                                 for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()}


@pytest.mark.parametrize('name', FILES)
def test_golden(desk, name):
    code, document = convert(desk, text_of(name))
    codes = sorted({d['code'] for d in document['diagnostics'] if d['severity'] != 'note'})
    seen = document['spec'] + f'--- exit code {code}: {", ".join(codes) or "nothing to report"}\n'
    golden = FOLDER / f'{name}.spec'
    if os.environ.get('RAYGPU_UPDATE_GOLDEN'):
        golden.write_text(seen, encoding='utf-8')
    assert seen == golden.read_text(encoding='utf-8')
    assert (document['valid'] and document['same']) == (code == 0)
    assert document['same'] == all(key['outcome'] != 'lost' for key in document['keys'])
    assert document['same'] == ('# This is not the same cluster. It lacks:' not in document['spec'])
    assert not list(forgotten(text_of(name), document))
    # the result is what it says: valid, or not for the reason that it states
    desk.write('spec.yaml', document['spec'])
    assert desk.run('validate', 'spec.yaml', code=None).code == (0 if document['valid'] else 4)
    if not document['valid']:
        assert '`raygpu validate` refuses this spec until it is changed:' in document['spec']


def test_there_are_many_files_of_each_kind():
    assert len(FILES) >= 30
    for kind, least in (('aws-', 10), ('gcp-', 5), ('azure-', 2), ('kube-', 7)):
        assert sum(name.startswith(kind) for name in FILES) >= least


def schema_keys(schema, path=()):
    """Paths of all keys; "*" is a name that the user chooses. Some mappings of the schema have no "properties"."""
    if not isinstance(schema, dict):
        return
    rows = schema.get('properties') or {}
    if not rows and 'type' not in schema and '$ref' not in schema and 'description' not in schema:
        rows = schema
    for key, inner in rows.items():
        yield (*path, key)
        yield from schema_keys(inner, (*path, key))
    for inner in schema.get('patternProperties', {}).values():
        yield from schema_keys(inner, (*path, '*'))


def used_keys(value, path=()):
    for key, member in value.items() if isinstance(value, dict) else ():
        yield (*path, key)
        yield from used_keys(member, (*path, key))
        if path == ('available_node_types',):
            yield from used_keys(member, (*path, '*'))


def test_every_key_of_rays_schema_is_used_and_known(desk):
    expected = set(schema_keys(SCHEMA))
    assert len(expected) >= 88
    used = set()
    for name in FILES:
        used.update(used_keys(cluster_of(text_of(name))))
    assert not expected - used
    # and none of them is unknown, whatever the cloud is
    for cloud in ('aws', 'gcp', 'azure', 'local'):
        document = {'cluster_name': 'x', 'head_node_type': 'gpu', 'provider': {'type': cloud}}
        for path in sorted(expected):
            at = document
            for step in path[:-1]:
                at = at.setdefault('gpu' if step == '*' else step, {})
            at.setdefault(path[-1], {'x': 1})
        _, answer = convert(desk, json.dumps(document))
        unknown = [key['key'] for key in answer['keys'] if key['outcome'] == 'unknown' and 'unknown key' in key['reason']]
        assert not [key for key in unknown if not key.endswith('.x')], cloud
        assert len(answer['keys']) > 60


def test_every_field_of_kuberay_is_known(desk):
    with open(ROOT / 'tests/kube/crd-schemas.json', encoding='utf-8') as f:
        schemas = json.load(f)
    crd = next(crd for crd in schemas['crds'] if crd['kind'] == 'RayCluster')
    spec = fields(schemas, fields(schemas, crd['schema'])['spec'])
    cluster = {name: {'x': 1} for name in spec if name not in ('headGroupSpec', 'workerGroupSpecs')}
    groups = {name: {name: {'x': 1} for name in fields(schemas, part) if name != 'template'}
              for name, part in (('headGroupSpec', spec['headGroupSpec']), ('workerGroupSpecs', whole(schemas, spec['workerGroupSpecs'])['items']))}
    groups['workerGroupSpecs']['groupName'] = 'gpu'
    pod = fields(schemas, fields(schemas, fields(schemas, spec['headGroupSpec'])['template'])['spec'])
    container = fields(schemas, whole(schemas, pod['containers'])['items'])
    groups['headGroupSpec']['template'] = {'spec': {**{name: {'x': 1} for name in pod if name != 'containers'},
                                                    'containers': [{name: {'x': 1} for name in container}]}}
    manifest = {'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'all'},
                'spec': {**cluster, 'headGroupSpec': groups['headGroupSpec'], 'workerGroupSpecs': [groups['workerGroupSpecs']]}}
    assert len(pod) > 30 and len(container) > 20 and len(cluster) > 10
    _, document = convert(desk, json.dumps(manifest))
    unknown = [key['key'] for key in document['keys'] if key['outcome'] == 'unknown' and 'unknown key' in key['reason']]
    assert not [key for key in unknown if not key.endswith('.x')]


def whole(schemas, part):
    """A part of a schema, which may be shared by several."""
    while '$ref' in part:
        part = schemas['definitions'][part['$ref'].rsplit('/', 1)[1]]
    return part


def fields(schemas, part):
    return whole(schemas, part)['properties']


ODD = [None, True, False, 0, -1, 7.5, 10**12, '', 'text', 'a/b', [], {}, [[]], ['x'], [1, None], {'a': {'b': [1]}}, [{'x': 1}, 2]]


def spoil(value, chance, rate):
    """The same document with other values here and there."""
    if chance.random() < rate:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key + ('x' if chance.random() < rate / 4 else ''): spoil(member, chance, rate) for key, member in value.items()}
    if isinstance(value, list):
        return [spoil(member, chance, rate) for member in value]
    return value


@pytest.mark.parametrize('part', range(3))
def test_nothing_is_forgotten_in_odd_files(desk, part):
    """Whatever is where something else should be: no crash, and everything is in the list."""
    long = os.environ.get('RAYGPU_LONG')
    for seed in range(part, 1500 if long else 45, 3):
        chance = random.Random(seed)
        name = FILES[seed % len(FILES)]
        before = cluster_of(text_of(name))
        text = json.dumps(spoil(before, chance, 0.05))
        desk.write('input.yaml', text)
        result = desk.run('convert', 'input.yaml', '--json', code=None)
        assert result.code in (0, 4), (seed, name, result)
        document = result.json()
        if 'keys' in document:
            assert not list(forgotten(text, document)), (seed, name)
            yaml.safe_load(document['spec'])
        else:
            assert document['diagnostics'], (seed, name)


def refused(desk, text, code=4):
    data = text if isinstance(text, bytes) else text.encode()
    with open(desk.path('input.yaml'), 'wb') as f:
        f.write(data)
    result = desk.run('convert', 'input.yaml', code=code)
    assert not result.out
    return ' '.join(result.err.split())


def test_files_that_are_not_ray_clusters(desk):
    assert '[convert.not-a-cluster]' in refused(desk, 'a: 1\n')
    assert '[convert.not-a-cluster]' in refused(desk, '- a\n')
    assert '[convert.not-a-cluster]' in refused(desk, 'just text\n')
    assert 'of another kind' in refused(desk, 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n')
    assert 'describes no cluster' in refused(desk, 'apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: x}\nspec: {entrypoint: a}\n')
    assert 'already a spec' in refused(desk, (ROOT / 'examples/minimal.yaml').read_text(encoding='utf-8'))
    assert '[yaml.empty]' in refused(desk, '')
    assert '[convert.several-clusters]' in refused(desk, text_of('kube-minimal') + '---\n' + text_of('kube-minimal'))
    assert '[file.unreadable]' in desk.run('convert', 'nothing.yaml', code=4).err
    assert '[usage.missing-argument]' in desk.run('convert', code=4).err


def test_hostile_files(desk):
    start = 'cluster_name: x\nprovider: {type: aws, region: us-east-1}\nmetadata:\n'
    assert '[yaml.too-deep]' in refused(desk, start + '  a: ' + '[' * 100 + ']' * 100 + '\n')
    bomb = ''.join(f'  a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 9)}]\n' for i in range(1, 9))
    assert '[yaml.alias-bomb]' in refused(desk, start + '  a0: &a0 [x, x, x]\n' + bomb)
    assert '[yaml.unknown-anchor]' in refused(desk, start + '  a: &a [*a]\n')
    assert '[yaml.not-utf8]' in refused(desk, b'\x7fELF\x02\x01\x00\xff\xfe' * 20)
    assert '[file.too-large]' in refused(desk, start + '  a: ' + 'x' * (1 << 20) + '\n')
    assert '[yaml.tag]' in refused(desk, start + '  a: !!python/object:os.system {}\n')
    assert '[yaml.duplicate-key]' in refused(desk, start + '  a: 1\n  a: 2\n')
    # many keys: each is in the list, and the diagnostics end
    many = ''.join(f'key{i}: 1\n' for i in range(3000))
    code, document = convert(desk, 'cluster_name: x\nprovider: {type: aws, region: us-east-1}\n' + many)
    assert code == 0 and sum(key['outcome'] == 'unknown' for key in document['keys']) == 3000
    assert len(document['diagnostics']) < 200
    # comments cannot be left by what the file contains
    for end in ('\\n', '\\r', '\\u0085', '\\u2028', '\\u2029', '\\x0b'):
        text = ('cluster_name: x\nprovider: {type: aws, region: us-east-1}\n"evil@head: {x: 1}@": 1\nmetadata: {a: "b@head: 1"}\n'
                'available_node_types: {"a@b: 1": {resources: {}, node_config: {InstanceType: "x@y: 1"}}, '
                'c: {resources: {"k@l": 1}, node_config: {}}}\n').replace('@', end)
        _, document = convert(desk, text)
        loaded = yaml.safe_load(document['spec'])
        assert set(loaded) == {'cluster', 'provider', 'ray', 'head', 'pools', 'x-metadata'} and 'x' not in loaded['head']
        assert loaded['x-metadata'] == json.loads(json.dumps(yaml.safe_load(text)['metadata']))
        assert not any(code.startswith('yaml.') for code in (d['code'] for d in document['diagnostics']))


def test_small_files_with_large_results(desk):
    """What would be written for each of many pools is limited, as pools, commands and values of a spec are."""
    types = ''.join(f'  "{i}": {{resources: {{}}, node_config: {{InstanceType: m5.large, SecurityGroupIds: [sg-{i:08x}]}}}}\n' for i in range(3000))
    commands = ''.join(f'- c{i}\n' for i in range(3000))
    options = ''.join(f'  - --env=A{i}=1\n' for i in range(3000))
    code, document = convert(desk, 'cluster_name: x\nprovider: {type: aws, region: us-east-1}\nworker_setup_commands: [w]\n'
                             f'setup_commands:\n{commands}docker:\n  run_options:\n{options}available_node_types:\n{types}')
    lines = document['spec'].splitlines()
    assert code == 4 and sum(line.startswith('    nodes: ') for line in lines) == 200 and '    setup_commands:' not in lines
    assert 200 < sum(line.startswith('    A') for line in lines) <= 300 * 201
    reasons = {key['reason'] for key in document['keys'] if key['outcome'] == 'none' and 'reason' in key}
    assert {'a spec has at most 200 pools', 'a list has at most 64 commands', 'the file has too many values for all nodes'} <= reasons


def test_credentials_are_not_shown(desk):
    for name, secret in (('gcp-credentials', 'SECRET-KEY-TEXT'),):
        desk.write('input.yaml', text_of(name))
        result = desk.run('convert', 'input.yaml')
        assert secret not in result.out + result.err and 'contains no credentials' in ' '.join(result.err.split())
        assert secret not in desk.run('convert', 'input.yaml', '--json').out
    desk.write('one.yaml', 'cluster_name: x\nunknown: 1\n'
               'provider: {type: aws, region: us-east-1, upscale: 1, aws_credentials: {aws_secret_access_key: HIDDEN}}\n')
    result = desk.run('convert', 'one.yaml')
    assert 'HIDDEN' not in result.out + result.err and 'one.yaml:3:' in result.err


def test_out_and_standard_input(desk):
    desk.write('input.yaml', text_of('aws-spot-limit'))
    plain = desk.run('convert', 'input.yaml')
    said = desk.run('convert', 'input.yaml', '--out', 'cluster.yaml').out
    assert said.startswith('Wrote cluster.yaml: ') and desk.read('cluster.yaml') == plain.out
    assert desk.run('convert', 'input.yaml', '--out', 'cluster.yaml', code=1).err.count('already exists') == 1
    assert desk.read('cluster.yaml') == plain.out
    piped = desk.run('convert', '-', stdin=text_of('aws-spot-limit'))
    assert piped.out == plain.out and 'on <stdin>:' in piped.err


def test_what_is_lost_is_an_error_unless_it_is_accepted(desk):
    desk.write('input.yaml', text_of('kube-tpu'))
    strict = desk.run('convert', 'input.yaml', '--out', 'strict.yaml', code=4)
    assert strict.err.count('[convert.lost]') == 2 and 'Error: ' in strict.err and '--partial' in strict.err
    assert 'It is not the same cluster: its first lines say what it lacks.' in strict.out
    partial = desk.run('convert', 'input.yaml', '--out', 'partial.yaml', '--partial')
    assert partial.err.count('[convert.lost]') == 2 and 'Error: ' not in partial.err
    assert desk.read('strict.yaml') == desk.read('partial.yaml')
    assert desk.read('partial.yaml').splitlines()[1] == '# This is not the same cluster. It lacks:'


def test_other_documents_are_skipped_and_named(desk):
    code, document = convert(desk, text_of('kube-beside'))
    skipped = [d for d in document['diagnostics'] if d['code'] == 'convert.skipped']
    assert code == 0 and [(d['summary'], d['range']['start']['line']) for d in skipped] == \
        [('ConfigMap redis-config is skipped', 2), ('Service redis is skipped', 35)]
    # lines are those of the whole file, also in the spec; what is wrong in a document that is not read does not matter
    assert 'cluster: beside # line 13: name' in document['spec']
    # the first document is the reason if none is a cluster
    assert 'of another kind' in refused(desk, text_of('kube-beside').split('---\n')[3])
    assert '[yaml.empty]' in refused(desk, '---\n---\n')
    assert '[yaml.syntax]' in refused(desk, text_of('kube-beside') + '---\na: [\n')
    assert '[yaml.unknown-anchor]' in refused(desk, 'a: &x 1\n---\n' + text_of('aws-minimal') + 'metadata: {b: *x}\n')
    many = ''.join(f'---\na{i}: 1\n' for i in range(500))
    code, document = convert(desk, text_of('kube-minimal') + many)
    assert code == 0 and len(document['diagnostics']) < 200


TYPES = ('cluster_name: x\nprovider: {type: aws, region: us-east-1}\navailable_node_types:\n  Head: {node_config: {InstanceType: m5.large}}\n'
         '  gpu: {min_workers: 1, node_config: {InstanceType: g4dn.xlarge}}\n')


@pytest.mark.parametrize('more, why', [
    ('', 'it has no head_node_type'), ('head_node_type: head\n', 'available_node_types does not have this type'),
    ('head_node_type: Head\ndocker: {image: team/train:latest, container_name: ray}\n', 'its tag moves from version to version')])
def test_another_head_or_image_is_no_success(desk, more, why):
    code, document = convert(desk, TYPES + more)
    assert code == 4 and [d for d in document['diagnostics'] if d['code'] == 'convert.lost' and why in d['summary'] + (d.get('detail') or '')], document


@pytest.mark.parametrize('launcher,kube,written', [
    ('memory: 34359738368', 'memory: "34359738368"', 'ray_start: {memory: 32GiB}'),
    ('object_store_memory: 17179869184', 'object-store-memory: "17179869184"', 'ray_start: {object_store_memory: 16GiB}'),
    ('memory: 34000000000', 'memory: "34000000000"', None)])
def test_memory_for_ray_in_whole_gib_is_taken_over(desk, launcher, kube, written):
    ray = ('cluster_name: x\nprovider: {type: aws, region: us-east-1}\nhead_node_type: h\navailable_node_types:\n'
           f'  h: {{node_config: {{InstanceType: m5.4xlarge}}, resources: {{{launcher}}}}}\n')
    for text in (ray, KUBE.replace('METADATA', '').replace('JOB', '').replace('rayStartParams: {}', f'rayStartParams: {{{kube}}}')):
        code, document = convert(desk, text)
        assert code == 0, document
        spec = yaml.safe_load(document['spec'])
        assert yaml.safe_dump(spec['head'].get('ray_start')) == yaml.safe_dump(yaml.safe_load(written)['ray_start'] if written else None)


KUBE = """apiVersion: ray.io/v1
kind: RayJob
metadata: {name: x}
spec:
  JOB
  rayClusterSpec:
    rayVersion: 2.56.1
    headGroupSpec:
      rayStartParams: {}
      template:
        metadata: {METADATA}
        spec:
          containers: [{name: ray, image: rayproject/ray:2.56.1-py311, resources: {limits: {cpu: 2, memory: 8Gi}}}]
"""


def test_secrets_are_pointed_out_and_not_shown(desk):
    text = ('cluster_name: x\nprovider: {type: aws, region: us-east-1}\n'
            'docker:\n  image: rayproject/ray:2.56.1-py311-gpu\n  container_name: ray\n  run_options: [OPTIONS]\nsetup_commands: [COMMANDS]\n')
    secrets = ['"-e HF_TOKEN=hunter4"', '"-e VAULT_SECRET_ID=hunter4"', '"-e TOKEN_VALID=hunter4"', '"--env=WANDB_API_KEY=hunter4"', '"-e", "DB_PASSWORD=hunter4"']
    commands = ['"export AWS_SECRET_ACCESS_KEY=hunter4"', '"wandb login --api-key hunter4"', '"git clone https://bob:hunter4@example.com/x"',
                '"curl -H \'Authorization: Bearer hunter4\' https://example.com"', '"docker login -u me -p hunter4"',
                '"echo hunter4 | docker login -u me --password-stdin"', '"aws configure set aws_secret_access_key hunter4"',
                '"curl -u me:hunter4 https://example.com"', '"export GITHUB_PAT=hunter4"', '"sshpass -p hunter4 ssh x"', '"wandb login hunter4"']
    for part, texts in (('OPTIONS', secrets), ('COMMANDS', commands)):
        for secret in texts:
            desk.write('input.yaml', text.replace(part, secret).replace('OPTIONS', '').replace('COMMANDS', ''))
            result = desk.run('convert', 'input.yaml', '--out', 'spec.yaml')
            assert result.err.count('[convert.secret]') == 1 and 'hunter4' not in result.err, secret
            os.remove(desk.path('spec.yaml'))
    for fine in ('"-e HF_TOKEN_PATH=/run/secrets/hf"', '"-e TOKENIZERS_PARALLELISM=false"', '"-e", "MONKEY=1"', '"--env=RAY_X=hunter4"'):
        desk.write('input.yaml', text.replace('OPTIONS', fine).replace('COMMANDS', '"export HF_TOKEN=$(cat /run/hf)", "pip install secretstorage==1.0", '
                                                                       '"wandb login && ls", "curl -u $ME https://x", "login -p $P", "export PATH=x:$PATH"'))
        assert '[convert.secret]' not in desk.run('convert', 'input.yaml').err, fine


@pytest.mark.parametrize('text', [
    ('cluster_name: x\nprovider: {type: aws, region: us-east-1}\navailable_node_types:\n  h:\n    node_config:\n      InstanceType: m5.large\n'
     '      TagSpecifications: [{ResourceType: instance, Tags: [{Key: api-token, Value: hunter4}]}]\nhead_node_type: h\n'),
    KUBE.replace('METADATA', 'annotations: {example.com/token: hunter4}').replace('JOB', ''),
    KUBE.replace('METADATA', '').replace('JOB', 'entrypoint: HF_TOKEN=hunter4 python x.py'),
    KUBE.replace('METADATA', '').replace('JOB', 'runtimeEnvYAML: "env_vars: {WANDB_API_KEY: hunter4}"'),
], ids=['tag', 'annotation', 'entrypoint', 'runtime-env'])
def test_secrets_anywhere_are_pointed_out(desk, text):
    desk.write('input.yaml', text)
    result = desk.run('convert', 'input.yaml', '--out', 'spec.yaml', code=None)
    assert 'hunter4' in desk.read('spec.yaml') and result.err.count('[convert.secret]') == 1 and 'hunter4' not in result.err, result


def test_kuberays_own_samples(desk):
    """Each is converted, or the reason is stated; every key of each is known and named."""
    folder = pathlib.Path(folder_of('github.com/ray-project/kuberay/ray-operator', 'v1.5.0')) / 'config/samples'
    codes = {}
    for path in sorted(folder.glob('*.yaml')):
        text = path.read_text(encoding='utf-8')
        code, document = convert(desk, text)
        codes[path.name] = code
        errors = {d['code'] for d in document['diagnostics'] if d['severity'] == 'error'}
        if 'keys' not in document:
            assert errors == {'convert.not-a-cluster'}, path.name
            continue
        assert not [key['key'] for key in document['keys'] if key['outcome'] == 'unknown'], path.name
        assert not list(forgotten(text, document)), path.name
        # not valid only where KubeRay's file does not say which GPU
        assert errors <= {'convert.lost', 'spec.one-of'}, (path.name, errors)
        assert code == (4 if errors else 0)
        services = [key for key in document['keys'] if key['key'] == 'spec.serveConfigV2']
        assert all(key['outcome'] == 'lost' for key in services)
    assert len(codes) > 60 and codes['ray-cluster.sample.yaml'] == 0
    assert all(code == 4 for name, code in codes.items() if 'tpu' in name or 'ray-service' in name or 'tls' in name)


@pytest.mark.parametrize('name', ['kube-cluster', 'kube-elastic', 'kube-job'])
def test_there_and_back(desk, name):
    """A manifest, as a spec, and as the manifest that raygpu makes of it: the same groups, GPUs, sizes and tolerations."""
    before = yaml.safe_load(text_of(name))
    before = before['spec'].get('rayClusterSpec', before['spec'])
    desk.write('input.yaml', text_of(name))
    desk.run('convert', 'input.yaml', '--out', 'cluster.yaml', '--partial')
    after = next(one for one in yaml.safe_load_all(desk.run('export', 'kuberay', 'cluster.yaml').out) if one['kind'] == 'RayCluster')['spec']
    assert after['rayVersion'] == before['rayVersion']
    assert bool(after.get('enableInTreeAutoscaling')) == bool(before.get('enableInTreeAutoscaling'))
    groups = [group for group in before['workerGroupSpecs'] if group.get('numOfHosts', 1)]  # a group of none has no pods
    assert [group['groupName'] for group in after['workerGroupSpecs']] == [group['groupName'].replace('_', '-') for group in groups]
    for old, new in zip(groups, after['workerGroupSpecs'], strict=True):
        elastic = before.get('enableInTreeAutoscaling')
        if elastic and 'maxReplicas' in old:
            assert (new['minReplicas'], new['maxReplicas']) == (old['minReplicas'], old['maxReplicas'])
        elif not elastic:
            assert new['replicas'] == old['replicas']
        old_pod, new_pod = old['template']['spec'], new['template']['spec']
        old_limits = old_pod['containers'][0].get('resources', {}).get('limits', {})
        new_limits = new_pod['containers'][0]['resources']['limits']
        for resource, value in old_limits.items():
            assert str(new_limits[resource]) == str(value), (name, resource)
        assert new_pod['containers'][0]['image'] == old_pod['containers'][0]['image']
        for toleration in old_pod.get('tolerations', []):
            assert toleration in new_pod['tolerations']


@pytest.mark.parametrize('name', ['aws-minimal', 'aws-spot-limit', 'aws-old-ray', 'aws-files'])
def test_the_result_can_be_planned(home, name):
    home.write('input.yaml', text_of(name))
    home.run('convert', 'input.yaml', '--out', 'cluster.yaml')
    plan = home.run('plan', 'cluster.yaml', '--format', 'json').json()
    spec = yaml.safe_load(home.read('cluster.yaml'))
    nodes = 1 + sum(pool['nodes'] for pool in spec.get('pools', {}).values())
    made = [change for change in plan['resource_changes'] if change['type'] == 'aws.instance']
    assert len(made) == nodes and all(change['change']['actions'] == ['create'] for change in made)


def test_the_result_can_be_applied(home):
    home.write('input.yaml', text_of('aws-spot-limit'))
    home.run('convert', 'input.yaml', '--out', 'cluster.yaml')
    home.run('apply', 'cluster.yaml', '--auto-approve')
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').out.count('No changes.') == 1


def test_the_example_is_what_convert_writes(desk):
    folder = ROOT / 'examples/from-ray'
    desk.write('ray-cluster.yaml', (folder / 'ray-cluster.yaml').read_text(encoding='utf-8'))
    out = desk.run('convert', 'ray-cluster.yaml').out
    if os.environ.get('RAYGPU_UPDATE_GOLDEN'):
        (folder / 'cluster.yaml').write_text(out, encoding='utf-8')
    assert out == (folder / 'cluster.yaml').read_text(encoding='utf-8')

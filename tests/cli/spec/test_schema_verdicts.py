"""The loader's schema check compared with an independent validator (Debian's python3-jsonschema).

Both check the JSON view of every spec of tests/golden/spec and examples/ with schemas/cluster.schema.json:
same verdict, same places. Only rg_spec_load refuses what breaks rules beyond a schema, listed here."""
import glob
import json
import os
import re
import subprocess

import pytest

from program import ROOT, binary

jsonschema = pytest.importorskip('jsonschema')


# Refused although the view matches the schema: the YAML around the view, words whose type parsers disagree
# about, and rules about two values together.
BEYOND_THE_SCHEMA = {
    'yaml.duplicate-key', 'yaml.key-not-text', 'yaml.tag', 'yaml.unknown-anchor', 'yaml.bad-merge',
    'spec.too-long',  # of a key; of values the schema says it
    'spec.yaml11-word', 'spec.conflict', 'spec.reserved-name', 'spec.reserved-label',
    'spec.ray-too-old', 'spec.ray-image-mismatch', 'spec.missing-key', 'spec.bad-value',
    'spec.out-of-range',
}


def build_dir():
    return os.environ.get('RAYGPU_BUILD', os.path.join(ROOT, 'build'))


def find_program():
    path = os.path.join(build_dir(), 'src', 'spec', 'spec_view')
    if not os.path.exists(path):
        pytest.skip(f'{path} is not built (RAYGPU_BUILD names the build directory)')
    return path


def expand(spec):
    """The golden files' two shorthands, as in tests/unit/test_spec_golden.c."""
    lines = []
    for line in spec.split('\n'):
        m = re.match(r'@times (\d+) (.*)', line)
        lines.append(m[2] * int(m[1]) if m else line)
    out = re.sub(rb'\\x([0-9a-fA-F]{2})', lambda m: bytes([int(m[1], 16)]),
                 '\n'.join(lines).encode())
    return out


@pytest.fixture(scope='module')
def views(tmp_path_factory):
    folder = tmp_path_factory.mktemp('specs')
    paths = sorted(set(glob.glob(os.path.join(ROOT, 'examples', '*.yaml')))
                   - set(glob.glob(os.path.join(ROOT, 'examples', '*.scenario.yaml'))))
    for case in sorted(glob.glob(os.path.join(ROOT, 'tests', 'golden', 'spec', '*.test'))):
        with open(case, encoding='utf-8', newline='') as f:
            text = f.read()
        spec = text[len('@spec\n'):text.index('@expect\n')]
        path = folder / (os.path.basename(case)[:-5] + '.yaml')
        path.write_bytes(expand(spec))
        paths.append(str(path))
    out = subprocess.run([find_program(), *paths], check=True, capture_output=True, timeout=120)
    found = [json.loads(line) for line in out.stdout.splitlines()]
    assert len(found) == len(paths) >= 100
    readable = [v for v in found if v['view'] is not None]
    assert len(readable) >= 80
    return readable


def as_python(schema):
    """Patterns are ECMA-262's, where `$` is the end; Python's `$` also matches before a last newline."""
    def turn(pattern):
        return re.sub(r'\$$', r'\\Z', pattern)
    if isinstance(schema, list):
        return [as_python(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key == 'pattern' and isinstance(value, str):
            value = turn(value)
        elif key == 'patternProperties':
            value = {turn(p): as_python(s) for p, s in value.items()}
        else:
            value = as_python(value)
        out[key] = value
    return out


@pytest.fixture(scope='module')
def validator():
    with open(os.path.join(ROOT, 'schemas', 'cluster.schema.json'), encoding='utf-8') as f:
        schema = as_python(json.load(f))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def pointer(path):
    return ''.join('/' + str(p).replace('~', '~0').replace('/', '~1') for p in path)


def test_both_validators_agree(views, validator):
    for v in views:
        errors = list(validator.iter_errors(v['view']))
        assert v['schema'] == (not errors), v['file']
        theirs = {(pointer(e.absolute_path), e.validator) for e in errors}
        ours = {tuple(p) for p in v['places']}
        assert ours == theirs, v['file']


def test_what_the_schema_refuses_the_loader_refuses(views):
    refused = [v for v in views if not v['schema']]
    assert len(refused) >= 50
    for v in refused:
        assert v['codes'], v['file']


def test_what_only_the_loader_refuses_is_a_rule_beyond_the_schema(views):
    beyond = [v for v in views if v['schema'] and v['codes']]
    assert len(beyond) >= 15
    for v in beyond:
        assert set(v['codes']) <= BEYOND_THE_SCHEMA, v['file']


def test_good_specs_are_accepted_by_both(views):
    good = [v for v in views if os.path.basename(v['file']).startswith('good-')
            or os.sep + 'examples' + os.sep in v['file']]
    assert len(good) >= 9
    for v in good:
        assert v['schema'] and not v['codes'], v['file']


def test_what_comes_later_is_refused_by_both_under_its_own_code(views):
    later = [v for v in views if os.path.basename(v['file']).startswith('later-')]
    assert later
    for v in later:
        assert not v['schema'] and set(v['codes']) == {'spec.not-supported-yet'}, v['file']


def test_every_property_has_a_description(validator):
    def walk(schema, at):
        for name, sub in schema.get('properties', {}).items():
            if '$ref' in sub:
                continue
            assert sub.get('description'), f'{at}.{name}'
            walk(sub, f'{at}.{name}')
    walk(validator.schema, '')
    for name, sub in validator.schema['$defs'].items():
        assert sub.get('description'), name
        walk(sub, name)


def man_page():
    with open(os.path.join(ROOT, 'man', 'raygpu-spec.5.scd'), encoding='utf-8') as f:
        return f.read()


def man_rows():
    """The fields in raygpu-spec(5)'s tables: cluster, node, workload; and the names in the section on budgets and
    in the first cells of the policy's table."""
    text = man_page()
    cluster, node = text[text.index('## The cluster'):].split('## The head', 1)
    cluster, budget = cluster.split('## Budget', 1)
    budget, policy = budget.split('## Policy', 1)
    node, workload = node[:node.index("# THE CLUSTER'S")].split('## Each workload', 1)

    def rows(part, columns=4):
        found = set()
        for row in re.split(r'^\|  ', part, flags=re.M)[1:]:
            cells = re.split(r'^: +', row, flags=re.M)
            assert len(cells) == columns, row
            found.update(re.findall(r'\*([^*]+)\*', cells[0])[:1])
        return found
    policy = re.findall(r'\*([a-z_]+)\*', ''.join(re.findall(r'^\|  (.*)', policy, flags=re.M)))
    return rows(cluster), rows(node), rows(workload, 3), set(re.findall('[a-z_]+(?=:)', budget)), set(policy)


def schema_rows(validator, properties, at=''):
    """{field: whether it is supported} of a JSON Schema's properties."""
    found = {}
    for name, sub in properties.items():
        if 'then' in sub:  # one place, or a list of them
            places = {**validator.schema['$defs']['place']['properties'], **sub['then']['properties']}
            sub = {**sub, 'properties': places}
        if '$ref' in sub:
            sub = validator.schema['$defs'][sub['$ref'].rsplit('/', 1)[1]]
        found[at + name] = not ('x-raygpu-later' in sub and sub.get('not') == {})
        if sub.get('properties') and at + name not in ('head', 'pools'):
            is_mapping = at + name in ('disk', 'network', 'ray_start', 'workers')
            found.update(schema_rows(validator, sub['properties'], f'{at}{name}.'))
            if is_mapping:
                del found[name]
    return found


def test_the_man_page_lists_every_field_of_the_schema(validator):
    """The tables list exactly what is supported; what is refused has a separate section."""
    cluster, node, workload, budget, policy = man_rows()
    of_cluster = schema_rows(validator, validator.schema['properties'])
    with open(os.path.join(ROOT, 'providers/aws/schema.json'), encoding='utf-8') as f:
        of_cluster.update({f'provider.{name}': True for name in json.load(f)['config']['properties']})
    limits = {name for name in of_cluster if name.startswith(('budget.', 'policy.'))}
    pool = schema_rows(validator, validator.schema['$defs']['pool']['properties'])
    head = schema_rows(validator, validator.schema['properties']['head']['properties'])
    of_workload = schema_rows(validator, validator.schema['$defs']['workload']['properties'])
    assert cluster == {name for name, supported in of_cluster.items() if supported} - limits
    assert {name.split('.')[1] for name in limits if name.startswith('budget.')} <= budget
    assert {name.split('.')[1] for name in limits if name.startswith('policy.')} == policy
    assert {name for name in node if ':' not in name} == {name for name, supported in pool.items() if supported}
    assert workload == {name for name, supported in of_workload.items() if supported}
    refused = {name for rows in (of_cluster, pool, head, of_workload) for name, supported in rows.items() if not supported}
    section = re.search(r'^# NOT SUPPORTED YET\n(.*?)^# ', man_page(), re.M | re.S).group(1).split('_nodes:')[0]
    assert refused and refused == set(re.findall(r'\b_([a-z_.]+[a-z])_\b', section))


# the base spec for each example of the page, for keys that it does not have itself
AROUND = {'cluster': 'c', 'labels': {'team': 'ml'}, 'provider': {'name': 'aws', 'region': 'us-east-1'},
          'ray': {'version': '2.56.1', 'python': '3.11'}, 'head': {'instance_type': 'm5.2xlarge'},
          'pools': {'train': {'accelerators': 'A100:8', 'nodes': 2}, 'serve': {'accelerators': 'T4:1', 'nodes': 3}}}


def test_every_example_of_the_man_page_is_valid(tmp_path):
    section = re.search(r'^# EXAMPLES\n(.*?)^# ', man_page(), re.M | re.S).group(1)
    examples = [text.replace('\\', '') for text in re.findall(r'^```\n(.*?)^```$', section, re.M | re.S)]
    assert len(examples) >= 9
    for text in examples:
        jobs = re.search('^jobs:', text, re.M)  # only Kubernetes starts them
        base = AROUND | ({'provider': {'name': 'kubernetes'}, 'head': {'instance_type': 'cpu'}} if jobs else {})
        around = {key: value for key, value in base.items() if not re.search(f'^{key}:', text, re.M)}
        spec = tmp_path / 'cluster.yaml'
        spec.write_text(text + ''.join(f'{key}: {json.dumps(value)}\n' for key, value in around.items()))
        done = subprocess.run([binary(), 'validate', str(spec)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f'{text}{done.stdout}{done.stderr}'

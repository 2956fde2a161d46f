"""As a third party: raygpu is installed, its pkg-config file found, providers/template built out of tree with
nothing else, installed, and used for a cluster's whole life."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from program import ROOT, Home
from template_cloud import Cloud

BUILD = os.environ.get('RAYGPU_BUILD', '')


def run(*command, env=None):
    result = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=600)
    assert result.returncode == 0, f'{command}:\n{result.stdout}\n{result.stderr}'
    return result.stdout


def find(folder, name):
    return [os.path.join(where, name) for where, _, files in os.walk(folder) if name in files]


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """The result of `meson install --destdir`, and the environment that finds its .pc file."""
    folder = str(tmp_path_factory.mktemp('installed'))
    run('meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', folder)
    pc, = find(folder, 'raygpu-provider.pc')
    with open(pc, encoding='utf-8') as f:
        prefix = f.readline().strip().partition('=')[2]
    return {'folder': folder, 'prefix': folder + prefix, 'env': {
        **os.environ, 'PKG_CONFIG_PATH': os.path.dirname(pc),
        'PKG_CONFIG': f'pkg-config --define-variable=prefix={folder}{prefix}'}}


def build_template(installed, folder, change=lambda name, text: text):
    """Builds a copy of the template outside the tree, with each file modified by `change`; returns the folder where
    it is installed."""
    source = str(folder / 'template')
    shutil.copytree(os.path.join(ROOT, 'providers/template'), source)
    for name in ('template.c', 'schema.json', 'prices.csv'):
        path = folder / 'template' / name
        path.write_text(change(name, path.read_text()))
    build = source + '/build'
    options = json.loads(run('meson', 'introspect', '--buildoptions', BUILD))
    sanitize = next(o['value'] for o in options if o['name'] == 'b_sanitize')
    run('meson', 'setup', build, source, f'-Db_sanitize={sanitize}',
        *([] if sanitize == 'none' else ['-Db_lundef=false']), env=installed['env'])
    run('meson', 'install', '-C', build, '--destdir', str(folder), env=installed['env'])
    return os.path.dirname(find(str(folder / installed['folder'].lstrip('/')), 'template.so')[0])


@pytest.fixture(scope='module')
def modules(installed, tmp_path_factory):
    return build_template(installed, tmp_path_factory.mktemp('third'))


def leave_out_places(name, text):
    if name == 'schema.json':
        return json.dumps({**json.loads(text), 'regions': False, 'zones': []})
    return text.replace('north,', ',') if name == 'prices.csv' else text


@pytest.fixture(scope='module')
def placeless_modules(installed, tmp_path_factory):
    """The template for a cloud without regions and zones."""
    return build_template(installed, tmp_path_factory.mktemp('placeless'), leave_out_places)


@pytest.fixture
def cloud():
    with Cloud() as cloud:
        yield cloud


def spec(cloud, small=4, extra='', labels='team: ml'):
    return f'''cluster: third
labels: {{{labels}}}
provider: {{name: template, region: north, endpoint: "{cloud.url}", project: lab{extra}}}
ray: {{version: 2.56.1, python: "3.11"}}
head: {{instance_type: cpu.large}}
pools:
  big: {{accelerators: "A100:8", nodes: 1, zones: [b2]}}
  small: {{accelerators: "T4:1", nodes: {small}}}
'''


class ThirdHome(Home):
    def __init__(self, folder, cloud, modules):
        super().__init__(folder, {'TEMPLATE_API_KEY': cloud.key, 'RAYGPU_ALLOW_ENDPOINTS': cloud.url})
        self.modules = modules
        # gcc 12's leak checker itself crashes ("Tracer caught signal 11") on the thread-local storage of a module that
        # was built without the sanitizer; memory errors are still caught
        self.env['ASAN_OPTIONS'] = self.env.get('ASAN_OPTIONS', '') + ':detect_leaks=0'

    def run(self, command, *arguments, **more):
        return super().run(command, '--provider-dir', self.modules, *arguments, **more)


@pytest.fixture
def home(tmp_path, cloud, modules):
    home = ThirdHome(tmp_path, cloud, modules)
    home.write('cluster.yaml', spec(cloud))
    return home


def changes(cloud):
    return [r for r in cloud.requests if r[0] != 'GET']


def test_an_installed_tree_works_wherever_it_is(installed, tmp_path):
    """What --destdir names is not where the program was configured to be; its own modules come from there too."""
    program, = (path for path in find(installed['folder'], 'raygpu') if path.endswith('/bin/raygpu'))
    moved = tmp_path / 'moved'
    shutil.copytree(installed['prefix'], moved, symlinks=True)
    home = Home(tmp_path)
    for path in (program, moved / os.path.relpath(program, installed['prefix'])):
        rows = json.loads(run(str(path), 'providers', 'list', '--json', env=home.env))
        used = {row['name']: row['state'] for row in rows if row['file'] == 'built-in'}
        assert used == {'aws': 'ok', 'gcp': 'ok', 'kubernetes': 'ok', 'ssh': 'ok'}, rows


def test_installs_what_third_parties_need(installed):
    header, = find(installed['folder'], 'provider.h')
    assert header.endswith('/include/raygpu/provider.h')

    def tell(*words):
        return run('pkg-config', f'--define-variable=prefix={installed["prefix"]}', *words, 'raygpu-provider',
                   env=installed['env']).strip()
    assert tell('--cflags') in ('-I' + os.path.dirname(os.path.dirname(header)), '')
    assert tell('--libs') == ''
    assert tell('--variable=abi_major') == '1'
    assert os.path.exists(tell('--variable=providerdir') + '/aws.so')
    program, = find(installed['folder'], 'raygpu')
    rows = json.loads(run(program, 'providers', 'list', '--json', '--provider-dir',
                          tell('--variable=providerdir')))
    assert {r['name']: r['state'] for r in reversed(rows)}['aws'] == 'ok', rows


def test_a_setting_of_a_pool(home, cloud):
    """It reaches lower and the request, and comes back; without it the pool's nodes are others."""
    def limited(text):
        return spec(cloud).replace('nodes: 4}', f'nodes: 4, provider: {{{text}}}}}')
    home.write('cluster.yaml', limited('power_limit_w: 400'))
    home.apply()
    assert sorted(node['power_limit_w'] for node in cloud.live()) == [0, 0, 400, 400, 400, 400]
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.write('cluster.yaml', spec(cloud))
    assert 'Plan: 4 to add, 0 to change, 4 to destroy.' in home.run('plan', 'cluster.yaml').out
    home.write('cluster.yaml', limited('powr_limit_w: 400'))
    wrong = home.run('validate', 'cluster.yaml', code=4).err
    assert 'Error: provider "template" has no pool setting "powr_limit_w"' in wrong
    assert 'on cluster.yaml:8:68' in wrong and 'hint: did you mean "power_limit_w"?' in wrong
    home.write('cluster.yaml', limited('power_limit_w: 50'))
    wrong = home.run('validate', 'cluster.yaml', code=4).err
    assert 'Error: pools.small.provider.power_limit_w must be at least 100, not 50' in wrong and 'on cluster.yaml:8:69' in wrong
    home.write('cluster.yaml', spec(cloud).replace('cpu.large}', 'cpu.large, provider: {power_limit_w: high}}'))
    wrong = home.run('validate', 'cluster.yaml', code=4).err
    assert 'Error: head.provider.power_limit_w must be of type integer, not "high"' in wrong


def test_messages_use_the_clouds_words(home, cloud):
    home.write('type.yaml', spec(cloud).replace('cpu.large', 'cpu.larg'))
    assert '"cpu.larg" is not in the catalog of template node sizes' in home.run('validate', 'type.yaml', code=4).err
    home.write('denied.yaml', spec(cloud) + 'policy: {deny_instance_types: [cpu.*]}\n')
    assert 'the node size cpu.large (head) is denied by policy' in home.run('validate', 'denied.yaml', code=9).err
    home.write('hall.yaml', spec(cloud).replace('[b2]', '[a1]'))
    assert 'halls that the network reaches and that offer gpu.huge: b2' in home.run('plan', 'hall.yaml', code=4).err


def test_a_spec_names_a_region_where_there_are_regions(home, cloud):
    home.write('none.yaml', spec(cloud).replace('region: north, ', ''))
    missing = home.run('validate', 'none.yaml', code=4).err
    assert missing.count('Error:') == 1
    assert 'provider has no "region" [spec.missing-key]\n  on none.yaml:3:1\n' in missing
    assert 'add region: the region of template for the cluster' in missing
    home.write('slip.yaml', spec(cloud).replace('region:', 'regoin:'))
    assert 'did you mean `region` instead of "regoin"?' in home.run('validate', 'slip.yaml', code=4).err


def test_zones_that_the_module_fixes(home, cloud, tmp_path):
    home.modules = shutil.copytree(home.modules, str(tmp_path / 'modules'))
    with open(home.modules + '/template/schema.json', encoding='utf-8') as f:
        schema = json.load(f)
    schema['zones'] = ['a1', 'b2']
    with open(home.modules + '/template/schema.json', 'w', encoding='utf-8') as f:
        json.dump(schema, f)
    home.write('wrong.yaml', spec(cloud).replace('[b2]', '[b2, c3]'))
    refused = home.run('validate', 'wrong.yaml', code=4).err
    assert 'template has no hall "c3" [spec.conflict]\n  on wrong.yaml:7:55\n' in refused
    assert 'its halls are a1, b2' in refused and not cloud.requests


@pytest.fixture
def placeless(tmp_path, placeless_modules):
    with Cloud(regions={'': {'image': 'ray-gpu-7', 'sizes': {'cpu.large': [''], 'gpu.huge': [''],
                                                             'gpu.small': ['']}}}) as cloud:
        home = ThirdHome(tmp_path, cloud, placeless_modules)
        home.cloud = cloud
        home.write('cluster.yaml', spec(cloud).replace('region: north, ', '').replace(', zones: [b2]', ''))
        yield home


def test_a_cloud_without_regions_and_zones(placeless):
    home, cloud = placeless, placeless.cloud
    assert home.run('validate', 'cluster.yaml').out.endswith('6 nodes in template.\n')
    offers = home.run('offers', 'T4:1').out
    assert re.search(r'(?m)^template +gpu.small', offers), offers
    assert home.apply().out.count('template.node.small[') >= 4
    user_data, = {n['user_data'] for n in cloud.live() if n['size'] == 'gpu.huge'}
    assert 'ray.io/node-group' in user_data and 'availability' not in user_data
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--detailed-exitcode').out
    assert {n['zone'] for n in cloud.live()} == {''}

    # an imported node has its price back
    node, = [n for n in cloud.live() if n['size'] == 'gpu.huge']
    home.run('state', 'rm', 'template.node.big[0]')
    home.run('import', 'cluster.yaml', 'template.node.big[0]', node['id'])
    assert re.search(r'third/big +1 +\$21.50', home.run('cost', 'cluster.yaml').out)

    home.write('named.yaml', spec(cloud))
    refused = home.run('validate', 'named.yaml', code=4).err
    assert 'template has no regions' in refused and 'remove `region`' in refused
    home.write('zoned.yaml', spec(cloud).replace('region: north, ', ''))
    refused = home.run('validate', 'zoned.yaml', code=4).err
    assert 'template has no hall "b2"' in refused and 'it has no halls: remove `zones`' in refused
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not cloud.live()


def test_providers_check_plays_with_a_cloud_without_regions(placeless):
    checked = placeless.run('providers', 'check', placeless.modules + '/template.so', '--endpoint', placeless.cloud.url)
    assert 'pass  opens\n' in checked.out and ', 0 failed' in checked.out
    assert not placeless.cloud.live()


def test_an_image_has_the_clouds_form(home, cloud):
    strict = spec(cloud) + 'policy: {unpinned_images: false}\n'
    strict = strict.replace('python: "3.11"', f'image: "rayproject/ray@sha256:{"0" * 64}"')
    strict = strict.replace('cpu.large', 'cpu.large, image: ray-gpu-7').replace('nodes: 1', 'nodes: 1, image: ray-gpu-7')

    def said(image, code):
        home.write('image.yaml', strict.replace('nodes: 4', f'nodes: 4, image: "{image}"'))
        return home.run('validate', 'image.yaml', code=code).err
    assert said('ray-gpu-6', 0) == ''
    wrong = said('Ray:7', 4)
    assert '"Ray:7" is not an image of template [spec.bad-pattern]\n  on image.yaml:8:' in wrong
    assert 'it must be up to 63 lower-case letters, digits and hyphens' in wrong
    moving = ' '.join(said('ray-gpu-latest', 9).split())
    assert 'the image of the nodes of small is the newest of a family, which changes over time' in moving
    assert 'such as ray-gpu-7' in moving


def test_is_listed_and_its_specs_are_checked_without_network(home, cloud):
    rows = home.run('providers', 'list', '--json').json()
    row, = [r for r in rows if r['name'] == 'template']
    assert row['state'] == 'ok' and row['abi'] == 1 and row['version'] == '0.1.0', row
    assert 'valid' in home.run('validate', 'cluster.yaml').out
    home.write('bad.yaml', spec(cloud, extra=', prjoect: x'))
    bad = home.run('validate', 'bad.yaml', code=4)
    assert 'provider "template" has no setting "prjoect"' in bad.err
    assert 'bad.yaml:3:' in bad.err and 'did you mean "project"?' in bad.err
    home.write('bad.yaml', spec(cloud).replace('project: lab', 'project: Lab!'))
    bad = home.run('validate', 'bad.yaml', code=4)
    assert 'bad.yaml:3:' in bad.err and 'provider.project must be up to 40 lower-case letters' in bad.err
    assert not cloud.requests


def test_a_starter_spec_lies_beside_each_module(home, tmp_path):
    home.run('init', 'mine.yaml', '--provider', 'template')
    assert 'provider: {name: template' in home.read('mine.yaml')
    assert 'valid' in home.run('validate', 'mine.yaml').out
    home.run('init', 'first.yaml')
    assert 'provider: {name: aws' in home.read('first.yaml'), 'the first by name that has one'
    assert 'valid' in home.run('validate', 'first.yaml').out
    said = home.run('init', 'none.yaml', '--provider', 'azure', code=4)
    assert 'there is no starter spec for a provider "azure"' in said.err and 'azure,' not in said.err.split('hint:')[1], said


def test_a_broken_schema_is_told_by_its_place(home, tmp_path):
    """validate loads no module: it reads the schema.json beside it."""
    home.modules = shutil.copytree(home.modules, str(tmp_path / 'modules'))
    with open(home.modules + '/template/schema.json', 'w', encoding='utf-8') as f:
        f.write('{"kinds": 7}')
    said = ' '.join(home.run('validate', 'cluster.yaml', code=1).err.split())
    assert f'template/schema.json beside {home.modules}/template.so' in said


def test_a_module_without_reservations(home, cloud):
    home.write('cluster.yaml', spec(cloud))
    said = home.run('offers', '--blocks', 'cluster.yaml', code=1)
    assert 'provider template has no block offerings' in said.err and '[provider.no-blocks]' in said.err
    home.write('cluster.yaml', spec(cloud).replace('zones: [b2]', 'zones: [b2], market: {reservation: r-1}'))
    said = home.run('plan', 'cluster.yaml', code=4)
    assert 'the provider template does not support reservations (pool big)' in said.err and '[spec.conflict]' in said.err


def test_spot_is_refused_of_a_module_that_does_not_know_it(home, cloud):
    home.write('cluster.yaml', spec(cloud).replace('zones: [b2]', 'zones: [b2], market: spot'))
    said = home.run('validate', 'cluster.yaml', code=4)
    assert 'the provider template does not support spot nodes (pool big)' in said.err and '[spec.conflict]' in said.err


def test_a_price_limit_is_refused_of_a_module_that_has_none(home, cloud, tmp_path):
    home.modules = shutil.copytree(home.modules, str(tmp_path / 'modules'))
    path = home.modules + '/template/schema.json'
    with open(path, encoding='utf-8') as f:
        schema = json.load(f)
    schema['kinds']['template.node']['attributes']['market'] = {'type': 'string', 'role': 'market', 'default': 'on-demand'}
    limited = spec(cloud).replace('zones: [b2]', 'zones: [b2], market: {spot: {max_price: 0.4}}')
    for limit, code in ((False, 4), (True, 0)):
        with open(path, 'w', encoding='utf-8') as f:
            json.dump({**schema, 'spot_max_price': limit}, f)
        home.write('cluster.yaml', limited)
        said = home.run('validate', 'cluster.yaml', code=code)
        assert ('the provider template has no price limit for spot nodes (pool big)' in said.err) is not limit, said
        home.write('cluster.yaml', limited.replace('{spot: {max_price: 0.4}}', 'spot'))
        home.run('validate', 'cluster.yaml')


@pytest.mark.parametrize('label, said', [
    ('Team: ml', 'template does not accept a label with the key "Team" [spec.bad-pattern]'),
    ('team: "a b"', 'template does not accept a label with the value "a b" [spec.bad-pattern]'),
    (', '.join(f'l{i}: x' for i in range(9)), 'template accepts at most 8 labels, not 9 [spec.out-of-range]')])
def test_a_label_that_the_cloud_cannot_carry_is_an_error_of_the_spec(home, cloud, label, said):
    home.write('cluster.yaml', spec(cloud, labels=label))
    refused = home.run('validate', 'cluster.yaml', code=4)
    assert said in refused.err and 'cluster.yaml:2:' in refused.err
    assert not cloud.requests


@pytest.mark.parametrize('old, new, line, said', [
    ('cluster: third', 'cluster: a-long-name', 1, 'template cannot tag its resources with the cluster\'s name "a-long-name"'),
    ('  small:', '  small-ones:', 8, 'template cannot tag its resources with the pool\'s name "small-ones"')])
def test_a_name_that_a_mark_cannot_hold_is_an_error_of_the_spec(home, cloud, tmp_path, old, new, line, said):
    home.modules = shutil.copytree(home.modules, str(tmp_path / 'modules'))
    path = tmp_path / 'modules/template/schema.json'
    form = '"marks": {"value": {"pattern": "^[a-z0-9_-]{0,63}$"'
    text = path.read_text(encoding='utf-8')
    assert form in text
    path.write_text(text.replace(form, form.replace('63', '8')), encoding='utf-8')
    home.write('cluster.yaml', spec(cloud).replace(old, new))
    refused = home.run('validate', 'cluster.yaml', code=4)
    assert said in ' '.join(refused.err.split()) and f'cluster.yaml:{line}:' in refused.err
    assert 'at most 63' in refused.err and not cloud.requests


def test_rdma_is_spelt_by_the_module(home, cloud):
    """`rdma: N` of the fitted cluster is `links` here; types without adapters are refused."""
    asked = spec(cloud, small=0).replace('zones: [b2]', 'zones: [b2], network: {rdma: true}')
    home.write('cluster.yaml', asked)
    home.apply()
    assert {n['size']: n['links'] for n in cloud.live()} == {'cpu.large': 0, 'gpu.huge': 8}
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.write('cluster.yaml', spec(cloud, small=0))
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert 'links' in plan.out and 'forces replacement' in plan.out, plan
    home.write('cluster.yaml', asked.replace('"A100:8"', 'T4:1'))
    said = home.run('validate', 'cluster.yaml', code=4)
    assert 'gpu.small (no RDMA adapters)' in ' '.join(said.err.split()), said


def test_whole_story(home, cloud):
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert 'Plan: 7 to add, 0 to change, 0 to destroy.' in plan.out
    assert '  # template.node.small[3] will be created\n' in plan.out
    assert '$' in plan.out and not changes(cloud)

    first = home.apply()
    assert 'Apply complete! Resources: 7 added, 0 changed, 0 destroyed.' in first.out
    assert sorted(n['size'] for n in cloud.live()) == ['cpu.large', 'gpu.huge'] + ['gpu.small'] * 4
    assert len(changes(cloud)) == 3, 'a pool is one request'
    head, = [n for n in cloud.live() if n['marks']['pool'] == 'head']
    assert all(head['private_ip'] in n['user_data'] for n in cloud.live() if n is not head)
    assert {n['zone'] for n in cloud.live() if n['size'] == 'gpu.huge'} == {'b2'}

    # nothing to do; the listing takes several pages
    cloud.requests.clear()
    again = home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    assert 'No changes.' in again.out
    assert len([r for r in cloud.requests if 'after=node' in r[1]]) >= 1 and not changes(cloud)
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')

    # someone deletes one node and relabels another
    victim, other = [n for n in cloud.live() if n['size'] == 'gpu.small'][:2]
    del cloud.nodes[victim['id']]
    other['labels'] = {'team': 'nobody'}
    drift = home.run('drift', 'cluster.yaml', '--format', 'json', code=2)
    assert f'template.node.small[{victim["marks"]["index"]}]' in drift.out
    assert f'template.node.small[{other["marks"]["index"]}]' in drift.out
    mend = home.apply()
    assert 'Resources: 1 added, 1 changed, 0 destroyed.' in mend.out
    assert other['labels'] == {'team': 'ml'}

    # shrink and change labels in place
    home.write('cluster.yaml', spec(cloud, small=2, labels='team: research'))
    shrink = home.apply()
    assert 'Resources: 0 added, 4 changed, 2 destroyed.' in shrink.out
    assert {n['labels']['team'] for n in cloud.live()} == {'research'}
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0

    # a lost state creates nothing, and its records are rebuilt from the marks
    os.rename(home.state, home.path('lost.db'))
    cloud.requests.clear()
    refused = home.run('plan', 'cluster.yaml', code=6)
    assert 'plan.name-taken' in refused.err and '`raygpu state rebuild cluster.yaml' in ' '.join(refused.err.split())
    assert not changes(cloud)
    home.run('state', 'rebuild', 'cluster.yaml')
    records = home.run('state', 'list').out.split()
    assert {'template.node.head', 'template.node.big[0]', 'template.node.small[1]'} < set(records)

    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not cloud.live()
    with open(home.state, 'rb') as state:
        assert cloud.key.encode() not in state.read()


def token_of(node):
    return re.search('"/etc/raygpu/token".*?"content": "([0-9a-f]+)"', node['user_data']).group(1)


def test_a_rebuilt_state_adds_nodes_with_the_token_that_it_is_given(home, cloud):
    """The cloud of the template does not report user data."""
    home.apply()
    token, = {token_of(n) for n in cloud.live()}
    os.rename(home.state, home.path('lost.db'))
    said = ' '.join(home.run('state', 'rebuild', 'cluster.yaml').err.split())
    assert 'the Ray token of the running nodes could not be read back' in said
    assert 'the next apply replaces all nodes' in said and '--ray-token-file' in said
    assert 'Plan: 6 to add, 0 to change, 6 to destroy.' in home.run('plan', 'cluster.yaml').out

    os.remove(home.state)
    home.write('token', 'no token\n')
    refused = home.run('state', 'rebuild', 'cluster.yaml', '--ray-token-file', 'token', code=4)
    assert 'does not contain a Ray token' in refused.err and not os.path.exists(home.state)
    home.write('token', token + '\n')
    rebuilt = home.run('state', 'rebuild', 'cluster.yaml', '--ray-token-file', 'token')
    assert 'Ray token' not in rebuilt.err and token not in rebuilt.out
    assert 'No changes.' in home.run('plan', 'cluster.yaml').out
    home.write('cluster.yaml', spec(cloud, small=5))
    assert 'Resources: 1 added, 0 changed, 0 destroyed.' in home.apply().out
    assert {token_of(n) for n in cloud.live()} == {token} and len(cloud.live()) == 7


def test_an_imported_node_is_pinned_by_the_roles_of_its_attributes(home, cloud):
    home.apply()
    assert re.search(r'third/big +1 +\$21.50', home.run('cost', 'cluster.yaml').out)
    node, = [n for n in cloud.live() if n['size'] == 'gpu.huge']
    home.run('state', 'rm', 'template.node.big[0]')
    assert re.search(r'third/big +0 ', home.run('cost', 'cluster.yaml').out)
    home.run('import', 'cluster.yaml', 'template.node.big[0]', node['id'])
    pin, = [r['pin'] for r in home.run('state', 'pull').json()['clusters'][0]['resources'] if r['id'] == node['id']]
    assert {k: pin.get(k) for k in ('instance_type', 'zone', 'image_id')} == {
        'instance_type': 'gpu.huge', 'zone': 'b2', 'image_id': node['image']}
    assert re.search(r'third/big +1 +\$21.50', home.run('cost', 'cluster.yaml').out)


def test_a_cluster_does_not_move_to_another_project(home, cloud):
    home.apply()
    home.write('cluster.yaml', spec(cloud).replace('project: lab', 'project: sales'))
    for command in (('plan',), ('apply', '--auto-approve')):
        moved = home.run(*command, 'cluster.yaml', code=6)
        assert 'cluster third is recorded in project "lab", but the spec says "sales"' in moved.err
        assert 'cluster.yaml:3:' in moved.err and '[plan.wrong-state]' in moved.err
    assert len(cloud.live()) == 6


def test_a_short_delivery_is_a_failure_of_the_rest(home, cloud):
    cloud.capacity['gpu.small'] = 1
    short = home.apply(code=None)
    assert short.code in (3, 8), short
    assert 'no more gpu.small in' in short.err
    assert len([n for n in cloud.live() if n['size'] == 'gpu.small']) == 1
    cloud.capacity.clear()
    rest = home.apply()
    assert 'Resources: 3 added' in rest.out
    assert len(cloud.live()) == 6


def test_a_lost_answer_makes_no_second_node(home, cloud):
    cloud.lose_answer()
    home.apply(code=None)
    home.apply()
    assert len(cloud.live()) == 6
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not cloud.live()


def test_refusals_keep_their_class(home, cloud):
    denied = home.run('plan', 'cluster.yaml', code=7, env={'TEMPLATE_API_KEY': 'another'})
    assert 'the key is not known' in denied.err and 'another' not in denied.err
    missing = home.run('plan', 'cluster.yaml', code=7, env={'TEMPLATE_API_KEY': ''})
    assert 'TEMPLATE_API_KEY' in missing.err
    cloud.fail_next(403, 'quota')
    quota = home.apply(code=None)
    assert quota.code in (3, 8) and 'quota' in quota.err
    home.apply()
    assert len(cloud.live()) == 6


def relabel(home, cloud, team):
    home.write('cluster.yaml', spec(cloud, labels=f'team: {team}'))


def teams(cloud):
    return {n['labels']['team'] for n in cloud.live()}


def deletes(cloud):
    return [r for r in cloud.requests if r[0] == 'DELETE']


def raise_versions(cloud):
    """Someone changes something that no spec sets."""
    for node in cloud.live():
        node['version'] += 5


def test_a_change_is_guarded_by_the_version_that_the_plan_saw(home, cloud):
    home.apply()
    raise_versions(cloud)
    relabel(home, cloud, 'research')
    assert 'Resources: 0 added, 6 changed, 0 destroyed.' in home.apply().out
    relabel(home, cloud, 'ops')
    home.run('plan', 'cluster.yaml', '--out', 'saved.json')
    raise_versions(cloud)
    refused = home.run('apply', 'saved.json', '--auto-approve', code=1)
    assert 'is not' in refused.err and '[provider.conflict]' in refused.err
    assert teams(cloud) == {'research'}, 'nobody\'s change is overwritten unseen'
    home.apply()
    assert teams(cloud) == {'ops'}
    raise_versions(cloud)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not cloud.live()


def test_a_saved_plan_carries_the_versions(home, cloud):
    home.apply()
    raise_versions(cloud)
    relabel(home, cloud, 'ops')
    home.run('plan', 'cluster.yaml', '--out', 'saved.json')
    home.run('apply', 'saved.json', '--auto-approve')
    assert teams(cloud) == {'ops'}


def test_a_pending_update_is_polled_by_its_operation(home, cloud):
    home.apply()
    cloud.slow_changes = 2
    relabel(home, cloud, 'research')
    cloud.requests.clear()
    assert 'Resources: 0 added, 6 changed, 0 destroyed.' in home.apply().out
    assert len([r for r in cloud.requests if r[1].startswith('/v1/operations/op-')]) == 12
    assert len(changes(cloud)) == 6 and teams(cloud) == {'research'}
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0


def test_a_pending_removal_is_polled_and_what_it_uses_waits(home, cloud):
    home.apply()
    cloud.stop_looks = 2
    head, = [n['id'] for n in cloud.live() if n['marks']['pool'] == 'head']
    ended = home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert 'Destroy complete! Resources: 7 destroyed.' in ended.out and not cloud.nodes
    order = [r[1].partition('?')[0].rpartition('/')[2] for r in deletes(cloud)]
    assert len(order) == 6 * 3 and order[-3:] == [head] * 3


@pytest.mark.parametrize('how', [signal.SIGKILL, signal.SIGINT])
def test_a_removal_that_is_cut_short_is_finished_by_the_next(home, cloud, how):
    home.apply()
    cloud.stop_looks = 10 ** 6
    with home.start('destroy', '--provider-dir', home.modules, 'cluster.yaml', '--auto-approve') as process:
        while len(deletes(cloud)) < 12 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130 and 'left in the journal' in err and 'template.node.big[0]' in err, err
    assert len(cloud.nodes) == 6
    recorded = set(home.run('state', 'list').out.split())
    assert {'template.node.head', 'template.node.big[0]', 'template.node.small[3]'} <= recorded
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert 'an interrupted run was deleting it' in ' '.join(plan.out.split())
    cloud.stop_looks = 1
    for node in cloud.nodes.values():
        node['looks'] = 1
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not cloud.nodes and 'template.node' not in home.run('state', 'list').out


def test_what_the_cloud_adds_to_labels_is_no_drift_but_a_dropped_one_is_taken_off(home, cloud):
    cloud.own_labels = {'by': 'us'}
    home.write('cluster.yaml', spec(cloud, labels='team: ml, tier: gold'))
    home.apply()
    assert {n['labels']['by'] for n in cloud.live()} == {'us'}
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')
    home.write('cluster.yaml', spec(cloud, labels='team: ml'))
    assert 'Resources: 0 added, 6 changed, 0 destroyed.' in home.apply().out
    assert all(n['labels'] == {'team': 'ml', 'by': 'us'} for n in cloud.live())
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0


def test_the_request_budget_counts_items(home, cloud):
    def calls(*arguments):
        home.run('plan', 'cluster.yaml', '--out', 'saved.json', *arguments)
        return json.loads(home.read('saved.json'))['raygpu']['budget']['api_calls']
    assert calls() == 3 + 6 * 6, 'a request a pool, and one a node for each look'
    home.apply()
    relabel(home, cloud, 'ops')
    assert calls() == 6 * (1 + 6), 'a request a node, and looks at what is pending'

"""Modules whose nodes do not boot from cloud-init: the template, modified in a copy."""
import json
import re
import subprocess

import pytest
from template_cloud import REGIONS, Cloud
from test_template import ThirdHome, build_template, installed, spec  # pylint: disable=unused-import


def changed(by):
    """The template with an attribute `user_data` that contains all of a node's boot."""
    replaced = {
        'template.c': {'json_object_get(json_object_get(node, "boot"), "user_data")': 'json_object_get(node, "boot")'},
        'schema.json': {'{"by": "cloud_init", "user_data_bytes": 262144}': f'{{"by": "{by}"}}',
                        '"user_data": {"type": "string"': '"user_data": {"type": "object"'}}

    def change(name, text):
        for old, new in replaced.get(name, {}).items():
            assert old in text
            text = text.replace(old, new)
        return text
    return change


def scripted(name, text):
    """The template with `user_data` that is the script of a node's boot."""
    if name == 'template.c':
        return text.replace('"boot"), "user_data")', '"boot"), "script")')
    return text.replace('{"by": "cloud_init", "user_data_bytes": 262144}', '{"by": "script"}')


def run_script(script, root):
    """What a script of a node writes below `root`: ({path: content}, words of systemctl)."""
    bin_ = root / 'bin'
    bin_.mkdir(parents=True)
    (bin_ / 'systemctl').write_text(f'#!/bin/sh\necho "$@" >>{root}/calls\n', encoding='utf-8')
    (bin_ / 'systemctl').chmod(0o755)
    head, end, rest = script.partition('; }\n')       # of the function that writes a file
    assert '"$2' in head and '"${2%/*}"' in head
    script = head.replace('"$2', f'"{root}/disk$2').replace('"${2%', f'"{root}/disk${{2%') + end + rest
    subprocess.run(['bash'], input=script, text=True, check=True, env={'PATH': f'{bin_}:/usr/bin:/bin'})
    files = {f'/{path.relative_to(root / "disk")}': path for path in (root / 'disk').rglob('*') if path.is_file()}
    return files, (root / 'calls').read_text(encoding='utf-8').splitlines()


@pytest.fixture
def cloud():
    with Cloud() as cloud:
        yield cloud


@pytest.fixture
def home(request, tmp_path, tmp_path_factory, cloud, installed):    # pylint: disable=redefined-outer-name
    module = build_template(installed, tmp_path_factory.mktemp('third'), changed(request.param))
    home = ThirdHome(tmp_path, cloud, module)
    home.write('cluster.yaml', spec(cloud, small=1))
    return home


@pytest.mark.parametrize('home', ['container'], indirect=True)
def test_a_cloud_that_starts_the_container_gets_all_that_it_needs(home, cloud):
    home.apply()
    boots = {n['marks']['pool']: n['user_data'] for n in cloud.live()}
    head, = [n for n in cloud.live() if n['marks']['pool'] == 'head']
    small = boots['small']
    assert small['command'][:2] == ['ray', 'start'] and f'--address={head["private_ip"]}:6379' in small['command']
    assert '--head' in boots['head']['command'] and 'address' not in ' '.join(boots['head']['command'][3:])
    assert small['image'].startswith('rayproject/ray:2.56.1') and small['gpus'] == 1
    assert small['env']['RAY_NODE_TYPE_NAME'] == 'small' and small['env']['RAY_AUTH_MODE'] == 'token'
    assert small['labels']['ray.io/accelerator-type'] == 'T4'
    assert re.fullmatch('[0-9a-f]{64}', small['token']) and boots['head']['token'] == small['token']
    assert '#cloud-config' not in json.dumps(boots)
    assert 'No changes.' in home.run('plan', 'cluster.yaml').out

    # the renamed pool is the same one
    home.run('state', 'mv', 'template.node.small', 'template.node.tiny')
    home.write('cluster.yaml', spec(cloud, small=1).replace('small:', 'tiny:'))
    moved = home.run('plan', 'cluster.yaml').out
    assert 'must be replaced' not in moved, moved


def test_a_script_does_what_the_cloud_config_does(tmp_path, cloud, installed):    # pylint: disable=redefined-outer-name
    text = spec(cloud, small=1).replace('nodes: 1}', """nodes: 1, env: {SAYING: "it's 'fine'"}}""")
    assert 'SAYING' in text
    nodes, homes = {}, {}
    with Cloud() as second:
        for by, change, where in [('script', scripted, cloud), ('cloud_init', None, second)]:
            (tmp_path / by / 'module').mkdir(parents=True)
            module = build_template(installed, tmp_path / by / 'module', *([change] if change else []))
            homes[by] = ThirdHome(tmp_path / by, where, module)
            homes[by].write('cluster.yaml', text.replace(cloud.url, where.url))
            homes[by].apply()
            nodes[by] = {n['marks']['pool']: n for n in where.live()}
    for pool in ('head', 'small'):
        files, calls = run_script(nodes['script'][pool]['user_data'], tmp_path / pool)
        config = json.loads(nodes['cloud_init'][pool]['user_data'].partition('\n')[2])
        assert set(files) == {f['path'] for f in config['write_files']}
        for file in config['write_files']:
            written = files[file['path']]
            assert f'{written.stat().st_mode & 0o7777:04o}' == file['permissions'], file['path']
            if file['path'] not in ('/etc/raygpu/token', '/etc/raygpu/head'):    # of each cluster
                assert written.read_text(encoding='utf-8') == file['content'], file['path']
        assert re.fullmatch('[0-9a-f]{64}', files['/etc/raygpu/token'].read_text(encoding='utf-8'))
        assert calls == [' '.join(words[1:]) for words in config['runcmd']]
    assert files['/etc/raygpu/head'].read_text(encoding='utf-8') == nodes['script']['head']['private_ip']
    assert "SAYING=it's 'fine'" in files['/etc/raygpu/ray.env'].read_text(encoding='utf-8')

    # a changed field is named as the user knows it
    home = homes['script']
    home.write('cluster.yaml', text.replace("it's 'fine'", "it's 'good'"))
    planned = home.run('plan', 'cluster.yaml').out
    assert 'env.SAYING' in planned, planned
    home.write('cluster.yaml', text)
    assert 'No changes.' in home.run('plan', 'cluster.yaml').out


@pytest.mark.parametrize('home', ['nothing'], indirect=True)
def test_a_cloud_that_boots_nothing_of_ours_still_hears_of_the_ray_node(home, cloud):
    home.apply()
    boot, = [n['user_data'] for n in cloud.live() if n['marks']['pool'] == 'small']
    assert set(boot) == {'env', 'labels', 'resources', 'gpus'} and boot['resources'] == {'accelerator_type:T4': 1}


def test_a_module_brings_its_own_fragment(tmp_path, cloud, installed):    # pylint: disable=redefined-outer-name
    old = '"user_data_bytes": 262144'

    def change(name, text):
        assert name != 'schema.json' or old in text
        return text.replace(old, old + ', "cloud": "cloud.sh"')

    (tmp_path / 'third').mkdir()
    home = ThirdHome(tmp_path, cloud, build_template(installed, tmp_path / 'third', change))
    home.write('cluster.yaml', spec(cloud, small=1))
    refused = home.run('plan', 'cluster.yaml', code=1)
    assert 'names the file cloud.sh in boot.cloud, which is not beside it [provider.refused]' in ' '.join(
        refused.err.split())
    checked = home.run('providers', 'check', f'{home.modules}/template.so', '--json', code=1).json()
    assert [s['step'] for s in checked['steps'] if s['outcome'] == 'fail'] == ['data file cloud.sh']

    with open(f'{home.modules}/template/cloud.sh', 'w', encoding='utf-8') as f:
        f.write('read_identity() { instance_id=mine; }\n')
    home.apply()
    for node in cloud.live():
        files = {f['path']: f['content'] for f in json.loads(node['user_data'].partition('\n')[2])['write_files']}
        assert files['/usr/local/lib/raygpu/cloud'] == 'read_identity() { instance_id=mine; }\n'


@pytest.mark.parametrize('home', ['container'], indirect=True)
def test_a_zone_that_is_no_ray_label_is_refused(home, cloud, monkeypatch):
    north = {**REGIONS['north'], 'zones': ['a:1', 'b2'], 'sizes': {**REGIONS['north']['sizes'], 'cpu.large': ['a:1']}}
    monkeypatch.setitem(REGIONS, 'north', north)
    refused = home.run('plan', 'cluster.yaml', code=4)
    assert '"ray.io/availability-zone: a:1" is not a Ray label' in ' '.join(refused.err.split())
    assert '[boot.bad-value]' in refused.err and not cloud.nodes


@pytest.mark.parametrize('home', ['container'], indirect=True)
def test_the_module_passes_its_check(home, cloud):
    report = home.run('providers', 'check', f'{home.modules}/template.so', '--region', 'north', '--endpoint',
                      cloud.url, '--json').json()
    assert report['failed'] == 0, report

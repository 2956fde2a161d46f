"""Modules whose nodes do not boot from cloud-init: the template, modified in a copy."""
import json
import re

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
    assert small['image'].startswith('rayproject/ray:2.52.0') and small['gpus'] == 1
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

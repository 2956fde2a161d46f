"""Custom machine types, whose names give their size, and GPUs beside hosts that the catalog does not list with them. Both must be
named: nothing chooses them."""
import csv
import re

import pytest
from program import ROOT
from test_gcp_story import OLD_IMAGE, clean, nodes, spec

FOLDER = ROOT / 'providers/gcp'


def types_of(gce, pool):
    return {i['machineType'].split('/')[-1] for i in nodes(gce, pool)}


def test_a_cluster_of_custom_machines(gce, home):
    home.write('cluster.yaml', spec({
        'a': 'instance_type: n2-custom-8-32768, nodes: 2', 'b': 'instance_type: "n1-custom-4-16384+nvidia-tesla-t4:1", nodes: 1',
        'c': 'instance_type: n4-custom-4-65536-ext, nodes: 1', 'd': 'instance_type: custom-1-1024, nodes: 1',
        'e': 'instance_type: e2-custom-4-8192, nodes: 1', 'f': 'instance_type: n2d-custom-16-8192, nodes: 1'}))
    plan = home.run('plan', 'cluster.yaml').out
    assert '7 nodes without a known price not counted' in plan, plan
    assert re.search(r'^  a +n2-custom-8-32768 ', plan, re.M), plan
    home.apply()
    assert types_of(gce, 'a') == {'n2-custom-8-32768'} and types_of(gce, 'c') == {'n4-custom-4-65536-ext'}
    assert types_of(gce, 'b') == {'custom-4-16384'}, 'the name that the API returns'
    assert [i['guestAccelerators'][0]['acceleratorCount'] for i in nodes(gce, 'b')] == [1]
    assert 'No changes.' in clean(home).out
    home.run('state', 'rebuild', 'cluster.yaml', '--state', 'new.db')
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--state', 'new.db').out


@pytest.mark.parametrize('name, said', [
    ('n2-custom-3-8192', '2 to 32 in steps of 2, 36 to 128 in steps of 4'),
    ('n2-custom-34-65536', '36 to 128 in steps of 4'),
    ('n2d-custom-6-8192', '16 to 96 in steps of 16'),
    ('n2-custom-8-32100', 'not a multiple of 256'),
    ('n2-custom-2-16640', '1024 to 16384 MiB'),
    ('n4-custom-4-4096', '8192 to 32768 MiB'),
    ('custom-3-8192', '1, 2 to 96 in steps of 2'),
    ('custom-2-1536', '1844 to 13312 MiB'),
    ('e2-custom-32-262144', '131072 MiB'),
    ('custom-2-640000-ext', '638976 MiB'),
    ('n1-standard-2+nvidia-tesla-t4:3', 'machines have 1, 2, 4 of nvidia-tesla-t4'),
    ('n1-highcpu-16+nvidia-tesla-v100:1', 'at most 12 vCPUs, and n1-highcpu-16 has 16'),
    ('custom-12-99840-ext+nvidia-tesla-v100:1', 'at most 78 GiB of memory'),
    ('n2-standard-4+nvidia-tesla-t4:1', 'nvidia-tesla-t4 cannot be attached to n2-standard-4'),
    ('n2-custom-4-8192+nvidia-tesla-t4:1', 'nvidia-tesla-t4 cannot be attached to n2-custom-4-8192'),
])
def test_the_rule_that_a_name_breaks_is_said(gce, home, name, said):
    """And Compute Engine, here simulated, refuses the machine too."""
    home.write('cluster.yaml', spec({'w': f'instance_type: "{name}", nodes: 1'}))
    text = home.run('plan', 'cluster.yaml', code=4).err
    assert said in text.replace('\n', ' ') and 'catalog.unknown-type' in text, text
    machine, _, gpus = name.partition('+')
    body = {'name': 'one', 'machineType': f'zones/us-central1-a/machineTypes/{machine}', 'scheduling': {'onHostMaintenance': 'TERMINATE'},
            'networkInterfaces': [{'network': 'global/networks/default'}], 'disks': [{'boot': True, 'initializeParams': {
                'sourceImage': f'{OLD_IMAGE}'}}]}
    if gpus:
        kind, _, count = gpus.partition(':')
        body['guestAccelerators'] = [{'acceleratorType': f'zones/us-central1-a/acceleratorTypes/{kind}', 'acceleratorCount': int(count)}]
    status, answer = gce.call('POST', 'zones/us-central1-a/instances', body)
    assert status == 400 and machine in answer['error']['message'], answer


def test_a_small_host_with_a_gpu(gce, home):
    """Its price is the host's and the GPU's, which the catalog has for other hosts."""
    home.write('cluster.yaml', spec({
        'a': 'instance_type: "n1-standard-2+nvidia-tesla-t4:1", nodes: 2', 'b': 'instance_type: "n1-standard-1+nvidia-tesla-t4:1", nodes: 1',
        'c': f'instance_type: "n1-highcpu-8+nvidia-tesla-v100:1", nodes: 1, image: {OLD_IMAGE}'}))
    plan = home.run('plan', 'cluster.yaml').out
    assert re.search(r'^  a +n1-standard-2\+nvidia-tesla-t4:1 .*0\.89', plan, re.M), plan
    assert '2 nodes without a known price not counted' in plan, plan
    home.apply()
    assert types_of(gce, 'a') == {'n1-standard-2'} and types_of(gce, 'c') == {'n1-highcpu-8'}
    assert 'No changes.' in clean(home).out


def test_nothing_chooses_them(gce, home):
    home.write('cluster.yaml', spec({'w': 'accelerators: "T4:1", nodes: 1'}))
    assert 'n1-standard-4+nvidia-tesla-t4:1' in home.run('plan', 'cluster.yaml').out
    assert 'n1-standard-2+' not in home.run('offers', 'T4:1', '--provider', 'gcp', code=None).out


def test_custom_types_are_read_by_name(gce, home):
    home.write('cluster.yaml', spec({'w': 'instance_type: n4-custom-4-16384, nodes: 1'}))
    home.run('plan', 'cluster.yaml', '--trace', 'trace')
    assert gce.counters()['actions']['machineTypes.get']['requests'] == 4, 'once for each zone: lists do not have it'


def test_prices_of_ones_own(gce, home):
    home.write('raygpu.yaml', 'catalog: {prices: {gcp: [{instance_type: n2-custom-8-32768, region: us-central1, hourly_usd: 0.5}]}}\n')
    home.write('cluster.yaml', spec({'w': 'instance_type: n2-custom-8-32768, nodes: 2'}))
    assert 'without a known price' not in home.run('plan', 'cluster.yaml').out


def test_a_type_of_the_project_file_is_within_the_limits_too(gce, home):
    home.write('raygpu.yaml', 'catalog: {instance_types: {gcp: {n1-standard-64+nvidia-tesla-t4: {accelerators: "T4:1", vcpus: 64, memory: 240GiB}}}}\n')
    home.write('cluster.yaml', spec({'w': 'instance_type: n1-standard-64+nvidia-tesla-t4, nodes: 1'}))
    text = ' '.join(home.run('plan', 'cluster.yaml', code=None).err.split())
    assert 'a host with 1 of nvidia-tesla-t4 has at most 48 vCPUs, and n1-standard-64 has 64' in text, text


@pytest.mark.parametrize('priced, named', [('n1-custom-4-16384', 'custom-4-16384'), ('custom-4-16384', 'n1-custom-4-16384')])
def test_both_names_of_a_custom_n1_type_have_the_price(gce, home, priced, named):
    home.write('raygpu.yaml', f'catalog: {{prices: {{gcp: [{{instance_type: {priced}, region: us-central1, hourly_usd: 0.5}}]}}}}\n')
    home.write('cluster.yaml', spec({'w': f'instance_type: {named}, nodes: 2'}))
    plan = home.run('plan', 'cluster.yaml').out
    assert 'without a known price' not in plan and re.search(r'^  w +custom-4-16384 ', plan, re.M), plan


def test_the_tables_agree():
    """Every listed N1 type with GPUs is within the limits of attached_gpus.csv, and every accelerator there has its series."""
    def rows(name):
        with open(FOLDER / name, newline='', encoding='utf-8') as f:
            return list(csv.DictReader(f))
    limits = {(r['accelerator'], r['gpus']): r for r in rows('attached_gpus.csv')}
    series = {row['series'].split('+')[1] for row in rows('machine_series.csv') if row['gpus'] == 'attached'}
    assert series == {gpu for gpu, _ in limits}
    for row in rows('instance_types.csv'):
        host, _, attached = row['instance_type'].partition('+')
        if attached:
            limit = limits[tuple(attached.split(':'))]
            assert int(row['vcpus']) <= int(limit['most_vcpus']) and float(row['memory_gib']) <= float(limit['most_gib']), row
            assert row['gpu_model'] == limit['gpu_model'] and row['family'] in limit['families'].split()

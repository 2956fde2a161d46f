"""Every instance type that raygpu's catalog can choose exists in the simulated clouds, in the regions where it has a
price, with the CPUs, memory and GPUs of the catalog."""
import csv
import os

import pytest
from gce_server import Gce
from helpers import numbered
from program import ROOT
from sim_server import Sim

PLACES = {'aws': ('us-east-1', 'eu-west-1', 'ap-northeast-1'), 'gcp': ('us-central1', 'europe-west4', 'asia-east1')}
OUTSIDE = {'us-gov-east-1', 'us-gov-west-1', 'cn-north-1', 'cn-northwest-1'}  # partitions of their own


def rows(provider, table):
    with open(os.path.join(ROOT, f'providers/{provider}/{table}.csv'), newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f))


def priced(provider, region):
    return {r['instance_type'] for r in rows(provider, 'prices') if r['region'] == region}


@pytest.fixture(scope='module')
def ec2():
    with Sim() as sim:
        yield sim


@pytest.fixture(scope='module')
def gce():
    with Gce() as gce:
        yield gce


def listed(sim, action, form, path, **more):
    found, token = [], None
    while True:
        root = sim.ok(action, {**form, **({'NextToken': token} if token else {})}, **more)
        found += root.findall(path)
        token = root.findtext('nextToken')
        if not token:
            return found


def test_ec2_describes_every_type(ec2):
    catalog = {r['instance_type']: r for r in rows('aws', 'instance_types')}
    here = sorted(priced('aws', 'us-east-1') & set(catalog))
    assert len(here) > 150
    found = {}
    for at in range(0, len(here), 90):
        for item in ec2.ok('DescribeInstanceTypes', numbered('InstanceType', here[at:at + 90])).findall('instanceTypeSet/item'):
            found[item.findtext('instanceType')] = item
    assert set(found) == set(here)
    for name, item in found.items():
        row = catalog[name]
        whole = row['gpu_fraction'] in ('', '1.0')  # EC2 counts an eighth of a GPU as none
        said = (item.findtext('vCpuInfo/defaultVCpus'), int(item.findtext('memoryInfo/sizeInMiB')) / 1024,
                sum(int(g.findtext('count')) for g in item.findall('gpuInfo/gpus/item')))
        assert said == (row['vcpus'], float(row['memory_gib']), int(row['gpus'] or 0) if whole else 0), name
        archs = {a.text for a in item.findall('processorInfo/supportedArchitectures/item')}
        assert row['arch'] in archs and int(item.findtext('networkInfo/maximumNetworkInterfaces')) >= 2, name


def test_ec2_offers_them_where_they_have_a_price(ec2):
    known = {r['region'] for r in rows('aws', 'prices')} - OUTSIDE
    assert set(PLACES['aws']) < known
    for region in sorted(known):
        found = {i.findtext('instanceType') for i in listed(
            ec2, 'DescribeInstanceTypeOfferings', {'LocationType': 'region'}, 'instanceTypeOfferingSet/item', region=region)}
        assert priced('aws', region) <= found, (region, sorted(priced('aws', region) - found))


def test_compute_engine_has_every_machine_type(gce):
    catalog = {r['instance_type']: r for r in rows('gcp', 'instance_types')}
    for region in PLACES['gcp']:
        zone = f'{region}-b'
        types = {t['name']: t for t in gce.get(f'zones/{zone}/machineTypes', maxResults='500')['items']}
        hosts = {name.partition('+')[0] for name in priced('gcp', region)}
        assert hosts and hosts <= set(types), sorted(hosts - set(types))
        for name in sorted(hosts & set(catalog)):
            row, said = catalog[name], types[name]
            gpus = sum(a['guestAcceleratorCount'] for a in said.get('accelerators', []))
            assert (said['guestCpus'], said['memoryMb'] / 1024, gpus) == \
                (int(row['vcpus']), float(row['memory_gib']), int(row['gpus'] or 0)), name

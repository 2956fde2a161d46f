"""What machine_series.csv says about the machines of the catalog."""
import csv
import json
import re

from program import ROOT
from test_gcp_story import spec

FOLDER = ROOT / 'providers/gcp'


def rows(name):
    with open(FOLDER / name, newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f))


def is_of(series, instance_type):
    """As is_of_series of machine.c."""
    machine, _, gpus = instance_type.partition('+')
    name, _, gpu = series.partition('+')
    return (machine + '-').startswith(name + '-') and gpus.split(':')[0] == gpu


def test_every_type_of_the_catalog_has_a_series():
    series = [row['series'] for row in rows('machine_series.csv')]
    unknown = {row['instance_type'] for row in rows('instance_types.csv')
               if not any(is_of(one, row['instance_type']) for one in series)}
    assert not unknown, 'they would get a default disk that they may not support: add their series to machine_series.csv'


def test_longer_series_come_first():
    series = [row['series'] for row in rows('machine_series.csv')]
    hidden = [(a, b) for i, a in enumerate(series) for b in series[i + 1:] if is_of(a, b)]
    assert not hidden, 'the first row that matches counts'


def test_c4_machines_get_the_only_disk_that_they_start_from(gce, home):
    home.write('cluster.yaml', spec({'w': 'instance_type: c4-standard-8, nodes: 1'}))
    assert re.search('disk_type +. "hyperdisk-balanced"', home.run('plan', 'cluster.yaml', '--verbose').out)
    home.write('cluster.yaml', spec({'w': 'instance_type: c4-standard-8, nodes: 1, disk: {type: pd-ssd}'}))
    assert 'c4-standard-8' in home.run('plan', 'cluster.yaml', code=1).err


def test_machines_without_a_known_price_are_planned(gce, home):
    home.write('cluster.yaml', spec({'a': 'instance_type: n4-standard-8, nodes: 1', 'b': 'instance_type: t2d-standard-4, nodes: 1'}))
    plan = home.run('plan', 'cluster.yaml').out
    assert '2 nodes without a known price not counted' in plan, plan
    assert re.search(r'^  a +n4-standard-8 ', plan, re.M) and re.search(r'^  b +t2d-standard-4 ', plan, re.M), plan


def test_the_default_disk_is_one_that_each_series_supports():
    schema = json.loads((FOLDER / 'schema.json').read_text())
    for row in rows('machine_series.csv'):
        name = row['series'].split('+')[0] + '-'
        default = next(one['type'] for one in schema['disk']['default'] if re.match(one.get('instance_types', ''), name))
        assert default in row['disks'].split(), row

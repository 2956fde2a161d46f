"""providers/aws/{instance_types,prices,regions}.csv."""
import collections
import json
import os
import re
import files

PROVIDER = 'aws'

# A day when the source states one; a year where only a commit is known.
DATE = re.compile(r'^\d{4}(-\d\d-\d\d)?')
OFFERINGS_SOURCE = 'moto 5.2.1 instance type offerings'
OFFERINGS_DATE = '2026-05'


def write(contracts):
    offered = collections.defaultdict(set)
    for o in files.read(contracts, 'gpu/aws_gpu_offerings.csv'):
        offered[o['instance_type']].add(o['region'])
    instance_types(contracts, offered)
    prices(contracts, offered)
    regions(contracts, offered)


def instance_types(contracts, offered):
    rows = []
    for t in files.read(contracts, 'gpu/instance_types.csv'):
        if t['cloud'] != PROVIDER:
            continue
        rows.append((t['instance_type'], t['family'], t['arch'], t['vcpu'], t['memory_gib'],
                     t['gpu_model'], t['gpu_count'], t['gpu_partition'], t['gpu_memory_gib_each'],
                     'yes' if t['instance_type'] in offered else 'no'))
    files.write('providers/aws/instance_types.csv',
          ('instance_type', 'family', 'arch', 'vcpus', 'memory_gib', 'gpu_model', 'gpus',
           'gpu_fraction', 'gpu_memory_gib', 'offers_known'), sorted(rows))


def prices(contracts, offered):
    rows = {}
    for p in files.read(contracts, 'gpu/prices.csv'):
        if p['cloud'] != PROVIDER or p['kind'] != 'on_demand':
            continue
        key = (p['region'], p['instance_type'])
        assert key not in rows, key
        date = DATE.match(p['date']).group(0)
        rest = p['date'][len(date):].strip(' ()')
        rows[key] = (p['usd_per_hour'], p['quality'], date, f'{p["source"]} {rest}'.strip())
    for instance_type, regions in offered.items():
        for region in regions:
            rows.setdefault((region, instance_type),
                            ('', 'unknown', OFFERINGS_DATE, OFFERINGS_SOURCE))
    files.write('providers/aws/prices.csv',
          ('region', 'instance_type', 'kind', 'usd_per_hour', 'quality', 'date', 'source'),
          [(*k, 'on_demand', *v) for k, v in sorted(rows.items())])


def regions(contracts, offered):
    with open(os.path.join(contracts, 'aws/endpoints.json')) as f:
        found = sorted(region_names(json.load(f)))
    known = set().union(*offered.values())
    files.write('providers/aws/regions.csv', ('region', 'offers_known'),
          [(r, 'yes' if r in known else 'no') for r in sorted(set(found) | known)])


def region_names(endpoints):
    for partition in endpoints['partitions']:
        yield from (r for r in partition['regions'] if not r.startswith('aws-'))

#!/usr/bin/env python3
"""Cuts raygpu's catalog files out of the gathered tables of a contracts folder.

usage: import.py CONTRACTS_DIR
Writes src/catalog/data/gpu_models.csv and providers/aws/{instance_types,prices,regions}.csv.
The same input gives the same bytes. Sources: src/catalog/data/README.md, providers/aws/DATA.md.
"""
import collections
import csv
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROVIDER = 'aws'

# What people write (SkyPilot's and Ray's words, then our own model name, which is added for every
# model) and what Ray calls it. Ray's constants: python/ray/util/accelerators/accelerators.py at
# 00501e2b; models without a constant carry what Ray's detection makes of the NVML name, except the
# RTX PRO cards, of which that would leave "RTX". Only NVIDIA models can be asked for.
#   model: (other names, Ray's accelerator type, Ray's second type that tells the memory)
RAY = {
    'K80': ((), 'K80', ''),
    'M60': ((), 'M60', ''),
    'P4': ((), 'P4', ''),
    'P100': ((), 'P100', ''),
    'V100-16GB': (('V100',), 'V100', ''),
    'V100-16GB-PCIe': (('V100', 'V100-16GB'), 'V100', ''),
    'V100-32GB': ((), 'V100', ''),
    'T4': ((), 'T4', ''),
    'T4G': ((), 'T4G', ''),
    'A10': ((), 'A10', ''),
    'A10G': ((), 'A10G', ''),
    'A30': ((), 'A30', ''),
    'A40': ((), 'A40', ''),
    'A100-40GB': (('A100', 'A100-40G'), 'A100', 'A100-40G'),
    'A100-80GB': (('A100-80G',), 'A100', 'A100-80G'),
    'A100-80GB-PCIe': (('A100-80GB', 'A100-80G'), 'A100', 'A100-80G'),
    'L4': ((), 'L4', ''),
    'L40': ((), 'L40', ''),
    'L40S': ((), 'L40S', ''),
    'H100-80GB': (('H100',), 'H100', ''),
    'H100-80GB-PCIe': (('H100', 'H100-80GB'), 'H100', ''),
    'H100-NVL-94GB': (('H100-NVL',), 'H100', ''),
    'H200-141GB': (('H200',), 'H200', ''),
    'GH200-96GB': (('GH200',), 'GH200', ''),
    'B200-180GB': (('B200',), 'B200', ''),
    'GB200-186GB': (('GB200',), 'GB200', ''),
    'B300-288GB': (('B300',), 'B300', ''),
    'GB300-288GB': (('GB300',), 'GB300', ''),
    'RTX-PRO-4500-BSE': (('RTX-PRO-4500', 'RTXPRO4500'), 'RTX-PRO-4500', ''),
    'RTX-PRO-6000-BSE': (('RTX-PRO-6000', 'RTXPRO6000'), 'RTX-PRO-6000', ''),
}

# A day when the source states one; a year where only a commit is known.
DATE = re.compile(r'^\d{4}(-\d\d-\d\d)?')
OFFERINGS_SOURCE = 'moto 5.2.1 instance type offerings'
OFFERINGS_DATE = '2026-05'


def read(folder, name):
    with open(os.path.join(folder, name), newline='') as f:
        return list(csv.DictReader(f))


def write(path, columns, rows):
    with open(os.path.join(ROOT, path), 'w', newline='') as f:
        out = csv.writer(f, lineterminator='\n')
        out.writerow(columns)
        out.writerows(rows)
    print(f'{path}: {len(rows)} rows')


def gpu_models(folder):
    rows = []
    for m in read(folder, 'gpu/gpu_models.csv'):
        others, ray_type, ray_memory_type = RAY.get(m['gpu_model'], ((), '', ''))
        names = (m['gpu_model'], *others) if ray_type else ()
        rows.append((m['gpu_model'], m['vendor'], m['architecture'], m['memory_gb'],
                     m['compute_capability'], m['min_driver_linux'], ray_type, ray_memory_type,
                     '|'.join(names)))
    missing = set(RAY) - {r[0] for r in rows}
    assert not missing, f'models gone from the table: {missing}'
    write('src/catalog/data/gpu_models.csv',
          ('gpu_model', 'vendor', 'architecture', 'memory_gb', 'compute_capability',
           'min_driver_linux', 'ray_type', 'ray_memory_type', 'names'), rows)


def instance_types(folder, offered):
    rows = []
    for t in read(folder, 'gpu/instance_types.csv'):
        if t['cloud'] != PROVIDER:
            continue
        rows.append((t['instance_type'], t['family'], t['arch'], t['vcpu'], t['memory_gib'],
                     t['gpu_model'], t['gpu_count'], t['gpu_partition'], t['gpu_memory_gib_each'],
                     'yes' if t['instance_type'] in offered else 'no'))
    write('providers/aws/instance_types.csv',
          ('instance_type', 'family', 'arch', 'vcpus', 'memory_gib', 'gpu_model', 'gpus',
           'gpu_fraction', 'gpu_memory_gib', 'offers_known'), sorted(rows))


def prices(folder, offered):
    rows = {}
    for p in read(folder, 'gpu/prices.csv'):
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
    write('providers/aws/prices.csv',
          ('region', 'instance_type', 'kind', 'usd_per_hour', 'quality', 'date', 'source'),
          [(*k, 'on_demand', *v) for k, v in sorted(rows.items())])


def regions(folder, offered):
    with open(os.path.join(folder, 'aws/endpoints.json')) as f:
        found = sorted(region_names(json.load(f)))
    known = set().union(*offered.values())
    write('providers/aws/regions.csv', ('region', 'offers_known'),
          [(r, 'yes' if r in known else 'no') for r in sorted(set(found) | known)])


def region_names(endpoints):
    for partition in endpoints['partitions']:
        yield from (r for r in partition['regions'] if not r.startswith('aws-'))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    offered = collections.defaultdict(set)
    for o in read(folder, 'gpu/aws_gpu_offerings.csv'):
        offered[o['instance_type']].add(o['region'])
    gpu_models(folder)
    instance_types(folder, offered)
    prices(folder, offered)
    regions(folder, offered)


main()

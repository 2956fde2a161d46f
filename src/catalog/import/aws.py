"""providers/aws/{instance_types,refusals,prices,regions}.csv."""
import json
import os
import re
import files
from provider import Provider

# Offered, price unknown: moto 5.2.1's instance type offerings.
OFFERINGS_DATE = '2026-05'


class Aws(Provider):
    def rdma_adapters(self, t):
        return t['efa_interfaces_max'] or '0'


def write(contracts):
    provider = Aws(contracts, 'aws')
    provider.take_prices()
    drop_local_zones(provider)
    for o in files.read(contracts, 'gpu/aws_gpu_offerings.csv'):
        provider.known_regions.add(o['region'])
        if o['instance_type'] not in provider.types:
            continue
        provider.known_types.add(o['instance_type'])
        provider.add_unknown(o['region'], o['instance_type'], OFFERINGS_DATE)
    with open(os.path.join(contracts, 'aws/endpoints.json')) as f:
        for partition in json.load(f)['partitions']:
            provider.regions |= {r for r in partition['regions'] if not r.startswith('aws-')}
    provider.regions |= provider.known_regions
    provider.write()
    refusals(provider)


def drop_local_zones(provider):
    """The price of a local zone (use1-atl2-az1) is not the price of one of the region's own zones (use1-az1)."""
    for key in sorted(provider.prices):
        region, zone, name, _ = key
        if zone and not re.fullmatch(r'[a-z]+\d-az\d+', zone):
            provider.tell('prices', f'{region} {zone} {name}', 'a local zone: dropped')
            del provider.prices[key]


def refusals(provider):
    """Types without cluster placement according to DescribeInstanceTypes."""
    rows = [(name, 'placement', t['source']) for name, t in provider.types.items()
            if t['placement'] and 'cluster' not in t['placement'].split('|')]
    files.write('providers/aws/refusals.csv', ('instance_type', 'wish', 'source'), sorted(rows))

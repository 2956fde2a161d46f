"""providers/aws/{instance_types,refusals,prices,regions}.csv."""
import json
import os
import re
import files
from provider import Provider

# Offered, price unknown: moto 5.2.1's instance type offerings.
OFFERINGS_DATE = '2026-05'


class Aws(Provider):
    replaced_by = (
        ('p2', 'K80', 'g4dn.xlarge|g5.xlarge'), ('p3.2', 'V100-16GB', 'g5.2xlarge|g6.2xlarge'),
        ('p3.8', 'V100-16GB', 'g5.12xlarge|p3dn.24xlarge'), ('p3.16', 'V100-16GB', 'p3dn.24xlarge|p4d.24xlarge'),
        ('g2', '', 'g4dn.xlarge'), ('g3', 'M60', 'g4dn.xlarge|g5.xlarge'))

    def rdma_adapters(self, t):
        return t['efa_interfaces_max'] or '0'


def write(contracts):
    provider = Aws(contracts, 'aws')
    provider.take_prices()
    drop_local_zones(provider)
    offered = {(o['region'], o['instance_type']) for o in files.read(contracts, 'gpu/aws_gpu_offerings.csv')}
    for region, name in sorted(offered):
        provider.known_regions.add(region)
        if name not in provider.types:
            continue
        provider.known_types.add(name)
        provider.add_unknown(region, name, OFFERINGS_DATE)
    drop_not_offered(provider, offered)
    with open(os.path.join(contracts, 'aws/endpoints.json')) as f:
        for partition in json.load(f)['partitions']:
            provider.regions |= {r for r in partition['regions'] if not r.startswith('aws-')}
    provider.regions |= provider.known_regions
    provider.write()
    refusals(provider)


def drop_not_offered(provider, offered):
    """A price does not show that the type is offered."""
    for key in sorted(provider.prices):
        region, _, name, _ = key
        if name in provider.known_types and region in provider.known_regions and (region, name) not in offered:
            provider.tell('prices', f'{region} {name}', 'a price without an offer: dropped')
            del provider.prices[key]


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

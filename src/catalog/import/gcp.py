"""providers/gcp/{instance_types,prices,regions}.csv."""
import decimal
import re
import files
from provider import DATE, Provider

# Offered, price unknown: zones of skypilot-catalog v8 and, for accelerators of N1, Cyclenerd's.
ZONES_DATE = '2026'
ATTACHED_ZONES_DATE = '2023-05-02'

# The most vCPUs of an N1 host by accelerator and count, from GCP's documentation of GPUs on N1, from memory.
# K80 was retired in 2024.
N1_VCPUS = {
    'nvidia-tesla-t4': {1: 48, 2: 48, 4: 96},
    'nvidia-tesla-p4': {1: 24, 2: 48, 4: 96},
    'nvidia-tesla-v100': {1: 12, 2: 24, 4: 48, 8: 96},
    'nvidia-tesla-p100': {1: 16, 2: 32, 4: 64},
}
# Hosts with fewer vCPUs per GPU than any machine type with its own GPUs are omitted.
N1_LEAST_VCPUS_A_GPU = 4


# NICs for traffic between GPUs, in addition to those of the host: GCP's documentation, "Networking and GPU
# machines".
GPU_NICS = {'a3-edgegpu-8g': 4, 'a3-highgpu-8g': 4, 'a3-megagpu-8g': 8, 'a3-ultragpu-8g': 8, 'a4-highgpu-8g': 8,
            'a4x-highgpu-4g': 4, 'a4x-maxgpu-4g-metal': 4}


# Types whose markets are not exactly on demand and spot: GCP's documentation of GPU machine types, 2026-04-14.
# Flex-start is neither of our markets; a4x needs a reservation.
MARKETS = {'a3-highgpu-1g': 'spot', 'a3-highgpu-2g': 'spot', 'a3-highgpu-4g': 'spot',
           'a3-highgpu-8g': 'on_demand|spot|reserved', 'a3-megagpu-8g': 'on_demand|spot|reserved',
           'a3-ultragpu-8g': 'spot|reserved', 'a4-highgpu-8g': 'spot|reserved',
           'a4x-highgpu-4g': 'reserved', 'a4x-maxgpu-4g-metal': 'reserved'}


class Gcp(Provider):
    parts = N1_VCPUS

    def markets(self, t):
        return MARKETS.get(t['instance_type'].removesuffix('-nolssd')) or super().markets(t)

    def rdma_adapters(self, t):
        return str(GPU_NICS.get(t['instance_type'].removesuffix('-nolssd'), 0))


def write(contracts):
    provider = Gcp(contracts, 'gcp')
    provider.take_prices()
    provider.regions = {region for region, *_ in provider.prices}
    provider.known_regions = set(provider.regions)
    provider.known_types = {name for _, _, name, _ in provider.prices}
    zones = files.read(contracts, 'gpu/gcp_gpu_zones.csv')
    zoned_families(provider, zones)
    provider.gpus = gpu_prices(contracts)
    for a in files.read(contracts, 'gpu/gcp_attached_gpus.csv'):
        attached(provider, a, zones)
    provider.write()


def gpu_prices(contracts):
    """Of one attached GPU without its host: {(region, accelerator, kind): (usd, date)}."""
    return {(p['region'], p['instance_type'], p['kind']): (p['usd_per_hour'], DATE.match(p['date']).group(0))
            for p in files.read(contracts, 'gpu/prices.csv') if p['cloud'] == 'gcp' and p['instance_type'] in N1_VCPUS}


def zoned_families(provider, zones):
    """Types without a price whose zones are known."""
    for z in zones:
        if z['kind'] != 'machine_type_prefix':
            continue
        for name in provider.types:
            if not re.fullmatch(re.escape(z['name']) + r'(-\d+g)?', name):
                continue
            provider.add_unknown(z['region'], name, ZONES_DATE)
            provider.regions.add(z['region'])
            if z['completeness'] == 'full':
                provider.known_types.add(name)


def attached(provider, accelerator, zones):
    """N1 hosts with attached GPUs, one row per host and count: HOST+ACCELERATOR:COUNT; the price is the sum of the
    host's and the accelerators'."""
    kind = accelerator['accelerator_type']
    if kind not in N1_VCPUS:
        provider.tell('instance_types', kind, 'retired by GCP: dropped')
        return
    offered = {z['region'] for z in zones if z['name'] == kind}
    hosts = [t for t in provider.types.values() if t['family'].startswith('n1-')
             and '+' not in t['instance_type']]
    for count, most in N1_VCPUS[kind].items():
        for host in hosts:
            if not N1_LEAST_VCPUS_A_GPU * count <= int(host['vcpu']) <= most:
                continue
            attach(provider, host, accelerator, count, offered)


def attach(provider, host, accelerator, count, offered):
    name = f'{host["instance_type"]}+{accelerator["accelerator_type"]}:{count}'
    provider.types[name] = dict(
        host, instance_type=name, gpu_vendor='NVIDIA', gpu_model=accelerator['gpu_model'],
        gpu_count=str(count), gpu_partition='1.0', gpu_memory_gib_each=accelerator['memory_gib'])
    for (region, gpu, kind), (each, gpu_date) in provider.gpus.items():
        usd, _, date = provider.prices.get((region, '', host['instance_type'], kind), ('', '', ''))
        if gpu != accelerator['accelerator_type'] or not usd:
            continue
        total = decimal.Decimal(usd) + count * decimal.Decimal(each)
        provider.add_price(region, '', name, kind, f'{total:f}', 'derived', min(date, gpu_date))
    for region in offered:
        provider.add_unknown(region, name, ATTACHED_ZONES_DATE)

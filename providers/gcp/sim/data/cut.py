#!/usr/bin/env python3
"""Extracts the simulator's data files from the collected contracts and from the catalog beside them.

usage: cut.py CONTRACTS_DIR OUT_DIR

Run it manually when the contracts change; the results are committed, because nothing may read the contracts when
raygpu is built or tested. Sources and licences: README.md beside this file."""
import csv
import json
import os
import re
import sys

# What the simulator carries out. The other methods keep their paths, so that it can refuse them by name.
METHODS = """
acceleratorTypes.aggregatedList acceleratorTypes.get acceleratorTypes.list
addresses.aggregatedList addresses.delete addresses.get addresses.insert addresses.list addresses.setLabels
disks.aggregatedList disks.delete disks.get disks.list disks.setLabels
diskTypes.get diskTypes.list
firewalls.delete firewalls.get firewalls.insert firewalls.list firewalls.patch firewalls.update
globalOperations.aggregatedList globalOperations.delete globalOperations.get globalOperations.list
globalOperations.wait
images.get images.getFromFamily images.list
instances.addAccessConfig instances.aggregatedList instances.bulkInsert instances.delete
instances.deleteAccessConfig instances.get instances.getSerialPortOutput instances.insert instances.list
instances.resume instances.setDeletionProtection instances.setLabels instances.setMachineType instances.setMetadata
instances.setTags instances.start instances.stop instances.suspend instances.testIamPermissions
machineTypes.aggregatedList machineTypes.get machineTypes.list
networks.delete networks.get networks.insert networks.list
projects.get
regionOperations.delete regionOperations.get regionOperations.list regionOperations.wait
regions.get regions.list
reservations.aggregatedList reservations.delete reservations.get reservations.insert reservations.list
resourcePolicies.aggregatedList resourcePolicies.delete resourcePolicies.get resourcePolicies.insert
resourcePolicies.list
routers.aggregatedList routers.delete routers.get routers.insert routers.list
subnetworks.aggregatedList subnetworks.delete subnetworks.get subnetworks.insert subnetworks.list
subnetworks.testIamPermissions
zoneOperations.delete zoneOperations.get zoneOperations.list zoneOperations.wait
zones.get zones.list
""".split()

# Zones are a, b and c where this does not say otherwise (Google's page "Regions and zones", from memory).
ZONES = {'us-central1': 'abcf', 'us-east1': 'bcd', 'europe-west1': 'bcd'}

# The accelerator of each GPU model of the catalog.
ACCELERATORS = {
    'A100-40GB': 'nvidia-tesla-a100', 'A100-80GB': 'nvidia-a100-80gb', 'B200-180GB': 'nvidia-b200',
    'GB200-186GB': 'nvidia-gb200', 'GB300-288GB': 'nvidia-gb300', 'H200-141GB': 'nvidia-h200-141gb', 'L4': 'nvidia-l4',
    'RTX-PRO-6000-BSE': 'nvidia-rtx-pro-6000', 'H100-80GB': 'nvidia-h100-80gb'}
# Series that the collected table lacks. C4 machines do not boot from persistent disks: "pd-balanced disk type cannot be
# used by c4-standard-8 machine type" (public reports).
OTHER_SERIES = [{'series': name, 'provisioning_models': 'STANDARD SPOT', 'boot_disk_types': disks, 'disk_type_if_left_out': default}
                for name, disks, default in (('c4', 'hyperdisk-balanced', 'hyperdisk-balanced'), ('n4', 'hyperdisk-balanced', 'hyperdisk-balanced'),
                                             ('t2d', 'pd-standard pd-balanced pd-ssd', 'pd-standard'))]
# N1 types that the catalog has by formula only (custom_types.csv); they are offered where n1-standard-2 is.
OTHER_TYPES = {'n1-standard-1': (1, 3840), **{f'n1-highcpu-{n}': (n, n * 9216 // 10) for n in (2, 4, 8, 16, 32, 64, 96)}}
# Series whose machines have gVNIC interfaces only ("all GCP machines from series 3 and above": siderolabs/pkgs issue 1295).
GVNIC_ONLY = {'a3', 'a4', 'a4x', 'c3', 'c4', 'g4', 'n4'}
# Of today's images, from memory; DLVM images once lacked GVNIC (ai-infra-cluster-provisioning issue 149): a knob takes it away.
FEATURES = ['VIRTIO_SCSI_MULTIQUEUE', 'UEFI_COMPATIBLE', 'GVNIC']
SIZES = {'debian-12': 10, 'cos-stable': 10, 'ubuntu-2404-lts-amd64': 10, 'ubuntu-2204-lts': 10}


def read(folder, name):
    with open(os.path.join(folder, name), encoding='utf-8', newline='') as f:
        return list(csv.DictReader(f))


def parameter(given):
    kept = {k: given[k] for k in ('type', 'format', 'location', 'required', 'enum', 'repeated') if k in given}
    if kept.get('enum') and all(re.fullmatch(r'\d+', word) for word in kept['enum']):
        del kept['enum']
    return kept


def plain(schema):
    """A schema without its descriptions."""
    if '$ref' in schema:
        return {'$ref': schema['$ref']}
    kept = {k: schema[k] for k in ('type', 'format', 'enum', 'readOnly') if k in schema}
    for name in ('items', 'additionalProperties'):
        if name in schema:
            kept[name] = plain(schema[name])
    if 'properties' in schema:
        kept['properties'] = {k: plain(v) for k, v in sorted(schema['properties'].items())}
    return kept


def references(schema):
    if isinstance(schema, dict):
        if isinstance(schema.get('$ref'), str):
            yield schema['$ref']
        for value in schema.values():
            yield from references(value)


def description(contracts):
    methods, schemas = {}, {}
    patterns = {}
    for name in ('compute.v1.pruned.json', 'compute.v1.more.json'):
        with open(os.path.join(contracts, 'gcp', name), encoding='utf-8') as f:
            document = json.load(f)
        patterns.update(document.get('patterns', {}))
        for key, schema in document['schemas'].items():
            schemas.setdefault(key, schema)
        for resource, entry in document['resources'].items():
            for method, given in entry['methods'].items():
                methods.setdefault(f'{resource}.{method}', given)
    missing = set(METHODS) - set(methods)
    assert not missing, missing
    # The collected description of addresses.aggregatedList is shortened; all aggregated lists have these.
    for name, given in methods.items():
        if name.endswith('.aggregatedList'):
            given['parameters'] = {**methods['instances.aggregatedList']['parameters'], **given['parameters']}
    out, wanted = {}, []
    for name, given in sorted(methods.items()):
        out[name] = {'httpMethod': given['httpMethod'], 'path': given['path']}
        if name in METHODS:
            out[name]['parameters'] = {k: parameter(v) for k, v in sorted(given['parameters'].items())}
            for part in ('request', 'response'):
                if part in given:
                    out[name][part] = given[part]['$ref']
                    wanted.append(given[part]['$ref'])
    kept = {}
    while wanted:
        key = wanted.pop()
        if key not in kept:
            kept[key] = plain(schemas[key])
            wanted += references(schemas[key])
    return {'patterns': patterns, 'methods': out, 'schemas': dict(sorted(kept.items()))}


def flat(document):
    """A line for each method and schema: patterns, methods/NAME, schemas/NAME."""
    return {f'{part}/{name}': value for part, entries in document.items() for name, value in entries.items()}


def accelerator(row):
    model = row['gpu_model']
    if row['instance_type'].startswith('a3-megagpu'):
        return 'nvidia-h100-mega-80gb'
    return ACCELERATORS[model]


def series_row(rows, name):
    """The row of machine_series.csv for a type of the catalog: the longest of its words that begins the type."""
    best = None
    for row in rows:
        words = row['series'].split(' + ')[0].split()
        stem = re.match(r'.*?(?=-\d+g$|$)', words[0]).group()
        for word in (f'{stem}{w}' if w.startswith('-') else w for w in words):
            if name.startswith(word) and (best is None or len(word) > best[0]):
                best = (len(word), row)
    return best[1] if best else None


def machine_types(contracts, catalog):
    series = read(os.path.join(contracts, 'gcp'), 'machine_series.csv') + OTHER_SERIES
    regions = {}
    for row in read(catalog, 'prices.csv'):
        regions.setdefault(row['instance_type'], set()).add(row['region'])
    out = {}
    for row in read(catalog, 'instance_types.csv'):
        host, _, attached = row['instance_type'].partition('+')
        entry = out.setdefault(host, {
            'guestCpus': int(row['vcpus']), 'memoryMb': int(float(row['memory_gib']) * 1024),
            'architecture': 'ARM64' if row['arch'] == 'arm64' else 'X86_64'})
        offered = sorted(regions.get(row['instance_type'], ()))
        if attached:
            name, _, count = attached.partition(':')
            entry.setdefault('attachable', {}).setdefault(name, {})[count] = offered
            continue
        if int(row['gpus'] or 0):
            entry['accelerators'] = [
                {'guestAcceleratorType': accelerator(row), 'guestAcceleratorCount': int(row['gpus'])}]
        if offered:
            entry['regions'] = offered
        if host.split('-')[0] in GVNIC_ONLY:
            entry['gvnicOnly'] = True
        known = series_row(series, host)
        if known:
            entry['provisioningModels'] = known['provisioning_models'].split()
            entry['bootDiskTypes'] = known['boot_disk_types'].split()
            entry['bootDiskType'] = known['disk_type_if_left_out']
    for host, (vcpus, memory) in OTHER_TYPES.items():
        out[host] = {**{k: v for k, v in out['n1-standard-2'].items() if k != 'attachable'}, 'guestCpus': vcpus, 'memoryMb': memory}
    return dict(sorted(out.items()))


def images(contracts):
    out = []
    for row in read(os.path.join(contracts, 'gcp'), 'images.csv'):
        out.append({'family': row['family'], 'project': row['project'],
                    'name': row['family'] + '-v20260818',
                    'architecture': 'ARM64' if row['arch'] == 'arm64' else 'X86_64',
                    'diskSizeGb': str(SIZES.get(row['family'], 50)),
                    'guestOsFeatures': [{'type': name} for name in FEATURES]})
    return out


def write(folder, name, value):
    with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
        rows = value.items() if isinstance(value, dict) else [(None, row) for row in value]
        lines = [(f'{json.dumps(k)}: ' if k else '') + json.dumps(v, separators=(',', ':')) for k, v in rows]
        f.write(('{\n%s\n}\n' if isinstance(value, dict) else '[\n%s\n]\n') % ',\n'.join(lines))


def main(contracts, out):
    catalog = os.path.dirname(os.path.dirname(os.path.abspath(out)))
    write(out, 'compute.json', flat(description(contracts)))
    write(out, 'machine_types.json', machine_types(contracts, catalog))
    write(out, 'images.json', images(contracts))
    write(out, 'regions.json', {row['region']: [f"{row['region']}-{z}" for z in ZONES.get(row['region'], 'abc')]
                                for row in read(catalog, 'regions.csv')})


if __name__ == '__main__':
    main(*sys.argv[1:3])

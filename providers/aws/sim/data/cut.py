#!/usr/bin/env python3
"""Extracts the simulator's data files from the collected contracts.

usage: cut.py CONTRACTS_DIR OUT_DIR TEST_DIR

TEST_DIR gets answers.json, against which the tests check the simulator's answers, and replay.json, moto's
requests and the shapes of its answers. Run it manually when the contracts change; the results are committed,
because nothing may read the contracts when raygpu is built or tested. Sources and licences: README.md beside
this file."""
import csv
import json
import os
import re
import sys
from xml.etree import ElementTree

EC2_ACTIONS = """
AuthorizeSecurityGroupEgress AuthorizeSecurityGroupIngress CancelCapacityReservation CancelSpotInstanceRequests
CreateCapacityReservation CreateNetworkInterface CreatePlacementGroup CreateSecurityGroup CreateTags DeleteNetworkInterface
DeletePlacementGroup DeleteSecurityGroup DeleteTags
DescribeAvailabilityZones DescribeCapacityBlockOfferings DescribeCapacityReservations DescribeImages DescribeInstanceAttribute DescribeInstanceStatus
DescribeInstanceTypeOfferings DescribeInstanceTypes DescribeInstances DescribeNetworkInterfaces
DescribePlacementGroups DescribeRegions DescribeRouteTables DescribeSecurityGroupRules DescribeSecurityGroups
DescribeSpotInstanceRequests DescribeSubnets DescribeTags DescribeVolumes DescribeVpcEndpoints DescribeVpcs GetConsoleOutput
ModifyInstanceAttribute ModifyInstanceMetadataOptions ModifyNetworkInterfaceAttribute
PurchaseCapacityBlock RebootInstances RevokeSecurityGroupEgress RevokeSecurityGroupIngress RunInstances StartInstances
StopInstances TerminateInstances
""".split()

# Types of the catalog that the contracts lack.
MORE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../../src/catalog/import/more')

STS_ACTIONS = 'AssumeRole AssumeRoleWithWebIdentity GetCallerIdentity GetSessionToken'.split()
SSM_ACTIONS = 'GetParameter GetParameters'.split()
SSO_ACTIONS = ['GetRoleCredentials']
OIDC_ACTIONS = ['CreateToken']
QUOTAS_ACTIONS = ['GetServiceQuota']
IAM_ACTIONS = ['GetInstanceProfile', 'SimulatePrincipalPolicy']

# Longer enumerations (above all instance types) grow weekly: the handlers look those values up.
MAX_ENUM = 40


def wire_name(name, member, protocol='ec2'):
    """The protocol's spelling of a request member."""
    if protocol != 'ec2':
        return name
    if 'queryName' in member:
        return member['queryName']
    name = member.get('locationName', name)
    return name[0].upper() + name[1:]


def constraints(shape):
    """Bounds (of numbers, lengths and counts) and the pattern, if the description has them. Java-style code point
    patterns are omitted: the simulator's engine does not support them."""
    out = {k: shape[k] for k in ('min', 'max') if k in shape}
    if 'pattern' in shape and '\\u' not in shape['pattern']:
        out['pattern'] = shape['pattern']
    return out


def request_shape(shapes, name, protocol, path=()):
    """A parameter's form: a type name, {"type", "min", "max", "pattern"}, {"enum": []},
    {"list": form, "min", "max"} or {"members": {}, "required": []}."""
    shape = shapes[name]
    kind = shape['type']
    if kind == 'structure':
        if name in path:
            return {'members': {}}
        members = {wire_name(m, v, protocol): request_shape(shapes, v['shape'], protocol, path + (name,))
                   for m, v in shape['members'].items()}
        required = [wire_name(m, shape['members'][m], protocol) for m in shape.get('required', [])]
        return {'members': dict(sorted(members.items())), **({'required': required} if required else {})}
    if kind == 'list':
        form = {'list': request_shape(shapes, shape['member']['shape'], protocol, path),
                **constraints(shape)}
        return {'members': {'member': form}} if protocol == 'query' else form
    if kind == 'string' and 1 <= len(shape.get('enum', [])) <= MAX_ENUM:
        return {'enum': shape['enum']}
    kind = {'long': 'integer', 'double': 'float'}.get(kind, kind)
    limits = constraints(shape)
    return {'type': kind, **limits} if limits else kind


def requests(contracts):
    out = {}
    for service, names in (('ec2', EC2_ACTIONS), ('sts', STS_ACTIONS), ('ssm', SSM_ACTIONS),
                           ('sso', SSO_ACTIONS), ('sso-oidc', OIDC_ACTIONS),
                           ('service-quotas', QUOTAS_ACTIONS), ('iam', IAM_ACTIONS)):
        model = read_model(contracts, service)
        for name in names:
            shape = model['operations'][name].get('input', {}).get('shape')
            out[name] = request_shape(model['shapes'], shape, model['metadata']['protocol'])
    return out


def read_model(contracts, service):
    with open(os.path.join(contracts, f'aws/{service}.service-2.pruned.json')) as f:
        return json.load(f)


def answer_shape(shapes, name, path=()):
    """An answer's form, as request_shape's, in wire spelling; recursion ends in "any"."""
    shape = shapes[name]
    if name in path:
        return 'any'
    path += (name,)
    if shape['type'] == 'structure':
        return {'members': {v.get('locationName', m): answer_shape(shapes, v['shape'], path)
                            for m, v in sorted(shape['members'].items())}}
    if shape['type'] == 'list':
        return {'list': answer_shape(shapes, shape['member']['shape'], path)}
    if shape['type'] == 'string' and 1 <= len(shape.get('enum', [])) <= MAX_ENUM:
        return {'enum': shape['enum']}
    return {'long': 'integer', 'double': 'float'}.get(shape['type'], shape['type'])


def answers(ec2):
    out = {}
    for name in EC2_ACTIONS:
        shape = ec2['operations'][name].get('output', {}).get('shape')
        out[name] = answer_shape(ec2['shapes'], shape) if shape else {'members': {}}
    return out


def answer(shapes, name, value):
    """Turns a value in SDK spelling into one in wire spelling, members in the model's order."""
    shape = shapes[name]
    if shape['type'] == 'structure':
        return {v.get('locationName', m): answer(shapes, v['shape'], value[m])
                for m, v in shape['members'].items() if m in value}
    if shape['type'] == 'list':
        return [answer(shapes, shape['member']['shape'], v) for v in value]
    return value


# "Instance types built on the Nitro System" lists all families of the catalog but these.
XEN = {'c4', 'i3', 'm4', 'p2', 'p3'}
# EC2 user guide, "Supported CPU options for Amazon EC2 instance types"
ONE_THREAD = re.compile('[cmr]([7-9]|[1-9][0-9])a[a-z]*$|[a-z]+[0-9]+g[a-z]*$')


def most_interfaces(vcpus):
    """The usual number of a type of that size (EC2 user guide, Maximum IP addresses per network interface)."""
    return next((n for most, n in ((2, 3), (8, 4), (48, 8)) if vcpus <= most), 15)


def made_up_type(row):
    """A DescribeInstanceTypes entry for a type that is missing from the recorded dump."""
    gib = float(row['memory_gib'])
    out = {
        'InstanceType': row['instance_type'], 'CurrentGeneration': True,
        'SupportedUsageClasses': (row['purchase'] or 'on-demand|spot').split('|'),
        'SupportedRootDeviceTypes': ['ebs'], 'SupportedVirtualizationTypes': ['hvm'],
        'BareMetal': '.metal' in row['instance_type'], 'Hypervisor': 'xen' if row['family'] in XEN else 'nitro',
        'ProcessorInfo': {'SupportedArchitectures': [row['arch']]},
        'VCpuInfo': {'DefaultVCpus': int(row['vcpu'])},
        'MemoryInfo': {'SizeInMiB': int(gib * 1024)},
        'InstanceStorageSupported': bool(row['local_nvme_gb']),
        'NetworkInfo': {'NetworkPerformance': row['network_text'], 'MaximumNetworkInterfaces': 4,
                        'MaximumNetworkCards': int(row['network_cards'] or 1)},
    }
    if ONE_THREAD.match(row['family']):
        out['VCpuInfo'] |= {'DefaultCores': int(row['vcpu']), 'DefaultThreadsPerCore': 1}
    if row['placement']:
        out['PlacementGroupInfo'] = {'SupportedStrategies': row['placement'].split('|')}
    if row['boot_modes']:
        out['SupportedBootModes'] = row['boot_modes'].split('|')
    if row['gpu_count'] in ('', '0'):
        out['NetworkInfo'] |= {'MaximumNetworkInterfaces': most_interfaces(int(row['vcpu'])),
                               'EnaSupport': 'required', 'EfaSupported': False, 'Ipv6Supported': True}
    if row['efa_interfaces_max']:
        # one EFA interface per card, as in every recorded type of the g families
        efa = int(row['efa_interfaces_max'])
        out['NetworkInfo'] |= {'EfaSupported': True, 'EfaInfo': {'MaximumEfaInterfaces': efa},
                               'MaximumNetworkCards': max(efa, int(row['network_cards'] or 1))}
    if row['gpu_count'] not in ('', '0'):
        each = int(float(row['gpu_memory_gib_each']) * 1024)
        count = max(1, int(float(row['gpu_count'])))
        out['GpuInfo'] = {
            'Gpus': [{'Name': row['gpu_model'].split('-')[0], 'Manufacturer': 'NVIDIA',
                      'Count': count, 'MemoryInfo': {'SizeInMiB': each}}],
            'TotalGpuMemoryInMiB': each * count}
    return out


def instance_types(ec2, contracts):
    with open(os.path.join(contracts, 'gpu/aws_describe_instance_types.json')) as f:
        known = json.load(f)
    for folder in (contracts, MORE):
        with open(os.path.join(folder, 'gpu/instance_types.csv')) as f:
            for row in csv.DictReader(f):
                if row['cloud'] == 'aws' and row['instance_type'] not in known:
                    known[row['instance_type']] = made_up_type(row)
    return [answer(ec2['shapes'], 'InstanceTypeInfo', known[name]) for name in sorted(known)]


def offerings(contracts):
    out = {}
    with open(os.path.join(contracts, 'gpu/aws_gpu_offerings.csv')) as f:
        for row in csv.DictReader(f):
            zones = out.setdefault(row['instance_type'], {})
            zones[row['region']] = row['az_ids'].split('|')
    return out


def regions(contracts):
    """Zone names and ids of the regions; the table is moto's, an amalgamation of accounts."""
    from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend
    with open(os.path.join(contracts, 'aws/endpoints.json')) as f:
        partition = next(p for p in json.load(f)['partitions'] if p['partition'] == 'aws')
    zones = RegionsAndZonesBackend.zones
    opt_in = {r.name: r.opt_in_status for r in RegionsAndZonesBackend.regions}
    plain = 'opt-in-not-required'
    return [{'name': name, 'opt_in': plain if opt_in.get(name) == plain else 'opted-in',
             'zones': [{'name': z.name, 'id': z.zone_id} for z in zones[name]]}
            for name in sorted(partition['regions']) if zones.get(name)]


def paths(element, path=''):
    """Every member's path in an XML answer, list entries as one."""
    for child in element:
        here = path + '/' + child.tag.split('}', 1)[-1]
        yield here
        yield from paths(child, here)


def replay(contracts):
    """moto's conversations that the simulator supports: the requests, and the answers' shapes."""
    served = {'ec2': EC2_ACTIONS, 'sts': STS_ACTIONS, 'ssm': SSM_ACTIONS}
    with open(os.path.join(contracts, 'aws/moto_exchanges.json')) as f:
        exchanges = json.load(f)['exchanges']
    out = []
    for one in exchanges:
        sent, got = one['request'], one['response']
        if one['operation'] not in served.get(one['service'], ()) or 'LaunchTemplate' in sent['body']:
            continue
        entry = {'service': one['service'], 'operation': one['operation'], 'body': sent['body'],
                 'status': got['status'], 'code': (one['error'] or {}).get('Code')}
        if one['service'] == 'ssm':
            answer = json.loads(got['body'])
            entry['paths'] = sorted(f'/{k}/{m}' for k, v in answer.items() if isinstance(v, dict) for m in v)
        else:
            root = ElementTree.fromstring(got['body'])
            entry['paths'] = sorted(set(paths(root)))
            made = {'RunInstances': 'instanceId', 'CreateSecurityGroup': 'groupId'}.get(one['operation'])
            entry['ids'] = [e.text for e in root.iter() if e.tag.split('}')[-1] == made]
        out.append(entry)
    return out


def write(folder, name, value):
    with open(os.path.join(folder, name), 'w') as f:
        if isinstance(value, dict):
            rows = [f'{json.dumps(k)}: {json.dumps(v, separators=(",", ":"))}'
                    for k, v in sorted(value.items())]
            f.write('{\n' + ',\n'.join(rows) + '\n}\n')
        else:
            rows = [json.dumps(v, separators=(',', ':')) for v in value]
            f.write('[\n' + ',\n'.join(rows) + '\n]\n')


def main():
    contracts, out, tests = sys.argv[1:4]
    ec2 = read_model(contracts, 'ec2')
    write(out, 'requests.json', requests(contracts))
    write(tests, 'answers.json', answers(ec2))
    write(tests, 'replay.json', replay(contracts))
    write(out, 'instance_types.json', instance_types(ec2, contracts))
    write(out, 'offerings.json', offerings(contracts))
    write(out, 'regions.json', regions(contracts))


if __name__ == '__main__':
    main()

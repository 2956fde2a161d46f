#!/usr/bin/env python3
"""Extracts the request vectors for this module from the collected contracts.

usage: cut_vectors.py CONTRACTS_DIR/aws OUT.json

Sources: query_vectors.json (computed by botocore 1.43.11's serializer) and the requests of
moto_exchanges.json (sent by boto3 1.43.11). Each becomes {action, params, form}: params use the wire names of
the service description, form is botocore's ordered pairs. Run it manually when the contracts change; the
result is committed."""
import json
import sys

CONTRACTS, OUT = sys.argv[1:3]
ACTIONS = """RunInstances CreateSecurityGroup AuthorizeSecurityGroupIngress
AuthorizeSecurityGroupEgress DescribeInstances DescribeSecurityGroups DescribeImages DescribeVpcs
DescribeSubnets DescribeInstanceTypeOfferings CreateTags DeleteTags TerminateInstances
CreateNetworkInterface ModifyInstanceAttribute""".split()


def load(name):
    with open(f'{CONTRACTS}/{name}') as f:
        return json.load(f)


SHAPES = (MODEL := load('ec2.service-2.pruned.json'))['shapes']


def wire(value, shape_name):
    shape = SHAPES[shape_name]
    if shape['type'] == 'structure':
        out = {}
        for name, member in shape['members'].items():
            if name in value:
                spelt = member.get('queryName')
                if not spelt:
                    spelt = member.get('locationName', name)
                    spelt = spelt[0].upper() + spelt[1:]
                out[spelt] = wire(value[name], member['shape'])
        # botocore serializes in the caller's order
        order = list(value)
        spelling = dict(zip([n for n in shape['members'] if n in value], out))
        return {spelling[name]: out[spelling[name]] for name in order}
    if shape['type'] == 'list':
        return [wire(item, shape['member']['shape']) for item in value]
    return value


vectors = []
for source, entries in (('query_vectors.json', load('query_vectors.json')),
                        ('moto_exchanges.json', load('moto_exchanges.json')['exchanges'])):
    for entry in entries:
        if entry['service'] != 'ec2' or entry['operation'] not in ACTIONS:
            continue
        params = entry['params']
        if 'UserData' in params:
            continue  # botocore encodes it here, we do that elsewhere
        shape = MODEL['operations'][entry['operation']]['input']['shape']
        form = entry.get('form') or entry['request']['form']
        if 'ClientToken' not in params:  # botocore generates one if there is none
            params = {**params, **dict(p for p in form if p[0] == 'ClientToken')}
        vectors.append({'action': entry['operation'], 'source': source,
                        'params': wire(params, shape), 'form': form})
with open(OUT, 'w') as f:
    json.dump(vectors, f, indent=1, sort_keys=False)
    f.write('\n')
print(len(vectors), sorted({v['action'] for v in vectors}))

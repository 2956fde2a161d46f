#!/usr/bin/env python3
"""The whole life of a cluster through the module's calls, against a real EC2 server.

usage: life.py AWS_CALL ENDPOINT [IMAGE]

AWS_CALL is the built tests/unit/aws_call.c. Prints a line per step; stops at the first error. Works with
raygpu-sim and with moto's server."""
import json
import subprocess
import sys
import time

CALL, ENDPOINT = sys.argv[1:3]
IMAGE = sys.argv[3] if len(sys.argv) > 3 else None
REGION = 'us-east-1'
LINEAGE = 'f' * 32
ENV = {'AWS_ACCESS_KEY_ID': 'AKIDEXAMPLE',
       'AWS_SECRET_ACCESS_KEY': 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'}


def call(name, **given):
    run = subprocess.run([CALL, name, REGION, ENDPOINT], input=json.dumps(given), text=True,
                         capture_output=True, env=ENV, timeout=120)
    if run.returncode:
        sys.exit(f'{name} failed: {run.stdout}{run.stderr}')
    result = json.loads(run.stdout)
    slots = {}
    for entry in result['given']:
        slots.setdefault(entry['slot'], []).append(entry['value'])
    return slots


def check(true, what, seen=None):
    print('ok' if true else 'NOT OK', what)
    if not true:
        sys.exit(json.dumps(seen, indent=1))


def observed(kind, known=()):
    slots = call('list', kind=kind, cluster='c1', lineage=LINEAGE, known=list(known))
    check(slots.get('done') == [{'complete': True}], f'list of {kind} is complete')
    return [r for page in slots.get('page', []) for r in page['resources']]


def settled(read, what, wait_s=15):
    """A server may show the old view for a while."""
    end = time.monotonic() + wait_s
    while not (result := read())[0] and time.monotonic() < end:
        time.sleep(0.5)
    check(result[0], what, result[1])
    return result[1]


def fill(value, made):
    """Resolves references as the host does at apply."""
    if isinstance(value, list):
        return [fill(v, made) for v in value]
    if isinstance(value, dict) and '$ref' in value:
        return made[value['$ref']]['attributes'][value['attr']]
    if isinstance(value, dict) and '$join' in value:
        return ''.join(fill(v, made) for v in value['$join'])
    if isinstance(value, dict):
        return {k: fill(v, made) for k, v in value.items()}
    return value


def create(kind, resources, token, made):
    items = [{'address': r['address'], 'index': r['index']} for r in resources]
    given = {'kind': kind, 'token': token, 'min_count': len(items), 'items': items,
             'attributes': fill(resources[0]['attributes'], made),
             'marks': {'cluster': 'c1', 'lineage': LINEAGE, 'pool': resources[0]['group'],
                       'indexes': '', 'commit': 'abc', 'run': 'r1', 'labels': {'team': 'ml'}}}
    got = call('create', **given)['item']
    check(all(i['outcome'] == 'done' for i in got), f'{len(got)} of {kind} made', got)
    made.update({i['address']: i for i in got})
    ready = call('ready', kind=kind, items=[{'address': i['address'], 'id': i['id']} for i in got])
    check(all(i['outcome'] in ('done', 'pending') for i in ready['item']), f'{kind} gets ready', ready)


def compare(desired, made):
    """list reports what lower requested, except what EC2 does not report."""
    schema = json.load(open(__file__.replace('tests/life.py', 'schema.json')))['kinds']
    for kind in schema:
        wanted = {r['address']: fill(r['attributes'], made) for r in desired if r['kind'] == kind}

        def differences():
            seen = {r['address']: r['attributes'] for r in observed(kind) if r['state'] == 'present'}
            if sorted(seen) != sorted(wanted):
                return False, [sorted(wanted), sorted(seen)]
            rest = [[a, n, v, seen[a].get(n)] for a, w in wanted.items() for n, v in w.items()
                    if seen[a].get(n) != v and not schema[kind]['attributes'][n].get('unreadable')]
            return not rest, rest
        settled(differences, f'{len(wanted)} of {kind} are as wanted')


def main():
    facts = call('resolve', images=[{'key': 'k', 'image': IMAGE, 'arch': 'x86_64'}], network=True,
                 instance_types=['m5.2xlarge', 'g4dn.xlarge'], zones=[])['facts'][0]
    zone = facts['offerings']['g4dn.xlarge'][0]
    image = {'key': 'k', 'id': facts['images']['k']['id'],
             'root_device': facts['images']['k']['root_device']}
    node = {'image': image, 'disk': {'size_gb': 100, 'type': 'gp3'}}
    boot = {'user_data': {'$join': ['#!/bin/sh\nhead=', {'$ref': '@head', 'attr': 'private_ip'}]}}
    desired = call('lower', cluster='c1', lineage=None, labels={'team': 'ml'}, facts=facts, nodes=[
        {**node, 'pool': 'head', 'role': 'head', 'origin': '/head', 'indexes': None,
         'offer': {'instance_type': 'm5.2xlarge', 'zone': zone}, 'boot': {'user_data': 'head'}},
        {**node, 'pool': 'serve', 'role': 'worker', 'origin': '/pools/serve', 'indexes': [0, 1, 3],
         'offer': {'instance_type': 'g4dn.xlarge', 'zone': zone}, 'boot': boot}])['resources'][0]
    made = {}
    for n, group in enumerate(([0], [1], [2], [3, 4, 5])):
        resources = [desired[i] for i in group]
        create(resources[0]['kind'], resources, f'{n}' * 32, made)
    compare(desired, made)

    def finds():
        pages = call('find', kind='aws.instance', token='3' * 32, marks={}).get('page', [])
        found = [r['address'] for page in pages for r in page['resources']]
        return sorted(found) == sorted(r['address'] for r in desired[3:]), found
    settled(finds, 'find by token sees the batch')
    repeated(desired, made)
    tamper_and_update(desired, made)
    remove_all(made)


def repeated(desired, made):
    """The same token returns the same instances; moto creates new ones, so it is not asked."""
    if IMAGE:
        return
    again = dict(made)
    create('aws.instance', desired[3:6], '3' * 32, again)
    check({a: m['id'] for a, m in again.items()} == {a: m['id'] for a, m in made.items()},
          'a repeated create gives the same instances', [made, again])


def update(kind, address, made, attributes, prior, changed):
    got = call('update', kind=kind, items=[{'address': address, 'id': made[address]['id'],
               'attributes': attributes, 'observed': prior, 'changed': changed}])['item']
    return got[0]


def tamper_and_update(desired, made):
    address = 'aws.security_group.nodes'
    wanted = desired[0]['attributes']
    open_rule = {'protocol': 'tcp', 'from_port': 22, 'to_port': 22, 'source': '0.0.0.0/0'}
    tampered = {**wanted, 'ingress': wanted['ingress'] + [open_rule], 'tags': {'team': 'x', 'new': '1'}}
    got = update('aws.security_group', address, made, tampered, wanted, ['ingress', 'tags'])
    check(got['outcome'] == 'done', 'a rule was added', got)

    def shows_group():
        seen = observed('aws.security_group')[0]['attributes']
        return open_rule in seen['ingress'] and seen['tags'] == tampered['tags'], seen
    seen = settled(shows_group, 'list sees it')
    got = update('aws.security_group', address, made, wanted, seen, ['ingress', 'tags'])
    check(got['outcome'] == 'done', 'the rule was taken away', got)
    address = 'aws.instance.serve[3]'
    wanted = fill(desired[5]['attributes'], made)
    got = update('aws.instance', address, made, {**wanted, 'tags': {'Name': 'y'}}, wanted, ['tags'])
    check(got['outcome'] == 'done', 'tags of an instance change', got)

    def shows_tags():
        prior = [r for r in observed('aws.instance') if r['address'] == address][0]['attributes']
        return prior['tags'] == {'Name': 'y'}, prior
    prior = settled(shows_tags, 'list sees the tags')
    got = update('aws.instance', address, made, wanted, prior, ['tags'])
    got = update('aws.instance', address, made, wanted, prior, ['tags', 'instance_type'])
    check(got['outcome'] == 'unsupported', 'another type asks for a replacement', got)
    compare(desired, made)


def remove_all(made):
    for kind in ('aws.instance', 'aws.network_interface', 'aws.security_group'):
        items = [{'address': a, 'id': m['id']} for a, m in made.items() if a.startswith(kind)]
        got = call('remove', kind=kind, items=items)['item']
        check(len(got) == len(items) and all(i['outcome'] == 'done' for i in got),
              f'{len(got)} of {kind} removed', got)

        def left():
            rest = [r for r in observed(kind, [i['id'] for i in items]) if r['state'] != 'gone']
            return not rest, rest
        settled(left, f'nothing is left of {kind}')
        got = call('remove', kind=kind, items=items[:1])['item']
        check(got[0]['outcome'] == 'done', f'{kind} removed again counts as done', got)


main()
print('all is as it must be')

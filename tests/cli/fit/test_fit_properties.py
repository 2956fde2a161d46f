"""`raygpu fit` against placing.py: random specs with host memory, labels, custom resources, fractions, groups and gangs
over unequal pools. The program must say "all fit" exactly if everything can be placed; what it prints must be placeable
as it stands; a remedy that is followed must be enough; one more node must not make it worse.

The specs of number N depend on N alone. 96 of them in each run, 2,400 with --long."""
import copy
import json
import os
import random

import pytest

import placing
from program import Home

CASES = 2400 if os.environ.get('RAYGPU_LONG') else 96
WORKERS = 8
GPU_TYPES = ['g4dn.xlarge', 'g4dn.12xlarge', 'g5.xlarge', 'g5.12xlarge', 'g6.xlarge']


def random_pool(r):
    shape = {'instance_type': r.choice(GPU_TYPES + ['m5.xlarge']), 'nodes': r.randint(0, 2)}
    if r.random() < 0.4:
        shape['labels'] = {'tier': r.choice(['gold', 'silver'])}
    if r.random() < 0.25:
        shape['resources'] = {'special': r.choice([1, 2])}
    return shape


def random_bundle(r, small=False):
    bundle = {'gpus': r.choice([0, 0.25, 0.3, 0.5, 0.75, 1, 1, 1, 2, 4])}
    if bundle['gpus'] > 0 and r.random() < 0.5:
        bundle['gpu_memory'] = r.choice(['4GB', '8GB', '15GiB', '16GB', '20GB', '22GiB', '24GB', '24GiB'])
    if r.random() < 0.5:
        bundle['cpus'] = r.choice([1, 2, 4, 8])
    if r.random() < 0.4:
        bundle['memory'] = r.choice(['4GB', '10GB', '11GB', '30GB', '100GB'])
    if r.random() < 0.1:
        bundle['resources'] = {'special': 1}
    if small:
        bundle['count'] = r.randint(1, 2)
    return bundle


def random_workload(r):
    if r.random() < 0.2:
        workload = {'bundles': [random_bundle(r, True) for _ in range(2)]}
    else:
        workload = random_bundle(r)
        if r.random() < 0.25:
            workload['nodes'] = r.randint(2, 3)
    workload['replicas'] = r.randint(1, 2 if 'nodes' in workload or 'bundles' in workload else 4)
    workload['gang'] = r.random() < 0.35
    group = workload['gang'] or 'nodes' in workload or 'bundles' in workload
    if group and 'nodes' not in workload and r.random() < 0.6:
        workload['strategy'] = r.choice(['PACK', 'SPREAD', 'STRICT_PACK', 'STRICT_SPREAD'])
    if group and r.random() < 0.2:
        workload['same_gpu'] = False
    if r.random() < 0.25:
        workload['labels'] = {'tier': r.choice(['gold', '!gold', 'in(gold, silver)', '!in(gold,silver)'])}
    return workload


def random_spec(n):
    r = random.Random(n)
    spec = {'pools': {f'p{i}': random_pool(r) for i in range(r.randint(1, 3))},
            'workloads': {f'w{i}': random_workload(r) for i in range(r.randint(1, 3))}}
    if n // WORKERS % 2:  # half of them ask for less and have more
        for pool in spec['pools'].values():
            pool['nodes'] += 1
        for workload in spec['workloads'].values():
            workload['replicas'] = min(workload['replicas'], 2)
            for part in [workload, *workload.get('bundles', [])]:
                if 'gpus' in part:
                    part['gpus'] = min(part['gpus'], 1)
                for key in 'labels', 'resources', 'gpu_memory', 'memory':
                    part.pop(key, None)
    return spec


def ask(home, spec):
    whole = {'cluster': 'c', 'provider': {'name': 'aws', 'region': 'us-east-1'},
             'ray': {'version': '2.56.1', 'python': '3.11'}, 'head': {'instance_type': 'm5.2xlarge'}, **spec}
    home.write('c.yaml', json.dumps(whole))
    report = home.run('fit', 'c.yaml', '--json', code=None).json()
    return report, {w['workload']: w for w in report['workloads']}


def nodes_of(spec):
    return placing.make_nodes({'head': {'instance_type': 'm5.2xlarge', 'nodes': 1}, **spec['pools']})


def follow(spec, name, remedy):
    after = copy.deepcopy(spec)
    if remedy['workload_gpus'] is not None:
        after['workloads'][name]['gpus'] = remedy['workload_gpus']
    if remedy['pool']:
        after['pools'][remedy['pool']]['nodes'] += remedy['nodes']
        if remedy['mig']:
            after['pools'][remedy['pool']]['share'] = {'mig': remedy['mig']}
        return after
    pool = {'instance_type': remedy['instance_type'], 'nodes': remedy['nodes'], 'labels': remedy['labels'],
            'resources': remedy['resources']}
    if remedy['mig']:
        pool['share'] = {'mig': remedy['mig']}
    if remedy['market'] == 'spot':
        pool['market'] = 'spot'
    after['pools']['new'] = pool
    return after


def check_case(home, n):
    """What was checked: 'fits', 'not', 'remedy', 'unknown'."""
    spec = random_spec(n)
    report, said = ask(home, spec)
    groups = [g for name, w in spec['workloads'].items() for g in placing.groups_of(name, w)]
    assert report['exact'], f'case {n}'
    try:
        fits = placing.fits(nodes_of(spec), groups)
    except placing.TooMany:
        return ['unknown']
    assert report['all_fit'] == fits, f'case {n}: {json.dumps(spec)}'
    if fits:
        for name, workload in said.items():
            assert sum(e['replicas'] for e in workload['ray']) == spec['workloads'][name]['replicas'], f'case {n}'
        try:
            assert placing.fits(nodes_of(spec), list(printed_first(report))), f'case {n}: {json.dumps(spec)}'
        except placing.TooMany:
            return ['unknown']
        more = copy.deepcopy(spec)
        more['pools'][random.Random(n).choice(sorted(more['pools']))]['nodes'] += 1
        assert ask(home, more)[0]['all_fit'], f'case {n}: one more node'
        return ['fits']
    checked = ['not']
    for name, workload in said.items():
        if workload['remedy']:
            after = ask(home, follow(spec, name, workload['remedy']))[1]
            assert after[name]['verdict'] == 'fits' and after[name]['remedy'] is None, \
                f'case {n}: {name} {json.dumps(workload["remedy"])} {json.dumps(spec)}'
            checked.append('remedy')
    return checked


def printed_first(report):
    """Large groups first, which finds a placement sooner."""
    return sorted(placing.printed_groups(report), key=lambda g: -len(g.bundles))


@pytest.mark.parametrize('worker', range(WORKERS))
def test_random_specs(tmp_path, worker):
    home = Home(tmp_path)
    seen = {'fits': 0, 'not': 0, 'remedy': 0, 'unknown': 0}
    for n in range(worker, CASES, WORKERS):
        for what in check_case(home, n):
            seen[what] += 1
    print(seen)
    assert seen['fits'] > 0 and seen['not'] > 0 and seen['remedy'] > 0
    assert seen['unknown'] * 20 <= sum(seen.values()) + 20

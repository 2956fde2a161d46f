"""Ray's placement written down a second time, node by node and GPU by GPU, without code of raygpu: whether bundles fit
on nodes at once, by trying everything. The sizes of nodes come from the data files."""
import csv
import math

from program import ROOT

ONE = 10000  # Ray's FixedPoint
GIB = 1 << 30


def table(path, key):
    with open(ROOT / path, newline='', encoding='utf-8') as f:
        return {row[key]: row for row in csv.DictReader(f)}


TYPES = table('providers/aws/instance_types.csv', 'instance_type')
MODELS = table('src/catalog/data/gpu_models.csv', 'gpu_model')
with open(ROOT / 'src/catalog/data/mig_profiles.csv', newline='', encoding='utf-8') as profiles:
    PROFILES = {(row['gpu_model'], row['profile']): row for row in csv.DictReader(profiles)}


def steps(amount):
    return math.ceil(amount * ONE - 1e-6)


def ray_memory(nominal_gib, is_head):
    """Bytes: Ray's resource_and_label_spec.py with /dev/shm of 30 % of the node's memory."""
    available = nominal_gib * GIB * 0.975 - (1.75 if is_head else 0.75) * GIB
    shm = max(10e9, math.ceil(nominal_gib * 1024 * 0.3) * 2**20 * 0.95)
    return available - min(available * 0.3, 200e9, shm)


class Node:
    """One node: what is free on it, and what it is."""

    def __init__(self, pool, shape):
        kind = TYPES[shape['instance_type']]
        model = kind['gpu_model']
        self.pool = pool
        self.model = model or None
        count = int(kind['gpus'])
        self.gb = self.mib = 0
        if model:
            self.gb, self.mib = float(MODELS[model]['memory_gb']), float(MODELS[model]['memory_mib'])
        self.slice = (shape.get('share') or {}).get('mig')
        if self.slice:
            profile = PROFILES[(model, self.slice)]
            count *= int(profile['instances'])
            self.gb, self.mib = float(profile['memory_gb']), float(profile['memory_mib'])
        self.gpus = (0,) * count  # used steps of each
        self.free = {'CPU': int(kind['vcpus']) * ONE,
                     'memory': ray_memory(float(kind['memory_gib']), pool == 'head')}
        for name, amount in (shape.get('resources') or {}).items():
            self.free[name] = steps(amount)
        ray_type = MODELS[model]['ray_type'] if model else None
        if ray_type:
            self.free[f'accelerator_type:{ray_type}'] = ONE
        self.labels = dict(shape.get('labels') or {})
        self.labels['ray.io/node-group'] = pool
        self.labels['ray.io/market-type'] = shape.get('market', 'on-demand')
        if ray_type:
            self.labels['ray.io/accelerator-type'] = ray_type

    def state(self):
        return self.pool, self.gpus, tuple(sorted(self.free.items()))


def make_nodes(pools):
    return [Node(name, shape) for name, shape in pools.items() for _ in range(shape['nodes'])]


def selects(selector, value, trim):
    """Ray's grammar; `trim`: spaces in a list do not count, as in a spec."""
    negated, text = selector.startswith('!'), selector.lstrip('!')
    words = text[3:-1].split(',') if text.startswith('in(') else [text]
    return (value in [w.strip() if trim else w for w in words]) != negated


class Bundle:
    """`need(node)`: None, or {'GPU': steps, 'CPU': ..., ...} of it there."""

    def __init__(self, need, on_gpus):
        self.need, self.on_gpus = need, on_gpus


class Group:
    """Bundles that run at once or not at all; `gang`: groups with the same one are on the same kind of GPU."""

    def __init__(self, bundles, strategy='PACK', alike=False, gang=None):
        self.bundles, self.strategy, self.alike, self.gang = bundles, strategy, alike, gang


def taken(node, need):
    """The states of the node's GPUs and amounts with that on it."""
    free = dict(node[1])
    for name, amount in need.items():
        if name == 'GPU':
            continue
        if free.get(name, 0) < amount - 1e-3:
            return
        free[name] = free.get(name, 0) - amount
    amounts = tuple(sorted(free.items()))
    gpu, gpus = need.get('GPU', 0), node[0]
    if gpu == 0:
        yield gpus, amounts
    elif gpu >= ONE:
        idle = [i for i, used in enumerate(gpus) if used == 0]
        if len(idle) >= gpu // ONE:
            full = set(idle[:gpu // ONE])
            yield tuple(sorted((ONE if i in full else used for i, used in enumerate(gpus)), reverse=True)), amounts
    else:
        for i, used in enumerate(gpus):
            if used + gpu <= ONE and (i == 0 or gpus[i - 1] != used):
                yield tuple(sorted(gpus[:i] + (used + gpu,) + gpus[i + 1:], reverse=True)), amounts


class TooMany(Exception):
    """More steps than a test has time for."""


def fits(nodes, groups, most=200000):
    """Whether all groups fit at once."""
    places = [(n.gpus, tuple(sorted(n.free.items()))) for n in nodes]
    kinds = [(n.model, n.slice) for n in nodes]
    steps_left, seen = [most], set()

    def go(state, at, b, on, kind, gangs):
        if at == len(groups):
            return True
        group = groups[at]
        if b == len(group.bundles):
            return go(state, at + 1, 0, (), None, gangs)
        key = (at, b, on, kind, gangs, state)
        if key in seen:
            return False
        steps_left[0] -= 1
        if steps_left[0] == 0:
            raise TooMany
        bundle = group.bundles[b]
        wished = dict(gangs).get(group.gang) if group.gang else kind
        tried = set()
        for i, node in enumerate(nodes):
            if group.strategy == 'STRICT_SPREAD' and i in on or group.strategy == 'STRICT_PACK' and on and i not in on:
                continue
            alike = group.alike and bundle.on_gpus
            if alike and (kinds[i][0] is None or wished and wished != kinds[i]):
                continue
            twin = (node.pool, state[i], i in on)
            need = bundle.need(node)
            if need is None or twin in tried:
                continue
            tried.add(twin)
            for after in taken(state[i], need):
                now_gangs = gangs
                if alike and group.gang and group.gang not in dict(gangs):
                    now_gangs = gangs + ((group.gang, kinds[i]),)
                if go(state[:i] + (after,) + state[i + 1:], at, b + 1, tuple(sorted(set(on) | {i})),
                      kinds[i] if alike else kind, now_gangs):
                    return True
        seen.add(key)
        return False
    return go(tuple(places), 0, 0, (), None, ())


# --- what a spec asks for -------------------------------------------------------------------

def size(text):
    return (0, 0) if text is None else (0, float(text[:-3])) if text.endswith('GiB') else (float(text[:-2]), 0)


def need_of(workload, bundle):
    gb, gib = size(bundle.get('gpu_memory'))
    gpus = bundle['gpus']

    def need(node):
        if workload.get('pool') and node.pool != workload['pool']:
            return None
        if any(not selects(s, node.labels.get(k), True) for k, s in (workload.get('labels') or {}).items()):
            return None
        amounts = {'CPU': steps(bundle.get('cpus', 1)), 'memory': float(bundle.get('memory', '0GB')[:-2]) * GIB}
        for name, amount in (bundle.get('resources') or {}).items():
            amounts[name] = steps(amount)
        if gpus == 0:
            return amounts
        if not node.model or gb > node.gb or gib * 1024 > node.mib:
            return None
        if node.slice and gpus > 1:
            return None
        share = gpus if gpus >= 1 else max(gpus, gb / node.gb, gib * 1024 / node.mib)
        amounts['GPU'] = steps(share)
        return amounts
    return need


def groups_of(name, workload):
    """All replicas of a workload."""
    listed = workload.get('bundles') or [dict(workload, count=workload.get('nodes', 1))]
    bundles = [Bundle(need_of(workload, b), b['gpus'] > 0) for b in listed for _ in range(b.get('count', 1))]
    strategy = workload.get('strategy') or ('STRICT_SPREAD' if 'nodes' in workload else 'PACK')
    gang, replicas = workload.get('gang', False), workload.get('replicas', 1)
    group = gang or 'nodes' in workload or 'bundles' in workload
    alike = group and workload.get('same_gpu', True)
    if gang and 'nodes' not in workload and 'bundles' not in workload:
        return [Group(bundles * replicas, strategy, alike)]
    return [Group(bundles, strategy, alike, name if gang else None) for _ in range(replicas)]


# --- what was printed -----------------------------------------------------------------------

def printed_need(resources, selector):
    def need(node):
        if any(not selects(s, node.labels.get(k), False) for k, s in selector.items()):
            return None
        return {name: amount if name == 'memory' else steps(amount) for name, amount in resources.items()}
    return need


def of_options(options):
    resources = dict(options.get('resources') or {}, CPU=options['num_cpus'], GPU=options['num_gpus'])
    if 'memory' in options:
        resources['memory'] = options['memory']
    return Bundle(printed_need(resources, options.get('label_selector') or {}), False)


def printed_groups(report):
    """All that the report says how to start, as Ray sees it: no workloads, only resources and labels."""
    for workload in report['workloads']:
        for entry in workload['ray']:
            group = entry.get('placement_group')
            if not group:
                yield from (Group([of_options(entry['options'])]) for _ in range(entry['replicas']))
                continue
            bundles = [Bundle(printed_need(b['resources'], b.get('label_selector') or {}), False)
                       for b in group['bundles'] for _ in range(b['count'])]
            yield from (Group(bundles, group['strategy']) for _ in range(entry['groups']))

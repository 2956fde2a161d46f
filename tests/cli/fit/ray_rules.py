"""Ray's scheduler written down a second time, without code of raygpu: node by node, greedily, nothing is moved later.

Its rules are in src/ray/raylet/scheduling/policy of Ray: scorer.cc (what a node would have left, as a share of what is
free, summed over the resources), bundle_scheduling_policy.cc (placement groups) and hybrid_scheduling_policy.cc (tasks:
nodes whose CPUs and memory are less than half used count as unused; nodes with GPUs last for tasks without). Ray leaves
ties to chance; here to `rng`. `heeds`: STRICT_PACK groups are placed by their label selectors too, as from Ray 2.54 on
(ray PR 60170)."""
from placing import ONE, selects


class Machine:
    """A node and what is free on it."""

    def __init__(self, node):
        self.node = node
        self.free = dict(node.free, memory=node.free['memory'] // 2**20)
        self.total = dict(self.free)
        self.gpus = [ONE] * len(node.gpus)

    def holds(self, bundle):
        amounts, selector = bundle
        if any(not selects(s, self.node.labels.get(k), False) for k, s in selector.items()):
            return False
        if any(amount > self.free.get(name, 0) for name, amount in amounts.items() if name != 'GPU'):
            return False
        gpu = amounts.get('GPU', 0)
        return self.gpus.count(ONE) >= gpu // ONE if gpu >= ONE else gpu == 0 or max(self.gpus, default=0) >= gpu

    def take(self, bundle):
        for name, amount in bundle[0].items():
            if name != 'GPU':
                self.free[name] = self.free.get(name, 0) - amount
        gpu = bundle[0].get('GPU', 0)
        for _ in range(gpu // ONE):
            self.gpus[self.gpus.index(ONE)] = 0
        if 0 < gpu < ONE:
            self.gpus[self.gpus.index(min(free for free in self.gpus if free >= gpu))] -= gpu

    def score(self, bundle):
        free = dict(self.free, GPU=sum(self.gpus))
        return sum((free[name] - amount) / free[name] for name, amount in bundle[0].items() if amount > 0)

    def use(self):
        use = max(1 - self.free[name] / self.total[name] for name in ('CPU', 'memory'))
        return use if use >= 0.5 else 0


def best(machines, value, rng):
    """One of those with the highest value."""
    most = max(map(value, machines), default=None)
    return rng.choice([m for m in machines if value(m) == most]) if machines else None


def size(bundle):
    amounts = bundle[0]
    own = sorted(amount for name, amount in amounts.items() if name not in ('GPU', 'CPU', 'memory'))
    return amounts.get('GPU', 0), own, amounts.get('memory', 0), amounts.get('CPU', 0)


def place_task(machines, bundle, rng):
    able = [m for m in machines if m.holds(bundle)]
    plain = [m for m in able if not m.gpus]
    if not bundle[0].get('GPU') and plain:
        able = plain
    machine = best(able, lambda m: -m.use(), rng)
    if machine:
        machine.take(bundle)
    return machine is not None


def place_strictly_packed(machines, bundles, rng, heeds):
    whole, bundles = {}, bundles if heeds else [(amounts, {}) for amounts, _ in bundles]
    for amounts, _ in bundles:
        for name, amount in amounts.items():
            whole[name] = whole.get(name, 0) + amount
    able = []
    for machine in machines:
        before = dict(machine.free), list(machine.gpus)
        good = True
        for bundle in bundles:
            good = good and machine.holds(bundle)
            if good:
                machine.take(bundle)
        machine.free, machine.gpus = before
        if good:
            able.append(machine)
    machine = best(able, lambda m: m.score((whole, {})), rng)
    for bundle in bundles if machine else []:
        machine.take(bundle)
    return machine is not None


def place_group(machines, bundles, strategy, rng, heeds):
    bundles = sorted(bundles, key=size, reverse=True)
    if strategy == 'STRICT_PACK':
        return place_strictly_packed(machines, bundles, rng, heeds)
    left, used = list(machines), []
    while bundles:
        first = bundles.pop(0)
        machine = best([m for m in left if m.holds(first)], lambda m: m.score(first), rng)
        if machine:
            left.remove(machine)
            used.append(machine)
        elif strategy == 'SPREAD':
            machine = best([m for m in used if m.holds(first)], lambda m: m.score(first), rng)
        if not machine:
            return False
        machine.take(first)
        for bundle in list(bundles) if strategy == 'PACK' else []:
            if machine.holds(bundle):
                machine.take(bundle)
                bundles.remove(bundle)
    return True


def amounts_of(resources):
    return {name: int(amount) // 2**20 if name == 'memory' else round(amount * ONE) for name, amount in resources.items()}


def submissions(report):
    """(workload, how often, bundles, strategy or None) of each entry that is printed."""
    for workload in report['workloads']:
        for entry in workload['ray']:
            group = entry.get('placement_group')
            if group:
                bundles = [(amounts_of(b['resources']), b.get('label_selector') or {})
                           for b in group['bundles'] for _ in range(b['count'])]
                yield workload['workload'], entry['groups'], bundles, group['strategy']
                continue
            options = entry['options']
            amounts = dict(options.get('resources') or {}, CPU=options['num_cpus'], GPU=options['num_gpus'])
            if 'memory' in options:
                amounts['memory'] = options['memory']
            yield workload['workload'], entry['replicas'], [(amounts_of(amounts), options.get('label_selector') or {})], None


def waits(nodes, order, rng, heeds):
    """The first workload that does not find its place; None: all run. `order`: submissions."""
    machines = [Machine(node) for node in nodes]
    for name, count, bundles, strategy in order:
        for _ in range(count):
            good = place_group(machines, bundles, strategy, rng, heeds) if strategy else place_task(machines, bundles[0], rng)
            if not good:
                return name
    return None

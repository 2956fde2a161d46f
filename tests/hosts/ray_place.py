"""Places what `raygpu fit` printed on a real Ray: a head, and raylets that claim the GPUs of the nodes.

Run by the Python of an installation of Ray. Each line of the input is a case, as JSON: {"nodes": [{"num_cpus", "num_gpus", "memory",
"resources", "labels"}, ...] (the first is the head's), "stages": [[[workload, times, options or placement group], ...], ...], of which
each is submitted when the one before it runs, "patience": seconds without news after which what has not started waits}. Each line of the output: {"waiting": [workload, ...],
"on": {workload: {pool: how many}}}."""
import json
import os
import sys
import time

# no process that nobody asked for, and no reserve for objects
os.environ.update(RAY_num_prestart_python_workers='0', RAY_prestart_worker_first_driver='0', RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO='0')
import ray  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

OBJECTS = 80 * 2**20
GROUP = 'ray.io/node-group'


@ray.remote
class Replica:
    def where(self):
        return ray.get_runtime_context().get_node_id()


def submit(what):
    if 'bundles' in what:
        return ray.util.placement_group(**what)
    return Replica.options(**what).remote()


def pools_of(group):
    """The nodes of its bundles; None: it waits."""
    table = ray.util.placement_group_table(group)
    return list(table['bundles_to_node_id'].values()) if table['state'] == 'CREATED' else None


class Run:
    """What was submitted, and where it started."""

    def __init__(self, stages):
        self.names, self.groups, self.calls, self.all = {}, {}, {}, []
        self.stages, self.on, self.last = list(stages), {}, time.monotonic()

    def submit_next(self):
        for name, times, what in self.stages.pop(0):
            for _ in range(times):
                one = submit(what)
                self.all.append(one)
                self.names[one] = name
                if 'bundles' in what:
                    self.groups[one] = name
                else:
                    self.calls[one.where.remote()] = one

    def note(self, one, nodes, names):
        for node in nodes:
            at = self.on.setdefault(self.names[one], {})
            at[names[node]] = at.get(names[node], 0) + 1
        del self.names[one]
        self.last = time.monotonic()

    def until(self, patience, names):
        while (self.names or self.stages) and time.monotonic() - self.last < patience:
            if not self.names:
                self.submit_next()
            for group in list(self.groups):
                if (nodes := pools_of(group)) is not None:
                    self.note(group, nodes, names)
                    del self.groups[group]
            done, _ = ray.wait(list(self.calls), num_returns=len(self.calls), timeout=0.2) if self.calls else ([], time.sleep(0.05))
            for call in done:
                self.note(self.calls.pop(call), [ray.get(call)], names)
        later = [name for stage in self.stages for name, _, _ in stage]
        return {'waiting': sorted({*self.names.values(), *later}), 'on': self.on}

    def end(self):
        for one in self.all:
            if isinstance(one, ray.actor.ActorHandle):
                ray.kill(one)
            else:
                ray.util.remove_placement_group(one)


class Head:
    """A cluster of one node, to which the others of each case come and go: a head takes longer to start than they do, and who is there stays."""

    def __init__(self, node):
        self.node, self.others = node, []
        self.cluster = Cluster(initialize_head=True, head_node_args={**node, 'object_store_memory': OBJECTS, 'include_dashboard': False})
        ray.init(address=self.cluster.address, logging_level='ERROR', log_to_driver=False)

    def have(self, nodes):
        wanted, stay = list(nodes), []
        for one in self.others:
            if one[0] in wanted:
                wanted.remove(one[0])
                stay.append(one)
            else:
                self.cluster.remove_node(one[1], allow_graceful=False)
        self.others = stay + [(node, self.cluster.add_node(wait=False, object_store_memory=OBJECTS, **node)) for node in wanted]
        self.cluster.wait_for_nodes(timeout=300)
        self.until_free()

    def until_free(self):
        """Nothing of an earlier case holds anything of a node, and no node of an earlier case is there."""
        whole = [self.node, *(node for node, _ in self.others)]
        cpus, gpus = (sum(node[name] for node in whole) for name in ('num_cpus', 'num_gpus'))
        while (free := ray.available_resources()).get('CPU') != cpus or free.get('GPU', 0) != gpus:
            time.sleep(0.05)

    def play(self, nodes, stages, patience):
        self.have(nodes)
        names = {node['NodeID']: node['Labels'].get(GROUP) for node in ray.nodes() if node['Alive']}
        run = Run(stages)
        answer = run.until(patience, names)
        run.end()
        return answer

    def close(self):
        ray.shutdown()
        self.cluster.shutdown()


def main():
    answers, sys.stdout = sys.stdout, sys.stderr
    head = None
    for line in sys.stdin:
        case = json.loads(line)
        first, *others = case['nodes']
        if head and head.node != first:
            head.close()
            head = None
        head = head or Head(first)
        print(json.dumps(head.play(others, case['stages'], case['patience'])), file=answers, flush=True)
    if head:
        head.close()


if __name__ == '__main__':
    main()

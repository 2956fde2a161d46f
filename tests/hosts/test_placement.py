"""What `raygpu fit` says of workloads, against a real Ray: raylets that claim the GPUs, CPUs, memory and labels of the spec's nodes get
what `fit` prints. What starts in any order does, all at once; what starts in an order does in that one; if not all fit, something waits.
The random specs are those of tests/cli/fit/test_ray_order.py, which checks many more of them with a copy of Ray's rules (ray_rules.py).

RAYGPU_PLACEMENTS: how many specs; figures of a long run: tests/README.md."""
import datetime
import itertools
import json
import os
import random
import subprocess
import sys

import pytest

from conftest import HERE, environment

sys.path[:0] = [str(HERE.parent / 'cli/fit')]
import ray_rules  # noqa: E402
import test_ray_order  # noqa: E402
from program import Home  # noqa: E402
from ray_versions import NEWEST, OLDEST  # noqa: E402

# hosts of the default run have the older one
VERSIONS = [OLDEST, NEWEST] if os.environ.get('RAYGPU_LONG') else [NEWEST]
CASES = int(os.environ.get('RAYGPU_PLACEMENTS') or (60 if os.environ.get('RAYGPU_LONG') else 4))
DIFFERED = [75]  # seeds where Ray once did something else; the others differ from day to day
MOST_ACTORS = 10  # of a spec: each is a process
PATIENCE = 300, 5  # seconds: where all must start, and where something must wait


def raylet(node):
    """The arguments of a raylet that claims what the node has."""
    free = {name: amount / ray_rules.ONE for name, amount in node.free.items() if name not in ('CPU', 'memory')}
    return {'num_cpus': node.free['CPU'] // ray_rules.ONE, 'num_gpus': len(node.gpus), 'memory': int(node.free['memory']), 'resources': free,
            'labels': node.labels}


def module_of(home):
    """What `fit --emit python` prints for the spec that was asked about last."""
    module = {}
    exec(home.run('fit', 'c.yaml', '--emit', 'python', code=None).out, module)  # pylint: disable=exec-used
    return module


def submissions(report, module, rng):
    """What is submitted at a time, as the report promises: all, or each workload when the one before it runs; one more of each workload of
    which not all replicas were placed."""
    order = []
    for one in report['workloads']:
        made = [[one['workload'], count, how] for count, how in module['submissions'](one['workload'])]
        order += made
        if one['together'] < one['replicas'] and made:
            order.append([one['workload'], 1, made[0][2]])
    if report['start'] == 'in_order':
        first = [[row for row in order if row[0] == name] for name in report['start_order']]
        last = [row for row in order if row[0] not in report['start_order']]
        return [stage for stage in [*first, last] if stage]
    rng.shuffle(order)
    return [order]


def actors(stages):
    return sum(times for stage in stages for _, times, what in stage if 'bundles' not in what)


def ask(home, n, ray):
    """(report, case for ray_place.py) of a random spec; None: too large."""
    pools, workloads = test_ray_order.random_case(n)
    report = test_ray_order.ask(home, pools, workloads, ray=ray)
    stages = submissions(report, module_of(home), random.Random(n))
    if actors(stages) > MOST_ACTORS or report['start'] == 'uncertain' and report['all_fit']:
        return None
    nodes = test_ray_order.nodes_of(pools)
    return report, {'nodes': [raylet(node) for node in nodes], 'stages': stages, 'patience': PATIENCE[not report['all_fit']]}


class Place:
    """A case on Ray. A raylet of 2.60 ends if its agent has not started after 15 s, which a busy machine may need: such a case is tried
    again, once, with a new Ray."""

    def __init__(self, version, log):
        self.ray, self.log, self.process = version, log, None

    def start(self):
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen([environment(self.ray) / 'bin/python', HERE / 'ray_place.py'], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=log, text=True)

    def end(self):
        process, self.process = self.process, None
        if process:
            try:
                process.communicate(timeout=120)  # ends with its input
            except (BrokenPipeError, subprocess.TimeoutExpired):
                process.kill()
                process.wait()

    def answer(self, case):
        """'': Ray ended."""
        if not self.process:
            self.start()
        try:
            self.process.stdin.write(json.dumps(case) + '\n')
            self.process.stdin.flush()
            return self.process.stdout.readline()
        except BrokenPipeError:
            return ''

    def __call__(self, case):
        for _ in range(2):
            if line := self.answer(case):
                return json.loads(line)
            self.end()
        raise AssertionError(self.log.read_text(errors='replace')[-3000:])


@pytest.fixture(scope='module', params=VERSIONS)
def place(request, tmp_path_factory):
    made = Place(request.param, tmp_path_factory.mktemp('place') / 'log')
    yield made
    made.end()


def test_ray_places_what_fit_says(place, tmp_path):
    home = Home(tmp_path)
    seen, wrong, tried = [], [], 0
    for n in itertools.chain(DIFFERED, itertools.count(datetime.date.today().toordinal() % 10000 * 10)):
        if len(seen) >= CASES and {'any_order', 'not all'} <= set(seen):
            break
        tried += 1
        asked = ask(home, n, place.ray)
        if not asked:
            continue
        report, case = asked
        if not report['all_fit'] and seen.count('not all') * 3 > len(seen):
            continue  # most of them: one in three is enough
        said = place(case)
        never = [one['workload'] for one in report['workloads'] if not one['ray']]
        seen.append(report['start'] if report['all_fit'] else 'not all')
        if report['all_fit'] == bool(said['waiting'] or never):
            wrong.append((n, seen[-1], said, case['stages']))
    print({what: seen.count(what) for what in sorted(set(seen))}, 'of', tried)
    assert not wrong, '\n'.join(f'spec {number}: {what}: {json.dumps(said)}: {json.dumps(stages)}' for number, what, said, stages in wrong)


def test_a_wrong_promise_is_noticed(place, tmp_path):
    """Groups that are said to start in an order, in the other one."""
    pools = {'p': {'instance_type': 'g5.12xlarge', 'nodes': 3}}
    workloads = {'packed': {'gpus': 1, 'cpus': 0.5, 'replicas': 6, 'gang': True},
                 'spread': {'gpus': 0.5, 'cpus': 1, 'nodes': 3, 'replicas': 3, 'gang': True}}
    home = Home(tmp_path)
    report = test_ray_order.ask(home, pools, workloads, code=0, ray=place.ray)
    assert report['start_order'] == ['spread', 'packed']
    stages = submissions(report, module_of(home), random.Random(0))
    nodes = [raylet(node) for node in test_ray_order.nodes_of(pools)]
    assert place({'nodes': nodes, 'stages': stages, 'patience': PATIENCE[0]})['waiting'] == []
    assert place({'nodes': nodes, 'stages': stages[::-1], 'patience': PATIENCE[1]})['waiting'] == ['spread']

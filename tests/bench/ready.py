"""apply's wait until nodes have joined Ray, on raygpu-sim: what the looks at the consoles cost; and drift's one look."""
import shutil
import tempfile

from apply import write_spec
from measure import run, seconds, table
from program import Home, binary
from sim_server import Sim

JOIN_MS = 10000    # from running to joined
READINGS = ('GetConsoleOutput', 'DescribeInstanceStatus')
LOOKS_MAX = 6      # after 0, 1, 3, 7, 15 and 30 s
HEAD = ['nodes', 'console calls', 'wall s', 'CPU s', 'CPU s without the wait', 'calls of a drift for it',
        'its wall s']


def readings(sim):
    actions = sim.counters()['actions']
    return sum(actions.get(name, {'requests': 0})['requests'] for name in READINGS)


def right(used):
    """Figures of a failed run would be worthless."""
    if used.code:
        raise RuntimeError(f'it ended with {used.code}:\n{used.out[-3000:]}')
    return used


def measure(nodes, *options):
    """What apply and then drift used."""
    folder = tempfile.mkdtemp(prefix='raygpu-bench-')
    try:
        with Sim('--boot-ms', '0') as sim:
            home = Home(folder, sim.env())
            sim.knobs(join_ms=JOIN_MS)
            write_spec(home, nodes)
            used = right(run([binary(), 'apply', 'cluster.yaml', '--auto-approve', *options], cwd=folder, env=home.env))
            used.calls = readings(sim)
            sim.counters_reset()
            drift = right(run([binary(), 'drift', 'cluster.yaml'], cwd=folder, env=home.env))
            drift.calls = readings(sim)
        return used, drift
    finally:
        shutil.rmtree(folder)


def row(nodes):
    waits, drift = measure(nodes)
    alone, _ = measure(nodes, '--no-wait')
    if alone.calls or waits.calls > LOOKS_MAX:
        raise RuntimeError(f'{waits.calls} calls for {nodes} nodes, {alone.calls} without the wait')
    return [f'{nodes:,}', waits.calls, seconds(waits.wall_s), seconds(waits.cpu_s), seconds(alone.cpu_s),
            drift.calls, seconds(drift.wall_s)]


def section(counts):
    print(f'### apply until all nodes have joined Ray, {JOIN_MS // 1000} s after they run\n')
    print(table(HEAD, [row(nodes) for nodes in counts]), '\n', flush=True)

"""apply of many nodes on raygpu-sim, without and with latency, compared with the least time that the calls take
in sequence."""
import shutil
import tempfile

from measure import median, run, seconds, table
from program import Home, binary, spec
from sim_server import Sim
from world import POOLS, sizes

# The sequence of calls: DescribeSubnets, CreateSecurityGroup, AuthorizeSecurityGroupIngress,
# CreateNetworkInterface, RunInstances, DescribeInstances. Everything else could run in parallel.
CHAIN = 6
# A default subnet has 4,091 addresses, and one launch creates at most 1,000 instances.
ZONES = ('us-east-1a', 'us-east-1b', 'us-east-1c', 'us-east-1d', 'us-east-1f')
HEAD = ['nodes', 'latency ms', 'wall s', 'CPU s', 'peak MiB', 'calls', f'{CHAIN} calls in a row s', 'ratio']


def write_spec(home, nodes):
    workers = sizes(nodes)
    pools = ''.join(f'  {name}: {{accelerators: "T4:1", nodes: {workers[name]}, zones: [{ZONES[i % len(ZONES)]}]}}\n'
                    for i, (name, _) in enumerate(POOLS))
    home.write('cluster.yaml', spec(pools={}) + pools)


def once(nodes, latency_ms):
    folder = tempfile.mkdtemp(prefix='raygpu-bench-')
    try:
        with Sim('--boot-ms', '0', '--latency-ms', latency_ms) as sim:
            home = Home(folder, sim.env())
            write_spec(home, nodes)
            used = run([binary(), 'apply', 'cluster.yaml', '--auto-approve'], cwd=folder, env=home.env)
            used.calls = sim.counters()['requests']
            if used.code or len(sim.live_instances()) != nodes:
                raise RuntimeError(f'apply of {nodes} nodes ended with {used.code}:\n{used.out[-3000:]}')
        return used
    finally:
        shutil.rmtree(folder)


def row(nodes, latency_ms, repeats):
    runs = [once(nodes, latency_ms) for _ in range(repeats)]
    wall, chain = median(runs, 'wall_s'), CHAIN * latency_ms / 1000
    return [f'{nodes:,}', latency_ms, seconds(wall), seconds(median(runs, 'cpu_s')), f'{median(runs, "rss_mib"):.0f}',
            runs[0].calls, seconds(chain) if chain else '-', f'{wall / chain:.1f}' if chain else '-']


def section(counts, repeats):
    print('### apply on raygpu-sim\n')
    print(table(HEAD, [row(nodes, latency, repeats) for nodes in counts for latency in (0, 200)]), '\n', flush=True)

"""apply with the state in PostgreSQL at a distance, compared with the local file. The distance is the round trip to the store; calls
to the cloud take none, so that the store's part is as large as it can be, or 200 ms as elsewhere."""
import shutil
import tempfile

from apply import write_spec
from measure import median, run, seconds, table
from postgres_server import Postgres
from program import Home, binary
from sim_server import Sim
from store_proxy import Proxy

HEAD = ['nodes', 'cloud ms', 'store', 'round trip ms', 'wall s', 'CPU s', 'against the file', 'commits', 'KiB sent', 'KiB received']


def once(nodes, cloud_ms, proxy, server):
    """`proxy` NULL: the file."""
    folder = tempfile.mkdtemp(prefix='raygpu-bench-')
    try:
        with Sim('--boot-ms', '0', '--latency-ms', cloud_ms) as sim:
            home = Home(folder, sim.env())
            write_spec(home, nodes)
            if proxy:
                home.env['RAYGPU_STATE'] = server.url(port=proxy.own)
                home.run('state', 'rm', 'x', code=4)  # creates the tables, once for all
                proxy.count = proxy.sent = proxy.received = 0
            used = run([binary(), 'apply', 'cluster.yaml', '--auto-approve'], cwd=folder, env=home.env)
            if used.code or len(sim.live_instances()) != nodes:
                raise RuntimeError(f'apply of {nodes} nodes ended with {used.code}:\n{used.out[-3000:]}')
            used.counts = (proxy.count, proxy.sent // 1024, proxy.received // 1024) if proxy else ('-',) * 3
        return used
    finally:
        shutil.rmtree(folder)


def rows(nodes, cloud_ms, repeats, server):
    base = None
    for round_trip_ms in (None, 0, 20, 200):
        with Proxy(server.port, writes=(b'SELECT 1 / count',)) as proxy:
            proxy.delay_s = (round_trip_ms or 0) / 1000
            runs = [once(nodes, cloud_ms, proxy if round_trip_ms is not None else None, server) for _ in range(repeats)]
        wall = median(runs, 'wall_s')
        base = base or wall
        yield [f'{nodes:,}', cloud_ms, 'file' if round_trip_ms is None else 'PostgreSQL', '-' if round_trip_ms is None else round_trip_ms,
               seconds(wall), seconds(median(runs, 'cpu_s')), f'{wall / base:.2f}', *runs[0].counts]


def section(repeats):
    print('### apply with the state elsewhere\n')
    with Postgres() as server:
        print(table(HEAD, [row for cloud_ms in (0, 200) for row in rows(1000, cloud_ms, repeats, server)]), '\n', flush=True)

"""apply with the state in PostgreSQL or in S3 (moto) at a distance, compared with the local file. The distance is the round trip to the store; calls
to the cloud take none, so that the store's part is as large as it can be, or 200 ms as elsewhere."""
import shutil
import tempfile

from apply import write_spec
from measure import median, run, seconds, table
from postgres_server import Postgres
from program import Home, binary
from s3_server import S3
from sim_server import Sim
from store_proxy import HTTP_WRITES, Proxy

HEAD = ['nodes', 'cloud ms', 'store', 'round trip ms', 'wall s', 'CPU s', 'against the file', 'writes', 'reads', 'KiB sent', 'KiB received']


class Database:
    name = 'PostgreSQL'

    def __init__(self, server):
        self.server = server

    def proxy(self):
        return Proxy(self.server.port, writes=(b'SELECT 1 / count',))

    def url(self, proxy):
        return self.server.url(port=proxy.own)


class Bucket:
    name = 'S3'

    def __init__(self, server):
        self.server = server

    def proxy(self):
        return Proxy(self.server.port, HTTP_WRITES)

    def url(self, proxy):
        return self.server.url(endpoint=f'http://127.0.0.1:{proxy.own}')


def once(nodes, cloud_ms, proxy, store):
    """`proxy` None: the file."""
    folder = tempfile.mkdtemp(prefix='raygpu-bench-')
    try:
        with Sim('--boot-ms', '0', '--latency-ms', cloud_ms) as sim:
            home = Home(folder, sim.env())
            write_spec(home, nodes)
            if proxy:
                home.env['RAYGPU_STATE'] = store.url(proxy)
                home.run('state', 'rm', 'x', code=4)  # creates the tables, once for all
                proxy.count = proxy.reads = proxy.sent = proxy.received = 0
            used = run([binary(), 'apply', 'cluster.yaml', '--auto-approve'], cwd=folder, env=home.env)
            if used.code or len(sim.live_instances()) != nodes:
                raise RuntimeError(f'apply of {nodes} nodes ended with {used.code}:\n{used.out[-3000:]}')
            used.counts = (proxy.count, proxy.reads or '-', proxy.sent // 1024, proxy.received // 1024) if proxy else ('-',) * 4
        return used
    finally:
        shutil.rmtree(folder)


def rows(nodes, cloud_ms, repeats, stores):
    base = None
    for store, round_trip_ms in [(None, 0), *((store, ms) for store in stores for ms in (0, 20, 200))]:
        with (store or stores[0]).proxy() as proxy:
            proxy.delay_s = round_trip_ms / 1000
            runs = [once(nodes, cloud_ms, proxy if store else None, store) for _ in range(repeats)]
        wall = median(runs, 'wall_s')
        base = base or wall
        yield [f'{nodes:,}', cloud_ms, store.name if store else 'file', round_trip_ms if store else '-',
               seconds(wall), seconds(median(runs, 'cpu_s')), f'{wall / base:.2f}', *runs[0].counts]


def section(repeats):
    print('### apply with the state elsewhere\n')
    with Postgres() as server, S3() as bucket:
        stores = [Database(server), Bucket(bucket)]
        print(table(HEAD, [row for cloud_ms in (0, 200) for row in rows(1000, cloud_ms, repeats, stores)]), '\n', flush=True)

"""A wrong clock. Not in tests/cli, because libfaketime does not work with the sanitizers."""
import os
import re
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli'))
from postgres_server import Postgres, needs_postgres  # noqa: E402
from program import Home, spec  # noqa: E402
from s3_server import S3  # noqa: E402
from sim_server import Sim  # noqa: E402

FAKE = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'


needs_faketime = pytest.mark.skipif(not os.path.exists(FAKE), reason='Debian package faketime is not installed')


@needs_faketime
def test_clock_skew_is_told(tmp_path):
    """Signed 20 minutes ago: EC2 refuses, and the reply's Date shows how far our clock is off."""
    with Sim() as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec())
        result = home.run('plan', 'cluster.yaml', code=7, env={'LD_PRELOAD': FAKE, 'FAKETIME': '-20m'})
        assert 'RequestExpired' in result.err and 'clock' in result.err, result
        assert re.search(r'\b(20 min|1[12]\d\d s)', result.err), result
        home.run('plan', 'cluster.yaml')


def held_by_another(s3, url):
    s3.put_document(url, 'clusters/research/lock', {'format': 1, 'id': 'f' * 32, 'user': 'ci', 'host': 'runner', 'command': 'apply', 'pid': 1,
                                                    'started_s': 1700000000, 'ttl_s': 180, 'machine': 'another'})


@needs_faketime
@pytest.mark.parametrize('skew', ['-400d', '+400d'])
@pytest.mark.parametrize('store', [pytest.param(Postgres, marks=needs_postgres), S3])
def test_a_store_elsewhere_does_not_depend_on_clocks(tmp_path, store, skew):
    """One machine of the team has a wrong date: its lock, its changes and its log are those of the others."""
    with store() as server, Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim:
        home = Home(tmp_path, sim.env())
        home.env['RAYGPU_STATE'] = server.url()
        wrong = {'LD_PRELOAD': FAKE, 'FAKETIME': skew}
        home.write('cluster.yaml', spec(pools={'serve': 2}))
        home.apply()
        home.run('state', 'mv', 'aws.instance.serve[1]', 'aws.instance.serve[7]', env=wrong)
        home.run('state', 'mv', 'aws.instance.serve[7]', 'aws.instance.serve[1]', env=wrong)
        home.run('state', 'rm', 'aws.instance.serve[1]', env=wrong)
        assert 'RequestExpired' in home.apply(code=None, env=wrong).err
        if store is S3:
            held_by_another(server, home.env['RAYGPU_STATE'])
            assert 'state.locked' in home.run('state', 'rm', 'aws.instance.serve[0]', code=5, env=wrong).err, 'it has not expired'
            server.remove(home.env['RAYGPU_STATE'], 'clusters/research/lock')
        document = home.run('state', 'pull', env=wrong).json()
        assert document == home.run('state', 'pull').json()
        orphan, = home.run('state', 'orphans', '--json', code=2).json()
        home.run('import', 'cluster.yaml', 'aws.instance.serve[1]', orphan['id'])
        home.apply()
        assert 'No changes' in home.run('plan', 'cluster.yaml').out and len(sim.live_instances()) == 3
        assert home.run('log', '--json').json()[0]['outcome'] == 'done'
        home.run('destroy', 'cluster.yaml', '--auto-approve')
        assert not sim.live_instances()

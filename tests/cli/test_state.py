"""raygpu state against a cloud: what carries our marks without being recorded."""
import pytest
from program import Home, spec
from sim_server import Sim


@pytest.fixture
def sim():
    with Sim('--boot-ms', '20', '--shutdown-ms', '20') as server:
        yield server


@pytest.fixture
def home(tmp_path, sim):
    home = Home(tmp_path, sim.env())
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    return home


def test_orphans_tells_what_no_record_has(sim, home):
    sim.counters_reset()
    assert 'No orphans' in home.run('state', 'orphans').out
    assert home.run('state', 'orphans', '--json').json() == []
    serve = {i['instanceId'] for i in sim.live_instances()}
    home.run('state', 'rm', 'aws.instance.serve[1]')
    orphan, = home.run('state', 'orphans', '--json', code=2).json()
    assert orphan['id'] in serve
    assert (orphan['kind'], orphan['address'], orphan['status']) == \
        ('aws.instance', 'aws.instance.serve[1]', 'running')
    text = home.run('state', 'orphans', code=2).out
    assert text == f"aws.instance {orphan['id']}, marked as aws.instance.serve[1], running\n"
    assert sim.counters()['mutating'] == 0


def test_what_can_not_be_read_is_never_no_orphans(sim, home):
    sim.fault(action='DescribeInstances', when='before', status=403, code='UnauthorizedOperation')
    result = home.run('state', 'orphans', code=7)
    assert 'No orphans' not in result.out
    assert 'UnauthorizedOperation' in result.err
    assert home.run('state', 'orphans', 'more', code=4)
    assert 'has no cluster' in home.run('state', 'orphans', '--cluster', 'other', code=4).err

"""Pools with `gang: true` are created all or none: the requests to EC2, what happens to an incomplete gang, and
that nothing is left running unused."""
import time
import pytest
from program import spec
from sim_server import tags_of

GANG = ', gang: true'


@pytest.fixture
def home(home):
    write(home, 3)
    return home


def write(home, nodes, extra=GANG):
    home.write('cluster.yaml', spec(pools={'serve': nodes}, pool_extra=extra))


def gang(sim):
    return [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'serve']


def launches(home):
    return [call for call in home.read('trace.jsonl').split('\n') if 'Action=RunInstances' in call
            and 'DryRun' not in call]


def no_changes(home):
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle').out


def test_a_plan_says_that_a_pool_is_a_gang(home):
    said = home.run('plan', 'cluster.yaml', '--out', 'plan.json', '--detailed-exitcode', code=2).out
    assert 'Gang serve: 3 new nodes, all or none; the nodes of an incomplete gang are' in said
    pools = {p['pool']: p for p in home.run('show', 'plan.json', '--json').json()['raygpu']['pools']}
    assert pools['serve']['gang'] is True and 'gang' not in pools['head']


def test_one_launch_asks_for_all_and_takes_no_fewer(sim, home):
    sim.knobs(capacity={'*': {'*': 2}})
    said = home.run('apply', 'cluster.yaml', '--auto-approve', '--trace', 'trace.jsonl', code=3)
    assert 'MinCount=3' in [call for call in launches(home) if 'g4dn.xlarge' in call][0]
    assert 'InsufficientInstanceCapacity' in said.err and 'removed, because the pool is a gang' in said.err
    assert gang(sim) == [] and len(sim.live_instances()) == 1, 'the head stays'
    sim.knobs(capacity={})
    home.apply('cluster.yaml')
    assert len(gang(sim)) == 3
    no_changes(home)


def test_a_lost_member_is_made_again_alone(sim, home):
    home.apply('cluster.yaml')
    kept = {i['instanceId'] for i in gang(sim)}
    lost = kept.pop()
    sim.ok('TerminateInstances', {'InstanceId.1': lost})
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-settle', '--trace', 'trace.jsonl')
    assert 'MinCount=1' in launches(home)[0] and kept < {i['instanceId'] for i in gang(sim)}
    no_changes(home)


def test_a_gang_that_does_not_start_is_given_back(sim, home):
    sim.knobs(boot_ms=5000)
    apply = home.start('apply', 'cluster.yaml', '--auto-approve')
    while len(gang(sim)) < 3:
        assert apply.poll() is None, apply.communicate()
        time.sleep(0.05)
    sim.ok('TerminateInstances', {'InstanceId.1': gang(sim)[0]['instanceId']})
    out, err = apply.communicate(timeout=100)
    assert apply.returncode == 3, (out, err)
    assert "Pool serve is a gang and cannot be completed: removing what this run created of it." in err
    assert '2 more were created and removed again, because the gang was not complete.' in out
    assert gang(sim) == [] and len(sim.live_instances()) == 1, 'the head stays'
    sim.knobs(boot_ms=0)
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-settle')
    assert len(gang(sim)) == 3
    no_changes(home)


def test_turning_it_on_and_off_changes_nothing(sim, home):
    home.apply('cluster.yaml')
    write(home, 3, '')
    no_changes(home)
    write(home, 3)
    no_changes(home)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert sim.live_instances() == []

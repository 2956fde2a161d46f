"""A node that does not join Ray is replaced once: which ones, how many, and what the run says."""
import pytest
from program import spec
from sim_server import tags_of


def write(home, nodes=2, extra=''):
    home.write('cluster.yaml', spec(pools={'serve': nodes}, pool_extra=f', ready_timeout: 2{extra}'))


def break_nodes(sim, count=1, type='g4dn*'):
    sim.knobs(node_faults=[{'how': 'fail', 'type': type, 'count': count, 'step': 'gpus', 'reason': 'Xid 79 on GPU 0'}])


def pool(sim, name='serve'):
    return [i['instanceId'] for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == name]


def test_the_next_machine_takes_its_place(sim, home):
    write(home)
    break_nodes(sim)
    result = home.apply()
    assert 'Warning: aws.instance.serve[' in result.err and 'did not join Ray: step gpus failed' in result.err
    assert 'Error:' not in result.err and 'apply replaces such nodes, each once' in result.err
    assert result.err.count('Destruction complete') == 1 and 'Ray: serve 1 of 1 joined' in result.err
    assert len(pool(sim)) == 2 and len(sim.live_instances()) == 3
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--no-settle').out


def test_each_once_then_it_is_reported(sim, home):
    write(home)
    break_nodes(sim, count=2)
    result = home.apply(code=3, *('cluster.yaml', '--max-replacements', '1'))
    assert 'Warning: aws.instance.serve[' in result.err and 'Error: aws.instance.serve[' in result.err
    assert result.err.count('Destruction complete') == 1
    assert len(pool(sim)) == 2, 'the one that is left can be looked at'


@pytest.mark.parametrize('most, removed', [(0, 0), (2, 2)])
def test_no_more_than_a_run_may(sim, home, most, removed):
    write(home, 4)
    break_nodes(sim, count=50)
    result = home.apply('cluster.yaml', '--max-replacements', most, code=3)
    assert result.err.count('Destruction complete') == removed
    assert len(pool(sim)) == 4


def test_a_protected_node_stays(sim, home):
    write(home, extra=', protect: true')
    home.apply()
    write(home, 3, extra=', protect: true')
    break_nodes(sim, count=1)
    home.apply(code=3)
    home.apply(code=3)
    assert len(pool(sim)) == 3


def test_without_the_head_only_the_head_is_replaced(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 2}, pool_extra=', ready_timeout: 5').replace(
        'head: {', 'head: {ready_timeout: 2, '))
    break_nodes(sim, type='m5*')
    home.apply()
    assert len(pool(sim, 'head')) == 1 and len(pool(sim)) == 2 and len(sim.live_instances()) == 3


def test_a_pool_is_replaced_until_a_new_node_does_not_join(sim, home):
    write(home, 3)
    home.apply()
    old = set(pool(sim))
    write(home, 3, ', disk: {size: 120GB}')
    break_nodes(sim, count=50)
    result = home.apply('cluster.yaml', '--max-replacements', '1', code=3)
    assert '2 nodes of pool serve were not replaced, because a new one failed or did not join Ray' in ' '.join(result.err.split())
    assert len(old & set(pool(sim))) == 2 and len(pool(sim)) == 3
    sim.knobs(node_faults=[])
    home.apply('cluster.yaml', '--max-replacements', '3')
    home.apply()
    assert not old & set(pool(sim)) and len(pool(sim)) == 3
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--no-settle').out

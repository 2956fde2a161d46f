"""What tests of stores ask."""
from sim_server import tags_of


def words(result):
    return ' '.join(result.err.split())


def check(sim, home, serve):
    """No orphan, no duplicate, nothing lost."""
    live = sim.live_instances()
    pools = [tags_of(i)['raygpu:pool'] for i in live]
    assert sorted(pools) == ['head'] + ['serve'] * serve, pools
    recorded = home.run('show', '--json').json()['values']['root_module']['resources']
    assert {r['values']['id'] for r in recorded if r['type'] == 'aws.instance'} == {i['instanceId'] for i in live}
    assert not [r for r in recorded if r['pending']]

"""The ownership marks on existing resources: reported, lost, rewritten."""
import pytest
from program import spec
from sim_server import tags_of


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    return home


def record_of(home, address):
    rows = home.run('show', '--json').json()['values']['root_module']['resources']
    return next(row for row in rows if row['address'] == address)


def test_marks_that_were_taken_off_are_drift_and_come_back(sim, home):
    lost = record_of(home, 'aws.instance.serve[1]')['values']['id']
    group = record_of(home, 'aws.security_group.nodes')['values']['id']
    head = record_of(home, 'aws.instance.head')['values']['id']
    for thing in (lost, group, head):
        sim.ok('DeleteTags', {'ResourceId.1': thing, 'Tag.1.Key': 'raygpu:lineage'})
    drift = home.run('drift', '--no-settle', code=2)
    assert 'aws.instance.serve[1]' in drift.out and 'marks' in drift.out
    plan = home.run('plan', '--no-settle', '--detailed-exitcode', code=2)
    assert '+ ownership_tags' in plan.out and 'Plan: 0 to add, 3 to change, 0 to destroy.' in plan.out
    home.apply('cluster.yaml', '--no-settle')
    home.run('plan', '--detailed-exitcode')
    node = next(i for i in sim.live_instances() if i['instanceId'] == lost)
    assert tags_of(node)['raygpu:lineage'] == home.run('show', '--json').json()['lineage']
    assert tags_of(node)['raygpu:index'] == '1'
    assert tags_of(node)['raygpu:token']  # set at creation, kept
    assert lost in {i['instanceId'] for i in sim.live_instances()}
    home.run('state', 'rebuild', '--state', 'new.db')
    home.run('plan', '--state', 'new.db', '--detailed-exitcode')


def test_marks_of_another_cluster_are_not_taken_for_ours(sim, home):
    node = record_of(home, 'aws.instance.serve[0]')['values']['id']
    sim.ok('CreateTags', {'ResourceId.1': node, 'Tag.1.Key': 'raygpu:cluster', 'Tag.1.Value': 'other'})
    plan = home.run('plan', '--no-settle', '--detailed-exitcode', code=2)
    assert 'Plan: 0 to add, 1 to change, 0 to destroy.' in plan.out

"""protect: true on a pool or the head: no plan destroys or replaces what it protects."""
import pytest
from program import Home, spec
from shared import sim  # noqa: F401

GUARDED = ', protect: true'


@pytest.fixture
def home(tmp_path, sim):
    sim.reset()
    home = Home(tmp_path, sim.env())
    home.write('cluster.yaml', spec(pools={'serve': 2}, pool_extra=GUARDED))
    home.apply()
    return home


def refused(home, *arguments):
    result = home.run(*arguments, code=9)
    assert '"serve" is protected' in result.err and '[plan.protected]' in result.err
    return result


def test_nothing_of_a_protected_pool_goes(sim, home):
    home.run('plan', '--detailed-exitcode')
    refused(home, 'plan', '--replace', 'aws.instance.serve[0]')
    refused(home, 'destroy', '--auto-approve')
    refused(home, 'destroy', '--cluster', 'research', '--auto-approve')
    home.write('cluster.yaml', spec(pools={'serve': 1}, pool_extra=GUARDED))
    told = refused(home, 'plan', '--out', 'p.json')
    assert 'aws.instance.serve[1] would be destroyed' in told.err and 'cluster.yaml:7' in told.err
    home.run('apply', 'p.json', code=4)
    refused(home, 'apply', 'cluster.yaml', '--auto-approve')
    home.write('cluster.yaml', spec(pools={}).replace('pools:\n', 'pools: {}\n'))
    assert 'and 1 more of it' in refused(home, 'apply', 'cluster.yaml', '--auto-approve').err
    home.write('cluster.yaml', spec(pools={'serve': 3}, pool_extra=GUARDED))
    home.apply()  # adding nodes is allowed
    assert len(sim.live_instances()) == 4


def test_protection_is_lifted_by_an_apply_of_its_own(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    sim.counters_reset()
    home.apply()
    assert sim.counters()['mutating'] == 0
    home.run('destroy', '--auto-approve')
    assert not sim.live_instances()


def test_a_change_of_protection_is_a_change(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    told = home.run('plan', '--detailed-exitcode', '--out', 'p.json', code=2).out
    assert 'Changes to protection:\n\n  ~ serve: protect: true -> false\n' in told
    assert 'will perform the following actions' not in told and 'No changes' not in told
    assert told.index('Changes to protection') < told.index('Plan: 0 to add, 0 to change, 0 to destroy.')
    document = home.run('plan', '--format', 'json', '--detailed-exitcode', code=2).json()
    assert document['raygpu']['protection'] == [{'pool': 'serve', 'before': True, 'after': False}]
    assert document['applyable'] and not document['errored']
    marked = home.run('plan', '--format', 'markdown').out
    assert '**Plan: 0 to add, 0 to change, 0 to destroy.**' in marked
    assert '**Warning:** serve will no longer be protected: protect: true -\\> false' in marked
    assert 'protect: true -&gt; false' in home.run('plan', '--format', 'junit').out
    assert 'plan.protection' in home.run('plan', '--format', 'github').out
    sim.counters_reset()
    home.run('apply', 'p.json')
    assert sim.counters()['mutating'] == 0
    assert 'No changes.' in home.run('plan', '--detailed-exitcode').out
    home.run('destroy', '--auto-approve')


def test_a_plan_file_shows_the_protection_that_it_records(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.run('plan', '--out', 'p.json')
    text = home.read('p.json')
    for shown in (text.replace('"after": false', '"after": true', 1), text.replace('"serve"', '"head"', 1)):
        home.write('q.json', shown)
        assert '[plan.bad-file]' in home.run('apply', 'q.json', code=4).err


def test_what_a_plan_leaves_out_keeps_its_protection(sim, home):
    """Neither a pool that left the spec nor one that --target leaves out loses its protection."""
    home.write('cluster.yaml', spec(pools={'other': 1}))
    home.run('apply', 'cluster.yaml', '--target', 'aws.instance.other', '--auto-approve')
    refused(home, 'plan')
    home.write('cluster.yaml', spec(pools={'serve': 2, 'other': 2}))
    home.run('apply', 'cluster.yaml', '--target', 'aws.instance.other', '--auto-approve')
    refused(home, 'destroy', '--auto-approve')
    told = home.run('plan', '--detailed-exitcode', code=2).out
    assert '~ serve: protect: true -> false' in told
    assert len(sim.live_instances()) == 5


def test_an_older_plan_does_not_lift_what_was_said_since(sim, home):
    guarded = spec(pools={'serve': 2}, pool_extra=GUARDED)
    home.write('cluster.yaml', guarded.replace('nodes: 2', 'nodes: 3'))
    home.run('plan', '--out', 'more.json')
    home.write('cluster.yaml', guarded)
    home.run('plan', '--out', 'same.json', '--detailed-exitcode')
    home.write('cluster.yaml', guarded.replace('m5.2xlarge}', 'm5.2xlarge, protect: true}'))
    home.apply()
    for plan in ('more.json', 'same.json'):
        assert 'Saved plan is stale' in home.run('apply', plan, code=6).err
    assert '"head" is protected' in home.run('destroy', '--auto-approve', code=9).err


def test_a_saved_plan_carries_protection_into_the_state(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 3}, pool_extra=GUARDED))
    home.run('plan', '--out', 'p.json')
    home.run('apply', 'p.json')
    home.write('cluster.yaml', spec(pools={'other': 1}))
    refused(home, 'plan')


def test_a_protected_head_and_a_plan_saved_before(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.run('plan', '--out', 'old.json')
    text = spec(pools={'serve': 2}, pool_extra=GUARDED).replace('5.2xlarge}', '5.2xlarge, protect: true}')
    home.write('cluster.yaml', text)
    home.apply()
    home.run('apply', 'old.json', code=6)
    result = home.run('plan', '--replace', 'aws.instance.head', code=9)
    assert '"head" is protected, but aws.instance.head would be replaced' in result.err
    # a node that disappeared by itself may be created again
    head = next(i for i in sim.live_instances() if i['instanceType'] == 'm5.2xlarge')
    sim.ok('TerminateInstances', {'InstanceId.1': head['instanceId']})
    home.apply()
    assert len(sim.live_instances()) == 3

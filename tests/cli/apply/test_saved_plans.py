"""Saved plans of one cluster: what each was checked against still holds at the apply, or it is refused."""
import re
import shutil

import pytest
from program import Home, spec
from shared import home, sim  # noqa: F401
from sim_server import Sim


def save(home, name, pools, extra='', *more):
    home.write('cluster.yaml', spec(pools=pools, extra=extra))
    home.run('plan', '--out', name, *more)


def refused(home, name, address):
    err = ' '.join(home.run('apply', name, code=6).err.split())
    assert 'Saved plan is stale' in err and f'`{address}' in err and '[plan.stale]' in err, err


def test_two_plans_do_not_pass_a_budget_together(sim, home):
    """m5.2xlarge 0.384, g4dn.xlarge 0.526: 1.962 each, 2.488 together."""
    home.write('cluster.yaml', spec(pools={'a': 1, 'b': 1}))
    home.apply()
    budget = 'budget: {hourly_usd: 2}\n'
    save(home, 'a.json', {'a': 2, 'b': 1}, budget)
    save(home, 'b.json', {'a': 1, 'b': 2}, budget)
    home.run('apply', 'a.json')
    refused(home, 'b.json', 'aws.instance.a[1]')
    assert len(sim.live_instances()) == 4


def test_two_plans_do_not_pass_a_policy_together(sim, home):
    home.write('cluster.yaml', spec(pools={'a': 1, 'b': 1}))
    home.apply()
    policy = 'policy: {max_nodes: 4}\n'
    save(home, 'a.json', {'a': 2, 'b': 1}, policy, '--target', 'aws.instance.a')
    save(home, 'b.json', {'a': 1, 'b': 2}, policy, '--target', 'aws.instance.b')
    home.run('apply', 'b.json')
    refused(home, 'a.json', 'aws.instance.b[1]')
    assert len(sim.live_instances()) == 4


def test_a_plan_leaves_no_gap_between_indexes(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    home.apply()
    save(home, 'more.json', {'serve': 4})
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    refused(home, 'more.json', 'aws.instance.serve[2]')
    assert len(sim.live_instances()) == 3


def test_a_plan_that_failed_before_it_changed_anything_can_be_applied_again(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    save(home, 'more.json', {'serve': 2})
    sim.knobs(capacity={'*': {'*': 0}})
    home.run('apply', 'more.json', code=8)
    sim.knobs(capacity={})
    home.run('apply', 'more.json')
    assert len(sim.live_instances()) == 3


def test_a_plan_whose_apply_was_killed_is_refused_and_a_new_one_finishes(sim, home):
    home.write('cluster.yaml', spec(pools={'a': 1, 'b': 1}))
    home.apply()
    save(home, 'more.json', {'a': 2, 'b': 2})
    sim.knobs(latency_ms=300)
    sim.counters_reset()
    run = home.start('apply', 'more.json')
    while not sim.counters()['actions'].get('RunInstances'):
        assert run.poll() is None
    run.kill()
    run.communicate()
    sim.knobs(latency_ms=0)
    home.run('apply', 'more.json', code=6)
    home.apply()
    assert len(sim.live_instances()) == 5
    home.run('plan', '--detailed-exitcode')


def recorded(home):
    return re.search(r'\bi-[0-9a-f]{17}', home.run('state', 'show', 'aws.instance.serve[1]').out)[0]


@pytest.mark.parametrize('nodes', [2, 1], ids=['created again', 'forgotten'])
def test_what_was_gone_and_is_there_again_is_not_given_up(tmp_path, nodes):
    """The cloud shows a node as terminated when the plan is created, and as running when it is applied."""
    world = tmp_path / 'world'
    with Sim('--boot-ms', '0', '--shutdown-ms', '0', world=str(world)) as cloud:
        here = Home(tmp_path, cloud.env())
        here.write('cluster.yaml', spec(pools={'serve': 2}))
        here.apply('--no-wait')
        here.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
        here.write('cluster.yaml', spec(pools={'serve': nodes}))
        cloud.stop()
        shutil.copy(world, tmp_path / 'before')
        cloud.start()
        gone = recorded(here)
        cloud.ok('TerminateInstances', {'InstanceId.1': gone})
        here.run('plan', '--out', 'p.json')
        cloud.stop()
        shutil.copy(tmp_path / 'before', world)
        cloud.start()
        told = here.run('apply', 'p.json', '--no-wait', code=6)
        assert 'plan.stale' in told.err and '`aws.instance.serve[1]` was gone when it was created' in ' '.join(told.err.split()), told
        assert len(cloud.live_instances()) == 3 and recorded(here) == gone
        # it is gone again
        cloud.ok('TerminateInstances', {'InstanceId.1': gone})
        here.run('apply', 'p.json', '--no-wait')
        assert len(cloud.live_instances()) == 1 + nodes

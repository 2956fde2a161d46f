"""An update in place that was killed: what the next apply does about it, whether the cloud made the change or
not."""
import time

import pytest
from cut import Cut
from program import spec
from sim_server import tags_of

LEFT_S = 30  # of the time in which the cloud may show an old view


def write(home, team):
    home.write('cluster.yaml', spec(pools={'serve': 2}).replace('team: ml', f'team: {team}'))


def age(home, seconds):
    """The newest record is as old as that now, however long the test took to get here."""
    by = f'(SELECT max(updated_s) - {int(time.time()) - seconds} FROM resources)'
    home.edit_state(f'UPDATE resources SET created_s = created_s - {by}, updated_s = updated_s - {by}')


def kill_in_update(sim, home, when):
    """An apply that is killed at its first change of tags, `before` or `after` it took effect."""
    at = ('request' if when == 'before' else 'answer', 'Action=CreateTags')
    sim.fault(action='CreateTags', when=when, status=500, code='InternalError', count=0)  # so are those beside it
    with Cut(sim.url, lambda url: {'AWS_ENDPOINT_URL': url}, at) as cut:
        assert cut.run(home, 'apply', '--auto-approve', '--no-settle') == -9
        cut.wait_for_the_others()
    sim.faults_clear()


def teams(sim):
    return {tags_of(node)['team'] for node in sim.live_instances()}


@pytest.fixture
def home(home):
    write(home, 'red')
    home.apply()
    age(home, 3600)
    return home


def test_a_spec_put_back_waits_and_is_reached(sim, home):
    write(home, 'blue')
    kill_in_update(sim, home, 'before')
    write(home, 'red')
    unsure = home.run('plan', '--no-settle', code=1)
    assert 'diff.unknown' in unsure.err and 'it was changed a moment ago' in ' '.join(unsure.err.split())
    age(home, 60 - LEFT_S)
    assert 'No changes.' in home.apply().out
    assert teams(sim) == {'red'}
    home.run('plan', '--no-settle', '--detailed-exitcode')


def test_a_spec_that_stays_waits_and_is_reached(sim, home):
    write(home, 'blue')
    kill_in_update(sim, home, 'after')
    age(home, 60 - LEFT_S)
    home.apply()
    assert teams(sim) == {'blue'}
    home.run('plan', '--no-settle', '--detailed-exitcode')


def test_a_head_is_replaced_beside_an_update_that_was_killed(sim, home):
    write(home, 'blue')
    kill_in_update(sim, home, 'before')
    home.write('cluster.yaml', spec(pools={'serve': 2}, head='m5.4xlarge').replace('team: ml', 'team: red'))
    age(home, 60 - LEFT_S)
    home.apply()
    assert sorted(node['instanceType'] for node in sim.live_instances()) == ['g4dn.xlarge', 'g4dn.xlarge', 'm5.4xlarge']


def test_what_a_killed_update_changed_is_not_called_foreign(sim, home):
    write(home, 'blue')
    kill_in_update(sim, home, 'after')
    write(home, 'red')
    age(home, 3600)
    plan = home.run('plan', '--no-settle', '--out', 'plan.json')
    assert 'Note: Objects have changed since they were recorded' in plan.out
    assert 'has changed; an interrupted run of raygpu was updating it' in plan.out
    assert '# changed since it was recorded' in plan.out and 'outside of raygpu' not in plan.out
    assert home.run('show', 'plan.json').out.startswith(plan.out.split('Note:')[0])
    drift = home.run('drift', '--no-settle', '--format', 'json', code=2).json()['drift']
    assert drift and all(item['interrupted'] for item in drift)
    assert 'outside of raygpu' not in home.run('drift', '--no-settle', code=2).out
    # without a run that was updating it, someone else did it
    home.edit_state('UPDATE resources SET updating = 0')
    assert 'Note: Objects have changed outside of raygpu' in home.run('plan', '--no-settle').out
    home.apply()
    assert teams(sim) == {'red'}
    home.run('drift', '--no-settle')


def test_destroying_what_somebody_changed_waits_for_nothing(sim, home):
    age(home, -3600)
    for node in sim.live_instances():
        sim.ok('CreateTags', {'ResourceId.1': node['instanceId'], 'Tag.1.Key': 'team', 'Tag.1.Value': 'green'})
    home.run('destroy', '--auto-approve')  # within its time limit, which is far below an hour
    assert sim.live_instances() == []

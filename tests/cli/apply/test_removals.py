"""A removal that the cloud refuses while others use the resource: it is pending, and an interrupted wait loses
nothing."""
import signal
import time

import pytest
from program import spec

WAITING = 3  # refused calls, after which the run certainly waits


def refusals(sim):
    return sim.counters()['actions'].get('DeleteSecurityGroup', {'requests': 0})['requests']


def interrupt(sim, home, number):
    """A destroy whose removal of the group is refused until the signal arrives; its exit code and texts."""
    sim.fault(action='DeleteSecurityGroup', status=400, code='DependencyViolation', count=0)
    sim.counters_reset()
    process = home.start('destroy', '--auto-approve')
    while refusals(sim) < WAITING and process.poll() is None:
        time.sleep(0.02)
    assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_wait_loses_nothing(sim, home, number):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    code, text = interrupt(sim, home, number)
    if number == signal.SIGINT:
        assert code == 130 and 'left in the journal for the next apply to resolve: aws.security_group' in text
    assert 'aws.security_group' in home.run('state', 'list').out
    assert 'aws.security_group' in home.run('plan', '--destroy', '--no-settle').out
    assert sim.live_instances() == []
    sim.faults_clear()
    home.run('destroy', '--auto-approve')
    assert home.run('state', 'list').out.strip() == ''
    assert [g for g in sim.world(sim.region)['security_groups'] if g['groupName'] != 'default'] == []

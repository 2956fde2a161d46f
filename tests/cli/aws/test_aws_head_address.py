"""`public_ip: true` of the head: a public address on the interface that survives the head."""
import time

import pytest
from program import spec
from sim_server import tags_of


def cluster(public=True, **more):
    text = spec(pools={'serve': 1}, **more)
    return text.replace('head: {', 'head: {public_ip: true, ') if public else text


def head(sim):
    (one,) = [i for i in sim.live_instances() if tags_of(i)['raygpu:name'] == 'head']
    return one


def no_changes(home):
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle')
    assert 'No changes.' in said.out, said


def test_the_head_gets_one_at_its_creation(sim, home):
    home.write('cluster.yaml', cluster())
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert '+ public_ip' in plan.out
    home.apply()
    assert head(sim)['ipAddress'].startswith('198.18.')
    (worker,) = [i for i in sim.live_instances() if tags_of(i)['raygpu:name'] == 'serve']
    assert 'ipAddress' not in worker
    no_changes(home)
    assert home.run('drift', 'cluster.yaml', '--no-settle').out.startswith('No drift.')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert sim.live_instances() == [] and sim.world('us-east-1')['network_interfaces'] == []


def test_it_comes_and_goes_in_place(sim, home):
    home.write('cluster.yaml', cluster(public=False))
    home.apply()
    before = head(sim)
    assert 'ipAddress' not in before
    home.write('cluster.yaml', cluster())
    plan = home.run('plan', 'cluster.yaml', '--no-settle')
    assert 'Plan: 0 to add, 1 to change, 0 to destroy.' in plan.out and 'public_ip' in plan.out, plan
    home.apply('cluster.yaml', '--no-settle')
    after = head(sim)
    assert after['instanceId'] == before['instanceId'] and after['ipAddress']
    assert after['privateIpAddress'] == before['privateIpAddress']
    no_changes(home)
    home.write('cluster.yaml', cluster(public=False))
    home.apply('cluster.yaml', '--no-settle')
    assert 'ipAddress' not in head(sim)
    no_changes(home)


def test_switched_off_by_hand_is_drift(sim, home):
    home.write('cluster.yaml', cluster())
    home.apply()
    sim.ok('ModifyNetworkInterfaceAttribute', {
        'NetworkInterfaceId': head(sim)['networkInterfaceSet'][0]['networkInterfaceId'],
        'AssociatePublicIpAddress': 'false'})
    assert 'ipAddress' not in head(sim)
    drift = home.run('drift', 'cluster.yaml', '--no-settle', code=2)
    assert 'aws.network_interface.head' in drift.out and 'public_ip' in drift.out
    home.apply('cluster.yaml', '--no-settle')
    assert head(sim)['ipAddress']
    no_changes(home)


def test_a_new_head_has_one_again_and_a_stopped_one_none(sim, home):
    home.write('cluster.yaml', cluster())
    home.apply()
    first = head(sim)
    sim.ok('StopInstances', {'InstanceId.1': first['instanceId']})
    sim.ok('DescribeInstances')
    assert 'ipAddress' not in head(sim)
    home.apply('cluster.yaml', '--no-settle')
    assert head(sim)['instanceId'] == first['instanceId'] and head(sim)['ipAddress']
    no_changes(home)
    home.write('cluster.yaml', cluster(head='m5.4xlarge'))
    home.apply('cluster.yaml', '--no-settle')
    second = head(sim)
    assert second['instanceId'] != first['instanceId'] and second['ipAddress']
    assert second['privateIpAddress'] == first['privateIpAddress']
    no_changes(home)


def test_a_lost_answer_makes_no_second_interface(sim, home):
    home.write('cluster.yaml', cluster())
    sim.fault(action='ModifyNetworkInterfaceAttribute', when='before', status=403, code='UnauthorizedOperation', count=1)
    said = home.apply(code=None)
    assert said.code != 0 and 'ModifyNetworkInterfaceAttribute' in said.err or 'head' in said.err, said
    home.apply('cluster.yaml', '--no-settle')
    ours = [i for i in sim.world('us-east-1')['network_interfaces']
            if tags_of(i).get('raygpu:kind') == 'aws.network_interface']
    assert len(ours) == 1 and head(sim)['ipAddress']
    no_changes(home)


def changes(sim):
    return sim.counters()['actions'].get('ModifyNetworkInterfaceAttribute', {'requests': 0})['requests']


@pytest.mark.parametrize('options', [(), ('--no-wait',)])
def test_a_detached_interface_that_forgets_it_gets_it_in_the_same_apply(sim, home, options):
    sim.knobs(detached_public_ip=0)
    home.write('cluster.yaml', cluster())
    said = home.apply('cluster.yaml', *options)
    address = head(sim)['ipAddress']
    assert address in home.run('output', 'head_public_address').out
    assert 'Resources: 5 added, 0 changed' in said.out, said
    assert changes(sim) == 2
    no_changes(home)
    # a new head on the same interface
    home.write('cluster.yaml', cluster(head='m5.4xlarge'))
    home.apply('cluster.yaml', '--no-settle', *options)
    assert head(sim)['ipAddress']
    no_changes(home)


def test_nothing_is_sent_again_where_it_holds(sim, home):
    home.write('cluster.yaml', cluster())
    home.apply()
    assert changes(sim) == 1


def test_a_refusal_is_told_and_the_next_apply_mends_it(sim, home):
    sim.knobs(detached_public_ip=0)
    home.write('cluster.yaml', cluster())
    sim.fault(action='ModifyNetworkInterfaceAttribute', when='before', status=403, code='UnauthorizedOperation',
              skip=1, count=1)
    said = home.apply(code=3)
    assert 'could not update aws.network_interface.head' in said.err, said
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle', code=2)
    assert 'public_ip' in plan.out and 'Plan: 0 to add, 1 to change, 0 to destroy.' in plan.out, plan
    home.apply('cluster.yaml', '--no-settle')
    assert head(sim)['ipAddress']
    no_changes(home)


def test_a_kill_before_it_is_set_again(sim, home):
    sim.knobs(detached_public_ip=0)
    home.write('cluster.yaml', cluster())
    sim.fault(action='ModifyNetworkInterfaceAttribute', when='before', status=500, code='InternalError', skip=1)
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    while changes(sim) < 2 and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    sim.faults_clear()
    home.apply('cluster.yaml')
    assert head(sim)['ipAddress']
    assert len([i for i in sim.live_instances()]) == 2
    no_changes(home)


def test_policy_counts_the_head(home):
    home.write('cluster.yaml', cluster(extra='policy: {public_addresses: false}\n'))
    said = home.run('validate', 'cluster.yaml', code=9)
    assert 'public_ip' in said.err and 'cluster.yaml:5:' in said.err, said

"""`public_ip: true` of the head: a public address on the interface that survives the head."""
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


def test_policy_counts_the_head(home):
    home.write('cluster.yaml', cluster(extra='policy: {public_addresses: false}\n'))
    said = home.run('validate', 'cluster.yaml', code=9)
    assert 'public_ip' in said.err and 'cluster.yaml:5:' in said.err, said

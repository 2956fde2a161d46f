"""A cluster's whole life over real HTTP against raygpu-sim: plan, apply, nothing to do, tamper, drift, repair,
shrink, destroy; and what it costs in API calls."""
import json
import os
import re

import pytest
from program import Home, spec
from sim_server import Sim, tags_of

RESEARCH = {'train': ('A100:8', 2), 'legacy': ('V100-32GB:8', 2), 'serve': ('T4:1', 3)}


@pytest.fixture
def sim():
    with Sim('--boot-ms', '50', '--shutdown-ms', '50') as server:
        yield server


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools=RESEARCH))
    return home


def by_pool(sim):
    pools = {}
    for instance in sim.live_instances():
        pools.setdefault(tags_of(instance)['raygpu:pool'], []).append(instance)
    return pools


def nothing_left(sim):
    world = sim.world('us-east-1')
    groups = [g for g in world['security_groups'] if g['groupName'] != 'default']
    return not sim.live_instances() and not groups and not [
        i for i in world['network_interfaces'] if i['status'] != 'deleted']


def mutating(sim):
    return sim.counters()['mutating']


def test_plan_shows_everything_and_touches_nothing(sim, home):
    result = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    for address in ('aws.security_group.nodes', 'aws.network_interface.head', 'aws.instance.head',
                    'aws.instance.train[0]', 'aws.instance.train[1]', 'aws.instance.serve[2]',
                    'raygpu.secret.ray_token'):
        assert f'  # {address} will be created\n' in result.out
    assert 'Plan: 11 to add, 0 to change, 0 to destroy.' in result.out
    assert re.search(r'A100 0 -> 16.*V100 0 -> 16.*T4 0 -> 3', result.out)
    assert mutating(sim) == 0
    assert not os.path.exists(home.state)


def test_whole_story(sim, home):
    first = home.apply()
    assert 'Apply complete! Resources: 11 added, 0 changed, 0 destroyed.' in first.out
    pools = by_pool(sim)
    assert {name: len(nodes) for name, nodes in pools.items()} == \
        {'head': 1, 'train': 2, 'legacy': 2, 'serve': 3}
    assert {n['instanceType'] for n in pools['train']} == {'p4d.24xlarge'}

    # nothing to do, and nothing is done
    sim.counters_reset()
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    assert 'No changes. Your infrastructure matches the configuration.' in plan.out
    again = home.apply()
    assert 'Apply complete! Resources: 0 added, 0 changed, 0 destroyed.' in again.out
    assert mutating(sim) == 0
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')

    # someone terminates a node outside raygpu
    victim = pools['train'][1]
    sim.ok('TerminateInstances', {'InstanceId.1': victim['instanceId']})
    sim.settle()
    sim.counters_reset()
    drift = home.run('drift', 'cluster.yaml', code=2)
    assert victim['instanceId'] in drift.out and 'has been deleted' in drift.out
    assert mutating(sim) == 0
    document = home.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()
    assert [d['type'] for d in document['drift']] == ['missing']
    assert document['drift'][0]['source']['file'].endswith('cluster.yaml')

    repair = home.apply()
    assert 'Apply complete! Resources: 1 added, 0 changed, 0 destroyed.' in repair.out
    assert len(by_pool(sim)['train']) == 2
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')

    # shrink removes the highest indexes
    kept = {i['instanceId'] for i in by_pool(sim)['serve']}
    home.write('cluster.yaml', spec(pools={**RESEARCH, 'serve': ('T4:1', 1)}))
    shrink = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert '# aws.instance.serve[1] will be destroyed' in shrink.out
    assert '# aws.instance.serve[2] will be destroyed' in shrink.out
    home.apply()
    assert {i['instanceId'] for i in by_pool(sim)['serve']} < kept

    destroyed = home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert 'Destroy complete! Resources: 9 destroyed.' in destroyed.out
    assert nothing_left(sim)
    assert home.run('state', 'list', '--cluster', 'research').out == ''


def test_the_head_keeps_its_address_when_it_is_replaced(sim, home):
    home.apply()
    before = by_pool(sim)['head'][0]
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    result = home.apply('cluster.yaml', '--replace', 'aws.instance.head')
    assert '# aws.instance.head will be replaced, as requested' in result.out
    after = by_pool(sim)['head'][0]
    assert after['instanceId'] != before['instanceId']
    assert after['privateIpAddress'] == before['privateIpAddress']
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_four_launches_for_301_nodes_and_pages_for_a_plan(sim, home):
    pools = {'a': ('A100:8', 100), 'b': ('V100-32GB:8', 100), 'c': ('T4:1', 100)}
    home.write('cluster.yaml', spec(pools=pools))
    home.apply()
    assert len(sim.live_instances()) == 301
    assert sim.counters()['actions']['RunInstances']['requests'] <= 4
    sim.counters_reset()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    counters = sim.counters()
    assert counters['mutating'] == 0
    assert counters['requests'] <= 6


def test_no_changes_after_a_new_commit_of_the_same_spec(sim, home):
    home.git('init', '-q')
    home.git('add', 'cluster.yaml')
    home.git('commit', '-qm', 'one')
    plan = home.run('plan', 'cluster.yaml')
    assert f"at commit {home.git('rev-parse', 'HEAD')[:12]}" in plan.out
    home.apply()
    home.write('notes.txt', 'unrelated')
    home.git('add', 'notes.txt')
    home.git('commit', '-qm', 'two')
    sim.counters_reset()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.apply()
    assert mutating(sim) == 0


def test_no_changes_under_a_consistency_delay(tmp_path):
    with Sim('--boot-ms', '50', '--consistency-ms', '1500') as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec(pools={'serve': 3}))
        home.apply()
        sim.counters_reset()
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        home.apply()
        assert mutating(sim) == 0
        # tags and rules changed by raygpu itself also become visible late
        home.write('cluster.yaml', spec(pools={'serve': 3}).replace('team: ml', 'team: vision'))
        home.apply()
        sim.counters_reset()
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        assert mutating(sim) == 0
        home.run('destroy', 'cluster.yaml', '--auto-approve')
        assert not sim.live_instances()


def test_saved_plan_is_applied_as_shown_and_refused_when_stale(sim, home):
    home.run('plan', 'cluster.yaml', '--out', 'p.json')
    shown = json.loads(home.read('p.json'))
    assert shown['format_version'] == '1.2'
    assert {tuple(c['change']['actions']) for c in shown['resource_changes']} == {('create',)}
    assert home.run('show', 'p.json').out == home.run('plan', 'cluster.yaml').out
    home.run('apply', 'p.json')
    assert len(sim.live_instances()) == 8
    refused = home.run('apply', 'p.json', code=6)
    assert 'Saved plan is stale' in refused.err
    assert len(sim.live_instances()) == 8


def test_plans_are_byte_identical(home):
    home.run('plan', 'cluster.yaml', '--out', 'a.json')
    home.run('plan', 'cluster.yaml', '--out', 'b.json')
    assert home.read('a.json') == home.read('b.json')


DRIFTS = {
    'tag': (lambda sim, i: sim.ok('CreateTags', {'ResourceId.1': i, 'Tag.1.Key': 'team', 'Tag.1.Value': 'x'}),
            'tags'),
    'stopped': (lambda sim, i: sim.ok('StopInstances', {'InstanceId.1': i}), 'instance_state'),
}


@pytest.mark.parametrize('name', DRIFTS)
def test_drift_of_an_instance(sim, home, name):
    home.apply()
    tamper, attribute = DRIFTS[name]
    tamper(sim, by_pool(sim)['serve'][0]['instanceId'])
    sim.settle()
    document = home.run('drift', 'cluster.yaml', '--format', 'json', '--no-settle', code=2).json()
    assert [(d['type'], [a['name'] for a in d['attributes']]) for d in document['drift']] == \
        [('changed', [attribute])]
    shown = document['drift'][0]['attributes'][0]
    assert shown['recorded'] != shown['observed']
    home.apply('cluster.yaml', '--no-settle')
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    assert len(sim.live_instances()) == 8


def test_drift_of_the_type_replaces_the_node(sim, home):
    home.apply()
    victim = by_pool(sim)['serve'][0]['instanceId']
    sim.ok('StopInstances', {'InstanceId.1': victim})
    sim.settle()
    sim.ok('ModifyInstanceAttribute', {'InstanceId': victim, 'InstanceType.Value': 'g4dn.2xlarge'})
    sim.ok('StartInstances', {'InstanceId.1': victim})
    sim.settle()
    drift = home.run('drift', 'cluster.yaml', '--no-settle', code=2)
    assert 'g4dn.2xlarge' in drift.out and 'instance_type' in drift.out
    plan = home.run('plan', 'cluster.yaml', '--no-settle')
    assert 'must be replaced' in plan.out and 'forces replacement' in plan.out
    home.apply('cluster.yaml', '--no-settle')
    assert {i['instanceType'] for i in by_pool(sim)['serve']} == {'g4dn.xlarge'}


def test_drift_of_the_rules(sim, home):
    home.apply()
    group = [g for g in sim.world('us-east-1')['security_groups'] if g['groupName'] != 'default'][0]
    sim.ok('AuthorizeSecurityGroupIngress', {
        'GroupId': group['groupId'], 'IpPermissions.1.IpProtocol': 'tcp', 'IpPermissions.1.FromPort': '22',
        'IpPermissions.1.ToPort': '22', 'IpPermissions.1.IpRanges.1.CidrIp': '0.0.0.0/0'})
    drift = home.run('drift', 'cluster.yaml', '--no-settle', code=2)
    assert 'aws.security_group.nodes has changed' in drift.out and '0.0.0.0/0' in drift.out
    home.apply('cluster.yaml', '--no-settle')
    group = [g for g in sim.world('us-east-1')['security_groups'] if g['groupName'] != 'default'][0]
    assert '0.0.0.0/0' not in json.dumps(group['ipPermissions'])


def test_unmanaged_is_told_and_never_deleted(sim, home):
    home.apply()
    one = by_pool(sim)['serve'][0]
    marks = {f'TagSpecification.1.Tag.{n}.{k}': v
             for n, tag in enumerate(one['tagSet'], 1) for k, v in (('Key', tag['key']), ('Value', tag['value']))}
    sim.ok('RunInstances', {'ImageId': one['imageId'], 'InstanceType': 'g4dn.xlarge', 'MinCount': 1,
                            'MaxCount': 1, 'TagSpecification.1.ResourceType': 'instance', **marks})
    drift = home.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()
    assert [d['type'] for d in drift['drift']] == ['unmanaged']
    home.run('apply', 'cluster.yaml', '--auto-approve', code=None)
    assert len(sim.live_instances()) == 9


def test_partial_failure_exits_3_and_the_next_run_completes_it(sim, home):
    sim.knobs(capacity={'p4d.24xlarge': {'*': 0, 'us-east-1a': 1}})
    result = home.run('apply', 'cluster.yaml', '--auto-approve', code=3)
    assert 'InsufficientInstanceCapacity' in result.err
    assert 'cluster.yaml:7' in result.err, 'the refusal stands under the line that asked for it'
    pools = by_pool(sim)
    assert len(pools['train']) == 1 and len(pools['serve']) == 3, 'other pools are not given up'
    sim.knobs(capacity={})
    home.apply()
    assert len(by_pool(sim)['train']) == 2
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_no_prompt_without_a_terminal(sim, home):
    result = home.run('apply', 'cluster.yaml', code=4)
    assert '--auto-approve' in result.err
    assert mutating(sim) == 0


def test_state_commands(sim, home):
    home.apply()
    listed = home.run('state', 'list').out.split()
    assert 'aws.instance.train[1]' in listed and len(listed) == 11
    shown = home.run('state', 'show', 'aws.instance.head').out
    assert 'private_ip' in shown
    home.run('state', 'rm', 'aws.instance.serve[2]')
    assert 'aws.instance.serve[2]' not in home.run('state', 'list').out
    assert home.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()['drift'][0]['type'] == 'unmanaged'
    wrong = home.run('state', 'show', 'aws.instance.sreve[2]', code=4)
    assert 'state.no-such-resource' in wrong.err


def test_several_clusters_in_one_state(sim, home):
    home.apply()
    home.write('other.yaml', spec(name='other', pools={'serve': 1}))
    home.run('apply', 'other.yaml', '--auto-approve')
    assert len(sim.live_instances()) == 10
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.run('destroy', 'other.yaml', '--auto-approve')
    assert len(sim.live_instances()) == 8
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_a_second_writer_is_locked_out(sim, home):
    sim.counters_reset()
    sim.knobs(latency_ms=400)
    first = home.start('apply', 'cluster.yaml', '--auto-approve')
    sim.wait_for_change(first)
    second = home.run('apply', 'cluster.yaml', '--auto-approve', code=5)
    assert 'state.locked' in second.err and str(first.pid) in second.err
    home.run('plan', 'cluster.yaml', code=None)  # readers never wait for the lock
    first.communicate()
    assert first.returncode == 0

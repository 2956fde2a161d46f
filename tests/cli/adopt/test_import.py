"""raygpu import: existing resources become part of a cluster, from reading them to writing the marks."""
import shutil
import signal
import subprocess
import time

import pytest
from program import binary, spec
from sim_server import tags_of


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    return home


def values_of(home, address):
    return home.run('state', 'show', address, '--json').json()['values']


def foreign(sim, home, **more):
    """Someone's own instance, as similar to serve[0] as possible. Returns its id."""
    like = values_of(home, 'aws.instance.serve[0]')
    group = values_of(home, 'aws.security_group.nodes')['id']
    root = sim.ok('RunInstances', {
        'ImageId': like['image_id'], 'InstanceType': like['instance_type'], 'MinCount': '1', 'MaxCount': '1',
        'SubnetId': like['subnet_id'], 'SecurityGroupId.1': group, **more})
    return root.findtext('instancesSet/item/instanceId')


def test_a_node_of_ones_own_is_kept_as_is(sim, home):
    node = foreign(sim, home)
    sim.counters_reset()
    look = home.run('import', 'cluster.yaml', 'aws.instance.serve[1]', node, '--dry-run', '--as-is')
    assert f'# aws.instance.serve[1] will be imported (id={node})' in look.out
    assert '+ ownership_tags' in look.out and 'Plan: 0 to add, 1 to change, 0 to destroy.' in look.out
    assert 'serve[1]' not in home.run('state', 'list').out
    done = home.run('import', 'cluster.yaml', 'aws.instance.serve[1]', node, '--as-is')
    assert 'Import successful!' in done.out
    assert sim.counters()['mutating'] == 0
    assert home.run('state', 'show', 'aws.instance.serve[1]', '--json').json()['ownership'] == 'adopted'
    assert 'import' in home.run('log').out
    home.run('drift')
    applied = home.apply()
    assert 'Resources: 0 added, 1 changed, 0 destroyed.' in applied.out
    home.run('plan', '--detailed-exitcode')
    tags = tags_of(next(i for i in sim.live_instances() if i['instanceId'] == node))
    assert tags['raygpu:index'] == '1' and tags['raygpu:name'] == 'serve'
    rebuilt = home.run('state', 'rebuild', '--state', 'new.db', '--json').json()
    assert {'address': 'aws.instance.serve[1]', 'id': node} in rebuilt['recorded']
    home.run('destroy', '--auto-approve')
    assert not sim.live_instances()


def test_without_as_is_the_plan_says_that_the_node_is_replaced(sim, home):
    home.beyond_policy = ('ec2:TerminateInstances',)  # of a node that has no tags of ours yet
    node = foreign(sim, home)
    look = home.run('import', 'cluster.yaml', 'aws.instance.serve[1]', node)
    assert '# aws.instance.serve[1] must be replaced' in look.out
    plan = home.run('plan', '--detailed-exitcode', code=2)
    assert 'Plan: 1 to add, 0 to change, 1 to destroy.' in plan.out
    home.apply()
    home.run('plan', '--detailed-exitcode')
    assert node not in {i['instanceId'] for i in sim.live_instances()}


def test_other_type_and_zone_are_shown(sim, home):
    node = foreign(sim, home, InstanceType='m5.large')
    look = home.run('import', 'cluster.yaml', 'aws.instance.serve[1]', node, '--dry-run', '--as-is')
    assert 'must be replaced' in look.out and 'm5.large' in look.out


def test_another_type_that_has_the_gpus_asked_for_stays(sim, home):
    """A new pool would get the cheapest type, g4dn.xlarge; one with existing nodes keeps theirs."""
    node = foreign(sim, home, InstanceType='g4dn.2xlarge')
    home.write('cluster.yaml', spec(pools={'serve': 1, 'more': 1}))
    home.run('import', 'cluster.yaml', 'aws.instance.more[0]', node, '--as-is')
    assert 'Resources: 0 added, 1 changed, 0 destroyed.' in home.apply().out
    assert values_of(home, 'aws.instance.more[0]')['instance_type'] == 'g4dn.2xlarge'


def test_what_was_forgotten_comes_back_without_a_change(sim, home):
    home.apply()
    before = {a: values_of(home, a) for a in home.run('state', 'list').out.split() if a.startswith('aws.')}
    home.run('state', 'rm', *before)
    pairs = [word for address, values in before.items() for word in (address, values['id'])]
    home.run('import', 'cluster.yaml', *pairs)
    home.run('plan', '--detailed-exitcode')
    assert {a: values_of(home, a)['id'] for a in before} == {a: v['id'] for a, v in before.items()}


def test_what_an_import_refuses(sim, home):
    node, other = foreign(sim, home), foreign(sim, home)
    group = values_of(home, 'aws.security_group.nodes')['id']
    mine = values_of(home, 'aws.instance.serve[0]')['id']

    def refused(*words, code=4, text):
        result = home.run('import', 'cluster.yaml', *words, code=code)
        assert text in ' '.join(result.err.split()), result
        assert 'Import successful' not in result.out

    refused('aws.instance.serve[1]', 'i-00000000000000000', text='there is no aws.instance')
    refused('aws.instance.serve[1]', group, text='there is no aws.instance')
    refused('aws.instance.serve[7]', node, text='the spec has no aws.instance.serve[7]')
    refused('aws.instance.serve[0]', node, text='is already recorded')
    refused('aws.instance.serve[1]', mine, text='is already recorded')
    refused('aws.bucket.serve', node, text='is not an address')
    refused('raygpu.secret.ray_token', node, text='is not an address')
    refused('aws.instance.serve[1]', node, 'aws.instance.serve[1]', other, text='given twice')
    refused('aws.instance.serve[1]', text='')
    sim.ok('TerminateInstances', {'InstanceId.1': node})
    refused('aws.instance.serve[1]', node, text='nothing left to import')
    sim.ok('CreateTags', {'ResourceId.1': other, 'Tag.1.Key': 'raygpu:lineage', 'Tag.1.Value': 'f' * 32})
    refused('aws.instance.serve[1]', other, text='belongs to another state')
    # if one of two is refused, none is recorded
    third = foreign(sim, home)
    refused('aws.instance.serve[1]', third, 'aws.instance.head', third, text='already recorded')
    assert 'serve[1]' not in home.run('state', 'list').out


def test_one_thing_is_never_recorded_twice_in_a_file(sim, home):
    node = foreign(sim, home)
    home.run('import', 'cluster.yaml', 'aws.instance.serve[1]', node, '--as-is')
    home.write('other.yaml', spec(name='other', pools={'serve': 1}))
    result = home.run('import', 'other.yaml', 'aws.instance.serve[0]', node, '--as-is', code=4)
    assert 'aws.instance.serve[1] of cluster research' in ' '.join(result.err.split())
    assert 'other' not in home.run('state', 'list', '--json').out  # still the only cluster


def test_a_whole_cluster_is_taken_into_an_empty_state(sim, home):
    """A state that never had the cluster: resources that cannot be imported are created in addition."""
    node = foreign(sim, home)
    sim.counters_reset()
    home.write('second.yaml', spec(name='second', pools={'serve': 1}))
    home.run('import', 'second.yaml', 'aws.instance.serve[0]', node, '--as-is')
    assert 'aws.instance.serve[0]' in home.run('state', 'list', '--cluster', 'second').out
    assert 'aws.instance.serve[0]' in home.run('state', 'list', '--cluster', 'research').out
    assert sim.counters()['mutating'] == 0
    home.run('state', 'rm', 'aws.instance.serve[0]', '--cluster', 'second')
    assert 'serve[0]' not in home.run('state', 'list', '--cluster', 'second').out
    assert 'serve[0]' in home.run('state', 'list', '--cluster', 'research').out
    assert home.run('log', '--cluster', 'second').out.count('run ') == 2


def test_killed_at_any_instant_it_has_recorded_all_or_nothing(sim, home):
    node = foreign(sim, home)
    state = home.path('.raygpu')
    shutil.copytree(state, home.path('kept'))
    seen = set()
    for delay_ms in range(0, 300, 25):
        shutil.rmtree(state)
        shutil.copytree(home.path('kept'), state)
        process = subprocess.Popen(
            [binary(), 'import', 'cluster.yaml', 'aws.instance.serve[1]', node, '--as-is'],
            cwd=home.folder, env=home.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay_ms / 1000)
        process.send_signal(signal.SIGKILL)
        process.wait()
        recorded = 'aws.instance.serve[1]' in home.run('state', 'list').out
        seen.add(recorded)
        tags = tags_of(next(i for i in sim.live_instances() if i['instanceId'] == node))
        assert not any(key.startswith('raygpu:') for key in tags)  # never ours without a record
        home.run('import', 'cluster.yaml', 'aws.instance.serve[1]', node, '--as-is', code=4 if recorded else 0)
    assert False in seen

"""`raygpu iam`: every request of a life with all features is allowed by the policy of its spec, and what is not needed is not."""
import json

import pytest
from iam_policy import ACCOUNT, Needs, allows, read_log, refused
from program import Home, spec


@pytest.fixture
def home(home, sim, tmp_path):
    home.log = str(tmp_path / 'requests')
    sim.knobs(request_log=home.log, key_pairs=['mine'])
    return home


def policy(home, *more):
    return home.run('iam', 'cluster.yaml', *more).json()


def with_settings(settings, **more):
    return spec(**more).replace('region: us-east-1', f'region: us-east-1, {settings}')


def group(sim, name):
    return sim.ok('CreateSecurityGroup', GroupName=name, GroupDescription=name).findtext('groupId')


def test_a_life_needs_no_more_than_its_policy(sim, home):
    theirs = [group(sim, 'a'), group(sim, 'b')]
    stages = [
        spec(pools={'serve': 2, 'train': ('A100:8', 2)}, pool_extra=', market: {spot: {max_price: 90}}'),
        with_settings(f'security_groups: [{theirs[0]}], key_name: mine, ssh_from: [203.0.113.7/32], instance_profile: ray',
                      pools={'serve': 3}, pool_extra=', network: {placement: cluster}'),
        with_settings(f'security_groups: [{theirs[1]}], key_name: mine, instance_profile: ray', pools={'serve': 1}),
    ]
    plans = []
    for text in stages:
        home.write('cluster.yaml', text)
        plans.append(policy(home, '--for', 'plan'))
        before = len(read_log(home.log))
        home.run('plan', 'cluster.yaml', '--no-settle')
        assert refused(plans[-1:], read_log(home.log)[before:]) == []
        home.apply('cluster.yaml', '--no-settle')
        assert refused([policy(home)], read_log(home.log)[before:]) == []
    home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
    home.write('cluster.yaml', stages[-1].replace('team: ml', 'stage: x'))
    for node in sim.live_instances():
        sim.ok('StopInstances', {'InstanceId.1': node['instanceId']})
    before = len(read_log(home.log))
    home.run('drift', code=2)
    home.apply()
    home.run('destroy', '--auto-approve')
    requests = read_log(home.log)
    assert refused([policy(home)], requests[before:]) == []
    actions = {r['action'] for r in requests}
    assert {'RunInstances', 'CreateTags', 'DeleteTags', 'StartInstances', 'ModifyNetworkInterfaceAttribute',
            'CreatePlacementGroup', 'DeletePlacementGroup', 'AuthorizeSecurityGroupIngress'} <= actions
    changing = [r for r in requests if not r['action'].startswith(('Describe', 'Get'))]
    assert len(refused(plans, changing)) >= len(changing), 'plan allows nothing that changes'


def test_another_clusters_things_are_out_of_reach(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    home.run('destroy', '--auto-approve')
    mine = policy(home)
    home.write('cluster.yaml', spec(name='other', pools={'serve': 1}))
    theirs = policy(home)
    changing = [r for r in read_log(home.log) if not r['action'].startswith(('Describe', 'Get'))]
    assert refused([mine], changing) == []
    for request in changing:
        assert refused([theirs], [request]), request['action']


def test_import_and_rebuild_ask_for_more(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    node = [i for i in sim.live_instances() if i['instanceType'] != 'm5.2xlarge'][0]['instanceId']
    keys = [t['key'] for t in sim.live_instances()[0]['tagSet'] if t['key'].startswith('raygpu:')]
    home.run('state', 'rm', 'aws.instance.serve[0]')
    sim.ok('DeleteTags', {'ResourceId.1': node, **{f'Tag.{n}.Key': k for n, k in enumerate(keys + ['raygpu:index', 'raygpu:indexes'], 1)}})
    before = len(read_log(home.log))
    home.run('import', 'cluster.yaml', 'aws.instance.serve[0]', node)
    assert refused([policy(home, '--for', 'import')], read_log(home.log)[before:]) == []
    before = len(read_log(home.log))
    home.apply()
    requests = read_log(home.log)[before:]
    assert any('ec2:CreateTags' in line for line in refused([policy(home)], requests))
    assert refused([policy(home, '--with', 'import')], requests) == []
    before = len(read_log(home.log))
    home.run('state', 'rebuild', 'cluster.yaml', '--state', home.path('other.db'), code=None)
    requests = read_log(home.log)[before:]
    assert 'DescribeInstanceAttribute' in {r['action'] for r in requests}
    assert refused([policy(home, '--for', 'rebuild')], requests) == []
    assert refused([policy(home)], requests)


@pytest.mark.parametrize('region,partition,suffix', [('us-east-1', 'aws', 'amazonaws.com'), ('us-gov-west-1', 'aws-us-gov', 'amazonaws.com'),
                                                     ('cn-north-1', 'aws-cn', 'amazonaws.com.cn')])
def test_each_partition_has_its_names(tmp_path, region, partition, suffix):
    home = Home(tmp_path)
    home.write('cluster.yaml', with_settings('instance_profile: p, subnets: {%sa: subnet-0a}' % region).replace('us-east-1,', region + ',')
               .replace('m5.2xlarge', 'm5.2xlarge, image: "ssm:/aws/service/x"'))
    text = json.dumps(policy(home, '--account', ACCOUNT, '--with', 'role=nodes', '--with', f'kms_key=arn:{partition}:kms:::key/k'))
    arns = {a for s in json.loads(text)['Statement'] for a in (s['Resource'] if isinstance(s['Resource'], list) else [s['Resource']])}
    assert all(a == '*' or a.startswith(f'arn:{partition}:') for a in arns)
    assert {f'arn:{partition}:iam::{ACCOUNT}:role/nodes', f'arn:{partition}:ec2:{region}:{ACCOUNT}:subnet/subnet-0a',
            f'arn:{partition}:ssm:{region}::parameter/aws/service/x', f'arn:{partition}:kms:::key/k'} <= arns
    assert f'"iam:PassedToService": "ec2.{suffix}"' in text and f'"kms:ViaService": "ec2.{region}.{suffix}"' in text
    connect = home.run('iam', '--for', 'connect').json()
    start = {'Statement': connect['Statement']}
    tags = {'ssm:resourceTag/raygpu:cluster': 'research'}
    assert allows(start, 'ssm:StartSession', f'arn:{partition}:ec2:{region}:{ACCOUNT}:instance/i-1', tags)
    assert not allows(start, 'ssm:StartSession', f'arn:{partition}:ec2:{region}:{ACCOUNT}:instance/i-1', {})
    assert 'known: plan, apply, import, rebuild, offers, connect' in home.run('iam', '--for', 'lunch', code=None).err
    assert 'unknown --with "x"' in home.run('iam', '--with', 'x', code=None).err


def test_the_evaluator_knows_a_no():
    one = {'Statement': [{'Effect': 'Allow', 'Action': 'ec2:*Tags', 'Resource': 'arn:aws:ec2:*:1:instance/*',
                          'Condition': {'StringEquals': {'aws:ResourceTag/a': ['x', 'y']}, 'Null': {'aws:RequestTag/b': 'true'}}}]}
    good = ('ec2:CreateTags', 'arn:aws:ec2:eu:1:instance/i', {'aws:ResourceTag/a': 'y'})
    assert allows(one, *good)
    for wrong in (('ec2:RunInstances', *good[1:]), (good[0], 'arn:aws:ec2:eu:2:instance/i', good[2]),
                  (*good[:2], {}), (*good[:2], {**good[2], 'aws:RequestTag/b': ''})):
        assert not allows(one, *wrong)
    with pytest.raises(ValueError):
        allows({'Statement': [{**one['Statement'][0], 'Condition': {'ArnLike': {'a': 'b'}}}]}, *good)
    assert Needs({'service': 'ec2', 'action': 'DescribeVpcs', 'region': 'us-east-1', 'params': {}, 'resources': []}).find() == [
        ('ec2:DescribeVpcs', '*', {})]


def test_the_policy_covers_every_place_of_any_of(home):
    """Once, also what both places have in common; other providers are only mentioned."""
    home.write('cluster.yaml', spec().replace(
        'provider: {name: aws, region: us-east-1}',
        'provider: {any_of: [{name: aws, region: us-east-1, key_name: mine}, {name: aws, region: us-west-2, vpc: vpc-1}]}'))
    statements = {one['Sid']: one for one in policy(home, '--account', ACCOUNT)['Statement']}
    launch = statements['LaunchFrom']['Resource']
    assert len(launch) == len(set(launch))
    assert {f'arn:aws:ec2:{region}::image/*' for region in ('us-east-1', 'us-west-2')} < set(launch)
    assert f'arn:aws:ec2:us-east-1:{ACCOUNT}:key-pair/mine' in launch
    assert not [arn for arn in launch if 'us-west-2' in arn and 'key-pair' in arn]
    assert f'arn:aws:ec2:us-west-2:{ACCOUNT}:vpc/vpc-1' in statements['MakeInTheNetwork']['Resource']
    assert statements['Read']['Resource'] == '*'


def test_places_of_other_providers_are_mentioned(home):
    home.write('cluster.yaml', spec().replace(
        'provider: {name: aws, region: us-east-1}',
        'provider: {any_of: [{name: aws, region: us-east-1}, {name: gcp, region: us-central1}]}'))
    assert 'the policy does not cover gcp' in home.run('iam', 'cluster.yaml').err

"""The user's own network and instance profile, against moto: the setup of most accounts."""
import json

import pytest
from program import IMAGE, Home
from test_moto import Moto


@pytest.fixture(scope='module')
def moto():
    with Moto() as server:
        yield server


class Account:
    """A VPC with two subnets and a group, in addition to the default one."""

    def __init__(self, moto):
        self.moto = moto
        self.vpc = moto.ok('CreateVpc', {'CidrBlock': '10.9.0.0/16'}).findtext('vpc/vpcId')
        self.subnets = {zone: self.subnet(self.vpc, zone, f'10.9.{i}.0/24')
                        for i, zone in enumerate(('us-east-1a', 'us-east-1b'))}
        moto.give_way_out(self.vpc)
        self.group = self.make_group(self.vpc, 'corporate')
        self.image = moto.ok('DescribeImages', {
            'Filter.1.Name': 'architecture', 'Filter.1.Value.1': 'x86_64',
            'Filter.2.Name': 'root-device-type', 'Filter.2.Value.1': 'ebs'}).findtext('.//imageId')

    def subnet(self, vpc, zone, cidr):
        return self.moto.ok('CreateSubnet', {
            'VpcId': vpc, 'AvailabilityZone': zone, 'CidrBlock': cidr}).findtext('subnet/subnetId')

    def make_group(self, vpc, name):
        return self.moto.ok('CreateSecurityGroup', {
            'VpcId': vpc, 'GroupName': name, 'GroupDescription': 'x'}).findtext('groupId')

    def profile(self, name):
        for action, more in (('CreateInstanceProfile', {}), ('CreateRole', {'AssumeRolePolicyDocument': '{}'}),
                             ('AddRoleToInstanceProfile', {})):
            self.moto.ok(action, {'InstanceProfileName': name, 'RoleName': name, **more}, service='iam',
                         version='2010-05-08')

    def instances(self):
        root = self.moto.ok('DescribeInstances', {
            'Filter.1.Name': 'instance-state-name', 'Filter.1.Value.1': 'running'})
        return {tag.findtext('value'): item for item in root.iter('item')
                if item.find('instanceId') is not None and item.find('tagSet') is not None
                for tag in item.find('tagSet') if tag.findtext('key') == 'raygpu:name'}

    def spec(self, provider, pool=''):
        return (f'cluster: own\nprovider:\n  name: aws\n  region: us-east-1\n{provider}'
                f'ray: {{version: 2.56.1, python: "3.11", image: "{IMAGE}"}}\n'
                f'head: {{instance_type: m5.2xlarge, image: {self.image}}}\n'
                f'pools:\n  serve: {{accelerators: "T4:1", nodes: 1, image: {self.image}{pool}}}\n')

    def network(self, **more):
        lines = {'vpc': self.vpc, 'subnets': json.dumps(self.subnets),
                 'security_groups': f'[{self.group}]', **more}
        return ''.join(f'  {key}: {value}\n' for key, value in lines.items() if value)


@pytest.fixture(scope='module')
def account(moto):
    return Account(moto)


@pytest.fixture
def home(moto, tmp_path):
    return Home(tmp_path, moto.env())


def groups(instance):
    return {g.findtext('groupId') for g in instance.findall('networkInterfaceSet/item/groupSet/item')}


def test_life_in_a_network_of_ones_own(moto, account, home):
    account.profile('ray-node')
    account.profile('other')
    home.write('cluster.yaml', account.spec(account.network(instance_profile='ray-node'),
                                            pool=', public_ip: true'))
    home.apply()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    nodes = account.instances()
    assert set(nodes) == {'head', 'serve'}
    for node in nodes.values():
        assert node.findtext('vpcId') == account.vpc
        assert node.findtext('subnetId') in account.subnets.values()
        assert account.group in groups(node) and len(groups(node)) == 2
        assert node.findtext('iamInstanceProfile/arn').endswith('/ray-node')

    # in place: another profile by ARN. moto's DescribeInstances still shows the first one
    ids = {name: node.findtext('instanceId') for name, node in nodes.items()}
    arn = 'arn:aws:iam::123456789012:instance-profile/other'
    home.write('cluster.yaml', account.spec(
        account.network(instance_profile=arn), pool=', public_ip: true'))
    home.apply()
    assert {n: node.findtext('instanceId') for n, node in account.instances().items()} == ids
    for instance in ids.values():
        root = moto.ok('DescribeIamInstanceProfileAssociations', {
            'Filter.1.Name': 'instance-id', 'Filter.1.Value.1': instance})
        assert [a.text for a in root.iter('arn')] == [arn]

    home.run('destroy', '--cluster', 'own', '--auto-approve', '--no-settle')
    assert not account.instances()
    left = moto.ok('DescribeSecurityGroups', {
        'Filter.1.Name': 'vpc-id', 'Filter.1.Value.1': account.vpc})
    assert account.group in {g.text for g in left.iter('groupId')}, 'adopted things stay'
    assert moto.ok('DescribeSubnets', {
        'Filter.1.Name': 'vpc-id', 'Filter.1.Value.1': account.vpc}).find('.//subnetId') is not None


def test_moving_to_a_network_of_ones_own_replaces_the_nodes(account, home):
    home.write('cluster.yaml', account.spec('').replace('cluster: own', 'cluster: mover'))
    home.apply()
    home.write('cluster.yaml', account.spec(account.network()).replace('cluster: own', 'cluster: mover'))
    home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    home.apply()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    for node in account.instances().values():
        assert node.findtext('vpcId') == account.vpc
    home.run('destroy', '--cluster', 'mover', '--auto-approve')


def test_findings_stand_under_the_lines_that_they_blame(moto, account, home):
    other = moto.ok('CreateVpc', {'CidrBlock': '10.8.0.0/16'}).findtext('vpc/vpcId')
    stray = account.subnet(other, 'us-east-1c', '10.8.1.0/24')
    foreign = account.make_group(other, 'foreign')
    a, b = account.subnets['us-east-1a'], account.subnets['us-east-1b']
    subnets = (f'\n    us-east-1a: {b}\n    us-east-1b: subnet-0dead\n    us-east-1c: {stray}\n'
               f'    us-east-1d: {a}')
    home.write('cluster.yaml', account.spec(account.network(subnets=subnets)))
    said = home.run('plan', 'cluster.yaml', code=None)
    assert said.code != 0
    for line, words in ((7, f'subnet {b} is in us-east-1b, not in us-east-1a'),
                        (8, 'there is no subnet subnet-0dead in us-east-1'),
                        (9, f'subnet {stray} is in {other}, not in {account.vpc}'),
                        (10, f'subnet {a} is in us-east-1a, not in us-east-1d')):
        assert f'cluster.yaml:{line}:' in said.err and words in ' '.join(said.err.split()), said
    home.write('cluster.yaml', account.spec(account.network(
        security_groups=f'[{account.group}, {foreign}, sg-0dead]')))
    said = home.run('plan', 'cluster.yaml', code=None)
    words = ' '.join(said.err.split())
    assert f'security group {foreign} is in {other}, not in {account.vpc}' in words, said
    assert 'there is no security group sg-0dead in us-east-1' in words
    assert said.err.count('cluster.yaml:7:') == 2
    home.write('cluster.yaml', account.spec('  vpc: vpc-0dead\n'))
    said = home.run('plan', 'cluster.yaml', code=None)
    assert 'cluster.yaml:5:' in said.err and 'there is no VPC vpc-0dead' in said.err
    account.subnet(other, 'us-east-1c', '10.8.2.0/24')
    home.write('cluster.yaml', account.spec(f'  vpc: {other}\n'))
    said = home.run('plan', 'cluster.yaml', code=None)
    assert f'VPC {other} has several subnets in us-east-1c' in ' '.join(said.err.split())
    assert 'subnets: {ZONE: ID, ...}' in said.err

"""The whole story against moto's server: an EC2 that others wrote, so that raygpu and raygpu-sim cannot
be wrong together. What moto does otherwise than EC2 is in providers/aws/README.md; it honours
no ClientToken, so what rests on tokens is tested against raygpu-sim only. Skipped where moto cannot be installed."""
import os
import shutil
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest
from pip_packages import moto as moto_server
from ports import free_port
from program import Home, spec
from sim_server import Sim

UP = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'moto-up.sh')
# moto has no p3 but the p3dn, so the V100s are those of 32 GB
POOLS = {'train': ('A100:8', 1), 'legacy': ('V100-32GB:8', 1), 'serve': ('T4:1', 3)}
MADE = 9  # a secret, a group, an interface, the head and five workers


class Moto(Sim):
    """moto's server behind Sim's calls: ec2(), ok(), error(), env(). It has no control endpoint."""

    def start(self):
        self.port = free_port()
        self.pid_file = os.path.join(self.folder, 'pid')
        done = subprocess.run([UP, str(self.port), self.pid_file, 'MOTO_ENABLE_AMI_VALIDATION=1',
                               'MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION=1'],
                              env={**os.environ, 'MOTO_SERVER': moto_server()}, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 77:
            shutil.rmtree(self.folder)
            pytest.skip('moto is not installed')
        assert done.returncode == 0, done.stdout
        self.url = f'http://127.0.0.1:{self.port}'
        self.give_way_out()

    def give_way_out(self, vpc='default'):
        """A NAT gateway for a VPC's main route table, which moto leaves without a default route."""
        if vpc == 'default':
            vpc = self.ok('DescribeVpcs', {'Filter.1.Name': 'is-default', 'Filter.1.Value.1': 'true'}).findtext(
                'vpcSet/item/vpcId')
        of_vpc = {'Filter.1.Name': 'vpc-id', 'Filter.1.Value.1': vpc}
        subnet = self.ok('DescribeSubnets', of_vpc).findtext('subnetSet/item/subnetId')
        address = self.ok('AllocateAddress', {'Domain': 'vpc'}).findtext('allocationId')
        gateway = self.ok('CreateNatGateway', {'SubnetId': subnet, 'AllocationId': address}).findtext(
            'natGateway/natGatewayId')
        table = self.ok('DescribeRouteTables', {**of_vpc, 'Filter.2.Name': 'association.main', 'Filter.2.Value.1': 'true'})
        self.ok('CreateRoute', {'RouteTableId': table.findtext('routeTableSet/item/routeTableId'),
                                'DestinationCidrBlock': '0.0.0.0/0', 'NatGatewayId': gateway})

    def stop(self):
        with open(self.pid_file, encoding='ascii') as f:
            os.kill(int(f.read()), signal.SIGKILL)  # it keeps nothing
        return 0

    def log(self):
        with open(self.pid_file + '.log', encoding='utf-8', errors='replace') as f:
            return f.read()

    def env(self, **more):
        return super().env(RAYGPU_TEST_NO_WAIT='1', **more)  # nothing boots there

    def instances(self):
        """{raygpu:pool: [instance element, ...]} of what is neither terminated nor going."""
        pools = {}
        for instance in self.ok('DescribeInstances').iterfind('.//instancesSet/item'):
            if instance.findtext('instanceState/name') not in ('shutting-down', 'terminated'):
                pools.setdefault(tags(instance)['raygpu:pool'], []).append(instance)
        return pools

    def groups(self):
        return [group for group in self.ok('DescribeSecurityGroups').iterfind('securityGroupInfo/item')
                if group.findtext('groupName') != 'default']

    def left(self):
        """What would go on costing money or standing in the way."""
        ids = [i.findtext('instanceId') for pool in self.instances().values() for i in pool]
        ids += [g.findtext('groupId') for g in self.groups()]
        for action, path, name in (('DescribeNetworkInterfaces', 'networkInterfaceSet/item', 'networkInterfaceId'),
                                   ('DescribeVolumes', 'volumeSet/item', 'volumeId')):
            ids += [item.findtext(name) for item in self.ok(action).iterfind(path)
                    if item.find('association/allocationId') is None]  # the NAT gateway's
        return ids

    def picture(self):
        """All that the story's calls could have changed, to compare with a later one."""
        texts = []
        for action in ('DescribeInstances', 'DescribeNetworkInterfaces', 'DescribeVolumes',
                       'DescribeSecurityGroups', 'DescribeTags'):
            root = self.ok(action)
            root.remove(root.find('requestId'))
            texts.append(ElementTree.tostring(root, encoding='unicode'))
        return texts

    def image(self):
        """An image of moto's own list; it has none of the deep-learning images that raygpu looks for."""
        found = self.ok('DescribeImages', {'Filter.1.Name': 'name', 'Filter.1.Value.1': 'ubuntu/images/*'})
        return found.findtext('imagesSet/item/imageId')


def tags(element):
    return {tag.findtext('key'): tag.findtext('value') for tag in element.iterfind('tagSet/item')}


@pytest.fixture(scope='module')
def server():
    with Moto() as moto:
        yield moto


@pytest.fixture
def moto(server):
    server.raw('', path='/moto-api/reset')
    server.give_way_out()
    assert not server.left()
    return server


@pytest.fixture
def home(tmp_path, moto):
    home = Home(tmp_path, moto.env())
    home.image = moto.image()
    home.write('cluster.yaml', small(home))
    return home


def small(home, **pools):
    """The head is in zone a, because moto says so of every instance on an interface of its own."""
    text = spec(pools={**POOLS, **pools}, pool_extra=f', image: {home.image}')
    return text.replace('head: {', f'head: {{image: {home.image}, zones: [us-east-1a], ')


def complete(home):
    """moto gives MinCount instances, not MaxCount, as EC2 does when it runs short. A run asks other zones for the
    rest; applies until nothing is missing. Gives the last run."""
    for _ in range(3):
        result = home.apply(code=None)
        if result.code == 0:
            return result
        assert result.code == 3 and 'InsufficientInstanceCapacity' in result.err, result
        assert 'Apply incomplete. Resources: 0 added' not in result.out
    raise AssertionError(f'three runs were not enough: {result}')


def test_whole_story(moto, home):
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert f'Plan: {MADE} to add, 0 to change, 0 to destroy.' in plan.out
    assert not moto.left(), 'a plan makes nothing'

    assert f'Apply complete! Resources: {MADE} added, 0 changed, 0 destroyed.' in complete(home).out
    pools = moto.instances()
    assert {name: len(nodes) for name, nodes in pools.items()} == \
        {'head': 1, 'train': 1, 'legacy': 1, 'serve': 3}
    assert pools['train'][0].findtext('instanceType') == 'p4d.24xlarge'
    assert pools['legacy'][0].findtext('instanceType') == 'p3dn.24xlarge'

    # nothing to do, and nothing is done
    before = moto.picture()
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    assert 'No changes. Your infrastructure matches the configuration.' in plan.out
    again = home.apply()
    assert 'Apply complete! Resources: 0 added, 0 changed, 0 destroyed.' in again.out
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')
    assert moto.picture() == before

    # one node terminated, another one's tag changed, by hand
    victim, tagged = (node.findtext('instanceId') for node in pools['serve'][:2])
    moto.ok('TerminateInstances', {'InstanceId.1': victim})
    moto.ok('CreateTags', {'ResourceId.1': tagged, 'Tag.1.Key': 'team', 'Tag.1.Value': 'someone'})
    before = moto.picture()
    # a change by hand so soon after ours would be waited on as an old view
    drift = home.run('drift', 'cluster.yaml', '--format', 'json', '--no-settle', code=2).json()
    found = {d['type']: d for d in drift['drift']}
    assert set(found) == {'missing', 'changed'} and len(drift['drift']) == 2
    assert victim in str(found['missing'])
    assert [a['name'] for a in found['changed']['attributes']] == ['tags']
    assert moto.picture() == before, 'drift writes nothing'

    repaired = home.apply('cluster.yaml', '--no-settle')
    assert 'Apply complete! Resources: 1 added, 1 changed, 0 destroyed.' in repaired.out
    serve = {node.findtext('instanceId'): node for node in moto.instances()['serve']}
    assert len(serve) == 3 and victim not in serve
    assert tags(serve[tagged])['team'] == 'ml'
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')

    # a smaller pool
    home.write('cluster.yaml', small(home, serve=('T4:1', 1)))
    shrunk = home.apply()
    assert 'Apply complete! Resources: 0 added, 0 changed, 2 destroyed.' in shrunk.out
    left = [node.findtext('instanceId') for node in moto.instances()['serve']]
    assert len(left) == 1 and left[0] in serve
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')

    destroyed = home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert f'Destroy complete! Resources: {MADE - 2} destroyed.' in destroyed.out
    assert moto.left() == []
    assert home.run('state', 'list', '--cluster', 'research').out == ''


@pytest.fixture
def running(moto, home):
    complete(home)
    return home


def test_consoles_and_status_checks(moto, running):
    """moto has one console for all: no report of raygpu is in it, so no node is called unhealthy."""
    assert 'Linux version' in running.run('logs', 'aws.instance.head').out
    drift = running.run('drift', 'cluster.yaml')
    assert drift.out.startswith('No drift.') and 'cannot see' not in ' '.join(drift.err.split()), drift


def test_foreign_tags_stay(moto, running):
    node = moto.instances()['serve'][0].findtext('instanceId')
    moto.ok('CreateTags', {'ResourceId.1': node, 'Tag.1.Key': 'CostCenter', 'Tag.1.Value': '42'})
    assert running.run('drift', 'cluster.yaml', '--no-settle').out.startswith('No drift.')
    running.write('cluster.yaml', running.read('cluster.yaml').replace('{team: ml}', '{team: vision}'))
    running.apply('cluster.yaml', '--no-settle')
    found = {i.findtext('instanceId'): tags(i) for i in moto.instances()['serve']}
    assert (found[node]['CostCenter'], found[node]['team']) == ('42', 'vision')


def test_route_tables_of_another_hand(moto, home):
    """Without its NAT gateway the main table has no default route, and with an internet gateway only public addresses go out."""
    main = {'Filter.1.Name': 'association.main', 'Filter.1.Value.1': 'true'}
    vpc = moto.ok('DescribeVpcs', {'Filter.1.Name': 'is-default', 'Filter.1.Value.1': 'true'}).findtext('vpcSet/item/vpcId')
    table = moto.ok('DescribeRouteTables', {**main, 'Filter.2.Name': 'vpc-id', 'Filter.2.Value.1': vpc}).findtext(
        'routeTableSet/item/routeTableId')
    everywhere = {'RouteTableId': table, 'DestinationCidrBlock': '0.0.0.0/0'}
    moto.ok('DeleteRoute', everywhere)
    said = ' '.join(home.run('plan', 'cluster.yaml', code=1).err.split())
    assert f'cannot load their container image: route table {table} of subnet' in said and 'has no default route' in said
    gateway = moto.ok('CreateInternetGateway').findtext('internetGateway/internetGatewayId')
    moto.ok('AttachInternetGateway', {'InternetGatewayId': gateway, 'VpcId': vpc})
    moto.ok('CreateRoute', {**everywhere, 'GatewayId': gateway})
    said = ' '.join(home.run('plan', 'cluster.yaml', code=1).err.split())
    assert 'goes out by an internet gateway, and they have no public address' in said
    home.write('cluster.yaml', home.read('cluster.yaml').replace('image: ami-', 'public_ip: true, image: ami-'))
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert 'cannot load' not in plan.err


def test_what_moto_does_not_have_is_a_note(moto, home):
    """It has no vCPU quotas of EC2 and no policy simulator."""
    said = ' '.join(home.run('plan', 'cluster.yaml').err.split())
    assert 'Note: not everything could be checked beforehand' in said and 'vCPU quotas: GetServiceQuota' in said

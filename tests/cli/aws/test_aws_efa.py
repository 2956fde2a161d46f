"""Pools with `network: {rdma: true}`: types that support EFA, an interface on each network card, a group that
allows EFA's traffic, and the plan when that changes."""
import json
import shutil
import subprocess

import pytest
from program import Home, spec
from sim_server import Sim, tags_of

EFA = ', network: {rdma: true}'
EXTRA = 'rayproject/ray:2.56.1-extra-py311-cu121'
# more vCPUs than a new account has
QUOTAS = {'L-417A185B': 10000, 'L-DB2E81BA': 10000}


@pytest.fixture
def sim():
    with Sim('--boot-ms', '0') as sim:
        sim.knobs(quotas=QUOTAS)
        yield sim


@pytest.fixture
def home(home):
    home.write('cluster.yaml', cluster())
    return home


def cluster(shape='A100:8', nodes=2, extra=EFA, **more):
    return spec(pools={'train': (shape, nodes)}, pool_extra=extra, **more).replace(
        'rayproject/ray:2.56.1-py311-cu121', EXTRA)


def pool(sim, name='train'):
    return [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == name]


def interfaces(instance):
    return sorted((i['attachment']['networkCardIndex'], i['attachment']['deviceIndex'], i['interfaceType'])
                  for i in instance['networkInterfaceSet'])


def no_changes(home):
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle')
    assert 'No changes.' in said.out, said


def test_an_interface_on_each_card(sim, home):
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert '+ efa_interfaces' in plan.out and 'p4d.24xlarge' in plan.out
    sim.counters_reset()
    home.apply()
    assert sim.counters()['actions']['RunInstances']['requests'] == 2, 'one a pool, one for the head'
    nodes = pool(sim)
    assert len(nodes) == 2
    for node in nodes:
        assert interfaces(node) == [(0, 0, 'efa')] + [(card, 1, 'efa-only') for card in (1, 2, 3)]
        primary = node['networkInterfaceSet'][0]
        assert node['privateIpAddress'] == primary['privateIpAddress'] and 'ipAddress' not in node
        assert all('privateIpAddress' not in i for i in node['networkInterfaceSet'][1:])
    egress = [p for g in sim.world('us-east-1')['security_groups'] if tags_of(g).get('raygpu:kind')
              for p in g['ipPermissionsEgress']]
    assert any(p.get('groups') for p in egress), 'EFA traffic must get out to the group itself'
    no_changes(home)
    assert home.run('drift', 'cluster.yaml', '--no-settle').out.startswith('No drift.')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    world = sim.world('us-east-1')
    assert sim.live_instances() == [] and world['network_interfaces'] == []


@pytest.mark.skipif(not shutil.which('aws'), reason="Debian's awscli is not installed")
def test_the_aws_command_shows_them(sim, home):
    home.apply()
    said = subprocess.run(
        ['aws', 'ec2', 'describe-instances', '--endpoint-url', sim.url, '--output', 'json',
         '--filters', 'Name=tag:raygpu:pool,Values=train', '--query',
         'Reservations[].Instances[].NetworkInterfaces[].[Attachment.NetworkCardIndex,InterfaceType]'],
        env=sim.env(), stdout=subprocess.PIPE, text=True, check=True).stdout
    one = [[0, 'efa'], [1, 'efa-only'], [2, 'efa-only'], [3, 'efa-only']]
    assert json.loads(said) == one + one


@pytest.mark.parametrize('shape,expected', [
    ('H100:8', [(0, 0, 'efa')] + [(card, 1, 'efa-only') for card in range(1, 32)]),
    # its first card supports none
    ('B300:8', [(0, 0, 'interface')] + [(card, 0, 'efa-only') for card in range(1, 17)]),
    ('T4:8', [(0, 0, 'efa')]),
])
def test_cards_of_other_types(shape, expected, sim, home):
    home.write('cluster.yaml', cluster(shape, 1, region='us-west-2'))
    home.apply()
    (node,) = [i for i in sim.live_instances('us-west-2') if tags_of(i)['raygpu:pool'] == 'train']
    assert interfaces(node) == expected
    no_changes(home)


def test_efa_comes_and_goes_with_new_nodes(sim, home):
    home.write('cluster.yaml', cluster(extra=''))
    home.apply()
    no_changes(home)
    before = {i['instanceId'] for i in pool(sim)}
    home.write('cluster.yaml', cluster())
    plan = home.run('plan', 'cluster.yaml', '--no-settle')
    assert 'efa_interfaces' in plan.out and 'forces replacement' in plan.out, plan
    assert 'Plan: 2 to add, 1 to change, 2 to destroy.' in plan.out, plan
    home.apply('cluster.yaml', '--no-settle')
    assert not before & {i['instanceId'] for i in pool(sim)}
    assert {len(interfaces(i)) for i in pool(sim)} == {4}
    no_changes(home)
    home.write('cluster.yaml', cluster(extra=''))
    home.apply('cluster.yaml', '--no-settle')
    assert [interfaces(i) for i in pool(sim)] == [[(0, 0, 'interface')]] * 2
    no_changes(home)


def test_new_groups_reach_every_interface(sim, home):
    """EC2 accepts new groups only for an instance with one interface."""
    made = sim.ok('CreateSecurityGroup', GroupName='corporate', GroupDescription='x',
                  VpcId=sim.ok('DescribeVpcs').findtext('.//vpcId')).findtext('groupId')
    home.apply()
    mine = 'region: us-east-1}'
    home.write('cluster.yaml', cluster().replace(mine, f'region: us-east-1, security_groups: [{made}]}}'))
    plan = home.run('plan', 'cluster.yaml', '--no-settle')
    assert 'Plan: 0 to add, 3 to change, 0 to destroy.' in plan.out, plan
    home.apply('cluster.yaml', '--no-settle')
    for node in pool(sim):
        assert [made in {g['groupId'] for g in i['groupSet']} for i in node['networkInterfaceSet']] == [True] * 4
    no_changes(home)
    assert home.run('drift', 'cluster.yaml', '--no-settle').out.startswith('No drift.')


def test_adapters_taken_away_are_drift(tmp_path):
    """As if someone had stopped a node and detached one, which raygpu-sim does not simulate."""
    world = tmp_path / 'world.json'
    with Sim('--boot-ms', '0', world=str(world)) as sim:
        sim.knobs(quotas=QUOTAS)
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', cluster())
        home.apply()
        sim.stop()
        document = json.loads(world.read_text())
        instance = next(i for i in document['regions']['us-east-1']['instances'] if len(i['_interfaces']) > 1)
        lost = instance['_interfaces'].pop()
        instance['networkInterfaceSet'].pop()
        tables = document['regions']['us-east-1']
        tables['network_interfaces'] = [i for i in tables['network_interfaces'] if i['networkInterfaceId'] != lost]
        world.write_text(json.dumps(document))
        sim.port = int(sim.url.rsplit(':', 1)[1])
        sim.start()
        drift = home.run('drift', 'cluster.yaml', '--no-settle', '--format', 'json', code=2).json()
        (found,) = drift['drift']
        assert found['address'].startswith('aws.instance.train['), drift
        assert 'efa_interfaces' in json.dumps(found), found
        plan = home.run('plan', 'cluster.yaml', '--no-settle')
        assert 'efa_interfaces' in plan.out and 'forces replacement' in plan.out, plan


def test_the_pool_stands_in_one_zone(sim, home):
    home.write('cluster.yaml', cluster('T4:4', 1, ', zones: [us-east-1a]'))
    home.apply()
    home.write('cluster.yaml', cluster('T4:4', 3, ', zones: [us-east-1b, us-east-1a]'))
    home.apply('cluster.yaml', '--no-settle')
    assert len({i['placement']['availabilityZone'] for i in pool(sim)}) == 2
    home.write('cluster.yaml', cluster('T4:4', 3, ', zones: [us-east-1a, us-east-1b]' + EFA))
    home.apply('cluster.yaml', '--no-settle')
    assert {i['placement']['availabilityZone'] for i in pool(sim)} == {'us-east-1b'}


def test_types_without_efa_are_refused_with_the_reason(sim, home):
    sim.counters_reset()
    home.write('cluster.yaml', cluster('T4:1'))
    assert 'g4dn.8xlarge' in home.run('offers', 'cluster.yaml').out, 'the smallest one with EFA'
    home.write('raygpu.yaml', 'catalog: {instance_types: {aws: {p3.8xlarge: '
               '{vcpus: 32, memory: 244GiB, accelerators: V100-16GB:4}}}}\n')
    home.write('cluster.yaml', cluster('V100-16GB:4'))
    said = home.run('validate', 'cluster.yaml', code=4)
    text = ' '.join(said.err.split())
    assert 'no aws instance type in us-east-1 has V100-16GB:4 with the network that the pool requires' in text
    assert 'nearest: p3.8xlarge (no RDMA adapters)' in text, said
    text = cluster('T4:1').replace('accelerators: "T4:1"', 'instance_type: g4dn.xlarge')
    home.write('cluster.yaml', text)
    said = home.run('validate', 'cluster.yaml', code=4)
    assert 'g4dn.xlarge has no RDMA adapters' in said.err and '[fit.no-rdma]' in said.err
    assert 'cluster.yaml:7:' in said.err and sim.counters()['requests'] == 0


def test_several_interfaces_rule_out_a_public_address(sim, home):
    home.write('cluster.yaml', cluster(extra=', public_ip: true' + EFA))
    said = home.run('plan', 'cluster.yaml', code=None)
    assert said.code in (1, 4) and 'p4d.24xlarge has 4 with EFA' in said.err, said
    assert 'cluster.yaml:7:' in said.err and 'public_ip: true' in said.err, said
    # one interface may have both
    home.write('cluster.yaml', cluster('T4:4', 1, ', public_ip: true' + EFA))
    home.apply()
    (node,) = pool(sim)
    assert interfaces(node) == [(0, 0, 'efa')] and node['ipAddress']
    no_changes(home)


def test_an_image_without_the_libraries_is_told(sim, home):
    home.write('cluster.yaml', cluster().replace('-extra', ''))
    said = home.run('plan', 'cluster.yaml')
    assert '[topology.rdma-image]' in said.err and 'falls back to TCP' in said.err
    home.write('cluster.yaml', cluster())
    assert 'efa' not in home.run('plan', 'cluster.yaml').err

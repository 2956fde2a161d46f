"""EFA interfaces at a launch: network cards and device indexes as the type defines them."""
import pytest
from helpers import group, ids, run, subnet

QUOTAS = {'L-417A185B': 10000, 'L-DB2E81BA': 10000, 'L-1216C47A': 10000}


def cards(sim, *wanted, **more):
    """NetworkInterface.N of (card, device, kind)."""
    form = {}
    for n, (card, device, kind) in enumerate(wanted, 1):
        form |= {f'NetworkInterface.{n}.NetworkCardIndex': card, f'NetworkInterface.{n}.DeviceIndex': device,
                 f'NetworkInterface.{n}.SubnetId': subnet(sim)}
        if kind:
            form[f'NetworkInterface.{n}.InterfaceType'] = kind
    return form | more


def refused(sim, kind, *wanted, **more):
    status, root = sim.ec2('RunInstances', {**run(sim, kind=kind), **cards(sim, *wanted, **more)})
    assert status == 400
    return root.findtext('.//Code'), root.findtext('.//Message')


@pytest.fixture(autouse=True)
def room(sim):
    sim.knobs(quotas=QUOTAS)


def test_p4d_takes_one_a_card(sim):
    free = int(sim.ok('DescribeSubnets', {'SubnetId.1': subnet(sim)}).findtext('.//availableIpAddressCount'))
    root = sim.ok('RunInstances', {**run(sim, kind='p4d.24xlarge'), **cards(
        sim, (0, 0, 'efa'), (1, 1, 'efa-only'), (2, 1, 'efa'), (3, 1, 'efa-only'))})
    (one,) = ids(root)
    shown = sim.ok('DescribeInstances', {'InstanceId.1': one}).findall('.//networkInterfaceSet/item')
    assert [(i.findtext('attachment/networkCardIndex'), i.findtext('attachment/deviceIndex'),
             i.findtext('interfaceType'), i.findtext('privateIpAddress') is not None) for i in shown] == [
        ('0', '0', 'efa', True), ('1', '1', 'efa-only', False), ('2', '1', 'efa', True), ('3', '1', 'efa-only', False)]
    left = int(sim.ok('DescribeSubnets', {'SubnetId.1': subnet(sim)}).findtext('.//availableIpAddressCount'))
    assert free - left == 2, 'EFA-only interfaces take no address'
    found = sim.ok('DescribeNetworkInterfaces', {'Filter.1.Name': 'interface-type', 'Filter.1.Value.1': 'efa-only'})
    assert len(found.findall('networkInterfaceSet/item')) == 2


@pytest.mark.parametrize('kind,wanted,code,said', [
    ('g4dn.xlarge', [(0, 0, 'efa')], 'InvalidParameterCombination', 'do not support Elastic Fabric Adapters'),
    ('p4d.24xlarge', [(0, 0, 'efa'), (4, 1, 'efa')], 'InvalidParameterValue', "'4' for the network card index"),
    ('g4dn.8xlarge', [(0, 0, 'efa'), (1, 1, 'efa')], 'InvalidParameterValue', "'1' for the network card index"),
    ('p5.48xlarge', [(0, 0, 'efa'), (2, 2, 'efa')], 'InvalidParameterValue',
     'The maximum devices for this network card is 2. Specify a number from 0 to 1, and try again.'),
    ('p4d.24xlarge', [(0, 0, 'efa-only')], 'InvalidParameterCombination', 'cannot be the primary'),
    ('p4d.24xlarge', [(0, 0, 'efa'), (0, 1, 'efa')], 'AttachmentLimitExceeded', 'limit of 1'),
    ('p6-b300.48xlarge', [(0, 0, 'efa')], 'InvalidParameterCombination', 'network card index 0'),
    ('p4d.24xlarge', [(0, 0, 'ena')], 'InvalidParameterValue', "'ena'"),
    ('p4d.24xlarge', [(1, 0, 'efa')], 'InvalidParameterCombination', 'device index 0'),
])
def test_what_a_type_does_not_take(kind, wanted, code, said, sim):
    got, message = refused(sim, kind, *wanted)
    assert got == code and said in message, message


def test_addresses_and_groups_go_with_the_interfaces(sim):
    two = [(0, 0, 'efa'), (1, 1, 'efa-only')]
    assert 'associatePublicIPAddress' in refused(
        sim, 'p4d.24xlarge', *two, **{'NetworkInterface.1.AssociatePublicIpAddress': 'true'})[1]
    assert 'security groups' in refused(sim, 'p4d.24xlarge', *two, **{'SecurityGroupId.1': group(sim)})[1]

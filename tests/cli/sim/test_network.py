"""Security groups, their rules, and network interfaces."""
import pytest
from helpers import filters, group, interface, launch, numbered, subnet, tagged, wait_state

SSH = {'IpPermissions.1.IpProtocol': 'tcp', 'IpPermissions.1.FromPort': 22,
       'IpPermissions.1.ToPort': 22, 'IpPermissions.1.IpRanges.1.CidrIp': '10.1.2.3/8',
       'IpPermissions.1.IpRanges.1.Description': 'admin'}


def shown(sim, sg):
    return sim.ok('DescribeSecurityGroups', {'GroupId.1': sg}).find('securityGroupInfo/item')


def test_a_new_group_lets_everything_out_and_nothing_in(sim):
    sg = group(sim, cluster='c1')
    one = shown(sim, sg)
    assert one.find('ipPermissions/item') is None
    out = one.findall('ipPermissionsEgress/item')
    assert len(out) == 1 and out[0].findtext('ipRanges/item/cidrIp') == '0.0.0.0/0'
    assert one.findtext('tagSet/item/key') == 'cluster'
    assert sim.error('CreateSecurityGroup', {'GroupName': 'workers', 'GroupDescription': 'x'}) == (
        400, 'InvalidGroup.Duplicate')
    found = sim.ok('DescribeSecurityGroups', filters(tag__cluster='c1'))
    assert found.findtext('.//groupId') == sg


def test_rules_come_and_go(sim):
    sg = group(sim)
    root = sim.ok('AuthorizeSecurityGroupIngress', {'GroupId': sg, **SSH})
    assert root.findtext('securityGroupRuleSet/item/cidrIpv4') == '10.0.0.0/8'
    assert sim.error('AuthorizeSecurityGroupIngress', {'GroupId': sg, **SSH}) == (
        400, 'InvalidPermission.Duplicate')
    itself = {'IpPermissions.1.IpProtocol': '-1', 'IpPermissions.1.Groups.1.GroupId': sg}
    sim.ok('AuthorizeSecurityGroupIngress', {'GroupId': sg, **itself})
    one = shown(sim, sg)
    assert [p.findtext('ipProtocol') for p in one.findall('ipPermissions/item')] == ['tcp', '-1']
    assert one.findall('ipPermissions/item')[1].find('fromPort') is None
    assert one.findtext('ipPermissions/item/groups/item/groupId') == sg
    rules = sim.ok('DescribeSecurityGroupRules', filters(group_id=sg))
    assert len(rules.findall('securityGroupRuleSet/item')) == 3
    sim.ok('RevokeSecurityGroupIngress', {'GroupId': sg, **SSH})
    assert sim.error('RevokeSecurityGroupIngress', {'GroupId': sg, **SSH}) == (
        400, 'InvalidPermission.NotFound')
    rule = sim.world('us-east-1')['security_groups'][-1]['_rules'][-1]['securityGroupRuleId']
    sim.ok('RevokeSecurityGroupIngress', {'GroupId': sg, 'SecurityGroupRuleId.1': rule})
    assert shown(sim, sg).find('ipPermissions/item') is None
    sim.ok('RevokeSecurityGroupEgress', {
        'GroupId': sg, 'IpPermissions.1.IpProtocol': '-1',
        'IpPermissions.1.IpRanges.1.CidrIp': '0.0.0.0/0'})
    assert shown(sim, sg).find('ipPermissionsEgress/item') is None


@pytest.mark.parametrize('changes', [
    {'IpPermissions.1.IpRanges.1.CidrIp': '10.1.2.3'},
    {'IpPermissions.1.IpRanges.1.CidrIp': '10.1.2.3/40'},
    {'IpPermissions.1.IpProtocol': 'carrier-pigeon'},
    {'IpPermissions.1.ToPort': 21},
    {'IpPermissions.1.ToPort': 99999},
])
def test_rules_that_make_no_sense(sim, changes):
    sg = group(sim)
    assert sim.error('AuthorizeSecurityGroupIngress', {'GroupId': sg, **SSH, **changes}) == (
        400, 'InvalidParameterValue')
    assert shown(sim, sg).find('ipPermissions/item') is None


@pytest.mark.parametrize('name, description', [
    ('sg-mine', 'x'), ('caf\u00e9', 'x'), ('fine', 'what?'), ('x' * 256, 'x')])
def test_names_that_ec2_refuses(sim, name, description):
    assert sim.error('CreateSecurityGroup', {
        'GroupName': name, 'GroupDescription': description}) == (400, 'InvalidParameterValue')


def test_a_group_in_use_is_not_deleted(sim):
    used, other = group(sim), group(sim, 'other')
    sim.ok('AuthorizeSecurityGroupIngress', {'GroupId': other, **SSH,
                                             'IpPermissions.1.Groups.1.GroupId': used})
    gone = {'GroupId': used}
    assert sim.error('DeleteSecurityGroup', gone) == (400, 'DependencyViolation')
    sim.ok('DeleteSecurityGroup', {'GroupId': other})
    wanted, = launch(sim, SecurityGroupId__1=used)
    assert sim.error('DeleteSecurityGroup', gone) == (400, 'DependencyViolation')
    sim.knobs(shutdown_ms=2000)
    sim.ok('TerminateInstances', {'InstanceId.1': wanted})
    assert sim.error('DeleteSecurityGroup', gone) == (400, 'DependencyViolation')
    wait_state(sim, 'terminated', wanted)
    eni = interface(sim, **{'SecurityGroupId.1': used})
    assert sim.error('DeleteSecurityGroup', gone) == (400, 'DependencyViolation')
    sim.ok('DeleteNetworkInterface', {'NetworkInterfaceId': eni})
    sim.ok('DeleteSecurityGroup', gone)
    assert sim.error('DeleteSecurityGroup', gone) == (400, 'InvalidGroup.NotFound')
    root = sim.ok('DescribeSecurityGroups', filters(group_name='default'))
    assert sim.error('DeleteSecurityGroup', {'GroupId': root.findtext('.//groupId')}) == (
        400, 'CannotDelete')


def test_an_interface_and_its_token(sim):
    sg = group(sim)
    form = {'SubnetId': subnet(sim), 'SecurityGroupId.1': sg, 'ClientToken': 'eni',
            'Description': 'head', 'PrivateIpAddress': '172.31.0.77',
            **tagged('network-interface', Name='head')}
    made = sim.ok('CreateNetworkInterface', form)
    assert made.findtext('clientToken') == 'eni'
    eni = made.findtext('.//networkInterfaceId')
    assert sim.ok('CreateNetworkInterface', form).findtext('.//networkInterfaceId') == eni
    assert sim.error('CreateNetworkInterface', {**form, 'Description': 'tail'}) == (
        400, 'IdempotentParameterMismatch')
    assert sim.error('CreateNetworkInterface', {**form, 'ClientToken': 'other'}) == (
        400, 'InvalidIPAddress.InUse')
    assert sim.error('CreateNetworkInterface', {
        **form, 'ClientToken': 'third', 'PrivateIpAddress': '192.0.2.1'}) == (
        400, 'InvalidParameterValue')
    one = sim.ok('DescribeNetworkInterfaces', {'NetworkInterfaceId.1': eni}).find(
        'networkInterfaceSet/item')
    assert one.findtext('status') == 'available' and one.findtext('groupSet/item/groupId') == sg
    assert one.findtext('privateIpAddress') == '172.31.0.77'
    assert one.findtext('tagSet/item/value') == 'head' and one.find('attachment') is None
    assert sim.error('DescribeNetworkInterfaces', {
        'NetworkInterfaceId.1': 'eni-0123456789abcdef0'}) == (
        400, 'InvalidNetworkInterfaceID.NotFound')


def test_changed_groups_show_on_interface_and_instance(sim):
    sg = group(sim)
    wanted, = launch(sim)
    eni = sim.world('us-east-1')['network_interfaces'][0]['networkInterfaceId']
    sim.ok('ModifyNetworkInterfaceAttribute', {'NetworkInterfaceId': eni, 'SecurityGroupId.1': sg})
    root = sim.ok('DescribeInstances', {'InstanceId.1': wanted})
    assert root.findtext('.//instancesSet/item/groupSet/item/groupId') == sg
    default = sim.ok('DescribeSecurityGroups', filters(group_name='default')).findtext('.//groupId')
    sim.ok('ModifyInstanceAttribute', {'InstanceId': wanted, 'GroupId.1': default})
    root = sim.ok('DescribeNetworkInterfaces', filters(group_id=default))
    assert root.findtext('.//networkInterfaceId') == eni
    sim.ok('ModifyNetworkInterfaceAttribute', {
        'NetworkInterfaceId': eni, 'Attachment.DeleteOnTermination': 'false',
        'Attachment.AttachmentId': root.findtext('.//attachmentId')})
    sim.ok('TerminateInstances', {'InstanceId.1': wanted})
    wait_state(sim, 'terminated', wanted)
    assert [e['status'] for e in sim.world('us-east-1')['network_interfaces']] == ['available']


def test_tags_are_added_changed_and_removed(sim):
    sg = group(sim, a='1', b='2')
    wanted, = launch(sim)
    both = numbered('ResourceId', [sg, wanted])
    sim.ok('CreateTags', {**both, 'Tag.1.Key': 'b', 'Tag.1.Value': '3', 'Tag.2.Key': 'c'})
    root = sim.ok('DescribeTags', filters(resource_id=sg))
    assert {(t.findtext('key'), t.findtext('value')) for t in root.findall('tagSet/item')} == {
        ('a', '1'), ('b', '3'), ('c', '')}
    sim.ok('DeleteTags', {'ResourceId.1': sg, 'Tag.1.Key': 'b', 'Tag.1.Value': 'other'})
    sim.ok('DeleteTags', {'ResourceId.1': sg, 'Tag.1.Key': 'a'})
    root = sim.ok('DescribeTags', filters(resource_id=sg))
    assert [t.text for t in root.iter('key')] == ['b', 'c']
    sim.ok('DeleteTags', {'ResourceId.1': sg})
    assert sim.ok('DescribeTags', filters(resource_id=sg)).find('tagSet/item') is None
    for form, code in (({'ResourceId.1': 'x-1', 'Tag.1.Key': 'a'}, 'InvalidID'),
                       ({'ResourceId.1': sg, 'Tag.1.Key': 'aws:a'}, 'InvalidParameterValue'),
                       ({'ResourceId.1': sg, 'Tag.1.Key': 'k' * 129}, 'InvalidParameterValue'),
                       ({'ResourceId.1': 'vol-0123456789abcdef0', 'Tag.1.Key': 'a'},
                        'InvalidVolume.NotFound')):
        assert sim.error('CreateTags', form) == (400, code)

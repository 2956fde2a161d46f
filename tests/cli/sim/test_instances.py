"""Launching, listing and ending instances."""
import base64

import pytest
from helpers import (filters, group, ids, interface, launch, newest_image, numbered, run, states,
                     subnet, tagged, wait_state)


def one(sim, wanted):
    return sim.ok('DescribeInstances', {'InstanceId.1': wanted}).find('.//instancesSet/item')


def test_an_instance_shows_what_it_was_launched_with(sim):
    sg = group(sim)
    place = subnet(sim, 'us-east-1b')
    data = base64.b64encode(b'#!/bin/sh\n').decode()
    wanted, = launch(sim, SubnetId=place, SecurityGroupId__1=sg, UserData=data, ClientToken='tok',
                     MetadataOptions__HttpTokens='required', BlockDeviceMapping__1__DeviceName='/dev/sda1',
                     BlockDeviceMapping__1__Ebs__VolumeSize=100,
                     BlockDeviceMapping__1__Ebs__Encrypted='true',
                     **{k.replace('.', '__'): v for k, v in tagged('instance', Name='w').items()})
    wait_state(sim, 'running', wanted)
    shown = one(sim, wanted)
    assert shown.findtext('placement/availabilityZone') == 'us-east-1b'
    assert shown.findtext('subnetId') == place and shown.findtext('clientToken') == 'tok'
    assert shown.findtext('groupSet/item/groupId') == sg
    assert shown.findtext('metadataOptions/httpTokens') == 'required'
    assert shown.findtext('tagSet/item/value') == 'w'
    assert shown.findtext('privateIpAddress').startswith('172.31.')
    assert shown.findtext('networkInterfaceSet/item/attachment/deviceIndex') == '0'
    assert shown.find('instanceLifecycle') is None and shown.find('stateReason') is None
    volume = shown.findtext('blockDeviceMapping/item/ebs/volumeId')
    disk = sim.ok('DescribeVolumes', {'VolumeId.1': volume}).find('volumeSet/item')
    assert (disk.findtext('size'), disk.findtext('encrypted')) == ('100', 'true')
    got = sim.ok('DescribeInstanceAttribute', {'InstanceId': wanted, 'Attribute': 'userData'})
    assert got.findtext('userData/value') == data


def test_a_batch_is_one_reservation_with_launch_indexes(sim):
    wanted = launch(sim, 5)
    root = sim.ok('DescribeInstances')
    assert len(root.findall('reservationSet/item')) == 1
    assert [e.text for e in root.iter('amiLaunchIndex')] == list('01234')
    assert ids(root) == wanted


def test_the_same_token_makes_nothing_new(sim):
    form = run(sim, 2, ClientToken='once')
    first = ids(sim.ok('RunInstances', form))
    assert ids(sim.ok('RunInstances', form)) == first
    assert len(sim.live_instances()) == 2
    assert sim.error('RunInstances', {**form, 'InstanceType': 'g4dn.2xlarge'}) == (
        400, 'IdempotentParameterMismatch')
    assert ids(sim.ok('RunInstances', {**form, 'ClientToken': 'ONCE'})) != first
    sim.ok('TerminateInstances', {'InstanceId.1': first[0]})
    wait_state(sim, 'terminated', first[0])
    assert sim.error('RunInstances', form) == (400, 'IdempotentInstanceTerminated')


def test_a_token_holds_in_its_zone_and_region_only(sim):
    form = run(sim, ClientToken='zonal')
    first = ids(sim.ok('RunInstances', {**form, 'Placement.AvailabilityZone': 'us-east-1a'}))
    again = ids(sim.ok('RunInstances', {**form, 'SubnetId': subnet(sim, 'us-east-1b')}))
    assert first != again
    assert sim.error('RunInstances', {**form, 'ClientToken': 'x' * 65}) == (
        400, 'InvalidParameterValue')


def test_a_failed_launch_does_not_use_up_its_token(sim):
    sim.knobs(capacity={'g4dn.xlarge': {'*': 0}})
    form = run(sim, ClientToken='later')
    assert sim.error('RunInstances', form) == (500, 'InsufficientInstanceCapacity')
    sim.knobs(capacity={})
    sim.ok('RunInstances', {**form, 'InstanceType': 'm5.large'})


def test_capacity_delivers_in_part_or_not_at_all(sim):
    sim.knobs(capacity={'g4dn.xlarge': {'us-east-1a': 3}})
    here = {'Placement__AvailabilityZone': 'us-east-1a'}
    assert sim.error('RunInstances', run(sim, 4, **here)) == (500, 'InsufficientInstanceCapacity')
    got = launch(sim, 4, least=1, **here)
    assert len(got) == 3
    status, root = sim.ec2('RunInstances', run(sim, **here))
    assert status == 500 and 'us-east-1b' in root.findtext('.//Message')
    sim.ok('TerminateInstances', {'InstanceId.1': got[0]})
    wait_state(sim, 'terminated', got[0])
    assert len(launch(sim, 5, least=1, **here)) == 1
    assert launch(sim)  # another zone, because none is requested


def test_types_are_offered_where_the_table_says(sim):
    status, root = sim.ec2('RunInstances', run(sim, kind='p4d.24xlarge',
                                               Placement__AvailabilityZone='us-east-1f'))
    assert (status, root.findtext('.//Code')) == (400, 'Unsupported')
    assert sim.error('RunInstances', run(sim, kind='g9.huge')) == (400, 'InvalidParameterValue')
    assert sim.error('RunInstances', run(sim, Placement__AvailabilityZone='us-east-1z')) == (
        400, 'InvalidParameterValue')
    root = sim.ok('DescribeInstanceTypeOfferings', {
        'LocationType': 'availability-zone', **filters(instance_type='p4d.24xlarge')})
    zones = {e.text for e in root.iter('location')}
    assert zones and 'us-east-1f' not in zones
    info = sim.ok('DescribeInstanceTypes', {'InstanceType.1': 'p4d.24xlarge'})
    assert info.findtext('.//gpuInfo/gpus/item/name') == 'A100'
    assert info.findtext('.//gpuInfo/gpus/item/count') == '8'
    assert sim.error('DescribeInstanceTypes', {'InstanceType.1': 'g9.huge'}) == (
        400, 'InvalidInstanceType')


@pytest.mark.parametrize('changes, code', [
    ({'MinCount': 0}, 'InvalidParameterValue'),
    ({'MinCount': 3, 'MaxCount': 2}, 'InvalidParameterCombination'),
    ({'MaxCount': 100000}, 'ResourceCountExceeded'),
    ({'ImageId': 'ami-0123456789abcdef0'}, 'InvalidAMIID.NotFound'),
    ({'ImageId': 'ubuntu'}, 'InvalidAMIID.Malformed'),
    ({'InstanceType': 'g5g.xlarge'}, 'InvalidParameterValue'),
    ({'UserData': '*not base64*'}, 'InvalidUserData.Malformed'),
    ({'UserData': base64.b64encode(b'x' * 16385).decode()}, 'InvalidParameterValue'),
    ({'KeyName': 'mine'}, 'InvalidKeyPair.NotFound'),
    ({'SubnetId': 'subnet-0123456789abcdef0'}, 'InvalidSubnetID.NotFound'),
    ({'SecurityGroupId.1': 'sg-0123456789abcdef0'}, 'InvalidGroup.NotFound'),
    ({'BlockDeviceMapping.1.DeviceName': '/dev/sda1',
      'BlockDeviceMapping.1.Ebs.VolumeSize': '8'}, 'InvalidBlockDeviceMapping'),
    ({'NetworkInterface.1.DeviceIndex': '1'}, 'InvalidParameterCombination'),
    ({'NetworkInterface.1.SubnetId': 'x'}, 'InvalidSubnetID.Malformed'),
    (tagged('bucket', a='b'), 'InvalidParameterValue'),
    (tagged('instance', **{'aws:x': 'b'}), 'InvalidParameterValue'),
    (tagged('instance', **{f'k{n}': 'v' for n in range(51)}), 'TagLimitExceeded'),
])
def test_launches_that_ec2_refuses(sim, changes, code):
    status, root = sim.ec2('RunInstances', {**run(sim), **changes})
    assert (status, root.findtext('.//Code')) == (400, code)
    assert sim.world('us-east-1')['instances'] == []


def test_16_kib_of_user_data_is_allowed(sim):
    launch(sim, UserData=base64.b64encode(b'x' * 16384).decode())


def test_life_cycle(sim):
    wanted, = launch(sim)
    wait_state(sim, 'running', wanted)
    address = one(sim, wanted).findtext('privateIpAddress')
    public = one(sim, wanted).findtext('ipAddress')
    sim.knobs(shutdown_ms=3_600_000)
    root = sim.ok('StopInstances', {'InstanceId.1': wanted})
    assert root.findtext('.//currentState/name') == 'stopping'
    assert root.findtext('.//previousState/code') == '16'
    assert sim.error('StartInstances', {'InstanceId.1': wanted}) == (400, 'IncorrectInstanceState')
    sim.control('POST', 'skip', {'seconds': 3600})
    sim.knobs(shutdown_ms=0)
    wait_state(sim, 'stopped', wanted)
    assert one(sim, wanted).findtext('ipAddress') is None
    assert one(sim, wanted).findtext('stateReason/code') == 'Client.UserInitiatedShutdown'
    assert sim.error('RebootInstances', {'InstanceId.1': wanted}) == (400, 'IncorrectInstanceState')
    sim.ok('ModifyInstanceAttribute', {'InstanceId': wanted, 'InstanceType.Value': 'g4dn.2xlarge'})
    sim.ok('StartInstances', {'InstanceId.1': wanted})
    wait_state(sim, 'running', wanted)
    shown = one(sim, wanted)
    assert shown.findtext('instanceType') == 'g4dn.2xlarge'
    assert shown.findtext('privateIpAddress') == address and shown.findtext('ipAddress') != public
    assert sim.error('ModifyInstanceAttribute', {
        'InstanceId': wanted, 'InstanceType.Value': 'g4dn.xlarge'}) == (400, 'IncorrectInstanceState')
    sim.ok('TerminateInstances', {'InstanceId.1': wanted})
    wait_state(sim, 'terminated', wanted)
    shown = one(sim, wanted)
    assert shown.find('networkInterfaceSet/item') is None and shown.find('subnetId') is None
    again = sim.ok('TerminateInstances', {'InstanceId.1': wanted})
    assert again.findtext('.//previousState/name') == 'terminated'
    world = sim.world('us-east-1')
    assert world['network_interfaces'] == [] and world['volumes'] == []


def test_terminated_instances_vanish_after_their_time(sim):
    sim.knobs(terminated_ms=50)
    wanted, = launch(sim)
    sim.ok('TerminateInstances', {'InstanceId.1': wanted})
    import time
    deadline = time.monotonic() + 120
    while sim.ec2('DescribeInstances', {'InstanceId.1': wanted})[0] == 200:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert sim.error('DescribeInstances', {'InstanceId.1': wanted}) == (
        400, 'InvalidInstanceID.NotFound')


def test_termination_is_all_or_nothing(sim):
    first, second = launch(sim, 2)
    sim.ok('ModifyInstanceAttribute', {'InstanceId': second, 'DisableApiTermination.Value': 'true'})
    assert sim.error('TerminateInstances', numbered('InstanceId', [first, second])) == (
        400, 'OperationNotPermitted')
    assert sim.error('TerminateInstances', numbered('InstanceId', [
        first, 'i-0123456789abcdef0'])) == (400, 'InvalidInstanceID.NotFound')
    assert len(sim.live_instances()) == 2
    got = sim.ok('DescribeInstanceAttribute', {
        'InstanceId': second, 'Attribute': 'disableApiTermination'})
    assert got.findtext('disableApiTermination/value') == 'true'


def test_an_existing_interface_keeps_its_address_beyond_the_instance(sim):
    eni = interface(sim, Description='head')
    address = sim.world('us-east-1')['network_interfaces'][0]['privateIpAddress']
    attach = {'NetworkInterface__1__NetworkInterfaceId': eni, 'NetworkInterface__1__DeviceIndex': 0}
    form = run(sim, ClientToken='head', **attach)
    first, = ids(sim.ok('RunInstances', form))
    assert one(sim, first).findtext('privateIpAddress') == address
    assert ids(sim.ok('RunInstances', form)) == [first]  # its own interface is not "in use"
    assert sim.error('RunInstances', run(sim, **attach)) == (400, 'InvalidNetworkInterface.InUse')
    assert sim.error('DeleteNetworkInterface', {'NetworkInterfaceId': eni}) == (
        400, 'InvalidNetworkInterface.InUse')
    assert sim.error('RunInstances', run(sim, 2, **attach)) == (400, 'InvalidParameterCombination')
    assert sim.error('RunInstances', run(sim, Placement__AvailabilityZone='us-east-1b', **attach))[0] == 400
    sim.ok('TerminateInstances', {'InstanceId.1': first})
    wait_state(sim, 'terminated', first)
    second, = launch(sim, ClientToken='head-2', **attach)
    assert one(sim, second).findtext('privateIpAddress') == address
    sim.ok('TerminateInstances', {'InstanceId.1': second})
    wait_state(sim, 'terminated', second)
    sim.ok('DeleteNetworkInterface', {'NetworkInterfaceId': eni})
    assert sim.world('us-east-1')['network_interfaces'] == []


def test_volumes_that_should_stay_become_available(sim):
    wanted, = launch(sim, BlockDeviceMapping__1__DeviceName='/dev/sdb',
                     BlockDeviceMapping__1__Ebs__VolumeSize=10,
                     BlockDeviceMapping__1__Ebs__DeleteOnTermination='false')
    sim.ok('TerminateInstances', {'InstanceId.1': wanted})
    wait_state(sim, 'terminated', wanted)
    volumes = sim.world('us-east-1')['volumes']
    assert [(v['status'], v['size']) for v in volumes] == [('available', 10)]


def test_filters(sim):
    first, = launch(sim, **{k.replace('.', '__'): v for k, v in tagged(
        'instance', **{'raygpu:cluster': 'c1', 'Name': 'head'}).items()})
    second, = launch(sim, kind='m5.large', **{k.replace('.', '__'): v for k, v in tagged(
        'instance', **{'raygpu:cluster': 'c2', 'Name': 'a*b'}).items()})
    wait_state(sim, 'running', first, second)

    def found(*pairs):
        form = {}
        for n, (name, *values) in enumerate(pairs, 1):
            form[f'Filter.{n}.Name'] = name
            form.update(numbered(f'Filter.{n}.Value', values))
        return ids(sim.ok('DescribeInstances', form))

    assert found(('tag:raygpu:cluster', 'c1')) == [first]
    assert found(('tag:raygpu:cluster', 'c?')) == [first, second]
    assert found(('tag:Name', 'a\\*b')) == [second]
    assert found(('tag:Name', 'h*d', 'nothing')) == [first]
    assert found(('tag-key', 'Name'), ('instance-type', 'm5.*')) == [second]
    assert found(('instance-state-name', 'pending', 'running'), ('instance-id', first)) == [first]
    assert found(('instance-state-code', '16')) == [first, second]
    assert found(('tag:raygpu:cluster', 'C1')) == []
    eni = one(sim, second).findtext('networkInterfaceSet/item/networkInterfaceId')
    assert found(('network-interface.network-interface-id', eni)) == [second]
    assert sim.error('DescribeInstances', {'Filter.1.Name': 'instance-id', **numbered(
        'Filter.1.Value', [f'i-{n:017x}' for n in range(201)])}) == (400, 'FilterLimitExceeded')


def test_pages(sim):
    wanted = launch(sim, 12)
    sim.knobs(page_size=5)

    def pages(**more):
        token, out = None, []
        while True:
            root = sim.ok('DescribeInstances', {**more, **({'NextToken': token} if token else {})})
            out.append(ids(root))
            token = root.findtext('nextToken')
            if not token:
                return out

    assert pages() == [wanted[:5], wanted[5:10], wanted[10:]]
    sim.knobs(page_size=0)
    assert pages(MaxResults=6) == [wanted[:6], wanted[6:]]
    launch(sim, 1, kind='m5.large')
    sim.knobs(page_before_filter=1)
    got = pages(MaxResults=6, **filters(instance_type='m5.large'))
    assert [len(p) for p in got] == [0, 0, 1]
    sim.knobs(page_before_filter=0)
    token = sim.ok('DescribeInstances', {'MaxResults': 5}).findtext('nextToken')
    assert sim.error('DescribeInstances', {'NextToken': token, **filters(
        instance_type='m5.large')}) == (400, 'InvalidPaginationToken')
    assert sim.error('DescribeInstances', {'InstanceId.1': wanted[0], 'MaxResults': 5}) == (
        400, 'InvalidParameterCombination')


def test_a_page_survives_deletions_between_pages(sim):
    sim.knobs(terminated_ms=0, shutdown_ms=0)
    wanted = launch(sim, 11)
    root = sim.ok('DescribeInstances', {'MaxResults': 5})
    sim.ok('TerminateInstances', numbered('InstanceId', wanted[:4]))
    rest = sim.ok('DescribeInstances', {'MaxResults': 10, 'NextToken': root.findtext('nextToken')})
    assert ids(rest) == wanted[5:]


def test_status_is_of_running_ones_unless_all_are_asked_for(sim):
    sim.knobs(boot_ms=60000)
    wanted, = launch(sim)
    assert sim.ok('DescribeInstanceStatus').find('instanceStatusSet/item') is None
    root = sim.ok('DescribeInstanceStatus', {'IncludeAllInstances': 'true'})
    assert root.findtext('.//instanceState/name') == 'pending'
    sim.knobs(boot_ms=0)
    wanted, = launch(sim)
    root = sim.ok('DescribeInstanceStatus', {'InstanceId.1': wanted})
    assert root.findtext('.//systemStatus/status') == 'ok'


def test_status_has_filters_of_its_own(sim):
    sim.knobs(boot_ms=0, node_faults=[
        {'how': 'impaired', 'count': 1}, {'how': 'scheduled', 'count': 1, 'event': 'system-reboot'}])
    (impaired,), (event,), (fine,) = launch(sim), launch(sim), launch(sim)

    def found(**query):
        return [i.text for i in sim.ok('DescribeInstanceStatus', filters(**query)).iter('instanceId')]
    assert found(**{'system-status.status': 'impaired'}) == [impaired]
    assert found(**{'instance-status.status': 'ok'}) == [event, fine]
    assert found(**{'event.code': 'system-reboot'}) == [event]
    assert sim.error('DescribeInstanceStatus', filters(instance_type='m5.large')) == (400, 'InvalidParameterValue')


def test_images_of_strangers_are_told_by_their_owner(sim):
    root = sim.ok('DescribeImages', filters(name='Deep Learning Base OSS*'))
    newest = max(root.findall('imagesSet/item'), key=lambda i: i.findtext('creationDate'))
    assert newest.findtext('imageOwnerId') == '666666666666'
    assert newest.findtext('imageId') != newest_image(sim)
    arm = sim.ok('DescribeImages', filters(architecture='arm64'))
    assert len(arm.findall('imagesSet/item')) == 1


def test_addresses_of_a_subnet_run_out(sim):
    here = {'SubnetId': subnet(sim)}
    for _ in range(4):
        launch(sim, 1000, **here)
    assert sim.error('RunInstances', run(sim, 92, **here)) == (
        400, 'InsufficientFreeAddressesInSubnet')
    got = launch(sim, 91, **here)
    free = sim.ok('DescribeSubnets', {'SubnetId.1': here['SubnetId']})
    assert free.findtext('.//availableIpAddressCount') == '0'
    addresses = {i['privateIpAddress'] for i in sim.world('us-east-1')['instances']}
    assert len(addresses) == 4091 and states(sim, got[0])

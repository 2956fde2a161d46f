"""Every member of every answer is in the published API, and has the right type."""
import json
import os
import re
import xml.etree.ElementTree as ElementTree

from helpers import group, interface, launch, tagged, wait_state
from sim_server import Sim

with open(os.path.join(os.path.dirname(__file__), 'answers.json')) as f:
    ANSWERS = json.load(f)
# EC2 itself sends these, though the description of the answer does not have them.
KNOWN_EXTRAS = {'requestId', 'return'}
PATTERNS = {'integer': r'-?\d+', 'boolean': r'true|false', 'float': r'-?\d+\.\d+|-?\d+',
            'timestamp': r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z'}


def complaints(element, form, path):
    if form == 'any':
        return
    if isinstance(form, str):
        if not re.fullmatch(PATTERNS.get(form, r'[\s\S]*'), element.text or ''):
            yield f'{path} is no {form}: {element.text}'
    elif 'enum' in form:
        if (element.text or '') not in form['enum']:
            yield f'{path} is none of {form["enum"]}: {element.text}'
    elif 'list' in form:
        for child in element:
            if child.tag != 'item':
                yield f'{path} has a {child.tag}'
            yield from complaints(child, form['list'], path + '[]')
    else:
        for child in element:
            if child.tag in form['members']:
                yield from complaints(child, form['members'][child.tag], f'{path}.{child.tag}')
            elif '.' in path or child.tag not in KNOWN_EXTRAS:
                yield f'{path} has no {child.tag}'


class CheckedSim(Sim):
    """Checks each answer that it gets."""
    checked = frozenset()

    def ok(self, action, params=None, **more):
        root = super().ok(action, params, **more)
        assert list(complaints(root, ANSWERS[action], action)) == []
        self.checked |= {action}
        return root


def test_the_check_sees_what_is_wrong():

    root = ElementTree.fromstring('<a><instancesSet><item><colour/><amiLaunchIndex>x</amiLaunchIndex>'
                                  '</item></instancesSet></a>')
    assert len(list(complaints(root, ANSWERS['RunInstances'], 'RunInstances'))) == 2


def test_all_answers_have_the_published_shape():
    blocks = [{'type': 'p4d.24xlarge', 'zone': 'us-east-1a', 'count': 4, 'hours': 24, 'fee': 1000.5}]
    with CheckedSim('--boot-ms', '10', '--shutdown-ms', '10', '--knobs', json.dumps({'capacity_blocks': blocks})) as sim:
        sg = group(sim, 'a', x='1')
        sim.ok('CreatePlacementGroup', {'GroupName': 'pg', 'Strategy': 'cluster', **tagged('placement-group', x='1')})
        wanted, = launch(sim, SecurityGroupId__1=sg, IamInstanceProfile__Name='p', UserData='aGk=')
        brief, = launch(sim, kind='p4d.24xlarge', Placement__GroupName='pg', InstanceMarketOptions__MarketType='spot',
                        InstanceMarketOptions__SpotOptions__MaxPrice='9.5')
        wait_state(sim, 'running', wanted)
        rule = {'GroupId': sg, 'IpPermissions.1.IpProtocol': 'tcp', 'IpPermissions.1.FromPort': 1,
                'IpPermissions.1.ToPort': 2, 'IpPermissions.1.Groups.1.GroupId': sg,
                'IpPermissions.1.Ipv6Ranges.1.CidrIpv6': '2001:db8::/32'}
        for way in ('Ingress', 'Egress'):
            sim.ok('AuthorizeSecurityGroup' + way, rule)
        eni = interface(sim)
        reserved = sim.ok('CreateCapacityReservation', {
            'InstanceType': 'g4dn.xlarge', 'InstancePlatform': 'Linux/UNIX', 'AvailabilityZone': 'us-east-1a',
            'InstanceCount': 1, 'EndDateType': 'limited', 'EndDate': '2099-01-01T00:00:00Z'}).find('capacityReservation')
        offered = sim.ok('DescribeCapacityBlockOfferings', {'CapacityDurationHours': 24})
        sim.ok('PurchaseCapacityBlock', {'InstancePlatform': 'Linux/UNIX', 'CapacityBlockOfferingId':
                                         offered.findtext('.//capacityBlockOfferingId')})
        for action in ANSWERS:
            if action.startswith('Describe') and action not in ('DescribeInstanceAttribute',
                                                                'DescribeCapacityBlockOfferings'):
                sim.ok(action)
        sim.ok('CancelCapacityReservation', {'CapacityReservationId': reserved.findtext('capacityReservationId')})
        for attribute in ('userData', 'instanceType', 'disableApiTermination', 'groupSet'):
            sim.ok('DescribeInstanceAttribute', {'InstanceId': wanted, 'Attribute': attribute})
        sim.ok('GetConsoleOutput', {'InstanceId': wanted, 'Latest': 'true'})
        sim.ok('ModifyInstanceMetadataOptions', {'InstanceId': brief, 'HttpTokens': 'required'})
        request = sim.world(sim.region)['spot_requests'][0]['spotInstanceRequestId']
        sim.ok('CancelSpotInstanceRequests', {'SpotInstanceRequestId.1': request})
        sim.ok('TerminateInstances', {'InstanceId.1': brief})
        wait_state(sim, 'terminated', brief)
        sim.ok('DescribeSpotInstanceRequests')
        sim.ok('DeletePlacementGroup', {'GroupName': 'pg'})
        one = {'InstanceId.1': wanted}
        sim.ok('RebootInstances', one)
        sim.ok('StopInstances', one)
        wait_state(sim, 'stopped', wanted)
        sim.ok('DescribeInstances')
        sim.ok('ModifyInstanceAttribute', {'InstanceId': wanted, 'GroupId.1': sg})
        sim.ok('StartInstances', one)
        sim.ok('CreateTags', {'ResourceId.1': wanted, 'Tag.1.Key': 'a'})
        sim.ok('DeleteTags', {'ResourceId.1': wanted})
        sim.ok('ModifyNetworkInterfaceAttribute', {
            'NetworkInterfaceId': eni, 'Description.Value': 'x'})
        sim.ok('DeleteNetworkInterface', {'NetworkInterfaceId': eni})
        sim.ok('TerminateInstances', one)
        wait_state(sim, 'terminated', wanted)
        for way in ('Ingress', 'Egress'):
            sim.ok('RevokeSecurityGroup' + way, rule)
        sim.ok('DeleteSecurityGroup', {'GroupId': sg})
        assert sim.checked == set(ANSWERS)

"""Requests that no client sends. The server answers each and keeps running (under sanitizers, too)."""
import random
import socket
import string
import urllib.parse

import pytest
from helpers import group, launch
from sim_server import Sim

HEAD = 'Action={}&Version=2016-11-15&'


@pytest.fixture(scope='module')
def sim():
    with Sim('--boot-ms', '0') as server:
        yield server


def post(sim, body, **kwargs):
    status, _, reply = sim.raw(body, **kwargs)
    sim.ok('DescribeVpcs')
    return status, reply


@pytest.mark.parametrize('body, code', [
    ('', 'MissingAction'), ('&&&', 'MalformedQueryString'), ('Action', 'MalformedQueryString'),
    ('=x', 'MalformedQueryString'), ('Action=%', 'MalformedQueryString'),
    ('Action=%zz', 'MalformedQueryString'), ('Action=%ff%fe', 'MalformedQueryString'),
    ('Action=%00', 'MalformedQueryString'), ('Action=a%01b', 'MalformedQueryString'),
    ('Action=DescribeVpcs&Action=DescribeVpcs', 'MalformedQueryString'),
    ('A.b=1&A=2', 'MalformedQueryString'), ('A=2&A.b=1', 'MalformedQueryString'),
    (b'Action=Describe\x00Vpcs', 'MalformedQueryString'),
    (b'Action=\xff\xfe', 'MalformedQueryString'),
    ('.'.join(['A'] * 2000) + '=1', 'MalformedQueryString'),
    ('.' * 5000 + '=1', 'MalformedQueryString'),
])
def test_forms_that_are_none(sim, body, code):
    status, reply = post(sim, body)
    assert status == 400 and f'<Code>{code}</Code>'.encode() in reply


@pytest.mark.parametrize('rest, code', [
    ('..=1', 'UnknownParameter'), ('Filter=1', 'UnknownParameter'),
    ('Filter.1.Name.x=1', 'UnknownParameter'), ('Filter.0.Name=x', 'UnknownParameter'),
    ('Filter.-1.Name=x', 'UnknownParameter'), ('Filter.99999999999999999999.Name=x', 'UnknownParameter'),
    ('InstanceId.1.2=x', 'UnknownParameter'), ('MaxResults=99999999999999999999', 'InvalidParameterValue'),
    ('MaxResults=', 'InvalidParameterValue'), ('InstanceId.1=', 'InvalidInstanceID.Malformed'),
    ('NextToken=%F0%9F%98%80', 'InvalidPaginationToken'), ('NextToken=Lw%3D%3D', 'InvalidPaginationToken'),
    ('Filter.2147483647.Name=instance-id&Filter.2147483647.Value.2147483647=x', None),
])
def test_odd_parameters(sim, rest, code):
    status, reply = post(sim, HEAD.format('DescribeInstances') + rest)
    if code is None:
        assert status == 200
    else:
        assert status == 400 and f'<Code>{code}</Code>'.encode() in reply


def test_thousands_of_filters_and_ids(sim):
    many = '&'.join(f'Filter.{n}.Name=tag:x&Filter.{n}.Value.1=*' for n in range(1, 5000))
    status, reply = post(sim, HEAD.format('DescribeInstances') + many)
    assert status == 400 and b'FilterLimitExceeded' in reply
    many = '&'.join(f'InstanceId.{n}=i-{n:017x}' for n in range(1, 20000))
    status, reply = post(sim, HEAD.format('DescribeInstances') + many)
    assert status == 400 and b'InvalidInstanceID.NotFound' in reply


def test_stars_do_not_explode(sim):
    group(sim, 'a' * 200)
    pattern = '*a' * 500 + 'b'
    status, _ = post(sim, HEAD.format('DescribeSecurityGroups') +
                     'Filter.1.Name=group-name&Filter.1.Value.1=' + pattern)
    assert status == 200


def test_a_body_beyond_the_cap_is_refused(sim):
    status, _ = post(sim, 'A=' + 'x' * (5 << 20))
    assert status == 413
    status, _ = post(sim, HEAD.format('DescribeVpcs') + 'Filter.1.Name=' + 'x' * (3 << 20))
    assert status == 400


@pytest.mark.parametrize('method', ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'BREW'])
def test_other_methods(sim, method):
    status, _ = post(sim, 'x', method=method)
    assert status in (405, 501)


@pytest.mark.parametrize('header', [
    'AWS4-HMAC-SHA256 ' + 'Credential=' * 500, 'AWS4-HMAC-SHA256 Credential=////, SignedHeaders=, Signature=',
    'AWS4-HMAC-SHA256', 'AWS4-HMAC-SHA256 ,,,,,====', 'AWS4-HMAC-SHA256 Credential=' + '/' * 4000])
def test_odd_authorization(sim, header):
    status, _ = post(sim, HEAD.format('DescribeVpcs')[:-1], headers={'Authorization': header})
    assert status in (400, 401)


@pytest.mark.parametrize('date', ['yesterday', '20261399T999999Z', '0', '2' * 3000])
def test_odd_dates(sim, date):
    status, reply = post(sim, HEAD.format('DescribeVpcs')[:-1], stamp=date)
    assert status in (400, 401), reply


@pytest.mark.parametrize('body', [b'{', b'[' * 100000, b'nul', b'{"a": 1, "a": 2}', b'\xff', b'{"boot_ms": 1e400}',
                                  b'{"capacity": {"x": {"y": 99999999999999999999}}}',
                                  b'{"latency_by_action": {"a": "b"}}'])
def test_odd_json_at_the_control_endpoint(sim, body):
    for method, path in (('PUT', '/_sim/knobs'), ('POST', '/_sim/faults')):
        status, _ = post(sim, body, method=method, path=path)
        assert status == 400


def test_raw_bytes_on_the_socket(sim):
    chance = random.Random(7)
    for n in range(60):
        with socket.create_connection(('127.0.0.1', sim.port), timeout=10) as s:
            start = chance.choice([b'', b'POST / HTTP/1.1\r\n', b'GET /_sim/ready HTTP/1.1\r\nHost: x\r\n',
                                   b'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n'])
            s.sendall(start + chance.randbytes(chance.randrange(400)))
    sim.ok('DescribeVpcs')


def test_random_requests(sim):
    """Names from the API, values from a list of hostile ones, random structure."""
    launch(sim, 3)
    chance = random.Random(11)
    actions = ('RunInstances DescribeInstances AuthorizeSecurityGroupIngress CreateTags DeleteTags '
               'CreateNetworkInterface DescribeImages ModifyInstanceAttribute RevokeSecurityGroupEgress '
               'DescribeSecurityGroupRules CreateSecurityGroup DescribeInstanceTypeOfferings '
               'TerminateInstances ModifyNetworkInterfaceAttribute DescribeInstanceAttribute '
               'CreatePlacementGroup DescribePlacementGroups DeletePlacementGroup ModifyInstanceMetadataOptions '
               'DescribeSpotInstanceRequests CancelSpotInstanceRequests').split()
    world = sim.world('us-east-1')
    live = [d[k] for t, k in (('instances', 'instanceId'), ('network_interfaces', 'networkInterfaceId'),
                              ('security_groups', 'groupId'), ('subnets', 'subnetId'),
                              ('images', 'imageId'), ('volumes', 'volumeId')) for d in world[t]]
    values = live + ['', '0', '-1', '1', '5', '65536', 'true', 'false', '*', '%s%n', '\\', 'a' * 3000,
                     '\u202e', 'g4dn.xlarge', 'instance', 'tcp', '-1', '10.0.0.0/8', '::/0', 'tag:x',
                     'aGk=', 'us-east-1a', 'userData', 'region', 'zone', 'spot', 'cluster', 'nan', '1e999', 'sir-00000000']
    names = ('ImageId InstanceType MinCount MaxCount ClientToken SubnetId SecurityGroupId.1 GroupId '
             'UserData NetworkInterface.1.NetworkInterfaceId NetworkInterface.1.DeviceIndex '
             'NetworkInterface.2.DeviceIndex NetworkInterface.1.SubnetId PrivateIpAddress '
             'BlockDeviceMapping.1.DeviceName BlockDeviceMapping.1.Ebs.VolumeSize InstanceId InstanceId.1 '
             'Attribute Value Filter.1.Name Filter.1.Value.1 MaxResults NextToken ResourceId.1 Tag.1.Key '
             'Tag.1.Value TagSpecification.1.ResourceType TagSpecification.1.Tag.1.Key '
             'IpPermissions.1.IpProtocol IpPermissions.1.FromPort IpPermissions.1.ToPort '
             'IpPermissions.1.IpRanges.1.CidrIp IpPermissions.1.Ipv6Ranges.1.CidrIpv6 '
             'IpPermissions.1.Groups.1.GroupId GroupName GroupDescription VpcId LocationType '
             'NetworkInterfaceId Attachment.AttachmentId Description.Value DryRun Owner.1 Strategy PartitionCount '
             'Placement.GroupName Placement.GroupId InstanceMarketOptions.MarketType HttpTokens '
             'InstanceMarketOptions.SpotOptions.MaxPrice SpotInstanceRequestId.1 HttpPutResponseHopLimit').split()
    seen = {}
    for _ in range(1500):
        action = chance.choice(actions)
        form = {'Action': action, 'Version': '2016-11-15'}
        for _ in range(chance.randrange(8)):
            form[chance.choice(names)] = chance.choice(values)
        if action == 'RunInstances' and chance.random() < 0.7:
            form.update(MinCount='1', MaxCount='2', ImageId=world['images'][1]['imageId'],
                        InstanceType='g4dn.xlarge')
        status, _, reply = sim.raw(urllib.parse.urlencode(form))
        assert reply.startswith(b'<?xml'), reply[:200]
        assert b'<Code>InternalError</Code>' not in reply, form
        seen[status] = seen.get(status, 0) + 1
    assert seen[200] > 20 and seen[400] > 200, seen
    text = ''.join(chance.choice(string.printable) for _ in range(4000))
    post(sim, text)

"""The official client against the simulator. It takes a second to start, so one test covers everything."""
import json
import os
import subprocess

import pytest
from helpers import group, newest_image, subnet, wait_state
from sim_server import Sim

AWS = '/usr/bin/aws'
pytestmark = pytest.mark.skipif(not os.access(AWS, os.X_OK), reason="Debian's awscli is not installed")


@pytest.fixture(scope='module')
def sim():
    with Sim('--boot-ms', '30', '--shutdown-ms', '30') as server:
        yield server


def aws(sim, *words, fails=None, service='ec2'):
    # ASan's variables are for us, not for Python.
    done = subprocess.run([AWS, '--endpoint-url', sim.url, '--output', 'json', service, *words],
                          env=sim.env(), capture_output=True, text=True, timeout=120)
    if fails:
        assert done.returncode != 0 and f'({fails})' in done.stderr, done.stderr
        return None
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout.strip() else None


def test_look_and_tamper_with_instances(sim):
    image = newest_image(sim)
    made = aws(sim, 'run-instances', '--image-id', image, '--instance-type', 'g4dn.xlarge', '--count', '1:2',
               '--client-token', 'cli', '--subnet-id', subnet(sim), '--user-data', 'echo hi',
               '--metadata-options', 'HttpTokens=required',
               '--tag-specifications', 'ResourceType=instance,Tags=[{Key=Name,Value=n}]',
               '--block-device-mappings', 'DeviceName=/dev/sda1,Ebs={VolumeSize=80,Encrypted=true}')
    first, second = [i['InstanceId'] for i in made['Instances']]
    wait_state(sim, 'running', first, second)
    found = aws(sim, 'describe-instances', '--filters', 'Name=tag:Name,Values=n', '--max-items', '1',
                '--page-size', '5')
    assert found['Reservations'][0]['Instances'][0]['State'] == {'Code': 16, 'Name': 'running'}
    aws(sim, 'create-tags', '--resources', first, '--tags', 'Key=owner,Value=a b&c')
    aws(sim, 'delete-tags', '--resources', first, '--tags', 'Key=Name')
    shown = aws(sim, 'describe-instances', '--instance-ids', first)['Reservations'][0]['Instances'][0]
    assert shown['Tags'] == [{'Key': 'owner', 'Value': 'a b&c'}]
    assert shown['NetworkInterfaces'][0]['Attachment']['DeviceIndex'] == 0
    got = aws(sim, 'stop-instances', '--instance-ids', second)
    assert got['StoppingInstances'][0]['CurrentState']['Name'] == 'stopping'
    got = aws(sim, 'terminate-instances', '--instance-ids', first)
    assert got['TerminatingInstances'][0]['PreviousState']['Name'] == 'running'
    aws(sim, 'wait', 'instance-terminated', '--instance-ids', first)
    aws(sim, 'terminate-instances', '--instance-ids', 'i-0123456789abcdef0',
        fails='InvalidInstanceID.NotFound')


def test_look_at_the_account(sim):
    sim.knobs(quotas={'L-417A185B': 96}, instance_profiles=['ray'], egress={'*': 'nat_gateway', 'us-east-1a': 'none'})
    quota = ('get-service-quota', '--service-code', 'ec2', '--quota-code')
    shown = aws(sim, *quota, 'L-417A185B', service='service-quotas')['Quota']
    assert (shown['Value'], shown['QuotaName']) == (96, 'Running On-Demand P instances')
    assert aws(sim, *quota, 'L-C4BD4855', service='service-quotas')['Quota']['Value'] > 1e5
    aws(sim, *quota, 'L-00000000', service='service-quotas', fails='NoSuchResourceException')
    shown = aws(sim, 'get-instance-profile', '--instance-profile-name', 'ray', service='iam')['InstanceProfile']
    assert [role['RoleName'] for role in shown['Roles']] == ['ray'] and shown['Arn'].endswith(':instance-profile/ray')
    aws(sim, 'get-instance-profile', '--instance-profile-name', 'no', service='iam', fails='NoSuchEntity')
    main, = aws(sim, 'describe-route-tables', '--filters', 'Name=association.main,Values=true')['RouteTables']
    assert main['Routes'][1]['NatGatewayId'].startswith('nat-') and main['Associations'][0]['Main']
    own, = aws(sim, 'describe-route-tables', '--filters', f'Name=association.subnet-id,Values={subnet(sim)}')['RouteTables']
    assert len(own['Routes']) == 1 and own['RouteTableId'] != main['RouteTableId']
    aws(sim, 'describe-route-tables', '--route-table-ids', 'rtb-00000000', fails='InvalidRouteTableID.NotFound')


def test_look_and_tamper_with_groups_and_interfaces(sim):
    sg = group(sim, 'cli')
    aws(sim, 'authorize-security-group-ingress', '--group-id', sg, '--protocol', 'tcp', '--port', '22',
        '--cidr', '0.0.0.0/0')
    one = aws(sim, 'describe-security-groups', '--group-ids', sg)['SecurityGroups'][0]
    assert one['IpPermissions'][0]['IpRanges'] == [{'CidrIp': '0.0.0.0/0'}]
    aws(sim, 'revoke-security-group-ingress', '--group-id', sg, '--protocol', 'tcp', '--port', '22',
        '--cidr', '0.0.0.0/0')
    eni = aws(sim, 'create-network-interface', '--subnet-id', subnet(sim), '--groups', sg)[
        'NetworkInterface']['NetworkInterfaceId']
    shown = aws(sim, 'describe-network-interfaces', '--network-interface-ids', eni)
    assert shown['NetworkInterfaces'][0]['Groups'][0]['GroupId'] == sg
    aws(sim, 'delete-security-group', '--group-id', sg, fails='DependencyViolation')


def test_who_and_where(sim):
    assert aws(sim, 'get-caller-identity', service='sts')['Account'] == '123456789012'
    types = aws(sim, 'describe-instance-types', '--instance-types', 'p4d.24xlarge')['InstanceTypes']
    assert types[0]['GpuInfo']['Gpus'][0]['Count'] == 8


def test_roles_parameters_spot_and_placement_groups(sim):
    role = aws(sim, 'assume-role', '--role-arn', 'arn:aws:iam::123456789012:role/r', '--role-session-name', 'cli',
               service='sts')['Credentials']
    session = dict(AWS_ACCESS_KEY_ID=role['AccessKeyId'], AWS_SECRET_ACCESS_KEY=role['SecretAccessKey'],
                   AWS_SESSION_TOKEN=role['SessionToken'])
    done = subprocess.run([AWS, '--endpoint-url', sim.url, 'ssm', 'get-parameter', '--output', 'json', '--name',
                           '/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id'],
                          env=sim.env(**session), capture_output=True, text=True, timeout=120)
    image = json.loads(done.stdout)['Parameter']['Value']
    aws(sim, 'create-placement-group', '--group-name', 'cli', '--strategy', 'cluster')
    made = aws(sim, 'run-instances', '--image-id', image, '--instance-type', 'p4d.24xlarge', '--placement',
               'GroupName=cli', '--instance-market-options', 'MarketType=spot,SpotOptions={MaxPrice=20}')
    one = made['Instances'][0]
    assert one['InstanceLifecycle'] == 'spot' and one['Placement']['GroupName'] == 'cli'
    spot = aws(sim, 'describe-spot-instance-requests')['SpotInstanceRequests']
    assert [s['InstanceId'] for s in spot] == [one['InstanceId']]
    aws(sim, 'delete-placement-group', '--group-name', 'cli', fails='InvalidPlacementGroup.InUse')


def test_a_wrong_secret_is_told(sim):
    done = subprocess.run([AWS, '--endpoint-url', sim.url, 'ec2', 'describe-vpcs'], capture_output=True, text=True,
                          env=sim.env(AWS_SECRET_ACCESS_KEY='wrong'), timeout=120)
    assert done.returncode != 0 and '(SignatureDoesNotMatch)' in done.stderr


def test_reserve_and_launch_into_it(sim):
    made = aws(sim, 'create-capacity-reservation', '--instance-type', 'g4dn.xlarge', '--instance-platform', 'Linux/UNIX',
               '--availability-zone', 'us-east-1a', '--instance-count', '2', '--instance-match-criteria', 'targeted')
    wanted = made['CapacityReservation']['CapacityReservationId']
    run = aws(sim, 'run-instances', '--image-id', newest_image(sim), '--instance-type', 'g4dn.xlarge', '--count', '1',
              '--capacity-reservation-specification',
              json.dumps({'CapacityReservationTarget': {'CapacityReservationId': wanted}}))
    assert run['Instances'][0]['CapacityReservationId'] == wanted
    shown, = aws(sim, 'describe-capacity-reservations', '--capacity-reservation-ids', wanted)['CapacityReservations']
    assert (shown['State'], shown['TotalInstanceCount'], shown['AvailableInstanceCount'], shown['EndDateType']) == (
        'active', 2, 1, 'unlimited')
    assert aws(sim, 'cancel-capacity-reservation', '--capacity-reservation-id', wanted)['Return'] is True

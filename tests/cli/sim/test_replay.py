"""boto3's requests to moto, sent to the simulator: same status and code, and no member missing.

replay.json is derived from recorded conversations; their ids are replaced by ours as they occur. Where the
two differ on purpose, the reason is written here."""
import json
import os
import re
from xml.etree import ElementTree

import pytest
from helpers import GPU_NAME, newest_image, subnet
from sim_server import Sim, plain

with open(os.path.join(os.path.dirname(__file__), 'replay.json')) as f:
    REPLAY = json.load(f)
with open(os.path.join(os.path.dirname(__file__), 'answers.json')) as f:
    ANSWERS = json.load(f)


def paths(element, path=''):
    for child in element:
        yield f'{path}/{child.tag}'
        yield from paths(child, f'{path}/{child.tag}')


def is_published(operation, path):
    form = ANSWERS.get(operation, 'any')
    for part in path.split('/')[1:]:
        if form == 'any':
            return True
        form = form.get('list') if part == 'item' and 'list' in form else form.get('members', {}).get(part)
        if not form or isinstance(form, str) and form != 'any':
            return form is not None
    return True


# moto's members that EC2 sends only if they have a value, or that are not simulated.
ABSENT = {
    'DescribeVpcs': {'ipv6CidrBlockAssociationSet'},       # the default VPC has no IPv6
    'DescribeImages': {'platform', 'productCodes'},        # Windows, marketplace
    'RunInstances': {'keyName', 'platform', 'sriovNetSupport', 'stateReason'},
    'DescribeInstances': {'keyName', 'platform', 'sriovNetSupport', 'stateReason', 'kernelId', 'instanceLifecycle'},
}
# Where moto is more lenient than EC2: the simulator's answer.
STRICTER = {
    ('RunInstances', 'ami-00000000'): (400, 'InvalidAMIID.NotFound'),
    ('DescribeVolumes', 'vol-81d9e0a3c08fe5b29'): (400, 'InvalidVolume.NotFound'),  # CreateVolume is not simulated
    ('DeleteSecurityGroup', 'sg-72f30c08a2b0a7bc8'): (400, 'DependencyViolation'),  # instances use it
}
FOREIGN = ('i-c82a53e107e50ccf7', 'i-0a295f182256ec8de', 'i-dfdf46a0d13488998', 'i-48ee2dff22e7a9f37',
           'i-c5964985f3f56bdfd')


def wanted(one):
    for (operation, word), verdict in STRICTER.items():
        if operation == one['operation'] and word in one['body']:
            return verdict
    return one['status'], one['code']


class Replayer:
    def __init__(self, sim):
        self.sim = sim
        self.ids = {}

    def body(self, one):
        text = one['body'].replace('&KeyName=raygpu', '')  # key pairs are not simulated
        for theirs, ours in self.ids.items():
            text = text.replace(theirs, ours)
        # Instances of launch templates and fleets, which the simulator does not know.
        return re.sub(r'&InstanceId\.\d+=(%s)\b' % '|'.join(FOREIGN), '', text)

    def play(self, one):
        body = self.body(one)
        if one['service'] == 'ssm':
            headers = self.sim.sign(body.encode(), service='ssm', headers={
                'X-Amz-Target': 'AmazonSSM.' + one['operation'], 'Content-Type': 'application/x-amz-json-1.1'})
            status, _, reply = self.sim.raw(body, headers)
            answer = json.loads(reply)
            return status, answer.get('__type'), {f'/{k}/{m}' for k, v in answer.items() if isinstance(v, dict)
                                                  for m in v}
        status, _, reply = self.sim.raw(body, service=one['service'])
        root = plain(ElementTree.fromstring(reply))
        made = {'RunInstances': 'instanceId', 'CreateSecurityGroup': 'groupId'}.get(one['operation'])
        self.ids.update(zip(one['ids'], [e.text for e in root.iter(made or 'nothing')]))
        return status, root.findtext('.//Code'), set(paths(root))


@pytest.fixture(scope='module')
def replayer():
    with Sim('--boot-ms', '0', '--shutdown-ms', '0', '--knobs', json.dumps({'parameters': {
            '/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64': 'ami-0ed094fb1304fd857'}})) as sim:
        yield Replayer(sim)


def test_conversations_have_the_same_shape(replayer):
    sim = replayer.sim
    image = newest_image(sim, GPU_NAME)
    replayer.ids.update({'vpc-42d388e3976e3833c': sim.ok('DescribeVpcs').findtext('vpcSet/item/vpcId'),
                         'subnet-3fb614678de97c77a': subnet(sim), 'ami-04681a1dbd79675a5': image,
                         'amzn2-ami-hvm%2A': 'Deep+Learning+Base%2A'})
    complaints, played = [], 0
    for one in REPLAY:
        got = replayer.play(one)
        if (got[0], got[1]) != wanted(one):
            complaints.append((one['operation'], one['body'][:120], wanted(one), got[:2]))
            continue
        played += 1
        if got[0] == 200:
            lost = [p for p in one['paths'] if p not in got[2] and is_published(one['operation'], p)
                    and not ABSENT.get(one['operation'], set()) & set(p.split('/'))]
            if lost:
                complaints.append((one['operation'], lost))
    assert complaints == [] and played >= 25

"""What plan and apply ask EC2, IAM and Service Quotas before nodes are created (providers/aws/preflight*.c)."""
import json
import re

import pytest
from cut import Cut
from program import ROOT, Home, spec
from sim_server import Sim

IGW = {'egress': {'*': 'internet_gateway'}}
GONE = {'egress': {'*': 'deleted_nat_gateway'}}
WIDE = '{accelerators: "T4:1", nodes: 1}'


def words(said):
    return ' '.join(said.err.split())


@pytest.fixture
def home(tmp_path, sim):
    home = Home(tmp_path, sim.env())
    home.write('cluster.yaml', spec(pools={'serve': 2, 'train': ('A100:8', 2)}))
    return home


def test_all_is_found_at_once_under_the_lines_of_the_spec(home, sim):
    sim.knobs(quotas={'L-417A185B': 100}, instance_profiles=[], **IGW)
    home.write('cluster.yaml', home.read('cluster.yaml').replace('us-east-1}', 'us-east-1, instance_profile: ray}'))
    said = home.run('plan', 'cluster.yaml', code=None)
    assert said.code in (1, 8) and said.err.count('Error:') == 3 and 'Warning' not in said.err, said
    assert 'there is no instance profile ray' in said.err and 'cluster.yaml:3:' in said.err
    assert 'adds 192 vCPUs, but of the quota "Running On-Demand P instances" of 100 only 100 are free' in words(said)
    assert 'train: 2 x p4d.24xlarge = 192 vCPUs' in said.err and 'cluster.yaml:8:' in said.err
    assert '--quota-code L-417A185B --desired-value 192`' in words(said)
    pools = re.search('the nodes of (.*) cannot load their container image', words(said))
    assert sorted(pools[1].split(', ')) == ['head', 'serve', 'train']
    assert 'goes out by an internet gateway, and they have no public address' in words(said)
    assert home.apply(code=None).code == said.code and not sim.live_instances()
    home.run('plan', 'cluster.yaml', '--skip-preflight')


def test_a_quota_counts_what_runs_in_the_account_whoever_made_it(home, sim):
    sim.knobs(quotas={'L-417A185B': 192 + 95, 'L-DB2E81BA': 8, 'L-7212CCBC': 0})
    assert 'Error' not in home.run('plan', 'cluster.yaml').err
    sim.ok('RunInstances', {'ImageId': sim.world('us-east-1')['images'][0]['imageId'], 'InstanceType': 'p4d.24xlarge',
                            'MinCount': 1, 'MaxCount': 1})
    said = home.run('plan', 'cluster.yaml', code=8)
    assert 'of the quota "Running On-Demand P instances" of 287 only 191 are free' in words(said)
    sim.knobs(quotas={'L-417A185B': 192 + 96})
    home.apply()
    # what is replaced gives back what it takes
    home.write('cluster.yaml', home.read('cluster.yaml').replace('nodes: 2}', 'nodes: 2, disk: {size: 300GB}}'))
    assert 'Error' not in home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2).err
    home.write('cluster.yaml', home.read('cluster.yaml').replace('A100:8", nodes: 2', 'A100:8", nodes: 3'))
    assert 'adds 96 vCPUs' in words(home.run('plan', 'cluster.yaml', code=8))


def test_what_an_interrupted_run_has_made_does_not_count_twice(home, sim):
    """Its request is sent again with the token, and makes nothing more."""
    sim.knobs(quotas={'L-417A185B': 192})
    with Cut(sim.url, lambda url: {'AWS_ENDPOINT_URL': url}, ('answer', '^(?!.*DryRun=true).*Action=RunInstances.*p4d')) as cut:
        assert cut.run(home, 'apply', 'cluster.yaml', '--auto-approve', '--no-wait') == -9
    assert sum(one['instanceType'] == 'p4d.24xlarge' for one in sim.live_instances()) == 2
    home.apply('cluster.yaml', '--no-wait')
    assert sum(one['instanceType'] == 'p4d.24xlarge' for one in sim.live_instances()) == 2


def test_spot_has_quotas_of_its_own(home, sim):
    home.write('cluster.yaml', spec(pools={'train': ('A100:8', 1)}, pool_extra=', market: {spot: {max_price: 20.0}}'))
    sim.knobs(quotas={'L-417A185B': 0, 'L-7212CCBC': 96})
    home.run('plan', 'cluster.yaml')
    sim.knobs(quotas={'L-7212CCBC': 95})
    assert '"All P4 P3 and P2 Spot Instance Requests" of 95' in words(home.run('plan', 'cluster.yaml', code=8))


@pytest.mark.parametrize('egress,public,said', [
    ({'*': 'nat_gateway'}, False, None),
    ({'*': 'transit_gateway'}, False, None),
    ({'*': 'internet_gateway'}, True, None),
    ({'*': 'internet_gateway'}, False, 'goes out by an internet gateway'),
    ({'*': 'none'}, True, 'has no default route'),
    ({'*': 'deleted_nat_gateway'}, False, 'leads to something that was deleted'),
    ({'*': 'none', 'us-east-1a': 'nat_gateway'}, False, None),
    ({'*': 'nat_gateway', 'us-east-1a': 'none'}, False, 'has no default route'),
])
def test_the_way_out(home, sim, egress, public, said):
    sim.knobs(egress=egress)
    extra = ', zones: [us-east-1a]' + (', public_ip: true' if public else '')
    home.write('cluster.yaml', spec(pools={'serve': 1}, pool_extra=extra).replace('2xlarge}', f'2xlarge{extra}}}'))
    result = home.run('plan', 'cluster.yaml', code=1 if said else 0)
    assert not said or said in words(result) and result.err.count('Error:') == 1
    if said:
        home.write('cluster.yaml', home.read('cluster.yaml').replace('us-east-1}', 'us-east-1, egress_check: false}'))
        sim.counters_reset()
        home.run('plan', 'cluster.yaml')
        assert 'DescribeRouteTables' not in sim.counters()['actions']


@pytest.mark.parametrize('name', ['minimal', 'research', 'any-of'])
def test_the_examples_pass_in_the_default_vpc_of_an_account(tmp_path, name):
    with Sim('--boot-ms', '0', '--knobs', json.dumps(IGW)) as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', (ROOT / f'examples/{name}.yaml').read_text())
        said = home.run('plan', 'cluster.yaml')
        assert 'Error' not in said.err and 'checked' not in said.err
        if name == 'minimal':
            home.apply()
            nodes = sim.live_instances()
            assert len(nodes) == 2 and all(node.get('ipAddress') for node in nodes)


def test_a_dry_run_shows_what_the_caller_may_not_launch(home, sim):
    rule = {'action': 'RunInstances:dry_run', 'status': 403, 'code': 'UnauthorizedOperation', 'count': 0,
            'message': 'You are not authorized to perform: ec2:RunInstances on resource: arn:aws:ec2:us-east-1:1:instance/*'}
    sim.fault(**rule)
    said = home.run('plan', 'cluster.yaml')
    assert said.err.count('Note: these credentials may not launch the nodes of') == 3
    assert 'cluster.yaml:5:' in said.err and 'ec2:RunInstances' in said.err
    said = home.apply(code=7)
    assert 'Error: EC2 refuses to launch the nodes of train' in words(said)
    assert not sim.world('us-east-1')['security_groups'][1:], 'refused before anything is made'
    sim.faults_clear()
    # a policy that allows only the cluster's own group, which the dry run is without
    sim.fault(**{**rule, 'message': rule['message'].replace('instance/*', 'security-group/sg-1')})
    home.apply()
    assert sim.counters()['actions']['RunInstances']['requests'] == 3


def test_the_dry_run_is_the_launch(home, sim):
    home.run('plan', 'cluster.yaml', '--trace', 'plan.jsonl')
    home.run('apply', 'cluster.yaml', '--auto-approve', '--skip-preflight', '--trace', 'apply.jsonl')
    sent = {}
    for name in ('plan', 'apply'):
        for line in home.read(f'{name}.jsonl').splitlines():
            call = json.loads(line)
            if call['what'] == 'RunInstances' and 'g4dn' in call['request_body']:
                sent[name] = dict(pair.split('=', 1) for pair in call['request_body'].split('&'))
    assert sent['plan'].pop('DryRun') == 'true'
    only = {key for key in sent['apply'] if sent['plan'].get(key) is None}
    assert {key.split('.')[0] for key in only} == {'ClientToken', 'UserData', 'NetworkInterface', 'TagSpecification'}
    differs = {key for key in sent['plan'] if sent['apply'].get(key) != sent['plan'][key]}
    assert {key.split('.')[0] for key in differs} <= {'MinCount', 'MaxCount', 'TagSpecification'}


def test_what_may_not_be_read_is_one_note(home, sim):
    home.write('cluster.yaml', home.read('cluster.yaml').replace('us-east-1}', 'us-east-1, instance_profile: ray}'))
    denied = {'status': 403, 'code': 'UnauthorizedOperation', 'message': 'not you', 'count': 0}
    for action in ('DescribeRouteTables', 'DescribeInstanceTypes', 'GetInstanceProfile'):
        sim.fault(action=action, **denied)
    sim.fault(action='GetServiceQuota', **{**denied, 'status': 400, 'code': 'AccessDeniedException'})
    sim.knobs(quotas={'L-417A185B': 0})
    said = home.run('plan', 'cluster.yaml')
    assert said.err.count('Note: not everything could be checked beforehand') == 1 and 'Error' not in said.err
    for what in ('vCPU quotas: GetServiceQuota: not you', 'instance types: DescribeInstanceTypes',
                 'the way to the internet: DescribeRouteTables', 'the instance profile: GetInstanceProfile'):
        assert what in said.err, said


def test_a_service_that_cannot_be_reached_leaves_the_other_checks(home, sim):
    home.env['AWS_ENDPOINT_URL_SERVICE_QUOTAS'] = 'http://127.0.0.1:9/'
    sim.knobs(**IGW)
    said = home.run('plan', 'cluster.yaml', code=1)
    assert 'cannot load their container image' in words(said) and 'vCPU quotas: GetServiceQuota: no answer' in words(said)


def test_an_image_that_was_withdrawn(tmp_path):
    world = tmp_path / 'world.json'

    def change(edit):
        sim.stop()
        content = json.loads(world.read_text())
        for image in content['regions']['us-east-1']['images']:
            edit(image)
        world.write_text(json.dumps(content))
        sim.start()

    with Sim('--boot-ms', '0', '--shutdown-ms', '0', world=str(world)) as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec(pools={'serve': 1}))
        home.apply()
        home.write('cluster.yaml', spec(pools={'serve': 2}))
        change(lambda image: image.update(imageState='disabled'))
        assert 'is disabled, not available' in words(home.run('plan', 'cluster.yaml', code=1))
        change(lambda image: image.update(imageState='available', architecture='arm64'))
        assert 'is for arm64, which g4dn.xlarge is not' in words(home.run('plan', 'cluster.yaml', code=1))
        change(lambda image: image.update(imageId='ami-' + image['imageId'][-8:]))
        assert 'does not exist in us-east-1' in words(home.run('plan', 'cluster.yaml', code=1))


def test_a_subnet_needs_an_address_for_each_node(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': ('T4:1', 4090)}, pool_extra=', zones: [us-east-1a]').replace(
        '2xlarge}', '2xlarge, zones: [us-east-1a]}').replace('accelerators: "T4:1"', 'instance_type: g4dn.xlarge'))
    home.run('plan', 'cluster.yaml')
    sim.ok('CreateNetworkInterface', {'SubnetId': next(
        s['subnetId'] for s in sim.world('us-east-1')['subnets'] if s['availabilityZone'] == 'us-east-1a')})
    said = words(home.run('plan', 'cluster.yaml', code=8))
    assert '(us-east-1a) has 4090 free addresses, and the plan needs 4091' in said


def fixed(nodes):
    return spec(pools={'serve': nodes}, pool_extra=', zones: [us-east-1a]').replace('accelerators: "T4:1"', 'instance_type: g4dn.xlarge')


def test_a_type_that_left_its_zone(tmp_path):
    with Sim('--boot-ms', '0') as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', fixed(1))
        home.apply()
        home.write('cluster.yaml', fixed(2))
        zone = sim.live_instances()[0]['placement']['availabilityZone']
        body = ('<DescribeInstanceTypeOfferingsResponse><requestId>r</requestId><instanceTypeOfferingSet><item>'
                '<instanceType>g4dn.xlarge</instanceType><location>us-east-1f</location></item>'
                '</instanceTypeOfferingSet></DescribeInstanceTypeOfferingsResponse>')
        sim.fault(action='DescribeInstanceTypeOfferings', status=200, body=body)
        said = words(home.run('plan', 'cluster.yaml', code=8))
        assert f'g4dn.xlarge is not offered in {zone}' in said and 'zones of us-east-1 that offer it: us-east-1f' in said


def test_who_waits_for_quota_is_only_warned(home, sim):
    sim.knobs(quotas={'L-417A185B': 0})
    assert not sim.live_instances() and home.apply(code=8)
    said = home.apply('cluster.yaml', '--capacity-timeout', '1s', code=None)
    assert said.code != 8 and 'Warning: the plan adds 192 vCPUs' in words(said) and sim.live_instances()


def test_types_that_share_the_quota_are_no_way_out(home, sim):
    """p4d and p4de have 96 vCPUs each, under one quota; g6e is under another."""
    sim.knobs(quotas={'L-417A185B': 95})
    text = spec(pools={'train': ('A100-40GB:8', 1)})

    def plan(accelerators, code):
        home.write('cluster.yaml', text.replace('"A100-40GB:8"', accelerators))
        return words(home.run('plan', 'cluster.yaml', code=code))

    exceeded = 'the plan adds 96 vCPUs, but of the quota "Running On-Demand P instances" of 95'
    assert f'Error: {exceeded}' in plan('["A100-40GB:8", "A100-80GB:8"]', 8)
    assert f'Warning: {exceeded}' in plan('["A100-40GB:8", "L40S:8"]', 0)


# --- images in Amazon ECR -------------------------------------------------------------------

ECR = '123456789012.dkr.ecr.us-east-1.amazonaws.com/team/ray'
LOG_IN, PULL = 'ecr:GetAuthorizationToken', 'ecr:BatchGetImage'


def write_ecr(home, registry=ECR, extra=''):
    home.write('cluster.yaml', spec(pools={'serve': 1}).replace('us-east-1}', f'us-east-1, instance_profile: ray{extra}}}')
               .replace('rayproject/ray:2.56.1-py311-cu121', f'{registry}:2.56.1-py311-gpu'))


@pytest.mark.parametrize('denies,severity,action', [
    ({}, None, None),
    ({LOG_IN: 'implicitDeny'}, 'Error', LOG_IN),
    ({LOG_IN: 'explicitDeny', PULL: 'explicitDeny'}, 'Error', LOG_IN),
    ({PULL: 'explicitDeny'}, 'Error', PULL),
    ({PULL: 'implicitDeny'}, 'Warning', PULL),
])
def test_the_role_of_the_nodes_may_pull_their_image(home, sim, denies, severity, action):
    sim.knobs(role_denies=denies)
    write_ecr(home)
    said = home.run('plan', 'cluster.yaml', code=7 if severity == 'Error' else 0)
    if severity:
        assert (f'{severity}: the nodes cannot pull {ECR}:2.56.1-py311-gpu: the role ray of their instance profile '
                f'is not allowed {action} ') in words(said)
        assert 'cluster.yaml:3:' in said.err
    else:
        assert 'Error' not in said.err and 'checked' not in said.err
    assert said.err.count('cannot pull') == (1 if severity else 0)
    home.run('plan', 'cluster.yaml', '--skip-preflight')


def test_the_simulator_is_asked_only_about_images_that_the_role_pulls(home, sim):
    sim.knobs(role_denies={LOG_IN: 'implicitDeny', PULL: 'implicitDeny'})
    write_ecr(home, 'docker.io/rayproject/ray')
    home.run('plan', 'cluster.yaml')
    assert not {'SimulatePrincipalPolicy', 'DescribeVpcEndpoints'} & set(sim.counters()['actions'])


def test_a_simulator_that_may_not_be_asked_is_a_note(home, sim):
    sim.fault(action='SimulatePrincipalPolicy', status=403, code='AccessDenied', message='not you', count=0)
    write_ecr(home)
    said = home.run('plan', 'cluster.yaml')
    assert said.err.count('Note: not everything could be checked beforehand') == 1
    assert 'pulling from Amazon ECR: SimulatePrincipalPolicy: not you' in said.err


@pytest.mark.parametrize('services,region,ok', [
    (['ecr.api', 'ecr.dkr', 's3'], 'us-east-1', True),
    (['ecr.api', 'ecr.dkr'], 'us-east-1', False),
    (['ecr.api', 'ecr.dkr', 's3'], 'eu-west-1', False),
])
def test_endpoints_of_the_registry_are_a_way(home, sim, services, region, ok):
    sim.knobs(egress={'*': 'none'}, vpc_endpoints=services)
    write_ecr(home, ECR.replace('us-east-1', region))
    said = home.run('plan', 'cluster.yaml', code=0 if ok else 1)
    assert ('has no default route' in words(said)) == (not ok)


def write_setting(home, text):
    """Of the provider; nodes have public addresses, so that nothing else is wrong."""
    home.write('cluster.yaml', home.read('cluster.yaml').replace('us-east-1}', f'us-east-1, {text}}}').replace(
        '{instance_type', '{public_ip: true, instance_type').replace('{accelerators', '{public_ip: true, accelerators'))


def test_a_key_pair_that_does_not_exist_stops_the_plan_at_its_line(home, sim):
    sim.knobs(key_pairs=['mine'], **IGW)
    write_setting(home, 'key_name: yours')
    said = home.run('plan', 'cluster.yaml', code=1)
    assert said.err.count('InvalidKeyPair.NotFound') == 1 and 'Warning' not in said.err and 'cluster.yaml:3:' in said.err, said
    assert home.apply(code=1).err.count('InvalidKeyPair.NotFound') == 1 and not sim.live_instances()
    sim.knobs(key_pairs=['mine', 'yours'])
    home.run('plan', 'cluster.yaml')


PROFILE = 'Value (ray) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name'
TERMS = 'In order to use this AWS Marketplace product you need to accept terms and subscribe. To do so please visit https://aws.amazon.com/marketplace/pp?sku=abc'


@pytest.mark.parametrize('code,message,place,hint', [
    ('InvalidParameterValue', PROFILE, 'cluster.yaml:3:', 'aws iam list-instance-profiles'),
    ('OptInRequired', TERMS, 'cluster.yaml:5:', 'accept the terms of the image at the address in the message'),
])
def test_what_no_launch_can_have_stops_the_plan(home, sim, code, message, place, hint):
    """Refusals whose code has other meanings too: EC2's text says which. The caller may not read instance profiles."""
    sim.knobs(**IGW)
    write_setting(home, 'instance_profile: ray')
    sim.fault(action='GetInstanceProfile', when='before', status=403, code='AccessDenied', message='no', count=0)
    sim.fault(action='RunInstances:dry_run', when='before', status=400, code=code, message=message, count=0)
    said = home.run('plan', 'cluster.yaml', code=1)
    assert said.err.count('Error: ') == 1 and f'EC2 refuses the launch ({code}): {message}' in words(said) and hint in words(said), said
    assert place in said.err, said
    home.apply(code=1)
    assert not sim.live_instances() and not sim.counters()['mutating']


def test_a_profile_that_ec2_does_not_know_yet_stops_nothing(home, sim):
    """IAM has it: apply tries again."""
    sim.knobs(instance_profiles=['ray'], **IGW)
    write_setting(home, 'instance_profile: ray')
    for action, count in (('RunInstances:dry_run', 0), ('RunInstances', 2)):
        sim.fault(action=action, when='before', status=400, code='InvalidParameterValue', message=PROFILE, count=count)
    home.apply()
    assert sim.live_instances()

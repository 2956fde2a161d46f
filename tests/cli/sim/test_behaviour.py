"""What tests configure: delay, latency, faults; and what they read: counters, the world file."""
import http.client
import json
import os
import subprocess
import time
import urllib.error
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers import filters, group, ids, launch, newest_image, numbered, run, states, wait_state
from sim_server import Sim, sim_binary, tags_of

DELAY_S = 36000  # all requests of a test are sent in less


def visible(sim):
    return ids(sim.ok('DescribeInstances'))


def test_readers_are_late_and_writers_are_not(sim):
    early, = launch(sim)
    wait_state(sim, 'running', early)
    sim.knobs(consistency_ms=DELAY_S * 1000)
    sim.skip(DELAY_S + 1)
    new, = launch(sim)
    sg = group(sim)
    assert visible(sim) == [early]
    assert sim.error('DescribeInstances', {'InstanceId.1': new}) == (400, 'InvalidInstanceID.NotFound')
    assert sim.error('DescribeSecurityGroups', {'GroupId.1': sg}) == (400, 'InvalidGroup.NotFound')
    assert sim.error('DescribeSecurityGroups', {'GroupName.1': 'workers'}) == (
        400, 'InvalidGroup.NotFound')
    assert sim.error('CreateSecurityGroup', {'GroupName': 'workers', 'GroupDescription': 'x'}) == (
        400, 'InvalidGroup.Duplicate')
    sim.ok('CreateTags', {**numbered('ResourceId', [early, new]), 'Tag.1.Key': 'k', 'Tag.1.Value': 'v'})
    sim.ok('TerminateInstances', {'InstanceId.1': early})
    assert states(sim, early) == {early: 'running'}
    assert visible(sim) == [early]
    assert sim.ok('DescribeInstances', filters(tag_key='k')).find('reservationSet/item') is None
    assert [i['instanceState']['name'] for i in sim.world('us-east-1')['instances']][0] in (
        'shutting-down', 'terminated')
    sim.knobs(consistency_ms=0)
    wait_state(sim, 'terminated', early)
    assert visible(sim) == [early, new] and states(sim, early) == {early: 'terminated'}
    assert ids(sim.ok('DescribeInstances', filters(tag_key='k'))) == [early, new]


def test_a_deleted_thing_is_seen_until_the_delay_is_over(sim):
    sg = group(sim)
    sim.knobs(consistency_ms=DELAY_S * 1000)
    sim.skip(DELAY_S + 1)
    sim.ok('DeleteSecurityGroup', {'GroupId': sg})
    assert sim.ok('DescribeSecurityGroups', {'GroupId.1': sg}).findtext('.//groupName') == 'workers'
    assert sim.error('DeleteSecurityGroup', {'GroupId': sg}) == (400, 'InvalidGroup.NotFound')
    sim.knobs(consistency_ms=0)
    assert sim.error('DescribeSecurityGroups', {'GroupId.1': sg}) == (400, 'InvalidGroup.NotFound')


def test_a_longer_delay_does_not_hide_what_was_there(sim):
    sg = group(sim)
    sim.skip(3600)
    sim.ok('CreateTags', {'ResourceId.1': sg, 'Tag.1.Key': 'k', 'Tag.1.Value': 'v'})
    sim.knobs(consistency_ms=1_800_000)
    assert sim.ok('DescribeSecurityGroups', {'GroupId.1': sg}).findtext('.//groupName') == 'workers'


def test_an_error_after_commit_leaves_its_work_behind(sim):
    sim.fault(action='RunInstances', when='after')
    form = run(sim, 3, ClientToken='lost')
    assert sim.error('RunInstances', form) == (500, 'InternalError')
    assert len(sim.live_instances()) == 3
    assert len(ids(sim.ok('RunInstances', form))) == 3 and len(sim.live_instances()) == 3


def test_an_error_before_leaves_nothing(sim):
    sim.fault(action='Run*', status=503, code='RequestLimitExceeded', retry_after=7, count=2)
    assert sim.error('RunInstances', run(sim)) == (503, 'RequestLimitExceeded')
    status, headers, _ = sim.raw('Action=RunInstances&Version=2016-11-15')
    assert status == 503 and headers['Retry-After'] == '7'
    assert sim.live_instances() == [] and launch(sim)
    assert sim.counters()['injected'] == 2


def test_faults_skip_count_and_chance(sim):
    sim.fault(action='DescribeVpcs', skip=1, count=2)
    assert [sim.ec2('DescribeVpcs')[0] for _ in range(5)] == [200, 500, 500, 200, 200]
    sim.fault(action='DescribeVpcs', count=0, probability=0.5)
    got = [sim.ec2('DescribeVpcs')[0] for _ in range(60)]
    assert 10 < got.count(500) < 50
    sim.faults_clear()
    assert sim.control('GET', 'faults') == [] and sim.ec2('DescribeVpcs')[0] == 200


def test_html_truncation_and_hanging_up(sim):
    sim.fault(status=502, body='<html>Bad <b>gateway', content_type='text/html')
    status, headers, body = sim.raw('Action=DescribeVpcs&Version=2016-11-15')
    assert (status, headers['Content-Type'], body) == (502, 'text/html', b'<html>Bad <b>gateway')
    sim.fault(action='DescribeVpcs', when='after', truncate=100)
    with pytest.raises(http.client.IncompleteRead) as caught:
        sim.raw('Action=DescribeVpcs&Version=2016-11-15')
    assert len(caught.value.partial) == 100
    form = run(sim, ClientToken='cut')
    sim.fault(action='RunInstances', when='after', close=True)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError, urllib.error.URLError)):
        sim.ec2('RunInstances', form)
    assert len(sim.live_instances()) == 1
    assert ids(sim.ok('RunInstances', form)) == [sim.live_instances()[0]['instanceId']]


def test_latency_by_action_and_for_all(sim):
    def took(action):
        start = time.monotonic()
        sim.ok(action)
        return time.monotonic() - start
    sim.knobs(latency_ms=150, latency_by_action={'DescribeVpcs': 600000})
    assert took('DescribeSubnets') >= 0.15
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(sim.ec2, 'DescribeVpcs')
        sim.ok('DescribeSubnets')
        assert not slow.done()
        sim.stop()  # ends requests that sleep


def test_counters_tell_reading_from_changing(sim):
    sim.ok('DescribeVpcs')
    group(sim)
    sim.error('DescribeInstances', {'InstanceId.1': 'i-0123456789abcdef0'})
    sim.error('Nonsense')
    counters = sim.counters()
    assert (counters['requests'], counters['reading'], counters['mutating']) == (4, 2, 1)
    assert (counters['errors'], counters['refused']) == (2, 1)
    assert counters['actions']['DescribeInstances'] == {'requests': 1, 'errors': 1, 'injected': 0}
    sim.counters_reset()
    assert sim.counters()['requests'] == 0 and sim.counters()['actions'] == {}


def test_reset_goes_back_to_the_command_line(sim):
    group(sim)
    sim.knobs(boot_ms=7)
    sim.fault(count=0)
    sim.reset()
    assert sim.knobs()['boot_ms'] == 30 and sim.counters()['requests'] == 0
    assert group(sim)


def test_a_reset_under_way_does_not_hurt_requests(sim):
    with ThreadPoolExecutor(4) as pool:
        sim.knobs(latency_ms=200)
        waiting = [pool.submit(sim.ec2, 'DescribeVpcs') for _ in range(3)]
        time.sleep(0.05)
        sim.reset()
        assert [one.result()[0] for one in waiting] == [200] * 3


@pytest.mark.parametrize('method, path, body, status', [
    ('PUT', 'knobs', {'colour': 1}, 400), ('PUT', 'knobs', {'boot_ms': -1}, 400),
    ('PUT', 'knobs', {'boot_ms': 'soon'}, 400), ('PUT', 'knobs', [1], 400),
    ('PUT', 'knobs', {'capacity': {'x': {'y': -1}}}, 400), ('PUT', 'knobs', {'capacity': {'x': 1}}, 400),
    ('PUT', 'knobs', None, 400),
    ('POST', 'faults', {'when': 'sometimes'}, 400), ('POST', 'faults', {'colour': 1}, 400),
    ('POST', 'faults', {'status': 42}, 400), ('POST', 'faults', None, 400),
    ('GET', 'nothing', None, 404), ('DELETE', 'world', None, 405),
])
def test_the_control_endpoint_says_what_is_wrong(sim, method, path, body, status):
    before = sim.knobs()
    with pytest.raises(RuntimeError, match=f'(?s){status}.*error'):
        sim.control(method, path, body)
    assert sim.knobs() == before and sim.control('GET', 'faults') == []


def test_the_index_lists_the_paths(sim):
    index = sim.control('GET', '')
    assert {'/_sim/world', '/_sim/knobs', '/_sim/faults'} <= {r['path'] for r in index['control']}
    assert sim.control('GET', 'ready') == {'ready': True}


def test_the_world_survives_a_restart(tmp_path):
    path = str(tmp_path / 'world.json')
    with Sim('--boot-ms', '30', '--shutdown-ms', '30', world=path) as sim:
        sg = group(sim, cluster='c1')
        form = run(sim, 2, ClientToken='t', SecurityGroupId__1=sg, UserData='aGVsbG8=')
        first = ids(sim.ok('RunInstances', form))
        sim.knobs(boot_ms=3_600_000)
        slow, = launch(sim)
        before = sim.world()
        sim.restart()
        after = sim.world()
        assert after['regions']['us-east-1']['security_groups'] == \
            before['regions']['us-east-1']['security_groups']
        assert after['regions']['us-east-1']['images'] == before['regions']['us-east-1']['images']
        assert visible(sim) == first + [slow]
        wait_state(sim, 'running', *first)
        assert states(sim, slow) == {slow: 'pending'}  # its time has not come
        assert ids(sim.ok('RunInstances', form)) == first
        new, = launch(sim)
        assert new not in first
        sim.control('POST', 'skip', {'seconds': 3600})
        wait_state(sim, 'running', slow)
        assert sim.error('DeleteSecurityGroup', {'GroupId': sg}) == (400, 'DependencyViolation')
        addresses = [i['privateIpAddress'] for i in sim.world('us-east-1')['instances']]
        assert len(set(addresses)) == 4
        assert tags_of(sim.world('us-east-1')['security_groups'][1]) == {'cluster': 'c1'}


def test_the_world_file_follows_changes_by_itself(tmp_path):
    path = str(tmp_path / 'world.json')
    with Sim('--boot-ms', '100', world=path) as sim:
        wanted, = launch(sim)

        def state():
            with open(path) as f:
                found = json.load(f)['regions'].get('us-east-1', {'instances': []})['instances']
            return [i['instanceState']['name'] for i in found if i['instanceId'] == wanted]
        deadline = time.monotonic() + 120
        while state() != ['running']:  # no request is needed for that
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert os.stat(path).st_mode & 0o777 == 0o600
        assert os.listdir(tmp_path) == ['world.json']


def test_a_look_at_the_world_writes_its_file(tmp_path):
    path = str(tmp_path / 'world.json')
    with Sim('--boot-ms', '60000', world=path) as sim:
        launch(sim)
        world = sim.world()
        with open(path) as f:
            assert json.load(f) == world


def test_what_was_always_there_is_seen_at_once(sim):
    sim.knobs(consistency_ms=60000)
    assert len(sim.ok('DescribeVpcs', region='eu-west-1').findall('vpcSet/item')) == 1


def test_readers_of_the_world_file_never_see_half_of_it(tmp_path):
    path = str(tmp_path / 'world.json')
    with Sim(world=path) as sim:
        launch(sim, 200)
        for n in range(40):
            sim.ok('CreateTags', {'ResourceId.1': sim.world('us-east-1')['instances'][n]['instanceId'],
                                  'Tag.1.Key': 'n', 'Tag.1.Value': str(n)})
            with open(path) as f:
                assert len(json.load(f)['regions']['us-east-1']['instances']) == 200


@pytest.mark.parametrize('text', [
    '', '{', '[]', '{"format": 2, "seed": 1, "counter": 1, "regions": {}}',
    '{"format": 1, "seed": 1, "counter": 1, "regions": {"mars-1": {}}}',
    '{"format": 1, "seed": 1, "counter": 1, "regions": {"us-east-1": {"instances": [{}]}}}',
    '{"format": 1, "seed": 1, "counter": 1, "regions": {"us-east-1": {"instances": [7]}}}'])
def test_a_broken_world_file_is_refused_and_kept(tmp_path, text):
    path = tmp_path / 'world.json'
    path.write_text(text)
    done = subprocess.run([sim_binary(), '--world', str(path)], capture_output=True, text=True,
                          timeout=20)
    assert done.returncode == 1 and str(path) in done.stderr
    assert path.read_text() == text


def test_a_world_with_gaps_does_not_crash(tmp_path):
    path = tmp_path / 'world.json'
    path.write_text(json.dumps({'format': 1, 'seed': 1, 'counter': 1, 'regions': {'us-east-1': {
        'instances': [{'instanceId': 'i-0123456789abcdef0', '_due': {'at': 1, 'state': 'terminated'},
                       '_interfaces': [1, 'eni-1'], 'blockDeviceMapping': [3, {'ebs': 4}]}],
        'vpcs': [{'vpcId': 'vpc-1'}], 'subnets': [{'subnetId': 'subnet-12345678'}],
        'network_interfaces': [{'networkInterfaceId': 'eni-12345678'}],
        'security_groups': [{'groupId': 'sg-12345678', '_rules': [None, 4, {}]}],
        'volumes': [{'volumeId': 'vol-12345678', 'attachmentSet': 'x'}]}}}))
    with Sim(world=str(path)) as sim:
        for action in ('DescribeInstances', 'DescribeVpcs', 'DescribeSubnets', 'DescribeVolumes',
                       'DescribeNetworkInterfaces', 'DescribeSecurityGroups', 'DescribeTags',
                       'DescribeSecurityGroupRules', 'DescribeInstanceStatus'):
            sim.ok(action, {'Filter.1.Name': 'tag:x', 'Filter.1.Value.1': '*'})
            sim.ok(action)
        sim.error('CreateNetworkInterface', {'SubnetId': 'subnet-12345678'})
        sim.error('CreateSecurityGroup', {'GroupName': 'x', 'GroupDescription': 'x'})
        sim.ec2('AuthorizeSecurityGroupIngress', {
            'GroupId': 'sg-12345678', 'IpPermissions.1.IpProtocol': '-1',
            'IpPermissions.1.Groups.1.GroupId': 'sg-12345678'})
        for action in ('StopInstances', 'TerminateInstances', 'StartInstances'):
            sim.ec2(action, {'InstanceId.1': 'i-0123456789abcdef0'})
        sim.ec2('DeleteSecurityGroup', {'GroupId': 'sg-12345678'})
        sim.ec2('DeleteNetworkInterface', {'NetworkInterfaceId': 'eni-12345678'})


def test_one_seed_gives_one_sequence_of_ids():
    def ids_of(seed):
        with Sim('--seed', seed) as sim:
            return launch(sim, 3) + [group(sim)]
    assert ids_of(5) == ids_of(5) != ids_of(6)


def test_a_world_file_that_cannot_be_written_is_told_at_once(tmp_path):
    path = str(tmp_path / 'nowhere/world.json')
    done = subprocess.run([sim_binary(), '--world', path], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and 'nowhere' in done.stderr


def test_options_that_are_wrong_end_with_usage():
    for options in (['--port', '70000'], ['--boot-ms', '-3'], ['--capacity', '{'], ['extra'],
                    ['--fault', '{"when": "never"}'], ['--tls-cert', '/nowhere'], ['--what']):
        done = subprocess.run([sim_binary(), *options], capture_output=True, text=True, timeout=20)
        assert done.returncode == 4 and done.stderr.startswith('raygpu-sim: '), options


def test_command_line_knobs_and_faults():
    with Sim('--capacity', '{"g4dn.xlarge": {"*": 0}}', '--reject-access-key', 'AKIDBAD',
             '--fault', '{"action": "DescribeVpcs"}', '--knobs', '{"page_size": 9}') as sim:
        assert sim.error('RunInstances', run(sim)) == (500, 'InsufficientInstanceCapacity')
        assert sim.error('DescribeVpcs') == (500, 'InternalError')
        knobs = sim.knobs()
        assert knobs['page_size'] == 9 and knobs['reject_access_keys'] == ['AKIDBAD']


def test_https(tmp_path):
    key, cert = tmp_path / 'key.pem', tmp_path / 'cert.pem'
    made = subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2',
                           '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1',
                           '-keyout', key, '-out', cert], capture_output=True)
    if made.returncode:
        pytest.skip('no openssl to make a certificate with')
    with Sim('--tls-cert', cert, '--tls-key', key, scheme='https') as sim:
        import ssl
        import urllib.request
        trusting = ssl.create_default_context(cafile=str(cert))
        with urllib.request.urlopen(sim.url + '/_sim/ready', context=trusting) as reply:
            assert json.loads(reply.read()) == {'ready': True}
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(sim.url + '/_sim/ready')


def test_many_clients_at_once(sim):
    image = newest_image(sim)

    def client(n):
        form = {'ImageId': image, 'InstanceType': 'm5.large', 'MinCount': 1, 'MaxCount': 1,
                'ClientToken': f't{n // 2}'}
        return [ids(sim.ok('RunInstances', form))[0] for _ in range(3)]
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(client, range(32)))
    assert len({i for one in got for i in one}) == 16 == len(sim.live_instances())


def cpu_seconds(pid):
    """What a process has worked: unlike the time on the clock, the same on a busy machine."""
    with open(f'/proc/{pid}/stat', encoding='utf-8') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def test_ten_thousand_instances_are_listed_in_linear_time():
    with Sim('--boot-ms', '0') as sim:
        for zone in 'abcde':
            for _ in range(2):
                launch(sim, 1000, kind='m5.large', Placement__AvailabilityZone=f'us-east-1{zone}')
        begin = cpu_seconds(sim.process.pid)
        token, found = None, 0
        while True:
            root = sim.ok('DescribeInstances', {'MaxResults': 1000, **(
                {'NextToken': token} if token else {})})
            found += len(ids(root))
            token = root.findtext('nextToken')
            if not token:
                break
        assert found == 10000
        few = sim.ok('DescribeInstances', filters(instance_type='m5.large', client_token='none'))
        assert few.find('reservationSet/item') is None
        # Quadratic time for 10,000 would be minutes; sanitizers make it ten times slower.
        assert cpu_seconds(sim.process.pid) - begin < 60


def test_a_stop_ends_requests_that_sleep():
    """Otherwise stop() kills the simulator, and its exit code shows that."""
    with Sim() as sim:
        body = b'Action=DescribeInstances&Version=2016-11-15'
        client = http.client.HTTPConnection('127.0.0.1', sim.port)
        for latency_ms in (0, 240000):  # the second one finds its thread waiting
            sim.knobs(latency_ms=latency_ms)
            client.request('POST', '/', body, sim.sign(body))
            if not latency_ms:
                assert client.getresponse().read()
        time.sleep(0.3)
        assert sim.stop() == 0
        client.close()

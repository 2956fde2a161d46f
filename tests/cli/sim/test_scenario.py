"""Scenarios: what happens when, and which files are refused."""
import json
import os
import re
import subprocess
import urllib.request

import pytest
from helpers import launch, run, states, wait_state
from sim_server import Sim, sim_binary

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TYPE = {'vcpus': 8, 'memory_gib': 32}
SPOT = {'InstanceMarketOptions__MarketType': 'spot'}


def play(sim, **scenario):
    return sim.control('PUT', 'scenario', scenario)


def test_the_start_and_the_steps_hold_at_their_times(sim):
    play(sim, knobs={'quotas': {'L-DB2E81BA': 0}}, faults=[{'action': 'DescribeVpcs', 'status': 503, 'code': 'Slow'}],
         steps=[{'at_s': 36000, 'knobs': {'quotas': {}}}, {'at_s': 18000, 'clear_faults': True, 'note': 'calm'}])
    assert sim.error('RunInstances', run(sim)) == (400, 'VcpuLimitExceeded')
    assert sim.control('GET', 'scenario')['done'] == 0
    sim.skip(18000)
    sim.ok('DescribeVpcs')
    assert sim.error('RunInstances', run(sim)) == (400, 'VcpuLimitExceeded')
    assert sim.control('GET', 'scenario')['done'] == 1
    sim.skip(18000)
    launch(sim)
    state = sim.control('GET', 'scenario')
    assert (state['done'], state['steps']) == (2, 2) and 36000 <= state['elapsed_s'] < 39600


def test_a_step_counts_as_of_its_own_time(sim):
    """No request for a while: the notice has expired nevertheless."""
    sim.knobs(shutdown_ms=0)
    wanted = launch(sim, 2, **SPOT)
    wait_state(sim, 'running', *wanted)
    play(sim, steps=[{'at_s': 3600, 'reclaims': [{'count': 1, 'notice_ms': 60000}]}])
    sim.skip(7200)
    assert states(sim, *wanted) == {wanted[0]: 'terminated', wanted[1]: 'running'}


def test_what_was_due_before_a_step_comes_first(sim):
    """No request between the end of the boot and the reclaim."""
    sim.knobs(boot_ms=1_800_000)
    wanted, = launch(sim, **SPOT)
    play(sim, steps=[{'at_s': 3600, 'reclaims': [{'notice_ms': 36_000_000}]}])
    sim.skip(7200)
    assert states(sim, wanted) == {wanted: 'running'}


def test_faults_come_with_a_step(sim):
    play(sim, steps=[{'at_s': 0, 'faults': [{'action': 'DescribeVpcs', 'status': 500, 'code': 'Odd'}]}])
    assert sim.error('DescribeVpcs') == (500, 'Odd')
    sim.ok('DescribeVpcs')


def test_a_reset_starts_over_and_an_end_ends(sim):
    play(sim, knobs={'boot_ms': 77})
    sim.knobs(boot_ms=1)
    sim.reset()
    assert sim.knobs()['boot_ms'] == 77
    assert sim.control('DELETE', 'scenario') == {'started': False}
    assert sim.knobs()['boot_ms'] == 77, 'what it did stays'
    sim.reset()
    assert sim.knobs()['boot_ms'] == 30


def test_a_type_of_its_own_is_told_offered_and_made_until_a_reset(sim):
    wanted = run(sim, InstanceType='p9.48xlarge')
    assert sim.error('DescribeInstanceTypes', {'InstanceType.1': 'p9.48xlarge'}) == (400, 'InvalidInstanceType')
    assert sim.error('RunInstances', wanted)[0] == 400
    play(sim, instance_types={'p9.48xlarge': {
        'vcpus': 192, 'memory_gib': 4096, 'network_gbps': 3200, 'efa': 16, 'placement': False,
        'gpus': {'name': 'H900', 'count': 8, 'memory_gib': 288}, 'zones': ['us-east-1b', 'us-west-2a']}})
    told = sim.ok('DescribeInstanceTypes', {'InstanceType.1': 'p9.48xlarge'}).find('instanceTypeSet/item')
    assert [told.findtext(path) for path in (
        'vCpuInfo/defaultVCpus', 'memoryInfo/sizeInMiB', 'gpuInfo/gpus/item/name', 'gpuInfo/gpus/item/count',
        'gpuInfo/totalGpuMemoryInMiB', 'networkInfo/efaInfo/maximumEfaInterfaces',
        'processorInfo/supportedArchitectures/item')] == [
            '192', '4194304', 'H900', '8', '2359296', '16', 'x86_64']
    assert [s.text for s in told.iterfind('placementGroupInfo/supportedStrategies/item')] == ['partition', 'spread']
    zones = sim.ok('DescribeInstanceTypeOfferings', {'LocationType': 'availability-zone', 'Filter.1.Name': 'instance-type',
                                                     'Filter.1.Value.1': 'p9.48xlarge'})
    assert [z.text for z in zones.iterfind('instanceTypeOfferingSet/item/location')] == ['us-east-1b']
    assert sim.error('RunInstances', wanted | {'Placement.AvailabilityZone': 'us-east-1a'}) == (400, 'Unsupported')
    launch(sim, InstanceType='p9.48xlarge', Placement__AvailabilityZone='us-east-1b')
    sim.knobs(quotas={'L-417A185B': 300})
    assert sim.error('RunInstances', wanted | {'Placement.AvailabilityZone': 'us-east-1b'}) == (400, 'VcpuLimitExceeded')
    sim.control('DELETE', 'scenario')
    sim.ok('DescribeInstanceTypes', {'InstanceType.1': 'p9.48xlarge'})
    sim.reset()
    assert sim.error('DescribeInstanceTypes', {'InstanceType.1': 'p9.48xlarge'}) == (400, 'InvalidInstanceType')


@pytest.mark.parametrize('scenario, complaint', [
    ([], 'Expected object'), ({'colour': 1}, 'colour'), ({'steps': {}}, 'steps is a list'),
    ({'knobs': {'boot': 1}}, 'knobs: there is no knob boot'),
    ({'faults': {}}, 'faults is a list'), ({'faults': [{'when': 'never'}]}, r'faults\[0\]: when must be'),
    ({'steps': [{}]}, r'steps\[0\]: '), ({'steps': [{'at_s': -1}]}, r'steps\[0\]: at_s is from'),
    ({'steps': [{'at_s': 1}, {'at_s': 1, 'knobs': {'throttle': 9}}]}, r'steps\[1\]: knobs: throttle must be'),
    ({'steps': [{'at_s': 1, 'reclaims': [{'count': 1}, {'count': 0}]}]}, r'steps\[0\]: reclaims\[1\]: not a reclaim'),
    ({'steps': [{'at_s': 1e12}]}, 'at_s is from'), ({'steps': [{'at_s': 1, 'at': 2}]}, r'steps\[0\]: .*at'),
    ({'steps': [{'at_s': 1}] * 10001}, 'at most 10000'),
    ({'instance_types': []}, 'instance_types is an object'), ({'instance_types': {'p9': TYPE}}, 'p9: a name is like'),
    ({'instance_types': {'p9.x': {}}}, r'p9.x: .*vcpus'), ({'instance_types': {'p9.x': TYPE | {'x': 1}}}, r'p9.x: .*x'),
    ({'instance_types': {'m5.2xlarge': TYPE}}, 'm5.2xlarge: already exists'),
    ({'instance_types': {'p9.x': TYPE | {'vcpus': 0}}}, 'p9.x: vcpus is from 1'),
    ({'instance_types': {'p9.x': TYPE | {'arch': 'sparc'}}}, 'p9.x: arch is'),
    ({'instance_types': {'p9.x': TYPE | {'gpus': {'name': 'H900'}}}}, 'p9.x: .*count'),
    ({'instance_types': {'p9.x': TYPE | {'zones': []}}}, 'p9.x: zones is a list'),
    ({'instance_types': {'p9.x': TYPE | {'zones': ['us-east-1q']}}}, 'p9.x: there is no zone .*us-east-1q'),
    ({'cloud': 'nimbus', 'instance_types': {}}, 'cloud: there is no simulated cloud called nimbus'),
])
def test_what_is_no_scenario_is_refused_whole(sim, scenario, complaint):
    before = sim.knobs()
    with pytest.raises(RuntimeError, match=complaint):
        sim.control('PUT', 'scenario', scenario)
    assert sim.knobs() == before and sim.control('GET', 'scenario') == {'started': False}


def test_the_example_is_one():
    with Sim('--scenario', os.path.join(ROOT, 'examples/bad-day.scenario.yaml')) as sim:
        assert sim.control('GET', 'scenario')['steps'] == 5
        assert sim.knobs()['quotas'] == {'L-417A185B': 384, 'L-7212CCBC': 192}


def test_a_running_simulator_takes_yaml(sim):
    text = '# slow\nknobs: {latency_ms: 3}\nsteps:\n  - {at_s: 9, note: end, clear_faults: true}\n'
    url = f'{sim.url}/_sim/scenario'
    with urllib.request.urlopen(urllib.request.Request(url, text.encode(), method='PUT')) as reply:
        assert json.load(reply)['steps'] == 1
    assert sim.knobs()['latency_ms'] == 3


@pytest.mark.parametrize('text, complaint, status', [
    ('{"steps": [}', r'f:1:1\d: ', 4), ('{"knobs": {"x": 1}}', 'f:1:11: knobs: there is no knob x', 4),
    ('# a day\nsteps:\n  - at_s: 1\n    note: calm\n  - at_s: 2\n    faults:\n      - {when: never}\n',
     r'f:7:9: steps\[1\]: faults\[0\]: when must be', 4),
    ('knobs: {boot_ms: 1}\nknobs: {}\n', r'f:2:1: .*knobs', 4), ('', 'f:', 4), ('a: &a [*a]\n', 'f:1:', 4),
    ('steps:\n\t- at_s: 1\n', 'f:2:', 4)])
def test_a_file_that_is_none_ends_the_program(tmp_path, text, complaint, status):
    path = tmp_path / 'f'
    path.write_text(text)
    done = subprocess.run([sim_binary(), '--scenario', path], capture_output=True, text=True, timeout=20)
    assert done.returncode == status and re.search(complaint, done.stderr), done.stderr


def test_the_man_page_names_every_member_and_its_example_is_one(sim):
    with open(os.path.join(ROOT, 'man/raygpu-scenario.5.scd')) as f:
        page = f.read().replace('\\', '')
    with open(os.path.join(ROOT, 'src/sim/core/scenario.c')) as f:
        members = set(re.findall(r'"([a-z_]+)",\s*&', f.read()))
    assert {'at_s', 'knobs', 'reclaims', 'clear_faults', 'note', 'description'} <= members
    with open(os.path.join(ROOT, 'providers/aws/sim/own_types.c')) as f:
        declared = set(re.findall(r'"([a-z_]+)",\s*&', f.read()))
    assert {'vcpus', 'efa', 'gpus', 'zones'} <= declared
    assert [m for m in declared if not re.search(rf'(?<![a-z]){m}(?![a-z])', page)] == []
    assert [m for m in members if f'*{m}*' not in page and f'_{m}_' not in page] == []
    example = re.search(r'\n\t(\{\+\+\n.*?\n\})\n', page, re.S).group(1).replace('++\n', '\n')
    assert play(sim, **json.loads(example))['steps'] == 2

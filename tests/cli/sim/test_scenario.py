"""Scenarios: what happens when, and which files are refused."""
import json
import os
import re
import subprocess
import time

import pytest
from helpers import launch, run, states, wait_state
from sim_server import Sim, sim_binary

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SPOT = {'InstanceMarketOptions__MarketType': 'spot'}


def play(sim, **scenario):
    return sim.control('PUT', 'scenario', scenario)


def test_the_start_and_the_steps_hold_at_their_times(sim):
    play(sim, knobs={'quotas': {'L-DB2E81BA': 0}}, faults=[{'action': 'DescribeVpcs', 'status': 503, 'code': 'Slow'}],
         steps=[{'at_s': 1.2, 'knobs': {'quotas': {}}}, {'at_s': 0.4, 'clear_faults': True, 'note': 'calm'}])
    assert sim.error('RunInstances', run(sim)) == (400, 'VcpuLimitExceeded')
    assert sim.control('GET', 'scenario')['done'] == 0, 'a slow machine proves nothing here'
    time.sleep(0.5)
    sim.ok('DescribeVpcs')
    assert sim.error('RunInstances', run(sim)) == (400, 'VcpuLimitExceeded')
    time.sleep(0.8)
    launch(sim)
    state = sim.control('GET', 'scenario')
    assert (state['done'], state['steps']) == (2, 2) and 1.2 < state['elapsed_s'] < 10


def test_a_step_counts_as_of_its_own_time(sim):
    """Nobody looks for a while: the notice has run out all the same."""
    sim.knobs(shutdown_ms=0)
    wanted = launch(sim, 2, **SPOT)
    wait_state(sim, 'running', *wanted)
    play(sim, steps=[{'at_s': 0.1, 'reclaims': [{'count': 1, 'notice_ms': 100}]}])
    time.sleep(0.4)
    assert states(sim, *wanted) == {wanted[0]: 'terminated', wanted[1]: 'running'}


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


@pytest.mark.parametrize('scenario, complaint', [
    ([], 'Expected object'), ({'colour': 1}, 'colour'), ({'steps': {}}, 'steps is a list'),
    ({'knobs': {'boot': 1}}, 'knobs: there is no knob called boot'),
    ({'faults': {}}, 'faults is a list'), ({'faults': [{'when': 'never'}]}, r'faults\[0\]: when is'),
    ({'steps': [{}]}, r'steps\[0\]: '), ({'steps': [{'at_s': -1}]}, r'steps\[0\]: at_s is from'),
    ({'steps': [{'at_s': 1}, {'at_s': 1, 'knobs': {'throttle': 9}}]}, r'steps\[1\]: knobs: throttle is'),
    ({'steps': [{'at_s': 1, 'reclaims': [{'count': 1}, {'count': 0}]}]}, r'steps\[0\]: reclaims\[1\]: not a reclaim'),
    ({'steps': [{'at_s': 1e12}]}, 'at_s is from'), ({'steps': [{'at_s': 1, 'at': 2}]}, r'steps\[0\]: .*at'),
    ({'steps': [{'at_s': 1}] * 10001}, 'at most 10000'),
])
def test_what_is_no_scenario_is_refused_whole(sim, scenario, complaint):
    before = sim.knobs()
    with pytest.raises(RuntimeError, match=complaint):
        sim.control('PUT', 'scenario', scenario)
    assert sim.knobs() == before and sim.control('GET', 'scenario') == {'started': False}


def test_the_example_is_one():
    with Sim('--scenario', os.path.join(ROOT, 'examples/bad-day.scenario.json')) as sim:
        assert sim.control('GET', 'scenario')['steps'] == 5
        assert sim.knobs()['quotas'] == {'L-417A185B': 384, 'L-7212CCBC': 192}


@pytest.mark.parametrize('text, complaint, status', [
    ('{"steps": [}', r'f:1:1\d: ', 4), ('{"knobs": {"x": 1}}', 'f: knobs: there is no knob called x', 4)])
def test_a_file_that_is_none_ends_the_program(tmp_path, text, complaint, status):
    path = tmp_path / 'f'
    path.write_text(text)
    done = subprocess.run([sim_binary(), '--scenario', path], capture_output=True, text=True, timeout=20)
    assert done.returncode == status and re.search(complaint, done.stderr), done.stderr


def test_the_man_page_names_every_member_and_its_example_is_one(sim):
    with open(os.path.join(ROOT, 'man/raygpu-scenario.5.scd')) as f:
        page = f.read().replace('\\', '')
    with open(os.path.join(ROOT, 'src/sim/scenario.c')) as f:
        members = set(re.findall(r'"([a-z_]+)",\s*&', f.read()))
    assert {'at_s', 'knobs', 'reclaims', 'clear_faults', 'note', 'description'} <= members
    assert [m for m in members if f'*{m}*' not in page] == []
    example = re.search(r'\n\t(\{\+\+\n.*?\n\})\n', page, re.S).group(1).replace('++\n', '\n')
    assert play(sim, **json.loads(example))['steps'] == 2

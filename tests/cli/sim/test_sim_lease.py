"""Machines that end with their lease: only those that look at it, and can see it."""
import base64
import gzip
import json
from datetime import datetime, timedelta, timezone

import pytest
from helpers import launch, states, tagged
from sim_server import Sim

END = datetime(2031, 6, 15, 18, tzinfo=timezone.utc)
LEASE = '2031-06-15T18:00:00Z'
UNIT = '[Unit]\nDescription=x\n\n[Service]\nExecStart=/usr/local/lib/raygpu/lease\nRestart=always\n'


@pytest.fixture
def sim():
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as server:
        yield server


def state(sim, wanted):
    return states(sim, wanted)[wanted]


def user_data(service='raygpu-lease.service', unit=UNIT, mode='0755', path='tags/instance/raygpu:expires', head='#cloud-config\n',
              pack=lambda data: data):
    files = {'/etc/systemd/system/raygpu-lease.service': (unit, '0644'), '/usr/local/lib/raygpu/lease': ('#!/bin/bash\n', mode),
             '/usr/local/lib/raygpu/cloud': (f'x=http://169.254.169.254/latest/meta-data/{path}\n', '0644')}
    config = {'write_files': [{'path': p, 'content': c, 'permissions': m} for p, (c, m) in files.items()],
              'runcmd': [['systemctl', 'daemon-reload'], ['systemctl', 'enable', '--now', service]]}
    return base64.b64encode(pack((head + json.dumps(config)).encode())).decode()


def leased(sim, data, lease=LEASE, shown='enabled', **more):
    tags = {k.replace('.', '__'): v for k, v in tagged('instance', **{'raygpu:expires': lease}).items()}
    wanted, = launch(sim, UserData=data, MetadataOptions__InstanceMetadataTags=shown,
                     **{'InstanceInitiatedShutdownBehavior': 'terminate', **tags, **more})
    return wanted


@pytest.mark.parametrize('pack', [lambda data: data, gzip.compress])
def test_a_machine_that_looks_at_its_lease_ends_with_it(pack, sim):
    wanted = leased(sim, user_data(pack=pack))
    sim.skip_to(END - timedelta(hours=1))
    assert state(sim, wanted) == 'running'
    sim.skip_to(END)
    assert state(sim, wanted) == 'terminated'
    shown = sim.ok('DescribeInstances', {'InstanceId.1': wanted})
    assert shown.findtext('.//stateReason/code') == 'Client.InstanceInitiatedShutdown'


@pytest.mark.parametrize('change', [
    {'service': 'raygpu-ray.service'}, {'unit': '[Service]\nExecStart=/nowhere\n'}, {'mode': '0644'}, {'path': 'instance-id'},
    {'head': '#!/bin/sh\n'}, {'pack': lambda data: gzip.compress(data)[:-9]}])
def test_a_machine_without_the_service_does_not(change, sim):
    wanted = leased(sim, user_data(**change))
    sim.skip_to(END + timedelta(days=1))
    assert state(sim, wanted) == 'running'


@pytest.mark.parametrize('lease', ['2031-06-15T18:00:00', '2031-02-30T18:00:00Z', 'soon', f'{LEASE}\n'])
def test_what_is_no_time_ends_nothing(lease, sim):
    wanted = leased(sim, user_data(), lease)
    sim.skip_to(END + timedelta(days=1))
    assert state(sim, wanted) == 'running'


def test_a_machine_that_is_not_shown_its_tags_does_not_end(sim):
    wanted = leased(sim, user_data(), shown='disabled')
    sim.skip_to(END)
    assert state(sim, wanted) == 'running'
    sim.ok('ModifyInstanceMetadataOptions', {'InstanceId': wanted, 'InstanceMetadataTags': 'enabled'})
    assert state(sim, wanted) == 'running'    # until it looks the next time
    sim.skip_to(END + timedelta(hours=1))
    assert state(sim, wanted) == 'terminated'


def test_one_that_stops_is_stopped_and_ends_again_after_a_start(sim):
    wanted = leased(sim, user_data(), InstanceInitiatedShutdownBehavior='stop')
    sim.skip_to(END)
    assert state(sim, wanted) == 'stopped'
    sim.ok('StartInstances', {'InstanceId.1': wanted})
    assert state(sim, wanted) == 'running'
    sim.skip_to(END + timedelta(hours=1))
    assert state(sim, wanted) == 'stopped'


@pytest.mark.parametrize('key', ['cost center', 'a/b', '.', '_index', 'ä'])
def test_keys_that_the_metadata_service_cannot_show(key, sim):
    wanted = leased(sim, user_data())
    tag = {'ResourceId.1': wanted, 'Tag.1.Key': key, 'Tag.1.Value': 'x'}
    assert sim.error('CreateTags', tag) == (400, 'InvalidParameterValue')
    sim.ok('ModifyInstanceMetadataOptions', {'InstanceId': wanted, 'InstanceMetadataTags': 'disabled'})
    sim.ok('CreateTags', tag)
    assert sim.error('ModifyInstanceMetadataOptions', {'InstanceId': wanted, 'InstanceMetadataTags': 'enabled'}) == \
        (400, 'InvalidParameterValue')


@pytest.mark.parametrize('given', [{}, {'seconds': -1}, {'seconds': '1'}, {'seconds': 1, 'x': 2}, {'seconds': 10**10}, [1]])
def test_time_that_cannot_be_skipped(given, sim):
    before = sim.control('POST', 'skip', {'seconds': 0})['now_s']
    with pytest.raises(RuntimeError, match='400'):
        sim.control('POST', 'skip', given)
    assert sim.control('POST', 'skip', {'seconds': 1000})['now_s'] >= before + 1000

"""drift: nodes that run in the cloud and are not members of Ray, by the head's console alone."""
import base64
import hashlib
import json
import re
import time

import jsonschema
import pytest
from program import ROOT, spec
from sim_server import show_console, tags_of

POOL = 'aws.instance.serve'


@pytest.fixture
def cluster(home, sim):
    """serve[0] never joins, and its time is over."""
    home.write('cluster.yaml', spec(pools={'serve': 3}, pool_extra=', ready_timeout: 1'))
    sim.knobs(node_faults=[{'how': 'retry', 'type': 'g4dn*', 'count': 1, 'step': 'gpus'}])
    home.apply('cluster.yaml', '--max-replacements', '0', code=3)
    return home


def test_a_node_that_is_not_in_ray_is_drift(cluster, sim):
    sim.counters_reset()
    result = cluster.run('drift', 'cluster.yaml', code=2)
    assert f'# {POOL}[0] runs, but is not a member of Ray' in result.out
    assert 'Drift: 0 missing, 0 changed, 0 unmanaged; ' in result.out
    assert '1 node is unhealthy, although the cloud shows it as recorded' in ' '.join(result.out.split())
    assert 'requested at cluster.yaml:7' in result.out
    assert sim.counters()['actions']['GetConsoleOutput']['requests'] == 1
    assert sim.counters()['mutating'] == 0


def test_the_formats_have_it(cluster):
    document = cluster.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()
    jsonschema.Draft202012Validator(json.loads((ROOT / 'schemas/drift.schema.json').read_text())).validate(document)
    item, = document['drift']
    assert (item['type'], item['address'], item['reason']) == (
        'unhealthy', POOL + '[0]', 'runs, but is not a member of Ray')
    assert document['counts'] == {'missing': 0, 'changed': 0, 'unmanaged': 0, 'unhealthy': 1}
    for kind in ('markdown', 'github', 'junit', 'sarif'):
        text = cluster.run('drift', 'cluster.yaml', '--format', kind, code=2).out
        assert 'runs, but is not a member of Ray' in text, kind
    sarif = json.loads(text)
    assert [r['ruleId'] for r in sarif['runs'][0]['results']] == ['drift.unhealthy']


def test_a_node_that_may_still_join_is_not(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    sim.knobs(join_ms=600000)
    home.apply('cluster.yaml', '--no-wait')
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')
    assert 'GetConsoleOutput' not in sim.counters()['actions']


def test_a_node_that_left_ray_is_found(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')
    node = sim.live_instances()[-1]
    sim.ok('StopInstances', {'InstanceId.1': node['instanceId']})
    changed = home.run('drift', 'cluster.yaml', code=2)
    assert 'instance_state' in changed.out and 'Ray' not in changed.out, 'it is reported once, as what it is'
    sim.knobs(join_ms=600000)  # and after its restart its Ray does not come up; the head's does not either
    sim.ok('StartInstances', {'InstanceId.1': node['instanceId']})
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.'), 'the head says nothing: no finding'


def say(sim, minutes, old='', new='AAAAAA'):
    """From now on each console is the head's, with a list of members of that many minutes ago, in which the pattern `old` is `new`."""
    def edit(text):
        text = re.sub(r' at=\d+ ', f' at={int(time.time()) - 60 * minutes} ', text)
        assert re.search(old, text, flags=re.DOTALL)
        return re.sub(old, new, text, flags=re.DOTALL) if old else text
    show_console(sim, edit)


def test_a_head_that_does_not_report_any_more_is_found(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    node = sim.live_instances()[-1]
    key = base64.b64encode(hashlib.sha256(node['instanceId'].encode()).digest())[:6].decode()
    say(sim, 40, key)
    assert 'runs, but is not a member of Ray' in home.run('drift', 'cluster.yaml', code=2).out
    sim.faults_clear()
    say(sim, 50, key)
    told = ' '.join(home.run('drift', 'cluster.yaml', code=2).out.split())
    assert '# aws.instance.head has not reported the members of Ray for 50 minutes' in told
    assert 'is not a member' not in told, 'who is one is not known'


def unhealthy(home):
    """What drift says of each unhealthy node."""
    document = home.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()
    assert all(item['type'] == 'unhealthy' for item in document['drift']), document
    return {item['address']: item['reason'] for item in document['drift']}


def key_of(instance):
    return base64.b64encode(hashlib.sha256(instance['instanceId'].encode()).digest())[:6].decode()


def test_a_gpu_that_left_ray_is_found(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    home.apply()
    say(sim, 1, 'gpus=1', 'gpus=0')
    assert unhealthy(home) == {f'{POOL}[{i}]': 'has 0 of 1 GPU in Ray' for i in range(3)}
    out = ' '.join(home.run('drift', 'cluster.yaml', code=2).out.split())
    assert '3 nodes are unhealthy, although the cloud shows them as recorded' in out


def test_another_driver_than_that_of_the_pool_is_found(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    home.apply()
    keys = sorted(key_of(one) for one in sim.live_instances() if tags_of(one)['raygpu:pool'] == 'serve')
    say(sim, 1, r'part=1 parts=2(.*)(raygpu: v1 nodes [^\n]*) part=2 parts=2 ([^\n]*) driver=\S+ ids=\S+ end',
        r'part=1 parts=3\1\2 part=2 parts=3 \3 driver=550.1 ids=' + keys[0] + keys[2] +
        r' end\n\2 part=3 parts=3 \3 driver=535.1 ids=' + keys[1] + ' end')
    assert list(unhealthy(home).values()) == ['has GPU driver 535.1, and the rest of its pool 550.1']


def test_a_node_that_nobody_recorded_is_found(home, sim):
    """By its id where the cloud gave it one, by its address where someone has started Ray by hand."""
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    say(sim, 1, '(part=1 .*) ids=', r'\1 ids=BBBBBBCCCCCC')
    assert unhealthy(home) == {'aws.instance.head': 'has 2 nodes in its Ray that raygpu does not know'}
    out = ' '.join(home.run('drift', 'cluster.yaml', code=2).out.split())
    assert '`ray stop` on such a node removes it from Ray' in out and '--replace' not in out
    sim.faults_clear()
    say(sim, 1, 'part=1 ', 'part=1 without_id=1 others=10.0.3.9 ')
    assert unhealthy(home) == {'aws.instance.head': 'has a node in its Ray that raygpu does not know: 10.0.3.9'}
    sim.faults_clear()
    say(sim, 1, 'part=1 ', 'part=1 without_id=50 others=10.0.3.9,10.0.4.9 ')
    assert unhealthy(home) == {'aws.instance.head': 'has 50 nodes in its Ray that raygpu does not know: 10.0.3.9, 10.0.4.9 and 48 more'}


def test_a_node_that_nobody_recorded_is_found_beside_a_bad_head(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    say(sim, 1, r'gpus=0 driver="" ', 'gpus=3 without_id=1 driver="" ')
    document = home.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()
    assert [item['reason'] for item in document['drift']] == [
        'has 3 of 0 GPUs in Ray', 'has a node in its Ray that raygpu does not know']


def test_a_node_that_was_removed_is_no_stranger(home, sim):
    """The head's Ray notices later than the cloud."""
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    home.apply()
    say(sim, 1)
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')


def test_a_head_whose_ray_failed_is_found(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 1}, head='m5.2xlarge, ready_timeout: 1'))
    sim.knobs(node_faults=[{'how': 'retry', 'type': 'm5*', 'step': 'pull', 'reason': 'no such image'}])
    home.apply(code=3)
    out = home.run('drift', 'cluster.yaml', code=2).out
    assert '# aws.instance.head runs, but its Ray does not: step pull failed: no such image' in out


def test_a_console_that_may_not_be_read_is_a_note(home, sim):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    sim.fault(action='GetConsoleOutput', status=403, code='UnauthorizedOperation', message='no', count=0)
    result = home.run('drift', 'cluster.yaml')
    assert result.out.startswith('No drift.')
    assert 'Note: cannot see which nodes are members of Ray: ' in ' '.join(result.err.split())


def test_a_plan_notes_who_has_not_joined(cluster, sim):
    sim.counters_reset()
    result = cluster.run('plan', 'cluster.yaml')
    assert f'no apply has seen {POOL}[0] join Ray [ready.not-joined]' in ' '.join((result.out + result.err).split())
    assert 'GetConsoleOutput' not in sim.counters()['actions']


# --- what the cloud itself reports ----------------------------------------------------------

STATUS = 'DescribeInstanceStatus'


def write(home, nodes=2):
    home.write('cluster.yaml', spec(pools={'serve': nodes}, pool_extra=', ready_timeout: 1'))


def test_failed_status_checks_are_drift(home, sim):
    write(home)
    sim.knobs(node_faults=[{'how': 'impaired', 'type': 'g4dn*', 'count': 1}])
    home.apply('cluster.yaml', '--max-replacements', '0', code=3)
    sim.counters_reset()
    out = ' '.join(home.run('drift', 'cluster.yaml', code=2).out.split())
    assert (f'# {POOL}[0] fails the system status check: the host or its network does not work; fails the '
            'instance status check: it cannot be reached') in out
    assert '1 node is unhealthy' in out, 'that it is not in Ray either is no second finding'
    assert sim.counters()['actions'][STATUS]['requests'] == 3 and sim.counters()['mutating'] == 0


def test_a_scheduled_event_is_drift_although_the_node_works(home, sim):
    write(home)
    sim.knobs(node_faults=[{'how': 'scheduled', 'type': 'g4dn*', 'count': 1, 'event': 'instance-retirement'}])
    home.apply()
    out = ' '.join(home.run('drift', 'cluster.yaml', code=2).out.split())
    assert f'# {POOL}[0] is scheduled for instance-retirement at 20' in out
    assert ': The instance is running on degraded hardware' in out


def test_nodes_of_others_are_not_reported(home, sim):
    """The questions are about the whole account."""
    write(home)
    home.apply()
    sim.knobs(node_faults=[{'how': 'impaired', 'type': 'm5*'}])
    sim.ok('RunInstances', {'ImageId': next(i['imageId'] for i in sim.live_instances()), 'InstanceType': 'm5.large',
                            'MinCount': 1, 'MaxCount': 1})
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')


def test_status_checks_that_may_not_be_read_are_a_note(home, sim):
    write(home)
    home.apply()
    sim.fault(action=STATUS, status=403, code='UnauthorizedOperation', message='no', count=0)
    result = home.run('drift', 'cluster.yaml')
    assert result.out.startswith('No drift.')
    assert "Note: cannot see the cloud's own checks of the nodes: " in ' '.join(result.err.split())


def test_neither_plan_nor_apply_reads_them(home, sim):
    write(home)
    home.apply()
    home.run('plan', 'cluster.yaml')
    assert STATUS not in sim.counters()['actions']

"""drift: nodes that run in the cloud and are not members of Ray, by the head's console alone."""
import json

import jsonschema
import pytest
from program import ROOT, spec

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
    assert '1 node does not work, although the cloud shows it as recorded' in ' '.join(result.out.split())
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
    assert '1 node does not work' in out, 'that it is not in Ray either is no second finding'
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

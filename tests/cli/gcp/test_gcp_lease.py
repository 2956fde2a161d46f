"""Leases on Compute Engine: in a metadata item that the node reads and a label that lists show; nodes whose lease is over stop."""
from datetime import datetime, timedelta, timezone

import pytest
from test_gcp_story import clean, nodes, spec

END = datetime(2031, 6, 15, 18, tzinfo=timezone.utc)
LATER = END + timedelta(days=30)
READS = ('list', 'aggregatedList', 'get', 'wait')
POOL = {'w': 'instance_type: n1-standard-4+nvidia-tesla-t4:1, nodes: 2'}


def text(when):
    return when.strftime('%Y-%m-%dT%H:%M:%SZ')


def leased(expires):
    return spec(POOL, extra=f'expires: {text(expires)}\n' if expires else '')


def state(gce):
    """(status, metadata item, label) of each."""
    return sorted((i['status'], next((m['value'] for m in i['metadata']['items'] if m['key'] == 'raygpu-expires'), None),
                   i['labels'].get('raygpu-expires')) for i in nodes(gce))


def apply(gce, home, expires):
    home.write('cluster.yaml', leased(expires))
    gce.counters_reset()
    home.apply('cluster.yaml', '--no-settle')
    return {name for name in gce.counters()['actions'] if name.split('.')[1] not in READS}


def test_a_lease_is_extended_and_removed_in_place(gce, home):
    home.write('cluster.yaml', leased(END))
    home.apply()
    before = sorted(i['id'] for i in nodes(gce))
    assert state(gce) == [('RUNNING', '2031-06-15T18:00:00Z', '2031-06-15t18-00-00z')] * 3
    clean(home)
    home.write('cluster.yaml', leased(LATER))
    assert 'Plan: 0 to add, 3 to change, 0 to destroy.' in home.run('plan', 'cluster.yaml').out
    assert apply(gce, home, LATER) == {'instances.setLabels', 'instances.setMetadata'}
    assert state(gce) == [('RUNNING', '2031-07-15T18:00:00Z', '2031-07-15t18-00-00z')] * 3
    gce.skip_to(END + timedelta(days=1))
    assert apply(gce, home, None) == {'instances.setLabels', 'instances.setMetadata'}
    clean(home)
    gce.skip_to(LATER + timedelta(days=1))
    assert state(gce) == [('RUNNING', None, None)] * 3
    assert sorted(i['id'] for i in nodes(gce)) == before


def test_a_node_stops_at_the_end_of_a_lease_that_came_later(gce, home):
    home.write('cluster.yaml', leased(None))
    home.apply()
    apply(gce, home, END)
    gce.skip_to(END - timedelta(hours=1))
    assert {status for status, _, _ in state(gce)} == {'RUNNING'}
    gce.skip_to(END)
    gce.skip_to(END + timedelta(minutes=1))
    assert {status for status, _, _ in state(gce)} == {'TERMINATED'}
    assert gce.world()['disks'], 'a stopped instance keeps its disk'
    # extended after its end: it gets the new lease before it starts
    apply(gce, home, LATER)
    gce.skip_to(END + timedelta(days=1))
    assert {status for status, _, _ in state(gce)} == {'RUNNING'}
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not nodes(gce)


@pytest.mark.parametrize('changed', ['2033-01-01t00-00-00z', 'never'])
def test_a_lease_that_others_changed_is_drift(changed, gce, home):
    home.write('cluster.yaml', leased(END))
    home.apply()
    victim = nodes(gce, 'w')[0]
    gce.done(gce.call('POST', f"zones/{victim['zone'].split('/')[-1]}/instances/{victim['name']}/setLabels", {
        'labels': {**victim['labels'], 'raygpu-expires': changed}, 'labelFingerprint': victim['labelFingerprint']})[1])
    assert 'expires' in home.run('drift', 'cluster.yaml', '--no-settle', code=2).out
    home.apply('cluster.yaml', '--no-settle')
    assert {label for _, _, label in state(gce)} == {'2031-06-15t18-00-00z'}


def test_what_is_forgotten_has_no_lease_any_more(gce, home):
    home.write('cluster.yaml', leased(END))
    home.apply()
    before = {i['id']: [m for m in i['metadata']['items'] if m['key'] != 'raygpu-expires'] for i in nodes(gce)}
    home.write('cluster.yaml', leased(END).replace('pools:\n  w:', 'pools: {}\nx-w:') + 'removed: {w: {destroy: false}}\n')
    home.apply()
    forgotten = [i for i in nodes(gce) if not i['labels'].get('raygpu-cluster')]
    assert len(forgotten) == 2
    for one in forgotten:
        assert 'raygpu-expires' not in one['labels'] and one['metadata']['items'] == before[one['id']]
    gce.skip_to(END + timedelta(days=1))
    assert sorted(i['status'] for i in nodes(gce)) == ['RUNNING', 'RUNNING', 'TERMINATED']


def test_nodes_that_are_off_since_their_end_are_no_drift(gce, home):
    home.write('cluster.yaml', spec(POOL, extra='expires: 24h\n'))
    home.apply()
    gce.skip_to(datetime.now(timezone.utc) + timedelta(hours=25))
    assert {status for status, _, _ in state(gce)} == {'TERMINATED'}
    assert 'instance_state' in home.run('drift', 'cluster.yaml', code=2).out, 'off too early'
    # as if all of it had happened 25 hours earlier
    home.edit_state(*("UPDATE clusters SET facts = json_set(facts, '$.leases.cluster.{0}', facts ->> '$.leases.cluster.{0}' - 90000)".format(key)
                      for key in ('began_s', 'ends_s')))
    assert 'No drift' in home.run('drift', 'cluster.yaml').out
    assert '3 of its resources would be created or started' in ' '.join(home.run('plan', 'cluster.yaml', code=9).err.split())

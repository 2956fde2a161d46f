"""`expires` in plan, apply and drift: a lease is shown, recorded, extended in place, and nothing is created after its end."""
import datetime
import re
import time
import zlib

import pytest

from program import Home, spec
from sim_server import Sim


@pytest.fixture(scope='module', name='sim')
def fixture_sim():
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim:
        yield sim


@pytest.fixture(name='home')
def fixture_home(tmp_path, sim, request):
    home = Home(tmp_path, sim.env())
    home.name = f'lease-{zlib.crc32(request.node.name.encode()):x}'
    return home


def write(home, cluster=None, pool=None, pools=('a', 'b'), **more):
    """The first pool's `expires` is `pool`."""
    text = spec(name=home.name, pools={name: 1 for name in pools}, extra=f'expires: {cluster}\n' if cluster else '', **more)
    home.write('cluster.yaml', text.replace('nodes: 1', f'nodes: 1, expires: {pool}', 1) if pool else text)


def utc(**delta):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**delta)).strftime('%Y-%m-%dT%H:%M:%SZ')


def apply(home):
    return home.apply('cluster.yaml', '--no-wait')


def recorded(home):
    return home.run('state', 'pull').json()['clusters'][0]['facts'].get('leases')


def leases(home, **more):
    return home.run('plan', '--format', 'json', **more).json()['raygpu'].get('leases')


def pass_time(home, pool=None, hours=1000):
    """As if all that was recorded of the lease had happened that much earlier."""
    lease = '$.leases.' + (f'pools.{pool}' if pool else 'cluster')
    home.edit_state(*(f"UPDATE clusters SET facts = json_set(facts, '{lease}.{key}', facts ->> '{lease}.{key}' - {hours * 3600})"
                      f" WHERE name = '{home.name}'" for key in ('began_s', 'ends_s')))


def mine(sim, home):
    return [i for i in sim.live_instances() if {'key': 'raygpu:cluster', 'value': home.name} in i['tagSet']]


def test_a_duration_counts_from_the_first_apply(home):
    write(home, cluster='2w', pool='72h')
    first = home.run('plan')
    assert 'Leases:' in first.out and '72h from the first apply' in first.out, first
    apply(home)
    kept = recorded(home)
    assert kept['cluster']['ends_s'] == kept['cluster']['began_s'] + 14 * 86400
    assert kept['pools']['a']['ends_s'] == kept['pools']['a']['began_s'] + 72 * 3600
    assert 'b' not in kept['pools'] and 'No changes' in home.run('plan').out
    pass_time(home, 'a', 24)
    write(home, cluster='2w', pool='96h')
    apply(home)
    after = recorded(home)
    assert after['pools']['a']['began_s'] == kept['pools']['a']['began_s'] - 24 * 3600, 'it moved its start'
    assert after['pools']['a']['ends_s'] == after['pools']['a']['began_s'] + 96 * 3600


def test_a_changed_lease_replaces_nothing(sim, home):
    write(home)
    apply(home)
    before = sorted(i['instanceId'] for i in mine(sim, home))
    for cluster, pool in (('2w', None), ('2w', '72h'), ('3w', '100h'), (None, '100h'), (None, None)):
        write(home, cluster, pool)
        plan = home.run('plan', '--format', 'json', '--detailed-exitcode', code=2).json()
        actions = {tuple(c['change']['actions']) for c in plan['resource_changes']}
        assert actions <= {('no-op',), ('update',)}, actions
        apply(home)
        assert 'No changes' in home.run('plan').out
        assert sorted(i['instanceId'] for i in mine(sim, home)) == before
        assert (recorded(home) or {}).get('cluster', {}).get('expires') == cluster


def test_a_first_lease_is_an_addition_and_no_drift(home):
    """What EC2 chose for an attribute that comes with a lease was changed by nobody."""
    write(home)
    apply(home)
    write(home, '2w')
    plan = home.run('plan').out
    assert re.search(r'^ +\+ expires +.*= "\d{4}-', plan, re.M), plan
    assert 'changed outside' not in plan and 'has changed' not in plan, plan
    apply(home)
    write(home)
    assert '- expires ' in home.run('plan').out


def test_a_renamed_pool_keeps_its_start(home):
    write(home, pool='72h')
    apply(home)
    pass_time(home, 'a', 24)
    end = recorded(home)['pools']['a']['ends_s']
    write(home, pool='72h, renamed_from: a', pools=('c', 'b'))
    apply(home)
    assert recorded(home)['pools'].keys() == {'c'} and recorded(home)['pools']['c']['ends_s'] == end


def test_a_date_is_the_beginning_of_its_day(home):
    write(home, cluster='2099-12-01', pool='2099-11-30T18:00:00+01:00')
    cluster, pool = leases(home)
    assert cluster == {'expires': '2099-12-01', 'after': '2099-12-01T00:00:00Z'}
    assert pool == {'pool': 'a', 'expires': '2099-11-30T18:00:00+01:00', 'after': '2099-11-30T17:00:00Z'}
    text = home.run('plan').out
    assert f'cluster {home.name}: lease: ends 2099-12-01 00:00 UTC' in text and 'pool a: lease: ends 2099-11-30 17:00 UTC' in text


def test_the_recorded_end_is_shown(home):
    write(home, cluster='2099-12-01', pool='2099-11-30')
    apply(home)
    text = home.run('show').out
    assert f'# the lease of cluster {home.name} ends 2099-12-01 00:00 UTC (expires: 2099-12-01)' in text
    assert '# the lease of pool a ends 2099-11-30 00:00 UTC' in text
    assert home.run('show', '--json').json()['leases'] == recorded(home)
    outputs = home.run('output', '--json').json()
    assert outputs['expires'] == '2099-12-01T00:00:00Z' and outputs['pool_expires'] == {'a': '2099-11-30T00:00:00Z'}
    assert home.run('output', 'expires').out == '2099-12-01T00:00:00Z\n'


def test_without_a_lease_nothing_is_shown(home):
    write(home)
    assert 'Leases:' not in home.run('plan').out
    apply(home)
    assert '# the lease' not in home.run('show').out and 'leases' not in home.run('show', '--json').json()
    assert home.run('output', '--json').json()['expires'] is None


def test_a_pool_cannot_outlive_the_head(home):
    write(home, cluster='96h', pool='2099-12-01')
    refused = home.run('plan', code=4)
    assert 'spec.conflict' in refused.err and 'cluster.yaml:7:' in refused.err and 'cluster.yaml:9:10' in refused.err, refused


@pytest.mark.parametrize('hours, warned', [(23, True), (25, False)])
def test_the_last_24_hours_are_announced(home, hours, warned):
    write(home, pool=utc(hours=hours))
    for command in ('plan', 'apply', 'drift'):
        more = ('--auto-approve', '--no-wait') if command == 'apply' else ()
        result = home.run(command, *more)
        assert ('plan.lease-ends' in result.err) == warned, result


def test_nothing_is_created_after_the_end(home):
    write(home, cluster=utc(hours=-1))
    for command in (('plan',), ('apply', '--auto-approve')):
        refused = home.run(*command, code=9)
        assert 'plan.lease-ended' in refused.err and 'cluster.yaml:9:10' in refused.err, refused
    write(home, pool=utc(hours=1))
    apply(home)
    write(home, pool=utc(hours=-1))
    refused = home.run('plan', code=9)
    assert 'in the past' in ' '.join(refused.err.split()), 'it would shut down what runs'


def test_an_ended_lease_of_a_pool_stops_nothing_else(sim, home):
    write(home, pool=utc(hours=-1))
    plan = home.run('plan')
    said = ' '.join(plan.err.split())
    assert 'the lease of pool a ended' in said and 'the pool is treated as disabled' in said and 'cluster.yaml:7:' in said, plan
    assert 'aws.instance.b[0]' in plan.out and 'aws.instance.a[0]' not in plan.out, plan
    write(home, pool='72h')
    apply(home)
    pass_time(home, 'a', 100)
    write(home, pool='72h', pools=('a', 'b', 'c'))
    changed = home.run('plan')
    assert 'aws.instance.c[0] will be created' in changed.out and 'aws.instance.a[0] will be destroyed' in changed.out, changed
    assert 'Pool a is disabled (cluster.yaml:7)' in changed.out, changed
    apply(home)
    assert len(mine(sim, home)) == 3 and 'No changes' in home.run('plan').out
    write(home, pool=utc(hours=200), pools=('a', 'b', 'c'))
    apply(home)
    assert len(mine(sim, home)) == 4


def test_nodes_that_left_at_the_end_are_neither_drift_nor_created_again(sim, home):
    write(home, cluster='2w', pool='72h')
    apply(home)
    gone, = (i['instanceId'] for i in mine(sim, home) if {'key': 'raygpu:pool', 'value': 'a'} in i['tagSet'])
    pass_time(home, 'a', 100)
    assert 'plan.lease-ended' in home.run('plan').err, 'it still runs'
    sim.ok('TerminateInstances', {'InstanceId.1': gone})
    drift = home.run('drift')
    assert 'No drift' in drift.out and 'plan.lease-ended' in drift.err, drift
    plan = home.run('plan')
    assert 'plan.lease-ended' in plan.err and 'extend `expires`' in plan.err and 'aws.instance.a[0] will be created' not in plan.out, plan
    write(home, cluster='2w', pool='150h')
    extended = home.run('plan', '--format', 'json').json()
    assert [c['address'] for c in extended['resource_changes'] if c['change']['actions'] == ['create']] == ['aws.instance.a[0]']
    apply(home)
    assert len(mine(sim, home)) == 3 and 'No drift' in home.run('drift').out


def test_a_protected_node_outlives_its_lease_so_it_is_missed(sim, home):
    write(home, cluster='2w', pool='72h, protect: true')
    apply(home)
    pass_time(home, 'a', 100)
    for instance in mine(sim, home):
        sim.ok('TerminateInstances', {'InstanceId.1': instance['instanceId']})
    drift = home.run('drift', code=2).out
    assert 'aws.instance.a[0]' in drift and 'aws.instance.b[0]' in drift and 'aws.instance.head' in drift
    pass_time(home)
    pass_time(home, 'a')
    drift = home.run('drift', code=2).out
    assert 'aws.instance.a[0]' in drift and 'aws.instance.b[0]' not in drift and 'aws.instance.head' in drift


def test_a_saved_plan_is_not_applied_after_the_end(home):
    for seconds in (2, 20, 200):  # however slow the machine is
        end = utc(seconds=seconds)
        write(home, cluster=end)
        if not home.run('plan', '--out', 'saved.json', code=None).code:
            break
    while utc() <= end:
        time.sleep(0.1)
    refused = home.run('apply', 'saved.json', '--auto-approve', code=9)
    assert 'plan.lease-ended' in refused.err, refused


def test_a_saved_plan_records_the_end_that_it_shows(home):
    write(home, cluster='2w')
    home.run('plan', '--out', 'saved.json')
    plan = home.read('saved.json')
    shown = home.run('show', 'saved.json').out
    home.run('apply', 'saved.json', '--auto-approve', '--no-wait')
    end = datetime.datetime.fromtimestamp(recorded(home)['cluster']['ends_s'], datetime.timezone.utc)
    assert end.strftime('lease: ends %Y-%m-%d %H:%M UTC') in shown
    home.write('edited.json', plan.replace(end.strftime('"%Y-%m-%dT%H:%M:%SZ"'), '"2099-01-01T00:00:00Z"'))
    assert 'plan.bad-file' in home.run('apply', 'edited.json', '--auto-approve', code=4).err

"""raygpu reap: removes what the leases of the clusters in a state no longer cover, and nothing else."""
import datetime
import json
import os
import subprocess
import time
import zlib

import pytest

import events
from program import Home, spec
from sim_server import Sim


@pytest.fixture(scope='module', name='sim')
def fixture_sim():
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim:
        yield sim


@pytest.fixture(name='home')
def fixture_home(tmp_path, sim, request):
    home = Home(tmp_path, sim.env())
    home.name = f'reap-{zlib.crc32(request.node.name.encode()):x}'
    return home


def write(home, cluster=None, pool=None, name=None, file='cluster.yaml', a='', head=''):
    """Pools a, b: `pool` is the first one's lease; `a` and `head`: more of them."""
    text = spec(name=name or home.name, pools={'a': 1, 'b': 1}, extra=f'expires: {cluster}\n' if cluster else '')
    a += f', expires: {pool}' if pool else ''
    text = text.replace('nodes: 1', f'nodes: 1{a}', 1).replace('head: {', f'head: {{{head}', 1)
    home.write(file, text)


def end(home, pool=None, name=None, hours=2000):
    """As if the lease had begun that much earlier."""
    lease = '$.leases.' + (f'pools.{pool}' if pool else 'cluster')
    home.edit_state(*(f"UPDATE clusters SET facts = json_set(facts, '{lease}.{key}', facts ->> '{lease}.{key}' - {hours * 3600})"
                      f" WHERE name = '{name or home.name}'" for key in ('began_s', 'ends_s')))


def apply(home, file='cluster.yaml', **more):
    return home.apply(file, '--no-wait', **more)


def live(sim, home, name=None):
    return sorted(tag['value'] for i in sim.live_instances() for tag in i['tagSet']
                  if tag['key'] == 'raygpu:pool' and {'key': 'raygpu:cluster', 'value': name or home.name} in i['tagSet'])


def records(home, name=None):
    return home.run('state', 'list', '--cluster', name or home.name).out.split()


def test_what_has_not_ended_stays(sim, home):
    write(home, '2w', '72h')
    apply(home)
    result = home.run('reap')
    assert 'Nothing to reap.' in result.out and live(sim, home) == ['a', 'b', 'head']
    assert not home.run('log', '--json').json()[0]['command'] == 'reap', 'nothing to do is not a run'


def test_without_a_state_nothing_is_created(home):
    write(home, '2w')
    home.run('reap')
    home.run('reap', '--dry-run', '.')
    assert not os.path.exists(home.state)


def test_a_pool_that_ended_goes_alone(sim, home):
    write(home, '2w', '72h')
    apply(home)
    end(home, 'a', hours=100)
    serial = home.run('state', 'pull').json()['clusters'][0]['serial']
    dry = home.run('reap', '--dry-run')
    assert 'aws.instance.a[0] will be destroyed' in dry.out and '1 to destroy' in dry.out and 'aws.instance.b' not in dry.out, dry
    assert live(sim, home) == ['a', 'b', 'head'] and home.run('state', 'pull').json()['clusters'][0]['serial'] == serial
    assert f'The lease of pool a of cluster {home.name} has ended.' in home.run('reap', '--dry-run', '--summary').out
    assert f'Reaped pool a of cluster {home.name}: 1 node destroyed.' in home.run('reap').out
    assert live(sim, home) == ['b', 'head'] and not [r for r in records(home) if '.a[' in r]
    assert home.run('log', '--json').json()[0]['command'] == 'reap'
    assert 'Nothing to reap.' in home.run('reap').out
    plan = home.run('plan')
    assert 'plan.lease-ended' in plan.err and 'No changes' in plan.out, 'the spec still has the pool'
    assert 'No drift' in home.run('drift').out
    write(home, '2w', '200h')
    apply(home)
    assert live(sim, home) == ['a', 'b', 'head']


def test_a_whole_cluster_goes_and_its_lease_stays_over(sim, home):
    write(home, '2w', '72h')
    apply(home)
    end(home)
    end(home, 'a')
    home.run('reap')
    assert live(sim, home) == [] and records(home) == []
    assert 'Nothing to reap.' in home.run('reap').out
    assert 'plan.lease-ended' in home.run('plan', code=9).err, 'or the next pipeline would create it again'


@pytest.mark.parametrize('saved', [False, True])
def test_after_destroy_a_duration_begins_again(sim, home, saved):
    write(home, '2w')
    apply(home)
    end(home, hours=100)
    if saved:
        home.run('plan', '--destroy', '--out', 'saved.json')
        home.run('apply', 'saved.json', '--auto-approve')
    else:
        home.run('destroy', 'cluster.yaml', '--auto-approve')
    apply(home)
    kept = home.run('state', 'pull').json()['clusters'][0]['facts']['leases']['cluster']
    assert kept['began_s'] > kept['ends_s'] - 15 * 86400 and 'destroyed' not in kept and live(sim, home) == ['a', 'b', 'head']
    assert 'plan.lease' not in home.run('plan').err


def test_the_remains_of_nodes_that_left_by_themselves_go(sim, home):
    write(home, '2w')
    apply(home)
    end(home)
    for instance in sim.live_instances():
        if {'key': 'raygpu:cluster', 'value': home.name} in instance['tagSet']:
            sim.ok('TerminateInstances', {'InstanceId.1': instance['instanceId']})
    assert records(home)
    assert f'Reaped pool a of cluster {home.name}: 1 node was already gone.' in home.run('reap').out
    assert 'changes 3 delete, 3 forget' in home.run('log').out
    assert records(home) == []
    found = sim.ok('DescribeNetworkInterfaces', {'Filter.1.Name': 'tag:raygpu:cluster', 'Filter.1.Value.1': home.name})
    assert 'eni-' not in str(found)


@pytest.mark.parametrize('gone', ['removed', 'broken'])
def test_the_record_decides_without_a_spec(sim, home, gone):
    write(home, '2w')
    apply(home)
    end(home)
    if gone == 'removed':
        os.unlink(home.path('cluster.yaml'))
    else:
        home.write('cluster.yaml', home.read('cluster.yaml') + 'nonsense: 1\n')
    result = home.run('reap')
    assert ('reap.spec-unreadable' in result.err) == (gone == 'broken'), result
    assert live(sim, home) == [] and records(home) == []


@pytest.mark.parametrize('extension', ['300d', None])
def test_an_extension_that_is_not_applied_yet_counts(sim, home, extension):
    write(home, '2w')
    apply(home)
    end(home)
    write(home, extension)
    result = home.run('reap')
    assert 'reap.extended' in result.err and live(sim, home) == ['a', 'b', 'head'], result
    apply(home)
    assert 'reap.extended' not in home.run('reap').err and live(sim, home) == ['a', 'b', 'head']


def test_protected_pools_stay(sim, home):
    write(home, '2w', a=', protect: true')
    apply(home)
    end(home)
    for again in (False, True):
        result = home.run('reap', code=9)
        assert 'reap.protected' in result.err and 'pool a' in result.err, result
        assert 'The lease of pool b' not in result.out, 'b has none of its own'
        assert again or f'The lease of cluster {home.name} has ended.' in result.out, result
        assert live(sim, home) == ['a', 'head']
    write(home, '2w')
    assert 'protect: true -> false' in home.run('plan', code=9).out, 'pool b would be created again'


def test_a_protected_pool_with_its_own_lease_stays(sim, home):
    write(home, None, '72h', a=', protect: true')
    apply(home)
    end(home, 'a')
    assert 'reap.protected' in home.run('reap', '--dry-run', code=9).err
    assert 'reap.protected' in home.run('reap', code=9).err and live(sim, home) == ['a', 'b', 'head']


def test_several_clusters_of_a_folder(sim, home):
    names = [f'{home.name}-{i}' for i in range(3)]
    for name, lease in zip(names, ('2w', None, '300d')):
        write(home, lease, name=name, file=f'{name}.yaml')
        apply(home, f'{name}.yaml')
    end(home, name=names[0])
    home.run('reap', '.')
    assert [len(live(sim, home, name)) for name in names] == [0, 3, 3]


def test_the_stream_has_the_result(sim, home):
    write(home, '2w')
    apply(home)
    end(home)
    for more, outcome, count in ((('--dry-run',), 'not-run', 0), ((), 'done', 6), ((), None, 0)):
        messages = [json.loads(line) for line in home.run('reap', '--json', *more).out.splitlines()]
        for message in messages:
            events.schema().validate(message)
        last = messages[-1]
        assert last['raygpu']['command'] == 'reap' and last['raygpu']['exit_code'] == 0
        assert last['changes']['remove'] == count and [c['outcome'] for c in last['raygpu']['clusters']] == ([outcome] if outcome else [])
    assert live(sim, home) == []


def test_a_locked_cluster_is_left_to_its_run(sim, home):
    write(home, '2w')
    apply(home)
    end(home)
    code = ('import fcntl,os,struct,sys; f=os.open(sys.argv[1], os.O_RDWR|os.O_CREAT, 0o600);'
            'fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)); print(1, flush=True); sys.stdin.read()')
    with subprocess.Popen(['/usr/bin/python3', '-c', code, f'{home.state}.{home.name}.lock'], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        assert 'state.locked' in home.run('reap', code=5).err
        holder.stdin.close()
    assert live(sim, home) == ['a', 'b', 'head']
    home.run('reap')
    assert live(sim, home) == []


def test_wrong_options(home):
    assert 'usage.bad-argument' in home.run('reap', '--parallelism', '0', code=4).err
    assert 'spec.none-found' in home.run('reap', 'nowhere', code=4).err


def test_a_killed_reap_is_completed_by_the_next(tmp_path):
    """While it waits for the nodes that it terminated."""
    with Sim('--boot-ms', '0') as sim:
        home = Home(tmp_path, sim.env())
        home.name = 'research'
        write(home, '2w', '72h')
        apply(home)
        end(home)
        sim.knobs(shutdown_ms=7200000)
        sim.counters_reset()
        process = home.start('reap')
        while not sim.counters()['actions'].get('TerminateInstances'):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert records(home), 'it did not see them end'
        sim.skip_to(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2, minutes=10))
        home.run('reap')
        assert live(sim, home) == [] and records(home) == []
        assert not [g for g in sim.world('us-east-1')['security_groups'] if g['groupName'] != 'default']
        assert 'Nothing to reap.' in home.run('reap').out

"""apply waits until new nodes have joined Ray, by what the head's console says of all of them."""
import datetime
import os
import signal
import time

import pytest
from program import spec
from test_unhealthy import say

POOL = 'aws.instance.serve'
# what does not join stays
KEPT = ('cluster.yaml', '--max-replacements', '0')
STEPS = ['docker', 'driver', 'gpus', 'identity', 'mount', 'pull', 'token', 'ray']


def looks(sim):
    return sim.counters()['actions'].get('GetConsoleOutput', {'requests': 0})['requests']


def joined(home):
    """{address: what the state says of its joining}, nodes only."""
    document = home.run('state', 'pull').json()
    return {r['address']: r['joined'] for r in document['clusters'][0]['resources'] if '.instance.' in r['address']}


def write(home, nodes=2, timeout=None, **more):
    extra = f', ready_timeout: {timeout}' if timeout else ''
    home.write('cluster.yaml', spec(pools={'serve': nodes}, pool_extra=extra, **more))


def break_node(sim, how, count=1, type='g4dn*', **more):
    sim.knobs(node_faults=[{'how': how, 'type': type, 'count': count, **more}])


# --- all join -------------------------------------------------------------------------------

def test_one_call_shows_that_all_have_joined(home, sim):
    write(home)
    result = home.apply()
    assert result.err.endswith('Ray: head 1 of 1 joined, serve 2 of 2 joined\n')
    assert looks(sim) == 1
    known = joined(home)
    assert set(known) == {'aws.instance.head', POOL + '[0]', POOL + '[1]'}
    now = time.time()
    assert all(abs(now - one.pop('at_s')) < 60 for one in known.values())
    assert known['aws.instance.head'] == {'gpus': 0, 'driver': ''}
    assert known[POOL + '[1]'] == {'gpus': 1, 'driver': '550.90.07'}
    home.apply()
    assert looks(sim) == 1, 'nobody is awaited any more'


def test_nodes_that_take_their_time_are_waited_for(home, sim):
    sim.knobs(join_ms=3000)
    write(home)
    result = home.apply()
    assert 'Ray: head 0 of 1 joined (1 booting), serve 0 of 2 joined (2 booting)\n' in result.err
    assert result.err.endswith('Ray: head 1 of 1 joined, serve 2 of 2 joined\n')
    assert 2 <= looks(sim) <= 5


def test_no_wait_leaves_them_to_the_next_apply(home, sim):
    write(home)
    home.apply('cluster.yaml', '--no-wait')
    assert looks(sim) == 0 and set(map(str, joined(home).values())) == {'{}'}
    result = home.apply()
    assert 'No changes.' in result.out and result.err == 'Ray: head 1 of 1 joined, serve 2 of 2 joined\n'
    assert looks(sim) == 1 and all(joined(home).values())


def test_only_new_nodes_are_waited_for(home, sim):
    write(home)
    home.apply()
    write(home, nodes=3)
    assert home.apply().err.endswith('Ray: serve 1 of 1 joined\n')
    assert looks(sim) == 2


def test_nothing_is_waited_for_when_it_is_destroyed(home, sim):
    write(home)
    home.apply('cluster.yaml', '--no-wait')
    home.run('destroy', '--auto-approve')
    assert looks(sim) == 0


# --- some fail ------------------------------------------------------------------------------

@pytest.mark.parametrize('step', STEPS)
def test_a_node_that_gives_up_is_named_with_its_step(step, home, sim):
    write(home, timeout=4)
    break_node(sim, 'fail', step=step, reason=f'no {step} here')
    result = home.apply(*KEPT, code=3)
    assert f'Error: {POOL}[0] did not join Ray: step {step} failed: no {step} here' in ' '.join(result.err.split())
    assert '[ready.failed]' in result.err and f'raygpu: no {step} here\n' in result.err, 'the last lines'
    assert 'Apply incomplete. Resources: 6 added' in result.out
    assert '1 of 3 new nodes did not join Ray. The others work.' in result.out
    known = joined(home)
    assert known.pop(POOL + '[0]') == {} and all(known.values())
    assert home.run('log', '--json').json()[0]['outcome'] == 'partial'


def test_a_node_that_gives_up_is_reported_long_before_its_time_is_over(home, sim):
    """The time is that of all nodes, 40 minutes; the head's console says nothing of a node that did not join."""
    write(home)
    break_node(sim, 'fail', step='gpus', reason='nvidia-smi shows 0 GPUs of 1')
    result = home.run('apply', *KEPT, '--auto-approve', code=3, timeout=120)
    assert f'Error: {POOL}[0] did not join Ray: step gpus failed' in ' '.join(result.err.split())
    assert looks(sim) <= 9, 'a few looks at the head, one or two at the node'


@pytest.mark.parametrize('how,said', [
    ('retry', 'step pull failed and is tried again: it does not work'),
    ('hang', 'step pull did not end within 1 seconds'),
    ('silent', 'its start script reported nothing within 1 seconds'),
])
def test_a_node_is_waited_for_until_its_time_is_over(how, said, home, sim):
    write(home, timeout=1)
    break_node(sim, how, step='pull')
    result = home.apply(*KEPT, code=3)
    assert f'{POOL}[0] did not join Ray: {said} [ready.timeout]' in ' '.join(result.err.split())
    assert 'Linux version 6.1.0' in result.err, 'the last lines'
    before = looks(sim)
    again = home.apply(*KEPT, code=3)
    assert 'No changes.' in again.out and said in ' '.join(again.err.split())
    assert looks(sim) - before == 2, 'after its time one look is enough: the head and the node'


def test_a_node_that_joins_late_is_taken(home, sim):
    write(home, timeout=1, head='m5.2xlarge, ready_timeout: 1')
    sim.knobs(join_ms=60000)
    head_too = home.apply(*KEPT, code=3)
    assert 'aws.instance.head did not join' in ' '.join(head_too.err.split())
    sim.knobs(join_ms=0)
    assert home.apply().err == 'Ray: head 1 of 1 joined, serve 2 of 2 joined\n'
    assert all(joined(home).values())


def test_without_a_head_nobody_else_is_waited_for(home, sim):
    write(home, nodes=3)
    break_node(sim, 'fail', type='m5*', step='docker', reason='no docker on this image')
    result = home.apply(*KEPT, code=3)
    text = ' '.join(result.err.split())
    assert 'aws.instance.head did not join Ray: step docker failed: no docker on this image' in text
    assert f'{POOL}[0] and 2 more did not join Ray: the head has not joined' in text


def test_many_failures_of_one_kind_are_one_message(home, sim):
    write(home, nodes=12, timeout=4)
    break_node(sim, 'fail', count=11, step='gpus', reason='nvidia-smi shows 0 GPUs of 1')
    result = home.apply(*KEPT, '--json', code=3)
    document = result.summary()
    cluster, = document['clusters']
    ready = cluster['ready']
    assert (ready['awaited'], ready['joined'], len(ready['failed'])) == (13, 2, 11)
    assert ready['failed'][0] == {'address': POOL + '[0]', 'pool': 'serve', 'final': True, 'step': 'gpus',
                                  'reason': 'step gpus failed: nvidia-smi shows 0 GPUs of 1'}
    assert [d['summary'] for d in result.told() if d['code'] == 'ready.failed'] == [
        f'{POOL}[0] and 10 more did not join Ray: step gpus failed: nvidia-smi shows 0 GPUs of 1']
    assert cluster['outcome'] == 'partial' and document['exit_code'] == 3


def test_a_saved_plan_has_the_timeouts(home, sim):
    write(home, timeout=1)
    break_node(sim, 'silent')
    home.run('plan', 'cluster.yaml', '--out', 'plan.json')
    result = home.run('apply', 'plan.json', *KEPT[1:], code=3)
    assert 'within 1 seconds' in ' '.join(result.err.split())


# --- the cloud or the user does not let it look ---------------------------------------------

def test_a_console_that_may_not_be_read_is_a_warning(home, sim):
    sim.fault(action='GetConsoleOutput', status=403, code='UnauthorizedOperation', message='no', count=0)
    write(home)
    result = home.apply()
    assert 'Warning: cannot see whether the nodes join Ray: ' in ' '.join(result.err.split())
    assert '[ready.unreadable]' in result.err and 'Apply complete!' in result.out
    sim.faults_clear()
    home.apply()
    assert all(joined(home).values())


def test_a_failed_look_is_repeated(home, sim):
    sim.fault(action='GetConsoleOutput', status=400, code='InvalidInstanceID.NotFound', message='young', count=1)
    write(home)
    home.apply()
    assert looks(sim) == 2 and all(joined(home).values())


def test_a_head_that_shows_only_its_boot_cannot_be_waited_for(home, sim):
    sim.knobs(join_ms=60000)
    home.write('raygpu.yaml', 'catalog: {instance_types: {aws: {p3.2xlarge: {vcpus: 8, memory: 61GiB, '
               'accelerators: V100-16GB:1}}}}\n')
    write(home, head='p3.2xlarge')
    text = ' '.join(home.apply().err.split())
    assert 'the console of the head shows only what was there soon after its boot [ready.unreadable]' in text


def test_a_head_that_shows_only_its_boot_says_nothing_of_later_nodes(home, sim):
    home.write('raygpu.yaml', 'catalog: {instance_types: {aws: {p3.2xlarge: {vcpus: 8, memory: 61GiB, '
               'accelerators: V100-16GB:1}}}}\n')
    write(home, head='p3.2xlarge')
    home.apply()
    sim.skip_to(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1))
    write(home, nodes=3, head='p3.2xlarge')
    # by its own word, long before its time of 20 minutes is over
    result = home.run('apply', 'cluster.yaml', '--auto-approve', timeout=120)
    assert result.err.endswith('Ray: serve 1 of 1 joined\n')


def test_an_old_list_of_the_head_says_nothing_of_later_nodes(home, sim):
    write(home)
    home.apply()
    say(sim, 50)
    write(home, nodes=3)
    # by its own word, long before its time of 20 minutes is over
    result = home.run('apply', 'cluster.yaml', '--auto-approve', timeout=120)
    assert result.err.endswith('Ray: serve 1 of 1 joined\n')


def wait_for_look(sim):
    deadline = time.monotonic() + 120
    while not looks(sim):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize('number,code', [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_an_interrupted_wait_is_taken_up_again(number, code, home, sim):
    sim.knobs(join_ms=60000)
    write(home)
    process = home.start('apply', 'cluster.yaml', '--auto-approve')
    wait_for_look(sim)
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == code
    assert ('Interrupted while waiting for nodes to join Ray' in out) == (number == signal.SIGINT)
    sim.knobs(join_ms=0)
    again = home.apply()
    assert 'No changes.' in again.out and all(joined(home).values())
    assert len(sim.live_instances()) == 3


# --- many nodes -----------------------------------------------------------------------------

def test_a_thousand_nodes_cost_one_call_a_look(home, sim):
    sim.knobs(join_ms=1500)
    home.write('cluster.yaml', spec(pools={'serve': 1000}, pool_extra=', ready_timeout: 30'))
    result = home.apply(timeout=300)
    assert 'Ray: head 1 of 1 joined, serve 1000 of 1000 joined\n' in result.err
    rounds = result.err.count('\nRay: ')
    assert rounds <= looks(sim) <= rounds + 20
    assert len(joined(home)) == 1001

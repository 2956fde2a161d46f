"""Nodes are replaced a few at a time: when they leave, when they return, and where apply stops."""
import time
import pytest
from program import spec
from sim_server import tags_of


def write(home, nodes=3, disk=100, extra=''):
    home.write('cluster.yaml', spec(pools={'serve': nodes}, pool_extra=f', disk: {{size: {disk}GB}}{extra}'))


@pytest.fixture
def home(home):
    write(home)
    return home


def pool(sim):
    return [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'serve']


def fewest(sim, process, most=False):
    """The minimum (or maximum) number of nodes in EC2 while `process` ran."""
    seen = []
    while process.poll() is None:
        seen.append(len(pool(sim)))
        time.sleep(0.01)
    return max(seen) if most else min(seen)


def rolled(home, sim, **options):
    apply = home.start('apply', 'cluster.yaml', '--auto-approve', '--no-settle')
    least = fewest(sim, apply, **options)
    out, err = apply.communicate()
    assert apply.returncode == 0, (out, err)
    return least


def test_one_at_a_time_unless_stated(sim, home):
    home.apply('cluster.yaml')
    old = {i['instanceId'] for i in pool(sim)}
    write(home, disk=120)
    said = home.run('plan', 'cluster.yaml', '--out', 'plan.json', '--detailed-exitcode', code=2).out
    assert 'Pool serve is replaced 1 node at a time. apply stops at the first new node that' in said
    pools = {p['pool']: p for p in home.run('show', 'plan.json', '--json').json()['raygpu']['pools']}
    assert pools['serve']['max_unavailable'] == 1 and 'max_unavailable' not in pools['head']
    sim.knobs(boot_ms=300)
    assert rolled(home, sim) == 2
    assert len(pool(sim)) == 3 and not old & {i['instanceId'] for i in pool(sim)}


@pytest.mark.parametrize('share, least', [(2, 2), ('"50%"', 2), ('"100%"', 0)])
def test_max_unavailable_is_a_number_or_a_share(sim, home, share, least):
    write(home, 4)
    home.apply('cluster.yaml')
    write(home, 4, disk=120, extra=f', replace: {{max_unavailable: {share}}}')
    sim.knobs(boot_ms=400)
    assert rolled(home, sim) == least


def test_a_node_that_does_not_start_ends_it(sim, home):
    home.apply('cluster.yaml')
    old = {i['instanceId'] for i in pool(sim)}
    write(home, disk=120)
    sim.knobs(capacity={'*': {'*': 0}})
    failed = home.run('apply', 'cluster.yaml', '--auto-approve', '--no-settle', code=3)
    assert 'could not create aws.instance.serve[0]' in failed.err
    assert len(old & {i['instanceId'] for i in pool(sim)}) == 2, 'the others stay'
    sim.knobs(capacity={})
    home.apply('cluster.yaml')
    assert len(pool(sim)) == 3 and not old & {i['instanceId'] for i in pool(sim)}


def test_the_new_node_is_requested_when_the_old_one_uses_no_quota_any_more(sim, home):
    write(home, 1)
    home.apply('cluster.yaml')
    write(home, 1, disk=120)
    sim.knobs(quotas={'L-DB2E81BA': 4}, shutdown_ms=1000)
    home.apply('cluster.yaml')
    assert len(pool(sim)) == 1


def test_with_the_head_all_leave_together(sim, home):
    home.apply('cluster.yaml')
    home.write('cluster.yaml', spec(pools={'serve': 3}).replace('2.56.1', '2.55.1'))
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2).out
    assert 'at a time' not in said and 'every running job and actor of the cluster ends' in said


@pytest.mark.parametrize('value, message', [
    ('{max_unavailable: 0}', 'at least 1'),
    ('{max_unavailable: "0%"}', 'must be a number of nodes, or a share'),
    ('{max_surge: half}', 'must be a number of nodes, or a share'),
    ('{max_unavailable: 1, max_surge: 1}', 'must have at most 1 entry')])
def test_what_is_refused(home, value, message):
    write(home, extra=f', replace: {value}')
    assert message in home.run('validate', 'cluster.yaml', code=4).err


def test_max_surge_makes_the_new_node_first(sim, home):
    home.apply('cluster.yaml')
    old = {i['instanceId'] for i in pool(sim)}
    write(home, disk=120, extra=', replace: {max_surge: 1}')
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2).out
    assert 'Pool serve is replaced 1 node at a time, each new node before its old one.' in said
    sim.knobs(boot_ms=300)
    assert rolled(home, sim) == 3
    assert len(pool(sim)) == 3 and not old & {i['instanceId'] for i in pool(sim)}
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle').out


def test_max_surge_holds_its_limit(sim, home):
    write(home, 4)
    home.apply('cluster.yaml')
    write(home, 4, disk=120, extra=', replace: {max_surge: "50%"}')
    sim.knobs(boot_ms=300)
    assert rolled(home, sim, most=True) == 6


def test_without_room_for_the_new_node_the_old_one_stays(sim, home):
    home.apply('cluster.yaml')
    old = {i['instanceId'] for i in pool(sim)}
    write(home, disk=120, extra=', replace: {max_surge: 1}')
    sim.knobs(capacity={'*': {'*': 0}})
    failed = home.run('apply', 'cluster.yaml', '--auto-approve', '--no-settle', code=8)
    assert 'could not create aws.instance.serve[0]' in failed.err
    assert old == {i['instanceId'] for i in pool(sim)}
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle', code=2).out
    assert 'aws.instance.serve~0[0]' in said
    sim.knobs(capacity={})
    home.apply('cluster.yaml')
    assert len(pool(sim)) == 3 and not old & {i['instanceId'] for i in pool(sim)}
    assert '~' not in home.run('state', 'list').out


def test_max_surge_keeps_the_old_node_until_the_new_one_has_joined(sim, home):
    write(home, extra=', ready_timeout: 2')
    home.apply('cluster.yaml')
    old = {i['instanceId'] for i in pool(sim)}
    write(home, disk=120, extra=', ready_timeout: 2, replace: {max_surge: 1}')
    sim.knobs(node_faults=[{'how': 'hang', 'type': 'g4dn*', 'count': 1, 'step': 'pull'}])
    failed = home.run('apply', 'cluster.yaml', '--auto-approve', '--max-replacements=0', code=3)
    assert '3 nodes of pool serve were not replaced' in ' '.join(failed.err.split())
    assert len(old & {i['instanceId'] for i in pool(sim)}) == 3 and len(pool(sim)) == 4
    # the next plan removes the first old node, but not before its successor has joined
    home.run('apply', 'cluster.yaml', '--auto-approve', '--max-replacements=0', code=3)
    assert 'aws.instance.serve~0[0]' in home.run('state', 'list').out
    assert len(old & {i['instanceId'] for i in pool(sim)}) == 2 and len(pool(sim)) == 4
    home.apply('cluster.yaml')
    assert len(pool(sim)) == 3 and not old & {i['instanceId'] for i in pool(sim)}
    assert '~' not in home.run('state', 'list').out
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle').out


def test_max_surge_without_waiting_removes_the_old_node_when_the_new_one_runs(sim, home):
    home.apply('cluster.yaml')
    old = {i['instanceId'] for i in pool(sim)}
    write(home, disk=120, extra=', replace: {max_surge: 1}')
    sim.knobs(boot_ms=300, node_faults=[{'how': 'hang', 'type': 'g4dn*', 'count': 9, 'step': 'pull'}])
    apply = home.start('apply', 'cluster.yaml', '--auto-approve', '--no-settle', '--no-wait')
    assert fewest(sim, apply) == 3
    assert apply.returncode == 0
    assert len(pool(sim)) == 3 and not old & {i['instanceId'] for i in pool(sim)}


@pytest.mark.parametrize('how', ['max_unavailable', 'max_surge'])
def test_what_leaves_with_a_replaced_pool_goes_last(sim, home, how):
    """A group that only the old nodes use: it is deleted when none of them is left."""
    key = f', replace: {{{how}: 1}}'
    home.write('cluster.yaml', spec(pools={'serve': 2}, pool_extra=key).replace(
        'region: us-east-1', 'region: us-east-1, ssh_from: [10.0.0.0/8]'))
    home.apply('cluster.yaml')
    write(home, 2, disk=120, extra=key)
    home.apply('cluster.yaml')
    assert len(pool(sim)) == 2 and 'aws.security_group.ssh' not in home.run('state', 'list').out


@pytest.mark.parametrize('requests', range(1, 10))
def test_killed_while_a_new_node_is_made_first(sim, home, requests):
    """Whenever it is killed, the next apply ends with one node per address."""
    write(home, 2)
    home.apply('cluster.yaml')
    old = {i['instanceId'] for i in pool(sim)}
    write(home, 2, disk=120, extra=', replace: {max_surge: 1}')
    apply = home.start('apply', 'cluster.yaml', '--auto-approve', '--no-settle')
    start = sim.counters()['mutating']
    while apply.poll() is None and sim.counters()['mutating'] < start + (requests + 1) // 2:
        time.sleep(0.002 * requests)
    apply.kill()
    apply.communicate()
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-settle')
    assert len(pool(sim)) == 2 and not old & {i['instanceId'] for i in pool(sim)}
    assert len(sim.live_instances()) == 3
    assert '~' not in home.run('state', 'list').out

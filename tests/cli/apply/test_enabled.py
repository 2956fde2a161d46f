"""`enabled: false`: the nodes of a pool, or of all workers, go, and come back as what they were."""
import os
import random
import time

import pytest
from program import spec
from sim_server import tags_of

LONG = os.environ.get('RAYGPU_LONG')
BASE = spec(pools={'train': ('A100:8', 2), 'serve': 2}, head='m5.large')
CHEAPER = 'catalog: {prices: {aws: [{instance_type: g4dn.2xlarge, region: us-east-1, hourly_usd: 0.4}]}}\n'


def off(pool='train', text=BASE):
    return text.replace(f'  {pool}: {{', f'  {pool}: {{enabled: false, ', 1)


def nodes(sim):
    """{pool: [(instance type, zone)]}, without the head."""
    found = {}
    for one in sim.live_instances():
        pool = tags_of(one)['raygpu:pool']
        found.setdefault(pool, []).append((one['instanceType'], one['placement']['availabilityZone']))
    found.pop('head', None)
    return {pool: sorted(places) for pool, places in found.items()}


@pytest.fixture
def applied(home):
    home.write('cluster.yaml', BASE.replace('nodes: 2}', 'nodes: 2, zones: [us-east-1c]}'))
    home.apply()
    home.write('cluster.yaml', BASE)
    return home


def pools_of(home, *arguments):
    return {one['pool']: one for one in home.run('plan', '--format', 'json', *arguments).json()['raygpu']['pools']}


def test_a_pool_goes_and_comes_back_as_it_was(sim, applied):
    home, before = applied, nodes(sim)
    home.write('cluster.yaml', off())
    plan = home.run('plan', '--detailed-exitcode', code=2)
    said = ' '.join(plan.out.split())
    assert 'Plan: 0 to add, 0 to change, 2 to destroy.' in plan.out
    assert '(pool train is disabled at cluster.yaml:7)' in said and '2 -> 0 (disabled)' in plan.out
    assert 'Pool train is disabled (cluster.yaml:7); enabled, it has 2 nodes for $' in said
    train = pools_of(home)['train']
    assert train['disabled'] and train['disabled_at']['line'] == 7 and train['after']['nodes'] == 0
    assert train['enabled'] == train['before']
    home.apply()
    assert nodes(sim) == {'serve': before['serve']}
    assert 'No changes.' in home.run('plan', '--detailed-exitcode').out
    assert 'No drift.' in home.run('drift').out
    table = home.run('plan', '--verbose').out
    assert '0 (disabled)' in table and before['train'][0][0] in table
    assert '2 pools (1 disabled), 3 nodes' in home.run('validate').out
    # today others are cheaper, and the zone is not the first one
    home.write('raygpu.yaml', CHEAPER)
    home.write('cluster.yaml', BASE)
    back = home.run('plan', '--detailed-exitcode', code=2).out
    kind, zone = before['train'][0]
    assert f'Pool train is enabled again, as it was: 2 nodes, {kind} in {zone}.' in ' '.join(back.split())
    home.apply()
    assert nodes(sim) == before
    assert 'No changes.' in home.run('plan', '--detailed-exitcode').out


def test_a_choice_is_kept_when_another_is_cheaper_by_now(sim, applied):
    home, before = applied, nodes(sim)
    home.write('cluster.yaml', off('serve'))
    home.apply()
    assert set(nodes(sim)) == {'train'}
    home.write('raygpu.yaml', CHEAPER)
    price = pools_of(home, '--verbose')['serve']['enabled']['microusd_hour']
    home.write('cluster.yaml', BASE)
    again = pools_of(home)['serve']
    assert again['after']['microusd_hour'] == price and again['instance_type'] == before['serve'][0][0]
    new = pools_of(home, '--reoptimize')['serve']
    assert new['instance_type'] == 'g4dn.2xlarge' and 'again' not in new
    home.write('cluster.yaml', BASE.replace('"T4:1", nodes: 2', '"T4:1", nodes: 3'))  # and one more beside them
    home.apply()
    assert nodes(sim)['serve'] == before['serve'] + before['serve'][:1]


def test_all_workers(sim, applied):
    home, before = applied, nodes(sim)
    home.write('cluster.yaml', BASE + 'workers: {enabled: false}\n')
    plan = home.run('plan', '--out', 'plan.json').out
    assert 'Plan: 0 to add, 0 to change, 4 to destroy.' in plan
    assert home.run('show', 'plan.json').out.startswith(plan.split('Spec:')[0])
    home.run('apply', 'plan.json')
    assert nodes(sim) == {} and len(sim.live_instances()) == 1
    home.run('plan', '--detailed-exitcode')
    home.write('cluster.yaml', BASE.replace('train: {', 'train: {enabled: true, ') + 'workers: {enabled: true}\n')
    home.apply()
    assert nodes(sim) == before


def test_a_budget_counts_a_disabled_pool_as_nothing(home):
    home.write('cluster.yaml', BASE + 'budget: {hourly_usd: 5, pools: {train: {hourly_usd: 1}}}\n')
    home.run('plan', code=9)
    home.run('fit', code=9)
    home.write('cluster.yaml', off() + 'budget: {hourly_usd: 5, pools: {train: {hourly_usd: 1}}}\n')
    home.apply()
    home.run('fit')


def test_a_protected_pool_is_not_disabled(sim, home):
    guarded = BASE.replace('train: {', 'train: {\n    protect: true,\n    ')
    home.write('cluster.yaml', guarded)
    home.apply()
    home.write('cluster.yaml', guarded + 'workers: {enabled: false}\n')
    said = home.run('apply', '--auto-approve', code=9).err
    assert '"train" is protected' in said and 'on cluster.yaml:11:' in said
    assert 'cluster.yaml:8:14' in said and 'it is protected here' in said
    assert len(sim.live_instances()) == 5
    home.write('cluster.yaml', guarded.replace('protect: true', 'protect: false') + 'workers: {enabled: false}\n')
    home.apply()
    home.write('cluster.yaml', guarded + 'workers: {enabled: false}\n')
    home.run('plan', '--detailed-exitcode')
    home.write('cluster.yaml', guarded)
    home.apply()
    assert len(sim.live_instances()) == 5
    home.write('cluster.yaml', guarded.replace('protect: true', 'protect: true, enabled: false'))
    home.run('plan', code=9)


def test_a_workload_that_needs_it(home):
    text = BASE + 'workloads: {big: {gpus: 8, nodes: 2}, small: {gpus: 1}}\n'
    home.write('cluster.yaml', text)
    home.run('fit')
    home.write('cluster.yaml', off(text=text))
    said = ' '.join(home.run('fit', code=4).err.split())
    assert 'train: is disabled' in said or 'train is disabled' in said
    assert 'enable pool train, with 2 nodes of p4d.24xlarge' in said
    report = home.run('fit', '--json', code=4).json()
    assert report['workloads'][0]['remedy']['enable'] and report['workloads'][0]['remedy']['nodes'] == 2
    assert [one.get('disabled') for one in report['pools']] == [None, True, None]
    home.write('cluster.yaml', off(text=text.replace('nodes: 2}, small', 'nodes: 3}, small')))
    assert 'enable pool train, with 3 nodes' in ' '.join(home.run('fit', code=4).err.split())


def test_a_destroyed_cluster_is_chosen_again(sim, applied):
    home = applied
    home.write('cluster.yaml', off())
    home.apply()
    home.run('destroy', '--auto-approve')
    home.write('cluster.yaml', BASE)
    assert 'again' not in pools_of(home)['train']


def test_a_disabled_pool_gets_another_name(sim, applied):
    home, before = applied, nodes(sim)
    home.write('cluster.yaml', off())
    home.apply()
    named = BASE.replace('  train: {', '  big: {renamed_from: train, ')
    home.write('cluster.yaml', off('big', named))
    home.run('plan', '--detailed-exitcode')
    home.write('cluster.yaml', named)
    assert pools_of(home)['big']['again']
    home.apply()
    assert nodes(sim) == {'serve': before['serve'], 'big': before['train']}


def killed(sim, home, calls, delay_s=0.0):
    """Starts an apply and kills it once so many changing calls have reached the cloud; true if it was running."""
    sim.counters_reset()
    process = home.start('apply', '--auto-approve')
    while sim.counters()['mutating'] < calls and process.poll() is None:
        time.sleep(0.005)
    time.sleep(delay_s)
    alive = process.poll() is None
    process.kill()
    process.communicate()
    return alive


def later(home):
    """The cloud shows by then what a run that was killed did."""
    home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')


@pytest.mark.parametrize('calls', range(5) if LONG else [1, 2])
def test_killed_and_applied_again(sim, applied, calls):
    home, before = applied, nodes(sim)
    sim.knobs(latency_ms=60)
    home.write('raygpu.yaml', CHEAPER)
    for text, after in ((BASE + 'workers: {enabled: false}\n', {}), (BASE, before)):
        home.write('cluster.yaml', text)
        killed(sim, home, calls)
        later(home)
        home.apply()
        assert nodes(sim) == after
        home.run('plan', '--detailed-exitcode')


@pytest.mark.parametrize('calls', range(1, 5) if LONG else [1])
def test_enabled_again_before_it_was_gone(sim, applied, calls):
    """A kill while the nodes go, and while they come: what was chosen is never lost."""
    home, before = applied, nodes(sim)
    sim.knobs(latency_ms=60)
    home.write('raygpu.yaml', CHEAPER)
    home.write('cluster.yaml', BASE + 'workers: {enabled: false}\n')
    killed(sim, home, calls)
    later(home)
    home.write('cluster.yaml', BASE)
    killed(sim, home, calls)
    later(home)
    home.apply()
    assert nodes(sim) == before
    home.run('plan', '--detailed-exitcode')


@pytest.mark.skipif(not LONG, reason='minutes: with --long')
@pytest.mark.parametrize('seed', range(20))
def test_killed_at_any_time(sim, applied, seed):
    home, before = applied, nodes(sim)
    chance = random.Random(seed)
    sim.knobs(latency_ms=20)
    home.write('raygpu.yaml', CHEAPER)
    for _ in range(6):
        home.write('cluster.yaml', chance.choice([BASE + 'workers: {enabled: false}\n', off(), BASE]))
        killed(sim, home, chance.randrange(3), chance.uniform(0, 0.2))
        later(home)
    home.write('cluster.yaml', BASE)
    home.apply()
    assert nodes(sim) == before
    home.run('plan', '--detailed-exitcode')


@pytest.mark.parametrize('in_git', [True, False])
def test_a_line_is_of_the_file_that_it_is_in(home, in_git):
    """Of a spec that extends another; from the repository's top, whatever the working directory."""
    os.mkdir(home.path('envs'))
    home.write('base.yaml', off())
    home.write('envs/prod.yaml', 'extends: ../base.yaml\nworkers: {enabled: true}\nhead: {instance_type: m5.large}\n')
    if in_git:
        home.git('init', '-q')
        home.git('add', '.')
        home.git('commit', '-qm', 'specs')
    plan = home.run('plan', 'envs/prod.yaml').out
    assert '(envs/prod.yaml:3)' in plan and '(base.yaml:8)' in plan and 'disabled (base.yaml:7)' in ' '.join(plan.split())
    if in_git:
        there = home.run('-C', 'envs', 'plan', 'prod.yaml').out
        assert [line for line in there.splitlines() if '.yaml:' in line] == [line for line in plan.splitlines() if '.yaml:' in line]

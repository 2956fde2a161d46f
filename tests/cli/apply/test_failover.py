"""Where the cloud has no capacity: which candidates are asked for, in which order, what a pool is then made of, and
that later plans leave it so."""
import base64
import gzip
import json
import re

import pytest
from program import spec
from sim_server import tags_of

P4D = 'p4d.24xlarge'
HEAD = 'm5.2xlarge'
BY_PRICE = ['us-east-1b', 'us-east-1a', 'us-east-1d', 'us-east-1c']  # of P4D on spot


def write(home, nodes=2, extra='', accelerators='A100:8', more=''):
    home.write('cluster.yaml', spec(pools={'train': (accelerators, nodes)}, pool_extra=extra) + more)


def where(sim):
    """[(index, zone, market)] of the pool's nodes, by index."""
    found = []
    for instance in sim.live_instances():
        tags = tags_of(instance)
        if tags['raygpu:pool'] == 'train':
            found.append((instance['placement']['availabilityZone'], instance.get('instanceLifecycle', 'on-demand')))
    return sorted(found)


def launches(home, kind=P4D):
    return [call for call in home.read('trace.jsonl').split('\n')
            if 'Action=RunInstances' in call and f'InstanceType={kind}' in call and 'DryRun' not in call]


def apply(home, code=0, *more):
    return home.run('apply', 'cluster.yaml', '--auto-approve', '--trace', 'trace.jsonl', *more, code=code)


def no_changes(home):
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--detailed-exitcode').out


def test_only_the_third_zone_has_it(sim, home):
    write(home)
    sim.knobs(capacity={P4D: {'us-east-1a': 0, 'us-east-1b': 0}})
    assert 'Fallbacks: head, train (--verbose)' in home.run('plan', 'cluster.yaml').out
    said = home.run('plan', 'cluster.yaml', '--verbose')
    assert 'If train is unavailable: us-east-1b, us-east-1c, us-east-1d' in said.out
    said = apply(home)
    assert where(sim) == [('us-east-1c', 'on-demand')] * 2
    assert f'train: us-east-1a has no {P4D} (InsufficientInstanceCapacity), trying us-east-1b' in said.err
    assert f'train: us-east-1b has no {P4D} (InsufficientInstanceCapacity), trying us-east-1c' in said.err
    assert len(launches(home)) == 3, 'two refusals and one success'
    no_changes(home)
    changes = home.run('log', '--json').json()
    assert changes, 'the run is in the log'


def test_the_rest_of_a_batch_moves(sim, home):
    write(home, 5)
    sim.knobs(capacity={P4D: {'us-east-1a': 2, 'us-east-1b': 0, 'us-east-1c': 1}})
    apply(home)
    assert where(sim) == [('us-east-1a', 'on-demand')] * 2 + [('us-east-1c', 'on-demand')] + \
        [('us-east-1d', 'on-demand')] * 2
    sim.knobs(capacity={})
    no_changes(home)


def test_spot_falls_back_to_on_demand(sim, home):
    write(home, extra=', market: {spot: {fallback: on_demand}}')
    sim.knobs(capacity={f'{P4D}:spot': {'*': 0}, f'{P4D}:on-demand': {'us-east-1b': 0}})
    said = apply(home)
    assert where(sim) == [('us-east-1a', 'on-demand')] * 2
    assert 'trying on-demand in us-east-1b' in said.err
    assert len(launches(home)) == 6, 'four zones on spot, two on demand'
    sim.knobs(capacity={})
    no_changes(home)
    said = home.run('plan', 'cluster.yaml', '--reoptimize', '--detailed-exitcode', code=2)
    assert '2 to destroy' in said.out, 'back to spot only when asked'
    assert 'because of market "on-demand" -> "spot"\n\n' in said.out, 'once, with both of its values'
    run = home.run('log', '--json').json()[0]['id']
    said = home.run('log', run).out
    assert re.search(r'create +aws.instance.train\[0\]  failed  p4d.24xlarge on spot in us-east-1b', said)
    assert re.search(r'create +aws.instance.train\[0\]  p4d.24xlarge in us-east-1a', said)


def test_spot_alone_stays_spot(sim, home):
    write(home, extra=', market: spot')
    sim.knobs(capacity={f'{P4D}:spot': {'*': 0}})
    said = apply(home, 3)
    assert where(sim) == [] and len(launches(home)) == 4
    assert f'refused: {P4D} on spot in us-east-1b (InsufficientInstanceCapacity), {P4D} on spot in us-east-1a' \
        in ' '.join(said.err.split())


def test_the_floor_is_on_demand_from_the_start(sim, home):
    write(home, 3, extra=', market: {spot: {on_demand_floor: 1, fallback: on_demand}}')
    said = home.run('plan', 'cluster.yaml', '--out', 'plan.json')
    assert 'mixed' in said.out
    plan = json.loads(home.read('plan.json'))
    markets = {m['market']: m['after']['nodes'] for m in plan['raygpu']['cost']['markets']}
    assert markets == {'on-demand': 2, 'spot': 2}, 'the head, the floor; the rest'
    sim.knobs(capacity={f'{P4D}:spot': {'us-east-1b': 0, 'us-east-1a': 1}, f'{P4D}:on-demand': {'us-east-1b': 0}})
    apply(home)
    assert where(sim) == [('us-east-1a', 'on-demand'), ('us-east-1a', 'spot'), ('us-east-1d', 'spot')]
    no_changes(home)


def test_the_floor_is_on_demand_with_the_next_type_as_well(sim, home):
    """Without a fallback: the nodes above the floor are on spot alone."""
    home.write('cluster.yaml', spec(pools={}).replace('pools:', 'pools:\n  train: {accelerators: ["A100:8", "V100-32GB:8"], '
                                                      'nodes: 2, market: {spot: {on_demand_floor: 1}}}'))
    sim.knobs(capacity={P4D: {'*': 0}, f'{P4D}:spot': {'*': 0}, f'{P4D}:on-demand': {'*': 0}})
    apply(home)
    kinds = {i['instanceType'] for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'train'}
    assert len(kinds) == 1 and kinds.pop().startswith('p3')
    assert sorted(market for _, market in where(sim)) == ['on-demand', 'spot']
    no_changes(home)


def test_the_first_node_below_the_floor_costs_what_it_does_on_demand(sim, home):
    """The budget holds two g6.2xlarge on spot, but not one of them on demand."""
    pool = 'pools:\n  train: {accelerators: ["T4:1", "L4:1"], nodes: 2, market: {spot: {on_demand_floor: 1}}}'
    for budget, over in ((1.7, True), (2.2, False)):
        home.write('cluster.yaml', spec(pools={}).replace('pools:', pool) + f'budget: {{hourly_usd: {budget}}}\n')
        home.run('plan', 'cluster.yaml', '--out', 'plan.json')
        train = json.loads(home.read('plan.json'))['raygpu']['capacity']['pools'][1]
        left = {(t['instance_type'], t['market']): t['why'] for t in train['left_out']}
        assert (left.get(('g6.2xlarge', 'spot')) == 'over the budget') == over, train['left_out']


def test_the_next_accelerator_is_asked_for_last(sim, home):
    home.write('cluster.yaml', spec(pools={}).replace('pools:', 'pools:\n  train: {accelerators: ["A100:8", "V100-32GB:8"], '
                                                      'nodes: 1, zones: [us-east-1a, us-east-1b]}'))
    sim.knobs(capacity={P4D: {'*': 0}})
    said = apply(home)
    assert len(launches(home)) == 2
    kinds = [i['instanceType'] for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'train']
    assert kinds and kinds[0].startswith('p3'), said
    assert f'trying {kinds[0]} in us-east-1' in said.err
    no_changes(home)


def test_a_quota_is_no_zones(sim, home):
    write(home, extra=', market: {spot: {fallback: on_demand}}')
    sim.knobs(quotas={'L-7212CCBC': 0})  # all P4 and P5 spot requests
    apply(home)
    assert where(sim) == [('us-east-1b', 'on-demand')] * 2
    assert len(launches(home)) == 2, 'other zones have the same quota'


@pytest.mark.parametrize('code', ['UnauthorizedOperation', 'InvalidParameterValue', 'Unsupported'])
def test_other_refusals_stop_at_once(sim, home, code):
    write(home)
    sim.fault(action='RunInstances', when='before', status=400, code=code, message='no', count=0)
    apply(home, None)
    assert where(sim) == [] and len(launches(home, HEAD)) == 1 and not launches(home)


def test_a_candidate_over_the_budget_is_left_out(sim, home):
    write(home, extra=', market: {spot: {fallback: on_demand}}', more='budget: {hourly_usd: 30}\n')
    said = home.run('plan', 'cluster.yaml', '--verbose')
    assert f'not on-demand {P4D}: over the budget' in said.out
    sim.knobs(capacity={f'{P4D}:spot': {'*': 0}})
    apply(home, 3)
    assert where(sim) == [] and len(launches(home)) == 4


def test_a_candidate_against_the_policy_is_left_out(sim, home):
    write(home, accelerators='T4:1', more='policy: {deny_instance_types: [g4dn.2xlarge, g4dn.*metal]}\n')
    said = home.run('plan', 'cluster.yaml', '--verbose').out
    assert 'not on-demand g4dn.2xlarge: the instance type g4dn.2xlarge (pool train) is denied by policy' \
        in ' '.join(said.split())
    assert '; then g4dn.4xlarge (' in ' '.join(said.split())


def test_a_gang_moves_whole(sim, home):
    write(home, 8, extra=', gang: true')
    sim.knobs(capacity={P4D: {'us-east-1a': 7, 'us-east-1b': 7}})
    said = apply(home)
    assert where(sim) == [('us-east-1c', 'on-demand')] * 8
    assert len(launches(home)) == 3 and all('MinCount=8' in call for call in launches(home))
    assert 'is a gang and cannot be completed' not in said.err
    no_changes(home)


def test_what_a_gang_of_several_launches_got_is_given_back_first(sim, home):
    write(home, 250, extra=', gang: true', accelerators='T4:1')
    home.write('cluster.yaml', home.read('cluster.yaml').replace('nodes: 250', 'nodes: 250, zones: [us-east-1b, '
                                                                 'us-east-1a]'))
    sim.knobs(capacity={'g4dn.xlarge': {'us-east-1b': 220}})
    said = apply(home)
    assert where(sim) == [('us-east-1a', 'on-demand')] * 250, said
    assert re.search('(200|50) more were created and removed again', said.out), 'of the launch that came first'
    no_changes(home)


def test_a_pool_with_a_placement_group_moves_whole_and_keeps_what_is_left(sim, home):
    write(home, 3, extra=', network: {placement: cluster}')
    sim.knobs(capacity={P4D: {'us-east-1a': 2, 'us-east-1b': 2, 'us-east-1c': 0}})
    apply(home)
    assert where(sim) == [('us-east-1d', 'on-demand')] * 3
    no_changes(home)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    sim.knobs(capacity={P4D: {'*': 0, 'us-east-1d': 2}})
    apply(home, 3)
    assert where(sim) == [('us-east-1d', 'on-demand')] * 2, 'no gang: what there is, is kept'


def test_a_reclaimed_node_is_looked_for_elsewhere(sim, home):
    write(home, extra=', market: {spot: {fallback: on_demand}}')
    apply(home)
    assert where(sim) == [('us-east-1b', 'spot')] * 2
    lost = [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'train'][0]
    sim.ok('TerminateInstances', {'InstanceId.1': lost['instanceId']})
    sim.knobs(capacity={f'{P4D}:spot': {'us-east-1b': 0}})
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-settle')
    assert where(sim) == [('us-east-1a', 'spot'), ('us-east-1b', 'spot')]
    no_changes(home)


def test_a_saved_plan_has_its_alternates(sim, home):
    write(home, extra=', market: {spot: {fallback: on_demand}}')
    home.run('plan', 'cluster.yaml', '--out', 'plan.json')
    head, train = json.loads(home.read('plan.json'))['raygpu']['capacity']['pools']
    assert [c['zone'] for c in head['candidates']][:4] == BY_PRICE
    shown = train['candidates']
    assert [(c['market'], c['zone']) for c in shown] == [(m, z) for m in ('spot', 'on-demand') for z in BY_PRICE]
    sim.knobs(capacity={f'{P4D}:spot': {'*': 0}, f'{P4D}:on-demand': {'us-east-1b': 0}})
    home.run('apply', 'plan.json')
    assert where(sim) == [('us-east-1a', 'on-demand')] * 2
    no_changes(home)


def test_a_report_lists_what_was_tried(sim, home):
    write(home)
    sim.knobs(capacity={P4D: {'us-east-1a': 0}})
    said = apply(home, 0, '--json').summary()
    assert said['clusters'][0]['tried'] == [
        {'pool': 'train', 'instance_type': P4D, 'market': 'on-demand', 'zone': 'us-east-1a', 'class': 'capacity',
         'code': 'InsufficientInstanceCapacity', 'refused': 2}]


def test_it_is_asked_for_again_until_the_time_is_over(sim, home):
    write(home, extra=', zones: [us-east-1a]')
    sim.knobs(capacity={P4D: {'us-east-1a': 0}})
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--capacity-timeout', '100s')
    rounds = (line for line in process.stderr if 'train: no candidate has capacity, trying again in' in line)
    assert next(rounds) and next(rounds), 'the same candidate, refused twice'
    sim.knobs(capacity={})
    assert process.wait(60) == 0, process.stderr.read()
    assert where(sim) == [('us-east-1a', 'on-demand')] * 2


@pytest.mark.parametrize('time', ['soon', '8', '25:00', '1h30m', '-1s'])
def test_what_is_no_time(home, time):
    write(home)
    said = home.run('apply', 'cluster.yaml', f'--capacity-timeout={time}', code=4).err
    assert 'or a time of day such as 06:00' in ' '.join(said.split())


ANY = 'provider: {any_of: [{name: aws, region: us-east-1}, {name: aws, region: us-west-2}]}'


def anywhere(home, extra='', pools=None):
    text = spec(pools=pools or {'train': ('A100:8', 2), 'serve': 1}, pool_extra=extra)
    home.write('cluster.yaml', text.replace('provider: {name: aws, region: us-east-1}', ANY))


def groups(sim, region):
    return [g for g in sim.world(region)['security_groups'] if g['groupName'] != 'default']


def test_only_another_region_has_it(sim, home):
    anywhere(home)
    sim.knobs(capacity={P4D: {f'us-west-2{zone}': 0 for zone in 'abcdef'}})
    said = apply(home)
    assert 'aws us-west-2 has no capacity for the cluster: removing what was created there.' in said.err + said.out
    assert len(sim.live_instances('us-east-1')) == 4, said
    assert sim.live_instances('us-west-2') == [] and groups(sim, 'us-west-2') == []
    no_changes(home)
    outcomes = [(run['command'], run['outcome']) for run in home.run('log', '--json').json()]
    assert outcomes == [('apply', 'done'), ('move', 'done'), ('apply', 'moved')]


def test_no_region_has_it(sim, home):
    anywhere(home)
    sim.knobs(capacity={P4D: {'*': 0}})
    said = apply(home, 8)
    told = ' '.join(said.err.split())
    assert 'no place of provider.any_of has capacity for cluster research; nothing of it is left' in told
    assert 'us-east-1a (InsufficientInstanceCapacity)' in told and 'us-west-2a (InsufficientInstanceCapacity)' in told
    for region in ('us-east-1', 'us-west-2'):
        assert sim.live_instances(region) == [] and groups(sim, region) == []
    sim.knobs(capacity={})
    apply(home)
    assert len(sim.live_instances('us-east-1')) + len(sim.live_instances('us-west-2')) == 4


def test_a_cluster_that_was_complete_does_not_move(sim, home):
    anywhere(home)
    apply(home)
    here = 'us-east-1' if sim.live_instances() else 'us-west-2'
    sim.knobs(capacity={'*': {'*': 0}})
    home.write('cluster.yaml', home.read('cluster.yaml').replace('nodes: 1', 'nodes: 2'))
    apply(home, 8)
    assert len(sim.live_instances(here)) == 4


@pytest.mark.parametrize('fault', [dict(when='after', close=True), dict(when='before', status=403,
                                                                        code='UnauthorizedOperation', message='no')])
def test_a_head_alone_does_not_keep_a_cluster_from_moving(sim, home, fault):
    """A run whose launch of the workers has no known outcome, or is denied, leaves a head, which is not in use yet."""
    anywhere(home, pools={'train': ('A100:8', 2)})
    sim.knobs(capacity={P4D: {f'us-west-2{zone}': 0 for zone in 'abcdef'}})
    sim.fault(action='RunInstances', skip=1, count=0, **fault)
    home.run('apply', 'cluster.yaml', '--auto-approve', '--skip-preflight', '--parallelism=1', code=None)
    assert [tags_of(i)['raygpu:pool'] for i in sim.live_instances('us-west-2')] == ['head']
    sim.faults_clear()
    apply(home)
    assert len(sim.live_instances('us-east-1')) == 3
    assert sim.live_instances('us-west-2') == [] and groups(sim, 'us-west-2') == []


def test_a_worker_that_joined_keeps_a_cluster_where_it_is(sim, home):
    """The others never joined, and the apply that found it is not the last: what joined may be at work."""
    anywhere(home, ', ready_timeout: 2')
    sim.knobs(node_faults=[{'how': 'fail', 'type': P4D, 'count': 9, 'step': 'pull'}])
    home.run('apply', 'cluster.yaml', '--auto-approve', '--max-replacements=0', code=3)
    here = 'us-east-1' if sim.live_instances() else 'us-west-2'
    failed = [i['instanceId'] for i in sim.live_instances(here) if i['instanceType'] == P4D]
    sim.ok('TerminateInstances', region=here, **{f'InstanceId.{n}': id for n, id in enumerate(failed, 1)})
    sim.knobs(capacity={'*': {f'{here}{zone}': 0 for zone in 'abcdef'}})
    apply(home, 8)
    assert len(sim.live_instances(here)) == 2


@pytest.mark.parametrize('extra, moved', [('', 1), (', gang: true', 3)])
def test_a_node_that_ends_while_it_starts_is_looked_for_elsewhere(sim, home, extra, moved):
    """EC2 accepts a launch, and ends the instance while it is pending."""
    write(home, 3, extra=extra)
    sim.knobs(boot_ms=200, node_faults=[{'how': 'no-capacity', 'type': P4D, 'count': 1}])
    said = apply(home)
    assert f'train: us-east-1a has no {P4D} (Server.InsufficientInstanceCapacity), trying us-east-1b' in said.err
    assert where(sim) == [('us-east-1a', 'on-demand')] * (3 - moved) + [('us-east-1b', 'on-demand')] * moved
    no_changes(home)


def test_a_node_that_ends_while_it_starts_and_cannot_be_had_elsewhere(sim, home):
    write(home, 1, extra=', zones: [us-east-1a]')
    sim.knobs(boot_ms=200, node_faults=[{'how': 'no-capacity', 'type': P4D, 'count': 9}],
              capacity={'p4de.24xlarge': {'*': 0}})
    said = apply(home, 3)
    assert 'could not start aws.instance.train[0]: Server.InsufficientInstanceCapacity: EC2 ended the instance' \
        in ' '.join(said.err.split())


def user_data(sim, instance):
    root = sim.ok('DescribeInstanceAttribute', InstanceId=instance['instanceId'], Attribute='userData')
    return gzip.decompress(base64.b64decode(root.findtext('userData/value'))).decode()


def head_zone(sim):
    """Where the head is, with its address, which all workers know."""
    (head,) = [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'head']
    (interface,) = [i for i in sim.world('us-east-1')['network_interfaces']
                    if not i.get('attachment', {}).get('deleteOnTermination')]
    assert interface['attachment']['instanceId'] == head['instanceId'], 'an address elsewhere is given back'
    assert interface['availabilityZone'] == head['placement']['availabilityZone']
    for instance in sim.live_instances():
        assert instance['instanceId'] == head['instanceId'] or interface['privateIpAddress'] in user_data(sim, instance)
    return head['placement']['availabilityZone']


def test_the_head_moves_with_its_address(sim, home):
    write(home)
    sim.knobs(capacity={HEAD: {'us-east-1a': 0, 'us-east-1b': 0}})
    said = home.run('plan', 'cluster.yaml', '--verbose')
    assert 'If head is unavailable: us-east-1b, us-east-1c' in said.out
    said = apply(home)
    assert f'head: us-east-1a has no {HEAD} (InsufficientInstanceCapacity), trying us-east-1b' in said.err
    assert head_zone(sim) == 'us-east-1c' and len(where(sim)) == 2
    assert '6 added, 0 changed, 0 destroyed' in said.out
    no_changes(home)


def test_without_a_head_no_worker_is_created(sim, home):
    write(home)
    sim.knobs(capacity={HEAD: {'*': 0}})
    said = apply(home, 3)
    assert where(sim) == [] and not launches(home), 'scarce nodes do not wait for a head'
    assert f'refused: {HEAD} in us-east-1a (InsufficientInstanceCapacity)' in ' '.join(said.err.split())
    sim.knobs(capacity={HEAD: {'*': 0, 'us-east-1d': 1}})
    apply(home)
    assert head_zone(sim) == 'us-east-1d' and len(where(sim)) == 2
    no_changes(home)


def test_an_address_of_an_earlier_run_that_moves_with_the_head_is_destroyed(sim, home):
    write(home)
    sim.knobs(capacity={HEAD: {'*': 0}})
    apply(home, 3)
    sim.knobs(capacity={HEAD: {'*': 0, 'us-east-1d': 1}})
    said = apply(home)
    assert '4 added, 0 changed, 1 destroyed' in said.out, 'those of the zones between are not counted'
    no_changes(home)


def test_a_head_that_ends_while_it_starts_stays_where_its_workers_know_it(sim, home):
    write(home)
    sim.knobs(boot_ms=200, node_faults=[{'how': 'no-capacity', 'type': HEAD, 'count': 1}])
    said = apply(home, 3)
    assert 'could not start aws.instance.head: Server.InsufficientInstanceCapacity' in ' '.join(said.err.split())
    assert len(where(sim)) == 2
    apply(home)
    assert head_zone(sim) == 'us-east-1a'


def test_a_replaced_head_keeps_its_address(sim, home):
    write(home)
    apply(home)
    zone = head_zone(sim)
    home.write('cluster.yaml', home.read('cluster.yaml').replace('head: {', 'head: {disk: {size: 200GB}, '))
    assert 'If head is unavailable' not in home.run('plan', 'cluster.yaml', '--verbose').out
    sim.knobs(capacity={HEAD: {zone: 0}})
    apply(home, 3)
    sim.knobs(capacity={})
    apply(home)
    assert head_zone(sim) == zone


def test_a_head_of_any_type_has_other_types(sim, home):
    write(home)
    home.write('cluster.yaml', home.read('cluster.yaml').replace(
        'head: {instance_type: m5.2xlarge}', 'head: {accelerators: "T4:1", zones: [us-east-1b]}'))
    said = home.run('plan', 'cluster.yaml', '--verbose').out
    planned = re.search(r'head +(\S+)', said).group(1)
    assert 'If head is unavailable: ' in said
    sim.knobs(capacity={planned: {'*': 0}})
    apply(home)
    assert head_zone(sim) == 'us-east-1b'
    no_changes(home)

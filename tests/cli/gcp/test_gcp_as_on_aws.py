"""What raygpu does in every cloud, on Compute Engine. The same behaviour on EC2: the files named at each section."""
import pytest
from gce_server import properties
from test_gcp_failures import place_of, write
from test_gcp_story import clean, nodes, spec, table

T4 = 'n1-standard-4+nvidia-tesla-t4:1'
POOL = {'w': 'accelerators: "T4:1", nodes: 3, zones: [us-central1-a]'}


def pool_of(text, nodes_=3, zones='us-central1-a, us-central1-b'):
    return {'w': f'instance_type: "{T4}", nodes: {nodes_}, zones: [{zones}]{text}'}


def id_of(one):
    return one['zone'].split('/')[-1] + '/' + one['id']


def ids(gce, pool=None):
    return {id_of(i) for i in nodes(gce, pool)}


def where(gce):
    return sorted((i['zone'][-1], i['scheduling']['provisioningModel']) for i in nodes(gce, 'w'))


def values_of(home, address):
    return home.run('state', 'show', address, '--json').json()['values']


def label(gce, one, **labels):
    """None removes a label."""
    now = gce.get(place_of(one))
    given = {k: v for k, v in {**now['labels'], **labels}.items() if v is not None}
    gce.done(gce.insert(place_of(one) + '/setLabels', {'labels': given, 'labelFingerprint': now['labelFingerprint']}))


# ---- test_failover.py, test_gang.py

@pytest.mark.parametrize('market, spot, found, code', [
    ('{spot: {fallback: on_demand}}', 0, [('a', 'STANDARD')] * 3, 0),
    ('spot', 0, [], 3),
    ('{spot: {on_demand_floor: 1, fallback: on_demand}}', 1, [('a', 'SPOT'), ('a', 'STANDARD'), ('a', 'STANDARD')], 0)])
def test_spot_falls_back_if_the_spec_says_so(gce, home, market, spot, found, code):
    gce.knobs(capacity={T4 + ':spot': {'us-central1-a': spot, '*': 0}})
    write(home, pool_of(f', market: {market}'))
    home.apply(code=code)
    assert where(gce) == found
    if not code:
        clean(home)


def test_the_next_accelerator_is_asked_for_last(gce, home):
    gce.knobs(capacity={'a2-highgpu-1g': {'*': 0}})
    write(home, {'w': 'accelerators: ["A100:1", "L4:1"], nodes: 2, zones: [us-central1-a, us-central1-b]'})
    said = home.apply()
    kinds = {i['machineType'].split('/')[-1].split('-')[0] for i in nodes(gce, 'w')}
    assert kinds == {'g2'} and 'has no a2-highgpu-1g' in said.err
    clean(home)


def test_a_candidate_over_the_budget_is_left_out(gce, home):
    gce.knobs(capacity={T4 + ':spot': {'*': 0}})
    write(home, pool_of(', market: {spot: {fallback: on_demand}}'), extra='budget: {hourly_usd: 1.5}\n')
    said = home.run('plan', 'cluster.yaml', '--verbose')
    assert f'not on-demand {T4}: over the budget' in ' '.join(said.out.split())
    home.apply(code=3)
    assert not nodes(gce, 'w')


def test_a_lost_gang_member_is_made_again_alone(gce, home):
    write(home, pool_of(', gang: true', zones='us-central1-a'))
    home.apply()
    before = ids(gce, 'w')
    gce.done(gce.delete(place_of(nodes(gce, 'w')[1])))
    assert 'Plan: 1 to add, 0 to change, 0 to destroy.' in home.run('plan', 'cluster.yaml').out
    home.apply()
    assert len(ids(gce, 'w')) == 3 and len(ids(gce, 'w') & before) == 2


# ---- test_rolling.py, test_head_address.py

def numbers(gce, before):
    """(the fewest, the most) nodes of pool w that ran or were to run, by the operations after the first `before`."""
    steps = {'insert': 1, 'delete': -1}
    operations = [o for o in table(gce, 'operations') if o['operationType'] in steps and '/instances/research-w-' in o['targetLink']]
    counts = [len(operations[:before])]
    for one in operations[before:]:
        counts.append(counts[-1] + steps[one['operationType']])
    return min(counts), max(counts)


@pytest.mark.parametrize('replace, least, most', [('', 2, 3), (', replace: {max_unavailable: 2}', 1, 3), (', replace: {max_surge: 1}', 3, 4)])
def test_nodes_are_replaced_a_few_at_a_time(gce, home, replace, least, most):
    write(home, pool_of(replace))
    home.apply()
    before = ids(gce, 'w')
    write(home, pool_of(replace + ', disk: {size: 130GB}'))
    home.apply()
    assert numbers(gce, 3) == (least, most)
    assert len(ids(gce, 'w')) == 3 and not ids(gce, 'w') & before
    clean(home)


def test_without_room_for_the_new_node_the_old_one_stays(gce, home):
    write(home, pool_of(', replace: {max_surge: 1}'))
    home.apply()
    before = ids(gce, 'w')
    write(home, pool_of(', replace: {max_surge: 1}, disk: {size: 130GB}'))
    gce.knobs(capacity={'*': {'*': 0}})
    home.apply(code=8)
    assert ids(gce, 'w') == before
    gce.knobs(capacity={})
    home.apply()
    assert not ids(gce, 'w') & before and '~' not in home.run('state', 'list').out


def test_a_replaced_head_keeps_its_address(gce, home):
    write(home, pool_of('', 1))
    home.apply()

    def head():
        return next(i for i in nodes(gce) if i['labels']['raygpu-name'] == 'head')
    before, workers = head(), ids(gce, 'w')
    write(home, pool_of('', 1), head=', disk: {size: 130GB}')
    home.apply()
    assert head()['id'] != before['id']
    assert head()['networkInterfaces'][0]['networkIP'] == before['networkInterfaces'][0]['networkIP']
    assert ids(gce, 'w') == workers, 'workers stay: the address is the same'
    clean(home)


# ---- test_import.py, test_marks.py, test_foreign_tags.py, test_state_move.py, test_state.py

def foreign(gce, like):
    """Someone's own instance with the machine, disk and network of one of ours."""
    disk = next(d for d in table(gce, 'disks') if d['name'] == like['name'])
    params = {'sourceImage': disk['sourceImage'], 'diskSizeGb': disk['sizeGb'], 'diskType': disk['type']}
    zone = like['zone'].split('/')[-1]
    body = {'name': 'theirs', **properties(like['machineType'].split('/')[-1], zone=zone, gpu=('nvidia-tesla-t4', 1)),
            'disks': [{'boot': True, 'autoDelete': True, 'initializeParams': params}], 'tags': {'items': like['tags']['items']}}
    gce.done(gce.insert(f'zones/{zone}/instances', body))
    return id_of(gce.get(f'zones/{zone}/instances/theirs') | {'zone': zone})


def test_an_instance_of_ones_own_is_imported(gce, home):
    write(home, pool_of('', 1))
    home.apply()
    node = foreign(gce, nodes(gce, 'w')[0])
    write(home, pool_of('', 2))
    gce.counters_reset()
    look = home.run('import', 'cluster.yaml', 'gcp.instance.w[1]', node, '--dry-run', '--as-is')
    assert f'# gcp.instance.w[1] will be imported (id={node})' in look.out and '+ ownership_tags' in look.out
    assert 'w[1]' not in home.run('state', 'list').out
    home.run('import', 'cluster.yaml', 'gcp.instance.w[1]', node, '--as-is')
    assert gce.counters()['mutating'] == 0
    assert home.run('state', 'show', 'gcp.instance.w[1]', '--json').json()['ownership'] == 'adopted'
    assert 'Resources: 0 added, 1 changed, 0 destroyed.' in home.apply().out
    clean(home)
    theirs = next(i for i in nodes(gce) if i['name'] == 'theirs')
    assert theirs['labels']['raygpu-index'] == '1' and theirs['labels']['team'] == 'ml'
    rebuilt = home.run('state', 'rebuild', '--state', 'new.db', '--json').json()
    assert {'address': 'gcp.instance.w[1]', 'id': node} in rebuilt['recorded']
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not nodes(gce)


def test_what_was_forgotten_comes_back_without_a_change(home):
    write(home, POOL)
    home.apply()
    before = {a: values_of(home, a)['id'] for a in home.run('state', 'list').out.split() if a.startswith('gcp.')}
    assert len(before) == 7
    home.run('state', 'rm', *before)
    home.run('import', 'cluster.yaml', *[word for pair in before.items() for word in pair])
    clean(home)
    assert {a: values_of(home, a)['id'] for a in before} == before


def test_marks_that_were_taken_off_come_back(gce, home):
    write(home, POOL)
    home.apply()
    lost = nodes(gce, 'w')[1]
    label(gce, lost, **{'raygpu-lineage': None, 'raygpu-cluster': None})
    label(gce, nodes(gce, 'w')[0], **{'raygpu-cluster': 'other'})
    drift = home.run('drift', 'cluster.yaml', code=2)
    assert 'gcp.instance.w[' in drift.out and 'marks' in drift.out
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert '+ ownership_tags' in plan.out and 'Plan: 0 to add, 2 to change, 0 to destroy.' in plan.out
    home.apply()
    assert len(ids(gce)) == 4 and {i['labels']['raygpu-cluster'] for i in nodes(gce)} == {'research'}
    clean(home)


@pytest.mark.parametrize('ignored', [False, True])
def test_labels_that_others_set(gce, home, ignored):
    """Their own keys are left alone; ours are drift, unless `ignore_tags` leaves them to others."""
    write(home, POOL, extra='ignore_tags: ["te*"]\n' if ignored else '')
    home.apply()
    for one in nodes(gce):
        label(gce, one, owner='finance')
    clean(home)
    label(gce, nodes(gce, 'w')[0], team='theirs')
    home.run('drift', 'cluster.yaml', code=0 if ignored else 2)
    home.apply()
    assert {i['labels']['owner'] for i in nodes(gce)} == {'finance'}
    assert ('theirs' in {i['labels']['team'] for i in nodes(gce)}) == ignored
    clean(home)


def test_a_pool_is_renamed_and_no_node_is_replaced(gce, home):
    write(home, POOL)
    home.apply()
    before = ids(gce)
    gce.counters_reset()
    moved = home.run('state', 'mv', 'gcp.instance.w', 'gcp.instance.big')
    assert 'Successfully moved 3 object(s).' in moved.out and gce.counters()['requests'] == 0
    write(home, {'big': POOL['w']})
    assert 'Plan: 0 to add, 3 to change, 0 to destroy.' in home.run('plan', '--detailed-exitcode', code=2).out
    home.apply()
    assert ids(gce) == before and len(nodes(gce, 'big')) == 3
    clean(home)
    home.run('state', 'rebuild', '--state', 'new.db')
    listed = home.run('state', 'list', '--state', 'new.db').out
    assert listed == home.run('state', 'list').out and 'big[2]' in listed


def test_what_no_record_has_is_told_and_never_deleted(gce, home):
    write(home, POOL)
    home.apply()
    one = sorted(nodes(gce, 'w'), key=lambda i: i['name'])[-1]
    home.run('state', 'rm', 'gcp.instance.w[2]')
    told = home.run('state', 'orphans', code=None)
    assert id_of(one) in told.out
    plan = home.run('plan', 'cluster.yaml', code=None)
    assert id_of(one) in plan.out + plan.err
    home.apply(code=None)
    assert id_of(one) in ids(gce)


def test_a_stale_plan_is_refused(gce, home):
    write(home, POOL)
    home.apply()
    write(home, {'w': POOL['w'].replace('3', '4', 1)})
    home.run('plan', 'cluster.yaml', '--out', 'saved')
    gce.done(gce.delete(place_of(nodes(gce, 'w')[0])))
    write(home, POOL)
    home.apply()
    home.run('apply', 'saved', code=6)
    assert len(nodes(gce)) == 4


def test_two_clusters_in_one_state(gce, home):
    write(home, POOL)
    home.apply()
    home.write('other.yaml', spec(POOL).replace('cluster: research', 'cluster: other'))
    home.apply('other.yaml')
    assert len(nodes(gce)) == 8
    home.run('destroy', 'other.yaml', '--auto-approve')
    assert len(nodes(gce)) == 4 and {i['labels']['raygpu-cluster'] for i in nodes(gce)} == {'research'}
    clean(home)

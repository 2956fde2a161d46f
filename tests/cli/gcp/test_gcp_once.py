"""`imports` and `removed` of a spec on Compute Engine. The same on EC2: tests/cli/adopt/test_imports_in_spec.py, test_removed_in_spec.py."""
from test_gcp_as_on_aws import foreign, ids, pool_of, values_of
from test_gcp_failures import write
from test_gcp_story import clean, nodes, table

GONE = 'removed: {old: {destroy: false}}\n'


def marks(labels):
    return {key for key in labels if key.startswith('raygpu-')}


def old(gce):
    return [one for one in nodes(gce) if '-old-' in one['name']]


def both(text='', old_nodes=2):
    return {'old': pool_of(text, old_nodes)['w'], **pool_of('', 1)}


def test_a_node_is_imported_while_its_pool_grows(gce, home):
    write(home, pool_of('', 1))
    home.apply()
    node = foreign(gce, nodes(gce, 'w')[0])
    before = ids(gce)
    write(home, pool_of('', 3), extra=f'imports: [{{address: "gcp.instance.w[1]", id: "{node}", as_is: true}}]\n')
    plan = home.run('plan', 'cluster.yaml', '--out', 'plan.json').out
    assert '# gcp.instance.w[1] will be imported' in plan and 'Plan: 1 to import, 1 to add, 1 to change, 0 to destroy.' in plan
    home.run('apply', 'plan.json', '--auto-approve')
    assert values_of(home, 'gcp.instance.w[1]')['id'] == node and before < ids(gce) and len(ids(gce, 'w')) == 3
    assert 'gcp.instance.w[1] has been imported' in ' '.join(clean(home).err.split())


def test_a_pool_is_forgotten_and_loses_its_labels(gce, home):
    write(home, both())
    home.apply()
    before = ids(gce)
    write(home, pool_of('', 1), extra=GONE)
    assert '2 to forget' in home.run('plan', 'cluster.yaml').out
    home.apply()
    assert ids(gce) == before and len(old(gce)) == 2
    assert not any(marks(one['labels']) for one in old(gce)) and {one['labels']['team'] for one in old(gce)} == {'ml'}
    assert 'pool old is no longer in the state' in ' '.join(clean(home).err.split())
    home.run('drift', 'cluster.yaml')


def test_a_placement_policy_goes_with_its_pool_and_keeps_its_marks(gce, home):
    write(home, {'old': 'accelerators: "A100:1", nodes: 2, network: {placement: cluster}', **pool_of('', 1)})
    home.apply()
    write(home, pool_of('', 1), extra=GONE)
    plan = home.run('plan', 'cluster.yaml')
    assert '3 to forget' in plan.out and 'it keeps its ownership tags' in ' '.join(plan.out.replace('\n  # ', ' ').split())
    home.apply()
    assert len(old(gce)) == 2 and len(table(gce, 'resource_policies')) == 1
    clean(home)
    write(home, pool_of('', 1))
    assert 'unmanaged' not in clean(home).err, 'policies are read only where a pool has one'


def test_destroy_leaves_what_is_forgotten(gce, home):
    write(home, both())
    home.apply()
    write(home, pool_of('', 1), extra=GONE)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert len(nodes(gce)) == len(old(gce)) == 2 and not home.run('state', 'list').out
    assert not any(marks(one['labels']) for one in old(gce))
    assert not [one for one in table(gce, 'firewalls') if one['name'].startswith('raygpu-')], 'nodes do not keep rules in use'

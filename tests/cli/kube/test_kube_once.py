"""`imports` and `removed` of a spec on Kubernetes, where all pools are parts of one RayCluster."""
from kube_spec import spec


def said(result):
    return ' '.join((result.out + result.err).split())


def test_a_pool_of_a_raycluster_cannot_be_forgotten(world, home):
    assert world
    home.write('cluster.yaml', spec(pools={'old': 1, 'train': 1}))
    home.apply()
    home.write('cluster.yaml', spec(pools={'train': 1}, extra='removed: {old: {destroy: false}}\n'))
    for command in (['plan'], ['apply', '--auto-approve'], ['destroy', '--auto-approve']):
        result = home.run(*command, code=4)
        assert 'pool old cannot be forgotten: nodes of kind kubernetes.worker_group cannot exist without their cluster' in said(result) and 'cluster.yaml:8' in said(result)
    home.run('drift')
    home.write('cluster.yaml', spec(pools={'train': 1}, extra='removed: {old: {destroy: true}}\n'))
    home.apply()
    assert 'pool old is no longer in the state' in said(home.run('plan', '--detailed-exitcode'))


def test_what_was_forgotten_is_imported_back(world, home):
    assert world
    home.write('cluster.yaml', spec(pools={'train': 1}))
    home.apply()
    addresses = [one for one in home.run('state', 'list').out.split() if one.startswith('kubernetes.')]
    ids = {one: home.run('state', 'show', one, '--json').json()['values']['id'] for one in addresses}
    home.run('state', 'rm', *addresses)
    entries = ''.join(f'  - {{address: "{address}", id: "{name}"}}\n' for address, name in ids.items())
    home.write('cluster.yaml', spec(pools={'train': 1}, extra='imports:\n' + entries))
    plan = home.run('plan', '--out', 'plan.json').out
    assert f'Plan: {len(ids)} to import, 0 to add, 0 to change, 0 to destroy.' in plan
    home.run('apply', 'plan.json', '--auto-approve')
    assert 'has been imported' in said(home.run('plan', '--detailed-exitcode'))

"""Resources that stand for several nodes: racks of three, and fleets whose size Ray changes. What is planned,
refused, drifted, rebuilt and paid counts nodes, not resources. The module is racks/."""
import json
import os

import own_module
import pytest

CPU, T4 = 400_000, 550_000  # prices.csv, micro-USD an hour


def build(folder, files):
    folder = str(folder)
    data = os.path.join(folder, 'racks')
    os.mkdir(data)
    for name in files:
        with open(f'{HERE}/racks/{name}', encoding='utf-8') as f, open(f'{data}/{name}', 'w', encoding='utf-8') as to:
            to.write(f.read())
    with open(HERE + '/racks/schema.json', encoding='utf-8') as f:
        schema = json.dumps(json.dumps(json.load(f)))
    subprocess.run(['cc', '-std=gnu11', '-shared', '-fPIC', f'-I{ROOT}/src/abi', f'-DSCHEMA_JSON={schema}',
                    f'{HERE}/racks/racks.c', '-o', folder + '/racks.so', '-ljansson'], check=True, timeout=120)
    return folder


@pytest.fixture(scope='module')
def modules(tmp_path_factory):
    return own_module.build(tmp_path_factory.mktemp('modules'), 'racks')


@pytest.fixture(scope='module')
def bare(tmp_path_factory):
    """The same without tables: nodes are shapes, and no price is known."""
    return own_module.build(tmp_path_factory.mktemp('bare'), 'racks', without=('*.csv',))


class Cloud:
    """Resources in a dict; a fleet runs as many nodes as the test sets, initially its minimum."""
    def __init__(self):
        self.things, self.changes = {}, []

    def answer(self, method, path, query, body):
        if method == 'GET':
            return [self.told(t) for t in self.things.values()
                    if all(t.get(key) == value for key, value in query.items())]
        self.changes.append(method)
        ident = path.rpartition('/')[2]
        if method == 'POST':
            again = [t for t in self.things.values() if t['token'] == body['token']]
            ident = again[0]['id'] if again else f'thing-{len(self.changes)}'
            self.things[ident] = {'id': ident, 'runs': body['attributes'].get('least'), **body}
        elif method == 'PATCH':
            self.things[ident]['attributes'] = body
        elif method == 'DELETE':
            return self.things.pop(ident, {'id': ident})
        return self.things[ident]

    @staticmethod
    def told(thing):
        pool = thing['address'].split('.')[2].partition('[')[0]
        runs = thing['runs'] if thing['kind'] == 'racks.fleet' else thing['attributes']['size']
        return {**thing, 'nodes': {pool: runs}}

    def fleet(self):
        fleet, = [t for t in self.things.values() if t['kind'] == 'racks.fleet']
        return fleet


@pytest.fixture
def cloud():
    cloud = Cloud()
    server = own_module.serve(cloud)
    yield cloud
    server.shutdown()
    server.server_close()


class RackHome(own_module.ModuleHome):
    def spec(self, fixed=7, elastic='{min: 2, max: 8}', more=''):
        pools = [f'  fixed: {{accelerators: "T4:1", nodes: {fixed}}}'] if fixed else []
        pools += [f'  serve: {{accelerators: "T4:1", nodes: {elastic}}}'] if elastic else []
        self.write('cluster.yaml', '\n'.join([
            'cluster: racked', f'provider: {{name: racks, region: north, endpoint: "{self.cloud.url}"}}',
            'ray: {version: 2.56.1, python: "3.11"}', 'head: {instance_type: cpu.large}', 'pools:', *pools, more, '']))


@pytest.fixture
def home(tmp_path, cloud, modules):
    return RackHome(tmp_path, cloud, modules)


def pool(plan, name):
    found, = [p for p in plan['pools'] if p['pool'] == name]
    return found


def sides(plan):
    return {p['pool']: (p['instance_type'], p['before'], p['after']) for p in plan['pools']}


def test_a_rack_counts_three_nodes(home, cloud):
    home.spec(fixed=7, elastic=None)
    text = home.run('plan', 'cluster.yaml').out
    assert 'Plan: 5 to add' in text  # the token, the head, and racks of 3, 3 and 1
    row, = [line.split() for line in text.split('\n') if line.strip().startswith('fixed ')]
    assert row[3:] == ['0', '->', '7', 'T4', '0', '->', '7', '$0.00', '->', '$3.85'], row
    assert f'${(CPU + 7 * T4) / 1e6:.2f} per hour' in text
    plan = home.plan()
    assert pool(plan, 'fixed')['after'] == {
        'nodes': 7, 'gpus': 7, 'microusd_hour': 7 * T4, 'unpriced': 0, 'carbon_mg_hour': 0, 'uncounted': 7}
    assert plan['cost']['after']['microusd_hour'] == CPU + 7 * T4
    assert 'racks.rack.fixed, 3 alike: 7 nodes' in home.run('graph', 'cluster.yaml').out

    home.apply()
    assert home.plan()['cost']['before']['microusd_hour'] == CPU + 7 * T4
    assert '    # 3 nodes of fixed\n' in home.run('state', 'show', 'racks.rack.fixed[1]').out
    spent = home.run('cost', '--by', 'pool', '--json').json()
    assert {r['pool']: r['nodes'] for r in spent['rows']} == {'head': 1, 'fixed': 7}, spent
    # someone removes a rack
    gone, = [t for t in cloud.things.values() if t['address'] == 'racks.rack.fixed[1]']
    del cloud.things[gone['id']]
    assert '3 nodes of Ray' in home.run('drift', 'cluster.yaml', code=2).out
    item, = home.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()['drift']
    assert item['nodes'] == 3
    lost = pool(home.plan(), 'fixed')
    assert (lost['before']['nodes'], lost['after']['nodes']) == (4, 7)
    cloud.things[gone['id']] = gone
    # four nodes fewer: one rack is removed, one shrinks
    home.spec(fixed=4, elastic=None)
    shrunk = pool(home.plan(), 'fixed')
    assert (shrunk['before']['nodes'], shrunk['after']['nodes']) == (7, 4)
    home.apply()
    spent = home.run('cost', '--by', 'pool', '--json').json()
    assert {r['pool']: r['nodes'] for r in spent['rows']} == {'head': 1, 'fixed': 4}, spent


def test_a_gang_counts_nodes(home):
    home.spec(fixed='6, gang: true', elastic=None)
    assert 'Gang fixed: 6 new nodes, all or none' in ' '.join(home.run('plan', 'cluster.yaml').out.split())


def test_an_elastic_pool_counts_at_its_least_its_most_and_what_runs(home, cloud):
    home.spec(fixed=None)
    text = home.run('plan', 'cluster.yaml').out
    row, = [line.split() for line in text.split('\n') if line.strip().startswith('serve ')]
    assert row[3:8] == ['0', '->', '2', 'of', '2-8'], row
    said = ' '.join(text.split())
    assert 'with elastic pools at their minimum $1.50 per hour, at their maximum $4.80' in said
    after = pool(home.plan(), 'serve')['after']
    assert (after['nodes'], after['least']['nodes'], after['most']['nodes']) == (2, 2, 8)
    assert after['most']['microusd_hour'] == 8 * T4 and after['most']['gpus'] == 8
    assert 'up to 8 nodes' in home.run('graph', 'cluster.yaml').out

    home.apply()
    cloud.fleet()['runs'] = 5  # Ray's autoscaler
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')
    plan = home.plan()
    assert [pool(plan, 'serve')[side]['nodes'] for side in ('before', 'after')] == [5, 5]
    assert plan['cost']['after']['microusd_hour'] == CPU + 5 * T4
    assert plan['cost']['after']['most']['microusd_hour'] == CPU + 8 * T4
    # more than the maximum, after someone else's change, is counted
    cloud.fleet()['runs'] = 9
    assert [pool(home.plan(), 'serve')[side]['nodes'] for side in ('before', 'after')] == [9, 9]
    assert '9 of 2-8' in home.run('plan', 'cluster.yaml', '--verbose').out
    home.spec(fixed=None, elastic='{min: 2, max: 7}')
    assert [pool(home.plan(), 'serve')[side]['nodes'] for side in ('before', 'after')] == [9, 7]
    cloud.fleet()['runs'] = 5
    # the range is changed in place, and what runs keeps running
    home.spec(fixed=None, elastic='{min: 0, max: 12}')
    after = pool(home.plan(), 'serve')['after']
    assert (after['nodes'], after['least']['nodes'], after['most']['nodes']) == (5, 0, 12)
    home.apply()
    assert cloud.fleet()['attributes']['most'] == 12
    assert '# 0 to 12 nodes of serve, 5 when it was last applied' in home.run('state', 'show', 'racks.fleet.serve').out
    spent = home.run('cost', '--by', 'pool', '--json').json()
    assert {r['pool']: r['nodes'] for r in spent['rows']} == {'head': 1, 'serve': 5}, spent


@pytest.mark.parametrize('budget, code', [('4.80', 0), ('4.79', 9), ('1.5', 9)])
def test_a_budget_holds_an_elastic_pool_at_its_most(home, cloud, budget, code):
    home.spec(fixed=None, more=f'budget: {{hourly_usd: {budget}}}')
    said = ' '.join(home.run('plan', 'cluster.yaml', code=code).err.split())
    assert ('budget.exceeded' in said) == (code == 9)
    if code:
        assert 'the cluster would cost $4.8 per hour' in said
        assert 'with every pool at its maximum, which Ray may reach at any time; at the minimum it would cost $1.5' in said
        assert home.run('apply', 'cluster.yaml', '--auto-approve', code=9).code == 9 and not cloud.changes


def test_a_policy_holds_an_elastic_pool_at_its_most(home):
    home.spec(more='policy: {max_nodes: 15}')
    said = home.run('plan', 'cluster.yaml', code=9).err
    assert 'the cluster may come to 16 nodes' in said and '[policy.max-nodes]' in said
    home.spec(more='policy: {max_nodes: 16}')
    home.run('plan', 'cluster.yaml')


def test_a_saved_plan_is_applied_with_its_ranges(home, cloud):
    home.spec()
    home.run('plan', 'cluster.yaml', '--out', 'saved')
    home.run('apply', 'saved', '--auto-approve')
    assert cloud.fleet()['attributes'] == {'shape': 'gpu.small', 'least': 2, 'most': 8}
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0


def test_protection_of_a_pool_holds_nodes_of_a_resource_that_stays(home):
    home.spec(elastic=None, more='')
    home.write('cluster.yaml', home.read('cluster.yaml').replace('nodes: 7', 'nodes: 7, protect: true'))
    home.apply()
    home.write('cluster.yaml', home.read('cluster.yaml').replace('nodes: 7', 'nodes: 6'))
    assert 'would be destroyed' in home.run('plan', 'cluster.yaml', code=9).err
    home.write('cluster.yaml', home.read('cluster.yaml').replace('nodes: 6', 'nodes: 8'))
    home.apply()
    home.write('cluster.yaml', home.read('cluster.yaml').replace('nodes: 8', 'nodes: 7'))
    said = home.run('plan', 'cluster.yaml', code=9).err
    assert '"fixed" is protected, but racks.rack.fixed[2] would be made smaller' in said


def test_a_lost_state_is_rebuilt_with_nodes_and_prices(home, cloud):
    home.spec()
    home.apply()
    cloud.fleet()['runs'] = 6
    before = home.plan()
    os.rename(home.state, home.path('lost.db'))
    home.run('state', 'rebuild', 'cluster.yaml')
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0
    after = home.plan()
    assert sides(after) == sides(before) and after['cost'] == before['cost']
    spent = home.run('cost', '--by', 'pool', '--json').json()
    assert {r['pool']: r['nodes'] for r in spent['rows']} == {'head': 1, 'fixed': 7, 'serve': 6}, spent
    # and one resource imported
    ident, = [t['id'] for t in cloud.things.values() if t['address'] == 'racks.rack.fixed[1]']
    home.run('state', 'rm', 'racks.rack.fixed[1]')
    home.run('import', 'cluster.yaml', 'racks.rack.fixed[1]', ident)
    assert sides(home.plan()) == sides(before)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not cloud.things


def test_racks_of_different_shapes_are_rebuilt_as_they_are(home, cloud):
    home.spec(fixed=6, elastic=None)
    home.apply()
    first, = [t for t in cloud.things.values() if t['address'] == 'racks.rack.fixed[0]']
    first['attributes']['shape'] = 'gpu.other'
    os.rename(home.state, home.path('lost.db'))
    home.run('state', 'rebuild', 'cluster.yaml')
    cluster, = home.run('state', 'pull').json()['clusters']
    shapes = {r['address']: r['pin']['nodes'][0]['instance_type'] for r in cluster['resources']
              if r['address'].startswith('racks.rack.fixed')}
    assert shapes == {'racks.rack.fixed[0]': 'gpu.other', 'racks.rack.fixed[1]': 'gpu.small'}


def test_racks_that_move_to_another_pool_are_its_nodes(home):
    home.spec(fixed=4, elastic=None)
    home.apply()
    home.write('cluster.yaml', home.read('cluster.yaml').replace('  fixed:', '  renamed:'))
    said = ' '.join(home.run('plan', 'cluster.yaml').err.split())
    assert '`renamed_from: fixed` in pool renamed keeps its nodes' in said
    for index in range(2):
        home.run('state', 'mv', f'racks.rack.fixed[{index}]', f'racks.rack.renamed[{index}]')
    plan = home.plan()
    assert {p['pool']: (p['before']['nodes'], p['after']['nodes']) for p in plan['pools']} == {'head': (1, 1), 'renamed': (4, 4)}
    home.apply()
    spent = home.run('cost', '--by', 'pool', '--json').json()
    assert {r['pool']: r['nodes'] for r in spent['rows']} == {'head': 1, 'renamed': 4}, spent


def test_the_conformance_check_passes(home, cloud):
    said = home.run('providers', 'check', home.modules + '/racks.so', '--region', 'north', '--endpoint', cloud.url)
    assert 'pass  lower accepts an elastic pool\n' in said.out and ' 0 failed' in said.out, said.out


OWN_PRICES = '''catalog:
  prices:
    racks:
      - {instance_type: "T4:1", region: north, hourly_usd: 0.25}
      - {instance_type: cpu, region: north, hourly_usd: 0.1}
'''


def test_without_tables_nodes_are_shapes_of_unknown_price(tmp_path, cloud, bare):
    home = RackHome(tmp_path, cloud, bare)
    home.spec(fixed=4)
    home.write('cluster.yaml', home.read('cluster.yaml').replace('cpu.large', 'cpu'))
    plan = home.plan()
    fixed = pool(plan, 'fixed')
    assert (fixed['instance_type'], fixed['accelerator']) == ('T4:1', 'T4')
    assert fixed['after']['unpriced'] == 4 and fixed['after']['microusd_hour'] == 0
    told = home.run('plan', 'cluster.yaml')
    assert 'Cost: no price is known for these nodes' in told.out
    home.write('budget.yaml', home.read('cluster.yaml') + 'budget: {hourly_usd: 1000}\n')
    said = ' '.join(home.run('plan', 'budget.yaml', code=9).err.split())
    assert 'so the budget cannot be checked' in said and '[budget.unknown]' in said
    home.apply()
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0
    # the price of the user's own catalog applies to resources created with it
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    home.write('raygpu.yaml', OWN_PRICES)
    plan = home.plan()
    assert plan['cost']['after']['microusd_hour'] == 100_000 + 6 * 250_000
    assert plan['cost']['after']['most']['microusd_hour'] == 100_000 + 12 * 250_000
    home.run('plan', 'budget.yaml')


def test_without_tables_an_instance_type_of_a_cloud_is_unknown(tmp_path, cloud, bare):
    home = RackHome(tmp_path, cloud, bare)
    home.spec()
    assert '"cpu.large" is not in the catalog' in ' '.join(home.run('validate', 'cluster.yaml', code=4).err.split())
    said = home.run('providers', 'check', bare + '/racks.so', '--region', 'north', '--endpoint', cloud.url).out
    assert ' 0 failed' in said and 'without it, instance types are shapes such as T4:1' in said


def test_an_elastic_pool_may_run_nothing(home, cloud):
    home.spec(fixed=None, elastic='{min: 0, max: 3}')
    after = pool(home.plan(), 'serve')['after']
    assert (after['nodes'], after['most']['nodes'], after['most']['microusd_hour']) == (0, 3, 3 * T4)
    home.apply()
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0
    assert home.run('drift', '--cluster', 'racked').out.startswith('No drift.')
    home.run('destroy', '--cluster', 'racked', '--auto-approve')
    assert not cloud.things


def test_a_range_is_refused_where_the_module_makes_none(home, tmp_path):
    folder = own_module.build(tmp_path, 'racks')
    with open(folder + '/racks/schema.json', encoding='utf-8') as f:
        schema = json.load(f)
    del schema['elastic']
    with open(folder + '/racks/schema.json', 'w', encoding='utf-8') as f:
        json.dump(schema, f)
    home.modules = folder
    home.spec()
    said = ' '.join(home.run('plan', 'cluster.yaml', code=4).err.split())
    assert "the provider racks does not support elastic pools (pool serve) [spec.not-supported-yet]" in said
    assert 'cluster.yaml:7:' in said
    home.run('fit', 'cluster.yaml')

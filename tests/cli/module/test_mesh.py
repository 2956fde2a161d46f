"""A cloud as unlike EC2 as possible, supported without a line of raygpu for it: one resource is a whole Ray
cluster, elastic, guarded by versions, without regions, zones, instance types and cloud-init; its changes take
time. The module is mesh/."""
import json
import os
import signal
import time

import own_module
import pytest
from report_schemas import validator

POOLS = {'head': 1, 'train': 4, 'serve': 2}


PAGE = 2


class Cloud:
    """Clusters by id. The cloud adds a default to each group; updates and removals take `looks` answers. Machines of
    elastic groups have names of the cloud's: `odd` changes what is said of some, `refused` is by pool."""
    def __init__(self):
        self.clusters, self.changes, self.looks = {}, [], 2
        self.odd, self.wants, self.refused, self.pages = {}, {}, {}, 0

    def running(self, thing):
        return {name: thing['extra'].get(name, group['least']) for name, group in thing['groups'].items()}

    def shown(self, thing):
        groups = {name: {**group, 'restart': 'always'} for name, group in thing['groups'].items()}
        shown = {key: value for key, value in thing.items() if key not in ('extra', 'token', 'left')}
        return {**shown, 'groups': groups, 'running': self.running(thing), 'starting': False}

    def slowly(self, thing):
        thing['left'] = thing.get('left', self.looks) - 1
        return thing['left'] >= 0

    def create(self, body):
        for thing in self.clusters.values():
            if thing['marks']['token'] == body['marks']['token']:
                return self.shown(thing)
        ident = f'mesh-{len(self.changes)}'
        self.clusters[ident] = {**body, 'id': ident, 'version': 1, 'extra': {}, 'leaving': False}
        return self.shown(self.clusters[ident])

    def change(self, thing, version, body):
        if 'left' not in thing:
            if version != thing['version']:
                return 412, {}
            thing.update(body, version=thing['version'] + 1, marks={**thing['marks'], **body.get('marks', {})})
        if self.slowly(thing):
            return 202, self.shown(thing)
        del thing['left']
        return self.shown(thing)

    def remove(self, thing, version):
        if not thing['leaving'] and version != thing['version']:
            return 412, {}
        thing.update(leaving=True)
        if self.slowly(thing):
            return 202, self.shown(thing)
        del self.clusters[thing['id']]
        return 404, {}

    def members(self, thing, page):
        """A page of at most PAGE members of any pools; the first page has the groups."""
        elastic = {pool: n for pool, n in self.running(thing).items()
                   if thing['groups'][pool]['least'] != thing['groups'][pool]['most']}
        every = [(pool, {'id': f'm-{pool}-{i}', 'zone': f'hall-{i % 2}', 'template': 'v2', 'since_s': 1700000000 + i,
                         'state': 'running', **self.odd.get(f'm-{pool}-{i}', {})})
                 for pool, n in elastic.items() for i in range(n)]
        every += [(pool, {'id': name, **odd}) for name, odd in self.odd.items() for pool in elastic if odd.get('extra') == pool]
        part, self.pages = {}, self.pages + 1
        for pool, member in every[page * PAGE:(page + 1) * PAGE]:
            part.setdefault(pool, []).append({key: value for key, value in member.items() if key != 'extra'})
        groups = {pool: {'wants': self.wants.get(pool, n), 'template': 'v2', 'refused': self.refused.get(pool, [])}
                  for pool, n in elastic.items()}
        return {'groups': {} if page else groups, 'members': part, 'next': page + 1 if len(every) > (page + 1) * PAGE else 0}

    def answer(self, method, path, query, body):
        ident = path.split('/')[2] if path.count('/') > 1 else None
        if method != 'GET':
            self.changes.append((method, query.get('version')))
        if method == 'POST':
            return self.create(body)
        if ident is None:
            return [self.shown(thing) for thing in self.clusters.values()]
        thing = self.clusters.get(ident)
        if thing is None:
            return 404, {}
        if path.endswith('/members'):
            return self.members(thing, int(query['page']))
        if method == 'PATCH':
            return self.change(thing, int(query['version']), body)
        return self.remove(thing, int(query['version'])) if method == 'DELETE' else self.shown(thing)

    def one(self):
        thing, = self.clusters.values()
        return thing


@pytest.fixture(scope='module')
def modules(tmp_path_factory):
    return own_module.build(tmp_path_factory.mktemp('modules'), 'mesh')


@pytest.fixture
def cloud():
    cloud = Cloud()
    server = own_module.serve(cloud)
    yield cloud
    server.shutdown()
    server.server_close()


class MeshHome(own_module.ModuleHome):
    def spec(self, train=4, image='2.56.1-py311', more='', namespace='team-a'):
        self.write('cluster.yaml', f'''cluster: meshed
labels: {{team: ml}}
provider: {{name: mesh, endpoint: "{self.cloud.url}", namespace: {namespace}}}
ray: {{version: 2.56.1, python: "3.11", image: "rayproject/ray:{image}"}}
head: {{instance_type: cpu}}
pools:
  train: {{accelerators: "A100:8", nodes: {train}}}
  serve: {{accelerators: "T4:1", nodes: {{min: 2, max: 6}}}}
{more}
''')


@pytest.fixture
def home(tmp_path, cloud, modules):
    home = MeshHome(tmp_path, cloud, modules)
    home.spec()
    return home


def nodes(plan, side='after', count='nodes'):
    return {pool['pool']: pool[side].get(count, pool[side]['nodes']) if count == 'nodes' else pool[side][count]['nodes']
            for pool in plan['pools']}


def no_changes(home):
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').out.startswith('No changes.')


def test_one_resource_is_planned_as_the_nodes_that_it_stands_for(home, cloud):
    text = home.run('plan', 'cluster.yaml').out
    assert '# mesh.cluster.ray will be created' in text and 'Plan: 2 to add' in text
    assert 'GPUs that Ray will see: A100 0 -> 32, T4 0 -> 2' in text
    assert 'region' not in text and 'zone' not in text
    assert 'Cost: no price is known for these nodes' in text and '$' not in text and '4 unpriced' in text
    plan = home.plan()
    assert nodes(plan) == POOLS and plan['cost']['after']['unpriced'] == 7
    serve, = [pool for pool in plan['pools'] if pool['pool'] == 'serve']
    assert (serve['after']['least']['nodes'], serve['after']['most']['nodes']) == (2, 6)
    assert not cloud.changes


def test_a_word_for_several_models_means_the_first_in_the_table(home):
    home.spec(train=1)
    home.write('cluster.yaml', home.read('cluster.yaml').replace('A100:8', 'V100:8').replace('T4:1', 'A100-80GB:1'))
    text = home.run('plan', 'cluster.yaml').out
    assert 'V100-16GB:8' in text and 'A100-80GB:1' in text and 'PCIe' not in text


def test_from_apply_to_destroy(home, cloud):
    home.apply()
    group = cloud.one()['groups']['train']
    assert group['least'] == group['most'] == 4 and group['gpus'] == 8 and group['image'].endswith(':2.56.1-py311')
    assert group['command'] and len(cloud.one()['token']) >= 32
    no_changes(home)
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')
    # Ray's autoscaler, and a default that the cloud adds, are not drift
    cloud.one()['extra'] = {'serve': 5}
    assert home.run('drift', 'cluster.yaml').out.startswith('No drift.')
    assert nodes(home.plan(), 'before') == {**POOLS, 'serve': 5}
    # a group that someone shrank is
    cloud.one()['groups']['train'] = {**group, 'least': 1, 'most': 1}
    cloud.one()['version'] += 1
    assert 'mesh.cluster.ray has changed' in home.run('drift', 'cluster.yaml', code=2).out
    home.apply()
    assert cloud.one()['groups']['train']['most'] == 4
    # a pool grows in place, under the version that was read
    home.spec(train=6)
    assert nodes(home.plan()) == {**POOLS, 'train': 6, 'serve': 5}
    home.apply()
    assert cloud.one()['groups']['train']['most'] == 6
    assert {verb for verb, version in cloud.changes if verb != 'POST' and version == '0'} == set()
    no_changes(home)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not cloud.clusters
    assert [verb for verb, _ in cloud.changes].count('DELETE') == cloud.looks + 1


def drift(home, code=0):
    report = home.run('drift', 'cluster.yaml', '--format', 'json', code=code).json()
    validator('drift.schema.json').validate(report)
    return report


def test_members_of_an_elastic_pool_are_read_page_by_page(home, cloud):
    home.apply()
    cloud.one()['extra'] = {'serve': 5}
    cloud.odd = {'m-serve-1': {'template': 'v1'}, 'm-new': {'extra': 'serve', 'state': 'starting'}}
    before = len(cloud.changes)
    group, = drift(home)['groups']
    assert cloud.pages == 3, 'six members'
    assert [member['id'] for member in group['members']] == [f'm-serve-{i}' for i in range(5)] + ['m-new']
    assert group['members'][1] == {'id': 'm-serve-1', 'zone': 'hall-1', 'template': 'v1', 'since_s': 1700000001, 'state': 'running'}
    assert (group['address'], group['pool'], group['wants'], group['refused']) == ('mesh.cluster.ray', 'serve', 5, [])
    text = home.run('drift', 'cluster.yaml').out
    assert text.startswith('No drift.')
    assert text[text.index('Elastic'):] == """Elastic pools, which Ray scales:
  POOL   RUNNING  WANTED  OLD TEMPLATE
  serve        5       5             1
  MEMBER     POOL   STATE     ZONE    TEMPLATE
  m-serve-1  serve  running   hall-1  v1 (older)
  m-new      serve  starting  -       -
"""
    assert len(cloud.changes) == before
    no_changes(home)


def test_what_the_cloud_refuses_a_group_is_drift_until_it_has_it(home, cloud):
    home.apply()
    cloud.wants = {'serve': 6}
    assert not drift(home)['drift'], 'it grows'
    cloud.refused = {'serve': [{'class': 'capacity', 'message': 'no T4 is free', 'code': 'Full', 'zone': 'hall-1', 'tries': 14,
                                'since_s': 1700000000, 'last_s': 1700000600}]}
    report = drift(home, code=2)
    assert [(row['type'], row['address'], row['reason']) for row in report['drift']] == [
        ('unhealthy', 'mesh.cluster.ray', 'should have 6 nodes of pool serve, but 2 run: no T4 is free in hall-1 (refused 14 times)')]
    assert report['groups'][0]['refused'] == cloud.refused['serve']
    text = home.run('drift', 'cluster.yaml', code=2).out
    assert 'serve: refused in hall-1, 14 times: no T4 is free' in text and '--replace' not in text
    cloud.one()['extra'] = {'serve': 6}
    assert not drift(home)['drift']


@pytest.mark.parametrize('odd, why', [
    ({'m-serve-0': {'id': 'm-serve-1'}}, 'the member "m-serve-1" was returned twice'),
    ({'m-serve-0': {'state': 'asleep'}}, 'is "asleep", not "starting", "running" or "leaving"'),
])
def test_members_that_make_no_sense_are_not_shown(home, cloud, odd, why):
    home.apply()
    cloud.odd = odd
    done = home.run('drift', 'cluster.yaml')
    assert '[ready.unreadable]' in done.err and why in ' '.join(done.err.split()), done
    assert 'Elastic pools' not in done.out


def test_a_cut_list_of_members_is_not_shown(home, cloud):
    home.apply()
    cloud.one()['extra'] = {'serve': 5}
    whole = cloud.members
    cloud.members = lambda thing, page: whole(thing, page) if page < 2 else (500, {})
    done = home.run('drift', 'cluster.yaml')
    assert '[ready.unreadable]' in done.err and 'Elastic pools' not in done.out


def test_a_plan_for_another_version_changes_nothing(home, cloud):
    home.apply()
    home.spec(train=6)
    home.run('plan', 'cluster.yaml', '--out', 'p.json')
    cloud.one()['version'] += 1
    said = home.run('apply', 'p.json', code=1).err
    assert 'another version' in said and cloud.one()['groups']['train']['most'] == 4


def test_budget_and_policy_refuse_what_an_elastic_pool_may_come_to(home, cloud):
    home.spec(more='policy: {max_nodes: 10}')  # 1 + 4 + 6
    assert 'may come to 11 nodes' in home.run('apply', 'cluster.yaml', '--auto-approve', code=9).err
    home.spec(more='budget: {hourly_usd: 100}')
    assert '[budget.unknown]' in home.run('apply', 'cluster.yaml', '--auto-approve', code=9).err
    assert not cloud.changes


def test_a_kill_during_a_removal_leaves_nothing(home, cloud):
    home.apply()
    cloud.looks = 10**6
    process = home.start('destroy', '--provider-dir', home.modules, 'cluster.yaml', '--auto-approve')
    limit = time.monotonic() + 120
    while not cloud.one()['leaving']:
        assert time.monotonic() < limit and process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    cloud.one()['left'] = 1
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not cloud.clusters
    assert 'mesh.cluster' not in home.run('state', 'list').out


EXITS = ['exit', 'quick_exit', '_exit', '_Exit']


@pytest.mark.parametrize('how', EXITS)
def test_a_module_that_ends_the_process_while_it_is_loaded_is_named(home, how):
    ended = home.run('providers', 'list', env={'MESH_ENDS': f'load {how}'}, code=1)
    assert 'Error: module mesh ended the process while it was being loaded\n' in ended.err, ended


def run_into_the_end(home, command, where, how):
    """A command in which the module ends the process, with status 0 if it can."""
    env = {'MESH_ENDS': f'{where} {how}', 'ASAN_OPTIONS': home.env['ASAN_OPTIONS'] + ':handle_abort=0:handle_segv=0'}
    ended = home.run(command, 'cluster.yaml', '--auto-approve', env=env, code=None)
    if how in EXITS:
        assert ended.code == 1 and f'Error: module mesh ended the process in {where.split()[1]}\n' in ended.err, ended
    else:
        assert ended.code == {'abort': -signal.SIGABRT, 'crash': -signal.SIGSEGV}[how], ended
    assert 'complete' not in ended.out


@pytest.mark.parametrize('how', [*EXITS, 'abort', 'crash'])
@pytest.mark.parametrize('when', ['before', 'after'])
def test_a_module_that_ends_the_process_loses_nothing(home, cloud, when, how):
    run_into_the_end(home, 'apply', f'{when} create', how)
    assert len(cloud.clusters) == (when == 'after')
    home.apply()
    assert len(cloud.clusters) == 1
    no_changes(home)
    run_into_the_end(home, 'destroy', f'{when} remove', how)
    assert len(cloud.clusters) == 1
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not cloud.clusters and 'mesh.cluster' not in home.run('state', 'list').out


def test_a_lost_state_is_rebuilt(home, cloud):
    home.apply()
    cloud.one()['extra'] = {'serve': 4}
    before = home.plan()
    os.unlink(home.state)
    said = home.run('plan', 'cluster.yaml', code=6).err
    assert '[plan.name-taken]' in said
    token = home.path('token')
    with open(token, 'w', encoding='utf-8') as f:
        f.write(cloud.one()['token'])
    home.run('state', 'rebuild', 'cluster.yaml', '--ray-token-file', token)
    after = home.plan()
    assert nodes(after, 'before') == nodes(before, 'before') == {**POOLS, 'serve': 4}
    no_changes(home)


def test_a_cluster_is_imported(home, cloud):
    home.apply()
    home.run('state', 'rm', 'mesh.cluster.ray')
    cloud.one()['marks'] = {'token': 'of somebody'}
    home.run('import', 'cluster.yaml', 'mesh.cluster.ray', cloud.one()['id'])
    home.apply()
    assert cloud.one()['marks']['cluster'] == 'meshed'
    assert [verb for verb, _ in cloud.changes].count('PATCH') == 3, 'one update, looked at until it was done'
    no_changes(home)
    assert nodes(home.plan()) == POOLS


def test_another_namespace_is_another_place(home):
    home.apply()
    home.spec(namespace='team-b')
    assert 'recorded in namespace "team-a"' in home.run('plan', 'cluster.yaml', code=6).err


def test_export_needs_no_cloud(home, cloud):
    text = 'head cpu 1\ntrain A100-40GB:8 4\nserve T4:1 1\n'
    server, cloud.answer = cloud.answer, None    # every request would fail
    assert home.run('export', 'lines', 'cluster.yaml').out == text
    assert 'it knows: lines' in home.run('export', 'table', 'cluster.yaml', code=4).err
    cloud.answer = server
    home.apply()
    home.spec(train=5)
    assert home.run('export', 'lines', 'cluster.yaml').out == text.replace('8 4', '8 5')
    home.write('cluster.yaml', home.read('cluster.yaml').replace('nodes: 5', 'nodes: 5, gang: true'))
    assert 'train A100-40GB:8 5 gang\n' in home.run('export', 'lines', 'cluster.yaml').out


def check(home, cloud, code=0):
    return home.run('providers', 'check', home.modules + '/mesh.so', '--wait', '1', '--config',
                    json.dumps({'endpoint': cloud.url}), code=code).out


def test_providers_check(home, cloud):
    said = check(home, cloud)
    assert ' passed, 0 failed, ' in said and 'pass  list mesh.cluster by its id alone, for import' in said
    assert 'pass  members mesh.cluster: as many run as list counts' in said
    assert 'pass  members mesh.cluster: what is gone has none' in said
    assert 'pass  members withstands invalid input' in said
    assert not cloud.clusters


def test_providers_check_counts_the_members(home, cloud):
    cloud.odd = {'m-check-1': {'state': 'starting'}}
    said = check(home, cloud, code=1)
    assert '1 members of pool check run, list counts 2' in ' '.join(said.split()), said
    assert not cloud.clusters


def test_providers_check_finds_members_of_what_is_gone(home, cloud):
    answer = cloud.answer

    def keep(method, path, *rest):
        answered = answer(method, path, *rest)
        gone = path.endswith('/members') and answered == (404, {})
        return {'members': {'check': [{'id': 'm-0', 'state': 'leaving'}]}} if gone else answered
    cloud.answer = keep
    assert 'it reports members of what no longer exists' in check(home, cloud, code=1)

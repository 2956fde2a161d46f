"""Machines that exist and are lent: a finite number of each type is free in each rack. The module is depot/."""
import json
import subprocess
import threading

import own_module
import pytest
from program import binary


@pytest.fixture(scope='module')
def modules(tmp_path_factory):
    return own_module.build(tmp_path_factory.mktemp('modules'), 'depot')


class Depot:
    """Machines on loan in a dict, and how many there are of each type in each rack of a region."""
    def __init__(self):
        self.things, self.creates, self.asked, self.refuses = {}, [], 0, False
        self.queue, self.moves, self.looks, self.after_create = 0, False, 0, lambda: None
        self.looked = threading.Event()
        self.machines = {region: {'cpu.large': {'rack-1': 3, 'rack-2': 2}, 'gpu.small': {'rack-1': 3, 'rack-2': 2},
                                  'gpu.other': {'rack-1': 1, 'rack-2': 4}} for region in ('north', 'south')}

    def free(self, region):
        free = {shape: dict(racks) for shape, racks in self.machines[region].items()}
        for thing in self.things.values():
            if thing['region'] == region:
                free[thing['attributes']['shape']][thing['attributes']['rack']] -= 1
        return free

    def answer(self, method, path, query, body):
        if path == '/free':
            self.asked += 1
            return self.free(query['region'])
        if method == 'GET' and path != '/things':
            return {'item': self.look(path.rpartition('/')[2])}
        if method == 'GET':
            return [t for t in self.things.values() if all(t.get(key) == value for key, value in query.items())]
        ident = path.rpartition('/')[2]
        if method == 'POST':
            return {'item': self.lend(body)}
        if self.refuses:
            return {'item': {'outcome': 'failed', 'class': 'conflict', 'definite': True, 'message': 'locked'}}
        self.things.pop(ident, None)
        return {'item': {'outcome': 'done'}}

    def lend(self, body):
        self.creates.append(body['address'])
        wanted, again = body['attributes'], [t for t in self.things.values() if t['token'] == body['token']]
        if not again and self.free(body['region']).get(wanted['shape'], {}).get(wanted['rack'], 0) < 1:
            return {'outcome': 'failed', 'class': 'capacity', 'definite': True, 'code': 'NoneFree',
                    'message': f'no {wanted["shape"]} is free in {wanted["rack"]}'}
        ident = again[0]['id'] if again else f'loan-{len(self.creates)}'
        if not again:
            self.things[ident] = {'id': ident, **body}
            if self.queue and '.train' in body['address']:
                self.things[ident]['queued'] = f'position {self.queue} of 7'
        self.after_create()
        queued = self.things[ident].get('queued')
        return {'outcome': 'queued' if queued else 'done', 'id': ident, 'attributes': {}, 'message': queued}

    def look(self, ident):
        """The answer to `ready`: who waits moves up by one at each look, if the queue moves."""
        thing = self.things[ident]
        if 'queued' not in thing:
            return {'outcome': 'done', 'id': ident}
        self.looks += 1
        self.looked.set()
        if self.moves and self.queue:
            self.queue -= 1
            thing['queued'] = f'position {self.queue} of 7'
        if not self.queue:
            del thing['queued']
        return {'outcome': 'queued', 'id': ident, 'message': thing['queued']} if self.queue else {
            'outcome': 'done', 'id': ident}

    def where(self, pool='train'):
        """Type and rack of the pool's machines, by address."""
        return [(t['attributes']['shape'], t['attributes']['rack'])
                for t in sorted(self.things.values(), key=lambda t: t['address']) if f'.{pool}' in t['address']]


@pytest.fixture
def depot():
    depot = Depot()
    server = own_module.serve(depot)
    yield depot
    server.shutdown()
    server.server_close()


class DepotHome(own_module.ModuleHome):
    def spec(self, pools='train: {instance_type: gpu.small, nodes: 3}', regions=('north',), more=''):
        places = [f'{{name: depot, endpoint: "{self.cloud.url}", region: {region}}}' for region in regions]
        self.write('cluster.yaml', '\n'.join([
            'cluster: lent', f'provider: {places[0] if len(places) == 1 else "{any_of: [" + ", ".join(places) + "]}"}',
            'ray: {version: 2.56.1, python: "3.11"}', 'head: {instance_type: cpu.large}', 'pools:', f'  {pools}', more,
            '']))

    def told(self, command, *arguments, code=0):
        end = self.run(command, 'cluster.yaml', *arguments, code=code)
        return ' '.join((end.out + end.err).split())

    def apply(self, code=0):
        return self.told('apply', '--auto-approve', code=code)


@pytest.fixture
def home(tmp_path, depot, modules):
    return DepotHome(tmp_path, depot, modules)


def test_a_pool_is_divided_where_no_rack_has_all(home, depot):
    home.spec('train: {instance_type: gpu.small, nodes: 5}')
    home.apply()
    assert depot.where() == [('gpu.small', 'rack-1')] * 3 + [('gpu.small', 'rack-2')] * 2
    assert depot.free('north')['gpu.small'] == {'rack-1': 0, 'rack-2': 0}
    # what the cluster has is not in the stock, and nobody asks about it again
    asked = depot.asked
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0
    assert depot.asked == asked


def test_a_plan_never_takes_more_than_is_free(home, depot):
    home.spec('train: {instance_type: gpu.small, nodes: 6}')
    said = home.told('plan', code=8)
    assert ('only 3 of gpu.small are free in rack-1, 2 in rack-2, and pool train needs 6 [fit.no-stock]') in said
    assert 'cluster.yaml:6:' in said
    home.spec('train: {instance_type: gpu.small, nodes: 4, zones: [rack-1]}')
    assert 'only 3 of gpu.small are free in rack-1, and pool train needs 4 [fit.no-stock]' in home.told('apply', code=8)
    assert not depot.creates
    # a cluster that grows needs the rest only
    home.spec('train: {instance_type: gpu.small, nodes: 3}')
    home.apply()
    home.spec('train: {instance_type: gpu.small, nodes: 6}')
    assert 'only 0 of gpu.small are free in rack-1, 2 in rack-2, and pool train needs 3 more' in home.told('plan', code=8)
    home.spec('train: {instance_type: gpu.small, nodes: 5}')
    home.apply()
    assert depot.where() == [('gpu.small', 'rack-1')] * 3 + [('gpu.small', 'rack-2')] * 2


def test_a_pool_that_leaves_the_choice_gets_its_next_type(home, depot):
    home.spec('train: {accelerators: "T4:1", nodes: 5, zones: [rack-2]}')
    said = home.told('plan', code=8)
    assert 'only 2 of gpu.small are free in rack-2' in said and 'only 4 of gpu.other are free in rack-2' in said, said
    home.spec('train: {accelerators: "T4:1", nodes: 4, zones: [rack-2]}')
    assert 'too few free of gpu.small' in home.told('plan')
    home.apply()
    assert depot.where() == [('gpu.other', 'rack-2')] * 4
    depot.machines['north']['gpu.small']['rack-2'] = 9
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0
    # what is there stays; what is added is what can be had
    depot.machines['north']['gpu.other']['rack-2'] = 4
    home.spec('train: {accelerators: "T4:1", nodes: 6, zones: [rack-2]}')
    home.apply()
    assert depot.where() == [('gpu.other', 'rack-2')] * 4 + [('gpu.small', 'rack-2')] * 2
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0


def test_the_next_place_of_any_of_has_enough(home, depot):
    home.spec('train: {instance_type: gpu.small, nodes: 5}', regions=('north', 'south'))
    depot.machines['north']['gpu.small'] = {'rack-1': 1, 'rack-2': 1}
    plan = home.plan()
    assert (plan['provider'], plan['region']) == ('depot', 'south')
    home.apply()
    assert {t['region'] for t in depot.things.values()} == {'south'} and len(depot.creates) == 6
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    depot.machines['south']['gpu.small'] = {'rack-1': 4, 'rack-2': 0}
    said = home.told('plan', code=8)
    assert 'only 1 of gpu.small is free in rack-1, 1 in rack-2' in said
    assert 'only 4 of gpu.small are free in rack-1, 0 in rack-2' in said and 'fit.no-place' not in said


def test_nodes_that_somebody_else_took_first_are_sought_elsewhere(home, depot):
    home.spec('train: {instance_type: gpu.small, nodes: 2}')
    home.run('plan', 'cluster.yaml', '--out', 'saved')
    depot.machines['north']['gpu.small']['rack-1'] = 1
    home.run('apply', 'saved', '--auto-approve')
    assert sorted(depot.where()) == [('gpu.small', 'rack-1'), ('gpu.small', 'rack-2')]


def test_what_is_lent_is_given_back(home, depot):
    """Plan, progress, failures, drift and protection have the module's words; counts stay Terraform's."""
    home.spec('train: {instance_type: gpu.small, nodes: 2}')
    home.apply()
    home.spec('train: {instance_type: gpu.small, nodes: 1}')
    said = home.told('plan')
    assert '# depot.machine.train[1] will be given back' in said and 'Given back: 1 of train' in said, said
    assert 'Plan: 0 to add, 0 to change, 1 to destroy.' in said
    home.run('plan', 'cluster.yaml', '--out', 'saved')
    end = home.run('apply', 'saved', '--auto-approve')
    said = end.out + end.err
    assert 'depot.machine.train[1]: Giving back...' in said and 'depot.machine.train[1]: Given back after ' in said
    assert 'Apply complete! Resources: 0 added, 0 changed, 1 destroyed.' in said and 'estroying' not in said
    # who reads the stream finds Terraform's actions beside these words
    rows = [json.loads(line) for line in home.run('plan', 'cluster.yaml', '--destroy', '--json').out.splitlines()]
    planned = [row for row in rows if row['type'] == 'planned_change' and 'depot.machine' in row['@message']]
    assert {row['change']['action'] for row in planned} == {'delete'}
    assert 'depot.machine.train[0]: Plan to give back' in [row['@message'] for row in planned]
    # someone else took it back
    ident, = [t['id'] for t in depot.things.values() if 'train' in t['address']]
    lost = depot.things.pop(ident)
    assert 'depot.machine.train[0] has been given back' in home.told('drift', code=2)
    assert '# depot.machine.train[0] has been given back' in home.told('plan')
    depot.things[ident] = lost
    home.spec('train: {instance_type: gpu.small, nodes: 1, protect: true}')
    home.apply()
    home.spec('train: {instance_type: gpu.small, nodes: 0, protect: true}')
    assert '"train" is protected, but depot.machine.train[0] would be given back' in home.told('plan', code=9)
    home.spec('train: {instance_type: gpu.small, nodes: 1}')
    home.apply()
    depot.refuses = True
    said = home.told('destroy', '--auto-approve', code=3)
    assert 'could not give back depot.machine.train[0]: locked' in said
    depot.refuses = False
    assert 'depot.machine.train[0]: Giving back...' in home.told('destroy', '--auto-approve')


def test_what_does_not_answer_is_not_missing(home, depot):
    home.spec('train: {instance_type: gpu.small, nodes: 3}')
    home.apply()
    lost = next(t for t in depot.things.values() if t['address'].endswith('train[1]'))
    lost['lost'] = 'no route to it'
    for command in ('plan', 'apply'):
        said = home.told(command, *(['--auto-approve'] if command == 'apply' else []), code=1)
        assert 'the state of `depot.machine.train[1]` is unknown: no route to it [diff.unreachable]' in said, said
        assert '--exclude depot.machine.train[1]' in said and 'is not recorded' not in said, said
    assert 'Drift is unknown: 1 of 5 resources could not be read' in home.told('drift', code=1)
    assert len(depot.things) == 4
    # the others can be changed without it
    home.spec('train: {instance_type: gpu.small, nodes: 4}')
    home.told('apply', '--auto-approve', '--exclude', 'depot.machine.train[1]')
    assert len(depot.things) == 5 and lost['id'] in depot.things
    # it is lost: another one takes its place, and what it left is reported when it answers again
    home.told('apply', '--auto-approve', '--replace', 'depot.machine.train[1]')
    assert [t['address'] for t in depot.things.values()].count('depot.machine.train[1]') == 2
    del lost['lost']
    assert 'but is not recorded [diff.unmanaged]' in home.told('plan')


def lose(depot, index):
    """The machine train[index] no longer answers."""
    lost = next(t for t in depot.things.values() if t['address'].endswith(f'train[{index}]'))
    lost['lost'] = 'no route to it'
    return lost


def test_what_an_interrupted_run_made_and_cannot_be_read_is_not_made_again(home, depot):
    home.spec('train: {instance_type: gpu.small, nodes: 1}')
    running = []

    def kill():
        if depot.creates[-1].endswith('.train[0]'):
            running[0].kill()
            depot.after_create = lambda: None
    depot.after_create = kill
    running.append(home.start('apply', 'cluster.yaml', '--provider-dir', home.modules, '--auto-approve'))
    running[0].communicate(timeout=60)
    # its token is too old to be sent again, so that only a search finds it
    home.edit_state('UPDATE journal SET started_s = started_s - 9000000')
    lost = lose(depot, 0)
    said = home.apply(code=1)
    assert 'the interrupted creation of depot.machine.train[0] could not be resolved' in said, said
    assert f'{lost["id"]} cannot be read: no route to it' in said, said
    assert len(depot.things) == 2 and len(depot.creates) == 2
    del lost['lost']
    home.apply()
    assert len(depot.things) == 2 and len(depot.creates) == 2


def test_what_cannot_be_read_and_has_no_record_blocks_its_address(home, depot):
    home.spec('train: {instance_type: gpu.small, nodes: 2}')
    home.apply()
    lost = lose(depot, 1)
    # its record would be empty
    said = ' '.join(home.run('state', 'rebuild', 'cluster.yaml', '--state', home.path('new.db'), code=1).err.split())
    assert f'{lost["id"]}, which has the ownership tags of depot.machine.train[1], cannot be read: no route to it' in said
    home.run('state', 'rm', 'depot.machine.train[1]')
    for command in ('plan', 'apply'):
        said = home.told(command, *(['--auto-approve'] if command == 'apply' else []), code=1)
        assert f'`depot.machine.train[1]` cannot be created: depot.machine `{lost["id"]}` already' in said, said
        assert 'it cannot be read: no route to it' in said, said
    said = home.told('import', 'depot.machine.train[1]', lost['id'], code=4)
    assert f'{lost["id"]} cannot be read: no route to it [import.refused]' in said and 'nothing left' not in said, said
    entry = f'imports: [{{address: "depot.machine.train[1]", id: {lost["id"]}}}]'
    home.spec('train: {instance_type: gpu.small, nodes: 2}', more=entry)
    assert f'{lost["id"]} cannot be read: no route to it' in home.told('plan', code=4)
    assert len(depot.things) == 3
    del lost['lost']
    home.apply()
    assert len(depot.things) == 3
    # another one was recorded there since: the entry cannot be called done
    ident, = [t['id'] for t in depot.things.values() if t['address'].endswith('train[0]')]
    home.spec('train: {instance_type: gpu.small, nodes: 2}', more=entry.replace('train[1]', 'train[0]'))
    lost['lost'] = 'no route to it'
    home.edit_state(f"DELETE FROM resources WHERE id = '{lost['id']}'")
    said = home.told('plan', code=4)
    assert f'{lost["id"]} cannot be read: no route to it' in said and 'no longer exists' not in said, (ident, said)


def test_replace_gives_up_only_what_it_names(home, depot):
    home.spec('train: {instance_type: gpu.small, nodes: 2}')
    home.apply()
    lost = lose(depot, 1)
    said = home.told('plan', '--replace', 'depot.machine.train', code=1)
    assert 'the state of `depot.machine.train[1]` is unknown' in said, said
    assert '`--replace depot.machine.train[1]` creates another one' in said, said
    plan = home.plan('--replace', 'depot.machine.train[1]', '--out', 'saved')
    said = home.told('plan', '--replace', 'depot.machine.train[1]')
    assert 'given back' not in said and 'changed outside' not in said, said
    assert f'{lost["id"]} cannot be read: no route to it; another one is created' in said, said
    assert f'Warning: {lost["id"]} may still run and cost money: raygpu forgets it [diff.unreachable]' in said, said
    assert plan['summary']['create'] == 1
    # it answers again before the saved plan is applied
    del lost['lost']
    end = home.run('apply', 'saved', code=6)
    assert '`depot.machine.train[1]` could not be read when it was created, and now it can' in ' '.join(end.err.split())
    assert len(depot.things) == 3 and home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0
    lost['lost'] = 'no route to it'
    home.run('apply', 'saved')
    assert len(depot.things) == 4


def test_the_hint_for_what_cannot_be_read_is_one_that_helps(home, depot):
    home.spec('train: {instance_type: gpu.small, nodes: 3}')
    home.apply()
    lost = lose(depot, 2)
    leaves = '`--exclude depot.machine.train[2]` leaves'
    assert leaves in home.told('plan', code=1) and '--replace' in home.told('plan', code=1)
    said = home.told('plan', '--refresh-only', code=1)
    assert leaves in said and '--replace' not in said, said
    said = home.told('drift', code=1)
    assert 'run again when it can be read' in said and '--exclude' not in said, said
    forgets = '`raygpu state rm depot.machine.train[2]` forgets it'
    said = home.told('destroy', '--auto-approve', code=1)
    assert leaves in said and forgets in said and '--replace' not in said, said
    home.spec('train: {instance_type: gpu.small, nodes: 2}')
    said = home.told('plan', code=1)
    assert leaves in said and forgets in said and '--replace' not in said, said
    home.run('state', 'rm', 'depot.machine.train[2]')
    assert lost['id'] in depot.things


def test_an_error_about_another_one_does_not_hide_why_one_cannot_be_read(tmp_path, depot):
    home = DepotHome(tmp_path, depot, own_module.build(
        tmp_path / 'modules', 'depot', change=lambda schema: schema['kinds']['depot.machine'].update(consistency_s=600)))
    home.spec('train: {instance_type: gpu.small, nodes: 2}')
    home.apply()
    lose(depot, 1)
    del depot.things[next(ident for ident, t in depot.things.items() if t['address'].endswith('train[0]'))]
    said = home.told('plan', '--no-settle', code=1)
    assert 'depot.machine.train[0] was created or changed a moment ago' in said and '[refresh.unsettled]' in said, said
    assert 'the state of `depot.machine.train[1]` is unknown: no route to it [diff.unreachable]' in said, said


def test_what_waits_in_a_queue_is_no_failure(home, depot):
    home.spec('train: {instance_type: gpu.small, nodes: 1}')
    depot.queue = 3
    end = home.run('apply', 'cluster.yaml', '--auto-approve', code=3)
    said = end.out + end.err
    assert 'depot.machine.train[0]: Queued: position 3 of 7 [id=' in said and 'failed' not in said, said
    assert 'Apply incomplete. Resources: 3 added' in said and '1 waits in a queue of the provider' in said
    # it is there, and as it should be: nothing is created again, and nothing has drifted
    for command, code in (('plan', 0), ('drift', 0), ('apply', 3)):
        arguments = {'plan': ['--detailed-exitcode'], 'drift': [], 'apply': ['--auto-approve']}[command]
        told = home.told(command, *arguments, code=code)
        assert 'Note: depot.machine.train[0] is queued: position 3 of 7 [provider.queued]' in told, (command, told)
    assert len(depot.creates) == 2
    # what is queued for others is theirs
    other = {**next(t for t in depot.things.values() if 'queued' in t), 'id': 'other', 'lineage': 'f' * 32, 'token': 'f' * 32}
    depot.things['other'] = other
    assert home.told('plan').count(' is queued') == 1
    del depot.things['other']
    depot.queue = 0
    del next(t for t in depot.things.values() if 'queued' in t)['queued']
    assert 'queued' not in home.told('plan', '--detailed-exitcode') + home.apply()


def test_apply_waits_in_a_queue_as_for_capacity(home, depot):
    """Longer than the time-out of the kind, which is one second."""
    home.spec('train: {instance_type: gpu.small, nodes: 1}')
    depot.queue, depot.moves = 5, True
    said = home.told('apply', '--auto-approve', '--capacity-timeout', '10m')
    assert 'Apply complete! Resources: 3 added' in said and depot.looks == 5, said


@pytest.mark.parametrize('when', ['before the answer', 'while it waits'])
def test_a_kill_in_the_queue_makes_nothing_twice(home, depot, when):
    home.spec('train: {instance_type: gpu.small, nodes: 1}')
    depot.queue, running = 3, []

    def kill():
        if depot.creates[-1].endswith('.train[0]'):
            running[0].kill()
            depot.after_create = lambda: None
    depot.after_create = kill if when == 'before the answer' else depot.after_create
    running.append(subprocess.Popen(
        [binary(), 'apply', '--provider-dir', home.modules, 'cluster.yaml', '--auto-approve', '--capacity-timeout', '10m'],
        cwd=home.folder, env=home.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    if when == 'while it waits':
        assert depot.looked.wait(60)
        running[0].kill()
    assert running[0].wait(60) == -9
    home.apply(code=3)
    assert sorted(t['address'] for t in depot.things.values()) == ['depot.machine.head', 'depot.machine.train[0]']
    assert home.run('plan', 'cluster.yaml', '--detailed-exitcode').code == 0
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not depot.things


def test_the_conformance_check_passes(home, depot):
    said = home.run('providers', 'check', home.modules + '/depot.so', '--region', 'north', '--endpoint', depot.url)
    assert 'pass  resolve reports stock in the zones that it reports\n' in said.out and ' 0 failed' in said.out, said.out


def test_a_stock_of_zones_that_are_not_offered_fails_the_check(home, depot):
    def answer(method, path, query, body):
        got = Depot.answer(depot, method, path, query, body)
        return {s: {**r, 'rack-9': 1} for s, r in got.items()} if path == '/free' else got
    depot.answer = answer
    said = home.run('providers', 'check', home.modules + '/depot.so', '--region', 'north', '--endpoint', depot.url, code=1)
    assert 'FAIL  resolve reports stock in the zones that it reports' in said.out, said.out

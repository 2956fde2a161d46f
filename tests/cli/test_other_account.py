"""Credentials of another account: what they don't show must not count as gone, or nodes would be
forgotten that go on costing money."""
import sqlite3

import pytest
from program import Home, spec
from sim_server import Sim


class Accounts:
    """A cluster in one account, some time after its apply, and somebody who looks into another one."""

    def __init__(self, folder, mine, other):
        self.mine, self.other = mine, other
        self.home = Home(folder, mine.env())
        self.home.write('cluster.yaml', spec())
        self.home.apply()
        self.age()

    def age(self):
        with sqlite3.connect(self.home.state) as db:
            db.execute('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')

    def run(self, sim, *arguments, **more):
        env = {key: value for key, value in sim.env().items() if key.startswith('AWS_')}
        return self.home.run(*arguments, env=env, **more)

    def check_kept(self):
        assert len(self.mine.live_instances()) == 2
        assert 'No changes.' in self.run(self.mine, 'plan', '--no-settle').out


@pytest.fixture
def accounts(tmp_path):
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as mine, Sim('--seed', '77') as other:
        yield Accounts(tmp_path, mine, other)


@pytest.mark.parametrize('command', [
    ('plan',), ('drift',), ('destroy', '--auto-approve'), ('apply', '--auto-approve')])
def test_what_another_account_does_not_show_is_not_gone(command, accounts):
    said = accounts.run(accounts.other, *command, code=1)
    assert 'refresh.nothing-there' in said.err and 'of which 4 resources are recorded' in said.err, said
    assert accounts.other.counters()['mutating'] == 0
    accounts.check_kept()


def test_a_saved_plan_is_not_carried_out_in_another_account(accounts):
    accounts.run(accounts.mine, 'plan', '--destroy', '--out', 'p.json')
    said = accounts.run(accounts.other, 'apply', 'p.json', code=1)
    assert 'refresh.nothing-there' in said.err, said
    assert accounts.other.counters()['mutating'] == 0
    accounts.check_kept()
    accounts.mine.counters_reset()
    accounts.run(accounts.mine, 'apply', 'p.json')
    assert accounts.mine.live_instances() == []


def test_nodes_that_died_are_made_again(accounts):
    """All instances are gone, and the account is the right one: it shows them as terminated."""
    for node in accounts.mine.live_instances():
        accounts.mine.ok('TerminateInstances', {'InstanceId.1': node['instanceId']})
    accounts.run(accounts.mine, 'apply', '--auto-approve', '--no-settle')
    assert len(accounts.mine.live_instances()) == 2


def test_when_all_is_really_gone_the_records_can_be_forgotten(accounts):
    hint = ' '.join(accounts.run(accounts.other, 'plan', code=1).err.split())
    assert '`raygpu state rm --cluster research $(raygpu state list --cluster research)`' in hint
    gone = accounts.home.run('state', 'list', '--cluster', 'research').out.split()
    accounts.home.run('state', 'rm', '--cluster', 'research', *gone)
    assert 'Plan: 5 to add' in accounts.run(accounts.other, 'plan').out

"""Credentials of another account: what they do not show must not count as gone, or nodes would be forgotten that
keep costing money."""
import pytest
from program import Home, spec
from sim_server import Sim


class Accounts:
    """A cluster in one account, some time after its apply, and a user with credentials of another one."""

    def __init__(self, folder, mine, other):
        self.mine, self.other = mine, other
        self.home = Home(folder, mine.env())
        self.home.write('cluster.yaml', spec())
        self.home.apply()
        self.age()

    def age(self):
        self.home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')

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


class Pinned(Accounts):
    """The same with two accounts that have ids, which the first apply records."""
    MINE, OTHER = '111122223333', '444455556666'


@pytest.fixture
def pinned(tmp_path):
    with Sim('--boot-ms', '0', '--shutdown-ms', '0', '--knobs', f'{{"account": "{Pinned.MINE}"}}') as mine, \
            Sim('--seed', '77', '--knobs', f'{{"account": "{Pinned.OTHER}"}}') as other:
        yield Pinned(tmp_path, mine, other)


@pytest.mark.parametrize('command', [
    ('plan',), ('plan', '--format', 'json'), ('plan', '--format', 'markdown'), ('drift',), ('drift', '--format', 'sarif'),
    ('destroy', '--auto-approve'), ('apply', '--auto-approve'), ('state', 'orphans'), ('plan', '--cluster', 'research')])
def test_credentials_of_another_account_are_refused_by_name(command, pinned):
    if command[-1] == 'research':
        command = ('drift', '--cluster', 'research')
    said = pinned.run(pinned.other, *command, code=7)
    words = ' '.join(said.err.split())
    assert (f'cluster research is in account {Pinned.MINE} of aws, but the credentials belong to account '
            f'{Pinned.OTHER} [plan.wrong-account]') in words
    assert words.count('Error:') == 1, said
    assert pinned.other.counters()['mutating'] == 0
    pinned.check_kept()


def test_an_import_looks_in_no_other_account(pinned):
    pinned.home.write('cluster.yaml', spec(pools={'serve': 2}, extra='imports: [{address: "aws.instance.serve[1]", id: i-0123456789abcdef0}]\n'))
    for command in (('plan',), ('apply', '--auto-approve')):
        said = pinned.run(pinned.other, *command, code=7)
        assert 'plan.wrong-account' in said.err and said.err.count('Error:') == 1, said
    assert 'there is no aws.instance' in pinned.run(pinned.mine, 'plan', code=4).err


def test_also_where_something_of_ours_shows_there(pinned):
    """One group with our marks exists in the other account: that alone does not make it the right one."""
    lineage = pinned.home.run('show', '--json').json()['lineage']
    pinned.other.ok('CreateSecurityGroup', {
        'GroupName': 'x', 'GroupDescription': 'x', 'TagSpecification.1.ResourceType': 'security-group',
        'TagSpecification.1.Tag.1.Key': 'raygpu:cluster', 'TagSpecification.1.Tag.1.Value': 'research',
        'TagSpecification.1.Tag.2.Key': 'raygpu:lineage', 'TagSpecification.1.Tag.2.Value': lineage})
    pinned.other.counters_reset()
    for command in (('plan',), ('apply', '--auto-approve'), ('destroy', '--auto-approve')):
        assert 'plan.wrong-account' in pinned.run(pinned.other, *command, code=7).err
    assert pinned.other.counters()['mutating'] == 0


def test_a_saved_plan_is_refused_in_another_account(pinned):
    pinned.run(pinned.mine, 'plan', '--destroy', '--out', 'p.json')
    said = pinned.run(pinned.other, 'apply', 'p.json', code=7)
    assert 'plan.wrong-account' in said.err and said.err.count('Error:') == 1, said


def test_an_older_state_is_pinned_by_its_next_apply(pinned):
    pinned.home.edit_state('UPDATE clusters SET account = NULL')
    assert 'refresh.nothing-there' in pinned.run(pinned.other, 'plan', code=1).err
    pinned.home.write('cluster.yaml', spec(pools={'serve': 2}))
    pinned.run(pinned.mine, 'apply', '--auto-approve', '--no-settle')
    assert 'plan.wrong-account' in pinned.run(pinned.other, 'plan', code=7).err


def test_a_rebuilt_and_a_pushed_state_know_the_account(pinned):
    pinned.run(pinned.mine, 'state', 'rebuild', '--state', 'new.db')
    pinned.run(pinned.mine, 'state', 'pull', '--state', 'new.db', '--out', 'state.json')
    pinned.run(pinned.mine, 'state', 'push', 'state.json', '--state', 'third.db')
    for state in ('new.db', 'third.db'):
        assert 'plan.wrong-account' in pinned.run(pinned.other, 'plan', '--state', state, code=7).err


def test_an_account_that_can_not_be_told_is_a_warning(pinned):
    pinned.mine.fault(action='GetCallerIdentity', when='before', status=403, code='AccessDenied')
    said = pinned.run(pinned.mine, 'plan', '--no-settle')
    assert 'Warning: could not check whether the credentials belong to account' in ' '.join(said.err.split()) and 'No changes.' in said.out


def test_a_destroyed_cluster_may_be_made_in_another_account(pinned):
    pinned.run(pinned.mine, 'destroy', '--auto-approve')
    pinned.run(pinned.other, 'apply', '--auto-approve')
    assert 'plan.wrong-account' in pinned.run(pinned.mine, 'plan', code=7).err


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

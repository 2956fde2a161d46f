"""--refresh-only: what was changed outside raygpu is recorded, and nothing is done about it in the cloud."""
import pytest
from program import Home, spec
from sim_server import Sim


@pytest.fixture(scope='module', name='sim')
def fixture_sim():
    with Sim('--boot-ms', '0', '--shutdown-ms', '0', '--knobs', '{"terminated_ms": 0}') as sim:
        yield sim


@pytest.fixture
def home(tmp_path, sim):
    sim.reset()
    home = Home(tmp_path, sim.env())
    home.write('cluster.yaml', spec(pools={'train': 3}))
    home.apply()
    age(home)
    return home


def age(home):
    """No record is so young that the cloud may hide its resource."""
    home.edit_state('UPDATE resources SET created_s = created_s - 4000, updated_s = updated_s - 4000')


def ids(home):
    return {row['address']: row['values']['id'] for row in home.run('state', 'show', 'train', '--json').json()}


def change_two(home, sim):
    """The first node is gone, the second has another label."""
    gone, changed, _ = (ids(home)[f'aws.instance.train[{i}]'] for i in range(3))
    sim.ok('TerminateInstances', {'InstanceId.1': gone})
    sim.ok('CreateTags', {'ResourceId.1': changed, 'Tag.1.Key': 'team', 'Tag.1.Value': 'other'})
    sim.counters_reset()


def test_the_cloud_is_recorded_and_left_alone(home, sim):
    change_two(home, sim)
    plan = home.run('plan', 'cluster.yaml', '--refresh-only', '--detailed-exitcode', code=2).out
    assert 'aws.instance.train[0] will be forgotten: it is already gone' in plan
    assert 'aws.instance.train[1] will be recorded as it is' in plan and '~ team = "ml" -> "other"' in plan
    assert 'Plan: 0 to add, 0 to change, 0 to destroy, 1 to forget.' in plan
    assert 'already gone from the cloud' not in plan
    assert 'Apply complete! Resources: 0 added, 0 changed, 0 destroyed, 1 forgotten.' in home.apply('cluster.yaml', '--refresh-only').out
    assert sim.counters()['mutating'] == 0 and sorted(ids(home)) == ['aws.instance.train[1]', 'aws.instance.train[2]']
    assert 'No drift' in home.run('drift', '--cluster', 'research').out
    assert 'No changes' in home.run('plan', 'cluster.yaml', '--refresh-only', '--detailed-exitcode').out


def test_the_next_plan_does_what_the_spec_says(home, sim):
    change_two(home, sim)
    home.run('apply', '--cluster', 'research', '--refresh-only', '--auto-approve')
    plan = home.run('plan', 'cluster.yaml').out
    assert 'Plan: 1 to add, 1 to change, 0 to destroy.' in plan and '"other" -> "ml"' in plan and 'outside of raygpu' not in plan
    home.apply()
    assert 'No changes' in home.run('plan', 'cluster.yaml').out


SAME = 'The records match the cloud. The spec was not compared.'


def test_what_no_changes_means(home, sim):
    """The spec may differ, and what is left out may be gone."""
    home.write('cluster.yaml', spec(pools={'train': 5}))
    for form in ('text', 'markdown'):
        said = home.run('plan', 'cluster.yaml', '--refresh-only', '--detailed-exitcode', '--format', form).out
        assert f'No changes. {SAME}' in said and 'matches the configuration' not in said, said
    home.run('plan', 'cluster.yaml', '--refresh-only', '--out', 'plan.json')
    assert SAME in home.run('show', 'plan.json').out
    gone = 'aws.instance.train[0]'
    sim.ok('TerminateInstances', {'InstanceId.1': ids(home)[gone]})
    said = home.run('plan', 'cluster.yaml', '--refresh-only', '--exclude', gone).out
    assert 'No changes. The selected records match the cloud. The spec was not compared.' in said


def test_what_is_left_open_is_listed(home, sim):
    home.edit_state("UPDATE resources SET leaving = 1 WHERE address = 'aws.instance.train[2]'")
    tag(sim, ids(home)['aws.instance.train[1]'], **{'raygpu:name': 'wrong'})
    for form in ('text', 'markdown'):
        said = home.run('plan', 'cluster.yaml', '--refresh-only', '--format', form).out
        said = ' '.join(said.replace('\\', '').split())
        assert 'No changes. Nothing can be recorded, but 2 resources are left to a plan without --refresh-only.' in said, said
        assert 'aws.instance.train[1]: left to a plan without --refresh-only: ownership tags' in said, said
        assert 'aws.instance.train[2]: left to a plan without --refresh-only: what an interrupted run left open' in said


def test_a_saved_plan(home, sim):
    change_two(home, sim)
    home.run('plan', 'cluster.yaml', '--refresh-only', '--out', 'plan.json')
    said = home.run('apply', 'plan.json', '--refresh-only', code=4).err
    assert 'a saved plan is always applied whole: --refresh-only' in ' '.join(said.split())
    home.run('apply', 'plan.json')
    assert sim.counters()['mutating'] == 0 and len(ids(home)) == 2


def test_a_changed_spec_counts_for_nothing(home, sim):
    change_two(home, sim)
    home.write('cluster.yaml', spec(pools={'other': 2, 'train': 1}, extra='removed: {old: {destroy: true}}\nexpires: 2w\nbudget: {hourly_usd: 0.01}\n'))
    home.apply('cluster.yaml', '--refresh-only')
    assert sim.counters()['mutating'] == 0 and len(ids(home)) == 2


def test_what_a_run_left_open_stays_open(home, sim):
    """Neither a removal that was begun nor a creation whose answer was lost is completed."""
    home.edit_state("UPDATE resources SET leaving = 1 WHERE address = 'aws.instance.train[2]'")
    home.write('cluster.yaml', spec(pools={'train': 3, 'other': 1}))
    sim.fault(action='RunInstances', when='after', status=500, code='InternalError', count=0)
    home.apply('cluster.yaml', '--exclude', 'aws.instance.train[2]', '--no-settle', code=1)
    sim.faults_clear()
    sim.counters_reset()
    home.apply('cluster.yaml', '--refresh-only')
    assert sim.counters()['mutating'] == 0 and len(ids(home)) == 3
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2).out
    assert 'aws.instance.train[2]' in plan and 'aws.instance.other[0]' in plan


def tag(sim, node, **tags):
    sim.ok('CreateTags', {'ResourceId.1': node} | {f'Tag.{i}.{part}': text for i, pair in enumerate(tags.items(), 1)
                                                   for part, text in zip(('Key', 'Value'), pair)})


def test_changed_ownership_tags_are_left(home, sim):
    """A record does not have them; another change of the same node is recorded."""
    node = ids(home)['aws.instance.train[1]']
    tag(sim, node, team='other', **{'raygpu:name': 'wrong'})
    plan = home.run('plan', 'cluster.yaml', '--refresh-only').out
    assert 'aws.instance.train[1] will be recorded as it is' in plan and '~ team = "ml" -> "other"' in plan
    assert 'left to a plan without --refresh-only: ownership tags' in plan
    home.run('plan', 'cluster.yaml', '--refresh-only', '--target', 'aws.instance.train[0]')
    sim.counters_reset()
    home.apply('cluster.yaml', '--refresh-only')
    assert sim.counters()['mutating'] == 0
    plan = home.run('plan', 'cluster.yaml', code=0).out
    assert '~ ownership_tags = "aws.instance.wrong[1]"' in plan and '~ team = "other" -> "ml"' in plan


def test_what_other_records_refer_to_is_gone(home, sim):
    """The head's interface, of which every node has the address."""
    head, face = (home.run('state', 'show', f'aws.{kind}.head', '--json').json() for kind in ('instance', 'network_interface'))
    sim.ok('TerminateInstances', {'InstanceId.1': head['values']['id']})
    sim.ok('DeleteNetworkInterface', {'NetworkInterfaceId': face['values']['id']})
    home.apply('cluster.yaml', '--refresh-only')
    left = home.run('state', 'list').out
    assert 'aws.network_interface.head' not in left and 'aws.instance.head' not in left and 'aws.instance.train[2]' in left
    assert 'No drift' in home.run('drift', '--cluster', 'research').out
    tag(sim, ids(home)['aws.instance.train[1]'], team='other')
    home.run('plan', 'cluster.yaml', '--refresh-only', '--out', 'plan.json')
    assert '1 record is brought up to date' in home.run('show', 'plan.json').out
    home.run('apply', 'plan.json')
    assert 'aws.network_interface.head will be created' in home.run('plan', 'cluster.yaml').out
    home.run('destroy', 'cluster.yaml', '--auto-approve')


def test_what_is_gone_is_forgotten_beside_a_stray(home, sim):
    """The stray blocks only the plan that would create the node again."""
    gone, stray = (ids(home)[f'aws.instance.train[{i}]'] for i in (0, 2))
    home.run('state', 'rm', 'aws.instance.train[2]')
    tag(sim, stray, **{'raygpu:indexes': '9,8,0'})
    sim.ok('TerminateInstances', {'InstanceId.1': gone})
    assert 'cannot be created' in home.run('plan', 'cluster.yaml', code=1).err
    home.apply('cluster.yaml', '--refresh-only')
    assert list(ids(home)) == ['aws.instance.train[1]']


@pytest.mark.parametrize('words', [('plan', 'cluster.yaml', '--destroy'), ('plan', 'cluster.yaml', '--replace', 'aws.instance.train[0]'),
                                   ('apply', 'cluster.yaml', '--replace', 'aws.instance.train[0]')])
def test_it_excludes_changes(home, words):
    assert '--refresh-only changes nothing in the cloud' in ' '.join(home.run(*words, '--refresh-only', code=4).err.split())


def test_a_cluster_that_is_not_recorded(home):
    home.write('cluster.yaml', spec(name='elsewhere', pools={'train': 1}))
    assert 'has no cluster elsewhere' in ' '.join(home.run('plan', 'cluster.yaml', '--refresh-only', code=4).err.split())

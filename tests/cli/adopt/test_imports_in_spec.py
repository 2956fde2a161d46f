"""`imports` in the spec: existing resources become records in an apply, without a command of their own."""
import pytest
from program import spec
from sim_server import tags_of
from test_import import foreign, values_of


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    return home


def importing(*entries, pools=None):
    """entries: (address, id) or (address, id, more)."""
    lines = ''.join(f'  - {{address: "{one[0]}", id: {one[1]}{", " + one[2] if len(one) > 2 else ""}}}\n' for one in entries)
    return spec(pools=pools or {'serve': 2}, extra='imports:\n' + lines)


def said(result):
    return ' '.join(result.err.split())


def live(sim):
    return {one['instanceId'] for one in sim.live_instances()}


def test_planned_applied_and_then_a_no_op(sim, home):
    node = foreign(sim, home)
    before = live(sim)
    home.write('cluster.yaml', importing(('aws.instance.serve[1]', node, 'as_is: true')))
    sim.counters_reset()
    plan = home.run('plan', '--detailed-exitcode', '--out', 'plan.json', code=2)
    assert '  # aws.instance.serve[1] will be imported\n' in plan.out
    assert f'  # (imported from "{node}")\n  # (cluster.yaml:9, imports)\n' in plan.out
    assert 'Plan: 1 to import, 0 to add, 1 to change, 0 to destroy.' in plan.out
    assert 'serve[1]' not in home.run('state', 'list').out and sim.counters()['mutating'] == 0
    document = home.run('show', '--json', 'plan.json').json()
    change, = (one for one in document['resource_changes'] if one['address'] == 'aws.instance.serve[1]')
    assert change['change']['importing'] == {'id': node} and document['raygpu']['summary']['import'] == 1
    *_, last = events = home.run('plan', '--json').events()
    planned, = [one['change'] for one in events if one['type'] == 'planned_change']
    assert planned['importing'] == {'id': node} and planned['action'] == 'update' and last['changes']['import'] == 1
    drift = home.run('drift')
    assert f'aws.instance.serve[1] is not recorded yet: `raygpu apply` imports {node}' in said(drift)
    applied = home.apply()
    assert 'Resources: 1 imported, 0 added, 1 changed, 0 destroyed.' in applied.out
    assert live(sim) == before and values_of(home, 'aws.instance.serve[1]')['id'] == node
    tags = tags_of(next(i for i in sim.live_instances() if i['instanceId'] == node))
    assert tags['raygpu:index'] == '1' and tags['raygpu:name'] == 'serve'
    assert '1 import' in home.run('log').out
    for command in (['plan', '--detailed-exitcode'], ['validate']):
        done = said(home.run(*command))
        assert 'aws.instance.serve[1] has been imported: its entry of `imports` can be removed' in done
        assert 'cluster.yaml:9' in done
    assert 'plan.stale' in home.run('apply', 'plan.json', '--auto-approve', code=6).err
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    assert 'import' not in home.run('plan', '--detailed-exitcode').err


def test_a_saved_plan_imports(sim, home):
    node = foreign(sim, home)
    before = live(sim)
    home.write('cluster.yaml', importing(('aws.instance.serve[1]', node, 'as_is: true')))
    plan = home.run('plan', '--out', 'plan.json')
    assert home.run('show', 'plan.json').out.startswith(plan.out.split('Spec:')[0])
    assert 'Resources: 1 imported, 0 added, 1 changed, 0 destroyed.' in home.run('apply', 'plan.json', '--auto-approve').out
    assert live(sim) == before and 'No changes.' in home.run('plan', '--detailed-exitcode').out


def test_without_as_is_the_node_is_replaced_and_the_entry_is_spent(sim, home):
    home.beyond_policy = ('ec2:TerminateInstances',)  # of a node that has no tags of ours yet
    node = foreign(sim, home)
    home.write('cluster.yaml', importing(('aws.instance.serve[1]', node)))
    report = home.run('plan', '--report', 'markdown=plan.md')
    plan = report.out
    for text in (said(report), said(home.run('plan', '--summary')), home.read('plan.md').split('<details>')[0].replace('\\', '')):
        assert f'the imported {node} will be destroyed and created again: user_data_base64 is not as in the spec' in text, text
    assert '`as_is: true` keeps it' in said(report) and 'plan.import-replaced' in report.err
    assert '**Replaced:** 1 of serve' in home.read('plan.md').split('| Pool')[0]
    assert '# aws.instance.serve[1] must be replaced' in plan
    assert '# Warning: this will destroy the imported resource' in plan
    assert 'Plan: 1 to import, 1 to add, 0 to change, 1 to destroy.' in plan
    home.apply()
    assert node not in live(sim)
    done = home.run('plan', '--detailed-exitcode')
    assert f'and {node} no longer exists: its entry of `imports` can be removed' in said(done)


def test_what_was_forgotten_comes_back_without_a_change(sim, home):
    """Also the first import of a state that never had the cluster, with the Ray token of its nodes."""
    addresses = [one for one in home.run('state', 'list').out.split() if one.startswith('aws.')]
    ids = {one: values_of(home, one)['id'] for one in addresses}
    home.run('state', 'rm', 'aws.instance.serve[0]')
    home.write('cluster.yaml', importing(('aws.instance.serve[0]', ids['aws.instance.serve[0]']), pools={'serve': 1}))
    plan = home.run('plan', '--detailed-exitcode', code=2).out
    assert '# aws.instance.serve[0] will be imported' in plan
    assert 'Plan: 1 to import, 0 to add, 0 to change, 0 to destroy.' in plan
    drift = home.run('drift')  # it has our tags and no record, which is not drift as long as it is to be imported
    assert 'unmanaged' not in drift.out + drift.err
    planned, = [one['change'] for one in home.run('plan', '--json').events() if one['type'] == 'planned_change']
    assert planned['action'] == 'import'
    last = home.run('apply', '--auto-approve', '--json').events()[-1]
    assert last['@message'] == 'Apply complete! Resources: 1 imported, 0 added, 0 changed, 0 destroyed.'
    assert 'No changes.' in home.run('plan', '--detailed-exitcode').out
    home.run('drift')


def test_a_token_read_from_a_node_is_in_no_saved_plan(sim, home):
    node = values_of(home, 'aws.instance.serve[0]')['id']
    head = values_of(home, 'aws.instance.head')['id']
    home.run('state', 'rm', 'aws.instance.serve[0]', 'aws.instance.head', 'raygpu.secret.ray_token')
    home.write('cluster.yaml', importing(('aws.instance.serve[0]', node), ('aws.instance.head', head), pools={'serve': 1}))
    refused = home.run('plan', '--out', 'plan.json', code=1)
    assert 'a plan file contains no secret' in said(refused)
    before = live(sim)
    assert '2 imported, 0 added, 0 changed, 0 destroyed' in home.apply().out and live(sim) == before
    assert 'No changes.' in home.run('plan', '--detailed-exitcode').out


@pytest.mark.parametrize('form', ['markdown', 'junit', 'sarif', 'github'])
def test_reports_show_imports_and_what_is_forgotten(sim, home, form):
    node = foreign(sim, home)
    home.write('cluster.yaml', importing(('aws.instance.new[0]', node, 'as_is: true'), pools={'new': 1}) + 'removed: {serve: {destroy: false}}\n')
    report = home.run('plan', '--format', form).out
    if form != 'junit':
        assert 'aws.instance.new[0] will be imported' in report
    assert 'will no longer be managed by raygpu, but will not be destroyed' in report
    if form == 'markdown':
        assert 'Plan: 1 to import, 0 to add, 1 to change, 0 to destroy, 1 to forget.' in report
        assert '| new |' in report and '0 → 1' in report, 'for the budget an imported node is new'


def test_renamed_grown_and_imported_in_one_change(sim, home):
    node = foreign(sim, home)
    before = live(sim)
    text = importing(('aws.instance.big[1]', node, 'as_is: true'), pools={'big': 3, 'other': 1})
    home.write('cluster.yaml', text.replace('  big: {', '  big: {renamed_from: serve, ', 1))
    plan = home.run('plan', '--out', 'plan.json').out
    assert '~ serve -> big' in plan and '# aws.instance.big[1] will be imported' in plan
    assert 'Plan: 1 to import, 2 to add, 2 to change, 0 to destroy.' in plan
    home.run('apply', 'plan.json', '--auto-approve')
    assert before < live(sim) and values_of(home, 'aws.instance.big[1]')['id'] == node
    assert len(sim.live_instances()) == 5
    assert 'No changes.' in home.run('plan', '--detailed-exitcode').out


def test_a_new_cluster_begins_with_an_import(sim, home):
    """Its head and its token are new, so that the node is replaced even with as_is, and the plan says so."""
    home.beyond_policy = ('ec2:TerminateInstances',)  # of a node that has no tags of ours yet
    node = foreign(sim, home)
    home.write('second.yaml', importing(('aws.instance.serve[0]', node, 'as_is: true')).replace('research', 'second'))
    plan = home.run('plan', 'second.yaml', '--out', 'plan.json').out
    assert '1 to import' in plan and 'this will destroy the imported resource' in plan
    assert 'lineage' not in home.run('show', '--json', 'plan.json').json()['raygpu']
    home.run('apply', 'plan.json', '--auto-approve')
    assert 'No changes.' in home.run('plan', 'second.yaml', '--detailed-exitcode').out
    assert node not in live(sim) and len(sim.live_instances()) == 5


def test_what_is_refused_names_the_line(sim, home):
    node, mine = foreign(sim, home), values_of(home, 'aws.instance.serve[0]')['id']

    def refused(address, name, text, line=9):
        home.write('cluster.yaml', importing((address, name)))
        for command in (['plan'], ['apply', '--auto-approve']):
            result = home.run(*command, code=4)
            assert text in said(result) and f'cluster.yaml:{line}' in said(result), result

    refused('aws.instance.serve[1]', 'i-00000000000000000', 'there is no aws.instance "i-00000000000000000"')
    refused('aws.instance.serve[7]', node, 'the spec has no aws.instance.serve[7]')
    refused('aws.bucket.serve', node, 'is not an address of provider aws')
    refused('aws.instance.serve[0]', node, f'which is recorded as {mine}')
    refused('aws.instance.serve[1]', mine, 'is already recorded, as aws.instance.serve[0] of cluster research')
    home.write('other.yaml', importing(('aws.instance.serve[1]', mine)).replace('research', 'other'))
    assert 'as aws.instance.serve[0] of cluster research' in said(home.run('plan', 'other.yaml', code=4))
    sim.ok('CreateTags', {'ResourceId.1': node, 'Tag.1.Key': 'raygpu:lineage', 'Tag.1.Value': 'f' * 32})
    refused('aws.instance.serve[1]', node, 'belongs to another state')
    assert 'serve[1]' not in home.run('state', 'list').out


WRONG = {
    'the same address': (importing(('aws.instance.a[0]', 'i-1'), ('aws.instance.a[0]', 'i-2')), 'address "aws.instance.a[0]" is given twice'),
    'the same id': (importing(('aws.instance.a[0]', 'i-1'), ('aws.instance.a[1]', 'i-1')), 'id "i-1" is given twice'),
    'a pool that is removed': (importing(('aws.instance.old[0]', 'i-1')) + 'removed: {old: {destroy: false}}\n',
                               'but `removed` names pool "old"'),
}


@pytest.mark.parametrize('case', WRONG)
def test_a_spec_that_contradicts_itself_shows_both_lines(home, case):
    text, summary = WRONG[case]
    home.write('cluster.yaml', text)
    result = home.run('validate', code=4)
    assert summary in said(result) and said(result).count('cluster.yaml:') == 2, result


def test_an_address_without_form(home):
    home.write('cluster.yaml', importing(('serve[1]', 'i-1')))
    assert 'an address, KIND.NAME or KIND.NAME[INDEX]' in said(home.run('validate', code=4))

"""raygpu state against a cloud: resources with our marks but without a record, and a lost state rebuilt from
these marks."""
import base64
import gzip
import os
import re

import pytest
from program import spec
from sim_server import tags_of
from test_name_taken import rename


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    return home


@pytest.mark.parametrize('words', [('show',), ('state', 'list'), ('state', 'show'), ('state', 'rm', 'x'), ('log',)])
def test_a_cluster_that_is_not_there_is_an_error(home, words):
    told = home.run(*words, '--cluster', 'nosuch', code=4)
    text = ' '.join(told.err.split())
    assert not told.out and 'has no cluster nosuch' in text and 'it has research' in text
    home.run(*words, '--cluster', 'research', code=4 if 'x' in words else 0)


def test_show_takes_an_address_a_pool_or_nothing(home):
    addresses = home.run('state', 'list', '--json').json()
    one = home.run('state', 'show', 'aws.instance.serve[1]', '--json').json()
    assert one['address'] == 'aws.instance.serve[1]'
    pool = home.run('state', 'show', 'serve', '--json').json()
    assert [r['address'] for r in pool] == ['aws.instance.serve[0]', 'aws.instance.serve[1]'] and one in pool
    everything = home.run('state', 'show', '--json').json()
    assert [r['address'] for r in everything] == addresses and one in everything
    text = home.run('state', 'show').out
    assert [line[2:-1] for line in text.splitlines() if line.startswith('# ')] == addresses
    assert home.run('state', 'show', 'serve').out.count('resource "aws.instance" "serve" {') == 2
    wrong = home.run('state', 'show', 'serv', code=4)
    assert 'state.no-such-resource' in wrong.err and 'state list' in wrong.err


def test_after_a_rebuild_the_cost_belongs_to_its_labels(home):
    lose(home)
    home.run('state', 'rebuild')
    report = home.run('cost', '--by', 'label:team', '--format', 'csv').out
    assert '(without)' not in report and [line.split(',')[0] for line in report.splitlines()[1:]] == ['ml'], report


def test_orphans_tells_what_no_record_has(sim, home):
    sim.counters_reset()
    assert 'No orphans' in home.run('state', 'orphans').out
    assert home.run('state', 'orphans', '--json').json() == []
    serve = {i['instanceId'] for i in sim.live_instances()}
    home.run('state', 'rm', 'aws.instance.serve[1]')
    orphan, = home.run('state', 'orphans', '--json', code=2).json()
    assert orphan['id'] in serve
    assert (orphan['kind'], orphan['address'], orphan['status']) == \
        ('aws.instance', 'aws.instance.serve[1]', 'running')
    text = home.run('state', 'orphans', code=2).out
    assert text == f"aws.instance {orphan['id']}, tagged as aws.instance.serve[1], running\n"
    assert sim.counters()['mutating'] == 0


def test_what_can_not_be_read_is_never_no_orphans(sim, home):
    sim.fault(action='DescribeInstances', when='before', status=403, code='UnauthorizedOperation')
    result = home.run('state', 'orphans', code=7)
    assert 'No orphans' not in result.out
    assert 'UnauthorizedOperation' in result.err
    assert home.run('state', 'orphans', 'more', code=4)
    assert 'state.no-such-cluster' in home.run('state', 'orphans', '--cluster', 'other', code=4).err


def lose(home):
    home.store.lose()


def user_data(sim):
    """{instance id: the text} of what runs."""
    texts = {}
    for instance in sim.live_instances():
        value = sim.ok('DescribeInstanceAttribute', InstanceId=instance['instanceId'],
                       Attribute='userData').findtext('userData/value')
        data = base64.b64decode(value)
        texts[instance['instanceId']] = (gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data).decode()
    return texts


def token_of(text):
    return re.search(r'"content": "([0-9a-f]{64})"', text).group(1)


def test_a_lost_state_is_rebuilt_and_nothing_changes(sim, home):
    before = home.run('show', '--json').json()
    lose(home)
    sim.counters_reset()
    report = home.run('state', 'rebuild', 'cluster.yaml', '--json').json()
    assert report['lineage'] == before['lineage']
    assert home.run('plan', '--detailed-exitcode').out.count('No changes.') == 1
    assert home.run('drift').out.startswith('No drift.')
    assert sim.counters()['mutating'] == 0

    def view(document):
        return {r['address']: r['values'] for r in document['values']['root_module']['resources']}
    after, before = view(home.run('show', '--json').json()), view(before)
    assert after.keys() == before.keys()
    for address, values in before.items():
        assert values.keys() == after[address].keys()
        for name, value in values.items():  # a reference may be shown as its value
            assert value == after[address][name] or '$ref' in str(after[address][name]), (address, name)

    # the token is back too: a node that joins now gets the same
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    grown = home.apply()
    assert 'Apply complete! Resources: 1 added, 0 changed, 0 destroyed.' in grown.out
    assert len({token_of(text) for text in user_data(sim).values()}) == 1
    home.run('destroy', '--auto-approve')
    assert not sim.live_instances()


def test_compressed_user_data_is_read_back(sim, home):
    home.run('destroy', '--auto-approve')
    many = ', '.join(f'V{i}: "{i:0200x}"' for i in range(190))
    home.write('cluster.yaml', spec(pools={'serve': 1}, pool_extra=', env: {%s}' % many))
    home.apply()
    assert any(r.get('user_data_base64', '') is not None and 'user_data_base64' in r for r in [
        r['values'] for r in home.run('show', '--json').json()['values']['root_module']['resources']])
    lose(home)
    home.run('state', 'rebuild')
    home.run('plan', '--detailed-exitcode')


def test_what_the_spec_moved_meanwhile_is_planned_not_hidden(sim, home):
    lose(home)
    home.write('cluster.yaml', spec(pools={'serve': 1}, pool_extra=', env: {MODE: fast}'))
    home.run('state', 'rebuild')
    plan = home.run('plan', '--detailed-exitcode', code=2)
    assert '# aws.instance.serve[0] must be replaced' in plan.out
    assert '# aws.instance.serve[1] will be destroyed' in plan.out
    assert 'Plan: 1 to add, 0 to change, 2 to destroy.' in plan.out
    tokens = {token_of(text) for text in user_data(sim).values()}
    shown = plan.out + home.run('plan', '--json').out + home.run('show', '--json').out
    assert not any(token in shown for token in tokens)
    home.apply()
    home.run('plan', '--detailed-exitcode')
    assert {token_of(text) for text in user_data(sim).values()} == tokens


def test_a_node_changed_by_hand_shows_after_a_rebuild(sim, home):
    lose(home)
    node = next(i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'serve')
    sim.ok('CreateTags', {'ResourceId.1': node['instanceId'], 'Tag.1.Key': 'team', 'Tag.1.Value': 'other'})
    home.run('state', 'rebuild')
    plan = home.run('plan', '--detailed-exitcode', code=2)
    assert 'Plan: 0 to add, 1 to change, 0 to destroy.' in plan.out
    home.apply()
    home.run('plan', '--detailed-exitcode')


def test_a_vanished_node_is_created_under_a_new_token(sim, home):
    lose(home)
    nodes = [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'serve']
    for node in nodes:
        sim.ok('TerminateInstances', {'InstanceId.1': node['instanceId']})
    home.run('state', 'rebuild')
    home.apply()
    assert len(sim.live_instances()) == 3
    home.run('plan', '--detailed-exitcode')


def test_what_a_rebuild_refuses(sim, home, tmp_path):
    assert 'already has cluster research' in ' '.join(home.run('state', 'rebuild', code=4).err.split())
    lose(home)
    home.write('none.yaml', spec(name='other'))
    assert 'nothing in us-east-1 has the ownership tags' in home.run('state', 'rebuild', 'none.yaml', code=4).err
    # two resources at one address
    one, two = [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == 'serve']
    sim.ok('CreateTags', {'ResourceId.1': one['instanceId'], 'Tag.1.Key': 'raygpu:indexes',
                          'Tag.1.Value': '1,1'})
    sim.ok('CreateTags', {'ResourceId.1': two['instanceId'], 'Tag.1.Key': 'raygpu:indexes',
                          'Tag.1.Value': '1,1'})
    twice = home.run('state', 'rebuild', code=1)
    assert one['instanceId'] in twice.err and two['instanceId'] in twice.err
    assert 'cluster' in home.run('state', 'list', code=4).err


def test_two_states_of_one_name_are_told_apart_by_lineage(sim, home, tmp_path):
    lineage = home.run('show', '--json').json()['lineage']
    home.write('other.yaml', spec('other', pools={'serve': 2}))
    home.apply('other.yaml', '--state', 'other.db')
    rename(sim, 'other')  # a second cluster of that name in addition to the first
    assert 'lineages' in home.run('state', 'rebuild', '--state', 'new.db', code=1).err
    report = home.run('state', 'rebuild', '--state', 'new.db', '--lineage', lineage, '--json').json()
    assert report['lineage'] == lineage
    home.run('plan', '--state', 'new.db', '--detailed-exitcode')
    home.run('plan', '--detailed-exitcode')


def test_user_data_that_may_not_be_read_stops_a_rebuild(sim, home):
    lose(home)
    sim.fault(action='DescribeInstanceAttribute', when='before', status=403, code='UnauthorizedOperation')
    assert 'what the list leaves out of' in ' '.join(home.run('state', 'rebuild', code=7).err.split())
    assert 'state.no-such-cluster' in home.run('state', 'list', code=4).err

"""Tags that others put on raygpu's resources: they are neither drift nor removed, and `ignore_tags` leaves keys
that both set to them."""
import json

import pytest
from program import spec
from sim_server import tags_of


def write(home, labels='team: ml', extra=''):
    home.write('cluster.yaml', spec(pools={'serve': 1}, extra=extra).replace('team: ml', labels))


def age(home):
    """So old that the cloud's view is no longer doubtful."""
    home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')


def apply(home):
    home.apply('cluster.yaml', '--no-settle')
    age(home)


@pytest.fixture
def home(home):
    write(home)
    apply(home)
    return home


def everything(sim):
    """The ids of all resources with our marks."""
    return [item.findtext('resourceId') for item in sim.ok('DescribeTags', {
        'Filter.1.Name': 'key', 'Filter.1.Value.1': 'raygpu:lineage'}).findall('tagSet/item')]


def tag(sim, key, value):
    for n in everything(sim):
        sim.ok('CreateTags', {'ResourceId.1': n, 'Tag.1.Key': key, 'Tag.1.Value': value})


def is_clean(home):
    assert home.run('drift', 'cluster.yaml', '--no-settle').out.startswith('No drift.')
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--no-settle', '--detailed-exitcode').out


def test_tags_of_others_are_left_alone(sim, home):
    tag(sim, 'org:owner', 'finance')
    is_clean(home)
    write(home, 'stage: test')
    sim.counters_reset()
    apply(home)
    for node in sim.live_instances():
        tags = tags_of(node)
        assert tags['org:owner'] == 'finance' and tags['stage'] == 'test' and 'team' not in tags
    is_clean(home)


def test_a_label_that_somebody_changed_or_removed_is_drift(sim, home):
    tag(sim, 'org:owner', 'finance')
    node = sim.live_instances()[0]['instanceId']
    sim.ok('CreateTags', {'ResourceId.1': node, 'Tag.1.Key': 'team', 'Tag.1.Value': 'theirs'})
    report = home.run('drift', 'cluster.yaml', '--no-settle', '--format', 'json', code=2).json()
    [attribute] = report['drift'][0]['attributes']
    assert attribute['name'] == 'tags' and attribute['observed']['team'] == 'theirs'
    assert 'org:owner' not in attribute['observed']
    sim.ok('DeleteTags', {'ResourceId.1': node, 'Tag.1.Key': 'team'})
    home.run('drift', 'cluster.yaml', '--no-settle', code=2)
    apply(home)
    assert all(tags_of(i)['team'] == 'ml' and tags_of(i)['org:owner'] == 'finance' for i in sim.live_instances())


@pytest.mark.parametrize('where', ['spec', 'project'])
def test_keys_that_both_set_are_left_to_the_others(sim, home, where):
    labels, ignore = 'team: ml, stage: test', 'ignore_tags: ["te*"]\n'
    if where == 'project':
        home.write('raygpu.yaml', ignore)
    extra = ignore if where == 'spec' else ''
    tag(sim, 'team', 'theirs')
    home.run('drift', 'cluster.yaml', '--no-settle', code=2 if where == 'spec' else 0)
    write(home, 'team: ml', extra)
    is_clean(home)
    write(home, labels, extra)  # something else to update
    home.run('plan', 'cluster.yaml', '--no-settle', '--out', 'p.plan')
    assert json.loads(home.read('p.plan'))['raygpu']['ignore_tags'] == ['te*']
    home.run('apply', 'p.plan', '--auto-approve', '--no-settle')
    age(home)
    assert all(tags_of(i)['team'] == 'theirs' and tags_of(i)['stage'] == 'test' for i in sim.live_instances())
    is_clean(home)
    write(home, 'stage: test', extra)  # it was ours once: still theirs
    apply(home)
    assert all(tags_of(i)['team'] == 'theirs' for i in sim.live_instances())
    home.write('cluster.yaml', spec(pools={'serve': 2}, extra=extra))
    home.apply('cluster.yaml', '--no-settle')
    assert sorted(tags_of(i)['team'] for i in sim.live_instances()) == ['ml', 'theirs', 'theirs']

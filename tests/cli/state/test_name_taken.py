"""A cluster's name that another state uses: a lost or wrong state must not create the cluster again."""
import os
import re
import shlex

import pytest
from program import spec

TAKEN = 'plan.name-taken'


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply()
    return home


def text(result):
    return ' '.join(result.err.split())


def command_of(result):
    """The command in the error, as its arguments."""
    return shlex.split(re.search('`raygpu (state rebuild [^`]*)`', text(result)).group(1))


@pytest.mark.parametrize('command', [('plan',), ('apply', '--auto-approve'), ('plan', '--json'),
                                     ('plan', '--format', 'github')])
def test_a_lost_state_buys_nothing_and_comes_back(command, sim, home):
    os.rename(home.state, home.path('lost.db'))
    sim.counters_reset()
    refused = home.run(*command, 'cluster.yaml', code=6)
    assert TAKEN in refused.out + refused.err
    assert sim.counters()['mutating'] == 0
    refused = home.run('plan', code=6)
    assert '5 resources in aws us-east-1 carry the name of cluster research' in text(refused)
    assert text(refused).count(home.run('show', '--json', '--state', 'lost.db').json()['lineage']) == 1
    for node in sim.live_instances():
        assert f"aws.instance {node['instanceId']}, running" in text(refused)
    home.run(*command_of(refused))
    assert 'No changes.' in home.run('plan', '--detailed-exitcode').out
    assert len(sim.live_instances()) == 3


def test_the_wrong_state_is_named(sim, home):
    for words in (('plan', '--state', 'wrong.db'), ('apply', '--auto-approve', '--state', 'wrong.db')):
        assert TAKEN in home.run(*words, code=6).err
    assert 'No changes.' in home.run('plan', '--state', '.raygpu/state.db').out
    # it does not know what it would destroy, and nobody may take that for done
    sim.counters_reset()
    assert TAKEN in home.run('destroy', '--auto-approve', '--state', 'wrong.db', code=6).err
    assert sim.counters()['mutating'] == 0


def test_a_saved_plan_is_not_carried_out_beside_another_states_cluster(sim, home):
    home.run('destroy', '--auto-approve')
    home.run('plan', '--state', 'new.db', '--out', 'p.json')
    home.apply()
    sim.counters_reset()
    assert TAKEN in home.run('apply', 'p.json', '--state', 'new.db', code=6).err
    assert sim.counters()['mutating'] == 0


def rename(sim, name):
    """Resources of cluster `name` carry research from now on, as if they had been created so."""
    world = sim.world('us-east-1')
    for table, key in (('instances', 'instanceId'), ('network_interfaces', 'networkInterfaceId'),
                       ('security_groups', 'groupId')):
        for thing in world[table]:
            if {'key': 'raygpu:cluster', 'value': name} in thing.get('tagSet', []):
                sim.ok('CreateTags', {'ResourceId.1': thing[key], 'Tag.1.Key': 'raygpu:cluster',
                                      'Tag.1.Value': 'research'})


def test_a_cluster_with_nodes_warns_of_another_of_its_name(sim, home):
    assert TAKEN not in home.run('drift').err
    home.write('other.yaml', spec('other'))
    home.apply('other.yaml', '--state', 'other.db')
    rename(sim, 'other')
    drift = home.run('drift')
    assert 'Warning' in drift.err and TAKEN in drift.err and 'No drift' in drift.out
    orphans = home.run('state', 'orphans')
    assert TAKEN in orphans.err and 'everything with the ownership tags' not in orphans.out
    assert home.run('state', 'orphans', '--json').json() == []
    plan = home.run('plan')
    assert TAKEN in plan.err and 'No changes.' in plan.out
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    home.apply('cluster.yaml', '--no-settle')
    home.run('destroy', '--auto-approve')
    assert len(sim.live_instances()) == 2  # the other's
    # the state knows the cluster, but none of its nodes
    refused = home.run('plan', code=6)
    command = [word if word != 'NEW-FILE' else 'again.db' for word in command_of(refused)]
    home.run(*command)
    assert 'aws.instance.head' in home.run('state', 'list', '--state', 'again.db').out


def test_dead_nodes_take_no_name(sim, home):
    home.run('destroy', '--auto-approve')
    os.rename(home.state, home.path('old.db'))
    assert TAKEN not in home.apply().err
    assert len(sim.live_instances()) == 3

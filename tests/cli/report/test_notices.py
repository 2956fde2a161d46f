"""What a plan reports in addition to its changes: what a target means, what a new head ends, what a rename would
keep."""
import re
import shlex

import pytest
from program import IMAGE, Home, spec
from shared import sim  # noqa: F401


@pytest.fixture
def home(tmp_path, sim):
    sim.reset()
    home = Home(tmp_path, sim.env())
    home.write('cluster.yaml', spec(pools={'serve': 2, 'empty': 0}))
    return home


def words(text):
    return ' '.join(text.split())


def test_the_target_of_an_empty_pool_is_no_error(home):
    home.apply()
    assert 'No changes.' in home.run('plan', '--target', 'aws.instance.empty').out
    assert 'plan.target-unknown' in home.run('plan', '--target', 'aws.instance.nothing', code=4).err
    home.write('cluster.yaml', spec(pools={'serve': 3, 'empty': 0}))
    assert 'Plan: 1 to add' in home.run('plan', '--target', 'aws.instance.empty', '--target', 'aws.instance.serve').out


@pytest.mark.parametrize('word', ['serve', 'srve'])
def test_a_bare_name_finds_the_pool(home, word):
    said = home.run('plan', '--target', word, code=4).err
    assert f'--target names `{word}`' in said and 'did you mean `aws.instance.serve`?' in said


def test_a_new_head_ends_every_job(home):
    home.apply()
    assert 'head-replaced' not in home.run('plan', '--replace', 'aws.instance.serve[0]').err
    said = home.run('plan', '--replace', 'aws.instance.head')
    assert 'Warning: the head is replaced: every running job and actor of the cluster ends' in words(said.err)
    assert 'on cluster.yaml:5:' in said.err
    assert 'head-replaced' not in home.run('plan', '--destroy').err
    home.write('cluster.yaml', home.read('cluster.yaml').replace(IMAGE, IMAGE.replace('cu121', 'cu124')))
    assert home.run('plan').err.count('[plan.head-replaced]') == 1


def test_a_renamed_pool_names_renamed_from(sim, home):
    home.apply()
    home.write('cluster.yaml', spec(pools={'web': 2, 'empty': 0}))
    said = words(home.run('plan').err)
    assert 'Warning: pool serve is removed and pool web added, both of g4dn.xlarge' in said
    assert '`renamed_from: serve` in pool web keeps its nodes' in said
    home.write('cluster.yaml', home.read('cluster.yaml').replace('nodes: 2', 'nodes: 2, renamed_from: serve', 1))
    assert 'renamed-pool' not in home.run('plan').err
    sim.counters_reset()
    home.apply()
    assert not {'RunInstances', 'TerminateInstances'} & set(sim.counters()['actions'])


def test_another_type_is_another_pool(home):
    home.apply()
    home.write('cluster.yaml', spec(pools={'web': ('V100-32GB:8', 1)}))
    assert 'renamed-pool' not in home.run('plan').err
    home.write('cluster.yaml', spec(pools={'web': 2, 'serve': 2}))
    assert 'renamed-pool' not in home.run('plan').err


def test_destroyed_nodes_are_at_the_head_of_every_form(home):
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    plan = home.run('plan', '--summary', '--report', 'markdown=plan.md')
    assert re.search('^Destroyed: 1 of serve$', plan.out, re.M), plan
    assert '**Destroyed:** 1 of serve' in home.read('plan.md').split('| Pool')[0]


def test_destroy_of_nothing_says_so(home):
    for command in (['plan', '--destroy'], ['destroy', '--auto-approve']):
        out = home.run(*command).out
        assert 'No changes. No objects need to be destroyed.' in out and 'matches the configuration' not in out


def test_markdown_shows_the_old_price(home):
    home.apply()
    home.write('cluster.yaml', spec(pools={'serve': 3, 'empty': 0}))
    table = home.run('plan', '--format', 'markdown').out
    assert '| serve | g4dn.xlarge | on-demand | 2 → 3 | T4 2 → 3 | $1.05 → $1.58 |' in table
    assert '| head | m5.2xlarge | on-demand | 1 | - | $0.38 |' in table


def test_drift_names_import_for_what_no_record_has(sim, home):
    home.apply()
    node = home.run('state', 'show', 'aws.instance.serve[1]', '--json').json()['values']['id']
    home.run('state', 'rm', 'aws.instance.serve[1]')
    drift = home.run('drift', code=2).out
    assert 'left unchanged: record them, or remove them manually' in words(drift)
    command, = (line.strip() for line in drift.splitlines() if line.startswith('  raygpu import '))
    assert command == f"raygpu import cluster.yaml 'aws.instance.serve[1]' {node}"
    home.run(*shlex.split(command)[1:])
    assert 'No drift' in home.run('drift').out

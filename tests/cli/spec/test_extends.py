"""`extends`: one spec for several environments."""
import os

import pytest
import yaml
from program import spec

BASE = spec('base', pools={'train': ('L4:1', 2), 'serve': 3}).replace('cluster: base\n', '')


def put(home, name, text):
    os.makedirs(os.path.dirname(home.path(name)), exist_ok=True)
    home.write(name, text)


def merged(home, path, *more):
    return yaml.safe_load(home.run('show', '--merged', path, *more).out)


def refused(home, path, code=4):
    return ' '.join(home.run('validate', path, code=code).err.split())


@pytest.fixture
def repository(home):
    home.git('init', '-q', '-b', 'main')
    home.write('.gitignore', '.raygpu/\n')
    put(home, 'shared/base.yaml', BASE)
    put(home, 'clusters/dev.yaml', 'extends: ../shared/base.yaml\ncluster: dev\n')
    put(home, 'clusters/own.yaml', spec('own'))
    home.git('add', '-A')
    home.git('commit', '-qm', 'first')
    return home


def test_maps_are_merged_lists_replaced_and_null_removes(home):
    put(home, 'base.yaml', BASE + 'x-note: [1]\n')
    put(home, 'mid.yaml', 'extends: ./base.yaml\nlabels: {team: infra, tier: "2"}\npools: {serve: {zones: [us-east-1a, us-east-1b]}}\n')
    put(home, 'prod.yaml', 'extends: mid.yaml\ncluster: prod\npools:\n  train: null\n'
                           '  serve: {nodes: 5, zones: [us-east-1c]}\n  more: {accelerators: "T4:1", nodes: 1}\n')
    view = merged(home, 'prod.yaml')
    assert view == {**yaml.safe_load(BASE), 'cluster': 'prod', 'labels': {'team': 'infra', 'tier': '2'},
                    'pools': {'serve': {'accelerators': 'T4:1', 'nodes': 5, 'zones': ['us-east-1c']},
                              'more': {'accelerators': 'T4:1', 'nodes': 1}}}
    assert list(view['pools']) == ['serve', 'more'], 'in the order of the base'
    assert home.run('validate', 'prod.yaml', '--json').json()['specs']['prod.yaml'] == view
    assert home.run('show', '--merged', 'prod.yaml', '--json').json() == view
    said = home.run('show', '--merged', 'prod.yaml').out.splitlines()
    assert said[:2] == ['# prod.yaml extends mid.yaml', '# mid.yaml extends base.yaml']
    assert '# prod.yaml:4:10: pools.train removes base.yaml:6:10' in said
    assert '# prod.yaml:5:28: pools.serve.zones replaces mid.yaml:3:24' in said
    # what it prints is the same spec
    put(home, 'printed.yaml', home.run('show', '--merged', 'prod.yaml').out)
    assert home.run('validate', 'printed.yaml', '--json').json()['specs']['printed.yaml'] == view


def test_a_null_in_a_list_stays_one(home):
    put(home, 'base.yaml', BASE)
    put(home, 'prod.yaml', 'extends: base.yaml\ncluster: prod\nsetup_commands:\n  -\n  - null\n  - ~\n  - ""\n')
    assert merged(home, 'prod.yaml')['setup_commands'] == [None, None, None, '']
    assert home.run('show', '--merged', 'prod.yaml', '--json').json()['setup_commands'] == [None, None, None, '']


def test_the_plan_is_that_of_the_merged_spec(sim, home):
    put(home, 'base.yaml', BASE)
    home.write('cluster.yaml', 'extends: base.yaml\ncluster: prod\npools: {train: null}\n')
    home.apply()
    assert len(sim.live_instances()) == 4
    home.write('cluster.yaml', spec('prod', pools={'serve': 3}))
    assert 'No changes.' in home.run('plan').out


def test_a_fault_shows_the_value_that_counts_and_the_one_it_replaces(home):
    put(home, 'base.yaml', BASE)
    put(home, 'prod.yaml', 'extends: base.yaml\ncluster: prod\npools:\n  serve: {nodes: many}\n')
    said = refused(home, 'prod.yaml')
    assert 'prod.yaml:4:18' in said and 'base.yaml:7:40' in said
    put(home, 'base.yaml', BASE.replace('nodes: 2', 'nods: 2'))
    assert 'base.yaml:6' in refused(home, 'prod.yaml')


@pytest.mark.parametrize('name, said', [
    ('/etc/passwd', 'relative path'), ('https://example.org/base.yaml', 'relative path'), ('""', 'relative path'),
    ('none.yaml', 'none.yaml cannot be read'), ('prod.yaml', 'prod.yaml extends itself'), ('[base.yaml]', 'extends'),
    ('other.yaml', 'prod.yaml -> other.yaml -> prod.yaml'), ('list.yaml', 'list.yaml is not a mapping'),
    ('broken.yaml', 'broken.yaml:2'), ('.', 'cannot be read')])
def test_what_cannot_be_extended(home, name, said):
    put(home, 'prod.yaml', f'extends: {name}\n' + spec('prod'))
    put(home, 'other.yaml', 'extends: prod.yaml\n')
    put(home, 'list.yaml', '- a\n')
    put(home, 'broken.yaml', 'a: [\n')
    assert said in refused(home, 'prod.yaml')


def test_eight_in_a_row_and_no_more(home):
    put(home, 'f0.yaml', BASE)
    for i in range(1, 10):
        put(home, f'f{i}.yaml', f'extends: f{i - 1}.yaml\ncluster: c{i}\n')
    assert merged(home, 'f8.yaml')['cluster'] == 'c8'
    assert 'more than 8 files' in refused(home, 'f9.yaml')


def test_null_for_a_key_that_is_not_there_is_a_warning(home):
    put(home, 'base.yaml', BASE)
    put(home, 'prod.yaml', 'extends: base.yaml\ncluster: prod\npools: {trian: null}\n')
    said = home.run('validate', 'prod.yaml').err
    assert 'pools.trian removes nothing' in said and 'prod.yaml:3:9' in said


def test_a_base_is_no_spec_and_standard_input_extends_from_here(home):
    put(home, 'c/base.yaml', BASE)
    put(home, 'c/dev.yaml', 'extends: base.yaml\ncluster: dev\n')
    assert sorted(home.run('validate', 'c', '--json').json()['specs']) == ['c/dev.yaml']
    put(home, 'c/alone.yaml', BASE)
    assert 'c/alone.yaml' in home.run('validate', 'c', code=4).err, 'nothing extends it'
    assert home.run('validate', '-', '--json', stdin='extends: c/base.yaml\ncluster: piped\n').json()['valid']


def test_a_file_outside_of_the_work_tree_is_not_read(home):
    home.git('init', '-q', 'tree')
    put(home, 'base.yaml', BASE)
    put(home, 'tree/prod.yaml', 'extends: ../base.yaml\ncluster: prod\n')
    assert 'outside of the git work tree' in refused(home, 'tree/prod.yaml')
    os.symlink('../base.yaml', home.path('tree/link.yaml'))
    put(home, 'tree/prod.yaml', 'extends: link.yaml\ncluster: prod\n')
    assert 'outside of the git work tree' in refused(home, 'tree/prod.yaml')


def test_git_knows_all_files(repository):
    home = repository
    before = merged(home, 'clusters/dev.yaml')
    assert home.run('validate', 'clusters', '--changed-since', 'HEAD', '--json').json()['specs'] == {}
    put(home, 'shared/base.yaml', BASE.replace('m5.2xlarge', 'm5.4xlarge'))
    assert sorted(home.run('validate', 'clusters', '--changed-since', 'HEAD', '--json').json()['specs']) == ['clusters/dev.yaml']
    assert merged(home, 'clusters/dev.yaml')['head'] == {'instance_type': 'm5.4xlarge'}
    assert merged(home, 'clusters/dev.yaml', '--ref', 'HEAD') == before
    home.git('commit', '-qam', 'larger')
    assert sorted(home.run('validate', 'clusters', '--changed-since', 'HEAD~1', '--ref', 'HEAD', '--json').json()['specs']) == \
        ['clusters/dev.yaml']
    os.unlink(home.path('shared/base.yaml'))
    assert 'shared/base.yaml' in home.run('validate', 'clusters', '--changed-since', 'HEAD', code=4).err
    assert merged(home, 'clusters/dev.yaml', '--ref', 'HEAD~1') == before


def test_a_plan_of_a_changed_base_is_not_the_commits(sim, repository):
    home = repository
    assert 'not committed' not in ' '.join(home.run('plan', 'clusters/dev.yaml').out.split())
    put(home, 'shared/base.yaml', BASE + '# a remark\n')
    assert 'changes that are not committed' in ' '.join(home.run('plan', 'clusters/dev.yaml').out.split())


def test_the_example(home):
    folder = os.path.join(os.path.dirname(__file__), '../../../examples/environments')
    specs = home.run('validate', folder, '--json').json()['specs']
    assert {os.path.basename(path) for path in specs} == {'dev.yaml', 'prod.yaml'}

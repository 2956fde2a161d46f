"""--ref REV: specs read from a commit, without a checkout."""
import os

import pytest
from program import Home, spec
from shared import sim  # noqa: F401


@pytest.fixture
def home(tmp_path, sim):
    """Two commits: one node, then two; the work tree says three."""
    sim.reset()
    home = Home(tmp_path, sim.env())
    home.git('init', '-q', '-b', 'main')
    home.write('.gitignore', '.raygpu/\n')
    for nodes in (1, 2):
        home.write('cluster.yaml', spec(pools={'serve': nodes}))
        home.git('add', '-A')
        home.git('commit', '-qm', f'{nodes} nodes')
        home.git('tag', f'v{nodes}')
    home.write('cluster.yaml', spec(pools={'serve': 3}))
    return home


def test_the_plan_of_a_commit_is_that_of_its_checkout(sim, home):
    at = home.run('plan', 'cluster.yaml', '--ref', 'v1', '--format', 'json').out
    assert home.read('cluster.yaml') == spec(pools={'serve': 3})
    home.git('checkout', '-qf', 'v1')
    assert home.run('plan', 'cluster.yaml', '--format', 'json').out == at
    assert 'aws.instance.serve[0]' in at and 'aws.instance.serve[1]' not in at


def test_apply_of_a_commit_records_it_and_its_author(sim, home):
    home.apply('cluster.yaml', '--ref', 'HEAD~1')
    assert len(sim.live_instances()) == 2
    run, = home.run('log', '--json').json()
    assert run['commit'] == home.git('rev-parse', 'v1') and run['dirty'] is False
    assert run['author'] == 'A <a@example.org>' and run['spec'] == 'cluster.yaml'
    home.run('plan', '--ref', 'v1', '--detailed-exitcode')
    home.run('drift', '--ref', 'v1')
    more = home.run('plan', '--ref', 'main', '--detailed-exitcode', code=2)
    assert 'Plan: 1 to add, 0 to change, 0 to destroy.' in more.out
    home.run('destroy', '--ref', 'v1', '--auto-approve')
    assert not sim.live_instances()


def test_a_file_that_the_work_tree_lacks(sim, home):
    home.git('checkout', '-qf', 'main')
    home.git('mv', 'cluster.yaml', 'moved.yaml')
    home.git('commit', '-qm', 'moved')
    assert 'serve[1]' in home.run('plan', '--ref', 'v2').out
    assert 'does not exist' in home.run('plan', '--ref', 'main', code=4).err
    assert 'does not exist' in home.run('plan', 'specs/deep/a.yaml', '--ref', 'v2', code=4).err


def test_what_is_told_of_a_faulty_spec_at_a_commit(sim, home):
    home.write('cluster.yaml', spec(pools={'serve': 1}).replace('nodes: 1', 'noodles: 1'))
    home.git('commit', '-qam', 'bad')
    home.git('tag', 'bad')
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    result = home.run('plan', '--ref', 'bad', code=4)
    assert 'noodles' in result.err and 'cluster.yaml:7' in result.err


def test_refusals(sim, home, tmp_path_factory):
    assert 'has no commit "nope"' in home.run('plan', '--ref', 'nope', code=4).err
    assert 'standard input' in home.run('plan', '-', '--ref', 'v1', code=4, stdin='').err
    assert '--cluster' in home.run('plan', '--cluster', 'research', '--ref', 'v1', code=4).err
    home.git('tag', 'tree', 'HEAD^{tree}')
    assert 'has no commit "tree"' in home.run('plan', '--ref', 'tree', code=4).err
    outside = Home(tmp_path_factory.mktemp('outside'), sim.env())
    outside.env['GIT_CEILING_DIRECTORIES'] = '/'
    assert 'no git repository' in outside.run('plan', '--ref', 'HEAD', code=4).err
    targets = {'out.yaml': '../cluster.yaml', 'absolute.yaml': home.path('cluster.yaml'), 'nowhere.yaml': 'none.yaml', 'loop.yaml': 'loop.yaml'}
    for name, target in {**targets, 'link.yaml': './cluster.yaml', 'two.yaml': 'link.yaml'}.items():
        os.symlink(target, home.path(name))
        home.git('add', name)
    home.git('commit', '-qm', 'links')
    for name in targets:
        assert 'is a symbolic link' in home.run('plan', name, '--ref', 'HEAD', code=4).err, name
    home.run('plan', 'two.yaml', '--ref', 'HEAD')


def test_the_project_file_is_that_of_the_commit_too(sim, home):
    """Its budgets and prices apply; and the limits of the work tree, which a commit cannot loosen."""
    home.write('raygpu.yaml', 'budget: {hourly_usd: 0.5}\n')
    home.git('add', 'raygpu.yaml')
    home.git('commit', '-qm', 'a small budget')
    home.git('tag', 'small')
    home.write('raygpu.yaml', 'budget: {hourly_usd: 500}\n')
    said = home.run('plan', '--ref', 'small', code=9).err
    assert 'budget.exceeded' in said and 'raygpu.yaml:1' in said
    home.write('raygpu.yaml', 'budget: {hourly_usd: 0.01}\n')
    said = home.run('plan', '--ref', 'v2', code=9).err  # which has no such file
    assert 'budget.hourly_usd is looser than in the work tree' in ' '.join(said.split()) and 'work tree:raygpu.yaml:1:22' in said
    home.write('raygpu.yaml', 'budget: {hourly_usd: 500}\n')
    home.run('plan', '--ref', 'v2', '--detailed-exitcode', code=2)
    home.write('raygpu.yaml', 'policy: {deny_accelerators: [T4]}\n')
    assert 'work tree:raygpu.yaml:1:' in home.run('validate', '--ref', 'small', code=9).err
    home.run('validate', code=9)


def test_the_project_file_of_a_commit_is_looked_for_above_the_spec(sim, home, tmp_path):
    (tmp_path / 'specs/deep').mkdir(parents=True)
    home.write('specs/deep/a.yaml', spec(name='deep', pools={'serve': 1}))
    home.write('raygpu.yaml', 'budget: {hourly_usd: 0.5}\n')
    home.git('add', 'raygpu.yaml', 'specs')
    home.git('commit', '-qm', 'deep')
    home.git('rm', '-q', '-r', '--cached', 'raygpu.yaml')
    (tmp_path / 'raygpu.yaml').unlink()
    home.run('plan', 'specs/deep/a.yaml', '--ref', 'HEAD', code=9)
    home.run('plan', 'specs/deep/a.yaml')
    (tmp_path / 'raygpu.yaml').symlink_to('other.yaml')
    home.git('add', 'raygpu.yaml')
    home.git('commit', '-qm', 'a link')
    assert 'git.not-a-file' in home.run('plan', 'specs/deep/a.yaml', '--ref', 'HEAD', code=4).err

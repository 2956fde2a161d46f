"""Where the state is by default: the same file for a spec from every working directory, and never one that git
would track."""
import json
import os
import subprocess

import pytest
from program import Home, spec

NOTHING = 'No changes. Your infrastructure matches the configuration.'


@pytest.fixture
def repo(tmp_path, sim):
    """A git work tree with a spec two folders down."""
    home = Home(tmp_path / 'repo', sim.env())
    os.makedirs(home.path('clusters/gpu'))
    home.env['GIT_CEILING_DIRECTORIES'] = str(tmp_path)
    home.git('init', '-q', '-b', 'main')
    home.write('clusters/gpu/a.yaml', spec('a'))
    home.git('add', '-A')
    home.git('commit', '-qm', 'all')
    return home


def at(home, folder):
    """The same user in another working directory."""
    other = Home(os.path.normpath(home.path(folder)), home.env)
    other.env['HOME'] = home.folder
    return other


def states(folder):
    found = [os.path.join(at, 'state.db') for at, _, files in os.walk(folder) if 'state.db' in files]
    return sorted(os.path.relpath(path, folder) for path in found)


PLACES = [('.', 'clusters/gpu/a.yaml'), ('clusters', 'gpu/a.yaml'), ('clusters/gpu', 'a.yaml'),
          ('..', 'repo/clusters/gpu/a.yaml'), ('../elsewhere', '../repo/clusters/gpu/a.yaml')]


def test_one_state_from_every_working_directory(repo, tmp_path):
    os.mkdir(tmp_path / 'elsewhere')
    repo.apply('clusters/gpu/a.yaml')
    for folder, path in PLACES:
        result = at(repo, folder).run('plan', path)
        assert NOTHING in result.out and 'state.old-place' not in result.err, (folder, result)
        at(repo, folder).apply(path)
    assert states(tmp_path) == ['repo/.raygpu/state.db']
    absolute = at(repo, '../elsewhere').run('plan', repo.path('clusters/gpu/a.yaml'))
    assert NOTHING in absolute.out
    # without a spec, from the working directory
    for folder in ('.', 'clusters', 'clusters/gpu'):
        home = at(repo, folder)
        assert home.run('state', 'list').out.count('aws.instance.') == 2
        assert 'aws.instance.head' in home.run('show').out
        assert len(home.run('log', '--json').json()) == 1
        assert home.run('cost', '--json').json()['total']['nodes'] == 2
    at(repo, '..').run('show', code=4)
    at(repo, '../elsewhere').run('destroy', '../repo/clusters/gpu/a.yaml', '--auto-approve')
    assert not repo.run('state', 'list').out


def test_a_link_to_the_folder_is_the_same_place(repo, tmp_path):
    os.symlink(repo.path('clusters/gpu'), tmp_path / 'link')
    repo.apply('clusters/gpu/a.yaml')
    assert NOTHING in at(repo, '..').run('plan', 'link/a.yaml').out
    assert NOTHING in at(repo, '../link').run('plan', 'a.yaml').out


def test_the_project_file_is_nearer_than_git(repo, tmp_path):
    repo.write('clusters/raygpu.yaml', 'policy: {max_nodes: 9}\n')
    repo.apply('clusters/gpu/a.yaml')
    assert states(tmp_path) == ['repo/clusters/.raygpu/state.db']
    assert NOTHING in at(repo, 'clusters/gpu').run('plan', 'a.yaml').out
    assert 'aws.instance.head' in at(repo, 'clusters/gpu').run('state', 'list').out


def test_without_git_it_is_beside_the_spec(tmp_path, sim):
    home = Home(tmp_path, sim.env())
    os.mkdir(home.path('sub'))
    home.write('sub/a.yaml', spec('a'))
    home.apply('sub/a.yaml')
    assert states(tmp_path) == ['sub/.raygpu/state.db']
    assert NOTHING in at(home, 'sub').run('plan', 'a.yaml').out
    home.write('sub/raygpu.yaml', 'policy: {max_nodes: 9}\n')
    assert NOTHING in home.run('plan', 'sub/a.yaml').out


def test_a_clone_and_a_linked_worktree_have_their_own(repo, tmp_path):
    """Each work tree has its own; but all folders in it share it."""
    repo.apply('clusters/gpu/a.yaml')
    repo.git('worktree', 'add', '-q', '../linked', '-b', 'other')
    repo.git('clone', '-q', '.', '../clone')
    for name in ('linked', 'clone'):
        told = at(repo, f'../{name}/clusters').run('state', 'list', code=4)
        assert 'the state "../.raygpu/state.db" has no cluster' in ' '.join(told.err.split())
    # a work tree inside the work tree
    repo.git('worktree', 'add', '-q', 'inner', '-b', 'inner')
    at(repo, 'inner/clusters').run('state', 'list', code=4)
    at(repo, 'inner').write('clusters/gpu/a.yaml', spec('b'))
    repo.apply('inner/clusters/gpu/a.yaml')
    assert states(tmp_path) == ['repo/.raygpu/state.db', 'repo/inner/.raygpu/state.db']


def test_specs_of_several_places_are_not_mixed(repo, tmp_path):
    second = Home(tmp_path / 'second', repo.env)
    os.mkdir(second.folder)
    second.git('init', '-q', '-b', 'main')
    second.write('b.yaml', spec('b'))
    both = at(repo, '..')
    for words in (('plan',), ('drift',), ('apply', '--auto-approve')):
        result = both.run(*words, 'repo/clusters', 'second', code=4)
        assert 'different states: repo/clusters/gpu/a.yaml to "repo/.raygpu/state.db"' in ' '.join(result.err.split())
        assert '--state' in result.err
    both.run('plan', 'repo/clusters', 'second', '--state', 'all.db')
    both.run('plan', 'repo/clusters', 'second', env={'RAYGPU_STATE': 'all.db'})
    both.run('validate', 'repo/clusters', 'second')
    assert states(tmp_path) == []


def test_the_old_place_goes_on_working(repo, tmp_path):
    """Earlier, it was in the working directory, whatever the spec."""
    inner = at(repo, 'clusters')
    inner.run('apply', 'gpu/a.yaml', '--auto-approve', '--state', '.raygpu/state.db')
    assert states(tmp_path) == ['repo/clusters/.raygpu/state.db']
    for words in (('plan', 'gpu/a.yaml'), ('plan', '.'), ('state', 'list')):
        told = inner.run(*words)
        assert told.err.count('state.old-place') == 1, told
        text = ' '.join(told.err.split())
        assert '".raygpu/state.db"' in text and '"../.raygpu/state.db"' in text
    assert NOTHING in inner.run('plan', 'gpu/a.yaml').out
    command = text.split('to move it: ')[1]
    subprocess.run(['sh', '-c', command], cwd=inner.folder, check=True)
    assert states(tmp_path) == ['repo/.raygpu/state.db']
    told = inner.run('plan', 'gpu/a.yaml')
    assert NOTHING in told.out and 'old-place' not in told.err
    assert NOTHING in repo.run('plan', 'clusters/gpu/a.yaml').out


def test_what_is_said_wins(repo, tmp_path):
    repo.apply('clusters/gpu/a.yaml', '--state', 'x.db')
    assert NOTHING in repo.run('plan', 'clusters/gpu/a.yaml', env={'RAYGPU_STATE': 'x.db'}).out
    repo.run('state', 'list', '--state', 'y.db', env={'RAYGPU_STATE': 'x.db'}, code=4)
    repo.run('state', 'list', code=4)
    assert states(tmp_path) == []


def test_a_saved_plan_goes_into_the_state_that_it_was_made_for(repo, tmp_path):
    outer = at(repo, '..')
    outer.run('plan', 'repo/clusters/gpu/a.yaml', '--out', 'p.json')
    # it is unclear which of the two is meant: no guess, and no second cluster
    refused = at(repo, 'clusters').run('apply', '../../p.json', code=None)
    assert refused.code and 'plan.wrong-state' in refused.err and '--state' in refused.err
    assert states(tmp_path) == []
    repo.write('p2.json', open(outer.path('p.json')).read())
    repo.run('apply', 'p2.json', '--state', '.raygpu/state.db')
    repo.write('clusters/gpu/a.yaml', spec('a', pools={'serve': 2}))
    outer.run('plan', 'repo/clusters/gpu/a.yaml', '--out', 'p.json')
    outer.run('apply', 'p.json')
    repo.write('clusters/gpu/a.yaml', spec('a', pools={'serve': 3}))
    at(repo, 'clusters').run('plan', 'gpu/a.yaml', '--out', '../p.json')
    repo.run('apply', 'p.json')
    assert states(tmp_path) == ['repo/.raygpu/state.db']
    assert NOTHING in repo.run('plan', 'clusters/gpu/a.yaml').out


def test_git_takes_in_no_state(repo):
    """The Ray token is in it."""
    repo.apply('clusters/gpu/a.yaml')
    repo.git('add', '-A')
    assert '.raygpu' not in repo.git('status', '--short')
    assert 'state.in-git' not in repo.run('plan', 'clusters/gpu/a.yaml').err
    repo.git('add', '-f', '.raygpu/state.db')
    for words in (('plan',), ('apply', '--auto-approve')):
        told = repo.run(words[0], 'clusters/gpu/a.yaml', *words[1:], code=1)
        assert 'tracked by git' in told.err and 'git rm --cached -f .raygpu/state.db' in ' '.join(told.err.split())
    subprocess.run(['sh', '-c', told.err.split('`')[1].replace('\n', ' ')], cwd=repo.folder, check=True)
    assert os.path.exists(repo.state)
    assert 'state.in-git' not in repo.run('plan', 'clusters/gpu/a.yaml').err


def test_a_folder_of_somebody_elses_gets_no_gitignore(repo):
    repo.apply('clusters/gpu/a.yaml', '--state', 'clusters/x.db')
    assert sorted(os.listdir(repo.path('clusters'))) == ['gpu', 'x.db', 'x.db.a.lock']
    repo.run('destroy', 'clusters/gpu/a.yaml', '--auto-approve', '--state', 'clusters/x.db')
    repo.apply('clusters/gpu/a.yaml', '--state', 'new/x.db')
    assert repo.read('new/.gitignore') == '*\n'


def test_init_prepares_the_state_of_its_spec(repo):
    told = at(repo, 'clusters').run('init', 'new.yaml', '--json').json()
    assert told['wrote_spec'] and told['wrote_gitignore']
    assert repo.read('.raygpu/.gitignore') == '*\n' and not os.path.exists(repo.path('clusters/.raygpu'))
    assert not os.path.exists(repo.path('clusters/.gitignore'))
    assert '.raygpu' not in repo.git('status', '--short')


def test_init_where_nothing_can_be_written(tmp_path):
    home = Home(tmp_path)
    result = home.run('init', 'no/such/cluster.yaml', code=1)
    assert '[file.unwritable]' in result.err and 'cannot be written' in result.err
    with open(home.path('.raygpu'), 'w'):
        pass
    result = home.run('init', code=1)
    assert '[state.unwritable]' in result.err and '".raygpu"' in result.err
    assert json.loads(home.run('version', '--json').out)


def test_a_commit_and_the_work_tree_agree_on_the_state(repo, tmp_path):
    """With --ref, the specs are the commit's. An old commit does not know where the state is now, and the work tree may be
    another branch's."""
    def commit(tag):
        repo.git('add', '-A')
        repo.git('commit', '-qm', tag)
        repo.git('tag', tag)
    repo.git('tag', 'without')
    repo.write('raygpu.yaml', 'state: first.db\n')
    commit('first')
    repo.apply('clusters/gpu/a.yaml', '--ref', 'first')
    assert states(tmp_path) == [] and os.path.exists(repo.path('first.db'))
    # only the work tree names one: not a new state in the default place
    assert NOTHING in repo.run('plan', 'clusters/gpu/a.yaml', '--ref', 'without').out
    repo.write('raygpu.yaml', 'state: second.db\n')
    for where, path in (('.', 'clusters/gpu/a.yaml'), ('clusters', 'gpu')):
        refused = at(repo, where).run('apply', path, '--auto-approve', '--ref', 'first', code=4)
        text = ' '.join(refused.err.split())
        assert 'state.two-places' in text and 'first.db" at first' in text and 'second.db' in text, refused
        assert NOTHING in at(repo, where).run('plan', path, '--state', repo.path('first.db'), '--ref', 'first', '--no-color').out
    # both do, as different paths to one file
    repo.write('raygpu.yaml', f'state: {repo.path("clusters/../first.db")}\n')
    assert NOTHING in at(repo, 'clusters').run('plan', 'gpu/a.yaml', '--ref', 'first').out
    # only the commit does: it does not decide
    os.remove(repo.path('raygpu.yaml'))
    refused = at(repo, 'clusters/gpu').run('plan', 'a.yaml', '--ref', 'first', code=4)
    assert 'first.db" at first, and none in the work tree' in ' '.join(refused.err.split())
    # compared with another commit, that one decides
    repo.write('raygpu.yaml', 'state: second.db\nbudget: {hourly_usd: 1000}\n')
    assert NOTHING in repo.run('plan', '--changed-since', 'first').out
    assert states(tmp_path) == [] and not os.path.exists(repo.path('second.db'))

"""Symbolic links of a checkout: files outside the work tree are neither read nor shown."""
import os

import pytest
from program import Home, spec

SECRET = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz'
FILE = f'[default]\naws_access_key_id = AKIA\ntoken: {SECRET}\n'


@pytest.fixture
def home(tmp_path):
    """A folder with a repository, and next to it files that a pull request must not see."""
    os.mkdir(tmp_path / 'repo')
    os.mkdir(tmp_path / 'private')
    for name in ('secret', 'secret.yaml', 'raygpu.yaml'):
        (tmp_path / 'private' / name).write_text(FILE)
    for name in ('private/good.yaml', 'good.yaml'):
        (tmp_path / name).write_text(spec())
    home = Home(tmp_path / 'repo')
    home.git('init', '-q')
    return home


def refused(home, *arguments, **options):
    result = home.run(*arguments, code=4, **options)
    both = result.out + result.err
    assert 'file.outside-tree' in both and 'leads out of the git work tree' in ' '.join(both.split()), result
    assert SECRET not in both and 'AKIA' not in both, result


@pytest.mark.parametrize('more', [[], ['--json']])
@pytest.mark.parametrize('command', ['validate', 'plan', 'fit', 'apply'])
def test_a_link_that_leaves_the_work_tree(home, command, more):
    os.symlink('../private/secret', home.path('cluster.yaml'))
    refused(home, command, 'cluster.yaml', *(more if command in ('validate', 'fit') else []))


def test_links_of_all_kinds(home, tmp_path):
    os.symlink(tmp_path / 'private/secret', home.path('absolute.yaml'))
    os.symlink('absolute.yaml', home.path('twice.yaml'))
    os.symlink('../private', home.path('folder'))
    os.symlink('/dev/stdin', home.path('stdin.yaml'))
    os.mkdir(home.path('clusters'))
    os.symlink('../../private/secret.yaml', home.path('clusters/a.yaml'))
    for name in ('absolute.yaml', 'twice.yaml', 'folder/secret.yaml', 'folder/good.yaml', 'clusters/a.yaml',
                 'clusters', 'folder', os.path.join(home.folder, 'twice.yaml'), 'clusters/../twice.yaml'):
        refused(home, 'validate', name)
    refused(home, 'validate', 'stdin.yaml', stdin=FILE)


def test_a_link_into_another_repository(home, tmp_path):
    Home(tmp_path / 'private').git('init', '-q')
    os.symlink('../private', home.path('folder'))
    refused(home, 'validate', 'folder/secret.yaml')


def test_a_project_file(home):
    home.write('cluster.yaml', spec())
    os.symlink('../private/raygpu.yaml', home.path('raygpu.yaml'))
    refused(home, 'fit')
    os.unlink(home.path('raygpu.yaml'))
    home.run('fit')


def test_links_that_stay_are_followed(home, tmp_path):
    os.mkdir(home.path('clusters'))
    home.write('clusters/a.yaml', spec())
    os.symlink('clusters/a.yaml', home.path('cluster.yaml'))
    os.symlink(home.path('cluster.yaml'), home.path('absolute.yaml'))
    os.symlink('clusters', home.path('folder'))
    os.symlink(home.folder, tmp_path / 'link')
    for name in ('cluster.yaml', 'absolute.yaml', 'folder/a.yaml', 'folder', tmp_path / 'link/cluster.yaml',
                 tmp_path / 'link/folder/a.yaml', '../good.yaml'):
        home.run('validate', name)
    assert 'cannot be read' in home.run('validate', 'nosuch.yaml', code=4).err
    home.run('validate', '/dev/stdin', stdin=spec())
    home.run('validate', '-', stdin=spec())


def test_outside_of_a_work_tree_links_are_the_users_own(tmp_path):
    home = Home(tmp_path)
    os.mkdir(home.path('a'))
    home.write('a/a.yaml', spec())
    os.mkdir(home.path('b'))
    os.symlink('../a/a.yaml', home.path('b/b.yaml'))
    home.run('validate', 'b/b.yaml')


def test_a_trace_goes_through_no_link(tmp_path, sim):
    home = Home(tmp_path, sim.env())
    home.write('cluster.yaml', spec())
    home.write('victim', 'mine\n')
    os.symlink('victim', home.path('link'))
    os.link(home.path('victim'), home.path('hard'))
    os.symlink('nosuch', home.path('dangling'))
    for name in ('link', 'hard', 'dangling'):
        result = home.run('plan', '--trace', name, code=4)
        assert 'usage.bad-argument' in result.err and 'trace' in result.err
    assert home.read('victim') == 'mine\n' and not os.path.exists(home.path('nosuch'))
    home.run('plan', '--trace', 'trace')
    home.run('plan', '--trace', 'trace')
    assert os.stat(home.path('trace')).st_mode & 0o777 == 0o600

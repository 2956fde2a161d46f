"""SPEC arguments: files and folders, in the work tree or a commit, and --changed-since REV."""
import os
import shutil
import subprocess

import pytest
from program import Home, spec


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    home.env['GIT_CEILING_DIRECTORIES'] = str(tmp_path.parent)
    return home


def put(home, name, text):
    os.makedirs(os.path.dirname(home.path(name)), exist_ok=True)
    home.write(name, text)


@pytest.fixture
def repository(home):
    """main: three clusters in two folders; a branch that left it before main advanced."""
    home.git('init', '-q', '-b', 'main')
    home.write('.gitignore', '.raygpu/\nbuild/\n')
    for folder, name in (('prod', 'a'), ('prod', 'b'), ('test', 'c')):
        put(home, f'clusters/{folder}/{name}.yaml', spec(name))
    commit(home, 'three')
    home.git('branch', 'work')
    put(home, 'clusters/prod/a.yaml', spec('a', pools={'serve': 9}))
    commit(home, 'main moves on')
    home.git('checkout', '-q', 'work')
    return home


def commit(home, message):
    home.git('add', '-A')
    home.git('commit', '-qm', message)


def validated(home, *arguments, code=0):
    return sorted(home.run('validate', *arguments, '--json', code=code).json()['specs'])


def removed(home, *arguments):
    return [d['summary'].split()[4] for d in home.run('validate', *arguments, '--json').json()['diagnostics']
            if d['code'] == 'spec.removed']


def test_a_folder_is_its_specs_wherever_they_stand_below(home):
    for name in ('b.yaml', 'deep/er/a.yml', '.hidden/x.yaml', '.x.yaml'):
        put(home, 'clusters/' + name, spec(name.split('.')[0].replace('/', '-') or 'x'))
    put(home, 'clusters/notes.txt', 'x')
    assert validated(home, 'clusters') == ['clusters/b.yaml', 'clusters/deep/er/a.yml']
    assert validated(home, 'clusters/deep', 'clusters/b.yaml', 'clusters') == \
        ['clusters/b.yaml', 'clusters/deep/er/a.yml'], 'what is named twice counts once'
    os.symlink('..', home.path('clusters/deep/circle'))
    assert len(validated(home, 'clusters')) == 2
    os.symlink('clusters', home.path('link'))
    assert validated(home, 'link/deep') == ['link/deep/er/a.yml']


OTHERS = {
    'deploy.yaml': 'apiVersion: apps/v1\nkind: Deployment\nspec: {}\n---\napiVersion: v1\nkind: Service\n',
    'launcher.yaml': 'cluster_name: x\nprovider: {type: aws}\nhead_node_type: h\n',
    'chart/values.yaml': 'image: x\nhead: {a: 1}\nworker: {}\n',
    'list.yml': '- a\n- b\n',
    'raygpu.yaml': 'budget: {hourly_usd: 400}\n',
    'empty.yaml': '# nothing\n',
}


def test_what_is_clearly_no_spec_is_passed_over_and_said(home):
    put(home, 'c/good.yaml', spec('good'))
    for name, text in OTHERS.items():
        put(home, 'c/' + name, text)
    result = home.run('validate', 'c')
    assert 'cluster good' in result.out and '6 YAML files are not specs' in result.err
    for name in OTHERS:
        assert name in result.err
    for name, text in OTHERS.items():
        if name != 'empty.yaml':
            assert home.run('validate', 'c/' + name, code=4).err, 'a file that is named is a spec'


@pytest.mark.parametrize('text', ['clutser: x\nprovider: {name: aws}\nray: {}\n', 'cluster: [\n',
                                  'provider: {{ .Values.x }\n', 'cluster: &a\n  *a\n', '\x00'])
def test_a_faulty_spec_of_a_folder_is_told_not_passed_over(home, text):
    put(home, 'c/good.yaml', spec('good'))
    put(home, 'c/bad.yaml', text)
    result = home.run('validate', 'c', code=4)
    assert 'c/bad.yaml' in result.err and 'cluster good' in result.out


def test_a_folder_without_specs_is_a_mistake(home):
    os.mkdir(home.path('c'))
    assert 'spec.none-found' in home.run('validate', 'c', code=4).err
    put(home, 'c/list.yml', '- a\n')
    assert 'list.yml' in home.run('validate', 'c', code=4).err
    assert 'nope' in home.run('validate', 'nope', code=4).err


def test_two_specs_of_one_cluster_name_both_lines(home):
    put(home, 'c/a.yaml', spec('same'))
    put(home, 'c/b.yaml', '\n\n' + spec('same'))
    put(home, 'c/c.yaml', 'x: &n same\n' + spec('other').replace('cluster: other', 'cluster: *n'))
    result = home.run('validate', 'c', code=4)
    assert 'c/a.yaml:1 and at c/b.yaml:3' in ' '.join(result.err.split())
    assert 'c/a.yaml:1 and at c/c.yaml:2' in ' '.join(result.err.split()), 'also through an alias'
    assert 'spec.duplicate-cluster' in home.run('validate', 'c/a.yaml', 'c/b.yaml', code=4).err


def test_a_sparse_checkout_of_a_partial_clone(sim, repository, tmp_path):
    """As actions/checkout makes one with `sparse-checkout`."""
    home = repository
    home.env.update(sim.env())
    home.git('config', 'uploadpack.allowFilter', 'true')
    home.git('clone', '-q', '--filter=blob:none', '--sparse', f'file://{home.folder}', str(tmp_path / 'clone'))
    clone = Home(tmp_path / 'clone', sim.env())
    clone.git('sparse-checkout', 'set', 'clusters/prod')
    assert os.listdir(clone.path('clusters')) == ['prod']
    said = clone.run('plan', 'clusters/prod/a.yaml').out
    assert f'Spec: clusters/prod/a.yaml at commit {clone.git("rev-parse", "HEAD")[:12]}' in said, said
    clone.run('apply', 'clusters/prod/a.yaml', '--auto-approve')
    # what is trusted is of a commit whose files git would fetch
    missing = ' '.join(clone.run('plan', 'clusters', '--changed-since', 'origin/main', code=1).err.split())
    assert 'a partial clone (--filter) lacks objects: `git fetch --refetch --no-filter origin` fetches all' in missing, missing
    clone.git('fetch', '-q', '--refetch', '--no-filter', 'origin')
    clone.run('plan', 'clusters', '--changed-since', 'origin/main')
    clone.run('destroy', '--cluster', 'a', '--auto-approve')


def test_a_broken_spec_does_not_pass_for_a_second_one(home):
    put(home, 'c/a.yaml', spec('same'))
    put(home, 'c/b.yaml', spec('same') + 'a: [\n')
    for command in ('validate', 'drift'):
        err = home.run(command, 'c', code=4).err
        assert 'yaml.syntax' in err and 'described twice' not in err, err


def test_a_folder_at_a_commit(repository):
    home = repository
    put(home, 'clusters/prod/new.yaml', spec('new'))
    os.unlink(home.path('clusters/prod/b.yaml'))
    assert validated(home, 'clusters/prod', '--ref', 'main') == \
        ['clusters/prod/a.yaml', 'clusters/prod/b.yaml']
    assert validated(home, '.', '--ref', 'HEAD') == [f'clusters/{n}.yaml' for n in ('prod/a', 'prod/b', 'test/c')]
    assert validated(home, 'clusters/prod/b.yaml', '--ref', 'HEAD') == ['clusters/prod/b.yaml']
    assert 'does not exist' in home.run('validate', 'nope', '--ref', 'HEAD', code=4).err
    assert 'does not exist' in home.run('validate', 'nope', 'clusters', '--ref', 'HEAD', code=4).err


def test_a_branch_touches_what_it_changed_not_what_main_changed(repository):
    home = repository
    assert validated(home, '--changed-since', 'main') == []
    assert 'No spec has changed' in home.run('validate', '--changed-since', 'main').out
    put(home, 'clusters/test/c.yaml', spec('c', pools={'serve': 3}))
    commit(home, 'c')
    assert validated(home, 'clusters', '--changed-since', 'main') == ['clusters/test/c.yaml']
    assert validated(home, 'clusters/prod', '--changed-since', 'main') == []
    put(home, 'clusters/prod/b.yaml', spec('b', pools={'serve': 3}))
    put(home, 'clusters/prod/new.yaml', spec('new'))
    put(home, 'clusters/build/x.yaml', spec('ignored'))
    assert validated(home, 'clusters', '--changed-since', 'main') == \
        [f'clusters/{n}.yaml' for n in ('prod/b', 'prod/new', 'test/c')], 'the work tree counts'
    assert validated(home, 'clusters', '--changed-since', 'main', '--ref', 'work') == ['clusters/test/c.yaml']
    assert validated(home, 'clusters', '--changed-since', 'HEAD', '--ref', 'work') == []


def test_a_branch_behind_main_is_warned_of_what_it_takes_back(repository):
    """Only of a spec that both changed, at its file, at one that it extends, or at the project file."""
    home = repository
    put(home, 'clusters/test/c.yaml', spec('c', pools={'serve': 3}))
    commit(home, 'work: c')
    assert 'git.behind' not in home.run('validate', 'clusters', '--changed-since', 'main').err
    home.git('checkout', '-q', 'main')
    put(home, 'clusters/test/c.yaml', spec('c', pools={'serve': 5}))
    commit(home, 'main: c')
    home.git('checkout', '-q', 'work')
    for words in ((), ('--ref', 'work')):
        said = ' '.join(home.run('validate', 'clusters', '--changed-since', 'main', *words).err.split())
        assert said.count('git.behind') == 1 and 'clusters/test/c.yaml changed on main too, since this branch left it' in said
        assert '`git rebase main`' in said
    home.git('rebase', '-q', '-X', 'theirs', 'main')
    assert 'git.behind' not in home.run('validate', 'clusters', '--changed-since', 'main').err


def test_the_project_file_touches_all_specs_below_it(repository):
    home = repository
    put(home, 'clusters/prod/raygpu.yaml', 'budget: {hourly_usd: 400}\n')
    assert validated(home, '--changed-since', 'main') == ['clusters/prod/a.yaml', 'clusters/prod/b.yaml']
    commit(home, 'project')
    home.git('mv', 'clusters/prod/raygpu.yaml', 'raygpu.yaml')
    assert validated(home, 'clusters/test', '--changed-since', 'HEAD') == ['clusters/test/c.yaml']


def test_a_removed_spec_is_said_and_a_moved_one_is_not(repository):
    home = repository
    home.git('mv', 'clusters/prod/a.yaml', 'clusters/test/moved.yaml')
    assert removed(home, 'clusters', '--changed-since', 'main') == []
    assert validated(home, 'clusters', '--changed-since', 'main') == ['clusters/test/moved.yaml']
    assert removed(home, 'clusters/prod', '--changed-since', 'main') == [], 'it is elsewhere'
    home.git('rm', '-q', 'clusters/prod/b.yaml')
    put(home, 'clusters/test/c.yaml', spec('renamed'))
    assert removed(home, 'clusters', '--changed-since', 'main') == ['b', 'c']
    assert removed(home, 'clusters/prod/b.yaml', '--changed-since', 'main') == ['b']
    put(home, 'clusters/test/c.yaml', '')
    assert removed(home, 'clusters/test', '--changed-since', 'main') == ['c'], 'emptied'
    commit(home, 'all')
    assert removed(home, 'clusters', '--changed-since', 'main', '--ref', 'work') == ['b', 'c']
    home.git('rm', '-qr', 'clusters/test')
    assert removed(home, 'clusters/test', '--changed-since', 'main') == ['c']
    assert removed(home, 'clusters', '--changed-since', 'main') == ['a', 'b', 'c']
    err = ' '.join(home.run('validate', 'clusters/prod', '--changed-since', 'main').err.split())
    assert 'keeps running and costs money' in err and 'raygpu destroy --cluster b' in err


def test_a_slip_of_the_pen_is_no_removed_spec(repository):
    result = repository.run('validate', 'clusterz', '--changed-since', 'main', code=4)
    assert 'clusterz' in result.err
    assert 'has no commit "nope"' in repository.run('validate', '--changed-since', 'nope', code=4).err
    assert 'standard input' in repository.run('validate', '-', 'clusters', code=4, stdin='').err


def test_a_shallow_clone_says_how_to_fetch(repository, tmp_path):
    home = repository
    put(home, 'clusters/test/c.yaml', spec('c', pools={'serve': 3}))
    commit(home, 'c')
    subprocess.run(['git', 'clone', '-q', '--depth', '1', '--no-single-branch', '-b', 'work',
                    'file://' + home.folder, str(tmp_path / 'ci')], check=True, capture_output=True)
    ci = Home(tmp_path / 'ci')
    # libgit2 1.5 leaks 64 bytes when its search for the ancestor ends at the edge of a shallow clone
    err = ' '.join(ci.run('validate', 'clusters', '--changed-since', 'origin/main', code=4,
                          env={'ASAN_OPTIONS': 'detect_leaks=0'}).err.split())
    assert 'git.no-ancestor' in err and 'git fetch --unshallow' in err
    err = ' '.join(ci.run('validate', 'clusters', '--changed-since', 'HEAD~1', code=4).err.split())
    assert 'git.no-revision' in err and 'git fetch --unshallow' in err
    ci.git('fetch', '-q', '--depth', '2')
    assert validated(ci, 'clusters', '--changed-since', 'HEAD~1') == ['clusters/test/c.yaml'], \
        'depth 2 is enough for the commit before'
    ci.git('fetch', '-q', '--unshallow')
    assert validated(ci, 'clusters', '--changed-since', 'origin/main') == ['clusters/test/c.yaml']


def test_another_users_repository_is_no_nothing_touched(repository):
    if os.getuid():
        pytest.skip('only root can give files away')
    for top, folders, files in os.walk(repository.folder):
        for name in folders + files:
            os.chown(os.path.join(top, name), 12345, 12345, follow_symlinks=False)
    os.chown(repository.folder, 12345, 12345)
    assert 'git.not-owner' in repository.run('validate', '--changed-since', 'main', code=1).err


def test_a_bare_repository_is_not_discovered(repository, tmp_path):
    put(repository, 'clusters/test/c.yaml', spec('c', pools={'serve': 3}))
    commit(repository, 'c')
    subprocess.run(['git', 'clone', '-q', '--bare', repository.folder, str(tmp_path / 'bare')], check=True,
                   capture_output=True)
    bare = Home(tmp_path / 'bare')
    told = bare.run('validate', 'clusters', '--ref', 'work', code=4)  # it is a folder of the work tree around it
    assert '"bare/clusters" at "work" does not exist' in ' '.join(told.err.split())
    shutil.rmtree(repository.path('.git'))
    assert 'git.no-repository' in bare.run('validate', '.', '--ref', 'work', '--changed-since', 'main', code=4).err


def test_validate_counts_one_and_many(home):
    assert '1 pool, 2 nodes in aws' in home.run('validate', home.write('one.yaml', spec('one'))).out
    assert '0 pools, 1 node in aws' in home.run('validate', home.write('none.yaml', spec('none', pools={}).replace('pools:', ''))).out


@pytest.mark.parametrize('written, hint', [
    ('h5.2xlarge', '`catalog` of raygpu.yaml'),  # not g5.2xlarge: another class of machines
    ('g4nd.xlarge', 'did you mean `g4'), ('M5.2xlarg', 'did you mean `m5.2xlarge`?'),
])
def test_the_nearest_instance_type_is_of_the_same_class(home, written, hint):
    said = home.run('validate', home.write('c.yaml', spec('c', head=written))).err
    assert 'catalog.unlisted-type' in said and hint in said

"""A pull request decides what its specs ask for, and nothing else: not what is trusted, whose credentials are used, where
the state is, or which limits hold. Each test is an attack: a branch that is planned with --changed-since origin/main."""
import json
import os
import shutil
import socket

import pytest
from program import Home, spec

SECRET = {'AWS_SESSION_TOKEN': 'a-session-token', 'TF_HTTP_USERNAME': 'ci', 'TF_HTTP_PASSWORD': 'a-password',
          'PGPASSWORD': 'a-password', 'AWS_ENDPOINT_URL': ''}
SINCE = ['--changed-since', 'origin/main']


def make(home, files):
    for name, text in files.items():
        os.makedirs(os.path.dirname(home.path(name)), exist_ok=True)
        home.write(name, text)


def save(home, words='change'):
    home.git('add', '-A')
    home.git('commit', '-qm', words)


def start(home, files):
    """origin/main has these files; what follows is on a branch."""
    home.git('init', '-q', '-b', 'main')
    make(home, files)
    save(home, 'main')
    home.git('update-ref', 'refs/remotes/origin/main', 'main')
    home.git('checkout', '-qb', 'topic')


@pytest.fixture
def ci(tmp_path, sim):
    """The pipeline's clone of a repository with one spec."""
    home = Home(tmp_path / 'ci', sim.env())
    os.mkdir(home.folder)
    return home


def sends_to(url, **more):
    return spec(**more).replace('name: aws,', f'name: aws, endpoint: "{url}",')


def flat(result):
    return ' '.join(result.err.split())


def refused(result, came):
    assert 'provider.not-admitted' in result.err, result
    assert came == []


# ---- which repository, which revision


def test_files_that_look_like_a_repository_are_none(ci, thief, tmp_path):
    """Only .git itself cannot be committed: a folder with HEAD, config, objects and refs can. In this one, origin/main and
    the merge base are commits that allow everything."""
    url, came = thief
    start(ci, {'clusters/a.yaml': spec('a')})
    base = ci.git('rev-parse', 'HEAD')
    inner = Home(tmp_path / 'inner', ci.env)
    os.mkdir(inner.folder)
    inner.git('init', '-q', '-b', 'main')
    make(inner, {'raygpu.yaml': f'provider: {{allow_endpoints: ["{url}"]}}\n'})
    save(inner)
    commit = inner.git('rev-parse', 'HEAD')
    evil = ci.path('clusters/evil')
    shutil.copytree(inner.path('.git'), evil, ignore=shutil.ignore_patterns('hooks', 'logs'))
    make(ci, {'clusters/evil/config': '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n',
              'clusters/evil/refs/keep': '', 'clusters/evil/evil.yaml': sends_to(url, name='evil'),
              'clusters/evil/packed-refs': f'{commit} refs/remotes/origin/main\n{commit} refs/heads/{base}\n',
              'clusters/evil/raygpu.yaml': f'provider: {{allow_endpoints: ["{url}"]}}\n'})
    save(ci)
    refused(ci.run('plan', 'clusters', *SINCE, code=9, env=SECRET), came)
    refused(ci.run('plan', 'clusters/evil', *SINCE, code=9, env=SECRET), came)
    refused(ci.run('plan', 'clusters/evil/evil.yaml', *SINCE, '--ref', 'topic', code=9, env=SECRET), came)


def test_a_submodule_judges_nothing(ci, thief, tmp_path):
    """Its remote is what the pull request says, and so is its origin/main."""
    url, came = thief
    start(ci, {'a.yaml': spec('a')})
    inner = Home(tmp_path / 'inner', ci.env)
    os.mkdir(inner.folder)
    start(inner, {'evil.yaml': sends_to(url, name='evil'), 'raygpu.yaml': f'provider: {{allow_endpoints: ["{url}"]}}\n'})
    ci.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', inner.folder, 'clusters')
    Home(ci.path('clusters'), ci.env).git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    save(ci)
    refused(ci.run('plan', 'clusters', *SINCE, code=9, env=SECRET), came)
    refused(Home(ci.path('clusters'), ci.env).run('plan', '.', *SINCE, code=9, env=SECRET), came)


def test_a_submodule_whose_repository_cannot_be_read_judges_nothing(ci, tmp_path):
    if os.getuid():
        pytest.skip('only root can give files away')
    start(ci, {'a.yaml': spec('a')})
    inner = Home(tmp_path / 'inner', ci.env)
    os.mkdir(inner.folder)
    start(inner, {'b.yaml': spec('b'), 'raygpu.yaml': 'budget: {hourly_usd: 1}\n'})
    ci.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', inner.folder, 'clusters')
    clusters = Home(ci.path('clusters'), ci.env)
    clusters.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    save(ci)
    for name in ('', '.git'):
        os.chown(ci.path(name), 12345, 12345)
    told = clusters.run('plan', 'b.yaml', *SINCE, code=1)
    assert 'git.not-owner' in told.err, told
    for name in ('', '.git'):
        os.chown(ci.path(name), 0, 0)
    make(ci, {'.git/index': 'no index'})
    assert 'git.unreadable' in clusters.run('plan', 'b.yaml', *SINCE, code=1).err
    # a repository of another user that only happens to be around one
    shutil.move(inner.folder, ci.path('own'))
    for name in ('', '.git'):
        os.chown(ci.path(name), 12345, 12345)
    Home(ci.path('own'), ci.env).run('validate', 'b.yaml', *SINCE)


def test_a_tag_has_not_the_name_of_a_branch(ci, thief):
    url, came = thief
    start(ci, {'a.yaml': spec('a')})
    make(ci, {'a.yaml': sends_to(url, name='a'), 'raygpu.yaml': f'provider: {{allow_endpoints: ["{url}"]}}\n'})
    save(ci)
    ci.git('tag', 'origin/main')
    told = ci.run('plan', *SINCE, code=4, env=SECRET)
    assert 'git.ambiguous' in told.err and 'refs/remotes/origin/main and refs/tags/origin/main' in flat(told)
    assert came == []
    refused(ci.run('plan', '--changed-since', 'refs/remotes/origin/main', code=9, env=SECRET), came)
    # the same commit under several names is one; and a branch whose name looks like an id is never meant
    ci.git('tag', '-f', 'origin/main', 'refs/remotes/origin/main')
    refused(ci.run('plan', *SINCE, code=9, env=SECRET), came)
    # a full name is that of one reference, whatever tags there are
    ci.git('update-ref', 'refs/tags/refs/remotes/origin/main', 'topic')
    ci.git('update-ref', 'refs/tags/HEAD', 'refs/remotes/origin/main~0')
    refused(ci.run('plan', '--changed-since', 'refs/remotes/origin/main', code=9, env=SECRET), came)
    # nor is it that of a tag where there is no such reference
    ci.git('update-ref', 'refs/tags/refs/heads/gone', 'topic')
    assert 'git.no-revision' in ci.run('plan', '--changed-since', 'refs/heads/gone', code=4, env=SECRET).err
    ci.git('update-ref', 'refs/heads/' + 40 * 'a', 'topic')
    assert 'git.no-revision' in ci.run('plan', '--changed-since', 40 * 'a', code=4, env=SECRET).err


def test_a_change_of_a_link_is_a_change(ci):
    """Of a folder, of one on the way to it, and of the folder of a spec."""
    base = spec('x').replace('cluster: x\n', '')
    start(ci, {'small/base.yaml': base, 'big/base.yaml': base.replace('nodes: 1', 'nodes: 9'), 'p/clusters/p.yaml':
               'cluster: p\nextends: ../../env/base.yaml\n', 'one/q.yaml': spec('q'), 'two/q.yaml': spec('q', pools={'serve': 2})})
    for target, name in (('middle', 'env'), ('small', 'middle'), ('one', 'specs')):
        os.symlink(target, ci.path(name))
    save(ci)
    ci.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    arguments = ['p', 'specs']
    assert 'No spec has changed.' in ci.run('validate', *arguments, *SINCE).out
    for name, target, cluster in (('env', 'big', 'p'), ('middle', 'big', 'p'), ('specs', 'two', 'q')):
        was = os.readlink(ci.path(name))
        os.remove(ci.path(name))
        os.symlink(target, ci.path(name))
        told = ci.run('validate', *arguments, *SINCE)
        assert told.out.count('cluster ') == 1 and f'cluster {cluster}' in told.out, (name, told)
        os.remove(ci.path(name))
        os.symlink(was, ci.path(name))


def test_a_commit_is_read_through_its_own_links(ci):
    """Not through those of the work tree, which is of another commit."""
    start(ci, {'one/q.yaml': spec('q'), 'two/q.yaml': spec('q', pools={'serve': 2}), 'two/raygpu.yaml': 'policy: {max_nodes: 2}\n'})
    os.symlink('one', ci.path('specs'))
    save(ci)
    ci.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    ci.git('checkout', '-qb', 'other')
    os.remove(ci.path('specs'))
    os.symlink('two', ci.path('specs'))
    save(ci)
    ci.git('checkout', '-q', 'topic')
    for name in ('specs', 'specs/q.yaml'):
        assert '2 nodes' in ci.run('validate', name).out
        told = ci.run('validate', name, '--ref', 'other', code=9)
        assert '3 nodes' in told.err and 'policy.max-nodes' in told.err, told
        assert 'No spec has changed' not in ci.run('validate', name, '--ref', 'other', *SINCE, code=9).out
    ci.git('checkout', '-q', 'other')
    assert '2 nodes' in ci.run('validate', 'specs', '--ref', 'topic').out
    # behind a link that stays
    ci.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    make(ci, {'two/raygpu.yaml': 'policy: {max_nodes: 3}\n'})
    save(ci)
    ci.git('checkout', '-q', 'topic')
    told = ci.run('validate', 'specs', '--ref', 'other', *SINCE, code=9)
    assert 'origin/main:specs/raygpu.yaml:1:' in told.err and 'No spec has changed' not in told.out, told


def test_a_change_of_a_project_file_above_the_link_is_a_change(ci):
    start(ci, {'team/keep': '', 'specs/q.yaml': spec('q')})
    os.symlink('../specs', ci.path('team/specs'))
    save(ci)
    ci.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    make(ci, {'team/raygpu.yaml': 'ignore_tags: [a]\n'})
    assert 'cluster q' in ci.run('validate', 'team/specs', *SINCE).out
    assert 'No spec has changed' in ci.run('validate', 'specs', *SINCE).out


def test_the_working_folder_may_be_named_by_a_link(ci, tmp_path):
    start(ci, {'q.yaml': spec('q')})
    os.symlink(ci.folder, tmp_path / 'link')
    make(ci, {'q.yaml': spec('q', pools={'serve': 2})})
    told = ci.run('validate', '.', *SINCE, env={'PWD': str(tmp_path / 'link')})
    assert 'cluster q' in told.out, told


def test_a_change_behind_a_submodule_is_a_change(ci, tmp_path):
    library = Home(tmp_path / 'library', ci.env)
    os.mkdir(library.folder)
    library.git('init', '-q', '-b', 'main')
    base = spec('x').replace('cluster: x\n', '')
    make(library, {'base.yaml': base, 'own.yaml': spec('own')})
    save(library)
    ci.git('init', '-q', '-b', 'main')
    ci.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', library.folder, 'lib')
    ci.git('config', '-f', '.gitmodules', 'submodule.lib.ignore', 'all')
    make(ci, {'clusters/p.yaml': 'cluster: p\nextends: ../lib/base.yaml\n', 'clusters/q.yaml': spec('q')})
    save(ci)
    ci.git('update-ref', 'refs/remotes/origin/main', 'main')
    ci.git('checkout', '-qb', 'topic')
    nothing = ci.run('validate', '.', *SINCE)
    assert 'No spec has changed.' in nothing.out
    inner = Home(ci.path('lib'), ci.env)
    make(inner, {'base.yaml': base.replace('nodes: 1', 'nodes: 77')})
    changed = ci.run('validate', '.', *SINCE).out
    assert 'cluster p' in changed and 'cluster own' in changed and 'cluster q' not in changed, changed
    inner.git('rm', '-q', 'own.yaml')
    save(inner)
    save(ci)
    for more in ([], ['--ref', 'topic']):
        told = ci.run('validate', 'clusters', *SINCE, *more)
        assert 'cluster p, 1 pool, 78 nodes' in told.out and 'cluster q' not in told.out, told
    told = ci.run('validate', '.', *SINCE)
    assert 'the spec of cluster own was removed' in flat(told) and 'it was in lib/own.yaml' in flat(told), told


# ---- the state


def test_a_committed_state_is_not_used(ci, sim, thief):
    url, came = thief
    start(ci, {'a.yaml': spec('a')})
    ci.apply('a.yaml')
    ci.edit_state(('UPDATE clusters SET config = ?', ('{"endpoint": "%s"}' % url,)))
    make(ci, {'a.yaml': sends_to(url, name='a')})
    ci.git('add', '-f', '.raygpu/state.db')
    save(ci)
    for words in (['plan', '.', *SINCE], ['plan', 'a.yaml'], ['destroy', '--cluster', 'a', '--auto-approve'], ['connect'],
                  ['drift', '--cluster', 'a', '--state', '.raygpu/state.db']):
        told = ci.run(*words, code=1, env=SECRET)
        assert 'state.in-git' in told.err and 'git rm --cached -f .raygpu/state.db' in flat(told), told
    # nor behind a link, nor with a journal that SQLite would play into it
    shutil.copytree(ci.path('.raygpu'), ci.path('ci'))
    os.remove(ci.path('ci/.gitignore'))
    os.symlink('ci', ci.path('behind'))
    save(ci)
    assert 'state.in-git' in ci.run('plan', '.', *SINCE, code=1, env={**SECRET, 'RAYGPU_STATE': 'behind/state.db'}).err
    make(ci, {'new/state.db-journal': 'x'})
    save(ci)
    assert 'state.in-git' in ci.run('plan', '.', *SINCE, code=1, env={**SECRET, 'RAYGPU_STATE': 'new/state.db'}).err
    assert came == []


def test_a_repository_that_cannot_be_read_may_track_the_state(ci, sim):
    if os.getuid():
        pytest.skip('only root can give files away')
    start(ci, {'a.yaml': spec('a')})
    ci.apply('a.yaml')
    for name in ('', '.git'):
        os.chown(ci.path(name), 12345, 12345)
    assert 'git.not-owner' in ci.run('output', code=1).err


def test_what_a_state_records_is_consent_of_who_named_it(ci, sim, thief):
    """The default state may come from a cache that anyone could fill."""
    url, came = thief
    start(ci, {'a.yaml': spec('a')})
    ci.apply('a.yaml')
    ci.edit_state(('UPDATE clusters SET config = ?', ('{"endpoint": "%s"}' % url,)))
    make(ci, {'a.yaml': sends_to(url, name='a')})
    save(ci)
    refused(ci.run('plan', '.', *SINCE, code=9, env=SECRET), came)
    ci.run('plan', '.', *SINCE, code=None, env={**SECRET, 'RAYGPU_STATE': '.raygpu/state.db'})
    assert came, 'named by the pipeline'


def test_a_saved_plan_is_applied_with_the_option_that_it_was_made_with(ci, sim):
    start(ci, {'a.yaml': spec('a')})
    ci.apply('a.yaml', '--state', 'own.db')
    ci.state = ci.path('own.db')
    ci.edit_state(('UPDATE clusters SET config = ?', (json.dumps({'endpoint': sim.url}),)))
    make(ci, {'a.yaml': sends_to(sim.url, name='a', pools={'serve': 2})})
    ci.run('plan', 'a.yaml', '--state', 'own.db', '--out', 'p.json')
    assert 'Apply complete' in ci.run('apply', 'p.json', '--state', 'own.db').out


def test_a_change_does_not_move_the_state(ci, thief, tmp_path):
    url, came = thief
    port = url.rsplit(':', 1)[1]
    start(ci, {'a.yaml': spec('a'), 'raygpu.yaml': 'state: ../theirs.db\n'})
    ci.apply('a.yaml')
    make(ci, {'a.yaml': spec('a', pools={'serve': 2})})
    places = (f'{url}/tfstate', f'postgres://x@127.0.0.1:{port}/x?sslmode=disable', f's3://b/x?endpoint={url}&profile=admin',
              'ci/x.bin')
    secret = {name: value for name, value in SECRET.items() if not name.startswith('AWS_')}
    for place in places:
        make(ci, {'raygpu.yaml': f'state: {place}\n'})
        save(ci)
        for more in ([], ['--ref', 'topic']):
            told = ci.run('plan', '.', *SINCE, *more, env=secret)
            assert '1 to add, 0 to change, 0 to destroy' in told.out, told
            assert 'trust.loosened' in told.err and 'raygpu.yaml:1:8' in told.err, told
            assert 'state is not as at origin/main, which has no effect' in flat(told)
    # read from a commit, it must be that of the work tree
    ci.git('checkout', '-q', 'main')
    for words in (['plan', 'a.yaml', '--ref', 'topic'], ['destroy', 'a.yaml', '--auto-approve', '--ref', 'topic']):
        assert 'state.two-places' in ci.run(*words, code=4, env=SECRET).err
    os.remove(ci.path('raygpu.yaml'))
    assert 'and none in the work tree' in flat(ci.run('plan', 'a.yaml', '--ref', 'topic', code=4, env=SECRET))
    assert came == []


def test_a_change_does_not_move_the_default_state(ci):
    start(ci, {'clusters/a.yaml': spec('a')})
    ci.apply('clusters/a.yaml')
    make(ci, {'clusters/raygpu.yaml': 'policy: {max_nodes: 9}\n'})
    save(ci)
    assert 'No changes.' in ci.run('plan', '.', *SINCE).out


@pytest.mark.parametrize('place, word', [
    ('postgres://x@db.example/x?sslmode=disable', 'sslmode=disable'),
    ('postgres://x@db.example/x?sslmode=verify-ca', 'sslmode=verify-ca'),
    ('postgres://x@127.0.0.1.evil.example/x?ssl%6dode=allow', 'sslmode=allow'),
    ('postgres://x@db.example/x?sslrootcert=ci/ca.pem', 'sslrootcert=ci/ca.pem'),
    ('postgres://x@db.example/x?sslrootcert=/proc/self/cwd/ca.pem', 'sslrootcert=/proc/self/cwd/ca.pem'),
    ('postgres://x@db.example/x?sslrootcert={here}/ca.pem', 'sslrootcert='),
    ('postgres://a@db.example,b@127.0.0.1/x?sslmode=disable', 'a second "@"'),
    ('postgres://127.0.0.1?user=a@db.example/x?sslmode=disable', 'a second "@"'),
    ('postgres://x@[::1].db.example/x?sslmode=disable', 'sslmode=disable'),
    ('postgres://x@127.0.0.1/x?host=[::1].db.example&sslmode=disable', 'sslmode=disable'),
    ('postgres://x@127.0.0.1,db.example/x?sslmode=disable', 'sslmode=disable'),
    ('postgres://x@db.example/x?service=prod', 'service=prod'),
    ('postgres://x@db.example/x?passfile=/root/.pgpass', 'passfile=/root/.pgpass'),
    ('s3://b/x?region=us-east-1&profile=admin', 'profile "admin" in the URL of the state is not allowed'),
])
def test_a_committed_url_neither_weakens_tls_nor_selects_credentials(ci, place, word):
    place = place.replace('{here}', os.path.abspath(ci.path('.')))
    make(ci, {'a.yaml': spec('a'), 'raygpu.yaml': f"state: '{place}'\n"})
    told = ci.run('plan', 'a.yaml', code=9)
    assert 'state.not-admitted' in told.err and word in flat(told) and 'raygpu.yaml:1:8' in told.err, told


@pytest.mark.parametrize('place', [
    'postgres://x@127.0.0.1:1/x?sslmode=disable', 'postgres://x@[::1]:1/x?sslmode=disable',
    'postgres://x@localhost:1,127.0.0.2:1/x?sslmode=disable', 'postgres://x@db.example:1/x?host=::1&port=1&sslmode=disable',
    'postgres://x@127.0.0.1:1/x?sslrootcert=/etc/none/ca.pem',
])
def test_a_committed_url_may_name_this_machine_and_its_certificates(ci, place):
    make(ci, {'a.yaml': spec('a'), 'raygpu.yaml': f"state: '{place}'\n"})
    assert 'state.not-admitted' not in ci.run('plan', 'a.yaml', code=None).err


def test_a_profile_of_the_state_can_be_allowed(ci):
    make(ci, {'a.yaml': spec('a'), 'raygpu.yaml': 'state: s3://b/x?region=us-east-1&profile=ci\n'
                                                  'provider: {allow_profiles: [ci]}\n'})
    assert 'state.not-admitted' not in ci.run('plan', 'a.yaml', code=None, env={'AWS_CONFIG_FILE': '/dev/null'}).err
    make(ci, {'raygpu.yaml': 'state: s3://b/x?region=us-east-1&profile=ci\n'})
    env = {'AWS_CONFIG_FILE': '/dev/null', 'RAYGPU_ALLOW_PROFILES': 'lab,ci'}
    assert 'state.not-admitted' not in ci.run('plan', 'a.yaml', code=None, env=env).err


def test_no_credential_goes_out_in_clear_text(ci):
    make(ci, {'a.yaml': spec('a')})
    for place in ('http://state.example/x', 'https://127.0.0.1:1/x?lock_address=http://state.example/lock',
                  'https://127.0.0.1:1/x?unlock_address=http://state.example/lock'):
        told = ci.run('plan', 'a.yaml', '--state', place, code=None, env=SECRET)
        assert told.code and 'would be sent without encryption' in flat(told), told


# ---- limits


def test_a_change_does_not_lift_the_limits(ci):
    """Neither in the file that has them, nor with one nearer to the spec, nor in the spec itself."""
    start(ci, {'raygpu.yaml': 'budget: {hourly_usd: 1, pools: {serve: {hourly_usd: 50}}}\npolicy: {max_nodes: 3, '
                              'deny_accelerators: [H100], allow_regions: [us-east-1], public_addresses: false}\n',
               'clusters/a.yaml': spec('a', extra='budget: {daily_gpu_hours: 30}\n')})
    big = spec('a', pools={'serve': 9})
    make(ci, {'clusters/a.yaml': big, 'clusters/raygpu.yaml': 'ignore_tags: [a]\n'})
    save(ci)
    told = ci.run('plan', 'clusters', *SINCE, code=9)
    text = flat(told)
    for name in ('budget.hourly_usd', 'budget.pools.serve.hourly_usd', 'policy.max_nodes', 'policy.deny_accelerators',
                 'policy.allow_regions', 'policy.public_addresses', 'budget.daily_gpu_hours'):
        assert f'{name} is looser than at origin/main, which has no effect [trust.loosened]' in text, (name, told)
    assert 'ignore_tags has more entries than at origin/main' in text
    assert 'policy.max-nodes' in told.err and 'origin/main:raygpu.yaml:2:' in text, told
    # the pull request's comment says it as well
    report = ci.run('plan', 'clusters', *SINCE, '--format', 'markdown', code=9).out
    assert 'policy.max_nodes is looser than at origin/main' in ' '.join(report.split())
    assert 'policy.max-nodes' in ci.run('validate', 'clusters', *SINCE, code=9).err
    # without a comparison, its own limits are all there are
    ci.run('validate', 'clusters')


def test_budgets_of_both_sides_count(ci):
    start(ci, {'raygpu.yaml': 'budget: {hourly_usd: 1}\n', 'a.yaml': spec('a', extra='budget: {daily_gpu_hours: 30}\n')})
    make(ci, {'raygpu.yaml': 'budget: {hourly_usd: 400}\n', 'a.yaml': spec('a', pools={'serve': 2})})
    save(ci)
    for more in ([], ['--ref', 'topic']):
        told = ci.run('plan', '.', *SINCE, *more, code=9)
        assert told.err.count('budget.exceeded') == 2, told
        assert 'origin/main:raygpu.yaml:1:' in told.err and 'origin/main:a.yaml:8:' in told.err, told
        assert 'it is 400 here, and 1 at origin/main' in flat(told)
    # a commit that is planned in the work tree of another
    ci.git('checkout', '-q', 'main')
    told = ci.run('plan', 'a.yaml', '--ref', 'topic', code=9)
    assert told.err.count('budget.exceeded') == 2 and 'is looser than in the work tree' in flat(told), told
    assert 'work tree:raygpu.yaml:1:' in told.err and 'work tree:a.yaml:8:' in told.err, told
    # what the change tightens counts
    ci.git('checkout', '-q', 'topic')
    make(ci, {'raygpu.yaml': 'budget: {hourly_usd: 0.5}\n', 'a.yaml': spec('a', extra='budget: {daily_gpu_hours: 30}\n')})
    told = ci.run('plan', '.', *SINCE, code=9)
    assert 'trust.loosened' not in told.err and 'raygpu.yaml:1:' in told.err


def test_a_catalog_of_the_change_passes_no_budget(ci):
    start(ci, {'raygpu.yaml': 'budget: {hourly_usd: 1.5}\n', 'a.yaml': spec('a')})
    ci.run('plan', '.', *SINCE)
    own = 'catalog:\n  prices:\n    aws:\n    - {instance_type: g4dn.xlarge, region: us-east-1, hourly_usd: 0.0001}\n'
    make(ci, {'raygpu.yaml': 'budget: {hourly_usd: 1.5}\n' + own, 'a.yaml': spec('a', pools={'serve': 9})})
    save(ci)
    told = ci.run('plan', '.', *SINCE, code=9)
    assert 'budget.exceeded' in told.err and 'catalog is not as at origin/main, which has no effect' in flat(told), told
    assert 'raygpu.yaml:2:1' in told.err or 'raygpu.yaml:3:' in told.err, told
    # without limits there is nothing to pass
    ci.git('checkout', '-q', 'main')
    make(ci, {'raygpu.yaml': 'ignore_tags: [a]\n'})
    save(ci)
    ci.git('update-ref', 'refs/remotes/origin/main', 'main')
    make(ci, {'raygpu.yaml': 'ignore_tags: [a]\n' + own, 'a.yaml': spec('a', pools={'serve': 9})})
    assert 'trust.loosened' not in ci.run('plan', '.', *SINCE).err


def test_tags_that_only_the_change_ignores_are_not_ignored(ci):
    start(ci, {'raygpu.yaml': 'ignore_tags: ["known:*"]\n', 'a.yaml': spec('a')})
    make(ci, {'raygpu.yaml': 'ignore_tags: ["known:*", "team"]\n', 'a.yaml': spec('a', extra='ignore_tags: [x, "known:*"]\n')})
    save(ci)
    ci.run('plan', '.', *SINCE, '--out', 'plans')
    assert json.loads(ci.read('plans/a.json'))['raygpu']['ignore_tags'] == ['known:*', 'known:*']
    # a new spec has no other side
    make(ci, {'b.yaml': spec('b', extra='ignore_tags: [x]\n')})
    ci.run('plan', 'b.yaml', *SINCE, '--out', 'more')
    assert json.loads(ci.read('more/b.json'))['raygpu']['ignore_tags'] == ['x', 'known:*']


def test_a_link_in_place_of_a_folder_lifts_no_limit(ci):
    """A file at the trusted commit is found by its name, not through links of the work tree."""
    base = 'budget: {hourly_usd: 1}\nx-note: base\n'
    start(ci, {'base/common.yaml': base, 'clusters/a.yaml': 'extends: ../base/common.yaml\n' + spec('a')})
    shutil.rmtree(ci.path('base'))
    os.symlink('clusters', ci.path('base'))
    make(ci, {'clusters/a.yaml': spec('a', pools={'serve': 9})})
    save(ci)
    for more in ([], ['--ref', 'topic']):
        told = ci.run('plan', 'clusters', *SINCE, *more, code=9)
        assert 'budget.exceeded' in told.err and 'origin/main:base/common.yaml:1:' in told.err, told
    # nor does one in place of the spec's own folder
    ci.git('mv', 'clusters', 'moved')
    os.symlink('moved', ci.path('clusters'))
    save(ci)
    assert 'budget.exceeded' in ci.run('plan', 'clusters', *SINCE, code=9).err


def test_a_link_in_place_of_a_folder_selects_no_project_file(ci, thief):
    """That of the spec's folder at the trusted commit counts, wherever the work tree's folder leads."""
    url, came = thief
    start(ci, {'.gitignore': '*.db\n', 'clusters/raygpu.yaml': 'budget: {hourly_usd: 1}\nstate: ../one.db\n', 'clusters/a.yaml': spec('a'),
               'open/raygpu.yaml': f'provider: {{allow_endpoints: ["{url}"]}}\nstate: ../two.db\n'})
    ci.apply('clusters/a.yaml')
    shutil.rmtree(ci.path('clusters'))
    os.symlink('open', ci.path('clusters'))
    make(ci, {'open/a.yaml': sends_to(url, name='a')})
    save(ci)
    refused(ci.run('plan', 'clusters', *SINCE, code=9, env=SECRET), came)
    make(ci, {'open/a.yaml': spec('a', pools={'serve': 9})})
    save(ci)
    for more in ([], ['--ref', 'topic']):
        told = ci.run('plan', 'clusters', *SINCE, *more, code=9)
        assert 'budget.exceeded' in told.err and 'origin/main:clusters/raygpu.yaml:1:' in told.err, told
        assert 'state is not as at origin/main, which has no effect' in flat(told), told


def test_a_link_does_not_lead_the_state_elsewhere(ci):
    start(ci, {'raygpu.yaml': 'state: db/s.db\n', 'a.yaml': spec('a'), '.gitignore': 'db/\n'})
    ci.apply('a.yaml')
    make(ci, {'a.yaml': spec('a', pools={'serve': 2})})
    save(ci)
    assert '1 to add' in ci.run('plan', '.', *SINCE).out
    # one that the pipeline has made is its own
    os.rename(ci.path('db'), ci.path('../cache'))
    os.symlink('../cache', ci.path('db'))
    assert '1 to add' in ci.run('plan', '.', *SINCE).out
    ci.git('add', '-f', 'db')
    save(ci)
    told = ci.run('plan', '.', *SINCE, code=4)
    assert 'state.two-places' in told.err and 'a symbolic link that origin/main does not have' in flat(told), told
    # what everybody agreed on is right
    ci.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    os.rename(ci.path('../cache'), ci.path('cache'))
    os.remove(ci.path('db'))
    os.symlink('cache', ci.path('db'))
    make(ci, {'.gitignore': 'cache/\n'})
    save(ci)
    ci.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    make(ci, {'a.yaml': spec('a', pools={'serve': 3})})
    assert '2 to add' in ci.run('plan', '.', *SINCE).out


def test_links_of_the_trusted_commit_are_followed(ci):
    start(ci, {'shared/base.yaml': 'budget: {hourly_usd: 1}\n', 'real/a.yaml': 'extends: ../link/base.yaml\n' + spec('a')})
    os.mkdir(ci.path('links'))
    for target, name in (('shared', 'link'), ('real', 'clusters'), ('../real/a.yaml', 'links/b.yaml'), ('loop', 'loop')):
        os.symlink(target, ci.path(name))
    save(ci)
    ci.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    os.remove(ci.path('link'))
    make(ci, {'real/a.yaml': spec('a', pools={'serve': 9})})
    save(ci)
    for name in ('clusters', 'real/a.yaml', 'links/b.yaml'):
        told = ci.run('plan', name, *SINCE, code=9)
        assert 'budget.exceeded' in told.err and 'origin/main:link/base.yaml:1:' in told.err, told


def test_a_link_in_a_submodule_is_followed(ci, tmp_path):
    library = Home(tmp_path / 'library', ci.env)
    os.mkdir(library.folder)
    library.git('init', '-q', '-b', 'main')
    make(library, {'real/base.yaml': 'budget: {hourly_usd: 1}\n'})
    os.symlink('real', library.path('link'))
    save(library)
    ci.git('init', '-q', '-b', 'main')
    ci.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', library.folder, 'lib')
    make(ci, {'a.yaml': 'extends: lib/link/base.yaml\n' + spec('a')})
    save(ci)
    ci.git('update-ref', 'refs/remotes/origin/main', 'main')
    ci.git('checkout', '-qb', 'topic')
    make(ci, {'a.yaml': spec('a', pools={'serve': 9})})
    save(ci)
    for more in ([], ['--ref', 'topic']):
        told = ci.run('plan', 'a.yaml', *SINCE, *more, code=9)
        assert 'budget.exceeded' in told.err and 'origin/main:lib/link/base.yaml:1:' in told.err, told


def test_a_spec_that_has_errors_there_is_told(ci):
    start(ci, {'clusters/a.yaml': spec('a') + 'color: red\n'})
    make(ci, {'clusters/a.yaml': spec('a')})
    told = ci.run('plan', 'clusters', *SINCE)
    assert 'the spec at origin/main cannot be read, so limits of its own do not count [trust.loosened]' in flat(told), told


def test_a_spec_that_moves_takes_its_limits_with_it(ci):
    """Its own, those of the folder where it was, and the state."""
    limits = 'budget: {hourly_usd: 1}\n'
    start(ci, {'.gitignore': '*.db\n', 'old/a.yaml': spec('a', extra='policy: {max_nodes: 3}\n'), 'old/b.yaml': spec('b'),
               'old/raygpu.yaml': limits + 'state: ../one.db\n', 'new/raygpu.yaml': 'state: ../two.db\n', 'new/c.yaml': spec('c')})
    ci.apply('old/a.yaml')
    ci.git('mv', 'old/a.yaml', 'new/c.yaml', '-f')
    save(ci)
    for words in (['new'], ['new', 'old'], ['.'], ['new/c.yaml']):
        for more in ([], ['--ref', 'topic']):
            told = ci.run('plan', *words, *SINCE, *more, code=None)
            assert 'No changes.' in told.out and 'state is not as at origin/main' in flat(told), (words, told)
    make(ci, {'new/c.yaml': spec('a', pools={'serve': 9})})
    save(ci)
    for more in ([], ['--ref', 'topic']):
        told = ci.run('plan', 'new', *SINCE, *more, code=9)
        assert 'policy.max-nodes' in told.err and 'origin/main:old/a.yaml:' in told.err, told
        assert 'policy.max_nodes is looser than at origin/main' in flat(told), told
        assert 'budget.hourly_usd is looser than at origin/main' in flat(told), told
    make(ci, {'new/c.yaml': spec('a', pools={'serve': 2})})
    save(ci)
    for more in ([], ['--ref', 'topic']):
        told = ci.run('plan', 'new', *SINCE, *more, code=9)
        assert 'budget.exceeded' in told.err and 'origin/main:old/raygpu.yaml:1:' in told.err, told
    # one that stays has those of its place, whatever moves beside it
    make(ci, {'old/b.yaml': spec('b', pools={'serve': 9})})
    told = ci.run('plan', 'old', *SINCE, code=9)
    assert 'budget.exceeded' in told.err and 'max-nodes' not in told.err, told


# ---- files


def test_git_s_own_files_are_not_read(ci):
    start(ci, {'a.yaml': spec('a')})
    ci.git('config', 'remote.origin.url', 'https://x:a-secret@git.example/x')
    make(ci, {'clusters/b.yaml': 'cluster: b\nextends: ../.git/config\n'})
    os.symlink('../.git/config', ci.path('clusters/c.yaml'))
    for name in ('clusters/b.yaml', 'clusters/c.yaml'):
        told = ci.run('validate', name, code=4)
        assert 'file.outside-tree' in told.err and 'is a file of git itself' in flat(told), told
        assert 'repositoryformatversion' not in told.err and '[core]' not in told.err


def test_a_name_of_a_file_forges_no_line(ci):
    name = 'clusters/a\nError: all is lost\n.yaml'
    make(ci, {name: spec('a'), 'clusters/b.yaml': spec('b')})
    told = ci.run('plan', 'clusters')
    assert '\nError: all is lost' not in told.err and '[1/2] a (clusters/a' in told.err, told
    assert '\nError' not in ci.run('validate', 'clusters').out


def test_a_spec_selects_no_context_of_a_kubeconfig(ci):
    text = spec('a').replace('{name: aws, region: us-east-1}', '{name: kubernetes, context: admin}')
    told = ci.run('plan', ci.write('a.yaml', text), code=9)
    assert 'provider.context "admin" is not allowed' in flat(told) and 'a.yaml:3:' in told.err, told


def test_the_thief_is_there(thief):
    """The attacks above find nobody only because nobody goes there."""
    url, came = thief
    with socket.create_connection(('127.0.0.1', int(url.rsplit(':', 1)[1]))) as connection:
        connection.sendall(b'GET / HTTP/1.0\r\n\r\n')
        connection.recv(100)
    assert len(came) == 1

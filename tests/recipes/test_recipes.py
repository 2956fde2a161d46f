"""The recipes of src/HACKING.md, each carried out: it changes the places that its section names and no others. With --long, or
when they have changed (RAYGPU_RECIPES=1), each is done in a clean, built copy of the tree, which builds and passes its
tests. The built copy stays in the folder of the tests' builds, so a second run compiles only what changed."""
import filecmp
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import recipes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join(os.environ.get('RAYGPU_TEST_DIR', f'/tmp/raygpu-test-{os.getuid()}'), 'recipes')
BUILT = os.environ.get('RAYGPU_LONG') or os.environ.get('RAYGPU_RECIPES')
TESTS = ('test_', 'corpus_', 'odd_', 'bench')  # targets that only tests need
# name: (heading in HACKING.md, unit tests, whole-program tests)
DONE = {
    'attribute': ('An AWS attribute', ['aws_create'], ['tests/cli/apply/test_story.py', 'tests/lint/test_documents.py']),
    'gcp_attribute': ('A Compute Engine attribute', ['gcp_calls'], ['tests/cli/gcp/test_gcp_story.py', 'tests/lint/test_documents.py',
                                                                    'tests/lint/test_lint.py']),
    'pool_setting': ('A pool setting of a module', [], ['tests/cli/aws/test_monitoring.py', 'tests/lint/test_documents.py', 'tests/lint/test_lint.py']),
    'field': ('A field of the spec', ['spec_golden', 'fit'], ['tests/lint']),
    'code': ('A diagnostic code', ['spec_golden'], ['tests/lint']),
    'command': ('A command', [], ['tests/cli/command/test_hello.py', 'tests/cli/command/test_completion.py', 'tests/lint']),
    'format': ('A report format', [], ['tests/cli/report/test_lines.py', 'tests/lint',
                                       'tests/quickstart/test_quickstart.py::test_man_page_and_help_tell_the_same_formats']),
    'provider': ('A provider', [], ['tests/lint']),
    'store': ('A store', [], [f'tests/cli/state/test_every_store.py::{name}[minio]' for name in (
        'test_two_machines_share_it', 'test_the_lock_names_its_holder_and_ends_with_it', 'test_readers_see_whole_transactions',
        'test_a_lost_answer_after_the_commit')] + ['tests/lint']),
}


def run(*words, cwd, **env):
    result = subprocess.run(words, cwd=cwd, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False)
    assert result.returncode == 0, f'{words}:\n{result.stdout[-6000:]}'
    return result.stdout


def git(tree, *words):
    return run('git', '-c', 'user.name=recipe', '-c', 'user.email=recipe@example.org', *words, cwd=tree.folder)


def renew(folder):
    """Synchronizes `folder` with the files of this tree. Only what differs is written, with a new time, so that
    ninja compiles it again."""
    names = set(filter(None, run('git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard',
                                 cwd=ROOT).split('\0')))
    for name in names:
        source, copy = os.path.join(ROOT, name), os.path.join(folder, name)
        if not os.path.exists(source):
            continue
        if not os.path.exists(copy) or not filecmp.cmp(source, copy, shallow=False):
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(source, copy)
            shutil.copymode(source, copy)
    for place, folders, files in os.walk(folder):
        if place == folder:
            folders[:] = [name for name in folders if name not in ('build', '.git')]
        for name in files:
            path = os.path.join(place, name)
            if os.path.relpath(path, folder) not in names:
                os.unlink(path)


def build(tree):
    """All but tests, which `meson test` builds when it runs them."""
    run('ninja', '-C', 'build', 'build.ninja', cwd=tree.folder)
    targets = json.loads(run('meson', 'introspect', '--targets', 'build', cwd=tree.folder))
    run('ninja', '-C', 'build', *(os.path.relpath(path, tree.folder + '/build') for one in targets
                                  if one['build_by_default'] and not one['name'].startswith(TESTS)
                                  for path in one['filename']), cwd=tree.folder)


@pytest.fixture(scope='module')
def good():
    """The built copy; a concurrent run waits."""
    os.makedirs(WORK, exist_ok=True)
    with open(os.path.join(WORK, 'lock'), 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder, kept = os.path.join(WORK, 'tree'), os.path.join(WORK, 'built')
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.exists(kept):
            os.rename(kept, folder)
        os.makedirs(folder, exist_ok=True)
        renew(folder)
        shutil.rmtree(os.path.join(folder, '.git'), ignore_errors=True)
        copy = recipes.Tree(folder)
        git(copy, 'init', '-q')
        git(copy, 'add', '-A')
        git(copy, 'commit', '-qm', 'as it is')
        if not os.path.exists(os.path.join(folder, 'build/build.ninja')):
            run('meson', 'setup', 'build', cwd=folder)  # with the flags of tests/run.sh: the objects are in its cache
        build(copy)
        run('cp', '-a', folder, kept, cwd=WORK)
        yield copy, kept
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tree(good):
    """At the same path each time: a build folder cannot be moved."""
    copy, kept = good
    shutil.rmtree(copy.folder)
    run('cp', '-a', kept, copy.folder, cwd=WORK)
    return copy


def places(heading):
    """({paths that the section names}, {those that only some cases need})."""
    with open(os.path.join(ROOT, 'src/HACKING.md'), encoding='utf-8') as f:
        section = f.read().split(f'\n## {heading}\n')[1].split('\n## ')[0]
    rows = re.findall(r'^\d+\. `([^`]+)`(.*)$', section, re.M)
    assert rows
    sometimes = {path for path, text in rows if '(only ' in text}
    return {path for path, _ in rows} - sometimes, sometimes


def as_told(path):
    path = re.sub(r'providers/recipe/.*', 'providers/NAME/', path)
    path = re.sub(r'golden/spec/[a-z0-9-]+\.', 'golden/spec/NAME.', path)
    return re.sub(r'\b(test_)?(hello|lines|monitoring)(?=\.)', r'\1NAME', path)


def carry_out(name, tree):
    """The files that it changed."""
    getattr(recipes, name)(tree)
    git(tree, 'add', '-A')
    changed = git(tree, 'diff', '--cached', '--name-only', 'HEAD').split()
    run('clang-format', '-i', *(path for path in changed if path.endswith(('.c', '.h'))), cwd=tree.folder)
    git(tree, 'add', '-A')
    return changed


def check(name, tree):
    """It builds and passes its tests."""
    _, units, programs = DONE[name]
    build(tree)
    if units:
        run('meson', 'test', '-C', 'build', *units, cwd=tree.folder)
    run(sys.executable, '-m', 'pytest', '-qx', '-p', 'no:cacheprovider', *programs, cwd=tree.folder,
        RAYGPU_BUILD=tree.folder + '/build')
    if name == 'provider':
        told = run('build/cmd/raygpu/raygpu', 'providers', 'check', tree.folder + '/build/providers/recipe.so',
                   cwd=tree.folder)
        assert ' 0 failed' in told


@pytest.mark.parametrize('name', DONE)
def test_recipe_changes_the_places_of_its_section(name):
    draft = recipes.Draft(ROOT)
    getattr(recipes, name)(draft)
    touched = {as_told(path) for path in draft.texts}
    always, sometimes = places(DONE[name][0])
    assert always <= touched <= always | sometimes


@pytest.mark.skipif(not BUILT, reason='minutes: with --long, or after a change of the recipes')
@pytest.mark.parametrize('name', DONE)
def test_recipe_builds_and_passes_its_tests(name, tree):
    carry_out(name, tree)
    git(tree, 'commit', '-qm', name)
    check(name, tree)


@pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='minutes: with --long')
@pytest.mark.parametrize('name', ['attribute', 'gcp_attribute', 'pool_setting'])
def test_a_place_that_is_forgotten_is_noticed(name, tree):
    """The compiler, lint or a test of the recipe fails without any one of the changes."""
    changed = carry_out(name, tree)
    git(tree, 'commit', '-qm', name)
    check(name, tree)
    missed = []
    for path in changed:
        if '/test_' in path:
            continue
        git(tree, 'checkout', '-q', 'HEAD~1', '--', path)
        try:
            check(name, tree)
            missed.append(path)
        except AssertionError:
            pass
        git(tree, 'checkout', '-q', 'HEAD', '--', path)
    assert not missed


def test_every_place_that_a_recipe_names_is_there():
    for heading, _, _ in DONE.values():
        for path in set.union(*places(heading)):
            assert 'NAME' in path or os.path.exists(os.path.join(ROOT, path)), path

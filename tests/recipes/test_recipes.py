"""The recipes of src/HACKING.md, each done in a copy of the tree: it touches the places that its
section names and no others, and the tree builds and passes its tests (tests/run.sh --long)."""
import os
import re
import shutil
import subprocess
import sys

import pytest
import recipes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# name: (heading in HACKING.md, unit tests, whole-program tests)
DONE = {
    'attribute': ('An AWS attribute', ['aws_calls'], ['tests/cli/test_story.py']),
    'code': ('A diagnostic code', ['spec_golden'], ['tests/lint']),
    'command': ('A command', [], ['tests/cli/test_hello.py', 'tests/cli/test_completion.py', 'tests/lint']),
    'provider': ('A provider', [], ['tests/lint']),
}


def run(*words, cwd, **env):
    result = subprocess.run(words, cwd=cwd, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, check=False)
    assert result.returncode == 0, f'{words}:\n{result.stdout[-6000:]}'
    return result.stdout


def git(tree, *words):
    return run('git', '-c', 'user.name=recipe', '-c', 'user.email=recipe@example.org', *words, cwd=tree.folder)


@pytest.fixture(scope='module')
def tree(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp('tree'))
    names = run('git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard', cwd=ROOT).split('\0')
    for name in filter(None, names):
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        shutil.copy2(os.path.join(ROOT, name), os.path.join(folder, name))
    copy = recipes.Tree(folder)
    git(copy, 'init', '-q')
    git(copy, 'add', '-A')
    git(copy, 'commit', '-qm', 'as it is')
    run('meson', 'setup', 'build', cwd=folder)
    return copy


def places(heading):
    """({paths that the section tells to touch}, {those that only some cases need})."""
    with open(os.path.join(ROOT, 'src/HACKING.md'), encoding='utf-8') as f:
        section = f.read().split(f'\n## {heading}\n')[1].split('\n## ')[0]
    rows = re.findall(r'^\d+\. `([^`]+)`(.*)$', section, re.M)
    assert rows
    sometimes = {path for path, text in rows if '(only ' in text}
    return {path for path, _ in rows} - sometimes, sometimes


def as_told(path):
    return re.sub(r'providers/recipe/.*', 'providers/NAME/', path).replace('hello', 'NAME').replace(
        'golden/spec/reserved-cluster', 'golden/spec/NAME')


@pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='with --long')
@pytest.mark.parametrize('name', DONE)
def test_recipe(name, tree):
    heading, units, programs = DONE[name]
    getattr(recipes, name)(tree)
    git(tree, 'add', '-A')
    changed = git(tree, 'diff', '--cached', '--name-only', 'HEAD').split()
    run('clang-format', '-i', *(path for path in changed if path.endswith(('.c', '.h'))), cwd=tree.folder)
    git(tree, 'add', '-A')
    touched = {as_told(path) for path in changed}
    always, sometimes = places(heading)
    assert always <= touched <= always | sometimes
    git(tree, 'commit', '-qm', name)
    run('ninja', '-C', 'build', cwd=tree.folder)
    if units:
        run('meson', 'test', '-C', 'build', '--no-rebuild', *units, cwd=tree.folder)
    run(sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *programs, cwd=tree.folder,
        RAYGPU_BUILD=tree.folder + '/build')
    if name == 'provider':
        told = run('build/cmd/raygpu/raygpu', 'providers', 'check', tree.folder + '/build/providers/recipe.so',
                   cwd=tree.folder)
        assert ' 0 failed' in told


def test_every_place_that_a_recipe_names_is_there():
    for heading, _, _ in DONE.values():
        for path in set.union(*places(heading)):
            assert 'NAME' in path or os.path.exists(os.path.join(ROOT, path)), path

"""The mutator itself: which changes it draws, that they compile, and that it distinguishes a killed mutant from
a survivor."""
import json
import os
import re
import shlex
import subprocess
import time

import mutate
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUN = os.path.join(HERE, 'run')
FOLDERS = ['src/diff', 'src/plan', 'providers/aws']

SOURCE = '''#include "max.h"
/* a < b && c: a comment is no code */
#define TWICE(x) ((x) + (x))
static const int start[] = {1, 2};

int max(int a, int b)
{
\tconst char *text = "a == b || !c"; /* 1 + 1 */
\tchar room[8] = {0};
\tif (a > b && !room[0])
\t\treturn a + 1;
\tif (text)
\t\tnote(text);
\tg_free(room);
\treturn -1;
}
'''


def test_changes_only_code_inside_functions():
    found = [(m.line, m.new) for m in mutate.of_text('max.c', SOURCE)]
    assert found == [
        (10, 'if (!(a > b && !room[0]))'), (10, 'if (a >= b && !room[0])'), (10, 'if (a <= b && !room[0])'),
        (10, 'if (a > b || !room[0])'), (10, 'if (a > b && room[0])'), (10, 'if (a > b && !room[1])'),
        (11, 'return a - 1;'), (11, 'return a + 0;'), (12, 'if (!(text))'), (13, ';')]


def test_a_mutant_is_applied_to_its_line_even_when_it_moved():
    mutant = mutate.parse('/', f'{os.path.relpath(__file__, "/")} 1 import json -> import jason')
    assert mutate.apply('a\n  x = 1;\nb\n  x = 1;\n', mutant._replace(line=4, old='x = 1;', new='x = 2;')) == \
        'a\n  x = 1;\nb\n  x = 2;\n'
    assert mutate.apply('x = 1;', mutant._replace(line=9, old='x = 1;', new='x = 2;')) == 'x = 2;'
    with pytest.raises(LookupError):
        mutate.apply('y', mutant)


def test_a_seed_draws_the_same_again_and_another_seed_others():
    first, again, other = (mutate.draw(ROOT, FOLDERS, seed)[:40] for seed in ('a', 'a', 'b'))
    assert first == again and len(set(first)) == 40 and set(first) != set(other)
    for mutant in first:
        line = mutate.read(ROOT, mutant.file).split('\n')[mutant.line - 1].strip()
        assert line == mutant.old != mutant.new
        assert mutate.parse(ROOT, mutate.show(mutant)) == mutant


def test_mutants_compile(tmp_path):
    build = os.environ['RAYGPU_BUILD']
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        commands = {os.path.relpath(os.path.join(row['directory'], row['file']), ROOT): row for row in json.load(f)}
    broken = []
    for mutant in mutate.draw(ROOT, FOLDERS, 'compile')[:20]:
        row, path = commands[mutant.file], tmp_path / 'mutant.c'
        path.write_text(mutate.apply(mutate.read(ROOT, mutant.file), mutant), encoding='utf-8')
        words = shlex.split(row['command'])
        words = words[:words.index('-MD')] + ['-w', '-fsyntax-only', str(path)]
        if subprocess.run(words, cwd=row['directory'], check=False, capture_output=True).returncode:
            broken.append(mutate.show(mutant))
    assert len(broken) <= 1, broken


def test_the_table_names_lines_and_tests_that_are_there():
    """If a line of the table has changed, delete its entry; if only its test has moved, update the name."""
    entries = mutate.table(ROOT, mutate.read(ROOT, 'tests/mutation/mutants.txt'))
    assert len(entries) == len({mutant for mutant, _, _ in entries}) > 3
    units = {test['name'] for test in json.loads(subprocess.run(
        ['meson', 'introspect', '--tests', os.environ['RAYGPU_BUILD']], check=True, capture_output=True).stdout)}
    for mutant, fate, words in entries:
        if fate == 'equivalent':
            assert len(words) > 20, f'{mutate.show(mutant)}: why?'
        elif words.startswith('unit '):
            assert words[5:] in units, words
        else:
            path, name = words.split('::')
            assert re.search(rf'^def {re.escape(name.split("[")[0])}\(', mutate.read(ROOT, path), re.M), words


@pytest.mark.parametrize('block', [
    'max.c 10 if (a > b && !room[0]) -> if (a)\n    equivalent: no', 'mutate.py import os -> import so\n    because: no',
    'mutate.py import nothing -> import os\n    killed by: unit x', 'mutate.py return None -> return 1\n    killed by: unit x'])
def test_stale_entries_are_errors(block):
    with pytest.raises(LookupError):
        mutate.table(HERE, block)


# --- a tree of one function and one test ------------------------------------------------------

MESON = '''project('tiny', 'c')
lib = static_library('tiny', 'src/tiny/tiny.c')
test('tiny_max', executable('test_tiny', 'test_tiny.c', link_with: lib))
'''
TINY = '''int max(int a, int b)
{
\tif (a > b)
\t\treturn a;
\treturn b;
}

int sign(int a)
{
\treturn a < 0;
}

int wait_for(int a)
{
\twhile (a != 3)
\t\ta = a % 7 + 1;
\treturn a;
}
'''
TEST = '''int max(int a, int b), sign(int a), wait_for(int a);
int main(void)
{
\treturn max(1, 2) != 2 || max(2, 1) != 2 || sign(-1) != 1 || wait_for(3) != 3;
}
'''


@pytest.fixture(scope='module')
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp('tiny')
    (folder / 'src/tiny').mkdir(parents=True)
    for name, text in (('meson.build', MESON), ('src/tiny/tiny.c', TINY), ('test_tiny.c', TEST)):
        (folder / name).write_text(text, encoding='utf-8')
    subprocess.run(['git', 'init', '-q'], cwd=folder, check=True)
    return folder


def command(tiny):
    return [RUN, '--tree', str(tiny), '--work', str(tiny / '.git/work'), '--folders', 'src/tiny', '--jobs', '1']


def run(tiny, *words):
    return subprocess.run([*command(tiny), '--patience', '1', *words], capture_output=True, text=True, check=False)


def marked(pid):
    """Processes that a run has started."""
    found = []
    for number in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{number}/environ', 'rb') as f:
                found += [number] if f'RAYGPU_MUTANT={pid}-'.encode() in f.read() else []
        except OSError:
            pass
    return found


def test_tells_killed_from_survivors_and_leaves_the_tree_alone(tiny):
    done = run(tiny, '--mutant', 'src/tiny/tiny.c 3 if (a > b) -> if (a <= b)',
               '--mutant', 'src/tiny/tiny.c 10 return a < 0; -> return a <= 0;',
               '--mutant', 'src/tiny/tiny.c 5 return b; -> return b',
               '--mutant', 'src/tiny/tiny.c 5 return b; -> return b + 0;',
               '--mutant', 'src/tiny/tiny.c 15 while (a != 3) -> while (a != 9)')
    assert [line.split(':')[0] for line in done.stdout.splitlines()] == [
        'killed by unit tiny_max', 'survived', 'does not compile', 'is the same code',
        'killed by unit tiny_max (time-out)'], done.stdout + done.stderr
    assert done.returncode == 1
    assert (tiny / 'src/tiny/tiny.c').read_text(encoding='utf-8') == TINY


def test_an_interrupt_leaves_nothing_running(tiny):
    """The mutant's test hangs; its process has a mark in its environment."""
    process = subprocess.Popen([*command(tiny), '--patience', '60', '--mutant',
                                'src/tiny/tiny.c 15 while (a != 3) -> while (a != 9)'], stdout=subprocess.DEVNULL)
    limit = time.monotonic() + 120
    while not (left := marked(process.pid)):
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.05)
    process.terminate()
    assert process.wait(30) == 130
    assert left and not marked(process.pid)


def test_a_run_prints_its_survivors_and_fails_below_the_floor(tiny):
    once, again = (run(tiny, '--seed', '7', '-n', '5', '--floor', floor) for floor in ('0', '1'))
    told = once.stdout.split('\n\n')[-1]
    assert re.match(r'5 mutants, [1-5] survived, \d+% killed; seed 7\n', told), once.stdout + once.stderr
    assert all(line.startswith('src/tiny/tiny.c ') for line in told.splitlines()[1:])
    assert once.returncode == 0 and again.returncode == 1
    assert again.stdout.split('\n\n')[-1] == told + 'less than 100% were killed\n'

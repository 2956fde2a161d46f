"""cppcheck and clang-tidy find nothing, with the settings beside this file and in .clang-tidy.

RAYGPU_FILES names the files to check, all without it. A file in which clang-tidy found nothing is not read again while it,
what it includes, its compile command, the settings and clang-tidy are the same: KEPT remembers this on a machine, clean.txt for new
ones, of which one file in SAMPLE is still read, others after each commit. A file that is in neither is read.

    tests/analysis/test_analysis.py --write     # reads what KEPT does not know, and writes clean.txt

RAYGPU_LONG=1 (tests/run.sh --long) adds clang's
path-sensitive analyzer, file by file. Last run 2026-11-21 at commit 568f851, clang 14: 342 files, 710 s of
CPU; ten findings were fixed, four of them reachable or nearly so (an empty `subnets` map, a report format
that nothing set, a plan's change without a resource, no GPU model of a name)."""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get('RAYGPU_BUILD', os.path.join(ROOT, 'build'))
# only the analyzer, because the other checks have already run; .clang-tidy has the options of its exclusions
TIME_LIMIT_S = 600  # per file, on a busy machine
# clang 14's analyzer does not know that g_autofree and g_autoptr free at the end of the scope. LeakSanitizer
# and valgrind find leaks.
LEAKS = re.compile(r"warning: Potential leak of memory pointed to by '[^']+' \[clang-analyzer-unix.Malloc\]")
FAST, PATHS = '-clang-analyzer-*', ('-*,clang-analyzer-*,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling,'
                              '-clang-analyzer-optin.performance.Padding')


@functools.cache
def commands():
    """{file below the root: its row of compile_commands.json}"""
    with open(os.path.join(BUILD, 'compile_commands.json'), encoding='utf-8') as f:
        return {os.path.relpath(os.path.join(row['directory'], row['file']), ROOT): row for row in json.load(f)}


def sources():
    """{file below the root: folder}: what the build compiles, each once."""
    return {name: '/'.join(name.split('/')[:2]) for name in sorted(commands())
            if name.endswith('.c') and name.startswith(('src/', 'cmd/', 'providers/', 'tests/'))}


FILES = sources()
ONLY = os.environ.get('RAYGPU_FILES', '').split()  # tests/run.sh --quick: the changed ones
if ONLY:
    FILES = {name: folder for name, folder in FILES.items() if name in ONLY}


CLEAN = pathlib.Path(HERE) / 'clean.txt'  # sums as those of KEPT, sorted
SAMPLE = 20
KEPT = pathlib.Path(os.environ.get('RAYGPU_TEST_DIR', f'/tmp/raygpu-test-{os.getuid()}')) / 'clean'


@functools.cache
def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


@functools.cache
def included():
    """{object: files that were read to compile it}, as ninja knows them of the last build."""
    said = subprocess.run(['ninja', '-C', BUILD, '-t', 'deps'], capture_output=True, text=True, check=True).stdout
    found, folder = {}, os.path.realpath(BUILD)  # tests/run.sh names a link
    for entry in said.split('\n\n'):
        first, *names = entry.strip().split('\n')
        if first.endswith('(VALID)'):
            found[first.split(': #deps')[0]] = [os.path.normpath(os.path.join(folder, name.strip())) for name in names]
    return found


@functools.cache
def settings():
    version = re.search(r'version \S+', subprocess.check_output(['clang-tidy', '--version'], text=True))[0]
    return version + digest(os.path.join(ROOT, '.clang-tidy'))


def anywhere(text):
    """The same in each checkout and build folder."""
    return text.replace(os.path.realpath(BUILD), 'build').replace(ROOT + '/', '').replace(ROOT, '.')


# Of optimization, debugging and sanitizers, which differ between the builds; clang-tidy says the same with and without.
BUILDS_OWN = re.compile(r' (-O\d|-g\d?|-f(no-)?sanitize\S*|-fno-omit-frame-pointer|-[DU]_FORTIFY_SOURCE\S*)(?= )')


def sum_of(checks, name):
    """Of all that clang-tidy sees of the file; None: not built, so nobody knows what it includes."""
    row = commands().get(name)
    read = row and included().get(row.get('output'))
    if not read:
        return None
    options = BUILDS_OWN.sub('', anywhere(row['command'][row['command'].index(' -'):]))  # without the compiler
    read = [one for one in read if '/bits/' not in one]  # _FORTIFY_SOURCE adds some of the C library's
    what = [settings(), checks, options, *sorted(f'{anywhere(one)} {digest(one)}' for one in read)]
    return hashlib.sha256('\n'.join(what).encode()).hexdigest()[:24]


@functools.cache
def committed():
    """The sums in clean.txt; of none with --long, which reads all files."""
    return frozenset() if os.environ.get('RAYGPU_LONG') or not CLEAN.exists() else frozenset(CLEAN.read_text().split())


@functools.cache
def commit():
    return subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def is_sampled(name):
    return hashlib.sha256((commit() + name).encode()).digest()[0] % SAMPLE == 0


def is_known(name, of_it):
    return of_it and ((KEPT / of_it).exists() or (of_it in committed() and not is_sampled(name)))


def tidy(checks, *files):
    """clang-tidy's findings in these files; a few at a time, on all cores."""
    KEPT.mkdir(parents=True, exist_ok=True)
    sums = {name: sum_of(checks, name) for name in files}
    files = [name for name in files if not is_known(name, sums[name])]

    def one(some):
        done = subprocess.run(['clang-tidy', '-p', BUILD, '--quiet', f'--checks={checks}', *some], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        for name in some:
            if done.returncode == 0 and not done.stdout.strip() and sums[name]:
                (KEPT / sums[name]).touch()
        return done.stdout
    batches = [files[i:i + 4] for i in range(0, len(files), 4)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return ''.join(pool.map(one, batches)).strip()


def analyzed(name):
    """What clang's analyzer finds in a file, including notes, except what LEAKS excuses."""
    try:
        said = subprocess.run(['clang-tidy', '-p', BUILD, '--quiet', f'--checks={PATHS}', name], cwd=ROOT,
                              capture_output=True, text=True, check=False, timeout=TIME_LIMIT_S).stdout
    except subprocess.TimeoutExpired:
        return f'{name}: the analyzer takes longer than {TIME_LIMIT_S} s'
    findings = re.split(r'^(?=\S+:\d+:\d+: warning: )', said, flags=re.M)
    return ''.join(one for one in findings if one.strip() and not LEAKS.search(one)).strip()


def cppcheck(*paths, cwd=ROOT):
    # cppcheck itself compares what it keeps with the files, but not with these two
    known = ''.join(digest(os.path.join(HERE, name)) for name in ('macros.cfg', 'suppressed.txt'))
    kept = KEPT.parent / f'cppcheck-{hashlib.sha256(known.encode()).hexdigest()[:12]}'
    kept.mkdir(parents=True, exist_ok=True)
    libraries = [f'--library={name}' for name in ('posix', 'gnu', 'gtk', 'sqlite3', 'libcurl', 'zlib',
                                                  os.path.join(HERE, 'macros.cfg'))]
    return subprocess.run(
        ['cppcheck', '--quiet', '--std=c11', f'--cppcheck-build-dir={kept}', '-D_GNU_SOURCE', '-Isrc',
         '-Isrc/abi', '-Iproviders',
         *libraries, '--enable=warning,style,performance,portability', f'-j{os.cpu_count()}',
         f'--suppressions-list={os.path.join(HERE, "suppressed.txt")}',
         '--template={file}:{line}: {message} [{id}]', *paths],
        cwd=cwd, capture_output=True, text=True, check=False).stderr.strip()


@pytest.mark.parametrize('folder', sorted(set(FILES.values())))
def test_clang_tidy_finds_nothing(folder):
    said = tidy(FAST, *(name for name, place in FILES.items() if place == folder))
    assert not said, said


@pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='with --long')
# Tests are covered by sanitizers and valgrind; this checks the shipped code.
@pytest.mark.parametrize('name', [name for name in FILES if not name.startswith('tests/')])
def test_clangs_analyzer_finds_nothing(name):
    said = analyzed(name)
    assert not said, said


def test_cppcheck_finds_nothing():
    said = cppcheck(*(ONLY or ('cmd', 'src', 'providers', 'tests')))
    assert not said, said


# The programs above must find these faults, otherwise they check nothing.
FAULTS = '''int fault(int n);
int fault(int n)
{
	int table[4] = {0}, unused = 3;
	return n > 7 || n > 7 ? table[7] : table[0];
}
'''


def test_a_fault_is_found(tmp_path):
    (tmp_path / 'fault.c').write_text(FAULTS)
    assert '[arrayIndexOutOfBounds]' in cppcheck('fault.c', cwd=tmp_path)
    said = subprocess.run(['clang-tidy', '--quiet', f'--config-file={ROOT}/.clang-tidy', f'--checks={FAST}',
                           str(tmp_path / 'fault.c'), '--', '-Wall'], capture_output=True, text=True, check=False).stdout
    assert '[misc-redundant-expression]' in said and '[clang-diagnostic-unused-variable]' in said


PATH_FAULT = '''#include <stdlib.h>
#include <string.h>
size_t fault(int n);
size_t fault(int n)
{
	char *text = n > 3 ? malloc(1) : NULL;
	return n > 2 ? strlen(text) : 0;
}
'''


@pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='with --long')
def test_a_fault_on_a_path_is_found(tmp_path, monkeypatch):
    (tmp_path / 'fault.c').write_text(PATH_FAULT)
    rows = [{'directory': str(tmp_path), 'file': 'fault.c', 'arguments': ['cc', '-c', 'fault.c']}]
    (tmp_path / 'compile_commands.json').write_text(json.dumps(rows))
    monkeypatch.setattr(sys.modules[__name__], 'BUILD', str(tmp_path))
    said = analyzed(str(tmp_path / 'fault.c'))
    assert '[clang-analyzer-core.NonNullParamChecker]' in said and 'unix.Malloc' not in said


NINJA = '''rule cc
  command = cc -Wall -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
build part.o: cc part.c
'''


def test_a_file_is_read_again_after_a_change_of_what_it_includes(tmp_path, monkeypatch):
    for name, value in (('BUILD', str(tmp_path)), ('ROOT', str(tmp_path)), ('KEPT', tmp_path / 'clean')):
        monkeypatch.setattr(sys.modules[__name__], name, value)
    (tmp_path / '.clang-tidy').write_text(pathlib.Path(HERE, '../../.clang-tidy').read_text())
    (tmp_path / 'build.ninja').write_text(NINJA)
    (tmp_path / 'part.c').write_text('#include "part.h"\nint part(int n);\nint part(int n)\n{\n\tVARIABLE\n\treturn n;\n}\n')

    def found(variable):
        (tmp_path / 'part.h').write_text(f'#define VARIABLE {variable}\n')
        subprocess.run(['ninja', '-C', str(tmp_path)], check=True, capture_output=True)
        (tmp_path / 'compile_commands.json').write_text(subprocess.check_output(['ninja', '-C', str(tmp_path), '-t', 'compdb'], text=True))
        for one in (digest, included, commands, settings):
            one.cache_clear()
        return tidy(FAST, 'part.c'), len(list((tmp_path / 'clean').iterdir()))

    try:
        assert found('') == ('', 1) and found('') == ('', 1)
        said, kept = found('int unused = n;')
        assert '[clang-diagnostic-unused-variable]' in said and kept == 1
        assert found('n++;') == ('', 2)
    finally:
        for one in (digest, included, commands, settings):
            one.cache_clear()


def test_what_is_committed_as_clean_is_not_read_again_but_for_a_sample(tmp_path, monkeypatch):
    of_it = sum_of(FAST, next(iter(FILES)))
    for name, value in (('KEPT', tmp_path), ('CLEAN', tmp_path / 'clean.txt')):
        monkeypatch.setattr(sys.modules[__name__], name, value)
    monkeypatch.delenv('RAYGPU_LONG', raising=False)
    names = [f'src/{i}.c' for i in range(1000)]
    try:
        committed.cache_clear()
        assert of_it and not any(is_known(name, of_it) for name in names)
        (tmp_path / 'clean.txt').write_text(of_it + '\n')
        committed.cache_clear()
        assert 900 < sum(is_known(name, of_it) for name in names) < 990
        assert not any(is_known(name, of_it[::-1]) for name in names)
    finally:
        committed.cache_clear()


def write():
    """clean.txt of this tree, without sums of other trees."""
    globals()['committed'] = frozenset
    said = tidy(FAST, *FILES)
    if said:
        sys.exit(said)
    CLEAN.write_text(''.join(sorted(f'{sum_of(FAST, name)}\n' for name in FILES if sum_of(FAST, name))))


if __name__ == '__main__':
    if sys.argv[1:] != ['--write']:
        sys.exit(f'usage: {sys.argv[0]} --write')
    write()

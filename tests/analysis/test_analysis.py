"""cppcheck and clang-tidy find nothing, with the settings beside this file and in .clang-tidy.

RAYGPU_FILES names the files to check, all without it. RAYGPU_LONG=1 (tests/run.sh --long) adds clang's
path-sensitive analyzer, file by file. Last run 2026-11-21 at commit 568f851, clang 14: 342 files, 710 s of
CPU; ten findings were fixed, four of them reachable or nearly so (an empty `subnets` map, a report format
that nothing set, a plan's change without a resource, no GPU model of a name)."""
import concurrent.futures
import json
import os
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


def sources():
    """{file below the root: folder}: what the build compiles, each once."""
    with open(os.path.join(BUILD, 'compile_commands.json'), encoding='utf-8') as f:
        rows = json.load(f)
    found = {os.path.relpath(os.path.join(row['directory'], row['file']), ROOT) for row in rows}
    return {name: '/'.join(name.split('/')[:2]) for name in sorted(found)
            if name.endswith('.c') and name.startswith(('src/', 'cmd/', 'providers/', 'tests/'))}


FILES = sources()
ONLY = os.environ.get('RAYGPU_FILES', '').split()  # tests/run.sh --quick: the changed ones
if ONLY:
    FILES = {name: folder for name, folder in FILES.items() if name in ONLY}


def tidy(checks, *files):
    """clang-tidy's findings in these files; a few at a time, on all cores."""
    def one(some):
        return subprocess.run(['clang-tidy', '-p', BUILD, '--quiet', f'--checks={checks}', *some], cwd=ROOT,
                              capture_output=True, text=True, check=False).stdout
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
    kept = os.path.join(BUILD, 'cppcheck')
    os.makedirs(kept, exist_ok=True)
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

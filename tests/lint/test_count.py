"""The verdict of a run (tests/count.py), on results that pytest wrote: what failed counts, what passed when it was run once more, alone, is
unsteady, and a sanitizer's report is a failure whatever comes after it."""
import json
import os
import subprocess
import sys

import pytest
import rules

COUNT = os.path.join(rules.ROOT, 'tests/count.py')
PLANTED = '''import os
import pytest


def first_time(name):
    there = os.path.exists(name)
    open(name, 'w').close()
    return not there


class TestOf:
    @pytest.mark.parametrize('text', ['a b', '[x]', 'c/d::e'])
    def test_unsteady(self, text):
        assert not first_time('unsteady' + text.replace('/', '')), 'it came too late'


@pytest.fixture
def broken():
    yield
    assert not first_time('fixture')


def test_unsteady_fixture(broken):
    pass


def test_good():
    pass


@pytest.mark.skip(reason='no such cloud')
def test_skipped():
    pass
'''
RED = "def test_red():\n    assert 1 + 1 == 3, 'the sum is wrong'\n"
# pytest shows the source of a function that fails
WORD = "def test_word():\n    ' assert not Sanitizer or runtime error: '\n    assert not first_time('word')\n"
REPORT = "def test_report():\n    assert not first_time('report'), 'ERROR: AddressSanitizer: heap-use-after-free'\n"


class Run:
    def __init__(self, folder, text):
        self.folder, self.results = folder, folder / 'results'
        self.results.mkdir()
        (folder / 'test_planted.py').write_text(text, encoding='utf-8')
        self.test('py-x')
        (self.results / 'py-x.again').touch()

    def test(self, stage, *more):
        subprocess.run([sys.executable, '-m', 'pytest', '-q', '-o', f'cache_dir={self.results}/cache', f'--junitxml={self.results}/{stage}.xml',
                        *more, 'test_planted.py'], cwd=self.folder, check=False, capture_output=True)

    def count(self, *words):
        return subprocess.run([sys.executable, COUNT, *words, self.results], capture_output=True, text=True, check=False)

    def finish(self):
        """As tests/run.sh ends: (exit code, lines)."""
        for stage in self.count('--again').stdout.splitlines():
            self.test('again-' + stage, '--last-failed', '--last-failed-no-failures', 'none')
        done = self.count()
        return done.returncode, done.stdout.splitlines()


def test_what_passes_alone_is_unsteady(tmp_path):
    code, lines = Run(tmp_path, PLANTED).finish()
    assert code == 0 and lines[-1] == '5 passed, 0 failed, 1 skipped'
    unsteady = [line for line in lines if line.startswith('unsteady: py-x: ')]
    assert len(unsteady) == 4 and 'TestOf::test_unsteady[a b] (first: test_planted.py:14: AssertionError: it came too late)' in \
        ''.join(unsteady)
    assert any('skipped 1: no such cloud' in line for line in lines)


def test_what_fails_again_has_failed(tmp_path):
    code, lines = Run(tmp_path, PLANTED + RED).finish()
    assert code == 1 and lines[-1] == '5 passed, 1 failed, 1 skipped'
    assert lines[-2] == 'FAILED py-x: test_planted::test_red: test_planted.py:35: AssertionError: the sum is wrong'


def test_the_word_sanitizer_in_the_source_is_no_report(tmp_path):
    code, lines = Run(tmp_path, PLANTED.split('class ', 1)[0] + WORD).finish()
    assert code == 0 and lines[-1] == '1 passed, 0 failed, 0 skipped' and 'test_word' in lines[-2]


def test_a_sanitizers_report_is_a_failure(tmp_path):
    code, lines = Run(tmp_path, PLANTED + REPORT).finish()
    assert code == 1 and lines[-1] == '5 passed, 1 failed, 1 skipped' and 'AddressSanitizer' in lines[-2]


@pytest.mark.parametrize('why', ['many', 'broken', 'not again'])
def test_no_second_look(tmp_path, why):
    many = ''.join(RED.replace('red', f'red_{n}') for n in range(7)) if why == 'many' else ''
    run = Run(tmp_path, PLANTED + many)
    if why == 'broken':
        (run.results / 'broken-build.json').write_text(json.dumps(
            {'name': 'build', 'result': 'ERROR', 'returncode': 1, 'stdout': 'x.c:3:1: error: no such thing\nx.c:9:1: error: another', 'stderr': ''}), encoding='utf-8')
    elif why == 'not again':
        (run.results / 'py-x.again').unlink()
    assert run.count('--again').stdout == ''
    code, lines = run.finish()
    assert ('FAILED broken-build: build ended with ERROR (exit 1): x.c:3:1: error: no such thing' in lines) == (why == 'broken')
    assert code == 1 and lines[-1] == f"1 passed, {4 + 7 * (why == 'many') + (why == 'broken')} failed, 1 skipped"


def test_units_of_meson(tmp_path):
    results = tmp_path
    case = '<testcase name="1 /a/b" classname="raygpu.raygpu:unit / fit">{}</testcase>'
    suite = '<testsuites><testsuite name="s">{}<testcase name="raygpu:abi / layout" classname="raygpu"/></testsuite></testsuites>'
    row = {'name': 'raygpu:unit / fit', 'result': 'FAIL', 'returncode': 1, 'stdout': 'not ok 1 /a/b: 3 is not 4', 'stderr': ''}
    died = {'name': 'raygpu:unit / died', 'result': 'ERROR', 'returncode': -11, 'stdout': '', 'stderr': 'Segmentation fault'}
    (results / 'unit-x.xml').write_text(suite.format(case.format('<failure/>')), encoding='utf-8')
    (results / 'unit-x.json').write_text(json.dumps(row) + '\n' + json.dumps(died) + '\n', encoding='utf-8')
    (results / 'unit-x.again').touch()

    def count(*words):
        return subprocess.run([sys.executable, COUNT, *words, results], capture_output=True, text=True, check=False).stdout.splitlines()
    assert count('--again') == ['unit-x fit died']
    (results / 'again-unit-x.xml').write_text(suite.format(case.format('')), encoding='utf-8')
    (results / 'again-unit-x.json').write_text(json.dumps({**row, 'result': 'OK'}) + '\n' + json.dumps(died) + '\n', encoding='utf-8')
    lines = count()
    assert lines[-1] == '2 passed, 1 failed, 0 skipped' and 'unsteady: unit-x: raygpu.raygpu:unit / fit::1 /a/b (first: not ok 1' in lines[-3]
    assert 'raygpu:unit / died ended with ERROR (exit -11): Segmentation fault' in lines[-2]

"""What the compiler and the linker add against attacks, in the program and in its modules, as readelf and objdump show it."""
import json
import os
import platform
import re
import subprocess
from pathlib import Path

import pytest
from program import binary

BUILD = Path(binary()).resolve().parents[2]
X86 = platform.machine() == 'x86_64'


def options():
    file = BUILD / 'meson-info/intro-buildoptions.json'
    return {one['name']: one['value'] for one in json.loads(file.read_text())} if file.exists() else {}


pytestmark = pytest.mark.skipif(options().get('b_sanitize') != 'none' or options().get('optimization') in ('0', 'plain'),
                                reason='not a build like the one that is installed')


def installed():
    """The program, and the shared objects that it loads."""
    plan = json.loads((BUILD / 'meson-info/intro-installed.json').read_text())
    return sorted(Path(built) for built in plan if os.path.isabs(built) and (built.endswith('.so') or os.path.basename(built) == 'raygpu'))


def said(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, env={**os.environ, 'LC_ALL': 'C'}).stdout


def test_every_file_is_there():
    names = [file.name for file in installed()]
    assert {'raygpu', 'aws.so', 'gcp.so', 'kubernetes.so', 'raygpu-http.so', 'raygpu-postgres.so'} <= set(names), names


@pytest.mark.parametrize('file', installed() if options() else [], ids=lambda file: file.name)
def test_the_linker_hardens_it(file):
    dynamic, segments = said('readelf', '-dW', file), said('readelf', '-lW', file)
    assert 'GNU_RELRO' in segments, 'what the loader has filled in becomes read-only'
    assert re.search(r'FLAGS_1\).*\bNOW\b', dynamic), 'all of it, because nothing is bound later'
    assert re.search(r'GNU_STACK .* RW ', segments) and 'TEXTREL' not in dynamic
    if file.name == 'raygpu':
        assert re.search(r'FLAGS_1\).*\bPIE\b', dynamic)


@pytest.mark.parametrize('file', installed() if options() else [], ids=lambda file: file.name)
def test_the_compiler_protects_its_stack(file):
    assert '__stack_chk_fail' in said('readelf', '--dyn-syms', '-W', file)


def test_the_compiler_hardens_the_program():
    program = next(file for file in installed() if file.name == 'raygpu')
    symbols = said('readelf', '--dyn-syms', '-W', program)
    assert re.search(r'__(?!stack)\w+_chk@', symbols), '_FORTIFY_SOURCE, of which the modules have no use'
    if X86:  # a large frame is made a page at a time, and each page is touched
        code = said('objdump', '-d', '--no-show-raw-insn', program)
        assert re.search(r'sub +\$0x1000,%rsp\n.*\b(or|mov)[bwlq]? +\$0x0,.*\(%rsp\)', code), '-fstack-clash-protection'


@pytest.mark.skipif(not X86, reason='marks of x86')
def test_control_flow_is_protected_in_every_object():
    """The file that is linked has the mark only if all in it has it: the C library's start files of some distributions do not."""
    objects = [file for folder in ('cmd', 'src', 'providers') for file in sorted((BUILD / folder).rglob('*.o'))]
    marks = re.split(r'^File: (.*)$', said('readelf', '-nW', *objects), flags=re.M)[1:]
    without = [name for name, mark in zip(marks[::2], marks[1::2]) if 'IBT' not in mark or 'SHSTK' not in mark]
    assert len(marks) == 2 * len(objects) > 1000 and not without, without[:9]

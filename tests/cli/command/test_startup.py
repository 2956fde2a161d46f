"""What starting the program costs, in instructions as valgrind counts them: the same on every machine with these libraries, however busy
it is. A library that a command does not need adds millions: it belongs in a module that is loaded when it is needed."""
import re
import shutil
import subprocess

import pytest
from program import ROOT, binary
from test_hardening import options

pytestmark = pytest.mark.skipif(options().get('b_sanitize') != 'none' or options().get('modules') != 'shared' or
                                options().get('optimization') in ('0', 'plain') or not shutil.which('valgrind'),
                                reason='not a build like the one that is installed, or no valgrind')

LARGE = ('libcrypto', 'libxml2', 'libstdc++', 'libcurl', 'libgit2', 'libarchive', 'libpq')


def instructions(tmp_path, *command):
    done = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', binary(), *command],
                          env={'PATH': '/usr/bin:/bin', 'HOME': str(tmp_path)}, cwd=tmp_path, capture_output=True, text=True, check=True)
    return int(re.search(r'Collected : (\d+)', done.stderr).group(1))


@pytest.mark.parametrize('most, command', [
    (3_150_000, ('version',)),
    (3_890_000, ('-h',)),
    (24_450_000, ('validate', str(ROOT / 'examples/research.yaml'))),
], ids=['version', 'help', 'validate'])
def test_a_command_pays_only_for_what_it_needs(most, command, tmp_path):
    assert instructions(tmp_path, *command) <= most


def test_no_large_library_is_linked_in():
    linked = subprocess.run(['ldd', binary()], capture_output=True, text=True, check=True).stdout
    assert not [name for name in LARGE if name + '.so' in linked]

#!/usr/bin/env python3
"""What a change affects, for `tests/run.sh --quick`: compared with the merge base with main, including
uncommitted changes.

usage: tests/touched.py c      C files, for the analysis
       tests/touched.py cli    whole-program tests: the changed ones, the folders of TABLE, and always SMOKE"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SMOKE = ['tests/cli/apply/test_story.py']
# A file belongs to the first row that is a prefix of its path; the folders are those of tests/cli.
TABLE = [
    ('src/abi/', 'module'),
    ('src/provider/', 'module'),
    ('providers/aws/sim/', 'sim'),
    ('providers/aws/', 'aws'),
    ('providers/gcp/sim/', 'sim'),
    ('providers/gcp/', 'gcp'),
    ('providers/azure/', 'fit'),
    ('providers/kubernetes/', 'kube'),
    ('providers/common/', 'aws/test_aws_network.py aws/test_aws_preflight.py gcp/test_gcp_story.py gcp/test_gcp_failures.py module'),
    ('providers/ssh/', 'ssh'),
    ('providers/template/', 'module'),
    ('providers/', 'module'),
    ('tests/kube/', 'kube'),
    ('src/http/', 'apply/test_failures.py'),
    ('src/archive/', 'command'),
    ('src/git/', 'spec'),
    ('src/spec/', 'spec'),
    ('src/specs/', 'spec'),
    ('schemas/', 'spec'),
    ('src/catalog/', 'fit'),
    ('src/fit/', 'fit'),
    ('src/pack/', 'fit'),
    ('src/workloads/', 'fit'),
    ('src/boot/', 'boot'),
    ('src/remote/', 'state'),
    ('src/objects/', 'state'),
    ('src/state/', 'state'),
    ('src/transfer/', 'state'),
    ('src/seal/', 'state'),
    ('src/convert/', 'command'),
    ('cmd/raygpu/state/', 'state'),
    ('src/reach/', 'command'),
    ('src/refresh/', 'adopt'),
    ('src/diff/', 'adopt'),
    ('cmd/raygpu/clusters/import', 'adopt'),
    ('src/plan/', 'fit'),
    ('src/intent/', 'adopt apply'),
    ('src/apply/', 'apply'),
    ('src/resource/', 'apply'),
    ('src/ready/', 'ready'),
    ('src/render/', 'report'),
    ('src/pipeline/', 'adopt apply fit report'),
    ('src/adopt/', 'adopt state'),
    ('src/sim/', 'sim'),
    ('src/base/', 'command spec'),
    ('cmd/raygpu-sim/', 'sim'),
    ('cmd/raygpu/clusters/', 'apply report'),
    ('cmd/raygpu/offers/', 'fit'),
    ('cmd/raygpu/spec/', 'command spec'),
    ('cmd/raygpu/', 'command report'),
    ('man/', 'command'),
    ('README.md', 'command'),
    ('examples/ci/', 'ci'),
    ('.github/', 'ci'),
]


def git(*words):
    return subprocess.run(['git', *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split('\n')[:-1]


def base():
    """The commit that this branch left main at; without one, the last commit."""
    for main in ('origin/HEAD', 'origin/main', 'origin/master', 'main', 'master'):
        if found := git('merge-base', 'HEAD', main):
            return found[0]
    return 'HEAD'


def files():
    """Changed and still there."""
    found = {*git('diff', '--name-only', '--no-renames', base()), *git('ls-files', '--others', '--exclude-standard')}
    return sorted(path for path in found if os.path.exists(os.path.join(ROOT, path)))


def tests_of(paths):
    """Test files and folders of tests/cli, each once, none inside another."""
    wanted = set(SMOKE)
    for path in paths:
        if path.startswith('tests/cli/') and os.path.basename(path).startswith('test_'):
            wanted.add(path)
        names = next((names for prefix, names in TABLE if path.startswith(prefix)), '')
        wanted.update(f'tests/cli/{name}' for name in names.split())
    return sorted(one for one in wanted if not any(one.startswith(other + '/') for other in wanted))


if __name__ == '__main__':
    if sys.argv[1:] == ['c']:
        print(' '.join(path for path in files() if path.endswith('.c')))
    elif sys.argv[1:] == ['cli']:
        print(' '.join(tests_of(files())))
    else:
        sys.exit(__doc__)

#!/usr/bin/env python3
"""What a change affects: compared with the merge base with the published main, or with the commit before if that is where we are;
including uncommitted changes. And which whole-program tests run under ASan.

usage: tests/touched.py c                  C files, for the analysis
       tests/touched.py cli                whole-program tests: the changed ones, the folders of TABLE, and always SMOKE
       tests/touched.py changed PATH...    exit code 0 if a file changed whose path begins like one of these
       tests/touched.py sim                the simulator's tests, which run under ASan
       tests/touched.py rest               tests that the plain build leaves out: the simulator's; of those of COSTLY nine in ten, of the
                                           other whole-program tests every second, by commit; but none whose subject changed (COSTLY,
                                           TABLE), and with RAYGPU_LONG only the simulator's
       tests/touched.py asan               whole-program tests under ASan: CORE, and a tenth of those that are not costly, by commit; all
                                           but SLOW if RAYGPU_LONG is set; not the simulator's, which are another stage"""
import os
import subprocess
import sys
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SMOKE = ['tests/cli/apply/test_story.py']
# Under ASan in each run: together they cover 77 % of the lines of cmd/raygpu and src/pipeline that all whole-program tests cover, for a
# thirtieth of their processor time (2026-11-28, gcov; each next one added most lines for its time).
CORE = ['tests/cli/apply/test_inputs.py', 'tests/cli/command/test_debug_bundle.py', 'tests/cli/module/test_racks.py',
        'tests/cli/ready/test_hardware.py', 'tests/cli/fit/test_any_of.py', 'tests/cli/apply/test_story.py',
        'tests/cli/command/test_catalog_command.py', 'tests/cli/command/test_connect.py', 'tests/cli/spec/test_settings.py',
        'tests/cli/fit/test_offers.py', 'tests/cli/module/test_every_page.py', 'tests/cli/apply/test_reap.py',
        'tests/cli/command/test_doctor.py', 'tests/cli/report/test_failed_reports.py']
TURNS = 10
PLAIN_TURNS = 2
# Of tests/cli/sim: official clients, which ASan would only slow down.
CLIENTS = ('tests/cli/sim/test_aws_cli.py', 'tests/cli/sim/test_gce_gcloud.py')
# {tests that take much processor time: what they are about}. They run when that changes, and each in its turn, with --long all.
COSTLY = {
    'tests/cli/boot': 'src/boot/ providers/aws/boot/ providers/gcp/boot/',
    'tests/cli/ci': 'examples/ci/ .github/ src/render/',
    'tests/cli/sim/test_aws_cli.py tests/cli/aws/test_moto.py': 'providers/aws/ src/sim/',
    'tests/cli/sim/test_gce_gcloud.py tests/cli/gcp/test_gcp_described.py tests/cli/gcp/test_gcloud.py tests/cli/gcp/test_gcp_client.py':
        'providers/gcp/ src/sim/',
    'tests/cli/ssh/test_ssh_cuts.py tests/cli/ssh/test_ssh_faults.py': 'providers/ssh/ src/boot/ src/apply/',
    'tests/cli/state/test_gcs_clients.py tests/cli/state/test_s3.py tests/cli/state/test_every_store.py tests/cli/state/test_sealed.py '
    'tests/cli/state/test_state_pull.py tests/cli/state/test_state_move.py tests/cli/state/test_migrate.py '
    'tests/cli/state/test_state_damage.py tests/cli/state/test_process_limits.py':
        'src/remote/ src/objects/ src/state/ src/transfer/ src/seal/ cmd/raygpu/state/',
    'tests/hosts/test_placement.py': 'src/fit/ src/pack/ src/workloads/ src/render/fit/',
    'tests/hosts/test_ssh_ray.py tests/hosts/test_ssh_hosts.py': 'providers/ssh/ src/boot/',
}
# What shells, official clients, servers in Python and kill -9 make of raygpu, which ASan would only slow down; and start-up.
SLOW = ('tests/cli/aws/test_moto.py', 'tests/cli/boot/', 'tests/cli/ci/', 'tests/cli/command/test_completion.py',
        'tests/cli/command/test_hardening.py', 'tests/cli/command/test_startup.py', 'tests/cli/gcp/test_gcloud.py', 'tests/cli/gcp/test_gcp_client.py',
        'tests/cli/gcp/test_gcp_described.py', 'tests/cli/kube/test_kube_kill.py', 'tests/cli/state/test_gcs_clients.py')
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
    """The commit that this branch left the published main at; on that main, the commit before."""
    for main in ('origin/main', 'origin/master', 'origin/HEAD', 'main', 'master'):
        if found := git('merge-base', 'HEAD', main):
            return found[0] if found != git('rev-parse', 'HEAD') else 'HEAD~1'
    return 'HEAD'


def changes():
    """Files that changed, came or went. All, if nothing is known of what was there before (a clone of the last commit alone)."""
    if not git('rev-parse', '--quiet', '--verify', base() + '^{commit}'):
        return sorted(git('ls-files'))
    return sorted({*git('diff', '--name-only', '--no-renames', base()), *git('ls-files', '--others', '--exclude-standard')})


def files():
    """Changed and still there."""
    return [path for path in changes() if os.path.exists(os.path.join(ROOT, path))]


def tests_of(paths):
    """Test files and folders of tests/cli, each once, none inside another."""
    wanted = set(SMOKE)
    for path in paths:
        if path.startswith('tests/cli/') and os.path.basename(path).startswith('test_'):
            wanted.add(path)
        names = next((names for prefix, names in TABLE if path.startswith(prefix)), '')
        wanted.update(f'tests/cli/{name}' for name in names.split())
    return sorted(one for one in wanted if not any(one.startswith(other + '/') for other in wanted))


def in_turn(paths, count, turns=TURNS):
    """One in so many of them, by the number of commits."""
    return [path for path in paths if zlib.crc32(path.encode()) % turns == count % turns]


def commits():
    return int((git('rev-list', '--count', 'HEAD') or '0')[0])


def costly():
    """{file: what it is about, and itself}"""
    return {path: (*about.split(), *tests.split()) for tests, about in COSTLY.items()
            for path in git('ls-files', *(one if one.endswith('.py') else f'{one}/test_*.py' for one in tests.split()))}


def of_simulator():
    return [path for path in git('ls-files', 'tests/cli/sim/test_*.py') if path not in CLIENTS]


def left_out():
    if os.environ.get('RAYGPU_LONG'):
        return of_simulator()
    changed, rare = changes(), costly()
    often = [path for path in git('ls-files', 'tests/cli/**/test_*.py') if path not in rare and not path.startswith('tests/cli/sim/')]
    turn = in_turn(rare, commits()) + in_turn(often, commits(), PLAIN_TURNS)
    touched = [path for path, about in rare.items() if any(one.startswith(about) for one in changed)]
    shared = {os.path.dirname(path) + '/' for path in changed if path.startswith('tests/cli/') and not os.path.basename(path).startswith('test_')}
    touched += [path for path in often if path.startswith((*tests_of(changed), *shared))]
    return of_simulator() + [path for path in (*rare, *often) if path not in turn and path not in touched]


def under_asan():
    others = [path for path in git('ls-files', 'tests/cli/**/test_*.py') if path not in CORE and not path.startswith((*SLOW, 'tests/cli/sim/'))]
    if os.environ.get('RAYGPU_LONG'):
        return CORE + others
    return CORE + [path for path in in_turn(others, commits()) if path not in costly()]


if __name__ == '__main__':
    if sys.argv[1:2] == ['changed']:
        sys.exit(0 if any(path.startswith(tuple(sys.argv[2:])) for path in changes()) else 1)
    if sys.argv[1:] == ['sim']:
        print(' '.join(of_simulator()))
    elif sys.argv[1:] == ['asan']:
        print(' '.join(under_asan()))
    elif sys.argv[1:] == ['rest']:
        print(' '.join(left_out()))
    elif sys.argv[1:] == ['c']:
        print(' '.join(path for path in files() if path.endswith('.c')))
    elif sys.argv[1:] == ['cli']:
        print(' '.join(tests_of(files())))
    else:
        sys.exit(__doc__)

"""What a newcomer sees first: examples/quickstart.sh runs, and README.md, man/raygpu.1.scd and the program's own
-h agree. The program is that of the build folder $RAYGPU_BUILD."""
import glob
import os
import re
import shlex
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ['RAYGPU_BUILD']
RAYGPU = os.path.join(BUILD, 'cmd/raygpu/raygpu')


def read(*path):
    with open(os.path.join(TOP, *path), encoding='utf-8') as f:
        return f.read()


def help_of(*command):
    return subprocess.run([RAYGPU, *command, '-h'], check=True, capture_output=True, text=True).stdout


def commands():
    """Those of `raygpu -h`."""
    listed = re.search(r'^Commands:\n((?:  .*\n)+)', help_of(), re.M).group(1)
    return re.findall(r'^  ([\w-]+) ', listed, re.M)


def options_of_help(command):
    return set(re.findall(r'^  (?:-\w, )?(--[a-z-]+)', help_of(command), re.M))


def options_of_man():
    """{command: options}: the page groups its options under lines such as "*plan*, *apply*:"."""
    page = re.search(r'^# OPTIONS\n(.*?)^# ', read('man/raygpu.1.scd'), re.M | re.S).group(1)
    found = {command: set() for command in commands()}
    group = None
    for line in page.splitlines():
        if line == 'All commands:':
            group = list(found)
        elif re.fullmatch(r'\*[a-z].*:', line):
            group = re.findall(r'\*([a-z-]+)[a-z ]*\*', line)
        elif line.startswith('*-'):
            for name in re.findall(r'\*(--[a-z-]+)\*', line):
                for command in group:
                    found[command].add(name)
    return found


def tour(home, *words, **more):
    """The script's output, from another folder and with settings that must not mislead it."""
    env = {**more, 'PATH': os.environ['PATH'], 'HOME': str(home), 'TMPDIR': str(home), 'LC_ALL': 'C.UTF-8',
           'AWS_PROFILE': 'production', 'AWS_ENDPOINT_URL_EC2': 'http://127.0.0.1:9',
           'http_proxy': 'http://127.0.0.1:9', 'RAYGPU_STATE': '/nonexistent/state.db', 'KUBECONFIG': '/nonexistent/config'}
    for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS'):
        if name in os.environ:
            env[name] = os.environ[name]
    done = subprocess.run([os.path.join(TOP, 'examples/quickstart.sh'), *words, BUILD], cwd=home, env=env, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=900)
    assert done.returncode == 0, done.stdout
    assert os.listdir(home) == [], 'it leaves nothing behind'
    return done.stdout


@pytest.fixture(scope='module')
def story(tmp_path_factory):
    return tour(tmp_path_factory.mktemp('home'))


def in_order(lines, story):
    at = 0
    for line in lines:
        found = story.find(line, at)
        assert found >= 0, f'{line!r} is not told, or not at its place:\n{story}'
        at = found + len(line)


def test_the_tour_of_kubernetes(tmp_path_factory):
    """Where the API server is built; otherwise a sentence says what to do."""
    cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    if os.environ.get('RAYGPU_KUBE') == '0':  # what is in a cache decides nothing
        cache = '/nonexistent'
    said = tour(tmp_path_factory.mktemp('home'), '--cloud', 'kubernetes', XDG_CACHE_HOME=cache)
    if not glob.glob(os.path.join(cache, 'raygpu-kube/*/VERSIONS')):
        assert 'run tests/kube/build.sh first' in said
        return
    in_order(['Plan: 6 to add, 0 to change, 0 to destroy.', 'Apply complete! Resources: 6 added, 0 changed, 0 destroyed.',
              'No changes. Your infrastructure matches the configuration.', 'No drift.', '# kubernetes.worker_group.train has changed', '(exit code 2)',
              'Apply complete! Resources: 0 added, 1 changed, 0 destroyed.', 'No drift.', 'Destroy complete! Resources: 6 destroyed.',
              'clusters, secrets, pods left in the cloud: 0 0 0'], said)
    without = tour(tmp_path_factory.mktemp('home'), '--cloud', 'kubernetes', XDG_CACHE_HOME='/nonexistent')
    assert without.count('\n') == 1 and 'run tests/kube/build.sh first' in without


def test_the_story_is_told_in_order(story):
    in_order(('Plan: 11 to add, 0 to change, 0 to destroy.',
              'Apply complete! Resources: 11 added, 0 changed, 0 destroyed.',
              'No changes. Your infrastructure matches the configuration.', 'No drift.',
              '# aws.instance.train[1] has been deleted', '(exit code 2)',
              'Apply complete! Resources: 1 added, 0 changed, 0 destroyed.', 'No drift.',
              'Apply complete! Resources: 0 added, 0 changed, 2 destroyed.',
              'Destroy complete! Resources: 9 destroyed.',
              'instances, interfaces, groups left in the cloud: 0 0 0'), story)


def test_the_story_fits_a_terminal_where_the_script_speaks(story):
    for block in re.findall(r'^== .*\n(?:.+\n)+', story, re.M):
        assert all(len(line) <= 80 for line in block.splitlines()), block


def test_the_same_story_on_the_other_cloud(tmp_path):
    env = {'PATH': os.environ['PATH'], 'HOME': str(tmp_path), 'TMPDIR': str(tmp_path), 'LC_ALL': 'C.UTF-8',
           'GOOGLE_APPLICATION_CREDENTIALS': '/nonexistent', 'CLOUDSDK_CONFIG': '/nonexistent',
           'http_proxy': 'http://127.0.0.1:9'}
    done = subprocess.run([os.path.join(TOP, 'examples/quickstart.sh'), '--cloud', 'gcp', BUILD], cwd=tmp_path, env=env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=900, check=False)
    assert done.returncode == 0, done.stdout
    at = 0
    for line in ('Plan: 12 to add, 0 to change, 0 to destroy.', 'No changes.', 'No drift.',
                 '# gcp.instance.train[1] has been deleted', '(exit code 2)',
                 'Apply complete! Resources: 1 added, 0 changed, 0 destroyed.', 'No drift.',
                 'Apply complete! Resources: 0 added, 0 changed, 2 destroyed.',
                 'instances, addresses, firewall rules left in the cloud: 0 0 0'):
        found = done.stdout.find(line, at)
        assert found >= 0, f'{line!r} is not told, or not at its place:\n{done.stdout}'
        at = found + len(line)


def test_interrupted_it_takes_the_simulator_with_it(tmp_path):
    process = subprocess.Popen([os.path.join(TOP, 'examples/quickstart.sh'), BUILD], env={
        **os.environ, 'TMPDIR': str(tmp_path)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    endpoint = None
    for line in process.stdout:
        if line.startswith('AWS_ENDPOINT_URL='):
            endpoint = int(line.rsplit(':', 1)[1])
            break
    assert endpoint
    process.terminate()
    process.stdout.read()  # ends when the script and everything that it started have gone
    assert process.wait(timeout=20) != 0
    with open('/proc/net/tcp', encoding='ascii') as f:
        assert f'0100007F:{endpoint:04X} 00000000:0000 0A' not in f.read(), 'the simulator still listens'
    assert os.listdir(tmp_path) == []


def test_man_page_and_help_tell_the_same_options():
    told = options_of_man()
    for command in commands():
        assert told[command] == options_of_help(command), command


def test_man_page_and_help_tell_the_same_formats():
    told = re.findall(r'^\*--format\* _([a-z|]+)_', read('man/raygpu.1.scd'), re.M)
    found = {words for command in commands() for words in re.findall(r'^  --format ([a-z|]+)', help_of(command), re.M)}
    assert len(found) >= 2 and set(told) == found


def test_man_page_tells_every_command():
    page = read('man/raygpu.1.scd')
    assert {name for name in re.findall(r'^\*raygpu ([\w-]+)', page, re.M)} == set(commands())


def test_exit_codes_are_told_alike():
    page = re.search(r'^# EXIT STATUS\n(.*?)^# ', read('man/raygpu.1.scd'), re.M | re.S).group(1)
    of_man = set(re.findall(r'\*(\d+)\*', page))
    of_help = set(re.findall(r'\b(\d+) [a-z]', help_of().split('Exit codes:')[1]))
    last_column = re.findall(r'^\| (?:`raygpu|all of).*\| ([^|]*)\|$', read('README.md'), re.M)
    of_readme = set(re.findall(r'\b(\d+) [a-z]', '\n'.join(last_column)))
    assert of_man == of_help == of_readme


def code_blocks(language):
    return re.findall(rf'^```{language}\n(.*?)^```$', read('README.md'), re.M | re.S)


def raygpu_lines():
    """Every command line with raygpu that README.md shows, as words."""
    for block in code_blocks('console'):
        for line in block.splitlines():
            if line.startswith('$ raygpu '):
                yield shlex.split(line[2:], comments=True)


def test_readme_shows_commands_and_options_that_exist():
    lines = list(raygpu_lines())
    assert len(lines) >= 5
    for words in lines:
        assert words[1] in commands(), words
        known = options_of_help(words[1])
        for word in words[2:]:
            assert not word.startswith('--') or word.split('=')[0] in known, words
    every = set().union(*map(options_of_help, commands()))
    for name in re.findall(r'`(--[a-z-]+)', read('README.md')):
        assert name in every, name


def test_readme_tells_every_command():
    table = set(re.findall(r'^\| `raygpu ([\w-]+)', read('README.md'), re.M))
    assert table == set(commands())


def test_readme_points_at_files_that_exist():
    text = read('README.md')
    paths = set(re.findall(r'\]\(([^)#:]+)\)', text)) | set(re.findall(r'^\| `([\w./]+/)`', text, re.M))
    assert len(paths) >= 10
    for path in paths:
        assert os.path.exists(os.path.join(TOP, path)), path


def plainly(text):
    """Without what differs from run to run."""
    text = re.sub(r'\b(i|sg|eni|subnet|vpc|ami)-[0-9a-f]{8,17}\b', r'\1-ID', text)
    return [re.sub(r'after \d+s', 'after Ns', line).strip() for line in text.splitlines()]


def test_the_tour_of_readme_is_real_output(story):
    """Line by line in the script's own order; a line of dots stands for omitted lines."""
    real = plainly(story)
    at = 0
    tour = [line for block in code_blocks('console') for line in plainly(block)]
    assert len(tour) >= 40
    for line in tour:
        if line and line != '...':
            assert line in real[at:], f'not in the output of examples/quickstart.sh, or not there: {line!r}'
            at = real.index(line, at) + 1

"""-h, the man page and the completions list the same commands and options."""
import os
import re
import subprocess

import pytest
from program import ROOT, Home, binary, spec
from sim_server import Sim

HERE = os.path.dirname(os.path.abspath(__file__))
SHELLS = ('bash', 'zsh', 'fish')


def run(*arguments):
    return subprocess.run([binary(), *arguments], capture_output=True, text=True, check=True).stdout


def commands():
    text = run('-h').split('Commands:\n')[1].split('\n\n')[0]
    return {line.split()[0] for line in text.split('\n')}


def options(command):
    """{"--out": "FILE" or ""} of `raygpu COMMAND -h`."""
    text = run(command, '-h').split('Options:\n')[1].split('\n\n')[0]
    found = re.findall(r'^  (?:-\w, )?(--[a-z-]+) ?(\S*)', text, re.M)
    assert len(found) == len(re.findall(r'^  -', text, re.M))
    return {name: (value if re.match(r'[A-Z]|.*\|', value) else '') for name, value in found}


def man():
    with open(os.path.join(ROOT, 'man/raygpu.1.scd'), encoding='utf-8') as f:
        return f.read()


def man_options():
    """{option: commands that the page lists it for}: of its section, and those that its text names."""
    found, group = {}, None
    section = man().split('\n# OPTIONS\n')[1].split('\n# ')[0]
    for block in section.strip().split('\n\n'):
        head = block.split('\n')[0]
        if head == 'All commands:':
            group = commands()
        elif head.endswith(':') and not block.startswith('*-'):
            group = {w.split()[0] for w in re.findall(r'\*([a-z -]+)\*', head)}
        else:
            named = {w.split()[0] for w in re.findall(r'\*([a-z][a-z -]+)\*', block)} & commands()
            for option in re.findall(r'\*(--[a-z-]+)\*', head):
                found.setdefault(option, set()).update(group | {f'?{n}' for n in named})
    return found


def test_help_and_man_name_the_same_commands():
    told = set(re.findall(r'^\*raygpu ([a-z-]+)', man().split('\n# COMMANDS\n')[1].split('\n# ')[0], re.M))
    assert told == commands()


def test_every_option_of_help_stands_in_the_man_page():
    page = man_options()
    for command in commands():
        for option in options(command):
            assert option in page, f'{command} {option} is not in raygpu(1)'
            assert command in page[option] or f'?{command}' in page[option], \
                f'raygpu(1) does not say that {command} takes {option}'


def test_every_option_of_the_man_page_stands_in_help():
    told = {command: options(command) for command in commands()}
    for option, takers in man_options().items():
        for command in takers:
            if not command.startswith('?'):
                assert option in told[command], f'raygpu(1) gives {option} to {command}'


def completed(*words):
    """What bash offers for the last word."""
    script = ('source /dev/stdin <<< "$SCRIPT"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _raygpu; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    text = subprocess.run(['bash', '--norc', '-c', script, 'bash', 'raygpu', *words], capture_output=True, text=True,
                          check=True, env={**os.environ, 'SCRIPT': run('completion', 'bash')}).stdout
    return set(text.split())


def test_bash_offers_what_help_tells():
    assert completed('') - {'-C', '-h', '--help', '--version'} == commands()
    assert completed('-C', '/tmp', 'pl') == {'plan'}
    for command in commands():
        assert completed(command, '--') == set(options(command))
    choices = options('plan')['--format'].split('|')
    assert completed('plan', '--format', '') == completed('plan', '--format', '=', '') == set(choices)
    assert completed('plan', '--format', '=', 'sa') == {'sarif'}
    assert {'list', 'show', 'rm'} <= completed('state', '')


def test_bash_offers_files_with_spaces_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'my cluster.yaml').write_text('')
    text = subprocess.run(
        ['bash', '--norc', '-c', f'source <({binary()} completion bash); COMP_WORDS=(raygpu plan my); COMP_CWORD=2; '
         '_raygpu; printf "<%s>" "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True).stdout
    assert text == '<my cluster.yaml>'


def zsh_offers(tmp_path, *lines):
    """[{words}]: what the Tab key offers at the end of each line, from a zsh on a terminal."""
    script = tmp_path / '_raygpu'
    script.write_text(run('completion', 'zsh'))
    text = subprocess.run(['zsh', '-f', os.path.join(HERE, 'complete.zsh'), script, *lines], text=True, check=True,
                          capture_output=True, timeout=300, env={**os.environ, 'TERM': 'dumb', 'PATH': on_path()}).stdout
    told = text.split('<<END>>')[:-1]
    assert len(told) == len(lines)
    return [set(re.findall(r'<([^<>]+)>', part)) for part in told]


def fish_offers(tmp_path, *lines):
    """[{words}]: the same from fish."""
    script = tmp_path / 'raygpu.fish'
    script.write_text(run('completion', 'fish'))
    text = subprocess.run(['fish', '--no-config', '-c', 'source $argv[1]; for line in $argv[2..]; complete -C $line; '
                           'echo "<<END>>"; end', script, *lines], text=True, check=True, capture_output=True,
                          timeout=300, env={**os.environ, 'HOME': str(tmp_path), 'PATH': on_path()}).stdout
    told = text.split('<<END>>\n')[:-1]
    assert len(told) == len(lines)
    return [{row.split('\t')[0] for row in part.splitlines()} for part in told]


def on_path():
    """PATH with the tested raygpu first: completion asks it for addresses."""
    return os.path.dirname(binary()) + os.pathsep + os.environ['PATH']


OFFERS = {'zsh': zsh_offers, 'fish': fish_offers}


@pytest.mark.parametrize('shell', OFFERS)
def test_zsh_and_fish_offer_what_help_tells(shell, tmp_path):
    names = sorted(commands())
    lines = ['raygpu ', 'raygpu -C /tmp pl', *(f'raygpu {name} --' for name in names)]
    first, folder, *each = OFFERS[shell](tmp_path, *lines)
    assert first == commands()
    assert folder == {'plan'}
    for name, offered in zip(names, each):
        assert offered == set(options(name)), name


@pytest.mark.parametrize('shell', OFFERS)
def test_zsh_and_fish_offer_values(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'cluster.yaml').write_text('')
    (tmp_path / 'folder').mkdir()
    formats, begun, words, file, folder, spec = OFFERS[shell](
        tmp_path, 'raygpu plan --format ', 'raygpu plan --format=sa', 'raygpu state ', 'raygpu plan --out clu',
        'raygpu -C fol', 'raygpu validate clu')
    assert formats == set(options('plan')['--format'].split('|'))
    assert {word.removeprefix('--format=') for word in begun} == {'sarif'}
    assert {'list', 'show', 'rm'} <= words and 'cluster.yaml' not in words
    assert file == spec == {'cluster.yaml'}
    assert {word.rstrip('/') for word in folder} == {'folder'}


@pytest.mark.parametrize('shell', SHELLS)
def test_the_shell_itself_takes_the_script(shell):
    subprocess.run([shell, '-n'], input=run('completion', shell), text=True, check=True)


def test_no_completion_for_another_shell():
    process = subprocess.run([binary(), 'completion', 'tcsh'], capture_output=True, text=True, check=False)
    assert process.returncode == 4 and 'bash | zsh | fish' in process.stderr


def test_addresses_of_all_clusters_are_offered(tmp_path, monkeypatch):
    with Sim('--boot-ms', '20') as sim:
        home = Home(tmp_path, sim.env())
        for name, pool in (('a', 'train'), ('b', 'serve')):
            home.write(f'{name}.yaml', spec(name, pools={pool: 1}))
            home.run('apply', f'{name}.yaml', '--auto-approve')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('PATH', on_path())
    wanted = {'aws.instance.head', 'aws.instance.train[0]', 'aws.instance.serve[0]'}
    assert wanted <= completed('plan', 'a.yaml', '--replace', 'aws.')
    assert wanted <= completed('plan', '--replace', '=', 'aws.')
    assert wanted <= completed('logs', 'aws.') and completed('plan', '--cluster', '') == {'a', 'b'}
    for shell, line in (('zsh', 'raygpu plan --replace=aws.'), ('fish', 'raygpu plan --replace aws.')):
        [offered] = OFFERS[shell](tmp_path, line)
        assert wanted <= {word.removeprefix('--replace=').replace('\\', '') for word in offered}, shell
        node, cluster = OFFERS[shell](tmp_path, 'raygpu logs aws.', 'raygpu plan --cluster ')
        assert wanted <= {word.replace('\\', '') for word in node} and cluster == {'a', 'b'}, shell

"""-h, the man page and the completions tell the same commands and options."""
import os
import re
import shutil
import subprocess

import pytest
from program import binary

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
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
    """{option: commands that the page gives it to}: of its section, and those that its text names."""
    found, group = {}, None
    section = man().split('\n# OPTIONS\n')[1].split('\n# ')[0]
    for block in section.strip().split('\n\n'):
        head = block.split('\n')[0]
        if head == 'All commands:':
            group = commands()
        elif head.endswith(':') and not block.startswith('*-'):
            group = {w.split()[0] for w in re.findall(r'\*([a-z ]+)\*', head)}
        else:
            named = {w.split()[0] for w in re.findall(r'\*([a-z ]+)\*', block)} & commands()
            for option in re.findall(r'\*(--[a-z-]+)\*', head):
                found.setdefault(option, set()).update(group | {f'?{n}' for n in named})
    return found


def test_help_and_man_name_the_same_commands():
    told = set(re.findall(r'^\*raygpu ([a-z]+)', man().split('\n# COMMANDS\n')[1].split('\n# ')[0], re.M))
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


@pytest.mark.parametrize('shell', SHELLS)
def test_each_script_has_every_command_and_option(shell):
    text = run('completion', shell)
    for command in commands():
        part = {'bash': rf'(?s)\n\t{command}\)\n\t\toptions="(.*?)"',
                'zsh': rf'(?s)\n\t{command}\)\n(.*?)\n\t\t;;',
                'fish': rf'(?m)^complete .*(?:_from |-a ){command}\b.*$'}[shell]
        found = ' '.join(m if isinstance(m, str) else m[0] for m in re.findall(part, text))
        assert found, command
        for option in set(options(command)) - {'--help'}:
            word = {'bash': option, 'zsh': f"'*{option}", 'fish': f' -l {option[2:]} '}[shell]
            assert word in found + ' ', f'{shell}: {command} {option}'


@pytest.mark.parametrize('shell', SHELLS)
def test_the_shell_itself_takes_the_script(shell):
    if not shutil.which(shell):
        pytest.skip(f'{shell} is not on this machine')
    subprocess.run([shell, '-n'], input=run('completion', shell), text=True, check=True)


def test_no_completion_for_another_shell():
    process = subprocess.run([binary(), 'completion', 'tcsh'], capture_output=True, text=True, check=False)
    assert process.returncode == 4 and 'bash | zsh | fish' in process.stderr

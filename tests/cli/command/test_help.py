"""-h and `help`: of the program, of a command, of a subcommand."""
import subprocess

import pytest
from program import binary

COMMON = 'Exit codes: 0 success'
OWN = 'Exit codes besides those of all commands (raygpu -h):\n'


def run(*arguments, code=0):
    process = subprocess.run([binary(), *arguments], capture_output=True, text=True, check=False)
    assert process.returncode == code, process
    return process.stdout if code == 0 else ' '.join(process.stderr.split())


def commands():
    return [line.split()[0] for line in run('-h').split('Commands:\n')[1].split('\n\n')[0].splitlines()]


def subcommands(command):
    lines = run(command, '-h').split('Subcommands:\n')[1].split('\n\n')[0].splitlines()
    return [line.split()[0] for line in lines if line[2] != ' ']  # without the summaries that are on a separate line


def test_help_shows_what_h_shows():
    assert run('help') == run('-h') == run('--help')
    for command in commands():
        assert run('help', command) == run(command, '-h') != run('-h')
    for subcommand in subcommands('state'):
        assert run('help', 'state', subcommand) == run('state', subcommand, '-h') != run('state', '-h')


def test_help_of_an_unknown_word_names_the_nearest():
    assert 'unknown command "pln"' in run('help', 'pln', code=4)
    assert 'did you mean `raygpu plan`?' in run('help', 'pln', code=4)
    assert 'did you mean `raygpu status`?' in run('help', 'statu', code=4)
    assert 'did you mean `raygpu state pull`?' in run('help', 'state', 'pul', code=4)
    assert 'did you mean `raygpu state pull`?' in run('state', 'pul', code=4)


def test_the_exit_codes_of_all_commands_stand_in_one_place():
    assert run('-h').count(COMMON) == 1
    own = {command for command in commands() if OWN in run(command, '-h')}
    assert own == {'apply', 'destroy', 'drift', 'import', 'plan', 'reap', 'status'}
    assert not any(COMMON in run(command, '-h') for command in commands())
    assert run('drift', '-h').endswith(OWN + '  2  there is drift\n')
    assert run('state', 'orphans', '-h').endswith(OWN + '  2  there are orphans\n')


def test_a_subcommand_has_a_line_and_help_of_its_own():
    whole, mv = run('state', '-h'), run('state', 'mv', '-h')
    assert subcommands('state') == ['list', 'show', 'rm', 'mv', 'hardware', 'forget-hardware', 'pull', 'push',
                                    'migrate', 'rekey', 'orphans', 'rebuild', 'unlock']
    assert mv.startswith('Usage: raygpu state mv [OPTIONS] SRC DST\n')
    assert 'KIND.NAME[INDEX]' in mv and 'KIND.NAME[INDEX]' not in whole
    assert '--dry-run                only show' in mv and '--redact' not in mv
    assert subcommands('providers') == ['list', 'check']


def test_the_text_of_an_option_is_whole():
    for word in subcommands('state'):
        page = run('state', word, '-h')
        assert page.count('(') == page.count(')'), page
    assert '--cluster NAME           cluster of the state (default: the only one)' in run('state', 'list', '-h')


@pytest.mark.parametrize('word, hint', [('up', 'raygpu apply'), ('down', 'raygpu destroy'), ('ssh', 'raygpu connect'),
                                        ('fmt', 'raygpu validate'), ('taint', 'raygpu plan --replace'), ('refresh', 'raygpu drift'),
                                        ('launch', 'raygpu apply'), ('show-gpus', 'raygpu offers'), ('check', 'raygpu doctor')])
def test_a_word_of_another_tool_names_the_command(word, hint):
    said = run(word, code=4)
    assert f'unknown command "{word}"' in said and f'`{hint}' in said and 'did you mean' not in said


@pytest.mark.parametrize('line, words', [
    (['--state', 'x', 'plan'], '`raygpu plan --state ...`'),
    (['--state=x', 'drift', 'cluster.yaml'], '`raygpu drift --state=x ...`'),
    (['--json'], '`raygpu COMMAND --json ...`'),
])
def test_an_option_before_the_command_is_explained(line, words):
    said = run(*line, code=4)
    assert f'the option "{line[0]}" precedes the command' in said
    assert f'options follow the command: {words}; only -C precedes it' in said


def test_no_line_is_wider_than_a_terminal():
    pages = [run('-h'), *(run(command, '-h') for command in commands()),
             *(run('state', word, '-h') for word in subcommands('state'))]
    assert [line for page in pages for line in page.splitlines() if len(line) > 80] == []

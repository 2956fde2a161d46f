"""examples/ci: the files parse, and every raygpu command in them exists with its options and works in that order
against a simulated cloud."""
import os
import re
import shlex
import subprocess

import pytest
import yaml
from program import ROOT, Home, binary, spec
from sim_server import Sim

CI = ROOT / 'examples/ci'
FILES = ('github-actions.yml', 'gitlab-ci.yml', 'Jenkinsfile')


def text_of(name):
    with open(os.path.join(CI, name), encoding='utf-8') as f:
        return f.read()


def commands(name):
    """The raygpu commands of a file, as words; comments and prose left out."""
    lines = [line for line in text_of(name).split('\n') if not re.match(r'\s*(#|//)', line)]
    found = [m for line in lines for m in re.findall(r"(?:^|[ '])(raygpu [a-z]+ [^'|]*)", line)
             if not line.strip().startswith(('name:', 'runs-on:', 'tags:'))]
    return [shlex.split(re.sub(r'(\|\|.*|>.*|\}.*)$', '', command)) for command in found]


def known_options(command):
    text = subprocess.run([binary(), command, '-h'], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'^  (?:-\w, )?(--[a-z-]+)', text, re.M))


@pytest.mark.parametrize('name', FILES)
def test_every_command_exists_with_its_options(name):
    found = commands(name)
    assert {'plan', 'apply', 'drift', 'validate'} <= {words[1] for words in found}
    for words in found:
        given = {word for word in words if word.startswith('--')}
        assert given <= known_options(words[1]), words


@pytest.mark.parametrize('name', FILES[:2])
def test_the_yaml_parses_and_its_jobs_depend_on_jobs(name):
    document = yaml.safe_load(text_of(name))
    jobs = document.get('jobs') or {k: v for k, v in document.items() if isinstance(v, dict) and 'script' in v}
    assert {'plan', 'apply', 'drift'} <= set(jobs)
    for job in jobs.values():
        needs = job.get('needs', [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(jobs)
        assert job.get('steps') or job.get('script')
    assert jobs['apply'].get('environment'), 'somebody approves what costs money'


def test_shell_steps_of_the_workflow_pass_shellcheck():
    document = yaml.safe_load(text_of('github-actions.yml'))
    scripts = [step['run'] for job in document['jobs'].values() for step in job['steps'] if 'run' in step]
    assert len(scripts) >= 6
    for script in scripts:
        subprocess.run(['shellcheck', '-s', 'bash', '-'], input=script, text=True, check=True)


@pytest.mark.parametrize('name', FILES)
def test_the_commands_work_in_their_order(name, tmp_path):
    """validate and plan on a branch, plan, apply and drift as in the file; then nothing is left."""
    order = ['validate', 'plan', 'apply', 'drift']
    with Sim('--boot-ms', '20') as sim:
        home = Home(tmp_path, {**sim.env(), 'GITHUB_STEP_SUMMARY': ''})
        os.mkdir(home.path('clusters'))
        home.git('init', '-q', '-b', 'main')
        home.write('clusters/a.yaml', spec('a'))
        home.write('clusters/b.yaml', spec('b'))
        home.git('add', '-A')
        home.git('commit', '-qm', 'two')
        home.git('update-ref', 'refs/remotes/origin/main', 'main')
        home.write('clusters/b.yaml', spec('b', pools={'serve': 2}))
        words_of = {'$BASE': 'origin/main', '$CHANGE_TARGET': 'main',
                    '$CI_MERGE_REQUEST_DIFF_BASE_SHA': home.git('rev-parse', 'main')}
        branch = 0
        for words in sorted(commands(name), key=lambda words: order.index(words[1])):
            for variable, value in words_of.items():
                words = [word.replace(variable, value) for word in words]
            assert not [word for word in words if '$' in word]
            if words[1] == 'apply':  # that job has the plans and no checkout
                os.rename(home.path('clusters'), home.path('away'))
            result = home.run(*words[1:], code=None)
            if words[1] == 'apply':
                os.rename(home.path('away'), home.path('clusters'))
            assert result.code == (2 if '--detailed-exitcode' in words else 0), result
            if words[1] == 'plan' and '--changed-since' in words:
                assert 'Cluster b' in result.out and 'Cluster a' not in result.out
                branch += 1
            for word in words:
                if re.match(r'\w+=\S+$', word):
                    assert os.path.getsize(home.path(word.split('=')[1])), word
        assert branch == 1
        home.run('plan', 'clusters', '--detailed-exitcode')
        assert len(sim.live_instances()) == 5

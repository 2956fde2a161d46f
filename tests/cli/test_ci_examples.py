"""examples/ci: the files parse, and every raygpu command in them exists with its options and works in
that order against a simulated cloud."""
import os
import re
import shlex
import subprocess

import pytest
import yaml
from program import Home, binary, spec
from sim_server import Sim

CI = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), 'examples/ci')
FILES = ('github-actions.yml', 'gitlab-ci.yml', 'Jenkinsfile')


def text_of(name):
    with open(os.path.join(CI, name), encoding='utf-8') as f:
        return f.read()


def commands(name):
    """The raygpu commands of a file, as words; comments and prose left out."""
    lines = [line for line in text_of(name).split('\n') if not re.match(r'\s*(#|//)', line)]
    found = [m for line in lines for m in re.findall(r"(?:^|[ '])(raygpu [a-z]+ [^'|]*)", line)
             if not line.strip().startswith(('name:', 'runs-on:', 'tags:'))]
    return [shlex.split(re.sub(r'(>.*|\}.*)$', '', command)) for command in found]


def known_options(command):
    text = subprocess.run([binary(), command, '-h'], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'^  (?:-\w, )?(--[a-z-]+)', text, re.M))


@pytest.mark.parametrize('name', FILES)
def test_every_command_exists_with_its_options(name):
    found = commands(name)
    assert {'plan', 'apply', 'drift', 'validate', 'show'} <= {words[1] for words in found}
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
    """validate, plan, show, apply, drift as the file has them; then nothing is left to do."""
    order = ['validate', 'plan', 'show', 'apply', 'drift']
    with Sim('--boot-ms', '20') as sim:
        home = Home(tmp_path, {**sim.env(), 'GITHUB_STEP_SUMMARY': ''})
        home.write('cluster.yaml', spec(pools={'serve': 1}))
        for words in sorted(commands(name), key=lambda words: order.index(words[1])):
            if words[1] == 'apply':  # that job has the plan and no checkout
                os.rename(home.path('cluster.yaml'), home.path('away.yaml'))
            result = home.run(*words[1:], code=None)
            if words[1] == 'apply':
                os.rename(home.path('away.yaml'), home.path('cluster.yaml'))
            assert result.code == (2 if '--detailed-exitcode' in words else 0), result
        home.run('plan', 'cluster.yaml', '--detailed-exitcode')
        assert len(sim.live_instances()) == 2

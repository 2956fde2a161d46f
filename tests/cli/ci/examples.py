"""The shell scripts of examples/ci, as the CI systems would start them: {job: [script of a step]}."""
import re

import yaml
from program import ROOT

CI = ROOT / 'examples/ci'
ACTION = ROOT / '.github/actions/raygpu'


def text_of(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def of_yaml(path):
    return yaml.safe_load(text_of(path))


def github():
    """Steps of our action, by its command; those of the workflow are all actions."""
    steps = {}
    for step in of_yaml(ACTION / 'action.yml')['runs']['steps']:
        if 'run' in step:
            command = re.search("inputs.command == '([a-z-]+)'", step.get('if', ''))
            steps.setdefault(command.group(1) if command else 'install', []).append(step['run'])
    return steps


def gitlab(name='gitlab-ci.yml'):
    document = of_yaml(CI / name)
    return {name: ['\n'.join(job.get('before_script', document['default']['before_script']) + job['script'])]
            for name, job in document.items() if isinstance(job, dict) and 'script' in job}


def buildkite():
    """$$ is what the upload of a pipeline leaves to the shell of the step."""
    steps = of_yaml(CI / 'buildkite.yml')['steps']
    assert not any(re.search(r'(?<!\$)\$(?!\$)', step.get('command', '')) for step in steps), 'would be replaced at the upload'
    return {step['label']: [step['command'].replace('$$', '$')] for step in steps if 'command' in step}


def jenkins():
    """The strings of `sh` steps, by stage; single-quoted strings of Groovy have no $ of their own."""
    stages = {}
    for stage in re.split(r"(?=stage\(')", text_of(CI / 'Jenkinsfile'))[1:]:
        name = re.match(r"stage\('(\w+)'\)", stage).group(1)
        stages[name] = re.findall(r"\b(?:sh |script: )'([^']*)'", stage)
    return {'plan': stages['look'], 'save': stages['plan'], 'apply': stages['apply'], 'drift': stages['drift']}


SYSTEMS = {'github-actions.yml': github, 'gitlab-ci.yml': gitlab, 'buildkite.yml': buildkite, 'Jenkinsfile': jenkins}


def yaml_env(name):
    """Variables of the whole pipeline."""
    document = of_yaml(CI / name)
    return document.get('env') or document.get('variables') or {}

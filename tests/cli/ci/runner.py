"""Runs jobs of examples/ci/github-actions.yml as shell, each on a machine of its own, as GitHub's runners do: the steps of our
action from its action.yml, and what the actions of others do, which GIVEN does here.

    github = GitHub(tmp_path, repository, ports=[...], env=..., roles={ARN: {variable: value}})
    run = github.run('push')
    run.job('apply')                  # the first step that failed has .code"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import yaml
from program import ROOT, binary

ACTION = ROOT / '.github/actions/raygpu'
OURS = 'example/raygpu/.github/actions/raygpu@main'
NAMESPACES = os.geteuid() == 0 and subprocess.run(['unshare', '--net', '--mount', '--uts', 'true'], check=False,
                                                  capture_output=True).returncode == 0


class Machine:
    """Empty folders for one job; with NAMESPACES also a network and a view of the files of its own."""

    def __init__(self, name, parent, ports):
        self.outside = os.path.join(parent, name)
        self.folder = '/mnt/job' if NAMESPACES else self.outside
        for part in ('work', 'home', 'temp'):
            os.makedirs(os.path.join(self.outside, part))
        self.process = NAMESPACES and subprocess.Popen(
            [sys.executable, os.path.join(os.path.dirname(__file__), 'machine.py'), name, self.outside, parent, *map(str, ports)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert not self.process or self.process.stdout.readline() == 'ready\n'

    def start(self, script, env):
        """The process is the step's first one, to which a runner sends signals."""
        with open(os.path.join(self.outside, 'temp/step.sh'), 'w', encoding='utf-8') as f:
            f.write(script)
        enter = ['nsenter', '--target', str(self.process.pid), '--net', '--mount', '--uts', f'--wdns={self.folder}/work'] \
            if NAMESPACES else ['env', '-C', f'{self.folder}/work']
        return subprocess.Popen([*enter, 'bash', '--noprofile', '--norc', '-eo', 'pipefail', f'{self.folder}/temp/step.sh'],
                                env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True)

    def end(self):
        """All that is left of it."""
        if self.process:
            self.process.communicate('')
        shutil.rmtree(self.outside, ignore_errors=True)


class Job:
    def __init__(self, github, event, name, needs):
        self.github, self.event, self.name = github, event, name
        self.spec = github.workflow['jobs'][name]
        self.context = {'github': {'event_name': event, 'repository': 'example/clusters', 'base_ref': 'main', 'token': 'of-this-job',
                                   'event': {'pull_request': {'number': 7, 'head': {'repo': {'full_name': 'example/clusters'}}}}},
                        'needs': needs, 'steps': {}, 'inputs': {}}
        self.env = {**github.workflow['env'], **github.env, **self.spec.get('env', {})}
        self.code, self.output, self.outputs, self.cancel = 0, '', {}, None
        self.path = [os.path.dirname(binary())]

    # ---- expressions

    def look_up(self, name):
        value = self.context
        for part in name.split('.'):
            value = value.get(part, '') if isinstance(value, dict) else ''
        return value

    def evaluate(self, expression):
        words = {'&&': ' and ', '||': ' or ', '!': ' not ', 'success()': str(self.code == 0), 'failure()': str(self.code != 0),
                 'cancelled()': 'False'}

        def python(match):
            word = match.group()
            return words.get(word) or (word if word[0] in "'!=" else repr(self.look_up(word)))
        return eval(re.sub(r"'[^']*'|[a-z_][\w.-]*(?:\(\))?|&&|\|\||!=|==|!", python, expression))  # pylint: disable=eval-used

    def fill(self, text):
        return re.sub(r'\$\{\{ *(.*?) *\}\}', lambda match: str(self.evaluate(match.group(1))), str(text))

    def wanted(self, condition):
        condition = str(condition)
        return bool(self.evaluate(condition if '()' in condition else f'success() && ({condition})'))

    # ---- steps

    def run(self):
        if not self.wanted(self.spec.get('if', 'success()')):
            return None
        with contextlib.ExitStack() as stack:
            self.machine = Machine(f'{self.name}-{len(self.github.machines)}', self.github.parent, self.github.ports)
            stack.callback(self.machine.end)
            self.github.machines.append(self.machine)
            self.steps(self.spec['steps'])
        self.outputs = {name: self.fill(value) for name, value in self.spec.get('outputs', {}).items()}
        return self

    def steps(self, steps, more=None):
        for step in steps:
            if not self.wanted(step.get('if', 'success()')):
                continue
            env = {name: self.fill(value) for name, value in {**self.env, **(more or {}), **step.get('env', {})}.items()}
            given = {name: self.fill(value) for name, value in step.get('with', {}).items()}
            if 'run' in step:
                outputs = self.shell(step['run'], env)
            elif step['uses'] == OURS:
                outputs = self.ours(given)
            else:
                outputs = GIVEN[step['uses'].split('@')[0]](self, given)
            self.context['steps'][step.get('id')] = {'outputs': outputs or {}}

    def ours(self, given):
        with open(ACTION / 'action.yml', encoding='utf-8') as f:
            action = yaml.safe_load(f)
        assert set(given) <= set(action['inputs'])
        outer = self.context
        self.context = {**outer, 'steps': {}, 'inputs': {name: given.get(name, self.fill(one['default']))
                                                         for name, one in action['inputs'].items()}}
        self.steps(action['runs']['steps'], {'GITHUB_ACTION_PATH': str(ACTION)})
        outputs = {name: self.fill(one['value']) for name, one in action['outputs'].items()}
        self.context = outer
        return outputs

    def shell(self, script, env):
        inside = self.machine.folder
        files = {f'GITHUB_{name}': f'{inside}/temp/{name}' for name in ('OUTPUT', 'PATH', 'STEP_SUMMARY')}
        for path in files:
            open(os.path.join(self.machine.outside, 'temp', path.removeprefix('GITHUB_')), 'w', encoding='utf-8').close()
        process = self.machine.start(script, {
            'PATH': ':'.join([*self.path, '/usr/local/bin:/usr/bin:/bin:/usr/sbin']), 'HOME': f'{inside}/home', 'LC_ALL': 'C.UTF-8',
            'RUNNER_TEMP': f'{inside}/temp', 'GITHUB_ACTIONS': 'true', 'GITHUB_REPOSITORY': 'example/clusters', 'GITHUB_SERVER_URL': 'https://github.com',
            'GITHUB_RUN_ID': str(len(self.github.machines)), **files, **env})
        if self.cancel and 'raygpu apply' in script:
            self.cancel(process)
        output, _ = process.communicate(timeout=300)
        self.output += output
        self.code = self.code or process.returncode
        with open(os.path.join(self.machine.outside, 'temp/OUTPUT'), encoding='utf-8') as f:
            return dict(line.rstrip('\n').split('=', 1) for line in f)

    # ---- the actions of others

    def checkout(self, given):
        """A pull request is checked out as what its merge would be."""
        branch = 'topic' if self.event == 'pull_request' else 'main'
        depth = [] if given.get('fetch-depth') == '0' else ['--depth', '1']
        subprocess.run(['git', 'clone', '-q', *depth, '-b', branch, f'file://{self.github.repository}',
                        os.path.join(self.machine.outside, 'work')], check=True)

    def credentials(self, given):
        assert self.spec['permissions']['id-token'] == 'write', 'GitHub gives the job no token otherwise'
        self.env.update(self.github.roles[given['role-to-assume'].rsplit('/', 1)[1]], AWS_REGION=given['aws-region'])

    def upload(self, given):
        shutil.copytree(os.path.join(self.machine.outside, 'work', given['path']), os.path.join(self.github.artefacts, given['name']),
                        dirs_exist_ok=True)

    def download(self, given):
        shutil.copytree(os.path.join(self.github.artefacts, given['name']), os.path.join(self.machine.outside, 'work', given['path']))


GIVEN = {'actions/checkout': Job.checkout, 'aws-actions/configure-aws-credentials': Job.credentials,
         'actions/upload-artifact': Job.upload, 'actions/download-artifact': Job.download}


class GitHub:
    def __init__(self, folder, repository, ports, env, roles):
        with open(ROOT / 'examples/ci/github-actions.yml', encoding='utf-8') as f:
            self.workflow = yaml.safe_load(f)
        self.repository, self.ports, self.env, self.roles = repository, ports, env, roles
        self.parent = os.path.join(folder, 'machines')
        self.artefacts = os.path.join(folder, 'artefacts')
        self.machines = []
        os.makedirs(self.parent)

    def artefact(self, path):
        with open(os.path.join(self.artefacts, path), encoding='utf-8') as f:
            return f.read()

    def run(self, event, cancel=None):
        """The jobs that ran, by name; `cancel`: called with the process of a step that applies."""
        shutil.rmtree(self.artefacts, ignore_errors=True)
        done = {}
        for name, spec in self.workflow['jobs'].items():
            before = spec.get('needs')
            if before and (before not in done or done[before].code):
                continue
            job = Job(self, event, name, {before: {'outputs': done[before].outputs}} if before else {})
            job.cancel = cancel
            if job.run():
                done[name] = job
        return SimpleNamespace(jobs=set(done), **done)


def cancelled(process, number=signal.SIGINT):
    """As GitHub does it: a signal to the step's first process only."""
    os.kill(process.pid, number)

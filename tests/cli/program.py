"""raygpu as its user runs it: a folder with a spec, a state and its own environment.

    with Sim() as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec(pools={'serve': 2}))
        home.run('apply', 'cluster.yaml', '--auto-approve')            # asserts exit code 0
        home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)

The program is cmd/raygpu/raygpu in the build directory $RAYGPU_BUILD, or $RAYGPU."""
import contextlib
import json
import os
import re
import sqlite3
import subprocess
from pathlib import Path

import events
from inherited import inherited

ROOT = Path(__file__).resolve().parents[2]
BACKOFF_MS = '50'  # the longest wait before raygpu tries again; delete it from `env` to wait as users do
WAIT_S = '2'  # how long raygpu takes a cloud's view for one before its own changes, if they contradict; the simulators' is up to date
IMAGE = 'rayproject/ray:2.56.1-py311-cu121'


def binary():
    path = os.environ.get('RAYGPU')
    if not path and os.environ.get('RAYGPU_BUILD'):
        path = os.path.join(os.environ['RAYGPU_BUILD'], 'cmd/raygpu/raygpu')
    if not path:
        raise RuntimeError('set RAYGPU or RAYGPU_BUILD to say where raygpu is')
    return path


def spec(name='research', region='us-east-1', pools=None, head='m5.2xlarge', extra='', pool_extra=''):
    """A spec; pools: {name: nodes} of T4 nodes, or {name: (accelerators, nodes)}."""
    lines = [f'cluster: {name}', 'labels: {team: ml}', f'provider: {{name: aws, region: {region}}}',
             f'ray: {{version: 2.56.1, python: "3.11", image: "{IMAGE}"}}',
             f'head: {{instance_type: {head}}}', 'pools:']
    for pool, shape in (pools if pools is not None else {'serve': 1}).items():
        accelerators, nodes = shape if isinstance(shape, tuple) else ('T4:1', shape)
        lines.append(f'  {pool}: {{accelerators: "{accelerators}", nodes: {nodes}{pool_extra}}}')
    return '\n'.join(lines) + '\n' + extra


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr

    def json(self):
        return json.loads(self.out)

    def events(self, kind=None):
        """The messages of --json (tests/cli/events.py); `kind`: only those of this type."""
        return [e for e in events.read(self.out) if kind in (None, e['type'])]

    def summary(self):
        """What the last line says beyond Terraform's."""
        return events.read(self.out)[-1]['raygpu']

    def told(self, cluster=None):
        """The diagnostics of --json, with codes; `cluster`: only its own."""
        return [{**e.get('diagnostic', {}), **e['raygpu']} for e in self.events('diagnostic')
                if cluster in (None, e['raygpu'].get('cluster'))]

    def __repr__(self):
        return f'exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}'


class Home:
    """One user's folder."""

    def __init__(self, folder, env=None):
        self.folder = str(folder)
        self.env = {**inherited(), **(env or {})}
        self.env['HOME'] = self.folder
        self.env['RAYGPU_LOOPBACK_BACKOFF_MS'] = BACKOFF_MS
        self.env['RAYGPU_LOOPBACK_WAIT_S'] = WAIT_S
        self.env['RAYGPU_CHECK_CALLS'] = '1'     # what raygpu passes to modules, against schemas/calls.schema.json
        self.no_wait = self.env.pop('RAYGPU_TEST_NO_WAIT', None)  # of a cloud whose nodes never join Ray
        self.state = os.path.join(self.folder, '.raygpu/state.db')
        self.specs = []  # all texts that were written as one
        self.beyond_policy = ()  # actions of the test that `raygpu iam` does not cover

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        if name.endswith('.yaml'):
            self.specs.append(text)
        with open(self.path(name), 'w', encoding='utf-8') as f:
            f.write(text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding='utf-8') as f:
            return f.read()

    def start(self, *arguments, **more):
        return subprocess.Popen([binary(), *map(str, arguments)], cwd=self.folder, env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **more)

    def run(self, *arguments, code=0, env=None, stdin=None, timeout=300):
        """Runs raygpu; `code`: the exit code it must have, None = any."""
        if self.no_wait and arguments[:1] == ('apply',):
            arguments += ('--no-wait',)
        process = subprocess.run([binary(), *map(str, arguments)], cwd=self.folder,
                                 env={**self.env, **(env or {})}, capture_output=True, text=True,
                                 input=stdin, timeout=timeout, check=False,
                                 **({} if stdin is not None else {'stdin': subprocess.DEVNULL}))
        result = Result(process)
        assert not re.search(r'Sanitizer|runtime error:|-(CRITICAL|WARNING) \*\*', result.err), result
        if code is not None:
            assert result.code == code, f'{arguments}: wanted {code}, got {result}'
        return result

    def apply(self, name='cluster.yaml', *more, **options):
        return self.run('apply', name, '--auto-approve', *more, **options)

    def edit_state(self, *statements):
        """Edits the state like a person: without the sums, which would report the edit as damage (src/state/README.md)."""
        with contextlib.closing(sqlite3.connect(self.state)) as db, db:
            for statement in statements:
                db.execute(*(statement if isinstance(statement, tuple) else (statement,)))
            db.execute('DELETE FROM sums')

    def git(self, *arguments):
        env = {**self.env, 'GIT_AUTHOR_NAME': 'A', 'GIT_AUTHOR_EMAIL': 'a@example.org',
               'GIT_COMMITTER_NAME': 'A', 'GIT_COMMITTER_EMAIL': 'a@example.org'}
        return subprocess.run(['git', *arguments], cwd=self.folder, env=env, check=True,
                              capture_output=True, text=True).stdout.strip()

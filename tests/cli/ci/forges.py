"""A team whose repository is on GitHub or GitLab, of which forge_cli.py has the part that gh and glab reach: pull requests, approvals,
comments and issues. Jobs run the scripts of examples/ci in a clone of their own, with a simulated cloud and a state in a file.

    with Team('github', tmp_path) as team:
        pull = team.pull({'b.yaml': spec('b', pools={'serve': 2})})
        team.plan(pull)
        team.approve(pull, 'alice')
        team.apply(team.merge(pull))"""
import json
import os
import subprocess

from examples import CI, of_yaml
from forge_cli import NOW, opened
from program import ROOT, Home, binary, spec
from sim_server import Sim

CLI = ROOT / 'tests/cli/ci/forge_cli.py'


def rights_of(job):
    """What the token of a job of the example may do."""
    granted = of_yaml(CI / 'github-pull-requests.yml')['jobs'][job]['permissions']
    return ['metadata:read', *(f'{right}:{level}' for right, most in granted.items() for level in ('read', 'write')[:1 + (most == 'write')])]


class Team:
    def __init__(self, forge, folder):
        self.forge, self.folder = forge, str(folder)
        self.bot = 'github-actions[bot]' if forge == 'github' else 'project_42_bot_1'

    def path(self, name):
        return os.path.join(self.folder, name)

    def __enter__(self):
        self.sim = Sim('--boot-ms', '0', '--shutdown-ms', '0').__enter__()
        for name in ('origin', 'bin', 'forge', 'jobs', 'home'):
            os.mkdir(self.path(name))
        for name in ('gh', 'glab'):
            os.symlink(CLI, self.path(f'bin/{name}'))
        with open(self.path('forge/state.json'), 'w', encoding='utf-8') as f:
            json.dump({'now': NOW, 'bot': self.bot, 'pulls': {}, 'comments': {}, 'issues': [], 'faults': [], 'calls': [], 'rights': [],
                       'users': {'author': 'write', 'alice': 'write', 'bob': 'admin', 'guest': 'read'}}, f)
        self.origin = Home(self.path('origin'), self.sim.env())
        os.mkdir(self.origin.path('clusters'))
        self.origin.git('init', '-q', '-b', 'main')
        self.commit({'a.yaml': spec('a', pools={'serve': 4}), 'b.yaml': spec('b', pools={'serve': 4})})
        return self

    def __exit__(self, *error):
        self.sim.__exit__(*error)

    # ---- the repository

    def commit(self, files, message='a change'):
        for name, text in files.items():
            if text is None:
                self.origin.git('rm', '-q', f'clusters/{name}')
            else:
                self.origin.write(f'clusters/{name}', text)
        self.origin.git('add', '-A')
        self.origin.git('commit', '-qm', message)
        return self.origin.git('rev-parse', 'HEAD')

    def pull(self, files, branch='topic', message='a change', author='author'):
        self.origin.git('checkout', '-q', '-b', branch, 'main')
        with self.service() as state:
            number = str(len(state['pulls']) + 7)
            state['pulls'][number] = {'author': author, 'branch': branch, 'base': 'main', 'merged': None, 'reviews': [], 'versions': []}
        self.push(number, files, message)
        return number

    def push(self, pull, files, message='more'):
        with self.service() as state:
            one = state['pulls'][pull]
            self.origin.git('checkout', '-q', one['branch'])
            one['head'] = self.commit(files, message)
            state['now'] += 1
            one['versions'].append({'head': one['head'], 'at': state['now']})

    def merge(self, pull):
        """The push event of the merge: (commit before, commit)"""
        with self.service() as state:
            one = state['pulls'][pull]
            self.origin.git('checkout', '-q', 'main')
            before = self.origin.git('rev-parse', 'HEAD')
            self.origin.git('merge', '-q', '--no-ff', '-m', 'merged', one['branch'])
            one['merged'] = self.origin.git('rev-parse', 'HEAD')
            return before, one['merged']

    # ---- the service

    def service(self):
        return opened(self.path('forge'))

    def look(self, what):
        with self.service() as state:
            return state[what]

    def approve(self, pull, user, state='APPROVED', commit=None, **more):
        with self.service() as now:
            now['now'] += 1
            now['pulls'][pull]['reviews'].append(
                {'user': user, 'state': state, 'commit': commit or now['pulls'][pull]['head'], 'at': now['now'], **more})

    def comment(self, pull):
        """The text of the bot's only comment with a plan."""
        return self.written(pull, 'pull-request ')

    def result(self, pull):
        """The text of the bot's only comment with a result."""
        return self.written(pull, 'result ')

    def written(self, pull, marker):
        found = [one['body'] for one in self.look('comments').get(pull, []) if one['user'] == self.bot]
        assert len(found) <= 2, found
        found = [text for text in found if text.startswith(f'<!-- raygpu:{marker}')]
        assert len(found) == 1, found
        return found[0]

    def rewrite(self, pull, text):
        """Someone with a token of the bot edits its comment with the plan."""
        with self.service() as state:
            state['now'] += 1
            state['comments'][pull][0].update(body=text, at=state['now'])

    def issue(self):
        """The only open issue of the bot, or None."""
        found = [one for one in self.look('issues') if one['open'] and one['user'] == self.bot]
        assert len(found) < 2, found
        return found[0] if found else None

    def fault(self, method, path, status, times=1, **more):
        with self.service() as state:
            state['faults'].append({'method': method, 'path': path, 'status': status, 'times': times, **more})

    def writes(self):
        """How often something was written so far."""
        return len([1 for method, *_ in self.look('calls') if method != 'GET'])

    # ---- jobs

    def job(self, script, words, job, commit, code, event=None, during=None, **env):
        """`during`: called with the process of the job."""
        name = self.path(f'jobs/{len(os.listdir(self.path("jobs")))}')
        subprocess.run(['git', 'clone', '-q', '-b', 'main', self.origin.folder, name], check=True)
        subprocess.run(['git', 'checkout', '-q', commit], cwd=name, check=True)
        with open(name + '.event', 'w', encoding='utf-8') as f:
            json.dump(event or {}, f)
        if self.forge == 'github':
            env.update(GITHUB_ACTIONS='true', GITHUB_REPOSITORY='example/clusters', GITHUB_SERVER_URL='https://github.com', GITHUB_RUN_ID='99',
                       GITHUB_EVENT_PATH=name + '.event', GH_TOKEN='of-this-job')
        else:
            env.update(GITLAB_CI='true', CI_PROJECT_ID='42', CI_SERVER_FQDN='gitlab.example.org', GITLAB_TOKEN='of-this-job',
                       CI_JOB_URL='https://gitlab.example.org/infra/clusters/-/jobs/99', CI_DEFAULT_BRANCH='main')
        with self.service() as state:
            state['rights'] = rights_of(job) if self.forge == 'github' else ['api']
        process = subprocess.Popen([str(CI / script), *words], cwd=name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={
            **{key: value for key, value in self.origin.env.items() if not key.startswith(('GITHUB_', 'CI_', 'GITLAB_'))},
            'PATH': f'{self.path("bin")}:{os.path.dirname(binary())}:{os.environ["PATH"]}', 'HOME': self.path('home'),
            'RAYGPU_STATE': self.path('state.db'), 'FORGE': self.path('forge'), 'RETRY_SECONDS': '0', **env})
        if during:
            during(process)
        said, _ = process.communicate(timeout=300)
        assert process.returncode == code, f'{process.returncode}, not {code}:\n{said}'
        assert 'of-this-job' not in said and 'runtime error' not in said and 'Sanitizer' not in said, said
        return said

    def plan(self, pull, code=0, **env):
        """A job of a pull request runs on its merge with the main branch (GitHub), or on its head (GitLab)."""
        with self.service() as state:
            one = state['pulls'][pull]
        if self.forge == 'github':
            self.origin.git('checkout', '-q', '--detach', 'main')
            self.origin.git('merge', '-q', '--no-ff', '-m', 'as merged', one['head'])
            commit = self.origin.git('rev-parse', 'HEAD')
            self.origin.git('update-ref', 'refs/heads/pull', commit)  # so that a clone has it
            event = {'pull_request': {'number': int(pull), 'head': {'sha': one['head'], 'ref': one['branch']}, 'base': {'ref': 'main'}}}
            return self.job('pull-request.sh', ['plan'], 'plan', commit, code, event, **env)
        return self.job('pull-request.sh', ['plan'], 'plan', one['head'], code, CI_MERGE_REQUEST_IID=pull, CI_COMMIT_SHA=one['head'],
                        CI_MERGE_REQUEST_TARGET_BRANCH_NAME='main', **env)

    def apply(self, merge, code=0, **env):
        before, commit = merge
        event = {'ref': 'refs/heads/main', 'before': before, 'after': commit, 'repository': {'default_branch': 'main'}}
        gitlab = {'CI_COMMIT_SHA': commit, 'CI_COMMIT_BEFORE_SHA': before, 'CI_COMMIT_BRANCH': 'main'} if self.forge == 'gitlab' else {}
        return self.job('pull-request.sh', ['apply'], 'merged', commit, code, event, **{**gitlab, **env})

    def drift(self, code=0, **env):
        return self.job('drift-issue.sh', [], 'drift', 'main', code, **env)

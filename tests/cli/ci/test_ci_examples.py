"""examples/ci and the action: the files are what their systems accept, and their scripts work, in the order of a change's life, each
job in a clone of its own, with credentials that are exchanged for a token. test_two_machines.py runs the GitHub example."""
import base64
import json
import os
import re
import shutil
import subprocess

import pytest
import tf_state_server
import yaml
from examples import ACTION, CI, SYSTEMS, gitlab, of_yaml, text_of, yaml_env
from program import ROOT, Home, binary, spec
from sim_server import Sim

SCRIPTS = [ACTION / 'comment.sh', CI / 'cron.sh', CI / 'install.sh', CI / 'forge.sh', CI / 'pull-request.sh', CI / 'drift-issue.sh']
TOKEN = '.'.join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip('=') for part in (
    {'alg': 'RS256', 'typ': 'JWT'}, {'iss': 'https://ci.example.org', 'sub': 'a-job', 'aud': 'sts.amazonaws.com', 'exp': 4102444800},
    'signature'))
# What the shell of a step has of its agent.
AGENT = f'''#!/bin/sh
case "$*" in
oidc*) echo {TOKEN} ;;
annotate*) cat > annotation ;;
"artifact download plans/*.json . --step save") mkdir plans && cp "$ARTEFACTS"/*.json plans ;;
*) echo "buildkite-agent $*" >&2; exit 1 ;;
esac
'''


def known_options(command):
    text = subprocess.run([binary(), command, '-h'], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'^  (?:-\w, )?(--[a-z-]+)', text, re.M))


@pytest.mark.parametrize('name', [*SYSTEMS, 'cron.sh', 'pull-request.sh', 'drift-issue.sh', 'gitlab-merge-requests.yml'])
def test_every_command_exists_with_its_options(name):
    text = text_of(CI / name) if name.endswith('.sh') else '\n'.join(sum(
        (gitlab(name) if name not in SYSTEMS else SYSTEMS[name]()).values(), []))
    found = re.findall(r'raygpu(?: -C \S+)? ([a-z]+) ([^|;\n]*)', re.sub(r'^\s*#.*', '', text, flags=re.M))
    assert {'plan', 'apply', 'drift'} <= {command for command, _ in found} or name in ('pull-request.sh', 'drift-issue.sh', 'gitlab-merge-requests.yml')
    assert found
    for command, rest in found:
        assert set(re.findall(r'(?<!\S)--[a-z-]+', rest)) <= known_options(command), (command, rest)


def test_scripts_pass_shellcheck(tmp_path):
    paths = list(map(str, SCRIPTS))
    for name, scripts in {**SYSTEMS, 'merge-requests': lambda: gitlab('gitlab-merge-requests.yml')}.items():
        for job, steps in scripts().items():
            for number, step in enumerate(steps):
                path = tmp_path / f'{name}-{job}-{number}.sh'
                path.write_text(f'#!/bin/{"bash" if name == "github-actions.yml" else "sh"}\n{step}\n')
                paths.append(str(path))
    assert len(paths) > 20
    done = subprocess.run(['shellcheck', *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_workflow_gives_each_job_what_it_needs_and_no_more():
    workflow = of_yaml(CI / 'github-actions.yml')
    assert workflow['permissions'] == {}
    writing = {name for name, job in workflow['jobs'].items() if 'write' in
               {level for right, level in job['permissions'].items() if right != 'id-token'}}
    assert writing == {'plan'}, 'comments'
    roles = {name: [step['with']['role-to-assume'].rsplit('/', 1)[1] for step in job['steps'] if 'credentials' in step['uses']]
             for name, job in workflow['jobs'].items()}
    assert roles == {'plan': ['raygpu-read'], 'save': ['raygpu-read'], 'apply': ['raygpu-apply'], 'drift': ['raygpu-read']}
    assert workflow['jobs']['apply']['environment'], 'someone approves what costs money'
    assert 'secrets' not in re.sub('#.*', '', text_of(CI / 'github-actions.yml'))
    for path in (CI / 'github-actions.yml', CI / 'github-pull-requests.yml', ACTION / 'action.yml'):
        scripts = re.findall(r'run: (?:\|\n((?: {8}.*\n|\n)+)|(.*))', text_of(path))
        assert not any('${{' in script for pair in scripts for script in pair), 'text from outside in a script'


def test_the_workflow_of_pull_requests_gives_each_job_what_it_needs_and_no_more():
    """That the tokens suffice, the stand-in of gh checks in test_pull_requests.py."""
    workflow = of_yaml(CI / 'github-pull-requests.yml')
    assert workflow['permissions'] == {} and 'pull_request_target' not in workflow[True]
    jobs = workflow['jobs']
    writes = {name: {right for right, level in job['permissions'].items() if level == 'write'} for name, job in jobs.items()}
    assert writes == {'validate': set(), 'plan': {'id-token', 'pull-requests'}, 'merged': {'id-token', 'pull-requests'}, 'save': {'id-token'},
                      'apply': {'id-token'}, 'drift': {'id-token', 'issues'}, 'reap': {'id-token'}}
    roles = {name: [step['with']['role-to-assume'].rsplit('/', 1)[1] for step in job['steps'] if 'credentials' in step['uses']]
             for name, job in jobs.items()}
    assert roles == {'validate': [], 'plan': ['raygpu-read'], 'merged': ['raygpu-apply'], 'save': ['raygpu-read'], 'apply': ['raygpu-apply'],
                     'drift': ['raygpu-read'], 'reap': ['raygpu-apply']}
    assert jobs['merged']['environment'] != jobs['apply']['environment'], 'what nobody has approved waits for a reviewer'
    assert 'concurrency' not in jobs['merged'], 'a waiting merge would be cancelled'
    commands = {step['with']['command'] for job in jobs.values() for step in job['steps'] if 'command' in step.get('with', {})}
    assert commands == set(SYSTEMS['github-actions.yml']()) - {'install', 'plan', 'drift'} | {'apply', 'save'}


class Managed(tf_state_server.Handler):
    """GitLab's way: the lock is at ADDRESS/lock."""

    def here(self, parts):
        return parts._replace(path=parts.path.removesuffix('/lock'))

    def on_post(self, parts, body):
        return self.on_lock(self.here(parts), body) if parts.path.endswith('/lock') else super().on_post(parts, body)

    def on_delete(self, parts, body):
        return self.on_unlock(self.here(parts), body)

    do_GET = do_POST = do_DELETE = tf_state_server.Handler.serve


class Team:
    """A repository with two clusters, a pull request for one of them, and a folder per job."""

    def __init__(self, folder, sim, name):
        self.folder, self.name = folder, name
        self.origin = Home(folder / 'origin', {**sim.env(), 'GITHUB_STEP_SUMMARY': ''}) if (folder / 'origin').mkdir() is None else None
        os.mkdir(self.origin.path('clusters'))
        self.origin.git('init', '-q', '-b', 'main')
        for cluster in 'ab':
            self.origin.write(f'clusters/{cluster}.yaml', spec(cluster))
        self.commit('two clusters')
        self.base = self.origin.git('rev-parse', 'main')
        (folder / 'bin').mkdir()
        (folder / 'bin/buildkite-agent').write_text(AGENT)
        (folder / 'bin/buildkite-agent').chmod(0o755)
        self.env = {
            **{k: v for k, v in self.origin.env.items() if not k.startswith('AWS_') or 'URL' in k or 'REGION' in k},
            'PATH': f'{folder}/bin:{os.path.dirname(binary())}:{os.environ["PATH"]}', 'AWS_EC2_METADATA_DISABLED': 'true',
            'RAYGPU_STATE': str(folder / 'state.db'), 'RAYGPU_LOOPBACK_BACKOFF_MS': '50', 'ARTEFACTS': str(folder / 'artefacts'),
            'CI_MERGE_REQUEST_TARGET_BRANCH_NAME': 'main', 'CHANGE_TARGET': 'main', 'BUILDKITE_PULL_REQUEST_BASE_BRANCH': 'main',
            'BUILDKITE_JOB_ID': '7', 'AWS_TOKEN': TOKEN, 'CI_JOB_TOKEN': 'of-this-job',
            'AWS_ROLE_ARN': 'arn:aws:iam::123456789012:role/raygpu-apply'}
        (folder / 'token').write_text(TOKEN)
        if name == 'Jenkinsfile':
            self.env['AWS_WEB_IDENTITY_TOKEN_FILE'] = str(folder / 'token')

    def commit(self, message):
        self.origin.git('add', '-A')
        self.origin.git('commit', '-qm', message)

    def job(self, name, code=0, branch='main'):
        """Runs a job in a new clone, except "apply", which has the plans only; its folder and output."""
        folder = self.folder / f'{name}-{len(os.listdir(self.folder))}'
        if name == 'apply':
            folder.mkdir()
            if self.name != 'buildkite.yml':
                shutil.copytree(self.folder / 'artefacts', folder / 'plans')
        else:
            subprocess.run(['git', 'clone', '-q', '-b', branch, self.origin.folder, str(folder)], check=True)
        script = '\n'.join(one for one in SYSTEMS[self.name]()[name] if one != 'rm -rf plans')
        done = subprocess.run(['bash', '-e', '-c', script], cwd=folder, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        assert TOKEN not in done.stdout + done.stderr
        if name == 'save':
            shutil.rmtree(self.folder / 'artefacts', ignore_errors=True)
            shutil.copytree(folder / 'plans', self.folder / 'artefacts')
        return folder, done.stdout + done.stderr


@pytest.mark.parametrize('name', [name for name in SYSTEMS if name != 'github-actions.yml'])
def test_the_jobs_work_in_their_order(name, tmp_path):
    """GitLab's with a state that a GitLab manages, the others with a file."""
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim, \
            tf_state_server.StateServer('gitlab-ci-token:of-this-job') as states:
        team = Team(tmp_path, sim, name)
        if name == 'gitlab-ci.yml':
            states.RequestHandlerClass = Managed
            team.env['TF_HTTP_USERNAME'] = yaml_env(name)['TF_HTTP_USERNAME']
            team.env['RAYGPU_STATE'] = yaml_env(name)['RAYGPU_STATE'].replace('$CI_API_V4_URL', states.url('api/v4')) \
                .replace('$CI_PROJECT_ID', '7')
        changes = 2 if name == 'Jenkinsfile' else 0
        team.origin.git('checkout', '-q', '-b', 'topic')
        team.origin.write('clusters/b.yaml', spec('b', pools={'serve': 2}))
        team.commit('a node more')
        folder, said = team.job('plan', branch='topic')
        assert 'Cluster b' in said and 'Cluster a' not in said
        reports = {path.name for path in folder.iterdir() if path.suffix in ('.json', '.xml') or path.name == 'annotation'}
        assert reports == {'gitlab-ci.yml': {'gitlab.json', 'junit.xml'}, 'Jenkinsfile': {'plan.xml'}, 'buildkite.yml': {'annotation'}}[name]
        assert sim.counters()['mutating'] == 0
        team.origin.git('checkout', '-q', 'main')
        team.origin.git('merge', '-q', 'topic')
        team.job('save', code=changes)
        assert {method for method, _ in states.seen} <= {'GET'}, 'plans only read'
        team.job('apply')
        assert bool(states.states) == (name == 'gitlab-ci.yml') and states.locks == {}
        assert len(sim.live_instances()) == 5
        team.job('apply', code=6)  # stale: it was applied
        team.job('drift')
        sim.ec2('TerminateInstances', **{'InstanceId.1': sim.live_instances()[0]['instanceId']})
        _, said = team.job('drift', code=2)
        assert 'has been deleted' in said
        plans = ''.join(text_of(path) for path in (tmp_path / 'artefacts').iterdir())
        assert TOKEN not in plans and 'of-this-job' not in plans


def test_actions_of_others_are_named_by_commit():
    """Their owner, or an attacker who has their account, can move a tag to other code, which gets the job's credentials."""
    files = [path for folder in (CI, ACTION, ROOT / 'man') for path in folder.iterdir() if path.is_file()] + [ROOT / 'README.md']
    used = [(path.name, name) for path in files for name in re.findall(r'\buses: *["\']?([^\s,}"\']+)', text_of(path))]
    assert len({name for _, name in used}) >= 7
    assert {'action.yml', 'README.md', 'github-actions.yml', 'github-pull-requests.yml', 'raygpu-reap.1.scd'} <= {name for name, _ in used}
    assert not [one for one in used if not re.fullmatch(r'example/raygpu/.*@main|OWNER/raygpu/.*@REF|[\w/-]+@[0-9a-f]{40}', one[1])]


def test_images_have_a_version():
    """Those of others can be named by digest: README.md says how. Our own is the reader's build."""
    found = [(path.name, name) for path in CI.iterdir() for name in re.findall(
        r"(?:\bimage: |docker\.image\('|^ARG BASE=|docker build -t )([\w./-]+/[\w./-]+(?::[\w.-]+)?|debian[\w:.-]*)", text_of(path), re.M)]
    assert {name for name, _ in found} == {'Dockerfile', 'Jenkinsfile', 'README.md', 'gitlab-ci.yml', 'gitlab-merge-requests.yml'}
    assert not [one for one in found if not re.search(r':(0\.1\.0|bookworm-slim)$', one[1])]
    assert re.search(r'--build-arg BASE=\S+@sha256:', text_of(CI / 'README.md')) and '@sha256:' in text_of(CI / 'Dockerfile')


def test_the_state_is_named_by_the_environment():
    """Of each whole pipeline, or of the one job that the README begins with: state: of a spec would be that of the pull request."""
    block = re.search(r'## Ten lines\n\n((?: {4}.*\n)+)', text_of(CI / 'README.md')).group(1)
    job = yaml.safe_load(block)['jobs']['plan']
    assert job['env']['RAYGPU_STATE'].startswith('s3://') and block.count('\n') == 10
    for name in ('gitlab-ci.yml', 'gitlab-merge-requests.yml', 'buildkite.yml', 'github-actions.yml', 'github-pull-requests.yml'):
        assert yaml_env(name)['RAYGPU_STATE'], name
    assert re.search(r"^ {2}environment \{ RAYGPU_STATE = 's3://", text_of(CI / 'Jenkinsfile'), re.M)
    assert not [path.name for path in (*CI.iterdir(), ACTION / 'action.yml') if re.search('raygpu .*--state ', text_of(path))]


def test_cron_plans_waits_for_approval_and_applies_exactly_that(tmp_path):
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim:
        team = Team(tmp_path, sim, 'cron.sh')
        for name in ('clone', 'clone-applies'):
            subprocess.run(['git', 'clone', '-q', team.origin.folder, str(tmp_path / name)], check=True)
        (tmp_path / 'plans').mkdir()
        env = {**team.env, **sim.env(), 'PATH': team.env['PATH'], 'PLANS': str(tmp_path / 'plans')}

        def cron(*words, code=0):
            clone = str(tmp_path / ('clone-applies' if words == ('apply',) else 'clone'))
            done = subprocess.run([str(CI / 'cron.sh'), *words], env={**env, 'CLONE': clone}, capture_output=True, text=True, check=False)
            assert done.returncode == code, done.stdout + done.stderr
            return done.stdout if code == 0 or 'drift' in words else done.stderr
        assert cron(code=4) == 'usage: cron.sh plan | approve COMMIT | apply | drift\n'
        assert f'cron.sh approve {team.base}' in cron('plan')
        assert cron('plan') == '' and cron('apply') == '' and sim.live_instances() == [], 'nobody approved it'
        plan = tmp_path / 'plans' / team.base / 'plans/a.json'
        cron('approve', team.base)
        kept = plan.read_text()
        plan.write_text(kept.replace('us-east-1', 'us-west-2'))
        cron('apply', code=1)
        assert sim.live_instances() == [] and not plan.exists(), 'not what was approved'
        # the machine that reads lies: in the text, in what the text does not show of a plan, and about the commit
        text, elsewhere = tmp_path / 'plans' / team.base / 'plan.md', tmp_path / 'plans' / ('a' * 40)
        for path, was, now in [(text, 'to add', 'to leave'), (plan, '"disk_size_gb":100', '"disk_size_gb":999')]:
            cron('plan')
            said = path.read_text()
            assert was in re.sub('": ', '":', said), said[:2000]
            path.write_text(re.sub('": ', '":', said).replace(was, now))
            cron('approve', team.base)
            assert 'is not what would be applied' in cron('apply', code=9), path
            assert sim.live_instances() == [] and not plan.exists()
        cron('plan')
        (tmp_path / 'plans' / team.base).rename(elsewhere)
        cron('approve', elsewhere.name)
        assert 'is not on the branch' in cron('apply', code=9) and sim.live_instances() == []
        cron('plan')
        cron('approve', team.base)
        assert 'Apply complete' in cron('apply')
        assert len(sim.live_instances()) == 4 and cron('apply') == '' and cron('plan') == '' and cron('drift') == ''
        sim.ec2('TerminateInstances', **{'InstanceId.1': sim.live_instances()[0]['instanceId']})
        assert 'has been deleted' in cron('drift', code=2)


@pytest.mark.parametrize('name', ['gitlab-ci.yml', 'gitlab-merge-requests.yml', 'buildkite.yml', 'github-actions.yml', 'github-pull-requests.yml',
                                  'Jenkinsfile'])
def test_no_credentials_are_in_the_files(name):
    text = text_of(CI / name)
    assert not re.search(r'(?:AKIA|ASIA)[A-Z0-9]{8}|://[^/\s:]+:[^/\s@]+@', text)
    if name.endswith('.yml'):
        state = yaml_env(name)['RAYGPU_STATE']
        assert re.match(r's3://|\$CI_API_V4_URL/projects/\$CI_PROJECT_ID/terraform/state/raygpu', state)


def test_the_image_has_every_library():
    """The packages of the libraries that the programs and modules load are in the Dockerfile's last stage."""
    dockerfile = text_of(CI / 'Dockerfile').split('\nFROM ')[2]
    build = os.environ['RAYGPU_BUILD']
    installed = [path for target in json.loads(subprocess.run(['meson', 'introspect', build, '--targets'], check=True, capture_output=True)
                 .stdout) if target['installed'] and target['type'] in ('executable', 'shared module', 'shared library')
                 for path in target['filename'] if not path.endswith('-sim')]
    assert len(installed) >= 7
    text = subprocess.run(['readelf', '-d', *installed], check=True, capture_output=True, text=True).stdout
    cache = subprocess.run(['/sbin/ldconfig', '-p'], check=True, capture_output=True, text=True).stdout
    names = {name for name in re.findall(r'\(NEEDED\).*\[(.*)\]', text) if not name.startswith(('ld-linux', 'libasan', 'libubsan'))}
    paths = [os.path.realpath(re.search(rf'^\s*{re.escape(name)} .*=> (\S+)', cache, re.M).group(1)) for name in names]
    # merged /usr: packages may still name the old path
    owners = subprocess.run(['dpkg', '-S', *paths, *(path.removeprefix('/usr') for path in paths)], check=False, capture_output=True,
                            text=True).stdout
    packages = set(re.findall(r'^([^:\n]+):', owners, re.M))
    assert len(packages) > 10 and packages - {'libc6', 'libgcc-s1'} <= set(dockerfile.split())


def test_a_checkout_is_all_that_the_image_copies():
    ignored = text_of(ROOT / '.dockerignore').split()
    assert '.git' in ignored and 'build*' in ignored

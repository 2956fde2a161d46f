"""The jobs of a spec: RayJobs of its cluster, each of which runs once."""
import json
import signal

import manifests
from kube_spec import spec
from program import Home

JOBS = '''jobs:
  finetune:
    entrypoint: python train.py --epochs 3
    runtime_env: {pip: [torch==2.7.0], env_vars: {MODE: "full"}}
    metadata: {team: ml}
    entrypoint_num_cpus: 0.5
    entrypoint_resources: {region-a: 1}
    timeout_s: 3600
'''
WRITES = 'create rayjobs', 'delete rayjobs', 'patch rayjobs'


def jobs(cluster):
    return sorted(cluster.list('RayJob', 'ml'), key=lambda one: one['metadata']['name'])


def applied(cluster, home, text, *words):
    """What an apply does to jobs."""
    home.write('cluster.yaml', text)
    cluster.requests.clear()
    home.run('apply', 'cluster.yaml', '--auto-approve', *words)
    return {name: number for name, number in cluster.counts(writes=True).items() if name in WRITES}


def same(home):
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    home.run('drift', 'cluster.yaml')


def test_a_job_runs_once(cluster, world, home):
    """Not again by a second apply, nor after KubeRay's object was cleaned up; a changed job is a new one."""
    text = spec({'train': 1}, extra=JOBS)
    assert applied(cluster, home, text) == {'create rayjobs': 1}
    sent = next(one.object() for one in cluster.requests if one.writes and one.resource == 'rayjobs')
    assert manifests.refused(sent) == []
    world.settle()
    [job] = jobs(cluster)
    assert job['status']['jobStatus'] == 'SUCCEEDED'
    made = job['spec']
    assert made['clusterSelector'] == {'ray.io/cluster': 'research'} and made['entrypoint'] == 'python train.py --epochs 3'
    assert json.loads(made['runtimeEnvYAML']) == {'pip': ['torch==2.7.0'], 'env_vars': {'MODE': 'full'}}
    assert (made['entrypointNumCpus'], json.loads(made['entrypointResources']), made['metadata']) == (0.5, {'region-a': 1}, {'team': 'ml'})
    assert (made['activeDeadlineSeconds'], made['backoffLimit'], made.get('shutdownAfterJobFinishes')) == (3600, 0, None)
    same(home)
    assert applied(cluster, home, text) == {}

    cluster.delete('RayJob', 'ml', job['metadata']['name'])
    same(home)
    assert applied(cluster, home, text) == {} and jobs(cluster) == []
    assert 'kubernetes.ray_job.finetune' in home.run('plan', 'cluster.yaml', '--replace', 'kubernetes.ray_job.finetune').out
    assert applied(cluster, home, text, '--replace', 'kubernetes.ray_job.finetune') == {'create rayjobs': 1}
    [again] = jobs(cluster)
    assert again['metadata']['name'] == job['metadata']['name'] and again['metadata']['uid'] != job['metadata']['uid']

    assert applied(cluster, home, text.replace('epochs 3', 'epochs 4')) == {'create rayjobs': 1, 'delete rayjobs': 1}
    [changed] = jobs(cluster)
    assert changed['metadata']['name'] != job['metadata']['name'] and changed['spec']['entrypoint'].endswith('4')
    same(home)
    assert applied(cluster, home, spec({'train': 1})) == {'delete rayjobs': 1} and jobs(cluster) == []
    same(home)


def test_a_lost_answer_and_a_kill_start_one_job(cluster, world, home):
    """The answer to the POST is lost; or raygpu is killed as it arrives: the next apply finds the job by its token."""
    cluster.lose(verb='create', resource='rayjobs', dry=False)
    text = spec({'train': 1}, extra=JOBS)
    applied(cluster, home, text)
    [first] = jobs(cluster)
    running = []

    def kill(_):
        running[0].send_signal(signal.SIGKILL)
        running[0].wait()

    home.write('cluster.yaml', text.replace('epochs 3', 'epochs 4'))
    cluster.rule(verb='create', resource='rayjobs', dry=False, after=kill)
    running.append(home.start('apply', 'cluster.yaml', '--auto-approve'))
    running[0].communicate(timeout=120)
    [second] = jobs(cluster)
    assert second['metadata']['name'] != first['metadata']['name']
    home.apply()
    assert [one['metadata']['uid'] for one in jobs(cluster)] == [second['metadata']['uid']]
    same(home)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert jobs(cluster) == []


def test_jobs_end_before_their_cluster(cluster, world, home):
    """KubeRay's finalizer stops a running job through the cluster's head."""
    applied(cluster, home, spec({'train': 1}, extra=JOBS))
    cluster.patch('RayJob', {'metadata': {'finalizers': ['ray.io/rayjob-finalizer']}}, 'ml', jobs(cluster)[0]['metadata']['name'])
    order = []

    def ended(request):
        order.append(request.resource)
        if request.resource == 'rayjobs':
            cluster.patch('RayJob', {'metadata': {'finalizers': None}}, 'ml', request.name)

    cluster.rule(verb='delete', after=ended, times=None)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert order.index('rayclusters') > max(place for place, name in enumerate(order) if name == 'rayjobs')
    assert jobs(cluster) == [] and cluster.list('RayCluster', 'ml') == []


def test_a_failed_job_is_reported(cluster, world, home):
    """It is not run again by itself, and it is not drift; nor is what others change in it."""
    applied(cluster, home, spec({'train': 1}, extra=JOBS))
    world.settle()
    name = jobs(cluster)[0]['metadata']['name']
    cluster.patch('RayJob', {'status': {'jobStatus': 'FAILED', 'jobDeploymentStatus': 'Failed', 'message': 'exit status 3'}}, 'ml', name, 'status')
    cluster.patch('RayJob', {'spec': {'entrypoint': 'sleep 1'}}, 'ml', name)
    result = home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    said = ' '.join((result.out + result.err).split())
    assert f'the job {name} ended as FAILED: exit status 3' in said and '--replace kubernetes.ray_job.finetune' in said
    home.run('drift', 'cluster.yaml')


def test_two_copies_of_a_state_start_one_job(cluster, world, home, tmp_path):
    """Both copies name the job alike; the second one is refused."""
    text = spec({'train': 1})
    applied(cluster, home, text)
    state = home.path('.raygpu/state.db')
    folder = tmp_path / 'other'
    (folder / '.raygpu').mkdir(parents=True)
    other = Home(folder, home.env)
    with open(state, 'rb') as source, open(other.path('.raygpu/state.db'), 'wb') as target:
        target.write(source.read())
    applied(cluster, home, text + JOBS)
    other.write('cluster.yaml', text + JOBS)
    result = other.run('apply', 'cluster.yaml', '--auto-approve', code=None)
    assert len(jobs(cluster)) == 1, result


def test_other_clouds_refuse_jobs(home):
    home.write('cluster.yaml', spec({'train': 1}, extra=JOBS).replace('{name: kubernetes, namespace: ml}', '{name: aws, region: us-west-2}')
               .replace('instance_type: cpu', 'instance_type: m6i.large'))
    said = ' '.join(home.run('plan', 'cluster.yaml', code=4).err.split())
    assert 'the provider aws cannot start jobs' in said and 'ray job submit' in said and 'cluster.yaml:9:3' in said


def test_roles_of_a_spec_with_jobs(home):
    """Only a spec with jobs has them in its roles."""
    for text, wanted in ((spec({'train': 1}, extra=JOBS), True), (spec({'train': 1}), False)):
        home.write('cluster.yaml', text)
        for task in ('plan', 'apply'):
            roles = home.run('iam', 'cluster.yaml', '--for', task).json()
            assert ('rayjobs' in json.dumps(roles)) == wanted

"""Kubernetes, on the real API server: first apply and no-op plan of 50 clusters with 20 groups and 2,000 pods, export of 1,000 groups.

The clusters are really applied; KubeRay and the scheduler then make the pods, once, and nothing else writes while a plan is
measured. Each plan must say "No changes." of all clusters and send no request that changes something. The server and the one before
it (tests/kube/front.py, Python) share the two cores with raygpu: wall times are mostly theirs."""
import os
import shutil
import sys
import tempfile

from measure import median, run, seconds, table
from program import Home, binary

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../kube'))
import apiserver  # noqa: E402
import front  # noqa: E402
from kuberay import KubeRay  # noqa: E402
from nodes import Nodes, gpu_node  # noqa: E402

HEAD = ['what', 'wall s', 'CPU s', 'peak MiB', 'calls', 'changing calls']


def spec(name, groups, nodes):
    lines = [f'cluster: {name}', 'provider: {name: kubernetes, namespace: ml}',
             'ray: {version: 2.56.1, python: "3.11", image: "rayproject/ray:2.56.1-py311-cu121"}', 'head: {instance_type: cpu}', 'pools:']
    lines += [f'  group-{number}: {{accelerators: "T4:1", nodes: {nodes}}}' for number in range(groups)]
    return '\n'.join(lines) + '\n'


def row(what, cluster, runs, count):
    """`count`: how many runs the recorded requests are of."""
    requests = cluster.counts() if cluster else {}
    changing = cluster.counts(writes=True) if cluster else {}
    return [what, seconds(median(runs, 'wall_s')), seconds(median(runs, 'cpu_s')), f'{median(runs, "rss_mib"):.0f}',
            sum(requests.values()) // count, sum(changing.values()) // count]


def check(used, words=''):
    if used.code or words not in used.out:
        raise RuntimeError(f'raygpu ended with {used.code}:\n{used.out[-3000:]}')
    return used


def make_pods(cluster):
    """What operators do until nothing is left to do."""
    kuberay, nodes = KubeRay(), Nodes()
    for one in (kuberay, nodes, nodes, kuberay):
        one.step(cluster)


def live_rows(folder, clusters, groups, pods, repeats):
    home = Home(folder)
    os.mkdir(home.path('specs'))
    for number in range(clusters):
        home.write(f'specs/c{number}.yaml', spec(f'c{number}', groups, pods // clusters // groups))
    with front.Cluster(front.RAY) as cluster:
        cluster.namespace('ml')
        home.env['KUBECONFIG'] = cluster.kubeconfig(home.path('kubeconfig'), namespace='ml')
        gpu_node(cluster, 'large', 'Tesla-T4', 100000, cpu=1000000, memory='9000Ti')
        cluster.requests.clear()
        first = check(run([binary(), 'apply', 'specs', '--auto-approve', '--no-wait'], cwd=home.folder, env=home.env))
        yield row(f'first apply: {clusters} clusters of {groups} groups', cluster, [first], 1)
        make_pods(cluster)
        made = len(cluster.list('Pod', 'ml'))
        if made != clusters * (pods // clusters // groups * groups + 1):
            raise RuntimeError(f'{made} pods')
        cluster.requests.clear()
        runs = [check(run([binary(), 'plan', 'specs', '--detailed-exitcode'], cwd=home.folder, env=home.env)) for _ in range(repeats)]
        yield row(f'no-op plan: {clusters} clusters of {groups} groups, {made:,} pods', cluster, runs, repeats)
        cluster.requests.clear()
        runs = [check(run([binary(), 'plan', 'specs/c0.yaml', '--detailed-exitcode'], cwd=home.folder, env=home.env), 'No changes.') for _ in range(repeats)]
        yield row('no-op plan of one of them', cluster, runs, repeats)


def export_row(folder, groups, repeats):
    """A cluster has at most 200 pools."""
    home = Home(folder)
    clusters = groups // 200
    for number in range(clusters):
        home.write(f'export-{number}.yaml', spec(f'c{number}', 200, 2))
    script = ' && '.join(f'{binary()} export kuberay export-{number}.yaml' for number in range(clusters))
    runs = [check(run(['sh', '-c', script], cwd=home.folder, env=home.env)) for _ in range(repeats)]
    if runs[0].out.count('groupName:') != groups:
        raise RuntimeError(runs[0].out[-3000:])
    return row(f'export of {groups:,} groups, in {clusters} runs', None, runs, 1)


def section(repeats, clusters=50, groups=20, pods=2000):
    folder = tempfile.mkdtemp(prefix='raygpu-bench-')
    try:
        print('### Kubernetes\n')
        rows = [export_row(folder, 1000, repeats)]
        if apiserver.folder():
            rows += live_rows(folder, clusters, groups, pods, repeats)
        print(table(HEAD, rows), '\n', flush=True)
        if not apiserver.folder():
            print(apiserver.NO_SERVER, flush=True)
    finally:
        shutil.rmtree(folder)

"""What an inventory says of its hosts: prices, CPUs and memory. The hosts are a stand-in for ssh."""
import os
import shutil

import pytest
from program import ROOT
from ssh_many_home import ManyHome


@pytest.fixture
def home(tmp_path):
    return ManyHome(tmp_path)


def spec(home, *hosts, nodes=1, more=''):
    home.write('cluster.yaml', '\n'.join([
        'cluster: small', 'provider:', '  name: ssh', '  hosts:', *(f'    - {{{host}}}' for host in hosts), 'ray: {version: 2.56.1, python: "3.11"}',
        'head: {instance_type: cpu}', 'pools:', f'  train: {{accelerators: "T4:8", nodes: {nodes}}}', more, '']))


HEAD = 'address: head, usd_per_hour: 0.5'


def told(home, *arguments, code=0):
    end = home.run(*arguments, code=code)
    return ' '.join((end.out + end.err).split())


@pytest.mark.parametrize('hosts,project,hour', [
    # the dearest of the shape, whichever is taken
    (['address: "gpu[1-2]", gpus: "T4:8", usd_per_hour: 1.25', 'address: gpu3, gpus: "T4:8", usd_per_hour: 2.25'], None, '$0.00 -> $2.75'),
    # one without a price may be dearer
    (['address: gpu1, gpus: "T4:8", usd_per_hour: 1.25', 'address: gpu2, gpus: "T4:8"'], None, '$0.00 -> at least $0.50'),
    # it has the project's
    (['address: gpu1, gpus: "T4:8", usd_per_hour: 1.25', 'address: gpu2, gpus: "T4:8"'], 3, '$0.00 -> $3.50'),
    (['address: gpu1, gpus: "T4:8", usd_per_hour: 1.25', 'address: gpu2, gpus: "T4:8"'], 1, '$0.00 -> $1.75'),
    # the inventory's own counts instead
    (['address: gpu1, gpus: "T4:8", usd_per_hour: 1.25'], 3, '$0.00 -> $1.75'),
    (['address: gpu1, gpus: "T4:8"'], 3, '$0.00 -> $3.50')])
def test_a_plan_counts_the_dearest_host(home, hosts, project, hour):
    if project:
        home.write('raygpu.yaml', f'catalog: {{prices: {{ssh: [{{instance_type: "T4:8", hourly_usd: {project}}}]}}}}\n')
    spec(home, HEAD, *hosts)
    said = told(home, 'plan', 'cluster.yaml')
    assert f'Cost: {hour} per hour' in said and ('unpriced' in said) == (hour == '$0.00 -> at least $0.50'), said


def test_budgets_and_costs_count_the_prices(home):
    gpu = 'address: "gpu[1-3]", gpus: "T4:8", usd_per_hour: '
    spec(home, HEAD, gpu + '2', nodes=2, more='budget: {hourly_usd: 4}')
    assert 'would cost $4.5 per hour; the budget is $4' in told(home, 'plan', 'cluster.yaml', code=9)
    spec(home, HEAD, gpu + '2', more='budget: {hourly_usd: 4}')
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert 'total 2 $2.50' in told(home, 'cost', 'cluster.yaml')
    # the price of hosts that are in use is also today's
    spec(home, HEAD, gpu + '5', more='budget: {hourly_usd: 9}')
    assert 'No changes.' in told(home, 'plan', 'cluster.yaml', '--detailed-exitcode')
    spec(home, HEAD, gpu + '5', nodes=2, more='budget: {hourly_usd: 9}')
    assert 'would cost $10.5 per hour' in told(home, 'plan', 'cluster.yaml', code=9)


def test_workloads_are_compared_with_cpus_and_memory(home):
    gpus = ['address: gpu1, gpus: "T4:8", cpus: 16, memory: 256GiB', 'address: gpu2, gpus: "T4:8", cpus: 8, memory: 64GiB']
    for wish, why in (('cpus: 12', 'needs 12 CPUs on one node; T4:8 has 8'), ('memory: 100GB', 'needs 100 GiB of memory on one node; Ray offers 43.4 of T4:8')):
        spec(home, 'address: head', *gpus, more=f'workloads: {{big: {{gpus: 8, {wish}}}}}')
        assert why in told(home, 'plan', 'cluster.yaml', code=4)
    spec(home, 'address: head', *gpus, more='workloads: {big: {gpus: 8, cpus: 8, memory: 40GB}}')
    assert 'all of them fit at once' in told(home, 'plan', 'cluster.yaml')
    # of a host that does not say it, nothing is known
    spec(home, 'address: head', *gpus, 'address: gpu3, gpus: "T4:8"', more='workloads: {big: {gpus: 8, cpus: 12, memory: 100GB}}')
    assert 'T4:8 has 8' not in told(home, 'plan', 'cluster.yaml')


def test_a_host_that_differs_is_named_at_its_line(home):
    spec(home, 'address: head, cpus: 4, memory: 8GiB', 'address: gpu1, gpus: "T4:8", cpus: 8, memory: 64GiB')
    home.write('head.says', 'raygpu: cpus 4\nraygpu: memory_kib 8100000\n')
    home.write('gpu1.says', 'raygpu: cpus 4\nraygpu: memory_kib 65000000\n')
    said = told(home, 'plan', 'cluster.yaml')
    assert 'gpu1 has 4 CPUs, and 8 in the inventory' in said and 'on cluster.yaml:6:43' in said and 'head has' not in said, said
    home.write('gpu1.says', 'raygpu: cpus 8\nraygpu: memory_kib 32000000\n')
    said = told(home, 'plan', 'cluster.yaml')
    assert 'gpu1 has 30.5 GiB of memory, and 64 GiB in the inventory' in said and 'on cluster.yaml:6:54' in said, said


@pytest.mark.parametrize('wrong,expected', [
    ('usd_per_hour: -1', 'usd_per_hour'), ('cpus: 0', 'cpus'), ('memory: 64GB', 'a size in GiB or TiB, such as 512GiB')])
def test_a_wrong_figure_is_refused_at_its_line(home, wrong, expected):
    spec(home, 'address: head', f'address: gpu1, gpus: "T4:8", {wrong}')
    said = told(home, 'validate', 'cluster.yaml', code=4)
    assert expected in said and 'cluster.yaml:6:' in said, said


LABELLED = ['address: gpu1, gpus: "T4:8", labels: {fabric: ib, team: vision}', 'address: "gpu[2-3]", gpus: "T4:8"',
            'address: "gpu[4-5]", gpus: "T4:8", rack: r2, labels: {fabric: ib}']


def two_pools(home, labelled, others):
    home.write('cluster.yaml', '\n'.join([
        'cluster: small', 'provider:', '  name: ssh', '  hosts:', '    - {address: head}', *(f'    - {{{host}}}' for host in LABELLED),
        'ray: {version: 2.56.1, python: "3.11"}', 'head: {instance_type: cpu}', 'pools:',
        f'  a: {{accelerators: "T4:8", nodes: {others}}}', f'  b: {{accelerators: "T4:8", {labelled}}}', '']))


def test_a_pool_gets_hosts_with_the_labels_that_it_requires(home):
    two_pools(home, 'nodes: 3, provider: {labels: {fabric: ib}}', others=2)
    said = told(home, 'apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert 'a takes gpu2, gpu3' in said and 'b takes gpu1' in said and 'b takes gpu4, gpu5' in said, said
    assert home.claimed() == ['gpu1', 'gpu2', 'gpu3', 'gpu4', 'gpu5', 'head']
    claims = {host: home.read(f'rack/{host}') for host in home.claimed()}
    assert all('node.b[' in claims[host] for host in ('gpu1', 'gpu4', 'gpu5')) and all('node.a[' in claims[host] for host in ('gpu2', 'gpu3')), claims
    assert 'fabric' in home.read('scripts')
    assert 'No changes.' in told(home, 'plan', 'cluster.yaml', '--detailed-exitcode')
    # what all of its hosts have changes nothing but the labels in Ray; what one lacks replaces that node
    two_pools(home, 'nodes: 3, provider: {labels: {fabric: ib, team: vision}}', others=2)
    said = told(home, 'plan', 'cluster.yaml', code=None)
    assert 'provider.labels' in said and '2 to add' in said, said


def test_a_plan_counts_only_the_hosts_with_the_labels(home):
    two_pools(home, 'nodes: 4, provider: {labels: {fabric: ib}}', others=0)
    assert 'only 1 of T4:8 is free in default, 2 in r2, and pool b needs 4 [fit.no-stock]' in told(home, 'plan', 'cluster.yaml', code=8)
    two_pools(home, 'nodes: 2, gang: true, provider: {labels: {fabric: ib}}', others=0)
    assert 'b takes gpu4, gpu5' in told(home, 'plan', 'cluster.yaml')
    two_pools(home, 'nodes: 1, provider: {labels: {fabric: roce}}', others=0)
    assert 'only 0 of T4:8 are free' in told(home, 'plan', 'cluster.yaml', code=8)
    two_pools(home, 'nodes: 1, zones: [default], provider: {labels: {team: vision}}', others='3, zones: [default]')
    said = told(home, 'plan', 'cluster.yaml', code=8)
    assert 'pool b needs 1 [fit.no-stock]' in said and 'only nodes that suit its `provider` settings count' in said, said


def test_two_pools_may_require_the_same_labels(home):
    """Each of them finds a host, but it is the same one."""
    two_pools(home, 'nodes: 1, zones: [default], provider: {labels: {team: vision}}', others='1, zones: [default], provider: {labels: {fabric: ib}}')
    assert 'pool b needs more hosts with the labels that it requires: 1' in told(home, 'plan', 'cluster.yaml', code=8)
    two_pools(home, 'nodes: 1, provider: {labels: {team: vision}}', others='2, zones: [r2], provider: {labels: {fabric: ib}}')
    said = told(home, 'apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert home.claimed() == ['gpu1', 'gpu4', 'gpu5', 'head'], said


def test_workloads_may_select_the_labels_that_a_pool_requires(home):
    two_pools(home, 'nodes: 1, provider: {labels: {fabric: ib}}', others=1)
    text = home.read('cluster.yaml')
    home.write('cluster.yaml', text + 'workloads: {w: {gpus: 1, labels: {fabric: ib}}}\n')
    assert 'fits b' in told(home, 'plan', 'cluster.yaml')
    home.write('cluster.yaml', text + 'workloads: {w: {gpus: 1, labels: {team: vision}}}\n')
    assert 'cannot run on any pool' in told(home, 'plan', 'cluster.yaml', code=4)


def racks(home, *names, more=''):
    """A host for each name of a rack, and a node on each."""
    home.write('cluster.yaml', '\n'.join([
        'cluster: racks', 'provider:', '  name: ssh', '  hosts:', '    - {address: head}',
        *(f'    - {{address: gpu{number}, gpus: "T4:8", rack: {rack}}}' for number, rack in enumerate(names)),
        'ray: {version: 2.56.1, python: "3.11"}', 'head: {instance_type: cpu}', 'pools:', f'  train: {{accelerators: "T4:8", nodes: {len(names)}{more}}}', '']))


@pytest.mark.parametrize('now', ['r2 r2', 'r1 r2'])
def test_a_rack_that_is_corrected_replaces_no_node(home, now):
    """Ray starts again there: its labels have the rack."""
    racks(home, 'r1', 'r1')
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    before = home.read('rack/gpu1')
    racks(home, *now.split())
    plan = home.run('plan', 'cluster.yaml')
    assert f'Plan: 0 to add, {now.count("r2")} to change, 0 to destroy' in plan.out, plan
    os.remove(home.path('rack.functions'))
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert sorted(set(home.read('rack.functions').split())) == ['change', 'probe'] and home.read('rack/gpu1') == before
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--detailed-exitcode').out
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not home.claimed()


def test_a_node_whose_rack_the_pool_does_not_admit_moves(home):
    racks(home, 'r1', 'r1', more=', zones: [r1]')
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    racks(home, 'r1', 'r2', more=', zones: [r1]')
    assert 'only 0 of T4:8 are free in r1, and pool train needs 1 more' in told(home, 'plan', 'cluster.yaml', code=8)


def test_the_example_is_a_cluster_of_two_sites(home):
    shutil.copy(ROOT / 'examples/hybrid.yaml', home.path('cluster.yaml'))
    said = told(home, 'apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert home.claimed() == ['gpu1.office.example.org', 'gpu3.rented.example.org', 'gpu4.rented.example.org', 'head.office.example.org'] and '$0.00 -> $9.00' in said, said

"""Instance types that no table has are described by EC2 (DescribeInstanceTypes), once: what it says is kept with the state."""
import pytest
from program import spec
from sim_server import Sim

NEW = 'p9.48xlarge'
TYPES = {NEW: {'vcpus': 192, 'memory_gib': 2048, 'gpus': {'name': 'H200', 'count': 8, 'memory_gib': 141}, 'network_gbps': 3200, 'efa': 32},
         'm9.2xlarge': {'vcpus': 8, 'memory_gib': 32}, 'm9z.large': {'vcpus': 2, 'memory_gib': 8, 'zones': ['us-east-1b'], 'placement': False}}


@pytest.fixture
def sim():
    with Sim('--boot-ms', '0') as sim:
        sim.control('PUT', 'scenario', {'instance_types': TYPES})
        sim.knobs(quotas={'L-417A185B': 10000, 'L-DB2E81BA': 10000, 'L-1216C47A': 10000})
        yield sim


def cluster(pool=NEW, nodes=2, head='m5.2xlarge', extra='', more=''):
    return spec(head=head, extra=extra, pool_extra=more).replace('accelerators: "T4:1", nodes: 1', f'instance_type: {pool}, nodes: {nodes}')


def described(sim):
    return sim.counters()['actions'].get('DescribeInstanceTypes', {}).get('requests', 0)


def flat(text):
    return ' '.join(text.replace('│', ' ').split())


def test_plan_apply_no_changes_destroy(sim, home):
    home.write('cluster.yaml', cluster(head='m9.2xlarge'))
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    said = flat(plan.out + plan.err)
    assert f'no table has {NEW}: the cloud reports 192 vCPUs, 2048 GiB, 8 H200-141GB' in said, plan
    assert 'no table has m9.2xlarge: the cloud reports 8 vCPUs, 32 GiB' in said, plan
    assert '2 unpriced' in said, plan.out
    assert described(sim) == 2, 'both types at once, and the check of what is created'
    home.apply()
    live = sim.live_instances()
    assert sorted(i['instanceType'] for i in live) == ['m9.2xlarge', NEW, NEW]
    sim.counters_reset()
    home.env['RAYGPU_TEST_NO_WAIT'] = '1'
    again = home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--no-settle')
    assert 'No changes.' in again.out and 'no table has' not in flat(again.out + again.err), again
    actions = sim.counters()['actions']
    assert described(sim) == 0 and not [name for name in actions if name.startswith('DescribeInstanceType')], actions
    assert home.run('drift', 'cluster.yaml', '--no-settle').out.startswith('No drift.')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert sim.live_instances() == [] and described(sim) == 0


def test_a_cluster_of_listed_types_costs_no_request_more(sim, home):
    home.write('cluster.yaml', cluster('m9.2xlarge', nodes=1))
    home.write('raygpu.yaml', 'catalog: {instance_types: {aws: {m9.2xlarge: {vcpus: 8, memory: 32GiB, network_gbps: 10}}}}\n')
    home.run('plan', 'cluster.yaml')
    listed = sim.counters()['requests']
    sim.counters_reset()
    home.write('raygpu.yaml', 'policy: {max_nodes: 99}\n')
    home.run('plan', 'cluster.yaml')
    assert sim.counters()['requests'] == listed + 1


def test_ray_gets_what_the_cloud_says(sim, home):
    home.write('cluster.yaml', cluster())
    home.apply()
    home.write('cluster.yaml', cluster(extra='workloads:\n  a: {gpus: 8, nodes: 2, gpu_memory: 141GB}\n  b: {gpus: 1, cpus: 20}\n'))
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--no-settle').out
    home.write('cluster.yaml', cluster(extra='workloads:\n  a: {gpus: 9}\n'))
    home.run('plan', 'cluster.yaml', '--no-settle', code=4)


def test_a_saved_plan_and_the_state_need_no_cloud(sim, home):
    home.write('cluster.yaml', cluster())
    home.run('plan', 'cluster.yaml', '--out', 'saved.plan')
    assert NEW in home.run('show', 'saved.plan').out
    sim.counters_reset()
    home.run('apply', 'saved.plan', '--auto-approve')
    assert described(sim) == 1, 'the check of what is created: the plan has what the cloud said'
    assert NEW in home.run('show', 'saved.plan').out
    sim.counters_reset()
    assert NEW in home.run('state', 'pull').out
    home.run('state', 'list')
    home.run('show', code=None)
    assert sim.counters()['requests'] == 0
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--no-settle').out


def test_a_state_that_was_rebuilt_asks_again(sim, home):
    home.write('cluster.yaml', cluster())
    home.apply()
    home.run('state', 'rebuild', 'cluster.yaml', '--state', 'new.db')
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--state', 'new.db', '--no-settle').out


def test_one_that_the_cloud_does_not_know(sim, home):
    home.write('cluster.yaml', cluster('p5.48xlrge'))
    said = home.run('plan', 'cluster.yaml', code=4)
    assert '"p5.48xlrge" is not in the catalog of aws instance types, and the region has none of this name' in flat(said.err), said
    assert 'did you mean `p5.48xlarge`?' in said.err and 'cluster.yaml:7:' in said.err and 'catalog.unknown-type' in said.err, said
    assert described(sim) == 1 and sim.counters()['mutating'] == 0


def test_offline_it_is_a_warning(sim, home):
    home.write('cluster.yaml', cluster(extra='policy: {allow_accelerators: [T4]}\n'))
    said = home.run('validate', 'cluster.yaml')
    assert f'"{NEW}" is not in the catalog of aws instance types: the cloud will be asked at plan time' in flat(said.out + said.err), said
    assert 'cluster.yaml:7:' in said.err and 'hint: ' in said.err and sim.counters()['requests'] == 0
    refused = home.run('plan', 'cluster.yaml', code=9)
    assert 'H200' in refused.err + refused.out, refused


def test_other_errors_are_found_offline_all_the_same(sim, home):
    home.write('cluster.yaml', cluster() + '  b: {accelerators: "T5:1", nodes: 1}\n  c: {instance_type: g3.4xlarge, nodes: 1}\n')
    said = home.run('validate', 'cluster.yaml', code=4)
    assert 'catalog.unknown-accelerator' in said.err and 'catalog.retired-type' in said.err and 'will be asked' in flat(said.err), said


def test_fit_needs_the_size(sim, home):
    home.write('cluster.yaml', cluster())
    assert 'catalog.unknown-type' in home.run('fit', 'cluster.yaml', code=4).err


@pytest.mark.parametrize('gpus, code, said', [
    ({'name': 'R100', 'count': 8, 'memory_gib': 288}, 'catalog.unknown-accelerator', '8 NVIDIA "R100" of 294912 MiB, which is not in raygpu\'s catalog of GPUs'),
    ({'name': 'H200', 'count': 8, 'memory_gib': 282}, 'catalog.unknown-accelerator', '8 NVIDIA "H200" of 288768 MiB'),
])
def test_gpus_that_raygpu_does_not_know(sim, home, gpus, code, said):
    sim.control('PUT', 'scenario', {'instance_types': {NEW: {'vcpus': 192, 'memory_gib': 2048, 'gpus': gpus}}})
    home.write('cluster.yaml', cluster())
    result = home.run('plan', 'cluster.yaml', code=4)
    assert said in flat(result.err) and code in result.err and 'cluster.yaml:7:' in result.err, result


def test_a_gpu_of_the_project_file(sim, home):
    sim.control('PUT', 'scenario', {'instance_types': {NEW: {'vcpus': 192, 'memory_gib': 2048, 'gpus': {'name': 'R100', 'count': 8, 'memory_gib': 268}}}})
    home.write('raygpu.yaml', 'catalog: {gpus: {R100: {memory: 288GB, compute_capability: "11.0"}}}\n')
    home.write('cluster.yaml', cluster())
    said = home.run('plan', 'cluster.yaml')
    assert '8 R100' in flat(said.out + said.err), said


def test_the_model_follows_from_the_memory(sim, home):
    sim.control('PUT', 'scenario', {'instance_types': {
        'p9a.1xl': {'vcpus': 8, 'memory_gib': 64, 'gpus': {'name': 'A100', 'count': 1, 'memory_gib': 80}},
        'p9b.1xl': {'vcpus': 8, 'memory_gib': 64, 'gpus': {'name': 'A100', 'count': 1, 'memory_gib': 40}},
        'p9c.1xl': {'vcpus': 8, 'memory_gib': 64, 'gpus': {'name': 'RTX PRO Server 6000', 'count': 1, 'memory_gib': 96}}}})
    home.write('cluster.yaml', cluster('p9a.1xl') + '  b: {instance_type: p9b.1xl, nodes: 1}\n  c: {instance_type: p9c.1xl, nodes: 1}\n')
    said = home.run('plan', 'cluster.yaml')
    for text in ('p9a.1xl: the cloud reports 8 vCPUs, 64 GiB, 1 A100-80GB', 'GiB, 1 A100-40GB', 'GiB, 1 RTX-PRO-6000-BSE'):
        assert text in flat(said.out + said.err), said


def test_a_budget_does_not_count_the_unknown_price_as_nothing(sim, home):
    home.write('cluster.yaml', cluster(extra='budget: {hourly_usd: 400}\n'))
    said = home.run('plan', 'cluster.yaml', code=9)
    assert NEW in said.err and 'price' in said.err, said
    home.write('raygpu.yaml', f'catalog: {{prices: {{aws: [{{instance_type: {NEW}, region: us-east-1, hourly_usd: 99.5}}]}}}}\n')
    said = home.run('plan', 'cluster.yaml')
    assert 'without a known price' not in said.out and '199' in said.out, said
    home.write('cluster.yaml', cluster(extra='budget: {hourly_usd: 100}\n'))
    home.run('plan', 'cluster.yaml', code=9)


def test_a_price_of_an_unknown_type_is_doubtful(home):
    home.write('own.yaml', f'catalog: {{prices: {{aws: [{{instance_type: {NEW}, region: us-east-1, hourly_usd: 99.5}}]}}}}\n')
    said = home.run('catalog', 'check', 'own.yaml')
    assert f'no table has {NEW}: its price counts if a spec names it and the cloud has it' in flat(said.err) and 'own.yaml:1' in said.err, said


def test_a_price_of_a_misspelled_type_is_a_warning(sim, home):
    home.write('raygpu.yaml', 'catalog: {prices: {aws: [{instance_type: p4d.25xlarge, region: us-east-1, hourly_usd: 9.5}]}}\n')
    home.write('cluster.yaml', spec())
    for command in ('validate', 'plan'):
        said = flat(home.run(command, 'cluster.yaml').err)
        assert 'has a price for p4d.25xlarge, which is not in the catalog, and no pool names it' in said and 'raygpu.yaml:1' in said, said
        assert 'did you mean `p4d.24xlarge`?' in said, said
    assert described(sim) == 1, 'only the check of what is created'
    home.write('raygpu.yaml', f'catalog: {{prices: {{aws: [{{instance_type: {NEW}, region: us-east-1, hourly_usd: 9.5}}]}}}}\n')
    home.write('cluster.yaml', cluster())
    for command in ('validate', 'plan'):
        assert 'catalog.doubtful-row' not in home.run(command, 'cluster.yaml').err


def test_zones_and_placement_of_a_described_type(sim, home):
    home.write('cluster.yaml', cluster('m9z.large', nodes=1))
    home.apply()
    assert {i['placement']['availabilityZone'] for i in sim.live_instances() if i['instanceType'] == 'm9z.large'} == {'us-east-1b'}
    home.write('cluster.yaml', cluster('m9z.large', nodes=1, more=', network: {placement: cluster}'))
    assert 'fit.no-placement' in home.run('plan', 'cluster.yaml', '--no-settle', code=4).err


def test_adapters_of_a_described_type(sim, home):
    home.write('cluster.yaml', cluster(more=', network: {rdma: true}').replace('rayproject/ray:2.56.1-py311-cu121', 'rayproject/ray:2.56.1-extra-py311-cu121'))
    home.apply()
    one = next(i for i in sim.live_instances() if i['instanceType'] == NEW)
    assert len(one['networkInterfaceSet']) == 32
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--no-settle').out


def test_a_disabled_pool_comes_back(sim, home):
    home.write('cluster.yaml', cluster())
    home.apply()
    home.write('cluster.yaml', cluster(more=', enabled: false'))
    home.apply()
    sim.counters_reset()
    home.write('cluster.yaml', cluster())
    home.apply()
    assert sorted(i['instanceType'] for i in sim.live_instances()) == ['m5.2xlarge', NEW, NEW]


def test_a_type_that_a_table_has_by_now(sim, home):
    home.write('cluster.yaml', cluster())
    home.apply()
    home.write('raygpu.yaml', f'catalog: {{instance_types: {{aws: {{{NEW}: {{vcpus: 192, memory: 2048GiB, accelerators: "H200:8"}}}}}}}}\n')
    said = home.run('plan', 'cluster.yaml', '--no-settle')
    assert 'No changes.' in said.out, said

"""threads_per_core of a pool: EC2's CpuOptions, which take cores and threads together."""
import pytest
from program import spec

OFF = ', provider: {threads_per_core: 1}'


def options(sim):
    return {(one['instanceType'], one['cpuOptions']['coreCount'], one['cpuOptions']['threadsPerCore'])
            for one in sim.live_instances()}


@pytest.mark.parametrize('off', [OFF, OFF.replace('1', '1.0')])
def test_no_multithreading(sim, home, off):
    home.write('cluster.yaml', spec(pool_extra=off))
    home.apply()
    ((head, head_cores, twice), (worker, cores, once)) = sorted(options(sim), key=lambda one: -one[2])
    assert (twice, once) == (2, 1) and head != worker and cores > 1 and head_cores > 1
    assert 'No changes.' in home.run('plan', '--no-settle').out
    home.write('cluster.yaml', spec())
    changed = home.run('plan', '--no-settle').out
    assert 'threads_per_core' in changed and 'forces replacement' in changed and ' 0 to change, ' in changed
    home.run('state', 'rebuild', 'cluster.yaml', '--state', 'new.db')
    assert 'No changes.' in home.run('plan', '--no-settle', '--state', 'new.db').out, 'nobody is known to have wished it'


def test_types_that_have_one_thread(sim, home):
    """Nothing is asked for, and what EC2 reports is not drift."""
    home.write('cluster.yaml', spec(head='m7a.2xlarge').replace('m7a.2xlarge', 'm7a.2xlarge' + OFF))
    home.apply()
    assert ('m7a.2xlarge', '8', '1') in {tuple(map(str, one)) for one in options(sim)}
    assert 'No changes.' in home.run('plan', '--no-settle').out


def test_a_type_whose_threads_raygpu_does_not_know(sim, home):
    """Without a wish, one thread per core is the type's and no reason to replace a node."""
    sim.control('PUT', 'scenario', {'instance_types': {'m5x.large': {'vcpus': 3, 'memory_gib': 8}}})
    home.write('raygpu.yaml', 'catalog: {instance_types: {aws: {m5x.large: {vcpus: 3, memory: 8GiB}}}}\n')
    home.write('cluster.yaml', spec(head='m5x.large'))
    home.apply()
    assert ('m5x.large', '3', '1') in {tuple(map(str, one)) for one in options(sim)}
    assert 'No changes.' in home.run('plan', '--no-settle').out
    home.write('cluster.yaml', spec(head='m5x.large').replace('m5x.large', 'm5x.large' + OFF))
    assert 'forces replacement' in home.run('plan', '--no-settle').out


def test_bare_metal_takes_no_cpu_options(sim, home):
    home.write('cluster.yaml', spec().replace('accelerators: "T4:1"', 'instance_type: g4dn.metal').replace(', nodes: 1', ', nodes: 1' + OFF))
    said = home.run('plan', code=None)
    flat = ' '.join(said.err.split())
    assert said.code and 'g4dn.metal is bare metal, for which EC2 takes no threads_per_core' in flat and 'cluster.yaml:7:' in said.err
    home.write('cluster.yaml', spec().replace('accelerators: "T4:1"', 'instance_type: g4dn.metal'))
    home.apply()
    assert len(sim.live_instances()) == 2


def test_other_numbers_are_refused(home):
    home.write('cluster.yaml', spec(pool_extra=', provider: {threads_per_core: 2}'))
    said = home.run('validate', code=4)
    assert 'provider.threads_per_core must be 1, not 2' in ' '.join(said.err.split()) and 'cluster.yaml:7:' in said.err

"""Nodes that another version of raygpu made: its scripts differ, which replaces none of them."""
import os
import shutil

import pytest
from program import spec
from sim_server import tags_of


@pytest.fixture(name='other')
def fixture_other(tmp_path):
    """The environment of a raygpu whose nodes run another script."""
    folder = tmp_path / 'modules'
    build = os.path.join(os.environ['RAYGPU_BUILD'], 'providers')
    shutil.copytree(os.path.join(build, 'aws'), folder / 'aws', ignore=shutil.ignore_patterns('*.p', '*.a', 'sim', 'tests'))
    shutil.copy(os.path.join(build, 'aws.so'), folder / 'aws.so')
    script = folder / 'aws/cloud.sh'
    script.write_text(script.read_text() + '\n[ -z "${none:-}" ] || echo another version\n')
    return {'RAYGPU_PROVIDER_PATH': str(folder)}


def running(sim):
    return {i['instanceId']: tags_of(i)['raygpu:pool'] for i in sim.live_instances()}


def test_scripts_of_another_version_replace_nothing(sim, home, other):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    before = running(sim)
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', env=other)
    assert 'No changes.' in plan.out
    assert home.run('drift', 'cluster.yaml', env=other).out.startswith('No drift.')
    # what comes from the spec still counts
    home.write('cluster.yaml', spec(pools={'serve': 1}, pool_extra=', env: {A: b}'))
    assert 'aws.instance.serve[0] must be replaced' in home.run('plan', 'cluster.yaml', env=other).out
    # new nodes get the new script, and the old ones stay
    home.write('cluster.yaml', spec(pools={'serve': 2}))
    home.apply(env=other)
    after = running(sim)
    assert set(before) < set(after) and len(after) == 3
    data = {i['instanceId']: i['_userData'] for i in sim.live_instances()}
    old, = [data[i] for i in before if before[i] == 'serve']
    new, = [data[i] for i in after if i not in before]
    assert old != new
    home.run('plan', 'cluster.yaml', '--detailed-exitcode', env=other)
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def test_a_node_that_is_replaced_on_request_gets_them(sim, home, other):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    before = {i['instanceId']: i['_userData'] for i in sim.live_instances()}
    home.apply('cluster.yaml', '--replace', 'aws.instance.serve[0]', env=other)
    new, = [i for i in sim.live_instances() if i['instanceId'] not in before]
    assert tags_of(new)['raygpu:pool'] == 'serve' and new['_userData'] not in before.values()

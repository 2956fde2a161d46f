"""What `raygpu convert` makes of Ray's files for Google Cloud can be planned there."""
import pytest
import yaml
from program import ROOT


@pytest.mark.parametrize('name', ['gcp-minimal', 'gcp-latest'])
def test_the_result_can_be_planned(home, name):
    home.run('convert', str(ROOT / f'tests/golden/convert/{name}.yaml'), '--out', 'cluster.yaml')
    home.write('cluster.yaml', home.read('cluster.yaml'))
    plan = home.run('plan', 'cluster.yaml', '--format', 'json').json()
    spec = yaml.safe_load(home.read('cluster.yaml'))
    nodes = {'head': 1, **{pool: row['nodes'] for pool, row in spec.get('pools', {}).items()}}
    types = {'head': spec['head']['instance_type'], **{pool: row['instance_type'] for pool, row in spec.get('pools', {}).items()}}
    made = [change for change in plan['resource_changes'] if change['type'] == 'gcp.instance']
    assert len(made) == sum(nodes.values())
    for change in made:
        assert change['change']['actions'] == ['create'] and change['change']['after']['instance_type'] == types[change['name']]

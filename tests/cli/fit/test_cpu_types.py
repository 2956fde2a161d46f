"""Instance types without GPUs that users of Ray name in their files: known, and priced."""
import json

import pytest
from program import spec

TYPES = ('c4.8xlarge', 'c5n.18xlarge', 'm4.16xlarge', 'm5d.large', 'm5n.4xlarge', 'm8i.xlarge', 'r5dn.16xlarge', 'r6a.4xlarge', 'x2idn.16xlarge')


@pytest.mark.parametrize('region', ['us-east-1', 'eu-central-1'])
def test_they_are_planned_with_a_price(home, region):
    types = [name for name in TYPES if region == 'us-east-1' or not name.startswith(('c4', 'm8i', 'r5dn'))]
    text = spec(region=region, pools={'a': 1}).split('pools:')[0] + 'pools:\n'
    home.write('cluster.yaml', text + ''.join(f'  p{i}: {{instance_type: {name}, nodes: 1}}\n' for i, name in enumerate(types)))
    plan = home.run('plan', '--skip-preflight', '--format', 'json').json()
    pools = {pool['pool']: pool for pool in plan['raygpu']['pools']}
    assert {pool['instance_type'] for name, pool in pools.items() if name != 'head'} == set(types)
    assert [name for name, pool in pools.items() if pool['after']['unpriced'] or not pool['after']['microusd_hour']] == [], json.dumps(pools)


def test_the_suggestion_is_a_type_that_can_be_used(home):
    """r6g is as near, and its hosts are arm64, for which the images are not made."""
    home.write('cluster.yaml', spec(pools={'a': 1}).replace('accelerators: "T4:1"', 'instance_type: r6x.4xlarge'))
    assert 'did you mean `r6a.4xlarge`?' in home.run('validate').err

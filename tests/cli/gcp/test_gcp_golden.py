"""Whole texts: the plan of the research cluster on Compute Engine (A100 gang, V100 on N1, T4 on spot), and what is refused.

tests/golden/gcp/research.txt is the output of `raygpu plan` for research.yaml beside it; refused.txt has a part for
each change of that spec. RAYGPU_UPDATE_GOLDEN=1 rewrites them; review the difference."""
import csv
import os
import re

import pytest
from program import ROOT

GOLDEN = ROOT / 'tests/golden/gcp'
SPEC = (GOLDEN / 'research.yaml').read_text(encoding='utf-8')
SERVE = 'serve: {accelerators: "T4:1", nodes: 4, market: spot}'
# what changes: text of the spec -> its replacement
REFUSED = {
    'a label with a capital': ('team: ml', 'Team: ml'),
    'a value of a label with a capital': ('team: ml', 'team: ML'),
    'a price limit': (SERVE, 'serve: {accelerators: "T4:1", nodes: 4, market: {spot: {max_price: 0.5}}}'),
    'Flex-start': (SERVE, 'serve: {accelerators: "T4:1", nodes: 4, market: flex_start}'),
    'a type that is not sold on demand': (SERVE, 'serve: {instance_type: a3-highgpu-1g, nodes: 4}'),
    'efa': ('placement: cluster', 'placement: cluster, efa: true'),
    'RDMA': ('placement: cluster', 'placement: cluster, rdma: true'),
    'an image with a colon': (SERVE, 'serve: {accelerators: "T4:1", nodes: 4, image: "ubuntu:24.04"}'),
    'an unknown zone': (SERVE, 'serve: {accelerators: "T4:1", nodes: 4, zones: [us-central1-z]}'),
    'a name of 80 characters': ('cluster: research', 'cluster: ' + 'research' * 10),
    'a subnetwork of another region': (
        'region: us-central1', 'region: us-central1, subnetwork: projects/demo-project/regions/europe-west4/subnetworks/default'),
    'a T4 with 128 vCPUs': (SERVE, 'serve: {instance_type: "n1-standard-128+nvidia-tesla-t4:4", nodes: 4}'),
    'GPUs that the default image does not support': (SERVE, 'serve: {accelerators: "P100:1", nodes: 4}'),
    'an image that does not support the GPU': (SERVE, 'serve: {accelerators: "V100:1", nodes: 4, image: projects/'
        'deeplearning-platform-release/global/images/family/common-cu129-ubuntu-2204-nvidia-580}'),
    'a Debian image': (SERVE, 'serve: {accelerators: "T4:1", nodes: 4, '
                              'image: projects/debian-cloud/global/images/family/debian-12}'),
}


def as_recorded(name, text):
    path = GOLDEN / name
    if os.environ.get('RAYGPU_UPDATE_GOLDEN'):
        path.write_text(text, encoding='utf-8')
    assert text == path.read_text(encoding='utf-8')


def without_sizes(text):
    return re.sub(r'\(text of about [0-9.]+ KiB, digest [0-9a-f]+\)', '(text)', text)


def test_the_plan_of_the_research_cluster(gce, home):
    home.write('research.yaml', SPEC)
    result = home.run('plan', 'research.yaml')
    as_recorded('research.txt', without_sizes(result.out) + '--- stderr\n' + result.err)
    with open(ROOT / 'providers/gcp/prices.csv', newline='', encoding='utf-8') as f:
        prices = {(r['instance_type'], r['kind']): float(r['usd_per_hour']) for r in csv.DictReader(f)
                  if r['region'] == 'us-central1' and not r['zone'] and r['usd_per_hour']}
    nodes = {('n2-standard-8', 'on_demand'): 1, ('a2-highgpu-8g', 'on_demand'): 2,
             ('n1-standard-4+nvidia-tesla-v100:1', 'on_demand'): 1, ('n1-standard-4+nvidia-tesla-t4:1', 'spot'): 4}
    hour = sum(count * prices[key] for key, count in nodes.items())
    assert f'$0.00 -> ${hour:.2f} per hour' in result.out, 'no update can make the sum wrong unnoticed'
    assert gce.counters()['mutating'] == 0


def test_what_is_refused(gce, home):
    parts = []
    for name, (old, new) in REFUSED.items():
        assert SPEC.count(old) == 1, name
        home.write('research.yaml', SPEC.replace(old, new))
        result = home.run('plan', 'research.yaml', code=None)
        assert result.code not in (0, 2) and not result.out, (name, result)
        parts.append(f'=== {name}: exit code {result.code}\n{result.err.strip()}\n')
    as_recorded('refused.txt', '\n'.join(parts))
    assert gce.counters()['mutating'] == 0

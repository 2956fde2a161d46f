"""Google's own command line against the same simulated Compute Engine: it lists our nodes, and drift reports what it
changed."""
import json
import os
import shutil
import subprocess

import pytest
from gce_server import PROJECT
from test_gcp_story import nodes, spec

pytestmark = pytest.mark.skipif(not shutil.which('gcloud'), reason='gcloud is not installed')


@pytest.fixture(name='gcloud')
def client(gce, tmp_path):
    (tmp_path / 'token').write_text('ya29.raygpu-sim')
    env = {**os.environ, 'CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE': gce.url + '/compute/v1/',
           'CLOUDSDK_AUTH_ACCESS_TOKEN_FILE': str(tmp_path / 'token'), 'CLOUDSDK_CORE_PROJECT': PROJECT,
           'CLOUDSDK_CONFIG': str(tmp_path / 'gcloud'), 'CLOUDSDK_CORE_DISABLE_PROMPTS': '1'}

    def run(*arguments):
        done = subprocess.run(['gcloud', 'compute', *arguments, '--format=json'], env=env, capture_output=True,
                              text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None
    return run


def test_gcloud_and_raygpu_see_the_same(gce, home, gcloud):
    home.write('cluster.yaml', spec({'w': 'accelerators: "T4:1", nodes: 3'}))
    home.apply()
    listed = gcloud('instances', 'list', '--filter=labels.raygpu-cluster=research')
    assert sorted(i['name'] for i in listed) == sorted(i['name'] for i in nodes(gce))
    first, second = nodes(gce, 'w')[:2]
    zone = '--zone=' + first['zone'].split('/')[-1]
    gcloud('instances', 'add-labels', first['name'], zone, '--labels=team=other,theirs=1')
    gcloud('instances', 'stop', second['name'], zone)
    report = home.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()
    changed = {one['id']: [a['name'] for a in one['attributes']] for one in report['drift'] if one['type'] == 'changed'}
    ids = {i['name']: i['zone'].split('/')[-1] + '/' + i['id'] for i in (first, second)}
    assert changed == {ids[first['name']]: ['labels'], ids[second['name']]: ['instance_state']}
    assert all(one['type'] == 'changed' or one['type'] == 'unhealthy' for one in report['drift'])
    home.apply()
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')
    mended = next(i for i in gcloud('instances', 'list') if i['name'] == first['name'])
    assert mended['labels']['team'] == 'ml' and mended['labels']['theirs'] == '1'

"""gcloud, Google's own client, works against the simulated Compute Engine."""
import os
import shutil
import subprocess

import pytest
from gce_server import PROJECT, REGION, TOKEN, ZONE, instance

pytestmark = pytest.mark.skipif(not shutil.which('gcloud'), reason='gcloud is not installed')
IMAGE = ['--image-family', 'ubuntu-2404-lts-amd64', '--image-project', 'ubuntu-os-cloud']


@pytest.fixture(name='gcloud')
def client(gce, tmp_path):
    (tmp_path / 'token').write_text(TOKEN)
    env = {k: v for k, v in os.environ.items() if not k.startswith(('CLOUDSDK_', 'GOOGLE_'))}
    env.update(CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=gce.url + '/compute/v1/', CLOUDSDK_CORE_PROJECT=PROJECT,
               CLOUDSDK_AUTH_ACCESS_TOKEN_FILE=str(tmp_path / 'token'), CLOUDSDK_CORE_DISABLE_PROMPTS='1',
               CLOUDSDK_CONFIG=str(tmp_path / 'config'), CLOUDSDK_CORE_DISABLE_USAGE_REPORTING='1')

    def run(*words):
        done = subprocess.run(['gcloud', 'compute', *words], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.split(), done.stderr
    return run


def test_one_instance(gce, gcloud):
    gce.done(gce.insert(f'zones/{ZONE}/instances', instance('head', labels={'a': 'b'})))
    assert gcloud('instances', 'list', '--filter', 'labels.a=b', '--format', 'value(name)')[0] == ['head']
    gcloud('instances', 'add-labels', 'head', '--labels', 'x=y', '--zone', ZONE)
    gcloud('instances', 'add-tags', 'head', '--tags', 'q', '--zone', ZONE)
    gcloud('instances', 'stop', 'head', '--zone', ZONE)
    words, _ = gcloud('instances', 'describe', 'head', '--zone', ZONE, '--format', 'value(status,labels,tags.items)')
    assert words == ['TERMINATED', 'a=b;x=y', 'q']
    gcloud('instances', 'start', 'head', '--zone', ZONE)
    _, told = gcloud('instances', 'get-serial-port-output', 'head', '--zone', ZONE)
    assert '--start=' in told
    gcloud('instances', 'delete', 'head', '--zone', ZONE)
    assert gcloud('instances', 'list', '--format', 'value(name)')[0] == []


def test_create_and_bulk_create(gce, gcloud):
    gcloud('instances', 'create', 'one', '--zone', ZONE, '--machine-type', 'e2-standard-4', *IMAGE)
    assert gce.get(f'zones/{ZONE}/instances/one')['networkInterfaces'][0]['accessConfigs'][0]['natIP']
    _, told = gcloud('instances', 'bulk', 'create', '--name-pattern', 'w-#', '--count', '2', '--zone', ZONE,
                     '--machine-type', 'n1-standard-8', '--accelerator', 'type=nvidia-tesla-v100,count=1',
                     '--provisioning-model', 'SPOT', '--no-address', *IMAGE)
    assert 'created: 2, failed: 0' in told
    assert gcloud('instances', 'list', '--format', 'value(name)')[0] == ['one', 'w-1', 'w-2']


def test_the_rest(gcloud):
    gcloud('firewall-rules', 'create', 'fw', '--allow', 'tcp:22', '--source-ranges', '10.0.0.0/8')
    assert 'fw' in gcloud('firewall-rules', 'list', '--format', 'value(name)')[0]
    gcloud('firewall-rules', 'delete', 'fw')
    gcloud('addresses', 'create', 'a1', '--region', REGION, '--subnet', 'default')
    assert gcloud('addresses', 'list', '--format', 'value(name)')[0] == ['a1']
    assert gcloud('operations', 'list', '--format', 'value(operationType)')[0]
    assert gcloud('machine-types', 'list', '--zones', ZONE, '--format', 'value(name)', '--limit', '1')[0]
    assert gcloud('regions', 'describe', REGION, '--format', 'value(name)')[0] == [REGION]
    assert gcloud('images', 'describe-from-family', 'ubuntu-2404-lts-amd64', '--project', 'ubuntu-os-cloud',
                  '--format', 'value(family)')[0] == ['ubuntu-2404-lts-amd64']

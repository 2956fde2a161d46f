"""gcloud's own `instances bulk create` and raygpu ask for the same machines with the same members.

MORE and LESS explain each difference: a new one fails the test, and so does one that is gone."""
import json
import os
import shutil
import subprocess

import pytest
from gce_server import PROJECT, gce_env
from program import Home
from recorder import Recorder
from test_gcp_story import nodes, spec

pytestmark = pytest.mark.skipif(not shutil.which('gcloud'), reason='gcloud is not installed')

NAMES = ['research-w-00000000-0', 'research-w-00000000-1']
# members that only raygpu sends
MORE = {
    'instanceProperties.disks[].initializeParams.labels.*': 'marks and labels are on the disks too, by which they are listed',
    'perInstanceProperties.*.name': 'repeats the key, which the description allows',
}
# members that only gcloud sends
LESS = {
    'perInstanceProperties.*': 'an empty object: the key is the name',
    'instanceProperties.disks[].mode': 'READ_WRITE, the default',
    'instanceProperties.canIpForward': 'false, the default',
    'instanceProperties.scheduling.preemptible': 'true: what spot was called before provisioningModel SPOT, which implies it',
}


def members(value, path=''):
    """The paths of all values; names of machines and keys of labels and metadata are not members."""
    if isinstance(value, dict):
        free = path.endswith(('labels', 'perInstanceProperties'))
        return {p for key, one in value.items() for p in members(one, f'{path}.{"*" if free else key}' if path else key)} or {path}
    if isinstance(value, list):
        return {p for one in value for p in members(one, path + '[]')} or {path}
    return {path}


def body_of(recorder):
    [one] = [r for r in recorder.requests if r.path.endswith('/instances/bulkInsert')]
    return json.loads(one.body)


def raygpu(gce, folder):
    with Recorder(gce) as recorder:
        home = Home(folder, gce_env(gce, RAYGPU_TEST_NO_WAIT='1', CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE=recorder.endpoint))
        home.write('cluster.yaml', spec({'w': 'accelerators: "T4:1", nodes: 2, market: spot, zones: [us-central1-a], '
                                              'disk: {size: 200GB, type: pd-ssd}'}, provider=', network_tags: [mine]'))
        home.apply()
        return body_of(recorder)


def gcloud(gce, folder, ours):
    asked = ours['instanceProperties']
    disk = asked['disks'][0]['initializeParams']
    labels = ','.join(f'{k}={v}' for k, v in asked['labels'].items())
    items = {i['key']: i['value'] for i in asked['metadata']['items']}
    (folder / 'token').write_text('ya29.raygpu-sim')
    (folder / 'user-data').write_text(items.pop('user-data'))
    with Recorder(gce) as recorder:
        env = {**os.environ, 'CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE': recorder.endpoint, 'CLOUDSDK_CORE_PROJECT': PROJECT,
               'CLOUDSDK_AUTH_ACCESS_TOKEN_FILE': str(folder / 'token'), 'CLOUDSDK_CONFIG': str(folder / 'gcloud'),
               'CLOUDSDK_CORE_DISABLE_PROMPTS': '1'}
        accelerator = asked['guestAccelerators'][0]
        done = subprocess.run([
            'gcloud', 'compute', 'instances', 'bulk', 'create', '--predefined-names=' + ','.join(NAMES), '--count=2',
            '--min-count=1', '--zone=us-central1-a', '--machine-type=' + asked['machineType'],
            f'--accelerator=type={accelerator["acceleratorType"]},count={accelerator["acceleratorCount"]}',
            '--provisioning-model=SPOT', '--instance-termination-action=DELETE', '--maintenance-policy=TERMINATE',
            '--no-restart-on-failure', '--image=https://www.googleapis.com/compute/v1/' + disk['sourceImage'],
            '--boot-disk-size=200GB', '--boot-disk-type=pd-ssd', '--labels=' + labels, '--tags=' + ','.join(asked['tags']['items']),
            '--metadata=' + ','.join(f'{k}={v}' for k, v in items.items()), f'--metadata-from-file=user-data={folder}/user-data',
            '--no-address', '--subnet=default', '--no-service-account', '--no-scopes', '--format=json'],
            env=env, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return body_of(recorder)


def test_the_same_members(gce, tmp_path):
    ours = raygpu(gce, tmp_path)
    theirs = gcloud(gce, tmp_path, ours)
    assert members(ours) - members(theirs) == set(MORE)
    assert members(theirs) - members(ours) == set(LESS)
    for name in ('count', 'minCount'):
        assert ours[name] == theirs[name]
    assert theirs['instanceProperties']['scheduling'].pop('preemptible') is True
    for name in ('machineType', 'labels', 'guestAccelerators', 'scheduling', 'tags'):
        assert ours['instanceProperties'][name] == theirs['instanceProperties'][name], name
    assert {i['key'] for i in ours['instanceProperties']['metadata']['items']} == \
        {i['key'] for i in theirs['instanceProperties']['metadata']['items']}
    assert len([i for i in nodes(gce) if i['name'] in NAMES]) == 2, 'the simulator carries out both'

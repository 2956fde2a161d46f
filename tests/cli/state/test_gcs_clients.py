"""Google's own clients against gs_server.py, so that it is not only what we think of the API, and on the objects that raygpu wrote."""
import json
import os
import shutil
import subprocess

import pytest
from gs_server import BUCKET
from npm_packages import install
from program import spec

LONG = bool(os.environ.get('RAYGPU_LONG'))
PACKAGES = ('@google-cloud/storage@7.16.0',)


@pytest.fixture
def state(home, gs):
    """Of a cluster: its URL."""
    gs.reset()
    url = gs.url()
    home.env.update(gs.env(), RAYGPU_STATE=url)
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    return url


def test_googles_library_for_node(gs, state):
    modules = install('gcs', PACKAGES)
    gs.anonymous, gs.page = True, 2
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run(['node', os.path.join(here, 'gcs_client.js'), gs.endpoint, BUCKET, gs.place(state)[1]], capture_output=True, text=True, timeout=300,
                          env={**os.environ, 'NODE_PATH': modules}, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    read = told.pop('state')
    assert told == {'again': 412, 'named': 'n/one', 'replaced': 0, 'stale': 412, 'content': 'third', 'names': ['n/one', 'n/three', 'n/two'],
                    'kept': 412, 'deleted': 0, 'gone': 404, 'missing': 404, 'versioning': {'enabled': True}}
    assert sorted(name.removeprefix(gs.place(state)[1]) for name, _ in read) == gs.names(state)
    assert sum(full for _, full in read) >= 3, 'lock, snapshot, history'


@pytest.mark.skipif(not shutil.which('gcloud') or not LONG, reason='gcloud is not installed, or this is not --long')
def test_gcloud(gs, state, tmp_path):
    gs.tokens.add('ya29.of-gcloud')
    (tmp_path / 'token').write_text('ya29.of-gcloud')
    env = {**os.environ, 'CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE': gs.endpoint + '/storage/v1/', 'CLOUDSDK_CORE_PROJECT': 'p',
           'CLOUDSDK_AUTH_ACCESS_TOKEN_FILE': str(tmp_path / 'token'), 'CLOUDSDK_CONFIG': str(tmp_path / 'gcloud'),
           'CLOUDSDK_CORE_DISABLE_PROMPTS': '1'}

    def gcloud(*arguments):
        done = subprocess.run(['gcloud', 'storage', *arguments], env=env, capture_output=True, timeout=300, check=False)
        return done.returncode, done.stdout, done.stderr.decode()
    (tmp_path / 'file').write_bytes(bytes(range(256)) * 20)
    place = f'gs://{BUCKET}/of-gcloud'
    upload = ('cp', str(tmp_path / 'file'), place, '--if-generation-match=0')
    code, _, err = gcloud(*upload)
    assert code == 0, err
    assert '412' in gcloud(*upload)[2]
    assert gcloud('cat', place)[1] == bytes(range(256)) * 20
    assert gcloud('cp', str(tmp_path / 'file'), place)[0] == 0, 'in place of the first'
    assert '412' in gcloud('rm', place, '--if-generation-match=7')[2]
    assert gcloud('rm', place)[0] == 0
    folder = f'gs://{BUCKET}/{gs.place(state)[1]}'
    listed = gcloud('ls', folder + '**')[1].decode().split()
    assert sorted(name.removeprefix(folder) for name in listed) == gs.names(state)
    assert gcloud('cat', folder + 'clusters/research/lock')[1] == gs.get(state, 'clusters/research/lock')

"""Google's own library for Node, unmodified, against the simulated Compute Engine."""
import json
import os
import subprocess

from gce_server import IMAGE, PROJECT, TOKEN
from npm_packages import install

PACKAGES = ('@google-cloud/compute@6.15.0',)


def test_googles_library_for_node(gce):
    modules = install('gce', PACKAGES)
    here = os.path.dirname(os.path.abspath(__file__))
    host, port = gce.url.split('//')[1].split(':')
    done = subprocess.run(['node', os.path.join(here, 'compute_client.js'), host, port, PROJECT, TOKEN, IMAGE], capture_output=True, text=True,
                          timeout=300, env={**os.environ, 'NODE_PATH': modules}, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    code, text = told.pop('gone')
    assert code == 404 and f"The resource 'projects/{PROJECT}/zones/us-central1-a/instances/one' was not found" in text
    assert told == {
        'project': PROJECT, 'quotas': ['SSD_TOTAL_GB'], 'image': 'ubuntu-2404-lts-amd64', 'type': 12, 'gpus': ['nvidia-l4'],
        'rule': 900, 'rules': True, 'policies': ['together'], 'reservations': ['kept'], 'labels': {'owner': 'client'},
        'group': True, 'children': 3, 'serial': 'string', 'listed': ['three', 'two'], 'disks': ['one', 'three', 'two'],
        'states': ['TERMINATED', 'RUNNING', 'SUSPENDED', 'RUNNING'], 'protected': 400}

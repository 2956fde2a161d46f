"""Google's own libraries, unmodified, against the simulated Compute Engine."""
import json
import os
import subprocess

import npm_packages
import pip_packages
from gce_server import IMAGE, PROJECT, TOKEN

NODE = ('@google-cloud/compute@6.15.0',)
PYTHON = ['google-cloud-compute==1.57.0']
HERE = os.path.dirname(os.path.abspath(__file__))


def check(command, **env):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **env}, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    code, text = told.pop('gone')
    assert code == 404 and f"The resource 'projects/{PROJECT}/zones/us-central1-a/instances/one' was not found" in text
    assert told == {
        'project': PROJECT, 'quotas': ['SSD_TOTAL_GB'], 'image': 'ubuntu-2404-lts-amd64', 'type': 12, 'gpus': ['nvidia-l4'],
        'rule': 900, 'rules': True, 'policies': ['together'], 'reservations': ['kept'], 'labels': {'owner': 'client'},
        'group': True, 'children': 3, 'serial': 'string', 'listed': ['three', 'two'], 'disks': ['one', 'three', 'two'],
        'states': ['TERMINATED', 'RUNNING', 'SUSPENDED', 'RUNNING'], 'protected': 400}


def test_googles_library_for_node(gce):
    modules = npm_packages.install('gce', NODE)
    host, port = gce.url.split('//')[1].split(':')
    check(['node', os.path.join(HERE, 'compute_client.js'), host, port, PROJECT, TOKEN, IMAGE], NODE_PATH=modules)


def test_googles_library_for_python(gce):
    python = pip_packages.install('gce-python', PYTHON, 'python3')
    check([python, os.path.join(HERE, 'compute_client.py'), gce.url, PROJECT, TOKEN, IMAGE], NO_PROXY='*')

"""The man page lists every option, knob, action, fault member and path, and no option that does not exist."""
import glob
import os
import re
import subprocess

import pytest
from sim_server import sim_binary

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


@pytest.fixture(scope='module')
def page():
    with open(os.path.join(ROOT, 'man/raygpu-sim.1.scd')) as f:
        return f.read().replace('\\', '')


def test_options(page):
    done = subprocess.run([sim_binary(), '--help'], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0
    told = set(re.findall(r'--[a-z][a-z-]+', done.stdout))
    assert {'--world', '--boot-ms'} <= told
    written = set(re.findall(r'\*(--[a-z][a-z-]+)\*', page))
    assert written == told


def test_knobs_and_paths(page, sim):
    assert [k for k in sim.knobs() if k not in page] == []
    assert [r['path'] for r in sim.control('GET', '')['control'] if r['path'] not in page] == []
    assert [c for c in sim.counters() if f'_{c}_' not in page] == []


def test_actions(page):
    names = []
    for path in glob.glob(os.path.join(ROOT, 'providers/aws/sim/*.c')):
        with open(path) as f:
            names += re.findall(r'^\t\{"([A-Z][A-Za-z]+)", [a-z_]+, (?:true|false)', f.read(), re.M)
    assert len(names) == 57
    page = re.sub(r'Authorize- and RevokeSecurityGroupIngress and -Egress', ' '.join(
        a + 'SecurityGroup' + b for a in ('Authorize', 'Revoke') for b in ('Ingress', 'Egress')), page)
    assert [n for n in names if n not in page] == []


def test_methods_of_compute_engine(page):
    names = []
    for path in glob.glob(os.path.join(ROOT, 'providers/gcp/sim/*.c')):
        with open(path) as f:
            names += re.findall(r'^\t\{"([a-zA-Z]+)\.([a-zA-Z]+)",', f.read(), re.M)
    assert len(names) > 70
    assert [n for pair in names for n in pair if n not in page] == []

"""`examples/quickstart.sh --real`: the tour on four real hosts, with --long (test_ssh_ray.py has the same story in each run)."""
import os
import subprocess

import pytest
from conftest import ROOT, VERSIONS, make_image
from ssh_hosts import skip_where_not


@pytest.mark.skipif(not os.environ.get('RAYGPU_LONG'), reason='three minutes, with --long')
def test_the_tour_on_real_hosts():
    skip_where_not()
    make_image(VERSIONS[0])
    done = subprocess.run([ROOT / 'examples/quickstart.sh', '--real', os.environ['RAYGPU_BUILD']], capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    for model in ('A100', 'V100', 'T4'):
        assert done.stdout.count(f'\n{model} on node ') == 2
    assert '~ service' in done.stdout and 'left on the hosts: 0\n' in done.stdout

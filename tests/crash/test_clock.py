"""A wrong clock. Not in tests/cli, because libfaketime does not work with the sanitizers."""
import os
import re
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli'))
from program import Home, spec  # noqa: E402
from sim_server import Sim  # noqa: E402

FAKE = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'


@pytest.mark.skipif(not os.path.exists(FAKE), reason='Debian package faketime is not installed')
def test_clock_skew_is_told(tmp_path):
    """Signed 20 minutes ago: EC2 refuses, and the reply's Date shows how far our clock is off."""
    with Sim() as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec())
        result = home.run('plan', 'cluster.yaml', code=7, env={'LD_PRELOAD': FAKE, 'FAKETIME': '-20m'})
        assert 'RequestExpired' in result.err and 'clock' in result.err, result
        assert re.search(r'\b(20 min|1[12]\d\d s)', result.err), result
        home.run('plan', 'cluster.yaml')

"""Fixtures of most whole-program tests: an EC2 per test, whose machines start and stop immediately, and a user's
folder that uses it. A file with other needs has its own fixtures, `home` often based on this one."""
import http.server
import os
import signal
import threading

import iam_policy
import pytest
from program import Home
from sim_server import Sim

# A shell without job control starts what it runs in the background with SIGINT ignored, and programs inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def sim():
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim:
        sim.knobs(request_log=os.path.join(sim.folder, 'requests'))
        yield sim


@pytest.fixture
def home(tmp_path, sim):
    """What raygpu asked of the cloud must be allowed by the policies that it prints for the specs of the test."""
    home = Home(tmp_path, sim.env())
    yield home
    requests = iam_policy.read_log(os.path.join(sim.folder, 'requests'))
    policies = iam_policy.policies_of(home) if requests else []
    missing = iam_policy.refused(policies, requests) if policies else []
    missing = [one for one in missing if one.split()[0] not in home.beyond_policy]
    assert not missing, '\n'.join(sorted(set(missing)))


@pytest.fixture
def thief():
    """Someone else's server: (URL, the headers of received requests)."""
    came = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            came.append(dict(self.headers))
            self.send_error(400)

        do_GET = do_POST = do_LOCK = answer

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f'http://127.0.0.1:{server.server_port}', came
    server.shutdown()
    server.server_close()

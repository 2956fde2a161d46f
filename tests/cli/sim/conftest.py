"""Fixtures of the simulator's own tests."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from gce_server import Gce  # noqa: E402
from sim_server import Sim  # noqa: E402


@pytest.fixture
def sim():
    """Fast life cycle; nothing else out of the ordinary."""
    with Sim('--boot-ms', '30', '--shutdown-ms', '30') as server:
        yield server


@pytest.fixture
def gce():
    """The same as Google Compute Engine."""
    with Gce('--boot-ms', '30', '--shutdown-ms', '30') as server:
        yield server

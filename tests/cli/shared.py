"""Fixtures for files whose tests share one simulator, emptied before each test:

    from shared import home, sim  # noqa: F401    (or only sim, with a different home)"""
import pytest
from program import Home
from sim_server import Sim


@pytest.fixture(scope='module')
def sim():
    with Sim('--boot-ms', '20', '--shutdown-ms', '20') as server:
        yield server


@pytest.fixture
def home(tmp_path, sim):  # pylint: disable=redefined-outer-name
    sim.reset()
    return Home(tmp_path, sim.env())

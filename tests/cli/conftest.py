"""What most whole-program tests begin with: an EC2 of their own, whose machines start and end at once, and a user's
folder that asks it. A file that needs them otherwise has fixtures of its own, `home` often on top of this one."""
import pytest
from program import Home
from sim_server import Sim


@pytest.fixture
def sim():
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim:
        yield sim


@pytest.fixture
def home(tmp_path, sim):
    return Home(tmp_path, sim.env())

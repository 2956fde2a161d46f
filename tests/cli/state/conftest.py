"""The tests of MODULES run over each store (stores.py): the local file, and a schema of their own in PostgreSQL."""
import pytest
from postgres_server import Postgres
from stores import DISTANT, STORES, parameters

MODULES = {'test_state', 'test_state_move', 'test_log', 'test_every_store', 'test_sealed'}


def pytest_configure(config):
    config.addinivalue_line('markers', 'file_only: a test about the files of a local state')
    config.addinivalue_line('markers', 'distant_only: a test about a store elsewhere')


def pytest_generate_tests(metafunc):
    marked = metafunc.definition.get_closest_marker
    if metafunc.module.__name__ in MODULES and 'home' in metafunc.fixturenames and not marked('file_only'):
        if 'place' not in metafunc.fixturenames:  # pytest does not look behind a module's own `home`
            metafunc.fixturenames.append('place')
        metafunc.parametrize('place', parameters(DISTANT if marked('distant_only') else STORES), indirect=True)


@pytest.fixture(scope='session')
def server():
    with Postgres() as server:
        yield server


@pytest.fixture
def place(request):
    return getattr(request, 'param', 'file')


@pytest.fixture
def home(home, place, request):
    home.store = STORES[place][0](home, request)
    return home

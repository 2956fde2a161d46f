"""The tests of test_every_store.py run over each store (stores.py), and with --long those of MODULES, too: else only over the local
file and PostgreSQL, because the others share all code above `remote.h` with it."""
import os

import pytest
from document_stores import USER
from gs_server import Gs
from postgres_server import Postgres
from program import Home
from s3_server import S3
from stores import DISTANT, DOCUMENTS, STORES, parameters
from tf_state_server import StateServer

MODULES = {'test_state', 'test_state_move', 'test_log', 'test_every_store', 'test_sealed'}


def pytest_configure(config):
    config.addinivalue_line('markers', 'file_only: a test about the files of a local state')
    config.addinivalue_line('markers', 'distant_only: a test about a store elsewhere')
    config.addinivalue_line('markers', 'documents_only: a test about a store of documents')


def pytest_generate_tests(metafunc):
    marked = metafunc.definition.get_closest_marker
    if metafunc.module.__name__ in MODULES and 'home' in metafunc.fixturenames and not marked('file_only'):
        if 'place' not in metafunc.fixturenames:  # pytest does not look behind a module's own `home`
            metafunc.fixturenames.append('place')
        names = DOCUMENTS if marked('documents_only') else DISTANT if marked('distant_only') else STORES
        if metafunc.module.__name__ != 'test_every_store' and not os.environ.get('RAYGPU_LONG'):
            names = [name for name in names if name not in DOCUMENTS]
        metafunc.parametrize('place', parameters(names), indirect=True)


@pytest.fixture(scope='session')
def server():
    with Postgres() as server:
        yield server


@pytest.fixture(scope='session')
def s3():
    with S3() as s3:
        yield s3


@pytest.fixture(scope='session')
def gs():
    with Gs() as gs:
        yield gs


@pytest.fixture(scope='session')
def tf_server():
    with StateServer(USER) as server:
        yield server


@pytest.fixture
def place(request):
    return getattr(request, 'param', 'file')


@pytest.fixture
def home(home, place, request):
    home.store = STORES[place][0](home, request)
    return home


@pytest.fixture
def other(tmp_path, home):
    """Another machine with the state of `home`; of a file, another working directory."""
    (tmp_path / 'other').mkdir()
    other = Home(tmp_path / 'other', home.env)
    other.env['RAYGPU_STATE'] = home.env.get('RAYGPU_STATE', home.store.place)
    other.write('cluster.yaml', home.read('cluster.yaml'))
    return other

"""The stores that the tests of conftest's MODULES and test_every_store.py run over. A new one is a class here, or of a few lines in
document_stores.py, and a row of STORES.

A store has `place`, and `lose`, `edit` (rows, like a person), `damage` (see ROW_DAMAGES), `rows`, `kept` (its bytes, wherever they
are), `lock_of_all` (clusters wait for each other); one elsewhere also `new` (another place), `steal_lock`, and `through` a proxy of its
server."""
import contextlib
import os
import shutil
import sqlite3
import subprocess
import time

import pytest
from document_stores import ROW_DAMAGES, Bucket, Documents, GoogleBucket, Protocol
from postgres_server import PASSWORD, needs_postgres
from store_proxy import Proxy


def files_of(folder):
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError), open(os.path.join(root, name), 'rb') as f:
                yield f.read()


class File:
    lock_of_all = False

    def __init__(self, home, request):
        self.home = home
        self.place = home.state

    def lose(self):
        shutil.rmtree(os.path.dirname(self.home.state))

    def kept(self):
        return files_of(os.path.dirname(self.place))

    def rows(self, table):
        if not os.path.exists(self.place):
            return 0
        with contextlib.closing(sqlite3.connect(f'file:{self.place}?mode=ro', uri=True)) as db:
            return db.execute(f'SELECT count(*) FROM {table}').fetchone()[0]

    def damage(self, what):
        with contextlib.closing(sqlite3.connect(self.place)) as db, db:
            db.execute(ROW_DAMAGES[what].format(''))


class Postgres:
    lock_of_all = False

    def __init__(self, home, request):
        self.server = request.getfixturevalue('server')
        self.place = home.env['RAYGPU_STATE'] = self.new()
        self.name = self.place.split('schema=')[1]
        home.edit_state = self.edit

    def new(self):
        return self.server.url()

    def wrong(self):
        """With a wrong password."""
        return self.server.url(password='wrong')

    def lose(self):
        self.server.sql(f'DROP SCHEMA {self.name} CASCADE')

    def edit(self, *statements):
        """Like Home.edit_state."""
        texts = [f'SET search_path TO {self.name}']
        for statement in statements:
            text, values = statement if isinstance(statement, tuple) else (statement, ())
            for value in values:
                text = text.replace('?', "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value), 1)
            texts.append(text)
        self.server.sql('; '.join([*texts, 'DELETE FROM sums']))

    def kept(self):
        """With the server's write-ahead log."""
        self.server.sql('CHECKPOINT')
        yield subprocess.run(['pg_dump', '-h', '127.0.0.1', '-p', str(self.server.port), '-U', 'raygpu', '-n', self.name, 'postgres'],
                             env={**os.environ, 'PGPASSWORD': PASSWORD}, check=True, stdout=subprocess.PIPE).stdout
        yield from files_of(self.server.data())

    def rows(self, table):
        if not self.server.sql(f"SELECT 1 FROM pg_tables WHERE schemaname = '{self.name}' AND tablename = '{table}'"):
            return 0
        return int(self.server.sql(f'SELECT count(*) FROM {self.name}.{table}')[0][0])

    def damage(self, what):
        self.server.sql(ROW_DAMAGES[what].format(f'{self.name}.'))

    def steal_lock(self):
        """As if another run had had it meanwhile."""
        self.server.sql(f"UPDATE {self.name}.locks SET token = 'of another run'")

    def proxy(self):
        return Proxy(self.server.port)

    def through(self, proxy, place=None):
        return (place or self.place).replace(f':{self.server.port}/', f':{proxy.own}/')


STORES = {'file': (File, ()), 'postgres': (Postgres, needs_postgres), 's3': (Bucket, ()), 'gcs': (GoogleBucket, ()),
          'http': (Protocol, ())}
DISTANT = [name for name in STORES if name != 'file']
DOCUMENTS = [name for name in STORES if issubclass(STORES[name][0], Documents)]


def parameters(names):
    return [pytest.param(name, marks=STORES[name][1]) for name in names]


def wait_for(store, table, process):
    """Until it has a row, while the process runs: `locks`, `journal`."""
    while not store.rows(table):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)

"""Stores of documents (src/remote/README.md). A new one is a class with a few lines here, and a row of STORES in stores.py:

    class Mine(Documents):
        def __init__(self, home, request):
            self.server = request.getfixturevalue('mine')       # a fixture of conftest.py, one server a session
            super().__init__(home, self.server.url(), self.server.port)

        def names(self): ...                    # sorted, without the place's own prefix
        def get(self, name): ...                # bytes, or None
        def put(self, name, content): ...       # whatever is there
        def remove(self, name): ..."""
import base64
import contextlib
import gzip
import json
import re
import sqlite3
import time
import uuid
import zlib

from store_proxy import HTTP_WRITES, Proxy

CLUSTER = 'clusters/research/'
USER = 'ci:not-a-real-password'
# What a flipped bit or a lost row does to a store, in SQL; see Documents.damage for those of bytes.
ROW_DAMAGES = {'record': "UPDATE {}resources SET cloud_id = 'i-0' WHERE name = 'head' AND kind = 'aws.instance'",
               'identity': "DELETE FROM {}identities WHERE address LIKE '%head%'",
               'attributes': "UPDATE {}blobs SET bytes = replace(bytes, 'research', 'rescarch')",
               'facts': "UPDATE {}clusters SET facts = 'no JSON'"}


def value_of(cell):
    """Of a document's cell, for SQLite."""
    if isinstance(cell, dict):
        return base64.b64decode(cell['base64']) if 'base64' in cell else base64.b64decode(cell['text64']).decode()
    return cell


def cell_of(value, is_bytes):
    if value is not None and is_bytes:
        return {'base64': base64.b64encode(value.encode() if isinstance(value, str) else value).decode()}
    return value


class Documents:
    lock_of_all = False  # one for all clusters

    def __init__(self, home, place, port):
        self.home, self.place, self.port = home, place, port
        home.env['RAYGPU_STATE'] = place
        home.edit_state = self.edit

    def new(self):
        """The URL of another, empty place."""
        return self.server.url()

    def lose(self):
        for name in self.names():
            self.remove(name)

    def document(self, name):
        """None: it is not there (any more)."""
        content = self.get(name)
        return json.loads(gzip.decompress(content)) if content else None

    def write(self, name, document):
        self.put(name, gzip.compress(json.dumps(document).encode()))

    def kept(self):
        for name in self.names():
            content = self.get(name) or b''
            with contextlib.suppress(OSError, EOFError, zlib.error):
                content = gzip.decompress(content)
            yield content

    def lock_id(self):
        """None: nobody has it."""
        return (self.document(CLUSTER + 'lock') or {}).get('id')

    def rows(self, table):
        if table == 'locks':
            return int(self.lock_id() is not None)
        count = 0
        for name in self.names():
            if name.endswith(('.snapshot', '.change')):
                rows = ((self.document(name) or {}).get('rows') or {}).get(table, {})
                count += len(rows.get('new', ())) - len(rows.get('drop', ()))
        return max(count, 0)

    def snapshot(self):
        """Its name, after a run that has ended: there are no changes beside it."""
        names = self.names()
        assert not [name for name in names if name.endswith('.change')], names
        name, = (name for name in names if name.endswith('.snapshot'))
        return name

    def change_rows(self, statements):
        """SQL over the rows of a snapshot: each table of it, in SQLite."""
        name = self.snapshot()
        document = self.document(name)
        with contextlib.closing(sqlite3.connect(':memory:')) as db:
            for table, rows in document['rows'].items():
                db.execute(f'CREATE TABLE {table} ({", ".join(rows["columns"])})')
                for row in rows['new']:
                    db.execute(f'INSERT INTO {table} VALUES ({", ".join("?" * len(row))})', [value_of(cell) for cell in row])
            for statement in statements:
                db.execute(*(statement if isinstance(statement, tuple) else (statement,)))
            for table, rows in document['rows'].items():
                kinds = [any(isinstance(row[i], dict) for row in rows['new']) for i in range(len(rows['columns']))]
                rows['new'] = [[cell_of(*pair) for pair in zip(row, kinds)] for row in db.execute(f'SELECT * FROM {table}')]
        self.write(name, document)

    def edit(self, *statements):
        """Like Home.edit_state."""
        self.change_rows([*statements, 'DELETE FROM sums'])

    def damage(self, what):
        if what in ROW_DAMAGES:
            self.change_rows([ROW_DAMAGES[what].format('')])
            return
        name = self.snapshot()
        good = self.get(name)
        self.put(name, {'cut': good[:-40], 'bit': good[:50] + bytes([good[50] ^ 1]) + good[51:], 'empty': b'', 'other': b'{}'}[what])

    def steal_lock(self):
        """As another person would."""
        while not (lock := self.lock_id()):
            time.sleep(0.02)
        self.home.run('state', 'unlock', lock, '--state', self.place)

    def proxy(self):
        return Proxy(self.port, HTTP_WRITES)

    def through(self, proxy, place=None):
        return re.sub(rf'(:|%3A){self.port}\b', rf'\g<1>{proxy.own}', place or self.place)


class Bucket(Documents):
    """S3, on moto's server."""

    def __init__(self, home, request):
        self.server = request.getfixturevalue('s3')
        super().__init__(home, self.new(), self.server.port)

    def new(self):
        return self.server.url(endpoint=f'http://127.0.0.1:{self.server.port}')

    def names(self):
        return self.server.names(self.place)

    def get(self, name):
        return self.server.get(self.place, name)

    def put(self, name, content):
        self.server.put(self.place, name, content)

    def remove(self, name):
        self.server.remove(self.place, name)

    def kept(self):
        """With the versions that were replaced or deleted."""
        for content in self.server.versions(self.place):
            yield gzip.decompress(content) if content else b''


class GoogleBucket(Bucket):
    """Google Cloud Storage, on gs_server.py."""

    def __init__(self, home, request):
        self.server = request.getfixturevalue('gs')
        self.server.reset()
        for name in [name for name in home.env if name.startswith(('GOOGLE_', 'CLOUDSDK_'))]:
            del home.env[name]
        home.env.update(self.server.env())
        Documents.__init__(self, home, self.new(), self.server.port)

    def new(self):
        return self.server.url()


class Protocol(Documents):
    """Terraform's HTTP protocol: one document, with all objects in it."""
    lock_of_all = True

    def __init__(self, home, request):
        self.server = request.getfixturevalue('tf_server')
        home.env['TF_HTTP_USERNAME'], home.env['TF_HTTP_PASSWORD'] = USER.split(':')
        super().__init__(home, self.new(), self.server.server_address[1])
        self.path = self.place[self.place.rindex('/'):]

    def new(self):
        return self.server.url('s' + uuid.uuid4().hex[:12])

    def objects(self):
        return json.loads(self.server.states.get(self.path, b'{}')).get('raygpu', {})

    def change(self, name, value):
        state = json.loads(self.server.states[self.path])
        state['raygpu'].pop(name, None)
        if value is not None:
            state['raygpu'][name] = base64.b64encode(value).decode()
        self.server.states[self.path] = json.dumps(state).encode()

    def names(self):
        return sorted(self.objects())

    def get(self, name):
        value = self.objects().get(name)
        return base64.b64decode(value) if value else None

    def put(self, name, content):
        self.change(name, content)

    def remove(self, name):
        self.change(name, None)

    def lose(self):
        self.server.states.pop(self.path)

    def lock_id(self):
        return self.server.locks.get(self.path, {}).get('ID')

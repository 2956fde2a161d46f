"""A PostgreSQL server of Debian's package, on loopback, run by an ordinary user; tests that need it are skipped by name
where the package is not installed.

    with Postgres() as server:
        home.env['RAYGPU_STATE'] = server.url()      # a schema of its own each time
        server.stop('immediate'); server.start()"""
import contextlib
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid

import pytest
from ports import free_port

PASSWORD = 'not-a-real-password'


def programs():
    """The folder of initdb and pg_ctl, or None."""
    found = sorted(glob.glob('/usr/lib/postgresql/*/bin/pg_ctl'), key=lambda path: int(path.split('/')[4]))
    return os.path.dirname(found[-1]) if found else None


needs_postgres = pytest.mark.skipif(programs() is None, reason='Debian package postgresql is not installed')


def as_user():
    """PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam('nobody')
    return {'user': nobody.pw_uid, 'group': nobody.pw_gid, 'extra_groups': []}


class Postgres:
    def __init__(self, *options):
        self.bin = programs()
        self.folder = tempfile.mkdtemp(prefix='raygpu-postgres-')
        self.port = free_port()
        self.options = options
        if os.geteuid() == 0:
            shutil.chown(self.folder, 'nobody')
        os.chmod(self.folder, 0o700)

    def __enter__(self):
        secret = os.path.join(self.folder, 'password')
        with open(secret, 'w', encoding='utf-8') as f:
            f.write(PASSWORD + '\n')
        os.chmod(secret, 0o644)
        self.tool('initdb', '-D', self.data(), '-U', 'raygpu', '-A', 'scram-sha-256', '--pwfile', secret, '-E', 'UTF8', '--locale=C',
                  '--no-sync')
        self.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop('immediate')
        shutil.rmtree(self.folder, ignore_errors=True)

    def data(self):
        return os.path.join(self.folder, 'data')

    def tool(self, name, *arguments, **more):
        env = {'PATH': os.environ['PATH'], 'HOME': self.folder, 'LC_ALL': 'C'}
        return subprocess.run([os.path.join(self.bin, name), *map(str, arguments)], env=env, check=True, cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **as_user(), **more).stdout

    def start(self, **env):
        """Durable settings: tests kill the server."""
        options = f'-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} {" ".join(self.options)}'
        subprocess.run([os.path.join(self.bin, 'pg_ctl'), '-D', self.data(), '-w', '-t', '60', '-o', options,
                        '-l', os.path.join(self.folder, 'log'), 'start'], check=True, cwd=self.folder,
                       env={'PATH': os.environ['PATH'], 'HOME': self.folder, 'LC_ALL': 'C', **env}, stdout=subprocess.DEVNULL, **as_user())

    def stop(self, how='fast'):
        self.tool('pg_ctl', '-D', self.data(), '-w', '-m', how, 'stop')

    def log(self):
        with open(os.path.join(self.folder, 'log'), encoding='utf-8') as f:
            return f.read()

    def url(self, schema=None, user='raygpu', password=PASSWORD, port=None, extra=''):
        schema = schema or 's' + uuid.uuid4().hex[:12]
        return f'postgres://{user}:{password}@127.0.0.1:{port or self.port}/postgres?schema={schema}{extra}'

    def sql(self, text):
        """The rows of a query as lists of texts; several statements are one transaction."""
        process = subprocess.run(['psql', '-h', '127.0.0.1', '-p', str(self.port), '-U', 'raygpu', '-d', 'postgres', '-qAtX', '-F', '|',
                                  '-v', 'ON_ERROR_STOP=1', '-c', text], env={**os.environ, 'PGPASSWORD': PASSWORD},
                                 capture_output=True, text=True, check=False)
        assert process.returncode == 0, process.stderr
        return [line.split('|') for line in process.stdout.splitlines()]

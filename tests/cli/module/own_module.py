"""A module that a test builds like third parties build theirs, and the cloud that it uses."""
import http.server
import json
import os
import shutil
import subprocess
import threading
import urllib.parse

from program import ROOT, Home

HERE = os.path.dirname(os.path.abspath(__file__))


def build(folder, name, without=(), change=lambda schema: None):
    """A folder of modules with this one and its data, except for `without`; `change` may edit its schema."""
    folder = str(folder)
    shutil.copytree(f'{HERE}/{name}', f'{folder}/{name}', ignore=shutil.ignore_patterns('*.c', *without))
    with open(f'{HERE}/{name}/schema.json', encoding='utf-8') as f:
        schema = json.load(f)
    change(schema)
    if 'schema.json' not in without:
        with open(f'{folder}/{name}/schema.json', 'w', encoding='utf-8') as f:
            json.dump(schema, f)
    schema = json.dumps(json.dumps(schema))
    subprocess.run(['cc', '-std=gnu11', '-shared', '-fPIC', '-Wall', '-Werror', f'-I{ROOT}/src/abi',
                    f'-DSCHEMA_JSON={schema}', f'{HERE}/{name}/{name}.c', '-o', f'{folder}/{name}.so', '-ljansson'],
                   check=True, timeout=120)
    return folder


def serve(cloud):
    """A server for cloud.answer(method, path, query, body), which returns a value or (status, value); sets
    cloud.url."""
    lock = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def serve(self):
            length = int(self.headers.get('Content-Length') or 0)
            body = json.loads(self.rfile.read(length) or 'null')
            url = urllib.parse.urlsplit(self.path)
            with lock:
                answer = cloud.answer(self.command, url.path, dict(urllib.parse.parse_qsl(url.query)), body)
            status, value = answer if isinstance(answer, tuple) else (200, answer)
            data = json.dumps(value)
            self.send_response(status)
            self.send_header('Content-Length', str(len(data)))
            self.end_headers()
            self.wfile.write(data.encode())
        do_GET = do_POST = do_PATCH = do_DELETE = serve  # noqa: N815

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cloud.url = f'http://127.0.0.1:{server.server_address[1]}'
    return server


class ModuleHome(Home):
    """raygpu in a user's folder, with the module."""
    def __init__(self, folder, cloud, modules):
        super().__init__(folder, {'RAYGPU_ALLOW_ENDPOINTS': cloud.url})
        self.cloud, self.modules = cloud, modules
        # the module is built without the sanitizer
        self.env['ASAN_OPTIONS'] = self.env.get('ASAN_OPTIONS', '') + ':detect_leaks=0'

    def run(self, command, *arguments, **more):
        return super().run(command, '--provider-dir', self.modules, *arguments, **more)

    def plan(self, *arguments, code=0):
        path = self.path('plan.json')
        self.run('plan', 'cluster.yaml', '--report', f'json={path}', *arguments, code=code)
        with open(path, encoding='utf-8') as f:
            return json.load(f)['raygpu']

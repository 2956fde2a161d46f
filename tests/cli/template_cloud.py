"""The cloud of providers/template (its README has the API), small enough to read: nodes in a dict.

    with Cloud() as cloud:
        cloud.url, cloud.key
        cloud.nodes                      # {id: node}
        cloud.requests                   # [(method, path)], in order
        cloud.capacity['gpu.small'] = 2  # maximum number
        cloud.fail_next(500, 'busy')     # the next request that changes something gets this answer
        cloud.lose_answer()              # the next create is done, and its connection cut
        cloud.stop_looks = 2             # a node is gone at the second poll after its DELETE
        cloud.slow_changes = 2           # a PATCH is an operation, done at the second poll
        cloud.own_labels = {'by': 'us'}  # the cloud adds them to every node's
        cloud.quota = {'left': {'gpu.small': 2}, 'denied': {'gpu.huge': 'not you'}, 'notes': {'cpu.large':
        'scarce'}}"""
import http.server
import json
import re
import threading
import urllib.parse

REGIONS = {'north': {'zones': ['a1', 'b2'], 'image': 'ray-gpu-7',
                     'sizes': {'cpu.large': ['a1', 'b2'], 'gpu.small': ['a1', 'b2'], 'gpu.huge': ['b2']}}}
PAGE_MOST = 3   # small, so that every test needs several pages


class Refused(Exception):
    def __init__(self, status, code, message=''):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message or code


class Cloud:
    def __init__(self, key='key-of-the-test', regions=REGIONS):
        self.key, self.regions = key, regions
        self.nodes, self.tokens, self.requests = {}, {}, []
        self.capacity, self.failures, self.lose = {}, [], False
        self.count, self.lock = 0, threading.Lock()
        self.quota = {}
        self.start_looks = 1    # polls of a node until it runs
        self.stop_looks = self.slow_changes = 0
        self.own_labels, self.operations = {}, {}
        self.queue = None       # where new nodes wait

    def fail_next(self, status, code):
        self.failures.append((status, code))

    def lose_answer(self):
        self.lose = True

    def live(self):
        return [n for n in self.nodes.values() if n['state'] != 'gone']

    # the API

    def region(self, name):
        if name not in self.regions:
            raise Refused(404, 'not_found', f'no region {name}')
        return self.regions[name]

    def page(self, query):
        wanted = [n for n in self.nodes.values()
                  if all(query[key] == n['marks'].get(key) if key != 'token' else query[key] == n['token']
                         for key in ('cluster', 'token') if key in query)]
        ids = [n['id'] for n in wanted]
        after = query.get('after', '')
        if after and after not in self.nodes:
            raise Refused(400, 'invalid', f'no page after {after}')
        at = ids.index(after) + 1 if after else 0
        size = min(int(query.get('limit', PAGE_MOST)), PAGE_MOST)
        page = wanted[at:at + size]
        return {'nodes': page, 'next': page[-1]['id'] if at + size < len(wanted) else None}

    def check(self, size, count):
        """What the account may still create, see `quota`; None: the key may not ask."""
        if self.quota is None:
            raise Refused(403, 'denied', 'this key may not see the quota')
        left = self.quota.get('left', {}).get(size, count)
        if size in self.quota.get('denied', {}):
            return {'severity': 'error', 'code': 'denied', 'message': self.quota['denied'][size]}
        if count > left:
            return {'severity': 'error', 'code': 'quota', 'hint': 'ask for a higher quota, or make the pool smaller',
                    'message': f'{count} more {size} are needed, the quota allows {left}'}
        if size in self.quota.get('notes', {}):
            return {'severity': 'warning', 'code': 'no_capacity', 'message': self.quota['notes'][size]}
        return {}

    def create(self, body):
        token, indexes = body['token'], body['indexes']
        if not re.fullmatch('[0-9a-f]{32}', token) or not indexes:
            raise Refused(400, 'invalid', 'a create needs a token and indexes')
        asked = json.dumps(body, sort_keys=True)
        if token in self.tokens:
            before, ids, error = self.tokens[token]
            if before != asked:
                raise Refused(409, 'conflict', 'the token was used for something else')
            return {'nodes': [self.nodes[i] for i in ids], 'error': error}
        if not any(body['zone'] in region['sizes'].get(body['size'], ()) for region in self.regions.values()):
            raise Refused(400, 'invalid', f'no {body["size"]} in {body["zone"]}')
        used = sum(n['size'] == body['size'] for n in self.live())
        room = max(0, self.capacity.get(body['size'], 10 ** 6) - used)
        error = None if room >= len(indexes) else {
            'code': 'no_capacity', 'message': f'no more {body["size"]} in {body["zone"]}'}
        if not room:
            raise Refused(409, error['code'], error['message'])
        ids = []
        for index in indexes[:room]:
            self.count += 1
            ident = f'node-{self.count:04x}'
            self.nodes[ident] = {
                'id': ident, 'token': token, 'state': 'starting', 'looks': self.start_looks,
                'marks': {**body['marks'], 'index': index}, 'private_ip': None, 'version': 1,
                'links': body.get('links', 0), 'power_limit_w': body.get('power_limit_w', 0),
                **{key: body.get(key) for key in ('size', 'zone', 'image', 'labels', 'user_data')}}
            self.nodes[ident]['labels'] = {**(body.get('labels') or {}), **self.own_labels}
            if self.queue is not None:
                self.nodes[ident].update(state='queued', waits=self.queue)
            ids.append(ident)
        self.tokens[token] = (asked, ids, error)
        return {'nodes': [self.nodes[i] for i in ids], 'error': error}

    def node(self, ident):
        if ident not in self.nodes:
            raise Refused(404, 'not_found', f'no node {ident}')
        node = self.nodes[ident]
        if node['state'] == 'starting':
            node['looks'] -= 1
            if node['looks'] < 0:
                node.update(state='running', version=node['version'] + 1,
                            private_ip=f'10.0.0.{int(ident[5:], 16) % 250 + 1}')
        return node

    def answer(self, method, path, query, body):
        changes = method != 'GET'
        if changes and self.failures:
            raise Refused(*self.failures.pop(0))
        parts = path[1:].split('/')
        if method == 'GET' and parts[:2] == ['v1', 'regions'] and len(parts) == 3:
            return self.region(parts[2])
        if method == 'GET' and parts[:2] == ['v1', 'operations'] and len(parts) == 3:
            return self.operation(parts[2])
        if method == 'GET' and parts == ['v1', 'check']:
            return self.check(query['size'], int(query['count']))
        if parts[:2] != ['v1', 'nodes']:
            raise Refused(404, 'not_found', path)
        if len(parts) == 2:
            return self.create(body) if method == 'POST' else self.page(query)
        node = self.node(parts[2])
        if changes and query.get('version') != str(node['version']):
            raise Refused(412, 'conflict', f'version {query.get("version")} is not {node["version"]}')
        if method == 'PATCH':
            return self.patch(node, body)
        return self.delete(node) if method == 'DELETE' else node

    def patch(self, node, body):
        if self.slow_changes:
            name = f'op-{len(self.operations)}'
            self.operations[name] = [self.slow_changes, node, body]
            return {'operation': name}
        node['version'] += 1
        node['labels'] = {**body['labels'], **self.own_labels}
        return node

    def operation(self, name):
        if name not in self.operations:
            raise Refused(404, 'invalid', f'no operation {name}')
        self.operations[name][0] -= 1
        looks, node, body = self.operations[name]
        if looks > 0:
            return {'operation': name}
        node['version'] += 1
        node['labels'] = {**body['labels'], **self.own_labels}
        return node

    def delete(self, node):
        if node['state'] != 'stopping':
            node.update(state='stopping', version=node['version'] + 1, looks=self.stop_looks)
        node['looks'] -= 1
        if node['looks'] < 0:
            del self.nodes[node['id']]
            return {**node, 'state': 'gone'}
        return node

    # the server

    def __enter__(self):
        cloud = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def log_message(self, *_):
                pass

            def serve(self):
                length = int(self.headers.get('Content-Length') or 0)
                raw = self.rfile.read(length)
                url = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(url.query))
                with cloud.lock:
                    cloud.requests.append((self.command, self.path))
                    try:
                        if self.headers.get('Authorization') != f'Bearer {cloud.key}':
                            raise Refused(401, 'denied', 'the key is not known')
                        status, value = 200, cloud.answer(self.command, url.path, query,
                                                          json.loads(raw) if raw else None)
                        text = json.dumps(value).encode()
                        if cloud.lose and self.command == 'POST':
                            cloud.lose = False
                            self.close_connection = True
                            return
                    except Refused as no:
                        status = no.status
                        text = json.dumps({'error': {'code': no.code, 'message': no.message}}).encode()
                self.send_response(status)
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = serve

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f'http://127.0.0.1:{self.server.server_address[1]}'
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

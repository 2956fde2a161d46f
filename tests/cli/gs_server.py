"""Google Cloud Storage's JSON API (storage.v1) over HTTP, as far as a state needs it, written from its published reference:
generations, preconditions, paging, checksums, partial answers, permissions, versioning, and tokens of a metadata server. Query
parameters that the API does not have are refused. Ranges, delimiters and resumable uploads are left out. Google's own clients work
with it: test_gcs_clients.py.

    with Gs() as gs:
        home.env.update(gs.env())
        home.env['RAYGPU_STATE'] = gs.url()      # a prefix of its own each time
        gs.before = lambda op: (503, 'backendError') if op.method == 'objects.insert' else None     # in place of the request
        gs.after = lambda op: 'cut'              # it is done, and not answered; or another answer
        gs.allowed = {'storage.objects.get'}     # permissions; None: all"""
import base64
import collections
import email.utils
import gzip
import hashlib
import http.server
import json
import re
import struct
import threading
import time
import urllib.parse
import uuid

BUCKET = 'raygpu-state'
GENERATION = {'generation', 'ifGenerationMatch', 'ifGenerationNotMatch', 'ifMetagenerationMatch', 'ifMetagenerationNotMatch'}
COMMON = {'alt', 'fields', 'prettyPrint', 'key', 'quotaUser', 'userProject', 'projection'}
# Names of query parameters in Google's description of storage.v1 (Google Cloud SDK 528).
PARAMETERS = {
    'buckets.get': {'generation', 'ifMetagenerationMatch', 'ifMetagenerationNotMatch', 'softDeleted'},
    'objects.get': GENERATION | {'restoreToken', 'softDeleted'},
    'objects.delete': GENERATION,
    'objects.insert': GENERATION - {'generation'} | {'contentEncoding', 'kmsKeyName', 'name', 'predefinedAcl', 'uploadType'},
    'objects.list': {'delimiter', 'endOffset', 'includeFoldersAsPrefixes', 'includeTrailingDelimiter', 'matchGlob', 'maxResults',
                     'pageToken', 'prefix', 'softDeleted', 'startOffset', 'versions'}}
PERMISSIONS = {'buckets.get': 'storage.buckets.get', 'objects.get': 'storage.objects.get', 'objects.list': 'storage.objects.list',
               'objects.delete': 'storage.objects.delete', 'objects.insert': 'storage.objects.create'}
STATUS = {'required': 401, 'authError': 401, 'forbidden': 403, 'notFound': 404, 'conditionNotMet': 412, 'invalid': 400}
Op = collections.namedtuple('Op', 'method bucket name query headers body')


class Refused(Exception):
    def __init__(self, reason, message):
        self.reason, self.message = reason, message


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xff] ^ crc >> 8
    return base64.b64encode(struct.pack('>I', crc ^ 0xffffffff)).decode()


def crc_row(value):
    for _ in range(8):
        value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    return value


CRC_TABLE = [crc_row(i) for i in range(256)]


def md5(data):
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def parts_of(content_type, body):
    """[metadata, content] of multipart/related; Google's clients in Python end lines without a carriage return."""
    boundary = re.search('boundary=["\']?([^"\';]+)', content_type or '')
    mark = b'--' + boundary[1].encode() if boundary else b'?'
    end = b'\r\n' if body.startswith(mark + b'\r') else b'\n'
    parts = (end + body).split(end + mark)
    if len(parts) != 4 or parts[0] or not parts[3].startswith(b'--'):
        raise Refused('invalid', 'not two parts')
    return [part.split(end + end, 1)[1] for part in parts[1:3]]


def partial(value, fields):
    """`fields` as the API reads it: names, those of members in parentheses or behind a slash."""
    if isinstance(value, list):
        return [partial(one, fields) for one in value]
    wanted = {}
    for name, _, inner in re.findall(r'([^,()]+)(\(([^()]*)\))?', fields):
        name, _, member = name.partition('/')
        wanted.setdefault(name, []).extend(filter(None, (member, inner)))
    return {name: partial(value[name], ','.join(inner)) if inner else value[name] for name, inner in wanted.items() if name in value}


class Gs(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        self.turn = threading.RLock()
        self.buckets, self.tokens, self.seen = {}, set(), []
        self.generation = 1_700_000_000_000_000
        self.kept = []                           # (bucket, key, content) of every version
        super().__init__(('127.0.0.1', 0), Handler)
        self.port = self.server_address[1]
        self.endpoint = f'http://127.0.0.1:{self.port}'
        self.reset()
        self.make_bucket(BUCKET)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def reset(self):
        """Without faults."""
        self.before = self.after = lambda op: None
        self.allowed, self.anonymous, self.page, self.key_users = None, False, 1000, None
        self.seen.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # a killed client

    def env(self):
        """Of a machine in Google Cloud."""
        return {'GCE_METADATA_HOST': f'127.0.0.1:{self.port}'}

    def url(self, prefix=None, bucket=BUCKET, **parameters):
        prefix = prefix or 'p' + uuid.uuid4().hex[:12]
        return f'gs://{bucket}/{prefix}?' + urllib.parse.urlencode({'endpoint': self.endpoint, **parameters})

    def make_bucket(self, name, **properties):
        self.buckets[name] = {'versioning': {'enabled': True}, **properties}, {}

    # ---- what is there, for tests

    def place(self, url):
        parts = urllib.parse.urlsplit(url)
        return self.buckets[parts.netloc][1], parts.path.strip('/') + '/', parts.netloc

    def names(self, url):
        objects, prefix, _ = self.place(url)
        with self.turn:
            return sorted(key[len(prefix):] for key in objects if key.startswith(prefix))

    def get(self, url, name):
        objects, prefix, _ = self.place(url)
        found = objects.get(prefix + name)
        return found and found['content']

    def put(self, url, name, content):
        _, prefix, bucket = self.place(url)
        with self.turn:
            self.write(bucket, prefix + name, content)

    def remove(self, url, name):
        objects, prefix, _ = self.place(url)
        with self.turn:
            objects.pop(prefix + name, None)

    def versions(self, url):
        """The contents of all objects that were ever there."""
        _, prefix, bucket = self.place(url)
        return [content for where, key, content in self.kept if where == bucket and key.startswith(prefix)]

    def document(self, url, name):
        content = self.get(url, name)
        return json.loads(gzip.decompress(content)) if content else None

    def put_document(self, url, name, document):
        self.put(url, name, gzip.compress(json.dumps(document).encode()))

    def wait_locked(self, url, cluster='research'):
        """Until a run has the lock; its id."""
        while True:
            lock = self.document(url, f'clusters/{cluster}/lock') or {}
            if 'id' in lock:
                return lock['id']
            time.sleep(0.02)

    # ---- the API

    def write(self, bucket, key, content, **metadata):
        self.generation += 1
        self.kept.append((bucket, key, content))
        now, where = time.time(), f'storage/v1/b/{bucket}/o/{urllib.parse.quote(key, "")}'
        written = time.strftime('%Y-%m-%dT%H:%M:%S.000Z', time.gmtime(now))
        resource = {
            'kind': 'storage#object', 'name': key, 'bucket': bucket, 'generation': str(self.generation), 'metageneration': '1',
            'size': str(len(content)), 'crc32c': crc32c(content), 'md5Hash': md5(content),
            'storageClass': 'STANDARD', 'etag': f'C{self.generation}=', 'timeCreated': written, 'updated': written,
            'selfLink': f'{self.endpoint}/{where}', 'mediaLink': f'{self.endpoint}/download/{where}?generation={self.generation}&alt=media',
            **metadata}
        self.buckets[bucket][1][key] = {'content': content, 'at': now, 'resource': resource}
        return resource

    def check(self, op):
        unknown = set(op.query) - PARAMETERS[op.method] - COMMON
        token = (op.headers.get('Authorization') or '').removeprefix('Bearer ')
        if unknown:
            raise Refused('invalid', f'Invalid parameters: {sorted(unknown)}')
        if token not in self.tokens and not (self.anonymous and not token):
            raise Refused('authError' if token else 'required', 'Invalid Credentials')
        self.need(op, PERMISSIONS[op.method])
        if op.bucket not in self.buckets:
            raise Refused('notFound', 'The specified bucket does not exist.')

    def need(self, op, permission):
        if self.allowed is not None and permission not in self.allowed:
            raise Refused('forbidden', f'ci@example.iam.gserviceaccount.com does not have {permission} access to the Google Cloud '
                                       'Storage object. Permission denied on resource (or it may not exist).')

    def find(self, op):
        """The object, if the preconditions hold."""
        found = self.buckets[op.bucket][1].get(op.name)
        generation = found['resource']['generation'] if found else '0'
        if op.query.get('ifGenerationMatch', generation) != generation or op.query.get('ifGenerationNotMatch') == generation:
            raise Refused('conditionNotMet', 'At least one of the pre-conditions you specified did not hold.')
        if op.method != 'objects.insert' and op.query.get('generation', generation) != generation:
            found = None
        if not found and op.method != 'objects.insert':
            if op.method == 'objects.get':
                self.need(op, 'storage.objects.list')  # else nobody learns that it does not exist
            raise Refused('notFound', f'No such object: {op.bucket}/{op.name}')
        return found

    def buckets_get(self, op):
        return {'kind': 'storage#bucket', 'name': op.bucket, **self.buckets[op.bucket][0]}

    def objects_list(self, op):
        page, after = min(int(op.query.get('maxResults', 1000)), self.page), op.query.get('pageToken', '')
        keys = sorted(key for key, one in self.buckets[op.bucket][1].items() if key.startswith(op.query.get('prefix', '')))
        keys = [key for key in keys if key > base64.urlsafe_b64decode(after).decode()]
        answer = {'kind': 'storage#objects', 'items': [self.buckets[op.bucket][1][key]['resource'] for key in keys[:page]]}
        if not keys:
            del answer['items']
        if len(keys) > page:
            answer['nextPageToken'] = base64.urlsafe_b64encode(keys[page - 1].encode()).decode()
        return answer

    def objects_get(self, op):
        found = self.find(op)
        if op.query.get('alt') != 'media':
            return found['resource']
        resource = found['resource']
        return found['content'], {
            'Content-Type': resource.get('contentType', 'application/octet-stream'), 'ETag': resource['etag'],
            'X-Goog-Hash': f'crc32c={resource["crc32c"]},md5={resource["md5Hash"]}', 'X-Goog-Generation': resource['generation'],
            'X-Goog-Metageneration': '1', 'X-Goog-Stored-Content-Encoding': 'identity', 'X-Goog-Storage-Class': 'STANDARD',
            'X-Goog-Stored-Content-Length': resource['size'], 'Last-Modified': email.utils.formatdate(found['at'], usegmt=True),
            'Cache-Control': resource.get('cacheControl', 'private, max-age=0')}

    def objects_delete(self, op):
        self.find(op)
        del self.buckets[op.bucket][1][op.name]
        return b'', {}

    def objects_insert(self, op):
        metadata, content = op.body
        if self.find(op):
            self.need(op, 'storage.objects.delete')
        if metadata.get('crc32c', crc32c(content)) != crc32c(content):
            raise Refused('invalid', 'Provided CRC32C does not match calculated CRC32C.')
        if metadata.get('md5Hash', md5(content)) != md5(content):
            raise Refused('invalid', 'Provided MD5 hash does not match calculated MD5 hash.')
        kept = {name: metadata[name] for name in ('contentType', 'cacheControl') if name in metadata}
        if 'kmsKeyName' in op.query:
            kept['kmsKeyName'] = op.query['kmsKeyName'] + '/cryptoKeyVersions/1'
        return self.write(op.bucket, op.name, content, **kept)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, format, *args):
        pass

    def read_op(self):
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        body = self.read_body()
        found = re.fullmatch('/(?:download/|upload/)?storage/v1/b/([^/]+)(?:/(o)(?:/([^/]+))?)?', parts.path)
        bucket, objects, name = found.groups() if found else (None, None, None)
        upload, insert = parts.path.startswith('/upload/'), self.command == 'POST'
        if not found or upload != insert or (insert and (name or not objects)):
            return None
        method = ('objects.insert' if insert else 'buckets.get' if not objects else 'objects.list' if not name
                  else 'objects.' + self.command.lower())
        if insert:
            body = self.read_upload(query, body)
        name = urllib.parse.unquote(name or '') or query.get('name') or (body[0].get('name') if insert else '')
        return Op(method, urllib.parse.unquote(bucket), name, query, self.headers, body)

    def read_body(self):
        if self.headers.get('Transfer-Encoding') != 'chunked':
            return self.rfile.read(int(self.headers.get('Content-Length') or 0))
        body = b''
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def read_upload(self, query, body):
        if query.get('uploadType') == 'media':
            return [{'contentType': self.headers.get('Content-Type')}, body]
        metadata, content = parts_of(self.headers.get('Content-Type'), body)
        return [json.loads(metadata), content]

    def answer(self):
        server, op, size = self.server, None, int(self.headers.get('Content-Length') or 0)
        if self.path.startswith('/computeMetadata/v1/'):
            return self.metadata()
        try:
            op = self.read_op()
            if not op:
                raise Refused('notFound', 'Not Found')
            if told := server.before(op):
                return self.refuse(*told)
            with server.turn:
                server.check(op)
                result = getattr(server, op.method.replace('.', '_'))(op)
                told = server.after(op)
        except Refused as refused:
            if op:
                server.seen.append((op.method, op.name, STATUS[refused.reason], size))
            return self.refuse(STATUS[refused.reason], refused.reason, refused.message)
        server.seen.append((op.method, op.name, 200, size))
        if told == 'cut':
            self.close_connection = True
            return None
        if told:
            return self.refuse(*told)
        if isinstance(result, dict):
            return self.reply(200, json.dumps(partial(result, op.query['fields']) if 'fields' in op.query else result).encode(),
                              {'Content-Type': 'application/json; charset=UTF-8'})
        return self.reply(200 if op.method == 'objects.get' else 204, *result)

    def metadata(self):
        """The metadata server's token of the machine's service account."""
        token = 'ya29.' + uuid.uuid4().hex
        self.server.tokens.add(token)
        return self.reply(200, json.dumps({'access_token': token, 'expires_in': 3599, 'token_type': 'Bearer'}).encode(),
                          {'Metadata-Flavor': 'Google', 'Content-Type': 'application/json'})

    def refuse(self, status, reason, message='(a fault)'):
        error = {'code': status, 'message': message, 'errors': [{'message': message, 'domain': 'global', 'reason': reason}]}
        self.reply(status, json.dumps({'error': error}).encode(), {'Content-Type': 'application/json; charset=UTF-8'})

    def reply(self, status, content, headers):
        self.send_response_only(status)
        for name, value in {'Date': self.date_time_string(), **headers}.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = answer

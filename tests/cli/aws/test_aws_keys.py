"""Where AWS keys come from, for a user: files, roles, CI's tokens, the machine. One small server plays STS, the
container's agent, the instance metadata service and an EC2 that refuses everything but records who signed."""
import json
import os
import re
import stat
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from program import Home, spec
from test_moto import Moto

ROLE = 'arn:aws:iam::123456789012:role/ci'


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def say(self, status, body):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def document(self, key, token='Token', **more):
        self.say(200, json.dumps({'AccessKeyId': key, 'SecretAccessKey': f'secret-of-{key}',
                                  token: f'token-of-{key}', 'Expiration': '2099-01-01T00:00:00Z', **more}))

    def do_PUT(self):
        cloud = self.server.cloud
        cloud.calls.append(('PUT', self.path, dict(self.headers)))
        if self.path == '/latest/api/token' and self.headers['X-aws-ec2-metadata-token-ttl-seconds']:
            return self.say(200, 'imds-token')
        return self.say(400, '')

    def do_GET(self):
        cloud = self.server.cloud
        cloud.calls.append(('GET', self.path, dict(self.headers)))
        base = '/latest/meta-data/iam/security-credentials/'
        if self.path.startswith(base):
            if self.headers['X-aws-ec2-metadata-token'] != 'imds-token':
                return self.say(401, '')
            return self.say(200, 'node-role') if self.path == base else self.document('IMDS')
        if self.path == '/container' and self.headers['Authorization'] == 'Bearer pod':
            return self.document('CONTAINER')
        return self.say(404, '')

    def do_POST(self):
        cloud = self.server.cloud
        body = self.rfile.read(int(self.headers['Content-Length'])).decode()
        form = dict(urllib.parse.parse_qsl(body))
        signed = re.search(r'Credential=([^/]+)/\d+/[^/]+/(\w+)/', self.headers.get('Authorization', ''))
        key, service = signed.groups() if signed else (None, None)
        cloud.calls.append((form['Action'], key, form))
        if form['Action'] in ('AssumeRole', 'AssumeRoleWithWebIdentity'):
            assert service == ('sts' if form['Action'] == 'AssumeRole' else None)
            if form['RoleArn'].endswith('/denied'):
                return self.say(403, '<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code>'
                                     '<Message>not you</Message></Error><RequestId>r</RequestId></ErrorResponse>')
            name = 'ROLE-' + form['RoleArn'].rsplit('/', 1)[1]
            action = form['Action']
            return self.say(200, f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
                                 f'<{action}Result><Credentials><AccessKeyId>{name}</AccessKeyId>'
                                 f'<SecretAccessKey>secret-of-{name}</SecretAccessKey>'
                                 f'<SessionToken>token-of-{name}</SessionToken>'
                                 '<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>'
                                 f'</{action}Result></{action}Response>')
        assert service == 'ec2'
        cloud.signers.append((key, self.headers.get('X-Amz-Security-Token')))
        return self.say(403, '<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message>'
                             '</Error></Errors><RequestID>r</RequestID></Response>')


class Cloud:
    def __init__(self):
        self.calls, self.signers = [], []
        self.server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.cloud = self
        self.url = f'http://127.0.0.1:{self.server.server_port}'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def names(self):
        return [call[0] for call in self.calls]


@pytest.fixture
def cloud():
    server = Cloud()
    yield server
    server.server.shutdown()
    server.server.server_close()


class User(Home):
    def __init__(self, folder, cloud):
        super().__init__(folder)
        for name in [n for n in self.env if n.startswith('AWS_')]:
            del self.env[name]
        self.cloud = cloud
        self.env.update(AWS_ENDPOINT_URL=cloud.url, AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url + '/',
                        AWS_CONFIG_FILE=self.path('config'),
                        AWS_SHARED_CREDENTIALS_FILE=self.path('credentials'))
        self.write('cluster.yaml', spec())

    def signer(self, **env):
        """(key, session token) of the first request to EC2."""
        said = self.run('plan', 'cluster.yaml', code=7, env=env)
        assert self.cloud.signers, said
        assert not re.search(r'secret-of|token-of|imds-token|Bearer pod', said.out + said.err), said
        return self.cloud.signers[0]

    def refusal(self, *words, **env):
        said = self.run('plan', 'cluster.yaml', code=7, env=env)
        text = ' '.join(said.err.split())
        assert all(word in text for word in words), said
        assert not self.cloud.signers
        return text


@pytest.fixture
def user(cloud, tmp_path):
    return User(tmp_path, cloud)


BASE = '[base]\naws_access_key_id = BASE\naws_secret_access_key = s\n'


def test_a_role_by_way_of_a_source_profile(user, cloud):
    user.write('credentials', BASE)
    user.write('config', f'[profile ci]\nrole_arn = {ROLE}\nsource_profile = base\nexternal_id = e-1\n'
                         'role_session_name = nightly\nduration_seconds = 900\n')
    assert user.signer(AWS_PROFILE='ci') == ('ROLE-ci', 'token-of-ROLE-ci')
    action, key, form = cloud.calls[0]
    assert (action, key) == ('AssumeRole', 'BASE')
    assert form == {'Action': 'AssumeRole', 'Version': '2011-06-15', 'RoleArn': ROLE, 'ExternalId': 'e-1',
                    'RoleSessionName': 'nightly', 'DurationSeconds': '900'}


def test_a_chain_of_roles(user, cloud):
    user.write('credentials', BASE)
    user.write('config', f'[profile ci]\nrole_arn = {ROLE}\nsource_profile = mid\n'
                         '[profile mid]\nrole_arn = arn:aws:iam::1:role/mid\nsource_profile = base\n')
    assert user.signer(AWS_PROFILE='ci')[0] == 'ROLE-ci'
    assert [call[1] for call in cloud.calls if call[0] == 'AssumeRole'] == ['BASE', 'ROLE-mid']


def test_a_chain_has_eight_roles_at_most(user, cloud):
    def chain(n):
        return ''.join(f'[profile r{i}]\nrole_arn = arn:aws:iam::1:role/r{i}\nsource_profile = r{i + 1}\n'
                       for i in range(1, n + 1)) + f'[profile r{n + 1}]\n' + BASE.split('\n', 1)[1]

    user.write('config', chain(8))
    assert user.signer(AWS_PROFILE='r1')[0] == 'ROLE-r1'
    assert len([call for call in cloud.calls if call[0] == 'AssumeRole']) == 8
    cloud.signers.clear()
    user.write('config', chain(9))
    user.refusal('the source_profile chain of "r1" is circular or too long', AWS_PROFILE='r1')


def test_a_profile_may_be_its_own_source(user):
    user.write('credentials', BASE)
    user.write('config', f'[profile base]\nrole_arn = {ROLE}\nsource_profile = base\n')
    assert user.signer(AWS_PROFILE='base')[0] == 'ROLE-ci'


def test_a_role_by_way_of_the_environment(user, cloud):
    user.write('config', f'[profile ci]\nrole_arn = {ROLE}\ncredential_source = Environment\n')
    user.write('cluster.yaml', spec().replace('name: aws,', 'name: aws, profile: ci,'))
    assert user.signer(AWS_ACCESS_KEY_ID='ENV', AWS_SECRET_ACCESS_KEY='s', RAYGPU_ALLOW_PROFILES='ci')[0] == 'ROLE-ci'
    assert cloud.calls[0][:2] == ('AssumeRole', 'ENV')


@pytest.mark.parametrize('by', ['environment', 'profile'])
def test_web_identity(user, cloud, by):
    """What GitHub's and GitLab's OIDC and EKS service accounts use."""
    token = user.write('token', 'header.payload.sig\n')
    if by == 'profile':
        user.write('config', f'[default]\nrole_arn = {ROLE}\nweb_identity_token_file = {token}\n')
        signer = user.signer()
    else:
        user.write('credentials', BASE.replace('base', 'default'))  # the environment comes first
        signer = user.signer(AWS_WEB_IDENTITY_TOKEN_FILE=token, AWS_ROLE_ARN=ROLE,
                             AWS_ROLE_SESSION_NAME='job-7')
    assert signer == ('ROLE-ci', 'token-of-ROLE-ci')
    action, key, form = cloud.calls[0]
    assert (action, key, form['WebIdentityToken']) == ('AssumeRoleWithWebIdentity', None, 'header.payload.sig')
    assert form['RoleSessionName'].startswith('raygpu-' if by == 'profile' else 'job-7')


def test_a_helper_process(user):
    helper = user.write('my helper', '#!/bin/sh\n[ "$1" = "--for two words" ] || exit 3\n'
                        'echo \'{"Version": 1, "AccessKeyId": "HELPER", "SecretAccessKey": "secret-of-x"}\'\n')
    os.chmod(helper, stat.S_IRWXU)
    user.write('config', f'[default]\ncredential_process = "{helper}" "--for two words"\n')
    assert user.signer() == ('HELPER', None)
    user.cloud.signers.clear()
    user.write('config', f'[default]\ncredential_process = "{helper}" other\n')
    user.refusal('the credential_process of the AWS profile "default"', 'did not succeed')
    user.write('config', '[default]\ncredential_process = /bin/echo {}\n')
    user.refusal('printed no document of version 1')
    user.write('config', '[default]\ncredential_process = /bin/echo "unended\n')
    user.refusal("cannot be split into words")


def test_the_container_then_the_instance(user, cloud):
    container = {'AWS_CONTAINER_CREDENTIALS_FULL_URI': cloud.url + '/container'}
    assert user.signer(AWS_CONTAINER_AUTHORIZATION_TOKEN='Bearer pod', **container)[0] == 'CONTAINER'
    cloud.signers.clear()
    token = user.write('token', 'Bearer pod\n')
    assert user.signer(AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=token, **container) == (
        'CONTAINER', 'token-of-CONTAINER')
    cloud.signers.clear()
    user.refusal('answered with status 404', **container)
    user.refusal('is not allowed', AWS_CONTAINER_CREDENTIALS_FULL_URI='http://example.org/x')
    assert 'PUT' not in cloud.names(), 'the instance was not asked: the container was to give keys'
    assert user.signer() == ('IMDS', 'token-of-IMDS')
    cloud.signers.clear()
    text = user.refusal('no AWS credentials found', AWS_EC2_METADATA_DISABLED='true')
    assert 'AWS_EC2_METADATA_DISABLED is set' in text
    text = user.refusal('no AWS credentials found', 'no answer from http://127.0.0.1:9',
                        AWS_EC2_METADATA_SERVICE_ENDPOINT='http://127.0.0.1:9')
    assert text.count('Error:') == 1, 'a machine that is not of EC2 is no error of its own'


def test_keys_of_the_machine_pass_no_proxy(user, cloud):
    user.refusal('no AWS credentials found', AWS_EC2_METADATA_SERVICE_ENDPOINT='', http_proxy=cloud.url,
                 AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE='ipv6')
    assert not cloud.calls


@pytest.mark.parametrize('config,words', [
    ('[profile ci]\nlogin_session = arn:aws:iam::1:user/me\n', ['uses `aws login`', 'export-credentials --profile ci']),
    (f'[profile ci]\nrole_arn = {ROLE}\n', ['neither source_profile nor credential_source']),
    (f'[profile ci]\nrole_arn = {ROLE}\nsource_profile = gone\n', ['the source_profile "gone"']),
    (f'[profile ci]\nrole_arn = {ROLE}\nsource_profile = b\n[profile b]\nrole_arn = {ROLE}\n'
     'source_profile = ci\n', ['is circular or too long']),
    (f'[profile ci]\nrole_arn = {ROLE}\nsource_profile = base\nmfa_serial = arn:aws:iam::1:mfa/me\n',
     ['mfa_serial']),
    ('[profile ci]\nrole_arn = arn:aws:iam::1:role/denied\nsource_profile = base\n',
     ['the AWS profile "ci" requests arn:aws:iam::1:role/denied', 'AccessDenied', 'not you', 'trust policy']),
    (f'[profile ci]\nrole_arn = {ROLE}\ncredential_source = Nowhere\n', ['unknown credential_source']),
    (f'[profile ci]\nrole_arn = {ROLE}\nweb_identity_token_file = /nowhere/token\n', ['cannot be read']),
    ('[profile other]\nregion = us-east-1\n', ['no such AWS profile', '[profile ci]']),
])
def test_what_can_not_be_had_is_said_and_nothing_else_is_tried(user, config, words):
    user.write('credentials', BASE)
    user.write('config', config)
    user.refusal(*words, AWS_PROFILE='ci')
    assert 'PUT' not in user.cloud.names()


def test_moto_accepts_the_keys_of_its_own_sts(tmp_path):
    with Moto() as moto:
        home = Home(tmp_path, moto.env())
        for name in ('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'):
            home.env.pop(name)
        token = home.write('token', 'header.payload.sig')
        image = moto.ok('DescribeImages', {'Filter.1.Name': 'architecture', 'Filter.1.Value.1': 'x86_64',
                                           'Filter.2.Name': 'root-device-type',
                                           'Filter.2.Value.1': 'ebs'}).findtext('.//imageId')
        home.write('cluster.yaml', spec(head=f'm5.2xlarge, image: {image}', pool_extra=f', image: {image}'))
        home.run('plan', 'cluster.yaml', env={'AWS_WEB_IDENTITY_TOKEN_FILE': token, 'AWS_ROLE_ARN': ROLE})

"""Where access tokens come from: each form of a credentials file against the simulated token services, which verify
signatures, audiences and times; what is refused before anything is sent; and that no secret is printed or traced."""
import base64
import http.server
import json
import re
import shutil
import subprocess
import threading
import time

import pytest
from gce_server import PROJECT, Gce, gce_env
from program import Home
from test_gcp_story import nodes, spec

EMAIL = f'raygpu@{PROJECT}.iam.gserviceaccount.com'
ISSUER = 'https://ci.example.com'
AUDIENCE = '//iam.googleapis.com/projects/123/locations/global/workloadIdentityPools/ci/providers/ci'
JWT = 'urn:ietf:params:oauth:token-type:jwt'
SECRET = 'GOCSPX-very-secret-text'

pytestmark = pytest.mark.skipif(not shutil.which('openssl'), reason='openssl makes the keys')


def openssl(*arguments, stdin=None):
    return subprocess.run(['openssl', *arguments], input=stdin, check=True, capture_output=True).stdout


@pytest.fixture(scope='module', name='key')
def make_key():
    private = openssl('genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048').decode()
    return private, openssl('pkey', '-pubout', stdin=private.encode()).decode()


@pytest.fixture(name='world')
def make_world(tmp_path, key):
    """(simulator, folder of a user without a metadata server)"""
    with Gce('--boot-ms', '0', '--shutdown-ms', '0') as gce:
        gce.knobs(service_accounts={EMAIL: key[1]}, identity_providers={ISSUER: key[1]},
                  refresh_tokens={'1//refresh-me-not-known': f'client:{SECRET}'})
        home = Home(tmp_path, gce_env(gce, GCE_METADATA_HOST='127.0.0.1:1', RAYGPU_TEST_NO_WAIT='1'))
        home.write('cluster.yaml', spec({'w': 'accelerators: "T4:1", nodes: 1'}))
        yield gce, home


def use(home, document):
    home.write('key.json', json.dumps(document))
    home.env['GOOGLE_APPLICATION_CREDENTIALS'] = home.path('key.json')


def service_account(gce, key, **more):
    return {'type': 'service_account', 'project_id': PROJECT, 'private_key_id': 'k1', 'private_key': key[0],
            'client_email': EMAIL, 'token_uri': gce.url + '/token', **more}


def signed(tmp, key, **claims):
    """A token of the identity provider."""
    def part(value):
        return base64.urlsafe_b64encode(value).rstrip(b'=')
    now = int(time.time())
    claims = {'iss': ISSUER, 'sub': 'repo:me', 'aud': 'https:' + AUDIENCE, 'iat': now, 'exp': now + 600, **claims}
    text = b'.'.join(part(json.dumps(value).encode()) for value in ({'alg': 'RS256', 'typ': 'JWT'}, claims))
    (tmp / 'private.pem').write_text(key[0])
    return (text + b'.' + part(openssl('dgst', '-sha256', '-sign', str(tmp / 'private.pem'), stdin=text))).decode()


def external(gce, source, **more):
    return {'type': 'external_account', 'audience': AUDIENCE, 'subject_token_type': JWT,
            'token_url': gce.url + '/v1/token', 'credential_source': source, **more}


def works(gce, home, *secrets):
    result = home.apply('cluster.yaml', '--trace', 'trace')
    assert len(nodes(gce)) == 2
    home.run('plan', 'cluster.yaml', '--detailed-exitcode', '--out', 'p.json')
    with open(home.state, 'rb') as f:
        state = f.read().decode('latin-1')
    for secret in (*secrets, 'ya29.'):
        for place in (result.out, result.err, home.read('trace'), home.read('p.json'), state):
            assert secret not in place


def refused(home, said, code=7):
    result = home.run('plan', 'cluster.yaml', code=None)
    assert result.code == code, result
    assert said in re.sub(r'\s+', ' ', result.err), result
    return result


def test_service_account(world, key):
    gce, home = world
    del home.env['GOOGLE_CLOUD_PROJECT']  # the file names the project
    use(home, service_account(gce, key))
    works(gce, home, key[0].split('\n')[3])


def test_user(world):
    gce, home = world
    use(home, {'type': 'authorized_user', 'client_id': 'client', 'client_secret': SECRET,
               'refresh_token': '1//refresh-me-not-known', 'token_uri': gce.url + '/token', 'quota_project_id': 'payer'})
    works(gce, home, SECRET, '1//refresh-me-not-known')
    assert '"X-Goog-User-Project":"payer"' in home.read('trace').replace(' ', '')


def test_a_user_who_signed_in_by_another_identity_provider(world):
    """What `gcloud auth application-default login` writes for workforce identity federation."""
    gce, home = world
    document = {'type': 'external_account_authorized_user', 'client_id': 'client', 'client_secret': SECRET,
                'audience': '//iam.googleapis.com/locations/global/workforcePools/p/providers/q',
                'refresh_token': '1//refresh-me-not-known', 'token_url': gce.url + '/v1/oauthtoken'}
    use(home, document)
    basic = base64.b64encode(f'client:{SECRET}'.encode()).decode()
    works(gce, home, SECRET, '1//refresh-me-not-known', basic)
    use(home, {**document, 'client_secret': 'wrong'})
    refused(home, 'invalid_client')
    use(home, {**document, 'refresh_token': ''})
    refused(home, 'it has no refresh_token')
    use(home, {**document, 'token_url': 'https://evil.example.com/v1/oauthtoken'})
    refused(home, 'is not an https URL of googleapis.com')


def test_well_known_file_moves_with_its_folder(world, key, tmp_path):
    gce, home = world
    (tmp_path / 'cloud').mkdir()
    home.write('cloud/application_default_credentials.json', json.dumps(service_account(gce, key)))
    home.env['CLOUDSDK_CONFIG'] = home.path('cloud')
    works(gce, home)


def test_impersonation(world, key):
    gce, home = world
    use(home, {'type': 'impersonated_service_account',
               'service_account_impersonation_url': f'{gce.url}/v1/projects/-/serviceAccounts/{EMAIL}:generateAccessToken',
               'source_credentials': service_account(gce, key)})
    works(gce, home)
    gce.knobs(denied_permissions=['iam.serviceAccounts.getAccessToken'])
    refused(home, 'Service Account Token Creator')


@pytest.mark.parametrize('impersonates', [False, True])
def test_federation_with_a_file(world, key, tmp_path, impersonates):
    gce, home = world
    token = signed(tmp_path, key)
    home.write('token', json.dumps({'value': token}))
    more = {'service_account_impersonation_url': f'{gce.url}/v1/projects/-/serviceAccounts/{EMAIL}:generateAccessToken'}
    use(home, external(gce, {'file': home.path('token'), 'format': {'type': 'json', 'subject_token_field_name': 'value'}},
                       **(more if impersonates else {})))
    works(gce, home, token)


@pytest.mark.parametrize('as_json', [False, True])
def test_federation_with_a_url(world, key, tmp_path, as_json):
    """As on a CI machine: its token is fetched from a server, which expects a header of the file."""
    gce, home = world
    token = signed(tmp_path, key)
    asked = []

    class Tokens(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            asked.append(self.headers.get('Authorization'))
            body = (json.dumps({'value': token}) if as_json else token).encode()
            self.send_response(200 if asked[-1] == 'bearer of-the-job' else 401)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Tokens)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    source = {'url': f'http://127.0.0.1:{server.server_port}/token', 'headers': {'Authorization': 'bearer of-the-job'}}
    if as_json:
        source['format'] = {'type': 'json', 'subject_token_field_name': 'value'}
    try:
        use(home, external(gce, source))
        works(gce, home, token, 'of-the-job')
        assert set(asked) == {'bearer of-the-job'}
        source['headers'] = {}
        use(home, external(gce, source))
        refused(home, '401')
    finally:
        server.shutdown()
        server.server_close()


def test_federation_with_a_program(world, key, tmp_path):
    gce, home = world
    token = signed(tmp_path, key)
    home.write('answer', json.dumps({'version': 1, 'success': True, 'token_type': JWT, 'id_token': token,
                                     'expiration_time': int(time.time()) + 600}))
    use(home, external(gce, {'executable': {'command': f'cat {home.path("answer")}', 'timeout_millis': 5000}}))
    refused(home, 'GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1')
    home.env['GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES'] = '1'
    works(gce, home, token)


def test_a_program_gets_the_account_and_sts_the_client(world, key, tmp_path):
    gce, home = world
    home.write('answer', json.dumps({'version': 1, 'success': True, 'token_type': JWT, 'id_token': signed(tmp_path, key),
                                     'expiration_time': int(time.time()) + 600}))
    home.write('program', f'env | grep ^GOOGLE_EXTERNAL_ACCOUNT_ | sort > {home.path("env")}; cat {home.path("answer")}')
    home.env['GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES'] = '1'
    source = {'executable': {'command': f'sh {home.path("program")}', 'timeout_millis': 5000}}
    account = {'service_account_impersonation_url': f'{gce.url}/v1/projects/-/serviceAccounts/{EMAIL}:generateAccessToken'}
    use(home, external(gce, source, client_id='client', client_secret=SECRET, **account))
    works(gce, home, SECRET)
    assert home.read('env').split('\n')[:-1] == [
        'GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1', f'GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE={AUDIENCE}',
        f'GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL={EMAIL}', 'GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE=0',
        f'GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE={JWT}']
    use(home, external(gce, source, client_id='client', client_secret='wrong'))
    refused(home, 'invalid_client')


def test_wrong_audience_and_expired_subject(world, key, tmp_path):
    gce, home = world
    for claims in ({'aud': 'https://elsewhere'}, {'exp': int(time.time()) - 100}):
        home.write('token', signed(tmp_path, key, **claims))
        use(home, external(gce, {'file': home.path('token')}))
        refused(home, 'invalid_grant')


@pytest.mark.parametrize('change, said', [
    ({'token_uri': 'https://evil.example.com/token'}, 'is not an https URL of googleapis.com'),
    ({'token_uri': 'http://oauth2.googleapis.com/token'}, 'is not an https URL of googleapis.com'),
    ({'token_uri': 'https://googleapis.com.evil.example/token'}, 'is not an https URL of googleapis.com'),
    ({'token_uri': 'https://user@oauth2.googleapis.com/token'}, 'is not an https URL of googleapis.com'),
    ({'universe_domain': 'evil.example'}, 'GOOGLE_CLOUD_UNIVERSE_DOMAIN'),
    ({'private_key': 'no key'}, 'private key'),
    ({'client_email': ''}, 'client_email'),
    ({'type': 'gdch_service_account'}, 'gdch_service_account'),
])
def test_forged_and_broken_files(world, key, change, said):
    gce, home = world
    use(home, service_account(gce, key, **change))
    refused(home, said)
    assert gce.counters()['requests'] == 0, 'nothing was sent'


@pytest.mark.parametrize('source, said', [
    ({'environment_id': 'aws1', 'url': 'http://169.254.169.254/'}, 'AWS'),
    ({'certificate': {}}, 'certificates'),
    ({}, 'neither file, url nor executable'),
    ({'file': '/nonexistent'}, 'cannot be read'),
])
def test_sources_that_are_refused(world, source, said):
    gce, home = world
    use(home, external(gce, source))
    refused(home, said)
    assert gce.counters()['requests'] == 0


def test_files_that_are_no_credentials(world):
    _, home = world
    home.write('key.json', '[')
    home.env['GOOGLE_APPLICATION_CREDENTIALS'] = home.path('key.json')
    refused(home, 'not a JSON object')
    home.env['GOOGLE_APPLICATION_CREDENTIALS'] = home.path('missing.json')
    refused(home, 'cannot be read')


@pytest.mark.parametrize('offset', ['600', '-600', '7200'])
def test_a_wrong_clock(tmp_path, key, offset):
    """An assertion is valid for an hour: a clock that is 10 minutes slow does no harm, one that is fast does."""
    with Gce('--clock-offset-s', offset) as gce:
        gce.knobs(service_accounts={EMAIL: key[1]})
        home = Home(tmp_path, gce_env(gce, GCE_METADATA_HOST='127.0.0.1:1'))
        home.write('cluster.yaml', spec())
        use(home, service_account(gce, key))
        if offset == '600':
            home.run('plan', 'cluster.yaml')
        else:
            assert 'clock' in refused(home, 'invalid_grant').err


def test_a_refused_token_is_renewed_once(world, key):
    gce, home = world
    use(home, service_account(gce, key))
    gce.fault(action='instances.*', status=401, code='authError', message='expired', count=1)
    works(gce, home)
    gce.fault(action='instances.*', status=401, code='authError', message='expired', count=0)
    refused(home, 'authError')


def test_tokens_that_expire_during_an_apply(world, key):
    gce, home = world
    gce.knobs(token_s=2, operation_ms=300)
    use(home, service_account(gce, key))
    works(gce, home)


def test_a_setting_of_the_spec_needs_consent(world, key):
    gce, home = world
    home.write('mine.json', json.dumps(service_account(gce, key)))
    home.write('cluster.yaml', spec({'w': 'accelerators: "T4:1", nodes: 1'}, f', credentials: {home.path("mine.json")}'))
    refused(home, 'RAYGPU_ALLOW_PROFILES', code=9)
    home.env['RAYGPU_ALLOW_PROFILES'] = home.path('mine.json')
    works(gce, home)

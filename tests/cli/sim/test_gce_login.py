"""Where access tokens come from: assertions, refresh tokens, STS, impersonation, the metadata server."""
import base64
import json
import os
import shutil
import subprocess
import time
import urllib.parse

import pytest
from gce_server import PROJECT, Gce

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../data/auth/jwt_rs256_vectors.json'),
          encoding='utf-8') as _file:
    VECTORS = json.load(_file)
ACCOUNT = VECTORS['service_account_file']
AUDIENCE = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/ci/providers/git'
SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
needs_openssl = pytest.mark.skipif(not shutil.which('openssl'), reason='no openssl to sign with')


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=').decode()


def sign(claims, algorithm='RS256', key=ACCOUNT['private_key'], folder='.'):
    text = '.'.join(encode(json.dumps(part).encode()) for part in ({'alg': algorithm, 'typ': 'JWT'}, claims))
    path = os.path.join(folder, 'key.pem')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(key)
    done = subprocess.run(['openssl', 'dgst', '-sha256', '-sign', path], input=text.encode(), capture_output=True,
                          check=True, timeout=30)
    return text + '.' + encode(done.stdout)


def assertion(now=None, **change):
    now = int(now or time.time())
    return {'iss': ACCOUNT['client_email'], 'aud': 'https://oauth2.googleapis.com/token', 'scope': SCOPE, 'iat': now,
            'exp': now + 3600} | change


def post_form(gce, path, **fields):
    status, _, text = gce.request('POST', path, raw=urllib.parse.urlencode(fields).encode(), headers={
        'Content-Type': 'application/x-www-form-urlencoded', 'Authorization': None})
    return status, json.loads(text)


def exchange_assertion(gce, text):
    return post_form(gce, '/token', grant_type='urn:ietf:params:oauth:grant-type:jwt-bearer', assertion=text)


def works(gce, token):
    return gce.request('GET', f'/compute/v1/projects/{PROJECT}/zones', headers={'Authorization': 'Bearer ' + token})[0]


@needs_openssl
def test_a_signed_assertion(gce, tmp_path):
    for audience in ('https://oauth2.googleapis.com/token', gce.url + '/token'):
        status, answer = exchange_assertion(gce, sign(assertion(aud=audience), folder=tmp_path))
        assert status == 200 and answer['token_type'] == 'Bearer' and answer['expires_in'] == 3600
        assert works(gce, answer['access_token']) == 200
    operation = gce.request('DELETE', f'/compute/v1/projects/{PROJECT}/global/firewalls/default-allow-ssh',
                            headers={'Authorization': 'Bearer ' + answer['access_token']})[2]
    assert json.loads(operation)['user'] == ACCOUNT['client_email']


@needs_openssl
@pytest.mark.parametrize('change, error, text', [
    ({'aud': 'https://example.com/token'}, 'invalid_grant', 'audience'),
    ({'iss': 'nobody@example.com'}, 'invalid_grant', 'account not found'),
    ({'scope': 'https://www.googleapis.com/auth/drive'}, 'invalid_scope', 'scope'),
    ({'iat': -4000, 'exp': -400}, 'invalid_grant', 'short-lived'),
    ({'iat': 600, 'exp': 4200}, 'invalid_grant', 'short-lived'),
    ({'iat': 0, 'exp': 7200}, 'invalid_grant', 'short-lived'),
])
def test_assertions_that_are_refused(gce, tmp_path, change, error, text):
    now = int(time.time())
    change = {k: v + now if isinstance(v, int) else v for k, v in change.items()}
    status, answer = exchange_assertion(gce, sign(assertion(**change), folder=tmp_path))
    assert (status, answer['error']) == (400, error) and text in answer['error_description']


@needs_openssl
def test_signatures_are_verified(gce, tmp_path):
    good = sign(assertion(), folder=tmp_path)
    head, claims, signature = good.split('.')
    other = encode(json.dumps(assertion(scope=SCOPE, sub='x')).encode())
    for text in (f'{head}.{other}.{signature}', f'{head}.{claims}.{signature[:-8]}AAAAAAAA', f'{head}.{claims}.',
                 sign(assertion(), 'none', folder=tmp_path), 'a.b.c', 'x', '', f'{head}.{claims}'):
        status, answer = exchange_assertion(gce, text)
        assert (status, answer['error']) == (400, 'invalid_grant'), text
    assert exchange_assertion(gce, good)[0] == 200


@needs_openssl
def test_the_clock_of_the_server_decides(tmp_path):
    with Gce('--clock-offset-s', '-600') as gce:
        assert exchange_assertion(gce, sign(assertion(), folder=tmp_path))[0] == 400, 'it is from the future there'
        assert exchange_assertion(gce, sign(assertion(time.time() - 600), folder=tmp_path))[0] == 200


def test_a_refresh_token(gce):
    fields = {'grant_type': 'refresh_token', 'refresh_token': '1//raygpu-sim', 'client_id': 'client',
              'client_secret': 'secret'}
    status, answer = post_form(gce, '/token', **fields)
    assert status == 200 and works(gce, answer['access_token']) == 200
    assert post_form(gce, '/token', **{**fields, 'refresh_token': 'x'})[1]['error'] == 'invalid_grant'
    assert post_form(gce, '/token', **{**fields, 'client_secret': 'x'})[1]['error'] == 'invalid_client'
    assert post_form(gce, '/token', grant_type='password')[1]['error'] == 'unsupported_grant_type'


@needs_openssl
def test_a_token_of_another_provider(gce, tmp_path):
    gce.knobs(identity_providers={'https://ci.example.com': VECTORS['public_key']})
    fields = {'grant_type': 'urn:ietf:params:oauth:grant-type:token-exchange', 'audience': AUDIENCE, 'scope': SCOPE,
              'requested_token_type': 'urn:ietf:params:oauth:token-type:access_token',
              'subject_token_type': 'urn:ietf:params:oauth:token-type:jwt'}
    now = int(time.time())
    claims = {'iss': 'https://ci.example.com', 'sub': 'repo', 'aud': 'https:' + AUDIENCE, 'iat': now, 'exp': now + 300}
    status, answer = post_form(gce, '/v1/token', **fields, subject_token=sign(claims, folder=tmp_path))
    assert status == 200 and answer['issued_token_type'].endswith(':access_token')
    federated = {'Authorization': 'Bearer ' + answer['access_token']}
    for change in ({'aud': 'sts.amazonaws.com'}, {'iss': 'https://other'}, {'exp': now - 1}):
        bad = post_form(gce, '/v1/token', **fields, subject_token=sign({**claims, **change}, folder=tmp_path))
        assert bad[0] == 400 and bad[1]['error'] == 'invalid_grant', change
    for change in ({'audience': 'x'}, {'scope': 'x'}, {'requested_token_type': 'x'}, {'grant_type': 'x'}):
        assert post_form(gce, '/v1/token', **{**fields, **change}, subject_token='x')[0] == 400
    path = f'/v1/projects/-/serviceAccounts/{ACCOUNT["client_email"]}:generateAccessToken'
    status, _, text = gce.request('POST', path, {'scope': [SCOPE], 'lifetime': '600s'}, headers=federated)
    assert status == 200 and works(gce, json.loads(text)['accessToken']) == 200
    assert json.loads(text)['expireTime'] < time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 700))
    for body, headers, status in (({}, federated, 400), ({'scope': [SCOPE]}, {'Authorization': 'Bearer x'}, 401),
                                  ({'scope': [SCOPE], 'lifetime': '2h'}, federated, 400)):
        assert gce.request('POST', path, body, headers=headers)[0] == status
    gce.knobs(denied_permissions=['iam.serviceAccounts.getAccessToken'])
    assert gce.request('POST', path, {'scope': [SCOPE]}, headers=federated)[0] == 403


def test_the_metadata_server(gce):
    def get(path, **headers):
        return gce.request('GET', path, headers={'Authorization': None, 'Content-Type': None, **headers})
    flavor = {'Metadata-Flavor': 'Google'}
    status, headers, text = get('/computeMetadata/v1/project/project-id', **flavor)
    assert (status, headers['Metadata-Flavor'], text) == (200, 'Google', 'demo-project')
    assert get('/', **flavor)[1]['Metadata-Flavor'] == 'Google'
    token = json.loads(get('/computeMetadata/v1/instance/service-accounts/default/token', **flavor)[2])
    assert works(gce, token['access_token']) == 200
    assert '@' in get('/computeMetadata/v1/instance/service-accounts/default/email', **flavor)[2]
    assert get('/computeMetadata/v1/project/project-id')[0] == 403
    assert get('/computeMetadata/v1/none', **flavor)[0] == 404


def test_tokens_expire():
    with Gce('--knobs', '{"token_s": 1}') as gce:
        answer = post_form(gce, '/token', grant_type='refresh_token', refresh_token='1//raygpu-sim',
                           client_id='client', client_secret='secret')[1]
        gce.knobs(clock_offset_s=2)
        assert works(gce, answer['access_token']) == 401


@pytest.mark.parametrize('header', [None, '', 'Bearer', 'Bearer ', 'Bearer x', 'Basic eDp5', 'Bearer ya29.sim.x.y',
                                    'Bearer ya29.sim.' + 'QQ' * 2000 + '.' + 'a' * 24])
def test_who_is_not_known(gce, header):
    status, _, text = gce.request('GET', f'/compute/v1/projects/{PROJECT}/zones', headers={'Authorization': header})
    assert status == 401 and json.loads(text)['error']['errors'][0]['locationType'] == 'header'


def test_with_no_verify_anyone_is():
    with Gce('--no-verify') as gce:
        assert works(gce, 'anything') == 200
        assert gce.request('GET', f'/compute/v1/projects/{PROJECT}/zones', headers={'Authorization': None})[0] == 401

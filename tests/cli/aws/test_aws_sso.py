"""Keys from `aws sso login`: the cache of the AWS CLI, its renewal, and the message if there is none."""
import hashlib
import json
import os
import stat
import time

import pytest
from program import Home, spec
from sim_server import Sim

URL = 'https://corp.awsapps.com/start'
SESSION = f"""[profile dev]
sso_session = corp
sso_account_id = 123456789012
sso_role_name = Admin
[sso-session corp]
sso_start_url = {URL}
sso_region = us-east-1
sso_registration_scopes = sso:account:access
"""
LEGACY = SESSION.replace('sso_session = corp', f'sso_start_url = {URL}\nsso_region = us-east-1').split('[sso-')[0]


def when(seconds):
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + seconds))


def calls(sim, action):
    return sim.counters()['actions'].get(action, {'requests': 0})['requests']


class User(Home):
    def __init__(self, folder, sim):
        super().__init__(folder, sim.env(AWS_PROFILE='dev'))
        del self.env['AWS_ACCESS_KEY_ID'], self.env['AWS_SECRET_ACCESS_KEY'], self.env['AWS_CONFIG_FILE']
        os.makedirs(self.path('.aws/sso/cache'))
        self.write('.aws/config', SESSION)
        self.write('cluster.yaml', spec())
        self.cache = self.path('.aws/sso/cache/' + hashlib.sha1(b'corp').hexdigest() + '.json')

    def sign_in(self, seconds=7200, path=None, **more):
        with open(path or self.cache, 'w') as f:
            json.dump({'startUrl': URL, 'region': 'us-east-1', 'accessToken': 'TOKEN-A', 'expiresAt': when(seconds),
                       'clientId': 'client', 'clientSecret': 'hidden', 'registrationExpiresAt': when(86400),
                       'refreshToken': 'TOKEN-R', **more}, f)

    def refusal(self, *words):
        said = self.run('plan', 'cluster.yaml', code=7)
        text = ' '.join(said.err.split())
        assert all(word in text for word in words), said
        assert 'TOKEN-' not in text


@pytest.fixture
def user(sim, tmp_path):
    sim.knobs(sso_tokens={'TOKEN-A': 'access', 'TOKEN-R': 'refresh'})
    return User(tmp_path, sim)


def test_the_cached_sign_in_gives_keys_of_the_role(sim, user):
    user.sign_in()
    user.run('plan', 'cluster.yaml', '--trace', 'trace')
    assert calls(sim, 'GetRoleCredentials') == 1
    assert calls(sim, 'CreateToken') == 0
    assert not {'TOKEN-A', 'TOKEN-R', 'hidden'} & set(user.read('trace').replace('"', ' ').split())
    assert 'TOKEN-' not in user.read('trace')


def test_an_older_profile_without_a_session(sim, user):
    user.write('.aws/config', LEGACY)
    user.refusal('nobody is signed in', '`aws sso login --profile dev`')
    user.sign_in(path=user.path('.aws/sso/cache/' + hashlib.sha1(URL.encode()).hexdigest() + '.json'))
    user.run('plan', 'cluster.yaml')


@pytest.mark.parametrize('left', [600, -600])
def test_a_token_that_ends_is_renewed_and_written_back(sim, user, left):
    user.sign_in(left, accessToken='TOKEN-OLD')
    user.run('plan', 'cluster.yaml')
    assert calls(sim, 'CreateToken') == 1
    with open(user.cache) as f:
        cache = json.load(f)
    assert cache['accessToken'].startswith('access.') and cache['refreshToken'].startswith('refresh.')
    assert cache['expiresAt'] > when(1800) and cache['clientId'] == 'client' and cache['startUrl'] == URL
    assert stat.S_IMODE(os.stat(user.cache).st_mode) == 0o600
    user.run('plan', 'cluster.yaml')
    assert calls(sim, 'CreateToken') == 1, 'the next run has the new one'


def test_a_token_that_can_not_be_renewed_is_used_to_its_end(sim, user):
    user.sign_in(600, refreshToken='TOKEN-X')
    user.run('plan', 'cluster.yaml')
    user.sign_in(-600, refreshToken='TOKEN-X')
    user.refusal('the sign-in has expired and could not be renewed', 'Invalid refresh token', '`aws sso login --profile dev`')
    user.sign_in(-600, registrationExpiresAt=when(-5))
    user.refusal('the sign-in has expired', '`aws sso login --profile dev`')


def test_what_is_missing_is_named(sim, user):
    user.refusal('nobody is signed in')
    user.sign_in(accessToken='TOKEN-Z')
    user.refusal('does not accept the sign-in', 'HTTP status 401', '`aws sso login --profile dev`')
    user.sign_in()
    sim.knobs(roles=['arn:aws:iam::123456789012:role/Reader'])
    user.refusal('no keys for the role Admin of account 123456789012', 'No access', 'list-account-roles')
    user.write('.aws/config', SESSION.replace('sso_role_name = Admin', ''))
    user.refusal('has no sso_role_name', '`aws configure sso`')
    user.write('.aws/config', SESSION.replace('sso_region = us-east-1', 'sso_region = x.example.org/'))
    user.refusal('is not a region')


def test_a_role_with_a_signed_in_source(sim, user):
    user.sign_in()
    user.write('.aws/config', SESSION + '[profile ops]\nrole_arn = arn:aws:iam::123456789012:role/ops\nsource_profile = dev\n')
    user.run('plan', 'cluster.yaml', env={'AWS_PROFILE': 'ops'})
    assert calls(sim, 'GetRoleCredentials') == calls(sim, 'AssumeRole') == 1

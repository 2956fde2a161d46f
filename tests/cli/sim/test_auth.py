"""Signatures, access keys, sessions and roles. The signer is sim_server's, not the server's."""
import base64
import json
import time
import urllib.parse

import pytest
from sim_server import KEY, SECRET, Sim, plain
from xml.etree import ElementTree

LIST = 'Action=DescribeVpcs&Version=2016-11-15'
WHO = 'Action=GetCallerIdentity&Version=2011-06-15'
ROLE = 'arn:aws:iam::123456789012:role/ci/deployer'


def code(reply):
    status, _, body = reply
    if body.startswith(b'{'):
        return status, json.loads(body)['__type']
    return status, plain(ElementTree.fromstring(body)).findtext('.//Code')


def ssm(sim, name, params, **more):
    return sim.raw(json.dumps(params), service='ssm', headers=sim.sign(
        json.dumps(params).encode(), service='ssm', headers={
            'X-Amz-Target': 'AmazonSSM.' + name, 'Content-Type': 'application/x-amz-json-1.1'}, **more))


@pytest.mark.parametrize('change, wanted', [
    ({'secret': SECRET + 'x'}, (403, 'SignatureDoesNotMatch')),
    ({'key': 'AKIDSOMEONEELSE'}, (401, 'AuthFailure')),
    ({'token': 'made-up'}, (401, 'AuthFailure')),
    ({'service': 's3'}, (401, 'AuthFailure')),
    ({'stamp': '20200101T000000Z'}, (400, 'RequestExpired')),
])
def test_a_wrong_proof_is_refused_in_ec2s_words(sim, change, wanted):
    assert code(sim.raw(LIST, **change)) == wanted
    assert sim.counters()['refused'] == 1


@pytest.mark.parametrize('change, wanted', [
    ({'secret': 'x'}, (403, 'SignatureDoesNotMatch')),
    ({'key': 'AKIDSOMEONEELSE'}, (403, 'InvalidClientTokenId')),
    ({'stamp': '20200101T000000Z'}, (403, 'SignatureDoesNotMatch')),
])
def test_sts_has_words_of_its_own(sim, change, wanted):
    assert code(sim.raw(WHO, service='sts', **change)) == wanted


@pytest.mark.parametrize('change, wanted', [
    ({'secret': 'x'}, (400, 'InvalidSignatureException')),
    ({'key': 'AKIDSOMEONEELSE'}, (400, 'UnrecognizedClientException')),
])
def test_ssm_has_words_of_its_own(sim, change, wanted):
    assert code(ssm(sim, 'GetParameter', {'Name': '/x'}, **change)) == wanted


def test_what_was_signed_is_what_must_come(sim):
    """One byte changed in body, path, query, method or a signed header breaks the signature."""
    good = sim.sign(LIST.encode(), headers={'X-Note': 'a  b'})
    assert sim.raw(LIST, good)[0] == 200
    assert code(sim.raw(LIST + '&', good)) == (403, 'SignatureDoesNotMatch')
    assert code(sim.raw(LIST, good, path='/other')) == (403, 'SignatureDoesNotMatch')
    assert code(sim.raw(LIST, good, path='/?a=b')) == (403, 'SignatureDoesNotMatch')
    assert code(sim.raw(LIST, {**good, 'X-Note': 'a c'})) == (403, 'SignatureDoesNotMatch')
    assert code(sim.raw(LIST, {**good, 'Host': 'elsewhere'})) == (403, 'SignatureDoesNotMatch')
    unsigned = sim.sign(LIST.encode())
    assert code(sim.raw(LIST, {**unsigned, 'X-Amz-Meta': '1'})) == (403, 'SignatureDoesNotMatch')
    assert sim.raw(LIST, {**good, 'X-Note': ' a b '})[0] == 200, 'blanks do not count'


def test_a_query_is_signed_in_canonical_form(sim):
    odd = urllib.parse.urlencode([('Action', 'DescribeVpcs'), ('Version', '2016-11-15'), ('Filter.1.Name', 'tag:a b'),
                                  ('Filter.1.Value.1', '~-_.!*()/\u00e9=&+')], quote_via=urllib.parse.quote)
    assert sim.raw(None, method='GET', path='/?' + odd)[0] == 200


def test_scope_and_header_must_name_the_same_day(sim):
    headers = sim.sign(LIST.encode())
    day = headers['X-Amz-Date'][:8]
    headers['Authorization'] = headers['Authorization'].replace(day, '20200101', 1)
    assert code(sim.raw(LIST, headers)) == (401, 'AuthFailure')
    headers = sim.sign(LIST.encode())
    del headers['X-Amz-Date']
    assert code(sim.raw(LIST, headers)) == (400, 'IncompleteSignature')


def test_keys_are_configurable():
    with Sim('--access-key', 'AKIDONE:first', '--access-key', 'AKIDTWO:sec:ond') as sim:
        assert sim.raw(LIST, key='AKIDONE', secret='first')[0] == 200
        assert sim.raw(LIST, key='AKIDTWO', secret='sec:ond')[0] == 200
        assert code(sim.raw(LIST)) == (401, 'AuthFailure')
        sim.knobs(access_keys={KEY: SECRET})
        assert sim.raw(LIST)[0] == 200


def test_without_verification_any_key_will_do():
    with Sim('--no-verify') as sim:
        assert sim.raw(LIST, key='any', secret='thing', token='odd')[0] == 200
        assert code(sim.raw(LIST, headers={})) == (403, 'MissingAuthenticationToken')


def assume(sim, session='nightly', **more):
    root = sim.ok('AssumeRole', {'RoleArn': ROLE, 'RoleSessionName': session, **more},
                  version='2011-06-15', service='sts')
    given = {e.tag: e.text for e in root.find('.//Credentials')}
    return {'key': given['AccessKeyId'], 'secret': given['SecretAccessKey'], 'token': given['SessionToken']}, given


def test_an_assumed_role_signs_until_it_ends(sim):
    session, given = assume(sim, DurationSeconds=900)
    assert sim.raw(LIST, **session)[0] == 200
    _, _, body = sim.raw(WHO, service='sts', **session)
    assert b'<Arn>arn:aws:sts::123456789012:assumed-role/deployer/nightly</Arn>' in body
    end = time.mktime(time.strptime(given['Expiration'], '%Y-%m-%dT%H:%M:%SZ')) - time.mktime(time.gmtime())
    assert 880 < end <= 900
    for wrong in ({**session, 'token': None}, {**session, 'key': KEY, 'secret': SECRET},
                  {**session, 'token': session['token'][:-1] + '!'}):
        assert code(sim.raw(LIST, **wrong)) == (401, 'AuthFailure')
    assert code(sim.raw(LIST, **{**session, 'secret': SECRET})) == (403, 'SignatureDoesNotMatch')
    assert code(sim.raw('Action=GetSessionToken&Version=2011-06-15', service='sts', **session)) == (
        403, 'AccessDenied')


@pytest.mark.parametrize('change, wanted', [
    ({'RoleArn': 'short'}, 'ValidationError'), ({'RoleArn': 'arn:aws:iam::123456789012:user/x'}, 'ValidationError'),
    ({'RoleSessionName': 'a b'}, 'ValidationError'), ({'DurationSeconds': 899}, 'ValidationError'),
    ({'DurationSeconds': 'long'}, 'MalformedInput'), ({'Colour': 'red'}, 'UnknownParameter'),
    ({'Policy': '{}'}, 'UnsupportedOperation'),
])
def test_roles_are_asked_for_properly(sim, change, wanted):
    form = {'RoleArn': ROLE, 'RoleSessionName': 'n', **change}
    if change.get('RoleSessionName') is None:
        form['RoleSessionName'] = 'nn'
    assert sim.error('AssumeRole', form, version='2011-06-15', service='sts') == (400, wanted)


def test_roles_may_be_denied(sim):
    sim.knobs(roles=[])
    assert sim.error('AssumeRole', {'RoleArn': ROLE, 'RoleSessionName': 'nn'}, version='2011-06-15',
                     service='sts') == (403, 'AccessDenied')


def web_identity(sim, claims):
    parts = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip('=') for p in ({'alg': 'RS256'}, claims)]
    form = urllib.parse.urlencode({'Action': 'AssumeRoleWithWebIdentity', 'Version': '2011-06-15', 'RoleArn': ROLE,
                                   'RoleSessionName': 'ci', 'WebIdentityToken': '.'.join(parts + ['c2ln'])})
    return sim.raw(form, headers={})


def test_web_identity_comes_unsigned(sim):
    reply = web_identity(sim, {'sub': 'repo:team/specs', 'aud': 'sts.amazonaws.com', 'exp': time.time() + 60})
    root = plain(ElementTree.fromstring(reply[2]))
    assert reply[0] == 200 and root.findtext('.//SubjectFromWebIdentityToken') == 'repo:team/specs'
    session = {name: root.findtext('.//' + tag) for name, tag in (
        ('key', 'AccessKeyId'), ('secret', 'SecretAccessKey'), ('token', 'SessionToken'))}
    assert sim.raw(LIST, **session)[0] == 200
    assert code(web_identity(sim, {'exp': time.time() - 60})) == (400, 'ExpiredTokenException')
    assert code(web_identity(sim, ['no object'])) == (400, 'InvalidIdentityToken')


def test_public_parameters_name_the_newest_image(sim):
    name = '/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id'
    found = json.loads(ssm(sim, 'GetParameter', {'Name': name})[2])['Parameter']
    images = sim.ok('DescribeImages', {'ImageId.1': found['Value']})
    assert images.findtext('imagesSet/item/name').endswith('20261001') and found['Type'] == 'String'
    sim.knobs(parameters={'/golden': 'ami-1'})
    both = json.loads(ssm(sim, 'GetParameters', {'Names': ['/golden', '/nope']})[2])
    assert both['Parameters'][0]['Value'] == 'ami-1' and both['InvalidParameters'] == ['/nope']
    for params, wanted in (({'Name': '/nope'}, 'ParameterNotFound'), ({}, 'ValidationException'),
                           ({'Name': ''}, 'ValidationException'), ({'Name': name, 'WithDecryption': 'so'},
                                                                   'SerializationException')):
        assert code(ssm(sim, 'GetParameter', params)) == (400, wanted)
    assert code(ssm(sim, 'PutParameter', {})) == (400, 'UnknownOperationException')

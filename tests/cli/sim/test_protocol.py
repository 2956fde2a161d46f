"""EC2 Query as a client sees it: names, errors, signing, clock, other spellings of a request."""
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree

import pytest
from helpers import newest_image, run


def test_unknown_action_is_invalid_action(sim):
    assert sim.error('LaunchRockets') == (400, 'InvalidAction')
    assert sim.error('DescribeInstances', version='2010-01-01') == (400, 'InvalidAction')


@pytest.mark.parametrize('params, code', [
    ({'Colour': 'red'}, 'UnknownParameter'),
    ({'Filter.1.Nmae': 'x'}, 'UnknownParameter'),
    ({'InstanceId': 'i-1'}, 'UnknownParameter'),
    ({'InstanceId.one': 'i-1'}, 'UnknownParameter'),
    ({'MaxResults': 'many'}, 'InvalidParameterValue'),
    ({'DryRun': 'perhaps'}, 'InvalidParameterValue'),
    ({'Filter.1.Name': 'colour', 'Filter.1.Value.1': 'red'}, 'InvalidParameterValue'),
    ({'Filter.1.Name': 'instance-id'}, 'InvalidParameterValue'),
    ({'InstanceId.1': 'i-zz'}, 'InvalidInstanceID.Malformed'),
    ({'InstanceId.1': 'i-0123456789abcdef0'}, 'InvalidInstanceID.NotFound'),
    ({'InstanceId.1': 'i-0123456789abcdef0', 'MaxResults': 5}, 'InvalidInstanceID.NotFound'),
    ({'MaxResults': 4}, 'InvalidParameterValue'),
    ({'MaxResults': 1001}, 'InvalidParameterValue'),
    ({'NextToken': 'bm9uc2Vuc2U='}, 'InvalidPaginationToken'),
])
def test_bad_parameters_are_refused_by_name(sim, params, code):
    assert sim.error('DescribeInstances', params) == (400, code)


def test_missing_and_unsimulated_parameters_are_named(sim):
    status, root = sim.ec2('RunInstances', {'MinCount': 1})
    assert (status, root.findtext('.//Code')) == (400, 'MissingParameter')
    assert 'MaxCount' in root.findtext('.//Message')
    status, root = sim.ec2('RunInstances', run(sim, LaunchTemplate__LaunchTemplateName='lt'))
    assert (status, root.findtext('.//Code')) == (400, 'UnsupportedOperation')
    assert 'LaunchTemplate.LaunchTemplateName' in root.findtext('.//Message')
    assert sim.error('RunInstances', run(sim, MetadataOptions__HttpTokens='maybe')) == (
        400, 'InvalidParameterValue')


def test_an_unsigned_request_is_refused(sim):
    status, _, body = sim.raw('Action=DescribeInstances&Version=2016-11-15', headers={})
    assert status == 403 and b'<Code>MissingAuthenticationToken</Code>' in body
    assert sim.counters()['refused'] == 1
    for header in ('Basic dXNlcjpwYXNz', 'AWS4-HMAC-SHA256 nonsense',
                   'AWS4-HMAC-SHA256 Credential=AKID/20261121/us-east-1'):
        status, _, body = sim.raw('Action=DescribeInstances&Version=2016-11-15',
                                  headers={'Authorization': header})
        assert status == 400 and b'<Code>IncompleteSignature</Code>' in body


def test_a_rejected_key_gets_auth_failure(sim):
    sim.knobs(reject_access_keys=['AKIDEXAMPLE'])
    assert sim.error('DescribeInstances') == (401, 'AuthFailure')
    sim.knobs(reject_access_keys=[])
    sim.ok('DescribeInstances')


def test_scope_must_name_the_service_and_a_region(sim):
    assert sim.error('DescribeInstances', service='s3') == (401, 'AuthFailure')
    assert sim.error('DescribeInstances', region='mars-north-1') == (401, 'AuthFailure')


def test_a_wrong_clock_is_told(sim):
    def call(**more):
        return sim.raw('Action=DescribeInstances&Version=2016-11-15', **more)
    assert call()[0] == 200
    sim.knobs(clock_offset_s=3600)
    status, headers, body = call()
    assert status == 400 and b'<Code>RequestExpired</Code>' in body
    assert call(stamp=time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(time.time() + 3600)))[0] == 200
    told = time.mktime(time.strptime(headers['Date'], '%a, %d %b %Y %H:%M:%S GMT'))
    assert 3500 < told - time.mktime(time.gmtime()) < 3700


def test_caller_identity_is_sts(sim):
    root = sim.ok('GetCallerIdentity', version='2011-06-15', service='sts')
    assert root.findtext('GetCallerIdentityResult/Account') == '123456789012'
    sim.knobs(reject_access_keys=['*'])
    status, root = sim.ec2('GetCallerIdentity', version='2011-06-15', service='sts')
    assert root.tag == 'ErrorResponse' and status == 403
    assert root.findtext('Error/Code') == 'InvalidClientTokenId'


def test_get_with_a_query_string_works_too(sim):
    path = '/?' + urllib.parse.urlencode({'Action': 'DescribeVpcs', 'Version': '2016-11-15'})
    status, headers, body = sim.raw(None, method='GET', path=path)
    assert status == 200 and b'172.31.0.0/16' in body
    assert headers['Content-Type'].startswith('text/xml') and headers['x-amzn-RequestId']


def test_dry_run_checks_and_does_nothing(sim):
    form = run(sim, DryRun='true')
    assert sim.error('RunInstances', form) == (412, 'DryRunOperation')
    assert sim.error('RunInstances', {**form, 'ImageId': 'ami-00000000'}) == (
        400, 'InvalidAMIID.NotFound')
    assert sim.error('DescribeInstances', {'DryRun': 'true'}) == (412, 'DryRunOperation')
    assert sim.world('us-east-1')['instances'] == []
    counters = sim.counters()
    assert counters['mutating'] == 0 and counters['dry_run'] == 3


def test_markup_in_values_survives(sim):
    value = 'a&b <c> "d" \u00e9 \U0001f600 \r\n end'
    vpc = sim.ok('DescribeVpcs').findtext('vpcSet/item/vpcId')
    sim.ok('CreateTags', {'ResourceId.1': vpc, 'Tag.1.Key': 'note', 'Tag.1.Value': value})
    assert sim.ok('DescribeVpcs').findtext('vpcSet/item/tagSet/item/value') == value


def test_regions_are_worlds_of_their_own(sim):
    image = newest_image(sim)
    root = sim.ok('RunInstances', {'ImageId': image, 'InstanceType': 'm5.large', 'MinCount': 1,
                                   'MaxCount': 1})
    assert root.findtext('.//availabilityZone').startswith('us-east-1')
    assert sim.ok('DescribeInstances', region='eu-west-1').find('reservationSet/item') is None
    zones = sim.ok('DescribeAvailabilityZones', region='eu-west-1')
    assert {z.text[:-1] for z in zones.iter('zoneName')} == {'eu-west-1'}
    assert sim.error('DescribeImages', {'ImageId.1': image}, region='eu-west-1') == (
        400, 'InvalidAMIID.NotFound')


def test_the_answer_has_the_documented_frame(sim):
    _, _, body = sim.raw('Action=DescribeRegions&Version=2016-11-15')
    root = ElementTree.fromstring(body)
    assert root.tag == '{http://ec2.amazonaws.com/doc/2016-11-15/}DescribeRegionsResponse'
    _, _, body = sim.raw('Action=Nothing&Version=2016-11-15')
    root = ElementTree.fromstring(body)
    assert [e.tag for e in root] == ['Errors', 'RequestID'] and root.tag == 'Response'


@pytest.mark.parametrize('path', ['/api', '/apis', '/apis/ray.io/v1/namespaces/ml/rayclusters', '/openapi/v3', '/version'])
def test_kubernetes_is_refused_by_name(sim, path):
    """Its clients print the message of a Status."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(sim.url + path, timeout=30)
    answer = json.load(refused.value)
    assert (refused.value.code, answer['kind'], answer['code']) == (501, 'Status', 501)
    assert answer['message'].startswith('raygpu-sim does not simulate Kubernetes')

"""If a cloud refuses the caller, that is the only error reported."""
import pytest
from program import spec

WRONG = {'AWS_SECRET_ACCESS_KEY': 'wrong'}


@pytest.mark.parametrize('command', [['plan'], ['drift'], ['apply', '--auto-approve'], ['destroy', '--auto-approve'],
                                     ['destroy', '--cluster', 'research', '--auto-approve'], ['state', 'orphans']])
@pytest.mark.parametrize('env, code', [(WRONG, 'SignatureDoesNotMatch'), ({'AWS_ACCESS_KEY_ID': 'AKIDWRONG'}, 'AuthFailure')])
def test_bad_credentials_are_one_error(home, command, env, code):
    home.write('cluster.yaml', spec())
    home.apply()
    result = home.run(*command, code=7, env=env)
    assert result.err.count('Error: ') == 1 and result.err.count(f'({code})') == 1, result
    assert 'resource "' not in result.out and 'Cost' not in result.out and 'could not be' not in result.err, result


def test_no_credentials_is_one_error(home):
    home.write('cluster.yaml', spec())
    home.apply()
    result = home.run('plan', code=7, env={'AWS_ACCESS_KEY_ID': '', 'AWS_SECRET_ACCESS_KEY': ''})
    assert result.err.count('Error: ') == 1 and 'no AWS credentials found' in result.err and result.out == '', result


def test_no_connection_is_one_error(home):
    home.write('cluster.yaml', spec())
    home.apply()
    result = home.run('plan', code=1, env={'AWS_ENDPOINT_URL': 'http://127.0.0.1:1'})
    assert result.err.count('Error: ') == 1 and result.out == '', result


def test_one_refused_kind_leaves_the_rest(home, sim):
    """A missing permission for one action: what can be read is still compared."""
    home.write('cluster.yaml', spec())
    home.apply()
    sim.fault(action='DescribeNetworkInterfaces', status=403, code='UnauthorizedOperation', message='You may not.', count=0)
    result = home.run('plan', code=7)
    assert result.err.count('(UnauthorizedOperation)') == 1 and "cannot be planned" in result.out


@pytest.mark.parametrize('where', ['head', 'pool', 'ssm'])
def test_a_missing_image_names_its_line(home, where):
    image = 'ami-0123456789abcdef0'
    if where == 'head':
        home.write('cluster.yaml', spec().replace('m5.2xlarge', f'm5.2xlarge, image: {image}'))
    else:
        image = image if where == 'pool' else 'ssm:/no/such/parameter'
        home.write('cluster.yaml', spec(pool_extra=f', image: "{image}"'))
    result = home.run('plan', code=None)
    line = 5 if where == 'head' else 7
    assert result.code and f'cluster.yaml:{line}:' in result.err and image in result.err, result


def test_refused_while_looking_for_an_image_is_no_fault_of_its_line(home):
    home.write('cluster.yaml', spec(pool_extra=', image: ami-0123456789abcdef0'))
    assert 'cluster.yaml:' not in home.run('plan', code=7, env=WRONG).err


def test_the_metadata_service_answers_the_host_alone(home, sim):
    """Ray's container has the network of the host. Other containers, one hop further, get neither token nor role."""
    home.write('cluster.yaml', spec())
    home.apply()
    options = list(sim.ok('DescribeInstances').iter('metadataOptions'))
    assert len(options) == 2
    assert {(one.findtext('httpTokens'), one.findtext('httpPutResponseHopLimit')) for one in options} == {('required', '1')}


def test_a_metadata_service_that_was_switched_off_is_drift(home, sim):
    """A node without it sees neither a spot notice nor its lease, and has no role."""
    home.write('cluster.yaml', spec())
    home.apply()
    node = sim.live_instances()[0]['instanceId']
    sim.ok('ModifyInstanceMetadataOptions', {'InstanceId': node, 'HttpEndpoint': 'disabled'})
    said = home.run('drift', 'cluster.yaml', '--no-settle', code=2)
    assert 'http_endpoint' in said.out and '"disabled"' in said.out
    home.apply('cluster.yaml', '--no-settle')
    options = list(sim.ok('DescribeInstances').iter('metadataOptions'))
    assert {(one.findtext('httpEndpoint'), one.findtext('httpTokens')) for one in options} == {('enabled', 'required')}
    assert len(sim.live_instances()) == len(options), 'no node was replaced'

"""What a spec says to its provider module is judged by the module's own schema.json, without
network, and told under the lines of the spec."""
from program import Home

SPEC = '''cluster: research
provider: {provider}
ray: {{version: 2.52.0, python: "3.11"}}
head: {{instance_type: m5.large{head}}}
'''


def validate(tmp_path, provider, head='', **more):
    home = Home(tmp_path)
    home.write('s.yaml', SPEC.format(provider=provider, head=head))
    return home.run('validate', 's.yaml', code=4, **more)


def test_an_unknown_setting(tmp_path):
    told = validate(tmp_path, '{name: aws, region: us-east-1, profle: x}')
    assert 'on s.yaml:2:' in told.err and 'provider "aws" has no setting "profle"' in told.err
    assert 'did you mean "profile"?' in told.err and 'profle: x}' in told.err


def test_a_misspelt_region_is_missing(tmp_path):
    told = validate(tmp_path, '{name: aws, regoin: us-east-1}')
    assert 'on s.yaml:2:' in told.err and 'provider has no "region"' in told.err


def test_zones_outside_of_the_region(tmp_path):
    told = validate(tmp_path, '{name: aws, region: us-east-1}',
                    ', zones: [us-east-1a, us-west-2a, us-east-1]')
    assert told.err.count('is not in the region "us-east-1"') == 2
    assert 's.yaml:4:53\n' in told.err and 's.yaml:4:65\n' in told.err, told
    assert 'its zones look like us-east-1a' in told.err


def test_an_unknown_provider_is_told_once(tmp_path):
    told = validate(tmp_path, '{name: awss, region: us-east-1}')
    assert told.err.count('Error:') == 1 and 's.yaml:2:18\n' in told.err
    assert 'there is no provider "awss"' in told.err

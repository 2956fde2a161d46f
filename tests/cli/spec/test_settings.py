"""A spec's settings for its provider module are checked against the module's own schema.json, without network,
and reported at the lines of the spec."""
from program import Home

SPEC = '''cluster: research
provider: {provider}
ray: {{version: 2.56.1, python: "3.11"}}
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
    assert 'the names of its zones begin with us-east-1' in ' '.join(told.err.split())


def test_an_unknown_provider_is_told_once(tmp_path):
    told = validate(tmp_path, '{name: awss, region: us-east-1}')
    assert told.err.count('Error:') == 1 and 's.yaml:2:18\n' in told.err
    assert 'there is no provider "awss"' in told.err


def test_settings_of_wrong_form_are_told_where_they_stand(tmp_path):
    provider = ('{name: aws, region: us-east-1, vpc: corporate, subnets: {}, '
                'security_groups: [sg-1, sg-1, default], instance_profile: "a b"}')
    told = validate(tmp_path, provider)
    text = ' '.join(told.err.split())
    for value, said in (
            ('corporate', 'provider.vpc must be the id of a VPC such as vpc-0abcdef1234567890, not "corporate"'),
            ('{}', 'provider.subnets must be a mapping of at least 1, not {}'),
            ('[sg-1', 'provider.security_groups names "sg-1" twice'),
            ('default', 'provider.security_groups[2] must be the id of a security group such as '
                        'sg-0abcdef1234567890, not "default"'),
            ('"a b"', 'provider.instance_profile must be the name of an instance profile or its ARN, '
                      'arn:aws:iam::ACCOUNT:instance-profile/NAME, not "a b"')):
        column = len('provider: ') + provider.index(value) + 1
        assert said in text, told
        assert f's.yaml:2:{column} ' in text, (column, told)
    assert told.err.count('[provider.bad-config]') == 5


def test_subnets_by_zone(tmp_path):
    told = validate(tmp_path, """
  name: aws
  region: us-east-1
  subnets:
    us-east-1a: subnet-1a
    us-west-2a: subnet-2a
    us-east-1b: subnet-1a
    us-east-1: subnet-3
    US: subnet-4
    us-east-1c: net-5""")
    text = ' '.join(told.err.split())
    for line, said in ((7, 'the zone "us-west-2a" of provider.subnets is not in the region "us-east-1"'),
                       (8, '"subnet-1a" is given for us-east-1a and for us-east-1b in provider.subnets'),
                       (9, 'the zone "us-east-1" of provider.subnets is not in the region'),
                       (10, 'the zone "US" of provider.subnets must be a zone such as us-east-1a'),
                       (11, 'provider.subnets.us-east-1c must be the id of a subnet such as')):
        assert said in text and f's.yaml:{line}:' in text, (line, told)
    assert 'the names of its zones begin with us-east-1' in text


def test_labels_that_the_cloud_reserves(tmp_path):
    refused = validate(tmp_path, '{name: aws, region: us-east-1}\nlabels: {"aws:x": a, AWS:y: b, Name: d, team: e}')
    assert refused.err.count('[spec.reserved-label]') == 3
    assert 'the label "aws:x" is reserved: keys that start with aws: belong to AWS' in refused.err
    assert 'the label "AWS:y" is reserved' in refused.err and 'on s.yaml:3:' in refused.err
    assert 'Name is set by raygpu' in refused.err and "each node's address are shown there" in refused.err


def test_an_image_of_no_form_that_the_cloud_knows(tmp_path):
    for image in ('ssm:', 'sms:/a'):
        told = validate(tmp_path, '{name: aws, region: us-east-1}', f', image: "{image}"')
        assert f'"{image}" is not an image of aws [spec.bad-pattern]' in told.err and 's.yaml:4:' in told.err
        assert 'the id of an AMI such as ami-0abcdef1234567890, or ssm: and the path' in ' '.join(told.err.split())


def test_a_pool_of_a_changing_size_where_the_provider_makes_none(tmp_path):
    told = validate(tmp_path, '{name: aws, region: us-east-1}',
                    '}\npools: {p: {accelerators: "T4:1", nodes: {min: 0, max: 2}}')
    assert "the provider aws does not support elastic pools (pool p)" in told.err
    assert 's.yaml:5:42\n' in told.err and '[spec.not-supported-yet]' in told.err


def test_what_a_provider_cannot_prepare_is_refused_at_its_key(tmp_path):
    home = Home(tmp_path)
    home.run('init', '--provider', 'kubernetes')
    spec = home.read('cluster.yaml')
    home.write('cluster.yaml', spec + 'setup_commands: ["pip install x"]\n')
    said = home.run('validate', code=4)
    line = len(spec.splitlines()) + 1
    assert said.err.count('Error:') == 1 and '`setup_commands` is not supported on kubernetes' in said.err, said
    assert f'on cluster.yaml:{line}:' in said.err, said

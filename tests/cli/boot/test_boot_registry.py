"""Container images from mirrors and from registries that require a login: what the spec may say, and what nodes do."""
import re

import pytest

from program import spec
from test_boot import Node, fit, files_of, groups_of

ECR = '123456789012.dkr.ecr.eu-west-1.amazonaws.com'
TAG = 'rayproject/ray:2.56.1-py311-cu121'
LOGIN = 'login: {username: bot, password_secret: team/registry}'


def text(ray, profile=True):
    said = re.sub('ray: .*', lambda _: f'ray: {{version: 2.56.1, python: "3.11"{ray}}}', spec(), count=1)
    assert ray in said
    return said.replace('region: us-east-1', 'region: us-east-1' + (', instance_profile: nodes' if profile else ''))


@pytest.mark.parametrize('ray,image', [
    (', registry: {mirror: mirror.example.com:5000/hub}', f'mirror.example.com:5000/hub/{TAG}'),
    (f', registry: {{mirror: {ECR}/docker-hub}}', f'{ECR}/docker-hub/{TAG}'),
    (', image: "team-ray:1", registry: {mirror: mirror.example.com}', 'mirror.example.com/library/team-ray:1'),
    (f', image: "quay.io/{TAG}", registry: {{mirror: mirror.example.com}}', f'quay.io/{TAG}'),
    (f', image: "localhost/{TAG}", registry: {{mirror: mirror.example.com}}', f'localhost/{TAG}'),
])
def test_images_of_docker_hub_come_from_the_mirror(ray, image, tmp_path):
    (tmp_path / 'spec.yaml').write_text(text(ray))
    result = fit(tmp_path / 'spec.yaml')
    for _, data in groups_of(result):
        assert f"\nimage='{image}'\n" in files_of(data)['/etc/raygpu/node.conf'][1]
    assert result['fitted']['ray']['image'] == image


@pytest.mark.parametrize('ray,profile,said', [
    (f', image: "{ECR}/ray:2.56.1"', False,
     f'the image "{ECR}/ray:2.56.1", which is in Amazon ECR, requires provider.instance_profile'),
    (f', registry: {{mirror: {ECR}/hub}}', False,
     f'the image "{ECR}/hub/{TAG}", which is in Amazon ECR, requires provider.instance_profile'),
    (f', image: "{ECR}/ray:2.56.1"', True, None),
    (', image: "public.ecr.aws/team/ray:2.56.1"', False, None),
    (f', registry: {{{LOGIN}}}', False, 'ray.registry.login requires provider.instance_profile'),
    (f', registry: {{{LOGIN}}}', True, None),
    (', registry: {login: {username: bot, password_secret: "a:b"}}', True,
     'it must be the name or ARN of a secret in AWS Secrets Manager'),
])
def test_what_nodes_could_not_pull_is_refused(ray, profile, said, sim, home):
    home.write('cluster.yaml', text(ray, profile))
    done = home.run('validate', code=4 if said else 0)
    assert (said or '') in ' '.join(done.err.split()), done


class PullNode(Node):
    """Its docker has no image until one is pulled."""

    def __init__(self, tmp_path, ray):
        (tmp_path / 'spec.yaml').write_text(text(ray))
        super().__init__(tmp_path / 'n', fit(tmp_path / 'spec.yaml')['user_data'][0])
        docker = (self.bin / 'docker').read_text()
        (self.bin / 'docker').write_text(docker.replace('case "$1" in', f'''case "$1" in
            image) exit 1 ;;
            login) printf '%s < %s in %s\\n' "$*" "$(cat)" "$DOCKER_CONFIG" >>"{self.folder}/login.log"
                   [ ! -e "{self.folder}/refuse" ] || {{ echo unauthorized >&2; exit 1; }}; exit ;;''', 1))
        curl = (self.bin / 'curl').read_text()
        (self.bin / 'curl').write_text(curl.replace('*) exit 22 ;;', '''
            *"metadata-token: SESSION"*placement/region) printf us-east-1 ;;
            *) exit 22 ;;'''))
        self.program('aws', f'''echo "$*" >>"{self.folder}/aws.log"
            [ ! -e "{self.folder}/deny" ] || {{ echo AccessDenied >&2; exit 254; }}
            echo "secret of $2"''')

    def read(self, name):
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


def test_a_node_logs_in_to_ecr_by_its_role(tmp_path):
    node = PullNode(tmp_path, f', image: "{ECR}/ray:2.56.1"')
    status, said = node.start()
    assert status == 0, said
    assert node.read('aws.log') == ['ecr get-login-password --region eu-west-1']
    assert node.read('login.log') == [f'login --username AWS --password-stdin {ECR} < secret of get-login-password '
                                      f'in {node.folder}/run/raygpu/docker']
    assert 'secret of' not in said and 'secret of' not in node.console.read_text()


@pytest.mark.parametrize('image,registry', [('', 'docker.io'), (f', image: "registry.example.com:5000/{TAG}"', 'registry.example.com:5000')])
def test_a_node_logs_in_with_the_password_of_a_secret(image, registry, tmp_path):
    node = PullNode(tmp_path, f'{image}, registry: {{{LOGIN}}}')
    assert node.start()[0] == 0
    assert node.read('aws.log') == ['secretsmanager get-secret-value --region us-east-1 --secret-id team/registry '
                                    '--query SecretString --output text']
    assert node.read('login.log')[0].startswith(f'login --username bot --password-stdin {registry} < secret of ')


def test_the_region_of_a_secret_is_that_of_its_arn(tmp_path):
    arn = 'arn:aws:secretsmanager:eu-central-1:123456789012:secret:team/registry-AbCdEf'
    node = PullNode(tmp_path, f', registry: {{login: {{username: bot, password_secret: "{arn}"}}}}')
    assert node.start()[0] == 0
    assert node.read('aws.log')[0].split()[2:6] == ['--region', 'eu-central-1', '--secret-id', arn]


def test_a_public_image_needs_no_login(tmp_path):
    node = PullNode(tmp_path, '')
    assert node.start()[0] == 0
    assert not node.read('aws.log') and not node.read('login.log')


@pytest.mark.parametrize('knob,ray,reason', [
    ('deny', f', image: "{ECR}/ray:2.56.1"', 'ecr:GetAuthorizationToken'),
    ('deny', f', registry: {{{LOGIN}}}', 'secretsmanager:GetSecretValue'),
    ('refuse', f', registry: {{{LOGIN}}}', "can't log in to docker.io: unauthorized"),
])
def test_a_login_that_fails_is_said_and_backs_off(knob, ray, reason, tmp_path):
    node = PullNode(tmp_path, ray)
    (node.folder / knob).touch()
    for _ in range(3):
        assert node.start()[0] == 1
    state, said = node.reports()[-1]
    assert (state, said['step']) == ('failed', 'pull') and reason in said['reason']
    assert len(node.read('slept')) == 2


def test_an_image_without_the_aws_command_is_said(tmp_path):
    node = PullNode(tmp_path, f', image: "{ECR}/ray:2.56.1"')
    (node.bin / 'aws').unlink()
    status, said = node.start()
    assert status == 78 and 'no aws command on this image' in said

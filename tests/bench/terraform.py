"""Terraform compared with raygpu: the same number of `terraform_data` (no network at all), and its real aws
provider with the same 1 + 8 nodes on the same moto server. Skipped if Terraform, its provider or moto is not
installed."""
import json
import os
import shutil
import tempfile

from measure import taking_turns, run, seconds, table
from program import Home, binary, spec

MIRROR = '/opt/tf-plugins'
WORKERS = 8
DATA = 'resource "terraform_data" "node" {\n  count = %d\n  input = "node-${count.index}"\n}\n'
# Without an interface and address for the head, which raygpu creates: moto never releases the interface, so
# Terraform's destroy stops there, and never deletes the groups.
AWS = '''
terraform {
  required_providers { aws = { source = "hashicorp/aws" } }
}
provider "aws" {
  region = "us-east-1"
  access_key = "AKIDEXAMPLE"
  secret_key = "secret"
  skip_credentials_validation = true
  skip_metadata_api_check = true
  skip_requesting_account_id = true
  endpoints {
    ec2 = "%(url)s"
    iam = "%(url)s"
    sts = "%(url)s"
  }
}
data "aws_vpc" "default" { default = true }
data "aws_subnet" "a" {
  vpc_id = data.aws_vpc.default.id
  availability_zone = "us-east-1a"
}
resource "aws_security_group" "nodes" {
  name = "research"
  vpc_id = data.aws_vpc.default.id
  ingress {
    from_port = 0
    to_port = 0
    protocol = "-1"
    self = true
  }
  egress {
    from_port = 0
    to_port = 0
    protocol = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
  tags = { Name = "research-nodes" }
}
resource "aws_instance" "head" {
  ami = "%(image)s"
  instance_type = "m5.2xlarge"
  subnet_id = data.aws_subnet.a.id
  vpc_security_group_ids = [aws_security_group.nodes.id]
  tags = { Name = "research-head" }
}
resource "aws_instance" "worker" {
  count = %(workers)d
  ami = "%(image)s"
  instance_type = "g4dn.xlarge"
  subnet_id = data.aws_subnet.a.id
  vpc_security_group_ids = [aws_security_group.nodes.id]
  user_data = "#cloud-config\\n# head: the first node\\n"
  tags = { Name = "research-worker" }
}
'''


class Folder:
    """A separate Terraform configuration, initialized without a network."""

    def __init__(self, text):
        self.path = tempfile.mkdtemp(prefix='raygpu-bench-')
        self.env = {**os.environ, 'CHECKPOINT_DISABLE': '1', 'TF_CLI_CONFIG_FILE': self.file('rc'), 'HOME': self.path,
                    'TF_IN_AUTOMATION': '1'}
        with open(self.file('rc'), 'w', encoding='utf-8') as f:
            f.write('provider_installation {\n  filesystem_mirror { path = "%s" }\n}\n' % MIRROR)
        with open(self.file('main.tf'), 'w', encoding='utf-8') as f:
            f.write(text)
        self('init')

    def file(self, name):
        return os.path.join(self.path, name)

    def __call__(self, *arguments):
        used = run(taking_turns(['terraform', *arguments, '-no-color', '-input=false']), cwd=self.path, env=self.env)
        if used.code:
            raise RuntimeError(f'terraform {arguments[0]} ended with {used.code}:\n{used.out[-3000:]}')
        return used

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)


def grow_state(folder, nodes):
    """Terraform's own state of two nodes, multiplied to the requested number: applying 10,000 takes half an hour."""
    with open(folder.file('terraform.tfstate'), encoding='utf-8') as f:
        state = json.load(f)
    instances = state['resources'][0]['instances']
    text = json.dumps(instances[1])
    instances[2:] = [json.loads(text.replace('node-1', f'node-{i}').replace('"index_key": 1', f'"index_key": {i}'))
                     for i in range(2, nodes)]
    for i, instance in enumerate(instances[2:], 2):
        instance['attributes']['id'] = f'00000000-0000-4000-8000-{i:012d}'
    with open(folder.file('terraform.tfstate'), 'w', encoding='utf-8') as f:
        json.dump(state, f)
    with open(folder.file('main.tf'), 'w', encoding='utf-8') as f:
        f.write(DATA % nodes)


def data_rows(counts, apply_up_to):
    for nodes in counts:
        with Folder(DATA % min(nodes, 2 if nodes > apply_up_to else nodes)) as folder:
            applied = folder('apply', '-auto-approve')
            if nodes > apply_up_to:
                grow_state(folder, nodes)
                applied = None
            planned = folder('plan')
            if 'No changes.' not in planned.out:
                raise RuntimeError(f'terraform plans changes of {nodes} nodes:\n{planned.out[-2000:]}')
        cells = [seconds(applied.wall_s), seconds(applied.cpu_s), f'{applied.rss_mib:.0f}'] if applied else ['-'] * 3
        yield [f'{nodes:,}', seconds(planned.wall_s), seconds(planned.cpu_s), f'{planned.rss_mib:.0f}', *cells]


def section_data(counts, apply_up_to):
    print('### Terraform with as many terraform_data\n')
    if shutil.which('terraform') is None:
        print('Terraform is not installed.\n')
        return
    head = ['resources', 'no-op plan wall s', 'CPU s', 'peak MiB', 'apply wall s', 'CPU s', 'peak MiB']
    print(table(head, list(data_rows(counts, apply_up_to))), '\n', flush=True)


# The same nodes on the same server

def start_moto():
    """moto with Sim's calls, or None. moto's tests know how to start it, and skip if it is not installed."""
    try:
        import pytest
        from test_moto import Moto
        return Moto()
    except ImportError:
        return None
    except pytest.skip.Exception:
        return None


def calls(moto):
    """moto counts nothing, but logs a line per request."""
    return moto.log().count('"POST /')


def counted(moto, one):
    before = calls(moto)
    used = one()
    used.calls = calls(moto) - before
    return used


def raygpu_steps(moto):
    folder = tempfile.mkdtemp(prefix='raygpu-bench-')
    try:
        home = Home(folder, moto.env())
        image = moto.image()
        # moto launches MinCount instances, not MaxCount: with one pool per node all are launched at once
        text = spec(pools={f'worker{i}': ('T4:1', 1) for i in range(WORKERS)},
                    pool_extra=f', image: {image}, zones: [us-east-1a]')
        home.write('cluster.yaml', text.replace('head: {', f'head: {{image: {image}, zones: [us-east-1a], '))
        for name, argv in (('plan', ['plan']), ('apply', ['apply', '--auto-approve']), ('no-op plan', ['plan']),
                           ('destroy', ['destroy', '--auto-approve'])):
            argv = [binary(), argv[0], 'cluster.yaml', *argv[1:]]
            used = counted(moto, lambda argv=argv: run(taking_turns(argv), cwd=folder, env=home.env))
            expect(name, used, moto)
            yield name, used
    finally:
        shutil.rmtree(folder)


def terraform_steps(moto):
    with Folder(AWS % {'url': moto.url, 'image': moto.image(), 'workers': WORKERS}) as folder:
        for name, argv in (('plan', ['plan']), ('apply', ['apply', '-auto-approve']), ('no-op plan', ['plan']),
                           ('destroy', ['destroy', '-auto-approve'])):
            used = counted(moto, lambda argv=argv: folder(*argv))
            expect(name, used, moto)
            yield name, used


def expect(step, used, moto):
    """Each step must have had its effect."""
    nodes = sum(len(i) for i in moto.instances_by_state())
    right = {'plan': nodes == 0, 'apply': nodes == WORKERS + 1, 'destroy': nodes == 0,
             'no-op plan': nodes == WORKERS + 1 and 'No changes.' in used.out}[step]
    if used.code or not right:
        raise RuntimeError(f'{step} ended with {used.code} and {nodes} nodes:\n{used.out[-3000:]}')


def section_aws():
    print(f'### 1 + {WORKERS} nodes on the same moto server\n')
    moto = start_moto() if shutil.which('terraform') and os.path.isdir(MIRROR) else None
    if moto is None:
        print('Terraform, its aws provider or moto is not installed.\n')
        return
    moto.instances_by_state = lambda: [[i for i in moto.ok('DescribeInstances').iterfind('.//instancesSet/item') if
                                        i.findtext('instanceState/name') not in ('shutting-down', 'terminated')]]
    with moto:
        ours = dict(raygpu_steps(moto))
        moto.raw('', path='/moto-api/reset')
        theirs = dict(terraform_steps(moto))
    rows = []
    for name, mine in ours.items():
        other = theirs[name]
        rows.append([name, seconds(mine.wall_s), seconds(other.wall_s), seconds(mine.cpu_s), seconds(other.cpu_s),
                     f'{mine.rss_mib:.0f}', f'{other.rss_mib:.0f}', mine.calls, other.calls])
    print(table(['step', 'raygpu wall s', 'Terraform', 'raygpu CPU s', 'Terraform', 'raygpu MiB', 'Terraform',
                 'raygpu calls', 'Terraform'], rows), '\n', flush=True)

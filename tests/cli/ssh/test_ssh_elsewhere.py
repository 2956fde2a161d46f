"""Hosts of Ansible's inventory and of Terraform's outputs. The hosts are a stand-in for ssh; ansible-inventory is Ansible's own."""
import json
import shutil
from pathlib import Path

import pytest
from ssh_many_home import ManyHome

needs_ansible = pytest.mark.skipif(not shutil.which('ansible-inventory'), reason='needs ansible-core')


@pytest.fixture
def home(tmp_path):
    return ManyHome(tmp_path)


def spec(home, inventory, *more, pool='nodes: 2'):
    home.write('cluster.yaml', '\n'.join([
        'cluster: small', 'provider:', '  name: ssh', f'  inventory: {inventory}', *more, 'ray: {version: 2.56.1, python: "3.11"}',
        'head: {instance_type: cpu}', 'pools:', f'  train: {{accelerators: "T4:8", {pool}}}', '']))


def told(home, *arguments, code=0):
    end = home.run(*arguments, code=code)
    return ' '.join((end.out + end.err).split())


def ansible(home, text, folder='inventory', allow='inventory'):
    Path(home.folder, folder, 'group_vars').mkdir(parents=True, exist_ok=True)
    home.write(f'{folder}/hosts', text)
    home.env['RAYGPU_ALLOW_PROFILES'] = allow


INI = """\
login ansible_host=head

[gpu]
gpu[1:3] ansible_port=2222 ansible_user=ops

[gpu:vars]
raygpu_gpus=T4:8
raygpu_rack=7
raygpu_usd_per_hour=1.5
raygpu_cpus=8
ansible_ssh_common_args='-o ProxyJump=gate'

[spare]
old1 raygpu_gpus=V100:4

[here]
localhost ansible_connection=local
"""


@needs_ansible
def test_a_cluster_on_hosts_of_ansible(home):
    ansible(home, INI)
    home.write('inventory/group_vars/gpu.yml', 'raygpu_labels: {fabric: ib}\n')
    spec(home, '{ansible: inventory/}', pool='nodes: 2, provider: {labels: {fabric: ib}}')
    assert home.run('validate', 'cluster.yaml').code == 0
    said = told(home, 'apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert 'train takes gpu1, gpu2' in said and 'head takes login' in said and '$0.00 -> at least $3.00' in said, said
    assert home.claimed() == ['gpu1', 'gpu2', 'head']
    assert 'No changes.' in told(home, 'plan', 'cluster.yaml', '--detailed-exitcode')
    shown = home.run('state', 'show', 'ssh.node.train[0]').out
    assert '2222' in shown and 'gate' in shown and 'ops' in shown, shown
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not home.claimed()


@needs_ansible
def test_a_group_of_ansible_and_hosts_of_the_spec(home):
    ansible(home, INI)
    spec(home, '{ansible: inventory/, group: gpu}', '  hosts: [{address: head}]')
    assert 'train takes gpu1, gpu2' in told(home, 'plan', 'cluster.yaml')
    assert 'old1' not in home.connections()
    spec(home, '{ansible: inventory/, group: gpus}')
    said = told(home, 'plan', 'cluster.yaml', code=1)
    assert 'it has no group "gpus"' in said and 'on cluster.yaml:4:24' in said, said


@needs_ansible
@pytest.mark.parametrize('line,why', [
    ('gpu1 raygpu_gpu=T4:8', 'host gpu1 has "gpu", which is none of address, name'), ('gpu1 ansible_host="{{ other }}"', 'host gpu1: address is'),
    ('gpu1 raygpu_gpus=T4', 'not a GPU model and a number, such as A100:8'), ('gpu1 ansible_host=head\nlogin\nother ansible_host=head raygpu_name=login', 'two hosts "login"')])
def test_what_ansible_says_is_refused_at_the_line_of_the_spec(home, line, why):
    ansible(home, line + '\n')
    spec(home, '{ansible: inventory/}')
    said = told(home, 'plan', 'cluster.yaml', code=1)
    assert why in said and 'on cluster.yaml:4:24' in said, said


@needs_ansible
def test_the_programs_of_an_inventory_run_only_with_consent(home):
    ansible(home, 'gpu1\n', allow='')
    home.write('inventory/plugin', '#!/bin/sh\ntouch "$RACK/../ran"\necho "{}"\n')
    Path(home.folder, 'inventory/plugin').chmod(0o755)
    spec(home, '{ansible: inventory/}')
    for command in ('plan', 'drift', 'destroy'):
        end = home.run(command, 'cluster.yaml', code=None)
        assert end.code and not Path(home.folder, 'ran').exists(), end
    said = told(home, 'plan', 'cluster.yaml', code=None)
    assert 'provider.inventory.ansible "inventory/" is not allowed' in said and 'on cluster.yaml:4:24' in said, said
    home.env['RAYGPU_ALLOW_PROFILES'] = 'inventory/'
    told(home, 'plan', 'cluster.yaml', code=None)
    assert Path(home.folder, 'ran').exists()


def test_without_ansible_the_message_names_it(home):
    home.env.update(PATH=home.path('bin'), RAYGPU_ALLOW_PROFILES='inventory')
    spec(home, '{ansible: inventory/}')
    assert 'install ansible-core' in told(home, 'plan', 'cluster.yaml', code=1)


@pytest.mark.parametrize('script,why', [
    ('echo not json', '`ansible-inventory --list` printed no JSON'),
    ('printf "deep\\n\\033[31mERROR\\n" >&2; exit 4', 'cannot use the inventory inventory/: [31mERROR'), ('exit 2', 'failed without a reason'),
    ('yes "$(printf %01000d 1)"', 'printed more than 1 MiB')])
def test_a_hostile_program_is_bounded(home, script, why):
    home.write('bin/ansible-inventory', f'#!/bin/bash\n{script}\n')
    Path(home.folder, 'bin/ansible-inventory').chmod(0o755)
    home.env['RAYGPU_ALLOW_PROFILES'] = 'inventory'
    spec(home, '{ansible: inventory/}')
    said = told(home, 'plan', 'cluster.yaml', code=1)
    assert why in said and '\033' not in said, said


def outputs(home, value):
    home.write('outputs.json', json.dumps({'gpu_hosts': {'sensitive': False, 'type': 'dynamic', 'value': value}}))


def test_a_cluster_on_hosts_of_terraform(home):
    outputs(home, [{'address': f'gpu{i}', 'gpus': 'T4:8', 'user': None, 'rack': None, 'usd_per_hour': 2} for i in (1, 2)] + [{'address': 'head'}])
    spec(home, '{terraform: outputs.json, output: gpu_hosts}')
    said = told(home, 'apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert home.claimed() == ['gpu1', 'gpu2', 'head'] and '$0.00 -> at least $4.00' in said, said
    # a host that the output no longer has is kept and not asked
    outputs(home, [{'address': 'gpu2', 'gpus': 'T4:8'}, {'address': 'head'}])
    said = told(home, 'plan', 'cluster.yaml', code=None)
    assert 'gpu1 is not in the inventory: add it again to release it' in said, said


@pytest.mark.parametrize('value,why', [
    ([], 'its output "gpu_hosts" has no hosts'), ('gpu1', 'the output "gpu_hosts" is neither a list nor a map of hosts'), ([{'address': 'gpu1', 'gpu': 3}], 'host 1 has "gpu"'),
    (['-oProxyCommand=x'], 'host 1: address is "-oProxyCommand=x"')])
def test_what_terraform_says_is_refused_at_the_line_of_the_spec(home, value, why):
    outputs(home, value)
    spec(home, '{terraform: outputs.json, output: gpu_hosts}')
    said = told(home, 'plan', 'cluster.yaml', code=1)
    assert f'cannot use the inventory outputs.json: {why}' in said and 'on cluster.yaml:4:26' in said, said


def test_a_secret_of_terraform_is_not_quoted(home):
    """The file may be any that the job can read, and messages go into the comment of a pull request."""
    for shape in (lambda outputs: outputs, lambda outputs: {'version': 4, 'outputs': outputs}, lambda outputs: {'values': {'outputs': outputs}}):
        home.write('outputs.json', json.dumps(shape({'password': {'sensitive': True, 'value': ['-a-secret']}})))
        spec(home, '{terraform: outputs.json, output: password}')
        said = told(home, 'plan', 'cluster.yaml', code=1)
        assert 'its output "password" is sensitive, which hosts are not' in said and 'a-secret' not in said, said


def test_the_setting_is_checked_without_the_file(home):
    for wrong, why in (('{terraform: outputs.json}', '{ansible: PATH} or {terraform: FILE, output: NAME}'), ('{ansible: -x}', 'must be a path'),
                       ('{ansible: a, terraform: b, output: c}', '{ansible: PATH} or')):
        spec(home, wrong)
        assert why in told(home, 'validate', 'cluster.yaml', code=4)
    home.write('cluster.yaml', home.read('cluster.yaml').replace('inventory: {ansible: a, terraform: b, output: c}', 'user: root'))
    assert 'a mapping with `hosts`, `inventory` or both' in told(home, 'validate', 'cluster.yaml', code=4)
    spec(home, '{terraform: none.json, output: gpu_hosts}')
    assert 'none.json: the file cannot be read' in told(home, 'plan', 'cluster.yaml', code=1)

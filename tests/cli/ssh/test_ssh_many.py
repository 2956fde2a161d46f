"""Inventories that are larger than a rack of tests: how often raygpu connects, and the example. The hosts are a stand-in for ssh."""
import os
import re
import shutil

import pytest
from program import ROOT
from ssh_many_home import HERE, ManyHome


@pytest.fixture
def home(tmp_path):
    return ManyHome(tmp_path)


def test_300_hosts_are_asked_once(home):
    home.write('cluster.yaml', '\n'.join([
        'cluster: many', 'provider:', '  name: ssh', '  hosts:', '    - {address: head}', '    - {address: "gpu[001-300]", gpus: "A100-80GB:8"}',
        'ray: {version: 2.56.1, python: "3.11"}', 'head: {instance_type: cpu}', 'pools:', '  train: {accelerators: "A100-80GB:8", nodes: 280}', '']))
    said = ' '.join(home.run('plan', 'cluster.yaml').err.split())
    assert 'train takes gpu001, gpu002, gpu003, gpu004, gpu005, gpu006, gpu007, gpu008 and 272 more' in said, said
    asked = home.connections()
    assert len(asked) == 301 and set(asked.values()) == {1}
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    asked = home.connections()
    assert len(home.claimed()) == 281 and asked['gpu300'] <= 2 and asked['gpu001'] <= 4, asked
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--detailed-exitcode').out
    asked = home.connections()
    assert len(asked) == 301 and set(asked.values()) == {1}
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not home.claimed()


@pytest.mark.parametrize('gpus,accelerators,type_', [
    ('A100:8', '"A100:8"', 'A100-40GB:8'), ('a100-40gb:8', '"A100:8"', 'A100-40GB:8'), ('A100-80GB-PCIe:8', '"A100-80GB:8"', 'A100-80GB-PCIe:8'),
    ('A100:8', '["H100:8", "A100:8"]', 'A100-40GB:8'), ('A100-80GB:8', '["H100:8", "A100:8"]', None)])
def test_a_pool_gets_the_hosts_that_there_are(home, gpus, accelerators, type_):
    home.write('cluster.yaml', '\n'.join([
        'cluster: named', 'provider:', '  name: ssh', '  hosts:', '    - {address: head}', f'    - {{address: "gpu[1-2]", gpus: "{gpus}"}}',
        'ray: {version: 2.56.1, python: "3.11"}', 'head: {instance_type: cpu}', 'pools:', f'  train: {{accelerators: {accelerators}, nodes: 2}}', '']))
    end = home.run('plan', 'cluster.yaml', code=0 if type_ else 8)
    said = ' '.join((end.out + end.err).split())
    missing = 'the hosts of the inventory have these shapes: cpu, A100-80GB:8'
    assert (f'train {type_} on-demand 0 -> 2' in said and 'these shapes' not in said if type_ else said.count(missing) == 1), said


def small(home, nodes=2):
    home.write('cluster.yaml', '\n'.join([
        'cluster: small', 'provider:', '  name: ssh', '  hosts:', '    - {address: head}', '    - {address: "gpu[1-3]", gpus: "T4:8"}',
        'ray: {version: 2.56.1, python: "3.11"}', 'head: {instance_type: cpu}', 'pools:', f'  train: {{accelerators: "T4:8", nodes: {nodes}}}', '']))


def test_a_head_writes_nothing_but_its_address_into_the_scripts_of_workers(home):
    small(home)
    home.write('head.says', "raygpu: address 10.0.0.1'; touch /tmp/pwned; : '\n")
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    scripts = home.read('scripts')
    assert '/etc/raygpu/head 10.0.0.1\n' in re.sub(r"['\\]", '', scripts) and 'pwned' not in scripts


def test_a_host_that_may_have_the_claim_of_a_lost_create_is_waited_for(home):
    """Another host would be a second node of the same name, and the first one claimed by nobody."""
    small(home, nodes=1)
    home.write('gpu1.kills', '')
    assert home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait', code=None).code == -9
    assert 'gpu1' in home.claimed()
    os.rename(home.path('gpu1.kills'), home.path('gpu1.silent'))
    end = home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait', code=None)
    assert end.code and 'gpu1' in end.out + end.err and not {'gpu2', 'gpu3'} & set(home.claimed()), end
    os.remove(home.path('gpu1.silent'))
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert home.claimed() == ['gpu1', 'head']


def test_a_rebuild_asks_all_hosts_or_none(home):
    small(home, nodes=1)
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    os.remove(home.state)
    home.write('gpu1.silent', '')
    end = home.run('state', 'rebuild', 'cluster.yaml', code=None)
    assert end.code and 'a host does not say what has claimed it: gpu1' in ' '.join(end.err.split()), end
    os.remove(home.path('gpu1.silent'))
    home.run('state', 'rebuild', 'cluster.yaml')
    assert '0 to add' in home.run('plan', 'cluster.yaml').out and home.claimed() == ['gpu1', 'head']


def test_a_clock_that_is_wrong_is_named(home):
    small(home, nodes=2)
    home.write('gpu2.says', 'raygpu: clock 1000\n')
    said = ' '.join(home.run('plan', 'cluster.yaml').err.split())
    assert said.count('the clock of') == 1 and 'the clock of gpu2 is' in said and "s behind this machine's" in said, said


@pytest.mark.parametrize('version,said', [('', 'docker of gpu2 does not answer'), ('18.09.1', 'gpu2 has docker 18.09.1, and containers get GPUs from 19.03 on'),
                                          ('19.03.0', None), ('27.5.1+dfsg1', None)])
def test_a_docker_that_cannot_start_nodes_is_named(home, version, said):
    small(home, nodes=2)
    home.write('gpu2.says', f'raygpu: docker_version {version}\n')
    home.write('head.says', 'raygpu: docker_version 18.09.1\n')
    text = ' '.join(home.run('plan', 'cluster.yaml').err.split())
    assert text.count('docker') == bool(said) and (not said or said in text), text


def test_who_was_faster_is_named(home):
    """Another cluster has claimed the hosts since the plan."""
    small(home, nodes=1)
    for number in (1, 2, 3):
        home.write(f'gpu{number}.says', 'raygpu: taken two as ssh.node.train[0]\n')
    end = home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait', code=None)
    said = ' '.join((end.out + end.err).split())
    assert end.code and 'no host of the shape T4:8 in rack default is free; gpu3 is claimed by two as ssh.node.train[0]' in said, said


def test_a_host_with_other_gpus_is_not_claimed(home):
    small(home, nodes=2)
    home.write('gpu1.says', 'raygpu: gpu 9\n')
    end = home.run('plan', 'cluster.yaml')
    assert 'gpu1 has 9 GPUs, and T4:8 in the inventory' in end.err and 'train takes gpu2, gpu3' in end.err, end
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert home.claimed() == ['gpu2', 'gpu3', 'head']


def test_the_example_is_a_cluster_in_one_rack(home):
    for file in (ROOT / 'examples/rack').iterdir():
        shutil.copy(file, home.folder)
    said = home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert home.claimed() in ([f'gpu0{i}.example.org' for i in numbers] + ['login.example.org', 'old1.example.org', 'old2.example.org']
                              for numbers in (range(1, 5), range(5, 9))), said
    assert home.run('validate', '.').code == 0
    # without a place of its own, a pool is divided where that is possible
    home.write('cluster.yaml', home.read('cluster.yaml').replace('nodes: 4, network: {placement: cluster}', 'nodes: 7'))
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    assert len([host for host in home.claimed() if host.startswith('gpu')]) == 7


def test_what_no_host_says_is_done_is_not_done(home):
    """Each host answers, and says neither that it was done nor why not."""
    home.write('cluster.yaml', '\n'.join([
        'cluster: many', 'provider:', '  name: ssh', '  hosts: [{address: head}]', 'ray: {version: 2.56.1, python: "3.11"}',
        'head: {instance_type: cpu}', '']))
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    home.write('bin/ssh', home.read('bin/ssh').replace("ok='raygpu: ok'", ':').replace('rm -f', ':'))
    said = home.run('destroy', 'cluster.yaml', '--auto-approve', code=None)
    assert said.code == 1 and 'head: it does not say whether that is done' in ' '.join(said.err.split()) and home.claimed() == ['head'], said
    shutil.copy(HERE / 'many_ssh.sh', home.path('bin/ssh'))
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not home.claimed()


def test_connect_follows_the_inventory(home):
    """Nothing changes on the hosts."""
    text = '\n'.join(['cluster: many', 'provider:', '  name: ssh', '  hosts:', '    - {address: head}', 'ray: {version: 2.56.1, python: "3.11"}',
                      'head: {instance_type: cpu}', ''])
    home.write('cluster.yaml', text)
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    for way, words in (('user: ops, port: 2222', '-l ops -p 2222'), ('user: ops, proxy_jump: gate', '-l ops -J gate'), ('port: 22', '-p 22')):
        home.write('cluster.yaml', text.replace('address: head', f'address: head, {way}'))
        assert '# (the inventory reaches the host in another way now)' in home.run('plan', 'cluster.yaml').out
        os.remove(home.path('rack.functions'))
        home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
        assert set(home.read('rack.functions').split()) == {'probe'}
        said = home.run('connect', 'cluster.yaml', '--print')
        assert f'ssh {words} -N' in said.out, said
        assert 'No changes.' in home.run('plan', 'cluster.yaml', '--detailed-exitcode').out


def test_a_host_that_the_inventory_no_longer_has_is_kept_and_not_asked(home):
    """Whatever its name reaches, with the user and port of the others or without."""
    text = '\n'.join(['cluster: many', 'provider:', '  name: ssh', '  port: 2222', '  hosts:', '    - {address: head}', '    - {address: gpu1, gpus: "A100-80GB:8", rack: r1}',
                      '    - {address: gpu2, gpus: "A100-80GB:8", rack: r1}', 'ray: {version: 2.56.1, python: "3.11"}', 'head: {instance_type: cpu}', 'pools:',
                      '  train: {accelerators: "A100-80GB:8", nodes: 1}', ''])
    home.write('cluster.yaml', text)
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    home.connections()
    home.write('cluster.yaml', '\n'.join(line for line in text.split('\n') if 'gpu1' not in line))
    why = 'gpu1 is not in the inventory: add it again to release it'
    for command in (['plan'], ['apply', '--auto-approve'], ['destroy', '--auto-approve']):
        end = home.run(*command, 'cluster.yaml', code=None)
        assert end.code and why in ' '.join((end.out + end.err).split()), end
        assert 'gpu1' in home.claimed()
    assert 'gpu1' not in home.connections()
    home.write('cluster.yaml', text)
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--detailed-exitcode').out
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not home.claimed()

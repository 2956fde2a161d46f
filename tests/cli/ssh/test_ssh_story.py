"""A cluster on machines that are there: plan, apply, drift, repair, destroy over real sshd."""
import os
import re

from ssh_rack import claims, ours


def arguments(host):
    """Of the container that runs on the host."""
    return host.must('cat', '/var/lib/stand-in/arguments').split('\n')


def test_story(home, rack):
    head, first, second = rack.hosts[:3]
    home.spec(nodes=2)
    said = home.told('plan')
    assert 'Plan: 4 to add' in said and 'unpriced' in said, said
    assert [ours(host) for host in rack.hosts] == [[]] * len(rack.hosts)
    said = home.apply()
    assert 'Ray: head 1 of 1 joined, train 2 of 2 joined' in said and 'Apply complete! Resources: 4 added' in said, said
    owner = claims(first)
    assert (owner['cluster'], owner['pool']) == ('research', 'train') and owner['address'].startswith('ssh.node.train[')
    assert claims(head)['address'] == 'ssh.node.head' and re.fullmatch('[0-9a-f]{32}', claims(head)['token'])
    assert '--head' in arguments(head) and f'--address={head.address}:6379' in arguments(first)
    assert f'--node-ip-address={second.address}' in arguments(second) and '--num-gpus=1' in arguments(second)
    assert f'RAY_CLOUD_INSTANCE_ID={claims(second)["id"]}' in arguments(second)
    assert 'No changes.' in home.told('plan', '--detailed-exitcode')
    assert home.run('drift', 'cluster.yaml').code == 0
    assert head.address in home.told('output')

    # someone changes a file, and ends the service of another
    first.must('bash', '-c', 'echo "gpus=8" >>/etc/raygpu/node.conf')
    second.must('pkill', '-f', 'raygpu/supervis[e]')
    said = home.told('drift', code=2)
    assert '~ files' in said and '~ service in the cloud: "stopped" recorded: "running"' in said, said
    said = home.told('plan')
    assert 'files of the node were changed on the host' in said and 'service of Ray does not run' in said, said
    said = home.apply()
    assert '2 changed, 0 destroyed' in said, said
    assert 'gpus=8' not in first.must('cat', '/etc/raygpu/node.conf')
    assert home.run('drift', 'cluster.yaml').code == 0

    # what a node boots from changes in place; fewer nodes release their host
    home.spec(nodes=1, pool='accelerators: "T4:1", env: {MODE: fast}')
    said = home.told('plan')
    assert '0 to add, 1 to change, 1 to destroy' in said and 'will be released' in said, said
    home.apply()
    kept, = [host for host in (first, second) if claims(host)]
    released, = {first, second} - {kept}
    assert 'MODE=fast' in kept.must('cat', '/etc/raygpu/ray.env') and not ours(released)
    assert 'No changes.' in home.told('plan', '--detailed-exitcode')

    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert [ours(host) for host in rack.hosts] == [[]] * len(rack.hosts)


def test_a_node_follows_the_address_of_its_host(home, rack):
    home.spec(nodes=1)
    home.apply('--no-wait')
    host, = [host for host in rack.hosts[1:3] if claims(host)]
    home.write('cluster.yaml', home.read('cluster.yaml').replace(f'internal_address: {host.address},', 'internal_address: 198.18.99.9,'))
    said = home.told('plan')
    assert 'address = "198.18.99.9" -> (known after apply)' in said and 'the host has another address now' in said and '1 to change' in said, said
    home.apply('--no-wait')
    assert 'node_ip=198.18.99.9' in host.must('cat', '/etc/raygpu/host')
    assert 'No changes.' in home.told('plan', '--detailed-exitcode')


def test_no_host_has_two_owners(home, rack):
    head, first, second = rack.hosts[:3]
    home.spec(nodes=1, name='one')
    home.apply('--no-wait')
    taken = [host for host in (first, second) if claims(host)]
    home.spec(nodes=2, name='two')
    said = home.told('plan', code=8)
    assert 'only 1 of T4:1 is free in default, and pool train needs 2 [fit.no-stock]' in said, said
    assert [host for host in (first, second) if claims(host)] == taken and claims(head)['cluster'] == 'one'


def test_a_state_that_is_lost_is_rebuilt_from_claims(home, rack):
    home.spec(nodes=2)
    home.apply('--no-wait')
    os.remove(home.state)
    home.run('state', 'rebuild', 'cluster.yaml')
    assert 'No changes.' in home.told('plan', '--detailed-exitcode')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert [ours(host) for host in rack.hosts] == [[]] * len(rack.hosts)

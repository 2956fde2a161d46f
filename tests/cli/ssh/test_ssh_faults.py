"""Hosts, connections and raygpu itself fail: no host is claimed twice, none is claimed by nobody."""
import os
import pty
import shutil
import subprocess

import pytest
from hosts import wait_for
from ssh_rack import HERE, RackHome, claims, ours
from program import binary
from ssh_hosts import FAKETIME


@pytest.mark.parametrize('which,how', [('create', 'before'), ('create', 'after'), ('create', 'lost'), ('remove', 'before'), ('remove', 'after'),
                                       ('change', 'after')])
def test_a_kill_at_a_remote_command(home, rack, tmp_path, which, how):
    (tmp_path / 'bin').mkdir()
    shutil.copy(HERE / 'killing_ssh.py', tmp_path / 'bin/ssh')
    killing = {'PATH': f'{tmp_path}/bin:{home.env["PATH"]}', 'WHICH': which, 'HOW': how, 'ONCE': str(tmp_path / 'once')}
    home.spec(nodes=2)
    if which != 'create':
        home.apply('--no-wait')
        home.spec(nodes=1 if which == 'remove' else 2, pool='accelerators: "T4:1", env: {MODE: fast}')
    end = home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait', env=killing, code=None)
    assert (tmp_path / 'once').exists() and end.code == (3 if how == 'lost' else -9), end
    home.apply('--no-wait')
    nodes = sorted(claims(host)['address'] for host in rack.hosts if claims(host))
    assert nodes == ['ssh.node.head', *(f'ssh.node.train[{i}]' for i in range(1 if which == 'remove' else 2))]
    assert 'No changes.' in home.told('plan', '--detailed-exitcode')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not any(ours(host) for host in rack.hosts)


def test_runs_that_race_share_no_host(home, rack, tmp_path):
    (tmp_path / 'other').mkdir()
    other = RackHome(tmp_path / 'other', rack)
    for one, name in ((home, 'one'), (other, 'two')):
        one.spec(nodes=1, name=name)
    runs = [one.start('apply', 'cluster.yaml', '--auto-approve', '--no-wait') for one in (home, other)]
    said = [run.communicate(timeout=120) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    owners = sorted((claims(host)['cluster'], claims(host)['address']) for host in rack.hosts if claims(host))
    assert owners == [(name, f'ssh.node.{node}') for name in ('one', 'two') for node in ('head', 'train[0]')]
    for one in (home, other):
        assert 'No changes.' in one.told('plan', '--detailed-exitcode')


def test_who_does_not_answer_is_not_missing(alone, rack):
    alone.spec(nodes=1)
    alone.apply('--no-wait')
    lost, = [host for host in rack.hosts[1:3] if claims(host)]
    lost.cut_power()
    try:
        said = alone.told('apply', '--auto-approve', code=1)
        assert f'the state of `ssh.node.train[0]` is unknown: {lost.folder.name}: ssh: connect to host {lost.address} port 22:' in said, said
        assert '[diff.unreachable]' in said and len([host for host in rack.hosts if host is not lost and claims(host)]) == 1
        alone.apply('--no-wait', '--replace', 'ssh.node.train[0]')
        taken, = [host for host in rack.hosts[1:3] if host is not lost and claims(host)]
        assert claims(taken)['address'] == 'ssh.node.train[0]'
    finally:
        lost.power_on()
    assert 'but is not recorded [diff.unmanaged]' in alone.told('plan')


def test_after_a_reboot_ray_starts_again(alone, rack):
    """By /etc/cron.d, without systemd. What has the old process id now is not taken for it."""
    alone.spec(nodes=0)
    alone.apply('--no-wait')
    head, = [host for host in rack.hosts if claims(host)]
    before = head.must('cat', '/var/lib/raygpu/supervisor').split()[0]
    head.reboot()
    assert alone.run('drift', 'cluster.yaml').code == 0
    assert head.must('cat', '/var/lib/raygpu/supervisor').split()[0] != before
    head.put('/var/lib/raygpu/supervisor', f'{before} 1\n')
    assert '~ service in the cloud: "stopped" recorded: "running"' in alone.told('drift', code=2)


def fingerprint(host):
    return host.must('ssh-keygen', '-l', '-f', '/etc/ssh/host_key.pub').split()[1]


def test_a_key_that_changed_is_refused(alone, rack):
    alone.spec(nodes=1)
    alone.apply('--no-wait')
    host, = [host for host in rack.hosts[1:3] if claims(host)]
    known = fingerprint(host)
    host.new_key()
    host.restart_sshd()
    try:
        said = alone.told('plan', code=1)
        assert f'its host key has changed; the key it shows now is {fingerprint(host)}, the known one in {rack.known_hosts} is {known}' in said, said
        assert '[diff.unreachable]' in said and fingerprint(host) != known
    finally:
        rack.write()


def test_a_host_without_an_address_is_passed_over(home, rack):
    first, last = rack.hosts[0], rack.hosts[3]
    first.must('ip', 'route', 'add', 'unreachable', '192.0.2.0/24')
    try:
        home.spec(nodes=0, hosts=['    - {address: h1}'])
        assert 'h1 has no default route, or no ip(8): set its internal_address in the inventory' in home.apply('--no-wait', code=3)
        home.spec(nodes=0, hosts=['    - {address: h1}', '    - {address: h4}'])
        home.apply('--no-wait')
        assert not claims(first) and claims(last)
    finally:
        first.must('ip', 'route', 'del', 'unreachable', '192.0.2.0/24')


def test_one_address_behind_two_jump_hosts_is_two_machines(home, rack, tmp_path):
    """Also while connections are shared. Each machine is 127.0.0.1 of its jump host."""
    jumps = {'a': rack.hosts[0], 'b': rack.hosts[3]}
    config = tmp_path / 'ssh_config'
    config.write_text(rack.config.read_text(encoding='utf-8') + ''.join(f"""
        Host {name}
          HostName 127.0.0.1
          HostKeyAlias {jump.address}
          ProxyJump {jump.folder.name}
          User root
          IdentityFile {rack.key}
          UserKnownHostsFile {rack.known_hosts}
        """ for name, jump in jumps.items()), encoding='utf-8')
    home.env['RAYGPU_ALLOW_PROFILES'] = str(config)
    for name, jump in jumps.items():
        home.spec(nodes=0, name=name, hosts=[f'    - {{address: {name}, internal_address: {jump.address}}}'])
        home.write('cluster.yaml', home.read('cluster.yaml').replace(str(rack.config), str(config)))
        home.apply('--no-wait')
        assert claims(jump)['cluster'] == name
        home.run('destroy', 'cluster.yaml', '--auto-approve')
        assert not claims(jump)


def test_a_jump_host_that_is_not_known_asks_nobody(alone, rack, tmp_path):
    """Also where raygpu has a terminal: a question would stop ssh there, and the plan."""
    config = tmp_path / 'ssh_config'
    config.write_text(f'Host gate\n  HostName {rack.hosts[0].address}\n  UserKnownHostsFile /dev/null\n' + rack.config.read_text(encoding='utf-8'), encoding='utf-8')
    alone.spec(nodes=0, hosts=['    - {address: h4, proxy_jump: gate}'])
    alone.write('cluster.yaml', alone.read('cluster.yaml').replace(str(rack.config), str(config)))
    ours_end, end = pty.openpty()
    done = subprocess.run(['setsid', '--ctty', '--wait', binary(), 'plan', 'cluster.yaml'], cwd=alone.folder, stdin=end, capture_output=True, check=False,
                          env={**alone.env, 'RAYGPU_ALLOW_PROFILES': str(config)}, encoding='utf-8')
    os.close(end)
    os.close(ours_end)
    said = ' '.join((done.stdout + done.stderr).split())
    assert 'cannot use the host h4: ' in said and 'too long' not in said, said


def test_a_banner_before_the_login_is_not_taken_for_a_reason(alone, rack):
    alone.spec(nodes=1)
    host = rack.hosts[1]
    host.put('/etc/ssh/banner', 'WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! SHA256:forged\n')
    host.must('bash', '-c', 'mv /etc/ssh/authorized_keys /etc/ssh/kept; echo Banner /etc/ssh/banner >>/etc/ssh/host_config; pkill -HUP -o -x sshd')
    try:
        said = alone.told('plan')
        assert f'cannot use the host {host.folder.name}' in said and 'Permission denied' in said and 'host key has changed' not in said, said
    finally:
        host.must('mv', '/etc/ssh/kept', '/etc/ssh/authorized_keys')
        host.restart_sshd()


def test_a_host_with_a_full_disk_is_passed_over(home, rack):
    first, last = rack.hosts[0], rack.hosts[3]
    home.spec(nodes=0, hosts=['    - {address: h1}'])
    first.fill_disk()
    try:
        said = home.apply('--no-wait', code=3)
        assert 'no host of the shape cpu in rack default is free; h1 has 0 KiB free in /var/lib' in said and not claims(first), said
        home.spec(nodes=0)
        home.apply('--no-wait')
        assert claims(last)['address'] == 'ssh.node.head' and not claims(first)
    finally:
        first.free_disk()


def test_a_host_that_cannot_boot_is_released_and_another_one_taken(home, rack):
    bad, good = rack.hosts[1:3]
    home.spec(nodes=1)
    bad.put('/etc/raygpu', 'in the way')
    home.apply('--no-wait')
    assert claims(good)['address'] == 'ssh.node.train[0]' and not ours(bad)
    bad.put('/etc/raygpu', 'in the way')
    home.spec(nodes=2)
    said = home.apply('--no-wait', code=None)
    assert f'is free; {bad.folder.name} cannot make' in said and not claims(bad), said
    assert '1 to add' in home.told('plan')


def test_a_node_whose_boot_was_cut_off_boots_in_the_next_apply(home, rack):
    home.spec(nodes=0)
    home.apply('--no-wait')
    head, = [host for host in rack.hosts if claims(host)]
    head.must('rm', '/var/lib/raygpu/booted')
    assert 'service of Ray does not run' in home.told('plan')
    home.apply('--no-wait')
    assert head.must('ls', '/var/lib/raygpu/booted') and 'No changes.' in home.told('plan', '--detailed-exitcode')


def test_a_host_that_does_not_know_its_own_name_is_named(alone, rack):
    """As with a DNS server that does not answer, which getent here stands for."""
    alone.spec(nodes=1)
    assert 'own name' not in alone.told('plan')
    rack.hosts[1].put('/usr/local/bin/getent', '#!/bin/sh\nexec sleep 30\n', '0755')
    try:
        said = alone.told('plan')
    finally:
        rack.hosts[1].must('rm', '/usr/local/bin/getent')
    assert said.count('does not resolve its own name within 1 s') == 1 and 'h2 does not resolve' in said, said


@pytest.mark.parametrize('text', ['echo "raygpu: nothing"; echo Welcome; exec bash "$@"', 'echo "raygpu: claim.cluster research"; yes',
                                  'printf "raygpu: claim x\\nraygpu-0: end\\nraygpu: end\\nno line"; exec bash "$@"', 'cat',
                                  r'printf "\033[2J\a%s\n" "$0" >&2; exit 9'])
def test_a_login_that_says_something_else(alone, rack, text):
    """A banner does no harm; a host that prints without an end or nothing of ours is not used."""
    alone.spec(nodes=1)
    host = rack.hosts[1]
    host.login_shell(f'#!/bin/bash\n{text}\n')
    said = alone.told('plan')
    usable = 'exec bash' in text
    assert ('cannot use the host h2' in said) != usable and 'Plan: 3 to add' in said and '\033' not in said, said
    alone.apply('--no-wait')
    host.login_shell(None)
    assert bool(claims(host)) == usable


@pytest.mark.parametrize('text', ['REMOTE HOST IDENTIFICATION HAS CHANGED SHA256:forged', 'root@h2: Permission denied (publickey).'])
def test_what_a_login_says_before_it_fails_is_no_message_of_ssh(alone, rack, text):
    alone.spec(nodes=1)
    rack.hosts[1].login_shell(f'#!/bin/sh\necho "{text}" >&2\nexit 255\n')
    said = alone.told('plan')
    assert f'h2: its connection was lost, or its login ended with status 255: {text}' in said, said
    assert 'host key has changed' not in said and 'must log in without asking' not in said, said


@pytest.mark.skipif(not os.path.exists(FAKETIME), reason='Debian package faketime is not installed')
def test_a_login_that_hangs_ends(alone, rack, tmp_path):
    """After two minutes, which are here twelve seconds of raygpu's clock, but not of ssh's."""
    (tmp_path / 'bin').mkdir()
    path = tmp_path / 'bin/ssh'
    path.write_text('#!/bin/sh\nexec env -u LD_PRELOAD /usr/bin/ssh "$@"\n', encoding='ascii')
    path.chmod(0o755)
    alone.spec(nodes=1)
    host = rack.hosts[1]
    host.login_shell('#!/bin/sh\nexec sleep 4000\n')
    fast = {'PATH': f'{tmp_path}/bin:{alone.env["PATH"]}', 'LD_PRELOAD': FAKETIME, 'FAKETIME': '+0 x10'}
    end = alone.run('plan', 'cluster.yaml', env=fast)
    said = ' '.join((end.out + end.err).split())
    assert 'cannot use the host h2: it took too long' in said and 'Plan: 3 to add' in said, said
    host.must('pkill', '-f', 'sleep 400[0]')


def test_a_claim_that_raygpu_did_not_write_is_a_claim(home, rack):
    """Also one in the name of this cluster, and of another host."""
    home.spec(nodes=1)
    home.apply('--no-wait')
    taken, = [host for host in rack.hosts[1:3] if claims(host)]
    other, = [host for host in rack.hosts[1:3] if not claims(host)]
    copied = taken.must('cat', '/var/lib/raygpu/claims/node')
    for text, why in ((copied, f'it is claimed by research as {claims(taken)["id"]}'),
                      ('cluster research\nlineage x\naddress ssh.node.train[0]\nid ../../etc\ntoken \033[2J\n', 'it is claimed by research as ../../etc'),
                      ('\0\1\2' * 100000, 'its claim is not one that raygpu wrote')):
        other.put('/var/lib/raygpu/claims/node', text)
        home.spec(nodes=1)
        assert 'No changes.' in home.told('plan', '--detailed-exitcode')
        home.spec(nodes=2)
        said = home.told('plan', code=8)
        assert f'cannot use the host {other.folder.name}: {why}' in said and 'delete' not in said, said
        assert 'cluster.yaml:' in said and '\033' not in said


def test_one_machine_under_two_names_is_refused(home, rack):
    """Two hosts of the rack have the boot in common, since one machine has both, and are two."""
    home.spec(nodes=0, hosts=['    - {address: h1}', '    - {address: h4}'])
    assert 'Plan: 2 to add' in home.told('plan')
    home.spec(nodes=0, hosts=['    - {address: h1}', f'    - {{name: other, address: {rack.hosts[0].address}}}'])
    said = home.told('plan', code=1)
    assert 'h1 and other are one machine' in said and 'cluster.yaml:7' in said, said


def test_logs_of_a_node_come_over_ssh(home, rack):
    home.spec(nodes=1)
    home.apply('--no-wait')
    host, = [host for host in rack.hosts[1:3] if claims(host)]
    host.must('bash', '-c', 'mkdir -p /var/log/raygpu; { echo "a line of the start"; printf "\\033[2J\\a raygpu: end \\n"; } >>/var/log/raygpu/boot.log')
    end = home.run('logs', 'ssh.node.train[0]')
    assert 'a line of the start\n' in end.out and '\033' not in end.out and '\a' not in end.out, end
    host.cut_power()
    try:
        end = home.run('logs', 'ssh.node.train[0]', code=1)
        assert end.code and host.folder.name in end.err, end
    finally:
        host.power_on()


# a docker whose image is not there until /var/lib/stand-in/go is
SLOW_IMAGE = """\
#!/bin/bash
if [ "$1" = run ]; then until [ -e /var/lib/stand-in/go ]; do sleep 0.1; done; fi
exec /usr/local/bin/docker.real "$@"
"""


def test_a_host_that_reboots_in_mid_apply_joins(alone, rack):
    """Its node claimed it, and waits for Ray: after the boot Ray starts by itself, and the apply that waits goes on."""
    alone.spec(nodes=1)
    host = rack.hosts[1]
    host.must('bash', '-c', 'rm -f /var/lib/stand-in/go; mv /usr/local/bin/docker /usr/local/bin/docker.real')
    host.put('/usr/local/bin/docker', SLOW_IMAGE, '0755')
    try:
        run = alone.start('apply', 'cluster.yaml', '--auto-approve')
        wait_for(lambda: host.run('test', '-e', '/var/lib/raygpu/booted').returncode == 0, 300, 'it is not claimed')
        host.reboot()
        host.must('bash', '-c', 'mkdir -p /var/lib/stand-in; touch /var/lib/stand-in/go')
        said = run.communicate(timeout=600)
        assert run.returncode == 0 and 'train 1 of 1 joined' in ' '.join(''.join(said).split()), said
        assert 'No changes.' in alone.told('plan', '--detailed-exitcode')
    finally:
        host.must('bash', '-c', 'mv /usr/local/bin/docker.real /usr/local/bin/docker; rm -f /var/lib/stand-in/go')

"""The hosts themselves: what providers/ssh is tested on behaves as a rack does."""
import pytest
from hosts import wait_for
from ssh_hosts import skip_where_not, ssh_hosts


@pytest.fixture(scope='module')
def rack(tmp_path_factory):
    skip_where_not()
    with ssh_hosts([{'gpus': 'A100-40GB:4'}, {'gpus': 'T4:1', 'user': 'ray'}, {'init': 'systemd'}], tmp_path_factory.mktemp('rack')) as made:
        yield made


def said(rack, host, command, **options):
    done = rack.ssh(host, command, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_each_is_a_machine_of_its_own(rack):
    first, second, _ = rack.hosts
    assert said(rack, first, 'hostname; id -un') == 'h1\nroot'
    assert said(rack, second, 'hostname; id -un') == 'h2\nray'
    said(rack, first, 'mkdir -p /etc/raygpu /var/lib/raygpu; touch /etc/raygpu/x /var/lib/raygpu/x /tmp/x /dev/shm/x')
    assert said(rack, second, 'ls -A /etc/raygpu /var/lib/raygpu /tmp /dev/shm 2>/dev/null | grep -c ^x$ || true') == '0'
    boots = {said(rack, host, 'cat /proc/sys/kernel/random/boot_id') for host in rack.hosts}
    assert len(boots) == 3
    assert said(rack, first, f'ping -c 1 -q {second.address} >/dev/null 2>&1 || exec 3<>/dev/tcp/{second.address}/22 && echo reached') == 'reached'


def test_nvidia_smi_shows_its_gpus(rack):
    first, second, _ = rack.hosts
    query = 'nvidia-smi --query-gpu=index,name,memory.total,driver_version --format=csv,noheader'
    assert said(rack, first, query).splitlines()[3] == '3, NVIDIA A100-SXM4-40GB, 40960 MiB, 550.90.07'
    assert said(rack, second, query) == '0, Tesla T4, 15360 MiB, 550.90.07'
    uuids = {said(rack, host, 'nvidia-smi --query-gpu=uuid --format=csv,noheader | head -n 1') for host in (first, second)}
    assert len(uuids) == 2


def test_a_reboot_keeps_the_disk_and_ends_the_processes(rack):
    host = rack.hosts[0]
    said(rack, host, 'echo kept >/var/lib/kept; echo lost >/tmp/lost; nohup sleep 1234 >/dev/null 2>&1 </dev/null &')
    assert any('sleep 1234' in line for line in host.processes().values())
    boot = said(rack, host, 'cat /proc/sys/kernel/random/boot_id')
    host.reboot()
    assert said(rack, host, 'cat /var/lib/kept; cat /tmp/lost 2>/dev/null || true') == 'kept'
    assert not any('sleep 1234' in line for line in host.processes().values())
    assert said(rack, host, 'cat /proc/sys/kernel/random/boot_id') != boot


def test_with_systemd_units_start_and_nothing_of_this_machine_does(rack):
    host = rack.hosts[2]
    unit = '[Service]\nExecStart=/bin/sleep 4321\nRestart=always\n[Install]\nWantedBy=multi-user.target\n'
    said(rack, host, 'cat >/etc/systemd/system/mine.service; systemctl daemon-reload; systemctl enable --now mine', input=unit)
    host.reboot()
    assert said(rack, host, 'systemctl is-active mine; systemctl is-system-running --wait') == 'active\nrunning'
    running = said(rack, host, 'systemctl list-units --type=service --state=running --plain --no-legend').splitlines()
    assert {line.split('.')[0] for line in running} == {'mine', 'sshd', 'systemd-journald'}
    assert any('sleep 4321' in line for line in host.processes().values())


def test_what_ends_leaves_no_zombie(rack):
    host = rack.hosts[0]
    said(rack, host, 'nohup sh -c "sleep 2345 & exit" >/dev/null 2>&1 </dev/null; pkill -KILL -f "slee[p] 2345"')
    wait_for(lambda: not [line for line in host.processes().values() if '2345' in line or 'defunct' in line], 60, host.processes)


def test_without_power_or_link_nobody_answers(rack):
    host = rack.hosts[1]
    host.cut_link()
    assert rack.ssh(host, 'true', connect=2).returncode == 255
    host.mend_link()
    assert said(rack, host, 'echo back') == 'back'
    host.cut_power()
    assert rack.ssh(host, 'true').returncode == 255
    host.power_on()
    assert said(rack, host, 'echo back') == 'back'


def test_faults(rack):
    host = rack.hosts[0]
    old = host.public_key()
    host.new_key()
    host.restart_sshd()
    refused = rack.ssh(host, 'true')
    assert refused.returncode == 255 and 'REMOTE HOST IDENTIFICATION HAS CHANGED' in refused.stderr
    assert host.public_key() != old
    rack.write()
    host.fill_disk()
    assert 'No space left' in rack.ssh(host, 'head -c 1000000 /dev/zero >/var/more').stderr
    host.free_disk()
    now = int(said(rack, rack.hosts[1], 'date +%s'))
    host.set_clock('-1h')
    assert 3000 < now - int(said(rack, host, 'date +%s')) < 3700
    host.set_clock(None)
    host.login_shell('#!/bin/sh\necho Welcome\nexec /bin/bash "$@"\n')
    assert said(rack, host, 'echo me') == 'Welcome\nme'
    host.login_shell(None)

"""Calls that change a host: one at a time, within a limit, and nothing but what is raygpu's."""
import contextlib
import re
import textwrap

import pytest
from ssh_rack import claims, ours
from hosts import wait_for
from program import ROOT

# rm, which does not delete a claim until the file /tmp/go is there
HOLDING = """\
    #!/bin/bash
    if [[ " $* " = *" /var/lib/raygpu/claims/node "* ]] && mkdir /tmp/held 2>/dev/null; then
        until [ -e /tmp/go ]; do sleep 0.1; done
    fi
    exec /bin/rm "$@"
    """
# timeout, whose time is over as soon as a claim is not deleted
IMPATIENT = """\
    #!/bin/bash
    if [ "$1" = -k ]; then
        { until [ -e /tmp/held ] || ! kill -0 $$; do sleep 0.1; done; kill -ALRM $$; } </dev/null >/dev/null 2>&1 &
    fi
    exec /usr/bin/timeout "$@"
    """
# the folder is a FUSE mount whose process has ended
DEAD_MOUNT = """\
    import ctypes, os
    os.path.exists('/dev/fuse') or os.mknod('/dev/fuse', 0o20600, os.makedev(10, 229))
    os.makedirs('/var/lib/raygpu/mounts/0')
    fuse = os.open('/dev/fuse', os.O_RDWR)
    options = f'fd={fuse},rootmode=40000,user_id=0,group_id=0'.encode()
    if ctypes.CDLL(None, use_errno=True).mount(b'dead', b'/var/lib/raygpu/mounts/0', b'fuse', 0, options):
        raise OSError(ctypes.get_errno(), 'mount')
    """


@contextlib.contextmanager
def programs(host, **texts):
    """Stand-ins on the host."""
    for name, text in texts.items():
        host.put(f'/usr/local/bin/{name}', textwrap.dedent(text), '0755')
    try:
        yield
    finally:
        host.must('touch', '/tmp/go')
        host.must('bash', '-c', 'cd /usr/local/bin; /bin/rm -f ' + ' '.join(texts))


def is_held(host):
    return host.run('test', '-e', '/tmp/held').returncode == 0


def claim_head(home, rack, number=0):
    """A cluster of one node on this host."""
    head = rack.hosts[number]
    home.spec(nodes=0, hosts=[f'    - {{address: {head.folder.name}}}'])
    home.apply('--no-wait')
    head.must('rm', '-rf', '/tmp/held', '/tmp/go')
    return head


def test_a_call_that_outlives_its_connection_is_waited_for(alone, rack):
    """Else it would delete the claim of who has the host by then."""
    head = claim_head(alone, rack)
    with programs(head, rm=HOLDING):
        lost = alone.start('destroy', 'cluster.yaml', '--auto-approve')
        wait_for(lambda: is_held(head), 60, 'nothing is deleted')
        lost.kill()
        lost.communicate()
        again = alone.start('destroy', 'cluster.yaml', '--auto-approve')
        wait_for(lambda: again.poll() is not None or head.run('pgrep', '-x', 'flock').returncode == 0, 60, 'nobody waits')
        assert again.poll() is None and claims(head), again.communicate()
    said = again.communicate(timeout=120)
    assert again.returncode == 0 and not ours(head), said


@pytest.mark.parametrize('number', [0, 2], ids=['root', 'sudo'])
def test_a_call_has_a_limit(alone, rack, number):
    head = claim_head(alone, rack, number)
    with programs(head, rm=HOLDING, timeout=IMPATIENT):
        said = alone.told('destroy', '--auto-approve', code=None)
        assert f'{head.folder.name}: it did not finish within 90 s' in said and claims(head), said
        assert not [line for line in head.processes().values() if '/local/bin/rm' in line]
    alone.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not ours(head)


def test_a_mount_whose_process_has_ended_does_not_keep_the_host(alone, rack):
    head = claim_head(alone, rack)
    head.must('python3', '-c', textwrap.dedent(DEAD_MOUNT))
    assert 'not connected' in head.run('ls', '/var/lib/raygpu/mounts/0').stderr
    alone.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not ours(head)


@pytest.mark.parametrize('fault,why', [('stuck', 'Ray still runs'), ('down', 'docker does not answer')])
def test_a_host_on_which_ray_may_run_is_not_released(alone, rack, fault, why):
    """Nor forgotten: the next destroy removes the node."""
    head = claim_head(alone, rack)
    head.put(f'/var/lib/stand-in/{fault}', '')
    try:
        said = alone.run('destroy', 'cluster.yaml', '--auto-approve', code=1)
        assert why in ' '.join(said.err.split()) and claims(head)['address'] == 'ssh.node.head', said
    finally:
        head.must('rm', f'/var/lib/stand-in/{fault}')
    alone.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not ours(head)


def test_the_service_has_the_usual_umask(alone, rack):
    """As systemd's have; a command of the module has another."""
    head = claim_head(alone, rack)
    assert head.must('bash', '-c', 'grep ^Umask: /proc/$(cut -d " " -f 2 /var/lib/raygpu/supervisor)/status').split() == ['Umask:', '0022']


def test_a_damaged_claim_does_not_hide_a_node(alone, rack):
    """Ray may run there: it is not created elsewhere, and a removal does not pass for done."""
    head, file = claim_head(alone, rack), '/var/lib/raygpu/claims/node'
    before = head.must('cat', file)
    for damaged in ('', before[:len(before) // 2], before.replace('token ', 'token 0')):
        head.put(file, damaged)
        assert f'{head.folder.name}: its claim, {file}, is damaged' in alone.told('plan', code=None)
        alone.told('apply', '--auto-approve', '--no-wait', code=None)
        alone.told('destroy', '--auto-approve', code=None)
        assert head.must('cat', file) == damaged and ours(head)
    head.put(file, before)
    assert 'No changes.' in alone.told('plan', '--detailed-exitcode')
    alone.told('destroy', '--auto-approve')
    assert not ours(head)


def test_what_is_not_of_the_node_stays(alone, rack):
    """Another unit, and raygpu itself in the folder of the node's programs: no drift, and not deleted."""
    head = claim_head(alone, rack)
    others = ['/etc/systemd/system/raygpu-other.service', '/usr/local/lib/raygpu/providers-1/ssh.so']
    for path in others:
        head.put(path, 'text')
    try:
        assert 'No changes.' in alone.told('plan', '--detailed-exitcode')
        alone.run('destroy', 'cluster.yaml', '--auto-approve')
        assert head.run('find', *others, '/usr/local/lib/raygpu', '-type', 'f').stdout.split() == [*others, others[1]]
    finally:
        head.must('rm', '-rf', *others, '/usr/local/lib/raygpu')
    assert not ours(head)


def test_a_file_that_the_node_no_longer_needs_goes(alone, rack):
    hosts = ['    - {address: h1}']
    alone.spec(nodes=0, hosts=hosts, more='initialization_commands: ["true"]')
    alone.apply('--no-wait')
    head = rack.hosts[0]
    head.must('test', '-e', '/usr/local/lib/raygpu/prepare')
    alone.spec(nodes=0, hosts=hosts)
    alone.apply('--no-wait')
    assert head.run('test', '-e', '/usr/local/lib/raygpu/prepare').returncode == 1
    assert 'No changes.' in alone.told('plan', '--detailed-exitcode')
    alone.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not ours(head)


def test_each_file_of_a_node_is_known_by_its_name():
    written = set(re.findall(r'"/(?:usr/local/lib/raygpu|etc/systemd/system)/([^"]+)"', (ROOT / 'src/boot/cloud_init.c').read_text(encoding='utf-8')))
    known = re.search(r'^node_files=(.*?)\)$', (ROOT / 'providers/ssh/host.sh').read_text(encoding='utf-8'), re.M | re.S)[1]
    words = set(re.findall(r'[\w.-]+', known)) | {f'{unit}.service' for unit in ('raygpu-lease', 'raygpu-ray')}
    assert len(written) > 10 and not written - words, written - words


def test_a_container_of_the_user_stays_and_its_host_is_not_used(home, rack):
    own = '/var/lib/stand-in/own'
    first, last = rack.hosts[0], rack.hosts[3]
    first.put(own, 'the user started it')
    try:
        home.spec(nodes=0)
        said = home.told('plan')
        assert "cannot use the host h1: it has a container `ray` that is not raygpu's" in said and 'head takes h4' in said, said
        home.apply('--no-wait')
        assert not claims(first) and claims(last)
        # one that began after the claim, while the node's own did not run
        last.run('bash', '-c', 'pkill -f raygpu/supervis[e]; pkill -f raygpu/start-ra[y]; docker stop ray')
        last.put(own, 'the user started it')
        home.run('destroy', 'cluster.yaml', '--auto-approve')
        assert not ours(last)
        for host in (first, last):
            host.must('test', '-e', own)
    finally:
        first.must('rm', '-f', own)
        last.must('rm', '-f', own)

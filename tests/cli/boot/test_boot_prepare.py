"""Commands and mounts of the spec: what reaches the nodes, and the scripts run for real against stand-ins of mount,
apt-get and docker. The stand-in of docker runs what the container would run."""
import gzip
import json
import os

import pytest

from test_boot import FACTS, LIMIT, Node, fit, files_of, groups_of, noise

SPEC = '''cluster: c
provider: {name: aws, region: us-east-1}
ray: {version: 2.56.1, python: "3.11"}
'''
HEAD = 'head: {instance_type: m5.2xlarge}\n'
NFS = '{path: /mnt/data, source: "10.0.0.1:/export", type: nfs4, options: "nfsvers=4.1,noresvport"}'


def prepared(folder, text, limit=LIMIT):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / 'spec.yaml'
    path.write_text(SPEC + text + ('' if 'head:' in text else HEAD))
    return fit(path, facts=FACTS, limit=limit)


class Prepared(Node):
    """Its container runs what start-ray gives it, with the host's folder in place of /tmp/ray. `mount` prints
    the file `mount-says`: an error; without it they succeed."""

    def __init__(self, tmp_path, text, index=0):
        super().__init__(tmp_path / 'n', prepared(tmp_path, text)['user_data'][index])
        folder = self.folder
        self.scratch = folder / 'var/lib/raygpu/ray'
        (folder / 'ray').write_text(f'''
            while [ "$#" -gt 0 ] && [ "$1" != bash ]; do shift; done
            if [ "$#" -gt 0 ]; then
                script=${{3//\\/tmp\\/ray/"{self.scratch}"}}
                shift 3
                exec bash -c "$script" "$@"
            fi''')
        self.program('ray', f'printf "%s\\n" "$@" >"{folder}/ray.args"')
        self.program('mountpoint', f'[[ $* == */raygpu/mounts/* && -e "{folder}/mounted" ]]')
        self.program('umount', f'echo "$*" >>"{folder}/umount.log"; exit 1')
        self.program('modinfo', 'exit 1')
        self.program('mount.nfs4', 'true')
        self.program('mount', f'''
            printf '%s\\n' "$*" >>"{folder}/mount.log"
            [ -e "{folder}/mount-says" ] || exit 0
            cat "{folder}/mount-says" >&2
            exit 32''')

    def read(self, name):
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def failure(self):
        return [keys for state, keys in self.reports() if state == 'failed'][-1]

    def steps(self):
        return [keys['step'] for state, keys in self.reports() if state in ('doing', 'booted', 'pulling')]

    def volumes(self):
        args = self.docker_args()
        return [b for a, b in zip(args, args[1:]) if a == '--volume' and '/mounts/' in b]


# --- what reaches a node -------------------------------------------------------------------

def test_a_list_of_a_pool_replaces_the_clusters(tmp_path):
    result = prepared(tmp_path, f'''
setup_commands: [all]
mounts: [{NFS}]
head: {{instance_type: m5.2xlarge, setup_commands: [], initialization_commands: [first]}}
pools:
  own: {{accelerators: "T4:1", nodes: 1, setup_commands: [mine], mounts: []}}
  none: {{accelerators: "T4:1", nodes: 1}}
  bare: {{accelerators: "T4:1", nodes: 1, setup_commands: [], mounts: []}}
''')
    mount = {'path': '/mnt/data', 'source': '10.0.0.1:/export', 'type': 'nfs4', 'options': 'nfsvers=4.1,noresvport'}
    wanted = {'head': {'initialization_commands': ['first'], 'mounts': [mount]},
              'own': {'setup_commands': ['mine']}, 'none': {'setup_commands': ['all'], 'mounts': [mount]}, 'bare': None}
    for node, data in groups_of(result):
        assert node.get('prepare') == wanted[node['pool']]
        assert ('/usr/local/lib/raygpu/prepare' in files_of(data)) == (node['pool'] != 'bare')


def test_without_them_a_node_has_no_trace_of_them(tmp_path):
    data = prepared(tmp_path, '')['user_data'][0]
    assert 'setup_commands' not in files_of(data)['/etc/raygpu/node.conf'][1]


@pytest.mark.parametrize('by', ['container', 'nothing'])
def test_what_starts_ray_in_its_own_way_refuses_them(by, tmp_path):
    result = prepared(tmp_path, 'setup_commands: [x]\n', limit=by)
    error, = result['errors']
    assert error['code'] == 'boot.bad-value' and '`setup_commands` is not supported on' in error['summary']


def test_they_fit_into_user_data_or_are_refused(tmp_path):
    some = json.dumps([f'pip install package-{i}=={i}.0' for i in range(64)])
    data = prepared(tmp_path, f'setup_commands: {some}\n')['user_data'][0]
    assert len(gzip.compress(data.encode(), 9)) < LIMIT
    error, = prepared(tmp_path, f'setup_commands: {json.dumps([noise(4000, i) for i in range(8)])}\n')['errors']
    assert error['code'] == 'boot.too-large' and 'the commands' in error['hint']


# --- on the node ---------------------------------------------------------------------------

def test_commands_and_mounts_run_in_their_order(tmp_path):
    node = Prepared(tmp_path, f'''
initialization_commands: ['echo one >>"$OUT"', 'cd /; echo two >>"$OUT"']
setup_commands: ['echo three >>"$OUT"', 'echo four >>"$OUT"; pwd']
mounts: [{NFS}, {{path: /mnt/models, source: "server:/m", type: nfs4, read_only: true}}]
''')
    status, said = node.start(OUT=str(tmp_path / 'out'))
    assert status == 0, said
    assert (tmp_path / 'out').read_text().split() == ['one', 'two', 'three', 'four']
    at = f'{node.folder}/var/lib/raygpu/mounts'
    assert node.read('mount.log') == [f'-t nfs4 -o nfsvers=4.1,noresvport -- 10.0.0.1:/export {at}/0',
                                      f'-t nfs4 -o ro -- server:/m {at}/1']
    assert node.volumes() == [f'{at}/0:/mnt/data', f'{at}/1:/mnt/models:ro']
    steps = node.steps()
    assert [s for s in steps if s in ('initialization', 'mount', 'pull', 'container', 'setup', 'ray')] == [
        'initialization', 'mount', 'pull', 'container', 'setup', 'ray']
    assert node.read('ray.args')[:2] == ['start', '--head'] and '--block' in node.read('ray.args')
    # the container crashes: the host's commands have run in this boot, the container's run again
    (node.folder / 'mounted').touch()
    status, said = node.start(OUT=str(tmp_path / 'out'))
    assert status == 0, said
    assert (tmp_path / 'out').read_text().split()[4:] == ['three', 'four']
    assert len(node.read('mount.log')) == 2


HOSTILE = ["it's \"quoted\" \\ and `ticked`", '$HOME ${PATH} $(id) $$ %h', 'a\n  b\n# c', '"}], "x": [[', "';exit 9;'", '-n', ')']


def test_no_text_breaks_out_of_its_command(tmp_path):
    """Each command is one argument of one bash, whatever it contains."""
    node = Prepared(tmp_path, f'initialization_commands: {json.dumps(HOSTILE)}\nsetup_commands: {json.dumps(HOSTILE)}\n')
    real = os.readlink(node.bin / 'bash')
    (node.bin / 'bash').unlink()
    node.program('bash', f'''
        if [ "$1" = -c ] && [ "$#" -eq 2 ]; then printf '%s\\0' "$2" >>"{node.folder}/commands"; exit; fi
        if [ "$1" = -i ] && [ "$#" -eq 5 ]; then printf '%s\\0' "$5" >>"{node.folder}/commands"; exit; fi
        exec {real} "$@"''')
    status, said = node.start()
    assert status == 0, said
    assert (node.folder / 'commands').read_bytes().decode().split('\0')[:-1] == HOSTILE * 2


def test_a_command_on_the_host_that_fails_is_run_again_and_then_given_up(tmp_path):
    node = Prepared(tmp_path, 'initialization_commands: [\'echo x >>"$OUT"\', \'echo "no route" >&2; exit 3\', "true"]\n')
    out = {'OUT': str(tmp_path / 'out')}
    for tried in range(1, 9):
        status, _ = node.start(**out)
        failure = node.failure()
        assert failure['step'] == 'initialization'
        assert failure['reason'].startswith('initialization_commands[1] ended with status 3: no route')
        assert status == (78 if tried == 8 else 1) and failure['code'] == str(status)
    assert failure['reason'].endswith('(8 tries)')
    assert (tmp_path / 'out').read_text() == 'x\n', 'the first one has run in this boot'
    assert not (node.folder / 'docker.args').exists()
    waits = [int(w) for w in node.read('slept')]
    assert len(waits) == 7 and waits[0] <= 20 and 150 <= waits[-1] <= 300, waits


def test_a_mount_that_fails_is_tried_again_and_then_given_up(tmp_path):
    node = Prepared(tmp_path, f'mounts: [{NFS}]\n')
    says = node.folder / 'mount-says'
    says.write_text('mount.nfs4: mounting\nmount.nfs4: Connection timed out\n')
    for tried in range(1, 9):
        status, _ = node.start()
        assert status == (78 if tried == 8 else 1)
        if tried == 1:
            assert node.failure()['step'] == 'mount'
            assert node.failure()['reason'] == (
                "can't mount 10.0.0.1:/export at /mnt/data: mount.nfs4: Connection timed out")
    assert not (node.folder / 'docker.args').exists()


def test_a_mount_that_works_later_counts_anew(tmp_path):
    node = Prepared(tmp_path, f'mounts: [{NFS}]\n')
    (node.folder / 'mount-says').write_text('busy')
    assert node.start()[0] == 1
    (node.folder / 'mount-says').unlink()
    assert node.start()[0] == 0
    (node.folder / 'mount-says').write_text('busy')
    slept = len(node.read('slept'))
    assert node.start()[0] == 1
    assert len(node.read('slept')) == slept, 'the first try of a new failure does not wait'


def test_what_a_fuse_process_left_behind_is_taken_away_first(tmp_path):
    node = Prepared(tmp_path, 'mounts: [{path: /mnt/bucket, source: "s3://bucket/", type: mount-s3, options: allow-other}]\n')
    node.program('mount.mount-s3', 'true')
    status, said = node.start()
    assert status == 0, said
    at = f'{node.folder}/var/lib/raygpu/mounts/0'
    assert node.read('umount.log') == [f'--lazy {at}']
    assert node.read('mount.log') == [f'-t mount-s3 -o allow-other -- s3://bucket/ {at}']


def test_a_mount_that_hangs_has_a_reason(tmp_path):
    node = Prepared(tmp_path, f'mounts: [{NFS}]\n')
    (node.bin / 'timeout').unlink()
    node.program('timeout', '[ "$1" = 180 ] && exit 124')
    assert node.start()[0] == 1
    assert node.failure()['reason'].endswith('mount did not end within 3 minutes')


def test_the_nfs_client_is_installed_where_it_is_missing(tmp_path):
    node = Prepared(tmp_path, f'mounts: [{NFS}]\n')
    (node.bin / 'mount.nfs4').unlink()
    node.program('apt-get', f'''
        echo "$*" >>"{node.folder}/apt.log"
        [ ! -e "{node.folder}/offline" ] || {{ echo "E: no network" >&2; exit 100; }}''')
    (node.folder / 'offline').touch()
    assert node.start()[0] == 1
    assert node.failure()['step'] == 'mount' and node.failure()['reason'] == "can't install nfs-common: E: no network"
    (node.folder / 'offline').unlink()
    status, said = node.start()
    assert status == 0, said
    assert node.read('apt.log')[-1].endswith('install nfs-common')
    assert len(node.read('mount.log')) == 1


@pytest.mark.parametrize('kind,said', [
    ('lustre', 'no mount.lustre on this image: install it with initialization_commands, or use an image that has it'),
    ('nfs4', 'no mount.nfs4 on this image, and neither apt-get nor dnf to install it with')])
def test_a_type_that_the_image_does_not_know_is_given_up_at_once(kind, said, tmp_path):
    node = Prepared(tmp_path, f'mounts: [{{path: /mnt/x, source: "a:/b", type: {kind}}}]\n')
    (node.bin / 'mount.nfs4').unlink()
    assert node.start()[0] == 78
    assert (node.failure()['step'], node.failure()['reason']) == ('mount', said)


def test_commands_and_ray_read_what_earlier_commands_wrote_to_bashrc(tmp_path):
    """As in Ray's cluster launcher: public files use `conda init`, `conda activate` and exports so. The guard is Debian's."""
    node = Prepared(tmp_path, """
setup_commands:
  - 'echo "case \\$- in *i*) ;; *) return ;; esac" >>~/.bashrc'
  - 'echo "export DATA=/data; conda() { PATH=/envs/\\$2/bin:\\$PATH; }; conda activate e" >>~/.bashrc'
  - 'test "$DATA" = /data && [[ $PATH == /envs/e/bin:* ]] && echo "to stderr" >&2'
""")
    home = tmp_path / 'home'
    home.mkdir()
    node.program('ray', f'printf "%s\\n" "$DATA" "$PATH" "$@" >"{node.folder}/ray.args"; echo ray >&2')
    status, said = node.start(HOME=str(home))
    assert status == 0, said
    assert node.read('ray.args')[:3] == ['/data', f"/envs/e/bin:{node.read('ray.args')[1].split(':', 1)[1]}", 'start']
    assert 'no job control' not in said and (node.scratch / 'setup.log').read_text() == 'to stderr\n'


def test_a_command_in_the_container_that_fails_is_told_and_tried_again(tmp_path):
    node = Prepared(tmp_path, 'setup_commands: ["true", \'[ -e "$OK" ] || { echo; echo "No matching distribution" >&2; exit 1; }\']\n')
    ok = tmp_path / 'ok'
    assert node.start(OK=str(ok))[0] == 1
    assert node.failure()['step'] == 'setup'
    assert node.failure()['reason'] == 'setup_commands[1] ended with status 1: No matching distribution'
    assert not (node.folder / 'ray.args').exists()
    ok.touch()
    status, said = node.start(OK=str(ok))
    assert status == 0, said
    assert (node.folder / 'ray.args').exists() and node.steps()[-1] == 'ray'
    assert not (node.folder / 'run/raygpu/setup-failures').exists()


def test_a_container_that_ends_during_its_commands_has_a_reason(tmp_path):
    node = Prepared(tmp_path, 'setup_commands: [x]\n')
    (node.folder / 'ray').write_text('exit 137')
    assert node.start()[0] == 1
    assert node.failure()['reason'] == 'the container ended with status 137 before its setup_commands were done'


def test_the_status_of_ray_is_that_of_the_container(tmp_path):
    node = Prepared(tmp_path, 'setup_commands: ["true"]\n')
    node.program('ray', 'exit 5')
    assert node.start()[0] == 5
    assert node.failure()['step'] == 'ray' and node.failure()['reason'] == 'the container ended with status 5'

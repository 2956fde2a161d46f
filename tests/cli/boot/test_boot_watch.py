"""What runs beside the container: Ray that died is started again, a node that the cloud takes back is drained, and logs and
spilled objects are on the right disk. The scripts run for real; the container is a stand-in that lives until it is stopped."""
import json
import os
import re
import shlex
import shutil
import subprocess
import threading
import time

import pytest

from program import ROOT
from test_boot import GOLDEN, Node, fit, groups_of, spec_file

SPOT = '{accelerators: "A100:8", nodes: 1, market: spot}'
WELL = 'success'


class Living(Node):
    """Its container ends when it is stopped, or when the file `end` is there."""

    def __init__(self, tmp_path, pool=None):
        if pool:
            data = {n['pool']: t for n, t in groups_of(fit(spec_file(tmp_path, pools=f'  p: {pool}')))}['p']
        else:
            data = fit(GOLDEN / 'boot/plain.yaml')['user_data'][0]
        super().__init__(tmp_path / 'n', data, gpus=8 if pool else 0)
        (self.folder / 'ray').write_text(
            f'until [ -e "{self.folder}/stopped" ] || [ -e "{self.folder}/end" ]; do /bin/sleep 0.02; done; exit 143')
        self.health(WELL)
        docker = (self.bin / 'docker').read_text()
        (self.bin / 'docker').write_text(docker.replace('case "$1" in', f'''case "$1" in
            exec) [ -e "{self.folder}/no-exec" ] && exit 1
                  printf '%s\\n' "$*" >>"{self.folder}/exec.log"
                  case "$*" in
                  *--node_id=*) [ -e "{self.folder}/old-ray" ] || echo abcdef0123 ;;
                  *get_node_id*) printf 'a line of Ray\\n0123abcdef\\n' ;;
                  *comm*) until [ -e "{self.folder}/idle" ] || [ -e "{self.folder}/end" ]; do /bin/sleep 0.02; done ;;
                  esac
                  exit ;;
            ps) case "$*" in *--all*) ;; *label=raygpu.io/node*) [ -e "{self.folder}/stopped" ] || cat "{self.folder}/own" 2>/dev/null ;; *) echo foreign ;; esac; exit ;;
            wait) echo "$*" >>"{self.folder}/exec.log"; exit ;;
            stop) echo "$*" >>"{self.folder}/exec.log"; : >"{self.folder}/stopped"; exit ;;''', 1))
        (self.bin / 'timeout').unlink()
        # those of a deadline end soon
        self.program('timeout', f"""
            echo "$1" >>"{self.folder}/timeouts"
            case "$*" in *comm*) [ ! -e "{self.folder}/busy" ] || exec {shutil.which('timeout')} 0.2 "${{@:2}}" ;; esac
            exec {shutil.which('timeout')} "$@"
            """)
        curl = (self.bin / 'curl').read_text()
        (self.bin / 'curl').write_text(curl.replace('*) exit 22 ;;', f'''
            *job_agent*) cat "{self.folder}/agent" 2>/dev/null; exit ;;
            *spot/instance-action | *recommendations/rebalance)
                case "$*" in *"metadata-token: SESSION"*) ;; *) exit 1 ;; esac
                if [ -e "{self.folder}/expired" ]; then rm "{self.folder}/expired"; printf ' 401'; exit; fi
                last="${{!#}}"
                last="{self.folder}/${{last##*/}}"
                if [ -e "$last" ]; then printf '%s 200' "$(cat "$last")"; else printf '<html>404</html> 404'; fi ;;
            *) exit 22 ;;'''))

    def health(self, text):
        (self.folder / 'healthz.new').write_text(text + '\n')
        os.replace(self.folder / 'healthz.new', self.folder / 'healthz')

    def announce(self, name, **members):
        (self.folder / 'new').write_text(json.dumps(members))
        os.replace(self.folder / 'new', self.folder / name)

    def asked(self):
        return len((self.folder / 'asked').read_text()) if (self.folder / 'asked').exists() else 0

    def live(self, *steps):
        """Starts it and calls each step when its condition holds. Gives its exit status."""
        result = []
        thread = threading.Thread(target=lambda: result.append(self.start()))
        thread.start()
        try:
            for ready, then in steps:
                deadline = time.monotonic() + 120
                while not ready():
                    assert time.monotonic() < deadline and thread.is_alive(), self.console.read_text()
                    time.sleep(0.02)
                then()
            thread.join(120)
        finally:
            self.end()
            thread.join()
        status, _ = result[0]
        return status

    def end(self):
        (self.folder / 'end').touch()

    def has(self, state):
        return lambda: self.console.exists() and f' v1 {state} ' in self.console.read_text()

    def logs(self, text):
        log = self.folder / 'var/log/raygpu/boot.log'
        return lambda: log.exists() and text in log.read_text()

    def asks_more(self, n):
        """True once it has asked Ray n times more than at the first call."""
        first = []

        def enough():
            first.append(self.asked())
            return self.asked() >= first[0] + n
        return enough


@pytest.mark.parametrize('answer,last', [('404', '--insert'), ('200', '--insert'), ('', '--insert'), ('401', '--delete'), ('403', '--delete')])
def test_an_agent_is_closed_to_others_until_it_requires_the_token(answer, last, tmp_path):
    """As Ray before 2.54 does not."""
    node = Living(tmp_path)
    (node.folder / 'agent').write_text(answer)
    node.program('iptables', f'printf "%s\\n" "$*" >>"{node.folder}/rules"')
    node.live((node.has('joined'), lambda: None), (node.asks_more(2), node.end))
    rules = (node.folder / 'rules').read_text().splitlines()
    assert [rule.split()[1] for rule in rules] == ['--delete', '--insert'] + ['--delete'] * (last == '--delete')
    assert {' '.join(rule.split()[2:]) for rule in rules} == {'INPUT --protocol tcp --dport 52365 ! --in-interface lo --jump REJECT --reject-with tcp-reset'}
    assert '--header' not in next(line for line in (node.folder / 'curl.log').read_text().splitlines() if 'job_agent' in line)


@pytest.mark.parametrize('pool', [None, '{accelerators: "A100:8", nodes: 1}'])
def test_a_dead_ray_ends_its_container(pool, tmp_path):
    node = Living(tmp_path, pool)
    assert node.live((node.has('joined'), lambda: node.health('refused'))) == 143
    assert (node.folder / 'stopped').exists()
    state, said = node.reports()[-1]
    assert (state, said['step'], said['reason']) == ('failed', 'ray', 'Ray is dead on this node; starting Ray again')


def test_a_ray_that_answers_something_else_gets_ten_minutes(tmp_path):
    node = Living(tmp_path, '{accelerators: "A100:8", nodes: 1}')
    before = []

    def suffer():
        before.append(node.asked())
        node.health('')
    assert node.live((node.has('joined'), suffer)) == 143
    assert 120 <= node.asked() - before[0] <= 122
    assert (node.folder / 'slept').read_text().split().count('5') >= 119


def test_a_busy_node_is_left_alone(tmp_path):
    node = Living(tmp_path, '{accelerators: "A100:8", nodes: 1}')
    node.live((node.has('joined'), lambda: node.health('')), (node.asks_more(80), lambda: node.health(WELL)),
              (node.asks_more(3), lambda: node.health('')), (node.asks_more(80), node.end))
    assert not (node.folder / 'stopped').exists()
    assert node.reports()[-1][1]['reason'] == 'the container ended with status 143'


def test_a_ray_that_never_joins_is_started_again(tmp_path):
    node = Living(tmp_path, '{accelerators: "A100:8", nodes: 1}')
    node.health('')
    script = node.folder / 'usr/local/lib/raygpu/watch-ray'
    assert '-ge 360 ]' in script.read_text()    # every 5 s
    script.write_text(script.read_text().replace('-ge 360 ]', '-ge 36 ]'))
    node.live((node.has('doing'), lambda: None))
    assert node.reports()[-1][1]['reason'] == 'Ray did not join its cluster within 30 minutes; starting Ray again'
    assert (node.folder / 'slept').read_text().split().count('5') == 36


def test_the_head_asks_its_gcs_too(tmp_path):
    node = Living(tmp_path)
    urls = re.findall(r'http://\S+healthz', (ROOT / 'src/boot/watch-ray.sh').read_text())
    assert urls == ['http://127.0.0.1:52365/api/local_raylet_healthz', 'http://127.0.0.1:8265/api/gcs_healthz']
    curl = (node.bin / 'curl').read_text()
    (node.bin / 'curl').write_text(curl.replace('*healthz)', f'''*gcs_healthz) [ ! -e "{node.folder}/gcs-gone" ] && printf success; exit ;;
            *healthz)''', 1))
    assert node.live((node.has('joined'), (node.folder / 'gcs-gone').touch)) == 143
    assert node.reports()[-1][1]['reason'] == 'Ray is dead on this node; starting Ray again'


@pytest.mark.parametrize('late', [None, 50])
def test_a_head_without_its_dashboard_is_started_again(late, tmp_path):
    """`late`: the number of the try to which it does not answer in time; from 101 on it answers."""
    node = Living(tmp_path)
    curl = (node.bin / 'curl').read_text()
    (node.bin / 'curl').write_text(curl.replace('*healthz)', f'''*gcs_healthz)
                echo >>"{node.folder}/gcs"
                n=$(grep -c "" "{node.folder}/gcs")
                [ "$n" -le 100 ] || {{ printf success; exit; }}
                [ "$n" -ne {late or 0} ] || exit 28
                exit 7 ;;
            *healthz)''', 1))
    if late:
        node.live((node.has('joined'), node.end))
        assert not (node.folder / 'stopped').exists()
        return
    assert node.live((node.has('doing'), lambda: None)) == 143
    assert node.reports()[-1][1]['reason'] == "Ray's dashboard did not start within 5 minutes; starting Ray again"
    assert (node.folder / 'slept').read_text().split().count('5') == 60


def test_the_service_starts_ray_again_whatever_its_exit_status():
    unit = (ROOT / 'src/boot/raygpu-ray.service').read_text()
    assert 'Restart=always\n' in unit and 'RestartPreventExitStatus=78\n' in unit


class Stopping(Living):
    """A service that stops, as systemd runs its ExecStop."""

    def stop(self, own='c0ffee'):
        """What it asked of docker."""
        (self.folder / 'own').write_text(own)
        (self.folder / 'run/raygpu').mkdir(parents=True, exist_ok=True)
        command, = re.findall('^ExecStop=-(.*)$', (self.folder / 'etc/systemd/system/raygpu-ray.service').read_text(), re.M)
        done = subprocess.run([command], env={'PATH': str(self.bin)}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        log = self.folder / 'exec.log'
        return [line for line in log.read_text().splitlines() if '/proc/' not in line] if log.exists() else []

    def deadlines(self):
        return [int(seconds) for seconds in (self.folder / 'timeouts').read_text().split() if int(seconds) not in (10, 20)]


ENDED = ['exec ray ray stop --grace-period 6', 'stop -t 2 ray', 'stop -t 45 ray']


def test_a_service_that_stops_leaves_a_container_of_the_user(tmp_path):
    assert not Stopping(tmp_path, '{accelerators: "A100:8", nodes: 1}').stop(own='')


def test_a_head_that_shuts_down_ends_its_ray(tmp_path):
    assert Stopping(tmp_path).stop() == ['stop -t 45 ray']


@pytest.mark.parametrize('pool,seconds', [('{accelerators: "A100:8", nodes: 1}', 30), (SPOT, 15)])
@pytest.mark.parametrize('work', ['idle', 'busy'])
def test_a_worker_that_shuts_down_is_drained(pool, seconds, work, tmp_path):
    node = Stopping(tmp_path, pool)
    (node.folder / work).touch()
    drain, *rest = node.stop()
    assert drain == ('exec ray ray drain-node --address 10.1.2.3:6379 --node-id abcdef0123 --reason DRAIN_NODE_REASON_PREEMPTION '
                     f'--reason-message this node shuts down --deadline-remaining-seconds {seconds}')
    assert rest == ENDED
    waited, = node.deadlines()
    assert seconds - 10 <= waited <= seconds
    assert node.reports() == [('drained', {'boot': node.reports()[0][1]['boot'], 'step': 'ray', 'deadline': str(seconds)})]
    assert (node.folder / 'run/raygpu/ended').read_text() == 'this node shuts down'
    assert not (node.folder / 'run/raygpu/taken-back').exists(), 'after a reboot Ray starts again'


def test_a_worker_that_cannot_be_drained_does_not_wait(tmp_path):
    """The head is often gone before, when a cluster is destroyed."""
    node = Stopping(tmp_path, SPOT)
    (node.folder / 'no-exec').touch()
    assert node.stop() == ENDED[1:] and not node.deadlines()
    assert 'this node could not be drained' in (node.folder / 'var/log/raygpu/boot.log').read_text()


def test_a_worker_that_its_watcher_drains_is_waited_for(tmp_path):
    node = Stopping(tmp_path, SPOT)
    (node.folder / 'run/raygpu').mkdir(parents=True)
    (node.folder / 'run/raygpu/taken-back').write_text('the cloud takes this node back')
    assert node.stop() == ['wait ray', 'stop -t 45 ray'] and node.deadlines() == [15]


# --- commands that never return ------------------------------------------------------------

def stuck(node, words):
    """`docker exec` of these words never returns. The time limit of 60 s is here a shorter one."""
    limit = shutil.which('timeout')
    (node.bin / 'timeout').unlink()
    node.program('timeout', f'[ "$1" = 60 ] && exec {limit} 0.2 "${{@:2}}"; exit 99')
    docker = (node.bin / 'docker').read_text()
    (node.bin / 'docker').write_text(docker.replace('case "$*" in', f'case "$*" in\n*{words}*) exec /bin/sleep 30 ;;', 1))


def test_a_head_that_cannot_ask_for_its_nodes_is_watched(tmp_path):
    node = Living(tmp_path)
    asked = node.folder / 'exec.log'
    stuck(node, 'python3')
    assert node.live((node.has('joined'), lambda: None),
                     (lambda: asked.exists() and asked.read_text().count('--interactive ray python3') >= 2, lambda: node.health('refused'))) == 143
    assert node.reports()[-1][1]['reason'] == 'Ray is dead on this node; starting Ray again'


@pytest.mark.parametrize('words', ['get_node_id', 'drain-node'])
def test_a_drain_that_never_returns_is_said(tmp_path, words):
    node = Living(tmp_path, SPOT)
    if words == 'get_node_id':
        (node.folder / 'old-ray').touch()
    asked = node.folder / 'exec.log'
    stuck(node, words)
    node.live((node.has('joined'), lambda: node.announce('instance-action', action='terminate', time='2030-01-01T00:00:00Z')),
              (node.logs('could not be drained'), node.end))
    assert 'reclaimed' in dict(node.reports()) and 'drained' not in dict(node.reports()) and words in asked.read_text()


# --- the cloud takes the node back ---------------------------------------------------------

def test_a_node_that_is_taken_back_is_drained_and_stays_down(tmp_path):
    node = Living(tmp_path, SPOT)
    (node.folder / 'busy').touch()
    ends = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 120))
    status = node.live((node.has('joined'), lambda: node.announce('instance-action', action='terminate', time=ends)))
    said = dict(node.reports())
    assert said['reclaimed']['at'] == ends
    drained, left = [line for line in (node.folder / 'exec.log').read_text().splitlines() if re.match('exec ray ray ', line)]
    assert re.fullmatch(
        'exec ray ray drain-node --address 10.1.2.3:6379 --node-id abcdef0123 --reason DRAIN_NODE_REASON_PREEMPTION '
        f'--reason-message the cloud takes this node back at {ends} --deadline-remaining-seconds (9[0-9]|10[0-5])', drained)
    assert 90 <= int(said['drained']['deadline']) <= 105
    # at the deadline Ray ends: its actors move while the node is still there
    assert 85 <= max(map(int, (node.folder / 'timeouts').read_text().split())) <= 105
    assert left == 'exec ray ray stop --grace-period 6' and (node.folder / 'stopped').exists() and status == 143
    assert (said['failed']['step'], said['failed']['reason']) == ('ray', f'the cloud takes this node back at {ends}')
    status, text = node.start()
    assert status == 78 and f'the cloud takes this node back at {ends}' in text


@pytest.mark.parametrize('ray,ids', [('new', ['--node_id=']), ('old', ['--node_id=', 'get_node_id'])])
def test_the_id_of_the_node_is_an_argument_of_its_raylet(ray, ids, tmp_path):
    """Otherwise Ray is asked, which takes seconds, of which a cloud may leave 30."""
    node = Living(tmp_path, SPOT)
    (node.folder / f'{ray}-ray').touch()
    node.live((node.has('joined'), lambda: node.announce('instance-action', action='terminate', time='2030-01-01T00:00:00Z')),
              (node.has('drained'), node.end))
    asked = (node.folder / 'exec.log').read_text()
    assert [word for word in ('--node_id=', 'get_node_id') if word in asked] == ids
    assert asked.count(f'--node-id {"abcdef0123" if ray == "new" else "0123abcdef"} ') == 1


@pytest.mark.parametrize('seconds', [-30, 5, 20])
def test_a_late_notice_leaves_ten_seconds(seconds, tmp_path):
    node = Living(tmp_path, SPOT)
    ends = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + seconds))
    node.live((node.has('joined'), lambda: node.announce('instance-action', action='terminate', time=ends)),
              (node.has('drained'), node.end))
    assert dict(node.reports())['drained']['deadline'] == '10'


def test_a_drain_that_fails_is_said(tmp_path):
    node = Living(tmp_path, SPOT)
    (node.folder / 'no-exec').touch()
    node.live((node.has('joined'), lambda: node.announce('instance-action', action='terminate', time='2030-01-01T00:00:00Z')),
              (node.logs('could not be drained'), node.end))
    assert 'reclaimed' in dict(node.reports()) and 'drained' not in dict(node.reports())


def test_a_risk_is_reported_once_and_ray_works_on(tmp_path):
    node = Living(tmp_path, SPOT)
    node.live((node.has('joined'), lambda: node.announce('rebalance', noticeTime='2026-11-22T10:00:00Z')),
              (node.has('at-risk'), lambda: None), (node.asks_more(5), node.end))
    assert [said['since'] for state, said in node.reports() if state == 'at-risk'] == ['2026-11-22T10:00:00Z']
    assert not (node.folder / 'exec.log').exists()


def test_an_expired_session_is_renewed(tmp_path):
    node = Living(tmp_path, SPOT)
    node.live((node.has('joined'), (node.folder / 'expired').touch),
              (lambda: not (node.folder / 'expired').exists(), lambda: node.announce('rebalance', noticeTime='now')),
              (node.has('at-risk'), node.end))
    assert (node.folder / 'curl.log').read_text().count('api/token') == 2


def test_nodes_on_demand_do_not_ask(tmp_path):
    node = Living(tmp_path, '{accelerators: "A100:8", nodes: 1}')
    node.announce('instance-action', action='terminate', time='2030-01-01T00:00:00Z')
    node.live((node.has('joined'), lambda: None), (node.asks_more(5), node.end))
    assert 'instance-action' not in (node.folder / 'curl.log').read_text()


# --- logs, spilled objects, pulls ------------------------------------------------------------

@pytest.mark.parametrize('mounted,where', [(False, 'var/lib/raygpu/ray'), (True, 'opt/dlami/nvme/raygpu')])
def test_ray_writes_to_the_instance_store_where_there_is_one(mounted, where, tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][1], gpus=8)
    if mounted:
        (node.folder / 'mounted').touch()
    status, said = node.start()
    assert status == 0, said
    args = node.docker_args()
    assert f'{node.folder}/{where}:/tmp/ray' in [v for o, v in zip(args, args[1:]) if o == '--volume']
    assert (node.folder / where).is_dir()
    assert 'start dlami-nvme.service\n' in (node.folder / 'systemctl.log').read_text()


def test_logs_of_the_last_sessions_are_kept(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    ray = node.folder / 'var/lib/raygpu/ray'
    names = [f'session_2026-11-2{i}_10-00-00_000000_1' for i in range(7)]
    for name in names:
        (ray / name / 'logs').mkdir(parents=True)
        (ray / name / 'ray_spilled_objects_abc').mkdir()
    (ray / 'session_latest').symlink_to(names[-1])
    assert node.start()[0] == 0
    assert sorted(p.name for p in ray.iterdir()) == [*names[-4:], 'session_latest']
    assert not list(ray.glob('*/ray_spilled*')) and (ray / names[-1] / 'logs').is_dir()


def test_pulls_wait_longer_after_each_failure(tmp_path):
    node = Node(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    docker = (node.bin / 'docker').read_text()
    node.program('docker', '[ $1 = info ] || { echo toomanyrequests >&2; exit 1; }')
    for _ in range(8):
        status, said = node.start()
        assert status == 1 and "can't pull rayproject/ray:2.56.1-py311-cu121: toomanyrequests" in said
    waits = [int(w) for w in (node.folder / 'slept').read_text().split()]
    assert len(waits) == 7
    for wait, most in zip(waits, [20, 40, 80, 160, 300, 300, 300]):
        assert most / 2 <= wait <= most
    (node.bin / 'docker').write_text(docker.replace('info|image|pull', 'image) exit 1 ;;\n            info|pull'))
    assert node.start()[0] == 0
    assert not (node.folder / 'run/raygpu/pull-failures').exists()

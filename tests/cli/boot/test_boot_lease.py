"""The lease of a node: the script runs for real, with the fragment of the module and curl, against a metadata service of the
tests; only powering off, sleeping and the state of the clock have stand-ins."""
import functools
import re
import shutil
import subprocess
import threading
from email.utils import format_datetime
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from program import ROOT
from test_boot import GOLDEN, Node, files_of, fit

END = datetime(2031, 6, 15, 18, 0, 0, tzinfo=timezone.utc)
LEASE = '2031-06-15T18:00:00Z'
CLOUDS = {
    'aws': ('http://169.254.169.254', '/latest/meta-data/tags/instance/raygpu:expires', 'X-aws-ec2-metadata-token', 'SESSION'),
    'gcp': ('http://metadata.google.internal', '/computeMetadata/v1/instance/attributes/raygpu-expires', 'Metadata-Flavor',
            'Google'),
}


class Metadata(BaseHTTPRequestHandler):
    """Answers each look with the next of `looks`: (status, body, date)."""
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_):
        pass

    def reply(self, status, body='', date=None):
        self.send_response_only(status)
        if date:
            self.send_header('Date', date)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_PUT(self):
        self.reply(200, 'SESSION')

    def do_GET(self):
        _, path, header, value = CLOUDS[self.server.cloud]
        if self.path != path or self.headers.get(header) != value:
            self.server.strange.append((self.path, dict(self.headers)))
            return self.reply(401)
        return self.reply(*self.server.looks.pop(0))


@functools.cache
def user_data():
    return fit(GOLDEN / 'boot/plain.yaml')['user_data']


class Leased(Node):
    def __init__(self, folder, cloud='aws', own_clock=None):
        self.server = ThreadingHTTPServer(('127.0.0.1', 0), Metadata)
        self.server.cloud, self.server.strange = cloud, []
        self.address = CLOUDS[cloud][0]
        super().__init__(folder, user_data()[1])
        if cloud != 'aws':
            (self.folder / 'usr/local/lib/raygpu/cloud').write_text(
                self.moved((ROOT / f'providers/{cloud}/boot/cloud.sh').read_text()))
        (self.bin / 'curl').unlink()
        (self.bin / 'curl').symlink_to(shutil.which('curl'))
        self.program('wall', f'printf "%s\\n" "$*" >>"{folder}/wall.log"')
        self.program('timedatectl', f'[ "$*" = "show --property NTPSynchronized --value" ] && echo {"yes" if own_clock else "no"}')

    def moved(self, text):
        return super().moved(text).replace(self.address, f'http://127.0.0.1:{self.server.server_port}')

    def look(self, *looks):
        """Runs the script until each of `looks` was seen once, and gives what it said."""
        self.server.looks = list(looks)
        self.program('sleep', f'''echo "$1" >>"{self.folder}/slept"
            n=0
            while read -r _; do n=$((n + 1)); done <"{self.folder}/slept"
            [ "$n" -le {len(looks)} ]''')
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        try:
            done = subprocess.run([self.bin / 'bash', self.folder / 'usr/local/lib/raygpu/lease'], check=False, text=True,
                                  env={'PATH': str(self.bin)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()
        assert done.returncode == 0, done.stdout
        assert not self.server.strange and not self.server.looks, (self.server.strange, done.stdout)
        return done.stdout

    def read(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else ''

    @property
    def is_off(self):
        return 'poweroff' in self.read('systemctl.log')


def at(before_end):
    return format_datetime(END - timedelta(seconds=before_end), usegmt=True)


@pytest.mark.parametrize('cloud', sorted(CLOUDS))
def test_a_node_powers_off_at_the_end_of_its_lease(cloud, tmp_path):
    node = Leased(tmp_path / 'n', cloud)
    said = node.look((200, LEASE, at(3600)), (200, LEASE, at(601)), (200, LEASE, at(600)), (200, LEASE, at(540)), (200, LEASE, at(0)))
    assert said.splitlines() == [
        f'raygpu: the lease of this node ends at {LEASE}; then it powers off, unless the lease is extended before',
        f'raygpu: the lease of this node ended at {LEASE}; it powers off']
    assert node.read('wall.log').splitlines() == said.splitlines()
    assert node.read('systemctl.log') == 'poweroff\n'
    assert [(state, keys['at']) for state, keys in node.reports()] == [('expired', LEASE)]


def test_it_looks_about_once_a_minute_and_waits_first(tmp_path):
    node = Leased(tmp_path / 'n')
    node.look(*[(404,)] * 20)
    waits = [int(word) for word in node.read('slept').split()]
    assert len(waits) == 21    # the last one ends the test
    assert all(50 <= wait < 70 for wait in waits) and len(set(waits)) > 1


@pytest.mark.parametrize('cloud', sorted(CLOUDS))
def test_without_a_lease_it_stays(cloud, tmp_path):
    node = Leased(tmp_path / 'n', cloud)
    assert node.look((404, '<html>', at(-9999)), (200, '', at(-9999))) == ''
    assert not node.is_off


def test_a_lease_that_was_extended_or_taken_away_counts(tmp_path):
    later = '2031-06-15T20:00:00Z'
    node = Leased(tmp_path / 'n')
    said = node.look((200, LEASE, at(300)), (200, later, at(-300)), (404, '', at(-7200)), (200, later, at(-7200 + 600)))
    assert not node.is_off
    assert [re.search('at (.*?);', line).group(1) for line in said.splitlines()] == [LEASE, later]


@pytest.mark.parametrize('value', ['soon', '2031-13-15T18:00:00Z', '2031-06-15', '2031-06-15T18:00:00+02:00', f'{LEASE} ', '0',
                                   '$(poweroff)', f'{LEASE}\n{LEASE}', '2031-06-15t18:00:00z'])
def test_what_is_no_time_ends_nothing(value, tmp_path):
    node = Leased(tmp_path / 'n')
    said = node.look((200, value, at(-99999999)), (200, value, at(-99999999)))
    assert not node.is_off
    assert said.count('is not a time; this node stays') == 1


@pytest.mark.parametrize('answer', [(500, LEASE), (403, LEASE), (301, LEASE)])
def test_a_service_that_fails_ends_nothing(answer, tmp_path):
    node = Leased(tmp_path / 'n')
    assert node.look((*answer, at(-60)), (*answer, at(-60))) == ''
    assert not node.is_off


def test_a_service_that_is_not_there_ends_nothing(tmp_path):
    node = Leased(tmp_path / 'n')
    text = node.read('usr/local/lib/raygpu/cloud')
    (node.folder / 'usr/local/lib/raygpu/cloud').write_text(text.replace(f':{node.server.server_port}/', ':1/'))
    node.server.server_close()
    node.program('sleep', f'[ ! -e "{node.folder}/once" ] && : >"{node.folder}/once"')
    done = subprocess.run([node.bin / 'bash', node.folder / 'usr/local/lib/raygpu/lease'], check=False, env={'PATH': str(node.bin)},
                          timeout=300)
    assert done.returncode == 0 and (node.folder / 'once').exists()
    assert not node.is_off


def test_the_clock_of_the_node_counts_only_if_it_is_synchronized(tmp_path):
    past = '2020-01-01T00:00:00Z'    # for the machine that runs the tests
    node = Leased(tmp_path / 'a')
    assert node.look((200, past), (200, past, 'no date')) == ''
    assert not node.is_off
    node = Leased(tmp_path / 'b', own_clock=True)
    node.look((200, past))
    assert node.is_off


def test_of_two_clocks_the_earlier_one_counts(tmp_path):
    far = '9000-01-01T00:00:00Z'
    node = Leased(tmp_path / 'a', own_clock=True)
    assert node.look((200, far, 'Wed, 01 Jan 9001 00:00:00 GMT')) == ''
    node = Leased(tmp_path / 'b', own_clock=True)
    assert node.look((200, LEASE, 'Wed, 01 Jan 2020 00:00:00 GMT')) == ''


def test_a_poweroff_that_is_refused_is_forced(tmp_path):
    node = Leased(tmp_path / 'n')
    node.program('systemctl', f'echo "$*" >>"{node.folder}/systemctl.log"; [ "$*" != poweroff ]')
    node.look((200, LEASE, at(0)))
    assert node.read('systemctl.log') == 'poweroff\npoweroff --force\n'


@pytest.mark.parametrize('at', [0, 1])
def test_every_node_gets_it(at):
    files = files_of(user_data()[at])
    assert files['/usr/local/lib/raygpu/lease'][0] == '0755'
    assert 'ExecStart=/usr/local/lib/raygpu/lease\nRestart=always\n' in files['/etc/systemd/system/raygpu-lease.service'][1]

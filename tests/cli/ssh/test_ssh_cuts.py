"""Everything that can end in mid-apply ends at each remote command of it, and at commands on the host: raygpu, the connection, the host's
power. The next apply completes it, no host is claimed twice, and after a destroy none is claimed.

A run tries a few, others each day; all of them with --long or RAYGPU_CUTS=all."""
import datetime
import json
import os
import random
import shutil

import pytest
from ssh_rack import HERE, claims, ours

NODES = {'ssh.node.head', 'ssh.node.train[0]', 'ssh.node.train[1]'}
CALLS = 12  # of an apply that asks five hosts and makes three nodes
STEPS = {'create': 130, 'remove': 64}  # about as many commands as bash runs for one of these calls
KILLS = [('', n, how) for n in range(1, CALLS + 1) for how in ('before', 'after')]
LOSSES = [(which, n, how) for which, most in (('probe', 5), ('create', 3)) for n in range(1, most + 1) for how in ('half', 'lost', 'off')]
STOPS = [('create', step % 3 + 1, f'step:{step}') for step in range(1, STEPS['create'])]
REMOVALS = [('remove', n, how) for n in (1, 2) for how in ('before', 'after', 'half', 'lost', 'off')] \
    + [('remove', 1, f'step:{step}') for step in range(1, STEPS['remove'])]


def some(points, number):
    if os.environ.get('RAYGPU_CUTS') == 'all' or os.environ.get('RAYGPU_LONG'):
        return points
    return random.Random(datetime.date.today().toordinal()).sample(points, number)


def five(rack):
    return [f'    - {{address: {host.folder.name}, internal_address: {host.address}{", gpus: " + chr(34) + host.gpus + chr(34) if host.gpus else ""}}}'
            for host in rack.hosts]


class Cut:
    """An apply at a call of which something ends."""

    def __init__(self, home, rack, folder):
        self.home, self.rack, self.folder = home, rack, folder
        (folder / 'bin').mkdir(parents=True)
        shutil.copy(HERE / 'cutting_ssh.py', folder / 'bin/ssh')

    def apply(self, which, at, how):
        """What was done, and what raygpu said."""
        power = json.dumps({host.folder.name: host.pid for host in self.rack.hosts})
        env = {'XDG_RUNTIME_DIR': '', 'PATH': f'{self.folder}/bin:{self.home.env["PATH"]}', 'CUT': str(self.folder), 'POWER': power, 'WHICH': which, 'AT': str(at), 'HOW': how}
        end = self.home.run('apply', 'cluster.yaml', '--auto-approve', '--no-wait', env=env, code=None)
        done = self.folder / 'done'
        for host in self.rack.hosts:
            if not os.path.exists(f'/proc/{host.pid}/root/run/host'):
                host.reboot()
        assert done.exists() or how.startswith('step:') and (self.folder / 'calls').exists(), end
        assert (end.code == -9) == (how in ('before', 'after')), end
        return f'{done.read_text("utf-8") if done.exists() else "nothing"}: {end}'


def nodes(rack):
    return sorted(claims(host)['address'] for host in rack.hosts if claims(host))


@pytest.fixture
def cut(home, rack, tmp_path):
    home.spec(nodes=2, hosts=five(rack))
    return Cut(home, rack, tmp_path / 'cut')


@pytest.mark.parametrize('which,at,how', some(KILLS, 2) + some(LOSSES, 2) + some(STOPS, 3))
def test_an_apply(home, rack, cut, which, at, how):
    done = cut.apply(which, at, how)
    home.apply('--no-wait')
    assert nodes(rack) == sorted(NODES), done
    assert 'No changes.' in home.told('plan', '--detailed-exitcode'), done
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert [ours(host) for host in rack.hosts] == [[]] * len(rack.hosts), done


@pytest.mark.parametrize('which,at,how', some(REMOVALS, 2))
def test_a_removal(home, rack, cut, which, at, how):
    home.apply('--no-wait')
    home.spec(nodes=0, hosts=five(rack))
    done = cut.apply(which, at, how)
    home.apply('--no-wait')
    assert nodes(rack) == ['ssh.node.head'], done
    assert 'No changes.' in home.told('plan', '--detailed-exitcode'), done
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    assert [ours(host) for host in rack.hosts] == [[]] * len(rack.hosts), done

"""Leases under a clock that the test sets, of raygpu and of the simulated EC2. Not in tests/cli, because libfaketime does not work with the
sanitizers."""
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'cli'))
from program import Home, spec  # noqa: E402
from sim_server import Sim, tags_of  # noqa: E402

FAKE = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
HOUR, DAY = 3600, 86400


class Clock:
    """Lets seconds pass for raygpu and for the simulated EC2. Each process of raygpu has one fixed distance from the machine's clock, and
    the simulator a clock of its own: libfaketime's file, which many threads read, sometimes shows them the real time."""

    def __init__(self, sim, home):
        self.sim, self.home, self.passed = sim, home, 0
        home.env.update(LD_PRELOAD=FAKE, FAKETIME_DONT_FAKE_MONOTONIC='1', DONT_FAKE_MONOTONIC='1')
        self(0)

    def __call__(self, seconds):
        self.sim.control('POST', 'skip', {'seconds': seconds - self.passed})
        self.sim.knobs(clock_offset_s=seconds)  # of the check of signatures
        self.home.env['FAKETIME'] = f'+{seconds}'
        self.passed = seconds


def leased(cluster, pool):
    text = spec(pools={'a': 1, 'b': 1}, extra=f'expires: {cluster}\n')
    return text.replace('nodes: 1', f'nodes: 1, expires: {pool}', 1)


def running(sim):
    return {tags_of(i)['raygpu:pool']: i['instanceId'] for i in sim.live_instances()}


@pytest.mark.skipif(not os.path.exists(FAKE), reason='Debian package faketime is not installed')
def test_leases_end_while_nobody_runs_anything(tmp_path):
    folder = tmp_path / 'home'
    folder.mkdir()
    with Sim('--boot-ms', '0', '--shutdown-ms', '0') as sim:
        home = Home(folder, sim.env())
        clock = Clock(sim, home)
        home.write('cluster.yaml', leased('20d', '72h'))
        home.apply()
        first = running(sim)
        assert sorted(first) == ['a', 'b', 'head']
        assert 'plan.lease' not in home.run('plan').err

        clock(47 * HOUR)
        assert 'plan.lease' not in home.run('plan').err, '25 hours before'
        clock(49 * HOUR)
        assert 'plan.lease-ends' in home.run('plan').err and 'plan.lease-ends' in home.run('drift').err, '23 hours before'
        assert 'Nothing to reap.' in home.run('reap').out

        home.write('cluster.yaml', leased('20d', '96h'))
        home.apply()
        clock(73 * HOUR)
        assert running(sim) == first, 'extended in time'
        assert 'No changes' in home.run('plan').out and 'Nothing to reap.' in home.run('reap').out

        clock(97 * HOUR)
        assert sorted(running(sim)) == ['b', 'head'], 'it ended itself'
        assert 'No drift' in home.run('drift').out
        plan = home.run('plan')
        assert 'plan.lease-ended' in plan.err and 'Plan: 0 to add, 0 to change' in plan.out, 'it is not created again'
        home.run('reap')
        assert 'aws.instance.a[0]' not in home.run('state', 'list').out
        assert running(sim) == {k: v for k, v in first.items() if k != 'a'}, 'nothing else went'
        assert 'Nothing to reap.' in home.run('reap').out

        home.write('cluster.yaml', leased('20d', '240h'))
        home.apply()
        assert sorted(running(sim)) == ['a', 'b', 'head'] and running(sim)['b'] == first['b']

        clock(21 * DAY)
        os.unlink(home.path('cluster.yaml'))
        assert not running(sim), 'they ended themselves'
        home.run('reap')
        assert home.run('state', 'list', '--cluster', 'research').out == ''
        assert not [g for g in sim.world('us-east-1')['security_groups'] if g['groupName'] != 'default']
        assert not sim.world('us-east-1')['network_interfaces']
        assert 'Nothing to reap.' in home.run('reap').out

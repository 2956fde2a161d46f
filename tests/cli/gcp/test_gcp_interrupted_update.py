"""An update of labels that was killed. Compute Engine may carry one out for up to 20 minutes, and nobody waits that long for what is
already there, or in silence."""
import re
import time

import pytest
from test_gcp_story import nodes, spec

POOL = {'w': 'accelerators: "T4:1", nodes: 3'}
UPDATE_S = 1200 + 10  # update_timeout_s and consistency_s of gcp.instance


def write(home, team):
    home.write('cluster.yaml', spec(POOL).replace('team: ml', f'team: {team}'))


def age(home, seconds):
    """The newest record is as old as that now, however long the test took to get here."""
    by = f'(SELECT max(updated_s) - {int(time.time()) - seconds} FROM resources)'
    home.edit_state(f'UPDATE resources SET created_s = created_s - {by}, updated_s = updated_s - {by}')


def teams(gce):
    return {node['labels']['team'] for node in nodes(gce)}


@pytest.fixture
def home(home):
    write(home, 'red')
    home.apply()
    age(home, 3600)
    return home


def kill_in_update(home, gce, when, operation_ms=0):
    """The labels of all four are sent, `before` or `after` they take effect, and no end of it is recorded."""
    write(home, 'blue')
    home.apply('cluster.yaml', '--target', 'gcp.address.head')  # its labels change before theirs
    gce.knobs(operation_ms=operation_ms)  # 0: it has taken effect when it is answered
    gce.fault(action='instances.setLabels', when=when, status=503, code='backendError', retry_after=60, count=0)
    gce.counters_reset()
    home.env.pop('RAYGPU_LOOPBACK_BACKOFF_MS')
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--no-settle', '--no-wait')
    home.env['RAYGPU_LOOPBACK_BACKOFF_MS'] = '50'
    while gce.counters()['actions'].get('instances.setLabels', {}).get('injected', 0) < 4:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.kill()
    process.communicate()
    gce.faults_clear()


def test_what_the_update_did_is_recorded_at_once(home, gce):
    kill_in_update(home, gce, 'after')
    assert teams(gce) == {'blue'}
    age(home, 11)
    done = home.apply('cluster.yaml', timeout=60)
    assert 'Waiting' not in done.err and teams(gce) == {'blue'}
    assert 'No changes' in home.run('plan', 'cluster.yaml', '--no-settle').out


def test_a_spec_put_back_waits_to_the_end(home, gce):
    kill_in_update(home, gce, 'before')
    assert teams(gce) == {'red'}
    write(home, 'red')
    age(home, UPDATE_S - 15)
    assert 'Waiting for an interrupted update' in home.apply().err
    assert teams(gce) == {'red'} and 'No changes' in home.run('plan', 'cluster.yaml', '--no-settle').out


def test_a_spec_put_back_waits_no_longer_than_the_cloud_may_hide_the_update(home, gce):
    """It never began: the list of operations lacks it, which can show any by then."""
    kill_in_update(home, gce, 'before')
    write(home, 'red')
    age(home, 60)  # 19 minutes are left
    gce.counters_reset()
    assert 'Waiting for an interrupted update' in home.apply(timeout=120).err
    assert gce.counters()['actions']['zoneOperations.list']['requests'] >= 1
    assert teams(gce) == {'red'} and 'No changes' in home.run('plan', 'cluster.yaml', timeout=120).out


def start_apply_of_the_old_spec(home):
    write(home, 'red')
    age(home, 60)
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    said = re.fullmatch(r'Waiting for an interrupted update of gcp.instance.\S+ and 3 more: it may still take effect. '
                        r'This can take up to (\d+) s.\n', process.stderr.readline())
    assert said and 60 < int(said[1]) <= UPDATE_S - 60 + 1
    return process


def wait_for_lists(gce, process, n):
    """What the apply under way asks about operations, after `n` more of them."""
    gce.counters_reset()
    while gce.counters()['actions'].get('zoneOperations.list', {}).get('requests', 0) < n:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def test_the_wait_is_announced_and_ends_when_the_update_takes_effect(home, gce):
    kill_in_update(home, gce, 'after', 3600_000)
    assert teams(gce) == {'red'}
    process = start_apply_of_the_old_spec(home)
    wait_for_lists(gce, process, 2)  # the first one did not end the wait
    gce.knobs(operation_ms=0)
    gce.control('POST', 'skip', {'seconds': 3600})
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, out + err
    assert teams(gce) == {'red'} and '0 added, 5 changed' in out, out


def test_who_may_not_list_operations_waits_to_the_end(home, gce):
    kill_in_update(home, gce, 'before')
    gce.fault(action='zoneOperations.list', status=403, code='forbidden', count=0)
    process = start_apply_of_the_old_spec(home)
    wait_for_lists(gce, process, 3)
    process.kill()
    process.communicate()

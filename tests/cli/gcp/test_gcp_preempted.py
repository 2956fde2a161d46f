"""Spot nodes that Compute Engine takes back: while they boot, before they join Ray, and later."""
import itertools
import time

import pytest
from gce_server import gce_env
from program import Home
from test_gcp_failures import write
from test_gcp_story import clean, nodes, table


def none_is_lost(gce, home):
    """Every instance is recorded, and none leaves a disk behind."""
    listed = home.run('show', '--json').json()['values']['root_module']['resources']
    recorded = {r['values']['id'] for r in listed if r['type'] == 'gcp.instance'}
    assert recorded == {i['zone'].split('/')[-1] + '/' + i['id'] for i in nodes(gce)}
    assert len(table(gce, 'disks')) == len(nodes(gce))


def the_next_apply_replaces(gce, home, hit):
    """Three nodes, none of those that were hit."""
    home.apply()
    assert len(nodes(gce, 'w')) == 3 and not hit & {i['id'] for i in nodes(gce)}
    none_is_lost(gce, home)
    clean(home)


def preempt(gce, process, count):
    """Preempts nodes of pool w that boot."""
    while not (found := nodes(gce, 'w')) or {i['status'] for i in found} - {'PROVISIONING', 'STAGING'}:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    hit = gce.reclaim(count=count, notice_ms=0)
    assert len(hit) == count
    return process.communicate(timeout=120), set(hit)


@pytest.mark.parametrize('zones', ['us-central1-b, us-central1-c', 'us-central1-b'])
def test_preempted_while_they_boot(gce, home, zones):
    """Deleted before they run: the apply replaces them in another zone, or reports them if there is none."""
    gce.knobs(boot_ms=4000)
    write(home, {'w': f'instance_type: "n1-standard-4+nvidia-tesla-t4:1", nodes: 3, market: spot, zones: [{zones}]'})
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    (_, err), hit = preempt(gce, process, 2)
    assert 'PREEMPTED_OR_DELETED' in err, err
    other = ',' in zones
    assert len(nodes(gce, 'w')) == (3 if other else 1)
    assert process.returncode == (0 if other else 3), err
    none_is_lost(gce, home)
    gce.knobs(boot_ms=0)
    the_next_apply_replaces(gce, home, hit)


@pytest.mark.parametrize('replacements', ['3', '0'])
def test_preempted_before_they_join_ray(gce, tmp_path, replacements):
    """Their machine ran, but Ray never started: the apply that waits for them replaces them, or else the next one."""
    home = Home(tmp_path, gce_env(gce))
    gce.knobs(join_ms=3600000)
    write(home, {'w': 'accelerators: "T4:1", nodes: 3, market: spot'})
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--max-replacements', replacements)
    before = list(itertools.takewhile(lambda line: 'Ray: head 0 of 1' not in line, process.stderr))
    hit = set(gce.reclaim(count=1, notice_ms=0))
    gce.knobs(join_ms=0)
    _, err = process.communicate(timeout=120)
    assert 'did not join Ray: its machine is gone' in err, ''.join(before) + err
    assert process.returncode == (3 if replacements == '0' else 0), err
    the_next_apply_replaces(gce, home, hit)


def test_preempted_nodes_are_replaced(gce, home):
    """Long after the apply that created them."""
    write(home, {'w': 'accelerators: "T4:1", nodes: 2, market: spot'})
    home.apply()
    hit = gce.reclaim(count=1, notice_ms=0)
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert '1 to add' in plan.out
    home.apply()
    assert len(nodes(gce, 'w')) == 2 and hit[0] not in {i['id'] for i in nodes(gce)}
    none_is_lost(gce, home)
    clean(home)

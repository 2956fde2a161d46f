"""kill -9 at each request and each answer of an apply of 40 nodes on the simulated Compute Engine: before the cloud
gets the request, and after it committed and before raygpu gets the answer. The next apply completes the cluster:
no orphan, no second node for an address, also if Compute Engine forgets each requestId immediately.

The default run samples the instants, --long (RAYGPU_LONG) takes all of them; RAYGPU_KILL_STEP overrides it."""
import os
import shutil
import sys
import time

import pytest

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), folder) for folder in ('cli', 'cli/gcp')]
from cut import Cut  # noqa: E402
from gce_server import PROJECT, Gce  # noqa: E402
from program import Home  # noqa: E402

FAKE = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
STEP = int(os.environ.get('RAYGPU_KILL_STEP', '1' if os.environ.get('RAYGPU_LONG') else '6'))
NODES = 40
SPEC = """cluster: research
provider: {{name: gcp, region: us-central1}}
ray: {{version: 2.56.1, python: "3.11", image: "rayproject/ray:2.56.1-py311-cu121"}}
head: {{instance_type: n2-standard-8}}
pools:
  train: {{accelerators: "A100:1", nodes: {train}}}
  serve: {{accelerators: "T4:1", nodes: {serve}, market: spot}}
"""


def environment(url):
    return {'GCE_METADATA_HOST': url.split('//')[1], 'GOOGLE_CLOUD_PROJECT': PROJECT,
            'CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE': url + '/compute/v1/'}


def new_home(folder, gce, train=20, serve=20):
    folder.mkdir()
    home = Home(folder, {**environment(gce.url), 'RAYGPU_TEST_NO_WAIT': '1'})
    home.write('cluster.yaml', SPEC.format(train=train, serve=serve))
    return home


def new_cloud(memory):
    gce = Gce('--boot-ms', '30', '--shutdown-ms', '30')
    gce.knobs(operation_ms=50)  # operations go on after the kill, and while the next apply reads
    if memory is not None:
        gce.knobs(request_id_s=memory)
    return gce


def check(gce, home, nodes=NODES):
    """The cloud has exactly the nodes of the spec, the state records these, and a plan finds nothing to do."""
    world = gce.world()
    instances = world['instances']
    assert len(instances) == nodes + 1, sorted(i['name'] for i in instances)
    assert len(world['disks']) == nodes + 1
    assert len(world['addresses']) == 1
    assert len([f for f in world['firewalls'] if f['name'].startswith('raygpu-')]) == 2
    recorded = home.run('show', '--json').json()['values']['root_module']['resources']
    assert sorted(r['values']['id'].split('/')[1] for r in recorded if r['type'] == 'gcp.instance') == sorted(
        i['id'] for i in instances)
    assert not [r for r in recorded if r['pending']]
    home.run('plan', 'cluster.yaml', '--detailed-exitcode')


def requests_of(folder):
    """How many requests an apply makes that nothing interrupts."""
    with new_cloud(None) as gce, Cut(gce.url, environment) as cut:
        home = new_home(folder, gce)
        assert cut.run(home, 'apply', 'cluster.yaml', '--auto-approve', '--no-wait') == 0
        check(gce, home)
        return cut.count


# a sample begins at a different instant for each
@pytest.mark.parametrize(('first', 'what', 'memory'), [(1, 'request', None), (2, 'request', 0), (3, 'answer', None),
                                                       (4, 'answer', 0)])
def test_kill_9_at_each_request(tmp_path, first, what, memory):
    last = requests_of(tmp_path / 'whole')
    assert last >= 12
    killed = 0
    for number in range(first if STEP > 1 else 1, last + 1, STEP):
        with new_cloud(memory) as gce, Cut(gce.url, environment, (what, number)) as cut:
            home = new_home(tmp_path / str(number), gce)
            killed += cut.run(home, 'apply', 'cluster.yaml', '--auto-approve', '--no-wait') < 0
            result = home.apply(code=None)
            assert result.code == 0, (number, result)
            check(gce, home)
    assert killed >= last // STEP - 1  # waiting for operations takes fewer requests in some runs
    print(f'{killed} kills at one {what} each of {last} requests')


@pytest.mark.parametrize('memory', [None, 0])
def test_two_copies_of_a_state_applied_at_once_make_one_set_of_nodes(tmp_path, memory):
    with new_cloud(memory) as gce:
        gce.knobs(latency_ms=10)
        first = new_home(tmp_path / 'first', gce, 1, 1)
        first.apply()
        first.write('cluster.yaml', SPEC.format(train=20, serve=20))
        second = new_home(tmp_path / 'second', gce)
        shutil.copytree(first.path('.raygpu'), second.path('.raygpu'))
        for home in (first, second):  # both before either applies: a later plan stops at the other's nodes
            home.run('plan', 'cluster.yaml', '--out', 'plan.json')
        running = [home.start('apply', 'plan.json', '--auto-approve', '--no-wait') for home in (first, second)]
        told = [process.communicate(timeout=120) for process in running]
        for home in (first, second):
            result = home.apply(code=None)
            assert result.code == 0, (told, result)
        for home in (first, second):
            check(gce, home)


def with_pool(name, more=''):
    return SPEC.format(train=1, serve=1) + f'  {name}: {{accelerators: "T4:1", nodes: 3{more}}}\n'


@pytest.mark.parametrize('at', ['request', 'answer'])
@pytest.mark.parametrize('after', [with_pool('b', ', disk: {size: 300GB}'), with_pool('c', ', renamed_from: b')], ids=['replaced', 'renamed'])
def test_then_another_spec(tmp_path, at, after):
    """While operations go on; test_kill_then_other_cloud.py has more of these changes."""
    with new_cloud(None) as gce:
        home = new_home(tmp_path / 'home', gce, 1, 1)
        home.apply()
        home.write('cluster.yaml', with_pool('b'))
        with Cut(gce.url, environment, (at, 'POST .*/instances(/bulkInsert)?[? ]')) as cut:
            assert cut.run(home, 'apply', '--auto-approve', '--no-wait') == -9
        home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
        home.write('cluster.yaml', after)
        home.apply()
        check(gce, home, 5)


@pytest.mark.parametrize('at', ['request', 'answer'])
def test_a_rename_after_a_removal(tmp_path, at):
    with new_cloud(None) as gce:
        home = new_home(tmp_path / 'home', gce, 1, 1)
        home.write('cluster.yaml', with_pool('b'))
        home.apply()
        home.write('cluster.yaml', with_pool('b').replace('nodes: 3', 'nodes: 1'))
        with Cut(gce.url, environment, (at, 'DELETE .*/instances/')) as cut:
            assert cut.run(home, 'apply', '--auto-approve', '--no-wait') == -9
        home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
        home.write('cluster.yaml', with_pool('c', ', renamed_from: b').replace('nodes: 3', 'nodes: 2'))
        home.apply()
        check(gce, home, 4)


@pytest.mark.skipif(not os.path.exists(FAKE), reason='Debian package faketime is not installed')
@pytest.mark.parametrize(('at', 'team'), [('request', 'red'), ('answer', 'blue')])
def test_an_update_that_a_clock_dated_in_the_future_is_waited_for_once(tmp_path, at, team):
    """The labels of the head's address, on a machine whose clock is a day ahead; then a run of one whose clock is right. `team`: what the
    cloud has, and the spec."""
    with new_cloud(None) as gce:
        home = new_home(tmp_path / 'home', gce, 1, 1)
        text = {team: home.read('cluster.yaml') + f'labels: {{team: {team}}}\n' for team in ('red', 'blue')}
        home.write('cluster.yaml', text['red'])
        home.apply()
        home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')
        home.write('cluster.yaml', text['blue'])
        right = dict(home.env)
        home.env.update(LD_PRELOAD=FAKE, FAKETIME='+1d', FAKETIME_DONT_FAKE_MONOTONIC='1', DONT_FAKE_MONOTONIC='1')
        with Cut(gce.url, environment, (at, 'POST .*/addresses/.*/setLabels')) as cut:
            assert cut.run(home, 'apply', '--auto-approve', '--no-wait', '--parallelism', '1') == -9
        home.env = right
        home.write('cluster.yaml', text[team])
        home.apply(timeout=120)
        check(gce, home, 2)
        address, = gce.world()['addresses']
        assert address['labels']['team'] == team


def wait_for(gce, process, action, n):
    while gce.counters()['actions'].get(action, {}).get('requests', 0) < n:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.parametrize(('method', 'address', 'asked'), [('instances', 'gcp.instance.train[0]', ('zoneOperations.list', 2)),
                                                         ('addresses', 'gcp.address.head', ('regionOperations.wait', 1))])
def test_an_update_that_goes_on_after_its_run_is_not_sent_again(tmp_path, method, address, asked):
    """The labels of a node, and of the head's address. `asked`: what the next apply does meanwhile."""
    with new_cloud(None) as gce:
        home = new_home(tmp_path / 'home', gce, 1, 1)
        home.apply()
        home.write('cluster.yaml', home.read('cluster.yaml') + 'labels: {team: blue}\n')
        if method == 'instances':  # they are changed after the address
            home.apply('cluster.yaml', '--target', 'gcp.address.head')
        apply = ('apply', '--auto-approve', '--no-wait', '--target', address)
        gce.knobs(operation_ms=3600_000)
        with Cut(gce.url, environment, ('answer', f'POST .*/{method}/.*/setLabels')) as cut:
            assert cut.run(home, *apply) == -9
        gce.knobs(operation_ms=50, wait_ms=50)
        gce.counters_reset()
        process = home.start(*apply)
        wait_for(gce, process, *asked)
        gce.control('POST', 'skip', {'seconds': 3600})
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
        assert f'{method}.setLabels' not in gce.counters()['actions'], out
        home.apply()
        check(gce, home, 2)

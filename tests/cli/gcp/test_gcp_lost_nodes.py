"""Nodes that Compute Engine created although a request, a read or a list does not say so: none is lost, none is requested twice, and
none that is the user's is deleted."""
import time

from test_gcp_as_on_aws import ids
from test_gcp_errors import T4, TWO, none_is_left, zones
from test_gcp_failures import place_of, requests, write
from test_gcp_story import nodes

HOUR = 3600000
OLD = {'x': T4 + ', nodes: 1'}


def add_pool_while_lists_are_behind(gce, home, **rule):
    """Lists show the head and a pool, which are old; the operations of the new nodes fail."""
    write(home, OLD)
    home.apply()
    gce.control('POST', 'skip', {'seconds': 2 * HOUR // 1000})
    gce.counters_reset()
    gce.knobs(consistency_ms=HOUR, operation_faults=[{'type': 'insert', 'target': 'research-w-*', **rule}])
    write(home, {**OLD, **TWO})


def lose_answer(gce, home):
    """Both nodes of the pool are created, and no answer says so."""
    write(home, TWO)
    gce.fault(action='instances.bulkInsert', when='after', close=True, count=0)
    home.apply(code=None)
    gce.faults_clear()
    assert zones(gce) == ['b', 'b']
    gce.counters_reset()
    return ids(gce, 'w')


def show_lists(gce, process):
    """Lists show everything once the machines are read by name."""
    before = None
    while before is None or requests(gce, 'instances.get') <= before:
        assert process.poll() is None, process.communicate()
        if before is None and requests(gce, 'instances.bulkInsert'):
            before = requests(gce, 'instances.get')
        time.sleep(0.01)
    gce.knobs(consistency_ms=0)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err


def test_a_failed_read_does_not_say_that_a_node_is_gone(gce, home):
    add_pool_while_lists_are_behind(
        gce, home, status=404, code='RESOURCE_NOT_FOUND', leaves='RUNNING',
        message="The resource 'projects/demo-project/zones/us-central1-b/instances/research-w-0' was not found")
    gce.fault(action='instances.get', status=403, code='forbidden', message='Not now.', count=0)
    home.apply(code=None)
    assert zones(gce) == ['b', 'b'] and requests(gce, 'instances.bulkInsert') == 1
    gce.faults_clear()
    gce.knobs(consistency_ms=0, operation_faults=[])
    home.apply()
    assert zones(gce) == ['b', 'b']
    none_is_left(gce, home)


def test_every_node_that_a_list_lacks_is_read_by_name(gce, home):
    """The first one has failed, and the second one exists."""
    add_pool_while_lists_are_behind(gce, home, count=1, status=503, code='ZONE_RESOURCE_POOL_EXHAUSTED', message='No room.')
    show_lists(gce, home.start('apply', 'cluster.yaml', '--auto-approve'))
    assert zones(gce) == ['b', 'c']
    none_is_left(gce, home)


def test_a_refusal_says_nothing_about_the_first_request(gce, home):
    before = lose_answer(gce, home)
    gce.knobs(consistency_ms=HOUR)
    gce.fault(action='instances.bulkInsert', status=403, code='forbidden', count=1,
              message='Location us-central1-b is not found or access is unauthorized.')
    show_lists(gce, home.start('apply', 'cluster.yaml', '--auto-approve'))
    assert ids(gce, 'w') == before
    none_is_left(gce, home)


def test_a_node_that_was_stopped_before_it_was_recorded_is_kept(gce, home):
    """The request is sent again, and its operation was successful."""
    before = lose_answer(gce, home)
    for node in nodes(gce, 'w'):
        gce.done(gce.insert(place_of(node) + '/stop', None))
    home.apply(code=None)
    assert ids(gce, 'w') == before and not requests(gce, 'instances.delete')

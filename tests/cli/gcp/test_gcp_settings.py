"""Where settings come from, names that are cut, types that only reservations have, and what has no price."""
import http.server
import threading

import pytest
from test_gcp_failures import write
from test_gcp_story import clean, nodes, spec, table

ONE = {'w': 'accelerators: "T4:1", nodes: 1'}


def flat(result):
    return ' '.join((result.out + result.err).split())


def test_the_metadata_server_names_the_project(gce, home):
    gce.knobs(google_project='of-the-machine')
    del home.env['GOOGLE_CLOUD_PROJECT']
    write(home, ONE)
    home.apply()
    assert len(gce.world('of-the-machine')['instances']) == 2 and not nodes(gce)
    clean(home)


def test_a_metadata_server_that_is_not_googles_supplies_no_token(gce, home):
    """Another server at this address: its answers lack the header Metadata-Flavor."""
    class Other(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

        def do_GET(self):  # pylint: disable=invalid-name
            body = b'{"access_token": "ya29.raygpu-sim", "expires_in": 3600, "token_type": "Bearer"}'
            self.send_response(200)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Other)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        write(home, ONE)
        said = home.run('plan', 'cluster.yaml', code=7, env={'GCE_METADATA_HOST': f'127.0.0.1:{server.server_port}'})
        assert 'no Google credentials were found' in flat(said) and gce.counters()['requests'] == 0
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize('failures, code, what', [(4, 0, 'credentials'), (100, 1, 'credentials'), (100, 1, 'project')])
def test_a_metadata_server_that_fails_is_tried_again_and_named(gce, home, failures, code, what):
    asked = []

    class Failing(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

        def do_GET(self):  # pylint: disable=invalid-name
            asked.append(self.path)
            body = b'{"access_token": "ya29.raygpu-sim", "expires_in": 3600, "token_type": "Bearer"}'
            self.send_response(500 if len(asked) <= failures else 200)
            self.send_header('Metadata-Flavor', 'Google')
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        write(home, ONE)
        if what == 'project':
            del home.env['GOOGLE_CLOUD_PROJECT']
        said = home.run('plan', 'cluster.yaml', code=None, env={'GCE_METADATA_HOST': f'127.0.0.1:{server.server_port}'})
        assert said.code == code, said
        assert (f'the metadata server gives no {what}: HTTP status 500' in flat(said)) == (code != 0)
        assert 'no Google' not in flat(said) and len(asked) >= 5
    finally:
        server.shutdown()
        server.server_close()


def test_the_endpoint_of_the_spec_beats_that_of_the_environment(gce, home):
    write(home, ONE, provider=f', endpoint: "{gce.url}/compute/v1/"')
    home.env['CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE'] = 'http://127.0.0.1:1/compute/v1/'
    said = home.run('plan', 'cluster.yaml', code=None)
    assert said.code == 9 and 'RAYGPU_ALLOW_ENDPOINTS' in flat(said), said  # a spec alone may not redirect credentials
    home.run('plan', 'cluster.yaml', env={'RAYGPU_ALLOW_ENDPOINTS': f'{gce.url}/compute/v1/'})


@pytest.mark.parametrize('name', ['COMPUTE', 'CLOUDRESOURCEMANAGER'])
def test_no_token_goes_out_in_clear_text(gce, home, name):
    """192.0.2.1 answers nobody (RFC 5737)."""
    write(home, ONE)
    plain = {f'CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}': 'HTTP://192.0.2.1:9/compute/v1/'}
    said = home.run('plan', 'cluster.yaml', code=None, env=plain)
    assert said.code in (1, 4, 7) and 'would get Google\'s access token without TLS' in flat(said), said
    said = home.run('plan', 'cluster.yaml', code=None, env={**plain, 'RAYGPU_ALLOW_ENDPOINTS': 'https://192.0.2.1:9/compute/v1/'})
    assert 'without TLS' in flat(said)


def test_a_subnetwork_of_a_shared_vpc(gce, home):
    """Its project has the network, so rules would be created there: they are the owner's."""
    gce.call('GET', '', project='host-project')
    shared = 'projects/host-project/regions/us-central1/subnetworks/default'
    write(home, ONE, provider=f', subnetwork: {shared}, firewall: false')
    home.apply()
    assert all(i['networkInterfaces'][0]['subnetwork'].endswith(shared) for i in nodes(gce)) and len(nodes(gce)) == 2
    assert not [f for f in table(gce, 'firewalls') if f['name'].startswith('raygpu-')]
    clean(home)


def test_long_names_are_cut_and_stay_apart(gce, home):
    cluster, pool = 'r' * 40, 'p' * 39
    home.write('cluster.yaml', spec({pool + 'a': ONE['w'], pool + 'b': ONE['w']}).replace('cluster: research', f'cluster: {cluster}'))
    home.apply()
    names = [i['name'] for i in nodes(gce)] + [f['name'] for f in table(gce, 'firewalls') if f['name'].startswith('raygpu-')]
    assert len(set(names)) == 5 and all(len(name) <= 63 for name in names)
    assert {i['labels']['raygpu-cluster'] for i in nodes(gce)} == {cluster}
    clean(home)
    home.run('state', 'rebuild', 'cluster.yaml', '--state', 'new.db')
    assert home.run('state', 'list', '--state', 'new.db').out == home.run('state', 'list').out


def test_no_multithreading(gce, home):
    """advancedMachineFeatures of the pool's nodes, by bulkInsert and of the head by insert."""
    write(home, {'w': 'accelerators: "T4:1", nodes: 2, provider: {threads_per_core: 1}', 'plain': 'accelerators: "T4:1", nodes: 1'})
    home.write('cluster.yaml', home.read('cluster.yaml').replace('n2-standard-8}', 'n2-standard-8, provider: {threads_per_core: 1}}'))
    home.apply()
    assert [one.get('advancedMachineFeatures') for one in nodes(gce, 'w') + nodes(gce, 'head')] == [{'threadsPerCore': 1}] * 3
    assert [one.get('advancedMachineFeatures') for one in nodes(gce, 'plain')] == [None]
    clean(home)
    home.write('cluster.yaml', home.read('cluster.yaml').replace(', provider: {threads_per_core: 1}', ''))
    changed = home.run('plan', 'cluster.yaml').out
    assert 'threads_per_core' in changed and 'Plan: 3 to add, 0 to change, 3 to destroy.' in changed
    # reported, but neither in the spec nor in a record: as of a series with one thread per core
    home.run('state', 'rebuild', 'cluster.yaml', '--state', 'new.db')
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--state', 'new.db').out


def test_types_that_only_reservations_have(gce, home):
    pool = 'instance_type: a4-highgpu-8g, nodes: 1, zones: [us-central1-b]'
    write(home, {'w': pool})
    said = home.run('plan', 'cluster.yaml', code=None)
    assert said.code not in (0, 2) and 'cluster.yaml:7' in said.err, said
    gce.done(gce.insert('zones/us-central1-b/reservations', {
        'name': 'ours', 'specificReservationRequired': True,
        'specificReservation': {'count': '1', 'instanceProperties': {'machineType': 'a4-highgpu-8g'}}}))
    write(home, {'w': pool + ', market: {reservation: ours}'})
    plan = home.run('plan', 'cluster.yaml')
    assert '1 unpriced' in plan.out and '1 node without a known price not counted' in flat(plan), 'never 0'
    home.apply()
    (one,) = nodes(gce, 'w')
    assert one['scheduling']['provisioningModel'] == 'RESERVATION_BOUND' and one['reservationAffinity']['values'] == ['ours']
    clean(home)


@pytest.mark.parametrize('ignored', [False, True])
def test_a_zone_elsewhere_that_does_not_answer_stops_nothing(gce, home, ignored):
    """Also if the parameter returnPartialSuccess is ignored; a zone of the region does stop the plan."""
    gce.knobs(partial_success=0 if ignored else 1)
    write(home, ONE)
    home.apply()
    gce.knobs(unreachable=['europe-west4-a'])
    said = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=None)
    assert said.code == 0, said
    gce.knobs(unreachable=['us-central1-a'])
    said = home.run('plan', 'cluster.yaml', code=None)
    assert said.code == 1 and 'has been deleted' not in said.out and nodes(gce)

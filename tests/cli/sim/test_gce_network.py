"""Networks of the simulated Compute Engine: what a project has, firewall rules, addresses, routers, policies."""
import pytest
from gce_server import PROJECT, REGION, ROOT, ZONE, instance, properties

HERE = f'zones/{ZONE}/instances'
NETWORK = f'projects/{PROJECT}/global/networks/default'
SUBNETWORK = f'projects/{PROJECT}/regions/{REGION}/subnetworks/default'


def address(name, **more):
    return {'name': name, 'addressType': 'INTERNAL', 'purpose': 'GCE_ENDPOINT', 'subnetwork': SUBNETWORK, **more}


def make_subnetwork(gce, cidr, name='small'):
    gce.done(gce.insert(f'regions/{REGION}/subnetworks', {'name': name, 'network': NETWORK, 'ipCidrRange': cidr}))
    return f'projects/{PROJECT}/regions/{REGION}/subnetworks/{name}'


def test_what_a_project_has(gce):
    network = gce.get('global/networks/default')
    assert network['autoCreateSubnetworks'] and len(network['subnetworks']) > 40
    subnetwork = gce.get(f'regions/{REGION}/subnetworks/default')
    assert subnetwork['network'] == network['selfLink'] == ROOT + NETWORK
    rules = {f['name']: f['priority'] for f in gce.get('global/firewalls')['items']}
    assert rules == dict.fromkeys(['default-allow-icmp', 'default-allow-internal', 'default-allow-rdp',
                                   'default-allow-ssh'], 65534)
    other = gce.get('global/networks/default', project='other-project')
    assert other['id'] != network['id']
    ranges = {s['ipCidrRange'] for entry in gce.get('aggregated/subnetworks')['items'].values()
              for s in entry.get('subnetworks', [])}
    assert len(ranges) == len(network['subnetworks'])


def test_firewall_rules(gce):
    body = {'name': 'fw', 'network': NETWORK, 'priority': 64000, 'direction': 'INGRESS',
            'allowed': [{'IPProtocol': 'tcp', 'ports': ['22']}], 'sourceTags': ['a'], 'targetTags': ['a'],
            'description': 'mark'}
    gce.done(gce.insert('global/firewalls', body))
    made = gce.get('global/firewalls/fw')
    assert {k: made[k] for k in body if k != 'network'} == {k: v for k, v in body.items() if k != 'network'}
    assert made['network'] == ROOT + NETWORK and 'sourceRanges' not in made
    assert gce.call('POST', 'global/firewalls', body)[0] == 409
    gce.done(gce.call('PATCH', 'global/firewalls/fw', {'priority': 10})[1])
    assert gce.get('global/firewalls/fw')['priority'] == 10 and gce.get('global/firewalls/fw')['description'] == 'mark'
    gce.done(gce.call('PUT', 'global/firewalls/fw', {'allowed': [{'IPProtocol': 'all'}]})[1])
    assert 'description' not in gce.get('global/firewalls/fw')
    gce.done(gce.delete('global/firewalls/' + made['id']))
    assert gce.call('GET', 'global/firewalls/fw')[0] == 404


@pytest.mark.parametrize('change', [
    {'allowed': None}, {'denied': [{'IPProtocol': 'all'}]}, {'priority': 70000}, {'sourceRanges': ['0.0.0.0']},
    {'allowed': [{'IPProtocol': 'icmp', 'ports': ['1']}]}, {'allowed': [{}]}, {'direction': 'EGRESS'},
    {'network': NETWORK.replace('default', 'none')}, {'network': 'default'}, {'name': 'FW'}, {'name': None}])
def test_what_is_not_a_firewall_rule(gce, change):
    body = {'name': 'fw', 'allowed': [{'IPProtocol': 'all'}], 'sourceTags': ['a']}
    body = {k: v for k, v in {**body, **change}.items() if v is not None}
    status, answer = gce.call('POST', 'global/firewalls', body)
    assert status in (400, 404), answer


def test_an_address_and_its_user(gce):
    gce.done(gce.insert(f'regions/{REGION}/addresses', address('head', labels={'a': 'b'})))
    made = gce.get(f'regions/{REGION}/addresses/head')
    assert made['status'] == 'RESERVED' and made['labels'] == {'a': 'b'}
    body = instance('head')
    body['networkInterfaces'][0]['networkIP'] = made['address']
    gce.done(gce.insert(HERE, body))
    used = gce.get(f'regions/{REGION}/addresses/head')
    assert used['status'] == 'IN_USE' and used['users'] == [f'{ROOT}projects/{PROJECT}/{HERE}/head']
    status, answer = gce.call('DELETE', f'regions/{REGION}/addresses/head')
    assert (status, answer['error']['errors'][0]['reason']) == (400, 'resourceInUseByAnotherResource')
    other = instance('other')
    other['networkInterfaces'][0]['networkIP'] = made['address']
    assert gce.failed(gce.insert(HERE, other)) == ['IP_IN_USE_BY_ANOTHER_RESOURCE']
    gce.done(gce.delete(HERE + '/head'))
    assert gce.get(f'regions/{REGION}/addresses/head')['status'] == 'RESERVED'
    labels = {'labels': {'c': 'd'}, 'labelFingerprint': made['labelFingerprint']}
    gce.done(gce.call('POST', f'regions/{REGION}/addresses/head/setLabels', labels)[1])
    assert gce.call('POST', f'regions/{REGION}/addresses/head/setLabels', labels)[0] == 412
    gce.done(gce.delete(f'regions/{REGION}/addresses/head'))
    gce.done(gce.insert(f'regions/{REGION}/addresses', address('again', address=made['address'])))


def test_a_subnetwork_that_is_full(gce):
    small = make_subnetwork(gce, '10.9.0.0/29')
    for i in range(4):
        gce.done(gce.insert(f'regions/{REGION}/addresses', {**address(f'a{i}'), 'subnetwork': small}))
    body = instance('x', networkInterfaces=[{'subnetwork': small}])
    assert gce.failed(gce.insert(HERE, body)) == ['IP_SPACE_EXHAUSTED']
    assert gce.call('GET', HERE + '/x')[0] == 404 and gce.call('GET', f'zones/{ZONE}/disks/x')[0] == 404
    gce.done(gce.delete(f'regions/{REGION}/addresses/a2'))
    gce.done(gce.insert(HERE, body))
    assert gce.get(HERE + '/x')['networkInterfaces'][0]['networkIP'] == '10.9.0.4'


def test_a_subnetwork_of_another_project_and_region(gce):
    gce.done(gce.insert(HERE, {**instance('a'), 'networkInterfaces': [
        {'subnetwork': f'projects/host-project/regions/{REGION}/subnetworks/default'}]}))
    assert '/host-project/' in gce.get(HERE + '/a')['networkInterfaces'][0]['subnetwork']
    for link in (SUBNETWORK.replace(REGION, 'europe-west4'), SUBNETWORK.replace('default', 'none'), 'default'):
        status, answer = gce.call('POST', HERE, {**instance('b'), 'networkInterfaces': [{'subnetwork': link}]})
        assert status in (400, 404), answer


def test_what_is_in_use_stays(gce):
    gce.done(gce.insert(f'regions/{REGION}/resourcePolicies',
                        {'name': 'pool', 'description': 'mark', 'groupPlacementPolicy': {'collocation': 'COLLOCATED'}}))
    policy = gce.get(f'regions/{REGION}/resourcePolicies/pool')
    assert policy['status'] == 'READY' and policy['description'] == 'mark'
    gce.done(gce.insert('global/networks', {'name': 'own', 'autoCreateSubnetworks': False}))
    own = f'projects/{PROJECT}/global/networks/own'
    gce.done(gce.insert(f'regions/{REGION}/subnetworks',
                        {'name': 'own', 'network': own, 'ipCidrRange': '10.8.0.0/24'}))
    gce.done(gce.insert(HERE, instance('a', resourcePolicies=[policy['selfLink']], networkInterfaces=[
        {'network': own, 'subnetwork': SUBNETWORK.replace('default', 'own')}])))
    for path in (f'regions/{REGION}/resourcePolicies/pool', 'global/networks/own', f'regions/{REGION}/subnetworks/own'):
        status, answer = gce.call('DELETE', path)
        assert (status, answer['error']['errors'][0]['reason']) == (400, 'resourceInUseByAnotherResource'), path
    gce.done(gce.delete(HERE + '/a'))
    for path in (f'regions/{REGION}/resourcePolicies/pool', f'regions/{REGION}/subnetworks/own', 'global/networks/own'):
        gce.done(gce.delete(path))


def test_routers(gce):
    nat = {'name': 'nat', 'natIpAllocateOption': 'AUTO_ONLY',
           'sourceSubnetworkIpRangesToNat': 'ALL_SUBNETWORKS_ALL_IP_RANGES'}
    gce.done(gce.insert(f'regions/{REGION}/routers', {'name': 'r', 'network': NETWORK, 'nats': [nat]}))
    [router] = gce.get(f'regions/{REGION}/routers')['items']
    assert router['nats'] == [nat] and router['network'] == ROOT + NETWORK
    assert gce.get('aggregated/routers')['items'][f'regions/{REGION}']['routers'] == [router]
    gce.done(gce.delete(f'regions/{REGION}/routers/r'))


def test_reservations(gce):
    reservation = {'name': 'res', 'specificReservationRequired': True, 'specificReservation': {
        'count': '1', 'instanceProperties': {'machineType': 'a2-highgpu-1g'}}}
    gce.done(gce.insert(f'zones/{ZONE}/reservations', reservation))
    assert gce.get(f'zones/{ZONE}/reservations/res')['status'] == 'READY'
    gce.knobs(capacity={'a2-highgpu-1g': {ZONE: 0}})

    def made(name, type_='a2-highgpu-1g', reserved='res'):
        body = {'name': name, **properties(type_)}
        body['reservationAffinity'] = {'consumeReservationType': 'SPECIFIC_RESERVATION', 'values': [reserved],
                                       'key': 'compute.googleapis.com/reservation-name'}
        return gce.insert(HERE, body)
    gce.done(made('a'))
    assert gce.get(f'zones/{ZONE}/reservations/res')['specificReservation']['inUseCount'] == '1'
    assert gce.failed(made('b')) == ['RESERVATION_CAPACITY_EXCEEDED']
    assert gce.failed(made('c', 'e2-standard-4')) == ['RESERVATION_INCOMPATIBLE']
    assert gce.failed(made('d', reserved='none')) == ['RESERVATION_NOT_FOUND']

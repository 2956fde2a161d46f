"""A cluster's whole life on the simulated Compute Engine: plan, apply, nothing to do, tamper, drift, repair, shrink,
destroy; what it costs in API calls; and the features that have their own requests there."""
import json
import re

import pytest
from gce_server import PROJECT

# the default image has NVIDIA's open kernel modules
OLD_IMAGE = 'projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accelerator-2204-amd64-with-nvidia-570'
POOLS = {'train': 'accelerators: "A100:1", nodes: 2', 'legacy': f'accelerators: "V100:1", nodes: 2, image: {OLD_IMAGE}',
         'serve': 'accelerators: "T4:1", nodes: 3, market: spot'}


def spec(pools=None, provider='', head='', extra=''):
    lines = ['cluster: research', 'labels: {team: ml}', f'provider: {{name: gcp, region: us-central1{provider}}}',
             'ray: {version: 2.56.1, python: "3.11", image: "rayproject/ray:2.56.1-py311-cu121"}',
             f'head: {{instance_type: n2-standard-8{head}}}', 'pools:']
    lines += [f'  {name}: {{{text}}}' for name, text in (POOLS if pools is None else pools).items()]
    return '\n'.join(lines) + '\n' + extra


def table(gce, name):
    rows = gce.world().get(name, {})
    return list(rows.values()) if isinstance(rows, dict) else rows


def nodes(gce, pool=None):
    return [i for i in table(gce, 'instances') if pool is None or i.get('labels', {}).get('raygpu-pool') == pool]


def mutating(gce):
    return {name: n for name, n in ((n, a.get('mutating', 0)) for n, a in gce.counters()['actions'].items()) if n}


def clean(home):
    return home.run('plan', 'cluster.yaml', '--detailed-exitcode')


@pytest.fixture
def applied(home):
    home.write('cluster.yaml', spec())
    home.apply()
    return home


def test_plan_shows_everything_and_touches_nothing(gce, home):
    home.write('cluster.yaml', spec())
    result = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    for address in ('gcp.firewall.closed', 'gcp.firewall.nodes', 'gcp.address.head', 'gcp.instance.head',
                    'gcp.instance.train[1]', 'gcp.instance.legacy[0]', 'gcp.instance.serve[2]'):
        assert f'  # {address} will be created\n' in result.out
    assert 'Plan: 12 to add, 0 to change, 0 to destroy.' in result.out
    assert re.search(r'n1-standard-\d+\+nvidia-tesla-v100:1', result.out)
    assert gce.counters()['mutating'] == 0


def test_whole_story(gce, applied):
    assert len(nodes(gce, 'train')) == 2 and len(nodes(gce, 'serve')) == 3 and len(nodes(gce)) == 8
    for one in nodes(gce, 'serve'):
        assert one['scheduling']['provisioningModel'] == 'SPOT'
        assert one['scheduling']['instanceTerminationAction'] == 'DELETE'
        assert one['scheduling']['automaticRestart'] is False
        assert not one['networkInterfaces'][0].get('accessConfigs'), 'no public address unless it is asked for'
    assert 'No changes.' in clean(applied).out
    gce.counters_reset()
    clean(applied)
    assert gce.counters()['mutating'] == 0
    assert gce.counters()['requests'] <= 8

    # tamper: a label, a stopped node, a deleted one, an opened rule
    label, stopped, gone = nodes(gce, 'train')[0], nodes(gce, 'train')[1], nodes(gce, 'serve')[0]
    path = 'zones/{}/instances/{}'.format
    place = label['zone'].split('/')[-1]
    gce.done(gce.insert(path(place, label['name']) + '/setLabels', {
        'labels': {**label['labels'], 'team': 'other', 'added': 'by-hand'}, 'labelFingerprint': label['labelFingerprint']}))
    gce.done(gce.insert(path(place, stopped['name']) + '/stop', None))
    gce.done(gce.delete(path(gone['zone'].split('/')[-1], gone['name'])))
    closed = next(f for f in table(gce, 'firewalls') if '-closed-' in f['name'])
    status, answer = gce.call('PATCH', 'global/firewalls/' + closed['name'], {'disabled': True})
    assert status == 200, answer
    gce.done(answer)

    drift = applied.run('drift', 'cluster.yaml', code=2)
    for text in ('team', 'instance_state', 'gcp.firewall.closed', 'disabled'):
        assert text in drift.out, text
    assert 'added' not in drift.out, "labels of others are no drift"
    applied.apply()
    assert 'No changes.' in clean(applied).out
    mended = next(i for i in nodes(gce, 'train') if i['name'] == label['name'])
    assert mended['labels']['team'] == 'ml' and mended['labels']['added'] == 'by-hand'
    assert {i['status'] for i in nodes(gce)} == {'RUNNING'} and len(nodes(gce)) == 8

    applied.write('cluster.yaml', spec({**POOLS, 'serve': 'accelerators: "T4:1", nodes: 1, market: spot'}))
    applied.apply()
    assert len(nodes(gce, 'serve')) == 1
    applied.run('destroy', 'cluster.yaml', '--auto-approve')
    assert not nodes(gce) and not table(gce, 'addresses') and not table(gce, 'disks')
    assert not [f for f in table(gce, 'firewalls') if f['name'].startswith('raygpu-')]


def test_metadata_that_was_changed_outside(gce, home):
    """Seen by the fingerprint, which lists have, without reading user data; put back in place."""
    home.write('cluster.yaml', spec({'w': 'accelerators: "T4:1", nodes: 2'}))
    home.apply()
    one = nodes(gce, 'w')[0]
    path = f'zones/{one["zone"].split("/")[-1]}/instances/{one["name"]}'
    before = one['metadata']['items']
    changed = [i for i in before if i['key'] != 'block-project-ssh-keys'] + [{'key': 'startup-script', 'value': 'id'}]
    gce.done(gce.insert(path + '/setMetadata', {'items': changed, 'fingerprint': one['metadata']['fingerprint']}))
    report = home.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()
    assert [[a['name'] for a in d['attributes']] for d in report['drift'] if d['type'] == 'changed'] == [['metadata_fingerprint']]
    assert 'metadata_fingerprint' in home.run('drift', 'cluster.yaml', code=2).out
    plan = home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert "metadata was changed outside raygpu" in plan.out and '0 to add, 1 to change, 0 to destroy' in plan.out
    gce.fault(action='instances.setMetadata', status=412, code='conditionNotMet', message='stale', count=1)
    home.apply()
    mended = next(i for i in nodes(gce, 'w') if i['id'] == one['id'])
    key = lambda item: item['key']
    assert sorted(mended['metadata']['items'], key=key) == sorted(before, key=key)
    assert gce.counters()['actions']['instances.setMetadata']['requests'] == 3, 'by hand, refused, and sent again'
    assert 'No changes.' in clean(home).out


def test_calls_of_a_large_cluster(gce, home):
    home.write('cluster.yaml', spec({'a': 'instance_type: n2-standard-2, nodes: 100, public_ip: true',
                                     'b': 'instance_type: n2-standard-4, nodes: 100, public_ip: true',
                                     'c': 'instance_type: e2-standard-4, nodes: 100, public_ip: true'}))
    home.apply()
    assert len(nodes(gce)) == 301
    assert gce.counters()['mutating'] <= 8, gce.counters()['actions']
    gce.counters_reset()
    clean(home)
    counters = gce.counters()
    assert counters['mutating'] == 0
    pages = 1 + 1  # of instances and of disks, 500 each
    assert counters['requests'] <= pages + 8, counters['actions']
    gce.counters_reset()
    home.write('cluster.yaml', home.read('cluster.yaml').replace('team: ml', 'team: ops'))
    home.apply()
    counters = gce.counters()
    assert {i['labels']['team'] for i in nodes(gce)} == {'ops'}
    assert counters['actions']['instances.setLabels']['requests'] == 301 and counters['mutating'] == 301 + 1
    assert counters['requests'] <= 302 + 60, 'lists, not each operation: %r' % counters['actions']
    gce.counters_reset()
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    counters = gce.counters()
    assert counters['mutating'] == 301 + 3, counters['actions']
    assert counters['requests'] <= 301 + 3 + 40, counters['actions']


def test_a_node_has_no_secret_in_a_trace(gce, home):
    home.write('cluster.yaml', spec())
    home.apply('cluster.yaml', '--trace', 'trace')
    trace = home.read('trace')
    users = {item['value'] for i in table(gce, 'instances') for item in i['metadata']['items']
             if item['key'] == 'user-data'}
    assert users
    token = re.search(r'"path": ?"/etc/raygpu/token"[^}]*?"content": ?"([^"]{20,})"', next(iter(users)))
    assert token, next(iter(users))[:600]
    assert token[1] not in trace
    assert 'cloud-config' not in trace
    assert 'ya29.' not in trace


def test_gang_gets_all_or_nothing(gce, home):
    gce.knobs(capacity={'a2-highgpu-1g': {'*': 1}})
    home.write('cluster.yaml', spec({'train': 'accelerators: "A100:1", nodes: 3, gang: true'}))
    result = home.apply(code=None)
    assert result.code in (3, 8), result
    assert not nodes(gce, 'train')
    assert 'RESOURCE' in result.err or 'capacity' in result.err.lower() or 'insufficient' in result.err.lower()


def test_capacity_is_taken_from_other_zones(gce, home):
    gce.knobs(capacity={'a2-highgpu-1g': {'us-central1-a': 1, 'us-central1-b': 5, 'us-central1-c': 5, 'us-central1-f': 5}})
    home.write('cluster.yaml', spec({'train': 'accelerators: "A100:1", nodes: 3'}))
    home.apply()
    assert len(nodes(gce, 'train')) == 3
    assert len({i['zone'] for i in nodes(gce, 'train')}) == 2
    clean(home)


def test_placement_and_public_addresses(gce, home):
    home.write('cluster.yaml', spec({'train': 'accelerators: "A100:1", nodes: 2, public_ip: true, network: {placement: cluster}'}))
    home.apply()
    policies = [p for p in table(gce, 'resource_policies') if p['name'].startswith('raygpu-')]
    assert len(policies) == 1
    assert policies[0]['groupPlacementPolicy']['collocation'] == 'COLLOCATED'
    for one in nodes(gce, 'train'):
        assert one['resourcePolicies'][0].endswith(policies[0]['name'])
        assert one['networkInterfaces'][0]['accessConfigs'][0]['natIP']
    clean(home)
    home.write('cluster.yaml', spec({'train': 'accelerators: "A100:1", nodes: 2, network: {placement: cluster}'}))
    home.apply()
    assert not any(one['networkInterfaces'][0].get('accessConfigs') for one in nodes(gce, 'train')), 'changed in place'
    clean(home)


def test_settings_reach_the_nodes(gce, home):
    account = 'nodes@demo-project.iam.gserviceaccount.com'
    home.write('cluster.yaml', spec({'w': 'accelerators: "T4:1", nodes: 1'},
                                    f', project: {PROJECT}, service_account: {account}, network_tags: [allow-proxy], firewall: false'))
    home.apply()
    one = nodes(gce, 'w')[0]
    assert one['serviceAccounts'][0]['email'] == account
    assert one['tags']['items'] == ['allow-proxy']
    assert not [f for f in table(gce, 'firewalls') if f['name'].startswith('raygpu-')]
    values = {item['key']: item['value'] for item in one['metadata']['items']}
    assert values['block-project-ssh-keys'] == 'true' and values['serial-port-enable'] == 'false'
    clean(home)


def test_the_default_networks_open_ports_are_closed(gce, applied):
    rules = {f['name'].split('-')[2]: f for f in table(gce, 'firewalls') if f['name'].startswith('raygpu-research-')}
    tag = nodes(gce)[0]['tags']['items'][0]
    assert rules['closed']['denied'] == [{'IPProtocol': 'all'}] and rules['closed']['priority'] == 65000
    assert rules['closed']['targetTags'] == [tag] and rules['closed']['sourceRanges'] == ['0.0.0.0/0']
    assert rules['nodes']['allowed'] == [{'IPProtocol': 'all'}] and rules['nodes']['priority'] == 64000
    assert rules['nodes']['sourceTags'] == rules['nodes']['targetTags'] == [tag]


def test_a_node_of_the_same_name_made_by_hand_is_not_ours(gce, applied):
    """The id is the number: a new machine under the name has another one."""
    old = nodes(gce, 'train')[0]
    place = old['zone'].split('/')[-1]
    gce.done(gce.delete(f'zones/{place}/instances/{old["name"]}'))
    plan = applied.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)
    assert 'Plan: 1 to add, 0 to change, 0 to destroy.' in plan.out


def test_import_move_and_rebuild(gce, applied):
    applied.run('state', 'mv', 'gcp.instance.train[1]', 'gcp.instance.train[5]', code=None)
    applied.run('state', 'mv', 'gcp.instance.train[5]', 'gcp.instance.train[1]', code=None)
    clean(applied)
    result = applied.run('state', 'rebuild', 'cluster.yaml', '--state', 'new.db', code=None)
    assert result.code == 0, result
    listed = applied.run('state', 'list', '--state', 'new.db').out
    for address in ('gcp.instance.head', 'gcp.instance.train[0]', 'gcp.instance.serve[2]', 'gcp.address.head',
                    'gcp.firewall.closed', 'gcp.firewall.nodes'):
        assert address in listed, listed


@pytest.mark.parametrize('pools, provider, said', [
    ({'w': 'accelerators: "T4:1", nodes: 1, market: {spot: {max_price: 1}}'}, '', 'max_price'),
    ({'w': 'instance_type: a3-highgpu-1g, nodes: 1'}, '', 'on demand'),
    ({'w': 'instance_type: n1-standard-96+nvidia-tesla-t4:1, nodes: 1'}, '', 'n1-standard-96'),
    ({'w': 'accelerators: "T4:1", nodes: 1, image: "ami:1"'}, '', 'image'),
    ({'w': 'accelerators: "T4:1", nodes: 1, zones: [us-east1-b]'}, '', 'us-east1-b'),
    ({'w': 'accelerators: "T4:1", nodes: 1, image: projects/debian-cloud/global/images/family/debian-12'}, '', 'cloud-init'),
    ({'w': 'accelerators: "T4:1", nodes: 1, disk: {type: hyperdisk-balanced}'}, '', 'hyperdisk-balanced'),
    ({'w': 'instance_type: a3-highgpu-8g, nodes: 2, network: {rdma: true}'}, '', 'GPUDirect'),
    ({'w': 'accelerators: "T4:1", nodes: 2, network: {placement: cluster}'}, '', 'no compact placement for n1-'),
    ({'w': 'instance_type: e2-standard-4, nodes: 2, network: {placement: cluster}'}, '', 'no compact placement for e2-standard-4'),
    (POOLS, ', subnetwork: projects/host/regions/europe-west4/subnetworks/default', 'not in region us-central1'),
    (POOLS, ', subnetwork: missing', 'no subnetwork missing'),
])
def test_refusals(gce, home, pools, provider, said):
    home.write('cluster.yaml', spec(pools, provider))
    result = home.run('plan', 'cluster.yaml', code=None)
    assert result.code not in (0, 2), result
    assert said in re.sub(r'\s+', ' ', result.err), result
    assert 'cluster.yaml:' in result.err, 'located'
    assert gce.counters()['mutating'] == 0


def test_labels_of_the_cloud_are_checked_before_it_is_asked(home):
    for label in ('{Team: ml}', '{team: Big}'):
        home.write('cluster.yaml', spec().replace('{team: ml}', label))
        assert 'cluster.yaml:2:' in home.run('validate', 'cluster.yaml', code=4).err


def test_quota_is_found_before_anything_is_created(gce, home):
    gce.knobs(quotas={'GPUS_ALL_REGIONS': 0})
    home.write('cluster.yaml', spec({'w': 'instance_type: n1-standard-4+nvidia-tesla-t4:1, nodes: 1'}))
    result = home.run('plan', 'cluster.yaml', code=8)
    assert 'GPUS_ALL_REGIONS' in result.err
    assert gce.counters()['mutating'] == 0


def test_a_quota_of_a_gpu_family_is_not_checked_and_said_so(gce, home):
    home.write('cluster.yaml', spec({'w': 'instance_type: a3-ultragpu-8g, nodes: 1, market: spot',
                                     'v': 'accelerators: "L4:1", nodes: 1'}))
    said = re.sub(r'\s+', ' ', home.run('plan', 'cluster.yaml').err)
    assert said.count('is kept per GPU family') == 1
    assert 'Note: the GPU quota of a3-ultragpu-8g was not checked' in said and 'GPUS_PER_GPU_FAMILY' in said
    gce.knobs(quotas={'GPUS_ALL_REGIONS': 8})
    assert 'the plan adds 9' in re.sub(r'\s+', ' ', home.run('plan', 'cluster.yaml', code=8).err), 'the project counts them'


def test_the_api_that_is_off_is_named(gce, home):
    gce.knobs(disabled_apis=[PROJECT])
    home.write('cluster.yaml', spec())
    result = home.run('plan', 'cluster.yaml', code=None)
    assert result.code == 7, result
    assert 'gcloud services enable' in re.sub(r'\s+', ' ', result.err)


def test_iam_prints_a_role(home):
    home.write('cluster.yaml', spec(provider=', service_account: n@demo-project.iam.gserviceaccount.com'))
    role = json.loads(home.run('iam', 'cluster.yaml').out)
    assert 'compute.instances.create' in role['includedPermissions']
    assert 'iam.serviceAccounts.actAs' in role['includedPermissions']
    assert not [p for p in role['includedPermissions'] if '*' in p]
    assert 'compute.resourcePolicies.create' not in role['includedPermissions']


def flat(text):
    return ' '.join(text.split())


def reservation(name, type_, count, specific=True, **more):
    return {'name': name, 'specificReservationRequired': specific,
            'specificReservation': {'count': str(count), 'instanceProperties': {'machineType': type_}}, **more}


def reserve(gce, name, type_, count, specific=True, zone='us-central1-b'):
    gce.done(gce.insert(f'zones/{zone}/reservations', reservation(name, type_, count, specific)))


def test_reservations(gce, home):
    reserve(gce, 'ours', 'a2-highgpu-1g', 2)
    reserve(gce, 'open', 'a2-highgpu-1g', 2, specific=False)
    home.write('cluster.yaml', spec({'train': 'accelerators: "A100:1", nodes: 2, market: {reservation: ours}'}))
    home.apply()
    for one in nodes(gce, 'train'):
        assert one['zone'].endswith('us-central1-b')
        assert one['reservationAffinity'] == {'consumeReservationType': 'SPECIFIC_RESERVATION', 'values': ['ours'],
                                              'key': 'compute.googleapis.com/reservation-name'}
        assert one['scheduling']['provisioningModel'] == 'STANDARD'
    clean(home)
    for name in ('open', 'missing'):
        home.write('other.yaml', spec({'train': f'accelerators: "A100:1", nodes: 2, market: {{reservation: {name}}}'})
                   .replace('cluster: research', 'cluster: other'))
        result = home.run('plan', 'other.yaml', code=None)
        assert result.code not in (0, 2) and name in result.err and 'other.yaml:' in result.err, result


def test_reservations_of_another_project(gce, home):
    """As A3 and A4 capacity is mostly had: one that a project shares with ours, a block of it; one of that name of our own; one that is not shared."""
    reserve(gce, 'ours', 'n1-standard-4', 9)
    for name, share in (('ours', {'shareSettings': {'shareType': 'SPECIFIC_PROJECTS', 'projectMap': {'demo-project': {'projectId': 'demo-project'}}}}),
                        ('theirs', {})):
        status, _ = gce.call('POST', 'zones/us-central1-b/reservations', reservation(name, 'a2-highgpu-1g', 2, **share), project='capacity-project')
        assert status == 200
    pool = 'accelerators: "A100:1", nodes: 2, market: {reservation: %s}'
    for shared in ('projects/capacity-project/reservations/ours', 'projects/capacity-project/reservations/ours/reservationBlocks/block-1'):
        home.write('cluster.yaml', spec({'train': pool % shared}))
        home.apply()
        assert [one['reservationAffinity']['values'] for one in nodes(gce, 'train')] == [[shared]] * 2
        assert 'No changes.' in home.run('plan', 'cluster.yaml', '--no-settle').out
        home.write('cluster.yaml', spec({'train': pool.replace('nodes: 2', 'nodes: 3') % shared}))
        said = flat(home.run('plan', 'cluster.yaml', '--no-settle', code=8).err)
        assert f'reservation {shared}' in said and 'has room for 0 more of its 2 nodes' in said
        home.run('destroy', 'cluster.yaml', '--auto-approve')
    home.write('cluster.yaml', spec({'train': pool % 'projects/capacity-project/reservations/theirs'}))
    assert 'its project does not share it' in flat(home.run('plan', 'cluster.yaml', code=4).err)
    for wrong in ('projects/x/reservations/ours', 'projects/capacity-project/ours', 'Ours', 'ours/blocks/b'):
        home.write('cluster.yaml', spec({'train': pool % wrong}))
        assert 'projects/OWNER/reservations/NAME' in flat(home.run('validate', 'cluster.yaml', code=4).err)


def test_a_reservation_in_each_of_two_zones(gce, home):
    """Names are unique in a zone only."""
    pool = 'accelerators: "A100:1", nodes: 2, market: {reservation: ours}'
    for zone in ('us-central1-a', 'us-central1-b'):
        reserve(gce, 'ours', 'a2-highgpu-1g', 2, zone=zone)
    home.write('cluster.yaml', spec({'train': pool}))
    result = home.run('plan', 'cluster.yaml', code=None)
    assert result.code not in (0, 2) and 'us-central1-a and us-central1-b have one of this name' in re.sub(r'\s+', ' ', result.err), result
    assert 'cluster.yaml:7' in result.err
    home.write('cluster.yaml', spec({'train': pool + ', zones: [us-central1-b]'}))
    home.apply()
    assert {one['zone'].split('/')[-1] for one in nodes(gce, 'train')} == {'us-central1-b'}
    clean(home)
    home.write('cluster.yaml', spec({'train': pool + ', zones: [us-central1-c]'}))
    assert 'is in us-central1-a, not in us-central1-c' in re.sub(r'\s+', ' ', home.run('plan', 'cluster.yaml', code=None).err)
    # each of two pools uses the one in its zone
    reserve(gce, 'ours', 'n1-standard-4', 3, zone='us-central1-c')
    two = {'train': pool + ', zones: [us-central1-b]',
           'data': 'instance_type: n1-standard-4, nodes: 3, market: {reservation: ours}, zones: [us-central1-c]'}
    home.write('cluster.yaml', spec({**two, 'data': two['data'].replace('nodes: 3', 'nodes: 4')}))
    said = home.run('plan', 'cluster.yaml', code=8).err
    assert 'reservation ours in us-central1-c has room for 3 more of its 3 nodes, and the plan creates 4' in re.sub(r'\s+', ' ', said)
    assert 'cluster.yaml:8' in said
    home.write('cluster.yaml', spec(two))
    home.apply()
    assert {(one['labels']['raygpu-pool'], one['zone'][-1]) for one in nodes(gce) if 'raygpu-pool' in one['labels']} >= {
        ('train', 'b'), ('data', 'c')}
    assert len(nodes(gce, 'data')) == 3 and len(nodes(gce, 'train')) == 2
    clean(home)


def router(gce, name, network, **nat):
    gce.done(gce.insert('regions/us-central1/routers', {
        'name': name, 'network': f'projects/{PROJECT}/global/networks/{network}', 'nats': [{'name': 'nat', **nat}]}))


def test_cloud_nat_of_another_network_does_not_count(gce, home):
    default, other = (f'projects/{PROJECT}/regions/us-central1/subnetworks/{name}' for name in ('default', 'other'))
    gce.done(gce.insert('global/networks', {'name': 'lab', 'autoCreateSubnetworks': False}))

    def warned():
        result = home.run('plan', 'cluster.yaml')
        text = re.sub(r'\s+', ' ', result.out + result.err)
        return 'no Cloud NAT serves the subnetwork default of network default' in text
    home.write('cluster.yaml', spec({'w': 'accelerators: "T4:1", nodes: 1'}))
    assert warned()
    router(gce, 'of-lab', 'lab', sourceSubnetworkIpRangesToNat='ALL_SUBNETWORKS_ALL_IP_RANGES')
    router(gce, 'private', 'default', type='PRIVATE', sourceSubnetworkIpRangesToNat='ALL_SUBNETWORKS_ALL_IP_RANGES')
    router(gce, 'of-other', 'default', sourceSubnetworkIpRangesToNat='LIST_OF_SUBNETWORKS',
           subnetworks=[{'name': other, 'sourceIpRangesToNat': ['ALL_IP_RANGES']},
                        {'name': default, 'sourceIpRangesToNat': ['LIST_OF_SECONDARY_IP_RANGES']}])
    assert warned()
    router(gce, 'of-ours', 'default', sourceSubnetworkIpRangesToNat='LIST_OF_SUBNETWORKS',
           subnetworks=[{'name': default, 'sourceIpRangesToNat': ['PRIMARY_IP_RANGE']}])
    assert not warned()


def test_connect_goes_through_iap(gce, home):
    home.write('cluster.yaml', spec({'w': 'accelerators: "T4:1", nodes: 1'}, f', project: {PROJECT}'))
    home.apply()
    head = next(i for i in nodes(gce) if i['labels']['raygpu-name'] == 'head')
    command = ' '.join(home.run('connect', 'cluster.yaml', '--print').out.split())
    assert f'gcloud compute ssh {head["name"]} --zone us-central1-a --project {PROJECT} --tunnel-through-iap -- -N' in command
    assert '-L 127.0.0.1:8265:127.0.0.1:8265' in command


def test_any_of_chooses_one_region(gce, home):
    """All nodes of a cluster are in the region that is chosen."""
    text = spec({'w': 'accelerators: "L4:1", nodes: 1'})
    text = text.replace('provider: {name: gcp, region: us-central1}',
                        'provider: {any_of: [{name: gcp, region: us-central1}, {name: gcp, region: europe-west4}]}')
    home.write('cluster.yaml', text)
    result = home.run('plan', 'cluster.yaml', code=None)
    assert result.code == 0, result
    home.apply()
    assert len({i['zone'].split('/')[-1][:-2] for i in nodes(gce)}) == 1 and len(nodes(gce)) == 2
    clean(home)

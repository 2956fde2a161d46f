"""Lists of the simulated Compute Engine: filters, order, pages, partial responses, unreachable zones."""
import pytest
from gce_server import PROJECT, ZONE, Gce, bulk, instance

HERE = f'zones/{ZONE}/instances'
OTHER = 'europe-west4-b'


@pytest.fixture(name='full', scope='module')
def filled():
    with Gce('--boot-ms', '1') as gce:
        gce.done(gce.insert(HERE + '/bulkInsert', bulk([f'n-{i}' for i in range(7)], labels={'pool': 'a', 'x': '1'})))
        gce.done(gce.insert(HERE, instance('head', labels={'pool': 'h'})))
        gce.done(gce.insert(f'zones/{OTHER}/instances', instance('far', zone=OTHER, labels={'pool': 'a'})))
        yield gce


@pytest.mark.parametrize('text, names', [
    ('labels.pool=h', 'head'),
    ('labels.pool=a AND name=n-3', 'n-3'),
    ('labels.pool=a labels.x=1 name!=n-3', 'n-0 n-1 n-2 n-4 n-5 n-6'),
    ('(labels.pool=a) (name=n-1 OR name=n-2)', 'n-1 n-2'),
    ('name:n-*', 'n-0 n-1 n-2 n-3 n-4 n-5 n-6'),
    ('name="n-1*"', 'n-1'),
    ('name eq "h.*"', 'head'),
    (r'name eq ".*\bhead\b.*"', 'head'),
    ('name ne "n-.*"', 'head'),
    ('NOT labels.x:*', 'head'),
    ('-labels.x=1', 'head'),
    ('labels.pool!=a', 'head'),
    ('labels.none=x', ''),
    ('scheduling.automaticRestart=true AND name=head', 'head'),
    ('disks.boot=true name=n-0', 'n-0'),
    ('status=RUNNING name>n-4', 'n-5 n-6'),
])
def test_filters(full, text, names):
    found = full.get(HERE, filter=text).get('items', [])
    assert [i['name'] for i in found] == names.split()


@pytest.mark.parametrize('text', ['labels.pool', 'labels.pool=', '(name=a', 'name="a', 'name eq "("', '= a', 'AND',
                                  '(' * 100 + 'name=a' + ')' * 100])
def test_what_is_not_a_filter(full, text):
    status, answer = full.call('GET', HERE, filter=text)
    if text == 'labels.pool=':
        assert status == 200
    else:
        assert status == 400 and "'filter'" in answer['error']['message']


def test_pages(full):
    names, query = [], {}
    for _ in range(3):
        page = full.get(HERE, maxResults=3, filter='labels.pool=a', **query)
        names.append([i['name'] for i in page['items']])
        query = {'pageToken': page.get('nextPageToken')}
    assert names == [['n-0', 'n-1', 'n-2'], ['n-3', 'n-4', 'n-5'], ['n-6']] and query['pageToken'] is None
    assert full.call('GET', HERE, maxResults=501)[0] == 400
    assert full.call('GET', HERE, maxResults='many')[0] == 400
    assert full.call('GET', HERE, pageToken='x')[0] == 400
    newest = full.get(HERE, orderBy='creationTimestamp desc')['items']
    assert newest[0]['name'] == 'head'
    assert full.call('GET', HERE, orderBy='id')[0] == 400


def test_pages_may_count_what_a_filter_drops(full):
    full.knobs(page_before_filter=1)
    first = full.get(HERE, maxResults=2, filter='name=n-6')
    full.knobs(page_before_filter=0)
    assert 'items' not in first and first['nextPageToken']


def test_aggregated(full):
    answer = full.get('aggregated/instances', filter='labels.pool=a')
    filled = {scope: [i['name'] for i in entry['instances']] for scope, entry in answer['items'].items()
              if 'instances' in entry}
    assert filled == {f'zones/{ZONE}': [f'n-{i}' for i in range(7)], f'zones/{OTHER}': ['far']}
    empty = answer['items']['zones/us-central1-b']['warning']
    assert empty['code'] == 'NO_RESULTS_ON_PAGE' and empty['data'] == [{'key': 'scope', 'value': 'zones/us-central1-b'}]
    scopes = full.get('aggregated/operations', maxResults=1)['items']
    assert {'global', 'regions/us-central1', f'zones/{ZONE}'} <= set(scopes)


def test_partial_responses(full):
    item = full.get(HERE + '/head', fields='name,disks(source,boot),networkInterfaces/networkIP')
    assert set(item) == {'name', 'disks', 'networkInterfaces'}
    assert set(item['disks'][0]) == {'source', 'boot'} and set(item['networkInterfaces'][0]) == {'networkIP'}
    page = full.get('aggregated/instances', maxResults=1,
                    fields='nextPageToken,unreachables,items/*(instances(id,labels),warning/code)')
    assert set(page) == {'nextPageToken', 'items'}
    assert set(page['items'][f'zones/{OTHER}']['instances'][0]) == {'id', 'labels'}
    whole = full.get(HERE + '/head')
    assert full.get(HERE + '/head', fields='*') == whole
    for bad in ('nme', 'disks(', 'disks()', 'name/x', 'items', '', ',', 'disks/', 'name)'):
        status, answer = full.call('GET', HERE + '/head', fields=bad)
        assert status == 400 and 'Invalid field selection' in answer['error']['message'], bad


def test_unreachable_zones(full):
    full.knobs(unreachable=[OTHER])
    try:
        assert full.call('GET', 'aggregated/instances')[0] == 503
        answer = full.get('aggregated/instances', returnPartialSuccess='true')
        assert answer['unreachables'] == [f'projects/{PROJECT}/zones/{OTHER}']
        assert 'instances' not in answer['items'][f'zones/{OTHER}']
        assert full.call('GET', f'zones/{OTHER}/instances')[0] == 503
        full.knobs(partial_success=0)
        answer = full.get('aggregated/instances', returnPartialSuccess='true')
        assert 'unreachables' not in answer
        assert answer['items'][f'zones/{OTHER}']['warning']['code'] == 'UNREACHABLE'
    finally:
        full.knobs(unreachable=[], partial_success=1)


def test_readers_lag_behind():
    with Gce('--consistency-ms', '3600000', '--boot-ms', '1') as gce:
        gce.done(gce.insert(HERE, instance('a')))
        assert gce.get(HERE + '/a')['name'] == 'a' and 'items' not in gce.get(HERE)
        names = [f['name'] for f in gce.get('global/firewalls')['items']]
        assert 'default-allow-ssh' in names, 'what was there before is there'
        gce.knobs(consistency_ms=0)
        assert [i['name'] for i in gce.get(HERE)['items']] == ['a']


def test_facts(full):
    regions = full.get('regions')['items']
    assert len(regions) > 40 and regions[0]['zones']
    zones = [z['name'] for z in full.get('zones', filter='region eq ".*us-central1"')['items']]
    assert zones == ['us-central1-a', 'us-central1-b', 'us-central1-c', 'us-central1-f']
    assert full.call('GET', 'zones/us-central1-d')[0] == 400 and full.call('GET', 'regions/mars-1')[0] == 400
    types = full.get(f'zones/{ZONE}/machineTypes', filter='name=a2-highgpu-1g')['items']
    assert types[0]['accelerators'] == [{'guestAcceleratorType': 'nvidia-tesla-a100', 'guestAcceleratorCount': 1}]
    assert full.call('GET', 'zones/africa-south1-a/machineTypes/a2-highgpu-1g')[0] == 404, 'not offered there'
    names = {a['name'] for a in full.get(f'zones/{ZONE}/acceleratorTypes')['items']}
    assert {'nvidia-tesla-v100', 'nvidia-tesla-t4', 'nvidia-l4'} <= names
    everywhere = full.get('aggregated/acceleratorTypes', filter='name=nvidia-tesla-v100')['items']
    assert len([z for z, e in everywhere.items() if 'acceleratorTypes' in e]) < len(everywhere)
    assert len(full.get(f'zones/{ZONE}/diskTypes')['items']) == 5
    assert full.get(f'zones/{ZONE}/diskTypes/pd-ssd')['name'] == 'pd-ssd'
    image = full.get('global/images/family/ubuntu-2404-lts-amd64', project='ubuntu-os-cloud')
    assert full.get('global/images/' + image['id'], project='ubuntu-os-cloud') == image
    assert full.get('global/images/' + image['name'], project='ubuntu-os-cloud') == image
    assert full.call('GET', 'global/images/family/none', project='ubuntu-os-cloud')[0] == 404

"""Network interfaces: gVNIC where the machine series requires it, or where the image supports it and it raises the bandwidth."""
import contextlib
import hashlib
import json
import sqlite3

import pytest
from test_gcp_story import clean, nodes, spec

DEFAULT = 'common-cu129-ubuntu-2204-nvidia-580'
REQUIRED = 'instance_type: n4-standard-4, nodes: 2'
PREFERRED = 'instance_type: g2-standard-4, nodes: 1'


def nics(gce, pool):
    return {i['networkInterfaces'][0].get('nicType') for i in nodes(gce, pool)}


def test_the_interface_is_that_of_the_series(gce, home):
    home.write('cluster.yaml', spec({'a': REQUIRED, 'b': PREFERRED, 'c': 'instance_type: n2-standard-4, nodes: 1'}))
    home.apply()
    assert nics(gce, 'a') == nics(gce, 'b') == {'GVNIC'} and nics(gce, 'c') == nics(gce, 'head') == {None}
    assert 'No changes.' in clean(home).out
    shown = home.run('state', 'show', 'gcp.instance.a[0]').out
    assert 'nic_type' in shown and 'GVNIC' in shown, shown
    home.run('state', 'rebuild', 'cluster.yaml', '--state', 'new.db')
    assert 'nic_type' in home.run('state', 'show', 'gcp.instance.a[0]', '--state', 'new.db').out


def test_an_image_without_the_driver_stops_the_plan(gce, home):
    gce.knobs(google_images_without_features=[DEFAULT])
    home.write('cluster.yaml', spec({'w': REQUIRED}))
    said = home.run('plan', 'cluster.yaml', code=1).err
    for text in ('n4-standard-4 has only gVNIC', DEFAULT + '-v', 'feature GVNIC', 'cluster.yaml:7'):
        assert text in said, said
    assert gce.counters()['mutating'] == 0


def test_the_default_interface_serves_where_gvnic_is_only_faster(gce, home):
    gce.knobs(google_images_without_features=[DEFAULT])
    home.write('cluster.yaml', spec({'w': PREFERRED}))
    home.apply()
    assert nics(gce, 'w') == {None}
    gce.knobs(google_images_without_features=[])
    assert 'No changes.' in clean(home).out


def forget(home, name):
    """Removes the member from all attributes and facts, as in a state of a version that did not have it."""
    def without(value):
        if isinstance(value, dict):
            return {key: without(one) for key, one in value.items() if key != name}
        return [without(one) for one in value] if isinstance(value, list) else value
    def cut(text):
        return json.dumps(without(json.loads(text)), sort_keys=True, separators=(',', ':'))
    with contextlib.closing(sqlite3.connect(home.state)) as db:
        blobs = [(key, cut(text)) for key, text in db.execute('SELECT sha256, bytes FROM blobs')]
        facts = [(cut(text), key) for key, text in db.execute('SELECT id, facts FROM clusters')]
    for key, text in blobs:
        new = hashlib.sha256(text.encode()).digest()
        home.edit_state(('INSERT OR IGNORE INTO blobs VALUES (?, ?)', (new, text)), ('UPDATE resources SET attrs = ? WHERE attrs = ?', (new, key)))
    for row in facts:
        home.edit_state(('UPDATE clusters SET facts = ? WHERE id = ?', row))


@pytest.mark.parametrize('pool', [REQUIRED, PREFERRED])
def test_nodes_of_an_earlier_version_stay(gce, home, pool):
    """Their records lack the attribute, and the facts what the image supports."""
    home.write('cluster.yaml', spec({'w': pool}))
    home.apply()
    before = {i['id'] for i in nodes(gce)}
    forget(home, 'nic_type')
    forget(home, 'features')
    assert 'nic_type' not in home.run('state', 'show', 'gcp.instance.w[0]').out
    assert 'No changes.' in clean(home).out
    home.write('cluster.yaml', spec({'w': pool.replace('nodes: ', 'nodes: 1')}))
    home.apply()
    assert before < {i['id'] for i in nodes(gce)}
    assert 'No changes.' in clean(home).out


INSERT = {'machineType': 'zones/us-central1-a/machineTypes/n4-standard-4', 'disks': [{
    'boot': True, 'autoDelete': True, 'initializeParams': {
        'sourceImage': f'projects/deeplearning-platform-release/global/images/family/{DEFAULT}', 'diskType':
        'zones/us-central1-a/diskTypes/hyperdisk-balanced'}}]}


@pytest.mark.parametrize('without, nic, said', [
    ([], 'VIRTIO_NET', 'n4-standard-4'), ([DEFAULT], None, 'gVNIC'), ([DEFAULT], 'GVNIC', 'gVNIC'), ([], None, None), ([], 'GVNIC', None)])
def test_the_simulator_is_as_strict(gce, without, nic, said):
    gce.knobs(google_images_without_features=without)
    interface = {'network': 'global/networks/default', **({'nicType': nic} if nic else {})}
    status, answer = gce.call('POST', 'zones/us-central1-a/instances', {**INSERT, 'name': 'one', 'networkInterfaces': [interface]})
    if said:
        assert status == 400 and said in answer['error']['message'], answer
        return
    gce.done(answer)
    status, answer = gce.call('GET', 'zones/us-central1-a/instances/one')
    assert answer['networkInterfaces'][0]['nicType'] == 'GVNIC'

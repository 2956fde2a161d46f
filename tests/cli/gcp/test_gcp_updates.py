"""Changes of nodes that exist: by hand to another machine, to newer images, and by an apply that is killed."""
import json
import time

import pytest
from gce_server import Gce, gce_env
from test_gcp_failures import place_of, requests
from test_gcp_story import clean, nodes, spec

POOL = 'instance_type: n1-standard-4+nvidia-tesla-t4:1, nodes: 2, zones: [us-central1-a]'


def flat(text):
    return ' '.join(text.split())


def age(home):
    """The records are an hour old: what lists do not show by now is not so."""
    home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')


# ---- apply/test_interrupted_update.py: what is changed, by which call, how a node shows it

CHANGES = {
    'labels': ('instances.setLabels', lambda way: spec({'w': POOL}).replace('team: ml', f'team: {way}'),
               lambda node, way: node['labels']['team'] == way),
    'tags': ('instances.setTags', lambda way: spec({'w': POOL}, f', network_tags: [{way}]'),
             lambda node, way: way in node['tags']['items']),
    'address': ('instances.addAccessConfig', lambda way: spec({'w': POOL + (', public_ip: true' if way == 'new' else '')}),
                lambda node, way: ('accessConfigs' in node['networkInterfaces'][0]) == (way == 'new'))}


def kill_in_update(gce, home, action, when):
    """An apply whose change is refused, `before` or `after` it took effect, and which is killed while it waits to try again; all nodes
    that it changes at the same time were asked for it."""
    count = 2 if action == 'instances.addAccessConfig' else 3  # the head too
    gce.fault(action=action, when=when, status=503, code='backendError', retry_after=60, count=0)
    gce.counters_reset()
    home.env.pop('RAYGPU_LOOPBACK_BACKOFF_MS')
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    home.env['RAYGPU_LOOPBACK_BACKOFF_MS'] = '50'
    while requests(gce, action) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.kill()
    process.communicate()
    gce.faults_clear()


def arrives(gce, shows):
    """Requests are counted when they arrive, before they take effect."""
    while not any(shows(node, 'new') for node in nodes(gce, 'w')):
        time.sleep(0.01)


@pytest.mark.parametrize('name', CHANGES)
def test_an_update_that_was_killed(gce, home, name):
    action, text, shows = CHANGES[name]

    def settled(way):
        assert all(shows(node, way) for node in nodes(gce, 'w')), nodes(gce, 'w')
        clean(home)
        age(home)
    home.write('cluster.yaml', text('old'))
    home.apply()
    age(home)
    # the cloud did not get the change: a spec that is put back may still see it arrive
    home.write('cluster.yaml', text('new'))
    kill_in_update(gce, home, action, 'before')
    home.write('cluster.yaml', text('old'))
    unsure = home.run('plan', 'cluster.yaml', '--no-settle', code=1)
    assert 'diff.unknown' in unsure.err and 'it was changed a moment ago' in flat(unsure.err)
    age(home)
    home.apply()
    settled('old')
    # it did: no one else changed it, and the next apply continues
    home.write('cluster.yaml', text('new'))
    kill_in_update(gce, home, action, 'after')
    arrives(gce, shows)
    age(home)
    drift = home.run('drift', 'cluster.yaml', '--no-settle', '--format', 'json', code=2).json()['drift']
    assert drift and all(item['interrupted'] for item in drift)
    home.apply()
    settled('new')
    # put back instead
    home.write('cluster.yaml', text('old'))
    home.apply()
    age(home)
    home.write('cluster.yaml', text('new'))
    kill_in_update(gce, home, action, 'after')
    arrives(gce, shows)
    home.write('cluster.yaml', text('old'))
    age(home)
    said = home.run('plan', 'cluster.yaml', '--no-settle').out
    assert 'has changed; an interrupted run of raygpu was updating it' in said and 'outside of raygpu' not in said
    home.apply()
    settled('old')


# ---- apply/test_story.py

def test_drift_of_the_machine_type_replaces_the_node(gce, home):
    home.write('cluster.yaml', spec({'w': POOL}))
    home.apply()
    one = nodes(gce, 'w')[0]
    gce.done(gce.insert(place_of(one) + '/stop', None))
    gce.done(gce.insert(place_of(one) + '/setMachineType', {'machineType': 'zones/us-central1-a/machineTypes/n1-standard-8'}))
    gce.done(gce.insert(place_of(one) + '/start', None))
    drift = home.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()['drift']
    (changed,) = drift
    assert [(a['name'], a['recorded'], a['observed']) for a in changed['attributes']] == [
        ('instance_type', 'n1-standard-4+nvidia-tesla-t4:1', 'n1-standard-8+nvidia-tesla-t4:1')]
    said = home.run('plan', 'cluster.yaml').out
    assert 'must be replaced' in said and 'forces replacement' in said
    home.apply()
    assert {i['machineType'].split('/')[-1] for i in nodes(gce, 'w')} == {'n1-standard-4'} and len(nodes(gce, 'w')) == 2
    assert one['id'] not in {i['id'] for i in nodes(gce)}
    clean(home)


# ---- apply/test_renew_images.py, aws/test_aws_access.py, aws/test_aws_preflight.py

def image_of(gce, path, **more):
    """An image's record, changed, as a fault's answer."""
    status, image = gce.call('GET', path.split('/', 2)[2], project=path.split('/')[1])
    assert status == 200, image
    return json.dumps({**image, **more})


def images(gce):
    return {d['sourceImage'].split('/')[-1] for d in gce.world()['disks']}


def test_a_newer_image_is_used_only_when_asked_for(gce, home):
    home.write('cluster.yaml', spec({'w': POOL}))
    home.apply()
    (before,) = images(gce)
    # another image that exists stands for the newer one of the family
    newer = 'common-cu129-ubuntu-2404-nvidia-580-v20260818'
    path = 'projects/deeplearning-platform-release/global/images/' + newer
    gce.fault(action='images.getFromFamily', status=200, count=0, content_type='application/json',
              body=image_of(gce, path, family='common-cu129-ubuntu-2204-nvidia-580'))
    assert 'No changes.' in clean(home).out
    said = home.run('plan', 'cluster.yaml', '--renew-images', '--out', 'plan.json').out
    assert '~ image' in said and '# forces replacement' in said and newer in said and before in said
    home.run('apply', 'plan.json', '--auto-approve')
    assert images(gce) == {newer} and len(nodes(gce)) == 3
    assert 'No changes.' in clean(home).out, 'and pinned again'
    gce.faults_clear()
    assert 'No changes.' in clean(home).out


def test_images_that_are_missing_obsolete_or_deprecated(gce, home):
    path = 'projects/ubuntu-os-cloud/global/images/ubuntu-2404-lts-amd64-v20260818'

    def refused(image, text):
        home.write('cluster.yaml', spec({'w': POOL + f', image: {image}'}))
        said = home.run('plan', 'cluster.yaml', code=None)
        assert said.code not in (0, 2) and text in flat(said.err) and 'cluster.yaml:7' in said.err, said

    def answer(**more):
        gce.fault(action='images.get', status=200, count=0, content_type='application/json', body=image_of(gce, path, **more))
    refused('no-such-image', 'there is no image projects/demo-project/global/images/no-such-image')
    for change, text in (({'deprecated': {'state': 'OBSOLETE'}}, 'is OBSOLETE'), ({'status': 'PENDING'}, 'is PENDING, not READY')):
        answer(**change)
        refused(path, text)
        gce.faults_clear()
    answer(deprecated={'state': 'DEPRECATED', 'deprecated': '2026-11-02T00:00:00.000-07:00'})
    home.apply()
    said = clean(home)
    assert 'is deprecated since 2026-11-02' in flat(said.err) and 'No changes.' in said.out

"""Node images are pinned by the first apply; `plan --renew-images` resolves them again."""
import copy
import json

from program import Home, spec
from sim_server import Sim

FAMILY = 'Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) '


def restart(sim, world, change):
    sim.stop()
    document = json.loads(world.read_text())
    change(document['regions']['us-east-1']['images'])
    world.write_text(json.dumps(document))
    sim.port = int(sim.url.rsplit(':', 1)[1])
    sim.start()


def ours(images):
    return max((i for i in images if i['name'].startswith(FAMILY) and i['imageOwnerId'] == '898082745236'),
               key=lambda i: i['creationDate'])


def publish(images):
    images.append({**copy.deepcopy(ours(images)), 'imageId': 'ami-0fedcba9876543210', 'name': FAMILY + '20261101',
                   'creationDate': '2026-11-01T10:00:00.000Z'})


def nodes(sim):
    return {i['imageId'] for i in sim.live_instances()}


def test_a_newer_image_is_used_only_when_asked_for(tmp_path):
    world = tmp_path / 'world.json'
    with Sim('--boot-ms', '0', world=str(world)) as sim:
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec(pools={'serve': 2}))
        home.apply('cluster.yaml')
        before = nodes(sim)
        restart(sim, world, publish)
        assert 'No changes.' in home.run('plan', 'cluster.yaml', '--no-settle').out
        said = home.run('plan', 'cluster.yaml', '--renew-images', '--no-settle', '--out', 'plan.json').out
        assert 'forces replacement (image)' in said and 'ami-0fedcba9876543210' in said
        home.run('apply', 'plan.json', '--auto-approve')
        assert 'ami-0fedcba9876543210' in nodes(sim) and before != nodes(sim)
        assert 'No changes.' in home.run('plan', 'cluster.yaml', '--no-settle').out, 'and pinned again'


def test_a_deprecated_image_is_named(tmp_path):
    world = tmp_path / 'world.json'

    def deprecate(images):
        ours(images)['deprecationTime'] = '2026-11-02T00:00:00.000Z'

    with Sim('--boot-ms', '0', world=str(world)) as sim:
        sim.ec2('DescribeImages', {'Owner.1': 'amazon'})
        chosen = ours(sim.world('us-east-1')['images'])['imageId']
        restart(sim, world, deprecate)
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec(pools={'serve': 1}, pool_extra=f', image: {chosen}'))
        home.apply('cluster.yaml')
        said = home.run('plan', 'cluster.yaml', '--no-settle')
        assert f'image {chosen} of the nodes is deprecated since 2026-11-02' in said.err
        assert 'No changes.' in said.out

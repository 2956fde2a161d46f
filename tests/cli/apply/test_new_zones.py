"""What the cloud has gained since a cluster's first apply: subnets that were created as a plan suggested."""
import json

from program import Home, spec
from sim_server import Sim

# zones of us-east-1 in which raygpu-sim offers no p4d.24xlarge
WITHOUT_A100 = ('us-east-1e', 'us-east-1f')


def restart(sim, world, change):
    sim.stop()
    document = json.loads(world.read_text())
    change(document['regions']['us-east-1'])
    world.write_text(json.dumps(document))
    sim.port = int(sim.url.rsplit(':', 1)[1])
    sim.start()


def test_a_subnet_made_as_told_is_seen(tmp_path):
    world, taken = tmp_path / 'world.json', []

    def take(tables):
        taken.extend(s for s in tables['subnets'] if s['availabilityZone'] not in WITHOUT_A100)
        tables['subnets'] = [s for s in tables['subnets'] if s not in taken]

    with Sim('--boot-ms', '0', world=str(world)) as sim:
        sim.ec2('DescribeSubnets')
        restart(sim, world, take)
        home = Home(tmp_path, sim.env())
        home.write('cluster.yaml', spec(pools={'serve': 1}))
        home.apply()
        home.write('cluster.yaml', spec(pools={'serve': 1, 'train': ('A100:8', 1)}))
        assert 'fit.no-zone' in home.run('plan', '--no-settle', code=4).err
        restart(sim, world, lambda tables: tables['subnets'].extend(taken))
        sim.counters_reset()
        home.apply('cluster.yaml', '--no-settle')
        asked = sim.counters()['actions']
        assert asked['DescribeSubnets']['requests'] == 2, asked  # where to place nodes, and before they are made
        zones = {i['instanceType']: i['placement']['availabilityZone'] for i in sim.live_instances()}
        assert zones['p4d.24xlarge'] not in WITHOUT_A100 and zones['g4dn.xlarge'] in WITHOUT_A100
        sim.counters_reset()
        assert 'No changes.' in home.run('plan', '--no-settle').out
        assert 'DescribeSubnets' not in sim.counters()['actions'], 'a plan without changes asks nothing'

"""The address that workers booted with: if the head gets another one, they must be replaced too, and no plan may
consider a worker with the old one correct."""
import pytest
from program import spec
from sim_server import tags_of


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec(pools={'serve': 1}))
    home.apply()
    return home


def node(sim, pool):
    return [i for i in sim.live_instances() if tags_of(i)['raygpu:pool'] == pool][0]


def lose_head(sim, home):
    """Someone deletes the head and its address, long after their creation."""
    head = node(sim, 'head')
    interface = head['networkInterfaceSet'][0]['networkInterfaceId']
    sim.ok('TerminateInstances', {'InstanceId.1': head['instanceId']})
    sim.ok('DeleteNetworkInterface', {'NetworkInterfaceId': interface})
    home.edit_state('UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600')


def changes(home, *more):
    home.run('plan', 'cluster.yaml', '--out', 'plan.json', '--no-settle', *more)
    plan = home.run('show', 'plan.json', '--json').json()
    return {c['address']: c['change']['actions'] for c in plan['resource_changes'] if
            c['change']['actions'] != ['no-op']}


def test_a_new_address_of_the_head_replaces_the_workers(sim, home):
    old = node(sim, 'serve')['instanceId']
    lose_head(sim, home)
    assert changes(home) == {'aws.network_interface.head': ['create'], 'aws.instance.head': ['create'],
                             'aws.instance.serve[0]': ['delete', 'create']}
    home.apply('cluster.yaml', '--no-settle')
    assert node(sim, 'serve')['instanceId'] != old
    assert changes(home) == {}


def test_a_replaced_address_replaces_the_workers(home):
    assert changes(home, '--replace', 'aws.network_interface.head')['aws.instance.serve[0]'] == ['delete', 'create']


def test_a_worker_that_could_not_be_removed_is_not_forgotten(sim, home):
    lose_head(sim, home)
    sim.fault(action='TerminateInstances', when='before', status=403, code='UnauthorizedOperation')
    home.run('apply', 'cluster.yaml', '--auto-approve', '--no-settle', code=7)
    assert changes(home)['aws.instance.serve[0]'] == ['delete', 'create']
    home.apply('cluster.yaml', '--no-settle')
    assert changes(home) == {}


def test_a_head_with_a_new_address_is_not_made_for_workers_that_are_left_out(sim, home):
    lose_head(sim, home)
    said = home.run('plan', 'cluster.yaml', '--no-settle', '--target', 'aws.instance.head', code=1).err
    assert "cannot be created again while" in ' '.join(said.split())
    assert len(sim.live_instances()) == 1

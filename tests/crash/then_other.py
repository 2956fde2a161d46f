"""kill -9 while the nodes of a pool are created, then an apply of another spec: the clouds and stores, the kinds of change, and what
must be true afterwards. For tests/crash/test_kill_then_other*.py."""
import os
import shutil
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), folder) for folder in ('cli', 'cli/state')]
from cut import Cut  # noqa: E402
from document_stores import USER, Protocol  # noqa: E402
from gce_server import PROJECT, Gce, gce_env  # noqa: E402
from program import Home, spec  # noqa: E402
from sim_server import Sim, tags_of  # noqa: E402
from tf_state_server import StateServer  # noqa: E402

LATER = 'UPDATE resources SET created_s = created_s - 3600, updated_s = updated_s - 3600'
IMMEDIATE = ('--boot-ms', '0', '--shutdown-ms', '0')


class Ec2:
    place = '{name: aws, region: us-east-1}'
    head, larger_head = 'm5.2xlarge', 'm5.4xlarge'
    other_zone = 'us-east-1b'
    not_here = {'g4dn.xlarge': {'us-east-1a': 0}}  # T4, where the pool was begun
    launch = '^(?!.*DryRun=true).*Action=RunInstances'
    launch_of = launch + '.*=raygpu%3Apool&[^&]*={}&'
    removal = 'Action=TerminateInstances'
    server = Sim

    @staticmethod
    def environment(url):
        return {'AWS_ENDPOINT_URL': url}

    @staticmethod
    def credentials(sim):
        return sim.env()

    @staticmethod
    def nodes(sim):
        """{id: pool} of what runs, in all regions."""
        return {one['instanceId']: tags_of(one)['raygpu:pool'] for one in Ec2.left(sim) if 'instanceState' in one}

    @staticmethod
    def left(sim):
        """What there is with our marks."""
        tables = [table for region in Sim.world(sim)['regions'].values() for table in region.values() if isinstance(table, list)]
        return [one for table in tables for one in table if 'raygpu:lineage' in tags_of(one)
                and one.get('instanceState', {}).get('name') not in ('shutting-down', 'terminated')
                and one.get('state') not in ('closed', 'cancelled')]  # requests for spot instances


class ComputeEngine:
    place = '{name: gcp, region: us-central1}'
    head, larger_head = 'n2-standard-8', 'n2-standard-16'
    other_zone = 'us-central1-b'
    not_here = {'n1-standard-4+nvidia-tesla-t4:1': {'us-central1-a': 0}}
    launch = 'POST .*/instances(/bulkInsert)?[? ]'
    launch_of = '(?s)' + launch + '.*"raygpu-pool": ?"{}"'
    removal = 'DELETE .*/instances/'
    server = Gce

    @staticmethod
    def environment(url):
        return {'GCE_METADATA_HOST': url.split('//')[1], 'GOOGLE_CLOUD_PROJECT': PROJECT,
                'CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE': url + '/compute/v1/'}

    @staticmethod
    def credentials(sim):
        return gce_env(sim)

    @staticmethod
    def nodes(sim):
        return {one['id']: one['labels']['raygpu-pool'] for one in sim.world().get('instances', [])}

    @staticmethod
    def left(sim):
        return [one for name, table in sim.world().items() if name not in ('operations', 'request_ids')
                for one in table if one.get('name', '').startswith(('raygpu-', 'research-')) or 'raygpu-lineage' in one.get('labels', {})]


class Both:
    """One server."""
    launch_of = Ec2.launch_of  # the cheaper one
    server = Gce

    @staticmethod
    def environment(url):
        return {**Ec2.environment(url), **ComputeEngine.environment(url)}

    @staticmethod
    def credentials(sim):
        return {**sim.env(), **gce_env(sim)}

    @staticmethod
    def nodes(sim):
        return {**Ec2.nodes(sim), **ComputeEngine.nodes(sim)}

    @staticmethod
    def left(sim):
        return Ec2.left(sim) + ComputeEngine.left(sim)


CLOUDS = {'ec2': Ec2, 'gce': ComputeEngine}


def before(cloud, head=None):
    return spec(head=head or cloud.head).replace(Ec2.place, cloud.place)


def pool(name='b', nodes=4, kind='L4:1', value='1', extra=''):
    return f'  {name}: {{accelerators: "{kind}", nodes: {nodes}, env: {{X: "{value}"}}{extra}}}\n'


def changes(cloud):
    """{what: (the pools' nodes afterwards, the spec that is applied after the kill)}"""
    first = before(cloud)
    return {
        'the same': ({'b': 4}, first + pool()),
        'replaced one by one': ({'b': 4}, first + pool(value='2')),
        'replaced two at a time': ({'b': 4}, first + pool(value='2', extra=', replace: {max_unavailable: 2}')),
        'replaced with a surge': ({'b': 4}, first + pool(value='2', extra=', replace: {max_surge: 1}')),
        'replaced at once': ({'b': 4}, first + pool(value='2', extra=', replace: {max_unavailable: 4}')),
        'a gang': ({'b': 4}, first + pool(value='2', extra=', gang: true')),
        'another type': ({'b': 4}, first + pool(kind='T4:1')),
        'another type, not there': ({'b': 4}, first + pool(kind='T4:1')),  # but in another zone
        'another zone': ({'b': 4}, first + pool(extra=f', zones: [{cloud.other_zone}]')),
        'another disk': ({'b': 4}, first + pool(extra=', disk: {size: 300GB}')),
        'placed': ({'b': 4}, first + pool(extra=', network: {placement: cluster}')),
        'spot': ({'b': 4}, first + pool(extra=', market: spot')),
        'smaller': ({'b': 2}, first + pool(nodes=2)),
        'smaller, another disk': ({'b': 2}, first + pool(nodes=2, extra=', disk: {size: 300GB}')),
        'larger': ({'b': 6}, first + pool(nodes=6)),
        'larger, replaced': ({'b': 6}, first + pool(nodes=6, value='2')),
        'removed': ({}, first),
        'disabled': ({}, first + pool(extra=', enabled: false')),
        'renamed': ({'c': 4}, first + pool('c', extra=', renamed_from: b')),
        'renamed, replaced': ({'c': 4}, first + pool('c', value='2', extra=', renamed_from: b')),
        'renamed, smaller': ({'c': 2}, first + pool('c', nodes=2, extra=', renamed_from: b')),
        'another pool': ({'c': 2}, first + pool('c', nodes=2)),
        'another head': ({'b': 4}, before(cloud, cloud.larger_head) + pool(value='2')),
    }


KINDS = list(changes(Ec2))


def simulator(cloud, world):
    return cloud.server(*IMMEDIATE, world=str(world))


class Start:
    """A state and a world, to go on from again and again. `keep`: gives a home its store; None: the local file."""

    def __init__(self, cloud, folder, keep=None):
        self.cloud, self.folder, self.keep = cloud, folder, keep
        (folder / 'home').mkdir()
        self.home = self.new_home('home')

    def new_home(self, name):
        home = Home(self.folder / name)
        home.store = self.keep(home) if self.keep else None
        return home

    def simulator(self, name=''):
        return simulator(self.cloud, self.folder / f'world{name}')

    def use(self, home, sim):
        home.env.update(self.cloud.credentials(sim))

    def apply(self, text):
        """One that nothing interrupts, an hour ago."""
        with self.simulator() as sim:
            self.use(self.home, sim)
            self.home.write('cluster.yaml', text)
            self.home.apply('cluster.yaml', '--no-wait')
            self.home.edit_state(LATER)

    def kill(self, text, at, left):
        """An apply that is killed there; `left`: how many nodes there are then."""
        with self.simulator() as sim:
            self.use(self.home, sim)
            self.home.write('cluster.yaml', text)
            with Cut(sim.url, self.cloud.environment, at) as cut:
                assert cut.run(self.home, 'apply', '--auto-approve', '--no-wait') == -9
                cut.wait_for_the_others()
            assert len(self.cloud.nodes(sim)) == left
        return self

    def again(self, name):
        shutil.copytree(self.folder / 'home', self.folder / name)
        if os.path.exists(self.folder / 'world'):
            shutil.copy(self.folder / 'world', self.folder / f'world-{name}')
        sim = self.simulator(f'-{name}')
        home = self.new_home(name)
        self.use(home, sim)
        if home.store:
            home.store.copy(self.home.store)
        return sim, home


class Elsewhere(Protocol):
    """A store over HTTP: with what another place has, and the lock that a killed run left there."""

    def copy(self, other):
        for table in (self.server.states, self.server.locks):
            if other.path in table:
                table[self.path] = table[other.path]


def state_server():
    return StateServer(USER)


def pools_of(cloud, sim):
    counts = {}
    for name in cloud.nodes(sim).values():
        counts[name] = counts.get(name, 0) + 1
    return counts


def check_nodes(cloud, sim, home, pools):
    """As many run as the spec says, these are recorded, and nothing sees anything to do."""
    found, wanted = pools_of(cloud, sim), {'head': 1, **pools}
    assert found == wanted, f'{sum(found.values()) - sum(wanted.values())} nodes too many: {found}, not {wanted}'
    recorded = home.run('show', '--json').json()['values']['root_module']['resources']
    ids = sorted(one['values']['id'].split('/')[-1] for one in recorded if one['type'].endswith('.instance'))
    assert ids == sorted(cloud.nodes(sim)) and not [one for one in recorded if one['pending']]
    assert 'No changes.' in home.run('plan', '--detailed-exitcode').out
    home.run('drift')
    assert 'No orphans' in home.run('state', 'orphans').out


def check_end(cloud, sim, home):
    """Nothing is left of the cluster."""
    home.run('destroy', '--auto-approve')
    assert not cloud.nodes(sim)
    assert not cloud.left(sim), cloud.left(sim)


def check(cloud, sim, home, pools):
    check_nodes(cloud, sim, home, {'serve': 1, **pools})
    check_end(cloud, sim, home)


def apply_change(cloud, sim, home, change):
    pools, text = changes(cloud)[change]
    if change == 'another type, not there':
        sim.knobs(capacity=cloud.not_here)
    home.write('cluster.yaml', text)
    result = home.apply('cluster.yaml', '--no-wait', '--lock-timeout', '60')
    assert 'CRITICAL' not in result.err, result
    check(cloud, sim, home, pools)


def go_on(start, change, name=None):
    sim, home = start.again(name or change.replace(' ', '-'))
    with sim:
        apply_change(start.cloud, sim, home, change)

"""One spec that may go to AWS or to Google Cloud: the cluster is in one of them as a whole, is chosen by price, moves
only while none of its nodes exists, and stays after that."""
import json

import pytest
from gce_server import gce_env
from program import Home
from sim_server import NETWORK, Sim
from test_gcp_story import clean, nodes, spec, table

AWS, GCP = '{name: aws, region: us-east-1}', '{name: gcp, region: us-central1}'
HEAD = 'head: {accelerators: T4}'
T4 = {'w': 'accelerators: "T4:1", nodes: 2'}
A100 = {'w': 'accelerators: "A100:8", nodes: 2'}
P4D = 'p4d.24xlarge'


@pytest.fixture(name='home')
def user(tmp_path, gce):
    """Credentials of both clouds; their simulators are one server."""
    gce.knobs(**NETWORK)
    env = {**gce.env(), **gce_env(gce)}
    for name in ('AWS_ENDPOINT_URL', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_CONFIG_FILE',
                 'AWS_SHARED_CREDENTIALS_FILE', 'AWS_EC2_METADATA_DISABLED'):
        env[name] = gce.env()[name]
    del env['AWS_REGION'], env['AWS_DEFAULT_REGION']
    return Home(tmp_path, {**env, 'RAYGPU_TEST_NO_WAIT': '1'})


def anywhere(pools, extra='', places=(AWS, GCP), head=HEAD):
    text = spec(pools, extra=extra).replace('head: {instance_type: n2-standard-8}', head)
    return text.replace('{name: gcp, region: us-central1}', f'{{any_of: [{", ".join(places)}]}}')


def ec2(gce, table_='instances'):
    rows = Sim.world(gce, 'us-east-1')[table_]
    return [r for r in rows if r.get('instanceState', {}).get('name') not in ('terminated', 'shutting-down')
            and r.get('groupName') != 'default']


def flat(text):
    return ' '.join(text.split())


def place(home, *words, **more):
    home.run('plan', 'cluster.yaml', '--out', 'p.json', *words, **more)
    return json.loads(home.read('p.json'))['raygpu']['facts']['place']


def test_the_cheaper_cloud_has_all_of_it_and_keeps_it(gce, home):
    home.write('cluster.yaml', anywhere(T4, places=(GCP, AWS)))
    chosen = place(home)
    prices = {c['provider']: c['microusd_hour'] for c in chosen['candidates']}
    assert chosen['provider'] == 'aws' and prices['aws'] == 3 * 526000 < prices['gcp']
    assert 'Place: aws us-east-1, cheapest of 2 candidates' in home.run('show', 'p.json').out
    home.run('apply', 'p.json', '--auto-approve')
    assert (len(ec2(gce)), table(gce, 'instances')) == (3, [])
    clean(home)
    # pinned: what only the other cloud has is not a reason to leave
    home.write('cluster.yaml', anywhere({**T4, 'l': 'instance_type: g2-standard-4, nodes: 1'}))
    said = home.run('plan', 'cluster.yaml', code=4)
    assert 'g2-standard-4' in said.err and 'cluster.yaml:' in said.err
    home.write('cluster.yaml', anywhere(T4, places=(GCP,)))
    said = flat(home.run('plan', 'cluster.yaml', code=6).err)
    assert 'cluster research is recorded in aws us-east-1, which provider.any_of does not name' in said
    home.run('destroy', '--cluster', 'research', '--auto-approve')
    assert not ec2(gce) and not ec2(gce, 'security_groups')
    home.apply()
    assert (len(ec2(gce)), len(nodes(gce))) == (0, 3)


def test_a_type_of_one_cloud_leaves_only_that(home):
    home.write('cluster.yaml', anywhere(T4, head='head: {instance_type: n2-standard-8}'))
    chosen = place(home)
    assert (chosen['provider'], chosen['reason']) == ('gcp', 'the only one of 2 candidates that has everything')
    assert 'n2-standard-8' in next(c for c in chosen['candidates'] if c['provider'] == 'aws')['rejected']


def test_no_capacity_moves_the_whole_cluster(gce, home):
    """The head and its group exist in AWS by then: they are removed before anything is made in Google Cloud."""
    home.write('cluster.yaml', anywhere(A100))
    gce.knobs(capacity={P4D: {'*': 0}})
    said = home.run('apply', 'cluster.yaml', '--auto-approve')
    assert 'aws us-east-1 has no capacity for the cluster: removing what was created there.' in said.out + said.err
    for name in ('instances', 'security_groups', 'network_interfaces'):
        assert ec2(gce, name) == [], name
    assert len(nodes(gce)) == 3 and len(nodes(gce, 'w')) == 2
    assert [run['outcome'] for run in home.run('log', '--json').json()] == ['done', 'done', 'moved']
    gce.knobs(capacity={})
    clean(home)
    home.run('drift', 'cluster.yaml')
    assert not home.run('state', 'orphans').out.strip().count('aws')
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    for name in ('instances', 'firewalls', 'addresses'):
        assert not [r for r in table(gce, name) if r['name'].startswith(('raygpu', 'research'))], name


def test_no_capacity_in_either_leaves_nothing(gce, home):
    home.write('cluster.yaml', anywhere(A100))
    gce.knobs(capacity={P4D: {'*': 0}, 'a2-highgpu-8g': {'*': 0}})
    said = flat(home.run('apply', 'cluster.yaml', '--auto-approve', code=8).err)
    assert 'no place of provider.any_of has capacity for cluster research; nothing of it is left' in said
    assert 'us-east-1a (InsufficientInstanceCapacity)' in said and 'us-central1-a' in said
    assert not ec2(gce) and not ec2(gce, 'security_groups') and not nodes(gce)
    assert not [r for r in table(gce, 'firewalls') if r['name'].startswith('raygpu')]


def test_a_cluster_that_exists_does_not_move(gce, home):
    home.write('cluster.yaml', anywhere(A100))
    home.apply()
    assert len(ec2(gce)) == 3
    gce.knobs(capacity={P4D: {'*': 0}})
    home.write('cluster.yaml', anywhere({'w': 'accelerators: "A100:8", nodes: 3'}))
    home.run('apply', 'cluster.yaml', '--auto-approve', code=8)
    assert len(ec2(gce)) == 3 and not nodes(gce)


@pytest.mark.parametrize('places', [(AWS, GCP), (GCP, AWS)])
def test_missing_credentials_leave_the_cheaper_cloud_out(gce, home, places):
    for name in ('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'):
        del home.env[name]
    home.write('cluster.yaml', anywhere(T4, places=places))
    said = home.run('plan', 'cluster.yaml')
    assert 'Place: gcp us-central1, the only one of 2 candidates that has everything' in flat(said.out)
    assert 'not aws us-east-1: no AWS credentials found' in flat(said.out)
    assert 'Warning: aws us-east-1 is left out: no AWS credentials found [fit.place-left-out] on cluster.yaml:3:' in flat(said.err), said
    assert 'AWS_ACCESS_KEY_ID' in said.err
    metadata, home.env['GCE_METADATA_HOST'] = home.env['GCE_METADATA_HOST'], '127.0.0.1:9'
    for command in (('plan', 'cluster.yaml'), ('apply', 'cluster.yaml', '--auto-approve')):
        said = flat(home.run(*command, code=7).err)
        assert 'Error: no AWS credentials found' in said and 'Error: no Google credentials were found' in said
        assert 'gcp us-central1: no Google credentials were found' in said.split('[fit.no-place]')[1] and 'left out' not in said
    assert not nodes(gce) and gce.counters()['mutating'] == 0
    home.env['GCE_METADATA_HOST'] = metadata
    home.apply()
    assert len(nodes(gce)) == 3
    clean(home)


def test_a_place_without_quota_is_left_out(gce, home):
    """The quota of one region; then that of the project, which both have."""
    other = '{name: gcp, region: us-east4}'
    home.write('cluster.yaml', anywhere({'w': 'accelerators: "L4:1", nodes: 2'}, places=(GCP, other), head='head: {instance_type: n2-standard-8}'))
    assert place(home)['region'] == 'us-central1'
    gce.knobs(quotas={'us-central1/NVIDIA_L4_GPUS': 0})
    said = home.run('plan', 'cluster.yaml')
    assert 'Warning: gcp us-central1 is left out: the quota NVIDIA_L4_GPUS of region us-central1 is 0 GPUs' in flat(said.err)
    assert place(home)['region'] == 'us-east4'
    gce.knobs(quotas={'GPUS_ALL_REGIONS': 1})
    said = flat(home.run('plan', 'cluster.yaml', code=8).err)
    assert said.count('Error: the quota GPUS_ALL_REGIONS of project demo-project is 1 GPUs') == 1
    assert 'gcp us-east4: the quota GPUS_ALL_REGIONS' in said.split('[fit.no-place]')[1]


def test_a_cloud_without_credentials_is_no_way_out_of_a_full_one(gce, home):
    home.env['GCE_METADATA_HOST'] = '127.0.0.1:9'
    home.write('cluster.yaml', anywhere(A100))
    home.run('plan', 'cluster.yaml')
    gce.knobs(capacity={P4D: {'*': 0}})
    said = flat(home.run('apply', 'cluster.yaml', '--auto-approve', code=8).err)
    assert 'no place of provider.any_of has capacity for cluster research; nothing of it is left' in said
    assert 'us-east-1a (InsufficientInstanceCapacity)' in said and 'gcp us-central1: no Google credentials were found' in said
    assert 'aws us-east-1: no capacity' not in said, 'its refusals say more'
    assert not ec2(gce) and not ec2(gce, 'security_groups'), 'nothing is left in the place that has no capacity'
    home.env['GCE_METADATA_HOST'] = gce.url.split('//')[1]
    home.apply()
    assert len(nodes(gce)) == 3
    clean(home)


def test_policy_and_budget_count_in_each_place(home):
    home.write('cluster.yaml', anywhere(T4, extra='budget: {hourly_usd: 1.6}\n'))
    assert place(home)['provider'] == 'aws'
    home.write('cluster.yaml', anywhere(T4, extra='budget: {hourly_usd: 1.5}\n'))
    said = home.run('plan', 'cluster.yaml', code=9)
    assert 'the cluster would cost $1.578 per hour; the budget is $1.5' in said.err and 'cluster.yaml:8:22' in said.err
    home.write('cluster.yaml', anywhere(T4, extra='policy: {allow_providers: [gcp]}\n'))
    assert place(home)['provider'] == 'gcp'
    home.write('cluster.yaml', anywhere(T4, extra='policy: {max_nodes: 2}\n'))
    said = flat(home.run('plan', 'cluster.yaml', code=9).err)
    for one in ('aws us-east-1', 'gcp us-central1'):
        assert f'{one}: the cluster has 3 nodes, including the head; the policy allows 2' in said


def test_a_move_over_the_budget_is_refused(gce, home):
    """AWS has no capacity, and Google's A100 are dearer than the budget allows."""
    home.write('cluster.yaml', anywhere(A100, extra='budget: {hourly_usd: 50}\n'))
    gce.knobs(capacity={P4D: {'*': 0}})
    said = home.run('apply', 'cluster.yaml', '--auto-approve', code=None)
    assert said.code in (8, 9) and 'budget' in said.err, said
    assert not nodes(gce)
    assert not [r for r in table(gce, 'firewalls') if r['name'].startswith('raygpu')]


KUBE = '{name: kubernetes}'


@pytest.mark.parametrize('settings, places, told', [
    ('threads_per_core: 1', (AWS, GCP), None),
    ('threads_per_core: 1', (AWS, KUBE), None),
    ('cpu: 4', (AWS, GCP), 'no candidate of provider.any_of has a pool setting "cpu"'),
    ('thread_per_core: 1', (AWS, GCP), 'did you mean "threads_per_core"?'),
    ('threads_per_core: 2', (GCP, AWS), 'pools.w.provider.threads_per_core must be 1, not 2'),
])
def test_settings_of_a_pool_are_for_the_places_whose_module_has_them(home, settings, places, told):
    home.write('cluster.yaml', anywhere({'w': f'accelerators: "T4:1", nodes: 2, provider: {{{settings}}}'}, places=places))
    said = home.run('validate', 'cluster.yaml', code=4 if told else 0)
    assert not told or (told in ' '.join(said.err.split()) and 'cluster.yaml:7:' in said.err), said
    assert said.err.count('Error: ') == bool(told), 'once, however many places there are'

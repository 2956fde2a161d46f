"""No capacity and no quota: where nodes go, what is kept, and what the plan says beforehand. The same behaviour on EC2: the files
named at each section."""
import pytest
from test_gcp_failures import flat, place_of, requests, write
from test_gcp_as_on_aws import T4, ids, pool_of, where
from test_gcp_preempted import preempt
from test_gcp_story import clean, nodes, spec, table
from test_gcp_updates import age

A2 = 'a2-highgpu-1g'


def zones(gce, pool='w'):
    return sorted(i['zone'][-1] for i in nodes(gce, pool))


def policies(gce):
    return [p['name'] for p in table(gce, 'resource_policies') if p['name'].startswith('raygpu-')]


def head_of(gce):
    return next(i for i in nodes(gce) if i['labels']['raygpu-name'] == 'head')


# ---- apply/test_failover.py, apply/test_gang.py

@pytest.mark.parametrize('extra', [', gang: true', ', network: {placement: cluster}'])
def test_a_pool_that_must_be_together_moves_whole(gce, home, extra):
    gce.knobs(capacity={A2: {'us-central1-a': 2, 'us-central1-b': 2}})
    write(home, {'w': f'instance_type: {A2}, nodes: 3, zones: [us-central1-a, us-central1-b, us-central1-c]{extra}'})
    said = home.apply()
    assert zones(gce) == ['c'] * 3, said
    assert len(nodes(gce)) == len(table(gce, 'disks')) == 4, 'nothing is left where there was not enough'
    clean(home)
    home.run('destroy', 'cluster.yaml', '--auto-approve')
    gce.knobs(capacity={A2: {'*': 0, 'us-central1-c': 2}})
    home.apply(code=None)
    assert zones(gce) == ([] if 'gang' in extra else ['c'] * 2), 'no gang: what there is, is kept'


def test_a_gang_that_does_not_start_is_given_back(gce, home):
    gce.knobs(boot_ms=4000)
    write(home, pool_of(', market: spot, gang: true', zones='us-central1-a'))
    process = home.start('apply', 'cluster.yaml', '--auto-approve', '--no-wait')
    (_, err), _ = preempt(gce, process, 1)
    assert process.returncode == 3 and not nodes(gce, 'w') and len(table(gce, 'disks')) == len(nodes(gce)), err
    gce.knobs(boot_ms=0)
    home.apply()
    assert len(nodes(gce, 'w')) == 3
    for text in ('', ', gang: true'):  # with or without it, the nodes are the same
        write(home, pool_of(', market: spot' + text, zones='us-central1-a'))
        clean(home)


def test_the_head_takes_its_address_to_another_zone(gce, home):
    """An internal address belongs to the region, so it can stay."""
    gce.knobs(capacity={'n2-standard-8': {'*': 0}})
    write(home, pool_of('', 1))
    home.apply(code=3)
    assert not nodes(gce), 'scarce nodes do not wait for a head'
    gce.knobs(capacity={'n2-standard-8': {'*': 0, 'us-central1-c': 1}})
    home.apply()
    (address,) = table(gce, 'addresses')
    assert head_of(gce)['zone'][-1] == 'c' and head_of(gce)['networkInterfaces'][0]['networkIP'] == address['address']
    assert len(nodes(gce)) == 2
    clean(home)


def test_a_quota_is_not_a_lack_of_capacity(gce, home):
    """Other zones have the same quota; another market has its own."""
    gce.fault(action='instances.bulkInsert', status=403, code='quotaExceeded', count=1,
              message="Quota 'PREEMPTIBLE_NVIDIA_T4_GPUS' exceeded.  Limit: 0.0 in region us-central1.")
    write(home, pool_of(', market: {spot: {fallback: on_demand}}'))
    home.apply()
    assert where(gce) == [('a', 'STANDARD')] * 3 and requests(gce, 'instances.bulkInsert') == 2
    clean(home)


def test_a_candidate_against_the_policy_is_left_out(home):
    write(home, {'w': 'accelerators: "T4:1", nodes: 1'}, extra=f'policy: {{deny_instance_types: ["{T4.replace("4+", "8+")}"]}}\n')
    said = ' '.join(home.run('plan', 'cluster.yaml', '--verbose').out.split())
    assert 'the machine type n1-standard-8+nvidia-tesla-t4:1 (pool w) is denied by policy' in said


def test_a_worker_follows_the_new_address_of_its_head(gce, home):
    """apply/test_head_address.py: someone deletes the head and its address."""
    write(home, pool_of('', 1))
    home.apply()
    worker, head = ids(gce, 'w'), head_of(gce)
    (address,) = table(gce, 'addresses')
    gce.done(gce.delete(place_of(head)))
    gce.done(gce.delete(f'regions/us-central1/addresses/{address["name"]}'))
    gce.done(gce.insert('regions/us-central1/addresses', {
        'name': 'taken', 'addressType': 'INTERNAL', 'purpose': 'GCE_ENDPOINT', 'address': address['address'],
        'subnetwork': address['subnetwork']}))
    age(home)
    assert 'Plan: 3 to add, 0 to change, 1 to destroy.' in home.run('plan', 'cluster.yaml').out
    home.apply()
    assert not ids(gce, 'w') & worker and head_of(gce)['networkInterfaces'][0]['networkIP'] != address['address']
    clean(home)


# ---- aws/test_aws_placement.py, aws/test_aws_spot.py

def test_a_policy_is_drift_when_it_is_gone_and_is_made_once(gce, home):
    write(home, {'w': f'instance_type: {A2}, nodes: 2'})
    home.apply()
    assert not requests(gce, 'resourcePolicies.aggregatedList') + requests(gce, 'resourcePolicies.list'), 'nobody asked for one'
    before = ids(gce, 'w')
    write(home, {'w': f'instance_type: {A2}, nodes: 2, network: {{placement: cluster}}'})
    assert 'Plan: 3 to add, 0 to change, 2 to destroy.' in home.run('plan', 'cluster.yaml').out
    gce.fault(action='resourcePolicies.insert', when='after', close=True, count=1)
    home.apply()
    (name,) = policies(gce)
    assert not ids(gce, 'w') & before
    clean(home)
    home.run('state', 'rebuild', 'cluster.yaml', '--state', 'new.db')
    assert 'gcp.resource_policy.w' in home.run('state', 'list', '--state', 'new.db').out
    for one in nodes(gce, 'w'):
        gce.done(gce.delete(place_of(one)))
    gce.done(gce.delete('regions/us-central1/resourcePolicies/' + name))
    age(home)
    drift = home.run('drift', 'cluster.yaml', '--format', 'json', code=2).json()['drift']
    assert {d['address'] for d in drift} == {'gcp.resource_policy.w', 'gcp.instance.w[0]', 'gcp.instance.w[1]'}
    home.apply()
    (again,) = policies(gce)
    assert again != name and len(nodes(gce, 'w')) == 2
    write(home, {'w': f'instance_type: {A2}, nodes: 2'})
    home.apply()
    assert not policies(gce) and not [i for i in nodes(gce, 'w') if i.get('resourcePolicies')]
    clean(home)


def test_another_market_replaces_the_nodes(gce, home):
    write(home, pool_of(', market: spot'))
    home.apply()
    before = ids(gce, 'w')
    home.run('state', 'rebuild', 'cluster.yaml', '--state', 'new.db')
    clean(home)
    assert 'No changes.' in home.run('plan', 'cluster.yaml', '--state', 'new.db').out, 'the market is known again'
    write(home, pool_of(''))
    assert 'Plan: 3 to add, 0 to change, 3 to destroy.' in home.run('plan', 'cluster.yaml').out
    home.apply()
    assert where(gce) == [('a', 'STANDARD')] * 3 and not ids(gce, 'w') & before
    clean(home)


# ---- aws/test_aws_preflight.py

def test_a_quota_counts_what_runs_in_the_project_whoever_made_it(gce, home):
    write(home, pool_of('', 2))
    gce.knobs(quotas={'NVIDIA_T4_GPUS': 3, 'PREEMPTIBLE_NVIDIA_T4_GPUS': 0})
    home.apply()
    write(home, pool_of(', disk: {size: 130GB}', 2))
    home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)  # what is replaced gives back what it takes
    write(home, pool_of('', 4))
    said = home.run('plan', 'cluster.yaml', code=8)
    assert 'the quota NVIDIA_T4_GPUS of region us-central1 is 3 GPUs, 2 are in use, and the plan adds 2' in flat(said)
    assert 'cluster.yaml:7' in said.err
    waits = home.run('apply', 'cluster.yaml', '--auto-approve', '--capacity-timeout', '1s', code=None)
    assert waits.code != 8 and 'Warning: the quota NVIDIA_T4_GPUS' in flat(waits), 'who waits for quota is only warned'
    write(home, {'w': pool_of('', 2)['w'], 'x': pool_of(', market: spot', 1)['w']})
    assert 'PREEMPTIBLE_NVIDIA_T4_GPUS' in home.run('plan', 'cluster.yaml', code=8).err, 'spot has a quota of its own'


@pytest.mark.parametrize('quotas, pool, said', [
    ({'N2_CPUS': 4}, 'nodes: 2', 'the quota N2_CPUS of region us-central1 is 4 vCPUs, 0 are in use, and the plan adds 8'),
    ({'CPUS': 7}, 'nodes: 2', 'the quota CPUS of region us-central1 is 7 vCPUs, 0 are in use, and the plan adds 8'),
    ({'CPUS_ALL_REGIONS': 12}, 'nodes: 2', 'the quota CPUS_ALL_REGIONS of project demo-project is 12 vCPUs, 0 are in use, and the plan adds 16'),
    ({'PREEMPTIBLE_CPUS': 4}, 'nodes: 2, market: spot', 'the quota PREEMPTIBLE_CPUS of region us-central1 is 4 vCPUs, 0 are in use, and the plan adds 8'),
    ({'PREEMPTIBLE_CPUS': 0, 'CPUS': 7}, 'nodes: 2, market: spot', 'the quota CPUS of region us-central1 is 7 vCPUs'),
    ({'SSD_TOTAL_GB': 250}, 'nodes: 2', 'the quota SSD_TOTAL_GB of region us-central1 is 250 GB, 0 are in use, and the plan adds 300'),
    ({'DISKS_TOTAL_GB': 50}, 'nodes: 1, disk: {type: pd-standard}', 'the quota DISKS_TOTAL_GB of region us-central1 is 50 GB'),
    ({'IN_USE_ADDRESSES': 1}, 'nodes: 2, public_ip: true', 'the quota IN_USE_ADDRESSES of region us-central1 is 1 external addresses'),
    ({'INSTANCES': 2}, 'nodes: 2', 'the quota INSTANCES of region us-central1 is 2 instances, 0 are in use, and the plan adds 3'),
])
def test_other_quotas_are_found_before_anything_is_created(gce, home, quotas, pool, said):
    gce.knobs(quotas=quotas)
    write(home, {'w': f'instance_type: "{T4}", {pool}'})
    plan = home.run('plan', 'cluster.yaml', code=8)
    assert said in flat(plan), plan
    home.apply(code=8)
    assert not gce.counters()['mutating'], 'nothing was created'
    gce.knobs(quotas={metric: 1000 for metric in quotas})
    home.run('plan', 'cluster.yaml', '--detailed-exitcode', code=2)


def test_a_type_of_another_series_does_not_come_under_the_quota(gce, home):
    """Then the plan only warns, and the apply creates the other one."""
    gce.knobs(quotas={'CPUS': 3})
    write(home, {'w': 'accelerators: ["T4:1", "T4:2"], nodes: 1'})
    assert 'the quota CPUS' in flat(home.run('plan', 'cluster.yaml', code=8)), 'both are attached to N1'
    write(home, {'w': 'accelerators: ["T4:1", "L4:1"], nodes: 1'})
    assert 'Warning: the quota CPUS' in flat(home.run('plan', 'cluster.yaml'))
    home.apply()
    assert [i['machineType'].split('/')[-1][:2] for i in nodes(gce, 'w')] == ['g2']


@pytest.mark.parametrize('quotas', [{'CPUS': 5}, {'CPUS_ALL_REGIONS': 5}, {'INSTANCES': 1}])
def test_a_quota_that_other_types_share_stops_the_plan(gce, home, quotas):
    """The pool adds the most. Else the apply would create the head first. E2, the head's series, and N1 share CPUS."""
    gce.knobs(quotas=quotas)
    home.write('cluster.yaml', spec({'w': 'accelerators: ["T4:1", "T4:2"], nodes: 2'}).replace('n2-standard-8', 'e2-standard-4'))
    assert f'the quota {list(quotas)[0]} of ' in flat(home.run('plan', 'cluster.yaml', code=8))


@pytest.mark.parametrize('quota', ['GPUS_ALL_REGIONS', 'NVIDIA_T4_GPUS'])
def test_a_quota_of_gpus_that_the_fallbacks_share_stops_the_plan(gce, home, quota):
    gce.knobs(quotas={quota: 1})
    write(home, {'w': 'accelerators: ["T4:2", "T4:4"], nodes: 2'})
    plan = home.run('plan', 'cluster.yaml', code=8)
    assert f'Error: the quota {quota} of ' in flat(plan), plan
    write(home, {'w': 'accelerators: ["T4:2", "T4:4", "T4:1"], nodes: 1'})
    plan = home.run('plan', 'cluster.yaml')
    assert f'Warning: the quota {quota} of ' in flat(plan)
    free, over = flat(plan).split('apply will request ')[1].split(' instead; also over this quota: ')
    assert 't4:1 (on-demand)' in free and 't4:4' not in free, plan
    assert 't4:4 (on-demand)' in over.split('Warning')[0] and 't4:1 ' not in over.split('Plan:')[0], plan
    home.apply()
    assert [i['guestAccelerators'][0]['acceleratorCount'] for i in nodes(gce, 'w')] == [1]


def test_the_quota_of_one_gpu_does_not_stop_another(gce, home):
    gce.knobs(quotas={'NVIDIA_T4_GPUS': 0})
    write(home, {'w': 'accelerators: ["T4:1", "L4:1"], nodes: 1'})
    plan = home.run('plan', 'cluster.yaml')
    assert 'Warning: the quota NVIDIA_T4_GPUS' in flat(plan) and 'apply will request g2-standard-' in flat(plan)
    gce.knobs(quotas={'NVIDIA_T4_GPUS': 8, 'GPUS_ALL_REGIONS': 0})
    assert 'Error: the quota GPUS_ALL_REGIONS' in flat(home.run('plan', 'cluster.yaml', code=8))


def test_disks_of_stopped_nodes_count(gce, home):
    gce.knobs(quotas={'SSD_TOTAL_GB': 250})
    write(home, pool_of('', 1))
    home.apply()
    (one,) = nodes(gce, 'w')
    gce.done(gce.insert(place_of(one) + '/stop', None))
    region = gce.get('regions/us-central1')
    assert {q['metric']: q['usage'] for q in region['quotas']}['SSD_TOTAL_GB'] == 200


def test_what_may_not_be_read_is_one_note(gce, home):
    gce.knobs(denied_permissions=['compute.routers.list', 'compute.projects.get'])
    write(home, pool_of('', 1))
    said = home.run('plan', 'cluster.yaml')
    assert said.err.count('not everything could be checked beforehand') == 1 and 'Error' not in said.err
    for what in ('quotas of the project: projects.get', 'whether Cloud NAT serves the network: routers.list'):
        assert what in flat(said), said

"""Errors whose code says less than their text, or that raygpu does not know: what raygpu makes of them."""
import pytest
from test_gcp_failures import flat, requests, write
from test_gcp_story import clean, nodes, table

T4 = 'instance_type: "n1-standard-4+nvidia-tesla-t4:1"'
TWO = {'w': T4 + ', nodes: 2, zones: [us-central1-b, us-central1-c]'}
SPOT = {'w': T4 + ', nodes: 2, zones: [us-central1-b], market: {spot: {fallback: on_demand}}'}
PREEMPTED = {'code': 'UNSUPPORTED_OPERATION', 'status': 400, 'message': 'Instance failed to start due to preemption.'}
OWNED = 'https://cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints'


def fails(gce, count, **rule):
    gce.knobs(operation_faults=[{'type': 'insert', 'target': 'research-w-*', 'count': count, **rule}])


def zones(gce):
    return sorted(i['zone'][-1] for i in nodes(gce, 'w'))


def none_is_left(gce, home):
    """Every instance is recorded, and there is no other disk."""
    listed = home.run('show', '--json').json()['values']['root_module']['resources']
    recorded = {r['values']['id'] for r in listed if r['type'] == 'gcp.instance'}
    assert recorded == {i['zone'].split('/')[-1] + '/' + i['id'] for i in nodes(gce)}
    assert len(table(gce, 'disks')) == len(nodes(gce))
    clean(home)


@pytest.mark.parametrize('rule', [
    PREEMPTED,
    {**PREEMPTED, 'leaves': 'TERMINATED'},
    {'code': 'PREEMPTED', 'status': 400, 'message': 'Instance was preempted.', 'leaves': 'STOPPING'},
    {'code': 'RESOURCE_NOT_READY', 'status': 400, 'message': 'The resource is not ready'},
    {'code': 'STOCKOUT', 'status': 503, 'message': 'No stock.'},
    {'code': 'A_CODE_OF_NEXT_YEAR', 'status': 400, 'message': 'What nobody knows yet.'},
    {'code': 'RESOURCE_NOT_FOUND', 'status': 404,
     'message': "The resource 'projects/demo-project/zones/us-central1-b/instances/research-w-1' was not found"},
])
def test_nodes_are_requested_in_the_next_zone(gce, home, rule):
    write(home, TWO)
    fails(gce, 2, **rule)
    home.apply()
    assert zones(gce) == ['c', 'c']
    none_is_left(gce, home)


@pytest.mark.parametrize('leaves', [{}, {'leaves': 'TERMINATED'}])
def test_a_spot_node_that_is_preempted_while_it_starts_is_bought_on_demand(gce, home, leaves):
    write(home, SPOT)
    fails(gce, 1, **PREEMPTED, **leaves)
    home.apply()
    assert sorted(i['scheduling']['provisioningModel'] for i in nodes(gce, 'w')) == ['SPOT', 'STANDARD']
    none_is_left(gce, home)


def test_what_is_not_supported_for_another_reason_is_invalid(gce, home):
    write(home, TWO)
    fails(gce, 2, code='UNSUPPORTED_OPERATION', status=400, message='Nested virtualization is not supported.')
    said = home.apply(code=3)
    assert 'UNSUPPORTED_OPERATION: Nested virtualization' in flat(said) and not nodes(gce, 'w')


def test_a_resource_of_the_spec_that_is_not_found_is_invalid(gce, home):
    write(home, TWO)
    fails(gce, 2, code='RESOURCE_NOT_FOUND', status=404, message="The resource 'projects/demo-project/global/images/gone' was not found")
    assert 'provider.invalid' in flat(home.apply(code=3)) and not nodes(gce, 'w')


def test_an_instance_that_was_not_found_but_exists_is_kept(gce, home):
    """The error comes, and the machine too: no second one is requested."""
    write(home, TWO)
    fails(gce, 2, code='RESOURCE_NOT_FOUND', status=404, leaves='RUNNING',
          message="The resource 'projects/demo-project/zones/us-central1-b/instances/research-w-0' was not found")
    home.apply()
    assert zones(gce) == ['b', 'b'] and requests(gce, 'instances.bulkInsert') == 1
    none_is_left(gce, home)


def test_a_zone_that_the_project_may_not_use(gce, home):
    write(home, TWO)
    gce.fault(action='instances.bulkInsert', status=403, code='forbidden', count=1,
              message='Location us-central1-b is not found or access is unauthorized.')
    home.apply()
    assert zones(gce) == ['c', 'c']
    none_is_left(gce, home)


def test_a_rate_of_operations_is_waited_for(gce, home):
    """The operation failed, so its requestId is used up; the next one has another."""
    write(home, TWO)
    gce.knobs(operation_faults=[{'type': 'insert', 'target': 'research-head-*', 'count': 2, 'status': 403,
                                 'code': 'RESOURCE_OPERATION_RATE_EXCEEDED'}])
    home.apply()
    assert requests(gce, 'instances.insert') == 3 and zones(gce) == ['b', 'b']
    none_is_left(gce, home)


POLICIES = {
    'compute.trustedImageProjects': 'set `image` to one of a project that it allows',
    'compute.requireShieldedVm': 'set `secure_boot: true` of provider',
    'compute.restrictVpcPeering': '`gcloud org-policies describe`',
}


@pytest.mark.parametrize('policy', POLICIES)
@pytest.mark.parametrize('late', [False, True])
def test_an_organization_policy_is_named(gce, home, policy, late):
    """It has the codes of a change by others."""
    text = f'Constraint constraints/{policy} violated for project projects/demo-project. See {OWNED} for more information.'
    write(home, TWO)
    if late:
        fails(gce, 2, code='CONDITION_NOT_MET', status=412, message=text)
    else:
        gce.fault(action='instances.bulkInsert', status=412, code='conditionNotMet', message=text, count=1)
    said = flat(home.apply(code=None))
    assert f'the organization policy {policy} forbids it: ' in said and POLICIES[policy] in said, said
    assert 'provider.denied' in said and 'run the command again' not in said and not nodes(gce, 'w')


def test_a_service_account_that_the_caller_may_not_use(gce, home):
    write(home, TWO)
    gce.fault(action='instances.bulkInsert', status=400, code='badRequest', count=1, message=(
        "The user does not have access to service account 'ray@demo-project.iam.gserviceaccount.com'. User: 'me@example.com'. "
        'Ask a project owner to grant you the iam.serviceAccountUser role on the service account'))
    said = flat(home.apply(code=None))
    assert 'provider.denied' in said and 'roles/iam.serviceAccountUser' in said, said


def test_secure_boot(gce, home):
    write(home, TWO, provider=', secure_boot: true')
    home.apply()
    everything = {'enableSecureBoot': True, 'enableVtpm': True, 'enableIntegrityMonitoring': True}
    assert [i['shieldedInstanceConfig'] for i in nodes(gce)] == [everything] * 3
    clean(home)
    before = {i['id'] for i in nodes(gce)}
    home.run('state', 'rebuild', 'cluster.yaml', '--state', 'new.db')
    clean(home)
    write(home, TWO)
    plan = home.run('plan', 'cluster.yaml').out
    assert 'secure_boot' in plan and '3 to add, 0 to change, 3 to destroy' in plan
    assert before == {i['id'] for i in nodes(gce)}


def test_nodes_of_a_placement_policy_are_not_restarted(gce, home):
    write(home, {'w': 'instance_type: a2-highgpu-1g, nodes: 1, network: {placement: cluster}'})
    home.apply()
    restarts = {i['labels']['raygpu-pool']: i['scheduling']['automaticRestart'] for i in nodes(gce)}
    assert restarts == {'head': True, 'w': False}
    clean(home)

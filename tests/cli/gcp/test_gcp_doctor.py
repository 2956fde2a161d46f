"""raygpu doctor on Compute Engine: each permission that is missing is named, before anything needs it."""
import pytest
from gce_server import PROJECT
from report_schemas import validator
from test_gcp_failures import requests
from test_gcp_story import spec

ACTION = 'resourcemanager.testIamPermissions'
ENDPOINT = 'CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER'
ACCOUNT = ', service_account: n@demo-project.iam.gserviceaccount.com'


@pytest.fixture
def home(home):
    home.write('cluster.yaml', spec({'w': 'instance_type: n2-standard-8, nodes: 1, public_ip: true'}, provider=ACCOUNT, head=', public_ip: true'))
    return home


def examine(home, code=0, **env):
    document = home.run('doctor', 'cluster.yaml', '--json', code=code, env=env).json()
    validator('doctor.schema.json').validate(document)
    return [one for one in document['checks'] if one['area'] == 'permissions']


def role(home, task):
    return set(home.run('iam', 'cluster.yaml', '--for', task).json()['includedPermissions'])


def test_who_has_them_all_is_told_nothing(gce, home):
    for applied in (False, True):
        found = examine(home)
        assert [one['status'] for one in found] == ['ok'], found
        assert f"apply: all {len(role(home, 'apply')) - 1} permissions that were tested are granted" in found[0]['summary']
        if not applied:
            asked = requests(gce, ACTION)
            assert asked == 1
            home.apply()
            assert requests(gce, ACTION) == asked, 'only doctor asks'


def test_who_may_only_read_is_told_what_apply_needs(gce, home):
    missing = role(home, 'apply') - role(home, 'plan') - {'iam.serviceAccounts.actAs'}
    for applied in (False, True):
        gce.knobs(denied_permissions=sorted(missing))
        found = examine(home)
        assert {one['summary'].split(' ')[0] for one in found} == missing and len(found) == len(missing), found
        assert {(one['status'], one['code']) for one in found} == {('warning', 'provider.denied')}
        said = [one['summary'] for one in found]
        assert f'compute.instances.create is missing on project {PROJECT}: apply cannot create nodes' in said
        assert f'compute.firewalls.delete is missing on project {PROJECT}: apply cannot change firewall rules' in said
        assert found[0]['hint'] == '`raygpu iam cluster.yaml` prints what to grant'
        gce.knobs(denied_permissions=[])
        if not applied:
            home.apply()


def test_a_permission_of_plan_is_named_beside_the_refusal(gce, home):
    gce.knobs(denied_permissions=['compute.subnetworks.list', 'compute.firewalls.list'])
    found = examine(home, code=7)
    said = [(one['status'], one['summary']) for one in found]
    assert ('warning', f'compute.firewalls.list is missing on project {PROJECT}: plan cannot read firewall rules') in said
    assert ('warning', f'compute.subnetworks.list is missing on project {PROJECT}: plan cannot read the network') in said
    assert 'error' in [one['status'] for one in found], 'the refusal that the plan met'


@pytest.mark.parametrize('shape, needed', [
    ('instance_type: n2-standard-8', False), ('instance_type: n2-custom-8-32768', True),
    ('instance_type: "n1-custom-4-16384+nvidia-tesla-t4:1"', True), ('accelerators: "A100:1", market: {reservation: ours}', True)])
def test_only_custom_types_are_read_by_name(gce, home, shape, needed):
    """A role that was printed before there were any has no permission for it."""
    home.write('cluster.yaml', spec({'w': f'{shape}, nodes: 1'}))
    assert [('compute.machineTypes.get' in role(home, task)) for task in ('plan', 'apply', 'import', 'rebuild')] == [needed] * 4
    if 'reservation' not in shape:
        gce.knobs(denied_permissions=['compute.machineTypes.get'])
        warned = f'compute.machineTypes.get is missing on project {PROJECT}: plan cannot read custom machine types'
        assert (warned in [one['summary'] for one in examine(home, code=None)]) == needed


def test_what_is_granted_on_one_resource_is_not_asked_for(gce, home):
    """It may be granted on the service account itself."""
    gce.knobs(denied_permissions=['iam.serviceAccounts.actAs'])
    assert [one['status'] for one in examine(home)] == ['ok']


def test_what_can_not_be_asked_is_a_warning(gce, home):
    gce.knobs(disabled_apis=['cloudresourcemanager/' + PROJECT])
    cases = [({}, 'Cloud Resource Manager API has not been used', f'services enable cloudresourcemanager.googleapis.com --project {PROJECT}'),
             ({ENDPOINT: 'http://127.0.0.1:1'}, '127.0.0.1', None),
             ({ENDPOINT: ''}, 'its Resource Manager is not known', ENDPOINT)]
    for env, detail, hint in cases:
        (found,) = examine(home, **env)
        assert (found['status'], found['code']) == ('warning', 'plan.unchecked'), found
        assert found['summary'] == 'permissions could not be checked' and detail in found['detail'], found
        assert not hint or hint in found['hint'], found
    gce.knobs(disabled_apis=[])
    gce.fault(action=ACTION, status=400, code='INVALID_ARGUMENT', message='Permission compute.x.y is not valid for this resource.', count=1)
    (found,) = examine(home)
    assert found['status'] == 'warning' and 'compute.x.y is not valid' in found['detail'], found
    assert [one['status'] for one in examine(home)] == ['ok']

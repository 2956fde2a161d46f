"""Google's own library for Python against a simulated Compute Engine: compute_client.py URL PROJECT TOKEN IMAGE
Prints what came back, as JSON; the same calls as compute_client.js."""
import json
import sys

from google.api_core import exceptions
from google.cloud import compute_v1 as compute
from google.oauth2.credentials import Credentials

url, project, token, image = sys.argv[1:]
REGION, ZONE = 'us-central1', 'us-central1-a'
told = {}


def client(name):
    return getattr(compute, f'{name}Client')(credentials=Credentials(token), client_options={'api_endpoint': url})


def done(operation, kind='Zone'):
    """Waits for it. Its own result() would ask Google: the library gives its endpoint to no other client."""
    place = {'Zone': {'zone': ZONE}, 'Region': {'region': REGION}, 'Global': {}}[kind]
    end = client(f'{kind}Operations').wait({'project': project, 'operation': operation.name, **place})
    if end.status != compute.Operation.Status.DONE or end.error.errors:
        raise RuntimeError(end)
    return end


def names(pager):
    """Of a list, or of an aggregated one: pairs of a zone and its part."""
    found = []
    for one in pager:
        parts = [one] if not isinstance(one, tuple) else [*getattr(one[1], 'instances', []), *getattr(one[1], 'disks', [])]
        found += [part.name for part in parts]
    return found


def properties(bulk):
    kind = 'e2-standard-4'
    params = {'source_image': image, 'disk_size_gb': 50}
    return {'machine_type': kind if bulk else f'zones/{ZONE}/machineTypes/{kind}',
            'disks': [{'boot': True, 'auto_delete': True, 'initialize_params': params}],
            'network_interfaces': [{'subnetwork': f'projects/{project}/regions/{REGION}/subnetworks/default'}],
            'labels': {'owner': 'node'}}


def facts():
    told['project'] = client('Projects').get(project=project).name
    there = client('Regions').get(project=project, region=REGION)
    told['quotas'] = [quota.metric for quota in there.quotas if quota.metric == 'SSD_TOTAL_GB']
    told['image'] = client('Images').get_from_family(project='ubuntu-os-cloud', family='ubuntu-2404-lts-amd64').family
    told['type'] = client('MachineTypes').get(project=project, zone=ZONE, machine_type='a2-highgpu-1g').guest_cpus
    told['gpus'] = names(client('AcceleratorTypes').list({'project': project, 'zone': ZONE, 'filter': 'name = "nvidia-l4"'}))


def network():
    firewalls = client('Firewalls')
    done(firewalls.insert(project=project, firewall_resource={
        'name': 'rule', 'network': 'global/networks/default', 'source_ranges': ['10.0.0.0/8'],
        'allowed': [{'I_p_protocol': 'tcp', 'ports': ['22']}]}), 'Global')
    done(firewalls.patch(project=project, firewall='rule', firewall_resource={'priority': 900}), 'Global')
    told['rule'] = firewalls.get(project=project, firewall='rule').priority
    told['rules'] = 'rule' in names(firewalls.list(project=project))
    policies = client('ResourcePolicies')
    done(policies.insert(project=project, region=REGION, resource_policy_resource={
        'name': 'together', 'group_placement_policy': {'collocation': 'COLLOCATED'}}), 'Region')
    told['policies'] = names(policies.list(project=project, region=REGION))
    reservations = client('Reservations')
    done(reservations.insert(project=project, zone=ZONE, reservation_resource={
        'name': 'kept', 'specific_reservation_required': True,
        'specific_reservation': {'count': 1, 'instance_properties': {'machine_type': 'n2-standard-8'}}}))
    told['reservations'] = names(reservations.list(project=project, zone=ZONE))


def instances():
    api, operations = client('Instances'), client('ZoneOperations')
    one = {'project': project, 'zone': ZONE, 'instance': 'one'}
    done(api.insert(project=project, zone=ZONE, instance_resource={'name': 'one', **properties(False)}))
    done(api.set_labels(**one, instances_set_labels_request_resource={
        'labels': {'owner': 'client'}, 'label_fingerprint': api.get(**one).label_fingerprint}))
    told['labels'] = dict(api.get(**one).labels)
    bulk = done(api.bulk_insert(project=project, zone=ZONE, bulk_insert_instance_resource_resource={
        'count': 2, 'min_count': 1, 'per_instance_properties': {'two': {'name': 'two'}, 'three': {'name': 'three'}},
        'instance_properties': properties(True)}))
    told['group'] = bool(bulk.operation_group_id)
    told['children'] = len(names(operations.list({'project': project, 'zone': ZONE, 'filter': f'operationGroupId = "{bulk.operation_group_id}"',
                                                  'order_by': 'creationTimestamp desc'})))
    told['serial'] = 'string' if isinstance(api.get_serial_port_output({**one, 'port': 1, 'start': -3}).contents, str) else 'nothing'
    told['listed'] = sorted(names(api.aggregated_list({'project': project, 'filter': 'labels.owner="node"'})))
    told['disks'] = sorted(names(client('Disks').aggregated_list(project=project)))
    told['states'] = []
    for call in (api.stop, api.start, api.suspend, api.resume):
        done(call(**one))
        told['states'].append(api.get(**one).status)
    protect = {'project': project, 'zone': ZONE, 'resource': 'one'}
    done(api.set_deletion_protection({**protect, 'deletion_protection': True}))
    try:
        done(api.delete(**one))
    except exceptions.GoogleAPICallError as error:
        told['protected'] = error.code
    done(api.set_deletion_protection({**protect, 'deletion_protection': False}))
    done(api.delete(**one))
    try:
        api.get(**one)
    except exceptions.NotFound as error:
        told['gone'] = [error.code, error.message]


facts()
network()
instances()
print(json.dumps(told))

"""Short forms of what the tests do often."""
import time

from sim_server import PATIENCE_S

GPU_NAME = 'Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04)*'


def newest_image(sim, name=GPU_NAME):
    images = sim.ok('DescribeImages', {'Owner.1': 'amazon', 'Filter.1.Name': 'name',
                                       'Filter.1.Value.1': name}).findall('imagesSet/item')
    return max(images, key=lambda i: i.findtext('creationDate')).findtext('imageId')


def run(sim, count=1, least=None, kind='g4dn.xlarge', **params):
    """Parameters of a launch; wire names with dots are written with double underscores."""
    form = {'ImageId': newest_image(sim), 'InstanceType': kind, 'MaxCount': count,
            'MinCount': count if least is None else least}
    form.update({name.replace('__', '.'): value for name, value in params.items()})
    return form


def launch(sim, *args, **kwargs):
    """Launches and returns the instance ids."""
    return ids(sim.ok('RunInstances', run(sim, *args, **kwargs)))


def ids(root):
    return [e.text for e in root.findall('.//instancesSet/item/instanceId')]


def numbered(name, values):
    return {f'{name}.{n}': value for n, value in enumerate(values, 1)}


def tagged(kind, **tags):
    form = {'TagSpecification.1.ResourceType': kind}
    for n, (key, value) in enumerate(tags.items(), 1):
        form[f'TagSpecification.1.Tag.{n}.Key'] = key
        form[f'TagSpecification.1.Tag.{n}.Value'] = value
    return form


def filters(**wanted):
    form = {}
    for n, (name, value) in enumerate(wanted.items(), 1):
        form[f'Filter.{n}.Name'] = name.replace('__', ':').replace('_', '-')
        form[f'Filter.{n}.Value.1'] = value
    return form


def states(sim, *wanted):
    root = sim.ok('DescribeInstances', numbered('InstanceId', wanted))
    return {i.findtext('instanceId'): i.findtext('instanceState/name')
            for i in root.findall('.//instancesSet/item')}


def wait_state(sim, state, *wanted):
    deadline = time.monotonic() + PATIENCE_S
    while set(states(sim, *wanted).values()) != {state}:
        assert time.monotonic() < deadline, states(sim, *wanted)
        time.sleep(0.01)


def group(sim, name='workers', **tags):
    form = {'GroupName': name, 'GroupDescription': 'test'}
    if tags:
        form.update(tagged('security-group', **tags))
    return sim.ok('CreateSecurityGroup', form).findtext('groupId')


def subnet(sim, zone='us-east-1a'):
    root = sim.ok('DescribeSubnets', filters(availability_zone=zone))
    return root.findtext('subnetSet/item/subnetId')


def interface(sim, zone='us-east-1a', **params):
    return sim.ok('CreateNetworkInterface', {'SubnetId': subnet(sim, zone), **params}).findtext(
        'networkInterface/networkInterfaceId')

"""Root disks that EC2 would refuse are refused by the plan, before anything is made."""
import pytest
from program import spec


@pytest.mark.parametrize('disk_type,why', [
    ('io1', 'EC2 requires IOPS for it'),
    ('io2', 'EC2 requires IOPS for it'),
    ('st1', 'EC2 does not boot from this disk type'),
    ('sc1', 'EC2 does not boot from this disk type'),
    ('gp33', 'aws has no such disk type'),
])
def test_what_ec2_does_not_boot_from_is_refused(disk_type, why, sim, home):
    home.write('cluster.yaml', spec(pool_extra=f', disk: {{size: 200, type: {disk_type}}}'))
    said = home.run('validate', code=4)
    text = ' '.join(said.err.split())
    assert f'"{disk_type}" is not a valid type for a root disk: {why}' in text, said
    assert 'cluster.yaml:7:' in said.err and 'the disk types are: gp3, gp2, standard' in said.err, said
    home.run('plan', code=4)
    assert sim.counters()['mutating'] == 0


@pytest.mark.parametrize('disk_type', ['gp2', 'gp3', 'standard'])
def test_what_ec2_boots_from_is_made(disk_type, sim, home):
    home.write('cluster.yaml', spec(pool_extra=f', disk: {{size: 200, type: {disk_type}}}'))
    home.apply()
    volumes = {v['volumeType'] for v in sim.world('us-east-1')['volumes']}
    assert volumes == {disk_type, 'gp3'}, 'the head takes the default'
    assert 'No changes.' in home.run('plan', '--no-settle').out


def test_the_simulator_refuses_them_as_ec2_does(sim):
    image = sim.ec2('DescribeImages', **{'Owner.1': 'amazon'})[1].findtext('.//imageId')
    for disk_type in ('io1', 'io2', 'st1', 'sc1'):
        status, answer = sim.ec2('RunInstances', ImageId=image, InstanceType='m5.large', MinCount=1, MaxCount=1, **{
            'BlockDeviceMapping.1.DeviceName': '/dev/sda1', 'BlockDeviceMapping.1.Ebs.VolumeType': disk_type})
        assert (status, answer.findtext('.//Code')) == (400, 'InvalidParameterCombination'), disk_type

"""The plan refuses root disks that EC2 would refuse, before anything is created."""
import pytest
from program import spec


@pytest.mark.parametrize('disk_type,why', [
    ('st1', 'EC2 does not boot from this disk type'),
    ('sc1', 'EC2 does not boot from this disk type'),
    ('gp33', 'aws has no such disk type'),
])
def test_what_ec2_does_not_boot_from_is_refused(disk_type, why, sim, home):
    home.write('cluster.yaml', spec(pool_extra=f', disk: {{size: 200, type: {disk_type}}}'))
    said = home.run('validate', code=4)
    text = ' '.join(said.err.split())
    assert f'"{disk_type}" is not a valid type for a root disk: {why}' in text, said
    assert 'cluster.yaml:7:' in said.err and 'the disk types are: gp3, gp2, io2, io1, standard' in said.err, said
    home.run('plan', code=4)
    assert sim.counters()['mutating'] == 0


@pytest.mark.parametrize('disk_type', ['gp2', 'gp3', 'standard'])
def test_what_ec2_boots_from_is_made(disk_type, sim, home):
    home.write('cluster.yaml', spec(pool_extra=f', disk: {{size: 200, type: {disk_type}}}'))
    home.apply()
    volumes = {v['volumeType'] for v in sim.world('us-east-1')['volumes']}
    assert volumes == {disk_type, 'gp3'}, 'the head takes the default'
    assert 'No changes.' in home.run('plan', '--no-settle').out


@pytest.mark.parametrize('disk,line', [
    ('type: gp2, iops: 3000', 'disk.iops cannot be set for the disk type gp2'),
    ('throughput: 100', 'disk.throughput must be 125 to 2000 for the disk type gp3, not 100'),
    ('iops: 80001', 'disk.iops must be 3000 to 80000 for the disk type gp3, not 80001'),
    ('size: 100, iops: 60000', 'disk.iops 60000 requires at least 120 GiB for the disk type gp3; this disk has 100'),
    ('iops: 50001', 'disk.iops 50001 requires at least 101 GiB for the disk type gp3; this disk has 100'),
    ('throughput: 1000', 'disk.throughput 1000 requires at least 4000 IOPS for the disk type gp3; this disk has 3000'),
    ('type: io2', 'disk.iops is required for the disk type io2'),
    ('type: io2, iops: 5000, throughput: 500', 'disk.throughput cannot be set for the disk type io2'),
    ('type: io1, iops: 5001', 'disk.iops 5001 requires at least 101 GiB for the disk type io1; this disk has 100'),
])
def test_performance_that_ec2_would_refuse_is_refused(disk, line, sim, home):
    home.write('cluster.yaml', spec(pool_extra=f', disk: {{{disk}}}'))
    said = home.run('validate', code=4)
    assert line in ' '.join(said.err.split()) and 'cluster.yaml:7:' in said.err, said


@pytest.mark.parametrize('disk,iops,throughput', [
    ('throughput: 750', 3000, 750),
    ('size: 2TB, iops: 80000, throughput: 2000', 80000, 2000),
    ('type: io2, iops: 5000', 5000, None),
])
def test_performance_is_what_the_spec_says(disk, iops, throughput, sim, home):
    home.write('cluster.yaml', spec(pool_extra=f', disk: {{{disk}}}'))
    home.apply()
    made = {(v.get('iops'), v.get('throughput')) for v in sim.world('us-east-1')['volumes']}
    assert made == {(iops, throughput), (3000, 125)}
    assert 'No changes.' in home.run('plan', '--no-settle').out


def test_the_simulator_refuses_them_as_ec2_does(sim):
    image = sim.ec2('DescribeImages', **{'Owner.1': 'amazon'})[1].findtext('.//imageId')
    for disk_type in ('io1', 'io2', 'st1', 'sc1'):
        status, answer = sim.ec2('RunInstances', ImageId=image, InstanceType='m5.large', MinCount=1, MaxCount=1, **{
            'BlockDeviceMapping.1.DeviceName': '/dev/sda1', 'BlockDeviceMapping.1.Ebs.VolumeType': disk_type})
        assert (status, answer.findtext('.//Code')) == (400, 'InvalidParameterCombination'), disk_type
    for performance in ({'VolumeType': 'gp2', 'Iops': 3000}, {'VolumeType': 'gp3', 'Iops': 2999},
                        {'VolumeType': 'gp3', 'Throughput': 1000}, {'VolumeType': 'io2', 'Iops': 256001}):
        status, answer = sim.ec2('RunInstances', ImageId=image, InstanceType='m5.large', MinCount=1, MaxCount=1, **{
            'BlockDeviceMapping.1.DeviceName': '/dev/sda1',
            **{f'BlockDeviceMapping.1.Ebs.{key}': value for key, value in performance.items()}})
        assert status == 400 and answer.findtext('.//Code').startswith('InvalidParameter'), performance

"""An image by SSM parameter, against moto, which publishes Amazon Linux's."""

from program import Home, spec
from sim_server import Sim
from test_moto import Moto

PATH = '/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64'


def ssm_spec(path):
    return spec(pools={'serve': 1}, head=f'm5.2xlarge, image: "ssm:{path}"', pool_extra=f', image: "ssm:{path}"')


def test_an_image_by_parameter_is_looked_up_and_kept(tmp_path):
    with Moto() as moto:
        home = Home(tmp_path, moto.env())
        home.write('cluster.yaml', ssm_spec(PATH))
        home.apply()
        images = {i.findtext('imageId') for i in moto.ok('DescribeInstances').iterfind('.//instancesSet/item')}
        assert len(images) == 1 and images.pop().startswith('ami-')
        # pinned: SSM is not asked again, so an unreachable endpoint does not matter
        home.run('plan', 'cluster.yaml', '--detailed-exitcode', env={'AWS_ENDPOINT_URL_SSM': 'http://127.0.0.1:9'})
        home.write('cluster.yaml', ssm_spec('/no/such'))
        said = home.run('plan', 'cluster.yaml', code=1)
        assert 'there is no SSM parameter /no/such in us-east-1' in ' '.join(said.err.split()), said
        assert 'cluster.yaml:5:' in said.err
        home.write('cluster.yaml', ssm_spec('/aws/service/global-infrastructure/regions/us-east-1/longName'))
        said = home.run('plan', 'cluster.yaml', code=1)
        assert 'is not an image id' in said.err, said


def test_the_driver_of_an_image_is_held_against_the_gpu(tmp_path):
    """The module derives it from the image's name: the V100 does not work with the open kernel modules."""
    with Sim() as sim:
        home = Home(tmp_path, sim.env())
        images = sim.ok('DescribeImages', {'Filter.1.Name': 'name',
                                           'Filter.1.Value.1': '* OSS Nvidia Driver GPU AMI (Ubuntu 22.04) *'})
        image = images.find('.//imageId').text
        home.write('cluster.yaml', spec(pools={'train': ('V100-32GB:8', 1)}, pool_extra=f', image: {image}'))
        said = home.run('plan', 'cluster.yaml', code=4)
        assert '[compat.open-driver]' in said.err and "NVIDIA's open kernel modules" in ' '.join(said.err.split()), said


def test_the_name_of_a_parameter_says_which_modules_an_image_has(tmp_path):
    """Before the cloud is asked for the image."""
    home, path = Home(tmp_path), '/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id'
    home.write('cluster.yaml', spec(pools={'train': ('V100-32GB:8', 1)}, pool_extra=f', image: "ssm:{path}"'))
    said = home.run('validate', 'cluster.yaml', code=4)
    assert '[compat.open-driver]' in said.err and 'support the V100-32GB' in ' '.join(said.err.split()), said
    home.write('cluster.yaml', spec(pools={'train': ('T4:1', 1)}, pool_extra=f', image: "ssm:{path}"'))
    home.run('validate', 'cluster.yaml')

"""Nodes with EFA adapters: the start script passes them to the container."""
import shutil

import pytest

from test_boot import GOLDEN, Node, compare, files_of, fit, groups_of, spec_file

SPEC = GOLDEN / 'boot/efa.yaml'


class EfaNode(Node):
    """Its /sys and /dev are under the folder and show `devices` adapters; None: no driver."""

    places = '/sys/class', '/dev/infiniband'

    def __init__(self, folder, devices=4, spec=SPEC):
        self.devices = devices
        text = {n['pool']: t for n, t in groups_of(fit(spec))}['train']
        super().__init__(folder, text, gpus=8)
        (self.bin / 'find').symlink_to(shutil.which('find'))
        if devices is not None:
            for path in ('sys/class/infiniband', 'dev/infiniband'):
                (folder / path).mkdir(parents=True)
            for i in range(devices):
                (folder / f'sys/class/infiniband/rdmap{i}s27').mkdir()
                (folder / f'dev/infiniband/uverbs{i}').touch()


def test_node_conf_is_as_recorded_and_others_have_no_script():
    texts = {n['pool']: t for n, t in groups_of(fit(SPEC))}
    compare(GOLDEN / 'boot/efa.train.txt', files_of(texts['train'])['/etc/raygpu/node.conf'][1])
    assert '/usr/local/lib/raygpu/open-fast-network' in files_of(texts['train'])
    assert '/usr/local/lib/raygpu/open-fast-network' not in files_of(texts['head'])
    assert 'rdma=' not in files_of(texts['head'])['/etc/raygpu/node.conf'][1]


def test_the_container_gets_the_adapters(tmp_path):
    node = EfaNode(tmp_path / 'n')
    status, said = node.start()
    assert status == 0, said
    args = node.docker_args()
    devices = [value for option, value in zip(args, args[1:]) if option == '--device']
    assert devices == [f'{node.folder}/dev/infiniband/uverbs{i}' for i in range(4)]
    assert 'memlock=-1:-1' in args and node.container_env()['FI_PROVIDER'] == 'efa'


def test_the_users_provider_goes_first(tmp_path):
    path = spec_file(tmp_path, pools='  train: {accelerators: "A100:8", nodes: 1, network: {rdma: true}, '
                                     'env: {FI_PROVIDER: "efa,tcp"}}')
    node = EfaNode(tmp_path / 'n', spec=path)
    assert node.start()[0] == 0
    assert node.container_env()['FI_PROVIDER'] == 'efa,tcp'


@pytest.mark.parametrize('devices,status,said', [
    (None, 78, 'no EFA driver on this image'),
    (3, 1, 'shows 3 EFA devices of 4'),
    (0, 1, 'shows 0 EFA devices of 4'),
])
def test_missing_adapters_are_said(devices, status, said, tmp_path):
    node = EfaNode(tmp_path / 'n', devices)
    got, text = node.start()
    assert got == status and said in text
    assert not (node.folder / 'docker.args').exists()

"""The instance store: formatted and mounted only where the image did not, and only disks that hold nothing."""
import json
import sys

import disks
import pytest
from program import ROOT
from test_boot import GOLDEN, Node, fit

RAY = '/mnt/raygpu/ray:/tmp/ray'
ROOT_DISK = '/var/lib/raygpu/ray:/tmp/ray'


class StoreNode(Node):
    places = ('/mnt/raygpu',)

    def __init__(self, tmp_path, without=(), **of):
        super().__init__(tmp_path / 'n', fit(GOLDEN / 'boot/plain.yaml')['user_data'][1], gpus=8)
        self.disks = self.folder / 'disks.json'
        disks.new(self.disks, nvme0n1=disks.disk(disks.EBS, parts=['nvme0n1p1']), **of)
        for tool in disks.TOOLS:
            if tool not in without:
                self.program(tool, f'exec {sys.executable} -I -S {disks.__file__} {self.disks} {tool} "$@"')
        self.program('mountpoint', f'grep -q "\\"$2\\"" "{self.disks}"')

    def found(self):
        return json.loads(self.disks.read_text())

    def scratch(self):
        status, said = self.start()
        assert status == 0, said
        state = self.found()
        assert not state['damage'], state
        volume, = [arg for arg in self.docker_args() if arg.endswith(':/tmp/ray')]
        return volume.removeprefix(str(self.folder))



def test_several_blank_disks_are_one(tmp_path):
    node = StoreNode(tmp_path, nvme1n1=disks.disk(), nvme2n1=disks.disk())
    assert node.scratch() == RAY
    state = node.found()
    assert state['mounts'] == {f'{node.folder}/mnt/raygpu': '/dev/md/raygpu'}
    assert state['disks']['/dev/md/raygpu']['label'] == 'raygpu-store'
    assert state['disks']['/dev/nvme2n1']['holds'] == 'linux_raid_member'


def test_after_a_reboot_it_is_found_by_its_label(tmp_path):
    node = StoreNode(tmp_path, nvme1n1=disks.disk(), nvme2n1=disks.disk())
    node.scratch()
    state = node.found()
    node.disks.write_text(json.dumps({**state, 'mounts': {}, 'calls': []}))
    assert node.scratch() == RAY
    calls = node.found()['calls']
    assert not [call for call in calls if call.startswith(('mdadm', 'mkfs'))]
    node.start()
    assert len(node.found()['calls']) == len(calls), 'while it is mounted, nothing looks for it'


def test_without_mdadm_one_disk_is_used(tmp_path):
    node = StoreNode(tmp_path, without=['mdadm'], nvme1n1=disks.disk(), nvme2n1=disks.disk())
    assert node.scratch() == RAY
    assert list(node.found()['mounts'].values()) == ['/dev/nvme1n1']


@pytest.mark.parametrize('disk', [
    disks.disk(disks.EBS),
    disks.disk(holds='ext4'),
    disks.disk(holds='LVM2_member'),
    disks.disk(parts=['nvme1n1p1']),
    disks.disk(parts=['vg-data']),
    disks.disk(holds='broken'),
])
def test_a_disk_that_may_hold_something_is_left_alone(tmp_path, disk):
    node = StoreNode(tmp_path, nvme1n1=disk)
    assert node.scratch() == ROOT_DISK
    assert node.found()['disks']['/dev/nvme1n1'] == disk
    other = StoreNode(tmp_path / 'other', nvme1n1=disk, nvme2n1=disks.disk())
    assert other.scratch() == RAY
    assert other.found()['disks']['/dev/nvme1n1'] == disk


class GoogleNode(StoreNode):
    """Its local SSDs are the disks of the links in /dev/disk/by-id."""
    places = ('/mnt/raygpu', '/dev/disk')

    def __init__(self, tmp_path, links, **of):
        super().__init__(tmp_path, **of)
        (self.folder / 'usr/local/lib/raygpu/cloud').write_text(
            self.moved((ROOT / 'providers/gcp/boot/cloud.sh').read_text()))
        by_id = self.folder / 'dev/disk/by-id'
        by_id.mkdir(parents=True)
        for name in links:
            (by_id / name).touch()
        links = ' '.join(f'*/{name}) echo {target} ;;' for name, target in links.items())
        self.program('readlink', f'[ "$1" = --canonicalize ] && case "$2" in {links} esac')
        self.program('curl', '''case "$*" in
            *healthz) exit 7 ;;
            *instance/id) printf 77 ;;
            *instance/zone) printf projects/1/zones/us-central1-a ;;
            *network-interfaces/0/ip) printf 10.0.0.9 ;;
            *) exit 22 ;;
            esac''')
        for tool in ('modinfo', 'lspci'):
            self.program(tool, 'exit 1')


def test_the_local_ssds_of_compute_engine_are_used(tmp_path):
    node = GoogleNode(tmp_path, {'google-local-nvme-ssd-0': '/dev/nvme1n1', 'google-local-nvme-ssd-1': '/dev/nvme2n1',
                                 'google-persistent-disk-0': '/dev/nvme0n1'},
                      nvme1n1=disks.disk('nvme_card'), nvme2n1=disks.disk('nvme_card'))
    assert node.scratch() == RAY
    state = node.found()
    assert [state['disks'][f'/dev/nvme{i}n1']['holds'] for i in range(3)] == ['', 'linux_raid_member', 'linux_raid_member']
    assert node.container_env()['RAY_CLOUD_INSTANCE_ID'] == 'us-central1-a/77'


def test_a_local_ssd_of_compute_engine_that_holds_something_is_left_alone(tmp_path):
    node = GoogleNode(tmp_path, {'google-local-nvme-ssd-0': '/dev/nvme1n1', 'google-local-nvme-ssd-0-part1': '/dev/nvme1n1p1'},
                      nvme1n1=disks.disk('nvme_card', parts=['nvme1n1p1']))
    assert node.scratch() == ROOT_DISK


def test_without_local_ssds_compute_engine_uses_the_root_disk(tmp_path):
    assert GoogleNode(tmp_path, {}, nvme1n1=disks.disk('nvme_card')).scratch() == ROOT_DISK


@pytest.mark.parametrize('without', ['lsblk', 'wipefs', 'mkfs.ext4', 'mount'])
def test_an_image_without_the_tools_uses_the_root_disk(tmp_path, without):
    assert StoreNode(tmp_path, without=[without], nvme1n1=disks.disk()).scratch() == ROOT_DISK

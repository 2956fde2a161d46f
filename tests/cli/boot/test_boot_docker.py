"""An image without docker, or without NVIDIA's container toolkit: what the module's nodes install, and what the spec's
initialization_commands can. apt-get, dpkg-query and nvidia-ctk are stand-ins that record their arguments."""
import json

import pytest

from program import ROOT
from test_boot import GOLDEN, Node, fit
from test_boot_prepare import prepared

APT = 'apt-get -o DPkg::Lock::Timeout=600 -q install -y'
UPDATE = 'apt-get -q update'
CONFIGURE = 'nvidia-ctk runtime configure --runtime=docker'
RESTART = 'systemctl restart docker'
HELD = ('nvidia-container-toolkit=1.17.8-1 libnvidia-container-tools=1.17.8-1 '
        'libnvidia-container1=1.17.8-1')


class Bare(Node):
    """Its apt-get installs what it is asked for, or prints the file `apt-says` and fails."""

    def __init__(self, tmp_path, gpus=0, without=('docker',), data=None, installs=True):
        data = data or fit(GOLDEN / 'boot/plain.yaml')['user_data'][1 if gpus else 0]
        super().__init__(tmp_path / 'n', data, gpus=gpus)
        if installs:
            (self.folder / 'usr/local/lib/raygpu/install-docker').write_text(
                self.moved((ROOT / 'src/boot/install-docker.sh').read_text()))
        if gpus:
            self.log_calls('nvidia-ctk')
            self.program('nvidia-container-runtime-hook', 'true')
        store = self.folder / 'packages'
        store.mkdir()
        for name in without:
            (self.bin / name).rename(store / name)
        for name in ('mv', 'cat'):
            (store / f'.{name}').symlink_to(f'/bin/{name}')
        self.program('apt-get', f'''
            echo "apt-get $*" >>"{self.folder}/calls"
            [ ! -e "{self.folder}/apt-says" ] || {{ {store}/.cat "{self.folder}/apt-says" >&2; exit 100; }}
            case "$*" in
            *docker.io*) [ ! -e "{store}/docker" ] || {store}/.mv "{store}/docker" "{self.bin}" ;;
            *nvidia-container-toolkit*) {store}/.mv "{store}"/nvidia-* "{self.bin}" ;;
            esac''')
        self.log_calls('systemctl')

    def log_calls(self, name):
        self.program(name, f'echo "{name} $*" >>"{self.folder}/calls"')

    def calls(self):
        path = self.folder / 'calls'
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if 'dlami' not in line]

    def has_started(self):
        return (self.folder / 'docker.args').exists()


def test_docker_is_installed_once_where_it_is_missing(tmp_path):
    node = Bare(tmp_path)
    status, said = node.start()
    assert status == 0, said
    assert node.calls() == [UPDATE, f'{APT} docker.io', RESTART]
    assert 'installing docker.io' in said and node.has_started()
    node.start()
    assert len(node.calls()) == 3


def test_an_image_with_docker_and_the_toolkit_is_left_as_it_is(tmp_path):
    node = Bare(tmp_path, gpus=8, without=())
    assert node.start()[0] == 0
    assert node.calls() == []


@pytest.mark.parametrize('without,installed', [
    (['docker'], ['docker.io']),
    (['docker', 'nvidia-container-runtime-hook'], ['docker.io', HELD]),
    (['nvidia-container-runtime-hook'], [HELD]),
    (['nvidia-ctk', 'nvidia-container-runtime-hook'], ['nvidia-container-toolkit']),
])
def test_gpu_nodes_get_the_toolkit_of_the_version_that_the_image_has(without, installed, tmp_path):
    node = Bare(tmp_path, gpus=8, without=without)
    node.program('dpkg-query', '[ "${*: -1}" = nvidia-container-toolkit-base ] && printf 1.17.8-1')
    status, said = node.start()
    assert status == 0, said
    wanted = [call for packages in installed for call in (UPDATE, f'{APT} {packages}')]
    assert node.calls() == [*wanted, CONFIGURE, RESTART]
    assert node.has_started()


def test_what_was_installed_is_configured_later_if_that_failed(tmp_path):
    node = Bare(tmp_path, gpus=8)
    node.program('nvidia-ctk', 'exit 1')
    assert node.start()[0] == 1
    assert node.reports()[-1][1]['reason'] == "nvidia-ctk can't configure docker"
    node.log_calls('nvidia-ctk')
    assert node.start()[0] == 0
    assert node.calls()[-2:] == [CONFIGURE, RESTART] and len(node.calls()) == 4


def test_an_installation_that_fails_is_tried_again_but_not_for_ever(tmp_path):
    node = Bare(tmp_path)
    (node.folder / 'apt-says').write_text('W: some list\nE: Unable to locate package docker.io\n')
    codes = [node.start()[0] for _ in range(8)]
    assert codes == [1] * 7 + [78]
    state, keys = node.reports()[-1]
    assert (state, keys['step'], keys['reason']) == (
        'failed', 'docker', "can't install docker.io: E: Unable to locate package docker.io (8 tries)")
    assert not node.has_started()


def test_without_apt_get_the_image_is_at_fault(tmp_path):
    node = Bare(tmp_path)
    (node.bin / 'apt-get').unlink()
    status, said = node.start()
    assert status == 78
    assert ('no docker on this image, and no apt-get to install it with: install it with initialization_commands, '
            'or use an image that has it') in said


@pytest.mark.parametrize('has,code', [('nvidia-container-cli', 0), (None, 78)])
def test_without_apt_get_docker_keeps_the_toolkit_that_the_image_has(has, code, tmp_path):
    node = Bare(tmp_path, gpus=8, without=('nvidia-ctk', 'nvidia-container-runtime-hook'))
    (node.bin / 'apt-get').unlink()
    if has:
        node.program(has, 'true')
    status, said = node.start()
    assert status == code, said
    assert 'no apt-get to install nvidia-container-toolkit with' in said
    assert ('no nvidia-container-toolkit on this image' in said) == bool(code)
    assert node.calls() == [] and node.has_started() != bool(code)


def test_initialization_commands_may_install_docker_on_any_cloud(tmp_path):
    data = prepared(tmp_path, f'initialization_commands: ["mv {tmp_path}/n/packages/docker {tmp_path}/n/bin"]\n')
    node = Bare(tmp_path, data=data['user_data'][0], installs=False)
    (node.bin / 'mv').symlink_to('/bin/mv')
    status, said = node.start()
    assert status == 0, said
    assert node.calls() == [] and node.has_started()
    assert [keys['step'] for state, keys in node.reports() if state == 'doing'][:2] == ['initialization', 'docker']


def test_without_them_the_message_names_the_remedies(tmp_path):
    status, said = Bare(tmp_path, installs=False).start()
    assert status == 78
    assert ('no docker on this image: install it with initialization_commands, or use an image that has it, '
            "as AWS's deep learning base images do") in said


def test_no_message_sends_the_user_to_an_image_without_docker():
    assert 'image_hint' not in (ROOT / 'providers/gcp/boot/cloud.sh').read_text()


def test_only_modules_that_ask_for_it_install_docker():
    assert json.loads((ROOT / 'providers/gcp/schema.json').read_text())['boot']['install_docker'] is True
    files = fit(GOLDEN / 'boot/plain.yaml')['user_data']
    assert not any('install-docker"' in text for text in files)

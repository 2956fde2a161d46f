"""Nodes that divide their GPUs into MIG slices before Ray starts: the scripts run for real, with a replacement
for nvidia-smi that keeps modes and slices like a real one (nvidia_smi.py)."""
import json
import shutil

import pytest

import nvidia_smi
from test_boot import GOLDEN, Node, compare, files_of, fit, groups_of, option

SPEC = GOLDEN / 'boot/sliced.yaml'


class CutNode(Node):
    def __init__(self, folder, pool, gpus=8, **state):
        self.user_data = {n['pool']: t for n, t in groups_of(fit(SPEC))}[pool]
        super().__init__(folder, self.user_data, gpus)
        nvidia_smi.new(self.state, gpus, **state)
        for word in ('sort', 'paste', 'tr'):
            (self.bin / word).symlink_to(shutil.which(word))

    def calls(self, word):
        return [c for c in json.loads(self.state.read_text())['calls'] if word in c]

    def change(self, **members):
        state = json.loads(self.state.read_text())
        state.update(members, calls=[])
        self.state.write_text(json.dumps(state))

    def asked_to_reboot(self):
        log = self.folder / 'systemctl.log'
        return log.exists() and log.read_text().split().count('reboot') == 1

    def devices(self):
        args = self.docker_args()
        value = args[args.index('--gpus') + 1]
        assert value.startswith('"device=') and value.endswith('"'), value
        uuids = value[len('"device='):-1].split(',')
        assert self.container_env()['CUDA_VISIBLE_DEVICES'] == ','.join(uuids)
        return uuids


@pytest.mark.parametrize('pool', ['small', 'mixed', 'turns'])
def test_user_data_is_as_recorded(pool):
    text = {n['pool']: t for n, t in groups_of(fit(SPEC))}[pool]
    compare(GOLDEN / f'boot/sliced.{pool}.txt', files_of(text)['/etc/raygpu/node.conf'][1])
    assert ('/usr/local/lib/raygpu/cut-gpus' in files_of(text)) == (pool != 'turns')


def test_fitted_document_tells_the_slices():
    nodes = {n['pool']: n for n in fit(SPEC)['fitted']['nodes']}
    assert 'share' not in nodes['head']
    assert nodes['small']['share'] == {
        'mig': [{'profile': '1g.5gb', 'start': None}] * 7, 'ray_gpus': 56}
    assert nodes['small']['labels']['raygpu.io/mig'] == '1g.5gb'
    assert nodes['small']['resources']['mig-1g.5gb'] == 56
    starts = {s['profile']: s['start'] for s in nodes['mixed']['share']['mig']}
    assert starts['4g.20gb'] == 0 and starts['1g.5gb'] >= 4 and starts['2g.10gb'] in (4, 6)
    assert nodes['mixed']['labels']['raygpu.io/mig'] == 'mixed'
    assert nodes['turns']['share'] == {'time_slices': 4}
    assert nodes['turns']['labels']['raygpu.io/time-slices'] == '4'


def test_gpus_are_cut_and_ray_sees_the_slices(tmp_path):
    node = CutNode(tmp_path / 'n', 'small', reset=True)
    status, said = node.start()
    assert status == 0, said
    uuids = node.devices()
    assert len(uuids) == len(set(uuids)) == 56 and all(u.startswith('MIG-') for u in uuids)
    args = node.docker_args()
    assert option(args, '--num-gpus') == '56'
    assert json.loads(option(args, '--resources'))['mig-1g.5gb'] == 56
    assert 'raygpu.io/mig=1g.5gb' in option(args, '--labels')
    assert 'cut into 56 slices' in said
    assert not node.asked_to_reboot()


def lists_slices(node, but=''):
    """nvidia-ctk, which lists for CDI what was there when nvidia-cdi-refresh ran last."""
    node.program('systemctl', f'''[ "$*" = "restart nvidia-cdi-refresh.service" ] || exit 5
        nvidia-smi --list-gpus | grep -o "MIG-[0-9a-f-]*" | sed "s|^|nvidia.com/gpu=|; {but}" >"{node.folder}/cdi"''')
    node.program('nvidia-ctk', f'[ "$*" = "cdi list" ] && {{ echo nvidia.com/gpu=all; cat "{node.folder}/cdi"; }}')


@pytest.mark.parametrize('docker,but,by_cdi', [
    ('29.1.0', '', True), ('30.0.0-rc.1', '', True), ('28.5.2', '', False), ('29.1.0', '3d', False), ('', '', False)])
def test_slices_are_handed_out_by_cdi_where_docker_looks_there(docker, but, by_cdi, tmp_path):
    node = CutNode(tmp_path / 'n', 'mixed', mode='Enabled')
    lists_slices(node, but)
    (node.folder / 'docker-version').write_text(docker)
    status, said = node.start()
    assert status == 0, said
    args = node.docker_args()
    devices = [value for option, value in zip(args, args[1:]) if option == '--device']
    uuids = node.container_env()['CUDA_VISIBLE_DEVICES'].split(',')
    assert len(uuids) == 24
    assert devices == ([f'nvidia.com/gpu={uuid}' for uuid in uuids] if by_cdi else [])
    assert ('--gpus' in args) != by_cdi


def test_different_slices_get_their_places(tmp_path):
    node = CutNode(tmp_path / 'n', 'mixed', mode='Enabled')
    status, said = node.start()
    assert status == 0, said
    assert len(node.devices()) == 24
    assert all('4g.20gb:0' in c for c in node.calls('--create-gpu-instance'))


def test_what_is_cut_already_stays(tmp_path):
    node = CutNode(tmp_path / 'n', 'small', mode='Enabled')
    assert node.start()[0] == 0
    first = node.devices()
    node.change()
    assert node.start()[0] == 0
    assert node.devices() == first
    assert not node.calls('--create') and not node.calls('--destroy')


def test_after_a_boot_the_slices_are_made_again(tmp_path):
    node = CutNode(tmp_path / 'n', 'small', mode='Enabled')
    assert node.start()[0] == 0
    nvidia_smi.boot(node.state)
    node.change()
    assert node.start()[0] == 0
    assert len(node.devices()) == 56 and len(node.calls('--create')) == 8


def test_other_slices_are_replaced(tmp_path):
    node = CutNode(tmp_path / 'n', 'small', mode='Enabled')
    state = json.loads(node.state.read_text())
    for gpu in state['gpus'][:3]:
        gpu['slices'] = [{'profile': '3g.20gb', 'start': 0, 'size': 4, 'compute': True}]
    node.state.write_text(json.dumps(state))
    status, said = node.start()
    assert status == 0, said
    assert len(node.devices()) == 56


def test_a_gpu_that_cannot_be_reset_reboots_the_node_once(tmp_path):
    node = CutNode(tmp_path / 'n', 'small')
    status, said = node.start()
    assert status == 1 and 'needs a reboot; rebooting once' in said
    assert node.asked_to_reboot()
    assert not (node.folder / 'docker.args').exists()
    nvidia_smi.boot(node.state)
    status, said = node.start()
    assert status == 0, said
    assert len(node.devices()) == 56
    assert node.asked_to_reboot(), 'it was rebooted again'
    assert not (node.folder / 'var/lib/raygpu/rebooted-for-mig').exists()


def test_a_reboot_that_does_not_help_keeps_the_node_out(tmp_path):
    node = CutNode(tmp_path / 'n', 'small')
    assert node.start()[0] == 1
    status, said = node.start()
    assert status == 78 and 'stays out of Ray' in said
    assert node.asked_to_reboot()
    assert not (node.folder / 'docker.args').exists()


def test_a_gpu_without_mig_keeps_the_node_out(tmp_path):
    node = CutNode(tmp_path / 'n', 'small', mode='[N/A]')
    status, said = node.start()
    assert status == 78
    assert 'GPU 0 can\'t be cut into MIG slices: its MIG mode is "[N/A]"' in said
    assert not (node.folder / 'docker.args').exists()


def test_a_failed_cut_keeps_the_node_out_and_is_tried_again(tmp_path):
    node = CutNode(tmp_path / 'n', 'small', mode='Enabled')
    node.change(broken=True)
    status, said = node.start()
    assert status == 1 and "can't cut GPU 0 into 1g.5gb," in said and 'stays out of Ray' in said
    assert not (node.folder / 'docker.args').exists()
    node.change(broken=False)
    status, said = node.start()
    assert status == 0, said


def test_a_missing_slice_is_said_and_retried(tmp_path):
    node = CutNode(tmp_path / 'n', 'small', mode='Enabled')
    script = node.folder / 'usr/local/lib/raygpu/cut-gpus'
    script.write_text(script.read_text().replace('\t[ "$(slices_of "$gpu")" !=', '\treturn 0; [ "x" !='))
    status, said = node.start()
    assert status == 1 and 'nvidia-smi shows 0 MIG slices of 56' in said


def refusal(tmp_path, pool):
    spec = tmp_path / 'spec.yaml'
    spec.write_text(SPEC.read_text().split('pools:')[0] + f'pools:\n  p: {pool}\n')
    error, = fit(spec)['errors']
    return error


@pytest.mark.parametrize('pool,code,said', [
    ('{accelerators: "V100-32GB:8", nodes: 1, share: {mig: 1g.5gb}}', 'fit.mig-unsupported', 'V100'),
    ('{accelerators: "T4:1", nodes: 1, share: {mig: 1g.5gb}}', 'fit.mig-unsupported', 'T4'),
    ('{accelerators: "A100-80GB:8", nodes: 1, share: {mig: 1g.5gb}}', 'fit.mig-profile', 'A100-80GB'),
    ('{accelerators: "A100:8", nodes: 1, share: {mig: 3g.40gb}}', 'fit.mig-profile', 'A100-40GB'),
    ('{accelerators: "A100:8", nodes: 1, share: {mig: [1g.5gb, 1g.5gb, 1g.5gb, 1g.5gb, 1g.5gb, '
     '1g.5gb, 1g.5gb, 1g.5gb]}}', 'fit.mig-too-many', 'makes 7 slices of 1g.5gb, not 8'),
    ('{accelerators: "A100:8", nodes: 1, share: {mig: [3g.20gb, 3g.20gb, 1g.5gb]}}',
     'fit.mig-too-many', "do not fit on one A100-40GB together"),
    ('{instance_type: m5.large, nodes: 1, share: {time_slices: 2}}', 'fit.no-gpu-to-share', 'm5.large'),
])
def test_what_gpus_cannot_do_is_refused(pool, code, said, tmp_path):
    error = refusal(tmp_path, pool)
    assert error['code'] == code and said in error['summary'], error
    assert error['line'] == 6


def test_refusals_say_what_would_do(tmp_path):
    small = refusal(tmp_path, '{accelerators: "A100-80GB:8", nodes: 1, share: {mig: 1g.5gb}}')
    assert small['hint'] == 'did you mean `1g.10gb`?'
    assert '1g.10gb (7)' in small['detail'] and '7g.80gb (1)' in small['detail']
    large = refusal(tmp_path, '{accelerators: "A100:8", nodes: 1, share: {mig: 3g.40gb}}')
    assert large['hint'] == 'did you mean `3g.20gb`?'
    old = refusal(tmp_path, '{accelerators: "V100-32GB:8", nodes: 1, share: {mig: 1g.5gb}}')
    assert 'time_slices' in old['hint']

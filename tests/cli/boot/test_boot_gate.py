"""The gate: a node whose GPUs are bad reports which, and stays out of Ray. The script runs for real, with
replacements for nvidia-smi (nvidia_smi.py), the kernel log and dcgmi."""
import csv
import json
import shutil

import pytest

import nvidia_smi
from program import ROOT
from test_boot import GOLDEN, Node, fit, files_of, groups_of, spec_file

XIDS = list(csv.DictReader((ROOT / 'src/boot/fatal_xids.csv').open(newline='')))
PASS = '{"test_categories": [{"tests": [{"name": "%s", "results": [{"gpu_id": "0", "status": "Pass"}]}]}]}'


def user_data(tmp_path, pool):
    path = spec_file(tmp_path, pools=f'  p: {pool}')
    return {n['pool']: t for n, t in groups_of(fit(path))}['p']


class GateNode(Node):
    def __init__(self, tmp_path, pool='{accelerators: "A100:8", nodes: 1}', gpus=8):
        super().__init__(tmp_path / 'n', user_data(tmp_path, pool), gpus)
        self.log('')
        for word in ('sort', 'paste', 'tr'):
            (self.bin / word).symlink_to(shutil.which(word))

    def log(self, text, program='journalctl'):
        (self.folder / 'kernel.log').write_text(text)
        self.program(program, f'cat "{self.folder}/kernel.log"')

    def gpu(self, index, **members):
        state = json.loads(self.state.read_text())
        state['gpus'][index].update(members)
        self.state.write_text(json.dumps(state))

    def dcgmi(self, answer, status=0):
        (self.folder / 'answer').write_text(answer)
        self.program('systemctl', '[ "$*" != "start nvidia-dcgm" ]')
        self.program('nv-hostengine', f'echo >"{self.folder}/hostengine"')
        self.program('dcgmi', f'echo "$*" >>"{self.folder}/dcgmi.log"; cat "{self.folder}/answer"; exit {status}')

    def refused(self):
        """What raygpu learns of a node that stays out; it is never started again."""
        status, said = self.start()
        assert status == 78, said
        assert not (self.folder / 'docker.args').exists()
        state, keys = self.reports()[-1]
        assert (state, keys['step'], keys['code']) == ('failed', 'gate', '78')
        assert keys['reason'] in said
        return keys

    def admitted(self):
        status, said = self.start()
        assert status == 0, said


def serial(*indexes):
    return ','.join(f'132052400{i}' for i in indexes)


def uuid(*indexes):
    return ','.join(nvidia_smi.uuid(i) for i in indexes)


@pytest.mark.parametrize('members,reason', [
    ({'errors': '3'}, 'GPU 5: 3 uncorrectable ECC errors since boot'),
    ({'remap': ['1', '0']}, 'GPU 5: memory rows wait to be remapped'),
    ({'remap': ['Yes', 'No']}, 'GPU 5: memory rows wait to be remapped'),
    ({'remap': ['0', '1']}, 'GPU 5: memory rows could not be remapped'),
    ({'retire': 'Yes'}, 'GPU 5: memory pages wait to be retired'),
    ({'links': 11}, 'GPU 5: 11 of 12 NVLinks are up'),
    ({'links': 0}, 'GPU 5: 0 of 12 NVLinks are up'),
])
def test_a_bad_gpu_is_named(members, reason, tmp_path):
    node = GateNode(tmp_path)
    node.gpu(5, **members)
    keys = node.refused()
    assert (keys['reason'], keys['gpu'], keys['serial']) == (reason, uuid(5), serial(5))


def test_all_bad_gpus_are_named_once(tmp_path):
    node = GateNode(tmp_path)
    node.gpu(6, errors='1')
    node.gpu(2, errors='9', remap=['1', '1'])
    keys = node.refused()
    assert (keys['gpu'], keys['serial']) == (uuid(2, 6), serial(2, 6))
    assert keys['reason'].split('; ') == [
        'GPU 2: 9 uncorrectable ECC errors since boot', 'GPU 6: 1 uncorrectable ECC errors since boot',
        'GPU 2: memory rows wait to be remapped', 'GPU 2: memory rows could not be remapped']


@pytest.mark.parametrize('members', [
    {'errors': '[N/A]', 'remap': ['[N/A]', '[N/A]'], 'retire': '[N/A]'},
    {'errors': '0', 'remap': ['No', 'No'], 'retire': 'No'},
])
def test_what_a_gpu_does_not_know_is_good(members, tmp_path):
    node = GateNode(tmp_path)
    for i in range(8):
        node.gpu(i, **members)
    node.admitted()


def test_a_driver_that_knows_no_remapped_rows_is_good(tmp_path):
    node = GateNode(tmp_path)
    state = json.loads(node.state.read_text())
    node.state.write_text(json.dumps({**state, 'unknown': 'remapped'}))
    node.admitted()


def test_health_that_cannot_be_read_is_tried_again(tmp_path):
    node = GateNode(tmp_path)
    state = json.loads(node.state.read_text())
    node.state.write_text(json.dumps({**state, 'unknown': 'ecc.errors'}))
    status, said = node.start()
    assert status == 1 and 'does not report the health of the GPUs' in said


def test_missing_gpus_are_waited_for_then_reported(tmp_path):
    node = GateNode(tmp_path, gpus=7)
    assert node.refused()['reason'] == 'nvidia-smi shows 7 GPUs of 8'
    assert (node.folder / 'slept').read_text().split().count('10') == 12


# --- Xid errors ---------------------------------------------------------------------------

def xid(code, bus='0000:13:1c', text=', pid=77, name=python, whatever happened'):
    return f'[   41.5] NVRM: Xid (PCI:{bus}): {code}{text}\n'


@pytest.mark.parametrize('code,program', [(row['xid'], 'journalctl') for row in XIDS] + [('79', 'dmesg')])
def test_a_fatal_xid_keeps_the_node_out(code, program, tmp_path):
    node = GateNode(tmp_path)
    node.program('journalctl', 'exit 1')
    node.log('usb 1-1: new device\n' + xid(code) * 3, program)
    keys = node.refused()
    assert keys['reason'] == f'GPU 3: Xid {code}, pid=77, name=python, whatever happened'
    assert (keys['gpu'], keys['serial']) == (uuid(3), serial(3))


def test_xids_of_programs_and_corrected_ones_do_not_matter(tmp_path):
    node = GateNode(tmp_path)
    node.log(xid(13) + xid(31) + xid(43) + xid(45) + xid(63) + xid(94) + 'NVRM: Xid 79 in some other form\n' +
             xid(7) + xid(148) + xid(479) + xid(13, '0000:13:1c GPU-I:01'))
    node.admitted()


def test_an_xid_of_a_gpu_that_is_gone_is_reported_without_it(tmp_path):
    node = GateNode(tmp_path)
    node.log(xid(79, '0000:ff:1c', ', GPU has fallen off the bus.'))
    keys = node.refused()
    assert keys['reason'] == 'Xid 79, GPU has fallen off the bus.' and 'gpu' not in keys


# --- NVLink -------------------------------------------------------------------------------

def test_gpus_none_of_whose_links_is_up(tmp_path):
    node = GateNode(tmp_path)
    for i in range(8):
        node.gpu(i, links=0)
    assert node.refused()['reason'] == 'no NVLink is up'


def test_links_that_come_up_late_are_waited_for(tmp_path):
    node = GateNode(tmp_path)
    state = json.loads(node.state.read_text())
    node.state.write_text(json.dumps({**state, 'later': 9}))
    node.admitted()
    assert (node.folder / 'slept').read_text().split().count('10') == 9


@pytest.mark.parametrize('fabric,good', [('In Progress', False), ('Completed', True), ('N/A', True)])
def test_a_fabric_that_is_never_ready(fabric, good, tmp_path):
    node = GateNode(tmp_path)
    node.gpu(0, fabric=fabric)
    if good:
        node.admitted()
    else:
        assert node.refused()['reason'] == 'the NVLink fabric is still in progress'
        assert (node.folder / 'slept').read_text().split().count('10') == 18


@pytest.mark.parametrize('pool,gpus,links', [
    ('{accelerators: "A100:8", nodes: 1}', 8, 8),        # some links of a type may lead nowhere
    ('{accelerators: "T4:4", nodes: 1}', 4, None),
    ('{accelerators: "A100:8", nodes: 1, share: {mig: 1g.5gb}}', 8, 0),
])
def test_links_that_need_not_be_up(pool, gpus, links, tmp_path):
    node = GateNode(tmp_path, pool, gpus)
    for i in range(gpus):
        node.gpu(i, links=links, mode='Enabled')
    node.admitted()


# --- dcgmi diag ---------------------------------------------------------------------------

DIAG = '{accelerators: "A100:8", nodes: 1, health: {diag: 2}}'
FAIL_3 = '''{"DCGM GPU Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
    {"name": "GPU Memory", "results": [{"gpu_ids": "0,1,2", "status": "Pass"},
                                       {"gpu_ids": "4", "status": "Fail", "warnings": ["status: broken"]}]},
    {"name": "PCIe", "results": [{"gpu_id": "1", "status": "Skip"}]}]}]}}'''
FAIL_4 = '''{"tests":[{"name":"memory","results":[{"entity_group":"GPU","entity_id":4,"status":"Fail"}],
    "test_summary":{"status":"Fail"}}]}'''


def test_diag_runs_once(tmp_path):
    node = GateNode(tmp_path, DIAG)
    node.dcgmi(PASS % 'memory')
    node.admitted()
    node.admitted()
    assert (node.folder / 'dcgmi.log').read_text() == 'diag --run 2 --json\n'
    assert (node.folder / 'hostengine').exists()
    assert ('doing', 'diag') in [(state, keys['step']) for state, keys in node.reports()]


@pytest.mark.parametrize('answer,status,reason,gpu', [
    (FAIL_3, 0, 'GPU 4: dcgmi diag 2: GPUMemory failed', 4),
    (FAIL_3.replace('\n', ''), 226, 'GPU 4: dcgmi diag 2: GPUMemory failed', 4),
    (FAIL_4, 226, 'GPU 4: dcgmi diag 2: memory failed', 4),
    ('error: unable to connect to the host engine', 255, 'dcgmi diag 2 ended with status 255', None),
])
def test_a_failed_diag_keeps_the_node_out(answer, status, reason, gpu, tmp_path):
    node = GateNode(tmp_path, DIAG)
    node.dcgmi(answer, status)
    keys = node.refused()
    assert keys['reason'] == reason
    assert keys.get('gpu') == (None if gpu is None else uuid(gpu))
    node.dcgmi(PASS % 'memory')
    node.admitted()


def test_a_diag_that_never_ends_keeps_the_node_out(tmp_path):
    node = GateNode(tmp_path, DIAG)
    node.dcgmi('')
    node.program('dcgmi', 'exec /bin/sleep 30')
    (node.bin / 'timeout').unlink()
    node.program('timeout', f'[ "$1" = 5400 ] && exec {shutil.which("timeout")} 0.2 "${{@:2}}"; exit 99')
    assert node.refused()['reason'] == 'dcgmi diag 2 ended with status 124'


def test_diag_without_dcgm_is_said(tmp_path):
    node = GateNode(tmp_path, DIAG)
    status, said = node.start()
    assert status == 78 and 'health.diag requires NVIDIA DCGM' in said


# --- the spec -----------------------------------------------------------------------------

def test_without_the_gate_nothing_is_checked(tmp_path):
    node = GateNode(tmp_path, '{accelerators: "A100:8", nodes: 1, health: {gate: false}}')
    node.gpu(5, errors='3')
    node.admitted()
    files = files_of(user_data(tmp_path, '{accelerators: "A100:8", nodes: 1, health: {gate: false}}'))
    assert not [path for path in files if path.endswith(('/gate', '/fatal-xids'))]
    head = files_of(fit(GOLDEN / 'boot/plain.yaml')['user_data'][0])
    assert '/usr/local/lib/raygpu/gate' not in head, 'a node without GPUs has one'


def test_without_the_gate_a_missing_gpu_is_tried_again(tmp_path):
    node = GateNode(tmp_path, '{accelerators: "A100:8", nodes: 1, health: {gate: false}}', gpus=7)
    status, said = node.start()
    assert status == 1 and 'nvidia-smi shows 7 GPUs of 8; trying again' in said

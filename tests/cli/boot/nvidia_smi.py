"""A stand-in for nvidia-smi on a machine with GPUs of the catalog: the calls that gate and cut-gpus make, and queries of single facts, with
the state that a real one keeps. State in a JSON file; a boot (`boot`) forgets slices, keeps modes.

Knobs in the state: `reset` (whether a GPU can be reset), `mode` (Enabled, Disabled, [N/A]),
`broken` (creating slices fails), `unknown` (a query that this driver does not support); of a GPU: `errors`
(uncorrectable, since boot), `remap` (pending, failure), `retire` (pending), `links` (up; None: no NVLink),
`fabric` (state).
"""
import csv
import fcntl
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


# what nvidia-smi calls them
NAMES = {'A100-40GB': 'NVIDIA A100-SXM4-40GB', 'A100-80GB': 'NVIDIA A100-SXM4-80GB', 'A100-80GB-PCIe': 'NVIDIA A100 80GB PCIe',
         'H100-80GB': 'NVIDIA H100 80GB HBM3', 'V100-16GB': 'Tesla V100-SXM2-16GB', 'V100-32GB': 'Tesla V100-SXM2-32GB',
         'T4': 'Tesla T4', 'L4': 'NVIDIA L4', 'L40S': 'NVIDIA L40S', 'A10G': 'NVIDIA A10G', 'K80': 'Tesla K80'}


def catalog(name):
    with open(ROOT / 'src/catalog/data' / name, newline='') as f:
        return list(csv.DictReader(f))


def placements():
    found = {}
    for row in catalog('mig_placements.csv'):
        if row['gpu_model'] == 'A100-40GB':
            found.setdefault(row['profile'], []).append((int(row['start']), int(row['size'])))
    return found


def new(path, gpus, mode='Disabled', reset=False, model='A100-40GB', unit=0xaaaa):
    """`unit`: a number of the machine, so that no two have GPUs with the same UUID."""
    memory = next(row['memory_mib'] for row in catalog('gpu_models.csv') if row['gpu_model'] == model)
    path.write_text(json.dumps({'reset': reset, 'broken': False, 'calls': [], 'unknown': '', 'gpus': [
        {'name': NAMES[model], 'memory': memory, 'uuid': uuid(i, unit), 'mode': mode, 'pending': mode, 'slices': [], 'errors': '0',
         'remap': ['0', '0'], 'retire': '[N/A]', 'fabric': '[N/A]', 'links': 12 if 'SXM' in NAMES[model] else None}
        for i in range(gpus)]}))


def boot(path):
    state = json.loads(path.read_text())
    for gpu in state['gpus']:
        gpu['mode'] = gpu['pending']
        gpu['slices'] = []
    path.write_text(json.dumps(state))


def uuid(i, unit=0xaaaa):
    return f'GPU-{i:08x}-{unit:04x}-bbbb-cccc-0123456789ab'


def listing(state):
    for i, gpu in enumerate(state['gpus']):
        print(f'GPU {i}: {gpu["name"]} (UUID: {gpu["uuid"]})')
        for k, piece in enumerate(sorted(gpu['slices'], key=lambda s: s['start'])):
            if piece['compute']:
                print(f'  MIG {piece["profile"]:<11} Device  {k}: (UUID: MIG-{i:08x}-{piece["start"]:04x}'
                      '-5555-8888-0123456789ab)')


def create(state, gpu, wish, compute):
    if state['broken'] or gpu['mode'] != 'Enabled':
        print('Unable to create a GPU instance: Insufficient Resources')
        return 19
    known = placements()
    for one in wish.split(','):
        profile, _, start = one.partition(':')
        taken = {n for s in gpu['slices'] for n in range(s['start'], s['start'] + s['size'])}
        for at, size in known[profile]:
            if not taken & set(range(at, at + size)) and (not start or int(start) == at):
                gpu['slices'].append(
                    {'profile': profile, 'start': at, 'size': size, 'compute': compute})
                break
        else:
            print(f'Unable to create a GPU instance using profile {profile}')
            return 19
    return 0


def mig(state, args):
    gpu = state['gpus'][int(args[args.index('--id') + 1])]
    if '--destroy-compute-instance' in args:
        for piece in gpu['slices']:
            piece['compute'] = False
        return 0 if gpu['slices'] else 6
    if '--destroy-gpu-instance' in args:
        if any(s['compute'] for s in gpu['slices']):
            return 19
        found = bool(gpu['slices'])
        gpu['slices'] = []
        return 0 if found else 6
    wish = args[args.index('--create-gpu-instance') + 1]
    return create(state, gpu, wish, '--default-compute-instance' in args)


def links(state):
    if state.get('later'):      # the fabric manager needs a while
        state['later'] -= 1
        return
    for i, gpu in enumerate(state['gpus']):
        if gpu['links'] is None:
            continue
        print(f'GPU {i}: {gpu["name"]} (UUID: {gpu["uuid"]})')
        if gpu['links'] == 0:
            print('NVML: Unable to retrieve NVLink information as all links are inActive')
        for k in range(12 if gpu['links'] else 0):
            print(f'\t Link {k}: ' + ('25 GB/s' if k < gpu['links'] else '<inactive>'))


FIELDS = {
    'index': lambda i, gpu: i,
    'name': lambda i, gpu: gpu['name'],
    'uuid': lambda i, gpu: gpu['uuid'],
    'gpu_uuid': lambda i, gpu: gpu['uuid'],
    'serial': lambda i, gpu: f'132052400{i}',
    'pci.bus_id': lambda i, gpu: f'00000000:{16 + i:02X}:1C.0',
    'driver_version': lambda i, gpu: '550.90.07',
    'memory.total': lambda i, gpu: f'{gpu["memory"]} MiB',
    'mig.mode.current': lambda i, gpu: gpu['mode'],
    'ecc.errors.uncorrected.volatile.total': lambda i, gpu: gpu['errors'],
    'fabric.state': lambda i, gpu: gpu['fabric'],
    'retired_pages.pending': lambda i, gpu: gpu['retire'],
    'remapped_rows.pending': lambda i, gpu: gpu['remap'][0],
    'remapped_rows.failure': lambda i, gpu: gpu['remap'][1],
}


def query(state, fields, units):
    """The rows of a table; a field that it does not know is the answer."""
    unknown = next((field for field in fields if field not in FIELDS), None)
    if unknown:
        print(f'Field "{unknown}" is not a valid field to query.')
        return 2
    for i, gpu in enumerate(state['gpus']):
        row = ', '.join(str(FIELDS[field](i, gpu)) for field in fields)
        print(row if units else row.replace(' MiB', ''))
    return 0


def run(state, args):
    if state['unknown'] and state['unknown'] in args[0]:
        print(f'Field "{state["unknown"]}" is not a valid field to query.')
        return 2
    words = args[0].split('=')
    if words[0] in ('--query-gpu', '--query-remapped-rows') and args[1:] in (['--format=csv,noheader'], ['--format=csv,noheader,nounits']):
        return query(state, words[1].split(','), 'nounits' not in args[1])
    if args == ['nvlink', '--status']:
        links(state)
        return 0
    if args in (['--list-gpus'], ['-L']):
        listing(state)
        return 0
    if args[0] == 'mig':
        return mig(state, args[1:])
    gpu = state['gpus'][int(args[0].removeprefix('--id='))]
    if args[1:] == ['--query-gpu=mig.mode.current', '--format=csv,noheader']:
        print(gpu['mode'])
        return 0
    if args[1:] == ['--multi-instance-gpu=1']:
        gpu['pending'] = 'Enabled'
        print('Warning: MIG mode is in pending enable state')
        return 0
    if args[1:] == ['--gpu-reset']:
        if state['reset']:
            gpu['mode'] = gpu['pending']
        return 0 if state['reset'] else 3
    print(f'Invalid combination of input arguments: {args}')
    return 2


def main():
    with open(sys.argv[1], 'r+', encoding='ascii') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        state = json.load(f)
        state['calls'].append(' '.join(sys.argv[2:]))
        code = run(state, sys.argv[2:])
        f.seek(0)
        json.dump(state, f)
        f.truncate()
    return code


if __name__ == '__main__':
    sys.exit(main())

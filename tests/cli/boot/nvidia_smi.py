"""A stand-in for nvidia-smi on a machine with A100-40GB GPUs: the calls that gate and cut-gpus make, with
the state that a real one keeps. State in a JSON file; a boot (`boot`) forgets slices, keeps modes.

Knobs in the state: `reset` (whether a GPU can be reset), `mode` (Enabled, Disabled, [N/A]),
`broken` (creating slices fails), `unknown` (a query that this driver does not support); of a GPU: `errors`
(uncorrectable, since boot), `remap` (pending, failure), `retire` (pending), `links` (up; None: no NVLink),
`fabric` (state).
"""
import csv
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def placements():
    with open(ROOT / 'src/catalog/data/mig_placements.csv', newline='') as f:
        found = {}
        for row in csv.DictReader(f):
            if row['gpu_model'] == 'A100-40GB':
                found.setdefault(row['profile'], []).append((int(row['start']), int(row['size'])))
        return found


def new(path, gpus, mode='Disabled', reset=False):
    path.write_text(json.dumps({'reset': reset, 'broken': False, 'calls': [], 'gpus': [
        {'mode': mode, 'pending': mode, 'slices': [], 'errors': '0', 'remap': ['0', '0'], 'retire': '[N/A]',
         'fabric': '[N/A]', 'links': 12} for _ in range(gpus)], 'unknown': ''}))


def boot(path):
    state = json.loads(path.read_text())
    for gpu in state['gpus']:
        gpu['mode'] = gpu['pending']
        gpu['slices'] = []
    path.write_text(json.dumps(state))


def uuid(i):
    return f'GPU-{i:08x}-aaaa-bbbb-cccc-0123456789ab'


def listing(state):
    for i, gpu in enumerate(state['gpus']):
        print(f'GPU {i}: NVIDIA A100-SXM4-40GB (UUID: {uuid(i)})')
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
        print(f'GPU {i}: NVIDIA A100-SXM4-40GB (UUID: {uuid(i)})')
        if gpu['links'] == 0:
            print('NVML: Unable to retrieve NVLink information as all links are inActive')
        for k in range(12 if gpu['links'] else 0):
            print(f'\t Link {k}: ' + ('25 GB/s' if k < gpu['links'] else '<inactive>'))


QUERIES = {
    '--query-gpu=driver_version': lambda i, gpu: '550.90.07',
    '--query-gpu=index,uuid,serial,pci.bus_id,ecc.errors.uncorrected.volatile.total': lambda i, gpu:
        f'{i}, {uuid(i)}, 132052400{i}, 00000000:{16 + i:02X}:1C.0, {gpu["errors"]}',
    '--query-remapped-rows=gpu_uuid,remapped_rows.pending,remapped_rows.failure': lambda i, gpu:
        ', '.join([uuid(i), *gpu['remap']]),
    '--query-gpu=fabric.state': lambda i, gpu: gpu['fabric'],
    '--query-gpu=uuid,retired_pages.pending': lambda i, gpu: f'{uuid(i)}, {gpu["retire"]}',
}


def run(state, args):
    if state['unknown'] and state['unknown'] in args[0]:
        print(f'Field "{state["unknown"]}" is not a valid field to query.')
        return 2
    if args[0] in QUERIES and args[1:] == ['--format=csv,noheader']:
        print('\n'.join(QUERIES[args[0]](i, gpu) for i, gpu in enumerate(state['gpus'])))
        return 0
    if args == ['nvlink', '--status']:
        links(state)
        return 0
    if args == ['--list-gpus']:
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


if __name__ == '__main__':
    at = Path(sys.argv[1])
    now = json.loads(at.read_text())
    now['calls'].append(' '.join(sys.argv[2:]))
    code = run(now, sys.argv[2:])
    at.write_text(json.dumps(now))
    sys.exit(code)

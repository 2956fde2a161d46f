"""A stand-in for nvidia-smi on a machine with A100-40GB GPUs: the calls that cut-gpus makes, with
the state that a real one keeps. State in a JSON file; a boot (`boot`) forgets slices, keeps modes.

Knobs in the state: `reset` (whether a GPU can be reset), `mode` (Enabled, Disabled, [N/A]),
`broken` (creating slices fails).
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
        {'mode': mode, 'pending': mode, 'slices': []} for _ in range(gpus)]}))


def boot(path):
    state = json.loads(path.read_text())
    for gpu in state['gpus']:
        gpu['mode'] = gpu['pending']
        gpu['slices'] = []
    path.write_text(json.dumps(state))


def listing(state):
    for i, gpu in enumerate(state['gpus']):
        print(f'GPU {i}: NVIDIA A100-SXM4-40GB (UUID: GPU-{i:08x}-aaaa-bbbb-cccc-0123456789ab)')
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


def run(state, args):
    if args == ['--list-gpus']:
        listing(state)
        return 0
    if args == ['--query-gpu=driver_version', '--format=csv,noheader']:
        print('\n'.join('550.90.07' for _ in state['gpus']))
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

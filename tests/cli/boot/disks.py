"""A stand-in for lsblk, wipefs, blkid, mdadm, mkfs.ext4 and mount: disks with what they hold, in a JSON file.
What would destroy something is an error, and listed in `damage`."""
import json
import sys
from pathlib import Path

STORE = 'Amazon EC2 NVMe Instance Storage'
EBS = 'Amazon Elastic Block Store'
TOOLS = ('lsblk', 'wipefs', 'blkid', 'mdadm', 'mkfs.ext4', 'mount')


def disk(model=STORE, holds='', parts=(), label=''):
    return {'model': model, 'holds': holds, 'parts': list(parts), 'label': label}


def new(path, **disks):
    path.write_text(json.dumps({'disks': {f'/dev/{name}': one for name, one in disks.items()}, 'mounts': {},
                                'damage': [], 'calls': []}))


def write(state, name, holds, label=''):
    one = state['disks'].setdefault(name, disk('Linux software RAID'))
    if one['holds'] or one['parts']:
        state['damage'].append(name)
    one.update(holds=holds, label=label)


def lsblk(state, args):
    if args[0] == '--nodeps':
        assert args == ['--nodeps', '--noheadings', '--paths', '--output', 'NAME,MODEL']
        for name, one in state['disks'].items():
            print(f'{name:12} {one["model"]}')
        return 0
    assert args[:3] == ['--noheadings', '--output', 'NAME']
    one = state['disks'][args[3]]
    print('\n'.join([args[3].removeprefix('/dev/')] + [f'`-{part}' for part in one['parts']]))
    return 0


def wipefs(state, args):
    assert args[:2] == ['--no-act', '--noheadings']
    holds = state['disks'][args[2]]['holds']
    if holds == 'broken':
        print(f'wipefs: error: {args[2]}: probing initialization failed: Input/output error', file=sys.stderr)
        return 1
    print(f'{args[2]} 0x438 {holds}' if holds else '', end='')
    return 0


def blkid(state, args):
    found = [name for name, one in state['disks'].items() if one['label'] == args[args.index('--label') + 1]]
    print('\n'.join(found), end='')
    return 0 if found else 2


def mdadm(state, args):
    members = [arg for arg in args[2:] if arg.startswith('/dev/')]
    assert {'--run', '--level=0', f'--raid-devices={len(members)}'} <= set(args) and args[0] == '--create'
    for name in members:
        write(state, name, 'linux_raid_member')
    write(state, args[1], '')
    return 0


def mkfs_ext4(state, args):
    write(state, args[-1], 'ext4', args[args.index('-L') + 1])
    return 0


def mount(state, args):
    device, at = args[-2:]
    assert state['disks'][device]['holds'] == 'ext4'
    state['mounts'][at] = device
    return 0


if __name__ == '__main__':
    where, tool = Path(sys.argv[1]), sys.argv[2]
    now = json.loads(where.read_text())
    now['calls'].append(' '.join(sys.argv[2:]))
    code = globals()[tool.replace('.', '_')](now, sys.argv[3:])
    where.write_text(json.dumps(now))
    sys.exit(code)

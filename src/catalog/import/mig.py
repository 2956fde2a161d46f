"""src/catalog/data/mig_{profiles,placements}.csv: the slices that a GPU can be divided into."""
import files

PROFILES = 'src/catalog/data/mig_profiles.csv'
PLACEMENTS = 'src/catalog/data/mig_placements.csv'

# The collected tables name a GPU once; the PCI device ids of a profile show which boards share it (0x20B510DE
# is the A100 80GB PCIe, 0x233110DE the H100 PCIe).
BOARDS = {
    'A100-80GB': ('A100-80GB', 'A100-80GB-PCIe'),
    'H100-80GB': ('H100-80GB', 'H100-80GB-PCIe'),
}
# GiB that `nvidia-smi mig -lgip` shows, by memory slices, for the chips whose table has no MiB. Of several
# published figures (they change with the driver by up to 2 %), the smallest.
LISTED_GIB = {
    'H100-80GB': {1: 9.625, 2: 19.625, 4: 39.5, 8: 79.25},
    'H100-NVL-94GB': {1: 10.75, 2: 21.5, 4: 46.125, 8: 92.625},
    'GH200-96GB': {1: 11.0, 2: 23.0, 4: 46.5, 8: 93.0},
    # NVIDIA/mig-parted issue 120
    'H200-141GB': {1: 16.0, 2: 32.25, 4: 69.5, 8: 139.75},
    # NVIDIA/mig-parted PRs 166 (1g: 22.0) and 187; the larger ones: a public `nvidia-smi mig -lgip` of 2026-09-06
    'B200-180GB': {1: 20.5, 2: 44.25, 4: 89.0, 8: 178.5},
    # NVIDIA/gpu-operator PR 1303 (its board still called the first one 1g.24gb), NVIDIA/mig-parted issue 227 (1g: 22.0)
    'GB200-186GB': {1: 20.0, 2: 45.5},
    # bigstack-oss/cubecos issue 312; GoogleCloudPlatform/container-engine-accelerators PR 564 (1g: 23.625)
    'RTX-PRO-6000-BSE': {1: 23.125, 2: 46.5},
}
# Of the GB in the name, for chips that no published list shows: less than any listed profile with as many memory slices
# has, as GiB. For 1g.35gb of the GB300, NVIDIA's playbook for the DGX Station says "about 30 GB".
ESTIMATED = {1: 0.85, 2: 0.89, 4: 0.96, 8: 0.96}
# Profiles that NVIDIA's guide lists and the collected table lacks: RTX PRO has 4 or 2 memory slices.
GUIDE = 'NVIDIA MIG user guide, Supported MIG Profiles'
ADDED = [('RTX-PRO-6000-BSE', '1g.24gb', 1, 24, 4)] + [
    ('RTX-PRO-4500-BSE', name, int(name[0]), gb, n)
    for name, gb, n in (('1g.16gb', 16, 2), ('1g.16gb+gfx', 16, 2), ('1g.16gb-me', 16, 2),
                        ('1g.16gb+me.all', 16, 1), ('2g.32gb', 32, 1), ('2g.32gb+gfx', 32, 1))]

# By memory slices, `nvidia-smi mig -lgipp` of an RTX PRO 6000 Blackwell Server Edition, published in 2026: the same for
# all kinds of a profile. The chip has twelve places, three for each quarter of the memory.
LISTED_PLACES = {'RTX-PRO-6000-BSE': {1: (3, (0, 3, 6, 9)), 2: (6, (0, 6)), 4: (12, (0,))}}


def write(contracts):
    profiles = sorted(files.read(contracts, 'gpu/mig_profiles.csv') + [added(*a) for a in ADDED],
                      key=lambda p: (p['gpu_model'], int(p['compute_slices']), int(p['memory_gb_nominal']),
                                     p['profile']))
    placements = files.read(contracts, 'gpu/mig_placements.csv') + [row for p in profiles for row in listed_places(p)]
    files.write(PROFILES, ('gpu_model', 'profile', 'compute_slices', 'memory_gb', 'memory_mib', 'instances',
                           'memory_source', 'source'),
                [(board, p['profile'], p['compute_slices'], p['memory_gb_nominal'], memory(p)[0],
                  p['max_instances'], memory(p)[1], p['source'])
                 for p in profiles for board in boards(p)])
    files.write(PLACEMENTS, ('gpu_model', 'profile', 'start', 'size'),
                [(board, p['profile'], p['start_slice'], p['size_slices'])
                 for p in placements for board in boards(p)])
    tell_unplaced(profiles, placements)


def listed_places(profile):
    size, starts = LISTED_PLACES.get(profile['gpu_model'], {}).get(int(profile['compute_slices']), (0, ()))
    return [{'gpu_model': profile['gpu_model'], 'profile': profile['profile'], 'start_slice': str(start),
             'size_slices': str(size)} for start in starts]


def boards(row):
    return BOARDS.get(row['gpu_model'], (row['gpu_model'],))


def tell_unplaced(profiles, placements):
    placed = {(p['gpu_model'], p['profile']) for p in placements}
    for p in profiles:
        if (p['gpu_model'], p['profile']) not in placed:
            files.told(PLACEMENTS, f'{p["gpu_model"]} {p["profile"]}', 'no placement is known')


def added(model, profile, slices, gigabytes, instances):
    return {'gpu_model': model, 'profile': profile, 'compute_slices': str(slices), 'memory_slices': '',
            'memory_gb_nominal': str(gigabytes), 'memory_mib': '', 'max_instances': str(instances),
            'source': GUIDE}


def memory(profile):
    """MiB, and where they are from."""
    if profile['memory_mib']:
        return profile['memory_mib'], 'go-nvml'
    slices = int(profile['memory_slices'] or profile['compute_slices'])
    listed = LISTED_GIB.get(profile['gpu_model'], {}).get(slices)
    if listed:
        return int(listed * 1024), 'nvidia-smi'
    return int(int(profile['memory_gb_nominal']) * ESTIMATED[slices] * 1024), 'estimated'

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


def write(contracts):
    profiles = files.read(contracts, 'gpu/mig_profiles.csv')
    placements = files.read(contracts, 'gpu/mig_placements.csv')
    files.write(PROFILES, ('gpu_model', 'profile', 'compute_slices', 'memory_gb', 'instances',
                           'source'),
                [(board, p['profile'], p['compute_slices'], p['memory_gb_nominal'],
                  p['max_instances'], p['source'])
                 for p in profiles for board in boards(p)])
    files.write(PLACEMENTS, ('gpu_model', 'profile', 'start', 'size'),
                [(board, p['profile'], p['start_slice'], p['size_slices'])
                 for p in placements for board in boards(p)])
    tell_unplaced(profiles, placements)


def boards(row):
    return BOARDS.get(row['gpu_model'], (row['gpu_model'],))


def tell_unplaced(profiles, placements):
    placed = {(p['gpu_model'], p['profile']) for p in placements}
    for p in profiles:
        if (p['gpu_model'], p['profile']) not in placed:
            files.told(PLACEMENTS, f'{p["gpu_model"]} {p["profile"]}', 'no placement is known')

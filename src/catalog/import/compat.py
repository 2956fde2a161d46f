"""src/catalog/data/{cuda_releases,cuda_archs}.csv: which CUDA works with which driver and GPU."""
import files

CUDA = 'src/catalog/data/cuda_releases.csv'
ARCHS = 'src/catalog/data/cuda_archs.csv'


def write(contracts):
    files.write(CUDA, ('tag', 'cuda', 'min_driver', 'min_driver_minor'),
                [(t['tag'], '.'.join(t['cuda_image'].split('.')[:2]), t['min_driver_for_that_cuda'],
                  t['min_driver_by_minor_compat'])
                 for t in files.read(contracts, 'compat/ray_platform_cuda.csv')])
    files.write(ARCHS, ('compute_capability', 'architecture', 'first_cuda', 'last_cuda',
                        'last_driver_branch'),
                [(a['compute_capability'], a['architecture'], a['first_cuda'], a['last_cuda'],
                  a['last_driver_branch'].removeprefix('R'))
                 for a in files.read(contracts, 'compat/cuda_arch_support.csv')])


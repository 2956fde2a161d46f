"""src/catalog/data/{ray_releases,cuda_releases,cuda_archs}.csv: which versions work together."""
import files

RAY = 'src/catalog/data/ray_releases.csv'
CUDA = 'src/catalog/data/cuda_releases.csv'
ARCHS = 'src/catalog/data/cuda_archs.csv'


def write(contracts):
    files.write(RAY, ('from', 'to', 'image_pythons', 'wheel_pythons', 'cuda_tags', 'gpu_alias'),
                [ray(r) for r in files.read(contracts, 'compat/ray_versions.csv')])
    files.write(CUDA, ('tag', 'cuda', 'min_driver', 'min_driver_minor'),
                [(t['tag'], '.'.join(t['cuda_image'].split('.')[:2]), t['min_driver_for_that_cuda'],
                  t['min_driver_by_minor_compat'])
                 for t in files.read(contracts, 'compat/ray_platform_cuda.csv')])
    files.write(ARCHS, ('compute_capability', 'architecture', 'first_cuda', 'last_cuda',
                        'last_driver_branch'),
                [(a['compute_capability'], a['architecture'], a['first_cuda'], a['last_cuda'],
                  a['last_driver_branch'].removeprefix('R'))
                 for a in files.read(contracts, 'compat/cuda_arch_support.csv')])


def ray(r):
    """3.13(wheel only): pip has it, rayproject/ray has no image of it."""
    pythons = r['python_supported'].split('|')
    wheels = [p.split('(')[0] for p in pythons]
    images = [p for p in pythons if '(' not in p]
    if r['ray_from'] == '2.7':
        images.remove('3.7')
        files.told(RAY, '2.7', 'Python 3.7 left out of the images: seen in no tag')
    return (r['ray_from'], r['ray_to'], '|'.join(images), '|'.join(wheels), r['cuda_image_tags'],
            r['gpu_alias'])

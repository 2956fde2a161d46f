"""src/catalog/data/gpu_models.csv: GPU models, their figures and their names."""
import re
import files

TABLE = 'src/catalog/data/gpu_models.csv'

# Names besides our own name of the model, which is always added, and Ray's name. Names are SkyPilot's and
# Ray's; GCP's accelerator types are added from the table. Ray's constants:
# python/ray/util/accelerators/accelerators.py at 00501e2b; for models without a constant, what Ray's detection
# derives from the NVML name, except the RTX PRO cards, for which that would be "RTX". Only NVIDIA models can be
# requested.
#   model: (other names, Ray's accelerator type, Ray's second type that includes the memory)
RAY = {
    'K80': ((), 'K80', ''),
    'M60': ((), 'M60', ''),
    'P4': ((), 'P4', ''),
    'P100': ((), 'P100', ''),
    'V100-16GB': (('V100',), 'V100', ''),
    'V100-16GB-PCIe': (('V100', 'V100-16GB'), 'V100', ''),
    'V100-32GB': ((), 'V100', ''),
    'T4': ((), 'T4', ''),
    'T4G': ((), 'T4G', ''),
    'A10': ((), 'A10', ''),
    'A10G': ((), 'A10G', ''),
    'A30': ((), 'A30', ''),
    'A40': ((), 'A40', ''),
    'A100-40GB': (('A100', 'A100-40G'), 'A100', 'A100-40G'),
    'A100-80GB': (('A100-80G', 'A100-80GB-SXM'), 'A100', 'A100-80G'),
    'A100-80GB-PCIe': (('A100-80GB', 'A100-80G'), 'A100', 'A100-80G'),
    'L4': ((), 'L4', ''),
    'L40': ((), 'L40', ''),
    'L40S': ((), 'L40S', ''),
    'H100-80GB': (('H100', 'H100-SXM', 'H100-MEGA'), 'H100', ''),
    'H100-80GB-PCIe': (('H100', 'H100-80GB'), 'H100', ''),
    'H100-NVL-94GB': (('H100', 'H100-NVL'), 'H100', ''),
    'H200-141GB': (('H200', 'H200-SXM'), 'H200', ''),
    'GH200-96GB': (('GH200',), 'GH200', ''),
    'B200-180GB': (('B200',), 'B200', ''),
    'GB200-186GB': (('GB200',), 'GB200', ''),
    'B300-288GB': (('B300',), 'B300', ''),
    'GB300-288GB': (('GB300',), 'GB300', ''),
    'RTX-PRO-4500-BSE': (('RTX-PRO-4500', 'RTXPRO4500'), 'RTX-PRO-4500', ''),
    'RTX-PRO-6000-BSE': (('RTX-PRO-6000', 'RTXPRO6000'), 'RTX-PRO-6000', ''),
}

# The size that nvidia-smi and Ray see, with ECC on, as the cards' owners have published it. Clouds state other
# sizes: EC2 rounds an L4 to 22888 MiB, Azure and GCP give the marketed one. The driver's reserve is included,
# as since driver 510. Sources: data/README.md.
MEMORY_MIB = {
    'K80': 11441, 'M60': 7618, 'P4': 7680, 'P100': 16384, 'V100-16GB': 16384, 'V100-16GB-PCIe': 16384,
    'V100-32GB': 32768, 'T4': 15360, 'T4G': 15360, 'A10': 23028, 'A10G': 23028, 'A30': 24576, 'A40': 46068,
    'A100-40GB': 40960, 'A100-80GB': 81920, 'A100-80GB-PCIe': 81920, 'L4': 23034, 'L40': 46068, 'L40S': 46068,
    'H100-80GB': 81559, 'H100-80GB-PCIe': 81559, 'H100-NVL-94GB': 95830, 'H200-141GB': 143771,
    'GH200-96GB': 97871, 'B200-180GB': 183359, 'GB200-186GB': 189471, 'B300-288GB': 275040,
    'GB300-288GB': 284208, 'RTX-PRO-4500-BSE': 32623, 'RTX-PRO-6000-BSE': 97887,
    'V710': 24576,
}

# Limits that the collected table lacks: nvidia-smi of a B300 SXM6 AC; a g7.4xlarge's card.
POWER_W = {'B300-288GB': '1100', 'RTX-PRO-4500-BSE': '165'}

COLUMNS = ('gpu_model', 'vendor', 'architecture', 'form', 'memory_gb', 'memory_mib', 'bandwidth_gb_s',
           'compute_capability', 'precisions', 'fp16_tflops', 'fp8_tflops', 'power_w', 'nvlink_gb_s',
           'mig_instances', 'mig_min_driver', 'min_driver', 'min_cuda', 'last_cuda_major',
           'ray_type', 'ray_memory_type', 'names')


def write(contracts):
    models = files.read(contracts, 'gpu/gpu_models.csv')
    missing = set(RAY) - {m['gpu_model'] for m in models}
    assert not missing, f'models gone from the table: {missing}'
    files.write(TABLE, COLUMNS, [row(m) for m in models])


def row(m):
    name = m['gpu_model']
    return (name, m['vendor'], m['architecture'], re.sub(r' *\(.*', '', m['form']), m['memory_gb'],
            memory_mib(m), m['memory_bandwidth_gb_s'], capability(m), precisions(m),
            m['fp16_tensor_tflops_dense'], m['fp8_tensor_tflops_dense'], power_w(m), nvlink(m),
            m['mig_max_instances'], m['mig_min_driver'], m['min_driver_linux'], m['min_cuda'],
            m['arch_last_cuda_major'], *names(m))


def memory_mib(m):
    """A model that a spec cannot request has its marketed size."""
    name, marketed = m['gpu_model'], int(m['memory_gb']) * 1024
    mib = MEMORY_MIB[name] if name in RAY else MEMORY_MIB.get(name, marketed)
    assert 0.85 * marketed <= mib <= 1.02 * marketed, (name, mib)
    return mib


def power_w(m):
    return m['tdp_w'] or POWER_W.get(m['gpu_model'], '')


def capability(m):
    if re.fullmatch(r'\d+\.\d', m['compute_capability']):
        return m['compute_capability']
    files.told(TABLE, m['gpu_model'],
               f'compute capability "{m["compute_capability"]}" left out: not one of CUDA')
    return ''


def precisions(m):
    """Of the tensor cores; older chips have none."""
    return re.sub(r' *\(.*', '', m['tensor_types'])


def nvlink(m):
    if m['nvlink_gb_s'] and m['vendor'] != 'NVIDIA':
        files.told(TABLE, m['gpu_model'], 'link speed left out: it is not NVLink')
        return ''
    return m['nvlink_gb_s']


def names(m):
    others, ray_type, ray_memory_type = RAY.get(m['gpu_model'], ((), '', ''))
    if not ray_type:
        return '', '', ''
    gcp = m['gcp_accelerator_type'].split('|') if m['gcp_accelerator_type'] else []
    return ray_type, ray_memory_type, '|'.join((m['gpu_model'], *others, *gcp))

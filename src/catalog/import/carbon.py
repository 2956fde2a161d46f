"""src/catalog/data/{grid_intensity,gpu_power,host_power}.csv; the assumptions: data/CARBON.md."""
import re
import files
import gpu_models

DATA = 'src/catalog/data'
# Processor names of cloud-carbon-footprint and the corresponding models of gpu_models.csv.
CCF_GPUS = {
    'NVIDIA_TESLA_K80': ('K80',), 'NVIDIA_TESLA_M60': ('M60',), 'NVIDIA_TESLA_P4': ('P4',),
    'NVIDIA_TESLA_P100': ('P100',), 'NVIDIA_TESLA_V100': ('V100-16GB', 'V100-32GB'),
    'NVIDIA_T4': ('T4',), 'NVIDIA_A10G': ('A10G',),
    'NVIDIA_TESLA_A100': ('A100-40GB', 'A100-80GB'), 'AMD_RADEON_PRO_V520': ('V520',),
}
# CCF counts a K80 and an M60 as a card of two GPUs (300 W); the catalog counts GPUs.
CARDS_OF_TWO = {'K80', 'M60'}
# Idle and full load of CCF's A100, V100 and T4 as a share of their TDP: 0.114 to 0.117 and 1.01 to 1.02. Used
# for models that CCF does not have.
IDLE_OF_TDP, FULL_OF_TDP = 0.115, 1.02
# MIN_WATTS_MEDIAN and MAX_WATTS_MEDIAN of CCF's GcpFootprintEstimationConstants.ts (0656d555); the collected
# table has averages only for AWS and Azure.
GCP_VCPU = ('0.68', '4.11')
# A year, or a range of years, at the start of CCF's remark.
YEAR = re.compile(r'^\d{4}(-\d{4})?')


def write(contracts):
    coefficients = files.read(contracts, 'carbon/power_coefficients_ccf.csv')
    grid(contracts)
    gpus(contracts, coefficients)
    hosts(coefficients)


def grid(contracts):
    """The newest year of each region."""
    newest = {}
    for row in files.read(contracts, 'carbon/grid_intensity.csv'):
        year, key = YEAR.match(row['year']).group(0), (row['cloud'], row['region'])
        value = float(row['grid_gco2e_per_kwh'])
        assert 0 <= value < 2000, row
        if key not in newest or year > newest[key][0]:
            newest[key] = (year, f'{value:g}', row['source'])
    files.write(f'{DATA}/grid_intensity.csv', ('provider', 'region', 'year', 'g_co2e_per_kwh', 'source'),
                [(*key, *value) for key, value in sorted(newest.items())])


def gpus(contracts, coefficients):
    known = {}
    for row in coefficients:
        for model in CCF_GPUS.get(row['processor'], ()):
            share = 2 if model in CARDS_OF_TWO else 1
            watts = [f'{float(row[c]) / share:g}' for c in ('min_watts', 'max_watts_or_value')]
            assert known.setdefault(model, watts) == watts, row
    rows = []
    for model in files.read(contracts, 'gpu/gpu_models.csv'):
        name, tdp = model['gpu_model'], gpu_models.power_w(model)
        if name in known and not is_of_tdp(float(known[name][1]), float(tdp)):
            files.told(f'{DATA}/gpu_power.csv', name, f'{known[name][1]} W at full load, and the limit is {tdp} W: '
                       'from the TDP instead')
            del known[name]
        if name in known:
            rows.append((name, *known[name], 'cloud-carbon-footprint'))
        elif tdp:
            rows.append((name, f'{float(tdp) * IDLE_OF_TDP:g}', f'{float(tdp) * FULL_OF_TDP:g}',
                         'from the TDP'))
    files.write(f'{DATA}/gpu_power.csv', ('gpu_model', 'idle_watts', 'full_watts', 'source'), rows)


def is_of_tdp(full, tdp):
    """CCF counts an A10G, whose limit is 300 W, as an A10."""
    return 0.85 * tdp <= full / FULL_OF_TDP <= 1.15 * tdp


def hosts(coefficients):
    value = {(r['cloud'], r['processor']): r['max_watts_or_value'] for r in coefficients}
    rows = []
    for cloud in ('aws', 'azure', 'gcp'):
        low, high = GCP_VCPU if cloud == 'gcp' else (
            value[cloud, 'MIN_WATTS_AVG'], value[cloud, 'MAX_WATTS_AVG'])
        memory = f'{float(value[cloud, "MEMORY_COEFFICIENT"]) * 1000:g}'
        rows.append((cloud, low, high, memory, value[cloud, 'PUE_AVG'], 'cloud-carbon-footprint'))
    files.write(f'{DATA}/host_power.csv', ('provider', 'vcpu_idle_watts', 'vcpu_full_watts',
                                              'memory_watts_per_gb', 'pue', 'source'), rows)

"""providers/azure/{instance_types,prices,regions}.csv."""
import re
from provider import Provider


class Azure(Provider):
    replaced_by = (
        ('Standard_NC.*s_v3', '', 'Standard_NC16as_T4_v3|Standard_NC24ads_A100_v4'),
        ('Standard_NV.*s_v3', '', 'Standard_NV36ads_A10_v5'),
        ('Standard_NV.*as_v4', '', 'Standard_NV36ads_A10_v5'))

    def rdma_adapters(self, t):
        """8 of "InfiniBand NDR 8x400Gb/s"."""
        many = re.search(r' (\d+)x\d+Gb', t['rdma'])
        return many.group(1) if many else '1' if t['rdma'] else '0'


def write(contracts):
    provider = Azure(contracts, 'azure')
    provider.take_prices()
    provider.regions = {region for region, *_ in provider.prices}
    provider.known_regions = set(provider.regions)
    provider.known_types = {name for _, _, name, kind in provider.prices if kind == 'on_demand'}
    provider.write()

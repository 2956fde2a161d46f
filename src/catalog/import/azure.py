"""providers/azure/{instance_types,prices,regions}.csv."""
import re
from provider import Provider


class Azure(Provider):
    def rdma_adapters(self, t):
        """8 of "InfiniBand NDR 8x400Gb/s"."""
        many = re.search(r' (\d+)x\d+Gb', t['rdma'])
        return many.group(1) if many else '1' if t['rdma'] else '0'


def write(contracts):
    provider = Azure(contracts, 'azure')
    provider.take_prices()
    drop_windows(provider)
    provider.regions = {region for region, *_ in provider.prices}
    provider.known_regions = set(provider.regions)
    provider.known_types = {name for _, _, name, kind in provider.prices if kind == 'on_demand'}
    provider.write()


def drop_windows(provider):
    """The source has the Windows price (USD 0.046 more per vCPU) for some AMD hosts. With Linux, an AMD host
    (D16as_v5) is never more expensive than the Intel equivalent (D16s_v5)."""
    for key, (usd, _, date) in sorted(provider.prices.items()):
        region, zone, name, kind = key
        sibling = provider.prices.get((region, zone, re.sub('as_v5$', 's_v5', name), kind))
        if not name.endswith('as_v5') or kind != 'on_demand' or sibling is None:
            continue
        if float(usd) > float(sibling[0]):
            provider.tell('prices', f'{region} {name}',
                          f'{usd} USD/h, above {sibling[0]} of its Intel sibling, is the Windows '
                          f'price: price not known')
            provider.prices[key] = ('', 'unknown', date)

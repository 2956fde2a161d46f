"""Shared by the tables of a provider: instance_types.csv, prices.csv, regions.csv.

Used by aws.py, azure.py and gcp.py. Sources of the rows: providers/*/DATA.md."""
import re
import files

TYPE_COLUMNS = ('instance_type', 'family', 'arch', 'vcpus', 'memory_gib', 'gpu_model', 'gpus',
                'gpu_fraction', 'gpu_memory_gib', 'markets', 'offers_known', 'network_gbps',
                'network_peak_gbps', 'rdma_adapters', 'rdma', 'lowest_usd_per_hour')
PRICE_COLUMNS = ('region', 'zone', 'instance_type', 'kind', 'usd_per_hour', 'quality', 'date')
REGION_COLUMNS = ('region', 'offers_known')

# A day if the source states one; a year if only a commit is known.
DATE = re.compile(r'^\d{4}(-\d\d-\d\d)?')


class Provider:
    def __init__(self, contracts, name):
        self.contracts = contracts
        self.name = name
        self.types = {t['instance_type']: t
                      for t in files.read(contracts, 'gpu/instance_types.csv')
                      if t['cloud'] == name}
        self.listed = self.types.keys()
        if files.listed_only:
            self.listed = {t['instance_type'] for t in files.read(files.ROOT, self.path('instance_types'))}
        self.types = {name: t for name, t in self.types.items() if name in self.listed}
        self.prices = {}
        self.known_types = set()     # a region without a row does not offer these
        self.known_regions = set()
        self.regions = set()

    def path(self, table):
        return f'providers/{self.name}/{table}.csv'

    def tell(self, table, row, reason):
        files.told(self.path(table), row, reason)

    def add_price(self, region, zone, instance_type, kind, usd, quality, date):
        key = (region, zone, instance_type, kind)
        assert key not in self.prices, key
        self.prices[key] = (usd, quality, date)

    def add_unknown(self, region, instance_type, date):
        """Offered there, price unknown; an existing price stays."""
        self.prices.setdefault((region, '', instance_type, 'on_demand'), ('', 'unknown', date))

    def take_prices(self):
        for p in files.read(self.contracts, 'gpu/prices.csv'):
            if p['cloud'] != self.name:
                continue
            if files.listed_only and p['instance_type'] not in self.listed:
                continue
            if p['instance_type'] not in self.types:
                self.tell('prices', p['instance_type'], 'no such type: dropped')
                continue
            self.add_price(p['region'], p['zone'], p['instance_type'], p['kind'],
                           p['usd_per_hour'], p['quality'], DATE.match(p['date']).group(0))

    def drop_dear_spot(self):
        """A spot price that is not below the on-demand price is a placeholder, not an offer."""
        for key, (usd, quality, _) in sorted(self.prices.items()):
            region, _, name, kind = key
            if kind != 'spot':
                continue
            whole = self.prices.get((region, '', name, 'on_demand'), ('', '', ''))[0]
            if quality == 'observed_equals_on_demand' or (whole and float(usd) >= float(whole)):
                self.tell('prices', f'{region} {key[1]} {name}'.replace('  ', ' '),
                          f'spot price {usd} is the on-demand price: dropped')
                del self.prices[key]

    def write(self):
        self.drop_dear_spot()
        self.add_lowest()
        files.write(self.path('instance_types'), TYPE_COLUMNS,
                    [self.type_row(t) for _, t in sorted(self.types.items())])
        files.write(self.path('prices'), PRICE_COLUMNS,
                    [(*key, *value) for key, value in sorted(self.prices.items())])
        files.write(self.path('regions'), REGION_COLUMNS,
                    [(r, 'yes' if r in self.known_regions else 'no')
                     for r in sorted(self.regions)])

    def add_lowest(self):
        """The price of a type where it is cheapest: ranks it where its price is unknown."""
        self.lowest = {}
        for (_, _, name, kind), (usd, _, _) in self.prices.items():
            if kind == 'on_demand' and usd and (name not in self.lowest
                                                or float(usd) < float(self.lowest[name])):
                self.lowest[name] = usd

    def rdma_adapters(self, t):
        """How many a node has, or can have; providers with such types have their own."""
        return '0'

    def markets(self, t):
        """How it is sold; a capacity block is a reservation."""
        sold = t['purchase'].replace('on-demand', 'on_demand').replace('capacity-block', 'reserved').split('|')
        return '|'.join(m for m in ('on_demand', 'spot', 'reserved') if m in sold)

    def type_row(self, t):
        peak = t['network_gbps_peak']
        name = t['instance_type']
        return (name, t['family'], t['arch'], t['vcpu'], t['memory_gib'],
                t['gpu_model'], t['gpu_count'], t['gpu_partition'], t['gpu_memory_gib_each'],
                self.markets(t), 'yes' if name in self.known_types else 'no',
                sustained_gbps(t), peak, self.rdma_adapters(t), rdma(t['rdma']),
                self.lowest.get(name, ''))


def sustained_gbps(t):
    """The sustained bandwidth; empty if the source only says "up to"."""
    if t['network_gbps_baseline'] or t['network_text'].startswith('Up to'):
        return t['network_gbps_baseline']
    return t['network_gbps_peak']


def rdma(text):
    """The fabric's name; the AWS module has its own word for the only one there."""
    return '' if text in ('', 'EFA', 'rdma') else text

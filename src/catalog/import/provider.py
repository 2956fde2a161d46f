"""Shared by the tables of a provider: instance_types.csv, prices.csv, regions.csv, retired.csv.

Used by aws.py, azure.py and gcp.py. Sources of the rows: providers/*/DATA.md."""
import re
import checks
import files

TYPE_COLUMNS = ('instance_type', 'family', 'arch', 'vcpus', 'memory_gib', 'gpu_model', 'gpus',
                'gpu_fraction', 'markets', 'offers_known', 'network_gbps',
                'network_peak_gbps', 'rdma_adapters', 'rdma', 'lowest_usd_per_hour')
PRICE_COLUMNS = ('region', 'zone', 'instance_type', 'kind', 'usd_per_hour', 'quality', 'date')
REGION_COLUMNS = ('region', 'offers_known')
RETIRED_COLUMNS = ('instance_type', 'gpu_model', 'since', 'gone_by', 'replaced_by', 'source')

# A day if the source states one; a year if only a commit is known.
DATE = re.compile(r'^\d{4}(-\d\d-\d\d)?')


class Provider:
    def __init__(self, contracts, name):
        self.contracts = contracts
        self.name = name
        self.types = {t['instance_type']: t
                      for t in files.read_more(contracts, 'gpu/instance_types.csv')
                      if t['cloud'] == name}
        self.retired = {r['instance_type']: r for r in files.read(contracts, 'gpu/retired_types.csv')
                        if r['cloud'] == name}
        self.retired_gpus = {n: self.types.pop(n)['gpu_model'] for n in self.retired if n in self.types}
        self.listed = self.types.keys()
        if files.listed_only:
            self.listed = {t['instance_type'] for t in files.read(files.ROOT, self.path('instance_types'))}
        self.types = {name: t for name, t in self.types.items() if name in self.listed}
        self.prices = {}
        self.known_types = set()     # a region without a row does not offer these
        self.known_regions = set()
        self.regions = set()

    parts = ()  # names in the prices that are parts of a type, which the module adds up

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
        for p in files.read_more(self.contracts, 'gpu/prices.csv'):
            if p['cloud'] != self.name:
                continue
            if files.listed_only and p['instance_type'] not in self.listed:
                continue
            if p['instance_type'] in self.retired:
                self.tell('prices', f'{p["region"]} {p["instance_type"]}', 'a retired type: dropped')
                continue
            if p['instance_type'] in self.parts:
                continue
            if p['instance_type'] not in self.types:
                self.tell('prices', p['instance_type'], 'no such type: dropped')
                continue
            self.add_price(p['region'], p['zone'], p['instance_type'], p['kind'],
                           p['usd_per_hour'], p['quality'], DATE.match(p['date']).group(0))

    def write(self):
        for (region, zone, name, kind), why in checks.refuse(self.prices).items():
            self.tell('prices', f'{region} {zone} {name}'.replace('  ', ' '), f'{why}: refused')
            usd, quality, date = self.prices.pop((region, zone, name, kind))
            if kind == 'on_demand':
                self.add_unknown(region, name, date)
        self.add_lowest()
        files.write(self.path('instance_types'), TYPE_COLUMNS,
                    [self.type_row(t) for _, t in sorted(self.types.items())])
        files.write(self.path('prices'), PRICE_COLUMNS,
                    [(*key, *value) for key, value in sorted(self.prices.items())])
        files.write(self.path('regions'), REGION_COLUMNS,
                    [(r, 'yes' if r in self.known_regions else 'no')
                     for r in sorted(self.regions)])
        if self.retired:
            files.write(self.path('retired'), RETIRED_COLUMNS,
                        [self.retired_row(r) for _, r in sorted(self.retired.items())])

    # What replaces a retired type, and the model that it had where instance_types.csv lacks it: a part of the
    # name, with the replacements separated by bars.
    replaced_by = ()

    def retired_row(self, r):
        """The day, if it is known; else the month in which no region offered it any more."""
        name = r['instance_type']
        for part, gpu, instead in self.replaced_by:
            if re.match(part, name):
                break
        else:
            raise AssertionError(f'{name}: what replaces it?')
        gone = re.search(r'in any of 30 commercial regions .*May 2026', r['source'])
        assert r['since'] or gone, r
        missing = set(instead.split('|')) - self.types.keys()
        assert not missing, (name, missing)
        return (name, self.retired_gpus.get(name, gpu), r['since'], '' if r['since'] else '2026-05', instead,
                re.sub(r';.*', '', r['source']))

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
                t['gpu_model'], t['gpu_count'], t['gpu_partition'],
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

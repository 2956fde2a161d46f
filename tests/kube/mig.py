"""What a client sees of the GPU Operator's MIG manager: it acts when the label nvidia.com/mig.config of a node changes, and reports in
nvidia.com/mig.config.state. The device plug-in then shows the slices, by strategy, and GPU feature discovery the product.
After docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html."""
CONFIG, STATE, PRODUCT = 'nvidia.com/mig.config', 'nvidia.com/mig.config.state', 'nvidia.com/gpu.product'
SLICES = {'1g.5gb': 7, '2g.10gb': 3, '3g.20gb': 2}


class MigManager:
    def __init__(self, strategy='mixed', broken=()):
        self.strategy, self.broken, self.seen = strategy, set(broken), {}

    def step(self, cluster):
        for node in cluster.list('Node'):
            name, labels = node['metadata']['name'], node['metadata'].get('labels', {})
            config = labels.get(CONFIG)
            if self.seen.get(name) == config:
                if labels.get(STATE) == 'pending':
                    self.finish(cluster, node, config)
                continue
            self.seen[name] = config
            if config:
                cluster.patch('Node', {'metadata': {'labels': {STATE: 'pending'}}}, None, name)

    def finish(self, cluster, node, config):
        name = node['metadata']['name']
        if name in self.broken:
            cluster.patch('Node', {'metadata': {'labels': {STATE: 'failed'}}}, None, name)
            return
        profile = config.removeprefix('all-')
        gpus = int(node['metadata']['labels']['nvidia.com/gpu.count'])
        room = {key: amount for key, amount in node['status']['allocatable'].items() if not key.startswith('nvidia.com/')}
        product = node['metadata']['labels'][PRODUCT].split('-MIG-')[0]
        labels = {STATE: 'success', 'nvidia.com/mig.strategy': self.strategy}
        if profile == 'disabled':
            room['nvidia.com/gpu'] = str(gpus)
        elif self.strategy == 'mixed':
            room['nvidia.com/mig-' + profile] = str(gpus * SLICES[profile])
        else:
            room['nvidia.com/gpu'] = str(gpus * SLICES[profile])
            labels[PRODUCT] = f'{product}-MIG-{profile}'
        gone = {key: None for key in node['status']['allocatable'] if key not in room}
        cluster.patch('Node', {'status': {'allocatable': {**room, **gone}, 'capacity': {**room, **gone}}}, None, name, 'status')
        cluster.patch('Node', {'metadata': {'labels': labels}}, None, name)

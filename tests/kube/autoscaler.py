"""Ray's autoscaler as KubeRay runs it: JSON patches of one group's replicas and scaleStrategy. Like Ray's (ray/autoscaler/_private/
kuberay/node_provider.py) it reads the index of the group and does not test in the patch that it is still the same group.

    with Autoscaler(cluster, 'ml', 'research', group='train', rate=50) as autoscaler:
        ...
    autoscaler.written        # the values that the API server took, in order; versions: the object's after each"""
import itertools
import threading


class Autoscaler:
    def __init__(self, cluster, namespace, name, group, rate=50, values=range(1, 9)):
        self.cluster, self.place, self.group, self.pause = cluster, (namespace, name), group, 1 / rate
        self.values = itertools.cycle(values)
        self.ended, self.written, self.versions, self.refused = threading.Event(), [], [], []
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def run(self):
        while not self.ended.wait(self.pause):
            self.write(next(self.values))

    def write(self, replicas, workers_to_delete=()):
        """One change."""
        one = self.cluster.get('RayCluster', *self.place)
        names = [group['groupName'] for group in one['spec'].get('workerGroupSpecs') or []] if one else []
        if self.group not in names:
            return
        at = f'/spec/workerGroupSpecs/{names.index(self.group)}'
        code, answer = self.cluster.call('PATCH', 'RayCluster', [
            {'op': 'replace', 'path': at + '/replicas', 'value': replicas},
            {'op': 'add', 'path': at + '/scaleStrategy', 'value': {'workersToDelete': list(workers_to_delete)}}], *self.place,
            content_type='application/json-patch+json', query='?fieldManager=kuberay-autoscaler')
        (self.written if code == 200 else self.refused).append(replicas if code == 200 else answer)
        if code == 200:
            self.versions.append(int(answer['metadata']['resourceVersion']))

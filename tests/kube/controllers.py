"""Runs controllers (kuberay.py, kueue.py, nodes.py) on a cluster whenever something in it changed, as operators do.

    with Controllers(cluster, Nodes(), KubeRay(), Kueue()) as world:
        world.settle()          # returns when none of them has anything left to do

Each has `step(cluster)`, which compares what is there with what has to be and writes only differences."""
import threading

ROUNDS = 200


def quantity(text):
    """A number: 500m is 0.5, 16Gi 17179869184."""
    text = str(text)
    units = {'m': 1e-3, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, 'Ki': 2**10, 'Mi': 2**20, 'Gi': 2**30, 'Ti': 2**40}
    for unit in sorted(units, key=len, reverse=True):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * units[unit]
    return float(text)


def requests(pod_spec):
    """{resource: amount} of a pod: limits where there are no requests, as the API server defaults them."""
    total = {}
    for container in pod_spec.get('containers', []):
        resources = container.get('resources', {})
        for name, amount in {**resources.get('limits', {}), **resources.get('requests', {})}.items():
            total[name] = total.get(name, 0) + quantity(amount)
    return total


def condition(kind, value, reason, message='', generation=0):
    return {'type': kind, 'status': 'True' if value else 'False', 'reason': reason, 'message': message,
            'lastTransitionTime': '2026-01-01T00:00:00Z', 'observedGeneration': generation}


def owner(document):
    """An ownerReference to a custom resource."""
    return {'apiVersion': document['apiVersion'], 'kind': document['kind'], 'name': document['metadata']['name'],
            'uid': document['metadata']['uid'], 'controller': True, 'blockOwnerDeletion': True}


class Controllers:
    def __init__(self, cluster, *controllers):
        self.cluster, self.controllers = cluster, controllers
        self.ended, self.turn, self.failed = threading.Event(), threading.Lock(), []
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        for one in self.controllers:
            if hasattr(one, 'webhook'):
                self.cluster.admission.append(one.webhook)
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.ended.set()
        with self.cluster.written:
            self.cluster.written.notify_all()
        self.thread.join()
        for one in self.controllers:
            if hasattr(one, 'webhook'):
                self.cluster.admission.remove(one.webhook)
        assert kind or not self.failed, self.failed

    def run(self):
        seen = -1
        while not self.ended.is_set():
            with self.cluster.written:
                self.cluster.written.wait_for(lambda before=seen: self.cluster.writes != before or self.ended.is_set())
                seen = self.cluster.writes
            if self.ended.is_set():
                return
            try:
                self.round()
                self.failed = []
            except (OSError, AssertionError, KeyError, TypeError) as error:  # the API server may be restarting: again
                self.failed, seen = [repr(error)], -1
                self.ended.wait(0.05)

    def round(self):
        with self.turn:
            for one in self.controllers:
                one.step(self.cluster)

    def settle(self):
        for _ in range(ROUNDS):
            before = self.cluster.writes
            self.round()
            if self.cluster.writes == before:
                return
        raise AssertionError('the controllers go on for ever')

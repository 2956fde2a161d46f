"""Scheduler and kubelets: pods run on nodes that have room for them, or say why they do not.

    nodes = Nodes(broken_images={'rayproject/ray:nope'})
    gpu_node(cluster, 'a', model='Tesla-T4', gpus=4)      # a Node as GPU feature discovery labels it"""
import itertools

from controllers import condition, quantity, requests

STARTED = '2026-01-01T00:00:00Z'


def gpu_node(cluster, name, model=None, gpus=0, cpu=32, memory='256Gi', labels=None, taints=None, resource='nvidia.com/gpu'):
    marks = {'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', **(labels or {})}
    if model:
        marks.update({'nvidia.com/gpu.product': model, 'nvidia.com/gpu.count': str(gpus), 'nvidia.com/gpu.present': 'true'})
    room = {'cpu': str(cpu), 'memory': memory, 'pods': '110', **({resource: str(gpus)} if gpus else {})}
    return cluster.create('Node', {'metadata': {'name': name, 'labels': marks}, 'spec': {'taints': taints} if taints else {},
                                   'status': {'allocatable': room, 'capacity': room, 'conditions': [
                                       {'type': 'Ready', 'status': 'True', 'reason': 'KubeletReady', 'lastTransitionTime': STARTED}]}})


def tolerated(taint, tolerations):
    if taint.get('effect') == 'PreferNoSchedule':
        return True
    for one in tolerations:
        if one.get('effect') not in (None, '', taint['effect']):
            continue
        if one.get('operator') == 'Exists' and one.get('key') in (None, '', taint['key']):
            return True
        if one.get('operator', 'Equal') == 'Equal' and (one.get('key'), one.get('value', '')) == (taint['key'], taint.get('value', '')):
            return True
    return False


class Nodes:
    """Without any Node in the cluster, pods stay unscheduled, as they would."""

    def __init__(self, broken_images=(), ready=True):
        self.broken_images, self.ready = set(broken_images), ready
        self.address = itertools.count(1)

    def step(self, cluster):
        nodes, pods = [one for one in cluster.list('Node') if 'status' in one], cluster.list('Pod')
        free = {node['metadata']['name']: {name: quantity(amount) for name, amount in node['status']['allocatable'].items()} for node in nodes}
        for pod in pods:
            if place := pod['spec'].get('nodeName'):
                take(free.get(place, {}), requests(pod['spec']))
        for pod in pods:
            if not pod['spec'].get('nodeName'):
                self.schedule(cluster, pod, nodes, free)
            else:
                self.start(cluster, pod)

    def schedule(self, cluster, pod, nodes, free):
        wanted, why = requests(pod['spec']), {}
        for node in nodes:
            name = node['metadata']['name']
            if reason := unfit(pod['spec'], node, wanted, free[name]):
                why[reason] = why.get(reason, 0) + 1
                continue
            take(free[name], wanted)
            patch(cluster, pod, {'spec': {'nodeName': name}})
            return
        reasons = ', '.join(f'{count} {reason}' for reason, count in sorted(why.items()))
        message = f'0/{len(nodes)} nodes are available: {reasons}.' if nodes else 'no nodes available to schedule pods'
        self.tell(cluster, pod, {'phase': 'Pending', 'conditions': [pod_condition('PodScheduled', False, 'Unschedulable', message)]})

    def start(self, cluster, pod):
        """What its kubelet reports."""
        if pod.get('status', {}).get('phase') in ('Running', 'Succeeded', 'Failed') and pod['status'].get('podIP'):
            return
        containers, broken = [], False
        for one in pod['spec']['containers']:
            bad = one['image'] in self.broken_images
            broken |= bad
            state = {'waiting': {'reason': 'ImagePullBackOff', 'message': f'Back-off pulling image "{one["image"]}"'}} if bad else \
                {'running': {'startedAt': STARTED}}
            containers.append({'name': one['name'], 'image': one['image'], 'imageID': '', 'ready': not bad and self.ready, 'restartCount': 0,
                               'started': not bad, 'state': state})
        status = {'phase': 'Pending' if broken else 'Running', 'containerStatuses': containers, 'conditions': [
            pod_condition('PodScheduled', True, ''), pod_condition('Ready', not broken and self.ready, 'ContainersNotReady' if broken else '')]}
        if not broken:
            number = next(self.address)
            status['podIP'] = f'10.0.{number // 250}.{number % 250 + 1}'
        self.tell(cluster, pod, status)

    @staticmethod
    def tell(cluster, pod, status):
        now = pod.get('status', {})
        if any(now.get(name) != value for name, value in status.items()):
            patch(cluster, pod, {'status': status}, 'status')


def take(room, wanted):
    for name, amount in wanted.items():
        room[name] = room.get(name, 0) - amount


def unfit(spec, node, wanted, room):
    """In the scheduler's words; None: it fits."""
    labels = node['metadata'].get('labels', {})
    if any(labels.get(key) != value for key, value in spec.get('nodeSelector', {}).items()) or not affine(spec, labels):
        return "node(s) didn't match Pod's node affinity/selector"
    for taint in node['spec'].get('taints', []):
        if not tolerated(taint, spec.get('tolerations', [])):
            return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
    lacking = [name for name, amount in sorted(wanted.items()) if room.get(name, 0) < amount]
    return f'Insufficient {lacking[0]}' if lacking else None


def affine(spec, labels):
    """requiredDuringScheduling terms with In, NotIn and Exists."""
    needed = spec.get('affinity', {}).get('nodeAffinity', {}).get('requiredDuringSchedulingIgnoredDuringExecution')
    if not needed:
        return True

    def holds(one):
        value = labels.get(one['key'])
        return {'In': value in one.get('values', []), 'NotIn': value not in one.get('values', []),
                'Exists': value is not None, 'DoesNotExist': value is None}[one['operator']]

    return any(all(holds(one) for one in term.get('matchExpressions', [])) for term in needed['nodeSelectorTerms'])


def pod_condition(kind, value, reason, message=''):
    found = condition(kind, value, reason, message)
    del found['observedGeneration']
    return {name: value for name, value in found.items() if value}


def patch(cluster, pod, body, subresource=None):
    cluster.patch('Pod', body, pod['metadata']['namespace'], pod['metadata']['name'], subresource)

"""What a client can see of Kueue: Workloads, suspension and admission of RayClusters.

A RayCluster with a queue label is suspended by the webhook when it is created, gets a Workload, and is admitted as a whole when the
quota of its ClusterQueue (and what it may borrow) covers all of its pods: then its suspension ends and its pod templates get the
node selectors and tolerations of their flavors. Higher priorities go first and preempt where the queue says so.
After Kueue 0.19.2 (Apache-2.0): names, conditions and messages are Kueue's, the code is not."""
import copy
import hashlib

from controllers import condition, owner, quantity, requests
from front import denied_by

QUEUE, PRIORITY, ELASTIC = 'kueue.x-k8s.io/queue-name', 'kueue.x-k8s.io/priority-class', 'kueue.x-k8s.io/elastic-job'
MOST = 18  # pod sets of a Workload


def labels(document):
    return document['metadata'].get('labels') or {}


class Kueue:
    def __init__(self):
        self.checks = {}  # {AdmissionCheck: Pending, Ready, Retry or Rejected}

    # ---- webhooks

    @staticmethod
    def webhook(request, document):
        if request.resource != 'rayclusters' or QUEUE not in labels(document) or request.verb != 'create':
            return
        spec = document.get('spec', {})
        names = [one.get('groupName') for one in spec.get('workerGroupSpecs') or []]
        elastic = (document['metadata'].get('annotations') or {}).get(ELASTIC) == 'true'
        if spec.get('enableInTreeAutoscaling') and not elastic:
            raise denied_by('vraycluster.kb.io', 'spec.enableInTreeAutoscaling: Invalid value: true: a kueue managed job can use autoscaling only when '
                                                 'the ElasticJobsViaWorkloadSlices feature gate is on and the job is an elastic job')
        if len(names) > MOST - 1:
            raise denied_by('vraycluster.kb.io', f'spec.workerGroupSpecs: Too many: {len(names)}: must have at most {MOST - 1} items')
        if 'head' in names:
            raise denied_by('vraycluster.kb.io', f'spec.workerGroupSpecs[{names.index("head")}].groupName: Forbidden: "head" is reserved for the head group')
        spec['suspend'] = True

    # ---- the controller

    def step(self, cluster):
        self.workloads = {one['metadata']['ownerReferences'][0]['uid']: one for one in cluster.list('Workload')}
        clusters = [one for one in cluster.list('RayCluster') if QUEUE in labels(one) and not one['metadata'].get('deletionTimestamp')]
        self.cluster_queues = {one['metadata']['name']: one for one in cluster.list('ClusterQueue')}
        self.flavors = {one['metadata']['name']: one for one in cluster.list('ResourceFlavor')}
        self.local = {(one['metadata']['namespace'], one['metadata']['name']): one['spec']['clusterQueue'] for one in cluster.list('LocalQueue')}
        self.values = {one['metadata']['name']: one['value'] for one in cluster.list('WorkloadPriorityClass')}
        for uid in set(self.workloads) - {one['metadata']['uid'] for one in clusters}:
            gone = self.workloads.pop(uid)['metadata']
            cluster.delete('Workload', gone['namespace'], gone['name'])
        for one in clusters:
            self.follow(cluster, one)
        clusters.sort(key=lambda one: (-self.priority(one), one['metadata']['creationTimestamp'], one['metadata']['resourceVersion']))
        stopped = set()
        for one in clusters:
            workload = self.workloads[one['metadata']['uid']]
            queue = self.local.get((one['metadata']['namespace'], labels(one)[QUEUE]))
            if not admitted(workload) and queue not in stopped and not self.admit(cluster, one, workload, queue):
                if queue and self.cluster_queues.get(queue, {}).get('spec', {}).get('queueingStrategy') == 'StrictFIFO':
                    stopped.add(queue)
            if admitted(workload) != (not one['spec'].get('suspend')):
                self.run(cluster, one, workload)
        self.count(cluster)

    def priority(self, one):
        return self.values.get(labels(one).get(PRIORITY), 0)

    def follow(self, cluster, one):
        """Its Workload is there and is of its pods; a change of the pods queues it again."""
        meta, sets = one['metadata'], pod_sets(one)
        digest = hashlib.sha256(repr([(one['name'], one['count'], sorted(requests(one['template']['spec']).items())) for one in sets]).encode()).hexdigest()[:16]
        old = self.workloads.get(meta['uid'])
        if old and old['metadata']['annotations']['test/pods'] == digest:
            return
        if old:
            cluster.delete('Workload', meta['namespace'], old['metadata']['name'])
        spec = {'queueName': labels(one)[QUEUE], 'active': True, 'podSets': sets}
        spec['priority'] = self.priority(one)
        if (name := labels(one).get(PRIORITY)) and 'v1beta1' not in cluster.versions.get('Workload', ()):
            spec['priorityClassRef'] = {'group': 'kueue.x-k8s.io', 'kind': 'WorkloadPriorityClass', 'name': name}
        self.workloads[meta['uid']] = cluster.create('Workload', {'spec': spec, 'metadata': {
            'name': f"raycluster-{meta['name']}-{digest[:5]}", 'ownerReferences': [owner(one)], 'annotations': {'test/pods': digest}}}, meta['namespace'])

    def used(self, flavor, resource, queues):
        """By what is admitted in these queues."""
        total = 0
        for one in self.workloads.values():
            admission = one.get('status', {}).get('admission')
            if admission and admission['clusterQueue'] in queues:
                total += sum(quantity(part['resourceUsage'][resource]) for part in admission['podSetAssignments']
                             if part['flavors'].get(resource) == flavor)
        return total

    def limits(self, queue, flavor, entry):
        """(most that this queue may ever use, what is left of it now)."""
        name, spec = entry['name'], self.cluster_queues[queue]['spec']
        own = quantity(entry['nominalQuota'])
        cohort = spec.get('cohortName') or spec.get('cohort')
        used = self.used(flavor, name, {queue})
        if not cohort:
            return own, own - used
        queues = {other for other, one in self.cluster_queues.items() if cohort in (one['spec'].get('cohortName'), one['spec'].get('cohort'))}
        shared = sum(quantity(part['nominalQuota']) for other in queues for group in self.cluster_queues[other]['spec'].get('resourceGroups', [])
                     for kept in group['flavors'] if kept['name'] == flavor for part in kept['resources'] if part['name'] == name)
        most = min(shared, own + quantity(entry['borrowingLimit'])) if 'borrowingLimit' in entry else shared
        return most, min(most - used, shared - self.used(flavor, name, queues))

    def assign(self, queue, workload):
        """(assignments of all pod sets, None) or (None, why not)."""
        spent, parts = {}, []
        for one in workload['spec']['podSets']:
            wanted = {name: amount * one['count'] for name, amount in requests(one['template']['spec']).items()}
            part = {'name': one['name'], 'count': one['count'], 'flavors': {}, 'resourceUsage': {}}
            for group in self.cluster_queues[queue]['spec'].get('resourceGroups', []):
                mine = {name: wanted.pop(name) for name in group['coveredResources'] if name in wanted}
                if mine and (why := self.choose(queue, group, one, mine, spent, part)):
                    return None, f"couldn't assign flavors to pod set {one['name']}: {why}"
            if wanted:
                return None, f"couldn't assign flavors to pod set {one['name']}: resource {sorted(wanted)[0]} unavailable in ClusterQueue"
            parts.append(part)
        return parts, None

    def choose(self, queue, group, pod_set, wanted, spent, part):
        """The first flavor of the group that has room; else the reasons."""
        reasons = []
        for kept in group['flavors']:
            flavor = self.flavors.get(kept['name'])
            selector = pod_set['template']['spec'].get('nodeSelector', {})
            marks = ((flavor or {}).get('spec') or {}).get('nodeLabels', {})
            if flavor is None:
                reasons.append(f"flavor {kept['name']} not found")
            elif any(selector.get(key, value) != value for key, value in marks.items()):
                reasons.append(f"flavor {kept['name']} doesn't match node affinity")
            elif why := next(filter(None, (self.lacks(queue, kept['name'], entry, wanted, spent) for entry in kept['resources'])), None):
                reasons.append(why)
            else:
                for name, amount in wanted.items():
                    spent[kept['name'], name] = spent.get((kept['name'], name), 0) + amount
                    part['flavors'][name], part['resourceUsage'][name] = kept['name'], f'{amount:g}'
                return None
        return ', '.join(reasons)

    def lacks(self, queue, flavor, entry, wanted, spent):
        amount = wanted.get(entry['name'], 0) + spent.get((flavor, entry['name']), 0)
        most, left = self.limits(queue, flavor, entry)
        if not amount or amount <= left:
            return None
        if amount > most:
            return f"insufficient quota for {entry['name']} in flavor {flavor}, request > maximum capacity ({amount:g} > {most:g})"
        return f"insufficient unused quota for {entry['name']} in flavor {flavor}, {amount - left:g} more needed"

    def admit(self, cluster, one, workload, queue):
        """True if it is admitted, now or as soon as its checks are ready."""
        name = labels(one)[QUEUE]
        if queue is None:
            return tell(cluster, workload, [condition('QuotaReserved', False, 'Inadmissible', f"LocalQueue {name} doesn't exist")])
        if queue not in self.cluster_queues:
            return tell(cluster, workload, [condition('QuotaReserved', False, 'Inadmissible', f"ClusterQueue {queue} doesn't exist")])
        parts, why = self.assign(queue, workload)
        if why and self.preempt(cluster, one, queue):
            parts, why = self.assign(queue, workload)
        if why:
            return tell(cluster, workload, [condition('QuotaReserved', False, 'Pending', why)])
        states = self.states(queue)
        conditions = [condition('QuotaReserved', True, 'QuotaReserved', f'Quota reserved in ClusterQueue {queue}')]
        if all(state == 'Ready' for state in states.values()):
            conditions.append(condition('Admitted', True, 'Admitted', 'The workload is admitted'))
        checks = [{'name': check, 'state': state, 'message': '', 'lastTransitionTime': '2026-01-01T00:00:00Z'} for check, state in states.items()]
        tell(cluster, workload, conditions, {'clusterQueue': queue, 'podSetAssignments': parts}, checks)
        return True

    def states(self, queue):
        spec = self.cluster_queues[queue]['spec']
        names = [one['name'] for one in spec.get('admissionChecksStrategy', {}).get('admissionChecks', [])] or spec.get('admissionChecks', [])
        return {name: self.checks.get(name, 'Pending') for name in names}

    def preempt(self, cluster, one, queue):
        """Evicts what has a lower priority in the same queue, if the queue allows it."""
        if self.cluster_queues[queue]['spec'].get('preemption', {}).get('withinClusterQueue', 'Never') == 'Never':
            return False
        mine = self.priority(one)
        victims = [other for other in self.workloads.values()
                   if admitted(other) and other['status']['admission']['clusterQueue'] == queue and other['spec'].get('priority', 0) < mine]
        for other in victims:
            tell(cluster, other, [condition('QuotaReserved', False, 'Pending', 'Preempted'), condition('Admitted', False, 'NoReservation', 'Preempted'),
                                  condition('Evicted', True, 'Preempted', 'Preempted to accommodate a higher priority Workload')])
        return bool(victims)

    def run(self, cluster, one, workload):
        """Suspends the cluster, or ends its suspension with what admission adds to its pods."""
        changed = copy.deepcopy(one)
        changed['spec']['suspend'] = not admitted(workload)
        parts = {part['name']: part for part in (workload['status'].get('admission') or {}).get('podSetAssignments', [])}
        for name, group in groups(changed):
            spec = group['template']['spec']
            for flavor in sorted(set(parts.get(name, {}).get('flavors', {}).values())):
                added = self.flavors[flavor].get('spec') or {}
                spec.setdefault('nodeSelector', {}).update(added.get('nodeLabels', {}))
                spec['tolerations'] = spec.get('tolerations', []) + [t for t in added.get('tolerations', []) if t not in spec.get('tolerations', [])]
        cluster.call('PUT', 'RayCluster', changed, one['metadata']['namespace'], one['metadata']['name'])  # a conflict: the next step

    def count(self, cluster):
        for name, one in self.cluster_queues.items():
            inside = [w for w in self.workloads.values() if (w.get('status', {}).get('admission') or {}).get('clusterQueue') == name]
            waiting = [w for w in self.workloads.values() if w not in inside and self.local.get((w['metadata']['namespace'], w['spec']['queueName'])) == name]
            status = {'admittedWorkloads': sum(map(admitted, inside)), 'reservingWorkloads': len(inside), 'pendingWorkloads': len(waiting),
                      'conditions': [condition('Active', True, 'Ready', 'Can admit new workloads')]}
            if any(one.get('status', {}).get(key) != value for key, value in status.items()):
                cluster.patch('ClusterQueue', {'status': status}, None, name, 'status')


def groups(one):
    yield 'head', one['spec']['headGroupSpec']
    for group in one['spec'].get('workerGroupSpecs') or []:
        yield group['groupName'], group


def pod_sets(one):
    """Without what admission adds, which does not make other pods of them."""
    return [{'name': name, 'count': 1 if name == 'head' else (1 if group.get('replicas') is None else group['replicas']) * (group.get('numOfHosts') or 1),
             'template': {'spec': {'containers': group['template']['spec']['containers'], 'nodeSelector': group['template']['spec'].get('nodeSelector', {})}}}
            for name, group in groups(one)]


def admitted(workload):
    return any(c['type'] == 'Admitted' and c['status'] == 'True' for c in workload.get('status', {}).get('conditions', []))


def tell(cluster, workload, conditions, admission=None, checks=None):
    """Writes the Workload's status; conditions of other types stay. Returns False, for who does not admit it."""
    status = workload.setdefault('status', {})
    kept = {one['type']: one for one in status.get('conditions', [])}
    kept.update({one['type']: one for one in conditions})
    wanted = {'conditions': list(kept.values()), 'admission': admission, **({'admissionChecks': checks} if checks is not None else {})}
    if any(status.get(name) != value for name, value in wanted.items()):
        cluster.patch('Workload', {'status': wanted}, workload['metadata']['namespace'], workload['metadata']['name'], 'status')
        status.update(wanted)
    return False

"""What a client can see of the KubeRay operator: the pods of a RayCluster and its status.

It creates and deletes pods so that each group has its replicas, within its minimum and maximum, and first those that scaleStrategy
names for deletion. A changed template changes only new pods (upgradeStrategy None). A suspended cluster has no pods.
After KubeRay 1.7.0 (Apache-2.0), ray-operator/controllers/ray: names, labels and states are the operator's, the code is not."""
import hashlib

from controllers import condition, owner, quantity, requests


class KubeRay:
    def __init__(self):
        self.made = 0  # pods: a part of their names
        self.quotas = []  # asked once a step: a list after a write of another kind waits until the API server's cache has caught up

    def step(self, cluster):
        self.quotas = cluster.list('ResourceQuota')
        clusters = {(one['metadata']['namespace'], one['metadata']['name']): one for one in cluster.list('RayCluster')}
        pods = {}
        for pod in cluster.list('Pod', labels='app.kubernetes.io/created-by=kuberay-operator'):
            meta = pod['metadata']
            pods.setdefault((meta['namespace'], meta['labels']['ray.io/cluster']), []).append(pod)
        for key in set(pods) - set(clusters):  # the garbage collector's part
            self.remove(cluster, pods[key])
        for key, one in clusters.items():
            own = [pod for pod in pods.get(key, []) if pod['metadata']['ownerReferences'][0]['uid'] == one['metadata']['uid']]
            self.remove(cluster, [pod for pod in pods.get(key, []) if pod not in own])
            self.reconcile(cluster, one, own)
        if 'RayJob' in cluster.kinds:
            for job in cluster.list('RayJob'):
                self.run_job(cluster, job, clusters)

    def reconcile(self, cluster, one, pods):
        if one['metadata'].get('deletionTimestamp'):
            self.remove(cluster, pods)
            return
        failure = None
        if one['spec'].get('suspend'):
            self.remove(cluster, pods)
            pods = []
        else:
            pods, failure = self.scale(cluster, one, pods)
        self.report(cluster, one, pods, failure)

    def scale(self, cluster, one, pods):
        """The pods that are left, and why one could not be created."""
        failure, kept = None, []
        groups = [('headgroup', 'head', one['spec']['headGroupSpec'], 1)]
        for group in one['spec'].get('workerGroupSpecs') or []:
            groups.append((group['groupName'], 'worker', group, wanted_replicas(group)))
        for name, role, group, count in groups:
            members = [pod for pod in pods if pod['metadata']['labels']['ray.io/group'] == name]
            condemned = set((group.get('scaleStrategy') or {}).get('workersToDelete') or [])
            gone = [pod for pod in members if pod['metadata']['name'] in condemned or pod.get('status', {}).get('phase') in ('Failed', 'Succeeded')]
            members = [pod for pod in members if pod not in gone]
            gone += members[count:]
            members = members[:count]
            self.remove(cluster, gone)
            while len(members) < count and not failure:
                pod, failure = self.make(cluster, one, name, role, group)
                if pod:
                    members.append(pod)
            kept += members
        self.remove(cluster, [pod for pod in pods if pod['metadata']['labels']['ray.io/group'] not in {name for name, *_ in groups}])
        return kept, failure

    def make(self, cluster, one, name, role, group):
        meta, template = one['metadata'], group['template']
        labels = {**(template.get('metadata') or {}).get('labels', {}), **group.get('labels', {}), 'ray.io/cluster': meta['name'], 'ray.io/node-type': role,
                  'ray.io/group': name, 'ray.io/is-ray-node': 'yes', 'ray.io/identifier': f"{meta['name']}-{role}"[:63],
                  'app.kubernetes.io/name': 'kuberay', 'app.kubernetes.io/created-by': 'kuberay-operator'}
        text = f"{meta['uid']}{name}{self.made}"
        base = f"{meta['name']}-head" if role == 'head' else f"{meta['name']}-{name}-worker"
        body = {'apiVersion': 'v1', 'kind': 'Pod', 'spec': template['spec'], 'metadata': {
            'name': f'{base[:57]}-{hashlib.sha256(text.encode()).hexdigest()[:5]}', 'labels': labels, 'ownerReferences': [owner(one)],
            'annotations': (template.get('metadata') or {}).get('annotations', {})}}
        if refused := over_quota(cluster, self.quotas, meta['namespace'], body):
            return None, f'failed to create {role} Pod {meta["namespace"]}/{body["metadata"]["name"]}, {refused}'
        code, answer = cluster.call('POST', 'Pod', body, meta['namespace'])
        if code != 201:
            return None, answer['message']
        self.made += 1
        return answer, None

    @staticmethod
    def remove(cluster, pods):
        for pod in pods:
            cluster.delete('Pod', pod['metadata']['namespace'], pod['metadata']['name'])

    @staticmethod
    def report(cluster, one, pods, failure):
        groups, generation = one['spec'].get('workerGroupSpecs') or [], one['metadata']['generation']
        workers = [pod for pod in pods if pod['metadata']['labels']['ray.io/node-type'] == 'worker']
        head = next((pod for pod in pods if pod['metadata']['labels']['ray.io/node-type'] == 'head'), None)
        wanted = sum(map(wanted_replicas, groups))
        up, suspended = bool(head and is_ready(head)), bool(one['spec'].get('suspend'))
        all_ready = up and len(workers) == wanted and all(map(is_ready, workers))
        before = {c['type']: c['status'] == 'True' for c in one.get('status', {}).get('conditions', [])}
        state = 'suspended' if suspended else 'ready' if all_ready or before.get('RayClusterProvisioned') and up else ''
        status = {
            'desiredWorkerReplicas': 0 if suspended else wanted, 'availableWorkerReplicas': len(workers),
            'readyWorkerReplicas': sum(map(is_ready, workers)), 'observedGeneration': generation,
            'minWorkerReplicas': sum(group.get('minReplicas') or 0 for group in groups),
            'maxWorkerReplicas': min(sum(group.get('maxReplicas') or 0 for group in groups), 2**31 - 1),
            'conditions': [condition('HeadPodReady', up, 'HeadPodRunningAndReady' if up else 'HeadPodNotFound' if not head else 'ContainersNotReady', '', generation),
                           condition('RayClusterProvisioned', all_ready or before.get('RayClusterProvisioned', False) and not suspended,
                                     'AllPodRunningAndReadyFirstTime' if all_ready else 'RayClusterPodsProvisioning', '', generation),
                           condition('RayClusterSuspended', suspended, 'RayClusterSuspended' if suspended else 'UserRequestedResume', '', generation)]}
        if failure:
            status['conditions'].append(condition('ReplicaFailure', True, 'FailedCreateWorkerPod', failure, generation))
        if state:
            status['state'] = state
        if up:
            status['head'] = {'podIP': head['status']['podIP'], 'podName': head['metadata']['name'], 'serviceName': one['metadata']['name'] + '-head-svc'}
            status['endpoints'] = {'client': '10001', 'dashboard': '8265', 'gcs': '6379', 'metrics': '8080'}
        if any(one.get('status', {}).get(name) != value for name, value in status.items()):
            cluster.patch('RayCluster', {'status': status}, one['metadata']['namespace'], one['metadata']['name'], 'status')

    @staticmethod
    def run_job(cluster, job, clusters):
        """A job of a cluster that is ready succeeds at once."""
        if job.get('status', {}).get('jobStatus') or job['spec'].get('suspend'):
            return
        at = clusters.get((job['metadata']['namespace'], job['spec'].get('clusterSelector', {}).get('ray.io/cluster')))
        ready = bool(at) and at.get('status', {}).get('state') == 'ready'
        status = {'jobDeploymentStatus': 'Complete' if ready else 'Initializing', **({'jobStatus': 'SUCCEEDED', 'jobId': job['metadata']['name'] + '-1'} if ready else {})}
        if any(job.get('status', {}).get(name) != value for name, value in status.items()):
            cluster.patch('RayJob', {'status': status}, job['metadata']['namespace'], job['metadata']['name'], 'status')


def wanted_replicas(group):
    if group.get('suspend'):
        return 0
    count = min(max(group.get('replicas') or 0, group.get('minReplicas') or 0), group.get('maxReplicas', 2**31 - 1))
    return count * (group.get('numOfHosts') or 1)


def is_ready(pod):
    return any(c['type'] == 'Ready' and c['status'] == 'True' for c in pod.get('status', {}).get('conditions', []))


def over_quota(cluster, quotas, namespace, pod):
    """The API server's refusal of a pod by a ResourceQuota of the namespace (pods and GPUs are counted), or None."""
    for quota in quotas:
        if quota['metadata']['namespace'] != namespace:
            continue
        pods = cluster.list('Pod', namespace)
        for name, hard in quota['spec'].get('hard', {}).items():
            what = name.removeprefix('requests.')
            one = 1 if what == 'pods' else requests(pod['spec']).get(what, 0)
            used = sum(1 if what == 'pods' else requests(other['spec']).get(what, 0) for other in pods)
            if one and used + one > quantity(hard):
                return f'pods "{pod["metadata"]["name"]}" is forbidden: exceeded quota: {quota["metadata"]["name"]}, requested: {name}={one:g}, ' \
                       f'used: {name}={used:g}, limited: {name}={hard}'
    return None

/* Attributes (schema.json) <-> objects of the Kubernetes API. Pure; used by the requests, by what
 * is read back, and by `raygpu export kuberay`. Results are new references. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#define KUBE_MARK "raygpu.io/"
#define KUBE_TYPE_NOTE KUBE_MARK "instance-type"
#define KUBE_MARKET_NOTE KUBE_MARK "market"
#define KUBE_HASH_NOTE KUBE_MARK "template-hash"
#define KUBE_LEASE_NOTE KUBE_MARK "expires"
#define KUBE_QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define KUBE_PRIORITY_LABEL "kueue.x-k8s.io/priority-class"

#define KUBE_SECRET "kubernetes.secret"
#define KUBE_RAY_CLUSTER "kubernetes.ray_cluster"
#define KUBE_WORKER_GROUP "kubernetes.worker_group"
#define KUBE_GPU_NODES "kubernetes.gpu_nodes" /* not an object: gpu_nodes.h */
#define KUBE_RESOURCE_FLAVOR "kubernetes.resource_flavor"
#define KUBE_PROVISIONING_CONFIG "kubernetes.provisioning_config"
#define KUBE_ADMISSION_CHECK "kubernetes.admission_check"
#define KUBE_CLUSTER_QUEUE "kubernetes.cluster_queue"
#define KUBE_LOCAL_QUEUE "kubernetes.local_queue"
#define KUBE_PRIORITY_CLASS "kubernetes.priority_class"
#define KUBE_RAY_JOB "kubernetes.ray_job"

/* What a kind of ours is in the API. */
typedef struct {
	const char *kind;		  /* "kubernetes.secret" */
	const char *group, *api, *plural; /* "" (core), "Secret", "secrets" */
	const char *version;		  /* "v1": the preferred one */
	bool namespaced;
} KubeKind;
/* NULL: a worker group, which is a part of its RayCluster, or no kind of ours. */
const KubeKind *kube_kind(const char *kind);

/* A pod template. An attribute has its tolerations as an object by key, operator, value and effect,
 * so that those which others add are not compared. */
json_t *kube_template_from_api(const json_t *pod_template);
/* The hash of a template that is in its annotation; "": none. Borrowed. */
const char *kube_template_hash(const json_t *pod_template);

/* A worker group: an element of spec.workerGroupSpecs. */
json_t *kube_group_to_api(const json_t *attributes);
json_t *kube_group_from_api(const json_t *group);
/* Any other kind: the whole object without namespace and marks, in the preferred version. The
 * RayCluster has the worker groups of `groups`; the Secret the token in stringData. */
json_t *kube_object_to_api(const char *kind, const json_t *attributes);
/* The attributes that the object shows, of the preferred version. */
json_t *kube_object_from_api(const char *kind, const json_t *object);

/* lower: the fitted cluster (src/fit/README.md) -> desired resources. Pure. */
#pragma once
#include "common/talk.h"

rgp_status kube_lower(const ModTalk *talk, const json_t *input);
/* The same resources, a new reference; NULL after diagnostics. */
json_t *kube_lower_resources(const ModTalk *talk, const json_t *fitted);
/* export.c: the fitted cluster as manifests. */
rgp_status kube_export(const ModTalk *talk, const json_t *input);

/* ---- for the files of lower only */

typedef struct {
	const ModTalk *talk;
	const json_t *fitted, *config;
	json_t *resources;
	rgp_status status; /* RGP_FAIL after a refusal */
} KubeLowering;

/* lower_parts.c */
/* The spec's value at `origin` cannot be carried out. */
void kube_lower_refuse(KubeLowering *lowering, const char *origin, const char *hint,
	const char *format, ...) G_GNUC_PRINTF(4, 5);
/* A refusal of a field of a head or pool: "/network/rdma". */
void kube_lower_refuse_field(KubeLowering *lowering, const json_t *node, const char *field,
	const char *hint, const char *format, ...) G_GNUC_PRINTF(5, 6);
/* NULL: the spec does not set it. */
json_t *kube_lower_setting(const KubeLowering *lowering, const char *name);
/* A quantity as text, which is how the API returns it; a new reference. */
json_t *kube_lower_quantity(const json_t *value);
/* The settings of the node's pool; NULL: none. */
const json_t *kube_lower_pod_settings(const KubeLowering *lowering, const json_t *node);
/* Those in provider.pods, where the settings of pools were in former releases; NULL: none. */
const json_t *kube_lower_former_settings(const KubeLowering *lowering, const json_t *node);
/* Where the spec has that setting; g_free. */
char *kube_lower_pod_origin(const json_t *node, const char *name);

typedef struct {
	const char *kind, *name, *origin, *group; /* group NULL: not of a pool */
	json_t *attributes, *depends_on;	  /* stolen; depends_on may be NULL */
	json_t *nodes;				  /* stolen; NULL: it stands for no nodes */
	json_t *restart; /* stolen: what new pods do to what runs; NULL: nothing is said */
} KubeWanted;
void kube_lower_add(KubeLowering *lowering, const KubeWanted *wanted);
/* {"labels": the spec's, "object_name": name}. */
json_t *kube_lower_object(const KubeLowering *lowering, const char *name);

/* How long Ray may drain a worker before its pod ends; 0: it does not. */
int64_t kube_lower_drain_s(const KubeLowering *lowering, const json_t *node);
/* pod.c: {"template", "start_params", "ray_labels"} of a node's pods. */
json_t *kube_lower_pod(KubeLowering *lowering, const json_t *node);
/* cdi.c: adds the init container of `cdi: init` to a pod with GPUs. */
void kube_lower_cdi(const KubeLowering *lowering, const json_t *node, json_t *spec);
/* gpu.c: the resources that the node's pods request for their GPUs, name -> number; {} without
 * GPUs. */
json_t *kube_lower_gpus(KubeLowering *lowering, const json_t *node);
const json_t *kube_lower_slices(const json_t *node); /* of MIG, as the spec has them */
/* The model in a pod shape: "A100-80GB" of "A100-80GB:8"; g_free. */
char *kube_lower_model(const json_t *node);
/* The node label that names GPU models, and its values for a node's pods, NULL-ended; NULL: none
 * are known. g_strfreev. */
const char *kube_lower_gpu_label(const KubeLowering *lowering);
GStrv kube_lower_gpu_values(const KubeLowering *lowering, const json_t *node);
/* options.c: members of the RayCluster's spec that are not of a group. */
json_t *kube_lower_options(KubeLowering *lowering);
/* jobs.c: adds the spec's jobs. */
void kube_lower_jobs(KubeLowering *lowering);
bool kube_lower_is_elastic(const json_t *node);
bool kube_lower_has_elastic(const KubeLowering *lowering);
/* lower_nodes.c: adds the labels of nodes that the spec has raygpu manage, and their addresses to
 * `depends_on`. */
void kube_lower_gpu_nodes(KubeLowering *lowering, json_t *depends_on);
/* queue.c: adds Kueue's objects and checks their limits. "queue" and "priority", the labels of the
 * RayCluster, are set in `cluster`, and the addresses that it depends on added to `depends_on`. */
void kube_lower_queue(KubeLowering *lowering, json_t *cluster, json_t *depends_on);

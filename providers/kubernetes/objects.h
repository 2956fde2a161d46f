/* Objects of the API server that resources are, or are a part of: where they are, and what they are
 * called. */
#pragma once
#include "kubernetes/call.h"
#include "kubernetes/manifest.h"
#include "kubernetes/marks.h"

/* Where the objects of a kind are; a worker group's is its RayCluster. The version is one that the
 * server has. RGP_FAIL after a diagnostic: unknown kind, or its operator is not installed. */
rgp_status kube_api_of(const KubeCall *call, const char *kind, KubeApi *api);
/* An API that is missing: who installs it. Changes only failures with the code NoSuchApi. */
void kube_explain_missing(const KubeApi *api, ModFailure *failure);

/* An id: "NAMESPACE/NAME", "NAME" of cluster-wide objects, "NAMESPACE/NAME/GROUP" of groups. */
typedef struct {
	GStrv parts;
	const char *space, *name, *group; /* NULL: none */
} KubeId;
void kube_id_clear(KubeId *id);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(KubeId, kube_id_clear)
/* Any text: one that is not of this form has the name "". */
KubeId kube_id_parse(const KubeApi *api, const char *id);
/* g_free. `group` NULL: none. */
char *kube_id_of(const KubeApi *api, const json_t *object, const char *group);

const char *kube_name_of(const json_t *object);
const char *kube_uid_of(const json_t *object);
/* "RayCluster.get". g_free. */
char *kube_what(const char *kind, const char *verb);

/* One object, a new reference, of a Secret its metadata; NULL with RGP_OK: there is none, or
 * `failure` says why not. */
rgp_status kube_get(const KubeCall *call, const char *kind, const KubeApi *api, const KubeId *id,
	json_t **object, ModFailure *failure);
/* An object's attributes with the computed ones; without rollout. A new reference. */
json_t *kube_attributes_of(const KubeCall *call, const char *kind, const json_t *object);
/* The manifest for the API's version. A new reference. */
json_t *kube_manifest_of(const char *kind, const KubeApi *api, const json_t *attributes);
/* The worker group with this name, borrowed; NULL. *index: its place. */
json_t *kube_group_find(const json_t *cluster, const char *name, size_t *index);
/* The RayCluster is Kueue's to start, and it has not. */
bool kube_is_queued(const json_t *cluster);

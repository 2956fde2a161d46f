/* Requests to the API server: URLs, lists page by page, errors by the reason of their Status. */
#pragma once
#include "kubernetes/kube.h"

#define KUBE_MANAGER "raygpu"

/* An API: "" is the core group. */
typedef struct {
	const char *group, *version, *plural;
	bool namespaced;
} KubeApi;

extern const KubeApi kube_pods, kube_nodes, kube_events;

/* Corrects the failure of an error's answer: which 403, 404, 409 and 500 it is. For ModRest. */
void kube_refine(int32_t status, const json_t *body, ModFailure *failure);

/* The URL of an object, or of the collection (`name` NULL); `space` NULL: the instance's namespace.
 * `query` without "?", or NULL. g_free. */
char *kube_url(const KubeCall *call, const KubeApi *api, const char *space, const char *name,
	const char *query);
/* "labelSelector=key%3Dvalue". g_free. */
char *kube_selector(const char *key, const char *value);

/* Requests; the URL must live as long. `what` names it in traces: "RayCluster.list". */
rgp_status kube_read(
	const KubeCall *call, const char *what, const char *url, ModRestAnswer *answer);
/* The same as PartialObjectMetadata: of a Secret, nothing but its metadata leaves the server. */
rgp_status kube_read_metadata(
	const KubeCall *call, const char *what, const char *url, ModRestAnswer *answer);
/* Not traced. */
rgp_status kube_read_secret(
	const KubeCall *call, const char *what, const char *url, ModRestAnswer *answer);
/* `flags`: KUBE_DRY is a request that changes nothing, KUBE_SECRET_BODY is not traced. */
typedef enum { KUBE_CHANGES = 0, KUBE_DRY = 1, KUBE_SECRET_BODY = 2 } KubeFlags;
rgp_status kube_post(const KubeCall *call, const char *what, const char *url, const json_t *body,
	KubeFlags flags, ModRestAnswer *answer);
/* `type`: "json-patch", "merge-patch" or "apply-patch"; the last part of the media type is added.
 */
rgp_status kube_patch(const KubeCall *call, const char *what, const char *url, const char *type,
	const json_t *body, KubeFlags flags, ModRestAnswer *answer);
/* In the background; `uid` NULL or "": whichever object has the name. */
rgp_status kube_delete(const KubeCall *call, const char *what, const char *url, const char *uid,
	ModRestAnswer *answer);
/* The answer is text: a string. */
rgp_status kube_read_text(
	const KubeCall *call, const char *what, const char *url, ModRestAnswer *answer);
/* The answer's failure becomes a diagnostic of the whole call; RGP_FAIL. */
rgp_status kube_report(const KubeCall *call, const char *what, const ModRestAnswer *answer);

/* Receives the objects of a page; NULL: the list starts again, forget what was received. */
typedef rgp_status (*KubePage)(void *data, const json_t *items);
/* Every object of the collection at `url` (which has a query), 500 a page. If the server has
 * forgotten the list's version (410), it starts again. Any other failure is in `failure`, with
 * RGP_OK. */
rgp_status kube_pages(const KubeCall *call, const char *what, const char *url, bool metadata_only,
	KubePage page, void *data, ModFailure *failure);

/* Versions of an API group that the server has, preferred first, borrowed: an empty list if it has
 * none. NULL after a diagnostic. */
const json_t *kube_versions(const KubeCall *call, const char *group);

/* An item failed, or with RGP_CLASS_OK is done; clears the failure. */
rgp_status kube_give(const KubeCall *call, const json_t *item, const char *id, json_t *attributes,
	ModFailure *failure);

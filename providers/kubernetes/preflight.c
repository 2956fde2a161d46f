/* preflight: each object as a dry run, so that webhooks, quotas and permissions answer before
 * anything exists. Worker groups are a part of their RayCluster. */
#include <string.h>
#include "kubernetes/altered.h"
#include "kubernetes/calls.h"
#include "kubernetes/field.h"
#include "kubernetes/gpu_nodes.h"
#include "kubernetes/preflight.h"

static rgp_status check_create(const KubeCall *call, const json_t *input, const json_t *create)
{
	const char *kind = mod_str(create, "kind");
	const KubeKind *known = kube_kind(kind);
	KubeApi api;
	if (g_str_equal(kind, KUBE_GPU_NODES))
		return kube_warn_of_cuts(call, input, create);
	if (!known || json_is_true(json_object_get(create, "replaces")))
		return RGP_OK;
	if (kube_api_of(call, kind, &api) != RGP_OK)
		return RGP_FAIL;
	json_auto_t *attributes = kube_without_expressions(json_object_get(create, "attributes"));
	json_auto_t *body = kube_manifest_of(kind, &api, attributes);
	g_autofree char *url = kube_url(call, &api, NULL, NULL, KUBE_DRY_QUERY);
	g_autofree char *what = kube_what(kind, "dryRun");
	g_auto(ModRestAnswer) answer = {0};
	rgp_status status = kube_post(call, what, url, body,
		KUBE_DRY | (g_str_equal(kind, KUBE_SECRET) ? KUBE_SECRET_BODY : 0), &answer);
	kube_explain_missing(&api, &answer.failure);
	const KubeDryRun run = {.call = call,
		.kind = kind,
		.address =
			json_string_value(json_array_get(json_object_get(create, "addresses"), 0)),
		.body = body,
		.creates = true};
	return status == RGP_OK ? kube_dry_judge(&run, input, &answer) : status;
}

rgp_status kube_preflight(const KubeCall *call, const json_t *input)
{
	rgp_status status = RGP_OK;
	mod_foreach (create, json_object_get(input, "creates"))
		if (status == RGP_OK)
			status = check_create(call, input, create);
	return status == RGP_OK ? kube_dry_updates(call, input) : status;
}

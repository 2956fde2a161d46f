#include "gcp/sim/gce.h"

/* The resource "addresses": reserved internal ones. */

static bool address_insert(RgSimCall *call)
{
	const json_t *body = call_body(call);
	g_autofree char *scope = gce_scope(call);
	const char *name = rg_json_str(body, "name", NULL);
	if (!g_str_equal(doc_str(body, "addressType"), "INTERNAL"))
		return rg_sim_fail(call, 501, "notImplemented",
			"raygpu-sim simulates addresses of addressType INTERNAL only");
	const char *link = rg_json_str(body, "subnetwork", NULL);
	if (!link)
		return gce_fail_required(call, "resource.subnetwork");
	if (!gce_name_check(call, GCE_ADDRESS, scope, name))
		return false;
	const json_t *subnetwork = gce_refer(call, GCE_SUBNETWORK, "resource.subnetwork", link);
	if (!subnetwork)
		return false;
	if (!g_str_equal(gce_last(doc_str(subnetwork, "region")), call_str(call, "region")))
		return gce_fail_invalid(
			call, "resource.subnetwork", link, "The subnetwork is in another region.");
	json_auto_t *error = NULL;
	g_autofree char *address = gce_address_take(
		call->place, subnetwork, rg_json_str(body, "address", NULL), &error);
	if (error)
		return gce_fail_invalid(call, "resource.address", doc_str(body, "address"),
			doc_str(json_array_get(json_object_get(error, "errors"), 0), "message"));
	json_t *doc = gce_new(call, GCE_ADDRESS, scope, NULL);
	json_object_update_missing(doc, rg_json_unconst(body));
	json_auto_t *more = json_pack("{s:s, s:s, s:s, s:s, s:s}", "address", address, "status",
		"RESERVED", "networkTier", "PREMIUM", "purpose",
		rg_json_str(body, "purpose", "GCE_ENDPOINT"), "subnetwork",
		doc_str(subnetwork, "selfLink"));
	json_object_update(doc, more);
	gce_labels_set(doc, json_object_get(body, "labels"));
	return gce_insert_doc(call, GCE_ADDRESS, doc);
}

const RgSimAction gce_address_actions[] = {
	{"addresses.aggregatedList", gce_aggregate, false, GCE_AGGREGATED},
	{"addresses.delete", gce_delete_unused, true, "requestId"},
	{"addresses.get", gce_get, false, ""},
	{"addresses.insert", address_insert, true,
		"requestId .name .description .address .addressType .purpose .subnetwork .labels "
		".networkTier .ipVersion"},
	{"addresses.list", gce_list, false, GCE_LISTED},
	{"addresses.setLabels", gce_set_labels, true, "requestId .labels .labelFingerprint"},
	{NULL},
};

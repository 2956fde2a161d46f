/* changing: operations of instances that have not ended, from one list for each zone. */
#include <string.h>
#include "gcp/instance.h"

rgp_status gcp_instance_running(
	const GcpCall *call, const json_t *items, json_t *running, ModFailure *denied)
{
	json_auto_t *places = json_object();
	rgp_status status = gcp_project(call) ? RGP_OK : RGP_FAIL;
	mod_foreach (item, items) {
		const char *id = mod_str(item, "id");
		g_autofree char *zone = g_strndup(id, strcspn(id, "/"));
		g_autofree char *place = g_strconcat("zones/", zone, NULL);
		g_autofree char *url = gcp_instance_url(call, id);
		if (status == RGP_OK && url && !json_object_get(places, place))
			status = gcp_operations_running(call, place, running, denied);
		json_object_set_new(places, place, json_true());
	}
	return status;
}

static rgp_status give_one(const GcpCall *call, const json_t *item, const json_t *running)
{
	const json_t *operation = json_object_get(running, gcp_last_of(mod_str(item, "id")));
	if (!operation)
		return RGP_OK;
	g_autofree char *text = g_strdup_printf("%s, operation %s",
		mod_str(operation, "operationType"), mod_str(operation, "name"));
	return mod_give(&call->talk, "item",
		json_pack("{s:s, s:s, s:s}", "address", mod_str(item, "address"), "outcome", "done",
			"text", text));
}

rgp_status gcp_changing(const GcpCall *call, const ModKind *any, const json_t *input)
{
	const json_t *items = json_object_get(input, "items");
	json_auto_t *running = json_object();
	ModFailure denied = {0};
	if (gcp_kind(any) != &gcp_instance_kind)
		return RGP_UNSUPPORTED;
	rgp_status status = gcp_instance_running(call, items, running, &denied);
	if (status == RGP_OK && denied.class_ != RGP_CLASS_OK) {
		status = mod_fail_items(call, items, &denied);
	} else {
		mod_foreach (item, items)
			if (status == RGP_OK)
				status = give_one(call, item, running);
	}
	mod_failure_clear(&denied);
	return status;
}

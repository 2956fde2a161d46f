/* The lease of an instance, as its own timer sees it in the metadata. A guest that powers off
 * leaves its instance TERMINATED, with its disks
 * (cloud.google.com/compute/docs/instances/stop-start-instance); the system event is
 * compute.instances.guestTerminate. */
#include "sim/core/lease.h"
#include <string.h>
#include "gcp/sim/gce.h"

#define LEASE_KEY "raygpu-expires"
#define LEASE_PATH "/instance/attributes/" LEASE_KEY

static const char *item_of(const json_t *instance, const char *key)
{
	const json_t *metadata = json_object_get(instance, "metadata");
	return doc_str(rg_sim_entry(json_object_get(metadata, "items"), "key", key), "value");
}

void gce_lease_at_launch(json_t *instance)
{
	const char *data = item_of(instance, "user-data");
	bool encoded = g_str_equal(item_of(instance, "user-data-encoding"), "base64");
	gsize len = strlen(data);
	g_autofree guchar *raw = encoded ? g_base64_decode(data, &len) : NULL;
	json_object_set_new(instance, "_watchesLease",
		json_boolean(rg_sim_lease_is_watched(
			encoded ? (const void *)raw : data, len, LEASE_PATH)));
}

void gce_lease_plan(RgSimPlace *place, json_t *instance)
{
	json_object_del(instance, "_due");
	if (!g_str_equal(doc_str(instance, "status"), "RUNNING") ||
		!doc_is(instance, "_watchesLease"))
		return;
	gint64 at_ms = rg_sim_lease_end_ms(item_of(instance, LEASE_KEY), place->sim->now_ms);
	if (at_ms)
		rg_sim_plan(place, GCE_INSTANCE, instance, at_ms, "lease ends");
}

void gce_lease_end(RgSimPlace *place, const char *key)
{
	const json_t *doc = rg_sim_find(place, GCE_INSTANCE, key);
	if (!g_str_equal(doc_str(doc, "status"), "RUNNING"))
		return;
	g_autofree char *scope =
		g_strconcat("zones/", doc_str(json_object_get(doc, "_machine"), "zone"), NULL);
	gint64 ms = doc_int(place->sim->knobs, "shutdown_ms");
	GceOperation operation = {.type = "compute.instances.guestTerminate",
		.scope = scope,
		.target = doc,
		.ms = ms,
		.end = gce_effect_set(
			NULL, GCE_INSTANCE, doc, gce_instance_stopped(place->sim->now_ms + ms))};
	gce_operation_system(place, &operation);
	json_t *changed = json_copy(rg_json_unconst(doc));
	json_object_set_new(changed, "status", json_string("STOPPING"));
	json_object_del(changed, "_due");
	rg_sim_put(place, GCE_INSTANCE, changed);
}

/* The lease of an instance, as its own timer sees it in the metadata. */
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

char *gce_user_data(const json_t *instance, gsize *len)
{
	const char *data = item_of(instance, "user-data");
	if (g_str_equal(item_of(instance, "user-data-encoding"), "base64"))
		return (char *)g_base64_decode(data, len);
	*len = strlen(data);
	return g_strdup(data);
}

void gce_lease_at_launch(json_t *instance)
{
	gsize len = 0;
	g_autofree char *data = gce_user_data(instance, &len);
	json_object_set_new(instance, "_watchesLease",
		json_boolean(rg_sim_lease_is_watched(data, len, LEASE_PATH)));
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

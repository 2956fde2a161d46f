#include <string.h>
#include "base/embedded.h"
#include "gcp/sim/gce.h"
#include "gcp/sim/route.h"

extern const struct rg_embedded gcp_sim_data[];

static json_t *load(const char *name)
{
	const struct rg_embedded *file = rg_embedded_find(gcp_sim_data, name);
	json_t *value = file ? json_loadb(file->data, file->len, 0, NULL) : NULL;
	if (!value)
		g_error("%s is missing or broken", name);
	return value;
}

/* compute.json has "PART/NAME" as keys. */
static json_t *part(const json_t *description, const char *name)
{
	json_t *out = json_object();
	gsize skip = strlen(name) + 1;
	rg_json_foreach_member (key, value, description) {
		if (g_str_has_prefix(key, name) && key[skip - 1] == '/')
			json_object_set(out, key + skip, value);
	}
	return out;
}

void *gce_data_new(void)
{
	GceData *data = g_new0(GceData, 1);
	json_auto_t *description = load("compute.json");
	*data = (GceData){.methods = part(description, "methods"),
		.schemas = part(description, "schemas"),
		.patterns = part(description, "patterns"),
		.types = load("machine_types.json"),
		.own = json_object(),
		.custom = load("custom_types.json"),
		.made = json_object(),
		.regions = load("regions.json"),
		.images = load("images.json")};
	data->routes = gce_routes_new(data->methods);
	return data;
}

void gce_data_free(void *given)
{
	GceData *data = given;
	g_ptr_array_unref(data->routes);
	json_decref(data->methods);
	json_decref(data->schemas);
	json_decref(data->patterns);
	json_decref(data->types);
	json_decref(data->own);
	json_decref(data->custom);
	json_decref(data->made);
	json_decref(data->regions);
	json_decref(data->images);
	g_free(data);
}

const char *gce_region_of(const GceData *data, const char *place)
{
	rg_json_foreach_member (region, zones, data->regions) {
		if (g_str_equal(region, place) || rg_json_has_text(zones, place))
			return region;
	}
	return NULL;
}

#include "aws/sim/data.h"
#include "base/embedded.h"

extern const struct rg_embedded rg_sim_data[];

static json_t *load(const char *name)
{
	for (const struct rg_embedded *file = rg_sim_data; file->name; file++) {
		if (!g_str_equal(file->name, name))
			continue;
		json_error_t where;
		json_t *value = json_loadb(file->data, file->len, JSON_REJECT_DUPLICATES, &where);
		if (!value)
			g_error("embedded %s, line %d: %s", name, where.line, where.text);
		return value;
	}
	g_error("no embedded file %s", name);
}

RgSimData *rg_sim_data_new(void)
{
	json_set_alloc_funcs(g_malloc, g_free); /* so that g_free frees json_dumps' results too */
	RgSimData *data = g_new0(RgSimData, 1);
	data->requests = load("requests.json");
	data->types = load("instance_types.json");
	data->offerings = load("offerings.json");
	data->regions = load("regions.json");
	data->images = load("images.json");
	data->parameters = load("parameters.json");
	data->type_by_name = json_object();
	data->own_types = json_object();
	data->own_offerings = json_object();
	size_t i;
	json_t *type;
	json_array_foreach (data->types, i, type) {
		const char *name = json_string_value(json_object_get(type, "instanceType"));
		json_object_set(data->type_by_name, name, type);
	}
	return data;
}

void rg_sim_data_free(RgSimData *data)
{
	if (!data)
		return;
	json_decref(data->requests);
	json_decref(data->types);
	json_decref(data->type_by_name);
	json_decref(data->own_types);
	json_decref(data->own_offerings);
	json_decref(data->offerings);
	json_decref(data->regions);
	json_decref(data->images);
	json_decref(data->parameters);
	g_free(data);
}

static json_t *by_name(json_t *list, const char *name)
{
	size_t i;
	json_t *entry;
	json_array_foreach (list, i, entry) {
		if (g_strcmp0(json_string_value(json_object_get(entry, "name")), name) == 0)
			return entry;
	}
	return NULL;
}

json_t *rg_sim_data_region(const RgSimData *data, const char *region)
{
	return by_name(data->regions, region);
}

json_t *rg_sim_data_zone(const RgSimData *data, const char *region, const char *zone)
{
	return by_name(json_object_get(rg_sim_data_region(data, region), "zones"), zone);
}

bool rg_sim_data_offered(
	const RgSimData *data, const char *type, const char *region, const char *zone_id)
{
	json_t *places = json_object_get(data->offerings, type);
	if (!places)
		places = json_object_get(data->own_offerings, type);
	if (!places)
		return true;
	size_t i;
	json_t *id;
	json_array_foreach (json_object_get(places, region), i, id) {
		if (g_strcmp0(json_string_value(id), zone_id) == 0)
			return true;
	}
	return false;
}

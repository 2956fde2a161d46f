#include <string.h>
#include "fit/internal.h"

/* The member of the reply, or else what was known before. Borrowed, may be NULL. */
static json_t *newer(const json_t *facts, const json_t *known, const char *section, const char *key)
{
	json_t *value = json_object_get(json_object_get(facts, section), key);
	return value != NULL ? value : json_object_get(json_object_get(known, section), key);
}

json_t *rg_fit_network_wish(const RgCluster *cluster)
{
	static const char *const settings[] = {"vpc", "subnets", "security_groups"};
	json_t *wish = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(settings); i++) {
		json_t *value = json_object_get(cluster->provider.config, settings[i]);
		if (value != NULL)
			json_object_set(wish, settings[i], value);
	}
	if (json_object_size(wish) == 0)
		g_clear_pointer(&wish, json_decref);
	return wish;
}

/* The reply's network with the wish that it answers, or the one known before. */
static json_t *merge_network(const RgShapes *shapes, const json_t *facts, const json_t *known)
{
	json_t *network = json_object_get(facts, "network");
	if (!json_is_object(network))
		return shapes->moved ? NULL : json_incref(json_object_get(known, "network"));
	json_t *merged = json_copy(network);
	if (shapes->wish != NULL)
		json_object_set(merged, "wish", shapes->wish);
	return merged;
}

json_t *rg_fit_merge_facts(const RgShapes *shapes, const json_t *facts, const json_t *pins)
{
	const json_t *known = json_object_get(pins, "facts");
	json_auto_t *images = json_object(), *offerings = json_object();
	for (guint i = 0; i < shapes->shapes->len; i++) {
		const RgShape *shape = shapes->shapes->pdata[i];
		const char *type = shape->type->name;
		json_t *image = newer(facts, known, "images", shape->image_key);
		json_t *zones = newer(facts, known, "offerings", type);
		if (image != NULL)
			json_object_set(images, shape->image_key, image);
		if (zones != NULL)
			json_object_set(offerings, type, zones);
	}
	json_t *network = merge_network(shapes, facts, known);
	return json_pack(
		"{s:O, s:o*, s:O}", "images", images, "network", network, "offerings", offerings);
}

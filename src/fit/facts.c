#include <string.h>
#include "fit/internal.h"

/* The member of the reply, or else what was known before. Borrowed, may be NULL. */
static json_t *newer(const json_t *facts, const json_t *known, const char *section, const char *key)
{
	json_t *value = json_object_get(json_object_get(facts, section), key);
	return value ? value : json_object_get(json_object_get(known, section), key);
}

static void take_shape(const RgShape *shape, const json_t *facts, const json_t *known,
	json_t *images, json_t *offerings)
{
	const char *type = shape->type->name;
	json_t *image = newer(facts, known, "images", shape->image_key);
	json_t *zones = newer(facts, known, "offerings", type);
	if (image)
		json_object_set(images, shape->image_key, image);
	if (zones)
		json_object_set(offerings, type, zones);
}

json_t *rg_fit_merge_facts(const RgShapes *shapes, const json_t *facts, const json_t *pins)
{
	const json_t *known = json_object_get(pins, "facts");
	json_auto_t *images = json_object(), *offerings = json_object();
	for (guint i = 0; i < shapes->shapes->len; i++) {
		const RgShape *shape = shapes->shapes->pdata[i];
		take_shape(shape, facts, known, images, offerings);
		for (guint k = 0; k < shape->variants->len; k++)
			take_shape(shape->variants->pdata[k], facts, known, images, offerings);
	}
	json_t *merged = json_pack("{s:O, s:O}", "images", images, "offerings", offerings);
	/* Zones and the module's own document: from the reply, with the settings that it answers,
	 * or as known before. */
	static const char *const members[] = {"zones", "zone_ids", "module"};
	bool answered = json_is_array(json_object_get(facts, "zones"));
	const json_t *from = answered ? facts : shapes->moved ? NULL : known;
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
		json_t *value = json_object_get(from, members[i]);
		if (value)
			json_object_set(merged, members[i], value);
	}
	if (json_object_size(shapes->reservations))
		json_object_set(merged, "reservations", shapes->reservations);
	if (shapes->settings)
		json_object_set(merged, "settings", shapes->settings);
	return merged;
}

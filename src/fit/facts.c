#include <string.h>
#include "fit/internal.h"

/* The member of the reply, or else what was known before. Borrowed, may be NULL. */
static json_t *newer(const json_t *facts, const json_t *known, const char *section, const char *key)
{
	json_t *value = json_object_get(json_object_get(facts, section), key);
	return value ? value : json_object_get(json_object_get(known, section), key);
}

/* How many are free, of the same answer as where the type is offered; NULL: it has no limit. */
static json_t *stock_of(const json_t *facts, const json_t *known, const char *type)
{
	bool asked = json_object_get(json_object_get(facts, "offerings"), type) != NULL;
	return json_object_get(json_object_get(asked ? facts : known, "stock"), type);
}

/* What the merged facts are made of. */
typedef struct {
	const json_t *facts, *known, *described;
	json_t *images, *offerings, *stock, *types;
} Merge;

static void take_shape(const Merge *merge, const RgShape *shape)
{
	const char *type = shape->type->name;
	json_t *image = newer(merge->facts, merge->known, "images", shape->image_key);
	json_t *zones = newer(merge->facts, merge->known, "offerings", type);
	if (image)
		json_object_set(merge->images, shape->image_key, image);
	if (zones)
		json_object_set(merge->offerings, type, zones);
	json_t *free = stock_of(merge->facts, merge->known, type);
	if (free)
		json_object_set(merge->stock, type, free);
	if (shape->type->described)
		json_object_set(merge->types, type, json_object_get(merge->described, type));
}

json_t *rg_fit_merge_facts(const RgShapes *shapes, const json_t *facts, const json_t *pins)
{
	const json_t *known = json_object_get(pins, "facts");
	json_auto_t *images = json_object(), *offerings = json_object(), *stock = json_object();
	json_auto_t *types = json_object();
	const Merge merge = {
		facts, known, json_object_get(pins, "types"), images, offerings, stock, types};
	rg_ptr_foreach (const RgShape, shape, shapes->shapes) {
		take_shape(&merge, shape);
		for (guint k = 0; k < shape->variants->len; k++)
			take_shape(&merge, shape->variants->pdata[k]);
	}
	json_t *merged = json_pack("{s:O, s:O}", "images", images, "offerings", offerings);
	if (json_object_size(stock))
		json_object_set(merged, "stock", stock);
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
	if (json_object_size(types))
		json_object_set(merged, "types", types);
	if (json_object_size(shapes->reservations))
		json_object_set(merged, "reservations", shapes->reservations);
	if (shapes->settings)
		json_object_set(merged, "settings", shapes->settings);
	return merged;
}

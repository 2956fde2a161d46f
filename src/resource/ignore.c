#include "resource/schema.h"

/* `ignore_tags`: keys that raygpu sets at creation and then leaves to others. */

static bool is_ignored(const char *key, const json_t *ignored)
{
	rg_json_foreach (pattern, ignored)
		if (g_pattern_match_simple(json_string_value(pattern), key))
			return true;
	return false;
}

json_t *rg_attribute_without(
	const RgAttribute *attribute, const json_t *value, const json_t *ignored)
{
	bool labels = g_strcmp0(attribute->role, RG_ROLE_LABELS) == 0;
	if (!labels || !json_array_size(ignored) || !json_is_object(value))
		return json_incref(rg_json_unconst(value));
	json_auto_t *left = json_object();
	rg_json_foreach_member (key, label, value)
		if (!is_ignored(key, ignored))
			json_object_set(left, key, label);
	return json_object_size(left) ? g_steal_pointer(&left) : NULL;
}

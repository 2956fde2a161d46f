#include "provider/internal.h"

#include <string.h>
#include "resource/expr.h"

static const struct {
	const char *name;
	json_type types[2];
} types[] = {
	{"string", {JSON_STRING, JSON_STRING}},
	{"integer", {JSON_INTEGER, JSON_INTEGER}},
	{"boolean", {JSON_TRUE, JSON_FALSE}},
	{"list", {JSON_ARRAY, JSON_ARRAY}},
	{"map", {JSON_OBJECT, JSON_OBJECT}},
	{"object", {JSON_OBJECT, JSON_OBJECT}},
};

bool rg_attribute_fits(const RgAttribute *attribute, const json_t *value)
{
	for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
		if (g_str_equal(types[i].name, attribute->type))
			return json_typeof(value) == types[i].types[0] ||
			       json_typeof(value) == types[i].types[1];
	}
	return false;
}

/* An address becomes part of scripts and commands: a cloud, or a host, may not write there. */
static bool is_safe(const RgAttribute *attribute, const json_t *value)
{
	static const char allowed[] = G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS ".:_-";
	const char *text = json_string_value(value);
	bool address = g_strcmp0(attribute->role, RG_ROLE_ADDRESS) == 0 ||
		       g_strcmp0(attribute->role, RG_ROLE_PUBLIC_ADDRESS) == 0;
	return !address || !text || (text[0] != '-' && text[strspn(text, allowed)] == '\0');
}

static bool is_right(
	RgCall *call, const RgKind *kind, const char *key, const json_t *value, const char *whose)
{
	const RgAttribute *attribute = rg_kind_attribute(kind, key);
	bool fits = attribute && rg_attribute_fits(attribute, value);
	if (fits && is_safe(attribute, value))
		return true;
	g_autofree char *name = rg_text_clean(key);
	if (fits) {
		rg_call_bad(call, "attribute \"%s\" of %s is not an address", name, whose);
		return false;
	}
	if (!attribute) {
		rg_call_bad(call, "%s has an attribute \"%s\" that %s does not have", whose, name,
			kind->name);
		return false;
	}
	rg_call_bad(call, "attribute \"%s\" of %s is not of type %s", name, whose, attribute->type);
	return false;
}

bool rg_attributes_verify(RgCall *call, const RgKind *kind, json_t *attributes, const char *whose)
{
	bool ok = true;
	const char *key;
	json_t *value;
	void *next;
	json_object_foreach_safe (attributes, next, key, value) {
		bool right = json_is_null(value) || is_right(call, kind, key, value, whose);
		if (!right || json_is_null(value))
			json_object_del(attributes, key);
		ok = ok && right;
	}
	return ok;
}

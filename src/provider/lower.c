/* resolve and lower: documents of the module, checked before anything uses them. */
#include "provider/internal.h"

#include <string.h>
#include "resource/expr.h"
#include "resource/graph.h"

/* Every requested image has an id. */
static bool images_are_right(RgCall *call, const json_t *wants, const json_t *facts)
{
	const json_t *images = json_object_get(facts, "images");
	rg_json_foreach (want, json_object_get(wants, "images")) {
		const char *key = rg_json_str(want, "key", "");
		if (!json_object_get(images, key)) {
			rg_call_bad(call, "the facts have no id for the image \"%s\"", key);
			return false;
		}
	}
	return true;
}

static bool offerings_are_right(RgCall *call, const json_t *wants, const json_t *facts)
{
	const json_t *offerings = json_object_get(facts, "offerings");
	rg_json_foreach (type, json_object_get(wants, "instance_types")) {
		const json_t *zones = json_object_get(offerings, json_string_value(type));
		if (!zones) {
			rg_call_bad(call, "the facts have no zones for \"%s\"",
				json_string_value(type));
			return false;
		}
	}
	return true;
}

/* What the module need not report because its schema has it: zones, and that types are offered. */
static void fill_zones(const RgSchema *schema, const json_t *wants, json_t *facts)
{
	const json_t *fixed = rg_schema_zones(schema);
	if (!fixed || !facts)
		return;
	json_auto_t *zones = json_deep_copy(fixed);
	if (json_array_size(zones) == 0)
		json_array_append_new(zones, json_string("")); /* the single zone of all nodes */
	json_object_set(facts, "zones", zones);
	if (!json_object_get(facts, "offerings"))
		json_object_set_new(facts, "offerings", json_object());
	json_t *offerings = json_object_get(facts, "offerings");
	rg_json_foreach (type, json_object_get(wants, "instance_types")) {
		if (!json_object_get(offerings, json_string_value(type)))
			json_object_set(offerings, json_string_value(type), zones);
	}
}

json_t *rg_provider_known_facts(const RgSchema *schema, const json_t *wants)
{
	json_t *images = json_object();
	rg_json_foreach (wanted, json_object_get(wants, "images"))
		json_object_set_new(images, rg_json_str(wanted, "key", ""),
			json_pack("{s:s}", "id", rg_json_str(wanted, "image", "none")));
	json_t *facts = json_pack("{s:o}", "images", images);
	fill_zones(schema, wants, facts);
	return facts;
}

json_t *rg_provider_resolve(RgProvider *provider, const json_t *wants, RgDiags *diags)
{
	json_auto_t *facts = NULL;
	RgCall call = {.slot = rg_call_take_one, .data = &facts};
	bool ok = rg_call_make(&call, provider, "resolve", wants, diags);
	fill_zones(rg_provider_get_schema(provider), wants, facts);
	if (ok && rg_json_bool(wants, "place", false) &&
		!json_is_array(json_object_get(facts, "zones")))
		rg_call_bad(&call, "the facts have no zones");
	ok = ok && call.bad_count == 0 && images_are_right(&call, wants, facts) &&
	     offerings_are_right(&call, wants, facts);
	rg_call_clear(&call);
	return ok ? g_steal_pointer(&facts) : NULL;
}

static bool wanted_is_right(RgCall *call, const RgKind *kind, const RgResource *resource)
{
	const char *key;
	json_t *value;
	json_object_foreach (resource->attrs, key, value) {
		const RgAttribute *attribute = rg_kind_attribute(kind, key);
		g_autofree char *name = rg_text_clean(key);
		if (!attribute || (!json_is_null(value) && !rg_expr_is(value) &&
					  !rg_attribute_fits(attribute, value))) {
			rg_call_bad(call,
				!attribute
					? "%s has an attribute \"%s\" that its kind does not have"
					: "%s: attribute \"%s\" has the wrong type",
				resource->address, name);
			return false;
		}
	}
	rg_hash_values (const RgAttribute, attribute, kind->attributes) {
		value = json_object_get(resource->attrs, attribute->name);
		if (attribute->required && (!value || json_is_null(value))) {
			rg_call_bad(call, "%s lacks the required attribute \"%s\"",
				resource->address, attribute->name);
			return false;
		}
	}
	return true;
}

static bool kinds_are_right(RgCall *call, const RgResourceSet *set)
{
	const json_t *checked = NULL;
	rg_resource_foreach (resource, set) {
		const RgKind *kind = rg_schema_kind(call->schema, resource->kind);
		if (!kind || g_str_equal(resource->kind, RG_SECRET_KIND)) {
			rg_call_bad(call, "%s has a kind that this module does not have",
				resource->address);
			return false;
		}
		if (kind->node != (resource->nodes != NULL)) {
			rg_call_bad(call,
				kind->node ? "%s does not state the `nodes` that it stands for"
					   : "%s has `nodes`, but its kind has no \"node\": true",
				resource->address);
			return false;
		}
		/* Nodes of a pool share one object and are adjacent. */
		if (resource->attrs != checked && !wanted_is_right(call, kind, resource))
			return false;
		checked = resource->attrs;
	}
	return true;
}

/* Nodes of a pool are adjacent and have the same dependencies. */
static bool needs_the_same(const RgResource *a, const RgResource *b)
{
	static const char *const none[] = {NULL};
	if (!b || a->attrs != b->attrs)
		return false;
	return g_strv_equal(a->depends_on ? (const char *const *)a->depends_on : none,
		b->depends_on ? (const char *const *)b->depends_on : none);
}

static bool dependencies_are_there(RgCall *call, const RgResourceSet *set)
{
	const RgResource *checked = NULL;
	rg_resource_foreach (resource, set) {
		if (needs_the_same(resource, checked))
			continue;
		checked = resource;
		g_auto(GStrv) needed = rg_resource_dependencies(resource);
		for (size_t j = 0; needed && needed[j]; j++) {
			if (rg_resource_set_find(set, needed[j]))
				continue;
			g_autofree char *name = rg_text_clean(needed[j]);
			rg_call_bad(call, "%s needs \"%s\", which is not among the resources",
				resource->address, name);
			return false;
		}
	}
	return true;
}

static RgResourceSet *check_lowered(RgCall *call, const json_t *resources, const json_t *fitted)
{
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_autoptr(RgResourceSet) set = rg_resource_set_from_lowered(resources, unread);
	if (!set) {
		g_autofree char *why =
			rg_text_clean(rg_diags_count(unread) > 0
					      ? rg_diags_get(unread, 0)->summary
					      : "it is not of the form that the ABI describes");
		rg_call_bad(call, "%s", why);
		return NULL;
	}
	if (!kinds_are_right(call, set) || !rg_lowered_nodes_are_counted(call, set, fitted))
		return NULL;
	if (g_str_equal(rg_json_str(json_object_get(fitted, "ray"), "auth", ""), "token")) {
		RgResource *secret = rg_resource_new(RG_SECRET_KIND, "ray_token", -1);
		secret->attrs = rg_resource_set_intern(set, json_pack("{s:i}", "bytes", 32));
		secret->presence = RG_PRESENT;
		rg_resource_set_add(set, secret);
	}
	return dependencies_are_there(call, set) ? g_steal_pointer(&set) : NULL;
}

RgResourceSet *rg_provider_lower(RgProvider *provider, const json_t *fitted, RgDiags *diags)
{
	json_auto_t *resources = NULL;
	RgResourceSet *set = NULL;
	RgCall call = {.slot = rg_call_take_one, .data = &resources};
	bool ok = rg_call_make(&call, provider, "lower", fitted, diags);
	if (ok)
		set = check_lowered(&call, resources, fitted);
	rg_call_clear(&call);
	return set;
}

/* Reads the array that a module's `lower` returns (provider.h), with every check that diff and
 * apply rely on. */
#include "resource/expr.h"
#include "resource/nodes.h"

#define CODE "provider.bad-result"

/* false: present, but neither text nor null. */
static bool text_or_null(const json_t *item, const char *key, const char **text)
{
	const json_t *value = json_object_get(item, key);
	*text = json_string_value(value);
	return !value || json_is_null(value) || *text;
}

static bool take_dependencies(const json_t *item, RgResource *resource)
{
	const json_t *list = json_object_get(item, "depends_on");
	if (!list || json_is_null(list))
		return true;
	if (!json_is_array(list))
		return false;
	g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
	rg_json_foreach (entry, list) {
		if (!json_is_string(entry))
			return false;
		g_strv_builder_add(builder, json_string_value(entry));
	}
	resource->depends_on = g_strv_builder_end(builder);
	return true;
}

/* What is wrong with the address, or NULL; also its index. */
static const char *check_address(const json_t *item, const char *address, int64_t *index)
{
	g_autofree char *kind = NULL, *name = NULL;
	const json_t *number = json_object_get(item, "index");
	if (!rg_address_parse(address, &kind, &name, index))
		return "is not of the form kind.name or kind.name[index]";
	if (g_strcmp0(kind, rg_json_str(item, "kind", NULL)) != 0)
		return "differs from its `kind`";
	if (g_strcmp0(name, rg_json_str(item, "name", NULL)) != 0)
		return "differs from its `name`";
	if (*index < 0 ? number && !json_is_null(number)
		       : !json_is_integer(number) || json_integer_value(number) != *index)
		return "differs from its `index`";
	return NULL;
}

/* NULL, and `wrong` reported, if the item is malformed. */
static RgResource *take_item(RgResourceSet *set, const json_t *item, const char **wrong)
{
	const char *address = rg_json_str(item, "address", NULL), *group, *origin, *restart;
	json_t *attrs = json_object_get(item, "attributes");
	json_t *nodes = json_object_get(item, "nodes");
	int64_t index;
	if (!address) {
		*wrong = "has no `address`";
		return NULL;
	}
	*wrong = check_address(item, address, &index);
	if (*wrong)
		return NULL;
	g_autoptr(RgResource) resource = rg_resource_new(
		rg_json_str(item, "kind", ""), rg_json_str(item, "name", ""), index);
	if (!json_is_object(attrs))
		*wrong = "has no `attributes`";
	else if (!rg_expr_valid(attrs))
		*wrong = "has a malformed expression";
	else if (!text_or_null(item, "group", &group) || !text_or_null(item, "origin", &origin))
		*wrong = "has a `group` or `origin` that is not a string";
	else if (!text_or_null(item, "restart", &restart))
		*wrong = "has a `restart` that is not a string";
	else if (!take_dependencies(item, resource))
		*wrong = "has a malformed `depends_on`";
	else if (nodes)
		*wrong = rg_nodes_wrong(nodes);
	if (*wrong)
		return NULL;
	resource->group = group ? g_intern_string(group) : NULL;
	resource->origin = origin ? g_intern_string(origin) : NULL;
	resource->restart = restart ? g_intern_string(restart) : NULL;
	resource->attrs = rg_resource_set_intern(set, json_incref(attrs));
	resource->nodes = rg_resource_set_intern(set, json_incref(nodes));
	return g_steal_pointer(&resource);
}

/* The item stands for one resource per index. What is wrong, or NULL. */
static const char *add_copies(RgResourceSet *set, const RgResource *first, const json_t *indexes)
{
	if (first->index >= 0)
		return "has both an index of its own and `indexes`";
	if (json_array_size(indexes) == 0)
		return "has `indexes` that are not a list of numbers";
	rg_json_foreach (index, indexes) {
		if (!json_is_integer(index) || json_integer_value(index) < 0)
			return "has `indexes` that are not a list of numbers";
		/* One node of a pool: everything except the index is as in `first`. */
		RgResource *resource =
			rg_resource_new(first->kind, first->name, json_integer_value(index));
		resource->group = first->group;
		resource->origin = first->origin;
		resource->restart = first->restart;
		resource->attrs = json_incref(first->attrs);
		resource->nodes = json_incref(first->nodes);
		resource->depends_on = g_strdupv(first->depends_on);
		if (!rg_resource_set_add(set, resource))
			return "is given twice";
	}
	return NULL;
}

static const char *add_item(RgResourceSet *set, const json_t *item)
{
	const char *wrong = NULL;
	const json_t *indexes = json_object_get(item, "indexes");
	g_autoptr(RgResource) resource = take_item(set, item, &wrong);
	if (!resource)
		return wrong;
	if (indexes)
		return add_copies(set, resource, indexes);
	return rg_resource_set_add(set, g_steal_pointer(&resource)) ? NULL : "is given twice";
}

RgResourceSet *rg_resource_set_from_lowered(const json_t *resources, RgDiags *diags)
{
	g_autoptr(RgResourceSet) set = rg_resource_set_new();
	if (!json_is_array(resources)) {
		rg_diags_error(diags, CODE, "the provider's `lower` gave no list of resources");
		return NULL;
	}
	rg_json_foreach_at (i, item, resources) {
		const char *address = rg_json_str(item, "address", "?");
		const char *wrong = add_item(set, item);
		if (wrong) {
			rg_diags_error(
				diags, CODE, "lowered resource %zu (`%s`) %s", i, address, wrong);
			return NULL;
		}
	}
	return g_steal_pointer(&set);
}

#include "convert/internal.h"

#include <string.h>

/* A key of Ray's provider for another cloud. */
static bool is_of_another(const Convert *convert, const char *path)
{
	bool found = false;
	for (guint i = 0; convert->others && i < convert->others->len && !found; i++) {
		const ConvertTable *table = convert->others->pdata[i];
		found = g_str_has_prefix(path, "provider/") &&
			(convert_table_find(table, path) || convert_table_has_below(table, path));
	}
	return found;
}

static void unknown(Convert *convert, const ConvertAt *at)
{
	if (!convert->own && (g_str_has_prefix(at->path, "provider/") ||
				     g_str_has_prefix(at->path, "node/node_config"))) {
		convert_key(convert, at->pointer, CONVERT_NONE, NULL,
			"raygpu has no module for this provider");
		return;
	}
	if (is_of_another(convert, at->path)) {
		convert_key(convert, at->pointer, CONVERT_NONE, NULL,
			"it belongs to another provider of Ray, and has no effect here");
		return;
	}
	const char *slash = strrchr(at->path, '/');
	g_autofree char *above =
		slash ? g_strndup(at->path, (gsize)(slash - at->path)) : g_strdup("");
	const char *key = slash ? slash + 1 : at->path;
	g_autofree char *near = convert_table_nearest(convert->own, above, key);
	if (!near)
		near = convert_table_nearest(convert->core, above, key);
	g_autofree char *reason = near ? g_strdup_printf("unknown key; did you mean `%s`?", near)
				       : g_strdup("unknown key");
	convert_key(convert, at->pointer, CONVERT_UNKNOWN, NULL, reason);
}

static bool is_empty(const json_t *value)
{
	return json_is_null(value) || (json_is_object(value) && !json_object_size(value)) ||
	       (json_is_array(value) && !json_array_size(value));
}

/* A list where members are expected: of its first item, because raygpu has one of what it lists. */
static void walk_list(Convert *convert, const ConvertAt *at, bool each)
{
	for (size_t i = 0; i < json_array_size(at->value); i++) {
		g_autofree char *pointer = g_strdup_printf("%s/%zu", at->pointer, i);
		const ConvertAt item = {pointer, at->path, json_array_get(at->value, i), at->node};
		if (i > 0 && !each)
			convert_key(convert, pointer, CONVERT_LOST, NULL,
				"only the first item of this list has a counterpart");
		else if (json_is_object(item.value))
			convert_walk(convert, &item, NULL);
		else
			convert_key(
				convert, pointer, CONVERT_UNKNOWN, NULL, "it should be a mapping");
	}
}

void convert_visit(Convert *convert, const ConvertAt *at)
{
	const ConvertRule *rule = convert_find(convert, at->path);
	bool own = convert_table_find(convert->own, at->path) ||
		   convert_table_has_below(convert->own, at->path);
	/* rows of the module beat one of Ray's table that covers the whole value */
	bool below = own ? convert_table_has_below(convert->own, at->path)
			 : convert_table_has_below(convert->core, at->path);
	if (own && below && !convert_table_find(convert->own, at->path))
		rule = NULL;
	/* and rows of members one for all other keys */
	if (rule && below && strchr(rule->path, '*'))
		rule = NULL;
	bool each = rule && g_str_equal(rule->how, "each");
	bool acts = rule && !each;
	bool keeps_empty = acts && g_str_has_prefix(rule->how, "do ");
	if (is_empty(at->value) && (rule || below) && !keeps_empty)
		convert_key(convert, at->pointer, CONVERT_SAME, NULL, "it is empty");
	else if (acts)
		do
			convert_act(convert, rule, at);
		while (rule[1].path && g_str_equal(rule[1].path, rule->path) && rule++);
	else if (!below)
		unknown(convert, at);
	else if (json_is_object(at->value))
		convert_walk(convert, at, NULL);
	else if (json_is_array(at->value))
		walk_list(convert, at, each);
	else
		convert_key(convert, at->pointer, CONVERT_UNKNOWN, NULL, "it should be a mapping");
}

void convert_walk(Convert *convert, const ConvertAt *at, const char *const *except)
{
	if (!json_object_size(at->value) && *at->pointer)
		convert_key(convert, at->pointer, CONVERT_SAME, NULL, "it is empty");
	rg_json_foreach_member (name, member, at->value) {
		if (except && g_strv_contains(except, name))
			continue;
		g_autofree char *pointer = rg_json_pointer_add(at->pointer, name);
		g_autofree char *longer = rg_json_pointer_add(at->path, name);
		/* paths of the tables do not begin with a slash */
		const ConvertAt inner = {
			pointer, *at->path ? longer : longer + 1, member, at->node};
		convert_visit(convert, &inner);
	}
}

/* Nothing is dropped, even if a reader above forgets it. */
static void sweep(Convert *convert, json_t *value, const char *pointer)
{
	if (g_hash_table_contains(convert->seen, pointer))
		return;
	bool has_members = json_object_size(value) || json_array_size(value);
	if (!has_members && *pointer)
		convert_key(convert, pointer, CONVERT_UNKNOWN, NULL, "it was not read");
	rg_json_foreach_member (name, member, value) {
		g_autofree char *inner = rg_json_pointer_add(pointer, name);
		sweep(convert, member, inner);
	}
	rg_json_foreach_at (i, member, value) {
		g_autofree char *inner = g_strdup_printf("%s/%zu", pointer, i);
		sweep(convert, member, inner);
	}
}

void convert_sweep(Convert *convert)
{
	sweep(convert, convert->document->value, "");
}

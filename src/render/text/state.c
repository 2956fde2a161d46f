#include "render/text/paint.h"
#include "base/clock.h"
#include "resource/nodes.h"

static void add_values(
	GString *text, const RgResource *resource, const RgSchema *schema, const RgStyle *style)
{
	/* Requested and reported attributes, once each: the cloud's value counts. */
	json_auto_t *values = resource->attrs ? json_copy(resource->attrs) : json_object();
	json_object_update(values, rg_resource_outputs(resource));
	if (resource->id)
		rg_json_set_str(values, "id", resource->id);
	int width = columns_of_names(values);
	rg_json_foreach_member (key, value, values) {
		bool hide = !g_str_equal(key, "id") &&
			    rg_schema_hides(schema, resource->kind, key) && !json_is_integer(value);
		g_autofree char *name = clean(key);
		g_autofree char *prefix = g_strdup_printf("    %-*s =", width, name);
		if (hide)
			g_string_append_printf(text, "%s (sensitive value)\n", prefix);
		else
			add_value(text, style, prefix, value);
	}
}

/* The nodes that it stands for, if it is not one of its group, and the reason for their type. */
static void add_nodes(GString *text, const RgResource *resource)
{
	for (size_t i = 0; i < rg_nodes_pools(resource, NULL); i++) {
		const RgPoolNodes nodes = rg_nodes_get(resource, i);
		const char *reason = rg_json_str(nodes.pin, "reason", NULL);
		g_autofree char *pool = clean(nodes.pool);
		if (nodes.is_elastic)
			g_string_append_printf(text,
				"    # %u to %u nodes of %s, %u when it was last applied\n",
				nodes.min, nodes.max, pool, rg_nodes_now(&nodes, NULL));
		else if (!rg_nodes_are_plain(resource))
			g_string_append_printf(text, "    # %u node%s of %s\n", nodes.min,
				nodes.min == 1 ? "" : "s", pool);
		if (is_choice(reason))
			g_string_append_printf(text, "    # chosen: %s\n", reason);
	}
}

char *rg_render_resource(const RgResource *resource, const RgSchema *schema, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	g_autofree char *address = clean(resource->address);
	paintf(text, style, BOLD, "# %s:", address);
	g_string_append_printf(
		text, "\nresource \"%s\" \"%s\" {\n", resource->kind, resource->name);
	if (resource->presence == RG_PENDING)
		g_string_append(
			text, "    # its creation was interrupted; the next apply clears it up\n");
	add_values(text, resource, schema, style);
	if (g_strcmp0(resource->ownership, "adopted") == 0)
		g_string_append(text, "    # imported: it was not made by raygpu\n");
	if (resource->created_s) {
		g_autofree char *when = rg_clock_format(resource->created_s);
		g_string_append_printf(text, "    # created %s, generation %" G_GINT64_FORMAT "\n",
			when, resource->generation);
	}
	add_nodes(text, resource);
	g_string_append(text, "}\n");
	return text_finish(text, style);
}

char *rg_render_state(const char *cluster, const RgResourceSet *recorded, const RgSchema *schema,
	const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	size_t n = rg_resource_set_size(recorded);
	if (!n)
		g_string_append_printf(text, "The state of cluster %s is empty.\n", cluster);
	for (size_t i = 0; i < n; i++) {
		g_autofree char *one =
			rg_render_resource(rg_resource_set_get(recorded, i), schema, style);
		g_string_append_printf(text, "%s%s", i ? "\n" : "", one);
	}
	return text_finish(text, style);
}

static json_t *visible(const RgResource *resource, const RgSchema *schema, json_t *values)
{
	json_t *shown = json_object();
	rg_json_foreach_member (key, value, values) {
		bool hide = rg_schema_hides(schema, resource->kind, key) && !json_is_integer(value);
		json_object_set_new(shown, key, hide ? json_null() : json_incref(value));
	}
	return shown;
}

json_t *rg_render_resource_json(const RgResource *resource, const RgSchema *schema)
{
	json_t *row = json_object(), *values = visible(resource, schema, resource->attrs);
	json_auto_t *outputs = visible(resource, schema, rg_resource_outputs(resource));
	json_object_update(values, outputs);
	if (resource->id)
		rg_json_set_str(values, "id", resource->id);
	rg_json_set_str(row, "address", resource->address);
	rg_json_set_str(row, "mode", "managed");
	rg_json_set_str(row, "type", resource->kind);
	rg_json_set_str(row, "name", resource->name);
	if (resource->index >= 0)
		json_object_set_new(row, "index", json_integer(resource->index));
	json_object_set_new(row, "values", values);
	json_object_set_new(row, "pending", json_boolean(resource->presence == RG_PENDING));
	rg_json_set_str(row, "ownership", resource->ownership);
	if (!rg_nodes_are_plain(resource))
		json_object_set_new(row, "nodes", rg_nodes_json(resource));
	return row;
}

json_t *rg_render_state_json(const RgResourceSet *recorded, const RgSchema *schema)
{
	json_t *document = json_object(), *values = json_object(), *root = json_object();
	json_t *rows = json_array();
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++)
		json_array_append_new(
			rows, rg_render_resource_json(rg_resource_set_get(recorded, i), schema));
	rg_json_set_str(document, "format_version", "1.0");
	json_object_set_new(root, "resources", rows);
	json_object_set_new(values, "root_module", root);
	json_object_set_new(document, "values", values);
	return document;
}

#include "render/paint.h"

static const char *const type_words[] = {"missing", "changed", "unmanaged"};

static void add_attrs(GString *text, const RgDriftItem *item, const RgStyle *style)
{
	for (guint i = 0; i < item->attrs->len; i++) {
		const RgDriftAttr *attr = item->attrs->pdata[i];
		g_autofree char *desired = value_text(attr->desired);
		g_autofree char *recorded = value_text(attr->recorded);
		g_autofree char *observed = value_text(attr->observed);
		g_string_append_printf(text, "      ~ %s\n", attr->name);
		g_string_append_printf(text, "          in the cloud: %s\n", observed);
		g_string_append_printf(text, "          recorded:     %s\n", recorded);
		if (!json_equal(attr->desired, attr->recorded))
			g_string_append_printf(text, "          in the spec:  %s\n", desired);
	}
}

static void add_item(GString *text, const RgDriftItem *item, const RgStyle *style)
{
	const char *name = item->address ? item->address : item->kind;
	g_string_append(text, "  ");
	switch (item->type) {
	case RG_DRIFT_MISSING:
		paintf(text, style, RED, "# %s has been deleted", name);
		break;
	case RG_DRIFT_CHANGED:
		paintf(text, style, YELLOW, "# %s has changed", name);
		break;
	case RG_DRIFT_UNMANAGED:
		paintf(text, style, YELLOW,
			"# %s is not recorded, but carries this cluster's marks", name);
		break;
	}
	g_string_append_c(text, '\n');
	g_string_append_printf(text, "      id = \"%s\"%s%s%s\n", item->id ? item->id : "?",
		item->status ? " (" : "", item->status ? item->status : "",
		item->status ? ")" : "");
	if (item->source.line)
		g_string_append_printf(
			text, "      asked for at %s:%u\n", item->source.file, item->source.line);
	add_attrs(text, item, style);
	g_string_append_c(text, '\n');
}

static unsigned count(const RgDrift *drift, RgDriftType type)
{
	unsigned n = 0;
	for (guint i = 0; i < drift->items->len; i++)
		n += ((RgDriftItem *)drift->items->pdata[i])->type == type;
	return n;
}

char *rg_render_drift(const RgDrift *drift, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	if (drift->unread)
		paintf(text, style, RED,
			"Drift is not known: %u of %u resources could not be read.\n",
			drift->unread, drift->unread + drift->checked);
	if (!drift->items->len) {
		if (!drift->unread)
			paintf(text, style, GREEN,
				"No drift. %u resource%s of cluster %s %s as recorded.\n",
				drift->checked, drift->checked == 1 ? "" : "s", drift->cluster,
				drift->checked == 1 ? "is" : "are");
		return g_string_free(text, FALSE);
	}
	g_string_append(text, "Objects have changed outside of raygpu:\n\n");
	for (guint i = 0; i < drift->items->len; i++)
		add_item(text, drift->items->pdata[i], style);
	paintf(text, style, BOLD,
		"Drift: %u missing, %u changed, %u unmanaged; %u resources checked.",
		count(drift, RG_DRIFT_MISSING), count(drift, RG_DRIFT_CHANGED),
		count(drift, RG_DRIFT_UNMANAGED), drift->checked);
	g_string_append_c(text, '\n');
	if (count(drift, RG_DRIFT_MISSING) + count(drift, RG_DRIFT_CHANGED))
		g_string_append(text, "`raygpu apply` puts back what is missing or changed.\n");
	if (count(drift, RG_DRIFT_UNMANAGED))
		g_string_append(text, "Unmanaged resources are left alone: remove them by hand.\n");
	return g_string_free(text, FALSE);
}

static json_t *copy_or_null(json_t *value)
{
	return value ? json_incref(value) : json_null();
}

static json_t *item_json(const RgDriftItem *item)
{
	json_t *row = json_object(), *attrs = json_array();
	rg_json_set_str(row, "type", type_words[item->type]);
	rg_json_set_str(row, "address", item->address);
	rg_json_set_str(row, "kind", item->kind);
	rg_json_set_str(row, "pool", item->group);
	rg_json_set_str(row, "id", item->id);
	rg_json_set_str(row, "status", item->status);
	for (guint i = 0; i < item->attrs->len; i++) {
		const RgDriftAttr *attr = item->attrs->pdata[i];
		json_t *one = json_object();
		rg_json_set_str(one, "name", attr->name);
		json_object_set_new(one, "desired", copy_or_null(attr->desired));
		json_object_set_new(one, "recorded", copy_or_null(attr->recorded));
		json_object_set_new(one, "observed", copy_or_null(attr->observed));
		json_array_append_new(attrs, one);
	}
	json_object_set_new(row, "attributes", attrs);
	if (item->source.line) {
		json_t *source = json_object();
		rg_json_set_str(source, "file", item->source.file);
		json_object_set_new(source, "line", json_integer(item->source.line));
		json_object_set_new(source, "column", json_integer(item->source.column));
		json_object_set_new(row, "source", source);
	}
	return row;
}

json_t *rg_render_drift_json(const RgDrift *drift)
{
	json_t *document = json_object(), *rows = json_array(), *counts = json_object();
	for (guint i = 0; i < drift->items->len; i++)
		json_array_append_new(rows, item_json(drift->items->pdata[i]));
	for (int type = RG_DRIFT_MISSING; type <= RG_DRIFT_UNMANAGED; type++)
		json_object_set_new(
			counts, type_words[type], json_integer(count(drift, (RgDriftType)type)));
	rg_json_set_str(document, "format_version", "1.0");
	rg_json_set_str(document, "cluster", drift->cluster);
	/* null: nothing was seen, but not everything was read */
	json_object_set_new(document, "has_drift",
		drift->items->len == 0 && drift->unread ? json_null()
							: json_boolean(drift->items->len > 0));
	json_object_set_new(document, "errored", json_boolean(drift->unread > 0));
	json_object_set_new(document, "unread", json_integer(drift->unread));
	json_object_set_new(document, "checked", json_integer(drift->checked));
	json_object_set_new(document, "counts", counts);
	json_object_set_new(document, "drift", rows);
	return document;
}

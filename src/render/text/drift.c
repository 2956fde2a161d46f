#include "render/text/paint.h"
#include <string.h>

static const char *const type_words[] = {"missing", "changed", "unmanaged", "unhealthy"};

static void add_side(GString *text, const RgStyle *style, const char *word, json_t *value)
{
	g_autofree char *prefix = g_strdup_printf("          %-13s", word);
	add_value(text, style, prefix, value);
}

static void add_attrs(GString *text, const RgDriftItem *item, const RgStyle *style)
{
	rg_ptr_foreach (const RgDriftAttr, attr, item->attrs) {
		g_autofree char *name = clean(attr->name);
		g_string_append_printf(text, "      ~ %s\n", name);
		add_side(text, style, "in the cloud:", attr->observed);
		add_side(text, style, "recorded:", attr->recorded);
		if (!json_equal(attr->desired, attr->recorded))
			add_side(text, style, "in the spec:", attr->desired);
	}
}

/* Terraform's phrases, followed by the changed attributes, three lines each. */
static void add_item(GString *text, const RgDriftItem *item, const RgStyle *style)
{
	g_autofree char *name = drift_name(item), *id = clean(item->id ? item->id : "?");
	g_autofree char *status = clean(item->status);
	g_autofree char *phrase =
		item->type == RG_DRIFT_CHANGED
			? g_strconcat("has changed", item->interrupted ? INTERRUPTED : "", NULL)
			: drift_phrase(item);
	g_string_append(text, "  ");
	paintf(text, style, item->type == RG_DRIFT_MISSING ? RED : YELLOW, "# %s %s", name, phrase);
	g_string_append_printf(text, "\n      id = \"%s\"%s%s%s\n", id, status ? " (" : "",
		status ? status : "", status ? ")" : "");
	if (item->nodes)
		g_string_append_printf(
			text, "      %u node%s of Ray\n", item->nodes, item->nodes == 1 ? "" : "s");
	if (item->source.line)
		wrapf(text, style, "      ", "requested at %s:%u", item->source.file,
			item->source.line);
	add_attrs(text, item, style);
	g_string_append_c(text, '\n');
}

/* To paste into a shell: one command for each, on its own line. */
static void add_imports(GString *text, const RgDrift *drift, const RgStyle *style)
{
	wrapf(text, style, "",
		"Unmanaged resources are left unchanged: record them, or remove them manually.");
	rg_ptr_foreach (const RgDriftItem, item, drift->items) {
		if (item->type != RG_DRIFT_UNMANAGED || !item->id)
			continue;
		g_autofree char *spec = rg_shell_word(drift->spec ? drift->spec : "SPEC");
		g_autofree char *address = rg_shell_word(item->address ? item->address : "ADDRESS");
		g_autofree char *id = rg_shell_word(item->id);
		g_autofree char *line =
			g_strdup_printf("  raygpu import %s %s %s", spec, address, id);
		g_autofree char *shown = clean(line);
		g_string_append_printf(text, "%s\n", shown);
	}
}

/* What can be done about it. */
static void add_remedies(GString *text, const RgDrift *drift, const RgStyle *style)
{
	unsigned machines = 0;
	bool strangers = false;
	rg_ptr_foreach (const RgDriftItem, item, drift->items) {
		machines += item->type == RG_DRIFT_UNHEALTHY && item->machine && !item->strangers;
		strangers |= item->strangers;
	}
	if (machines)
		wrapf(text, style, "",
			"%u node%s %s unhealthy, although the cloud shows %s as recorded: `raygpu "
			"logs ADDRESS` prints a node's console, `raygpu apply --replace ADDRESS` "
			"replaces a node.",
			machines, machines == 1 ? "" : "s", machines == 1 ? "is" : "are",
			machines == 1 ? "it" : "them");
	if (strangers)
		wrapf(text, style, "",
			"raygpu leaves nodes of others in Ray alone: `ray stop` on such a node "
			"removes it from Ray.");
	if (drift_count(drift, RG_DRIFT_MISSING) + drift_count(drift, RG_DRIFT_CHANGED))
		g_string_append(text, "`raygpu apply` restores what is missing or changed.\n");
	if (drift_count(drift, RG_DRIFT_UNMANAGED))
		add_imports(text, drift, style);
}

static void add_drift(GString *text, const RgDrift *drift, const RgStyle *style)
{
	bool outside = false;
	for (guint i = 0; i < drift->items->len; i++)
		outside |= !((RgDriftItem *)drift->items->pdata[i])->interrupted;
	if (drift_count(drift, RG_DRIFT_UNHEALTHY) == drift->items->len)
		g_string_append(text, "Nodes are unhealthy:\n\n");
	else
		g_string_append_printf(text, "Objects have changed %s:\n\n",
			outside ? "outside of raygpu" : "since they were recorded");
	for (guint i = 0; i < drift->items->len; i++)
		add_item(text, drift->items->pdata[i], style);
	paintf(text, style, BOLD,
		"Drift: %u missing, %u changed, %u unmanaged; %u resources checked.",
		drift_count(drift, RG_DRIFT_MISSING), drift_count(drift, RG_DRIFT_CHANGED),
		drift_count(drift, RG_DRIFT_UNMANAGED), drift->checked);
	g_string_append_c(text, '\n');
	add_remedies(text, drift, style);
}

char *rg_render_drift(const RgDrift *drift, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	if (drift->acting)
		g_string_append_printf(text, "Credentials: %s\n\n", drift->acting);
	if (drift->unread)
		paintf(text, style, RED,
			"Drift is unknown: %u of %u resources could not be read.\n", drift->unread,
			drift->unread + drift->checked);
	if (drift->items->len)
		add_drift(text, drift, style);
	else if (!drift->unread)
		paintf(text, style, GREEN,
			"No drift. %u resource%s of cluster %s %s as recorded.\n", drift->checked,
			drift->checked == 1 ? "" : "s", drift->cluster,
			drift->checked == 1 ? "is" : "are");
	add_groups(text, drift->groups, style);
	return text_finish(text, style);
}

static json_t *copy_or_null(json_t *value)
{
	return value ? json_incref(value) : json_null();
}

json_t *rg_render_drift_item(const RgDriftItem *item)
{
	json_t *row = json_object(), *attrs = json_array();
	rg_json_set_str(row, "type", type_words[item->type]);
	rg_json_set_str(row, "address", item->address);
	rg_json_set_str(row, "kind", item->kind);
	rg_json_set_str(row, "pool", item->group);
	rg_json_set_str(row, "id", item->id);
	rg_json_set_str(row, "status", item->status);
	if (item->interrupted)
		json_object_set_new(row, "interrupted", json_true());
	if (item->nodes)
		json_object_set_new(row, "nodes", json_integer(item->nodes));
	rg_ptr_foreach (const RgDriftAttr, attr, item->attrs) {
		json_t *one = json_object();
		rg_json_set_str(one, "name", attr->name);
		json_object_set_new(one, "desired", copy_or_null(attr->desired));
		json_object_set_new(one, "recorded", copy_or_null(attr->recorded));
		json_object_set_new(one, "observed", copy_or_null(attr->observed));
		json_array_append_new(attrs, one);
	}
	if (item->reason)
		rg_json_set_str(row, "reason", item->reason);
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
		json_array_append_new(rows, rg_render_drift_item(drift->items->pdata[i]));
	for (int type = RG_DRIFT_MISSING; type <= RG_DRIFT_UNHEALTHY; type++)
		json_object_set_new(counts, type_words[type],
			json_integer(drift_count(drift, (RgDriftType)type)));
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
	if (json_array_size(drift->groups))
		json_object_set(document, "groups", drift->groups);
	return document;
}

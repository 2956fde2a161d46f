#include "render/paint.h"
#include "render/report.h"

/* What apply and destroy did to the clusters of one command. */

static void add_row(GString *text, const RgApplied *item, int width)
{
	g_autofree char *name = clean(item->cluster ? item->cluster : item->file);
	g_string_append_printf(text, "  %s%*s", name, width - (int)columns_of(name) + 2, "");
	if (item->result)
		g_string_append_printf(text, "%5u  %7u  %9u  ", item->result->added,
			item->result->changed, item->result->destroyed);
	else
		g_string_append_printf(text, "%5s  %7s  %9s  ", "-", "-", "-");
	g_autofree char *outcome = g_strdelimit(g_strdup(item->outcome), "-", ' ');
	g_string_append_printf(text, "%s\n", outcome);
}

char *rg_render_applied(const RgApplied *items, size_t n, const RgStyle *style)
{
	GString *text = g_string_new("\n");
	unsigned width = (unsigned)sizeof("CLUSTER") - 1, done = 0;
	for (size_t i = 0; i < n; i++) {
		g_autofree char *name = clean(items[i].cluster ? items[i].cluster : items[i].file);
		width = MAX(width, columns_of(name));
		done += g_str_equal(items[i].outcome, "done") ||
			g_str_equal(items[i].outcome, "nothing-to-do");
	}
	g_autofree char *head = g_strdup_printf("  %-*s  %5s  %7s  %9s  %s", (int)width, "CLUSTER",
		"ADDED", "CHANGED", "DESTROYED", "OUTCOME");
	paint(text, style, BOLD, n ? head : "");
	g_string_append(text, n ? "\n" : "");
	for (size_t i = 0; i < n; i++)
		add_row(text, &items[i], (int)width);
	g_string_append_printf(text, "%s%u of %zu clusters are done.\n", n ? "\n" : "", done, n);
	return text_finish(text, style);
}

static json_t *copy_of(const json_t *value)
{
	return value ? json_deep_copy(value) : json_array();
}

static json_t *counts_json(const RgApplyResult *result)
{
	json_t *counts = json_object();
	json_object_set_new(counts, "added", json_integer(result->added));
	json_object_set_new(counts, "changed", json_integer(result->changed));
	json_object_set_new(counts, "destroyed", json_integer(result->destroyed));
	json_object_set_new(counts, "given_back", json_integer(result->given_back));
	json_object_set_new(counts, "failed", json_integer(result->failed));
	json_object_set_new(counts, "blocked", json_integer(result->blocked));
	json_object_set_new(counts, "open", json_integer(result->open));
	return counts;
}

static json_t *item_json(const RgApplied *item)
{
	json_t *row = json_object();
	rg_json_set_str(row, "cluster", item->cluster);
	rg_json_set_str(row, "file", item->file);
	rg_json_set_str(row, "outcome", item->outcome);
	json_object_set_new(row, "exit_code", json_integer(item->exit_code));
	rg_json_set_str(row, "run", item->run);
	json_object_set_new(row, "counts", item->result ? counts_json(item->result) : json_null());
	json_object_set_new(row, "changes", copy_of(item->changes));
	json_object_set_new(row, "open", copy_of(item->open));
	json_object_set_new(row, "diagnostics", copy_of(item->diagnostics));
	return row;
}

json_t *rg_render_applied_json(
	const char *command, const RgApplied *items, size_t n, const RgDiags *diags, int exit_code)
{
	json_t *document = json_object(), *rows = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(rows, item_json(&items[i]));
	json_object_set_new(document, "raygpu_format", json_integer(1));
	rg_json_set_str(document, "command", command);
	json_object_set_new(document, "clusters", rows);
	json_object_set_new(document, "diagnostics", rg_render_diags_json(diags));
	json_object_set_new(document, "exit_code", json_integer(exit_code));
	return document;
}

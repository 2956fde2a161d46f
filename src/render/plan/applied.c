#include "render/text/paint.h"
#include "render/report/report.h"
#include "render/stream/stream_internal.h"

/* What apply and destroy did to the clusters of one command. */

char *rg_render_applied(const RgApplied *items, size_t n, const RgStyle *style)
{
	GString *text = g_string_new("\n");
	unsigned done = 0;
	g_autoptr(GPtrArray) rows = table_new("CLUSTER,ADDED,CHANGED,DESTROYED,OUTCOME");
	for (size_t i = 0; i < n; i++) {
		const RgApplyResult *result = items[i].result;
		g_autofree char *added =
			result ? g_strdup_printf("%u", result->added) : g_strdup("-");
		g_autofree char *changed =
			result ? g_strdup_printf("%u", result->changed) : g_strdup("-");
		g_autofree char *destroyed =
			result ? g_strdup_printf("%u", result->destroyed) : g_strdup("-");
		g_autofree char *outcome = g_strdelimit(g_strdup(items[i].outcome), "-", ' ');
		table_add(rows, items[i].cluster ? items[i].cluster : items[i].file, added, changed,
			destroyed, outcome, NULL);
		done += g_str_equal(items[i].outcome, "done") ||
			g_str_equal(items[i].outcome, "nothing-to-do");
	}
	if (n)
		paint_table(text, rows, &(TableLook){.indent = "  ", .numbers = 3}, style);
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
	json_object_set_new(counts, "imported", json_integer(result->imported));
	json_object_set_new(counts, "forgotten", json_integer(result->forgotten));
	json_object_set_new(counts, "given_back", json_integer(result->given_back));
	json_object_set_new(counts, "failed", json_integer(result->failed));
	json_object_set_new(counts, "blocked", json_integer(result->blocked));
	json_object_set_new(counts, "open", json_integer(result->open));
	if (result->queued)
		json_object_set_new(counts, "queued", json_integer(result->queued));
	return counts;
}

static json_t *ready_json(const RgReadyResult *ready)
{
	json_t *row = json_object();
	json_object_set_new(row, "awaited", json_integer(ready->awaited));
	json_object_set_new(row, "joined", json_integer(ready->joined));
	json_object_set_new(row, "failed", copy_of(ready->failed));
	return row;
}

json_t *applied_row(const RgApplied *item)
{
	json_t *row = json_object();
	rg_json_set_str(row, "cluster", item->cluster);
	message_set_name(row, "file", item->file);
	rg_json_set_str(row, "outcome", item->outcome);
	json_object_set_new(row, "exit_code", json_integer(item->exit_code));
	rg_json_set_str(row, "run", item->run);
	json_object_set_new(row, "counts", item->result ? counts_json(item->result) : json_null());
	json_object_set_new(row, "ready", item->ready ? ready_json(item->ready) : json_null());
	json_object_set_new(row, "changes", copy_of(item->changes));
	if (item->result && item->result->tried)
		json_object_set(row, "tried", item->result->tried);
	json_object_set_new(row, "open", copy_of(item->open));
	return row;
}

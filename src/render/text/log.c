#include "render/text/paint.h"
#include "base/clock.h"

static const char *outcome_color(const char *outcome)
{
	return g_str_equal(outcome, "done") ? GREEN : g_str_equal(outcome, "failed") ? RED : YELLOW;
}

static void add_head(GString *text, const json_t *run, unsigned cluster_width, const RgStyle *style)
{
	/* no end: it is still running, or it was killed and no other run came after it */
	const char *outcome = rg_json_str(run, "outcome", "not ended");
	g_autofree char *when = rg_clock_format(rg_json_int(run, "started_s", 0));
	g_autofree char *command = clean(rg_json_str(run, "command", "?"));
	g_autofree char *cluster = clean(rg_json_str(run, "cluster", "?"));
	paintf(text, style, BOLD, "run %s", rg_json_str(run, "id", "?"));
	g_string_append_printf(text, "  %s  ", when);
	if (cluster_width)
		g_string_append_printf(text, "%-*s  ", (int)cluster_width, cluster);
	g_string_append_printf(text, "%s  ", command);
	paint(text, style, outcome_color(outcome), outcome);
	if (json_is_integer(json_object_get(run, "ended_s")) &&
		json_is_integer(json_object_get(run, "started_s")))
		g_string_append_printf(text, " in %" G_GINT64_FORMAT " s",
			rg_json_int(run, "ended_s", 0) - rg_json_int(run, "started_s", 0));
	g_string_append_c(text, '\n');
}

/* "    author  A <a@example.org>"; nothing without a value. */
static void add_line(GString *text, const char *word, const char *value, const char *more)
{
	g_autofree char *shown = clean(value);
	if (shown)
		g_string_append_printf(text, "    %-7s %s%s\n", word, shown, more);
}

static void add_source(GString *text, const json_t *run)
{
	const char *commit = rg_json_str(run, "commit", NULL);
	const char *reason = rg_json_str(run, "budget_override", NULL);
	g_autofree char *brief = g_strndup(commit ? commit : "", 12);
	g_autofree char *exceeded = reason ? g_strconcat("exceeded: ", reason, NULL) : NULL;
	g_autofree char *by = g_strdup_printf(
		"%s on %s", rg_json_str(run, "user", "?"), rg_json_str(run, "host", "?"));
	add_line(text, "spec", rg_json_str(run, "spec", NULL), "");
	add_line(text, "commit", commit ? brief : NULL,
		rg_json_bool(run, "dirty", false) ? ", with changes that are not in it" : "");
	add_line(text, "author", rg_json_str(run, "author", NULL), "");
	add_line(text, "budget", exceeded, "");
	add_line(text, "by", by, "");
}

/* "  p4d.24xlarge in east-1a", "  p4d.24xlarge on spot in east-1a" */
static void add_node(GString *text, const json_t *node)
{
	g_autofree char *type = clean(rg_json_str(node, "instance_type", NULL));
	g_autofree char *zone = clean(rg_json_str(node, "zone", NULL));
	g_autofree char *market = clean(rg_json_str(node, "market", NULL));
	if (type)
		g_string_append_printf(text, "  %s%s%s%s%s", type, market ? " on " : "",
			market ? market : "", zone ? " in " : "", zone ? zone : "");
}

static void add_changes(GString *text, const json_t *changes, const RgStyle *style)
{
	rg_json_foreach (change, changes) {
		bool done = g_str_equal(rg_json_str(change, "outcome", ""), "done");
		g_autofree char *when = rg_clock_format(rg_json_int(change, "at_s", 0));
		g_string_append_printf(text, "    %s  %-7s %s", when,
			rg_json_str(change, "action", "?"), rg_json_str(change, "address", "?"));
		if (!done)
			paintf(text, style, RED, "  %s", rg_json_str(change, "outcome", "?"));
		add_node(text, json_object_get(change, "node"));
		g_string_append_c(text, '\n');
	}
}

char *rg_render_run(
	const json_t *run, const json_t *changes, unsigned cluster_width, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	add_head(text, run, cluster_width, style);
	add_source(text, run);
	/* "4 create, 1 failed"; words are the actions of the protocol. */
	const json_t *counts = json_object_get(run, "changes");
	const char *separator = "    changes ";
	rg_json_foreach_member (action, n, counts) {
		g_string_append_printf(text, "%s%" JSON_INTEGER_FORMAT " %s", separator,
			json_integer_value(n), action);
		separator = ", ";
	}
	g_string_append(text, json_object_size(counts) ? "\n" : "    changes none\n");
	add_changes(text, changes, style);
	return text_finish(text, style);
}

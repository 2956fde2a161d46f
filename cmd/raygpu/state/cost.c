#include "command.h"
#include "base/clock.h"
#include "render/text/cost.h"
#include <string.h>

/* What clusters cost, from the state alone: without specs or a cloud. */

typedef struct {
	char *by, *since, *format;
} Options;

/* "7d", "36h", "2w", "90m": seconds, or -1. */
static int64_t duration_of(const char *text)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
	char *end = NULL;
	guint64 n = g_ascii_isdigit(*text) ? g_ascii_strtoull(text, &end, 10) : 0;
	for (size_t i = 0; end && n <= 100000 && i < G_N_ELEMENTS(units); i++) {
		if (end[0] == units[i].unit && end[1] == '\0')
			return (int64_t)n * units[i].seconds;
	}
	return -1;
}

/* A date means its first second in UTC; a time without a zone is UTC. */
static bool parse_since(Context *context, const char *text, int64_t now_s, int64_t *since_s)
{
	int64_t seconds = duration_of(text);
	if (seconds >= 0) {
		*since_s = MAX(now_s - seconds, 1);
		return true;
	}
	g_autofree char *whole =
		strchr(text, 'T') ? g_strdup(text) : g_strconcat(text, "T00:00:00", NULL);
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) date = g_date_time_new_from_iso8601(whole, utc);
	int64_t at_s = date ? g_date_time_to_unix(date) : 0;
	if (at_s > 0 && at_s <= now_s) {
		*since_s = at_s;
		return true;
	}
	RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument", "--since \"%s\" is %s",
		text, at_s > now_s ? "in the future" : "not a time");
	rg_diag_hint(diag, "give a date, 2026-11-01, a time, 2026-11-01T08:00:00Z, or a duration: "
			   "90m, 36h, 7d, 4w");
	return false;
}

/* The clusters that the argument means: a spec's, the one with that name, or all. NULL with a
 * diagnostic. */
static GStrv find_clusters(Context *context, const char *argument)
{
	if (!argument)
		return rg_store_clusters(context->store, context->diags);
	g_autofree char *name = NULL;
	if (g_file_test(argument, G_FILE_TEST_IS_REGULAR)) {
		g_autoptr(RgCluster) cluster = rg_spec_load_file(argument, context->diags);
		if (!cluster)
			return NULL;
		name = g_strdup(cluster->name);
	} else {
		name = g_strdup(argument);
	}
	char *one[] = {name, NULL};
	return context_has_cluster(context, name) ? g_strdupv(one) : NULL;
}

static void print(Context *context, const Options *options, const RgSpend *spend, int64_t from_s)
{
	g_autofree char *text = NULL;
	if (context->json || g_strcmp0(options->format, "json") == 0) {
		json_auto_t *document = rg_render_cost_json(spend, from_s);
		out_json(document);
		return;
	}
	text = g_strcmp0(options->format, "csv") == 0
		       ? rg_render_cost_csv(spend)
		       : rg_render_cost(spend, from_s, &context->out);
	out_text(text);
}

static bool cost_check(Context *context, const Options *options, RgSpendBy *by, char **label)
{
	if (options->by && !rg_spend_by_parse(options->by, by, label)) {
		RgDiag *diag = rg_diags_error(
			context->diags, "usage.bad-argument", "unknown --by \"%s\"", options->by);
		rg_diag_hint(diag, "--by requires one of cluster, pool, market or label:KEY");
		return false;
	}
	static const char *const formats[] = {"table", "json", "csv", NULL};
	if (options->format && !g_strv_contains(formats, options->format)) {
		RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
			"unknown format \"%s\"", options->format);
		rg_diag_hint(diag, "--format requires one of table|json|csv");
		return false;
	}
	if (!context->json || !options->format || g_str_equal(options->format, "json"))
		return true;
	rg_diags_error(context->diags, "usage.conflict", "give --json or --format %s, not both",
		options->format);
	return false;
}

static int cost_run(Context *context, const Options *options, const char *argument)
{
	RgSpendBy by = RG_SPEND_BY_POOL;
	int64_t now_s = rg_clock_now_s(), since_s = 0, history_from_s = 0;
	g_autofree char *label = NULL;
	if (!cost_check(context, options, &by, &label) ||
		(options->since && !parse_since(context, options->since, now_s, &since_s)))
		return EXIT_USAGE;
	if (argument && g_file_test(argument, G_FILE_TEST_IS_REGULAR))
		context_use_spec(context, argument);
	context->store = context_open_state(context, RG_STORE_READ, context->diags);
	g_auto(GStrv) clusters = context->store ? find_clusters(context, argument) : NULL;
	if (!clusters)
		return rg_diags_exit_code(context->diags);
	g_autoptr(RgSpend) spend = rg_spend_new(by, label, since_s, now_s);
	for (size_t i = 0; clusters[i]; i++) {
		int64_t from_s;
		json_auto_t *lifetimes = rg_store_lifetimes(
			context->store, clusters[i], spend->since_s, context->diags);
		if (!lifetimes || !rg_store_history_from(
					  context->store, clusters[i], &from_s, context->diags))
			return rg_diags_exit_code(context->diags);
		rg_spend_add(spend, lifetimes);
		history_from_s = MAX(history_from_s, from_s);
	}
	print(context, options, spend, history_from_s);
	return EXIT_FINE;
}

int cmd_cost(Context *context, int argc, char **argv)
{
	Options options = {0};
	const GOptionEntry entries[] = {
		{"by", 0, 0, G_OPTION_ARG_STRING, &options.by,
			"what each row is for (default: pool)", "cluster|pool|market|label:KEY"},
		{"since", 0, 0, G_OPTION_ARG_STRING, &options.since,
			"count the spending since then", "DATE|DURATION"},
		{"format", 0, 0, G_OPTION_ARG_STRING, &options.format,
			"what to print (default: table)", "table|json|csv"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (options_parse(context, entries, &argc, &argv, 0, 1, &code))
		code = cost_run(context, &options, argc > 1 ? argv[1] : NULL);
	g_free(options.by);
	g_free(options.since);
	g_free(options.format);
	return code;
}

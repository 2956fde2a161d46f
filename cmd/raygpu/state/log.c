#include "command.h"
#include <string.h>

/* Shorter prefixes would soon match another run. */
#define MIN_RUN_PREFIX 4

/* The one run whose id begins with `prefix`, borrowed. */
static const json_t *find_run(Context *context, const json_t *runs, const char *prefix)
{
	const json_t *found = NULL;
	size_t matches = 0;
	rg_json_foreach (run, runs) {
		if (g_str_has_prefix(rg_json_str(run, "id", ""), prefix)) {
			found = run;
			matches++;
		}
	}
	if (matches == 1 && strlen(prefix) >= MIN_RUN_PREFIX)
		return found;
	RgDiag *diag = matches ? rg_diags_error(context->diags, "usage.bad-argument",
					 "\"%s\" is too short for a run id", prefix)
			       : rg_diags_error(context->diags, "usage.bad-argument",
					 "there is no run \"%s\"", prefix);
	rg_diag_hint(diag, "`raygpu log` lists the runs");
	return NULL;
}

/* Columns of the names, 0 if all runs are of one cluster. */
static unsigned cluster_width(GStrv clusters)
{
	size_t width = 0;
	for (char **name = clusters; clusters[0] && clusters[1] && *name; name++)
		width = MAX(width, strlen(*name));
	return (unsigned)width;
}

static int show_one(Context *context, const json_t *runs, unsigned width, const char *prefix)
{
	const json_t *run = find_run(context, runs, prefix);
	if (!run)
		return EXIT_USAGE;
	const char *id = rg_json_str(run, "id", "");
	json_auto_t *changes = rg_store_run_changes(context->store, id, context->diags);
	if (!changes)
		return rg_diags_exit_code(context->diags);
	if (context->json) {
		json_auto_t *document = json_copy(rg_json_unconst(run));
		json_object_set(document, "steps", changes);
		out_json(document);
	} else {
		g_autofree char *text = rg_render_run(run, changes, width, &context->out);
		out_text(text);
	}
	return EXIT_FINE;
}

static int show_all(Context *context, const json_t *runs, unsigned width, size_t limit)
{
	json_auto_t *shown = json_array();
	rg_json_foreach_at (i, run, runs) {
		if (limit && i >= limit)
			break;
		json_array_append(shown, run);
		if (context->json)
			continue;
		g_autofree char *text = rg_render_run(run, NULL, width, &context->out);
		out_text(i ? "\n" : "");
		out_text(text);
	}
	if (context->json)
		out_json(shown);
	return EXIT_FINE;
}

/* The clusters whose runs are requested: one, or all. NULL and a diagnostic. */
static GStrv find_clusters(Context *context)
{
	if (context->cluster) {
		char *one[] = {context->cluster, NULL};
		return context_has_cluster(context, context->cluster) ? g_strdupv(one) : NULL;
	}
	g_auto(GStrv) names = rg_store_clusters(context->store, context->diags);
	if (!names || names[0])
		return g_steal_pointer(&names);
	g_free(context_one_cluster(context)); /* reports that there is none */
	return NULL;
}

int cmd_log(Context *context, int argc, char **argv)
{
	int limit = 0, code = EXIT_FINE;
	const GOptionEntry entries[] = {
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"only this cluster of the state", "NAME"},
		{"max-count", 'n', 0, G_OPTION_ARG_INT, &limit, "only the newest N runs", "N"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	if (!options_parse(context, entries, &argc, &argv, 0, 1, &code))
		return code;
	if (limit < 0) {
		rg_diags_error(
			context->diags, "usage.bad-argument", "-n requires a number above 0");
		return EXIT_USAGE;
	}
	context->store = context_open_state(context, RG_STORE_READ, context->diags);
	g_auto(GStrv) clusters = context->store ? find_clusters(context) : NULL;
	json_auto_t *runs =
		clusters ? rg_store_runs(context->store, context->cluster, context->diags) : NULL;
	if (!runs)
		return rg_diags_exit_code(context->diags);
	unsigned width = cluster_width(clusters);
	return argc > 1 ? show_one(context, runs, width, argv[1])
			: show_all(context, runs, width, (size_t)limit);
}

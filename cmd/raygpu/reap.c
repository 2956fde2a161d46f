#include "turn.h"

/* reap: removes what the leases of the clusters in the state no longer cover. A scheduled job runs
 * it, so it does not ask; the steps are those of destroy. */

typedef struct {
	gboolean dry_run;
	ApplyOptions apply;
} ReapOptions;

/* ---- the specs */

/* Folders without specs are fine: their clusters may be left. */
static bool use_state(Context *context, char *const *arguments, const RgSpecs *specs)
{
	if (specs->files->len)
		return context_use_specs(context, specs);
	g_autofree char *spec = g_build_filename(arguments[0], DEFAULT_SPEC, NULL);
	context_use_spec(context, spec);
	return !context->state_unknown;
}

static RgSpecs *find_specs(Context *context, int argc, char **argv)
{
	char *const fallback[] = {(char *)(uintptr_t) ".", NULL};
	char *const *arguments = argc > 1 ? argv + 1 : fallback;
	for (guint i = 0; arguments[i] && !context->ref; i++) {
		if (g_file_test(arguments[i], G_FILE_TEST_EXISTS))
			continue;
		rg_diags_error(context->diags, "spec.none-found",
			"there is no file or folder \"%s\"", arguments[i]);
		return NULL;
	}
	const RgSpecsFrom from = {context->ref, NULL};
	g_autoptr(RgSpecs) specs = rg_specs_find(arguments, &from, context->diags);
	bool ok = specs && !rg_diags_has_errors(context->diags) &&
		  use_state(context, arguments, specs);
	return ok ? g_steal_pointer(&specs) : NULL;
}

static const RgSpecFile *spec_of(const RgSpecs *specs, const char *cluster)
{
	for (guint i = 0; i < specs->files->len; i++) {
		const RgSpecFile *file = specs->files->pdata[i];
		if (g_strcmp0(file->cluster, cluster) == 0)
			return file;
	}
	return NULL;
}

/* NULL: there is none, or it has errors, which are a warning. */
static RgCluster *load_spec(
	Context *context, const RgSpecFile *file, const char *cluster, RgDiags *diags)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autoptr(RgProvenance) provenance = NULL;
	RgCluster *spec = file ? rg_specs_load(file->path, context->ref, &provenance, found) : NULL;
	if (spec)
		rg_diags_take_all(diags, found);
	if (spec || !file)
		return spec;
	RgDiag *diag = rg_diags_warning(diags, "reap.spec-unreadable",
		"the spec of cluster %s has errors: the recorded lease decides", cluster);
	rg_diag_at(diag, file->source);
	rg_diag_hint(diag, "run `raygpu validate %s`", file->path);
	return NULL;
}

/* ---- what has ended */

/* The turn of a cluster of which something has ended; NULL: nothing. What it reports counts for the
 * whole command, so that it does not stop the turn. */
static Turn *look_at(Context *context, const RgSpecs *specs, const char *cluster, bool again)
{
	g_autoptr(RgDiags) diags = rg_diags_new(), unread = rg_diags_new();
	const RgSpecFile *file = spec_of(specs, cluster);
	g_autoptr(RgSnapshot) snapshot =
		rg_store_load(context->store, cluster, again ? unread : context->diags);
	if (!snapshot || !rg_snapshot_leases(snapshot))
		return NULL;
	g_autoptr(RgCluster) spec = load_spec(context, file, cluster, diags);
	g_autoptr(RgEnded) ended = rg_leases_ended(snapshot, spec, diags);
	if (!ended)
		rg_diags_drop(diags, "reap.spec-unreadable");
	if (!again)
		rg_diags_take_all(context->diags, diags);
	if (!ended)
		return NULL;
	Turn *turn = turn_new(cluster, file ? file->path : NULL, NULL);
	turn->ended = g_steal_pointer(&ended);
	return turn;
}

static void look_at_all(Context *context, const RgSpecs *specs, GPtrArray *turns)
{
	g_auto(GStrv) names = rg_store_clusters(context->store, context->diags);
	for (guint i = 0; names && names[i] && !signals_came(NULL); i++) {
		Turn *turn = look_at(context, specs, names[i], false);
		if (turn)
			g_ptr_array_add(turns, turn);
	}
}

/* Under the locks: an apply that had one may have extended the lease. */
static void look_again(Context *context, const RgSpecs *specs, GPtrArray *turns)
{
	for (guint i = turns->len; i > 0; i--) {
		Turn *turn = turns->pdata[i - 1];
		if (!turn->lock)
			continue;
		g_autoptr(Turn) now = look_at(context, specs, turn->cluster, true);
		if (!now) {
			g_ptr_array_remove_index(turns, i - 1);
			continue;
		}
		RgEnded *before = turn->ended;
		turn->ended = now->ended;
		now->ended = before;
	}
}

/* ---- the run */

static void show_only(Context *context, const ApplyOptions *options, GPtrArray *turns)
{
	for (guint i = 0; i < turns->len && !signals_came(NULL); i++) {
		Turn *turn = turns->pdata[i];
		if (options->several)
			tell_turn(context, i, turns->len, turn->cluster, turn->file);
		turn_plan(context, options, turn);
	}
}

static bool open_to_write(Context *context)
{
	g_clear_pointer(&context->store, rg_store_close);
	return context_open_session(context, RG_STORE_WRITE);
}

static void reap_work(
	Context *context, ReapOptions *options, const RgSpecs *specs, GPtrArray *turns)
{
	signals_start();
	if (!context_open_session(context, RG_STORE_READ))
		return;
	look_at_all(context, specs, turns);
	options->apply.several = turns->len > 1;
	if (!turns->len)
		say(context, "Nothing to reap.\n");
	if (!turns->len || (!options->dry_run && !open_to_write(context)))
		return;
	const ChangeOptions none = {0};
	change_options_use(context, &none, true);
	if (options->dry_run) {
		show_only(context, &options->apply, turns);
		options->apply.several = false; /* nothing was applied */
		return;
	}
	rg_store_set_canceled(context->store, signals_came, NULL);
	turns_lock(context, &options->apply, turns);
	look_again(context, specs, turns);
	turns_plan(context, &options->apply, turns);
	turns_execute(context, &options->apply, turns);
}

static bool options_check(Context *context, const ApplyOptions *options)
{
	if (options->parallelism >= 1 && options->parallelism <= 256 &&
		options->lock_timeout_s >= 0)
		return true;
	rg_diags_error(context->diags, "usage.bad-argument",
		"--parallelism must be 1 to 256, --lock-timeout 0 or more");
	return false;
}

static void reap_release(gpointer turn)
{
	turn_free(turn);
}

int cmd_reap(Context *context, int argc, char **argv)
{
	ReapOptions options = {.apply = {.destroy = true, .parallelism = 10}};
	const GOptionEntry entries[] = {
		{"dry-run", 0, 0, G_OPTION_ARG_NONE, &options.dry_run,
			"show what would be removed, and change nothing", NULL},
		{"parallelism", 0, 0, G_OPTION_ARG_INT, &options.apply.parallelism,
			"concurrent calls (default 10)", "N"},
		{"lock-timeout", 0, 0, G_OPTION_ARG_INT, &options.apply.lock_timeout_s,
			"seconds to wait for the state's lock (default 0)", "SECONDS"},
		REF_ENTRY(context),
		{"json-into", 0, 0, G_OPTION_ARG_FILENAME, &options.apply.json_into,
			"also write what --json prints to FILE", "FILE"},
		DETAIL_ENTRIES(context),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	stream_want(context);
	if (!options_parse(context, entries, &argc, &argv, 0, -1, &code))
		return code;
	g_autofree char *into = options.apply.json_into;
	if (!stream_open(context, into))
		return EXIT_ERROR;
	if (!options_check(context, &options.apply))
		return EXIT_USAGE;
	g_autoptr(GPtrArray) turns = g_ptr_array_new_with_free_func(reap_release);
	g_autoptr(RgSpecs) specs = find_specs(context, argc, argv);
	if (specs)
		reap_work(context, &options, specs, turns);
	return turns_finish(context, &options.apply, turns);
}

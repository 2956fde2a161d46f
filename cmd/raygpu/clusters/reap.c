#include "clusters/turn.h"
#include "state/write.h"

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
	const RgSpecsFrom from = {.ref = context->ref};
	g_autoptr(RgSpecs) specs = rg_specs_find(arguments, &from, context->diags);
	bool ok = specs && !rg_diags_has_errors(context->diags) &&
		  use_state(context, arguments, specs);
	return ok ? g_steal_pointer(&specs) : NULL;
}

static const RgSpecFile *spec_of(const RgSpecs *specs, const char *cluster)
{
	rg_ptr_foreach (const RgSpecFile, file, specs->files) {
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

/* ---- what people read */

/* "pool train of cluster x"; g_free. */
static char *ended_name(const Turn *turn, const char *pool)
{
	return pool ? g_strdup_printf("pool %s of cluster %s", pool, turn->cluster)
		    : g_strdup_printf("cluster %s", turn->cluster);
}

static int by_word(gconstpointer a, gconstpointer b)
{
	return g_strcmp0(a, b);
}

static void tell_lease(Context *context, const Turn *turn, const char *pool)
{
	g_autofree char *name = ended_name(turn, pool);
	g_autofree char *line = g_strdup_printf("The lease of %s has ended.\n", name);
	say(context, line);
}

/* Of the pools alone, or of the cluster. */
static void tell_ended(Context *context, const GPtrArray *turns)
{
	rg_ptr_foreach (const Turn, turn, turns) {
		if (turn->ended->cluster) {
			tell_lease(context, turn, NULL);
			continue;
		}
		g_autoptr(GList) pools =
			g_list_sort(g_hash_table_get_keys(turn->ended->pools), by_word);
		for (GList *at = pools; at; at = at->next)
			tell_lease(context, turn, at->data);
	}
}

/* "2 nodes destroyed, 1 was already gone" */
static char *reaped_text(unsigned destroyed, const char *removed, unsigned gone)
{
	GString *text = g_string_new(NULL);
	if (destroyed || !gone)
		g_string_append_printf(
			text, "%u node%s %s", destroyed, destroyed == 1 ? "" : "s", removed);
	if (gone)
		g_string_append_printf(text, "%s%u%s %s already gone", text->len ? ", " : "", gone,
			destroyed   ? ""
			: gone == 1 ? " node"
				    : " nodes",
			gone == 1 ? "was" : "were");
	return g_string_free(text, FALSE);
}

/* Nodes that the plan only forgets: {pool: number}. */
static json_t *gone_nodes(const Turn *turn)
{
	const RgSchema *schema = rg_provider_get_schema(turn->pass->provider);
	const GPtrArray *changes = turn->pass->plan->changes;
	json_t *counts = json_object();
	rg_ptr_foreach (const RgPlanChange, change, changes) {
		const RgKind *kind = rg_schema_kind(schema, change->kind);
		if (change->action == RG_ACTION_FORGET && change->group && kind && kind->node)
			json_object_set_new(counts, change->group,
				json_integer(rg_json_int(counts, change->group, 0) + 1));
	}
	return counts;
}

static void tell_pool(Context *context, const Turn *turn, const char *pool, unsigned gone)
{
	const RgPlanPool *planned = rg_plan_pool(turn->pass->plan, pool);
	unsigned destroyed = planned ? planned->destroyed : 0;
	g_autofree char *name = ended_name(turn, pool);
	const char *removed = planned && planned->removed ? planned->removed : "destroyed";
	g_autofree char *what = reaped_text(destroyed, removed, gone);
	g_autofree char *line = g_strdup_printf("Reaped %s: %s.\n", name, what);
	say(context, line);
}

static void tell_reaped(Context *context, const Turn *turn)
{
	if (g_strcmp0(turn->run.outcome, "done") != 0)
		return;
	g_autoptr(GHashTable) told = g_hash_table_new(g_str_hash, g_str_equal);
	json_auto_t *gone = gone_nodes(turn);
	const GPtrArray *changes = turn->pass->plan->changes;
	for (guint i = 0; i < changes->len; i++) {
		const char *pool = ((const RgPlanChange *)changes->pdata[i])->group;
		bool ended = pool && (turn->ended->whole ||
					     g_hash_table_contains(turn->ended->pools, pool));
		if (ended && g_hash_table_add(told, (char *)(uintptr_t)pool))
			tell_pool(context, turn, pool, (unsigned)rg_json_int(gone, pool, 0));
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
		tell_ended(context, turns);
		show_only(context, &options->apply, turns);
		options->apply.several = false; /* nothing was applied */
		return;
	}
	rg_store_set_canceled(context->store, signals_came, NULL);
	turns_lock(context, &options->apply, turns);
	look_again(context, specs, turns);
	tell_ended(context, turns);
	turns_plan(context, &options->apply, turns);
	turns_execute(context, &options->apply, turns);
	for (guint i = 0; i < turns->len; i++)
		tell_reaped(context, turns->pdata[i]);
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

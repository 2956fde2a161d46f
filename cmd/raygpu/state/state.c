#include "command.h"
#include "base/clock.h"
#include "intent/lease.h"
#include "state/write.h"
#include "state/move.h"

typedef struct {
	Context *context;
	RgSnapshot *snapshot;
	char **addresses;
	int n;
	bool dry_run;
} Call;

static int list(Call *call)
{
	const RgResourceSet *recorded = call->snapshot->recorded;
	json_auto_t *rows = json_array();
	g_autoptr(GString) text = g_string_new(NULL);
	rg_resource_foreach (resource, recorded) {
		json_array_append_new(rows, json_string(resource->address));
		g_string_append_printf(text, "%s\n", resource->address);
	}
	if (call->context->json)
		out_json(rows);
	else
		out_text(text->str);
	return EXIT_FINE;
}

static const RgResource *state_find(Call *call, const char *address)
{
	const RgResource *resource = rg_resource_set_find(call->snapshot->recorded, address);
	if (resource)
		return resource;
	RgDiag *diag = rg_diags_error(call->context->diags, "state.no-such-resource",
		"the state of cluster %s has no %s", call->snapshot->cluster, address);
	rg_diag_hint(diag, "`raygpu state list` lists its records");
	return NULL;
}

/* A pool by its name: its nodes, and its other resources. */
static GPtrArray *members_of(const RgResourceSet *recorded, const char *pool)
{
	GPtrArray *members = g_ptr_array_new();
	rg_resource_foreach (resource, recorded) {
		if (!pool || g_strcmp0(resource->group, pool) == 0)
			g_ptr_array_add(members, (RgResource *)(uintptr_t)resource);
	}
	return members;
}

/* Borrowed resources; NULL and a diagnostic: nothing has that name. */
static GPtrArray *shown_of(Call *call)
{
	const char *word = call->n ? call->addresses[0] : NULL;
	const RgResourceSet *recorded = call->snapshot->recorded;
	g_autoptr(GPtrArray) found = members_of(recorded, word);
	if (found->len || !word)
		return g_steal_pointer(&found);
	const RgResource *resource = state_find(call, word);
	if (!resource)
		return NULL;
	g_ptr_array_add(found, (RgResource *)(uintptr_t)resource);
	return g_steal_pointer(&found);
}

static int state_show(Call *call)
{
	g_autoptr(GPtrArray) shown = shown_of(call);
	if (!shown)
		return EXIT_USAGE;
	Context *context = call->context;
	context_open_providers(context);
	const RgSchema *schema =
		rg_provider_schema(context->providers, call->snapshot->provider, context->diags);
	if (!schema)
		return rg_diags_exit_code(context->diags);
	if (context->json) {
		/* An address prints an object, everything else a list. */
		json_auto_t *rows = json_array();
		for (guint i = 0; i < shown->len; i++)
			json_array_append_new(
				rows, rg_render_resource_json(shown->pdata[i], schema));
		const RgResource *first = shown->len ? shown->pdata[0] : NULL;
		bool one = call->n && g_str_equal(first->address, call->addresses[0]);
		out_json(one ? json_array_get(rows, 0) : rows);
		return EXIT_FINE;
	}
	for (guint i = 0; i < shown->len; i++) {
		g_autofree char *text = rg_render_resource(shown->pdata[i], schema, &context->out);
		out_text(i ? "\n" : "");
		out_text(text);
	}
	return EXIT_FINE;
}

static bool forget_all(Call *call)
{
	Context *context = call->context;
	for (int i = 0; i < call->n; i++) {
		if (!rg_store_forget(context->store, call->snapshot->cluster, call->addresses[i],
			    context->diags))
			return false;
	}
	return true;
}

/* A lease is in the cloud, not only in the record. */
static void warn_of_leases(const Call *call)
{
	const json_t *leases = rg_snapshot_leases(call->snapshot);
	for (int i = 0; i < call->n; i++) {
		const RgResource *resource =
			rg_resource_set_find(call->snapshot->recorded, call->addresses[i]);
		int64_t end_s = resource->group ? rg_lease_end_of(leases, resource->group) : 0;
		if (!end_s)
			continue;
		g_autofree char *end = rg_clock_show(end_s);
		RgDiag *diag = rg_diags_warning(call->context->diags, "state.not-told",
			"%s still has a lease, which ends it %s", resource->address, end);
		rg_diag_address(diag, resource->address, NULL);
		rg_diag_hint(diag, "to keep it, remove the lease in the cloud; `removed` in the "
				   "spec does both");
	}
}

static int forget(Call *call)
{
	Context *context = call->context;
	for (int i = 0; i < call->n; i++) {
		if (!state_find(call, call->addresses[i]))
			return EXIT_USAGE;
	}
	const RgRunBegin begin = {.cluster = call->snapshot->cluster,
		.provider = call->snapshot->provider,
		.region = call->snapshot->region};
	g_autofree char *run = note_begin(context, "state rm", &begin);
	if (!run || !note_end(context, run, forget_all(call)))
		return rg_diags_exit_code(context->diags);
	warn_of_leases(call);
	json_auto_t *rows = json_array();
	g_autoptr(GString) text = g_string_new(NULL);
	for (int i = 0; i < call->n; i++) {
		const RgResource *resource =
			rg_resource_set_find(call->snapshot->recorded, call->addresses[i]);
		json_array_append_new(rows,
			json_pack("{s:s, s:s?}", "address", resource->address, "id", resource->id));
		g_string_append_printf(text,
			"Removed %s from the state. It still exists in the cloud.\n",
			resource->address);
	}
	if (call->context->json)
		out_json(rows);
	else
		out_text(text->str);
	return EXIT_FINE;
}

static int move(Call *call)
{
	return state_move(call->context, call->snapshot, call->addresses, call->dry_run);
}

static int hardware(Call *call)
{
	return state_hardware(call->context, call->snapshot);
}

static int forget_hardware(Call *call)
{
	return state_forget_hardware(call->context, call->snapshot, call->addresses, call->n);
}

static int usage(Context *context, const Subcommand *verb)
{
	RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
		"wrong number of arguments for raygpu state %s", verb->name);
	rg_diag_hint(diag, "usage: raygpu state %s%s%s", verb->name, *verb->arguments ? " " : "",
		verb->arguments);
	return EXIT_USAGE;
}

/* What the words after `state` mean. */
typedef struct {
	const char *name;
	int (*action)(Call *);
	bool changes;
	int min, max; /* addresses */
} Verb;

static const Verb verbs[] = {
	{"list", list, false, 0, 0},
	{"show", state_show, false, 0, 1},
	{"rm", forget, true, 1, G_MAXINT},
	{"mv", move, true, 2, 2},
	{"hardware", hardware, false, 0, 0},
	{"forget-hardware", forget_hardware, true, 1, G_MAXINT},
};

static const Verb *find_verb(const char *name, int addresses)
{
	for (size_t i = 0; i < G_N_ELEMENTS(verbs); i++) {
		if (g_str_equal(verbs[i].name, name))
			return addresses >= verbs[i].min && addresses <= verbs[i].max ? &verbs[i]
										      : NULL;
	}
	return NULL;
}

typedef struct {
	char *lineage, *ray_token_file, *out;
	int lock_timeout_s;
	gboolean dry_run, force, redact, unseal;
} Options;

static unsigned timeout_ms(const Options *options)
{
	return (unsigned)MAX(options->lock_timeout_s, 0) * 1000;
}

static int run_verb(Context *context, const Verb *verb, const Options *options, Call *call)
{
	bool changes = verb->changes && !options->dry_run;
	g_autofree char *command = g_strconcat("state ", verb->name, NULL);
	context->store = context_open_state(
		context, changes ? RG_STORE_WRITE : RG_STORE_READ, context->diags);
	g_autofree char *cluster = context->store ? context_one_cluster(context) : NULL;
	if (!cluster)
		return rg_diags_exit_code(context->diags);
	g_autoptr(RgLock) lock = changes ? rg_lock_take(context->store, cluster, command,
						   timeout_ms(options), context->diags)
					 : NULL;
	if (changes && !lock)
		return rg_diags_exit_code(context->diags);
	g_autoptr(RgSnapshot) snapshot = rg_store_load(context->store, cluster, context->diags);
	if (!snapshot)
		return rg_diags_exit_code(context->diags);
	call->snapshot = snapshot;
	return verb->action(call);
}

static int push(Context *context, const char *file, const Options *options)
{
	const PushOptions told = {.force = options->force,
		.dry_run = options->dry_run,
		.lock_timeout_ms = timeout_ms(options)};
	return state_push(context, file, &told);
}

static int rekey(Context *context, const Options *options)
{
	const RekeyOptions told = {
		.unseal = options->unseal, .lock_timeout_ms = timeout_ms(options)};
	return state_rekey(context, &told);
}

/* An option of another subcommand must not be ignored silently. */
static bool options_fit(Context *context, const Subcommand *verb, const Options *options)
{
	const struct {
		bool given;
		const char *name;
	} rows[] = {{options->dry_run, "dry-run"}, {options->force, "force"},
		{options->redact, "redact"}, {options->unseal, "unseal"},
		{options->out != NULL, "out"}, {options->lineage != NULL, "lineage"},
		{options->ray_token_file != NULL, "ray-token-file"}};
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		if (!rows[i].given || subcommand_has_option(verb, rows[i].name))
			continue;
		RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
			"raygpu state %s has no option --%s", verb->name, rows[i].name);
		rg_diag_hint(diag, "`raygpu state %s -h` lists its options", verb->name);
		return false;
	}
	return true;
}

static int state_run(Context *context, int argc, char **argv, const Options *options)
{
	const char *verb = argv[1];
	const Subcommand *sub = subcommand_find("state", verb);
	if (!sub) {
		subcommand_unknown(context, "state", verb);
		return EXIT_USAGE;
	}
	if (!options_fit(context, sub, options))
		return EXIT_USAGE;
	if (g_str_equal(verb, "orphans"))
		return argc > 2 ? usage(context, sub) : state_orphans(context);
	if (g_str_equal(verb, "pull"))
		return argc > 2 ? usage(context, sub)
				: state_pull(context, options->out, options->redact);
	if (g_str_equal(verb, "push"))
		return argc != 3 ? usage(context, sub) : push(context, argv[2], options);
	if (g_str_equal(verb, "migrate"))
		return argc != 4 ? usage(context, sub)
				 : state_migrate(context, argv[2], argv[3], options->dry_run,
					   timeout_ms(options));
	if (g_str_equal(verb, "unlock"))
		return argc != 3 ? usage(context, sub) : state_unlock(context, argv[2]);
	if (g_str_equal(verb, "rekey"))
		return argc > 2 ? usage(context, sub) : rekey(context, options);
	if (g_str_equal(verb, "rebuild"))
		return argc > 3
			       ? usage(context, sub)
			       : state_rebuild(context, argc > 2 ? argv[2] : NULL, options->lineage,
					 options->ray_token_file, timeout_ms(options));
	const Verb *known = find_verb(verb, argc - 2);
	if (!known)
		return usage(context, sub);
	Call call = {.context = context,
		.addresses = argv + 2,
		.n = argc - 2,
		.dry_run = options->dry_run};
	return run_verb(context, known, options, &call);
}

int cmd_state(Context *context, int argc, char **argv)
{
	Options options = {0};
	const GOptionEntry entries[] = {
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"cluster of the state (default: the only one)", "NAME"},
		{"lock-timeout", 0, 0, G_OPTION_ARG_INT, &options.lock_timeout_s,
			"seconds to wait for the state's lock (default 0)", "SECONDS"},
		{"dry-run", 0, 0, G_OPTION_ARG_NONE, &options.dry_run,
			"migrate, mv, push: only show what would be done", NULL},
		{"force", 0, 0, G_OPTION_ARG_NONE, &options.force,
			"push: replace a newer state, or another lineage", NULL},
		{"out", 0, 0, G_OPTION_ARG_FILENAME, &options.out, "pull: write to FILE (0600)",
			"FILE"},
		{"redact", 0, 0, G_OPTION_ARG_NONE, &options.redact, "pull: leave out secrets",
			NULL},
		{"unseal", 0, 0, G_OPTION_ARG_NONE, &options.unseal,
			"rekey: no secret is sealed any more", NULL},
		{"lineage", 0, 0, G_OPTION_ARG_STRING, &options.lineage,
			"rebuild: lineage, if several states have created clusters of that name",
			"LINEAGE"},
		{"ray-token-file", 0, 0, G_OPTION_ARG_FILENAME, &options.ray_token_file,
			"rebuild: the Ray token of the running nodes, where the cloud does not "
			"report it",
			"FILE"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (!options_parse(context, entries, &argc, &argv, 1, -1, &code))
		return code;
	code = state_run(context, argc, argv, &options);
	g_free(options.lineage);
	g_free(options.ray_token_file);
	g_free(options.out);
	return code;
}

#include "command.h"

typedef struct {
	Context *context;
	RgSnapshot *snapshot;
	char **addresses;
	int n;
} Call;

static int list(Call *call)
{
	const RgResourceSet *recorded = call->snapshot->recorded;
	g_autoptr(RgJson) rows = json_array();
	g_autoptr(GString) text = g_string_new(NULL);
	for (size_t i = 0; i < rg_resource_set_size(recorded); i++) {
		const RgResource *resource = rg_resource_set_get(recorded, i);
		json_array_append_new(rows, json_string(resource->address));
		g_string_append_printf(text, "%s\n", resource->address);
	}
	if (call->context->json)
		out_json(rows);
	else
		out_text(text->str);
	return EXIT_FINE;
}

static const RgResource *find(Call *call, const char *address)
{
	const RgResource *resource = rg_resource_set_find(call->snapshot->recorded, address);
	if (resource)
		return resource;
	RgDiag *diag = rg_diags_error(call->context->diags, "state.no-such-resource",
		"the state of cluster %s has no %s", call->snapshot->cluster, address);
	rg_diag_hint(diag, "`raygpu state list` tells what it has");
	return NULL;
}

static int show(Call *call)
{
	const RgResource *resource = find(call, call->addresses[0]);
	if (!resource)
		return EXIT_USAGE;
	Context *context = call->context;
	context_open_providers(context);
	const RgSchema *schema =
		rg_provider_schema(context->providers, call->snapshot->provider, context->diags);
	if (!schema)
		return rg_diags_exit_code(context->diags);
	g_autofree char *text = rg_render_resource(resource, schema, &context->out);
	out_text(text);
	return EXIT_FINE;
}

static int forget(Call *call)
{
	Context *context = call->context;
	for (int i = 0; i < call->n; i++) {
		if (!find(call, call->addresses[i]))
			return EXIT_USAGE;
	}
	for (int i = 0; i < call->n; i++) {
		if (!rg_store_forget(context->store, call->snapshot->cluster, call->addresses[i],
			    context->diags))
			return rg_diags_exit_code(context->diags);
		g_autofree char *text =
			g_strdup_printf("Removed %s from the state. It still exists in the "
					"cloud.\n",
				call->addresses[i]);
		out_text(text);
	}
	return EXIT_FINE;
}

static int usage(Context *context)
{
	RgDiag *diag = rg_diags_error(context->diags, "usage.bad-argument",
		"raygpu state wants list, show ADDRESS, rm ADDRESS..., orphans or rebuild "
		"[SPEC]");
	rg_diag_hint(diag, "`raygpu state -h` tells more");
	return EXIT_USAGE;
}

static int run(Context *context, int argc, char **argv, const char *lineage, int lock_timeout_s)
{
	const char *verb = argv[1];
	if (g_str_equal(verb, "orphans"))
		return argc > 2 ? usage(context) : state_orphans(context);
	if (g_str_equal(verb, "rebuild"))
		return argc > 3 ? usage(context)
				: state_rebuild(context, argc > 2 ? argv[2] : NULL, lineage,
					  (unsigned)lock_timeout_s * 1000);
	bool changes = g_str_equal(verb, "rm");
	int (*action)(Call *) = g_str_equal(verb, "list")   ? list
				: g_str_equal(verb, "show") ? show
				: changes		    ? forget
							    : NULL;
	if (!action || (action == list && argc > 2) || (action == show && argc != 3) ||
		(changes && argc < 3))
		return usage(context);
	context->store = rg_store_open(context_state_path(context),
		changes ? RG_STORE_WRITE : RG_STORE_READ, context->diags);
	g_autofree char *cluster = context->store ? context_one_cluster(context) : NULL;
	if (!cluster)
		return rg_diags_exit_code(context->diags);
	g_autoptr(RgLock) lock = changes ? rg_lock_take(context->store, cluster, "state rm",
						   (unsigned)lock_timeout_s * 1000, context->diags)
					 : NULL;
	if (changes && !lock)
		return rg_diags_exit_code(context->diags);
	Call call = {.context = context, .addresses = argv + 2, .n = argc - 2};
	g_autoptr(RgSnapshot) snapshot = rg_store_load(context->store, cluster, context->diags);
	if (!snapshot)
		return rg_diags_exit_code(context->diags);
	call.snapshot = snapshot;
	return action(&call);
}

int cmd_state(Context *context, int argc, char **argv)
{
	int lock_timeout_s = 0;
	g_autofree char *lineage = NULL;
	const GOptionEntry entries[] = {
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"which cluster of the state (the only one)", "NAME"},
		{"lock-timeout", 0, 0, G_OPTION_ARG_INT, &lock_timeout_s,
			"wait so long for the state's lock (0)", "SECONDS"},
		{"lineage", 0, 0, G_OPTION_ARG_STRING, &lineage,
			"rebuild: which of several states of that name", "LINEAGE"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (!options_parse(context, entries, &argc, &argv, 1, -1, &code))
		return code;
	return run(context, argc, argv, lineage, MAX(lock_timeout_s, 0));
}

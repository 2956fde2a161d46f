#include "command.h"

static int show_plan(Context *context, const char *path)
{
	g_autoptr(RgPlan) plan = plan_file_load(context, path, NULL);
	if (!plan)
		return rg_diags_exit_code(context->diags);
	if (context->json) {
		g_autoptr(RgJson) document = rg_plan_to_json(plan);
		out_json(document);
	} else {
		g_autofree char *text = rg_render_plan(plan, &context->out);
		out_text(text);
	}
	return EXIT_FINE;
}

static const RgSchema *schema_of(Context *context, const RgSnapshot *snapshot)
{
	if (!snapshot->provider)
		return NULL;
	context_open_providers(context);
	return rg_provider_schema(context->providers, snapshot->provider, context->diags);
}

static int show_state(Context *context)
{
	context->store = rg_store_open(context_state_path(context), RG_STORE_READ, context->diags);
	g_autofree char *cluster = context->store ? context_one_cluster(context) : NULL;
	g_autoptr(RgSnapshot) snapshot =
		cluster ? rg_store_load(context->store, cluster, context->diags) : NULL;
	const RgSchema *schema = snapshot ? schema_of(context, snapshot) : NULL;
	if (!schema)
		return rg_diags_has_errors(context->diags) ? rg_diags_exit_code(context->diags)
							   : EXIT_FINE;
	if (context->json) {
		g_autoptr(RgJson) document = rg_render_state_json(snapshot, schema);
		out_json(document);
	} else {
		g_autofree char *text = rg_render_state(snapshot, schema, &context->out);
		out_text(text);
	}
	return EXIT_FINE;
}

int cmd_show(Context *context, int argc, char **argv)
{
	const GOptionEntry entries[] = {
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"which cluster of the state (the only one)", "NAME"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (!options_parse(context, entries, &argc, &argv, 0, 1, &code))
		return code;
	return argc > 1 ? show_plan(context, argv[1]) : show_state(context);
}

#include "command.h"

/* The changes of a plan and their order, for Graphviz: `raygpu graph | dot -Tsvg`. */

static int print_graph(Context *context, const RgPlan *plan)
{
	if (!plan)
		return rg_diags_exit_code(context->diags);
	g_autofree char *text = rg_render_graph(plan);
	out_text(text);
	return rg_diags_exit_code(context->diags);
}

static int graph_run(Context *context, const char *path)
{
	bool is_plan = false;
	if (path && !context->ref && !g_str_equal(path, "-")) {
		g_autoptr(RgPlan) plan = plan_file_load(context, path, &is_plan);
		if (is_plan)
			return print_graph(context, plan);
	}
	const ChangeOptions options = {0};
	context_use_spec(context, path);
	if (!context_open_session(context, RG_STORE_READ))
		return rg_diags_exit_code(context->diags);
	change_options_use(context, &options, false);
	g_autoptr(RgPass) pass = make_pass(context, path, NULL, context->diags);
	return print_graph(context, pass ? pass->plan : NULL);
}

int cmd_graph(Context *context, int argc, char **argv)
{
	const GOptionEntry entries[] = {
		REF_ENTRY(context),
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"work from the state alone on this cluster", "NAME"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	return options_parse(context, entries, &argc, &argv, 0, 1, &code)
		       ? graph_run(context, argc > 1 ? argv[1] : NULL)
		       : code;
}

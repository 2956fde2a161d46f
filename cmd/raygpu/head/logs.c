#include "command.h"
#include "ready/console.h"

/* One node's console, as the cloud has it, or the host itself. */

static bool is_node(const RgPass *pass, const RgResource *resource)
{
	const RgKind *kind = rg_schema_kind(rg_provider_get_schema(pass->provider), resource->kind);
	return resource->id && kind && kind->node;
}

/* The first node of that pool; NULL: none has it. */
static const RgResource *find_in_pool(const RgPass *pass, const char *pool)
{
	const RgResourceSet *recorded = pass->snapshot->recorded;
	rg_resource_foreach (resource, recorded) {
		if (g_strcmp0(resource->group, pool) == 0 && is_node(pass, resource))
			return resource;
	}
	return NULL;
}

static const RgResource *find_node(Context *context, const RgPass *pass, const char *address)
{
	const RgResource *node = rg_resource_set_find(pass->snapshot->recorded, address);
	if (node && is_node(pass, node))
		return node;
	const RgResource *meant = find_in_pool(pass, address);
	RgDiag *diag = rg_diags_error(context->diags, "state.no-such-resource",
		node ? "%s is not a node" : "the state has no resource %s", address);
	if (meant)
		rg_diag_hint(diag, "%s is a pool: name one of its nodes, such as %s", address,
			meant->address);
	else
		rg_diag_hint(diag, "`raygpu state list` lists the recorded resources");
	return NULL;
}

/* NULL with a diagnostic. g_free */
static char *read_console(Context *context, const RgPass *pass, const RgResource *node)
{
	if (!rg_provider_offers(pass->provider, "console")) {
		rg_diags_error(context->diags, "ready.no-console",
			"provider %s cannot read the console of a node",
			rg_provider_name(pass->provider));
		return NULL;
	}
	json_auto_t *input = json_pack("{s:s, s:[{s:s, s:s}]}", "kind", node->kind, "items",
		"address", node->address, "id", node->id);
	size_t before = rg_diags_count(context->diags);
	g_autoptr(GPtrArray) results = rg_provider_console(pass->provider, input, context->diags);
	RgItemResult *result = results->pdata[0];
	if (result->outcome == RG_OUTCOME_DONE)
		return g_steal_pointer(&result->text);
	if (rg_diags_count(context->diags) == before) {
		RgDiag *diag = rg_diags_error(context->diags, rg_class_code(result->class_),
			"cannot read the console of %s: %s", node->address, result->message);
		rg_diag_address(diag, node->address, NULL);
		if (result->hint)
			rg_diag_hint(diag, "%s", result->hint);
		rg_diag_cloud(
			diag, rg_provider_name(pass->provider), result->code, result->request_id);
	}
	return NULL;
}

/* "ADDRESS (ID): failed at step pull: can't pull ..." */
static char *summary_of(const RgResource *node, const RgConsole *console)
{
	GString *text = g_string_new(NULL);
	g_string_append_printf(text, "%s (%s): ", node->address, node->id);
	if (console->state == RG_NODE_SILENT)
		g_string_append(text, "its start script has not reported anything yet");
	else if (console->state == RG_NODE_JOINED)
		g_string_append(text, "joined Ray");
	else if (console->reason)
		g_string_append_printf(text, "%s at step %s: %s",
			console->code == RG_NODE_GAVE_UP ? "failed" : "failed and tries again",
			console->failed_step, console->reason);
	else
		g_string_append_printf(
			text, "%s, step %s", rg_node_state_name(console->state), console->step);
	g_string_append_c(text, '\n');
	return g_string_free(text, FALSE);
}

static json_t *document_of(const RgResource *node, const char *text, const RgConsole *console)
{
	json_t *document = json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?, s:s?, s:s}", "address",
		node->address, "id", node->id, "state", rg_node_state_name(console->state), "step",
		console->step, "failed_step", console->failed_step, "reason", console->reason,
		"driver", console->driver, "console", text);
	json_object_set_new(
		document, "gpus", console->gpus < 0 ? json_null() : json_integer(console->gpus));
	return document;
}

static int print_logs(Context *context, const RgPass *pass, const char *address)
{
	const RgResource *node = find_node(context, pass, address);
	g_autofree char *text = node ? read_console(context, pass, node) : NULL;
	if (!text)
		return rg_diags_exit_code(context->diags);
	g_autoptr(RgConsole) console = rg_console_parse(text);
	if (context->json) {
		json_auto_t *document = document_of(node, text, console);
		out_json(document);
		return EXIT_FINE;
	}
	bool reports = rg_ready_reports(pass->provider);
	g_autofree char *summary = reports ? summary_of(node, console) : g_strdup("");
	g_auto(GStrv) lines = g_strsplit(text, "\r\n", -1);
	g_autofree char *whole = g_strjoinv("\n", lines);
	out_text(whole);
	err_text(context, summary);
	return EXIT_FINE;
}

static int logs_run(Context *context, const char *address)
{
	if (!context_open_session(context, RG_STORE_READ))
		return rg_diags_exit_code(context->diags);
	g_autofree char *cluster = context_one_cluster(context);
	g_autoptr(RgPass) pass =
		cluster ? rg_pipeline_open_recorded(&context->session, cluster, context->diags)
			: NULL;
	return pass ? print_logs(context, pass, address) : rg_diags_exit_code(context->diags);
}

int cmd_logs(Context *context, int argc, char **argv)
{
	const GOptionEntry entries[] = {
		{"cluster", 0, 0, G_OPTION_ARG_STRING, &context->cluster,
			"cluster of the state (default: the only one)", "NAME"},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	return options_parse(context, entries, &argc, &argv, 1, 1, &code)
		       ? logs_run(context, argv[1])
		       : code;
}

#include "command.h"
#include "intent/intent.h"

/* " (1 disabled)" */
static char *disabled_of(const RgCluster *cluster)
{
	unsigned n = 0;
	for (guint i = 0; i < cluster->pools->len; i++)
		n += ((RgPool *)cluster->pools->pdata[i])->is_disabled;
	return n ? g_strdup_printf(" (%u disabled)", n) : g_strdup("");
}

/* Lines that have done their work. Only a state in a file can be read without the network, and
 * without one a plan reports them. */
static void tell_spent(Context *context, const char *path, const RgCluster *cluster)
{
	if (!rg_intent_acts_once(cluster) || g_str_equal(path, "-"))
		return;
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_clear_pointer(&context->state_path, g_free);
	g_clear_pointer(&context->state_shown, g_free);
	context_use_spec(context, path);
	bool here = context_state_path(context) && rg_store_is_file(context->state_path) &&
		    g_file_test(context->state_path, G_FILE_TEST_EXISTS);
	g_autoptr(RgStore) store =
		here ? rg_store_open(context->state_path, RG_STORE_READ, unread) : NULL;
	g_autoptr(RgSnapshot) snapshot = store ? rg_store_load(store, cluster->name, unread) : NULL;
	if (snapshot)
		rg_intent_tell_spent(cluster, snapshot, context->diags);
}

static void one(Context *context, const char *path, json_t *views)
{
	size_t before = rg_diags_count_of(context->diags, RG_SEVERITY_ERROR);
	g_autoptr(RgCluster) cluster = rg_pipeline_validate(
		context->providers, path, context->ref, context->trusted, context->diags);
	if (!cluster || rg_diags_count_of(context->diags, RG_SEVERITY_ERROR) > before)
		return;
	tell_spent(context, path, cluster);
	json_object_set(views, path, cluster->view);
	if (context->json)
		return;
	unsigned nodes = rg_cluster_nodes(cluster);
	g_autofree char *place = rg_place_text(cluster->provider.name, cluster->provider.region);
	g_autofree char *disabled = disabled_of(cluster);
	g_autofree char *file = rg_render_name(path);
	g_autofree char *text = g_strdup_printf(
		"Success! \"%s\" is valid: cluster %s, %u pool%s%s, %u node%s in %s.\n", file,
		cluster->name, cluster->pools->len, cluster->pools->len == 1 ? "" : "s", disabled,
		nodes, nodes == 1 ? "" : "s", place);
	out_text(text);
}

/* Without the state nobody knows whether they run. */
static void tell_removed(Context *context, const RgSpecs *specs)
{
	rg_ptr_foreach (const RgSpecFile, file, specs->removed) {
		RgDiag *diag = rg_diags_warning(context->diags, "spec.removed",
			"the spec of cluster %s was removed: if it runs, it keeps running and "
			"costs money",
			file->cluster);
		rg_diag_detail(diag, "it was in %s", file->path);
		rg_diag_hint(diag, "destroy it with `raygpu destroy --cluster %s`", file->cluster);
	}
}

static int validate_run(Context *context, int argc, char **argv)
{
	g_autoptr(RgSpecs) specs = specs_of(context, argc, argv);
	json_auto_t *views = json_object();
	context_open_providers(context);
	for (guint i = 0; specs && i < specs->files->len; i++)
		one(context, ((RgSpecFile *)specs->files->pdata[i])->path, views);
	if (specs)
		tell_removed(context, specs);
	int code = rg_diags_exit_code(context->diags);
	if (context->json) {
		/* The form of `terraform validate -json`, plus the JSON view of each file. */
		json_auto_t *report = json_object();
		rg_json_set_str(report, "format_version", "1.0");
		json_object_set_new(
			report, "valid", json_boolean(!rg_diags_has_errors(context->diags)));
		json_object_set_new(report, "error_count",
			json_integer(
				(json_int_t)rg_diags_count_of(context->diags, RG_SEVERITY_ERROR)));
		json_object_set_new(report, "warning_count",
			json_integer((json_int_t)rg_diags_count_of(
				context->diags, RG_SEVERITY_WARNING)));
		json_object_set_new(report, "diagnostics", rg_render_diags_json(context->diags));
		json_object_set(report, "specs", views);
		out_json(report);
		rg_diags_clear(context->diags); /* the report contains them */
	} else if (specs && !specs->files->len && !code)
		out_text("No spec has changed.\n");
	return code;
}

int cmd_validate(Context *context, int argc, char **argv)
{
	const GOptionEntry entries[] = {
		REF_ENTRY(context),
		CHANGED_ENTRY(context),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	return options_parse(context, entries, &argc, &argv, 0, -1, &code)
		       ? validate_run(context, argc, argv)
		       : code;
}

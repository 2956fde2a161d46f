#include "command.h"

/* The form of `terraform validate -json`, plus the JSON view of each file. */
static json_t *report_new(const RgDiags *diags, json_t *views)
{
	json_t *report = json_object();
	rg_json_set_str(report, "format_version", "1.0");
	json_object_set_new(report, "valid", json_boolean(!rg_diags_has_errors(diags)));
	json_object_set_new(report, "error_count",
		json_integer((json_int_t)rg_diags_count_of(diags, RG_SEVERITY_ERROR)));
	json_object_set_new(report, "warning_count",
		json_integer((json_int_t)rg_diags_count_of(diags, RG_SEVERITY_WARNING)));
	json_object_set_new(report, "diagnostics", rg_render_diags_json(diags));
	json_object_set_new(report, "specs", views);
	return report;
}

static void one(Context *context, const char *path, json_t *views)
{
	size_t before = rg_diags_count_of(context->diags, RG_SEVERITY_ERROR);
	g_autoptr(RgCluster) cluster =
		rg_pipeline_validate(context->providers, path, context->diags);
	if (!cluster || rg_diags_count_of(context->diags, RG_SEVERITY_ERROR) > before)
		return;
	json_object_set(views, path, cluster->view);
	if (context->json)
		return;
	g_autofree char *text = g_strdup_printf(
		"Success! \"%s\" is valid: cluster %s, %u pool%s, %u "
		"nodes in %s %s.\n",
		path, cluster->name, cluster->pools->len, cluster->pools->len == 1 ? "" : "s",
		rg_cluster_nodes(cluster), cluster->provider.name, cluster->provider.region);
	out_text(text);
}

int cmd_validate(Context *context, int argc, char **argv)
{
	int code = EXIT_FINE;
	if (!options_parse(context, NULL, &argc, &argv, 0, -1, &code))
		return code;
	context_open_providers(context);
	json_t *views = json_object();
	if (argc < 2)
		one(context, "cluster.yaml", views);
	for (int i = 1; i < argc; i++)
		one(context, argv[i], views);
	code = rg_diags_exit_code(context->diags);
	if (!context->json) {
		json_decref(views);
		return code;
	}
	g_autoptr(RgJson) report = report_new(context->diags, views);
	out_json(report);
	rg_diags_clear(context->diags); /* they stand in the report */
	return code;
}

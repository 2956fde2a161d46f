/* Runs spec, catalog, fit and boot on files, as the pipeline does:
 *   fit_view MODULE_DIR SPEC FACTS|- PINS|- LINEAGE|- LIMIT_BYTES|container|nothing
 * Prints {"request", "fitted", "user_data": [texts with sample values for references]} and, if
 * something is wrong, {"errors": [...]}; tests/cli/boot/test_boot.py and tests/cli/fit/test_fit.py
 * read it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "boot/boot.h"
#include "catalog_folder.h"
#include "fit/fit.h"
#include "resource/expr.h"
#include "spec/spec.h"

static json_t *read_json(const char *path)
{
	json_error_t error;
	if (g_str_equal(path, "-"))
		return NULL;
	json_t *value = json_load_file(path, 0, &error);
	if (!value)
		g_error("%s: %s", path, error.text);
	return value;
}

static json_t *sample_value(void *data, const char *address, const char *attr)
{
	(void)data;
	if (g_str_equal(address, "@head") && g_str_equal(attr, "address"))
		return json_string("10.1.2.3");
	if (g_str_equal(address, "raygpu.secret.ray_token") && g_str_equal(attr, "value"))
		return json_string("<token>");
	return NULL;
}

/* The text itself, or the expression without the compression around it. */
static json_t *plain_text(json_t *user_data, RgDiags *diags)
{
	json_t *inner = json_object_get(user_data, "$gzip_base64");
	return rg_expr_resolve(inner ? inner : user_data, sample_value, NULL, diags);
}

static json_t *diags_json(const RgDiags *diags)
{
	json_t *list = json_array();
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s?, s:s?, s:i}", "code", diag->code,
				      "summary", diag->summary, "detail", diag->detail, "hint",
				      diag->hint, "line", (int)diag->source.line));
	}
	return list;
}

static char *fragment(const char *module, const char *name)
{
	g_autofree char *path = g_build_filename(module, "boot", name, NULL);
	char *text = NULL;
	g_file_get_contents(path, &text, NULL, NULL);
	return text;
}

static RgSource source_of(const void *cluster, const char *origin)
{
	return rg_cluster_source(cluster, origin);
}

static bool render(char **args, const RgCluster *cluster, json_t *fitted, RgDiags *diags)
{
	g_autofree char *cloud = fragment(args[1], "cloud.sh");
	g_autofree char *fast_network = fragment(args[1], "fast-network.sh");
	RgBootOptions options = {.by = g_str_equal(args[6], "container") ? RG_BOOT_CONTAINER
				       : g_str_equal(args[6], "nothing") ? RG_BOOT_NOTHING
									 : RG_BOOT_CLOUD_INIT,
		.user_data_bytes = strtoul(args[6], NULL, 10),
		.cloud = cloud,
		.fast_network = fast_network,
		.lease = true,
		.gzip_size = rg_expr_gzip_size};
	bool ok = rg_boot_render(fitted, &options, diags);
	rg_diags_locate(diags, source_of, cluster);
	return ok;
}

static json_t *run(char **args, RgDiags *diags)
{
	g_autoptr(RgCluster) cluster = rg_spec_load_file(args[2], diags);
	g_autoptr(RgCatalog) catalog = catalog_folder_open(args[1], "aws", NULL, diags);
	json_auto_t *facts = read_json(args[3]), *pins = read_json(args[4]);
	const char *lineage = !g_str_equal(args[5], "-") ? args[5] : NULL;
	if (!cluster || !catalog)
		return NULL;
	g_autoptr(RgShapes) shapes = rg_fit_shapes(cluster, catalog, pins, diags);
	if (!shapes)
		return NULL;
	json_auto_t *fitted = rg_fit(cluster, shapes, facts, pins, lineage, NULL, diags);
	if (!fitted || !render(args, cluster, fitted, diags))
		return NULL;
	json_t *texts = json_array();
	size_t i;
	json_t *node;
	json_array_foreach (json_object_get(fitted, "nodes"), i, node) {
		json_t *user_data = rg_json_at(node, "/boot/user_data");
		if (user_data)
			json_array_append_new(texts, plain_text(user_data, diags));
	}
	json_t *request = json_deep_copy(rg_fit_request(shapes));
	return json_pack("{s:o, s:O, s:o}", "request", request ? request : json_null(), "fitted",
		fitted, "user_data", texts);
}

int main(int argc, char **argv)
{
	if (argc != 7)
		return 2;
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *result = run(argv, diags);
	json_auto_t *all = result ? json_incref(result) : json_object();
	json_object_set_new(all, "errors", diags_json(diags));
	g_autofree char *text = json_dumps(all, JSON_INDENT(2));
	puts(text);
	return result ? 0 : 1;
}

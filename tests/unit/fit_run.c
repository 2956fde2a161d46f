#include "fit_run.h"
#include <string.h>
#include "catalog_folder.h"
#include "spec/spec.h"

static RgCatalog *catalog;

const RgCatalog *fit_run_catalog(void)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	if (!catalog)
		catalog = catalog_folder_open(DATA_DIR, "aws", NULL, diags);
	g_assert_nonnull(catalog);
	return catalog;
}

int fit_run_tests(void)
{
	int status = g_test_run();
	g_clear_pointer(&catalog, rg_catalog_free);
	return status;
}

json_t *json_of(const char *text)
{
	if (!text)
		return NULL;
	g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
	json_error_t error;
	json_t *value = json_loads(quoted, 0, &error);
	if (!value)
		g_error("%s in %s", error.text, quoted);
	return value;
}

void fit_run_clear(FitRun *o)
{
	rg_fit_shapes_free(o->shapes);
	rg_cluster_free(o->cluster);
	rg_diags_free(o->diags);
	json_decref(o->pins);
	json_decref(o->facts);
	json_decref(o->fitted);
	json_decref(o->lacking);
}

FitRun fit_run(const char *spec, const char *facts, const char *pins)
{
	FitRun o = {.diags = rg_diags_new(),
		.facts = json_of(facts),
		.pins = json_of(pins),
		.lacking = json_object()};
	o.cluster = rg_spec_load("c.yaml", spec, strlen(spec), o.diags);
	for (size_t i = 0; i < rg_diags_count(o.diags); i++)
		g_test_message("%s", rg_diags_get(o.diags, i)->summary);
	g_assert_nonnull(o.cluster);
	o.shapes = rg_fit_shapes(o.cluster, fit_run_catalog(), o.pins, o.diags);
	if (!o.shapes)
		return o;
	o.request = rg_fit_request(o.shapes);
	o.fitted = rg_fit(o.cluster, o.shapes, o.facts, o.pins, NULL, o.lacking, o.diags);
	return o;
}

const json_t *node_at(const FitRun *o, size_t i)
{
	g_assert_nonnull(o->fitted);
	return json_array_get(json_object_get(o->fitted, "nodes"), i);
}

const json_t *offer_at(const FitRun *o, size_t i)
{
	return json_object_get(node_at(o, i), "offer");
}

void assert_node(const FitRun *o, size_t i, const char *pool, const char *type, const char *zone,
	const char *indexes)
{
	const json_t *node = node_at(o, i);
	g_assert_nonnull(node);
	g_autofree char *list = rg_json_canonical(json_object_get(node, "indexes"));
	g_assert_cmpstr(rg_json_str(node, "pool", NULL), ==, pool);
	g_assert_cmpstr(
		rg_json_str(json_object_get(node, "offer"), "instance_type", NULL), ==, type);
	g_assert_cmpstr(rg_json_str(json_object_get(node, "offer"), "zone", NULL), ==, zone);
	g_assert_cmpstr(list, ==, indexes);
}

void assert_error(const FitRun *o, const char *code, unsigned line, const char *said)
{
	g_assert_null(o->fitted);
	g_assert_cmpuint(rg_diags_count(o->diags), >, 0);
	const RgDiag *diag = rg_diags_get(o->diags, 0);
	g_test_message(
		"%u: %s | %s | %s", diag->source.line, diag->summary, diag->detail, diag->hint);
	g_assert_cmpstr(diag->code, ==, code);
	g_assert_cmpuint(diag->source.line, ==, line);
	g_autofree char *all = g_strdup_printf("%s\n%s\n%s", diag->summary,
		diag->detail ? diag->detail : "", diag->hint ? diag->hint : "");
	g_assert_nonnull(strstr(all, said));
}

/* Prints, for each spec file named, one line of JSON: {"file", "view": the file as JSON or null,
 * "schema": whether our validator accepts the view, "places": where it does not, "codes": the
 * findings of rg_spec_load}. tests/cli/spec/test_schema_verdicts.py compares it with Python's
 * jsonschema. */
#include <stdio.h>
#include <string.h>
#include "base/json_schema.h"
#include "spec/check.h"
#include "spec/spec.h"

static void add_place(const RgSchemaFinding *finding, void *data)
{
	json_array_append_new(data, json_pack("[s, s]", finding->pointer, finding->keyword));
}

static json_t *view_of(const char *path, const char *text, size_t len)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgDocument) document = rg_document_load(path, text, len, diags);
	return document ? json_incref(document->value) : json_null();
}

static json_t *codes_of(const char *path, const char *text, size_t len)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgCluster) cluster = rg_spec_load(path, text, len, diags);
	json_t *codes = json_array();
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		if (diag->severity == RG_SEVERITY_ERROR)
			json_array_append_new(codes, json_string(diag->code));
	}
	g_assert((!cluster) == (json_array_size(codes) > 0));
	return codes;
}

static void print_file(const RgJsonSchema *schema, const char *path)
{
	g_autofree char *text = NULL;
	size_t len;
	g_autoptr(GError) error = NULL;
	if (!g_file_get_contents(path, &text, &len, &error))
		g_error("%s", error->message);
	json_t *view = view_of(path, text, len), *places = json_array();
	bool accepted = rg_json_schema_check(schema, view, add_place, places);
	json_auto_t *line = json_pack("{s:s, s:o, s:b, s:o, s:o}", "file", path, "view", view,
		"schema", accepted, "places", places, "codes", codes_of(path, text, len));
	g_autofree char *out = json_dumps(line, JSON_COMPACT);
	puts(out);
}

int main(int argc, char **argv)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *root = rg_spec_schema("cluster.schema.json");
	g_autoptr(RgJsonSchema) schema = rg_json_schema_compile(root, diags);
	g_assert(schema != NULL);
	for (int i = 1; i < argc; i++)
		print_file(schema, argv[i]);
	return 0;
}

#include "command.h"
#include <string.h>
#include "convert/convert.h"
#include "pipeline/pipeline.h"

/* The first contact: a spec from what another tool has. */

static const json_t *key_at(const json_t *keys, size_t i)
{
	return json_array_get(keys, i);
}

static size_t count_of(const json_t *keys, const char *outcome)
{
	size_t n = 0;
	for (size_t i = 0; i < json_array_size(keys); i++)
		n += g_str_equal(rg_json_str(key_at(keys, i), "outcome", ""), outcome);
	return n;
}

static void print_document(Context *context, const RgConverted *converted, const char *text,
	const char *out, bool valid)
{
	json_auto_t *document = json_object();
	rg_json_set_str(document, "format_version", "1.0");
	rg_json_set_str(document, "form", converted->form);
	rg_json_set_str(document, "cluster", converted->cluster);
	json_object_set_new(document, "valid", json_boolean(valid));
	json_object_set_new(document, "same", json_boolean(!count_of(converted->keys, "lost")));
	json_object_set(document, "keys", converted->keys);
	if (out)
		rg_json_set_str(document, "out", out);
	else
		rg_json_set_str(document, "spec", text);
	json_object_set_new(document, "diagnostics", rg_render_diags_json(context->diags));
	out_json(document);
}

/* What was done, where the spec is not on standard output. */
static void print_summary(const RgConverted *converted, const char *out)
{
	const json_t *keys = converted->keys;
	g_autofree char *text = g_strdup_printf(
		"Wrote %s: %zu keys converted, %zu to check, %zu without a counterpart.\n", out,
		count_of(keys, "converted") + count_of(keys, "changed"), count_of(keys, "changed"),
		count_of(keys, "none") + count_of(keys, "lost") + count_of(keys, "unknown"));
	out_text(text);
	if (count_of(keys, "lost"))
		out_text("It is not the same cluster: its first lines say what it lacks.\n");
}

/* A file that exists may be someone's spec. */
static bool write_new(Context *context, const char *path, const char *text)
{
	g_autoptr(GError) error = NULL;
	if (g_file_test(path, G_FILE_TEST_EXISTS)) {
		RgDiag *diag = rg_diags_error(
			context->diags, "file.unwritable", "%s already exists", path);
		rg_diag_hint(diag, "remove it, or choose another name");
		return false;
	}
	if (g_file_set_contents(path, text, -1, &error))
		return true;
	report_unwritable(context, path, error);
	return false;
}

static bool is_valid(Context *context, const char *path, const char *text, RgDiags *problems)
{
	g_autoptr(RgCluster) cluster =
		rg_pipeline_validate_text(context->providers, path, text, problems);
	return cluster != NULL;
}

static int convert_run(Context *context, const char *path, const char *out, bool partial)
{
	context_open_providers(context);
	g_autoptr(RgConverted) converted =
		rg_convert_file(context->providers, path, partial, context->diags);
	if (!converted)
		return rg_diags_exit_code(context->diags);
	const char *place = out ? out : "SPEC";
	g_autoptr(RgDiags) problems = rg_diags_new();
	g_autofree char *text = rg_converted_text(converted, problems);
	bool valid = is_valid(context, place, text, problems);
	/* with its problems above it, their lines change */
	if (rg_diags_count(problems) > 0) {
		g_free(text);
		text = rg_converted_text(converted, problems);
		rg_diags_clear(problems);
		is_valid(context, place, text, problems);
	}
	rg_diags_take_all(context->diags, problems);
	bool written = !out || write_new(context, out, text);
	if (context->json)
		print_document(context, converted, text, out, valid);
	else if (!out)
		out_text(text);
	else if (written)
		print_summary(converted, out);
	int code = rg_diags_exit_code(context->diags);
	if (context->json)
		rg_diags_clear(context->diags); /* the document contains them */
	return code;
}

int cmd_convert(Context *context, int argc, char **argv)
{
	g_autofree char *out = NULL;
	gboolean partial = FALSE;
	const GOptionEntry entries[] = {
		{"out", 'o', 0, G_OPTION_ARG_FILENAME, &out, "write the spec to this new file",
			"SPEC"},
		{"partial", 0, 0, G_OPTION_ARG_NONE, &partial,
			"accept a spec that lacks parts of the cluster", NULL},
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	return options_parse(context, entries, &argc, &argv, 1, 1, &code)
		       ? convert_run(context, argv[1], out, partial)
		       : code;
}

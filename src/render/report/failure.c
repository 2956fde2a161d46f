#include "render/report/report.h"

/* What a command with --json prints if it could not create its document:
 * schemas/failure.schema.json. */

/* A path need not be UTF-8. */
static void set_text(json_t *document, const char *key, const char *text)
{
	g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;
	rg_json_set_str(document, key, valid);
}

json_t *rg_report_failure(const char *command, const RgReport *report)
{
	json_t *document = json_object();
	json_object_set_new(document, "raygpu_format", json_integer(1));
	rg_json_set_str(document, "command", command);
	set_text(document, "cluster", report->cluster);
	set_text(document, "spec", report->spec);
	json_object_set_new(document, "errored", json_true());
	json_object_set_new(document, "exit_code", json_integer(report->exit_code));
	json_object_set_new(document, "diagnostics", rg_render_diags_json(report->diags));
	return document;
}

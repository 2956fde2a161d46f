#include "sim/core/scenario.h"
#include "spec/document.h"

/* Scenarios as people write them: YAML, read as specs are, of which JSON is a part. */

static void add_line(GString *lines, RgSource source, const char *file, const char *text)
{
	g_string_append_printf(lines, "%s%s:", lines->len ? "\n" : "", file);
	if (source.line)
		g_string_append_printf(lines, "%u:%u:", source.line, source.column);
	g_string_append_printf(lines, " %s", text);
}

static char *findings_text(const RgDiags *diags, const char *file)
{
	GString *lines = g_string_new(NULL);
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		add_line(lines, diag->source, file, diag->summary);
		if (diag->hint)
			g_string_append_printf(lines, "; %s", diag->hint);
	}
	return g_string_free(lines, FALSE);
}

RgSimScenario *rg_sim_scenario_read(
	const RgSimData *data, const char *file, const char *text, size_t len, char **problem)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	g_autoptr(RgDocument) document = rg_document_load(file, text, len, diags);
	if (!document || rg_diags_has_errors(diags)) {
		*problem = findings_text(diags, file);
		return NULL;
	}
	g_autofree char *why = NULL, *pointer = NULL;
	RgSimScenario *scenario = rg_sim_scenario_new(data, document->value, &why, &pointer);
	if (!scenario) {
		GString *line = g_string_new(NULL);
		add_line(line, rg_document_source(document, pointer), file, why);
		*problem = g_string_free(line, FALSE);
	}
	return scenario;
}

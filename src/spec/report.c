/* Findings about a value of a document, at its place. */
#include <string.h>
#include "spec/check.h"
#include "spec/finding.h"

RgDiag *rg_spec_report(RgDocument *document, const char *pointer, const char *code, RgDiags *diags,
	const char *format, ...)
{
	va_list args;
	va_start(args, format);
	g_autofree char *summary = g_strdup_vprintf(format, args);
	va_end(args);
	RgDiag *diag = rg_diags_error(diags, code, "%s", summary);
	rg_diag_at(diag, rg_document_source(document, pointer));
	rg_document_spoil(document, pointer);
	return diag;
}

char *rg_spec_path(const RgDocument *document, const char *pointer)
{
	if (*pointer == '\0')
		return g_strdup(document->what ? document->what : "the spec");
	g_auto(GStrv) steps = g_strsplit(pointer + 1, "/", -1);
	GString *path = g_string_new(NULL);
	const json_t *at = document->value;
	for (char **step = steps; *step != NULL; step++) {
		g_autofree char *name = rg_json_step_name(*step, strlen(*step));
		if (json_is_array(at)) {
			g_string_append_printf(path, "[%s]", name);
			at = json_array_get(at, (size_t)g_ascii_strtoull(name, NULL, 10));
			continue;
		}
		g_string_append_printf(path, "%s%s", path->len > 0 ? "." : "", name);
		at = json_object_get(at, name);
	}
	return g_string_free(path, FALSE);
}

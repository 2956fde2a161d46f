/* Diagnostics as plain text for the spec's golden files: place, summary and code, the line, a
 * caret, hint and detail. src/render has the real one; this keeps src/spec's tests independent of
 * it. */
#pragma once
#include "base/diag.h"

/* g_free the result. */
static inline char *spec_text(const RgDiags *diags)
{
	static const char *const severities[] = {"error", "warning", "note"};
	GString *text = g_string_new(NULL);
	for (size_t i = 0; i < rg_diags_count(diags); i++) {
		const RgDiag *diag = rg_diags_get(diags, i);
		const RgSource *at = &diag->source;
		g_string_append_printf(text, "%s:%u:%u: %s: %s [%s]\n", at->file ? at->file : "-",
			at->line, at->column, severities[diag->severity], diag->summary,
			diag->code);
		g_autofree char *line = rg_diags_dup_line(diags, at->file, at->line);
		if (line && g_utf8_strlen(line, -1) <= 120) {
			unsigned width =
				at->end_column > at->column ? at->end_column - at->column : 1;
			g_string_append_printf(
				text, "    %s\n    %*s^", line, (int)at->column - 1, "");
			for (unsigned k = 1; k < width; k++)
				g_string_append_c(text, '~');
			g_string_append_c(text, '\n');
		}
		if (diag->detail)
			g_string_append_printf(text, "  detail: %s\n", diag->detail);
		if (diag->hint)
			g_string_append_printf(text, "  hint: %s\n", diag->hint);
	}
	return g_string_free(text, FALSE);
}

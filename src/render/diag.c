#include "render/paint.h"
#include <string.h>

/* Diagnostics: the form of Terraform's (CI tools look for "Error: " and "Warning: " at the start
 * of a line), with the line of the spec and a caret under the place. */

static void add_place(GString *text, const RgDiags *diags, const RgDiag *diag, const RgStyle *style)
{
	RgSource at = diag->source;
	if (!at.line || !at.file) {
		if (at.file)
			g_string_append_printf(text, "  on %s\n", at.file);
		return;
	}
	g_string_append_printf(text, "  on %s:%u:%u\n", at.file, at.line, at.column);
	g_autofree char *line = rg_diags_dup_line(diags, at.file, at.line);
	if (!line || g_utf8_strlen(line, -1) > 400)
		return;
	g_autofree char *number = g_strdup_printf("%u", at.line);
	g_string_append_printf(text, "  %s | %s\n  %*s | ", number, line, (int)strlen(number), "");
	const char *from = line;
	for (unsigned column = 1; column < at.column && *from; column++) {
		g_string_append_c(text, *from == '\t' ? '\t' : ' ');
		from += g_utf8_skip[(guchar)*from];
	}
	unsigned marks = at.end_column > at.column ? at.end_column - at.column : 1;
	g_autofree char *caret = g_strnfill(MIN(marks, 200), '^');
	paint(text, style, RED, caret);
	g_string_append_c(text, '\n');
}

static void add_subject(GString *text, const RgDiag *diag)
{
	if (diag->address)
		g_string_append_printf(text, "  with %s%s%s\n", diag->address,
			diag->attribute ? "." : "", diag->attribute ? diag->attribute : "");
	if (diag->request_id)
		g_string_append_printf(text, "  %s request id %s\n",
			diag->provider ? diag->provider : "", diag->request_id);
}

static void add_diag(GString *text, const RgDiags *diags, const RgDiag *diag, const RgStyle *style)
{
	static const char *const words[] = {"Error: ", "Warning: ", "Note: "};
	static const char *const colors[] = {RED, YELLOW, CYAN};
	g_string_append_c(text, '\n');
	paint(text, style, colors[diag->severity], words[diag->severity]);
	g_autoptr(GString) line = g_string_new(NULL);
	g_autofree char *summary = g_strdup_printf("%s [%s]", diag->summary, diag->code);
	wrap(line, style, "", summary);
	g_string_append_len(text, line->str, (gssize)line->len);
	add_place(text, diags, diag, style);
	add_subject(text, diag);
	if (diag->detail)
		wrap(text, style, "  ", diag->detail);
	if (diag->hint) {
		g_autofree char *hint = g_strdup_printf("hint: %s", diag->hint);
		wrap(text, style, "  ", hint);
	}
}

char *rg_render_diags(const RgDiags *diags, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		add_diag(text, diags, rg_diags_get(diags, i), style);
	return g_string_free(text, FALSE);
}

static json_t *range_json(const RgSource *at)
{
	json_t *range = json_object(), *start = json_object(), *end = json_object();
	unsigned last = at->end_column > at->column ? at->end_column : at->column + 1;
	rg_json_set_str(range, "filename", at->file);
	json_object_set_new(start, "line", json_integer(at->line));
	json_object_set_new(start, "column", json_integer(at->column));
	json_object_set_new(end, "line", json_integer(at->line));
	json_object_set_new(end, "column", json_integer(last));
	json_object_set_new(range, "start", start);
	json_object_set_new(range, "end", end);
	return range;
}

static json_t *diag_json(const RgDiags *diags, const RgDiag *diag)
{
	static const char *const words[] = {"error", "warning", "note"};
	json_t *row = json_object();
	rg_json_set_str(row, "severity", words[diag->severity]);
	rg_json_set_str(row, "code", diag->code);
	rg_json_set_str(row, "summary", diag->summary);
	rg_json_set_str(row, "detail", diag->detail ? diag->detail : "");
	rg_json_set_str(row, "hint", diag->hint);
	if (diag->address)
		rg_json_set_str(row, "address", diag->address);
	if (diag->attribute)
		rg_json_set_str(row, "attribute", diag->attribute);
	if (diag->request_id)
		rg_json_set_str(row, "request_id", diag->request_id);
	if (diag->cloud_code)
		rg_json_set_str(row, "cloud_code", diag->cloud_code);
	if (!diag->source.file || !diag->source.line)
		return row;
	json_object_set_new(row, "range", range_json(&diag->source));
	g_autofree char *line = rg_diags_dup_line(diags, diag->source.file, diag->source.line);
	if (line) {
		json_t *snippet = json_object();
		rg_json_set_str(snippet, "code", line);
		json_object_set_new(snippet, "start_line", json_integer(diag->source.line));
		json_object_set_new(row, "snippet", snippet);
	}
	return row;
}

json_t *rg_render_diags_json(const RgDiags *diags)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < rg_diags_count(diags); i++)
		json_array_append_new(rows, diag_json(diags, rg_diags_get(diags, i)));
	return rows;
}

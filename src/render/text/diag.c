#include "render/text/paint.h"
#include "base/redact.h"
#include <string.h>

/* Diagnostics in Terraform's form (CI tools look for "Error: " and "Warning: " at the start of a
 * line), with the line of the spec and a caret under the place. */

#define LINE_BYTES 4096 /* maximum length of a line of a spec that is shown */

/* The line in a form that can be shown: secrets redacted, no control characters except tabs. */
static char *shown_line(const RgDiags *diags, const RgSource *at)
{
	g_autofree char *line = rg_diags_dup_line(diags, at->file, at->line);
	if (!line || strlen(line) > LINE_BYTES)
		return NULL;
	g_autofree char *safe = rg_redact(line, strlen(line));
	g_auto(GStrv) parts = g_strsplit(safe, "\t", -1);
	for (guint i = 0; parts[i]; i++) {
		char *part = clean(parts[i]);
		g_free(parts[i]);
		parts[i] = part;
	}
	return g_strjoinv("\t", parts);
}

/* Cuts the line to `room` columns around the character at `column`, which is adjusted. */
static char *window(const char *line, unsigned *column, unsigned room)
{
	glong length = g_utf8_strlen(line, -1);
	if (columns_of(line) <= room)
		return g_strdup(line);
	glong keep = MAX((glong)room / 2 - 3, 8), from = MAX((glong)*column - keep, 0);
	glong to = MIN((glong)*column + keep, length);
	g_autofree char *part = g_utf8_substring(line, from, MAX(to, from));
	*column -= (unsigned)from;
	if (from > 0)
		*column += 3;
	return g_strconcat(from > 0 ? "..." : "", part, to < length ? "..." : "", NULL);
}

/* As many blanks as the text before the caret is wide; a tab stays a tab, to align the caret. */
static const char *add_blanks(GString *text, const char *from, unsigned column)
{
	for (unsigned i = 1; i < column && *from; i++, from = next_char(from)) {
		if (*from == '\t')
			g_string_append_c(text, '\t');
		else
			g_string_append_printf(
				text, "%*s", (int)columns_of_char(g_utf8_get_char(from)), "");
	}
	return from;
}

static unsigned caret_width(const char *from, unsigned characters)
{
	unsigned width = 0;
	for (unsigned i = 0; i < characters && *from; i++, from = next_char(from))
		width += columns_of_char(g_utf8_get_char(from));
	return MAX(width, 1);
}

/* The line at a place with a caret under it, if the text is available. */
static void add_line(GString *text, const RgDiags *diags, const RgSource *at, const char *color,
	const RgStyle *style)
{
	g_autofree char *whole = shown_line(diags, at);
	if (!whole)
		return;
	g_autofree char *number = g_strdup_printf("%u", at->line);
	unsigned column = MAX(at->column, 1), taken = (unsigned)strlen(number) + 5;
	g_autofree char *line = window(whole, &column, MAX(style_width(style), taken + 30) - taken);
	g_string_append_printf(text, "  %s | %s\n  %*s | ", number, line, (int)strlen(number), "");
	const char *from = add_blanks(text, line, column);
	unsigned marked = at->end_column > at->column ? at->end_column - at->column : 1;
	g_autofree char *caret = g_strnfill(caret_width(from, marked), '^');
	paint(text, style, color, caret);
	g_string_append_c(text, '\n');
}

/* An argument of the command line; not if all of it is meant, since the message quotes that. */
static void add_query(GString *text, const RgDiags *diags, const RgSource *at, const RgStyle *style)
{
	g_autofree char *whole = shown_line(diags, at);
	if (!whole)
		return;
	const char *query = whole + strspn(whole, " ");
	unsigned indent = (unsigned)(query - whole), column = MAX(at->column, indent + 1) - indent;
	unsigned marked = at->end_column > at->column ? at->end_column - at->column : 1;
	if (column == 1 && marked >= g_utf8_strlen(query, -1))
		return;
	g_autofree char *line = window(query, &column, MAX(style_width(style), 30) - 4);
	g_string_append_printf(text, "  %s\n  ", line);
	const char *from = add_blanks(text, line, column);
	g_autofree char *caret = g_strnfill(caret_width(from, marked), '^');
	paint(text, style, RED, caret);
	g_string_append_c(text, '\n');
}

static void add_place(GString *text, const RgDiags *diags, const RgDiag *diag, const RgStyle *style)
{
	const RgSource *at = &diag->source;
	g_autofree char *file = clean(at->file);
	if (file && !at->line)
		g_string_append_printf(text, "  on %s\n", file);
	if (!at->line || !file)
		return;
	if (g_str_equal(file, RG_SOURCE_QUERY)) {
		add_query(text, diags, at, style);
		return;
	}
	g_string_append_printf(text, "  on %s:%u:%u\n", file, at->line, at->column);
	add_line(text, diags, at, RED, style);
}

static void add_related(
	GString *text, const RgDiags *diags, const RgDiag *diag, const RgStyle *style)
{
	const RgSource *at = &diag->related;
	g_autofree char *file = clean(at->file), *what = clean(diag->related_text);
	if (!at->line || !file)
		return;
	g_string_append_printf(
		text, "  %s: %s:%u:%u\n", what ? what : "see", file, at->line, at->column);
	add_line(text, diags, at, CYAN, style);
}

static void add_diag(GString *text, const RgDiags *diags, const RgDiag *diag, const RgStyle *style)
{
	static const char *const words[] = {"Error: ", "Warning: ", "Note: "};
	static const char *const colors[] = {RED, YELLOW, CYAN};
	g_string_append_c(text, '\n');
	paint(text, style, colors[diag->severity], words[diag->severity]);
	/* a line break in a summary must not start a new line: tools look for "Error: " */
	g_autofree char *summary = clean_message(diag->summary);
	g_autofree char *whole =
		g_strdup_printf("%s%s [%s]", words[diag->severity], summary, diag->code);
	g_autoptr(GString) line = g_string_new(NULL);
	wrap(line, style, "", whole);
	g_string_append(text, line->str + strlen(words[diag->severity]));
	add_place(text, diags, diag, style);
	add_related(text, diags, diag, style);
	if (diag->address)
		wrapf(text, style, "  ", "with %s%s%s", diag->address, diag->attribute ? "." : "",
			diag->attribute ? diag->attribute : "");
	if (diag->request_id)
		wrapf(text, style, "  ", "%s request id %s", diag->provider ? diag->provider : "",
			diag->request_id);
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
	return text_finish(text, style);
}

/* Sets a text, secrets redacted. */
static void set_text(json_t *row, const char *key, const char *text)
{
	g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;
	g_autofree char *safe = valid ? rg_redact(valid, strlen(valid)) : NULL;
	rg_json_set_str(row, key, safe);
}

/* A column of the line in bytes. */
static size_t bytes_before(const char *line, unsigned column)
{
	const char *at = line;
	for (unsigned n = 1; n < column && *at; n++)
		at = next_char(at);
	return (size_t)(at - line);
}

static void set_size(json_t *object, const char *key, size_t n)
{
	json_object_set_new(object, key, json_integer((json_int_t)n));
}

/* What Terraform's programs use to mark the place: offsets in the file and in the line. */
static void set_offsets(json_t *start, json_t *end, json_t *snippet, const char *line,
	const RgDiags *diags, const RgSource *at, unsigned last)
{
	const char *shown = rg_json_str(snippet, "code", ""); /* secrets in it are redacted */
	size_t before = rg_diags_line_offset(diags, at->file, at->line);
	set_size(start, "byte", before + bytes_before(line, at->column));
	set_size(end, "byte", before + bytes_before(line, last));
	set_size(snippet, "highlight_start_offset", bytes_before(shown, at->column));
	set_size(snippet, "highlight_end_offset", bytes_before(shown, last));
	json_object_set_new(snippet, "context", json_null());
	json_object_set_new(snippet, "values", json_array());
}

static void set_place(json_t *row, const RgDiags *diags, const RgSource *at)
{
	if (!at->file || !at->line || g_str_equal(at->file, RG_SOURCE_QUERY))
		return;
	json_t *range = json_object(), *start = json_object(), *end = json_object();
	unsigned last = at->end_column > at->column ? at->end_column : at->column + 1;
	rg_json_set_str(range, "filename", at->file);
	json_object_set_new(start, "line", json_integer(at->line));
	json_object_set_new(start, "column", json_integer(at->column));
	json_object_set_new(end, "line", json_integer(at->line));
	json_object_set_new(end, "column", json_integer(last));
	json_object_set_new(range, "start", start);
	json_object_set_new(range, "end", end);
	json_object_set_new(row, "range", range);
	g_autofree char *raw = rg_diags_dup_line(diags, at->file, at->line);
	if (!raw)
		return;
	g_autofree char *line = g_utf8_make_valid(raw, -1);
	json_t *snippet = json_object();
	set_text(snippet, "code", line);
	json_object_set_new(snippet, "start_line", json_integer(at->line));
	set_offsets(start, end, snippet, line, diags, at, last);
	json_object_set_new(row, "snippet", snippet);
}

static json_t *diag_json(const RgDiags *diags, const RgDiag *diag)
{
	static const char *const words[] = {"error", "warning", "note"};
	json_t *row = json_object();
	rg_json_set_str(row, "severity", words[diag->severity]);
	rg_json_set_str(row, "code", diag->code);
	set_text(row, "summary", diag->summary);
	set_text(row, "detail", diag->detail ? diag->detail : "");
	set_text(row, "hint", diag->hint);
	if (diag->address)
		rg_json_set_str(row, "address", diag->address);
	if (diag->attribute)
		rg_json_set_str(row, "attribute", diag->attribute);
	if (diag->request_id)
		rg_json_set_str(row, "request_id", diag->request_id);
	if (diag->cloud_code)
		rg_json_set_str(row, "cloud_code", diag->cloud_code);
	set_place(row, diags, &diag->source);
	if (diag->related.line) {
		json_t *related = json_object();
		set_text(related, "message", diag->related_text ? diag->related_text : "");
		set_place(related, diags, &diag->related);
		json_object_set_new(row, "related", json_pack("[o]", related));
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

#include "render/text/paint.h"
#include "base/disarm.h"
#include "base/redact.h"
#include <stdarg.h>
#include <string.h>

void paint(GString *to, const RgStyle *style, const char *code, const char *text)
{
	if (style->color)
		g_string_append_printf(to, "\033[%sm%s\033[0m", code, text);
	else
		g_string_append(to, text);
}

void paintf(GString *to, const RgStyle *style, const char *code, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	g_autofree char *text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	paint(to, style, code, text);
}

unsigned style_width(const RgStyle *style)
{
	return style->width ? style->width : 80;
}

const char *next_char(const char *at)
{
	return at + g_utf8_skip[(guchar)*at];
}

unsigned columns_of_char(gunichar c)
{
	return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

/* Length of an escape code that paint writes, 0 for any other: "conceal" and colours like the
 * background would hide text. */
static size_t own_code(const char *at)
{
	static const char *const codes[] = {"0", RED, GREEN, YELLOW, CYAN, BOLD, DIM};
	if (at[0] != '\033' || at[1] != '[')
		return 0;
	for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
		size_t len = strlen(codes[i]);
		if (strncmp(at + 2, codes[i], len) == 0 && at[2 + len] == 'm')
			return len + 3;
	}
	return 0;
}

unsigned columns_of(const char *text)
{
	unsigned columns = 0;
	for (const char *at = text; *at; at = next_char(at)) {
		at += own_code(at);
		if (!*at)
			break;
		columns += columns_of_char(g_utf8_get_char(at));
	}
	return columns;
}

int columns_of_names(const json_t *object)
{
	unsigned width = 0;
	rg_json_foreach_member (key, value, object)
		width = MAX(width, columns_of(key));
	return (int)width;
}

static bool is_unprintable(gunichar c)
{
	GUnicodeType type = g_unichar_type(c);
	return type == G_UNICODE_CONTROL || type == G_UNICODE_FORMAT ||
	       type == G_UNICODE_LINE_SEPARATOR || type == G_UNICODE_PARAGRAPH_SEPARATOR ||
	       type == G_UNICODE_SURROGATE;
}

char *clean(const char *text)
{
	if (!text)
		return NULL;
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	GString *cleaned = g_string_sized_new(strlen(valid));
	for (const char *at = valid; *at; at = next_char(at)) {
		gunichar c = g_utf8_get_char(at);
		g_string_append_unichar(cleaned, is_unprintable(c) ? 0xfffd : c);
	}
	return g_string_free(cleaned, FALSE);
}

char *clean_message(const char *text)
{
	g_auto(GStrv) lines = g_strsplit_set(text ? text : "", "\n\t\r", -1);
	g_autoptr(GString) joined = g_string_new(NULL);
	for (guint i = 0; lines[i]; i++) {
		if (i && *lines[i] && joined->len && joined->str[joined->len - 1] != ' ')
			g_string_append_c(joined, ' ');
		g_string_append(joined, lines[i]);
	}
	return text ? clean(joined->str) : NULL;
}

static char *printable(const char *text, bool color)
{
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	g_autoptr(GString) out = g_string_sized_new(strlen(valid));
	for (const char *at = valid; *at;) {
		size_t code = color ? own_code(at) : 0;
		gunichar c = g_utf8_get_char(at);
		if (code)
			g_string_append_len(out, at, (gssize)code);
		else if (c != '\n' && c != '\t' && is_unprintable(c))
			g_string_append_unichar(out, 0xfffd);
		else
			g_string_append_unichar(out, c);
		at = code ? at + code : next_char(at);
	}
	return rg_disarm(out->str);
}

char *rg_render_printable(const char *text)
{
	return printable(text, true);
}

char *rg_render_name(const char *text)
{
	return clean(text);
}

char *text_finish(GString *text, const RgStyle *style)
{
	g_autofree char *shown = rg_redact(text->str, text->len);
	g_string_free(text, TRUE);
	return printable(shown, style->color);
}

static void wrap_line(GString *to, unsigned width, const char *indent, const char *line)
{
	g_auto(GStrv) words = g_strsplit(line, " ", -1);
	unsigned column = columns_of(indent);
	g_string_append(to, indent);
	for (guint i = 0; words[i]; i++) {
		unsigned length = columns_of(words[i]);
		if (i && column + 1 + length > width) {
			g_string_append_printf(to, "\n%s", indent);
			column = columns_of(indent);
		} else if (i) {
			g_string_append_c(to, ' ');
			column++;
		}
		g_string_append(to, words[i]);
		column += length;
	}
	g_string_append_c(to, '\n');
}

void wrap(GString *to, const RgStyle *style, const char *indent, const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++) {
		g_autofree char *line = clean_message(lines[i]);
		size_t blanks = strspn(line, " "); /* a list in the text stays indented */
		g_autofree char *inner = g_strdup_printf("%s%.*s", indent, (int)blanks, line);
		wrap_line(to, style_width(style), inner, line + blanks);
	}
}

void wrapf(GString *to, const RgStyle *style, const char *indent, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	g_autofree char *text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_autofree char *line = clean(text);
	wrap_line(to, style_width(style), indent, line);
}

static void row_free(gpointer row)
{
	g_strfreev(row);
}

GPtrArray *table_new(const char *heads)
{
	GPtrArray *table = g_ptr_array_new_with_free_func(row_free);
	g_ptr_array_add(table, g_strsplit(heads, ",", -1));
	return table;
}

void table_add(GPtrArray *table, ...)
{
	GPtrArray *row = g_ptr_array_new();
	va_list cells;
	va_start(cells, table);
	for (const char *cell; (cell = va_arg(cells, const char *));)
		g_ptr_array_add(row, clean(cell));
	va_end(cells);
	g_ptr_array_add(row, NULL);
	g_ptr_array_add(table, g_ptr_array_free(row, FALSE));
}

void paint_table(GString *text, const GPtrArray *table, const TableLook *look, const RgStyle *style)
{
	guint columns = table->len ? g_strv_length(table->pdata[0]) : 0;
	g_autofree unsigned *widths = g_new0(unsigned, columns + 1);
	for (guint i = 0; i < table->len; i++) {
		for (guint c = 0; c < columns; c++)
			widths[c] = MAX(widths[c], columns_of(((GStrv)table->pdata[i])[c]));
	}
	for (guint i = 0; i < table->len; i++) {
		GStrv row = table->pdata[i];
		bool bold = i == 0 || (look->total && i + 1 == table->len);
		g_autoptr(GString) line = g_string_new(look->indent);
		for (guint c = 0; c < columns; c++) {
			g_string_append(line, c ? "  " : "");
			bool right = c > 0 && c <= look->numbers;
			int pad = (int)(widths[c] - columns_of(row[c]));
			g_string_append_printf(
				line, "%*s%s%*s", right ? pad : 0, "", row[c], right ? 0 : pad, "");
		}
		paint(text, bold ? style : &(RgStyle){0}, BOLD, g_strchomp(line->str));
		g_string_append_c(text, '\n');
	}
}

char *rg_render_wrapped(const char *text, const char *indent, const RgStyle *style)
{
	GString *lines = g_string_new(NULL);
	wrapf(lines, style, indent, "%s", text);
	return text_finish(lines, style);
}

void add_price_legend(GString *text, const RgPriceMarks *seen, const RgStyle *style)
{
	const char *legend = rg_price_legend(seen);
	if (legend)
		wrapf(text, style, "", "%s", legend);
}

void add_new_legend(
	GString *text, const RgPriceMarks *seen, RgPriceMarks *told, const RgStyle *style)
{
	const RgPriceMarks new = {seen->derived && !told->derived, seen->old && !told->old};
	add_price_legend(text, &new, style);
	told->derived |= seen->derived;
	told->old |= seen->old;
}

void paint_rows(GString *text, const GPtrArray *table, const RgStyle *style)
{
	paint_table(text, table, &(TableLook){.indent = "  "}, style);
}

#include "render/paint.h"
#include "resource/expr.h"
#include <stdarg.h>
#include <string.h>

#define LONG_TEXT 120 /* characters of a value that is still shown whole */

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

static void wrap_line(GString *to, unsigned width, const char *indent, const char *line)
{
	g_auto(GStrv) words = g_strsplit(line, " ", -1);
	glong column = g_utf8_strlen(indent, -1);
	g_string_append(to, indent);
	for (guint i = 0; words[i]; i++) {
		glong length = g_utf8_strlen(words[i], -1);
		if (i && column + 1 + length > (glong)width) {
			g_string_append_printf(to, "\n%s", indent);
			column = g_utf8_strlen(indent, -1);
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
	for (guint i = 0; lines[i]; i++)
		wrap_line(to, style_width(style), indent, lines[i]);
}

static char *expression_text(const json_t *value)
{
	const char *ref = rg_json_str(value, "$ref", NULL);
	if (ref)
		return g_strdup_printf("%s.%s", ref, rg_json_str(value, "attr", "id"));
	const json_t *parts = json_object_get(value, "$join");
	if (parts) {
		size_t bytes = 0, i;
		const json_t *part;
		json_array_foreach (parts, i, part)
			bytes += json_is_string(part) ? json_string_length(part) : 0;
		return g_strdup_printf("(text of about %zu bytes)", bytes);
	}
	return g_strdup("(compressed text)");
}

static void list_text(GString *to, const json_t *value)
{
	size_t i;
	json_t *item;
	g_string_append_c(to, '[');
	json_array_foreach (value, i, item) {
		g_autofree char *text = value_text(item);
		g_string_append_printf(to, "%s%s", i ? ", " : "", text);
	}
	g_string_append_c(to, ']');
}

static void map_text(GString *to, json_t *value)
{
	const char *key;
	json_t *item;
	bool first = true;
	g_string_append_c(to, '{');
	json_object_foreach ((json_t *)(gpointer)value, key, item) {
		g_autofree char *text = value_text(item);
		g_string_append_printf(to, "%s%s = %s", first ? "" : ", ", key, text);
		first = false;
	}
	g_string_append_c(to, '}');
}

char *value_text(json_t *value)
{
	if (!value)
		return g_strdup("(none)");
	if (rg_expr_is(value))
		return expression_text(value);
	if (json_is_string(value) && json_string_length(value) > LONG_TEXT)
		return g_strdup_printf("(text of %zu bytes)", json_string_length(value));
	if (!json_is_array(value) && !json_is_object(value))
		return rg_json_canonical(value);
	GString *text = g_string_new(NULL);
	if (json_is_array(value))
		list_text(text, value);
	else
		map_text(text, value);
	return g_string_free(text, FALSE);
}

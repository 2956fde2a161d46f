#include "render/text/csv.h"
#include <stdarg.h>
#include <string.h>

static void add_field(GString *to, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		g_string_append(to, text);
		return;
	}
	g_autoptr(GString) quoted = g_string_new(text);
	g_string_replace(quoted, "\"", "\"\"", 0);
	g_string_append_printf(to, "\"%s\"", quoted->str);
}

void rg_csv_add_row(GString *to, ...)
{
	va_list fields;
	const char *separator = "";
	va_start(fields, to);
	for (const char *field; (field = va_arg(fields, const char *));) {
		g_string_append(to, separator);
		add_field(to, field);
		separator = ",";
	}
	va_end(fields);
	g_string_append_c(to, '\n');
}

#include "convert/internal.h"

#include <inttypes.h>
#include <string.h>

/* The result as a file: comments above, and below a list of the keys that are not in it. */

static void add_line(GString *text, const char *format, ...) G_GNUC_PRINTF(2, 3);
static void add_line(GString *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	g_autofree char *line = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_autofree char *one = convert_one_line(line);
	g_string_append_printf(text, "# %s\n", one);
}

static void add_keys(GString *text, const json_t *keys, const char *outcome, const char *title)
{
	bool first = true;
	rg_json_foreach (key, keys) {
		if (g_strcmp0(rg_json_str(key, "outcome", ""), outcome) != 0)
			continue;
		if (first)
			g_string_append_printf(text, "%s\n", title);
		first = false;
		add_line(text, "  line %" PRId64 ": %s: %s", rg_json_int(key, "line", 0),
			rg_json_str(key, "key", ""), rg_json_str(key, "reason", "no counterpart"));
	}
}

/* The findings of one severity, and of one code unless it is NULL. */
static void add_findings(GString *text, const RgDiags *problems, RgSeverity severity,
	const char *code, const char *title)
{
	bool first = true;
	rg_diags_foreach (diag, problems) {
		if (diag->severity != severity || (code && !g_str_equal(diag->code, code)))
			continue;
		if (first)
			add_line(text, "%s", title);
		first = false;
		add_line(text, "  %s [%s]", diag->summary, diag->code);
	}
}

char *rg_converted_text(const RgConverted *converted, const RgDiags *problems)
{
	GString *text = g_string_new(NULL);
	add_line(text,
		"Written by `raygpu convert` from a Ray cluster (%s); lines are those of that "
		"file.",
		converted->form);
	add_keys(text, converted->keys, "lost", "# This is not the same cluster. It lacks:");
	add_findings(text, problems, RG_SEVERITY_ERROR, NULL,
		"`raygpu validate` refuses this spec until it is changed:");
	add_findings(text, problems, RG_SEVERITY_WARNING, "catalog.unlisted-type",
		"Only `raygpu plan` can say whether this is right:");
	g_string_append(text, converted->text);
	add_keys(text, converted->keys, "none", "\n# Not in this spec: no counterpart.");
	add_keys(text, converted->keys, "unknown", "\n# Not in this spec: unknown keys.");
	add_keys(text, converted->keys, "changed",
		"\n# In this spec, but not exactly the same: check them.");
	add_keys(text, converted->keys, "same", "\n# Not in this spec, because nothing is lost.");
	return g_string_free(text, FALSE);
}

#include "render/text/paint.h"
#include <string.h>

#define INDENT "                      " /* status and area are left of it */

/* In this order, whatever found them. */
static const char *const areas[] = {"versions", "git", "spec", "modules", "proxy", "connect",
	"state", "lock", "credentials", "account", "clock", "endpoints", "permissions", "quotas",
	"plan"};

static void add_text(GString *text, const RgStyle *style, const char *words)
{
	wrap(text, style, INDENT, words);
}

static void add_check(GString *text, const RgStyle *style, const json_t *check)
{
	const char *status = rg_json_str(check, "status", ""),
		   *area = rg_json_str(check, "area", "");
	const char *file = rg_json_str(check, "file", NULL);
	const char *detail = rg_json_str(check, "detail", NULL);
	const char *hint = rg_json_str(check, "hint", NULL);
	const char *color = g_str_equal(status, "ok")	   ? GREEN
			    : g_str_equal(status, "error") ? RED
							   : YELLOW;
	g_autoptr(GString) words = g_string_new(NULL);
	add_text(words, style, rg_json_str(check, "summary", ""));
	paintf(text, style, color, "%-8s", status);
	g_string_append_printf(text, " %-13s%s", area, words->str + strlen(INDENT));
	if (file)
		wrapf(text, style, INDENT, "(%s:%d)", file, (int)rg_json_int(check, "line", 0));
	if (detail)
		add_text(text, style, detail);
	if (hint)
		wrapf(text, style, INDENT, "-> %s", hint);
}

static void add_area(GString *text, const RgStyle *style, const json_t *checks, const char *area)
{
	rg_json_foreach (check, checks) {
		if (g_str_equal(rg_json_str(check, "area", ""), area))
			add_check(text, style, check);
	}
}

/* One line for each reason. */
static void add_skipped(GString *text, const RgStyle *style, const json_t *skipped)
{
	size_t i, n = json_array_size(skipped);
	for (i = 0; i < n;) {
		const char *reason = rg_json_str(json_array_get(skipped, i), "reason", "");
		g_autoptr(GString) names = g_string_new(NULL);
		for (; i < n; i++) {
			const json_t *one = json_array_get(skipped, i);
			if (!g_str_equal(rg_json_str(one, "reason", ""), reason))
				break;
			g_string_append_printf(names, "%s%s", names->len ? ", " : "",
				rg_json_str(one, "area", ""));
		}
		wrapf(text, style, "", "Not checked: %s (%s)", names->str, reason);
	}
}

static void add_count(GString *text, json_int_t n, const char *what)
{
	if (n)
		g_string_append_printf(text, "%s%" JSON_INTEGER_FORMAT " %s%s",
			text->len ? ", " : "", n, what, n == 1 ? "" : "s");
}

char *rg_render_doctor(const json_t *document, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	g_autoptr(GString) counts = g_string_new(NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(areas); i++)
		add_area(text, style, json_object_get(document, "checks"), areas[i]);
	g_string_append_c(text, '\n');
	add_skipped(text, style, json_object_get(document, "not_checked"));
	add_count(counts, rg_json_int(document, "errors", 0), "error");
	add_count(counts, rg_json_int(document, "warnings", 0), "warning");
	g_string_append_printf(text, "%s.\n", counts->len ? counts->str : "No problems found");
	return text_finish(text, style);
}

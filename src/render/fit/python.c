#include "render/fit/python.h"
#include <string.h>

void rg_python_open_workloads(GString *text, const json_t *fit)
{
	const json_t *order = json_object_get(fit, "start_order");
	if (json_array_size(order) > 0)
		g_string_append(text, "# Ray places what it is given one by one: start the "
				      "workloads in this order,\n"
				      "# each when the one before it runs: ");
	rg_json_foreach_at (i, name, order)
		g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", json_string_value(name));
	g_string_append_printf(text, "%sWORKLOADS = {\n", json_array_size(order) > 0 ? "\n" : "");
}

const char rg_python_finder[] =
	"}\n"
	"\n"
	"\n"
	"def _entries(workload, pool):\n"
	"    found = [entry for entry in WORKLOADS[workload] if pool is None or pool in "
	"entry[\"pools\"]]\n"
	"    if not found:\n"
	"        where = \"runs on no pool\" if pool is None else f\"does not run on pool "
	"{pool}\"\n"
	"        raise LookupError(f\"workload {workload} {where}\")\n"
	"    return found\n"
	"\n"
	"\n";

/* Longer values take a line for each member. */
#define WIDTH 88

static void append_flat(GString *text, const json_t *value);

static void append_text(GString *text, const char *words)
{
	json_auto_t *one = json_string(words);
	g_autofree char *quoted = json_dumps(one, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	g_string_append(text, quoted);
}

static void append_members(GString *text, const json_t *value)
{
	const char *between = "";
	rg_json_foreach_member (key, member, value) {
		g_string_append(text, between);
		append_text(text, key);
		g_string_append(text, ": ");
		append_flat(text, member);
		between = ", ";
	}
}

static void append_flat(GString *text, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		g_string_append_c(text, '{');
		append_members(text, value);
		g_string_append_c(text, '}');
		break;
	case JSON_ARRAY:
		g_string_append_c(text, '[');
		for (size_t i = 0; i < json_array_size(value); i++) {
			g_string_append(text, i > 0 ? ", " : "");
			append_flat(text, json_array_get(value, i));
		}
		g_string_append_c(text, ']');
		break;
	case JSON_TRUE:
		g_string_append(text, "True");
		break;
	case JSON_FALSE:
		g_string_append(text, "False");
		break;
	case JSON_NULL:
		g_string_append(text, "None");
		break;
	case JSON_STRING:
	case JSON_INTEGER:
	case JSON_REAL: {
		g_autofree char *plain = json_dumps(
			value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
		g_string_append(text, plain);
		break;
	}
	}
}

/* "[{...}] * 4": Python's own short form of a list of equal members. False if it is none. */
static bool append_repeated(GString *text, const json_t *list)
{
	size_t n = json_array_size(list);
	for (size_t i = 1; i < n; i++) {
		if (!json_equal(json_array_get(list, i), json_array_get(list, 0)))
			return false;
	}
	if (n < 2 || !json_is_object(json_array_get(list, 0)))
		return false;
	g_string_append_c(text, '[');
	append_flat(text, json_array_get(list, 0));
	g_string_append_printf(text, "] * %zu", n);
	return true;
}

static void append_lines(GString *text, const json_t *value, unsigned indent)
{
	bool is_list = json_is_array(value);
	size_t n = is_list ? json_array_size(value) : json_object_size(value);
	void *at = json_object_iter(rg_json_unconst(value));
	g_string_append(text, is_list ? "[\n" : "{\n");
	for (size_t i = 0; i < n; i++) {
		g_string_append_printf(text, "%*s", (int)indent + 4, "");
		if (!is_list) {
			append_text(text, json_object_iter_key(at));
			g_string_append(text, ": ");
		}
		rg_python_append(text,
			is_list ? json_array_get(value, i) : json_object_iter_value(at),
			indent + 4);
		g_string_append(text, ",\n");
		at = is_list ? NULL : json_object_iter_next(rg_json_unconst(value), at);
	}
	g_string_append_printf(text, "%*s%s", (int)indent, "", is_list ? "]" : "}");
}

void rg_python_append(GString *text, const json_t *value, unsigned indent)
{
	gsize before = text->len;
	if (append_repeated(text, value))
		return;
	append_flat(text, value);
	if ((!json_is_array(value) && !json_is_object(value)) ||
		text->len - before + indent < WIDTH)
		return;
	g_string_truncate(text, before);
	append_lines(text, value, indent);
}

#include "render/text/paint.h"
#include "resource/expr.h"
#include <string.h>

/* Attribute values, in Terraform's notation. */

#define WHOLE_TEXT 120 /* maximum length of a text that is shown whole */
#define DIGITS 8       /* of a digest */

static char *size_text(const json_t *value, size_t bytes, const char *about)
{
	g_autofree char *digest = rg_json_digest(value);
	if (bytes < 1024)
		return g_strdup_printf(
			"(text of %s%zu bytes, digest %.*s)", about, bytes, DIGITS, digest);
	return g_strdup_printf(
		"(text of %s%.1f KiB, digest %.*s)", about, (double)bytes / 1024, DIGITS, digest);
}

static char *expression_text(const json_t *value)
{
	const char *ref = rg_json_str(value, "$ref", NULL);
	if (ref)
		return g_strdup_printf("%s.%s", ref, rg_json_str(value, "attr", "id"));
	const json_t *parts = json_object_get(value, "$join");
	size_t bytes = 0;
	rg_json_foreach (part, parts)
		bytes += json_is_string(part) ? json_string_length(part) : 0;
	return parts ? size_text(value, bytes, "about ") : g_strdup("(compressed text)");
}

static void list_text(GString *to, const json_t *value)
{
	g_string_append_c(to, '[');
	rg_json_foreach_at (i, item, value) {
		g_autofree char *text = value_text(item);
		g_string_append_printf(to, "%s%s", i ? ", " : "", text);
	}
	g_string_append_c(to, ']');
}

static int by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(a, b);
}

static GList *sorted_keys(json_t *value)
{
	GList *keys = NULL;
	for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at))
		keys = g_list_prepend(keys, (gpointer)(uintptr_t)json_object_iter_key(at));
	return g_list_sort(keys, by_name);
}

/* Names are unquoted, as in Terraform; a key that is not a plain name is quoted. */
static char *key_text(const char *key)
{
	if (*key && !key[strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789_-:./")])
		return g_strdup(key);
	json_auto_t *string = json_string(key);
	return string ? rg_json_canonical(string) : clean(key);
}

static void map_text(GString *to, json_t *value)
{
	g_autoptr(GList) keys = sorted_keys(value);
	g_string_append_c(to, '{');
	for (GList *at = keys; at; at = at->next) {
		g_autofree char *key = key_text(at->data);
		g_autofree char *text = value_text(json_object_get(value, at->data));
		g_string_append_printf(to, "%s%s = %s", at->prev ? ", " : "", key, text);
	}
	g_string_append_c(to, '}');
}

char *value_text(json_t *value)
{
	if (!value)
		return g_strdup("(none)");
	if (rg_expr_is(value))
		return expression_text(value);
	if (json_is_string(value) && json_string_length(value) > WHOLE_TEXT)
		return size_text(value, json_string_length(value), "");
	if (!json_is_array(value) && !json_is_object(value)) {
		g_autofree char *text = rg_json_canonical(value);
		return clean(text);
	}
	GString *text = g_string_new(NULL);
	if (json_is_array(value))
		list_text(text, value);
	else
		map_text(text, value);
	return g_string_free(text, FALSE);
}

bool value_is_map(const json_t *value)
{
	return json_is_object(value) && !rg_expr_is(value) && json_object_size(value);
}

static bool is_list(const json_t *value)
{
	return json_is_array(value) && json_array_size(value);
}

static bool fits(const RgStyle *style, const char *prefix, const char *text)
{
	return columns_of(prefix) + 1 + columns_of(text) <= style_width(style);
}

/* Spaces before a member of a value whose line begins with `prefix`. */
static char *inner_indent(const char *prefix)
{
	return g_strnfill(strspn(prefix, " ") + 6, ' ');
}

static void add_members(
	GString *to, const RgStyle *style, const char *indent, const char *before, json_t *value)
{
	if (value_is_map(value)) {
		g_autoptr(GList) keys = sorted_keys(value);
		for (GList *at = keys; at; at = at->next) {
			g_autofree char *key = key_text(at->data);
			g_autofree char *prefix = g_strdup_printf("%s%s%s =", indent, before, key);
			add_value(to, style, prefix, json_object_get(value, at->data));
		}
		return;
	}
	rg_json_foreach (item, value) {
		g_autofree char *text = value_text(item);
		g_string_append_printf(to, "%s%s%s,\n", indent, before, text);
	}
}

static void close_value(GString *to, const char *prefix, bool map)
{
	g_string_append_printf(to, "%*s%s\n", (int)strspn(prefix, " ") + 2, "", map ? "}" : "]");
}

void add_value(GString *to, const RgStyle *style, const char *prefix, json_t *value)
{
	g_autofree char *text = value_text(value);
	if (fits(style, prefix, text) || !(value_is_map(value) || is_list(value))) {
		g_string_append_printf(to, "%s %s\n", prefix, text);
		return;
	}
	g_autofree char *indent = inner_indent(prefix);
	g_string_append_printf(to, "%s %s\n", prefix, value_is_map(value) ? "{" : "[");
	add_members(to, style, indent, "", value);
	close_value(to, prefix, value_is_map(value));
}

static bool holds(const json_t *list, const json_t *wanted)
{
	rg_json_foreach (item, list) {
		if (json_equal(item, wanted))
			return true;
	}
	return false;
}

/* "- item," and "+ item," for what only one of two lists has; the number of the others. */
static size_t add_list_changes(
	GString *to, const char *indent, const json_t *list, const json_t *other, const char *sign)
{
	size_t same = 0;
	rg_json_foreach (item, list) {
		if (holds(other, item)) {
			same++;
			continue;
		}
		g_autofree char *text = value_text(item);
		g_string_append_printf(to, "%s%s %s,\n", indent, sign, text);
	}
	return same;
}

static size_t add_map_changes(
	GString *to, const RgStyle *style, const char *indent, json_t *before, json_t *after)
{
	size_t same = 0;
	json_auto_t *all = json_copy(before);
	json_object_update(all, after);
	g_autoptr(GList) keys = sorted_keys(all);
	for (GList *at = keys; at; at = at->next) {
		json_t *from = json_object_get(before, at->data);
		json_t *to_value = json_object_get(after, at->data);
		if (from && to_value && json_equal(from, to_value)) {
			same++;
			continue;
		}
		g_autofree char *key = key_text(at->data);
		g_autofree char *prefix = g_strdup_printf("%s%s %s =", indent,
			!from	    ? "+"
			: !to_value ? "-"
				    : "~",
			key);
		if (from && to_value)
			add_difference(to, style, prefix, from, to_value, "");
		else
			add_value(to, style, prefix, from ? from : to_value);
	}
	return same;
}

void add_difference(GString *to, const RgStyle *style, const char *prefix, json_t *before,
	json_t *after, const char *note)
{
	bool maps = value_is_map(before) && value_is_map(after),
	     lists = is_list(before) && is_list(after);
	if (!maps && !lists) {
		g_autofree char *from = value_text(before), *into = value_text(after);
		g_autofree char *line = before ? g_strdup_printf("%s -> %s%s", from, into, note)
					       : g_strconcat(into, note, NULL);
		if (!before || fits(style, prefix, line))
			g_string_append_printf(to, "%s %s\n", prefix, line);
		else
			g_string_append_printf(to, "%s %s%s\n%*s -> %s\n", prefix, from, note,
				(int)columns_of(prefix) - 3, "", into);
		return;
	}
	g_autofree char *indent = inner_indent(prefix);
	g_string_append_printf(to, "%s %s%s\n", prefix, maps ? "{" : "[", note);
	size_t same;
	if (maps) {
		same = add_map_changes(to, style, indent, before, after);
	} else {
		add_list_changes(to, indent, before, after, "-");
		same = add_list_changes(to, indent, after, before, "+");
	}
	if (same)
		g_string_append_printf(to, "%s  # (%zu unchanged)\n", indent, same);
	close_value(to, prefix, maps);
}

#include "aws/sim/params.h"
#include <string.h>

/* RunInstances' deepest name has seven parts; EC2 has no deeper ones. */
#define MAX_DEPTH 12

static bool is_clean(const char *text)
{
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20 && *c != '\t' && *c != '\n' && *c != '\r')
			return false;
	}
	return true;
}

static bool param_put(json_t *tree, const char *name, const char *value, char **problem)
{
	g_auto(GStrv) parts = g_strsplit(name, ".", MAX_DEPTH + 1);
	unsigned depth = g_strv_length(parts);
	if (depth == 0 || depth > MAX_DEPTH) {
		*problem = g_strdup(depth ? "a parameter name is nested too deeply"
					  : "a parameter has no name");
		return false;
	}
	json_t *at = tree;
	for (unsigned i = 0; i + 1 < depth; i++) {
		json_t *next = json_object_get(at, parts[i]);
		if (!next) {
			next = json_object();
			json_object_set_new(at, parts[i], next);
		} else if (!json_is_object(next)) {
			*problem = g_strdup_printf(
				"the parameter %s has both a value and members", name);
			return false;
		}
		at = next;
	}
	if (json_object_get(at, parts[depth - 1])) {
		*problem = g_strdup_printf("the parameter %s is given more than once", name);
		return false;
	}
	if (json_object_set_new(at, parts[depth - 1], json_string(value)) < 0) {
		*problem = g_strdup("a parameter is not UTF-8 text");
		return false;
	}
	return true;
}

json_t *ec2_params_parse(const char *form, char **problem)
{
	json_auto_t *tree = json_object();
	GUriParamsIter iter;
	g_uri_params_iter_init(&iter, form, -1, "&", G_URI_PARAMS_WWW_FORM);
	for (;;) {
		g_autofree char *name = NULL;
		g_autofree char *value = NULL;
		g_autoptr(GError) error = NULL;
		if (!g_uri_params_iter_next(&iter, &name, &value, &error)) {
			if (!error)
				return g_steal_pointer(&tree);
			*problem = g_strdup(error->message);
			return NULL;
		}
		if (!is_clean(name) || !is_clean(value)) {
			*problem = g_strdup("a parameter contains control characters");
			return NULL;
		}
		if (!param_put(tree, name, value, problem))
			return NULL;
	}
}

json_t *ec2_param_at(const json_t *tree, const char *path)
{
	json_t *at = NULL;
	const char *rest = path;
	while (*rest) {
		const char *end = strchrnul(rest, '.');
		at = json_object_getn(tree, rest, (size_t)(end - rest));
		if (!at)
			return NULL;
		tree = at;
		rest = *end ? end + 1 : end;
	}
	return at;
}

const char *ec2_param_str(const json_t *tree, const char *path)
{
	return json_string_value(ec2_param_at(tree, path));
}

int64_t ec2_param_int(const json_t *tree, const char *path, int64_t otherwise)
{
	const char *text = ec2_param_str(tree, path);
	gint64 value = 0;
	if (!text || !g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &value, NULL))
		return otherwise;
	return value;
}

bool ec2_param_bool(const json_t *tree, const char *path, bool otherwise)
{
	const char *text = ec2_param_str(tree, path);
	return text ? g_ascii_strcasecmp(text, "true") == 0 : otherwise;
}

typedef struct {
	guint64 number;
	json_t *value;
} Entry;

static int compare_entries(const void *a, const void *b)
{
	const Entry *left = a;
	const Entry *right = b;
	return (left->number > right->number) - (left->number < right->number);
}

GPtrArray *ec2_param_list(const json_t *tree, const char *path)
{
	GPtrArray *out = g_ptr_array_new();
	json_t *list = ec2_param_at(tree, path);
	if (!json_is_object(list))
		return out;
	g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(Entry));
	const char *key;
	json_t *value;
	json_object_foreach (list, key, value) {
		Entry entry = {g_ascii_strtoull(key, NULL, 10), value};
		g_array_append_val(entries, entry);
	}
	g_array_sort(entries, compare_entries);
	for (unsigned i = 0; i < entries->len; i++)
		g_ptr_array_add(out, g_array_index(entries, Entry, i).value);
	return out;
}

GPtrArray *ec2_param_texts(const json_t *tree, const char *path)
{
	GPtrArray *out = ec2_param_list(tree, path);
	unsigned kept = 0;
	for (unsigned i = 0; i < out->len; i++) {
		const char *text = json_string_value(g_ptr_array_index(out, i));
		if (text)
			g_ptr_array_index(out, kept++) = (void *)(uintptr_t)text;
	}
	g_ptr_array_set_size(out, (int)kept);
	return out;
}

#include "aws/sim/filter.h"
#include <string.h>

/* "The maximum number of filter values specified on a single call is 200": EC2 user guide. */
#define MAX_VALUES 200

typedef struct {
	const char *path; /* NULL: the value of the tag `key` */
	char *key;
	GHashTable *exact;
	GPtrArray *patterns;
} Filter;

struct RgSimFilters {
	GPtrArray *all;
};

static void filter_free(void *data)
{
	Filter *filter = data;
	g_free(filter->key);
	g_hash_table_unref(filter->exact);
	g_ptr_array_unref(filter->patterns);
	g_free(filter);
}

void rg_sim_filters_free(RgSimFilters *filters)
{
	if (!filters)
		return;
	g_ptr_array_unref(filters->all);
	g_free(filters);
}

static bool has_wildcard(const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		else if (*text == '*' || *text == '?')
			return true;
	}
	return false;
}

static char *unescape(const char *text)
{
	GString *out = g_string_new(NULL);
	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		g_string_append_c(out, *text);
	}
	return g_string_free(out, FALSE);
}

/* GPatternSpec knows no escapes. Goes back to the last star only, so the time is at most the
 * product of the lengths. */
static bool wild_match(const char *pattern, const char *text)
{
	const char *star = NULL;
	const char *retry = NULL;
	while (*text) {
		bool escaped = *pattern == '\\' && pattern[1];
		const char *want = escaped ? pattern + 1 : pattern;
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern && (*want == *text || (!escaped && *want == '?'))) {
			pattern = want + 1;
			text++;
		} else if (star) {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static Filter *filter_new(const char *name, const RgSimFilterName *names)
{
	static const RgSimFilterName tags[] = {
		{"tag-key", "tagSet.key"}, {"tag-value", "tagSet.value"}, {NULL, NULL}};
	const char *path = NULL;
	for (int i = 0; !path && names[i].name; i++)
		path = g_str_equal(names[i].name, name) ? names[i].path : NULL;
	for (int i = 0; !path && tags[i].name; i++)
		path = g_str_equal(tags[i].name, name) ? tags[i].path : NULL;
	if (!path && !g_str_has_prefix(name, "tag:"))
		return NULL;
	Filter *filter = g_new0(Filter, 1);
	filter->path = path;
	filter->key = path ? NULL : g_strdup(name + strlen("tag:"));
	filter->exact = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	filter->patterns = g_ptr_array_new();
	return filter;
}

static void add_value(Filter *filter, const char *value)
{
	if (has_wildcard(value))
		g_ptr_array_add(filter->patterns, (void *)(guintptr)value);
	else
		g_hash_table_add(filter->exact, unescape(value));
}

static bool parse_one(
	RgSimCall *call, const json_t *entry, const RgSimFilterName *names, RgSimFilters *out)
{
	const char *name = rg_sim_param_str(entry, "Name");
	g_autoptr(GPtrArray) values = rg_sim_param_texts(entry, "Value");
	if (!name)
		return rg_sim_fail_missing(call, "Filter.Name");
	if (values->len == 0)
		return rg_sim_fail(
			call, 400, "InvalidParameterValue", "The filter '%s' has no value", name);
	Filter *filter = filter_new(name, names);
	if (!filter)
		return rg_sim_fail(
			call, 400, "InvalidParameterValue", "The filter '%s' is invalid", name);
	for (unsigned i = 0; i < values->len; i++)
		add_value(filter, g_ptr_array_index(values, i));
	g_ptr_array_add(out->all, filter);
	return true;
}

RgSimFilters *rg_sim_filters_parse(RgSimCall *call, const RgSimFilterName *names)
{
	g_autoptr(RgSimFilters) filters = g_new0(RgSimFilters, 1);
	filters->all = g_ptr_array_new_with_free_func(filter_free);
	g_autoptr(GPtrArray) entries = rg_sim_param_list(call->params, "Filter");
	size_t total = 0;
	for (unsigned i = 0; i < entries->len; i++)
		total += json_object_size(rg_sim_param_at(g_ptr_array_index(entries, i), "Value"));
	if (entries->len > MAX_VALUES || total > MAX_VALUES) {
		rg_sim_fail(call, 400, "FilterLimitExceeded",
			"The maximum number of filter values specified on a single call is %d",
			MAX_VALUES);
		return NULL;
	}
	for (unsigned i = 0; i < entries->len; i++) {
		if (!parse_one(call, g_ptr_array_index(entries, i), names, filters))
			return NULL;
	}
	return g_steal_pointer(&filters);
}

static bool match_text(const Filter *filter, const char *text)
{
	if (g_hash_table_contains(filter->exact, text))
		return true;
	for (unsigned i = 0; i < filter->patterns->len; i++) {
		if (wild_match(g_ptr_array_index(filter->patterns, i), text))
			return true;
	}
	return false;
}

static bool match_leaf(const Filter *filter, const json_t *value)
{
	if (json_is_string(value))
		return match_text(filter, json_string_value(value));
	if (json_is_boolean(value))
		return match_text(filter, json_is_true(value) ? "true" : "false");
	if (!json_is_integer(value))
		return false;
	char text[32];
	g_snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return match_text(filter, text);
}

/* Paths come from our tables, so the depth is theirs. */
static bool match_path(const Filter *filter, const json_t *value, const char *path)
{
	if (json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value); i++) {
			if (match_path(filter, json_array_get(value, i), path))
				return true;
		}
		return false;
	}
	if (!*path)
		return match_leaf(filter, value);
	const char *end = strchrnul(path, '.');
	const json_t *member = json_object_getn(value, path, (size_t)(end - path));
	return member && match_path(filter, member, *end ? end + 1 : end);
}

static bool match_tag(const Filter *filter, const json_t *doc)
{
	const json_t *tags = json_object_get(doc, "tagSet");
	for (size_t i = 0; i < json_array_size(tags); i++) {
		const json_t *tag = json_array_get(tags, i);
		if (g_str_equal(rg_sim_doc_str(tag, "key"), filter->key))
			return match_text(filter, rg_sim_doc_str(tag, "value"));
	}
	return false;
}

bool rg_sim_filters_match(const RgSimFilters *filters, const json_t *doc)
{
	for (unsigned i = 0; i < filters->all->len; i++) {
		const Filter *filter = g_ptr_array_index(filters->all, i);
		bool matches = filter->path ? match_path(filter, doc, filter->path)
					    : match_tag(filter, doc);
		if (!matches)
			return false;
	}
	return true;
}

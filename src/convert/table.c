#include "convert/internal.h"

#include <string.h>

struct ConvertTable {
	RgTable *cells;
	GArray *rules;	     /* ConvertRule */
	GHashTable *exact;   /* path -> ConvertRule* */
	GHashTable *above;   /* set of the paths above those */
	GPtrArray *patterns; /* ConvertRule*: with an asterisk */
};

void convert_table_free(ConvertTable *table)
{
	if (!table)
		return;
	rg_table_free(table->cells);
	g_array_unref(table->rules);
	g_hash_table_unref(table->exact);
	g_hash_table_unref(table->above);
	g_ptr_array_unref(table->patterns);
	g_free(table);
}

static void index_rule(ConvertTable *table, ConvertRule *rule)
{
	if (strchr(rule->path, '*')) {
		g_ptr_array_add(table->patterns, rule);
		return;
	}
	if (!g_hash_table_contains(table->exact, rule->path))
		g_hash_table_insert(table->exact, (void *)(uintptr_t)rule->path, rule);
	for (const char *slash = strchr(rule->path, '/'); slash; slash = strchr(slash + 1, '/'))
		g_hash_table_add(table->above, g_strndup(rule->path, (gsize)(slash - rule->path)));
}

ConvertTable *convert_table_new(const char *name, const char *text, size_t len, RgDiags *diags)
{
	static const char *const columns[] = {"path", "to", "how", "note", NULL};
	RgTable *cells = rg_table_read(name, text, len, columns, diags);
	if (!cells)
		return NULL;
	ConvertTable *table = g_new0(ConvertTable, 1);
	table->cells = cells;
	table->rules = g_array_new(TRUE, TRUE, sizeof(ConvertRule));
	table->exact = g_hash_table_new(g_str_hash, g_str_equal);
	table->above = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	table->patterns = g_ptr_array_new();
	for (size_t i = 0; i < rg_table_rows(cells); i++) {
		const ConvertRule rule = {rg_table_cell(cells, i, 0), rg_table_cell(cells, i, 1),
			rg_table_cell(cells, i, 2), rg_table_cell(cells, i, 3)};
		g_array_append_val(table->rules, rule);
	}
	for (guint i = 0; i < table->rules->len; i++)
		index_rule(table, &g_array_index(table->rules, ConvertRule, i));
	return table;
}

/* Whether the first steps of a path match a pattern of that many steps; `whole`: all of it. */
static bool matches(const char *pattern, const char *path, bool whole)
{
	g_auto(GStrv) want = g_strsplit(pattern, "/", -1), got = g_strsplit(path, "/", -1);
	guint n = g_strv_length(got);
	if (whole ? g_strv_length(want) != n : g_strv_length(want) <= n)
		return false;
	for (guint i = 0; i < n; i++) {
		if (!g_pattern_match_simple(want[i], got[i]))
			return false;
	}
	return true;
}

const ConvertRule *convert_table_find(const ConvertTable *table, const char *path)
{
	const ConvertRule *rule = table ? g_hash_table_lookup(table->exact, path) : NULL;
	for (guint i = 0; table && !rule && i < table->patterns->len; i++) {
		const ConvertRule *pattern = table->patterns->pdata[i];
		rule = matches(pattern->path, path, true) ? pattern : NULL;
	}
	return rule;
}

bool convert_table_has_below(const ConvertTable *table, const char *path)
{
	bool has = table && g_hash_table_contains(table->above, path);
	for (guint i = 0; table && !has && i < table->patterns->len; i++) {
		const ConvertRule *pattern = table->patterns->pdata[i];
		has = matches(pattern->path, path, false);
	}
	return has;
}

const ConvertRule *convert_table_next(
	const ConvertTable *table, const char *prefix, const ConvertRule *after)
{
	if (!table)
		return NULL;
	const ConvertRule *first = (const ConvertRule *)(const void *)table->rules->data;
	for (guint i = after ? (guint)(after - first) + 1 : 0; i < table->rules->len; i++) {
		if (g_str_has_prefix(first[i].path, prefix))
			return &first[i];
	}
	return NULL;
}

char *convert_table_nearest(const ConvertTable *table, const char *path, const char *key)
{
	g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *prefix = *path ? g_strconcat(path, "/", NULL) : g_strdup("");
	const ConvertRule *rule = NULL;
	while ((rule = convert_table_next(table, prefix, rule))) {
		const char *step = rule->path + strlen(prefix);
		if (!strchr(step, '*'))
			g_ptr_array_add(words, g_strndup(step, strcspn(step, "/")));
	}
	g_ptr_array_add(words, NULL);
	return g_strdup(rg_nearest_word(key, (const char *const *)words->pdata));
}

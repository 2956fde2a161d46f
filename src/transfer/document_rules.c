/* Consistency rules within a document. */
#include "base/json_place.h"
#include "resource/expr.h"
#include "transfer/rules.h"

#define CODE "state.bad-document"

RgDiag *reading_error(
	Reading *reading, const char *code, const char *pointer, const char *format, ...)
{
	unsigned line = 0, column = 0;
	if (reading->told++ >= TOLD_MAX)
		return NULL;
	va_list args;
	va_start(args, format);
	g_autofree char *what = g_strdup_vprintf(format, args);
	va_end(args);
	RgDiag *diag = rg_diags_error(
		reading->diags, code, "%s%s%s", pointer, *pointer != '\0' ? ": " : "", what);
	rg_json_place(reading->text, reading->len, pointer, &line, &column);
	if (reading->told == 1)
		rg_diag_hint(diag, "`raygpu state pull` writes the format, "
				   "schemas/state.schema.json defines it");
	return rg_diag_at(
		diag, (RgSource){g_intern_string(reading->file), line, column, column + 1});
}

/* Names that may occur only once, and the place of the first. */
static bool once(Reading *reading, GHashTable *seen, char *name, char *pointer, const char *what)
{
	const char *first = g_hash_table_lookup(seen, name);
	if (!first) {
		g_hash_table_insert(seen, name, pointer);
		return true;
	}
	reading_error(reading, CODE, pointer, "%s is already recorded at %s", what, first);
	g_free(name);
	g_free(pointer);
	return false;
}

static GHashTable *seen_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

/* Each text of `key` may occur once in a list of the cluster; null any number of times. */
static bool check_once(Reading *reading, GHashTable *seen, const json_t *cluster, size_t place,
	const char *list, const char *key)
{
	bool ok = true;
	rg_json_foreach_at (i, row, json_object_get(cluster, list)) {
		const char *text = rg_json_str(row, key, NULL);
		if (text)
			ok = once(reading, seen, g_strdup(text),
				     g_strdup_printf(
					     "/clusters/%zu/%s/%zu/%s", place, list, i, key),
				     key) &&
			     ok;
	}
	return ok;
}

static bool check_once_here(
	Reading *reading, const json_t *cluster, size_t place, const char *list, const char *key)
{
	g_autoptr(GHashTable) seen = seen_new();
	return check_once(reading, seen, cluster, place, list, key);
}

/* Two records of one resource: destroying one would take it from the other. */
static bool check_ids(Reading *reading, GHashTable *seen, const json_t *cluster, size_t place)
{
	bool ok = true;
	rg_json_foreach_at (i, row, json_object_get(cluster, "resources")) {
		g_autofree char *kind = NULL, *name = NULL;
		int64_t index;
		const char *id = rg_json_str(row, "id", NULL);
		if (!id || g_str_equal(rg_json_str(row, "ownership", ""), "shared") ||
			!rg_address_parse(rg_json_str(row, "address", ""), &kind, &name, &index))
			continue;
		ok = once(reading, seen,
			     g_strjoin("\n", rg_json_str(cluster, "provider", ""),
				     rg_json_str(cluster, "region", ""), kind, id, NULL),
			     g_strdup_printf("/clusters/%zu/resources/%zu/id", place, i), "id") &&
		     ok;
	}
	return ok;
}

static bool has_mark(const json_t *value)
{
	if (json_object_get(value, "$redacted"))
		return true;
	rg_json_foreach_member (key, member, value) {
		if (has_mark(member))
			return true;
	}
	rg_json_foreach (member, value) {
		if (has_mark(member))
			return true;
	}
	return false;
}

static bool check_whole(Reading *reading, const json_t *row, const char *pointer)
{
	if (!has_mark(json_object_get(row, "attributes")) &&
		!has_mark(json_object_get(row, "outputs")))
		return true;
	RgDiag *diag = reading_error(
		reading, "state.redacted", pointer, "the secrets of this record were removed");
	if (diag)
		rg_diag_hint(diag, "push what `raygpu state pull` writes without --redact");
	return false;
}

static void dangles(
	Reading *reading, const char *pointer, const char *from, const char *to, bool *ok)
{
	if (reading->force) {
		rg_diags_warning(reading->diags, CODE,
			"%s refers to %s, which the document does not have", from, to);
		return;
	}
	*ok = false;
	RgDiag *diag = reading_error(reading, CODE, pointer,
		"%s refers to %s, which the document does not have", from, to);
	if (diag)
		rg_diag_hint(diag, "restore its record; if it was removed from the state on "
				   "purpose (`raygpu state rm`), push with --force");
}

static bool check_refs(
	Reading *reading, GHashTable *addresses, const json_t *row, const char *pointer)
{
	g_autoptr(GHashTable) refs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const char *from = rg_json_str(row, "address", "");
	bool ok = true;
	rg_expr_refs(json_object_get(row, "attributes"), refs);
	rg_json_foreach (need, json_object_get(row, "depends_on"))
		g_hash_table_add(refs, g_strdup(json_string_value(need)));
	g_autoptr(GList) sorted = g_list_sort(g_hash_table_get_keys(refs), (GCompareFunc)g_strcmp0);
	for (const GList *at = sorted; at != NULL; at = at->next) {
		if (!g_hash_table_contains(addresses, at->data))
			dangles(reading, pointer, from, at->data, &ok);
	}
	return ok;
}

static bool check_records(Reading *reading, const json_t *cluster, size_t place)
{
	g_autoptr(GHashTable) addresses = g_hash_table_new(g_str_hash, g_str_equal);
	bool ok = true;
	rg_json_foreach (row, json_object_get(cluster, "resources"))
		g_hash_table_add(addresses, (gpointer)(uintptr_t)rg_json_str(row, "address", ""));
	rg_json_foreach_at (i, row, json_object_get(cluster, "resources")) {
		g_autofree char *at = g_strdup_printf("/clusters/%zu/resources/%zu", place, i);
		ok = check_whole(reading, row, at) && check_refs(reading, addresses, row, at) && ok;
	}
	rg_json_foreach_at (i, row, json_object_get(cluster, "lifetimes")) {
		const char *of = rg_json_str(row, "resource", NULL);
		if (!of || g_hash_table_contains(addresses, of))
			continue;
		g_autofree char *at = g_strdup_printf("/clusters/%zu/lifetimes/%zu", place, i);
		reading_error(reading, CODE, at, "resource has no record");
		ok = false;
	}
	return ok;
}

static bool check_settled(Reading *reading, const json_t *cluster, size_t place)
{
	size_t open = json_array_size(json_object_get(cluster, "journal"));
	if (open == 0)
		return true;
	g_autofree char *at = g_strdup_printf("/clusters/%zu/journal", place);
	RgDiag *diag = reading_error(reading, "state.push-refused", at,
		"%zu creation%s of unknown outcome when it was pulled", open,
		open == 1 ? " was" : "s were");
	if (diag)
		rg_diag_hint(diag, "run `raygpu apply` there to resolve them, and pull again");
	return false;
}

static bool check_cluster(
	Reading *reading, GHashTable *ids, GHashTable *runs, const json_t *cluster, size_t place)
{
	bool ok = check_once_here(reading, cluster, place, "resources", "address");
	ok = check_once_here(reading, cluster, place, "identities", "address") && ok;
	ok = check_once_here(reading, cluster, place, "tombstones", "id") && ok;
	ok = check_once_here(reading, cluster, place, "lifetimes", "resource") && ok;
	ok = check_once(reading, runs, cluster, place, "runs", "id") && ok;
	ok = check_ids(reading, ids, cluster, place) && ok;
	ok = check_records(reading, cluster, place) && ok;
	return check_settled(reading, cluster, place) && ok;
}

bool rules_check(Reading *reading, const json_t *document)
{
	g_autoptr(GHashTable) names = seen_new(), ids = seen_new(), runs = seen_new();
	g_autoptr(GHashTable) lineages = seen_new();
	bool ok = true;
	rg_json_foreach_at (i, cluster, json_object_get(document, "clusters")) {
		ok = once(reading, names, g_strdup(rg_json_str(cluster, "name", "")),
			     g_strdup_printf("/clusters/%zu/name", i), "the cluster") &&
		     ok;
		ok = once(reading, lineages, g_strdup(rg_json_str(cluster, "lineage", "")),
			     g_strdup_printf("/clusters/%zu/lineage", i), "the lineage") &&
		     ok;
		ok = check_cluster(reading, ids, runs, cluster, i) && ok;
	}
	return ok;
}

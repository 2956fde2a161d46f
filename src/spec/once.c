#include "spec/once.h"
#include "spec/check.h"
#include <string.h>

static void free_import(gpointer data)
{
	RgSpecImport *import = data;
	g_free(import->address);
	g_free(import->id);
	g_free(import->origin);
	g_free(import);
}

GPtrArray *rg_imports_build(const json_t *list)
{
	GPtrArray *imports = g_ptr_array_new_with_free_func(free_import);
	rg_json_foreach_at (i, value, list) {
		RgSpecImport *import = g_new0(RgSpecImport, 1);
		import->address = g_strdup(rg_json_str(value, "address", NULL));
		import->id = g_strdup(rg_json_str(value, "id", NULL));
		import->as_is = json_is_true(json_object_get(value, "as_is"));
		import->origin = g_strdup_printf("/imports/%zu", i);
		g_ptr_array_add(imports, import);
	}
	return imports;
}

static void free_removed(gpointer data)
{
	RgSpecRemoved *removed = data;
	g_free(removed->pool);
	g_free(removed->origin);
	g_free(removed);
}

GPtrArray *rg_removed_build(json_t *pools)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(free_removed);
	rg_json_foreach_member (name, value, pools) {
		RgSpecRemoved *removed = g_new0(RgSpecRemoved, 1);
		removed->pool = g_strdup(name);
		removed->destroy = json_is_true(json_object_get(value, "destroy"));
		removed->keep_tags = json_is_true(json_object_get(value, "keep_tags"));
		removed->origin = rg_json_pointer_add("/removed", name);
		g_ptr_array_add(all, removed);
	}
	return all;
}

/* ---- rules */

/* "cloud.node" of "cloud.node.train[0]"; an id is unique within a kind. */
static char *kind_of(const char *address)
{
	const char *dot = strrchr(address, '.');
	return g_strndup(address, dot ? (gsize)(dot - address) : 0);
}

static bool is_pool(const char *address, const char *pool)
{
	const char *dot = strrchr(address, '.');
	size_t len = strlen(pool);
	return dot && strncmp(dot + 1, pool, len) == 0 &&
	       (dot[1 + len] == '[' || dot[1 + len] == '\0');
}

static void report_twice(
	RgDocument *document, size_t first, size_t second, const char *member, RgDiags *diags)
{
	g_autofree char *at = g_strdup_printf("/imports/%zu/%s", second, member);
	g_autofree char *other = g_strdup_printf("/imports/%zu/%s", first, member);
	if (rg_document_is_spoiled(document, at))
		return;
	RgDiag *diag = rg_spec_report(document, at, "spec.duplicate-item", diags,
		"imports: %s \"%s\" is given twice", member,
		json_string_value(rg_json_at(document->value, at)));
	rg_diag_related(diag, rg_document_source(document, other), "the other entry");
}

static void check_import(RgDocument *document, const json_t *list, size_t second, RgDiags *diags)
{
	const json_t *entry = json_array_get(list, second);
	const char *address = rg_json_str(entry, "address", ""), *id = rg_json_str(entry, "id", "");
	g_autofree char *kind = kind_of(address);
	for (size_t i = 0; i < second; i++) {
		const json_t *other = json_array_get(list, i);
		const char *taken = rg_json_str(other, "address", "");
		g_autofree char *of = kind_of(taken);
		if (g_str_equal(taken, address))
			report_twice(document, i, second, "address", diags);
		else if (g_str_equal(of, kind) && g_str_equal(rg_json_str(other, "id", ""), id))
			report_twice(document, i, second, "id", diags);
		else
			continue;
		return;
	}
}

static void check_imported(RgDocument *document, const char *pool, const char *at, RgDiags *diags)
{
	rg_json_foreach_at (i, entry, json_object_get(document->value, "imports")) {
		g_autofree char *where = g_strdup_printf("/imports/%zu/address", i);
		const char *address = rg_json_str(entry, "address", "");
		if (!is_pool(address, pool) || rg_document_is_spoiled(document, where))
			continue;
		RgDiag *diag = rg_spec_report(document, where, "spec.conflict", diags,
			"imports: %s is imported, but `removed` names pool \"%s\"", address, pool);
		rg_diag_related(diag, rg_document_key_source(document, at), "removed");
		return;
	}
}

/* The pointer of the `renamed_from` that names it; g_free, NULL: none. */
static char *renamed_to(const RgDocument *document, const char *old)
{
	json_t *pools = json_object_get(document->value, "pools");
	rg_json_foreach_member (name, pool, pools) {
		const json_t *from = json_object_get(pool, "renamed_from");
		g_autofree char *at = rg_json_pointer_add("/pools", name);
		if (g_strcmp0(json_string_value(from), old) == 0 || rg_json_has_text(from, old))
			return g_strconcat(at, "/renamed_from", NULL);
	}
	return NULL;
}

static void check_removed(
	RgDocument *document, const char *pool, const json_t *entry, RgDiags *diags)
{
	g_autofree char *at = rg_json_pointer_add("/removed", pool);
	g_autofree char *there = rg_json_pointer_add("/pools", pool);
	g_autofree char *renamed = renamed_to(document, pool);
	RgDiag *diag = NULL;
	if (rg_document_is_spoiled(document, at))
		return;
	check_imported(document, pool, at, diags);
	if (g_str_equal(pool, "head")) {
		diag = rg_spec_report(document, at, "spec.conflict", diags,
			"removed: the head is not a pool, and the cluster needs it");
	} else if (json_object_get(json_object_get(document->value, "pools"), pool)) {
		diag = rg_spec_report(document, at, "spec.conflict", diags,
			"removed: the spec still has a pool \"%s\"", pool);
		rg_diag_related(diag, rg_document_key_source(document, there), "the pool");
	} else if (renamed) {
		diag = rg_spec_report(document, at, "spec.conflict", diags,
			"removed: another pool was renamed from \"%s\"", pool);
		rg_diag_related(diag, rg_document_source(document, renamed), "renamed_from");
	} else if (rg_json_bool(entry, "destroy", false) &&
		   rg_json_bool(entry, "keep_tags", false)) {
		g_autofree char *tags = g_strconcat(at, "/keep_tags", NULL);
		rg_spec_report(document, tags, "spec.conflict", diags,
			"removed: what is destroyed keeps no tags");
	}
	if (diag)
		rg_diag_at(diag, rg_document_key_source(document, at));
}

void rg_spec_check_once(RgDocument *document, RgDiags *diags)
{
	const json_t *imports = json_object_get(document->value, "imports");
	json_t *removed = json_object_get(document->value, "removed");
	for (size_t i = 1; i < json_array_size(imports); i++)
		check_import(document, imports, i, diags);
	rg_json_foreach_member (pool, entry, removed)
		check_removed(document, pool, entry, diags);
}

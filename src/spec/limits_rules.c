#include "spec/check.h"

/* A limit of a pool that isn't there would limit nothing, and nobody would know. */
void rg_spec_check_budget(RgDocument *document, RgDiags *diags)
{
	json_t *limits = rg_json_at(document->value, "/budget/pools"), *limit;
	const json_t *pools = json_object_get(document->value, "pools");
	const char *name;
	json_object_foreach (limits, name, limit) {
		g_autofree char *at = rg_json_pointer_add("/budget/pools", name);
		if (g_str_equal(name, "head") || json_object_get(pools, name) ||
			rg_document_is_spoiled(document, at))
			continue;
		RgDiag *diag = rg_spec_report(document, at, "spec.conflict", diags,
			"budget.pools names \"%s\", but the spec has no such pool", name);
		rg_diag_at(diag, rg_document_key_source(document, at));
		g_autoptr(GPtrArray) words = g_ptr_array_new();
		const char *pool;
		json_t *value;
		g_ptr_array_add(words, (gpointer)(uintptr_t) "head");
		json_object_foreach (rg_json_unconst(pools), pool, value)
			g_ptr_array_add(words, (gpointer)(uintptr_t)pool);
		g_ptr_array_add(words, NULL);
		const char *near = rg_nearest_word(name, (const char *const *)words->pdata);
		if (near)
			rg_diag_hint(diag, "did you mean `%s`?", near);
	}
}

/* What the emitters of all libraries ask about an entry, and say about it. */
#include "workloads/emit_internal.h"

bool rg_emit_has(const RgEmitEntry *entry, const char *api, const char *option)
{
	return rg_compat_has_option(entry->compat, api, option, entry->cluster->ray.version);
}

void rg_emit_complain(const RgEmitEntry *entry, char *what, const char *hint)
{
	g_autofree char *text = what;
	RgDiag *diag = rg_diags_warning(entry->diags, "fit.not-expressible", "%s", text);
	rg_diag_at(diag, entry->workload->source);
	rg_diag_hint(diag, "%s", hint);
}

json_t *rg_emit_selectors(const RgEmitEntry *entry)
{
	json_auto_t *all = json_array();
	bool any = false;
	rg_json_foreach (bundle, entry->bundles) {
		json_t *selector = json_object_get(bundle, "label_selector");
		any |= json_object_size(selector) > 0;
		for (int64_t k = 0; k < rg_json_int(bundle, "count", 1); k++)
			json_array_append_new(
				all, selector ? json_incref(selector) : json_object());
	}
	return any ? json_incref(all) : NULL;
}

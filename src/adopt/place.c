/* Where a cluster whose state was lost is, if its spec leaves a choice: only the clouds know, so
 * every candidate is checked. */
#include <string.h>
#include "pipeline/place.h"
#include "adopt/internal.h"

static bool read_here(Rebuild *rebuild, GPtrArray *marked)
{
	return rg_pass_open(rebuild->session, rebuild->pass, rebuild->diags) &&
	       rebuild_read_marked(rebuild, marked);
}

static bool is_ours(const GPtrArray *marked, const char *asked)
{
	for (guint i = 0; i < marked->len; i++) {
		const RgResource *resource = marked->pdata[i];
		if (resource->lineage && (!asked || g_str_equal(resource->lineage, asked)))
			return true;
	}
	return false;
}

static bool place_report(Rebuild *rebuild, const GString *places, bool none)
{
	const RgCluster *cluster = rebuild->pass->cluster;
	RgDiag *diag = rg_diags_error(rebuild->diags, none ? "state.no-marks" : "state.ambiguous",
		none ? "nothing in %s has the ownership tags of cluster %s"
		     : "both %s have resources with the ownership tags of cluster %s",
		places->str, cluster->name);
	rg_diag_at(diag, rg_cluster_source(cluster, "/provider/any_of"));
	rg_diag_hint(diag, "%s",
		none ? "check that the account is right"
		     : "select one with --lineage, or leave only one candidate in any_of");
	return false;
}

/* Each candidate in turn; `at`: where it was found, the number of candidates if nowhere. */
static bool place_look(Rebuild *rebuild, const char *asked, guint *at, GString *places)
{
	RgPass *pass = rebuild->pass;
	bool ok = true;
	guint n = pass->cluster->places->len, found = 0;
	*at = n;
	for (guint i = 0; i < n && ok; i++) {
		g_autoptr(GPtrArray) here =
			g_ptr_array_new_with_free_func((GDestroyNotify)rg_resource_free);
		rg_cluster_settle(pass->cluster, i);
		const RgProviderRef *place = &pass->cluster->provider;
		if (!rg_provider_has(rebuild->session->providers, place->name, "schema.json"))
			continue;
		ok = read_here(rebuild, here);
		g_clear_pointer(&pass->provider, rg_provider_close);
		g_autofree char *text = rg_place_text(place->name, place->region);
		bool ours = ok && is_ours(here, asked);
		if (ours && ++found == 1)
			g_string_truncate(places, 0);
		*at = ours ? i : *at;
		if (ours || found == 0)
			g_string_append_printf(
				places, "%s%s", places->len ? (found ? " and " : ", ") : "", text);
	}
	return ok && (found == 1 || place_report(rebuild, places, found == 0));
}

bool rebuild_find_place(Rebuild *rebuild, const char *asked, GPtrArray *marked)
{
	RgPass *pass = rebuild->pass;
	g_autoptr(GString) places = g_string_new(NULL);
	guint at = 0;
	if (rg_place_is_open(pass->cluster) && !place_look(rebuild, asked, &at, places))
		return false;
	rg_cluster_settle(pass->cluster, at);
	return rg_pass_check_settings(rebuild->session->providers, pass->cluster, rebuild->diags) &&
	       read_here(rebuild, marked);
}

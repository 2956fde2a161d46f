/* What has the marks of a cluster whose state was lost, and where it is if its spec leaves a
 * choice: only the clouds know, so every candidate is checked. */
#include <string.h>
#include "pipeline/place.h"
#include "adopt/internal.h"

static void take_marked(void *data, RgResource *resource)
{
	GPtrArray *marked = data;
	if (resource->presence != RG_ABSENT)
		g_ptr_array_add(marked, resource);
	else
		rg_resource_free(resource);
}

/* Kinds that not every API supports are skipped with a warning: a plan that needs one reads it. */
static void warn_unread(Rebuild *rebuild, GStrv kinds, const RgDiags *why)
{
	g_autofree char *names = g_strjoinv(", ", kinds);
	RgDiag *diag = rg_diags_warning(rebuild->diags, "state.not-told",
		"%s could not be read: resources of that kind are skipped", names);
	if (rg_diags_count(why))
		rg_diag_detail(diag, "%s", rg_diags_get(why, 0)->summary);
	rg_diag_hint(diag, "if the cluster has any, make sure that they can be read and try again");
}

static bool all_are_optional(const RgSchema *schema, GStrv kinds)
{
	for (size_t i = 0; kinds[i]; i++) {
		if (!rg_schema_kind(schema, kinds[i])->read_if_used)
			return false;
	}
	return true;
}

/* Resources of all kinds with the cluster's name. */
static bool read_marked(Rebuild *rebuild, GPtrArray *marked)
{
	RgPass *pass = rebuild->pass;
	const RgSchema *schema = rg_provider_get_schema(pass->provider);
	const GPtrArray *listings = rg_schema_listings(schema);
	for (guint i = 0; i < listings->len; i++) {
		GStrv kinds = listings->pdata[i];
		const RgListing listing = {.kinds = (const char *const *)kinds,
			.cluster = pass->cluster->name,
			.rebuild = true};
		g_autoptr(RgDiags) diags = rg_diags_new();
		bool ok = rg_provider_list(pass->provider, &listing, take_marked, marked, diags);
		bool optional = !ok && all_are_optional(schema, kinds);
		if (optional)
			warn_unread(rebuild, kinds, diags);
		else
			rg_diags_take_all(rebuild->diags, diags);
		if (!ok && !optional)
			return false;
	}
	return true;
}

static bool read_here(Rebuild *rebuild, GPtrArray *marked)
{
	return rg_pass_open(rebuild->session, rebuild->pass, rebuild->diags) &&
	       read_marked(rebuild, marked);
}

static bool is_ours(const GPtrArray *marked, const char *asked)
{
	rg_ptr_foreach (const RgResource, resource, marked)
		if (resource->lineage && (!asked || g_str_equal(resource->lineage, asked)))
			return true;
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

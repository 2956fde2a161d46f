#include "pipeline/offers.h"
#include <string.h>
#include "pipeline/internal.h"
#include "pipeline/own.h"

static bool has_file(RgProviderHost *providers, const char *name, const char *file)
{
	size_t len;
	return rg_provider_data(providers, name, file, &len) != NULL;
}

/* What is asked of all providers. */
typedef struct {
	RgProviderHost *providers;
	const char *provider, *region; /* NULL: all */
	RgOwnRows own;
} Wanted;

static bool add_catalog(
	RgMarketplace *market, const Wanted *wanted, const char *name, RgDiags *diags)
{
	const char *region = wanted->region;
	RgCatalog *catalog = pass_read_catalog(
		wanted->providers, name, region, market->gpus, &wanted->own, diags);
	if (!catalog)
		return false;
	g_ptr_array_add(market->catalogs, catalog);
	RgPlace place = {name, catalog, region};
	if (!region || rg_catalog_has_region(catalog, region))
		g_array_append_val(market->places, place);
	return true;
}

static GStrv installed_of(RgProviderHost *providers, GStrv names)
{
	g_autoptr(GStrvBuilder) installed = g_strv_builder_new();
	for (size_t i = 0; names[i]; i++) {
		if (has_file(providers, names[i], "schema.json"))
			g_strv_builder_add(installed, names[i]);
	}
	return g_strv_builder_end(installed);
}

static bool add_catalogs(RgMarketplace *market, const Wanted *wanted, RgDiags *diags)
{
	const char *provider = wanted->provider, *region = wanted->region;
	for (size_t i = 0; market->names[i]; i++) {
		const char *name = market->names[i];
		if ((provider && !g_str_equal(provider, name)) ||
			!has_file(wanted->providers, name, "instance_types.csv"))
			continue;
		if (!add_catalog(market, wanted, name, diags))
			return false;
	}
	if (market->places->len)
		return true;
	if (provider && !market->catalogs->len) {
		RgDiag *diag = rg_diags_error(diags, "provider.not-found",
			"there is no catalog of a provider \"%s\"", provider);
		g_autofree char *known = g_strjoinv(", ", market->names);
		rg_diag_hint(diag, "known: %s", known);
		return false;
	}
	rg_diags_error(diags, "catalog.unknown-region", "%s has no region \"%s\" that raygpu knows",
		provider ? provider : "no provider", region ? region : "");
	return false;
}

RgMarketplace *rg_marketplace_open(RgProviderHost *providers, const char *spec_path,
	const char *provider, const char *region, RgDiags *diags)
{
	g_autoptr(RgProject) project = NULL;
	Wanted wanted = {providers, provider, region, {0}};
	if (!rg_specs_project(spec_path, NULL, NULL, &project, diags) ||
		!pass_own_rows(providers, project, &wanted.own, diags))
		return NULL;
	g_autoptr(RgMarketplace) market = g_new0(RgMarketplace, 1);
	market->catalogs = g_ptr_array_new_with_free_func((GDestroyNotify)rg_catalog_free);
	market->places = g_array_new(FALSE, FALSE, sizeof(RgPlace));
	market->names = rg_provider_host_names(providers);
	market->installed = installed_of(providers, market->names);
	market->gpus = rg_gpus_open_with(&wanted.own, diags);
	market->carbon = rg_carbon_open(diags);
	if (!market->gpus || !market->carbon || !add_catalogs(market, &wanted, diags))
		return NULL;
	return g_steal_pointer(&market);
}

void rg_marketplace_free(RgMarketplace *market)
{
	if (!market)
		return;
	g_array_unref(market->places);
	g_ptr_array_unref(market->catalogs);
	rg_carbon_free(market->carbon);
	rg_gpus_unref(market->gpus);
	g_strfreev(market->installed);
	g_strfreev(market->names);
	g_free(market);
}

GPtrArray *rg_marketplace_find(const RgMarketplace *market, const RgWish *wish)
{
	RgWish filled = *wish;
	filled.carbon = market->carbon;
	return rg_offers_find(&filled, (const RgPlace *)market->places->data, market->places->len);
}

bool rg_marketplace_is_installed(const RgMarketplace *market, const char *provider)
{
	return g_strv_contains((const char *const *)market->installed, provider);
}

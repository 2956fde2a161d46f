/* Which catalogs a spec is fitted with, and how much of them is read. */
#include "pipeline/internal.h"

typedef struct {
	RgProviderHost *providers;
	const char *name;
} DataSource;

static const char *data_text(void *data, const char *file, size_t *len)
{
	const DataSource *source = data;
	return rg_provider_data(source->providers, source->name, file, len);
}

/* The catalog of the cluster's region, or, `whole`, of all of them. */
static RgCatalog *open_catalog(
	RgProviderHost *providers, const RgCluster *cluster, bool whole, RgDiags *diags)
{
	DataSource data = {providers, cluster->provider.name};
	size_t len;
	if (!rg_provider_data(providers, data.name, "schema.json", &len))
		return NULL; /* no such provider: pass_check_settings says it */
	RgCatalogSource source = {.provider = data.name,
		.region = whole ? NULL : cluster->provider.region,
		.text = data_text,
		.data = &data};
	return rg_catalog_open_from(&source, diags);
}

RgShapes *pass_fit_shapes(RgProviderHost *providers, const RgCluster *cluster, const json_t *pins,
	RgCatalog **catalog, RgDiags *diags)
{
	g_autoptr(RgDiags) first = rg_diags_new();
	*catalog = open_catalog(providers, cluster, false, first);
	RgShapes *shapes = *catalog ? rg_fit_shapes(cluster, *catalog, pins, first) : NULL;
	if (shapes) {
		rg_diags_take_new(diags, first);
		return shapes;
	}
	rg_catalog_free(*catalog);
	*catalog = open_catalog(providers, cluster, true, diags);
	return *catalog ? rg_fit_shapes(cluster, *catalog, pins, diags) : NULL;
}

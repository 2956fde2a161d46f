/* Which catalogs a spec is fitted with, and how much of them is read. */
#include "pipeline/internal.h"
#include "pipeline/own.h"

typedef struct {
	RgProviderHost *providers;
	const char *name;
} DataSource;

static const char *data_text(void *data, const char *file, size_t *len)
{
	const DataSource *source = data;
	return rg_provider_data(source->providers, source->name, file, len);
}

/* NULL for a provider that has tables and no module yet. */
static const RgWords *words_of(RgProviderHost *providers, const char *provider)
{
	g_autoptr(RgDiags) unsaid = rg_diags_new(); /* rg_pass_check_settings says it */
	const RgSchema *schema = rg_provider_schema(providers, provider, unsaid);
	return schema ? rg_schema_words(schema) : NULL;
}

RgCatalog *pass_read_catalog(RgProviderHost *providers, const char *provider, const char *region,
	RgGpus *gpus, const RgOwnRows *own, RgDiags *diags)
{
	DataSource data = {providers, provider};
	RgCatalogSource source = {.provider = provider,
		.words = words_of(providers, provider),
		.region = region,
		.text = data_text,
		.data = &data,
		.gpus = gpus,
		.own = own};
	return rg_catalog_open_from(&source, diags);
}

RgCatalog *pass_open_catalog(RgProviderHost *providers, const RgProject *project,
	const char *provider, const char *region, RgDiags *diags)
{
	RgOwnRows own;
	size_t len;
	if (!rg_provider_data(providers, provider, "schema.json", &len))
		return NULL; /* no such provider: rg_pass_check_settings says it */
	if (!pass_own_rows(providers, project, &own, diags))
		return NULL;
	return pass_read_catalog(providers, provider, region, NULL, &own, diags);
}

/* The pins, with what the module's schema says of the spec's settings. */
static json_t *pins_with_settings(
	RgProviderHost *providers, const RgCluster *cluster, const json_t *pins)
{
	g_autoptr(RgDiags) unsaid = rg_diags_new(); /* rg_pass_check_settings says it */
	const RgSchema *schema = rg_provider_schema(providers, cluster->provider.name, unsaid);
	json_t *all = pins ? json_copy(rg_json_unconst(pins)) : json_object();
	json_auto_t *settings = schema ? pass_resolve_settings(cluster, schema) : NULL;
	if (settings)
		json_object_update(all, settings);
	return all;
}

RgShapes *pass_fit_shapes(RgProviderHost *providers, const RgProject *project,
	const RgCluster *cluster, const json_t *known, RgCatalog **catalog, RgDiags *diags)
{
	g_autoptr(RgDiags) first = rg_diags_new();
	const RgProviderRef *place = &cluster->provider;
	json_auto_t *pins = pins_with_settings(providers, cluster, known);
	*catalog = pass_open_catalog(providers, project, place->name, place->region, first);
	RgShapes *shapes = *catalog ? rg_fit_shapes(cluster, *catalog, pins, first) : NULL;
	if (shapes) {
		rg_diags_take_new(diags, first);
		return shapes;
	}
	rg_catalog_free(*catalog);
	*catalog = pass_open_catalog(providers, project, place->name, NULL, diags);
	return *catalog ? rg_fit_shapes(cluster, *catalog, pins, diags) : NULL;
}

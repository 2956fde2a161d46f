#include "pipeline/tables.h"
#include "catalog/own.h"
#include "pipeline/internal.h"

struct RgTables {
	RgProviderHost *providers;
	const RgProject *project;
	RgOwnRows own;
	RgGpus *gpus; /* NULL: nothing has been opened yet */
	RgCarbon *carbon;
	GHashTable *catalogs; /* "PROVIDER REGION" -> RgCatalog* */
	json_t *described;    /* {PROVIDER: {TYPE: as the cloud describes it}} */
};

RgTables *rg_tables_new(RgProviderHost *providers, const RgProject *project)
{
	RgTables *tables = g_new0(RgTables, 1);
	tables->providers = providers;
	tables->project = project;
	tables->catalogs = g_hash_table_new_full(
		g_str_hash, g_str_equal, g_free, (GDestroyNotify)rg_catalog_free);
	tables->described = json_object();
	return tables;
}

void rg_tables_free(RgTables *tables)
{
	if (!tables)
		return;
	g_hash_table_unref(tables->catalogs);
	json_decref(tables->described);
	rg_carbon_free(tables->carbon);
	rg_gpus_unref(tables->gpus);
	g_free(tables);
}

RgProviderHost *rg_tables_providers(const RgTables *tables)
{
	return tables->providers;
}

const RgProject *rg_tables_project(const RgTables *tables)
{
	return tables->project;
}

bool rg_tables_have(const RgTables *tables, const char *provider, const char *file)
{
	return rg_provider_has(tables->providers, provider, file);
}

const RgOwnRows *rg_tables_own(const RgTables *tables)
{
	return &tables->own;
}

const RgCarbon *rg_tables_carbon(RgTables *tables, RgDiags *diags)
{
	if (!tables->carbon)
		tables->carbon = rg_carbon_open(diags);
	return tables->carbon;
}

/* ---- the project's rows */

static RgSource own_source(const void *data, const char *pointer)
{
	const RgLimits project = rg_limits_of_project(data);
	g_autofree char *at = g_strconcat("/catalog", pointer, NULL);
	return rg_limits_source(&project, at);
}

static RgDiag *report_no_catalog(const RgTables *tables, const char *provider, RgDiags *diags)
{
	g_auto(GStrv) names = rg_provider_host_names(tables->providers);
	g_autofree char *known = g_strjoinv(", ", names);
	RgDiag *diag = rg_diags_error(
		diags, "provider.not-found", "there is no catalog for a provider \"%s\"", provider);
	return rg_diag_hint(diag, "known: %s", known);
}

/* Rows for a provider that nobody opens would silently be ignored. */
static bool own_check_section(const RgTables *tables, const char *section, RgDiags *diags)
{
	json_t *named = json_object_get(tables->own.rows, section);
	bool good = true;
	rg_json_foreach_member (name, value, named) {
		if (rg_tables_have(tables, name, "instance_types.csv") ||
			rg_tables_have(tables, name, "schema.json"))
			continue;
		g_autofree char *folder = g_strconcat("/", section, NULL);
		g_autofree char *pointer = rg_json_pointer_add(folder, name);
		rg_diag_at(report_no_catalog(tables, name, diags),
			own_source(tables->own.data, pointer));
		good = false;
	}
	return good;
}

/* What all catalogs are based on; false with diagnostics. */
static bool open_base(RgTables *tables, RgDiags *diags)
{
	if (tables->gpus)
		return true;
	const RgProject *project = rg_project_catalog(tables->project);
	tables->own = (RgOwnRows){.source = own_source, .data = project};
	if (project)
		tables->own.rows = json_object_get(project->view, "catalog");
	bool types = own_check_section(tables, "instance_types", diags);
	if (own_check_section(tables, "prices", diags) && types)
		tables->gpus = rg_gpus_open_with(&tables->own, diags);
	return tables->gpus != NULL;
}

/* ---- catalogs */

typedef struct {
	RgProviderHost *providers;
	const char *name;
} DataSource;

static const char *data_text(void *data, const char *file, size_t *len)
{
	const DataSource *source = data;
	return rg_provider_data(source->providers, source->name, file, len);
}

const RgSchema *rg_tables_schema(const RgTables *tables, const char *provider)
{
	g_autoptr(RgDiags) unsaid = rg_diags_new(); /* rg_pass_check_settings reports it */
	return rg_provider_schema(tables->providers, provider, unsaid);
}

const RgCatalog *rg_tables_catalog(
	RgTables *tables, const char *provider, const char *region, RgDiags *diags)
{
	g_autofree char *key = g_strdup_printf("%s %s", provider, region ? region : "");
	RgCatalog *catalog = g_hash_table_lookup(tables->catalogs, key);
	if (catalog || !open_base(tables, diags))
		return catalog;
	DataSource data = {tables->providers, provider};
	const RgSchema *schema = rg_tables_schema(tables, provider);
	const RgCatalogSource source = {.provider = provider,
		.words = schema ? rg_schema_words(schema) : NULL,
		.no_regions = schema && !rg_schema_has_regions(schema),
		.asks_types = schema && rg_schema_describes_types(schema),
		.region = region && *region ? region : NULL,
		.text = data_text,
		.data = &data,
		.gpus = tables->gpus,
		.own = &tables->own};
	catalog = rg_catalog_open_from(&source, diags);
	if (!catalog)
		return NULL;
	rg_catalog_describe(catalog, json_object_get(tables->described, provider));
	g_hash_table_insert(tables->catalogs, g_steal_pointer(&key), catalog);
	return catalog;
}

void rg_tables_describe(RgTables *tables, const char *provider, const json_t *types)
{
	if (!json_object_size(types))
		return;
	json_t *known = json_object_get(tables->described, provider);
	if (!known)
		json_object_set_new(tables->described, provider, known = json_object());
	json_object_update_missing(known, rg_json_unconst(types));
	g_autofree char *of = g_strconcat(provider, " ", NULL);
	rg_hash_foreach (key, void, catalog, tables->catalogs)
		if (g_str_has_prefix(key, of))
			rg_catalog_describe(catalog, known);
}

bool rg_tables_describe_shapes(RgTables *tables, const char *provider, const char *region,
	const json_t *shapes, RgDiags *diags)
{
	g_autofree char *key = g_strdup_printf("%s %s", provider, region ? region : "");
	if (!rg_tables_catalog(tables, provider, region, diags))
		return false;
	rg_catalog_describe_shapes(g_hash_table_lookup(tables->catalogs, key), shapes);
	return true;
}

json_t *rg_tables_described(const RgTables *tables, const char *provider)
{
	return json_object_get(tables->described, provider);
}

static void refuse_places(
	const RgTables *tables, const char *provider, const char *region, RgDiags *diags)
{
	if (provider && !rg_tables_have(tables, provider, "instance_types.csv")) {
		report_no_catalog(tables, provider, diags);
		return;
	}
	const RgSchema *schema = provider ? rg_tables_schema(tables, provider) : NULL;
	rg_diags_error(diags, "catalog.unknown-region", "%s%s %s \"%s\" in raygpu's catalog",
		provider ? provider : "no provider", provider ? " has no" : " has a",
		schema ? rg_schema_words(schema)->region : "region", region ? region : "");
}

GArray *rg_tables_places(RgTables *tables, const char *provider, const char *region, RgDiags *diags)
{
	g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(RgPlace));
	g_auto(GStrv) names = rg_provider_host_names(tables->providers);
	for (size_t i = 0; names[i]; i++) {
		if ((provider && !g_str_equal(provider, names[i])) ||
			!rg_tables_have(tables, names[i], "instance_types.csv"))
			continue;
		RgPlace place = {.provider = g_intern_string(names[i]),
			.catalog = rg_tables_catalog(tables, names[i], region, diags),
			.region = region};
		if (!place.catalog)
			return NULL;
		if (!region && rg_catalog_has_region(place.catalog, ""))
			place.region = ""; /* it has no others */
		if (!region || rg_catalog_has_region(place.catalog, region))
			g_array_append_val(places, place);
	}
	if (places->len)
		return g_steal_pointer(&places);
	refuse_places(tables, provider, region, diags);
	return NULL;
}

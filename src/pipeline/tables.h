/* The tables that a command works with: the catalogs of providers, with the rows of the project
 * file (src/catalog/own.h), the GPU models and the carbon figures. Each is opened once, when first
 * needed. Everything returned is borrowed. Main thread only. */
#pragma once
#include "catalog/carbon.h"
#include "fit/offers.h"
#include "provider/provider.h"
#include "spec/project.h"

typedef struct RgTables RgTables;
/* Borrows both; `project` may be NULL. */
RgTables *rg_tables_new(RgProviderHost *providers, const RgProject *project);
void rg_tables_free(RgTables *tables);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgTables, rg_tables_free)

RgProviderHost *rg_tables_providers(const RgTables *tables);
const RgProject *rg_tables_project(const RgTables *tables);
/* Whether a provider has this data file: "schema.json" (there is a module), "instance_types.csv".
 */
bool rg_tables_have(const RgTables *tables, const char *provider, const char *file);
/* NULL, without a diagnostic, for a provider that has tables but no module yet. */
const RgSchema *rg_tables_schema(const RgTables *tables, const char *provider);
/* For one region, which loads much faster, or (NULL) for all. NULL, without a diagnostic if there
 * is no such provider. */
const RgCatalog *rg_tables_catalog(
	RgTables *tables, const char *provider, const char *region, RgDiags *diags);
/* Adds types that no table has to the provider's catalogs, also to those that are opened later:
 * `types` of the facts of its `resolve` (schemas/calls.schema.json). */
void rg_tables_describe(RgTables *tables, const char *provider, const json_t *types);
/* What the inventory of the provider's place says of its shapes now. */
bool rg_tables_describe_shapes(RgTables *tables, const char *provider, const char *region,
	const json_t *shapes, RgDiags *diags);
/* All of the described types; borrowed, NULL: none. */
json_t *rg_tables_described(const RgTables *tables, const char *provider);
/* The project file's rows, once a catalog is open; for rg_catalog_judge. */
const RgOwnRows *rg_tables_own(const RgTables *tables);
const RgCarbon *rg_tables_carbon(RgTables *tables, RgDiags *diags);
/* RgPlace: all providers or the named one, all regions or the named one, for rg_offers_find. NULL
 * and catalog.* or provider.not-found. */
GArray *rg_tables_places(
	RgTables *tables, const char *provider, const char *region, RgDiags *diags);

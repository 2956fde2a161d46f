/* The rows of the project file's `catalog`, on their way into the catalogs (src/catalog/own.h). */
#pragma once
#include "catalog/catalog.h"
#include "catalog/own.h"
#include "provider/provider.h"
#include "spec/project.h"

/* Fills `rows`, which borrows from the project; rows->rows is NULL when there is no `catalog`, or
 * no project (NULL). False and provider.not-found when it names a provider that has no catalog. */
bool pass_own_rows(
	RgProviderHost *providers, const RgProject *project, RgOwnRows *rows, RgDiags *diags);
/* catalogs.c: a provider's tables with such rows, of one region or (NULL) of all; `gpus` as in
 * RgCatalogSource. */
RgCatalog *pass_read_catalog(RgProviderHost *providers, const char *provider, const char *region,
	RgGpus *gpus, const RgOwnRows *own, RgDiags *diags);

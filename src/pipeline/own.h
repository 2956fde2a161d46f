/* The rows of the project file's `catalog`, on their way into the catalogs (src/catalog/own.h). */
#pragma once
#include "catalog/own.h"
#include "provider/provider.h"
#include "spec/project.h"

/* Fills `rows`, which borrows from the project; rows->rows is NULL when there is no `catalog`, or
 * no project (NULL). False and provider.not-found when it names a provider that has no catalog. */
bool pass_own_rows(
	RgProviderHost *providers, const RgProject *project, RgOwnRows *rows, RgDiags *diags);

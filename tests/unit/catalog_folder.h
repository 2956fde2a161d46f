/* The catalog of a provider over the files of its folder, as the pipeline opens it over the
 * module's data. Fixture of tests. */
#pragma once
#include "catalog/catalog.h"

/* `region` NULL: all of them. The caller frees; NULL with findings. */
RgCatalog *catalog_folder_open(
	const char *folder, const char *provider, const char *region, RgDiags *diags);

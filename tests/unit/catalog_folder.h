/* The catalog of a provider from the files of its folder, as the pipeline opens it from the
 * module's data. Fixture of tests. */
#pragma once
#include "catalog/catalog.h"

/* `region` NULL: all of them. The caller frees; NULL with findings. */
RgCatalog *catalog_folder_open(
	const char *folder, const char *provider, const char *region, RgDiags *diags);

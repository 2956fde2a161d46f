/* A catalog of provider "cloud" from texts. Fixture of tests. */
#pragma once
#include "catalog/catalog.h"

/* The texts of the tables; `regions` NULL: no such table. The caller frees. */
RgCatalog *catalog_text_open(const char *types, const char *prices, const char *regions);

/* The module's own embedded files: schema.json and tables. */
#pragma once
#include "base/embedded.h"

/* They always exist: the names are fixed at build time. */
const struct rg_embedded *gcp_data_find(const char *name);

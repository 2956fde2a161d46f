/* Lines of a spec that act once: `imports` and `removed`. Pure; main thread. */
#pragma once
#include "spec/cluster.h"

/* RgSpecImport*, RgSpecRemoved*; NULL: none. */
GPtrArray *rg_imports_build(const json_t *list);
GPtrArray *rg_removed_build(json_t *pools);

/* Private to src/intent. */
#pragma once
#include "intent/intent.h"

/* once.c. Lines of the spec that have done their work. */
void once_note_rename(const RgCluster *cluster, const RgPool *pool, RgDiags *diags);
void once_note_import(const RgCluster *cluster, const RgSpecImport *entry, RgDiags *diags);
void once_note_removed(const RgCluster *cluster, const RgSpecRemoved *removed, RgDiags *diags);
/* Whether something of the pool is recorded. */
bool once_has_pool(const RgSnapshot *snapshot, const char *pool);

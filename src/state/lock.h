/* What taking a lock and looking at it share. Private to src/state. */
#pragma once
#include "state/copy.h"

/* The file of a cluster's lock, beside the state's; NULL: the name cannot be one. */
char *lock_path(const RgStore *store, const char *cluster, RgDiags *diags);
/* "user@host, process 12: raygpu apply, since ..."; g_free. */
char *lock_holder_text(const RgHolder *holder);

typedef void (*LockTold)(void *data, const RgHolder *holder);
/* Reports the row of a cluster's lock, which is only for people: it may be missing, or
 * belong to a dead holder. False: it could not be read. */
bool lock_row(RgStore *store, const char *cluster, LockTold told, void *data);

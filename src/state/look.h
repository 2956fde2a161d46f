/* How a document and the file differ. Private to push_look.c and push.c. */
#pragma once
#include "state/document.h"
#include "state/internal.h"

/* Inside a transaction of the caller's: a list as rg_state_push_look gives it; NULL and everything
 * that forbids a push. */
json_t *look(RgStore *store, const json_t *document, bool force, RgDiags *diags);

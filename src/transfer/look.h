/* How a document and the file differ. Private to push_look.c and push.c. */
#pragma once
#include "transfer/document.h"
#include "state/rows.h"

/* Inside the caller's transaction: a list as from rg_state_push_look; NULL and all reasons to
 * refuse the push. */
json_t *look(RgStore *store, const json_t *document, bool force, RgDiags *diags);

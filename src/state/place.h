/* Names of stores: a path is a file, SCHEME://... a store elsewhere. Private to src/state. */
#pragma once
#include "base/diag.h"

bool place_is_url(const char *place);
bool place_is_postgres(const char *url);
/* Why this URL names no store that this program has. */
void place_refuse(const char *url, RgDiags *diags);

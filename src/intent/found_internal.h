/* Private to found.c, import.c and records.c. */
#pragma once
#include "intent/found.h"

/* records.c. The Ray token in what was revealed of a resource of that kind, if its user data has
 * the form of `wanted`; NULL. */
char *found_token_in(const RgKind *kind, const RgResource *wanted, const json_t *revealed);
/* Whether it is in `kept`. */
bool found_keeps(const RgFound *all, const RgResource *found);

/* The `indexes` mark: which members of a pool one create call created, "0-3,7". A member's position
 * in the batch (EC2's launch index) determines its index, so that an address can be derived from
 * marks alone although all members of a batch have the same marks. Pure. */
#pragma once
#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The index of the `place`-th member; false if the text is malformed or has fewer members. */
bool mod_indexes_at(const char *text, uint64_t place, int64_t *index);

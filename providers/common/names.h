/* Names for things in clouds: what raygpu calls them, made to fit the cloud's alphabet and length.
 * Pure. */
#pragma once
#include <stddef.h>

/* The name in lower case, with at most `max` characters (at least 16) out of a-z, 0-9 and `extra`;
 * others become '-'. It ends with a letter or digit. A name that had to change ends with a hash of
 * the original, so that two names never become one. g_free. */
char *mod_name_fit(const char *name, size_t max, const char *extra);

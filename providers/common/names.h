/* Names for resources in clouds: raygpu's names, adapted to the cloud's alphabet and length.
 * Pure. */
#pragma once
#include <stddef.h>

/* The name in lower case, with at most `max` characters (at least 16) from a-z, 0-9 and `extra`;
 * others become '-'. It ends with a letter or digit. A changed name ends with a hash of the
 * original, so that two names never become equal. g_free. */
char *mod_name_fit(const char *name, size_t max, const char *extra);

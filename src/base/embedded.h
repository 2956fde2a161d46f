/* Data files carried inside the program (schemas, catalogs), made by embed.py. Each table ends
 * with a NULL name; every file is followed by a NUL byte that `len` does not count. */
#pragma once
#include <stddef.h>

struct rg_embedded {
	const char *name;
	const char *data;
	size_t len;
};

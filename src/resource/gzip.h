/* Bytes to gzip and back. The same bytes give the same result (mtime 0). */
#pragma once
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

GBytes *rg_gzip(const char *data, size_t len);
/* NULL: it is not gzip, or larger than `max`. */
GBytes *rg_gunzip(GBytes *bytes, size_t max);

#include "common/names.h"
#include <glib.h>
#include <stdbool.h>
#include <string.h>

#define HASH_DIGITS 8

static bool name_may_have(char c, const char *extra)
{
	return g_ascii_islower(c) || g_ascii_isdigit(c) || (c && strchr(extra, c));
}

char *mod_name_fit(const char *name, size_t max, const char *extra)
{
	g_autoptr(GString) fitting = g_string_new(NULL);
	for (const char *c = name; *c; c++) {
		char lower = g_ascii_tolower(*c);
		g_string_append_c(fitting, name_may_have(lower, extra) ? lower : '-');
	}
	bool ends_well = fitting->len && g_ascii_isalnum(fitting->str[fitting->len - 1]);
	if (ends_well && fitting->len <= max && g_str_equal(fitting->str, name))
		return g_strdup(fitting->str);
	g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, name, -1);
	size_t keep = MIN(fitting->len, max - HASH_DIGITS - 1);
	while (keep && !g_ascii_isalnum(fitting->str[keep - 1]))
		keep--;
	return g_strdup_printf(
		"%.*s%s%.*s", (int)keep, fitting->str, keep ? "-" : "", HASH_DIGITS, hash);
}

#include "base/version.h"

#include <glib.h>
#include <stdbool.h>

static int compare(const char *a, const char *b, bool common)
{
	for (;;) {
		char *a_end, *b_end;
		guint64 x = g_ascii_strtoull(a, &a_end, 10), y = g_ascii_strtoull(b, &b_end, 10);
		if (x != y)
			return x < y ? -1 : 1;
		if (*a_end != '.' || *b_end != '.')
			return common ? 0 : (*a_end == '.') - (*b_end == '.');
		a = a_end + 1;
		b = b_end + 1;
	}
}

int rg_version_compare(const char *a, const char *b)
{
	return compare(a, b, false);
}

int rg_version_compare_common(const char *a, const char *b)
{
	return compare(a, b, true);
}

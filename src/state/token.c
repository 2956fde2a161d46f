#include "state/internal.h"
#include <string.h>

/* Every field is preceded by its length, so that no two lists of fields produce the same bytes: 8
 * bytes, most significant first, then the text; numbers as 8 bytes. */
static void add_int(GChecksum *sum, int64_t value)
{
	guint64 bytes = GUINT64_TO_BE((guint64)value);
	g_checksum_update(sum, (const guchar *)&bytes, sizeof(bytes));
}

static void add_text(GChecksum *sum, const char *text)
{
	size_t len = strlen(text);
	add_int(sum, (int64_t)len);
	g_checksum_update(sum, (const guchar *)text, (gssize)len);
}

char *rg_token(const char *lineage, const char *const *addresses, const int64_t *generations,
	const int64_t *attempts, size_t n)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	add_text(sum, lineage);
	add_int(sum, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		add_text(sum, addresses[i]);
		add_int(sum, generations[i]);
		add_int(sum, attempts[i]);
	}
	return g_strndup(g_checksum_get_string(sum), 32);
}

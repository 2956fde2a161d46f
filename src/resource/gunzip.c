/* The reverse of $gzip_base64, for user data that a cloud reports. Its bytes come from outside, so
 * the size is checked before anything is kept. */
#include "resource/expr.h"
#include "resource/gzip.h"

char *rg_expr_gunzip(const char *base64, size_t max)
{
	gsize len = 0;
	guchar *packed = g_base64_decode(base64, &len);
	g_autoptr(GBytes) bytes = g_bytes_new_take(packed, len);
	g_autoptr(GBytes) text = rg_gunzip(bytes, max);
	if (!text)
		return NULL;
	const char *data = g_bytes_get_data(text, &len);
	if (len == 0)
		return g_strdup("");
	return g_utf8_validate(data, (gssize)len, NULL) ? g_strndup(data, len) : NULL;
}

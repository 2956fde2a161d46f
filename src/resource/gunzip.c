/* The reverse of $gzip_base64, for user data that a cloud reports. Its bytes come from outside, so
 * the size is checked before anything is kept. */
#include "resource/expr.h"
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* the largest window, gzip's header only */

char *rg_expr_gunzip(const char *base64, size_t max)
{
	gsize len = 0;
	g_autofree guchar *bytes = g_base64_decode(base64, &len);
	z_stream stream = {.next_in = bytes, .avail_in = (uInt)MIN(len, G_MAXUINT32)};
	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return NULL;
	g_autoptr(GByteArray) text = g_byte_array_new();
	guint8 chunk[16384];
	int rc = Z_OK;
	while (rc == Z_OK && text->len <= max) {
		stream.next_out = chunk;
		stream.avail_out = sizeof chunk;
		rc = inflate(&stream, Z_NO_FLUSH);
		if (rc == Z_OK || rc == Z_STREAM_END)
			g_byte_array_append(text, chunk, (guint)(sizeof chunk - stream.avail_out));
	}
	bool ok = rc == Z_STREAM_END && text->len <= max &&
		  g_utf8_validate((const char *)text->data, (gssize)text->len, NULL);
	inflateEnd(&stream);
	if (!ok)
		return NULL;
	g_byte_array_append(text, (const guint8 *)"", 1);
	gsize unused;
	return (char *)g_byte_array_steal(text, &unused);
}

#include "resource/gzip.h"
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* the largest window, gzip's header only */
#define LEVEL 6

GBytes *rg_gzip(const char *data, size_t len)
{
	z_stream stream = {0};
	g_assert(len <= G_MAXUINT32);
	if (deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		g_error("zlib has no memory");
	uLong most = deflateBound(&stream, (uLong)len);
	guint8 *bytes = g_malloc(most);
	stream.next_in = (Bytef *)(uintptr_t)data;
	stream.avail_in = (uInt)len;
	stream.next_out = bytes;
	stream.avail_out = (uInt)most;
	int rc = deflate(&stream, Z_FINISH);
	g_assert(rc == Z_STREAM_END);
	gsize size = most - stream.avail_out;
	deflateEnd(&stream);
	return g_bytes_new_take(g_realloc(bytes, size), size);
}

GBytes *rg_gunzip(GBytes *bytes, size_t max)
{
	gsize len;
	const guint8 *data = g_bytes_get_data(bytes, &len);
	z_stream stream = {
		.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)MIN(len, G_MAXUINT32)};
	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return NULL;
	g_autoptr(GByteArray) text = g_byte_array_new();
	guint8 chunk[65536];
	int rc = Z_OK;
	while (rc == Z_OK && text->len <= max) {
		stream.next_out = chunk;
		stream.avail_out = sizeof chunk;
		rc = inflate(&stream, Z_NO_FLUSH);
		if (rc == Z_OK || rc == Z_STREAM_END)
			g_byte_array_append(text, chunk, (guint)(sizeof chunk - stream.avail_out));
	}
	bool ok = rc == Z_STREAM_END && text->len <= max;
	inflateEnd(&stream);
	return ok ? g_byte_array_free_to_bytes(g_steal_pointer(&text)) : NULL;
}

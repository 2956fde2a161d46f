#include "sim/core/call.h"

void rg_sim_reply_header(RgSimReply *reply, const char *name, const char *value)
{
	for (unsigned i = 0; i < reply->headers->len; i += 2) {
		if (g_ascii_strcasecmp(reply->headers->pdata[i], name) == 0)
			g_ptr_array_remove_range(reply->headers, i, 2);
	}
	g_ptr_array_add(reply->headers, g_strdup(name));
	g_ptr_array_add(reply->headers, g_strdup(value));
}

void rg_sim_reply_clear(RgSimReply *reply)
{
	g_ptr_array_unref(reply->headers);
	g_string_free(reply->body, TRUE);
}

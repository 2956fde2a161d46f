#include "http/http.h"

void rg_http_reply_clear(RgHttpReply *reply)
{
	g_clear_pointer(&reply->body, g_byte_array_unref);
	g_clear_pointer(&reply->headers, json_decref);
	*reply = (RgHttpReply){0};
}

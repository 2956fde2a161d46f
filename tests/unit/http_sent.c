#include "http_sent.h"

void sent_clear(Sent *sent)
{
	rg_http_reply_clear(&sent->reply);
	g_clear_pointer(&sent->http, rg_http_close);
	g_clear_pointer(&sent->diags, rg_diags_free);
}

Sent sent_to(const char *url, RgHttpOptions options, RgHttpRequest request)
{
	Sent sent = {.diags = rg_diags_new()};
	sent.http = rg_http_open(&options, sent.diags);
	if (!sent.http)
		g_error("%s", rg_diags_get(sent.diags, 0)->detail);
	request.url = url;
	request.what = "TestCall";
	request.method = request.method ? request.method : "POST";
	sent.ok = rg_http_send(sent.http, &request, &sent.reply, sent.diags);
	g_assert_cmpint(sent.ok, ==, !rg_diags_has_errors(sent.diags));
	return sent;
}

const RgDiag *sent_diag(const Sent *sent)
{
	g_assert_cmpuint(rg_diags_count(sent->diags), ==, 1);
	return rg_diags_get(sent->diags, 0);
}

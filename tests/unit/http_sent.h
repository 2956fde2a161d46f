/* One request through a transport of its own. */
#pragma once
#include "http/http.h"

typedef struct {
	RgHttp *http;
	RgDiags *diags;
	RgHttpReply reply;
	bool ok;
} Sent;

/* Opens a transport, sends one request. Fills in missing parts of the request. */
Sent sent_to(const char *url, RgHttpOptions options, RgHttpRequest request);
void sent_clear(Sent *sent);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sent, sent_clear)

const RgDiag *sent_diag(const Sent *sent); /* the only one */

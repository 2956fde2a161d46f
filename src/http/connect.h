/* How a request reaches its server, and with which credentials: TLS, proxy, socket,
 * authentication. */
#pragma once
#include <curl/curl.h>
#include "http/http.h"

/* What libcurl borrows until the transfer ends. */
typedef struct {
	struct curl_slist *headers, *connect_to;
} RgConnect;

/* Sets RgHttpRequest.connection, .auth and .headers on a handle. Returns what is wrong with the
 * request, or NULL. */
const char *rg_connect_set(CURL *curl, const RgHttpRequest *request, RgConnect *connect);
void rg_connect_clear(RgConnect *connect);

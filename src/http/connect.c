#include "http/connect.h"
#include <arpa/inet.h>
#include <string.h>
#include "base/loopback.h"

typedef char CurlText;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CurlText, curl_free)
typedef CURLU CurlUrl;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CurlUrl, curl_url_cleanup)

void rg_connect_clear(RgConnect *connect)
{
	curl_slist_free_all(connect->headers);
	curl_slist_free_all(connect->connect_to);
}

static void add_line(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);
	g_assert(longer != NULL); /* memory only */
	*list = longer;
}

/* ---- TLS */

static void set_pem(CURL *curl, CURLoption option, const char *pem)
{
	if (!pem)
		return;
	struct curl_blob blob = {(void *)(uintptr_t)pem, strlen(pem), CURL_BLOB_COPY};
	curl_easy_setopt(curl, option, &blob);
}

/* The variables of curl, of OpenSSL and Go, and of Python's requests; NULL: none is set. */
static const char *find_ca_file(void)
{
	static const char *const names[] = {
		"CURL_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"};
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		const char *file = g_getenv(names[i]);
		if (file && *file)
			return file;
	}
	return NULL;
}

/* Verification cannot be disabled. */
static void set_tls(CURL *curl, const json_t *connection)
{
	const char *ca_file = rg_json_str(connection, "ca_file", NULL);
	const char *ca_pem = rg_json_str(connection, "ca_pem", NULL);
	if (!ca_file && !ca_pem)
		ca_file = find_ca_file();
	if (ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file);
	set_pem(curl, CURLOPT_CAINFO_BLOB, ca_pem);
	curl_easy_setopt(curl, CURLOPT_SSLCERT, rg_json_str(connection, "cert_file", NULL));
	curl_easy_setopt(curl, CURLOPT_SSLKEY, rg_json_str(connection, "key_file", NULL));
	set_pem(curl, CURLOPT_SSLCERT_BLOB, rg_json_str(connection, "cert_pem", NULL));
	set_pem(curl, CURLOPT_SSLKEY_BLOB, rg_json_str(connection, "key_pem", NULL));
}

/* ---- where to */

/* This machine, 169.254.0.0/16 (RFC 3927), fe80::/10 (RFC 4291): never through a proxy, which
 * would see the credentials of a metadata service. */
static bool is_near(const char *host)
{
	struct in_addr four;
	struct in6_addr six;
	g_autofree char *bare = g_strdup(host[0] == '[' ? host + 1 : host);
	if (strcspn(bare, "]%") < strlen(bare))
		bare[strcspn(bare, "]%")] = '\0';
	if (rg_is_loopback(bare))
		return true;
	if (inet_pton(AF_INET, bare, &four) == 1)
		return ntohl(four.s_addr) >> 16 == 0xa9fe;
	return inet_pton(AF_INET6, bare, &six) == 1 && IN6_IS_ADDR_LINKLOCAL(&six);
}

static void set_proxy(CURL *curl, const char *host, const json_t *connection)
{
	const char *proxy = rg_json_str(connection, "proxy_url", NULL);
	if (proxy || is_near(host))
		curl_easy_setopt(curl, CURLOPT_PROXY, proxy ? proxy : "");
	/* NO_PROXY applies to the environment's proxy */
	if (proxy)
		curl_easy_setopt(curl, CURLOPT_NOPROXY, "");
}

/* The certificate is for a name other than the URL's: connect to the URL's address, but request
 * that name. */
static void set_server_name(
	CURL *curl, CURLU *url, const char *host, const char *name, RgConnect *connect)
{
	g_autoptr(CurlText) port = NULL;
	g_autoptr(CurlText) whole = NULL;
	curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
	g_autofree char *header = g_strdup_printf("Host: %s:%s", host, port);
	g_autofree char *to = g_strdup_printf("%s:%s:%s:%s", name, port, host, port);
	curl_url_set(url, CURLUPART_HOST, name, 0);
	curl_url_get(url, CURLUPART_URL, &whole, 0);
	add_line(&connect->headers, header);
	add_line(&connect->connect_to, to);
	curl_easy_setopt(curl, CURLOPT_URL, whole);
	curl_easy_setopt(curl, CURLOPT_CONNECT_TO, connect->connect_to);
}

static const char *set_place(CURL *curl, const RgHttpRequest *request, RgConnect *connect)
{
	g_autoptr(CurlUrl) url = curl_url();
	g_autoptr(CurlText) host = NULL;
	const json_t *connection = request->connection;
	const char *name = rg_json_str(connection, "server_name", NULL);
	curl_easy_setopt(curl, CURLOPT_URL, request->url);
	curl_easy_setopt(
		curl, CURLOPT_UNIX_SOCKET_PATH, rg_json_str(connection, "unix_socket", NULL));
	if (curl_url_set(url, CURLUPART_URL, request->url, 0) != CURLUE_OK ||
		curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK)
		return "the URL cannot be read";
	set_proxy(curl, host, connection);
	if (name)
		set_server_name(curl, url, host, name, connect);
	return NULL;
}

/* ---- authentication */

/* Signature Version 4 by libcurl, which adds X-Amz-Date itself and signs all headers. */
static void set_sigv4(CURL *curl, const json_t *auth, RgConnect *connect)
{
	g_autofree char *scope = g_strdup_printf(
		"aws:amz:%s:%s", rg_json_str(auth, "region", ""), rg_json_str(auth, "service", ""));
	curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, scope);
	curl_easy_setopt(curl, CURLOPT_USERNAME, rg_json_str(auth, "access_key", ""));
	curl_easy_setopt(curl, CURLOPT_PASSWORD, rg_json_str(auth, "secret_key", ""));
	const char *token = rg_json_str(auth, "session_token", "");
	if (*token != '\0') {
		g_autofree char *line = g_strdup_printf("X-Amz-Security-Token: %s", token);
		add_line(&connect->headers, line);
	}
}

static const char *set_auth(CURL *curl, const json_t *auth, RgConnect *connect)
{
	const char *type = auth ? rg_json_str(auth, "type", "") : "none";
	if (g_str_equal(type, "aws_sigv4")) {
		set_sigv4(curl, auth, connect);
	} else if (g_str_equal(type, "bearer")) {
		curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, rg_json_str(auth, "token", ""));
	} else if (g_str_equal(type, "basic")) {
		curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(curl, CURLOPT_USERNAME, rg_json_str(auth, "user", ""));
		curl_easy_setopt(curl, CURLOPT_PASSWORD, rg_json_str(auth, "password", ""));
	} else if (!g_str_equal(type, "none")) {
		return "its authentication is of an unknown type";
	}
	return NULL;
}

const char *rg_connect_set(CURL *curl, const RgHttpRequest *request, RgConnect *connect)
{
	for (const char *const *at = request->headers; at && *at; at++)
		add_line(&connect->headers, *at);
	const char *wrong = set_auth(curl, request->auth, connect);
	if (!wrong)
		wrong = set_place(curl, request, connect);
	set_tls(curl, request->connection);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, connect->headers);
	return wrong;
}

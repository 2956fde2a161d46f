#include "http/easy.h"

#include <curl/curl.h>
#include <string.h>
#include "base/caps.h"
#include "http/connect.h"

#define CONNECT_TIMEOUT_MS 10000L

typedef struct {
	CURL *curl;
	RgEasyPool *pool;
} Handle;

/* What the callbacks of one transfer share. */
typedef struct {
	const RgHttpOptions *options;
	RgHttpReply *reply;
	size_t headers_size;
	bool too_big, canceled;
} Transfer;

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void init_curl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void handle_free(gpointer data)
{
	Handle *handle = data;
	curl_easy_cleanup(handle->curl);
	g_free(handle);
}

/* At the end of a thread. */
static void drop_handle(void *data)
{
	Handle *handle = data;
	RgEasyPool *pool = handle->pool;
	pthread_mutex_lock(&pool->lock);
	g_ptr_array_remove_fast(pool->handles, handle);
	pthread_mutex_unlock(&pool->lock);
}

bool rg_easy_pool_init(RgEasyPool *pool, RgDiags *diags)
{
	pthread_once(&curl_once, init_curl);
	if (pthread_key_create(&pool->key, drop_handle) != 0) {
		rg_diags_error(diags, "http.module", "too many HTTP transports");
		return false;
	}
	pthread_mutex_init(&pool->lock, NULL);
	pool->handles = g_ptr_array_new_with_free_func(handle_free);
	return true;
}

void rg_easy_pool_clear(RgEasyPool *pool)
{
	pthread_key_delete(pool->key);
	g_ptr_array_unref(pool->handles);
	pthread_mutex_destroy(&pool->lock);
}

static CURL *get_handle(RgEasyPool *pool)
{
	Handle *handle = pthread_getspecific(pool->key);
	if (!handle) {
		handle = g_new0(Handle, 1);
		handle->pool = pool;
		handle->curl = curl_easy_init();
		g_assert(handle->curl != NULL); /* memory only */
		pthread_mutex_lock(&pool->lock);
		g_ptr_array_add(pool->handles, handle);
		pthread_mutex_unlock(&pool->lock);
		pthread_setspecific(pool->key, handle);
	}
	curl_easy_reset(handle->curl); /* keeps connections */
	return handle->curl;
}

static size_t take_body(char *bytes, size_t size, size_t n, void *data)
{
	Transfer *transfer = data;
	size_t len = size * n;
	if (transfer->reply->body->len + len > RG_CAP_HTTP_BODY) {
		transfer->too_big = true;
		return 0;
	}
	g_byte_array_append(transfer->reply->body, (const guint8 *)bytes, (guint)len);
	return len;
}

static void add_header(json_t *headers, const char *line)
{
	const char *colon = strchr(line, ':');
	if (!colon)
		return;
	g_autofree char *name = g_strndup(line, (gsize)(colon - line));
	g_autofree char *folded = g_ascii_strdown(g_strstrip(name), -1);
	g_autofree char *value = g_strstrip(g_strdup(colon + 1));
	g_autofree char *utf8_name = g_utf8_make_valid(folded, -1);
	g_autofree char *utf8_value = g_utf8_make_valid(value, -1);
	json_object_set_new(headers, utf8_name, json_string(utf8_value));
}

static size_t take_header(char *bytes, size_t size, size_t n, void *data)
{
	Transfer *transfer = data;
	size_t len = size * n;
	transfer->headers_size += len;
	if (transfer->headers_size > RG_CAP_HTTP_HEADERS) {
		transfer->too_big = true;
		return 0;
	}
	g_autofree char *line = g_strndup(bytes, len);
	/* a status line starts the headers of another answer (100 Continue, a proxy's CONNECT) */
	if (g_str_has_prefix(line, "HTTP/"))
		json_object_clear(transfer->reply->headers);
	else
		add_header(transfer->reply->headers, line);
	return len;
}

static int poll_cancel(void *data, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	Transfer *transfer = data;
	const RgHttpOptions *options = transfer->options;
	transfer->canceled = options->canceled && options->canceled(options->canceled_data);
	return transfer->canceled;
}

static void set_transfer(CURL *curl, Transfer *transfer, const RgHttpRequest *request)
{
	const RgHttpOptions *options = transfer->options;
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	/* a handle carries one request at a time: HTTP/2 would have no benefit */
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
		(long)(request->timeout_ms != 0 ? request->timeout_ms : RG_HTTP_TRY_MS));
	/* Bodies over 1 MiB do not wait for a "100 Continue" that many servers never send. An empty
	 * "Expect:" line would prevent that too, but libcurl 7.88 signs it without sending it. */
	curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT,
		options->user_agent ? options->user_agent : "raygpu/" RG_VERSION);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, poll_cancel);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

/* The body is borrowed for the duration of the transfer. */
static void set_body(CURL *curl, const RgHttpRequest *request)
{
	if (g_str_equal(request->method, "HEAD")) {
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
		return;
	}
	bool is_post = g_str_equal(request->method, "POST");
	if (request->body || is_post) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body ? request->body : "");
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
			(curl_off_t)(request->body ? request->body_len : 0));
	}
	if (!is_post)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

/* In TLS 1.3 the server's verdict on the client certificate is an alert (RFC 8446, 6.2) that comes
 * after the handshake. OpenSSL's words for it: "sslv3 alert certificate expired", "tlsv13 alert
 * certificate required". Borrowed; NULL: it is not one. */
static const char *certificate_alert(const char *words)
{
	static const char *const names[] = {
		"alert certificate ", "alert bad certificate", "alert unknown ca"};
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		const char *at = strstr(words, names[i]);
		if (at)
			return at + strlen("alert ");
	}
	return NULL;
}

static RgTryEnd classify_end(CURLcode code, const Transfer *transfer)
{
	if (transfer->too_big)
		return RG_TRY_TOO_BIG;
	if (transfer->canceled)
		return RG_TRY_CANCELED;
	/* NOLINTNEXTLINE: libcurl has some hundred codes and adds more */
	switch ((int)code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
		return RG_TRY_UNREACHABLE;
	case CURLE_OPERATION_TIMEDOUT:
		return RG_TRY_TIMEOUT;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
		return RG_TRY_TLS;
	case CURLE_SSL_CONNECT_ERROR:
		return RG_TRY_TLS_CONNECT;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_BAD_FUNCTION_ARGUMENT:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_ENGINE_NOTFOUND:
		return RG_TRY_UNUSABLE;
	default:
		return RG_TRY_BROKEN;
	}
}

static RgTryResult make_result(
	CURL *curl, CURLcode code, const Transfer *transfer, const char *words)
{
	if (code == CURLE_OK)
		return (RgTryResult){.end = RG_TRY_ANSWERED};
	RgTryResult result = {.end = classify_end(code, transfer)};
	const char *alert = certificate_alert(words);
	if (alert && (result.end == RG_TRY_BROKEN || result.end == RG_TRY_TLS_CONNECT)) {
		result.end = RG_TRY_CERTIFICATE;
		result.reason = g_strndup(alert, strcspn(alert, ","));
		return result;
	}
	long os_error = 0;
	curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &os_error);
	if (code == CURLE_COULDNT_CONNECT && os_error != 0)
		words = g_strerror((int)os_error);
	else if (*words == '\0')
		words = curl_easy_strerror(code);
	result.reason = g_strchomp(g_strdup(words));
	if (g_ascii_islower(result.reason[1])) /* "SSL certificate ..." stays unchanged */
		result.reason[0] = g_ascii_tolower(result.reason[0]);
	return result;
}

RgTryResult rg_easy_try(RgEasyPool *pool, const RgHttpOptions *options,
	const RgHttpRequest *request, RgHttpReply *reply)
{
	CURL *curl = get_handle(pool);
	Transfer transfer = {.options = options, .reply = reply};
	char words[CURL_ERROR_SIZE] = "";
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
	set_transfer(curl, &transfer, request);
	set_body(curl, request);
	RgConnect connect = {0};
	const char *wrong = rg_connect_set(curl, request, &connect);
	if (wrong)
		g_strlcpy(words, wrong, sizeof(words));
	CURLcode code = wrong ? CURLE_BAD_FUNCTION_ARGUMENT : curl_easy_perform(curl);
	long status = 0;
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	reply->status = code == CURLE_OK ? (int)status : 0;
	RgTryResult result = make_result(curl, code, &transfer, words);
	curl_easy_reset(curl); /* it must not keep pointers into this frame */
	rg_connect_clear(&connect);
	return result;
}

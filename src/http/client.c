/* The whole transport: counting, rate limit, tries, waits and messages. */
#include "http/module.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include "base/caps.h"
#include "base/clock.h"
#include "base/loopback.h"
#include "http/easy.h"
#include "http/rate.h"
#include "http/retry.h"
#include "http/trace.h"

#define MAX_TRIES 6u
#define POLL_MS 50u /* how late a cancel may be noticed during a wait */

typedef struct {
	RgHttp base;
	RgHttpOptions options;
	char *user_agent; /* own copy behind options */
	const RgHttpHost *host;
	RgEasyPool pool;
	RgRate rate;
	RgTrace trace;
	_Atomic uint64_t requests, mutating, remote; /* remote: not to a loopback address */
} Client;

/* One rg_http_send. */
typedef struct {
	Client *client;
	const RgHttpRequest *request;
	const char *what;
	char *place; /* the URL without credentials and query */
	RgHttpReply *reply;
	RgTryResult last;
	RgHttpVerdict verdict;
	int64_t spent_ms;  /* in tries and between them */
	unsigned asked_ms; /* the answer's Retry-After if it exceeds the remaining time; else 0 */
} Exchange;

static unsigned call_ms(const Exchange *exchange)
{
	unsigned set_ms = exchange->client->options.call_ms;
	return set_ms != 0 ? set_ms : RG_HTTP_CALL_MS;
}

static unsigned left_ms(const Exchange *exchange)
{
	return (unsigned)MAX((int64_t)call_ms(exchange) - exchange->spent_ms, 0);
}

static bool client_sleep(RgHttp *http, unsigned ms)
{
	Client *client = (Client *)http;
	const RgHttpOptions *options = &client->options;
	int64_t end_ms = rg_clock_monotonic_ms() + ms;
	for (;;) {
		if (options->canceled && options->canceled(options->canceled_data))
			return false;
		int64_t left_ms = end_ms - rg_clock_monotonic_ms();
		if (left_ms <= 0)
			return true;
		struct timespec pause = {.tv_nsec = MIN(left_ms, POLL_MS) * 1000000L};
		nanosleep(&pause, NULL);
	}
}

static void client_counts(RgHttp *http, uint64_t *requests, uint64_t *mutating)
{
	Client *client = (Client *)http;
	*requests = atomic_load(&client->requests);
	*mutating = atomic_load(&client->mutating);
}

static bool client_is_local(RgHttp *http)
{
	Client *client = (Client *)http;
	return atomic_load(&client->requests) != 0 && atomic_load(&client->remote) == 0;
}

static bool wait_and_tell(Exchange *exchange, unsigned wait_ms, const char *why)
{
	Client *client = exchange->client;
	const RgHttpOptions *options = &client->options;
	client->host->log(RG_LOG_INFO, "%s: try %u failed (%s), next in %u ms", exchange->what,
		exchange->reply->tries, why, wait_ms);
	if (options->on_retry)
		options->on_retry(options->on_retry_data, exchange->what,
			exchange->reply->tries + 1, wait_ms, why);
	return client_sleep(&client->base, wait_ms);
}

static RgHttpVerdict classify(const RgHttpRequest *request, const RgHttpReply *reply)
{
	if (!request->classify)
		return rg_retry_classify(reply->status);
	return request->classify(request->classify_data, reply->status,
		(const char *)reply->body->data, reply->body->len);
}

/* One try: waits for its turn, sends, records the result. False if canceled before it was sent. */
static bool try_once(Exchange *exchange)
{
	Client *client = exchange->client;
	RgHttpReply *reply = exchange->reply;
	unsigned turn_ms = rg_rate_take(&client->rate, rg_clock_monotonic_ms());
	if (!client_sleep(&client->base, turn_ms))
		return false;
	if (!reply->body) {
		reply->body = g_byte_array_new();
		reply->headers = json_object();
	}
	reply->status = 0;
	reply->skew_s = 0;
	g_byte_array_set_size(reply->body, 0);
	json_object_clear(reply->headers);
	reply->tries++;
	if (!rg_is_loopback_url(exchange->request->url))
		atomic_fetch_add(&client->remote, 1);
	atomic_fetch_add(&client->requests, 1);
	if (!exchange->request->reading)
		atomic_fetch_add(&client->mutating, 1);
	int64_t start_ms = rg_clock_monotonic_ms();
	g_clear_pointer(&exchange->last.reason, g_free);
	RgHttpRequest limited = *exchange->request;
	unsigned try_ms = limited.timeout_ms != 0 ? limited.timeout_ms : RG_HTTP_TRY_MS;
	limited.timeout_ms = MAX(MIN(try_ms, left_ms(exchange)), 1);
	exchange->last = rg_easy_try(&client->pool, &client->options, &limited, reply);
	RgTraceEntry entry = {.request = exchange->request,
		.reply = reply,
		.try_number = reply->tries,
		.duration_ms = rg_clock_monotonic_ms() - start_ms,
		.error = exchange->last.reason};
	exchange->spent_ms += entry.duration_ms;
	rg_trace_write(&client->trace, &entry);
	client->host->log(RG_LOG_DEBUG, "%s %s %s: %d %s, %" G_GINT64_FORMAT " ms", exchange->what,
		exchange->request->method, exchange->place, reply->status,
		exchange->last.reason ? exchange->last.reason : "", entry.duration_ms);
	bool answered = exchange->last.end == RG_TRY_ANSWERED;
	const char *date = answered ? rg_json_str(reply->headers, "date", NULL) : NULL;
	int64_t theirs = date ? (int64_t)curl_getdate(date, NULL) : -1;
	reply->skew_s = theirs >= 0 ? theirs - rg_clock_now_s() : 0;
	const RgHttpSeen seen = {exchange->place, reply->status, theirs >= 0, reply->skew_s};
	if (client->options.on_try)
		client->options.on_try(client->options.on_try_data, &seen);
	if (!answered)
		return true;
	exchange->verdict = classify(exchange->request, reply);
	if (exchange->verdict == RG_HTTP_THROTTLED)
		rg_rate_throttled(&client->rate);
	else
		rg_rate_answered(&client->rate);
	return true;
}

static unsigned shorten(const Exchange *exchange, unsigned backoff_ms)
{
	unsigned longest_ms = exchange->client->options.loopback_backoff_ms;
	if (longest_ms == 0 || !rg_is_loopback_url(exchange->request->url))
		return backoff_ms;
	return MIN(backoff_ms, longest_ms);
}

/* Whether another try may help; also the wait before it. */
static bool may_help(Exchange *exchange, unsigned *wait_ms)
{
	unsigned tries = exchange->reply->tries;
	unsigned max_tries = exchange->request->max_tries;
	if (tries >= (max_tries != 0 ? max_tries : MAX_TRIES))
		return false;
	switch (exchange->last.end) {
	case RG_TRY_ANSWERED: {
		if (exchange->verdict == RG_HTTP_OK || exchange->verdict == RG_HTTP_FAILED)
			return false;
		const char *after = rg_json_str(exchange->reply->headers, "retry-after", NULL);
		*wait_ms = after ? rg_retry_after_ms(after, rg_clock_now_s()) : 0;
		exchange->asked_ms = *wait_ms >= left_ms(exchange) ? *wait_ms : 0;
		*wait_ms = MAX(
			*wait_ms, shorten(exchange, rg_retry_backoff_ms(exchange->verdict, tries)));
		return true;
	}
	case RG_TRY_UNREACHABLE:
	case RG_TRY_TLS_CONNECT:
		*wait_ms = shorten(exchange, rg_retry_connect_ms(tries));
		return tries < RG_RETRY_CONNECT_TRIES;
	case RG_TRY_TIMEOUT:
	case RG_TRY_BROKEN:
		*wait_ms = shorten(exchange, rg_retry_backoff_ms(RG_HTTP_TRANSIENT, tries));
		return true;
	case RG_TRY_CANCELED:
	case RG_TRY_TLS:
	case RG_TRY_CERTIFICATE:
	case RG_TRY_TOO_BIG:
	case RG_TRY_UNUSABLE:
		return false;
	}
	return false;
}

/* A server that requests a wait gets no request before it has passed. */
static void report_asked(const Exchange *exchange, RgDiags *diags)
{
	unsigned asked_s = exchange->asked_ms / 1000;
	RgDiag *diag = rg_diags_error(diags, "http.timeout",
		"%s asks to wait %u s before the next try; a call may take %u s", exchange->place,
		asked_s, call_ms(exchange) / 1000);
	rg_diag_detail(diag, "%s, status %d", exchange->what, exchange->reply->status);
	rg_diag_hint(diag, "run again after that time");
}

static void report_canceled(const Exchange *exchange, RgDiags *diags)
{
	rg_diags_error(diags, "provider.canceled", "%s was interrupted", exchange->what);
}

/* Why no answer came, and what to do about it. */
static void http_report(const Exchange *exchange, RgDiags *diags)
{
	const char *place = exchange->place, *reason = exchange->last.reason;
	const char *own = exchange->client->options.ca_bundle_env;
	RgDiag *diag = NULL;
	switch (exchange->last.end) {
	case RG_TRY_ANSWERED:
		return;
	case RG_TRY_CANCELED:
		report_canceled(exchange, diags);
		return;
	case RG_TRY_UNREACHABLE:
		diag = rg_diags_error(diags, "http.connect", "cannot reach %s: %s", place, reason);
		rg_diag_hint(diag, "check the endpoint and the network; HTTPS_PROXY and NO_PROXY "
				   "configure a proxy");
		break;
	case RG_TRY_TLS:
	case RG_TRY_TLS_CONNECT:
		diag = rg_diags_error(
			diags, "http.tls", "no trusted connection to %s: %s", place, reason);
		rg_diag_hint(diag,
			"if a proxy or a private endpoint has its own certificate authority, set "
			"%s%sSSL_CERT_FILE to its file",
			own ? own : "", own ? " or " : "");
		break;
	case RG_TRY_CERTIFICATE:
		diag = rg_diags_error(diags, "provider.denied",
			"%s refused the client certificate: %s", place, reason);
		rg_diag_hint(diag, "renew it");
		break;
	case RG_TRY_TIMEOUT:
		diag = rg_diags_error(
			diags, "http.timeout", "no answer from %s: %s", place, reason);
		rg_diag_hint(diag, "try again; if the problem persists, check the network and the "
				   "cloud's status page");
		break;
	case RG_TRY_BROKEN:
		diag = rg_diags_error(
			diags, "http.bad-reply", "the answer of %s was cut off: %s", place, reason);
		rg_diag_hint(diag, "try again; a proxy may have closed the connection");
		break;
	case RG_TRY_TOO_BIG:
		diag = rg_diags_error(diags, "http.bad-reply",
			"the answer of %s is over %d MiB (headers: %d KiB)", place,
			RG_CAP_HTTP_BODY / (1024 * 1024), RG_CAP_HTTP_HEADERS / 1024);
		rg_diag_hint(diag, "check that this is the endpoint of the cloud's API");
		break;
	case RG_TRY_UNUSABLE:
		diag = rg_diags_error(diags, "http.connect", "cannot use %s: %s", place, reason);
		rg_diag_hint(diag, "check the URL of the endpoint and its certificate files");
		break;
	}
	rg_diag_detail(diag, "%s, %u %s", exchange->what, exchange->reply->tries,
		exchange->reply->tries == 1 ? "try" : "tries");
}

/* Tries until an answer is final or no further try may help. */
static bool exchange_run(Exchange *exchange, RgDiags *diags)
{
	for (;;) {
		unsigned wait_ms = 0;
		if (!try_once(exchange)) {
			report_canceled(exchange, diags);
			return false;
		}
		exchange->asked_ms = 0;
		/* within the time limit of a call */
		if (!may_help(exchange, &wait_ms) || wait_ms >= left_ms(exchange))
			break;
		g_autofree char *status = g_strdup_printf("status %d", exchange->reply->status);
		const char *why = exchange->last.reason ? exchange->last.reason : status;
		if (!wait_and_tell(exchange, wait_ms, why)) {
			report_canceled(exchange, diags);
			return false;
		}
		exchange->spent_ms += wait_ms;
	}
	if (exchange->asked_ms != 0)
		report_asked(exchange, diags);
	else
		http_report(exchange, diags);
	return exchange->last.end == RG_TRY_ANSWERED && exchange->asked_ms == 0;
}

/* Signing keys count as secrets from the first request on, wherever they come from. */
static void register_secrets(const RgHttpHost *host, const json_t *auth)
{
	static const char *const keys[] = {"secret_key", "session_token"};
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
		const char *secret = rg_json_str(auth, keys[i], NULL);
		if (secret)
			host->redact_add(secret, strlen(secret));
	}
}

static char *format_place(const char *url)
{
	g_autoptr(GUri) uri = g_uri_parse(url, G_URI_FLAGS_NONE, NULL);
	if (!uri)
		return g_strndup(url, strcspn(url, "?#"));
	return g_uri_to_string_partial(
		uri, G_URI_HIDE_USERINFO | G_URI_HIDE_QUERY | G_URI_HIDE_FRAGMENT);
}

static bool client_send(
	RgHttp *http, const RgHttpRequest *request, RgHttpReply *reply, RgDiags *diags)
{
	Client *client = (Client *)http;
	*reply = (RgHttpReply){0};
	g_autofree char *place = format_place(request->url);
	Exchange exchange = {.client = client,
		.request = request,
		.what = request->what ? request->what : request->method,
		.place = place,
		.reply = reply};
	if (client->options.read_only && !request->reading) {
		RgDiag *diag = rg_diags_error(diags, "provider.read-only",
			"%s would change something, but this command only reads", exchange.what);
		rg_diag_detail(diag, "nothing was sent to %s", place);
		return false;
	}
	register_secrets(client->host, request->auth);
	bool ok = exchange_run(&exchange, diags);
	g_free(exchange.last.reason);
	if (!ok) {
		unsigned tries = reply->tries;
		rg_http_reply_clear(reply);
		reply->tries = tries;
	}
	return ok;
}

/* "libcurl/7.88.1", without what it was built with. */
static const char *client_library(void)
{
	const char *all = curl_version();
	g_autofree char *first = g_strndup(all, strcspn(all, " "));
	return g_intern_string(first);
}

static RgHttp *client_open(const RgHttpOptions *options, const RgHttpHost *host, RgDiags *diags);

static void client_close(RgHttp *http)
{
	Client *client = (Client *)http;
	rg_easy_pool_clear(&client->pool);
	rg_trace_close(&client->trace);
	rg_rate_clear(&client->rate);
	g_free(client->user_agent);
	g_free(client);
}

static const RgHttpModule module = {
	.size = sizeof(RgHttpModule),
	.version = RG_VERSION,
	.open = client_open,
	.close = client_close,
	.send = client_send,
	.sleep = client_sleep,
	.counts = client_counts,
	.is_local = client_is_local,
	.library = client_library,
};

static RgHttp *client_open(const RgHttpOptions *options, const RgHttpHost *host, RgDiags *diags)
{
	g_autofree Client *client = g_new0(Client, 1);
	client->base.module = &module;
	client->host = host;
	if (!rg_trace_open(&client->trace, options, host, diags))
		return NULL;
	if (!rg_easy_pool_init(&client->pool, diags)) {
		rg_trace_close(&client->trace);
		return NULL;
	}
	client->options = *options;
	client->options.trace_path = NULL; /* borrowed; no longer needed */
	client->options.secrets = NULL;
	client->options.user_agent = client->user_agent = g_strdup(options->user_agent);
	rg_rate_init(
		&client->rate, options->requests_per_s, options->burst, rg_clock_monotonic_ms());
	return &g_steal_pointer(&client)->base;
}

__attribute__((visibility("default"))) const void *raygpu_http_module(void)
{
	return &module;
}

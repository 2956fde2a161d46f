#include "http/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"

#define BODY_SHOWN_MAX (64 * 1024)
#define MARK "[redacted]"

/* Form parameters and XML elements of AWS whose values are secret: user data (it carries the Ray
 * token, and gzip hides it from a search) and STS credentials. */
#define SECRET_NAMES "UserData|WebIdentityToken|SAMLAssertion|SecretAccessKey|SessionToken"

bool rg_trace_open(RgTrace *trace, const char *path, const RgHttpHost *host, RgDiags *diags)
{
	*trace = (RgTrace){.fd = -1, .host = host};
	if (path != NULL) {
		trace->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (trace->fd < 0) {
			rg_diags_error(diags, "usage.bad-argument",
				"can't write the trace file \"%s\": %s", path, g_strerror(errno));
			return false;
		}
	}
	pthread_mutex_init(&trace->lock, NULL);
	trace->form = g_regex_new("((?:^|[?&])[\\w.]*(?:" SECRET_NAMES ")[\\w.]*=)[^&]*",
		G_REGEX_RAW | G_REGEX_CASELESS, 0, NULL);
	trace->xml = g_regex_new("(<(" SECRET_NAMES ")>).*?(</\\2>|$)",
		G_REGEX_RAW | G_REGEX_CASELESS | G_REGEX_DOTALL, 0, NULL);
	return true;
}

void rg_trace_close(RgTrace *trace)
{
	if (trace->fd >= 0)
		close(trace->fd);
	g_regex_unref(trace->form);
	g_regex_unref(trace->xml);
	pthread_mutex_destroy(&trace->lock);
}

/* Replaces what follows the first group; all of the text when PCRE gives up. */
static char *blank(const GRegex *regex, const char *replacement, const char *text)
{
	char *clean = g_regex_replace(regex, text, -1, 0, replacement, 0, NULL);
	return clean != NULL ? clean : g_strdup(MARK);
}

static json_t *show(const RgTrace *trace, const char *text, size_t len)
{
	g_autofree char *known = trace->host->redact(text, len);
	g_autofree char *form = blank(trace->form, "\\1" MARK, known);
	g_autofree char *clean = blank(trace->xml, "\\1" MARK "\\3", form);
	size_t clean_len = strlen(clean);
	if (clean_len > BODY_SHOWN_MAX)
		clean[BODY_SHOWN_MAX] = '\0';
	g_autofree char *utf8 = g_utf8_make_valid(clean, -1);
	g_autoptr(GString) shown = g_string_new(utf8);
	if (clean_len > BODY_SHOWN_MAX)
		g_string_append_printf(shown, " [%zu bytes more]", clean_len - BODY_SHOWN_MAX);
	return json_string(shown->str);
}

/* Headers that carry credentials or sessions, by name (Authorization, Cookie, X-Auth-Token, ...).
 */
static bool is_secret_header(const char *name)
{
	static const char *const parts[] = {
		"authorization", "cookie", "token", "secret", "api-key"};
	g_autofree char *folded = g_ascii_strdown(name, -1);
	for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
		if (strstr(folded, parts[i]) != NULL)
			return true;
	}
	return false;
}

static void set_header(const RgTrace *trace, json_t *headers, const char *name, const char *value)
{
	g_autofree char *utf8 = g_utf8_make_valid(name, -1);
	json_object_set_new(headers, utf8,
		is_secret_header(name) ? json_string(MARK) : show(trace, value, strlen(value)));
}

static json_t *show_request_headers(const RgTrace *trace, const RgHttpRequest *request)
{
	json_t *headers = json_object();
	for (const char *const *at = request->headers; at != NULL && *at != NULL; at++) {
		const char *colon = strchr(*at, ':');
		if (colon == NULL)
			continue;
		g_autofree char *name = g_strndup(*at, (gsize)(colon - *at));
		g_autofree char *value = g_strstrip(g_strdup(colon + 1));
		set_header(trace, headers, name, value);
	}
	if (request->auth != NULL)
		json_object_set_new(headers, "Authorization", json_string(MARK));
	return headers;
}

static json_t *show_reply_headers(const RgTrace *trace, const RgHttpReply *reply)
{
	json_t *headers = json_object();
	const char *name;
	json_t *value;
	json_object_foreach (reply->headers, name, value)
		set_header(trace, headers, name, json_string_value(value));
	return headers;
}

static void write_line(RgTrace *trace, const char *line, size_t len)
{
	pthread_mutex_lock(&trace->lock);
	while (len > 0 && !trace->failed) {
		ssize_t n = write(trace->fd, line, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			trace->failed = true;
			trace->host->log(RG_LOG_INFO, "the trace ends here: %s", g_strerror(errno));
			break;
		}
		line += n;
		len -= (size_t)n;
	}
	pthread_mutex_unlock(&trace->lock);
}

void rg_trace_write(RgTrace *trace, const RgTraceEntry *entry)
{
	if (trace->fd < 0)
		return;
	const RgHttpRequest *request = entry->request;
	const RgHttpReply *reply = entry->reply;
	g_autofree char *now = rg_clock_format(rg_clock_now_s());
	g_autoptr(RgJson) line = json_object();
	json_object_set_new(line, "time", json_string(now));
	rg_json_set_str(line, "what", request->what);
	json_object_set_new(line, "method", json_string(request->method));
	json_object_set_new(line, "url", show(trace, request->url, strlen(request->url)));
	json_object_set_new(line, "request_headers", show_request_headers(trace, request));
	if (request->body != NULL)
		json_object_set_new(
			line, "request_body", show(trace, request->body, request->body_len));
	json_object_set_new(line, "try", json_integer(entry->try_number));
	json_object_set_new(line, "duration_ms", json_integer(entry->duration_ms));
	if (entry->error != NULL)
		json_object_set_new(line, "error", show(trace, entry->error, strlen(entry->error)));
	if (reply->status != 0) {
		json_object_set_new(line, "status", json_integer(reply->status));
		json_object_set_new(line, "reply_headers", show_reply_headers(trace, reply));
		json_object_set_new(line, "reply_body",
			show(trace, (const char *)reply->body->data, reply->body->len));
	}
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *json = json_dumps(line, JSON_COMPACT);
	g_string_append(text, json);
	g_string_append_c(text, '\n');
	write_line(trace, text->str, text->len);
}

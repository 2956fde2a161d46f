#include "http/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"

#define BODY_SHOWN_MAX (64 * 1024)

/* New, or a regular file of ours: otherwise anyone who can create a link could make us write to any
 * file. */
static int open_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat is;
	if (fd < 0 || (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == geteuid() &&
			      is.st_nlink == 1))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

static void report_trace(const char *path, int error, RgDiags *diags)
{
	RgDiag *diag = rg_diags_error(diags, "usage.bad-argument",
		"cannot write the trace file \"%s\": %s", path,
		error == ELOOP	 ? "it is a symbolic link"
		: error == EPERM ? "it is not a regular file of yours"
				 : g_strerror(error));
	if (error == ELOOP || error == EPERM)
		rg_diag_hint(diag, "use a new file, or one that an earlier --trace created");
}

bool rg_trace_open(
	RgTrace *trace, const RgHttpOptions *options, const RgHttpHost *host, RgDiags *diags)
{
	const char *path = options->trace_path;
	*trace = (RgTrace){.fd = -1, .host = host};
	if (path) {
		trace->fd = open_file(path);
		if (trace->fd < 0) {
			report_trace(path, errno, diags);
			return false;
		}
	}
	pthread_mutex_init(&trace->lock, NULL);
	rg_hide_init(&trace->hide, options->secrets);
	return true;
}

void rg_trace_close(RgTrace *trace)
{
	if (trace->fd >= 0)
		close(trace->fd);
	rg_hide_clear(&trace->hide);
	pthread_mutex_destroy(&trace->lock);
}

static json_t *trace_show(const RgTrace *trace, const char *text, size_t len)
{
	g_autofree char *known = trace->host->redact(text, len);
	g_autofree char *clean = rg_hide(&trace->hide, known);
	size_t clean_len = strlen(clean);
	if (clean_len > BODY_SHOWN_MAX)
		clean[BODY_SHOWN_MAX] = '\0';
	g_autofree char *utf8 = g_utf8_make_valid(clean, -1);
	g_autoptr(GString) shown = g_string_new(utf8);
	if (clean_len > BODY_SHOWN_MAX)
		g_string_append_printf(shown, " [%zu bytes more]", clean_len - BODY_SHOWN_MAX);
	return json_string(shown->str);
}

static void set_header(const RgTrace *trace, json_t *headers, const char *name, const char *value)
{
	g_autofree char *utf8 = g_utf8_make_valid(name, -1);
	json_object_set_new(headers, utf8,
		rg_hide_is_header(&trace->hide, name) ? json_string(RG_HIDDEN)
						      : trace_show(trace, value, strlen(value)));
}

static json_t *show_request_headers(const RgTrace *trace, const RgHttpRequest *request)
{
	json_t *headers = json_object();
	for (const char *const *at = request->headers; at && *at; at++) {
		const char *colon = strchr(*at, ':');
		if (!colon)
			continue;
		g_autofree char *name = g_strndup(*at, (gsize)(colon - *at));
		g_autofree char *value = g_strstrip(g_strdup(colon + 1));
		set_header(trace, headers, name, value);
	}
	if (request->auth)
		json_object_set_new(headers, "Authorization", json_string(RG_HIDDEN));
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

static json_t *show_body(
	const RgTrace *trace, const RgHttpRequest *request, const char *body, size_t len)
{
	if (!request->hide_body)
		return trace_show(trace, body, len);
	g_autofree char *hidden = g_strdup_printf("[%zu bytes hidden]", len);
	return json_string(hidden);
}

void rg_trace_write(RgTrace *trace, const RgTraceEntry *entry)
{
	if (trace->fd < 0)
		return;
	const RgHttpRequest *request = entry->request;
	const RgHttpReply *reply = entry->reply;
	g_autofree char *now = rg_clock_format(rg_clock_now_s());
	json_auto_t *line = json_object();
	json_object_set_new(line, "time", json_string(now));
	rg_json_set_str(line, "what", request->what);
	json_object_set_new(line, "method", json_string(request->method));
	json_object_set_new(line, "url", trace_show(trace, request->url, strlen(request->url)));
	json_object_set_new(line, "request_headers", show_request_headers(trace, request));
	if (request->body)
		json_object_set_new(line, "request_body",
			show_body(trace, request, request->body, request->body_len));
	json_object_set_new(line, "try", json_integer(entry->try_number));
	json_object_set_new(line, "duration_ms", json_integer(entry->duration_ms));
	if (entry->error)
		json_object_set_new(
			line, "error", trace_show(trace, entry->error, strlen(entry->error)));
	if (reply->status != 0) {
		json_object_set_new(line, "status", json_integer(reply->status));
		json_t *headers = json_object();
		rg_json_foreach_member (name, value, reply->headers)
			set_header(trace, headers, name, json_string_value(value));
		json_object_set_new(line, "reply_headers", headers);
		json_object_set_new(line, "reply_body",
			show_body(
				trace, request, (const char *)reply->body->data, reply->body->len));
	}
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *json = json_dumps(line, JSON_COMPACT);
	g_string_append(text, json);
	g_string_append_c(text, '\n');
	write_line(trace, text->str, text->len);
}

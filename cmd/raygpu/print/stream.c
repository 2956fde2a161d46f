#include "print/stream.h"
#include "base/clock.h"
#include "base/disarm.h"
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES (1 << 20)

struct Stream {
	GMutex lock; /* of all below: retries of requests write from their threads */
	bool shown;
	int fd; /* of --json-into; -1: none, or it could not be written */
	char *path;
	int error; /* errno of that write */
	bool ended;
	char *cluster;
	json_t *last;  /* or NULL */
	json_t *ready; /* pools of the last raygpu_ready */
	unsigned errors, warnings;
};

void stream_want(Context *context)
{
	context->streams = true;
}

static bool open_into(Context *context, Stream *stream, const char *into)
{
	stream->fd = open(into, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
	stream->path = g_strdup(into);
	if (stream->fd >= 0)
		return true;
	RgDiag *diag = rg_diags_error(context->diags, "file.unwritable",
		"\"%s\" cannot be written: %s", into, g_strerror(errno));
	rg_diag_hint(diag, "check the path and the permissions of its folder");
	return false;
}

bool stream_open(Context *context, const char *into)
{
	bool shown = context->streams && context->json;
	if (context->stream || (!shown && !into))
		return true;
	Stream *stream = context->stream = g_new0(Stream, 1);
	g_mutex_init(&stream->lock);
	stream->fd = -1;
	stream->shown = shown;
	if (shown) {
		setvbuf(stdout, NULL, _IOFBF, LINE_BYTES); /* a line is one write */
		context->live = false;
	}
	bool ok = !into || open_into(context, stream, into);
	stream_put(context, rg_message_version(context->command->name, RG_VERSION));
	return ok;
}

bool stream_shown(const Context *context)
{
	return context->stream && context->stream->shown;
}

/* ---- writing */

/* An apply goes on if the file is full: what it does must not depend on who listens. */
static void write_into(Stream *stream, const char *line)
{
	size_t left = strlen(line);
	while (stream->fd >= 0 && left > 0) {
		ssize_t n = write(stream->fd, line, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			stream->error = n < 0 ? errno : ENOSPC;
			close(stream->fd);
			stream->fd = -1;
			return;
		}
		line += n;
		left -= (size_t)n;
	}
}

/* Under the lock. */
static void write_message(Stream *stream, json_t *message)
{
	g_autofree char *now = rg_clock_format_now();
	json_t *own = json_incref(json_object_get(message, "raygpu"));
	json_object_del(message, "raygpu"); /* it comes last */
	json_object_set_new(message, "raygpu", own);
	rg_json_set_str(message, "@timestamp", now);
	if (stream->cluster && !json_object_get(own, "cluster"))
		rg_json_set_str(own, "cluster", stream->cluster);
	char *dumped = json_dumps(message, JSON_COMPACT);
	g_autofree char *safe = rg_disarm_json(dumped);
	g_autofree char *line = g_strconcat(safe, "\n", NULL);
	free(dumped);
	write_into(stream, line);
	if (stream->shown) {
		out_script(line);
		fflush(stdout);
	}
}

void stream_put(Context *context, json_t *message)
{
	json_auto_t *owned = message;
	Stream *stream = context->stream;
	if (!stream || !owned)
		return;
	g_mutex_lock(&stream->lock);
	if (!stream->ended)
		write_message(stream, owned);
	g_mutex_unlock(&stream->lock);
}

void stream_cluster(Context *context, const char *cluster)
{
	Stream *stream = context->stream;
	if (!stream)
		return;
	g_mutex_lock(&stream->lock);
	char *former = stream->cluster;
	stream->cluster = g_strdup(cluster);
	g_mutex_unlock(&stream->lock);
	g_free(former);
}

void stream_log(Context *context, const char *text)
{
	if (!context->stream)
		return;
	g_autofree char *line = g_strstrip(g_strdup(text));
	stream_put(context, rg_message_log(line));
}

void stream_diags(Context *context, const RgDiags *diags)
{
	if (!context->stream)
		return;
	json_auto_t *rows = rg_render_diags_json(diags);
	rg_json_foreach (row, rows) {
		const char *severity = rg_json_str(row, "severity", "");
		context->stream->errors += g_str_equal(severity, "error");
		context->stream->warnings += g_str_equal(severity, "warning");
		stream_put(context, rg_message_diag(row));
	}
}

/* ---- what happens */

void stream_report(Context *context, const RgReport *report)
{
	const RgPlan *plan = report->plan;
	if (!context->stream)
		return;
	stream_cluster(context, report->cluster);
	for (guint i = 0; plan && i < plan->changes->len; i++)
		stream_put(context, rg_message_drifted(plan->changes->pdata[i]));
	for (guint i = 0; plan && i < plan->changes->len; i++)
		stream_put(context, rg_message_planned(plan->changes->pdata[i]));
	for (guint i = 0; report->drift && i < report->drift->items->len; i++)
		stream_put(context, rg_message_drift(report->drift->items->pdata[i]));
}

void stream_event(Context *context, const RgEvent *event)
{
	if (context->stream)
		stream_put(context, rg_message_event(event));
}

/* Only what is new: a look takes place every few seconds. */
void stream_ready(Context *context, const RgReadyEvent *event)
{
	Stream *stream = context->stream;
	if (!stream)
		return;
	json_auto_t *message = rg_message_ready(event);
	json_t *pools = rg_json_at(message, "/raygpu/pools");
	if (stream->ready && json_equal(stream->ready, pools))
		return;
	json_decref(stream->ready);
	stream->ready = json_incref(pools);
	stream_put(context, json_incref(message));
}

/* ---- the end */

void stream_last(Context *context, json_t *summary)
{
	json_auto_t *owned = summary;
	if (!context->stream)
		return;
	json_decref(context->stream->last);
	context->stream->last = json_incref(owned);
}

/* Of a command that failed before it had anything to count. */
static json_t *empty_summary(const Context *context)
{
	const char *name = context->command->name;
	bool changes = g_str_equal(name, "apply") || g_str_equal(name, "destroy");
	g_autofree char *text = g_strdup_printf("raygpu %s failed.", name);
	const char *operation = changes ? name : g_str_equal(name, "reap") ? "destroy" : "plan";
	json_t *message = rg_message_summary(operation, text, &(RgSummary){0});
	rg_message_set(message, "clusters", json_array());
	return message;
}

int stream_error(const Context *context, const char **path)
{
	*path = context->stream ? context->stream->path : NULL;
	return context->stream ? context->stream->error : 0;
}

void stream_free(Stream *stream)
{
	if (!stream)
		return;
	if (stream->fd >= 0)
		close(stream->fd);
	g_mutex_clear(&stream->lock);
	json_decref(stream->last);
	json_decref(stream->ready);
	g_free(stream->cluster);
	g_free(stream->path);
	g_free(stream);
}

void stream_end(Context *context, int code)
{
	Stream *stream = context->stream;
	if (!stream)
		return;
	json_t *last = stream->last ? g_steal_pointer(&stream->last) : empty_summary(context);
	rg_message_set(last, "command", json_string(context->command->name));
	rg_message_set(last, "exit_code", json_integer(code));
	rg_message_set(last, "errors", json_integer(stream->errors));
	rg_message_set(last, "warnings", json_integer(stream->warnings));
	stream_put(context, last);
	g_mutex_lock(&stream->lock);
	stream->ended = true; /* a lock that is renewed meanwhile adds nothing */
	g_mutex_unlock(&stream->lock);
}

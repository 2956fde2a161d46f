/* What plan, apply, destroy and drift write with --json and --json-into: one message per line, as
 * things happen (raygpu-events(5)). With --json, standard output has the stream and nothing is
 * printed for people. */
#pragma once
#include "command.h"
#include "render/stream/stream.h"

/* A command that has a stream calls this first, and stream_open once its options are known. */
void stream_want(Context *context);
/* `into` may be NULL. Does nothing without --json and `into`; false and a diagnostic: it can't be
 * written. */
bool stream_open(Context *context, const char *into);
/* Standard output has the stream. */
bool stream_shown(const Context *context);
/* Steals `message`, which may be NULL; any thread. Nothing without a stream. */
void stream_put(Context *context, json_t *message);
void stream_log(Context *context, const char *text);
void stream_diags(Context *context, const RgDiags *diags);
/* The cluster that the following messages are about; NULL: none in particular. */
void stream_cluster(Context *context, const char *cluster);
/* The changes of a plan, or the drift. */
void stream_report(Context *context, const RgReport *report);
/* Steals the message that becomes the last one, in place of an earlier one. */
void stream_last(Context *context, json_t *summary);
/* For RgApplyOptions and RgReadyOptions. */
void stream_event(Context *context, const RgEvent *event);
void stream_ready(Context *context, const RgReadyEvent *event);
/* errno of the write to the file of --json-into that failed, and its path; 0: none did. */
int stream_error(const Context *context, const char **path);
/* Ends it with the summary and the exit code of the command. */
void stream_end(Context *context, int code);
/* When no other thread can write any more; may be NULL. */
void stream_free(Stream *stream);

/* What the files of src/refresh share: one reader a listing, run by a thread of its own. */
#pragma once
#include <pthread.h>
#include "refresh/refresh.h"

/* Reads the kinds of one listing, mostly a single one, until they are settled. Owns what was seen;
 * everything else is borrowed. */
typedef struct {
	RgProvider *provider;
	const RgRefreshInput *input;
	GStrv kinds;
	char *name;	     /* of the kinds, for people */
	GPtrArray *recorded; /* const RgResource*: those of these kinds */
	json_t *known;	     /* their ids: {kind: [id]} */
	int64_t begin_ms;    /* of the refresh, at input->now_s; monotonic */
	int64_t read_ms;     /* when the newest reading began: it can't show anything later */
	GPtrArray *seen;     /* RgResource*, owned: what the newest whole reading gave */
	GHashTable *by_id;   /* of seen, a set by kind and id */
	bool ok;	     /* the newest reading was whole */
	bool running;	     /* its thread has to be waited for */
	pthread_t thread;
	int dropped; /* atomic: nobody waits for it any more */
	RgDiags *diags;
} RgReader;

/* refresh.c: reads once; what an earlier reading gave is thrown away. False when it failed. */
bool rg_reader_read(RgReader *reader);

/* What was seen of a record's kind and id, or NULL. */
RgResource *rg_reader_find(const RgReader *reader, const RgResource *recorded);

/* Readers; free with g_ptr_array_unref. */
GPtrArray *rg_readers_new(void);
/* Adds those that this cluster needs and that are not there yet, by listings. */
void rg_readers_add(GPtrArray *readers, RgProvider *provider, const RgRefreshInput *input);

/* hidden.c: several things are recorded, and the cloud has shown nothing with our marks or ids. */
bool rg_readers_see_nothing(const GPtrArray *readers);
void rg_refresh_report_hidden(RgProvider *provider, const GPtrArray *readers, RgDiags *diags);

/* failed.c: each kind's reading failed, all with one code: no access or no connection. */
bool rg_readers_all_failed(const GPtrArray *readers);
void rg_refresh_report_failed(const GPtrArray *readers, RgDiags *diags);

/* settle.c */
/* Reads again while the newest reading shows a view that may be old, as long as settle_ms allows.
 * False when a reading failed. */
bool rg_reader_settle(RgReader *reader);
const RgKind *rg_reader_kind(const RgReader *reader, const RgResource *resource);
/* Made or changed so short a while ago that the cloud may still report the old view. */
bool rg_reader_is_young(const RgReader *reader, const RgResource *recorded);
/* `observed` may be the view from before an update so young that the cloud needn't show it: any
 * view of one that was not seen to end (two in a row may be hidden), else one that differs from the
 * record. */
bool rg_reader_is_doubtful(
	const RgReader *reader, const RgResource *recorded, const RgResource *observed);
/* Seconds until then it is no longer young. */
int64_t rg_reader_young_for_s(const RgReader *reader, const RgResource *recorded);

/* Shared by the files of src/refresh: one reader per listing, on a thread of its own. */
#pragma once
#include <pthread.h>
#include "refresh/refresh.h"

/* Reads the kinds of one listing, usually a single one, until they are settled. Owns what was seen;
 * everything else is borrowed. */
typedef struct {
	RgProvider *provider;
	const RgRefreshInput *input;
	GStrv kinds;
	char *name;	     /* of the kinds, for people */
	GPtrArray *recorded; /* const RgResource*: those of these kinds */
	json_t *known;	     /* their ids: {kind: [id]} */
	int64_t begin_ms;    /* start of the refresh, at input->now_s; monotonic */
	int64_t read_ms;     /* when the newest read began: it cannot show anything later */
	GPtrArray *seen;     /* RgResource*, owned: the result of the newest complete read */
	GHashTable *by_id;   /* of seen, a set by kind and id */
	/* settle.c: what the cloud has to report of a record, kept for the next one: the nodes of a
	 * pool share their attributes and are adjacent */
	const RgResource *shown_of;
	GArray *shown;
	bool ok;      /* the newest read was complete */
	bool running; /* its thread must be joined */
	pthread_t thread;
	int dropped; /* atomic: nobody waits for it any more */
	RgDiags *diags;
} RgReader;

/* reader.c */
/* Reports how much was seen (RgRefreshInput.progress). */
void rg_reader_tell(const RgReader *reader, bool done);
/* Reads once; discards the result of an earlier read. False if it failed. */
bool rg_reader_read(RgReader *reader);

/* What was seen of a record's kind and id, or NULL. */
RgResource *rg_reader_find(const RgReader *reader, const RgResource *recorded);

/* readers.c */
/* Readers; free with g_ptr_array_unref. */
GPtrArray *rg_readers_new(void);
/* Adds those that this cluster needs and that do not exist yet, by listings. */
void rg_readers_add(GPtrArray *readers, RgProvider *provider, const RgRefreshInput *input);
/* Those that do not run yet read and settle; then all are waited for. */
void rg_readers_start(GPtrArray *readers);
void rg_readers_wait(GPtrArray *readers);

/* hidden.c: several resources are recorded, and the cloud has shown none with our marks or ids. */
bool rg_readers_see_nothing(const GPtrArray *readers);
void rg_refresh_report_hidden(RgProvider *provider, const GPtrArray *readers, RgDiags *diags);

/* failed.c: the read of each kind failed, all with one code: no access or no connection. */
bool rg_readers_all_failed(const GPtrArray *readers);
void rg_refresh_report_failed(const GPtrArray *readers, RgDiags *diags);

/* unread.c: false if no resource shows an attribute that several have got a moment ago, after
 * provider.bad-result. */
bool rg_reader_check_read(RgReader *reader);

/* settle.c */
/* An attribute that the cloud reports back and that only a writer changes; NULL: it is not. */
bool rg_reader_is_telling(const RgAttribute *attribute);
GArray *rg_shown_new(void);
/* Reads again while the newest read shows a view that may be old, for at most settle_ms. False if a
 * read failed. */
bool rg_reader_settle(RgReader *reader);
const RgKind *rg_reader_kind(const RgReader *reader, const RgResource *resource);
/* Created or changed so recently that the cloud may still report the old view. */
bool rg_reader_is_young(const RgReader *reader, const RgResource *recorded);
/* It was removed less than consistency_s ago, so the cloud may still show what was. Afterwards it
 * exists, whatever the state says. In a cloud that shows changes at once, another one has its id,
 * which may be a name. */
bool rg_reader_is_ghost(const RgReader *reader, const RgResource *observed);
/* `observed` may be the view from before an update that is so recent that the cloud need not show
 * it: any view if the end of the update was not seen (two in a row may be hidden), else one that
 * differs from the record. */
bool rg_reader_is_doubtful(
	RgReader *reader, const RgResource *recorded, const RgResource *observed);
/* Seconds until it no longer counts as recent. */
int64_t rg_reader_young_for_s(const RgReader *reader, const RgResource *recorded);

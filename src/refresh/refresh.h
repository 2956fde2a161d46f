/* clouds -> observed: one `list` per kind, kinds in parallel; waits until recent changes have
 * settled. Writes nothing. If reading a kind fails, every recorded resource of it is RG_UNKNOWN,
 * with diagnostics (refresh.incomplete), never "absent". The same holds if the cloud shows nothing
 * at all of a cluster of several resources (refresh.nothing-there). */
#pragma once
#include "provider/provider.h"

typedef struct {
	const char *cluster, *lineage; /* lineage NULL: nothing has ever been applied */
	const RgResourceSet *recorded;
	const RgResourceSet *desired; /* only which kinds are desired; NULL: nothing (yet) */
	const GHashTable
		*tombstones;  /* char* id -> int64_t*: when it was removed. For consistency_s
				 from then on, seeing it does not mean "unmanaged" */
	GPtrArray *strangers; /* gets resources with the cluster's name under another lineage and
				 without a record (RgResource*, owned by it); NULL: not needed */
	bool removing; /* everything is to be destroyed: what is seen need not match the record */
	int64_t now_s;
	/* since when the records cannot have changed, on the monotonic clock: whatever the date in
	 * them, they are at least as old. 0: the start of this refresh */
	int64_t since_ms;
	/* char* address -> int64_t*: when, on the monotonic clock, the cloud showed no change of it
	 * and must have shown any; may be NULL */
	const GHashTable *quiet;
	unsigned settle_ms; /* how long to wait for recent resources that are missing or show the
			       old view; longer, unless it is 0, for what is to be removed, was
			       leaving or is dated in the future: until the cloud must show it */
	/* called before each wait, from any thread: true if waiting would be useless; may be
	 * NULL */
	bool (*in_vain)(const void *data);
	const void *in_vain_data;
	void (*progress)(
		void *data, const char *kind, size_t seen, bool done); /* may be NULL; any thread */
	/* called once by each listing that waits for longer than a second: how long it will at
	 * most; may be NULL; any thread */
	void (*waiting)(void *data, const char *kind, int64_t left_s);
	void *progress_data; /* of both */
} RgRefreshInput;

/* NULL if nothing could be read for one reason (no access, no connection), which `diags` has.
 * Observed resources are at the address of the record with their id; a resource with our lineage
 * but without a record is an extra with `unmanaged` set (address: from the marks, or NULL).
 * Recorded resources with an id that the cloud does not know are ABSENT, or UNKNOWN with
 * refresh.unsettled if they are more recent than the kind's consistency_s and settle_ms was not
 * enough. */
RgResourceSet *rg_refresh(RgProvider *provider, const RgRefreshInput *input, RgDiags *diags);

/* The same, concurrently with the caller. The input is copied, and what it points to must not
 * change until the end. */
typedef struct RgRefresh RgRefresh;
RgRefresh *rg_refresh_begin(RgProvider *provider, const RgRefreshInput *input);
/* Reads in addition what only `desired` has, waits for all, and frees the refresh. */
RgResourceSet *rg_refresh_end(RgRefresh *refresh, const RgResourceSet *desired, RgDiags *diags);
/* Nobody needs it any more: ends waits, and discards what was read. May be NULL. */
void rg_refresh_drop(RgRefresh *refresh);

/* Whether the cloud shows anything of a cluster of several resources, with as few calls as
 * possible; for callers that act on an older view. False with refresh.nothing-there, or if the read
 * failed. */
bool rg_refresh_is_there(RgProvider *provider, const RgRefreshInput *input, RgDiags *diags);

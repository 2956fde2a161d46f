/* clouds -> observed: one `list` per kind, kinds in parallel; settles what is too young to be
 * trusted. Writes nothing. A kind whose reading failed gives RG_UNKNOWN for every recorded resource
 * of it, plus diagnostics (refresh.incomplete); it never gives "absent". So does a cloud that shows
 * nothing at all of a cluster of several resources (refresh.nothing-there). */
#pragma once
#include "provider/provider.h"

typedef struct {
	const char *cluster, *lineage; /* lineage NULL: nothing was ever applied */
	const RgResourceSet *recorded;
	const RgResourceSet *desired; /* only which kinds are desired; NULL: nothing (yet) */
	const GHashTable *tombstones; /* ids (char*) removed a short while ago: seeing them still is
				       * not "unmanaged" */
	GPtrArray *strangers; /* gets what carries the cluster's name under another lineage and has
			       * no record (RgResource*, owned by it); NULL: nobody asks */
	bool removing;	      /* all is to go: what is seen need not be as recorded */
	int64_t now_s;
	unsigned settle_ms; /* how long to wait for young things that are missing or show the old
			       view */
	/* asked before each wait, from any thread: true when it would be for nothing; may be NULL
	 */
	bool (*in_vain)(const void *data);
	const void *in_vain_data;
	void (*progress)(
		void *data, const char *kind, size_t seen, bool done); /* may be NULL; any thread */
	void *progress_data;
} RgRefreshInput;

/* NULL when nothing could be read for one reason (no access, no connection), which `diags` has.
 * Observed resources stand under the address of the record with their id; what has
 * our lineage but no record is an extra with `unmanaged` set (address: as the marks say, or NULL).
 * Recorded ones with an id that the cloud doesn't know: ABSENT, or UNKNOWN with refresh.unsettled
 * when they are younger than the kind's consistency_s and settle_ms was not enough. */
RgResourceSet *rg_refresh(RgProvider *provider, const RgRefreshInput *input, RgDiags *diags);

/* The same beside what the caller does meanwhile. The input is copied, and what it points to has to
 * stay as it is until the end. */
typedef struct RgRefresh RgRefresh;
RgRefresh *rg_refresh_begin(RgProvider *provider, const RgRefreshInput *input);
/* Reads what only `desired` has beside the rest, waits for all, and frees the refresh. */
RgResourceSet *rg_refresh_end(RgRefresh *refresh, const RgResourceSet *desired, RgDiags *diags);
/* Nobody needs it any more: ends waits, and throws away what was read. May be NULL. */
void rg_refresh_drop(RgRefresh *refresh);

/* Whether the cloud shows anything of a cluster of several resources, by as few calls as may be;
 * for those who act on an older view. False with refresh.nothing-there, or when reading failed. */
bool rg_refresh_is_there(RgProvider *provider, const RgRefreshInput *input, RgDiags *diags);

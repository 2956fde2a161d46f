/* Resources that exist and have no record: what they are determines what is desired, as if they had
 * been recorded (pins), and then they become records. In this order; the caller fits in between,
 * twice: the first fit shows the key by which each pool's image was chosen, the second keeps the
 * image. Only reading calls go to clouds. Main thread only. */
#pragma once
#include "intent/intent.h"

typedef struct {
	const RgCluster *cluster;
	RgSnapshot *snapshot; /* what is recorded (rebuild: what was found) */
	RgProvider *provider;
	json_t *pins; /* of the fit; extended */
	/* of the last fit; NULL before */
	const json_t *fitted;
	const RgResourceSet *desired;
	RgResourceSet *found; /* rebuild: borrowed from the snapshot */
	GHashTable *kept; /* import: addresses of which what no list reports is assumed to be as in
			   * the spec; NULL: of none */
	GHashTable *revealed; /* address -> json_t*: attributes that reveal returned */
	char *token;	      /* Ray's, from the user data; NULL: unknown */
	bool untold;	      /* something unreadable was assumed to be as in the spec */
	RgDiags *diags;
} RgFound;

/* found.c: before the first fit, and between the two. */
void rg_found_pin(RgFound *all);
void rg_found_pin_fitted(RgFound *all);
/* After them: fills `revealed`; one request per node. */
bool rg_found_reveal(RgFound *all);
/* Looks for `token` in what was revealed. */
void rg_found_find_token(RgFound *all);
/* The record of the Ray token, and a warning if it is unknown; NULL: the spec needs none. */
RgResource *rg_found_secret(RgFound *all);
/* records.c: the record of one of them; `wanted` NULL: the spec does not have it. */
RgResource *rg_found_record(RgFound *all, const RgResource *found, const RgResource *wanted);

/* import.c: what `import` names: an existing resource, and its address in the spec. */
typedef struct {
	const char *address, *id;
	bool keep; /* what no cloud reports (user data, disks) is assumed to be as in the spec, so
		    * that the node is not replaced because of it */
	const char *origin; /* its entry in the spec, "/imports/0"; NULL: none */
} RgImport;
typedef struct {
	RgFound found;
	const RgImport *imports;
	size_t n;
	RgStore *store;
	GHashTable *read; /* "kind id" -> RgResource* */
} RgImporting;
void rg_importing_init(RgImporting *importing, const RgIntent *intent, RgStore *store,
	const RgImport *imports, size_t n, RgDiags *diags);
void rg_importing_clear(RgImporting *importing);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RgImporting, rg_importing_clear)
/* Reads all of them into `found`; false with import.refused. */
bool rg_importing_read(RgImporting *importing);
/* After the fits: RgResource*, added to the snapshot, which owns them; NULL with import.refused. */
GPtrArray *rg_importing_record(RgImporting *importing);
/* Of entries of the spec whose address is recorded with another id: the imported resource was
 * replaced since if it no longer exists, and then the entry has done its work; else import.refused.
 */
bool rg_importing_check_replaced(RgImporting *importing);
/* RgImport of the spec's entries that are to be imported: those whose address is recorded, or the
 * others. */
GArray *rg_intent_entries(const RgIntent *intent, bool recorded);

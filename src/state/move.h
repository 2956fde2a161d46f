/* Records get other addresses, enter the state or leave it, while the resources stay as they are.
 * As in write.h, all need the lock, and each is one transaction. */
#pragma once
#include "state/read.h"

/* `import`: existing resources (RgResource*, borrowed) become records, all or none, with ownership
 * "adopted"; state.moved if an address is taken. */
bool rg_store_import(RgStore *store, const char *cluster, const GPtrArray *records, RgDiags *diags);
/* `state mv`: records get other addresses of the same kind, all or none; the marks in the cloud are
 * left to the next apply. state.moved if an address is taken, or one's creation or removal is
 * open. */
typedef struct {
	const char *from, *to;
	const char *group;  /* the new one, or NULL */
	const char *origin; /* into the spec, or NULL */
	const json_t *pin;  /* NULL: unchanged */
} RgMove;
/* References in a record to others and to its pool, with the addresses after the moves; this is not
 * an update of the resource. NULL: unchanged. */
typedef struct {
	const char *address;
	const json_t *attrs, *depends_on;
} RgMoveEdit;
bool rg_store_move(RgStore *store, const char *cluster, const RgMove *moves, size_t n,
	const RgMoveEdit *edits, size_t n_edits, RgDiags *diags);
/* `state rm`: forgets the record, does not touch the cloud. */
bool rg_store_forget(RgStore *store, const char *cluster, const char *address, RgDiags *diags);

/* `state rebuild`: a cluster that the state does not have, from the cloud's marks. All borrowed. */
typedef struct {
	const char *cluster, *lineage, *provider, *region, *account;
	const json_t *config, *facts;
	const json_t *labels;		/* the spec's, for `raygpu cost --by label:KEY` */
	const RgResourceSet *resources; /* future records, including secrets */
	const RgResourceSet *desired;	/* that may be created: no old token comes back */
} RgRebuilt;
bool rg_store_rebuild(RgStore *store, const RgRebuilt *rebuilt, RgDiags *diags);

/* For src/transfer. Like rg_store_open_in, and does not refuse what was moved. */
RgStore *rg_store_open_moved(
	const RgObjectStores *stores, const char *place, RgStoreMode mode, RgDiags *diags);

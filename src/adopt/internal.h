/* Private to the rebuilding of a lost state (rebuild.c) and to import.c: the data of one run, on
 * its way through found.c (fitting, what no list reports) and records.c (what becomes a record).
 * Main thread only. */
#pragma once
#include "adopt/adopt.h"
#include "pipeline/pass.h"
#include "provider/provider.h"

typedef struct {
	RgSession *session;
	RgPass *pass;	      /* its snapshot: what is recorded (rebuild: what was found) */
	RgResourceSet *found; /* with pins; rebuild: borrowed from the snapshot */
	GHashTable *kept; /* import: addresses of which what no list reports is assumed to be as in
			   * the spec; NULL: of none */
	GHashTable *revealed; /* address -> json_t*: attributes that reveal returned */
	char *token;	      /* Ray's, from the user data; NULL: unknown */
	bool untold;	      /* something unreadable was assumed to be as in the spec */
	RgDiags *diags;
} Rebuild;

/* place.c: determines where the cluster is, opens the provider and reads marked resources. `asked`:
 * the requested lineage, or NULL */
bool rebuild_find_place(Rebuild *rebuild, const char *asked, GPtrArray *marked);

/* found.c: `found` -> pass->desired, with what was found as pins; false and diagnostics */
bool found_fit(Rebuild *rebuild);
/* Fills `revealed`; one request per node. */
bool found_reveal(Rebuild *rebuild);
/* Looks for `token` in what was revealed. */
void found_token(Rebuild *rebuild);
/* The record of the Ray token, and a warning if it is unknown; NULL: the spec needs none. */
RgResource *found_secret(Rebuild *rebuild);

/* records.c. The Ray token in what was revealed of a resource of that kind, if its user data has
 * the form of `wanted`; NULL. */
char *rebuild_find_token(const RgKind *kind, const RgResource *wanted, const json_t *revealed);
/* Whether it is in `kept`. */
bool rebuild_keeps(const Rebuild *rebuild, const RgResource *found);
/* The record of one found resource; `wanted` NULL: the spec does not have it. */
RgResource *rebuild_record(Rebuild *rebuild, const RgResource *found, const RgResource *wanted);

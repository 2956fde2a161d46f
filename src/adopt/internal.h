/* Private to the rebuilding of a lost state (rebuild.c) and to import.c: what one run of them
 * holds, on its way through found.c (fitting, what no list reports) and records.c (what
 * becomes a record). Main thread only. */
#pragma once
#include "adopt/adopt.h"
#include "pipeline/pass.h"
#include "provider/provider.h"

typedef struct {
	RgSession *session;
	RgPass *pass;	      /* its snapshot: what is recorded (rebuild: what was found) */
	RgResourceSet *found; /* with pins; rebuild: borrowed from the snapshot */
	bool keep;	      /* import: what no list reports is taken to be as the spec says */
	GHashTable *revealed; /* address -> json_t*: attributes that reveal returned */
	char *token;	      /* Ray's, out of the user data; NULL: not known */
	bool untold;	      /* something unreadable was taken as the spec says */
	RgDiags *diags;
} Rebuild;

/* rebuild.c: what carries the cluster's name, of all kinds; false and diagnostics */
bool rebuild_read_marked(Rebuild *rebuild, GPtrArray *marked);
/* place.c: settles the cluster where it is, opens the provider and reads what is marked.
 * `asked`: the lineage that counts, or NULL */
bool rebuild_find_place(Rebuild *rebuild, const char *asked, GPtrArray *marked);

/* found.c: `found` -> pass->desired, with what was found as pins; false and diagnostics */
bool found_fit(Rebuild *rebuild);
/* Fills `revealed`; a request a node. */
bool found_reveal(Rebuild *rebuild);
/* Looks for `token` in what was revealed. */
void found_token(Rebuild *rebuild);
/* The record of the Ray token, and a warning when it is not known; NULL: the spec needs none. */
RgResource *found_secret(Rebuild *rebuild);

/* records.c. The Ray token in what was revealed of a resource of that kind, when its user
 * data is made as `wanted` says; NULL. */
char *rebuild_find_token(const RgKind *kind, const RgResource *wanted, const json_t *revealed);
/* The record of one found thing; `wanted` NULL: the spec doesn't have it. */
RgResource *rebuild_record(Rebuild *rebuild, const RgResource *found, const RgResource *wanted);

/* Private to the rebuilding of a lost state: what one run of it holds, between rebuild.c (reading
 * the marks, fitting, storing) and rebuild_records.c (what becomes a record). Main thread only. */
#pragma once
#include "pipeline/internal.h"

typedef struct {
	RgSession *session;
	RgPass *pass;	      /* its snapshot: what was found, with pins */
	RgResourceSet *found; /* borrowed from the snapshot */
	GHashTable *revealed; /* address -> json_t*: attributes that reveal told */
	char *token;	      /* Ray's, out of the user data; NULL: not told */
	bool untold;	      /* something unreadable was taken as the spec says */
	RgDiags *diags;
} Rebuild;

/* The Ray token in the user data of `address`, when it is made as `wanted` says; NULL. */
char *rebuild_find_token(const RgResource *wanted, const json_t *revealed);
/* The record of one found thing; `wanted` NULL: the spec doesn't have it. */
RgResource *rebuild_record(Rebuild *rebuild, const RgResource *found, const RgResource *wanted);

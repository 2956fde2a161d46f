/* `expires`: when a cluster or a pool ends. Pure. */
#pragma once
#include "base/json.h"

typedef struct {
	char *text;	    /* as in the spec; NULL: no lease */
	int64_t end_s;	    /* Unix time; 0: it is a duration */
	int64_t duration_s; /* from the first apply; 0: it is a date */
	RgSource source;
} RgLease;

/* Fills end_s or duration_s. NULL, or what is wrong with the text, which has the form that the
 * schema requires. */
const char *rg_lease_parse(const char *text, int64_t *end_s, int64_t *duration_s);

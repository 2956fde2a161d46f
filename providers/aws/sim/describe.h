/* What all Describe actions share: ids, filters, paging, and the list in the answer. A family
 * states its listing as data; only what differs is code. */
#pragma once
#include "aws/sim/filter.h"

typedef struct {
	const char *set; /* the list's name in the answer */
	RgSimKind kind;
	const char *ids; /* the parameter that lists ids; NULL: none */
	const RgSimFilterName *filters;
	gint64 min_results; /* bounds of MaxResults */
	gint64 max_results;
	/* Further conditions than filters; NULL: none. */
	bool (*wanted)(const RgSimCall *call, const json_t *doc);
	/* Writes the page's documents; NULL: each one as it is, inside <set>. */
	void (*write)(RgSimCall *call, const GPtrArray *page);
} RgSimListing;

/* Lists a table as the reader sees it (consistency delay). */
bool rg_sim_describe(RgSimCall *call, const RgSimListing *listing);
/* Lists documents that were made for the occasion; their order must be stable between calls. */
bool rg_sim_describe_docs(RgSimCall *call, const RgSimListing *listing, const GPtrArray *docs);

/* Shared by all Describe actions: ids, filters, paging, and the list in the answer. A family
 * defines its listing as data; only differences are code. A filter matches if any of its values
 * does (wildcards * and ?, escaped by a backslash), and all filters must match; tag:KEY, tag-key
 * and tag-value are known for every kind. */
#pragma once
#include "aws/sim/ec2.h"

typedef struct {
	const char *name;
	const char *path; /* dotted members; lists on the way are searched */
} Ec2Filter;

typedef struct {
	const char *set; /* the list's name in the answer */
	unsigned kind;
	const char *ids;	  /* the parameter that lists ids; NULL: none */
	const Ec2Filter *filters; /* ends with a NULL name */
	/* What is listed of a document, a new reference; NULL: the document. */
	json_t *(*view)(const RgSimCall *call, const json_t *doc);
	/* Further conditions besides filters; NULL: none. */
	bool (*wanted)(const RgSimCall *call, const json_t *doc);
	/* Writes the page's documents; NULL: each one unchanged, inside <set>. */
	void (*write)(RgSimCall *call, const GPtrArray *page);
	gint64 least; /* bounds of MaxResults; 0: 5 and 1000 */
	gint64 most;
} Ec2Listing;

/* Lists a table as the reader sees it (consistency delay). */
bool ec2_describe(RgSimCall *call, const Ec2Listing *listing);
/* Lists documents built for this call; their order must be stable between calls. */
bool ec2_describe_docs(RgSimCall *call, const Ec2Listing *listing, const GPtrArray *docs);

/* The tagSet for one resource type from the request's TagSpecification list; an empty list if it
 * has none. NULL and an error on the call if a tag is not allowed, or if a specification names a
 * type that is not in `types` (blank-separated). */
json_t *ec2_tags_of_request(RgSimCall *call, const char *type, const char *types);

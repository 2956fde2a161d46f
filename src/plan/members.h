/* Private to src/plan: the members of a plan's structs in a plan file. One table per struct drives
 * writing, reading and freeing, so each member is named once. */
#pragma once
#include "plan/internal.h"

typedef enum {
	MEMBER_END,
	MEMBER_TEXT,   /* char*; omitted if NULL */
	MEMBER_NEEDED, /* the same, never NULL */
	MEMBER_FLAG,   /* bool; omitted if false */
	MEMBER_BOOL,   /* bool */
	MEMBER_COUNT,  /* unsigned */
	MEMBER_SOME,   /* unsigned; omitted if 0 */
	MEMBER_NUMBER, /* int64_t, never omitted */
	MEMBER_AMOUNT, /* int64_t, null for RG_MONEY_UNKNOWN */
	MEMBER_PRICE,  /* the same; omitted if 0 */
	MEMBER_SOURCE, /* RgSource; omitted without a line */
	/* json_t*, omitted if NULL; an object or an array */
	MEMBER_MAP,
	MEMBER_LIST,
	MEMBER_SHARED_MAP, /* the same, in "blobs" if it is long */
	MEMBER_SHARED_LIST,
	MEMBER_LONG,   /* the same if it is longer, and of any type */
	MEMBER_OBJECT, /* an object of values, each of which may also be in "blobs" */
} MemberType;

typedef struct {
	const char *key;
	MemberType type;
	size_t at; /* offset */
} Member;

extern const Member attr_members[], change_members[], pool_members[], limit_members[];
extern const Member sum_members[], sum_carbon_members[], market_sum_members[];
extern const Member plan_members[], spec_members[], git_members[], money_members[],
	touched_members[], effort_members[], summary_members[];

void members_put(const Member *members, const void *record, json_t *object, Blobs *blobs);
/* An object of its own. */
json_t *members_json(const Member *members, const void *record, Blobs *blobs);
void members_free(const Member *members, void *record); /* what the members own */

typedef struct {
	const json_t *blobs;
	GHashTable *seen;     /* address -> RgPlanChange* */
	GHashTable *unpacked; /* json_t* in the document -> json_t* unpacked: equal nodes share */
	int64_t amounts;      /* of all pools and markets; they can be added up */
	RgDiags *diags;
	bool failed;
} Loader;
/* plan.bad-file, once. */
void load_fail(Loader *loader, const char *where, const char *what);
void members_take(Loader *loader, const Member *members, void *record, const json_t *object);
/* A value of ours, looked up in "blobs" if it is long; of the requested type. Borrowed, or NULL. */
const json_t *load_value(Loader *loader, const json_t *object, const char *key, json_type type);
/* Borrowed; NULL if absent, anything but a text fails. */
const char *load_text(Loader *loader, const json_t *object, const char *key);

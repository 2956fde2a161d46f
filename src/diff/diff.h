/* Three sets -> changes. Pure: no clock, no I/O; same sets, same changes in the same order.
 * src/diff/decide.md defines each case, by row number. */
#pragma once
#include "base/diag.h"
#include "resource/graph.h"
#include "resource/schema.h"

typedef enum {
	RG_ACTION_NONE, /* nothing to do */
	RG_ACTION_CREATE,
	RG_ACTION_UPDATE,
	RG_ACTION_REPLACE, /* delete, then create under the next generation */
	RG_ACTION_DELETE,
	RG_ACTION_RECORD, /* only the state changes, no call to the cloud */
	RG_ACTION_FORGET, /* the record is removed, nothing is in the cloud */
	/* it stays in the cloud: its marks are removed there (unless keep_marks), then its record
	 */
	RG_ACTION_RELEASE,
	RG_ACTION_STOP, /* conflict or unknown: neither this nor its dependents are changed */
} RgAction;

typedef enum {
	RG_GRADE_SAFE,
	RG_GRADE_DESTRUCTIVE,
	RG_GRADE_DRIFT,
	RG_GRADE_RECOVER,
	RG_GRADE_CONFLICT,
	RG_GRADE_UNKNOWN,
} RgGrade;

/* RgChange.row of RG_ACTION_RELEASE */
#define RG_ROW_RELEASED 24
/* RgChange.row of what --target or --exclude leaves out */
#define RG_ROW_LEFT_OUT 0
/* what cannot be read; CREATE: it is forgotten, and another one is created in its place */
#define RG_ROW_UNREAD 15
/* what no longer exists: it is created again, with what it was or as the spec is now; or forgotten
 */
#define RG_ROW_GONE 7
#define RG_ROW_GONE_MOVED 11
#define RG_ROW_GONE_LEFT 14
/* what ran once and is gone: not drift */
#define RG_ROW_DONE 22
/* what came with another resource, has no record, and is not in the spec: `recorded` is what the
 * cloud shows */
#define RG_ROW_LEFT_BEHIND 23

/* Why one attribute is part of the change. Values are borrowed from the resources or owned, always
 * with their own reference; NULL = absent. */
typedef struct {
	const char *name;
	json_t *before,
		*after; /* sensitive values are never stored here: both NULL and `sensitive` set */
	bool after_unknown; /* known after apply */
	bool force_new, sensitive;
	bool drift;	  /* the cloud differs from the record */
	bool spec;	  /* the spec differs from the record */
	bool record;	  /* the cloud has the desired value already (row 9) */
	json_t *recorded; /* as recorded, references resolved where known; NULL = absent */
} RgAttrChange;

typedef struct {
	const char *address; /* of after or before */
	RgAction action;
	RgGrade grade;
	int row; /* decide.md; 1 stands for 1b, RG_ROW_LEFT_OUT: left out */
	/* borrowed from the sets; NULL = absent. observed: PRESENT or UNKNOWN, never ABSENT */
	const RgResource *desired, *recorded, *observed;
	/* the cloud's own term for a resource that no longer exists but is still shown,
	 * "terminated"; borrowed from the observed set; NULL = it is not shown */
	const char *gone_status;
	GPtrArray *attrs; /* RgAttrChange*, sorted by name. CREATE: only those whose value contains
			     references; DELETE: only drifted ones (row 13); NONE: empty */
	const char *reason;    /* Terraform's action_reason ("replace_because_cannot_update",
				* "delete_because_no_resource_config", "replace_by_request") or NULL */
	bool drifted;	       /* belongs in resource_drift[] */
	bool replay;	       /* an open journal row is sent again first (rows 16 to 18) */
	GPtrArray *after;      /* RgChange* that must be done first, borrowed (decide.md "Order") */
	char *note;	       /* one line for people, or NULL */
	const char *origin;    /* RELEASE: the entry of the spec that causes it; else NULL */
	bool keep_marks;       /* RELEASE: the cloud is not called */
	bool left;	       /* refresh_only: more is to do in the cloud; `note` says what */
	const json_t *removal; /* of its kind (RgKind) */
} RgChange;

/* A pool that left the spec and whose resources stay. */
typedef struct {
	const char *pool, *origin; /* "/removed/old" */
	bool keep_marks;
} RgRelease;

typedef struct {
	GPtrArray *changes; /* RgChange*, owned: every address of the three sets, including NONE, in
			       an order that apply may follow */
	GPtrArray *unmanaged; /* const RgResource*: carries our lineage, no record (row 1b) */
} RgDiff;

typedef struct {
	bool destroy; /* desired is treated as empty */
	bool looking; /* for drift: what would block a creation is not an error, and an unreadable
			 resource stops nothing else */
	bool refresh_only; /* only records change: they are rewritten or forgotten */
	GStrv replace;	   /* addresses to replace by request; NULL = none */
	GStrv targets; /* addresses, or "kind.name" for all indexes; NULL = all. Dependencies of a
			  target are included */
	const GPtrArray
		*pools; /* char* names of the spec's pools, also of empty ones; may be NULL */
	const json_t *ignored; /* patterns of label keys that are left to others; NULL = none */
	/* Do two values of an unreadable attribute, as recorded and as desired, differ only in what
	 * raygpu itself adds? Then nothing is to do. NULL: never */
	bool (*same)(const json_t *recorded, const json_t *desired);
	GStrv excludes; /* the opposite: these and their dependents are left out */
	/* set of "kind id": resources that the spec imports, so they are not unmanaged; NULL = none
	 */
	GHashTable *awaited;
	const RgRelease *releases;
	size_t n_releases;
} RgDiffOptions;

/* Adds the addresses that a record uses in the cloud: references that the cloud shows, not those
 * in what it booted with. `used`: char* -> NULL, owned keys. */
void rg_diff_uses(const RgSchema *schema, const RgResource *record, GHashTable *used);
/* It differs from its record, and a run of raygpu that was updating it did not see the end: the
 * difference may be that run's. */
bool rg_change_is_interrupted(const RgChange *change);
void rg_diff_free(RgDiff *diff);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgDiff, rg_diff_free)

/* What is desired without a spec: what is recorded; or, for `refresh_only`, that as the cloud shows
 * it (NULL: as for rg_diff). */
RgResourceSet *rg_diff_recorded(const RgResourceSet *recorded);
RgResourceSet *rg_diff_refreshed(const RgSchema *schema, const RgResourceSet *recorded,
	const RgResourceSet *observed, const RgDiffOptions *options, RgDiags *diags);

/* NULL only on errors of the sets themselves (a cycle, an unknown kind, an unknown target);
 * conflicts and unknowns are changes with RG_ACTION_STOP and a diagnostic each. */
RgDiff *rg_diff(const RgSchema *schema, const RgResourceSet *desired, const RgResourceSet *recorded,
	const RgResourceSet *observed, const RgDiffOptions *options, RgDiags *diags);

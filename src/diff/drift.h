/* What was changed outside raygpu: a view of a diff (pure), for `raygpu drift`. Only differences
 * between cloud and record count; a spec that has not been applied yet is not drift. */
#pragma once
#include "diff/diff.h"

typedef enum {
	RG_DRIFT_MISSING,
	RG_DRIFT_CHANGED,
	RG_DRIFT_UNMANAGED,
	RG_DRIFT_UNHEALTHY
} RgDriftType;

/* The three values of one attribute; NULL = absent. Sensitive values are never here. */
typedef struct {
	char *name;
	json_t *desired, *recorded, *observed;
} RgDriftAttr;

typedef struct {
	RgDriftType type;
	char *address; /* NULL: an unmanaged resource whose marks contain no address */
	char *kind, *group, *id, *status, *origin; /* may be NULL */
	bool interrupted;			   /* rg_change_is_interrupted */
	char *reason;				   /* if unhealthy: completes "ADDRESS" */
	unsigned nodes;	  /* if missing and not one machine: its Ray nodes */
	RgSource source;  /* line of the spec; line 0 = none */
	GPtrArray *attrs; /* RgDriftAttr*, for CHANGED; else empty */
} RgDriftItem;

typedef struct {
	char *cluster;
	char *acting;	  /* which credentials it was read with, in words; NULL: unknown */
	unsigned checked; /* recorded resources that were checked */
	unsigned unread;  /* recorded resources whose state in the cloud could not be read */
	GPtrArray
		*items; /* RgDriftItem*: missing, changed, unmanaged, unhealthy; each by address */
} RgDrift;

RgDrift *rg_drift_new(const RgDiff *diff, const RgResourceSet *recorded, const char *cluster,
	RgSource (*source)(const void *data, const char *pointer), const void *source_data);
/* A recorded node that the cloud shows as recorded, and that does not work, as `reason` says.
 * Nothing is added to what is missing or changed already. `source` may be NULL. */
void rg_drift_add_unhealthy(RgDrift *drift, const RgResource *record, const char *reason,
	RgSource (*source)(const void *data, const char *pointer), const void *source_data);
void rg_drift_free(RgDrift *drift);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgDrift, rg_drift_free)

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
	bool machine;				   /* it is one machine, and one Ray node */
	bool strangers;	  /* if unhealthy: the head, for nodes that nobody has recorded */
	char *removed;	  /* if missing: what has happened to it, "given back"; NULL: deleted */
	unsigned nodes;	  /* if missing and not one machine: its Ray nodes */
	RgSource source;  /* line of the spec; line 0 = none */
	GPtrArray *attrs; /* RgDriftAttr*, for CHANGED; else empty */
} RgDriftItem;

typedef struct {
	char *cluster;
	char *spec;	  /* as the user named it, or NULL */
	char *acting;	  /* which credentials it was read with, in words; NULL: unknown */
	unsigned checked; /* recorded resources that were checked */
	unsigned unread;  /* recorded resources whose state in the cloud could not be read */
	GPtrArray
		*items; /* RgDriftItem*: missing, changed, unmanaged, unhealthy; each by address */
	json_t *seen;	/* what runs and is in Ray, as rg_ready_check has it; NULL: not asked */
	json_t *groups; /* of elastic pools, as rg_provider_members has them; NULL: not asked */
} RgDrift;

RgDrift *rg_drift_new(const RgDiff *diff, const RgResourceSet *recorded, const char *cluster,
	RgSource (*source)(const void *data, const char *pointer), const void *source_data);
/* A recorded node that the cloud shows as recorded, and that is not as it should be, as `reason`
 * says; nothing if it is missing, changed or unhealthy already. `strangers`: as in RgDriftItem, and
 * added in any case. `source` may be NULL. */
void rg_drift_add_unhealthy(RgDrift *drift, const RgResource *record, const char *reason,
	bool strangers, RgSource (*source)(const void *data, const char *pointer),
	const void *source_data);
void rg_drift_free(RgDrift *drift);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgDrift, rg_drift_free)

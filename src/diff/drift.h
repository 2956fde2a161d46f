/* What somebody changed behind our back: a view of a diff (pure), for `raygpu drift`. Only the
 * cloud against the record counts; a spec that was not applied yet is no drift. */
#pragma once
#include "diff/diff.h"

typedef enum { RG_DRIFT_MISSING, RG_DRIFT_CHANGED, RG_DRIFT_UNMANAGED } RgDriftType;

/* One attribute three times; NULL = absent. Sensitive values are never here. */
typedef struct {
	char *name;
	json_t *desired, *recorded, *observed;
} RgDriftAttr;

typedef struct {
	RgDriftType type;
	char *address; /* NULL: an unmanaged thing whose marks name no address */
	char *kind, *group, *id, *status, *origin; /* may be NULL */
	unsigned nodes;	  /* of a missing resource that is not one machine: Ray nodes that it was */
	RgSource source;  /* line of the spec; line 0 = none */
	GPtrArray *attrs; /* RgDriftAttr*, for CHANGED; else empty */
} RgDriftItem;

typedef struct {
	char *cluster;
	unsigned checked; /* recorded resources that were looked at */
	unsigned unread;  /* recorded resources whose state in the cloud could not be read */
	GPtrArray *items; /* RgDriftItem*: missing, changed, unmanaged; by address within */
} RgDrift;

RgDrift *rg_drift_new(const RgDiff *diff, const RgResourceSet *recorded, const char *cluster,
	RgSource (*source)(const void *data, const char *pointer), const void *source_data);
void rg_drift_free(RgDrift *drift);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgDrift, rg_drift_free)

/* Inside emit: emit.c reads the report, emit_train.c and emit_serve.c write the arguments. */
#pragma once
#include "workloads/emit.h"
#include "fit/shape.h"

/* One form that a replica of a workload takes. */
typedef struct {
	const RgCluster *cluster;
	const RgCompat *compat;
	const RgWorkload *workload;
	const json_t *said;   /* the workload in the report */
	const json_t *pools;  /* names */
	const char *strategy; /* of its placement group; NULL: it has none, and one bundle */
	json_t *bundles;      /* [{"count", "resources", "label_selector"?}] */
	int64_t replicas;     /* of this form; a gang of single tasks is one replica */
	int64_t each;	      /* the workload's replicas in one of them */
	bool alone;	      /* the workload has no other form */
	const char *ray_type; /* of all its pools: "A100"; NULL: none or different ones */
	RgDiags *diags;
} RgEmitEntry;

/* New references; NULL if the library cannot express it. */
json_t *rg_emit_train(const RgEmitEntry *entry);
json_t *rg_emit_serve(const RgEmitEntry *entry);

/* emit_entry.c */
bool rg_emit_has(const RgEmitEntry *entry, const char *api, const char *option);
/* The bundles' selectors, one for each bundle in order; NULL if there are none. A new reference. */
json_t *rg_emit_selectors(const RgEmitEntry *entry);
/* fit.not-expressible at the workload; `what` is freed. */
void rg_emit_complain(const RgEmitEntry *entry, char *what, const char *hint);

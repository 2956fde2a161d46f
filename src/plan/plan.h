/* The plan: what a run would do, why, what it costs, what Ray will see. Made from a diff by
 * rg_plan_new (pure), carried to apply in memory or as a saved JSON file (schemas/plan.schema.json,
 * Terraform's keys plus ours). Deterministic: same commit, same world, same bytes; no time stamp,
 * no absolute path, no branch, no secret. Owns all it points to; immutable; any thread. */
#pragma once
#include "diff/diff.h"

/* One attribute of one change, in plan form (values as shown; sensitive ones never). */
typedef struct {
	char *name;
	json_t *before, *after; /* NULL = absent */
	json_t *recorded;	/* what the record has; only with `drift` */
	bool after_unknown, force_new, sensitive, drift;
} RgPlanAttr;

typedef struct {
	char *address, *kind, *name, *group; /* group NULL: none */
	int64_t index;			     /* -1 */
	RgAction action;
	RgGrade grade;
	int row;
	char *reason, *note; /* may be NULL */
	char *id;	     /* the cloud's id now, or NULL */
	bool drifted, replay;
	GPtrArray *attrs;     /* RgPlanAttr*; CREATE: only those with references */
	json_t *spec_changes; /* why attrs' long texts differ, RgPlanInput.explain's answer; or NULL
			       */
	json_t *computed;  /* CREATE, REPLACE: array of the attributes that the cloud will set; or
			      NULL */
	json_t *sensitive; /* object: attribute -> true, whose values must not be shown; or NULL */
	json_t *desired;   /* desired attributes with expressions; NULL for delete and forget */
	json_t *before;	   /* recorded attributes with drift put in, or NULL */
	json_t *observed;  /* UPDATE, REPLACE, DELETE: what the cloud reported, computed attributes
			      included, without what must not be shown; NULL: not seen */
	json_t *pin;	   /* offer and price for the state, or NULL */
	GStrv depends_on; /* addresses (of desired, else of recorded), those referred to included */
	GPtrArray *after; /* char* addresses of changes of this plan that must be done first */
	RgSource source;  /* line of the spec that asks for it; line 0 = none */
	char *origin;
	/* of all nodes that it stands for, of elastic pools those that run; RG_MONEY_UNKNOWN, 0 for
	 * what costs nothing */
	int64_t price_microusd_hour;
	char *accelerator; /* Ray's name; NULL: none, or several */
	unsigned gpus;	   /* of all those nodes */
	/* which nodes it stands for, as `lower` says it (provider.h); NULL: one of its group, or
	 * none */
	json_t *nodes;
} RgPlanChange;

/* What nodes come to; `unpriced` and `uncounted` ones, whose price or carbon is not known, are in
 * no sum. */
typedef struct {
	unsigned nodes, unpriced, uncounted;
	int64_t microusd_hour, carbon_mg_hour; /* milligrams of CO2e */
	unsigned gpus;
} RgPlanSum;
/* The same of a pool that Ray's autoscaler moves between least and most; of others all three are
 * equal. */
typedef struct {
	RgPlanSum now; /* what runs; after the apply: as many as now, or else the least */
	RgPlanSum least, most;
} RgPlanSide;

/* Sums of one pool, before (recorded and still there) and after. */
typedef struct {
	char *pool;
	char *instance_type, *accelerator; /* of after, else before; accelerator may be NULL */
	char *market, *reason; /* the same: "on-demand", "spot", "mixed"; why this type, or NULL */
	char *instance_type_before, *market_before; /* where they change; else NULL */
	bool gang;				    /* apply makes all of its new nodes or none */
	RgPlanSide before, after;
} RgPlanPool;

/* A limit of a budget that the plan was held against. */
typedef struct {
	char *pool; /* NULL: the whole cluster */
	bool month; /* a month of RG_MONTH_HOURS, else an hour */
	int64_t microusd;
	RgSource source; /* its line in the spec or the project file */
} RgPlanLimit;

/* As the clouds' own calculators have it. */
#define RG_MONTH_HOURS 730

/* What all nodes bought on one market cost, before and after. */
typedef struct {
	char *market; /* "on-demand", "spot" */
	RgPlanSum before, after;
} RgPlanMarket;

typedef struct {
	char *command;		 /* "plan" or "destroy" */
	char *cluster, *lineage; /* lineage NULL before the first apply */
	char *provider, *region;
	json_t *config, *facts; /* for the apply of a saved plan */
	json_t *labels;		/* the cluster's labels: tags of what is created; may be NULL */
	json_t *ignore_tags;	/* patterns of keys that updates leave alone; NULL: none */
	json_t *fit;		/* of the workloads (src/fit/workloads.h); NULL without any */
	json_t *protect;	/* pools that the state is to protect; NULL: as it is there */
	/* what that changes: [{"pool", "before", "after"}]; NULL: nothing. No resource is touched
	 * for it, but it has to be applied. */
	json_t *protection;
	int64_t serial; /* of the state that it was made from */
	char *state;	/* identity of the state store as the user gave it */
	char *spec_file, *spec_digest;
	char *commit; /* NULL: not in git or no commit */
	bool dirty, in_git;
	char *catalog_date; /* newest price date used, or NULL */
	GPtrArray *changes; /* RgPlanChange*: NONE included, in apply order */
	GPtrArray *pools;   /* RgPlanPool*, head first, then as in the spec, then vanished ones */
	GPtrArray *markets; /* RgPlanMarket*, by name */
	GPtrArray *limits;  /* RgPlanLimit* */
	char *override;	    /* why the budget may be exceeded; NULL: it is not */
	json_t *carbon; /* what the carbon figures rest on: {"year", "source", ...}; NULL: none */
	GPtrArray *unmanaged; /* json_t*: {"address","kind","id","status"} */
	json_t *details; /* {kind: [attributes that say nothing that anybody chose]}; NULL: none */
	/* {address: [generation, updated_s], with the run when pending; null = no row}: all rows of
	 * the cluster, none of which may have moved */
	json_t *touched;
	unsigned api_calls; /* request budget of the apply */
	unsigned api_seconds;
	unsigned create, update, replace, remove, record, forget, stop, drifted; /* counts */
	bool errored; /* diagnostics had errors: must not be applied */
} RgPlan;

void rg_plan_free(RgPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgPlan, rg_plan_free)

typedef struct {
	const char *command, *lineage, *state;
	int64_t serial;
	const char *commit;
	bool in_git, dirty;
	const json_t *fitted; /* NULL when destroying without a spec */
	const char *cluster, *provider, *region, *spec_file, *spec_digest;
	const json_t *config, *facts, *protect, *protection;
	const json_t *fit;	   /* NULL without workloads */
	const json_t *ignore_tags; /* NULL: none */
	/* where "/pools/train" stands in the spec; may be NULL */
	RgSource (*source)(const void *data, const char *pointer);
	const void *source_data;
	/* what of the spec differs between two values of an attribute, an array of {"field",
	 * "change", "before", "after", "hidden"} (src/boot/boot.h); NULL: not known. May be
	 * NULL */
	json_t *(*explain)(const json_t *before, const json_t *after);
	GPtrArray *pool_order; /* char* names as in the spec; may be NULL */
	GPtrArray *gangs;      /* char* names of gang pools; may be NULL */
	GPtrArray *limits;     /* RgPlanLimit*, copied; may be NULL */
	const char *override;  /* the user's reason to pass them, or NULL */
	/* {"types": {instance type: mg CO2e an hour or null}, "basis": what becomes plan->carbon};
	 * NULL: carbon is not asked for */
	const json_t *carbon;
} RgPlanInput;

/* Of a node of the fitted document, what the spec says in the pool's `labels`: kept with the price,
 * so that cost can be computed from it later. A new reference; NULL: nothing. */
json_t *rg_plan_own_labels(const json_t *node);
/* Pure. Takes nothing over; the plan copies or references what it needs. */
RgPlan *rg_plan_new(
	const RgDiff *diff, const RgSchema *schema, const RgPlanInput *input, RgDiags *diags);
/* Something to do for apply: any create, update, replace, delete, record, forget, or a change of
 * the protection of pools. */
bool rg_plan_has_changes(const RgPlan *plan);
/* "No changes." is true: nothing to do and nothing stopped or unmanaged-blocking. One function
 * decides what the text says and what the exit code is. */
bool rg_plan_is_noop(const RgPlan *plan);

bool rg_plan_is_range(const RgPlanSide *side);
/* Over the pools; `pool` NULL: of all. */
RgPlanSide rg_plan_sum(const RgPlan *plan, const char *pool, bool after);
/* The plan, with elastic pools at their most, against its own limits: budget.exceeded and
 * budget.unknown as errors, or as warnings with a reason in `override` and where the plan raises
 * nothing. *passed (may be NULL): the reason was needed. A saved plan is held against them again
 * before it is applied. */
bool rg_plan_check_budget(const RgPlan *plan, const char *override, bool *passed, RgDiags *diags);
/* What a pool costs at the least and at the most of its nodes, made from nothing. */
typedef struct {
	const char *pool; /* borrowed; NULL: of several */
	RgPlanSum least, most;
	const char *unpriced_type; /* borrowed: the pool's type, when its price is unknown */
} RgPlanRange;
/* Of all RgPlanRange of `pools`, or of the one of that name. */
RgPlanRange rg_plan_range_sum(const GArray *pools, const char *pool);
/* Their most against the limits (RgPlanLimit*), as if it were planned: Ray's autoscaler may take an
 * elastic pool there at any time, and asks nobody. */
bool rg_plan_check_range(
	const GArray *pools, const GPtrArray *limits, const char *place, RgDiags *diags);
RgPlanLimit *rg_plan_limit_new(const char *pool, bool month, int64_t microusd, RgSource source);
void rg_plan_limit_free(gpointer limit);

/* Saved form; deterministic. `rg_plan_from_json` checks shape and caps (plan.bad-file). */
json_t *rg_plan_to_json(const RgPlan *plan);
RgPlan *rg_plan_from_json(const json_t *document, RgDiags *diags);
/* plan.stale | plan.wrong-state when the lineage or any row of the cluster moved since; `recorded`
 * and `lineage` are of the state now. */
bool rg_plan_check_fresh(
	const RgPlan *plan, const char *lineage, const RgResourceSet *recorded, RgDiags *diags);

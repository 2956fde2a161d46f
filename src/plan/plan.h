/* The plan: what a run would do, why, what it costs, what Ray will see. Made from a diff by
 * rg_plan_new (pure), passed to apply in memory or as a saved JSON file (schemas/plan.schema.json,
 * Terraform's keys plus ours). Deterministic: same commit, same world, same bytes; no time stamp,
 * no absolute path, no branch, no secret. Owns everything it points to; immutable; any thread. */
#pragma once
#include "base/money.h"
#include "diff/diff.h"

/* One attribute of one change, in plan form (values as shown; sensitive ones never). */
typedef struct {
	char *name;
	json_t *before, *after; /* NULL = absent */
	json_t *recorded;	/* the recorded value; only with `drift` */
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
	bool keep_marks;      /* RELEASE: the cloud is not called */
	bool left;	      /* as in RgChange */
	bool interrupted;     /* drifted, perhaps by a run of raygpu that was interrupted */
	GPtrArray *attrs;     /* RgPlanAttr*; CREATE: only those with references */
	json_t *spec_changes; /* why attrs' long texts differ, the result of RgPlanInput.explain; or
				 NULL */
	json_t *computed;  /* CREATE, REPLACE: array of the attributes that the cloud will set; or
			      NULL */
	json_t *sensitive; /* object: attribute -> true, if its values must not be shown; or NULL */
	json_t *desired;   /* desired attributes with expressions; NULL for delete and forget */
	json_t *before;	   /* recorded attributes updated with drift, or NULL */
	json_t *observed;  /* UPDATE, REPLACE, DELETE: what the cloud reported, including computed
			      attributes, without what must not be shown; NULL: not seen */
	json_t *pin;	   /* offer and price for the state, or NULL */
	GStrv depends_on;  /* addresses (of desired, else of recorded), including those that it
			      refers to */
	GPtrArray *after;  /* char* addresses of changes of this plan that must be done first */
	RgSource source;   /* line of the spec that requests it; line 0 = none */
	char *origin;
	/* of all nodes that it stands for, of elastic pools the running ones; RG_MONEY_UNKNOWN, 0
	 * for resources without cost */
	int64_t price_microusd_hour;
	char *accelerator; /* Ray's name; NULL: none, or several */
	unsigned gpus;	   /* of all those nodes */
	/* which nodes it stands for, in the form of `lower` (provider.h); NULL: one of its group,
	 * or none */
	json_t *nodes;
	/* words for its removal: {"verb": "give back", "doing", "done"}; NULL: it is destroyed, or
	 * it stays */
	json_t *removal;
	/* it is recorded before anything else: {"id", "source", "as_is" (omitted if false),
	 * "record"} (schemas/plan.schema.json); NULL: it is not imported */
	json_t *import;
} RgPlanChange;

/* Whether it is part of what a plan shows: something is done, or it is imported. */
bool rg_plan_change_shows(const RgPlanChange *change);

/* The pool of its nodes; of several pools, its own name; NULL: it has no nodes and no pool. */
const char *rg_plan_change_pool(const RgPlanChange *change);
/* If it drifted: what is recorded is no longer in the cloud. */
bool rg_plan_change_gone(const RgPlanChange *change);

/* Sums over nodes; `unpriced` and `uncounted` nodes, whose price or carbon is unknown, are in no
 * sum. */
typedef struct {
	unsigned nodes, unpriced, uncounted;
	int64_t microusd_hour, carbon_mg_hour; /* milligrams of CO2e */
	unsigned gpus;
} RgPlanSum;
/* The same for a pool whose size Ray's autoscaler changes between least and most; for others all
 * three are equal. */
typedef struct {
	RgPlanSum now; /* what runs; after the apply: as many as now, or else the minimum */
	RgPlanSum least, most;
} RgPlanSide;

/* Sums of one pool, before (recorded and existing) and after. */
typedef struct {
	char *pool;
	char *instance_type, *accelerator; /* of after, else before; accelerator may be NULL */
	char *market, *reason; /* the same: "on-demand", "spot", "mixed"; why this type, or NULL */
	char *instance_type_before, *market_before; /* where they change; else NULL */
	/* of the same nodes: the oldest date; "derived" if any price is. NULL: not known */
	char *price_date, *price_quality;
	bool gang; /* apply creates all of its new nodes or none */
	/* how many of its nodes apply replaces at a time; max_surge: the new one before the old
	 * one. Both 0: none are replaced, or all at once */
	unsigned max_unavailable, max_surge;
	unsigned destroyed;  /* of its nodes; not those that are replaced, or are gone */
	char *removed;	     /* the word for that, "given back"; NULL: destroyed */
	RgPlanSum forgotten; /* its nodes that raygpu gives up: they go on running */
	RgPlanSide before, after;
	bool disabled;	      /* by the spec: it has no nodes after the apply */
	RgSource disabled_at; /* the line that says so */
	RgPlanSide enabled;   /* what it would have if it were enabled; `now` is the least */
	/* what its new nodes run, of which their attributes have only a compressed text:
	 * {"ray.image": text, "setup_commands": how many, "initialization_commands", "mounts",
	 * "env"}, without what there is none of; NULL: it has no new nodes, or it is not known */
	json_t *runs;
	char *again; /* it was disabled, and its new nodes are what they were: "2 nodes,
			8xA in east-1a"; NULL: no */
} RgPlanPool;

/* A limit of a budget that the plan was compared with. */
typedef struct {
	char *pool;	 /* NULL: the whole cluster */
	bool gpus;	 /* it limits GPU hours, which need no price; else the cost */
	unsigned hours;	 /* of its period: 1, 24, RG_MONTH_HOURS */
	int64_t most;	 /* in a period: micro-USD, or GPU hours */
	RgSource source; /* its line in the spec or the project file */
} RgPlanLimit;

/* What all nodes of one market cost, before and after. */
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
	json_t *ready_timeouts; /* {pool: seconds}, of those that state one; NULL: none */
	json_t *ignore_tags;	/* patterns of keys that updates leave alone; NULL: none */
	json_t *fit;		/* of the workloads (src/workloads/workloads.h); NULL without any */
	json_t *protect;	/* pools that the state must protect; NULL: as recorded */
	/* what changes in that: [{"pool", "before", "after"}]; NULL: nothing. It changes no
	 * resource, but must be applied. */
	json_t *protection;
	/* pools whose records get another name before anything else: [{"from", "to"}]; NULL: none
	 */
	json_t *renames;
	/* the cluster's and the pools': [{"pool" (absent: the cluster), "expires" (as in the
	 * spec), "before", "after" (UTC)}]; before differs from after: the plan changes it, which
	 * must be applied even if no resource changes. Absent members: none. NULL: no lease */
	json_t *leases;
	int64_t serial; /* of the state that the plan was made from */
	char *state;	/* identity of the state store as the user gave it */
	char *spec_file, *spec_digest;
	char *commit; /* NULL: not in git or no commit */
	bool dirty, in_git;
	char *catalog_date; /* newest price date used, or NULL */
	char *oldest_date;  /* the oldest, where it differs, or NULL */
	GPtrArray *changes; /* RgPlanChange*: NONE included, in apply order */
	GPtrArray *pools;   /* RgPlanPool*, head first, then by spec, then pools that left it */
	GPtrArray *markets; /* RgPlanMarket*, by name */
	GPtrArray *limits;  /* RgPlanLimit* */
	char *override;	    /* why the budget may be exceeded; NULL: it may not */
	json_t *carbon; /* what the carbon figures are based on: {"year", "source", ...}; NULL: none
			 */
	GPtrArray *unmanaged; /* json_t*: {"address","kind","id","status"} */
	json_t *details; /* {kind: [attributes that show nothing that a user chose]}; NULL: none */
	/* {address: [generation, updated_s], with the run if pending; null = no row}: all rows of
	 * the cluster, none of which may change before apply */
	json_t *touched;
	/* What apply may ask for where nodes can't be had, and nothing else: {"fitted": the
	 * document that was lowered, "pools": as in src/fit/candidates.h}. NULL:
	 * nothing. */
	json_t *capacity, *capacity_packed; /* packed: as it stood in the plan file, or NULL */
	unsigned api_calls;		    /* request budget of the apply */
	unsigned api_seconds;
	unsigned create, update, replace, remove, record, forget, stop, drifted; /* counts */
	unsigned import, release;
	bool errored;	   /* diagnostics had errors: must not be applied */
	bool refresh_only; /* it only records what the cloud shows; the spec was not compared */
	/* which credentials it was made with, in words; not saved, they may be another user's at
	 * the next plan. NULL: unknown */
	char *acting;
} RgPlan;

void rg_plan_free(RgPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgPlan, rg_plan_free)

/* How apply is to make and replace the nodes of a pool. */
typedef struct {
	const char *pool;
	bool gang;
	unsigned max_unavailable, max_surge; /* as RgPool has them */
	bool disabled;
	RgSource disabled_at;
	/* what it would be if it were enabled; borrowed */
	const char *instance_type, *accelerator, *market;
	RgPlanSide enabled;
	char *again; /* as in RgPlanPool */
} RgPlanRule;

typedef struct {
	const char *command, *lineage, *state;
	bool refresh_only;
	int64_t serial;
	const char *commit;
	bool in_git, dirty;
	const json_t *fitted; /* NULL if destroying without a spec */
	const char *cluster, *provider, *region, *spec_file, *spec_digest;
	const json_t *config, *facts, *protect, *protection, *renames, *leases;
	const json_t *imports;	      /* {address: RgPlanChange.import}; NULL: none */
	const json_t *fit;	      /* NULL without workloads */
	const json_t *ignore_tags;    /* NULL: none */
	const json_t *ready_timeouts; /* NULL: none */
	/* {file of a source: as the plan names it}, of a spec that extends others; NULL: all are
	 * spec_file */
	const json_t *files;
	/* the place of "/pools/train" in the spec; may be NULL */
	RgSource (*source)(const void *data, const char *pointer);
	const void *source_data;
	/* what in the spec differs between two values of an attribute, an array of {"field",
	 * "change", "before", "after", "hidden"} (src/boot/boot.h); NULL: unknown. May be NULL */
	json_t *(*explain)(const json_t *before, const json_t *after);
	GPtrArray *pool_order;	 /* char* names as in the spec; may be NULL */
	const RgPlanRule *rules; /* one per pool; may be NULL */
	size_t n_rules;
	GPtrArray *limits;	  /* RgPlanLimit*, copied; may be NULL */
	const json_t *candidates; /* src/fit/candidates.h, with "boot"; may be NULL */
	const char *override;	  /* the user's reason to exceed them, or NULL */
	/* {"types": {instance type: mg CO2e per hour or null}, "basis": becomes plan->carbon};
	 * NULL: without carbon */
	const json_t *carbon;
} RgPlanInput;

/* The pool's `labels` in the spec for a node of the fitted document: kept with the price, so that
 * cost can be computed by label later. A new reference; NULL: nothing. */
json_t *rg_plan_own_labels(const json_t *node);
/* Pure. Takes ownership of nothing; the plan copies or references what it needs. */
RgPlan *rg_plan_new(
	const RgDiff *diff, const RgSchema *schema, const RgPlanInput *input, RgDiags *diags);
/* Whether apply has something to do: any create, update, replace, delete, record, forget, import,
 * release, or a change of the protection, the names or the leases of pools. */
bool rg_plan_has_changes(const RgPlan *plan);
/* Whether "No changes." is true: nothing to do and nothing stopped or blocked by unmanaged
 * resources. One function decides both the text and the exit code. */
bool rg_plan_is_noop(const RgPlan *plan);

/* How many of its resources differ in what only a plan without --refresh-only can change. */
unsigned rg_plan_left(const RgPlan *plan);

/* Whether an item of plan->leases changes. */
bool rg_plan_lease_changes(const json_t *lease);

/* NULL: none of that name. */
const RgPlanPool *rg_plan_pool(const RgPlan *plan, const char *name);
bool rg_plan_is_range(const RgPlanSide *side);
/* Over the pools; `pool` NULL: of all. */
RgPlanSide rg_plan_sum(const RgPlan *plan, const char *pool, bool after);
/* Compares the plan, with elastic pools at their maximum, with its own limits: budget.exceeded and
 * budget.unknown as errors, or as warnings with a reason in `override` and where the plan raises
 * nothing. *passed (may be NULL): the reason was needed. A saved plan is compared again before it
 * is applied. */
bool rg_plan_check_budget(const RgPlan *plan, const char *override, bool *passed, RgDiags *diags);
/* Whether the budget holds with `pool_more` micro-USD an hour more for the pool, `more` for all. */
bool rg_plan_affords(const RgPlan *plan, const char *pool, int64_t pool_more, int64_t more);
/* What the state remembers of a node that is an entry of the fitted document; a new reference. */
json_t *rg_plan_pin(const json_t *node);
/* What a pool costs at the least and at the most of its nodes, made from nothing. */
typedef struct {
	const char *pool; /* borrowed; NULL: of several */
	RgPlanSum least, most;
	const char *unpriced_type; /* borrowed: the pool's type, if its price is unknown */
	bool unpriced_spot;	   /* the price of spot */
} RgPlanRange;
/* Of all RgPlanRange of `pools`, or of the one of that name. */
RgPlanRange rg_plan_range_sum(const GArray *pools, const char *pool);
/* Compares their maximum with the limits (RgPlanLimit*), as if it were planned: Ray's autoscaler
 * may grow an elastic pool to it at any time without asking. */
bool rg_plan_check_range(
	const GArray *pools, const GPtrArray *limits, const char *place, RgDiags *diags);
RgPlanLimit *rg_plan_limit_new(const RgPlanLimit *like); /* a copy; `pool` is copied too */
/* "hour", "day" or "month". */
const char *rg_plan_limit_period(const RgPlanLimit *limit);
void rg_plan_limit_free(gpointer limit);

/* Saved form; deterministic. `rg_plan_from_json` checks form and limits (plan.bad-file). */
json_t *rg_plan_to_json(const RgPlan *plan);
RgPlan *rg_plan_from_json(const json_t *document, RgDiags *diags);
/* plan.stale | plan.wrong-state if the lineage or any row of the cluster has changed since;
 * `recorded` and `lineage` are the state's current ones. */
bool rg_plan_check_fresh(
	const RgPlan *plan, const char *lineage, const RgResourceSet *recorded, RgDiags *diags);

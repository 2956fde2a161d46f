/* The order of the arrows; read this folder first.
 *
 *  cluster.yaml --spec--> cluster --fit--> fitted --boot,lower--> desired --+
 *  clouds --resolve--> facts --------^                                    diff --> plan --> apply
 *  clouds --refresh--> observed ------------------------------------------>^         |
 *  state  --load-----> recorded, pins, journal rows ----------------------+       render
 *
 * An embedding program does what cmd/raygpu does: opens a session, takes the cluster's lock
 * (state/store.h), rg_pipeline_load, rg_pipeline_plan, rg_pipeline_run.
 * tests/unit/test_pipeline_run.c is one. plan and drift never write anything: they get a reading
 * store and a reading transport. */
#pragma once
#include "apply/apply.h"
#include "diff/diff.h"
#include "plan/plan.h"
#include "refresh/refresh.h"
#include "specs/specs.h"
#include "state/store.h"

/* What one command works with; opened by cmd/, borrowed here. */
typedef struct {
	RgProviderHost *providers;
	RgHttpOptions http; /* of the provider's transport */
	RgStore *store;
	const char *state_path;
	/* a revision whose project file admits endpoints and profiles; NULL: that of the spec */
	const char *trusted_ref;
	const char *allow_endpoints, *allow_profiles; /* by the environment; NULL: none */
	RgDiffOptions diff;
	bool reoptimize;      /* pinned instance types don't hold */
	const char *override; /* why the budget may be exceeded; NULL: it may not */
	bool skip_preflight;  /* the cloud is not asked beforehand whether a plan can be created */
	unsigned settle_ms;   /* how long a refresh may wait for young things to show */
	/* called before each stage that talks to a cloud, and while it reads; may be NULL; any
	 * thread
	 */
	void (*progress)(void *data, const char *stage, const char *what, size_t n, bool done);
	void *progress_data;
} RgSession;

/* All products of one pass over the arrows, up to the plan. */
typedef struct {
	RgCluster *cluster; /* NULL when working from the state alone */
	RgProject *project; /* NULL: none */
	RgProvenance *provenance;
	struct RgTables *tables; /* tables.h; they borrow the project */
	RgSnapshot *snapshot;
	RgProvider *provider;
	struct RgAsking *asking; /* account.c */
	char *account;		 /* of the credentials; NULL: unknown (yet) */
	json_t *place; /* why the cluster is where it is (place.h); NULL: the spec leaves no choice
			*/
	json_t *pins;  /* what the fit keeps (rg_pass_pins) */
	json_t *facts, *fitted;
	json_t *fit;	    /* of the workloads; NULL without any */
	RgRefresh *reading; /* under way; NULL: not begun, or over */
	RgResourceSet *desired, *observed;
	GPtrArray *strangers; /* RgResource*: they carry the cluster's name, another state made them
			       */
	RgDiff *diff;
	RgPlan *plan;
} RgPass;
void rg_pass_free(RgPass *pass);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgPass, rg_pass_free)

/* A pass begins: the spec, at the git revision `ref` when it is not NULL, and its project file. */
RgPass *rg_pipeline_load(const char *spec_path, const char *ref, RgDiags *diags);
/* spec -> plan, of a pass that was loaded. false when no plan could be made; a plan with `errored`
 * when it must not be applied. With session->diff.destroy only the spec's name, provider and region
 * are used. */
bool rg_pipeline_plan(RgSession *session, RgPass *pass, RgDiags *diags);
/* The same from the state alone (destroy and drift without a spec): what is recorded is what is
 * desired, or nothing when session->diff.destroy. */
RgPass *rg_pipeline_plan_recorded(RgSession *session, const char *cluster, RgDiags *diags);
/* Only what is recorded of the cluster and what the cloud reports of it: nothing is desired, so
 * there is no diff and no plan. */
RgPass *rg_pipeline_observe(RgSession *session, const char *cluster, RgDiags *diags);
/* Only what is recorded of the cluster, and its provider opened: nothing is read yet. */
RgPass *rg_pipeline_open_recorded(RgSession *session, const char *cluster, RgDiags *diags);
/* For the apply of a saved plan: state, transport and module, nothing else. NULL when the plan is
 * stale or of another state. */
RgPass *rg_pipeline_open_saved(RgSession *session, const RgPlan *plan, RgDiags *diags);
/* What became of a plan that was carried out. */
typedef struct {
	char *id; /* in `raygpu log`; NULL: it could not begin, and nothing was changed */
	const char *outcome; /* "done", "partial", "failed", "interrupted" */
	RgApplyResult result;
	json_t *changes;  /* of rg_store_run_changes */
	RgSnapshot *left; /* the state, when the next apply has to finish something; else NULL */
} RgRun;
void rg_run_clear(RgRun *run);
/* Carries out pass->plan (the cluster's lock is held, the store and the transport are open for
 * writing). Of `options`, the run, lineage, commit and labels are filled in. `who`: {"command",
 * "user", "host"} for the log; may be NULL. Fills `run`; true when all of it was done. */
bool rg_pipeline_run(RgSession *session, const RgPass *pass, const RgApplyOptions *options,
	const json_t *who, RgRun *run, RgDiags *diags);

/* Whether the spec's workloads fit (src/fit/workloads.h), and in "cost" what the cluster costs at
 * the least and at the most nodes of its pools, held against the budgets: by the catalog alone, as
 * if nothing ran yet, no network, no state. A new reference (schemas/fit.schema.json), "workloads"
 * is null for a spec without; NULL with diagnostics. */
json_t *rg_pipeline_fit(
	RgProviderHost *providers, const char *spec_path, const char *ref, RgDiags *diags);
/* Only validation: spec, catalog, shapes. No network, no module, and no git without `ref`. */
RgCluster *rg_pipeline_validate(
	RgProviderHost *providers, const char *spec_path, const char *ref, RgDiags *diags);

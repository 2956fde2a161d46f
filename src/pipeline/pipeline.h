/* The order of the steps; read this folder first.
 *
 *  cluster.yaml --spec--> cluster --fit--> fitted --boot,lower--> desired --+
 *  clouds --resolve--> facts --------^                                    diff --> plan --> apply
 *  clouds --refresh--> observed ------------------------------------------>^         |
 *  state  --load-----> recorded, pins, journal rows ----------------------+       render
 *
 * An embedding program does the same as cmd/raygpu: it opens a session, takes the cluster's lock
 * (state/store.h), then calls rg_pipeline_load, rg_pipeline_plan, rg_pipeline_run.
 * tests/unit/test_pipeline_run.c is an example. plan and drift never write anything: they get a
 * reading store and a reading transport. */
#pragma once
#include "apply/apply.h"
#include "diff/diff.h"
#include "diff/drift.h"
#include "fit/emit.h"
#include "plan/plan.h"
#include "ready/ready.h"
#include "refresh/refresh.h"
#include "specs/specs.h"
#include "state/store.h"

struct RgPass;

/* What one command works with; opened by cmd/, borrowed here. */
typedef struct RgSession {
	RgProviderHost *providers;
	RgHttpOptions http; /* of the provider's transport */
	RgStore *store;
	const char *state_path;
	/* the revision whose project file allows endpoints and profiles; NULL: that of the spec */
	const char *trusted_ref;
	const char *allow_endpoints, *allow_profiles; /* allowed by the environment; NULL: none */
	RgDiffOptions diff;
	const json_t
		*avoid;	 /* places (rg_place_text) that a new cluster is not put in; may be NULL */
	bool reoptimize; /* pinned instance types are ignored */
	bool renew_images;    /* images are resolved again, not the pinned ones used */
	const char *override; /* why the budget may be exceeded; NULL: it may not */
	bool skip_preflight; /* do not ask the cloud in advance whether a plan can be carried out */
	bool waits_for_capacity; /* apply repeats what the cloud has no quota or capacity for */
	unsigned settle_ms;	 /* how long a refresh may wait for recent changes to show */
	/* called before each stage that uses a cloud, and while it reads; may be NULL; any
	 * thread */
	void (*progress)(void *data, const char *stage, const char *what, size_t n, bool done);
	void *progress_data;
	/* how a run waits until new nodes have joined Ray; the plan's timeouts are filled in. NULL:
	 * it does not wait */
	const RgReadyOptions *ready;
	/* cluster -> desired for a spec with `imports` that are not recorded yet: reads them and
	 * adds their records to the snapshot (rg_adopt_imports). NULL: such a spec is refused */
	bool (*import)(struct RgSession *session, struct RgPass *pass, RgDiags *diags);
} RgSession;

/* All products of one pass through the pipeline, up to the plan. */
typedef struct RgPass {
	RgCluster *cluster; /* NULL if it uses only the state */
	RgProject *project; /* NULL: none */
	RgProvenance *provenance;
	struct RgTables *tables; /* tables.h; they borrow the project */
	RgSnapshot *snapshot;	 /* with the pools' new names, if `moves` */
	json_t *renames;	 /* [{"from", "to"}]: pools that the plan renames; NULL: none */
	GPtrArray *moves; /* RgMoves* (readdress.h): what that changes in records; NULL: nothing */
	GPtrArray *importing; /* const RgSpecImport*: not recorded yet; NULL: none */
	/* RgResource* of the snapshot that the run records before anything else; NULL: none */
	GPtrArray *imported;
	json_t *imports; /* the same for the plan (RgPlanInput) */
	RgProvider *provider;
	struct RgAsking *asking; /* account.c */
	char *account;		 /* of the credentials; NULL: unknown (yet) */
	char *acting;		 /* which credentials they are, in words; NULL: unknown (yet) */
	json_t *place;	/* why the cluster is where it is (place.h); NULL: the spec leaves no choice
			 */
	json_t *leases; /* lease.h; without a spec the recorded ones; NULL: none */
	json_t *pins;	/* what the fit keeps (rg_pass_pins) */
	struct RgShapes *shapes; /* of the fit; they borrow the cluster, the tables and the pins */
	json_t *facts, *fitted;
	json_t *fit;	    /* of the workloads; NULL without any */
	RgRefresh *reading; /* in progress; NULL: not started, or over */
	RgResourceSet *desired, *observed;
	GPtrArray *strangers; /* RgResource*: with the cluster's name, created by another state */
	RgDiff *diff;
	RgPlan *plan;
} RgPass;
void rg_pass_free(RgPass *pass);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgPass, rg_pass_free)

/* Starts a pass: the spec, at the git revision `ref` if it is not NULL, and its project file. */
RgPass *rg_pipeline_load(const char *spec_path, const char *ref, RgDiags *diags);
/* spec -> plan, for a pass that was loaded. false if no plan could be made; a plan with `errored`
 * if it must not be applied. With session->diff.destroy only the spec's name, provider and region
 * are used. */
bool rg_pipeline_plan(RgSession *session, RgPass *pass, RgDiags *diags);
/* The same from the state alone (destroy and drift without a spec): what is recorded is desired, or
 * nothing if session->diff.destroy. */
RgPass *rg_pipeline_plan_recorded(RgSession *session, const char *cluster, RgDiags *diags);
/* Only what is recorded of the cluster and what the cloud reports about it: nothing is desired, so
 * there is no diff and no plan. */
RgPass *rg_pipeline_observe(RgSession *session, const char *cluster, RgDiags *diags);
/* Only what is recorded of the cluster, and its provider opened: nothing is read yet. */
RgPass *rg_pipeline_open_recorded(RgSession *session, const char *cluster, RgDiags *diags);
/* For the apply of a saved plan: only state, transport and module. NULL if the plan is stale or of
 * another state. */
RgPass *rg_pipeline_open_saved(RgSession *session, const RgPlan *plan, RgDiags *diags);
/* For `export`: the cluster of a loaded pass as a file of that form (rg_schema_exports), as it
 * would be created now, or as its pins keep it; g_free. NULL with provider.no-export and others. A
 * provider without zones needs no network. */
char *rg_pipeline_export(RgSession *session, RgPass *pass, const char *form, RgDiags *diags);
/* For `drift`: adds the nodes that the cloud shows as recorded, but that do not work. Reading calls
 * only; what can't be asked is a note. */
void rg_pipeline_check_nodes(const RgPass *pass, RgDrift *drift, RgDiags *diags);
/* For `drift`: drops the nodes that are gone, off or do not work because their lease has ended. */
void rg_pipeline_leave_ended(const RgPass *pass, RgDrift *drift);
/* For `doctor`, after a plan: whether the credentials may create what is desired, as if nothing of
 * it existed. Only calls that change nothing. What is denied is a finding; false: it was not asked.
 */
bool rg_pipeline_try_creates(RgSession *session, const RgPass *pass, RgDiags *diags);
/* The result of carrying out a plan. */
typedef struct {
	char *id; /* in `raygpu log`; NULL: it could not start, and nothing was changed */
	const char *outcome; /* "done", "partial", "failed", "interrupted" */
	RgApplyResult result;
	RgReadyResult ready;
	json_t *changes;  /* of rg_store_run_changes */
	bool moves;	  /* this place has no capacity for it: rg_pipeline_give_back, then plan */
	RgSnapshot *left; /* the state, if the next apply must finish something; else NULL */
} RgRun;
/* Only the end of it, for a plan without changes: waits for the nodes that no run has seen join
 * yet. Fills run->ready. */
bool rg_pipeline_wait(RgSession *session, const RgPass *pass, RgRun *run, RgDiags *diags);
void rg_run_clear(RgRun *run);
/* Carries out pass->plan (the cluster's lock is held, the store and the transport are open for
 * writing). It fills in the run, lineage, commit and labels of `options`. `who`: {"command",
 * "user", "host"} for the log; may be NULL. Fills `run`; true if everything was done. */
bool rg_pipeline_run(RgSession *session, const RgPass *pass, const RgApplyOptions *options,
	const json_t *who, RgRun *run, RgDiags *diags);

/* Removes all that is recorded of a cluster that moves, in a run of its own. True when nothing is
 * left. */
bool rg_pipeline_give_back(RgSession *session, const char *cluster, const RgApplyOptions *options,
	const json_t *who, RgRun *run, RgDiags *diags);

/* Whether the spec's workloads fit (src/fit/workloads.h), and in "cost" what the cluster costs at
 * the minimum and maximum number of nodes of its pools, compared with the budgets: from the catalog
 * alone, as if nothing ran yet, no network, no state. A new reference (schemas/fit.schema.json),
 * "workloads" is null for a spec without; NULL with diagnostics. With `form`, "emitted" is what
 * rg_fit_emit makes of it; with `explain`, "explained" is what each pool lacks for the workload of
 * that name. */
json_t *rg_pipeline_fit(RgProviderHost *providers, const char *spec_path, const char *ref,
	const RgEmit *form, const char *explain, RgDiags *diags);
/* Whether the spec has lines that act once: `renamed_from`, `imports`, `removed`. */
bool rg_cluster_acts_once(const RgCluster *cluster);
/* A note for each of them that has done its work in the cluster as recorded. Pure. */
void rg_pipeline_tell_spent(const RgCluster *cluster, const RgSnapshot *snapshot, RgDiags *diags);
/* Only validation: spec, catalog, shapes. No network, no module, and no git without `ref`. */
RgCluster *rg_pipeline_validate(
	RgProviderHost *providers, const char *spec_path, const char *ref, RgDiags *diags);
/* The same for a text that is to become the file `path`. */
RgCluster *rg_pipeline_validate_text(
	RgProviderHost *providers, const char *path, const char *text, RgDiags *diags);

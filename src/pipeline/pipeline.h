/* The order of the steps; read this folder first.
 *
 *  cluster.yaml --spec--> cluster --fit--> fitted --boot,lower--> desired --+
 *  clouds --resolve--> facts --------^                                    diff --> plan --> apply
 *  clouds --refresh--> observed ------------------------------------------>^         |
 *  state  --load-----> recorded, pins, journal rows ----------------------+       render
 *
 * An embedding program does the same as cmd/raygpu: it opens a session, takes the cluster's lock
 * (state/read.h), then calls rg_pipeline_load, rg_pipeline_plan, rg_pipeline_run_anywhere.
 * tests/unit/test_pipeline_run.c is an example. plan and drift never write anything: they get a
 * reading store and a reading transport. */
#pragma once
#include "apply/apply.h"
#include "diff/diff.h"
#include "diff/drift.h"
#include "workloads/emit.h"
#include "intent/found.h"
#include "plan/plan.h"
#include "ready/ready.h"
#include "refresh/refresh.h"
#include "specs/specs.h"
#include "state/read.h"

/* What one command works with; opened by cmd/, borrowed here. */
typedef struct RgSession {
	RgProviderHost *providers;
	RgHttpOptions http; /* of the provider's transport */
	RgStore *store;
	const char *state_path;
	/* what the state records was allowed by those who named the state */
	bool state_admits;
	const char *allow_endpoints, *allow_profiles; /* allowed by the environment; NULL: none */
	RgDiffOptions diff;
	const json_t
		*avoid;	 /* {place (rg_place_text): why a new cluster is not put there}; may be NULL
			  */
	bool reoptimize; /* pinned instance types are ignored */
	bool renew_images;    /* images are resolved again, not the pinned ones used */
	const char *override; /* why the budget may be exceeded; NULL: it may not */
	bool skip_preflight; /* do not ask the cloud in advance whether a plan can be carried out */
	bool waits_for_capacity; /* apply repeats what the cloud has no quota or capacity for */
	unsigned settle_ms;	 /* how long a refresh may wait for recent changes to show */
	/* called before each stage that uses a cloud, and while it reads; may be NULL; any
	 * thread */
	void (*progress)(void *data, const char *stage, const char *what, size_t n, bool done);
	/* a line about a long wait, which a log needs too; may be NULL */
	void (*waiting)(void *data, const char *line);
	void *progress_data; /* of both */
	/* how a run waits until new nodes have joined Ray; the plan's timeouts are filled in. NULL:
	 * it does not wait */
	const RgReadyOptions *ready;
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
	int64_t looked_ms;  /* when the first reading began, after the snapshot; 0: not yet */
	GHashTable *quiet;  /* RgRefreshInput.quiet; NULL: not asked */
	RgRefresh *reading; /* in progress; NULL: not started, or over */
	RgResourceSet *desired, *observed;
	GPtrArray *strangers; /* RgResource*: with the cluster's name, created by another state */
	RgDiff *diff;
	RgPlan *plan;
} RgPass;
void rg_pass_free(RgPass *pass);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgPass, rg_pass_free)

/* Starts a pass: the spec, at the git revision `ref` if it is not NULL, and its project file, with
 * what `trusted` says about both (NULL: nothing is compared). */
RgPass *rg_pipeline_load(
	const char *spec_path, const char *ref, const RgTrusted *trusted, RgDiags *diags);
/* spec -> plan, for a pass that was loaded. false if no plan could be made; a plan with `errored`
 * if it must not be applied. A new cluster with provider.any_of is planned at the best place that
 * its cloud admits; each one that it does not admit is a warning, and an error if there is none.
 * With session->diff.destroy only the spec's name, provider and region are used. */
bool rg_pipeline_plan(RgSession *session, RgPass *pass, RgDiags *diags);
/* The same from the state alone (destroy and drift without a spec): what is recorded is desired, or
 * nothing if session->diff.destroy. */
RgPass *rg_pipeline_plan_recorded(RgSession *session, const char *cluster, RgDiags *diags);
/* The same for a pass that was loaded, with session->diff.refresh_only: its spec only names the
 * cluster, and must be allowed to use what is recorded of it. */
bool rg_pipeline_plan_refresh(RgSession *session, RgPass *pass, RgDiags *diags);
/* Only what is recorded of the cluster and what the cloud reports about it: nothing is desired, so
 * there is no diff and no plan. */
RgPass *rg_pipeline_observe(RgSession *session, const char *cluster, RgDiags *diags);
/* Only what is recorded of the cluster, and its provider opened: nothing is read yet. */
RgPass *rg_pipeline_open_recorded(RgSession *session, const char *cluster, RgDiags *diags);
/* For `import`, with a pass that was loaded: the plan as it would be with records of these
 * resources, which are returned (RgResource*, borrowed from the pass's snapshot; the caller frees
 * the array; NULL: an error). Writes nothing. */
GPtrArray *rg_pipeline_import(
	RgSession *session, RgPass *pass, const RgImport *imports, size_t n, RgDiags *diags);
/* For the apply of a saved plan: only state, transport and module. NULL if the plan is stale or of
 * another state. */
RgPass *rg_pipeline_open_saved(RgSession *session, const RgPlan *plan, RgDiags *diags);
/* For `export`: the cluster of a loaded pass as a file of that form (rg_schema_exports), as it
 * would be created now, or as its pins keep it; g_free. NULL with provider.no-export and others. A
 * provider without zones needs no network. */
char *rg_pipeline_export(RgSession *session, RgPass *pass, const char *form, RgDiags *diags);
/* For `drift`: adds the nodes that the cloud shows as recorded, but that do not work. Reading calls
 * only; what can't be asked is a note. */
void rg_pipeline_check_nodes(RgStore *store, const RgPass *pass, RgDrift *drift, RgDiags *diags);
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
	bool moves;	  /* this place has no capacity for it, and the cluster may go elsewhere */
	bool unplaced;	  /* rg_pipeline_run_anywhere: it left such a place, and no other has it */
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

/* What is reported and asked when a run goes on in another place; each may be NULL. */
typedef struct {
	/* This place (rg_place_text) has no capacity; what was created there is removed now. */
	void (*leaves)(void *data, const char *place);
	/* The plan for the next place, which has errors if it is not carried out in any case;
	 * nothing of the cluster exists. false: it is not carried out. NULL: each one is. */
	bool (*approve)(void *data, const RgPass *pass);
	/* No place has capacity: all are tried again after that time. */
	void (*waits)(void *data, int64_t seconds);
	void *data;
} RgAnywhere;
/* rg_pipeline_run, and if the place has no capacity for a new cluster whose spec names others
 * (provider.any_of), nothing of it stays there, and it is planned and run in the next one; after
 * the last one again in all, until options->capacity_ms are over. `pass` is then that of the last
 * place, without a plan if there is none for it, and `run` too, with what was refused in all. */
bool rg_pipeline_run_anywhere(RgSession *session, RgPass *pass, const RgAnywhere *anywhere,
	const RgApplyOptions *options, const json_t *who, RgRun *run, RgDiags *diags);

/* Whether the spec's workloads fit (src/workloads/workloads.h), and in "cost" what the cluster
 * costs at the minimum and maximum number of nodes of its pools, compared with the budgets: from
 * the catalog alone, as if nothing ran yet, no network, no state. A new reference
 * (schemas/fit.schema.json), "workloads" is null for a spec without; NULL with diagnostics. With
 * `form`, "emitted" is what rg_fit_emit makes of it; with `explain`, "explained" is what each pool
 * lacks for the workload of that name. */
json_t *rg_pipeline_fit(RgProviderHost *providers, const char *spec_path, const char *ref,
	const RgTrusted *trusted, const RgEmit *form, const char *explain, RgDiags *diags);
/* Only validation: spec, catalog, shapes. No network, no module, and no git without `ref`. */
RgCluster *rg_pipeline_validate(RgProviderHost *providers, const char *spec_path, const char *ref,
	const RgTrusted *trusted, RgDiags *diags);
/* The same for a text that is to become the file `path`. */
RgCluster *rg_pipeline_validate_text(
	RgProviderHost *providers, const char *path, const char *text, RgDiags *diags);

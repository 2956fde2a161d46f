/* The order of the arrows; read this folder first.
 *
 *  cluster.yaml --spec--> cluster --fit--> fitted --boot,lower--> desired --+
 *  clouds --resolve--> facts --------^                                    diff --> plan --> apply
 *  clouds --refresh--> observed ------------------------------------------>^         |
 *  state  --load-----> recorded, pins, journal rows ----------------------+       render
 *
 * plan and drift never write anything: they get a reading store and a reading transport. */
#pragma once
#include "apply/apply.h"
#include "git/git.h"
#include "refresh/refresh.h"
#include "spec/spec.h"

/* What one command works with; opened by cmd/, borrowed here. */
typedef struct {
	RgProviderHost *providers;
	RgHttp *http;
	RgStore *store;
	const char *state_path;
	RgDiffOptions diff;
	bool no_refresh_settle;
	unsigned settle_ms;
	void (*progress)(void *data, const char *stage, const char *text, size_t n, bool done);
	void *progress_data;
} RgSession;

/* All products of one pass over the arrows up to the plan. */
typedef struct {
	RgCluster *cluster; /* NULL for a destroy from the state alone */
	RgProvenance *provenance;
	RgSnapshot *snapshot;
	RgProvider *provider;
	json_t *facts, *fitted;
	RgResourceSet *desired, *observed;
	RgDiff *diff;
	RgPlan *plan;
} RgPass;
void rg_pass_free(RgPass *pass);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgPass, rg_pass_free)

/* spec -> plan. NULL when no plan could be made; a plan with `errored` when it must not be
 * applied. */
RgPass *rg_pipeline_plan(RgSession *session, const char *spec_path, RgDiags *diags);
/* Same, from the state alone, for `destroy --cluster NAME` and drift without a spec. */
RgPass *rg_pipeline_plan_state(RgSession *session, const char *cluster, RgDiags *diags);
/* Only validation: spec, catalog, shapes. No network, no module. */
RgCluster *rg_pipeline_validate(RgProviderHost *providers, const char *spec_path, RgDiags *diags);

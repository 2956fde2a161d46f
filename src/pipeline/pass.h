/* The arrows one by one, for the passes of this folder and those of adopt; in this order. */
#pragma once
#include "pipeline/pipeline.h"

/* settle.c. Places a cluster whose spec leaves a choice: where it is recorded, else at the best
 * candidate; false with fit.no-place, plan.would-move or plan.wrong-state. Needs cluster, project
 * and snapshot. */
bool rg_pass_settle(RgSession *session, RgPass *pass, RgDiags *diags);
/* The provider is there, and takes the spec's settings and zones; else diagnostics under its lines.
 * Loads no module. */
bool rg_pass_check_settings(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* What is recorded is where the spec says, or plan.wrong-state. */
bool rg_pass_same_place(RgProviderHost *providers, const RgCluster *cluster,
	const RgSnapshot *snapshot, RgDiags *diags);
/* Opens transport and module into the pass; what a spec (pass->cluster) sets has to be trusted. */
bool rg_pass_open_provider(RgSession *session, RgPass *pass, const char *name, const char *region,
	const json_t *config, RgDiags *diags);
/* cluster -> desired, with the snapshot's pins: needs cluster, provider and snapshot. */
bool rg_pass_fit(RgSession *session, RgPass *pass, RgDiags *diags);
/* account.c. Asks whose account the credentials are of, beside what follows: needs provider. */
void rg_pass_ask_account(RgPass *pass);
/* The answer into pass->account: false and plan.wrong-account when the cluster is in another; a
 * warning, when `warn`, that it could not be told. */
bool rg_pass_check_account(RgPass *pass, bool warn, RgDiags *diags);
/* refresh, diff, plan: needs provider, snapshot and desired. */
bool rg_pass_make_plan(RgSession *session, RgPass *pass, RgDiags *diags);

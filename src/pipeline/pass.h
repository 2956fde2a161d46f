/* The arrows one by one, in their order, for passes that are made elsewhere (adopt). Each fills
 * members of the pass that rg_pipeline_load began; false with diagnostics. */
#pragma once
#include "pipeline/pipeline.h"

/* The state, and where the cluster is: recorded, else the best candidate of a spec that leaves a
 * choice; its provider is there and takes the spec's settings. */
bool rg_pass_settle(RgSession *session, RgPass *pass, RgDiags *diags);
/* Of that only the check of the settings, under the lines of the spec. Loads no module. */
bool rg_pass_check_settings(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* Transport and module; what the spec sets has to be trusted. */
bool rg_pass_open(RgSession *session, RgPass *pass, RgDiags *diags);
/* Asks whose account the credentials are of, beside what follows. */
void rg_pass_ask_account(RgPass *pass);
/* The answer into pass->account: false and plan.wrong-account when the cluster is in another; a
 * warning, when `warn`, that it could not be checked. */
bool rg_pass_check_account(RgPass *pass, bool warn, RgDiags *diags);
/* What the fit keeps (fit.h): of the snapshot, as far as it holds where the cluster is; the pass's,
 * and may be added to before rg_pass_fit. */
json_t *rg_pass_pins(RgPass *pass);
/* cluster -> desired */
bool rg_pass_fit(RgSession *session, RgPass *pass, RgDiags *diags);
/* refresh, diff, plan */
bool rg_pass_make_plan(RgSession *session, RgPass *pass, RgDiags *diags);

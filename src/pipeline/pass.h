/* The steps one by one, in their order, for passes that are built elsewhere. Each fills
 * members of the pass that rg_pipeline_load started; false with diagnostics. */
#pragma once
#include "intent/found.h"
#include "pipeline/pipeline.h"

/* The state, and where the cluster is: recorded, else the best candidate of a spec that leaves a
 * choice; its provider exists and accepts the spec's settings. */
bool rg_pass_settle(RgSession *session, RgPass *pass, RgDiags *diags);
/* Only the check of the settings, at the lines of the spec. Loads no module. */
bool rg_pass_check_settings(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* Transport and module; what the spec sets must be trusted. */
bool rg_pass_open(RgSession *session, RgPass *pass, RgDiags *diags);
/* Requests the account of the credentials, concurrently with what follows. */
void rg_pass_ask_account(RgPass *pass);
/* Stores the answer in pass->account: false and plan.wrong-account if the cluster is in another; if
 * `warn`, a warning if it could not be checked. */
bool rg_pass_check_account(RgPass *pass, bool warn, RgDiags *diags);
/* What the fit keeps (fit.h): from the snapshot, as far as it applies to the cluster's place; owned
 * by the pass, and may be extended before rg_pass_fit. */
json_t *rg_pass_pins(RgPass *pass);
/* cluster -> desired */
bool rg_pass_fit(RgSession *session, RgPass *pass, RgDiags *diags);
/* The same for what was found (found.h), with it as pins: fits twice. */
bool rg_pass_fit_found(RgSession *session, RgPass *pass, RgFound *found, RgDiags *diags);
/* refresh, diff, plan */
bool rg_pass_make_plan(RgSession *session, RgPass *pass, RgDiags *diags);

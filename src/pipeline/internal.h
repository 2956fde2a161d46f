/* Private to src/pipeline: the arrows that both kinds of pass share. */
#pragma once
#include "fit/fit.h"
#include "pipeline/pipeline.h"

/* project.c. The project file that holds for a spec; *project NULL: there is none. false: it has
 * errors. */
bool pass_load_project(const char *spec_path, RgProject **project, RgDiags *diags);
/* The same of a spec that was read at the commit `ref`, where `spec` says; NULL: the work tree's.
 */
bool pass_load_project_at(const char *spec_path, const char *ref, const RgProvenance *spec,
	RgProject **project, RgDiags *diags);
/* policy.* of the spec and the project file; false when anything is not admitted. */
bool pass_check_policy(
	const RgCluster *cluster, const RgShapes *shapes, const RgProject *project, RgDiags *diags);
/* RgPlanLimit*: the budgets of both. */
GPtrArray *pass_limits(const RgPass *pass);
/* RgPlanInput.carbon for all types of the pass; NULL with errors. */
json_t *pass_carbon(RgSession *session, const RgPass *pass, RgDiags *diags);
/* catalogs.c: the tables of a provider by name, of one region or (NULL) of all, with the rows of
 * the project file (NULL: none); NULL without a diagnostic when there is no such provider. */
RgCatalog *pass_open_catalog(RgProviderHost *providers, const RgProject *project,
	const char *provider, const char *region, RgDiags *diags);
/* range.c. What the cluster costs at the least and at the most nodes of its pools, told as findings
 * where a budget doesn't hold it; a new reference, NULL: the data are broken. */
json_t *pass_range(
	const RgCluster *cluster, const RgProject *project, const RgShapes *shapes, RgDiags *diags);
/* settle.c. Places a cluster whose spec leaves a choice: where it is recorded, else at the best
 * candidate; false with fit.no-place, plan.would-move or plan.wrong-state. Needs cluster, project
 * and snapshot. */
bool pass_settle(RgSession *session, RgPass *pass, RgDiags *diags);
/* The same without a state; a note tells the choice. `project` may be NULL. */
bool pass_settle_offline(
	RgProviderHost *providers, RgCluster *cluster, const RgProject *project, RgDiags *diags);
/* What the snapshot pins, as far as it holds where the cluster is; a new reference. */
json_t *pass_pins(const RgPass *pass);
/* The facts of the fitted document with the choice of the place; a new reference or NULL. */
json_t *pass_facts(const RgPass *pass, const json_t *fitted);
/* What is recorded is where the spec says, or plan.wrong-state. */
bool pass_same_place(const RgCluster *cluster, const RgSnapshot *snapshot, RgDiags *diags);
/* Opens transport and module into the pass. */
bool pass_open_provider(RgSession *session, RgPass *pass, const char *name, const char *region,
	const json_t *config, RgDiags *diags);
/* catalogs.c. spec -> shapes with the catalog of the spec's region alone, which is read in a
 * fraction of the time; only for a refusal, which names what other regions have, with all of it.
 * `catalog` is what the shapes borrow from, the caller's; NULL when there is no such provider. */
RgShapes *pass_fit_shapes(RgProviderHost *providers, const RgProject *project,
	const RgCluster *cluster, const json_t *pins, RgCatalog **catalog, RgDiags *diags);
/* cluster -> desired, with the snapshot's pins: needs cluster, provider and snapshot. */
bool pass_fit(RgSession *session, RgPass *pass, RgDiags *diags);
/* clouds -> observed: needs provider and snapshot. */
void pass_refresh(RgSession *session, RgPass *pass, RgDiags *diags);
/* plan.protected for each pool that the diff would take nodes from, against its protection. */
void pass_check_protection(const RgSession *session, const RgPass *pass, RgDiags *diags);
/* The pools that the spec protects, for the state; NULL when none is or was. */
json_t *pass_protected_pools(const RgSession *session, const RgPass *pass);
/* refresh, diff, plan: needs provider, snapshot and desired. */
bool pass_make_plan(RgSession *session, RgPass *pass, RgDiags *diags);
/* The provider is there, and takes the spec's settings and zones; else diagnostics under its lines.
 * Loads no module. */
bool pass_check_settings(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* Of these only the provider's own settings; the provider is there. */
bool pass_check_config(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* Of these only what concerns the head and the pools; the provider is there. */
bool pass_check_place(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* Gives findings with a pointer into the spec their lines. */
void pass_locate(const RgCluster *cluster, RgDiags *diags);

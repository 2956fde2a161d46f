/* Private to src/pipeline: what the arrows of pass.h are made of. */
#pragma once
#include "fit/fit.h"
#include "pipeline/pass.h"
#include "pipeline/tables.h"

/* policy.* of the spec and the project file (NULL: none); false when anything is not admitted. */
bool pass_check_policy(
	const RgCluster *cluster, const RgShapes *shapes, const RgProject *project, RgDiags *diags);
/* RgPlanLimit*: the budgets of both; each may be NULL. */
GPtrArray *pass_limits(const RgCluster *cluster, const RgProject *project);
/* labels.c. `ignore_tags` of both, an array; NULL: none. */
json_t *pass_ignored_tags(const RgCluster *cluster, const RgProject *project);
/* RgPlanInput.carbon for all types of the pass; NULL with errors. */
json_t *pass_carbon(RgSession *session, RgPass *pass, RgDiags *diags);
/* The pass's own, opened when first asked for. */
RgTables *pass_tables(RgSession *session, RgPass *pass);
/* tables.c. spec -> shapes with the catalog of the spec's region alone; only for a refusal, which
 * names what other regions have, with all of it. They borrow from the tables and the cluster. NULL,
 * without a diagnostic when there is no such provider: rg_pass_check_settings says it. */
RgShapes *pass_fit_shapes(
	RgTables *tables, const RgCluster *cluster, const json_t *pins, RgDiags *diags);
/* range.c. What the cluster costs at the least and at the most nodes of its pools, reported as
 * findings where a budget doesn't hold it; a new reference, NULL: the data are broken. */
json_t *pass_range(
	const RgCluster *cluster, RgTables *tables, const RgShapes *shapes, RgDiags *diags);
/* settle.c. Places a cluster whose spec leaves a choice: where it is recorded, else at the best
 * candidate; false with fit.no-place, plan.would-move or plan.wrong-state. Needs cluster, project
 * and snapshot. */
bool pass_settle(RgSession *session, RgPass *pass, RgDiags *diags);
/* The same without a state; a note names the choice. */
bool pass_settle_offline(RgTables *tables, RgCluster *cluster, RgDiags *diags);
/* The facts of the fitted document with the choice of the place; a new reference or NULL. */
json_t *pass_facts(const RgPass *pass, const json_t *fitted);
/* trust.c. Settings that decide about credentials are the cloud's own, recorded, or admitted; else
 * provider.not-admitted. */
bool pass_check_trust(const RgSession *session, const RgPass *pass, const char *provider,
	const json_t *config, RgDiags *diags);
/* Opens transport and module into the pass; what a spec (pass->cluster) sets has to be trusted. */
bool pass_open_provider(RgSession *session, RgPass *pass, const char *name, const char *region,
	const json_t *config, RgDiags *diags);
/* labels.c. Under the lines of the spec: what the provider's cloud can't carry. */
bool pass_check_labels(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags);
bool pass_check_marks(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags);
/* disk.c. Types of root disks that the cloud has; and its default for nodes that name none. */
bool pass_check_disks(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags);
void pass_choose_disks(const RgSchema *schema, json_t *fitted);
/* boot.c. What the fitted nodes boot from; false with boot.* or provider.refused. */
bool pass_boot(RgSession *session, RgPass *pass, RgDiags *diags);
/* settings.c. {"settings", "zone_maps"} of the pins (fit.h), as the module's schema marks them; a
 * new reference. */
json_t *pass_resolve_settings(const RgCluster *cluster, const RgSchema *schema);
bool pass_is_elsewhere(
	const void *pass);		/* RgRefreshInput.in_vain: the answer is another account */
void pass_forget_account(RgPass *pass); /* before the provider is closed */
/* read.c. Begins to read clouds -> observed and strangers, beside what follows: needs provider and
 * snapshot, which stay as they are until pass_refresh. */
void pass_begin_refresh(RgSession *session, RgPass *pass);
/* clouds -> observed and strangers: needs provider and snapshot. pass->observed NULL: nothing could
 * be read. */
void pass_refresh(RgSession *session, RgPass *pass, RgDiags *diags);
GPtrArray *pass_strangers_new(void);
/* preflight.c. Asks the cloud what it says of what the plan creates, beside what follows; NULL: it
 * is not asked. */
typedef struct RgPreflight RgPreflight;
RgPreflight *pass_begin_preflight(RgSession *session, const RgPass *pass, const RgPlan *plan);
/* Its findings, under the lines of the spec: false when the plan could not be carried out. That it
 * could not be asked is a warning. NULL: true. */
bool pass_end_preflight(RgPreflight *preflight, const RgPass *pass, RgDiags *diags);
/* Both for the pass's own plan, which has errors when it could not be carried out. */
void pass_preflight(RgSession *session, RgPass *pass, RgDiags *diags);
void pass_preflight_free(RgPreflight *preflight);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgPreflight, pass_preflight_free)
/* taken.c. plan.name-taken when there are strangers: false where a cluster without a node would be
 * created beside them (without a diff: it would), else a warning. */
bool pass_has_nodes(const RgPass *pass); /* recorded ones: the cluster is this state's */
bool pass_check_name(const RgSession *session, const RgPass *pass, RgDiags *diags);
/* plan.protected for each pool that the diff would take nodes from, against its protection. */
void pass_check_protection(const RgSession *session, const RgPass *pass, RgDiags *diags);
/* The pools that the state is to protect; NULL when none is or was. *changes: what differs from the
 * state as it is (RgPlan.protection), or NULL. */
json_t *pass_protected_pools(const RgSession *session, const RgPass *pass, json_t **changes);
/* notices.c: plan.head-replaced and plan.renamed-pool, of a plan that is made. */
void pass_notice(const RgSession *session, const RgPass *pass, RgDiags *diags);
/* Of these only the provider's own settings; the provider is there. */
bool pass_check_config(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* Of these only what concerns the head and the pools; the provider is there. */
bool pass_check_place(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* False with spec.not-supported-yet where a pool has a range of nodes that the provider can't make.
 */
bool pass_check_elastic(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* Gives findings with a pointer into the spec their lines. */
void pass_locate(const RgCluster *cluster, RgDiags *diags);

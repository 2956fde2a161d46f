/* Private to src/pipeline: the parts of the steps in pass.h. */
#pragma once
#include "fit/fit.h"
#include "intent/intent.h"
#include "pipeline/pass.h"
#include "pipeline/tables.h"

/* pass.c. The pass's own, opened when first needed. */
RgTables *pass_tables(RgSession *session, RgPass *pass);
/* Back to what rg_pipeline_load made of the spec. */
void pass_begin_again(RgPass *pass);
/* "a, b, c"; g_free. */
char *pass_list(const json_t *texts);
/* Whether a text matches {"pattern"}, a rule of the module's schema; NULL: any does. */
bool pass_fits(const json_t *rule, const char *text);
/* The place of a pointer into the spec, a RgCluster*; NULL: there is none. */
RgSource pass_source(const void *cluster, const char *pointer);
/* Gives findings with a pointer into the spec their lines. */
void pass_locate(const RgCluster *cluster, RgDiags *diags);
/* Where the cluster is: as the spec says, else as recorded. Borrowed. */
RgProviderRef pass_place(const RgPass *pass);
/* What the verbs of its spec look at, and what they have returned. */
RgIntent pass_intent(const RgSession *session, const RgPass *pass);
/* Reports a stage (RgSession.progress). */
void pass_tell(RgSession *session, const char *stage, const char *what, size_t n, bool done);

/* fit.c. What in the catalog satisfies the spec, its policy and what is kept; NULL with
 * diagnostics. */
RgShapes *pass_make_shapes(RgSession *session, RgPass *pass, RgDiags *diags);
/* Into pass->fitted, with what the nodes boot from. `facts`: what rg_fit_request asked; NULL:
 * nothing. `lacking`: as in rg_fit. */
bool pass_fit_facts(RgSession *session, RgPass *pass, const RgShapes *shapes, const json_t *facts,
	json_t *lacking, RgDiags *diags);

/* cluster -> desired; `read`: while the cloud is read; the two are independent. */
bool pass_fit_read(RgSession *session, RgPass *pass, bool read, RgDiags *diags);

/* resolve.c. The provider's facts about what `request` asks (`what`: for the progress); a new
 * reference, NULL with diagnostics at the spec's lines. */
json_t *pass_resolve(
	RgSession *session, RgPass *pass, const json_t *request, const char *what, RgDiags *diags);
/* reservations.c. Adds to the pins the facts of the reservations that the spec names. */
bool pass_ask_reservations(RgSession *session, RgPass *pass, json_t *pins, RgDiags *diags);
/* types.c. Adds to the catalog and the pins what the cloud says of instance types that the spec or
 * its reservations name and no table has, and of the shapes and nodes of an inventory. */
bool pass_ask_types(RgSession *session, RgPass *pass, json_t *pins, RgDiags *diags);
/* Findings of fit/reservation.h for a finished plan; false: it cannot be carried out. */
bool pass_check_reservations(const RgSession *session, const RgPass *pass, RgDiags *diags);

/* policy.* of the spec and the project file (NULL: none); false if anything is not allowed. */
bool pass_check_policy(
	const RgCluster *cluster, const RgShapes *shapes, const RgProject *project, RgDiags *diags);
/* rg_fit_workloads within the policies of both. `only`: one workload's name; NULL: all. */
json_t *pass_fit_workloads(const RgCluster *cluster, const RgShapes *shapes,
	const RgProject *project, const char *only, RgDiags *diags);
/* RgPlanLimit*: the budgets of both; each may be NULL. */
GPtrArray *pass_limits(const RgCluster *cluster, const RgProject *project);
/* labels.c. `ignore_tags` of both, an array; NULL: none. */
json_t *pass_ignored_tags(const RgCluster *cluster, const RgProject *project);
/* RgPlanInput.carbon for all types of the pass; NULL with errors. */
json_t *pass_carbon(RgSession *session, RgPass *pass, RgDiags *diags);
/* settings.c. spec -> shapes with the catalog of the spec's region alone; only a refusal, which
 * lists what other regions have, reads all of it. They borrow from the tables and the cluster.
 * NULL, without a diagnostic if there is no such provider: rg_pass_check_settings reports that. */
RgShapes *pass_fit_shapes(
	RgTables *tables, const RgCluster *cluster, const json_t *pins, RgDiags *diags);
/* range.c. What the cluster costs at the minimum and maximum number of nodes of its pools, with a
 * finding if that exceeds a budget; a new reference, NULL: the data are broken. */
json_t *pass_range(
	const RgCluster *cluster, RgTables *tables, const RgShapes *shapes, RgDiags *diags);
/* Only the finding; false: there is one. */
bool pass_check_budget(const RgCluster *cluster, RgTables *tables, const RgShapes *shapes,
	const RgCarbon *carbon, RgDiags *diags);
/* settle.c. Places a cluster whose spec leaves a choice: where it is recorded, else at the best
 * candidate; false with fit.no-place, plan.would-move or plan.wrong-state. Needs cluster, project
 * and snapshot. */
bool pass_settle(RgSession *session, RgPass *pass, RgDiags *diags);
/* The same without a state; a note names the choice. */
bool pass_settle_offline(RgTables *tables, RgCluster *cluster, RgDiags *diags);
/* offline.c. Opens the module without a transport: only what it knows itself can be asked. */
bool pass_open_offline(RgProviderHost *providers, RgPass *pass, RgDiags *diags);
/* pipeline.c. rg_pipeline_plan where the cluster is settled. */
bool pass_plan_here(RgSession *session, RgPass *pass, RgDiags *diags);
/* The facts of the fitted document with the choice of the place; a new reference or NULL. */
json_t *pass_facts(const RgPass *pass, const json_t *fitted);
/* pool_rules.c. RgPlanRule of each pool of the spec; they borrow from the pass. */
GArray *pass_rules(const RgPass *pass, bool destroy);
/* RgPlanInput.files, a new reference. `spec_file`: the spec, as plans name it. */
json_t *pass_files(const RgCluster *cluster, const char *spec_file);
/* trust.c. Settings that affect credentials must be the cloud's own, recorded, or allowed; else
 * provider.not-admitted. */
bool pass_check_trust(const RgSession *session, const RgPass *pass, const char *provider,
	const json_t *config, RgDiags *diags);
/* Opens transport and module into the pass; what a spec (pass->cluster) sets must be trusted. */
bool pass_open_provider(RgSession *session, RgPass *pass, const char *name, const char *region,
	const json_t *config, RgDiags *diags);
/* labels.c. At the lines of the spec: what the provider's cloud cannot carry. */
bool pass_check_labels(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags);
bool pass_check_marks(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags);
/* disk.c. Types of root disks that the cloud has, and its default for nodes that name none. */
bool pass_check_disk(
	const RgCluster *cluster, const RgSchema *schema, const RgPool *pool, RgDiags *diags);
void pass_choose_disks(const RgSchema *schema, json_t *fitted);
/* registry.c. Registries that the nodes can log in to. */
bool pass_check_registry(const RgCluster *cluster, const RgSchema *schema, RgDiags *diags);
/* boot.c. What the nodes of a fitted document boot from; false with boot.* or provider.refused. */
bool pass_boot(RgSession *session, const RgPass *pass, json_t *fitted, RgDiags *diags);
/* candidates.c. What apply may ask for instead of the nodes that the diff creates (RgPlanInput); a
 * new reference, NULL: nothing. */
json_t *pass_candidates(RgSession *session, const RgPass *pass);
/* The command of the run that removes what a cluster leaves behind when it moves. */
#define PASS_MOVE "move"
/* move.c. Whether a node other than the head is recorded. */
bool pass_has_workers(const RgPass *pass);
/* Whether the cluster may leave its place when that has no capacity: the spec names others,
 * and it was never complete here. */
bool pass_may_move(const RgSession *session, const RgPass *pass, RgDiags *diags);
bool pass_is_elsewhere(
	const void *pass); /* RgRefreshInput.in_vain: the credentials belong to another account */
void pass_forget_account(RgPass *pass); /* before the provider is closed */
/* read.c. Starts to read clouds -> observed and strangers, concurrently with what follows: needs
 * provider and snapshot, which must not change until pass_refresh. */
void pass_begin_refresh(RgSession *session, RgPass *pass);
/* clouds -> observed and strangers: needs provider and snapshot. pass->observed NULL: nothing could
 * be read. */
void pass_refresh(RgSession *session, RgPass *pass, RgDiags *diags);
/* look.c. The names of its pools, the head first; borrowed from it, which may be NULL. */
GPtrArray *pass_pool_order(const RgCluster *cluster);
/* Reads and decides; discards what was read before. */
bool pass_look(RgSession *session, RgPass *pass, RgDiags *diags);
/* doubts.c. The same until no decision depends on an update whose end nobody saw. */
bool pass_look_until_sure(RgSession *session, RgPass *pass, RgDiags *diags);
/* gone.c. What the plan takes for gone still is, by a read of now; else plan.stale. */
bool pass_check_gone(const RgPass *pass, const RgPlan *plan, RgDiags *diags);
/* Of what is recorded; strangers go into the pass. */
RgRefreshInput pass_refresh_input(RgPass *pass);
/* The same without the strangers. */
RgRefreshInput pass_look_again(const RgPass *pass);
/* preflight.c. Asks the cloud about what the plan creates, concurrently with what follows; NULL: it
 * is not asked. */
typedef struct RgPreflight RgPreflight;
RgPreflight *pass_begin_preflight(RgSession *session, const RgPass *pass, const RgPlan *plan);
/* The same for everything desired, if nothing was ever created: before the cloud is completely
 * read. */
RgPreflight *pass_begin_first_preflight(RgSession *session, const RgPass *pass);
/* Its findings, at the lines of the spec: false if the plan could not be carried out. If the cloud
 * could not be asked, that is a warning. NULL: true. */
bool pass_end_preflight(RgPreflight *preflight, const RgPass *pass, RgDiags *diags);
/* Both for the pass's own plan, which has errors if it could not be carried out; `begun`, if it
 * is not NULL, is only ended. */
void pass_preflight(RgSession *session, RgPass *pass, RgPreflight *begun, RgDiags *diags);
void pass_preflight_free(RgPreflight *preflight);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgPreflight, pass_preflight_free)
/* rounds.c: the replaces of pools of which a few nodes are replaced at a time. Borrows
 * the plan; NULL: everything is done in one round. */
typedef struct Rounds Rounds;
Rounds *rounds_new(const RgPlan *plan);
void rounds_free(Rounds *rounds);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rounds, rounds_free)
/* Set of the addresses that are not part of the first round; borrowed. */
GHashTable *rounds_later(const Rounds *rounds);
/* {address: pool} of the n-th round after the first; borrowed, NULL: there is none. */
GHashTable *rounds_nth(const Rounds *rounds, guint n);
/* Set of the addresses of old nodes (rg_address_former) whose successors did not fail: they may go.
 * `failed`: {address: pool}. */
GHashTable *rounds_due(const Rounds *rounds, const RgSnapshot *now, GHashTable *failed,
	const RgReadyResult *ready);
/* Before that round, or after the last one: takes pools out of it and the later ones of which
 * `failed` has a node or one did not join. false: there are such, with one diagnostic for each. */
bool rounds_go_on(Rounds *rounds, guint from, const RgSnapshot *now, GHashTable *failed,
	const RgReadyResult *ready, RgDiags *diags);

/* notices.c: plan.head-replaced, plan.renamed-pool and plan.image-deprecated, for a finished plan.
 */
void pass_notice(const RgSession *session, const RgPass *pass, RgDiags *diags);
/* Of these, only the provider's own settings; the provider exists. */
bool pass_check_config(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* pool_settings.c. The module's settings in the head and the pools; false with
 * provider.bad-config. */
bool pass_check_pool_settings(RgProviderHost *providers, const RgCluster *cluster,
	const RgSchema *schema, RgDiags *diags);
/* {POOL: those of them that the module of the schema has}, of pools with any; a new reference. */
json_t *pass_pool_settings(const RgCluster *cluster, const RgSchema *schema);
/* {POOL: {SETTING: value}} of the settings that have the mark in the module's schema, as
 * "x-raygpu-labels": true; a new reference. */
json_t *pass_pool_marked(const RgCluster *cluster, const RgSchema *schema, const char *mark);
/* {POOL: {x-raygpu-cpus of a setting: its value}}, of pools with such settings; a new reference. */
json_t *pass_pool_cpus(const RgCluster *cluster, const RgSchema *schema);
/* Of these, only what concerns the head and the pools; the provider exists. */
bool pass_check_place(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* adopt.c. cluster -> desired for a spec with `imports` that are not recorded yet: reads them, and
 * adds their records to the snapshot and to pass->imported. */
bool pass_import(RgSession *session, RgPass *pass, RgDiags *diags);
/* The same for `imports`; the account is asked, the provider is open. RgResource*, borrowed from
 * the snapshot; NULL: an error. */
GPtrArray *pass_find_records(
	RgSession *session, RgPass *pass, const RgImport *imports, size_t n, RgDiags *diags);
/* False with spec.not-supported-yet if a pool has a range of nodes that the provider does not
 * support. */
bool pass_check_elastic(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* The same if the cluster has jobs that the provider cannot start. */
bool pass_check_jobs(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);

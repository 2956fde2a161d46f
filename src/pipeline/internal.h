/* Private to src/pipeline: the parts of the steps in pass.h. */
#pragma once
#include "fit/fit.h"
#include "pipeline/lease.h"
#include "pipeline/pass.h"
#include "pipeline/tables.h"

/* pass.c. The pass's own, opened when first needed. */
RgTables *pass_tables(RgSession *session, RgPass *pass);
/* "a, b, c"; g_free. */
char *pass_list(const json_t *texts);
/* Whether a text matches {"pattern"}, a rule of the module's schema; NULL: any does. */
bool pass_fits(const json_t *rule, const char *text);
/* The place of a pointer into the spec, a RgCluster*; NULL: there is none. */
RgSource pass_source(const void *cluster, const char *pointer);
/* Gives findings with a pointer into the spec their lines. */
void pass_locate(const RgCluster *cluster, RgDiags *diags);
/* The head or a worker pool of the spec; NULL: it has no such pool. */
const RgPool *pass_find_pool(const RgCluster *cluster, const char *name);
/* Where the cluster is: as the spec says, else as recorded. Borrowed. */
RgProviderRef pass_place(const RgPass *pass);
/* Reports a stage (RgSession.progress). */
void pass_tell(RgSession *session, const char *stage, const char *what, size_t n, bool done);

/* pipeline.c. What in the catalog satisfies the spec, its policy and what is kept; NULL with
 * diagnostics. */
RgShapes *pass_make_shapes(RgSession *session, RgPass *pass, RgDiags *diags);
/* Into pass->fitted, with what the nodes boot from. `facts`: what rg_fit_request asked; NULL:
 * nothing. */
bool pass_fit_facts(RgSession *session, RgPass *pass, const RgShapes *shapes, const json_t *facts,
	RgDiags *diags);

/* resolve.c. The provider's facts about what `request` asks (`what`: for the progress); a new
 * reference, NULL with diagnostics at the spec's lines. */
json_t *pass_resolve(
	RgSession *session, RgPass *pass, const json_t *request, const char *what, RgDiags *diags);
/* reservations.c. Adds to the pins the facts of the reservations that the spec names. */
bool pass_ask_reservations(RgSession *session, RgPass *pass, json_t *pins, RgDiags *diags);
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
/* A note after provider.denied that names the choice and the other candidates; none for a cluster
 * that exists. */
void pass_explain_place(const RgPass *pass, RgDiags *diags);
/* The facts of the fitted document with the choice of the place; a new reference or NULL. */
json_t *pass_facts(const RgPass *pass, const json_t *fitted);
/* pool_rules.c. RgPlanRule of each pool of the spec; they borrow from the pass. */
GArray *pass_rules(const RgPass *pass, bool destroy);
/* RgPlanInput.files, a new reference. `spec_file`: the spec, as plans name it. */
json_t *pass_files(const RgCluster *cluster, const char *spec_file);
/* kept.c. What the state keeps of pools that are or were disabled (fit.h); a new reference. */
json_t *pass_kept(const RgPass *pass);
/* What it must keep after the plan, from the pins; a new reference, NULL: nothing. */
json_t *pass_keep(const RgPass *pass);
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
/* limits.c. Both policies and budgets; `limits` has room for two. */
size_t pass_policies(const RgCluster *cluster, const RgProject *project, RgLimits *limits);
/* settings.c. {"settings", "zone_maps"} of the pins (fit.h), as marked in the module's schema; a
 * new reference. */
json_t *pass_resolve_settings(const RgCluster *cluster, const RgSchema *schema);
bool pass_is_elsewhere(
	const void *pass); /* RgRefreshInput.in_vain: the credentials belong to another account */
void pass_forget_account(RgPass *pass); /* before the provider is closed */
/* read.c. Starts to read clouds -> observed and strangers, concurrently with what follows: needs
 * provider and snapshot, which must not change until pass_refresh. */
void pass_begin_refresh(RgSession *session, RgPass *pass);
/* clouds -> observed and strangers: needs provider and snapshot. pass->observed NULL: nothing could
 * be read. */
void pass_refresh(RgSession *session, RgPass *pass, RgDiags *diags);
/* Of what is recorded; strangers go into the pass. */
RgRefreshInput pass_refresh_input(RgPass *pass);
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
/* taken.c. plan.name-taken if there are strangers: false if a cluster without a node would be
 * created in addition to them (assumed without a diff), else a warning. */
bool pass_has_nodes(const RgPass *pass); /* recorded ones: the cluster is this state's */
bool pass_check_name(const RgSession *session, const RgPass *pass, RgDiags *diags);
/* plan.protected for each pool that the diff would remove nodes from, despite its protection. */
void pass_check_protection(const RgSession *session, const RgPass *pass, RgDiags *diags);
/* The pools that the state must protect; NULL if there are and were none. *changes: the differences
 * from the current state (RgPlan.protection), or NULL. */
json_t *pass_protected_pools(const RgSession *session, const RgPass *pass, json_t **changes);
/* lease.c. The ends of the spec's leases into pass->leases; false with spec.conflict. Needs the
 * snapshot and the renames. */
bool pass_settle_leases(RgPass *pass, RgDiags *diags);
/* RgPlan.leases; a new reference, NULL: none. */
json_t *pass_lease_changes(const RgPass *pass);
/* lease_check.c. plan.lease-ends and plan.lease-ended; false: the plan must not be carried out.
 * `cluster`: for the lines, may be NULL; `looking`: nothing is refused. */
bool pass_check_leases(const RgPlan *plan, const RgSchema *schema, const json_t *leases,
	const RgCluster *cluster, bool looking, RgDiags *diags);
/* lease.c. Into the nodes of the fitted document. */
void pass_set_expiries(const RgPass *pass, json_t *fitted);
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
/* Of these, only what concerns the head and the pools; the provider exists. */
bool pass_check_place(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* rename.c. Renames pools in the snapshot, as the spec requests it or as a plan says; false with
 * plan.bad-rename or state.moved. */
bool pass_rename_pools(RgPass *pass, RgDiags *diags);
bool pass_rename(RgPass *pass, const json_t *renames, RgDiags *diags);
/* Writes it to the state, in a run. */
bool pass_store_renames(RgSession *session, const RgPass *pass, RgDiags *diags);
/* once.c. Lines of the spec that have done their work. */
void once_note_rename(const RgCluster *cluster, const RgPool *pool, RgDiags *diags);
void once_note_import(const RgCluster *cluster, const RgSpecImport *entry, RgDiags *diags);
void once_note_removed(const RgCluster *cluster, const RgSpecRemoved *removed, RgDiags *diags);
/* Whether something of the pool is recorded. */
bool once_has_pool(const RgSnapshot *snapshot, const char *pool);
/* removed.c. The entry of a pool that is forgotten; NULL: it is none. */
const RgSpecRemoved *pass_find_removed(const RgPass *pass, const char *pool);
/* RgRelease of all of them. */
GArray *pass_releases(const RgPass *pass);
/* False with plan.bad-removed if one of them cannot be forgotten. */
bool pass_check_removed(const RgSession *session, const RgPass *pass, RgDiags *diags);
/* plan.forgotten and plan.still-used, for a finished diff. */
void pass_notice_removed(const RgPass *pass, RgDiags *diags);
/* imports.c. The entries of `imports` that are not recorded yet -> pass->importing, and a note for
 * each other one; false with import.refused. */
bool pass_find_imports(RgSession *session, RgPass *pass, RgDiags *diags);
/* For a run that only looks: "kind id" of those, which are then not unmanaged; a new set or NULL.
 */
GHashTable *pass_awaited(const RgSession *session, const RgPass *pass);
/* pass->imported -> pass->imports. */
void pass_describe_imports(RgPass *pass);
/* Adds the records that a saved plan imports to the snapshot; false with plan.stale and others. */
bool pass_import_saved(RgSession *session, RgPass *pass, const RgPlan *plan, RgDiags *diags);
/* Writes them to the state, in a run. */
bool pass_store_imports(RgSession *session, const RgPass *pass, RgDiags *diags);
/* False with spec.not-supported-yet if a pool has a range of nodes that the provider does not
 * support. */
bool pass_check_elastic(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);
/* The same if the cluster has jobs that the provider cannot start. */
bool pass_check_jobs(RgProviderHost *providers, const RgCluster *cluster, RgDiags *diags);

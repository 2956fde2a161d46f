/* The last step: carries out a plan, and records in the state who did it and the result. */
#include "pipeline/internal.h"
#include "state/write.h"

/* What `raygpu log` shows of the run. */
static json_t *meta_of(const RgPass *pass, const json_t *who)
{
	const RgPlan *plan = pass->plan;
	json_t *meta = who ? json_copy(rg_json_unconst(who)) : json_object();
	rg_json_set_str(meta, "commit", plan->commit);
	rg_json_set_str(meta, "author", pass->provenance ? pass->provenance->author : NULL);
	json_object_set_new(meta, "dirty", json_boolean(plan->dirty));
	rg_json_set_str(meta, "spec", plan->spec_file);
	rg_json_set_str(meta, "digest", plan->spec_digest);
	if (plan->labels)
		json_object_set(meta, "labels", plan->labels);
	if (plan->override)
		rg_json_set_str(meta, "budget_override", plan->override);
	return meta;
}

static const char *outcome_of(const RgRun *run, bool done)
{
	const RgApplyResult *result = &run->result;
	if (result->interrupted || run->ready.interrupted)
		return "interrupted";
	if (done)
		return "done";
	return json_array_size(run->ready.failed) || result->added || result->changed ||
			       result->destroyed
		       ? "partial"
		       : "failed";
}

/* `failed`: addresses that are not awaited, because they did not even start; may be NULL. */
static bool run_wait(
	RgSession *session, const RgPass *pass, GHashTable *failed, RgRun *run, RgDiags *diags)
{
	if (!session->ready || session->diff.destroy)
		return true;
	RgReadyOptions options = *session->ready;
	options.timeouts_s = pass->plan->ready_timeouts;
	options.failed = failed;
	bool done = rg_ready_wait(
		pass->provider, session->store, pass->plan->cluster, &options, &run->ready, diags);
	if (pass->cluster)
		pass_locate(pass->cluster, diags);
	return done;
}

bool rg_pipeline_wait(RgSession *session, const RgPass *pass, RgRun *run, RgDiags *diags)
{
	return run_wait(session, pass, NULL, run, diags);
}

/* What the caller is shown passes here. */
typedef struct {
	const RgApplyOptions *options;
	GHashTable *failed; /* char* address -> char* pool */
} Watch;

static void run_event(void *data, const RgEvent *event)
{
	const Watch *watch = data;
	bool starts = event->type != RG_EVENT_FAILED && event->type != RG_EVENT_QUEUED;
	if (!starts && event->address)
		g_hash_table_insert(watch->failed, g_strdup(event->address), g_strdup(event->pool));
	if (watch->options->event)
		watch->options->event(watch->options->event_data, event);
}

/* And nothing else. */
static bool lacks_capacity(const RgApplyResult *result)
{
	return result->lacking && result->lacking == result->failed && !result->open &&
	       !result->interrupted;
}

/* What is only removed needs none. */
static bool lacks_secrets(const RgPass *pass, RgDiags *diags)
{
	const RgPlan *plan = pass->plan;
	bool sends =
		plan->create + plan->update + plan->replace > 0 || pass->snapshot->journal->len;
	return sends && rg_snapshot_refuse_secrets(pass->snapshot, "the run", diags);
}

/* The next apply begins a new lease after `destroy`, but not after `reap`. A new reference. */
static json_t *facts_of(const RgPlan *plan, const json_t *who)
{
	json_t *facts = json_incref(plan->facts);
	const char *command = rg_json_str(who, "command", "");
	if (!json_object_get(facts, "leases") || !g_str_equal(plan->command, "destroy") ||
		g_str_equal(command, "reap") || g_str_equal(command, PASS_MOVE))
		return facts;
	json_t *copy = json_copy(facts), *leases, *pools;
	json_decref(facts);
	leases = json_deep_copy(json_object_get(copy, "leases"));
	json_object_set_new(copy, "leases", leases);
	json_object_set_new(json_object_get(leases, "cluster"), "destroyed", json_true());
	pools = json_object_get(leases, "pools");
	rg_json_foreach_member (name, lease, pools)
		json_object_set_new(lease, "destroyed", json_true());
	return copy;
}

static char *run_begin(
	RgSession *session, const RgPass *pass, const json_t *who, RgRun *run, RgDiags *diags)
{
	const RgPlan *plan = pass->plan;
	json_auto_t *meta = meta_of(pass, who), *facts = facts_of(plan, who);
	const RgRunBegin begin = {.cluster = plan->cluster,
		.provider = plan->provider,
		.region = plan->region,
		.config = plan->config,
		.facts = facts,
		.meta = meta,
		.account = pass->account};
	char *lineage = NULL;
	rg_store_begin_run(session->store, &begin, &run->id, &lineage, diags);
	return lineage;
}

/* ---- nodes that do not join are replaced, each once in a run */

/* By the plan, else by what is recorded of its other nodes: a new one has no mark yet. */
static bool is_protected(const RgPlan *plan, const RgSnapshot *now, const char *pool)
{
	rg_json_foreach (name, plan->protect)
		if (g_strcmp0(json_string_value(name), pool) == 0)
			return true;
	for (size_t i = 0; !plan->protect && i < rg_resource_set_size(now->recorded); i++) {
		const RgResource *record = rg_resource_set_get(now->recorded, i);
		if (record->protect && g_strcmp0(record->group, pool) == 0)
			return true;
	}
	return false;
}

/* Those whose turn it is; NULL: none. One that got a bad GPU back has another try. Without the head
 * nobody joins, so it goes first, alone. What is protected stays. */
static GHashTable *pick_again(const RgPlan *plan, const RgSnapshot *now, const RgReadyResult *ready,
	GHashTable *replaced, unsigned left)
{
	g_autoptr(GHashTable) again = g_hash_table_new(g_str_hash, g_str_equal);
	rg_json_foreach (row, ready->failed) {
		const char *address = rg_json_str(row, "address", "");
		const RgResource *record = rg_resource_set_find(now->recorded, address);
		const char *pool = rg_json_str(row, "pool", "");
		bool head = g_str_equal(pool, "head");
		bool given_back = rg_json_bool(row, "given_back", false);
		if (!record || is_protected(plan, now, pool) ||
			(g_hash_table_contains(replaced, address) && !given_back) ||
			g_hash_table_size(again) >= left)
			continue;
		if (head)
			g_hash_table_remove_all(again);
		g_hash_table_add(again, record->address);
		if (head)
			break;
	}
	return g_hash_table_size(again) ? g_steal_pointer(&again) : NULL;
}

/* What the wait found of nodes that are replaced now ends no run. */
static void warn_of_failed(const RgDiags *found, RgDiags *diags)
{
	rg_diags_foreach (from, found) {
		RgDiag *to = rg_diags_warning(diags, from->code, "%s", from->summary);
		rg_diag_at(to, from->source);
		rg_diag_address(to, from->address, from->attribute);
		if (from->detail)
			rg_diag_detail(to, "%s", from->detail);
		rg_diag_hint(to, "apply replaces such nodes, each once");
	}
}

static void add_result(RgApplyResult *sum, const RgApplyResult *more)
{
	sum->added += more->added;
	sum->forgotten += more->forgotten;
	sum->destroyed += more->destroyed;
	sum->failed += more->failed;
	sum->blocked += more->blocked;
	sum->open += more->open;
	sum->queued += more->queued;
	sum->given_back += more->given_back;
	sum->remade += more->remade;
	sum->interrupted |= more->interrupted;
	if (sum->tried && more->tried)
		json_array_extend(sum->tried, more->tried);
	else if (!sum->tried)
		sum->tried = json_incref(more->tried);
	json_decref(more->tried);
}

/* false: not all of them came back. */
static bool replace(RgSession *session, const RgPass *pass, const RgApplyOptions *apply,
	const RgSnapshot *now, RgRun *run, RgDiags *diags)
{
	RgApplyResult more = {0};
	bool done = rg_apply(pass->provider, session->store, now, pass->plan, apply, &more, diags);
	add_result(&run->result, &more);
	return done;
}

static bool run_until_joined(RgSession *session, const RgPass *pass, RgApplyOptions *apply,
	GHashTable *failed, RgRun *run, RgDiags *diags)
{
	unsigned left = session->ready ? session->ready->max_replacements : 0;
	g_autoptr(GHashTable) replaced =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (bool done = true;;) {
		g_autoptr(RgDiags) found = rg_diags_new();
		g_autoptr(RgSnapshot) now = NULL;
		g_autoptr(GHashTable) again = NULL;
		rg_ready_result_clear(&run->ready);
		bool joined = run_wait(session, pass, failed, run, found);
		if (!joined && done && left && !run->ready.interrupted)
			now = rg_store_load(session->store, pass->plan->cluster, diags);
		if (now)
			again = pick_again(pass->plan, now, &run->ready, replaced, left);
		if (!again) {
			rg_diags_take_all(diags, found);
			return joined && done;
		}
		left -= g_hash_table_size(again);
		warn_of_failed(found, diags);
		rg_hash_keys (const char, address, again)
			g_hash_table_add(replaced, g_strdup(address));
		apply->again = again;
		done = replace(session, pass, apply, now, run, diags);
	}
}

/* Between two rounds: the old nodes leave whose successors are there. What is recorded then; NULL:
 * the run ends. */
static RgSnapshot *remove_formers(RgSession *session, const RgPass *pass, RgApplyOptions *apply,
	const Rounds *rounds, RgRun *run, bool *done, RgDiags *diags)
{
	GHashTable *failed = ((const Watch *)apply->event_data)->failed;
	g_autoptr(RgSnapshot) now = rg_store_load(session->store, pass->plan->cluster, diags);
	g_autoptr(GHashTable) due = now ? rounds_due(rounds, now, failed, &run->ready) : NULL;
	if (!due || !g_hash_table_size(due))
		return g_steal_pointer(&now);
	apply->formers = due;
	*done = replace(session, pass, apply, now, run, diags) && *done;
	apply->formers = NULL;
	return run->result.interrupted ? NULL
				       : rg_store_load(session->store, pass->plan->cluster, diags);
}

/* The rounds after the first one. */
static bool run_rounds(RgSession *session, const RgPass *pass, RgApplyOptions *apply,
	Rounds *rounds, RgRun *run, RgDiags *diags)
{
	GHashTable *failed = ((const Watch *)apply->event_data)->failed;
	bool done = true;
	apply->later = NULL;
	for (guint i = 0;; i++) {
		if (run->result.interrupted || run->ready.interrupted)
			return false;
		apply->again = NULL;
		g_autoptr(RgSnapshot) now =
			remove_formers(session, pass, apply, rounds, run, &done, diags);
		if (!now)
			return false;
		done = rounds_go_on(rounds, i, now, failed, &run->ready, diags) && done;
		GHashTable *round = rounds_nth(rounds, i);
		if (!round)
			return done;
		if (!g_hash_table_size(round))
			continue;
		apply->only = round;
		done = replace(session, pass, apply, now, run, diags) && done;
		done = run_until_joined(session, pass, apply, failed, run, diags) && done;
	}
}

/* Open creations have the former addresses of what is renamed. */
static bool recover_renamed(RgSession *session, const RgPass *pass, const RgApplyOptions *apply,
	RgRun *run, RgDiags *diags)
{
	if (!pass->moves || !pass->snapshot->journal->len)
		return true;
	g_autoptr(RgSnapshot) before = rg_store_load(session->store, pass->plan->cluster, diags);
	g_autoptr(GHashTable) renamed = rg_intent_renamed(pass->moves);
	return before && rg_apply_recover(pass->provider, session->store, before, pass->plan, apply,
				 renamed, &run->result, diags);
}

/* `now`: the state after the renames and imports, NULL: there are none. */
static bool begin_apply(RgSession *session, const RgPass *pass, const RgApplyOptions *apply,
	RgRun *run, RgSnapshot **now, RgDiags *diags)
{
	if (!pass->moves && !pass->imported)
		return true;
	const RgIntent intent = pass_intent(session, pass);
	if (!recover_renamed(session, pass, apply, run, diags) ||
		!rg_intent_store_renames(&intent, session->store, diags) ||
		!rg_intent_store_imports(&intent, session->store, diags))
		return false;
	*now = rg_store_load(session->store, pass->plan->cluster, diags);
	return *now != NULL;
}

static bool carry_out(RgSession *session, const RgPass *pass, RgApplyOptions *apply, bool may_move,
	RgRun *run, RgDiags *diags)
{
	g_autoptr(RgSnapshot) now = NULL;
	g_autoptr(GHashTable) extras = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	apply->extras = extras;
	if (!begin_apply(session, pass, apply, run, &now, diags))
		return false;
	GHashTable *failed = ((const Watch *)apply->event_data)->failed;
	g_autoptr(Rounds) rounds = rounds_new(pass->plan);
	apply->later = rounds ? rounds_later(rounds) : NULL;
	bool done = rg_apply(pass->provider, session->store, now ? now : pass->snapshot, pass->plan,
		apply, &run->result, diags);
	run->result.imported = pass->plan->import;
	run->moves = may_move && lacks_capacity(&run->result);
	/* the nodes of a cluster that may still move are not put to use */
	if (run->result.interrupted || run->moves || (may_move && run->result.open))
		return false;
	done = run_until_joined(session, pass, apply, failed, run, diags) && done;
	if (rounds)
		done = run_rounds(session, pass, apply, rounds, run, diags) && done;
	return done;
}

bool rg_pipeline_run(RgSession *session, const RgPass *pass, const RgApplyOptions *options,
	const json_t *who, RgRun *run, RgDiags *diags)
{
	const RgPlan *plan = pass->plan;
	*run = (RgRun){.outcome = "failed"};
	if (lacks_secrets(pass, diags) || !pass_check_gone(pass, plan, diags))
		return false;
	g_autofree char *lineage = run_begin(session, pass, who, run, diags);
	if (!lineage)
		return false;
	g_autoptr(GHashTable) failed =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	Watch watch = {options, failed};
	RgApplyOptions apply = *options;
	apply.event = run_event;
	apply.event_data = &watch;
	apply.run = run->id;
	apply.lineage = lineage;
	apply.commit = plan->commit;
	apply.labels = plan->labels;
	bool may_move = pass_may_move(session, pass, diags);
	if (may_move) /* the other places are tried first */
		apply.capacity_ms = 0;
	bool done = carry_out(session, pass, &apply, may_move, run, diags);
	/* a cluster that may still move is cut off by what has no known outcome */
	bool cut_off = may_move && run->result.open;
	run->outcome = run->moves ? "moved" : cut_off ? "interrupted" : outcome_of(run, done);
	/* the spec's protection must still apply when the pool leaves the spec */
	g_autoptr(RgDiags) again = rg_diags_new(); /* a store that is full says it each time */
	bool kept = run->moves || !plan->protect ||
		    rg_store_protect(session->store, plan->cluster, plan->protect, again);
	done = rg_store_end_run(session->store, run->id, run->outcome, again) && kept && done;
	rg_diags_take_new(diags, again);
	run->changes = rg_store_run_changes(session->store, run->id, diags);
	if (run->result.interrupted || run->result.open)
		run->left = rg_store_load(session->store, plan->cluster, diags);
	return done;
}

void rg_run_clear(RgRun *run)
{
	g_free(run->id);
	rg_ready_result_clear(&run->ready);
	json_decref(run->changes);
	json_decref(run->result.tried);
	rg_snapshot_free(run->left);
	*run = (RgRun){0};
}

#include "apply/internal.h"
#include "base/clock.h"
#include "state/move.h"

#define CREATE_TRIES 3 /* retries of a create whose resources ended in the meantime */

static json_t *marks_new(Apply *apply, const GPtrArray *steps)
{
	const RgPlanChange *change = ((Step *)steps->pdata[0])->change;
	g_autofree char *indexes = indexes_text(steps);
	json_t *marks = json_object();
	rg_json_set_str(marks, "cluster", apply->plan->cluster);
	rg_json_set_str(marks, "lineage", apply->options->lineage);
	rg_json_set_str(marks, "pool", change->group);
	rg_json_set_str(marks, "indexes", indexes);
	rg_json_set_str(marks, "commit", apply->options->commit);
	rg_json_set_str(marks, "run", apply->options->run);
	json_object_set_new(marks, "labels",
		apply->options->labels ? json_deep_copy(apply->options->labels) : json_object());
	return marks;
}

static json_t *index_new(const RgPlanChange *change)
{
	return change->index < 0 ? json_null() : json_integer(change->index);
}

static json_t *member_new(const Step *step, int64_t generation, int64_t attempt)
{
	const RgPlanChange *change = step->change;
	json_t *member = json_object(), *depends = json_array();
	rg_json_set_str(member, "address", change->address);
	json_object_set_new(member, "index", index_new(change));
	json_object_set_new(member, "attempt", json_integer(attempt));
	json_object_set_new(member, "generation", json_integer(generation));
	json_object_set(member, "attrs", change->desired);
	if (change->action == RG_ACTION_CREATE && !change->replay)
		rg_json_set_str(member, "gone", change->id);
	if (change->pin)
		json_object_set(member, "pin", change->pin);
	for (guint i = 0; change->depends_on && change->depends_on[i]; i++)
		json_array_append_new(depends, json_string(change->depends_on[i]));
	json_object_set_new(member, "depends_on", depends);
	rg_json_set_str(member, "group", change->group);
	rg_json_set_str(member, "origin", change->origin);
	return member;
}

/* Members and items: the same addresses in the same order as in the token. */
static bool row_name(Apply *apply, const GPtrArray *steps, RgJournalRow *row, json_t *items)
{
	g_autofree const char **addresses = g_new0(const char *, steps->len);
	g_autofree int64_t *generations = g_new0(int64_t, steps->len);
	g_autofree int64_t *attempts = g_new0(int64_t, steps->len);
	for (guint i = 0; i < steps->len; i++)
		addresses[i] = ((Step *)steps->pdata[i])->change->address;
	if (!rg_store_identities(apply->store, apply->plan->cluster, addresses, steps->len,
		    generations, attempts, apply->diags))
		return false;
	for (guint i = 0; i < steps->len; i++) {
		const Step *step = steps->pdata[i];
		json_t *item = json_object();
		json_array_append_new(row->members, member_new(step, generations[i], attempts[i]));
		rg_json_set_str(item, "address", addresses[i]);
		json_object_set_new(item, "index", index_new(step->change));
		json_array_append_new(items, item);
	}
	row->token =
		rg_token(apply->options->lineage, addresses, generations, attempts, steps->len);
	return true;
}

/* The journal row of a batch, without its id: everything that the call will send. */
static bool row_fill(Apply *apply, const GPtrArray *steps, json_t *attributes, RgJournalRow *row)
{
	const RgPlanChange *change = ((Step *)steps->pdata[0])->change;
	json_t *items = json_array();
	row->kind = g_strdup(change->kind);
	row->run = g_strdup(apply->options->run);
	row->started_s = rg_clock_now_s();
	row->members = json_array();
	row->input = json_object();
	json_object_set_new(row->input, "items", items);
	if (!row_name(apply, steps, row, items))
		return false;
	rg_json_set_str(row->input, "kind", row->kind);
	rg_json_set_str(row->input, "token", row->token);
	bool all = gang_takes_all(apply, steps->pdata[0]);
	json_object_set_new(row->input, "min_count", json_integer(all ? steps->len : 1));
	json_object_set_new(row->input, "marks", marks_new(apply, steps));
	json_object_set(row->input, "attributes", attributes);
	return true;
}

static void fail_all(Apply *apply, GPtrArray *steps, const RgDiag *why)
{
	for (guint i = 0; i < steps->len; i++)
		step_fail(apply, steps->pdata[i], why);
}

/* The node that it replaces has its address, and is still recorded there. */
static bool needs_room(const Step *step)
{
	return step->former && !step->made_room;
}

/* What these replace is recorded at an address of its own, before they take theirs. */
static bool make_room(Apply *apply, const GPtrArray *steps)
{
	g_autofree RgMove *moves = g_new0(RgMove, steps->len);
	size_t n = 0;
	rg_ptr_foreach (const Step, step, steps) {
		if (needs_room(step))
			moves[n++] = (RgMove){.from = step->change->address,
				.to = step->former,
				.group = step->change->group,
				.origin = step->change->origin};
	}
	if (n &&
		!rg_store_move(apply->store, apply->plan->cluster, moves, n, NULL, 0, apply->diags))
		return false;
	rg_ptr_foreach (Step, step, steps) {
		if (needs_room(step))
			live_move(apply, step->change->address, step->former);
		step->made_room = step->former;
	}
	return true;
}

bool create_makes_room(const GPtrArray *steps)
{
	for (guint i = 0; i < steps->len; i++)
		if (needs_room(steps->pdata[i]))
			return true;
	return false;
}

Job *create_prepare(Apply *apply, GPtrArray *steps)
{
	const RgPlanChange *change = ((Step *)steps->pdata[0])->change;
	json_auto_t *attributes = live_resolve(apply, change->desired, apply->diags);
	if (!attributes) {
		fail_all(apply, steps, last_diag(apply));
		return NULL;
	}
	RgJournalRow row = {0};
	Job *job = NULL;
	int64_t row_id = 0;
	/* rule 1: the row is durable before the first request of the batch */
	if (make_room(apply, steps) && row_fill(apply, steps, attributes, &row) &&
		rg_store_journal_open(
			apply->store, apply->plan->cluster, &row, &row_id, apply->diags)) {
		job = job_new(JOB_CREATE, json_incref(row.input), steps);
		job->row_id = row_id;
	} else {
		apply->store_failed = true;
		fail_all(apply, steps, last_diag(apply));
	}
	g_free(row.kind);
	g_free(row.token);
	g_free(row.run);
	json_decref(row.input);
	json_decref(row.members);
	return job;
}

/* Not while a signal or a broken store ends the run: then it is an ordinary failure. */
static bool begin_again(const Apply *apply, const Step *step, const RgItemResult *result)
{
	return result->class_ == RG_CLASS_GONE && result->definite && step->tries < CREATE_TRIES &&
	       !apply->stopping && !apply->store_failed && !gang_is_failed(step);
}

static void report_failures(Apply *apply, const Job *job)
{
	g_autoptr(Failures) failures = failures_new();
	g_autoptr(GPtrArray) refused = g_ptr_array_new();
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		Step *step = job->steps->pdata[i];
		if (result->outcome == RG_OUTCOME_DONE)
			continue;
		if (begin_again(apply, step, result)) {
			step->tries++;
			step_set(apply, step, STEP_READY);
			continue;
		}
		if (!gang_is_failed(step) && candidates_refused(apply, step, result)) {
			g_ptr_array_add(refused, step);
			continue;
		}
		step->in_doubt = !result->definite;
		if (step->in_doubt)
			leave_open(apply, step->change->address);
		failures_add(failures, step, result);
	}
	failures_tell(failures, apply, "could not create",
		"the outcome of the request is unknown; the next apply looks it up in the cloud by "
		"its token and records what was created");
	if (refused->len && !gang_moves(apply, refused))
		candidates_move(apply, refused);
}

/* The result could not be recorded: the journal row still has it, and the next apply requests it
 * under the same token. */
static void lose_track(Apply *apply, const Job *job)
{
	for (guint i = 0; i < job->results->len; i++) {
		Step *step = job->steps->pdata[i];
		leave_open(apply, step->change->address);
		step->in_doubt = true;
		step_fail(apply, step, apply->unwritten);
	}
}

/* rule 2: outcome and attributes in one transaction */
bool create_record(Apply *apply, const Job *job)
{
	const RgKind *kind = kind_of(apply, ((Step *)job->steps->pdata[0])->change->kind);
	g_autofree RgMemberOutcome *outcomes = g_new0(RgMemberOutcome, job->results->len);
	size_t n = 0;
	rg_ptr_foreach (const RgItemResult, result, job->results) {
		bool made = result->outcome == RG_OUTCOME_DONE;
		if (!made && !result->definite)
			continue;
		outcomes[n++] = (RgMemberOutcome){.address = result->address,
			.created = made,
			.id = result->id,
			.outputs = made ? computed_of(kind, result->attributes) : NULL};
	}
	bool ok = !n || rg_store_journal_settle(apply->store, apply->plan->cluster, job->row_id,
				outcomes, n, apply->diags);
	for (size_t i = 0; i < n; i++) {
		if (ok && outcomes[i].created)
			live_made(live_set(apply, outcomes[i].address, outcomes[i].id,
					  outcomes[i].outputs),
				json_object_get(job->input, "attributes"));
		json_decref(rg_json_unconst(outcomes[i].outputs));
	}
	return ok;
}

void create_finish(Apply *apply, Job *job)
{
	rg_diags_take_all(apply->diags, job->diags);
	if (!job->recorded) {
		lose_track(apply, job);
		return;
	}
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		Step *step = job->steps->pdata[i];
		if (result->outcome != RG_OUTCOME_DONE)
			continue;
		live_learn(apply, step->change, result);
		candidates_accepted(apply, step);
		if (!gang_gives_back(apply, step))
			settle_begin(apply, step);
	}
	report_failures(apply, job);
}

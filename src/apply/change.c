#include "apply/internal.h"
#include "base/clock.h"

/* Updates, removals, and waiting for resources to start after a create or an update. */

/* The most attributes that one of them changes; 0: of one, that is unknown. */
static guint most_attributes(const GPtrArray *steps)
{
	guint most = 0;
	for (guint i = 0; i < steps->len; i++) {
		const GPtrArray *attrs = ((Step *)steps->pdata[i])->change->attrs;
		if (!attrs || !attrs->len)
			return 0;
		most = MAX(most, attrs->len);
	}
	return most;
}

/* Durable before the first request; if that fails, the steps have failed. */
static bool mark_all(Apply *apply, JobKind verb, const GPtrArray *steps)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();
	for (guint i = 0; i < steps->len; i++)
		g_ptr_array_add(all, ((Step *)steps->pdata[i])->change->address);
	const char *cluster = apply->plan->cluster, *const *addresses = (void *)all->pdata;
	bool ok = verb == JOB_UPDATE ? rg_store_updating(apply->store, cluster, addresses, all->len,
					       most_attributes(steps), apply->diags)
				     : rg_store_leaving(apply->store, cluster, addresses, all->len,
					       true, apply->diags);
	if (ok)
		return true;
	apply->store_failed = true;
	for (guint i = 0; i < steps->len; i++)
		step_fail(apply, steps->pdata[i], last_diag(apply));
	return false;
}

/* A crash must leave neither a forgotten removal (decide.md rows 19, 20) nor a record that an old
 * view confirms. */
Job *change_prepare(Apply *apply, JobKind verb, const GPtrArray *steps)
{
	for (guint i = 0; i < steps->len; i++) {
		Live *live = live_get(apply, ((Step *)steps->pdata[i])->change->address);
		if (live)
			g_clear_pointer(&live->operation, g_free);
	}
	Job *job = items_job(apply, verb, steps);
	if (!job->steps->len || !mark_all(apply, verb, job->steps))
		g_clear_pointer(&job, job_free);
	return job;
}

/* A failed poll does not matter if the next one succeeds. */
static void take_diags(Apply *apply, const Job *job)
{
	bool failed = !job->poll;
	for (guint i = 0; i < job->results->len; i++)
		failed |= ((RgItemResult *)job->results->pdata[i])->outcome == RG_OUTCOME_FAILED;
	if (failed)
		rg_diags_take_all(apply->diags, job->diags);
}

/* Deletes the records of removed resources, and clears the mark "leaving" where the cloud refused
 * the removal. If the state cannot be written, all stay marked, and the next apply finishes
 * them. */
bool remove_record(Apply *apply, const Job *job)
{
	g_autoptr(GPtrArray) gone = g_ptr_array_new(), refused = g_ptr_array_new();
	rg_ptr_foreach (const RgItemResult, result, job->results) {
		if (result->outcome == RG_OUTCOME_DONE)
			g_ptr_array_add(gone, result->address);
		else if (result->definite)
			g_ptr_array_add(refused, result->address);
	}
	const char *cluster = apply->plan->cluster;
	return (!gone->len || rg_store_removed(apply->store, cluster,
				      (const char *const *)gone->pdata, gone->len, apply->diags)) &&
	       (!refused->len ||
		       rg_store_leaving(apply->store, cluster, (const char *const *)refused->pdata,
			       refused->len, false, apply->diags));
}

void remove_finish(Apply *apply, Job *job)
{
	take_diags(apply, job);
	g_autoptr(Failures) failures = failures_new();
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		Step *step = job->steps->pdata[i];
		if (result->outcome == RG_OUTCOME_PENDING) {
			live_learn(apply, step->change, result);
			poll_again(apply, job, step, result);
		} else if (result->outcome != RG_OUTCOME_DONE) {
			failures_add(failures, step, result);
		} else if (!job->recorded) {
			step_fail(apply, step, apply->unwritten);
		} else {
			step_done(apply, step);
			live_forget(apply, step->change->address);
		}
	}
	const Step *first = job->steps->pdata[0];
	g_autofree char *verb = g_strconcat(
		"could not ", rg_json_str(first->change->removal, "verb", "destroy"), NULL);
	failures_tell(failures, apply, verb, NULL);
}

/* The plan promised a change in place; a replacement must be shown and approved first. */
static void not_in_place(Apply *apply, Step *step)
{
	const RgPlanChange *change = step->change;
	RgDiag *diag = rg_diags_error(
		apply->diags, "provider.invalid", "%s cannot be changed in place", change->address);
	rg_diag_at(diag, change->source);
	rg_diag_address(diag, change->address, NULL);
	rg_diag_hint(diag, "replace it: raygpu apply --replace '%s'", change->address);
	step_fail(apply, step, diag);
}

/* It has no marks any more, or no longer exists. */
static bool is_released(const RgPlanChange *change, const RgItemResult *result)
{
	return change->action == RG_ACTION_RELEASE &&
	       (result->outcome == RG_OUTCOME_DONE ||
		       (result->outcome == RG_OUTCOME_FAILED && result->class_ == RG_CLASS_GONE));
}

bool update_record(Apply *apply, const Job *job)
{
	g_autofree RgRecordNews *news = g_new0(RgRecordNews, job->results->len);
	g_autoptr(GPtrArray) refused = g_ptr_array_new(), released = g_ptr_array_new();
	const json_t *items = json_object_get(job->input, "items");
	size_t n = 0;
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		const RgPlanChange *change = ((Step *)job->steps->pdata[i])->change;
		if (is_released(change, result))
			g_ptr_array_add(released, change->address);
		else if (result->outcome == RG_OUTCOME_UNSUPPORTED || result->definite)
			g_ptr_array_add(refused, change->address);
		if (result->outcome == RG_OUTCOME_PENDING)
			live_learn(apply, change, result);
		if (result->outcome != RG_OUTCOME_DONE || change->action == RG_ACTION_RELEASE)
			continue;
		live_learn(apply, change, result);
		Live *live = live_get(apply, change->address);
		live_made(live, json_object_get(json_array_get(items, i), "attributes"));
		news[n++] = (RgRecordNews){
			change->address, change->desired, live_unsaved(live), change->pin};
	}
	const char *cluster = apply->plan->cluster;
	return (!refused->len ||
		       rg_store_not_updating(apply->store, cluster,
			       (const char *const *)refused->pdata, refused->len, apply->diags)) &&
	       release_all(apply, (const char *const *)released->pdata, released->len) &&
	       (!n || rg_store_record_many(apply->store, cluster, news, n, apply->diags));
}

void update_finish(Apply *apply, Job *job)
{
	take_diags(apply, job);
	g_autoptr(Failures) failures = failures_new();
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		Step *step = job->steps->pdata[i];
		bool released = is_released(step->change, result);
		if (result->outcome == RG_OUTCOME_UNSUPPORTED) {
			not_in_place(apply, step);
		} else if (result->outcome == RG_OUTCOME_PENDING) {
			poll_again(apply, job, step, result);
		} else if (result->outcome != RG_OUTCOME_DONE && !released) {
			failures_add(failures, step, result);
		} else if (!job->recorded) {
			step_fail(apply, step, apply->unwritten);
		} else if (released) {
			step_done(apply, step);
			live_forget(apply, step->change->address);
		} else {
			settle_begin(apply, step); /* an update may restart it */
		}
	}
	failures_tell(failures, apply, "could not update", NULL);
}

/* Attributes that the cloud set during the start, for all of them in one transaction. */
bool ready_record(Apply *apply, const Job *job)
{
	g_autofree RgRecordNews *news = g_new0(RgRecordNews, job->results->len);
	size_t n = 0;
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		const RgPlanChange *change = ((Step *)job->steps->pdata[i])->change;
		if (result->outcome != RG_OUTCOME_FAILED)
			live_learn(apply, change, result);
		const json_t *outputs = result->outcome == RG_OUTCOME_DONE
						? live_unsaved(live_get(apply, change->address))
						: NULL;
		if (outputs)
			news[n++] = (RgRecordNews){.address = change->address, .outputs = outputs};
	}
	return !n ||
	       rg_store_record_many(apply->store, apply->plan->cluster, news, n, apply->diags);
}

/* What ended is removed before its address is used again. */
static void clear_away(Apply *apply, Step *step)
{
	Step *removal = step_give_back(apply, step);
	step_set(apply, step, STEP_WAITING);
	step_wait_for(step, removal);
	step_set(apply, removal, STEP_READY);
}

/* `steps` may be of several pools. */
static void move_on(Apply *apply, const GPtrArray *steps)
{
	for (guint i = 0; i < apply->choices->len; i++) {
		g_autoptr(GPtrArray) mine = g_ptr_array_new();
		rg_ptr_foreach (Step, step, steps) {
			if (step->choice == apply->choices->pdata[i])
				g_ptr_array_add(mine, step);
		}
		if (!mine->len || gang_moves(apply, mine))
			continue;
		for (guint k = 0; k < mine->len; k++)
			clear_away(apply, mine->pdata[k]);
		candidates_move(apply, mine);
	}
}

/* The user may wait for it as for capacity. */
static bool is_left_in_queue(const Apply *apply, const RgItemResult *result)
{
	return result->queued &&
	       rg_clock_monotonic_ms() - apply->begun_ms >= apply->options->capacity_ms;
}

static void leave_in_queue(Apply *apply, Step *step, const RgItemResult *result)
{
	step->queued = true;
	g_free(step->why);
	step->why = g_strdup(result->message);
	apply->result->queued++;
	step_done(apply, step);
}

/* A resource that ended while it started because the cloud has no capacity for it goes on to its
 * next candidate. Others are reported, and the next plan sees them: nothing here deletes a record.
 */
void ready_finish(Apply *apply, Job *job)
{
	if (!rg_diags_has_errors(
		    job->diags)) /* how a resource that is done is: "it waits in a queue" */
		rg_diags_take_new(apply->diags, job->diags);
	g_autoptr(Failures) failures = failures_new();
	g_autoptr(GPtrArray) ended = g_ptr_array_new();
	for (guint i = 0; i < job->results->len; i++) {
		Step *step = job->steps->pdata[i];
		const RgItemResult *result = job->results->pdata[i];
		bool failed = result->outcome == RG_OUTCOME_FAILED && !step->late;
		/* the poll was refused: it may still run */
		step->in_doubt = failed && !result->definite && !result->id;
		if (!failed && gang_gives_back(apply, step))
			continue;
		if (failed && result->id && !gang_is_failed(step) &&
			candidates_refused(apply, step, result))
			g_ptr_array_add(ended, step);
		else if (result->outcome == RG_OUTCOME_FAILED)
			failures_add(failures, step, result);
		else if (result->outcome == RG_OUTCOME_DONE)
			settle_ready(apply, step, result);
		else if (is_left_in_queue(apply, result))
			leave_in_queue(apply, step, result);
		else
			poll_again(apply, job, step, result);
	}
	failures_tell(failures, apply, "could not start", NULL);
	move_on(apply, ended);
}

#include "apply/apply.h"
#include "apply/internal.h"
#include "base/clock.h"

/* Polling of pending operations runs beside the calls that change something. */
#define LOOK_THREADS 4

static bool record_job(Apply *apply, Job *job)
{
	switch (job->kind) {
	case JOB_CREATE:
		return create_record(apply, job);
	case JOB_READY:
		return ready_record(apply, job);
	case JOB_UPDATE:
		return update_record(apply, job);
	case JOB_REMOVE:
		return remove_record(apply, job);
	case JOB_FIND:
		break; /* only recover.c requests it, and handles the answer itself */
	}
	return true;
}

static void finish_job(Apply *apply, Job *job)
{
	switch (job->kind) {
	case JOB_CREATE:
		create_finish(apply, job);
		break;
	case JOB_READY:
		ready_finish(apply, job);
		break;
	case JOB_UPDATE:
		update_finish(apply, job);
		break;
	case JOB_REMOVE:
		remove_finish(apply, job);
		break;
	case JOB_FIND:
		break;
	}
	if (job->poll)
		poll_finish(apply, job);
	job_free(job);
}

/* All answers that are there are recorded in one transaction before any has consequences. */
static void finish_jobs(Apply *apply, Job *first)
{
	g_autoptr(GPtrArray) jobs = g_ptr_array_new();
	bool ok = true;
	for (Job *job = first; job; job = jobs_take(apply, 0))
		g_ptr_array_add(jobs, job);
	rg_store_group_begin(apply->store);
	rg_ptr_foreach (Job, job, jobs) {
		if (job->poll)
			poll_judge(job);
		ok = ok && record_job(apply, job);
	}
	if (!rg_store_group_end(apply->store, apply->diags) || !ok) {
		apply->store_failed = true;
		apply->unwritten = last_diag(apply);
		ok = false;
	}
	for (guint i = 0; i < jobs->len; i++) {
		((Job *)jobs->pdata[i])->recorded = ok;
		finish_job(apply, jobs->pdata[i]);
	}
}

static bool has_work(const Apply *apply)
{
	if (apply->running || apply->stopping || apply->store_failed)
		return apply->running;
	return apply->counts[STEP_POLLED] || apply->parked;
}

/* NULL: none of the steps can be made, they have failed. */
static Job *prepare_batch(Apply *apply, GPtrArray *steps)
{
	const Step *first = steps->pdata[0];
	rg_ptr_foreach (Step, step, steps) {
		if (!step->started_ms) {
			step->started_ms = rg_clock_monotonic_ms();
			emit(apply, RG_EVENT_START, step, NULL, NULL);
		}
		step_set(apply, step, STEP_RUNNING);
	}
	return first->kind == STEP_CREATE
		       ? create_prepare(apply, steps)
		       : change_prepare(apply, first->kind == STEP_UPDATE ? JOB_UPDATE : JOB_REMOVE,
				 steps);
}

/* Their intents are not durable, so no request is sent. */
static void drop_jobs(Apply *apply, const GPtrArray *jobs)
{
	apply->store_failed = true;
	rg_ptr_foreach (Job, job, jobs) {
		for (guint k = 0; k < job->steps->len; k++)
			step_fail(apply, job->steps->pdata[k], last_diag(apply));
		job_free(job);
	}
}

static void start_alone(Apply *apply, GPtrArray *steps)
{
	Job *job = prepare_batch(apply, steps);
	if (job)
		jobs_submit(apply, job);
}

/* The intents of all batches that are ready become durable in one transaction. A batch that makes
 * room has its own: it moves records, which a store elsewhere may not do twice in one commit. */
static void start_batches(Apply *apply)
{
	g_autoptr(GPtrArray) jobs = g_ptr_array_new(), alone = NULL;
	rg_store_group_begin(apply->store);
	while (apply->ready.length && jobs_free_slots(apply) > jobs->len && !alone &&
		!apply->store_failed && !apply_interrupted(apply)) {
		g_autoptr(GPtrArray) batch = batch_take(apply);
		if (batch->len && create_makes_room(batch)) {
			alone = g_steal_pointer(&batch);
			continue;
		}
		Job *job = batch->len ? prepare_batch(apply, batch) : NULL;
		if (job)
			g_ptr_array_add(jobs, job);
	}
	if (!rg_store_group_end(apply->store, apply->diags)) {
		drop_jobs(apply, jobs);
		return;
	}
	for (guint i = 0; i < jobs->len; i++)
		jobs_submit(apply, jobs->pdata[i]);
	if (alone)
		start_alone(apply, alone);
}

static void start_ready(Apply *apply)
{
	for (;;) {
		gangs_look(apply);
		if (apply->stopping || apply->store_failed)
			return;
		local_steps(apply);
		if (!apply->ready.length || !jobs_free_slots(apply) || apply_interrupted(apply))
			return;
		start_batches(apply);
	}
}

static void run_steps(Apply *apply)
{
	for (;;) {
		apply_interrupted(apply);
		candidates_look(apply);
		start_ready(apply);
		unsigned wait_ms = polls_start(apply);
		if (!has_work(apply))
			return;
		Job *job = jobs_take(apply, wait_ms);
		if (job)
			finish_jobs(apply, job);
		emit_still(apply);
	}
}

/* A member whose outcome is still open must not be created a second time. */
static void fail_unsettled(Apply *apply)
{
	rg_ptr_foreach (Step, step, apply->steps) {
		gpointer why = NULL;
		if (step->state == STEP_WAITING && g_hash_table_lookup_extended(apply->unsettled,
							   step->change->address, NULL, &why))
			step_fail(apply, step, why);
	}
}

static void init(Apply *apply)
{
	unsigned parallelism = apply->options->parallelism ? apply->options->parallelism : 10;
	apply->steps = g_ptr_array_new_with_free_func((GDestroyNotify)step_free);
	GHashTable *changes = g_hash_table_new(g_str_hash, g_str_equal);
	rg_ptr_foreach (RgPlanChange, change, apply->plan->changes)
		g_hash_table_insert(changes, change->address, change);
	apply->changes = changes;
	apply->digests = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	apply->groups =
		g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)group_free);
	apply->polls = g_ptr_array_new_with_free_func((GDestroyNotify)poll_free);
	apply->unsettled = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	apply->open = g_ptr_array_new_with_free_func(g_free);
	apply->moved = g_ptr_array_new_with_free_func(moved_free);
	g_queue_init(&apply->local);
	g_queue_init(&apply->ready);
	apply->jobs = jobs_new(apply->provider, parallelism + LOOK_THREADS);
	live_load(apply);
}

static void clear(Apply *apply)
{
	jobs_free(apply->jobs);
	g_clear_pointer(&apply->choices, g_ptr_array_unref);
	json_decref(apply->fitted);
	g_queue_clear(&apply->local);
	g_queue_clear(&apply->ready);
	g_ptr_array_unref(apply->polls);
	g_ptr_array_unref(apply->open);
	g_clear_pointer(&apply->gangs, g_ptr_array_unref);
	g_ptr_array_unref(apply->steps);
	g_ptr_array_unref(apply->moved);
	g_hash_table_unref(apply->changes);
	g_hash_table_unref(apply->groups);
	g_hash_table_unref(apply->digests);
	g_hash_table_unref(apply->unsettled);
	g_hash_table_unref(apply->live);
}

bool rg_apply_recover(RgProvider *provider, RgStore *store, const RgSnapshot *snapshot,
	const RgPlan *plan, const RgApplyOptions *options, GHashTable *renamed,
	RgApplyResult *result, RgDiags *diags)
{
	*result = (RgApplyResult){0};
	Apply apply = {.provider = provider,
		.store = store,
		.snapshot = snapshot,
		.plan = plan,
		.options = options,
		.renamed = renamed,
		.result = result,
		.diags = diags,
		.begun_ms = rg_clock_monotonic_ms()};
	init(&apply);
	recover_open_rows(&apply);
	emit_open(&apply);
	bool done = !result->open && !result->interrupted && !apply.store_failed;
	clear(&apply);
	return done;
}

bool rg_apply(RgProvider *provider, RgStore *store, const RgSnapshot *snapshot, const RgPlan *plan,
	const RgApplyOptions *options, RgApplyResult *result, RgDiags *diags)
{
	*result = (RgApplyResult){0};
	Apply apply = {.provider = provider,
		.store = store,
		.snapshot = snapshot,
		.plan = plan,
		.options = options,
		.result = result,
		.diags = diags,
		.begun_ms = rg_clock_monotonic_ms()};
	init(&apply);
	recover_open_rows(&apply);
	steps_build(&apply);
	candidates_build(&apply);
	gangs_build(&apply);
	fail_unsettled(&apply);
	steps_begin(&apply);
	run_steps(&apply);
	steps_report_stuck(&apply);
	emit_open(&apply);
	bool done = apply.counts[STEP_DONE] == apply.steps->len && !apply.result->open &&
		    !apply.result->queued && !apply.store_failed;
	clear(&apply);
	return done;
}

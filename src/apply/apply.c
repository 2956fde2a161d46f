#include "apply/apply.h"
#include "apply/internal.h"

static void finish_job(Apply *apply, Job *job)
{
	apply->running--;
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
		break; /* only recover.c asks for it, and takes the answer itself */
	}
	job_free(job);
}

static void run_steps(Apply *apply)
{
	for (;;) {
		apply_interrupted(apply);
		batches_start(apply);
		ready_poll(apply);
		if (!apply_has_work(apply))
			return;
		Job *job = jobs_take(apply->jobs, apply->poll_wait_ms ? 50 : 200);
		for (; job; job = jobs_take(apply->jobs, 0))
			finish_job(apply, job);
		emit_still(apply);
	}
}

/* A member whose fate is still open must not be created a second time. */
static void fail_unsettled(Apply *apply)
{
	for (guint i = 0; i < apply->steps->len; i++) {
		Step *step = apply->steps->pdata[i];
		if (step->state != STEP_WAITING && step->state != STEP_READY)
			continue;
		if (g_hash_table_contains(apply->unsettled, step->change->address))
			step_fail(apply, step, NULL);
	}
}

static bool all_done(const Apply *apply)
{
	for (guint i = 0; i < apply->steps->len; i++) {
		if (((Step *)apply->steps->pdata[i])->state != STEP_DONE)
			return false;
	}
	return !apply->result->open && !apply->store_failed;
}

static void init(Apply *apply)
{
	unsigned parallelism = apply->options->parallelism ? apply->options->parallelism : 10;
	apply->steps = g_ptr_array_new_with_free_func((GDestroyNotify)step_free);
	apply->digests = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	apply->recovered = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	apply->unsettled = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	apply->jobs = jobs_new(apply->provider, parallelism + 1);
	live_load(apply);
}

static void clear(Apply *apply)
{
	jobs_free(apply->jobs);
	g_ptr_array_unref(apply->steps);
	g_hash_table_unref(apply->digests);
	g_hash_table_unref(apply->recovered);
	g_hash_table_unref(apply->unsettled);
	g_hash_table_unref(apply->live);
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
		.diags = diags};
	init(&apply);
	recover_open_rows(&apply);
	steps_build(&apply);
	fail_unsettled(&apply);
	run_steps(&apply);
	bool done = all_done(&apply);
	clear(&apply);
	return done;
}

#include "apply/internal.h"
#include "base/clock.h"

/* What was created counts as done when the cloud says that it runs. All that is starting is
 * looked at together, one call a kind; the wait between looks grows and costs no worker. */

#define POLL_FIRST_MS 250
#define POLL_MAX_MS 5000
#define POLL_BATCH 500

static const RgKind *kind_of(Apply *apply, const Step *step)
{
	return rg_schema_kind(rg_provider_get_schema(apply->provider), step->change->kind);
}

static bool waits(Apply *apply, const Step *step)
{
	const RgKind *kind = kind_of(apply, step);
	return kind && kind->ready_timeout_s > 0 && rg_provider_offers(apply->provider, "ready");
}

static void submit(Apply *apply, const char *kind, GPtrArray *steps)
{
	json_t *input = json_object(), *items = json_array();
	rg_json_set_str(input, "kind", kind);
	json_object_set_new(input, "items", items);
	for (guint i = 0; i < steps->len; i++) {
		const Step *step = steps->pdata[i];
		Live *live = live_get(apply, step->change->address);
		json_t *item = json_object();
		rg_json_set_str(item, "address", step->change->address);
		rg_json_set_str(item, "id", live ? live->id : step->change->id);
		json_array_append_new(items, item);
	}
	apply->running++;
	apply->polling = true;
	jobs_submit(apply->jobs, job_new(JOB_READY, input, steps));
}

static GPtrArray *starting_of_kind(Apply *apply, const char *kind)
{
	GPtrArray *steps = g_ptr_array_new();
	for (guint i = 0; i < apply->steps->len && steps->len < POLL_BATCH; i++) {
		Step *step = apply->steps->pdata[i];
		if (step->state == STEP_STARTING &&
			(!kind || g_str_equal(step->change->kind, kind)))
			g_ptr_array_add(steps, step);
	}
	return steps;
}

static void settle_those_that_need_no_wait(Apply *apply)
{
	for (guint i = 0; i < apply->steps->len; i++) {
		Step *step = apply->steps->pdata[i];
		if (step->state == STEP_STARTING && (apply->stopping || !waits(apply, step)))
			step_done(apply, step);
	}
}

/* One poll at a time, of the first kind that has something starting. */
void ready_poll(Apply *apply)
{
	settle_those_that_need_no_wait(apply);
	g_autoptr(GPtrArray) any = starting_of_kind(apply, NULL);
	if (!any->len) {
		apply->poll_wait_ms = 0;
		return;
	}
	int64_t now = rg_clock_monotonic_ms();
	if (!apply->poll_wait_ms) {
		apply->poll_wait_ms = POLL_FIRST_MS;
		apply->poll_ms = now + POLL_FIRST_MS;
	}
	if (apply->polling || now < apply->poll_ms)
		return;
	apply->poll_wait_ms = MIN(2 * apply->poll_wait_ms, POLL_MAX_MS);
	apply->poll_ms = now + apply->poll_wait_ms;
	const char *kind = ((Step *)any->pdata[0])->change->kind;
	g_autoptr(GPtrArray) steps = starting_of_kind(apply, kind);
	submit(apply, kind, steps);
}

static void record_outputs(Apply *apply, const Step *step, json_t *outputs)
{
	Live *live = live_get(apply, step->change->address);
	if (!outputs || !live || json_equal(outputs, live->outputs))
		return;
	g_autoptr(RgJson) merged = json_copy(live->outputs);
	json_object_update(merged, outputs);
	if (json_equal(merged, live->outputs))
		return;
	if (!rg_store_record(apply->store, apply->plan->cluster, step->change->address, NULL,
		    merged, NULL, apply->diags))
		apply->store_failed = true;
	json_object_update(live->outputs, merged);
}

/* The cloud took it back while it started (no capacity after all, a key that can't be used). */
static void lost_at_start(Apply *apply, Step *step, const RgItemResult *result)
{
	const char *address = step->change->address;
	g_autoptr(GPtrArray) one = g_ptr_array_new();
	g_ptr_array_add(one, step);
	if (!rg_store_removed(apply->store, apply->plan->cluster, &address, 1, apply->diags))
		apply->store_failed = true;
	step_fail(apply, step,
		batch_diag(apply, "the cloud ended while it was starting", one, result));
	live_forget(apply, address);
}

static void too_slow(Apply *apply, Step *step, int64_t limit_s)
{
	RgDiag *diag = rg_diags_error(apply->diags, "provider.transient",
		"%s was created but is not running after %" G_GINT64_FORMAT " s",
		step->change->address, limit_s);
	rg_diag_at(diag, step->change->source);
	rg_diag_address(diag, step->change->address, NULL);
	rg_diag_hint(diag, "it is recorded; `raygpu plan` tells what became of it");
	step_fail(apply, step, diag);
}

static void one_result(Apply *apply, Step *step, const RgItemResult *result)
{
	int64_t limit_s = kind_of(apply, step)->ready_timeout_s;
	if (result->outcome == RG_OUTCOME_DONE) {
		record_outputs(apply, step, result->attributes);
		step_done(apply, step);
	} else if (result->outcome == RG_OUTCOME_FAILED && result->definite) {
		lost_at_start(apply, step, result);
	} else if (step->started_ms &&
		   rg_clock_monotonic_ms() - step->started_ms > limit_s * 1000) {
		too_slow(apply, step, limit_s);
	}
}

void ready_finish(Apply *apply, Job *job)
{
	apply->polling = false;
	unsigned still = 0;
	for (guint i = 0; i < job->results->len; i++) {
		Step *step = job->steps->pdata[i];
		if (!step->started_ms)
			step->started_ms =
				job->started_ms ? job->started_ms : rg_clock_monotonic_ms();
		one_result(apply, step, job->results->pdata[i]);
		still += step->state == STEP_STARTING;
	}
	if (still < job->results->len)
		apply->poll_wait_ms = 0; /* something moved: look again soon */
}

#include "apply/internal.h"
#include "base/clock.h"

/* What was created counts as done when the cloud says that it runs. All that is starting of a kind
 * is looked at in rounds; the wait between rounds grows while nothing moves, and costs no worker.
 * Nothing here deletes a record: what ended while it started is told, and the next plan sees it. */

#define ROUND_FIRST_MS 250
#define ROUND_MAX_MS 5000
#define LOOK_MAX 200 /* ids a look */
#define LOOKS_AT_ONCE 4

struct Starting {
	const RgKind *kind;
	GQueue todo, later; /* Step*: this round's, the next one's */
	int64_t round_ms;   /* when the next round begins */
	unsigned wait_ms;
	unsigned looks; /* jobs out */
	bool moved;	/* something became ready in this round */
};

void starting_free(Starting *starting)
{
	g_queue_clear(&starting->todo);
	g_queue_clear(&starting->later);
	g_free(starting);
}

static bool kind_waits(const Apply *apply, const RgKind *kind)
{
	return kind && kind->ready_timeout_s > 0 && rg_provider_offers(apply->provider, "ready");
}

static Starting *starting_of(Apply *apply, const RgKind *kind)
{
	for (guint i = 0; i < apply->starting->len; i++) {
		Starting *starting = apply->starting->pdata[i];
		if (starting->kind == kind)
			return starting;
	}
	Starting *starting = g_new0(Starting, 1);
	starting->kind = kind;
	g_queue_init(&starting->todo);
	g_queue_init(&starting->later);
	g_ptr_array_add(apply->starting, starting);
	return starting;
}

void ready_add(Apply *apply, Step *step)
{
	Starting *starting = starting_of(apply, kind_of(apply, step->change->kind));
	step->starting_ms = rg_clock_monotonic_ms();
	g_queue_push_tail(&starting->later, step);
	starting->wait_ms = ROUND_FIRST_MS;
	starting->round_ms = MIN(starting->round_ms ? starting->round_ms : INT64_MAX,
		step->starting_ms + ROUND_FIRST_MS);
}

bool ready_drop(Apply *apply, Step *step)
{
	for (guint i = 0; i < apply->starting->len; i++) {
		Starting *starting = apply->starting->pdata[i];
		if (g_queue_remove(&starting->todo, step) || g_queue_remove(&starting->later, step))
			return true;
	}
	return false;
}

static Job *look_new(Apply *apply, Starting *starting)
{
	g_autoptr(GPtrArray) steps = g_ptr_array_new();
	json_t *input = json_object(), *items = json_array();
	rg_json_set_str(input, "kind", starting->kind->name);
	json_object_set_new(input, "items", items);
	while (starting->todo.length && steps->len < LOOK_MAX) {
		Step *step = g_queue_pop_head(&starting->todo);
		Live *live = live_get(apply, step->change->address);
		json_t *item = json_object();
		rg_json_set_str(item, "address", step->change->address);
		rg_json_set_str(item, "id", live ? live->id : step->change->id);
		json_array_append_new(items, item);
		g_ptr_array_add(steps, step);
	}
	Job *job = job_new(JOB_READY, input, steps);
	job->starting = starting;
	return job;
}

static void settle_all(Apply *apply, Starting *starting)
{
	while (starting->todo.length)
		step_done(apply, g_queue_pop_head(&starting->todo));
	while (starting->later.length)
		step_done(apply, g_queue_pop_head(&starting->later));
}

static void begin_round(Starting *starting, int64_t now)
{
	if (starting->todo.length || starting->looks || !starting->later.length ||
		now < starting->round_ms)
		return;
	starting->wait_ms =
		starting->moved ? ROUND_FIRST_MS : MIN(2 * starting->wait_ms, ROUND_MAX_MS);
	starting->moved = false;
	starting->round_ms = 0;
	GQueue taken = starting->later;
	starting->later = starting->todo;
	starting->todo = taken;
}

static unsigned poll_kind(Apply *apply, Starting *starting)
{
	/* the end of the run ends the waiting, not the record: it is there and will start */
	if (apply->stopping || apply->store_failed || !kind_waits(apply, starting->kind)) {
		settle_all(apply, starting);
		return G_MAXUINT;
	}
	int64_t now = rg_clock_monotonic_ms();
	begin_round(starting, now);
	while (starting->todo.length && starting->looks < LOOKS_AT_ONCE) {
		starting->looks++;
		jobs_submit(apply, look_new(apply, starting));
	}
	if (starting->looks || !starting->later.length)
		return G_MAXUINT;
	return (unsigned)CLAMP(starting->round_ms - now, 1, ROUND_MAX_MS);
}

unsigned ready_poll(Apply *apply)
{
	unsigned wait_ms = 200; /* signals are polled */
	for (guint i = 0; i < apply->starting->len; i++)
		wait_ms = MIN(wait_ms, poll_kind(apply, apply->starting->pdata[i]));
	return wait_ms;
}

/* One diagnostic for all whose time is over in this look. */
static void too_slow(Apply *apply, const GPtrArray *steps, int64_t limit_s)
{
	if (!steps->len)
		return;
	const RgPlanChange *change = ((Step *)steps->pdata[0])->change;
	g_autofree char *more =
		steps->len > 1 ? g_strdup_printf(" (and %u more)", steps->len - 1) : g_strdup("");
	RgDiag *diag = rg_diags_error(apply->diags, "provider.transient",
		"%s%s was created but is not running after %" G_GINT64_FORMAT " s", change->address,
		more, limit_s);
	rg_diag_at(diag, change->source);
	rg_diag_address(diag, change->address, NULL);
	if (!((Step *)steps->pdata[0])->gang)
		rg_diag_hint(diag, "it is recorded; `raygpu plan` shows what became of it");
	for (guint i = 0; i < steps->len; i++) {
		step_fail(apply, steps->pdata[i], diag);
		gang_gives_back(apply, steps->pdata[i]);
	}
}

/* A result of its own, with its id, says that the thing has ended; a failure of the whole look says
 * nothing of it, but one that is refused won't get better by asking on. */
static bool is_final(const RgItemResult *result)
{
	return result->outcome == RG_OUTCOME_FAILED &&
	       (result->definite || result->id || result->class_ == RG_CLASS_DENIED);
}

/* Attributes that the cloud set while it started, of all of them in one transaction. */
static void record_outputs(Apply *apply, const Job *job)
{
	g_autofree RgRecordNews *news = g_new0(RgRecordNews, job->results->len);
	size_t n = 0;
	for (guint i = 0; i < job->results->len; i++) {
		const RgItemResult *result = job->results->pdata[i];
		const RgPlanChange *change = ((Step *)job->steps->pdata[i])->change;
		if (result->outcome != RG_OUTCOME_DONE ||
			!live_learn(apply, change, result->attributes))
			continue;
		news[n++] = (RgRecordNews){.address = change->address,
			.outputs = live_get(apply, change->address)->outputs};
	}
	if (n && !rg_store_record_many(apply->store, apply->plan->cluster, news, n, apply->diags))
		apply->store_failed = true;
}

static void take_results(Apply *apply, Starting *starting, const Job *job)
{
	int64_t late_ms = rg_clock_monotonic_ms() - starting->kind->ready_timeout_s * 1000;
	g_autoptr(Failures) failures = failures_new();
	g_autoptr(GPtrArray) late = g_ptr_array_new();
	for (guint i = 0; i < job->results->len; i++) {
		Step *step = job->steps->pdata[i];
		const RgItemResult *result = job->results->pdata[i];
		starting->moved |= result->outcome == RG_OUTCOME_DONE;
		/* refused to look: it may run all the same */
		step->in_doubt = is_final(result) && !result->definite && !result->id;
		if (is_final(result))
			failures_add(failures, step, result);
		else if (gang_gives_back(apply, step))
			continue;
		else if (result->outcome == RG_OUTCOME_DONE)
			step_done(apply, step);
		else if (step->starting_ms < late_ms)
			g_ptr_array_add(late, step);
		else
			g_queue_push_tail(&starting->later, step);
	}
	failures_tell(failures, apply, "it was created, but did not start:", NULL);
	too_slow(apply, late, starting->kind->ready_timeout_s);
}

void ready_finish(Apply *apply, Job *job)
{
	Starting *starting = job->starting;
	record_outputs(apply, job);
	take_results(apply, starting, job);
	starting->looks--;
	if (!starting->looks && !starting->todo.length && starting->later.length &&
		!starting->round_ms)
		starting->round_ms = rg_clock_monotonic_ms() +
				     (starting->moved ? ROUND_FIRST_MS : starting->wait_ms);
}

#include "apply/internal.h"
#include "base/clock.h"

/* Pending operations: resources that start (checked with ready), updates and removals that are
 * pending (the same call again). All of one kind and call are polled in rounds; the wait between
 * rounds grows while nothing changes, and occupies no worker. */

#define ROUND_FIRST_MS 250
#define ROUND_MAX_MS 5000
#define LOOK_MAX 200
#define LOOKS_AT_ONCE 4

struct Poll {
	const RgKind *kind;
	JobKind verb;
	GQueue todo, later; /* Step*: this round's, the next one's */
	int64_t round_ms;   /* when the next round begins */
	unsigned wait_ms;
	unsigned looks; /* running jobs */
	bool moved;	/* something was done in this round */
};

static unsigned first_ms(const Apply *apply)
{
	return rg_provider_patience_ms(apply->provider, ROUND_FIRST_MS);
}

void poll_free(Poll *poll)
{
	g_queue_clear(&poll->todo);
	g_queue_clear(&poll->later);
	g_free(poll);
}

static int64_t limit_s(const RgKind *kind, JobKind verb)
{
	return verb == JOB_READY    ? kind->ready_timeout_s
	       : verb == JOB_UPDATE ? kind->update_timeout_s
				    : kind->remove_timeout_s;
}

static Poll *poll_of(Apply *apply, const RgKind *kind, JobKind verb)
{
	rg_ptr_foreach (Poll, poll, apply->polls) {
		if (poll->kind == kind && poll->verb == verb)
			return poll;
	}
	Poll *poll = g_new0(Poll, 1);
	poll->kind = kind;
	poll->verb = verb;
	g_queue_init(&poll->todo);
	g_queue_init(&poll->later);
	g_ptr_array_add(apply->polls, poll);
	return poll;
}

/* For other kinds, the cloud's answer to the create is final. */
static bool starts_slowly(const Apply *apply, const RgKind *kind)
{
	return kind && kind->ready_timeout_s > 0 && rg_provider_offers(apply->provider, "ready");
}

void poll_add(Apply *apply, Step *step, JobKind verb)
{
	const RgKind *kind = kind_of(apply, step->change->kind);
	if (verb == JOB_READY && !starts_slowly(apply, kind)) {
		step_done(apply, step);
		return;
	}
	Poll *poll = poll_of(apply, kind, verb);
	step_set(apply, step, STEP_POLLED);
	step->polled_ms = rg_clock_monotonic_ms();
	g_queue_push_tail(&poll->later, step);
	poll->wait_ms = first_ms(apply);
	poll->round_ms =
		MIN(poll->round_ms ? poll->round_ms : INT64_MAX, step->polled_ms + poll->wait_ms);
}

void poll_again(Apply *apply, const Job *job, Step *step, const RgItemResult *result)
{
	g_free(step->why);
	step->why = !result->queued   ? g_strdup(result->message)
		    : result->message ? g_strconcat("queued: ", result->message, NULL)
				      : g_strdup("queued");
	step->fault = result->code != NULL;
	if (job->poll)
		g_queue_push_tail(&job->poll->later, step);
	else
		poll_add(apply, step, job->kind);
}

static void expire(const Job *job, RgItemResult *result)
{
	bool starts = job->kind == JOB_READY;
	g_autofree char *why = result->message;
	g_free(result->hint);
	result->outcome = RG_OUTCOME_FAILED;
	result->class_ = RG_CLASS_TRANSIENT;
	result->message = g_strdup_printf("%s after %" G_GINT64_FORMAT " s%s%s",
		starts ? "it is not running" : "the cloud has not finished",
		limit_s(job->poll->kind, job->kind), why ? ": " : "", why ? why : "");
	result->hint = g_strdup(starts ? "it is recorded; `raygpu plan` shows its current state"
				       : "it may still finish: run apply again");
}

/* What it requested is still open. */
static void ask_again(const Job *job, guint i)
{
	RgItemResult *result = job->results->pdata[i];
	const json_t *item = json_array_get(json_object_get(job->input, "items"), i);
	if (result->outcome == RG_OUTCOME_PENDING)
		return;
	result->outcome = RG_OUTCOME_PENDING;
	g_free(result->operation);
	result->operation = g_strdup(rg_json_str(item, "operation", NULL));
}

void poll_judge(const Job *job)
{
	int64_t limit_ms = limit_s(job->poll->kind, job->kind) * 1000;
	int64_t late_ms = rg_clock_monotonic_ms() - limit_ms;
	for (guint i = 0; i < job->results->len; i++) {
		Step *step = job->steps->pdata[i];
		RgItemResult *result = job->results->pdata[i];
		if (result->queued) /* others go first, for as long as that takes */
			step->polled_ms = rg_clock_monotonic_ms();
		/* A separate result, with its id, is about the resource; a failure of the whole
		 * poll is not, but a refused one does not improve by repeating it. */
		if (result->outcome != RG_OUTCOME_PENDING &&
			(result->outcome != RG_OUTCOME_FAILED || result->definite || result->id ||
				result->class_ == RG_CLASS_DENIED))
			continue;
		step->late = step->polled_ms < late_ms;
		if (step->late)
			expire(job, result);
		else
			ask_again(job, i);
	}
}

bool poll_drop(Apply *apply, Step *step)
{
	rg_ptr_foreach (Poll, poll, apply->polls) {
		if (g_queue_remove(&poll->todo, step) || g_queue_remove(&poll->later, step))
			return true;
	}
	return false;
}

static void begin_round(const Apply *apply, Poll *poll, int64_t now)
{
	if (poll->todo.length || poll->looks || !poll->later.length || now < poll->round_ms)
		return;
	poll->wait_ms = poll->moved ? first_ms(apply) : MIN(2 * poll->wait_ms, ROUND_MAX_MS);
	poll->moved = false;
	poll->round_ms = 0;
	GQueue taken = poll->later;
	poll->later = poll->todo;
	poll->todo = taken;
}

/* Ids per poll; for the calls that change something, at most their batch size. */
static int64_t look_max(const Poll *poll)
{
	return poll->verb == JOB_READY	  ? LOOK_MAX
	       : poll->verb == JOB_UPDATE ? CLAMP(poll->kind->batch_update, 1, LOOK_MAX)
					  : CLAMP(poll->kind->batch_remove, 1, LOOK_MAX);
}

static unsigned poll_one(Apply *apply, Poll *poll)
{
	if (apply->stopping || apply->store_failed) {
		/* The end of the run ends the waiting. What starts is recorded and will start. What
		 * is pending is not done: its record keeps the mark, and the next apply
		 * continues. */
		Step *step;
		while ((step = g_queue_pop_head(&poll->todo)) ||
			(step = g_queue_pop_head(&poll->later))) {
			if (poll->verb == JOB_READY)
				step_done(apply, step);
			else
				leave_open(apply, step->change->address);
		}
		return G_MAXUINT;
	}
	int64_t now = rg_clock_monotonic_ms();
	begin_round(apply, poll, now);
	while (poll->todo.length && poll->looks < LOOKS_AT_ONCE) {
		poll->looks++;
		g_autoptr(GPtrArray) steps = g_ptr_array_new();
		while (poll->todo.length && steps->len < look_max(poll))
			g_ptr_array_add(steps, g_queue_pop_head(&poll->todo));
		Job *job = items_job(apply, poll->verb, steps);
		job->poll = poll;
		jobs_submit(apply, job);
	}
	if (poll->looks || !poll->later.length)
		return G_MAXUINT;
	return (unsigned)CLAMP(poll->round_ms - now, 1, ROUND_MAX_MS);
}

unsigned polls_start(Apply *apply)
{
	unsigned wait_ms = 200; /* signals are polled */
	for (guint i = 0; i < apply->polls->len; i++)
		wait_ms = MIN(wait_ms, poll_one(apply, apply->polls->pdata[i]));
	return wait_ms;
}

void poll_finish(const Apply *apply, const Job *job)
{
	Poll *poll = job->poll;
	for (guint i = 0; i < job->results->len; i++)
		poll->moved |= ((RgItemResult *)job->results->pdata[i])->outcome == RG_OUTCOME_DONE;
	poll->looks--;
	if (!poll->looks && !poll->todo.length && poll->later.length && !poll->round_ms)
		poll->round_ms =
			rg_clock_monotonic_ms() + (poll->moved ? first_ms(apply) : poll->wait_ms);
}

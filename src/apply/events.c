#include "apply/internal.h"
#include "base/clock.h"

#define STILL_EVERY_MS 10000
#define STILL_FAULT_MS 2000 /* the first time, if something is wrong */
#define STILL_LOOK_MS 1000
#define OPEN_SHOWN 10

int apply_interrupted(Apply *apply)
{
	const RgApplyOptions *options = apply->options;
	int level = options->interrupted ? options->interrupted(options->interrupted_data) : 0;
	if (level && !apply->stopping) {
		apply->stopping = true;
		apply->result->interrupted = true;
		emit(apply, RG_EVENT_INTERRUPT, NULL, NULL,
			"Interrupted: nothing new is started; waiting for requests in flight "
			"(interrupt "
			"again to stop at once)");
	}
	return level;
}

void emit(Apply *apply, RgEventType type, const Step *step, const RgDiag *diag, const char *text)
{
	if (!apply->options->event)
		return;
	RgEvent event = {.type = type, .diag = diag, .text = text, .done = apply->ended};
	event.total = apply->plan->create + apply->plan->update + apply->plan->replace +
		      apply->plan->remove + apply->plan->release;
	if (step) {
		Live *live = live_get(apply, step->change->address);
		event.address = step->change->address;
		event.removal = step->change->removal;
		event.pool = rg_plan_change_pool(step->change);
		event.action = step->kind == STEP_REMOVE ? RG_ACTION_DELETE
			       : step->kind == STEP_CREATE || step->kind == STEP_REPLAYED
				       ? RG_ACTION_CREATE
			       : (step->kind == STEP_UPDATE || step->kind == STEP_LOOK) &&
					       step->change->action != RG_ACTION_RELEASE
				       ? RG_ACTION_UPDATE
				       : step->change->action;
		bool making = event.action == RG_ACTION_CREATE && type != RG_EVENT_DONE &&
			      type != RG_EVENT_QUEUED;
		event.id = making ? NULL : live ? live->id : step->change->id;
		event.seconds =
			step->started_ms
				? (double)(rg_clock_monotonic_ms() - step->started_ms) / 1000.0
				: 0.0;
	}
	apply->options->event(apply->options->event_data, &event);
}

void emit_still(Apply *apply)
{
	int64_t now = rg_clock_monotonic_ms();
	if (now - apply->still_ms < STILL_LOOK_MS)
		return;
	apply->still_ms = now;
	emit(apply, RG_EVENT_TIME, NULL, NULL, NULL);
	rg_ptr_foreach (Step, step, apply->steps) {
		if (step->state != STEP_RUNNING && step->state != STEP_POLLED)
			continue;
		int64_t every_ms = step->fault && !step->told_ms ? STILL_FAULT_MS : STILL_EVERY_MS;
		if (now - MAX(step->started_ms, step->told_ms) < every_ms)
			continue;
		step->told_ms = now;
		emit(apply, RG_EVENT_STILL, step, NULL, step->why);
	}
}

const RgDiag *last_diag(const Apply *apply)
{
	size_t n = rg_diags_count(apply->diags);
	return n ? rg_diags_get(apply->diags, n - 1) : NULL;
}

void leave_open(Apply *apply, const char *address)
{
	apply->result->open++;
	g_ptr_array_add(apply->open, g_strdup(address));
}

/* Rule 5: a user who interrupts must learn what may exist without a record. */
void emit_open(Apply *apply)
{
	if (!apply->result->interrupted || !apply->open->len)
		return;
	g_autoptr(GString) text =
		g_string_new("left in the journal for the next apply to resolve:");
	for (guint i = 0; i < apply->open->len && i < OPEN_SHOWN; i++)
		g_string_append_printf(
			text, "%s %s", i ? "," : "", (const char *)apply->open->pdata[i]);
	if (apply->open->len > OPEN_SHOWN)
		g_string_append_printf(text, " and %u more", apply->open->len - OPEN_SHOWN);
	emit(apply, RG_EVENT_INTERRUPT, NULL, NULL, text->str);
}

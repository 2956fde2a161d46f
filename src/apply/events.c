#include "apply/internal.h"
#include "base/clock.h"

#define STILL_EVERY_MS 10000

int apply_interrupted(Apply *apply)
{
	const RgApplyOptions *options = apply->options;
	int level = options->interrupted ? options->interrupted(options->interrupted_data) : 0;
	if (level && !apply->stopping) {
		apply->stopping = true;
		apply->result->interrupted = true;
		emit(apply, RG_EVENT_INTERRUPT, NULL, NULL,
			"nothing new is started; requests in flight may end");
	}
	return level;
}

void emit(Apply *apply, RgEventType type, const Step *step, const RgDiag *diag, const char *text)
{
	if (!apply->options->event)
		return;
	RgEvent event = {.type = type, .diag = diag, .text = text, .done = apply->ended};
	event.total = apply->plan->create + apply->plan->update + apply->plan->replace +
		      apply->plan->remove;
	if (step) {
		Live *live = live_get(apply, step->change->address);
		event.address = step->change->address;
		event.group = step->change->group;
		event.action = step->kind == STEP_REMOVE ? RG_ACTION_DELETE
			       : step->kind == STEP_CREATE || step->kind == STEP_REPLAYED
				       ? RG_ACTION_CREATE
			       : step->kind == STEP_UPDATE ? RG_ACTION_UPDATE
							   : step->change->action;
		event.id = live ? live->id : step->change->id;
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
	for (guint i = 0; i < apply->steps->len; i++) {
		Step *step = apply->steps->pdata[i];
		if (step->state != STEP_RUNNING && step->state != STEP_STARTING)
			continue;
		if (now - MAX(step->started_ms, step->told_ms) < STILL_EVERY_MS)
			continue;
		step->told_ms = now;
		emit(apply, RG_EVENT_STILL, step, NULL, NULL);
	}
}

RgDiag *batch_diag(Apply *apply, const char *verb, GPtrArray *failed, const RgItemResult *result)
{
	const Step *first = failed->pdata[0];
	const RgPlanChange *change = first->change;
	g_autofree char *more =
		failed->len > 1 ? g_strdup_printf(" and %u more", failed->len - 1) : NULL;
	RgDiag *diag = rg_diags_error(apply->diags, rg_class_code(result->class_),
		"%s %s%s: %s%s%s", verb, change->address, more ? more : "",
		result->code ? result->code : "", result->code ? ": " : "",
		result->message ? result->message : rg_class_name(result->class_));
	rg_diag_at(diag, change->source);
	rg_diag_address(diag, change->address, result->attribute);
	rg_diag_cloud(diag, rg_provider_name(apply->provider), result->code, result->request_id);
	if (result->class_ == RG_CLASS_CAPACITY)
		rg_diag_hint(diag,
			"the cloud has no more of these now; run apply again later, or name "
			"another zone or type: what was obtained is kept and recorded");
	return diag;
}

#include "apply/internal.h"
#include "base/clock.h"
#include "resource/expr.h"

/* What the cloud did not take over from a create or update: `ready` names it, and one update in
 * the same run sets it. Some of it shows only once another resource uses it: an interface has its
 * public address when an instance runs with it. The plan has none of these steps, so they are not
 * counted as its changes; if the run ends before them, the next plan shows what is missing. */

static bool may_begin(const Apply *apply)
{
	return !apply->stopping && !apply->store_failed;
}

static void look_at(Apply *apply, const char *address, const RgPlanChange *user)
{
	const RgPlanChange *change = g_hash_table_lookup(apply->changes, address);
	const Live *live = change ? live_get(apply, address) : NULL;
	/* not one with a change that this run has not made */
	if (!live || !change->desired || (change->action != RG_ACTION_NONE && !live->attrs))
		return;
	Step *look = step_extra(apply, change, STEP_LOOK);
	look->user = user;
	look->started_ms = rg_clock_monotonic_ms();
	poll_add(apply, look, JOB_READY);
}

/* What the resource of the step refers to is in use now. */
static void look_at_used(Apply *apply, const Step *step)
{
	const RgKind *kind = kind_of(apply, step->change->kind);
	if (!kind || !may_begin(apply) || step->kind == STEP_LOOK)
		return;
	rg_hash_foreach (name, const RgAttribute, attribute, kind->attributes) {
		const json_t *value = json_object_get(step->change->desired, name);
		const char *address = rg_json_str(value, "$ref", NULL);
		if (attribute->attaches && address)
			look_at(apply, address, step->change);
	}
}

/* Once: what the cloud still does not have is left to the next plan. */
static void update(Apply *apply, const Step *step, json_t *changed)
{
	const RgPlanChange *now = g_hash_table_lookup(apply->changes, step->change->address);
	Step *next = step_extra(apply, now ? now : step->change, STEP_UPDATE);
	next->changed = json_incref(changed);
	next->user = step->user;
	step_set(apply, next, STEP_READY);
}

/* Its creation was recovered under the name that its pool had: its marks still say that. */
static void mark_again(Apply *apply, const Step *step)
{
	const RgKind *kind = kind_of(apply, step->change->kind);
	const RgResource *record =
		rg_resource_set_find(apply->snapshot->recorded, step->change->address);
	if (step->kind != STEP_REPLAYED || !record || !record->mismarked || !kind ||
		!kind->updates_marks || !may_begin(apply))
		return;
	json_auto_t *marks = json_pack("[s]", RG_MARKS);
	update(apply, step, marks);
}

static void finish(Apply *apply, Step *step)
{
	if (step->state != STEP_DONE)
		step_done(apply, step);
	look_at_used(apply, step);
	mark_again(apply, step);
}

void settle_begin(Apply *apply, Step *step)
{
	poll_add(apply, step, JOB_READY);
	if (step->state == STEP_DONE) /* nothing to wait for */
		finish(apply, step);
}

void settle_ready(Apply *apply, Step *step, const RgItemResult *result)
{
	finish(apply, step);
	if (step->changed && step->user && may_begin(apply))
		look_at(apply, step->user->address, NULL); /* its own outputs may show it */
	else if (result->changed && !step->changed && may_begin(apply))
		update(apply, step, result->changed);
}

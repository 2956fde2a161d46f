#include "apply/internal.h"
#include "base/clock.h"

/* The graph of calls. A replace is two steps, so its edges can't be drawn between changes:
 * what is created waits for what it refers to; what is removed waits for the removal of what
 * refers to it; the new one of a replace waits for the removal of the old one. */

typedef struct {
	Step *remove, *make; /* make: create, update, record; either may be NULL */
} Pair;

static void pair_free(void *data)
{
	g_free(data);
}

void step_free(Step *step)
{
	g_ptr_array_unref(step->unblocks);
	g_free(step);
}

static Step *add_step(Apply *apply, const RgPlanChange *change, StepKind kind)
{
	Step *step = g_new0(Step, 1);
	step->change = change;
	step->kind = kind;
	step->first = step->last = true;
	step->unblocks = g_ptr_array_new();
	g_ptr_array_add(apply->steps, step);
	return step;
}

static void wait_for(Step *later, Step *earlier)
{
	if (!later || !earlier || later == earlier)
		return;
	g_ptr_array_add(earlier->unblocks, later);
	later->waiting++;
}

static bool was_recovered(const Apply *apply, const RgPlanChange *change)
{
	return change->replay && g_hash_table_contains(apply->recovered, change->address);
}

/* What a change still needs, now that the open journal rows were replayed (decide.md 16 to 18). */
static Pair *add_change(Apply *apply, const RgPlanChange *change)
{
	Pair *pair = g_new0(Pair, 1);
	bool recovered = was_recovered(apply, change);
	switch (change->action) {
	case RG_ACTION_CREATE:
		pair->make = add_step(apply, change, recovered ? STEP_REPLAYED : STEP_CREATE);
		break;
	case RG_ACTION_UPDATE:
		pair->make = add_step(apply, change, STEP_UPDATE);
		break;
	case RG_ACTION_REPLACE:
		if (!change->replay || recovered)
			pair->remove = add_step(apply, change, STEP_REMOVE);
		pair->make = add_step(apply, change, STEP_CREATE);
		break;
	case RG_ACTION_DELETE:
		pair->remove = add_step(
			apply, change, change->replay && !recovered ? STEP_FORGET : STEP_REMOVE);
		break;
	case RG_ACTION_RECORD:
		pair->make = add_step(apply, change, STEP_RECORD);
		break;
	case RG_ACTION_FORGET:
		pair->remove = add_step(apply, change, STEP_FORGET);
		break;
	case RG_ACTION_NONE:
	case RG_ACTION_STOP:
		break;
	}
	if (pair->remove && pair->make) {
		pair->remove->last = pair->make->first = false;
		wait_for(pair->make, pair->remove);
	}
	return pair;
}

static void add_edges(GHashTable *pairs, const RgPlanChange *change)
{
	Pair *mine = g_hash_table_lookup(pairs, change->address);
	for (guint i = 0; change->depends_on && change->depends_on[i]; i++) {
		Pair *other = g_hash_table_lookup(pairs, change->depends_on[i]);
		if (!other)
			continue;
		wait_for(mine->make, other->make);
		wait_for(other->remove, mine->remove);
	}
}

void steps_build(Apply *apply)
{
	g_autoptr(GHashTable) pairs =
		g_hash_table_new_full(g_str_hash, g_str_equal, NULL, pair_free);
	const GPtrArray *changes = apply->plan->changes;
	for (guint i = 0; i < changes->len; i++) {
		const RgPlanChange *change = changes->pdata[i];
		if (change->action != RG_ACTION_NONE && change->action != RG_ACTION_STOP)
			g_hash_table_insert(pairs, change->address, add_change(apply, change));
	}
	for (guint i = 0; i < changes->len; i++) {
		const RgPlanChange *change = changes->pdata[i];
		if (g_hash_table_contains(pairs, change->address))
			add_edges(pairs, change);
	}
	for (guint i = 0; i < apply->steps->len; i++) {
		Step *step = apply->steps->pdata[i];
		if (!step->waiting)
			step->state = STEP_READY;
	}
}

static void count_done(Apply *apply, const Step *step)
{
	RgApplyResult *result = apply->result;
	switch (step->kind) {
	case STEP_CREATE:
	case STEP_REPLAYED:
		result->added++;
		break;
	case STEP_UPDATE:
		result->changed++;
		break;
	case STEP_REMOVE:
		result->destroyed++;
		break;
	case STEP_RECORD:
	case STEP_FORGET:
		break;
	}
}

void step_done(Apply *apply, Step *step)
{
	step->state = STEP_DONE;
	if (step->last && step->kind != STEP_RECORD && step->kind != STEP_FORGET)
		apply->ended++;
	count_done(apply, step);
	emit(apply, RG_EVENT_DONE, step, NULL, NULL);
	for (guint i = 0; i < step->unblocks->len; i++) {
		Step *next = step->unblocks->pdata[i];
		if (--next->waiting == 0 && next->state == STEP_WAITING)
			next->state = STEP_READY;
	}
}

static void block_dependents(Apply *apply, const Step *failed, const char *culprit)
{
	for (guint i = 0; i < failed->unblocks->len; i++) {
		Step *next = failed->unblocks->pdata[i];
		if (next->state != STEP_WAITING)
			continue;
		next->state = STEP_BLOCKED;
		if (next->last) {
			apply->result->blocked++;
			apply->ended++;
		}
		emit(apply, RG_EVENT_BLOCKED, next, NULL, culprit);
		block_dependents(apply, next, culprit);
	}
}

void step_fail(Apply *apply, Step *step, const RgDiag *why)
{
	step->state = STEP_FAILED;
	apply->result->failed++;
	if (step->last)
		apply->ended++;
	emit(apply, RG_EVENT_FAILED, step, why, NULL);
	block_dependents(apply, step, step->change->address);
}

bool apply_has_work(const Apply *apply)
{
	if (apply->running)
		return true;
	for (guint i = 0; i < apply->steps->len; i++) {
		const Step *step = apply->steps->pdata[i];
		if (step->state == STEP_READY && !apply->stopping && !apply->store_failed)
			return true;
		if (step->state == STEP_STARTING && !apply->stopping)
			return true;
	}
	return false;
}

#include "apply/internal.h"

/* Gang pools: the missing nodes of one are created all or none (apply.h, rule 6). Their creates
 * start together, in calls that accept no fewer than all. If one of them definitely fails, those
 * that have not started do not start, and the nodes that this run created for the same pool are
 * removed; existing nodes, and other pools, stay. A failure that leaves the outcome of a node open
 * removes nothing: the next apply may find the node. Steps are not aware of this: the loop in
 * apply.c checks their states before it starts anything.
 * Where the cloud has no capacity and there is another candidate, the gang moves: its new nodes are
 * removed, then all of it is requested there. Pools whose nodes are in one zone move so too, but
 * keep what they have when no candidate is left (`loose`). */

struct Gang {
	const char *pool;
	GPtrArray *steps;    /* Step*: the creates */
	GPtrArray *leaving;  /* Step*: removals that a move waits for */
	bool loose;	     /* keeps what it has when it can't be completed */
	bool moving;	     /* to the next candidate, when nothing is left at this one */
	bool begun;	     /* all were ready */
	bool failed;	     /* no more creates of it start */
	bool giving_back;    /* ... and its new nodes are removed */
	const char *culprit; /* address of the one that failed */
};

static void gang_free(void *data)
{
	Gang *gang = data;
	g_ptr_array_unref(gang->steps);
	g_ptr_array_unref(gang->leaving);
	g_free(gang);
}

static bool is_gang(const RgPlan *plan, const char *pool)
{
	const RgPlanPool *known = rg_plan_pool(plan, pool);
	return known && known->gang;
}

static Gang *gang_for(Apply *apply, const char *pool)
{
	rg_ptr_foreach (Gang, gang, apply->gangs)
		if (g_str_equal(gang->pool, pool))
			return gang;
	Gang *gang = g_new0(Gang, 1);
	gang->pool = pool;
	gang->steps = g_ptr_array_new();
	gang->leaving = g_ptr_array_new();
	gang->loose = !is_gang(apply->plan, pool);
	g_ptr_array_add(apply->gangs, gang);
	return gang;
}

void gangs_build(Apply *apply)
{
	apply->gangs = g_ptr_array_new_with_free_func(gang_free);
	rg_ptr_foreach (Step, step, apply->steps) {
		if (step->kind != STEP_CREATE || step->change->index < 0 ||
			(!is_gang(apply->plan, step->change->group) && !candidates_are_whole(step)))
			continue;
		step->gang = gang_for(apply, step->change->group);
		step->held = true;
		g_ptr_array_add(step->gang->steps, step);
	}
}

bool gang_is_failed(const Step *step)
{
	return step->gang && step->gang->failed;
}

bool gang_is_given_back(const Step *step)
{
	return step->gang && !step->gang->loose;
}

bool gang_takes_all(const Apply *apply, const Step *step)
{
	return step->gang && (!step->gang->loose || !candidates_end(apply, step));
}

/* What it got where the gang doesn't stay. */
static void leave(Apply *apply, Step *step)
{
	bool was_done = step->state == STEP_DONE;
	apply->result->added -= was_done;
	apply->ended -= was_done && step->last;
	step_set(apply, step, STEP_WAITING);
	Step *removal = step_give_back(apply, step);
	g_ptr_array_add(step->gang->leaving, removal);
	step_set(apply, removal, STEP_READY);
}

bool gang_gives_back(Apply *apply, Step *step)
{
	if (step->gang && step->gang->moving && !apply->stopping && !apply->store_failed) {
		leave(apply, step);
		return true;
	}
	if (!step->gang || !step->gang->giving_back || apply->stopping || apply->store_failed)
		return false;
	bool was_done = step->state == STEP_DONE, had_failed = step->state == STEP_FAILED;
	step_set(apply, step, STEP_FAILED);
	apply->result->added -= was_done;
	apply->ended += step->last && !was_done && !had_failed;
	step_block_dependents(apply, step, step->gang->culprit);
	step_set(apply, step_give_back(apply, step), STEP_READY);
	return true;
}

/* For those that still run, their answer decides: create_finish and ready_finish check again. */
static void stop_member(Apply *apply, Step *step)
{
	const Gang *gang = step->gang;
	if (step->state == STEP_WAITING || step->state == STEP_READY)
		step_block(apply, step, gang->culprit);
	else if (gang->giving_back &&
		 (step->state == STEP_DONE || step->late ||
			 (step->state == STEP_POLLED && poll_drop(apply, step))))
		gang_gives_back(apply, step);
}

static void gang_fail(Apply *apply, Gang *gang, const Step *culprit)
{
	gang->moving = false;
	gang->failed = true;
	gang->culprit = culprit->change->address;
	gang->giving_back = !culprit->in_doubt;
	if (gang->giving_back && !apply->stopping) {
		g_autofree char *text =
			g_strdup_printf("Pool %s is a gang and cannot be completed: "
					"removing what this run created of it.",
				gang->pool);
		emit(apply, RG_EVENT_GANG, NULL, NULL, text);
	}
	for (guint i = 0; i < gang->steps->len; i++)
		stop_member(apply, gang->steps->pdata[i]);
}

/* The member that definitely failed, else the first with an unknown outcome. Once the gang has
 * failed, only the former is reported: stop_member blocked the others. */
static const Step *gang_find_culprit(const Gang *gang)
{
	const Step *doubtful = NULL;
	rg_ptr_foreach (const Step, step, gang->steps) {
		if (step->state != STEP_FAILED && (step->state != STEP_BLOCKED || gang->failed))
			continue;
		if (!step->in_doubt)
			return step;
		if (!doubtful && !gang->failed)
			doubtful = step;
	}
	return doubtful;
}

static bool is_over(const Step *step)
{
	return step->state == STEP_FAILED || step->state == STEP_BLOCKED;
}

static void gang_begin(Apply *apply, Gang *gang)
{
	rg_ptr_foreach (const Step, step, gang->steps)
		if (step->state != STEP_READY && !(gang->loose && is_over(step)))
			return;
	gang->begun = true;
	rg_ptr_foreach (Step, step, gang->steps) {
		step->held = false;
		if (step->state == STEP_READY)
			batches_add(apply, step);
	}
}

/* ---- on to the next candidate */

bool gang_moves(Apply *apply, const GPtrArray *refused)
{
	Gang *gang = ((Step *)refused->pdata[0])->gang;
	if (!gang)
		return false;
	gang->moving = true;
	rg_ptr_foreach (Step, step, refused) {
		if (step->state == STEP_POLLED)
			leave(apply, step); /* it is recorded */
		else
			step_set(apply, step, STEP_WAITING);
	}
	rg_ptr_foreach (Step, step, gang->steps) {
		if (step->state == STEP_READY && !step->held) {
			batches_drop(apply, step);
			step_set(apply, step, STEP_WAITING);
		} else if (step->state == STEP_DONE ||
			   (step->state == STEP_POLLED && poll_drop(apply, step))) {
			leave(apply, step);
		}
	}
	return true;
}

/* Members whose answer is out decide when it comes. */
static bool is_quiet(const Gang *gang)
{
	for (guint i = 0; i < gang->steps->len; i++) {
		StepState state = ((Step *)gang->steps->pdata[i])->state;
		if (state == STEP_RUNNING || state == STEP_POLLED)
			return false;
	}
	rg_ptr_foreach (const Step, removal, gang->leaving)
		if (removal->state != STEP_DONE && !is_over(removal))
			return false;
	return true;
}

static void gang_go_on(Apply *apply, Gang *gang)
{
	g_autoptr(GPtrArray) steps = g_ptr_array_new();
	const Step *stays = NULL;
	if (apply->stopping || !is_quiet(gang))
		return;
	for (guint i = 0; i < gang->leaving->len; i++) {
		if (is_over(gang->leaving->pdata[i]))
			stays = gang->leaving->pdata[i];
	}
	gang->moving = gang->begun = false;
	g_ptr_array_set_size(gang->leaving, 0);
	rg_ptr_foreach (Step, step, gang->steps) {
		if (step->state != STEP_WAITING)
			continue;
		if (stays) { /* two candidates would hold its nodes */
			step_block(apply, step, stays->change->address);
			continue;
		}
		step->held = true;
		g_ptr_array_add(steps, step);
	}
	candidates_move(apply, steps);
}

void gangs_look(Apply *apply)
{
	for (guint i = 0; i < apply->gangs->len && !apply->store_failed; i++) {
		Gang *gang = apply->gangs->pdata[i];
		const Step *culprit =
			gang->giving_back || gang->loose ? NULL : gang_find_culprit(gang);
		if (culprit)
			gang_fail(apply, gang, culprit);
		else if (gang->moving)
			gang_go_on(apply, gang);
		if (!gang->begun && !gang->failed && !gang->moving)
			gang_begin(apply, gang);
	}
}

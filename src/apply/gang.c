#include "apply/internal.h"

/* Gang pools: the missing nodes of one are created all or none (apply.h, rule 6). Their creates
 * start together, in calls that accept no fewer than all. If one of them definitely fails, those
 * that have not started do not start, and the nodes that this run created for the same pool are
 * removed; existing nodes, and other pools, stay. A failure that leaves the outcome of a node open
 * removes nothing: the next apply may find the node. Steps are not aware of this: the loop in
 * apply.c checks their states before it starts anything. */

struct Gang {
	const char *pool;
	GPtrArray *steps;    /* Step*: the creates */
	bool begun;	     /* all were ready */
	bool failed;	     /* no more creates of it start */
	bool giving_back;    /* ... and its new nodes are removed */
	const char *culprit; /* address of the one that failed */
};

static void gang_free(void *data)
{
	Gang *gang = data;
	g_ptr_array_unref(gang->steps);
	g_free(gang);
}

static bool is_gang(const RgPlan *plan, const char *pool)
{
	const RgPlanPool *known = rg_plan_pool(plan, pool);
	return known && known->gang;
}

static Gang *gang_for(Apply *apply, const char *pool)
{
	for (guint i = 0; i < apply->gangs->len; i++) {
		Gang *gang = apply->gangs->pdata[i];
		if (g_str_equal(gang->pool, pool))
			return gang;
	}
	Gang *gang = g_new0(Gang, 1);
	gang->pool = pool;
	gang->steps = g_ptr_array_new();
	g_ptr_array_add(apply->gangs, gang);
	return gang;
}

void gangs_build(Apply *apply)
{
	apply->gangs = g_ptr_array_new_with_free_func(gang_free);
	for (guint i = 0; i < apply->steps->len; i++) {
		Step *step = apply->steps->pdata[i];
		if (step->kind != STEP_CREATE || step->change->index < 0 ||
			!is_gang(apply->plan, step->change->group))
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

bool gang_gives_back(Apply *apply, Step *step)
{
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
	for (guint i = 0; i < gang->steps->len; i++) {
		const Step *step = gang->steps->pdata[i];
		if (step->state != STEP_FAILED && (step->state != STEP_BLOCKED || gang->failed))
			continue;
		if (!step->in_doubt)
			return step;
		if (!doubtful && !gang->failed)
			doubtful = step;
	}
	return doubtful;
}

static void gang_begin(Apply *apply, Gang *gang)
{
	for (guint i = 0; i < gang->steps->len; i++) {
		if (((Step *)gang->steps->pdata[i])->state != STEP_READY)
			return;
	}
	gang->begun = true;
	for (guint i = 0; i < gang->steps->len; i++) {
		Step *step = gang->steps->pdata[i];
		step->held = false;
		batches_add(apply, step);
	}
}

void gangs_look(Apply *apply)
{
	for (guint i = 0; i < apply->gangs->len && !apply->store_failed; i++) {
		Gang *gang = apply->gangs->pdata[i];
		const Step *culprit = gang->giving_back ? NULL : gang_find_culprit(gang);
		if (culprit)
			gang_fail(apply, gang, culprit);
		else if (!gang->begun && !gang->failed)
			gang_begin(apply, gang);
	}
}

#include "apply/internal.h"

/* Pools that are replaced a few nodes at a time: each replace begins when one before it has ended.
 * Its sequence is: drain (one day), remove, create, ready; with max_surge: create, ready, drain,
 * remove. When one fails, those that have not begun don't, and their nodes stay. */

static void rolling_free(void *data)
{
	Rolling *rolling = data;
	g_ptr_array_unref(rolling->firsts);
	g_free(rolling);
}

static Rolling *rolling_for(Apply *apply, const char *name)
{
	for (guint i = 0; name && i < apply->rollings->len; i++) {
		Rolling *rolling = apply->rollings->pdata[i];
		if (g_str_equal(rolling->pool->pool, name))
			return rolling;
	}
	return NULL;
}

static void order(gpointer data, G_GNUC_UNUSED gpointer user)
{
	Rolling *rolling = data;
	GPtrArray *firsts = rolling->firsts;
	g_ptr_array_sort(firsts, steps_by_index);
	guint together = MAX(rolling->pool->max_unavailable, rolling->pool->max_surge);
	for (guint i = together; i < firsts->len; i++) {
		const Step *before = firsts->pdata[i - together];
		/* what a first half unblocks first is its second half */
		step_wait_for(firsts->pdata[i], before->unblocks->pdata[0]);
	}
}

void rollings_build(Apply *apply)
{
	apply->rollings = g_ptr_array_new_with_free_func(rolling_free);
	for (guint i = 0; i < apply->plan->pools->len; i++) {
		const RgPlanPool *pool = apply->plan->pools->pdata[i];
		if (!pool->max_unavailable && !pool->max_surge)
			continue;
		Rolling *rolling = g_new0(Rolling, 1);
		rolling->pool = pool;
		rolling->firsts = g_ptr_array_new();
		g_ptr_array_add(apply->rollings, rolling);
	}
	for (guint i = 0; i < apply->steps->len; i++) {
		Step *step = apply->steps->pdata[i];
		Rolling *rolling = step->first && !step->last && step->change->index >= 0
					   ? rolling_for(apply, step->change->group)
					   : NULL;
		if (!rolling)
			continue;
		step->rolling = ((Step *)step->unblocks->pdata[0])->rolling = rolling;
		g_ptr_array_add(rolling->firsts, step);
	}
	g_ptr_array_foreach(apply->rollings, order, NULL);
}

void rollings_look(Apply *apply)
{
	for (guint i = 0; i < apply->rollings->len && !apply->store_failed; i++) {
		Rolling *rolling = apply->rollings->pdata[i];
		if (!rolling->culprit || rolling->ended)
			continue;
		rolling->ended = true;
		for (guint k = 0; k < rolling->firsts->len; k++) {
			Step *step = rolling->firsts->pdata[k];
			if (step->state == STEP_WAITING || step->state == STEP_READY)
				step_block(apply, step, rolling->culprit->change->address);
		}
	}
}

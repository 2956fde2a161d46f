#include "apply/internal.h"

/* Pools that are replaced node by node (RgPlanPool.max_unavailable): each node leaves when one
 * before it has come back, so that no more than that many are missing. A node's place in the
 * sequence is: (drain, one day) -> remove -> create -> ready. When one fails, those that have not
 * left stay. */

static void rolling_free(void *data)
{
	Rolling *rolling = data;
	g_ptr_array_unref(rolling->removes);
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

static gint by_index(gconstpointer a, gconstpointer b)
{
	int64_t left = (*(const Step *const *)a)->change->index;
	int64_t right = (*(const Step *const *)b)->change->index;
	return (left > right) - (left < right);
}

/* The creating half, which steps_build puts behind the removing one. */
static Step *make_of(const Apply *apply, guint remove)
{
	Step *next = remove + 1 < apply->steps->len ? apply->steps->pdata[remove + 1] : NULL;
	return next && next->change == ((Step *)apply->steps->pdata[remove])->change ? next : NULL;
}

static void order(gpointer data, G_GNUC_UNUSED gpointer user)
{
	Rolling *rolling = data;
	GPtrArray *removes = rolling->removes;
	g_ptr_array_sort(removes, by_index);
	for (guint i = rolling->pool->max_unavailable; i < removes->len; i++) {
		const Step *before = removes->pdata[i - rolling->pool->max_unavailable];
		/* what a removing half unblocks first is its creating half */
		step_wait_for(removes->pdata[i], before->unblocks->pdata[0]);
	}
}

void rollings_build(Apply *apply)
{
	apply->rollings = g_ptr_array_new_with_free_func(rolling_free);
	for (guint i = 0; i < apply->plan->pools->len; i++) {
		const RgPlanPool *pool = apply->plan->pools->pdata[i];
		if (!pool->max_unavailable)
			continue;
		Rolling *rolling = g_new0(Rolling, 1);
		rolling->pool = pool;
		rolling->removes = g_ptr_array_new();
		g_ptr_array_add(apply->rollings, rolling);
	}
	for (guint i = 0; i < apply->steps->len; i++) {
		Step *step = apply->steps->pdata[i], *make = make_of(apply, i);
		Rolling *rolling = step->kind == STEP_REMOVE && make && step->change->index >= 0
					   ? rolling_for(apply, step->change->group)
					   : NULL;
		if (!rolling)
			continue;
		step->rolling = make->rolling = rolling;
		g_ptr_array_add(rolling->removes, step);
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
		for (guint k = 0; k < rolling->removes->len; k++) {
			Step *step = rolling->removes->pdata[k];
			if (step->state == STEP_WAITING || step->state == STEP_READY)
				step_block(apply, step, rolling->culprit->change->address);
		}
	}
}

#include "apply/internal.h"
#include "base/clock.h"

/* Ready steps go out in batches: steps of one kind of call, one kind of resource and, for
 * creates, one pool with equal attributes, up to the batch size of the provider's schema. */

#define INDEXES_TEXT_MAX 240 /* a tag value holds 256 characters on AWS, fewer names elsewhere */

/* Steps that may share a call have equal keys. */
static char *batch_key(Apply *apply, const Step *step)
{
	const RgPlanChange *change = step->change;
	if (step->kind != STEP_CREATE)
		return g_strdup_printf("%d %s", (int)step->kind, change->kind);
	if (change->index < 0)
		return g_strdup_printf("create %s", change->address);
	const char *digest = g_hash_table_lookup(apply->digests, change->desired);
	if (!digest) {
		char *made = rg_json_digest(change->desired);
		g_hash_table_insert(apply->digests, change->desired, made);
		digest = made;
	}
	return g_strdup_printf("create %s %s %s", change->kind, change->name, digest);
}

static size_t batch_max(Apply *apply, const Step *step)
{
	const RgKind *kind =
		rg_schema_kind(rg_provider_get_schema(apply->provider), step->change->kind);
	if (!kind)
		return 1;
	return (size_t)MAX(1, step->kind == STEP_CREATE	  ? kind->batch_create
			      : step->kind == STEP_UPDATE ? kind->batch_update
							  : kind->batch_remove);
}

static int by_index(const void *a, const void *b)
{
	const Step *const *left = a, *const *right = b;
	return (*left)->change->index < (*right)->change->index
		       ? -1
		       : (*left)->change->index > (*right)->change->index;
}

static void start_batch(Apply *apply, GPtrArray *steps)
{
	const Step *first = steps->pdata[0];
	for (guint i = 0; i < steps->len; i++) {
		Step *step = steps->pdata[i];
		step->started_ms = rg_clock_monotonic_ms();
		emit(apply, RG_EVENT_START, step, NULL, NULL);
		step->state = STEP_RUNNING;
	}
	Job *job = first->kind == STEP_CREATE	? create_prepare(apply, steps)
		   : first->kind == STEP_UPDATE ? update_prepare(apply, steps)
						: remove_prepare(apply, steps);
	if (!job)
		return;
	job->started_ms = rg_clock_monotonic_ms();
	apply->running++;
	jobs_submit(apply->jobs, job);
}

/* The text of the indexes grows by at most 8 characters a member ("99999-" or "99999,"). */
static bool batch_full(const GPtrArray *batch, const Step *next, size_t max)
{
	if (batch->len >= max)
		return true;
	if (next->kind != STEP_CREATE)
		return false;
	size_t text = 0;
	int64_t previous = -2;
	for (guint i = 0; i < batch->len; i++) {
		const Step *step = batch->pdata[i];
		if (step->change->index != previous + 1)
			text += 14;
		previous = step->change->index;
	}
	return text + 14 > INDEXES_TEXT_MAX && next->change->index != previous + 1;
}

static unsigned free_slots(const Apply *apply)
{
	unsigned limit = apply->options->parallelism ? apply->options->parallelism : 10;
	return apply->running < limit ? limit - apply->running : 0;
}

static void start_group(Apply *apply, GPtrArray *group)
{
	g_ptr_array_sort(group, by_index);
	size_t max = batch_max(apply, group->pdata[0]);
	g_autoptr(GPtrArray) batch = g_ptr_array_new();
	for (guint i = 0; i < group->len && free_slots(apply); i++) {
		if (batch->len && batch_full(batch, group->pdata[i], max)) {
			start_batch(apply, batch);
			g_ptr_array_unref(batch);
			batch = g_ptr_array_new();
		}
		g_ptr_array_add(batch, group->pdata[i]);
	}
	if (batch->len && free_slots(apply))
		start_batch(apply, batch);
}

static GPtrArray *ready_groups(Apply *apply, bool *local)
{
	*local = false;
	g_autoptr(GHashTable) by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GPtrArray *groups = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
	for (guint i = 0; i < apply->steps->len; i++) {
		Step *step = apply->steps->pdata[i];
		if (step->state != STEP_READY)
			continue;
		if (step_is_local(step)) {
			local_step(apply, step);
			*local = true;
			continue;
		}
		g_autofree char *key = batch_key(apply, step);
		GPtrArray *group = g_hash_table_lookup(by_key, key);
		if (!group) {
			group = g_ptr_array_new();
			g_ptr_array_add(groups, group);
			g_hash_table_insert(by_key, g_steal_pointer(&key), group);
		}
		g_ptr_array_add(group, step);
	}
	return groups;
}

void batches_start(Apply *apply)
{
	bool local = true;
	while (local && !apply->stopping && !apply->store_failed) {
		g_autoptr(GPtrArray) groups = ready_groups(apply, &local);
		for (guint i = 0; i < groups->len && free_slots(apply); i++)
			start_group(apply, groups->pdata[i]);
	}
}

#include "apply/internal.h"
#include "base/clock.h"

/* Ready steps are sent in batches: steps of one kind of call, one kind of resource and, for
 * creates, one pool with equal attributes, up to the batch size of the provider's schema. Groups
 * take turns, so that a large pool does not delay the others. */

struct Group {
	char *key;
	GPtrArray *steps; /* Step*; those before `next` are already sent */
	guint next;
	bool sorted, queued;
};

void group_free(Group *group)
{
	g_ptr_array_unref(group->steps);
	g_free(group->key);
	g_free(group);
}

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

static Group *group_of(Apply *apply, const Step *step)
{
	g_autofree char *key = batch_key(apply, step);
	Group *group = g_hash_table_lookup(apply->groups, key);
	if (group)
		return group;
	group = g_new0(Group, 1);
	group->key = g_steal_pointer(&key);
	group->steps = g_ptr_array_new();
	g_hash_table_insert(apply->groups, group->key, group);
	return group;
}

static bool is_local(const Step *step)
{
	return step->kind == STEP_RECORD || step->kind == STEP_FORGET ||
	       step->kind == STEP_REPLAYED || g_str_equal(step->change->kind, RG_SECRET_KIND);
}

void batches_add(Apply *apply, Step *step)
{
	if (is_local(step)) {
		g_queue_push_tail(&apply->local, step);
		return;
	}
	Group *group = group_of(apply, step);
	if (group->next == group->steps->len) {
		g_ptr_array_set_size(group->steps, 0);
		group->next = 0;
	}
	g_ptr_array_add(group->steps, step);
	group->sorted = false;
	if (!group->queued)
		g_queue_push_tail(&apply->ready, group);
	group->queued = true;
}

void batches_drop(Apply *apply, Step *step)
{
	Group *group = group_of(apply, step);
	guint at;
	if (g_ptr_array_find(group->steps, step, &at) && at >= group->next)
		g_ptr_array_remove_index(group->steps, at);
}

static size_t batch_max(Apply *apply, const Step *step)
{
	const RgKind *kind = kind_of(apply, step->change->kind);
	if (!kind)
		return 1;
	return (size_t)MAX(1, step->kind == STEP_CREATE	  ? kind->batch_create
			      : step->kind == STEP_UPDATE ? kind->batch_update
							  : kind->batch_remove);
}

static gint steps_by_index(gconstpointer a, gconstpointer b)
{
	int64_t left = (*(const Step *const *)a)->change->index;
	int64_t right = (*(const Step *const *)b)->change->index;
	return (left > right) - (left < right);
}

/* Removes the sent steps and sorts the rest by index. */
static void group_sort(Group *group)
{
	if (group->sorted)
		return;
	g_ptr_array_remove_range(group->steps, 0, group->next);
	group->next = 0;
	g_ptr_array_sort(group->steps, steps_by_index);
	group->sorted = true;
}

/* The index mark of a batch, "0-3,7", as it grows. */
typedef struct {
	GString *text;
	size_t closed;	  /* characters before the last range */
	int64_t from, to; /* the last range */
} Indexes;

static void indexes_add(Indexes *indexes, int64_t index)
{
	if (index < 0)
		return;
	if (!indexes->text->len || index != indexes->to + 1) {
		g_string_append(indexes->text, indexes->text->len ? "," : "");
		indexes->closed = indexes->text->len;
		indexes->from = index;
	}
	indexes->to = index;
	g_string_truncate(indexes->text, indexes->closed);
	g_string_append_printf(indexes->text, "%" G_GINT64_FORMAT, indexes->from);
	if (index > indexes->from)
		g_string_append_printf(indexes->text, "-%" G_GINT64_FORMAT, index);
}

char *indexes_text(const GPtrArray *steps)
{
	Indexes indexes = {.text = g_string_new(NULL)};
	for (guint i = 0; i < steps->len; i++)
		indexes_add(&indexes, ((Step *)steps->pdata[i])->change->index);
	return g_string_free(indexes.text, FALSE);
}

/* All resources of a create have the same marks, with all of their indexes: no more than fit in the
 * mark. */
static GPtrArray *group_take(Apply *apply, Group *group)
{
	group_sort(group);
	GPtrArray *batch = g_ptr_array_new();
	g_autoptr(GString) mark = g_string_new(NULL);
	Indexes indexes = {.text = mark};
	size_t room = rg_schema_indexes_max(rg_provider_get_schema(apply->provider));
	while (group->next < group->steps->len) {
		Step *step = group->steps->pdata[group->next];
		if (step->state == STEP_READY) { /* else it failed before it could start */
			if (step->kind == STEP_CREATE)
				indexes_add(&indexes, step->change->index);
			if (batch->len &&
				(batch->len >= batch_max(apply, step) || mark->len > room))
				break;
			g_ptr_array_add(batch, step);
		}
		group->next++;
	}
	return batch;
}

GPtrArray *batch_take(Apply *apply)
{
	Group *group = g_queue_pop_head(&apply->ready);
	GPtrArray *batch = group_take(apply, group);
	group->queued = group->next < group->steps->len;
	if (group->queued)
		g_queue_push_tail(&apply->ready, group);
	return batch;
}

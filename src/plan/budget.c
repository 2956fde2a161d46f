#include "plan/internal.h"
#include <math.h>
#include <string.h>

/* An estimate of the requests that apply will make: per batch or per item, as the schema says, plus
 * the polling of pending operations. It does not count the pages of the refresh, which is over. */

/* How often a pending resource is polled: a guess. apply/poll.c polls first after 250 ms and then
 * doubles the wait each time, up to 5 s. */
#define LOOKS 6

typedef struct {
	const RgKind *kind;
	unsigned creates, updates, removes;
	GHashTable *batches; /* digest of what is created -> count */
} KindWork;

static void work_free(gpointer data)
{
	KindWork *work = data;
	g_hash_table_destroy(work->batches);
	g_free(work);
}

static void count_change(
	Maker *maker, GHashTable *works, GHashTable *digests, const RgPlanChange *change)
{
	bool removes = change->action == RG_ACTION_DELETE || change->action == RG_ACTION_REPLACE;
	bool creates = change->action == RG_ACTION_CREATE || change->action == RG_ACTION_REPLACE;
	if (g_str_equal(change->kind, RG_SECRET_KIND))
		return;
	KindWork *work = g_hash_table_lookup(works, change->kind);
	if (!work) {
		work = g_new0(KindWork, 1);
		work->kind = rg_schema_kind(maker->schema, change->kind);
		work->batches = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
		g_hash_table_insert(works, (gpointer)(uintptr_t)change->kind, work);
	}
	if (creates) {
		/* One request creates only equal resources; apply separates batches by pool and
		 * desired attributes. */
		const char *digest = g_hash_table_lookup(digests, change->desired);
		if (!digest) {
			digest = rg_json_digest(change->desired);
			g_hash_table_insert(digests, change->desired, (gpointer)(uintptr_t)digest);
		}
		g_autofree char *key =
			g_strconcat(change->group ? change->group : "", "/", digest, NULL);
		unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(work->batches, key));
		g_hash_table_insert(work->batches, g_steal_pointer(&key), GUINT_TO_POINTER(n + 1));
		work->creates++;
	}
	work->removes += removes;
	work->updates += change->action == RG_ACTION_UPDATE ||
			 (change->action == RG_ACTION_RELEASE && !change->keep_marks);
}

static uint64_t requests_of(uint64_t items, int64_t per_item, int64_t batch)
{
	if (per_item)
		return items * (uint64_t)per_item;
	return (items + (uint64_t)batch - 1) / (uint64_t)batch;
}

static uint64_t creates_of(const KindWork *work)
{
	uint64_t calls = 0;
	rg_hash_values (void, n, work->batches)
		calls += requests_of(
			GPOINTER_TO_UINT(n), work->kind->requests.create, work->kind->batch_create);
	return calls;
}

static uint64_t calls_of(const KindWork *work)
{
	const RgKind *kind = work->kind;
	uint64_t updates = requests_of(work->updates, kind->requests.update, kind->batch_update);
	uint64_t removes = requests_of(work->removes, kind->requests.remove, kind->batch_remove);
	uint64_t looks = requests_of(work->creates, kind->requests.ready, kind->list_page);
	/* polling what is pending is the same call again */
	return creates_of(work) + updates * (kind->update_timeout_s ? 1 + LOOKS : 1) +
	       removes * (kind->remove_timeout_s ? 1 + LOOKS : 1) +
	       (kind->ready_timeout_s ? LOOKS * looks : 0);
}

void budget_estimate(Maker *maker)
{
	RgPlan *plan = maker->plan;
	g_autoptr(GHashTable) works =
		g_hash_table_new_full(g_str_hash, g_str_equal, NULL, work_free);
	g_autoptr(GHashTable) digests =
		g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	uint64_t calls = 0;
	rg_ptr_foreach (const RgPlanChange, change, plan->changes)
		if (change->action != RG_ACTION_NONE && change->action != RG_ACTION_STOP)
			count_change(maker, works, digests, change);
	rg_hash_values (void, work, works)
		calls += calls_of(work);
	unsigned burst = rg_schema_burst(maker->schema);
	double late = calls > burst ? (double)(calls - burst) : 0;
	plan->api_calls = (unsigned)MIN(calls, G_MAXUINT32);
	plan->api_seconds = (unsigned)ceil(late / rg_schema_requests_per_s(maker->schema));
}

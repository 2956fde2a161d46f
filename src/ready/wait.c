#include "ready/internal.h"
#include "base/clock.h"

#define LOOK_EVERY_S 15 /* the first ones are sooner: 1, 2, 4, 8 */
#define SLICE_MS 500	/* a signal is noticed after this time */

bool rg_ready_reports(const RgProvider *provider)
{
	return rg_provider_offers(provider, "console") &&
	       rg_schema_runs_start_ray(rg_provider_get_schema(provider));
}

static void emit_look(Wait *wait)
{
	g_autoptr(GArray) pools = g_array_new(FALSE, TRUE, sizeof(RgReadyPool));
	RgReadyPool *pool = NULL;
	int64_t left_s = 0;
	for (guint i = 0; wait->options->event && i < wait->nodes->len; i++) {
		const Node *node = wait->nodes->pdata[i];
		if (!node->awaited)
			continue;
		if (!pool || g_strcmp0(pool->pool, node->pool) != 0) {
			const RgReadyPool next = {.pool = node->pool};
			g_array_append_val(pools, next);
			pool = &g_array_index(pools, RgReadyPool, pools->len - 1);
		}
		pool->nodes++;
		if (node->fate != NODE_JOINED && node->fate != NODE_FAILED)
			left_s = MAX(left_s, node->deadline_s - wait->now_s);
		pool->pulling += node->fate == NODE_PULLS;
		pool->joined += node->fate == NODE_JOINED;
		pool->failed += node->fate == NODE_FAILED;
	}
	const RgReadyEvent event = {(const RgReadyPool *)pools->data, pools->len,
		(double)(rg_clock_monotonic_ms() - wait->begun_ms) / 1000.0, left_s};
	if (wait->options->event)
		wait->options->event(wait->options->event_data, &event);
}

static bool is_interrupted(const Wait *wait)
{
	const RgReadyOptions *options = wait->options;
	return options->interrupted && options->interrupted(options->interrupted_data);
}

/* false: interrupted. */
static bool sleep_until_due(Wait *wait, int64_t seconds)
{
	for (int64_t left_ms = seconds * 1000; left_ms > 0; left_ms -= SLICE_MS) {
		if (is_interrupted(wait) || !rg_provider_sleep(wait->provider, SLICE_MS))
			return false;
	}
	return !is_interrupted(wait);
}

static void run(Wait *wait)
{
	for (int64_t every_s = 1;; every_s = MIN(every_s * 2, LOOK_EVERY_S)) {
		bool more = wait_look(wait);
		if (!wait->result->unknown)
			emit_look(wait);
		if (!more)
			return;
		if (!sleep_until_due(wait, wait_next_s(wait, every_s))) {
			wait->result->interrupted = true;
			return;
		}
	}
}

bool rg_ready_wait(RgProvider *provider, RgStore *store, const char *cluster,
	const RgReadyOptions *options, RgReadyResult *result, RgDiags *diags)
{
	*result = (RgReadyResult){0};
	Wait wait = {.provider = provider,
		.store = store,
		.cluster = cluster,
		.options = options,
		.result = result,
		.diags = diags,
		.begun_ms = rg_clock_monotonic_ms()};
	size_t before = rg_diags_count(diags);
	if (rg_ready_reports(provider) && wait_find_nodes(&wait))
		run(&wait);
	bool ok =
		rg_diags_count(diags) == before || result->unknown; /* the state could be written */
	if (wait.nodes) {
		wait_report(&wait);
		wait_clear(&wait);
	}
	return ok && !json_array_size(result->failed);
}

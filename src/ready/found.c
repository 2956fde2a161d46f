/* drift: who should be a member of Ray by now, and what is found about them. */
#include "ready/internal.h"
#include "resource/nodes.h"

static void unjoined_free(gpointer data)
{
	RgUnjoined *unjoined = data;
	g_free(unjoined->reason);
	g_free(unjoined);
}

GPtrArray *check_found_new(void)
{
	return g_ptr_array_new_with_free_func(unjoined_free);
}

void check_add(GPtrArray *found, const RgResource *record, char *reason)
{
	RgUnjoined *unjoined = g_new0(RgUnjoined, 1);
	*unjoined = (RgUnjoined){.record = record, .reason = reason};
	g_ptr_array_add(found, unjoined);
}

bool check_is_due(const RgReadyCheck *check, const RgResource *record, int64_t now_s)
{
	const RgKind *kind = rg_schema_kind(rg_provider_get_schema(check->provider), record->kind);
	if (record->presence != RG_PRESENT || record->leaving || !record->id || !kind ||
		!kind->node || !rg_nodes_are_plain(record))
		return false;
	const RgResource *observed = rg_resource_set_find(check->observed, record->address);
	const RgPoolNodes nodes = rg_nodes_get(record, 0);
	int64_t limit_s = rg_json_int(check->timeouts_s, nodes.pool, RG_READY_TIMEOUT_S);
	bool joined = json_object_size(record->joined) > 0;
	return observed && observed->presence == RG_PRESENT &&
	       (joined || now_s >= record->created_s + limit_s);
}

#include "ready/internal.h"
#include "base/clock.h"
#include "resource/nodes.h"

/* The usual time of a node is a quarter of its limit; after five minutes the head should have it.
 */
#define USUAL_PART 4
#define USUAL_MAX_S 300

static void node_free(gpointer data)
{
	Node *node = data;
	rg_console_free(node->console);
	g_free(node);
}

/* Machines of the head's kind that are one node each: others have no console that we know to read.
 */
static bool is_machine(const Wait *wait, const RgResource *resource)
{
	const RgKind *kind = rg_schema_kind(rg_provider_get_schema(wait->provider), resource->kind);
	return resource->presence == RG_PRESENT && resource->id && !resource->leaving && kind &&
	       kind->node && rg_nodes_are_plain(resource);
}

static bool is_failed(const Wait *wait, const RgResource *resource)
{
	GHashTable *failed = wait->options->failed;
	return failed && g_hash_table_contains(failed, resource->address);
}

static Node *node_new(const Wait *wait, const RgResource *resource)
{
	const RgPoolNodes nodes = rg_nodes_get(resource, 0);
	Node *node = g_new0(Node, 1);
	int64_t limit_s = rg_json_int(wait->options->timeouts_s, nodes.pool, RG_READY_TIMEOUT_S);
	node->resource = resource;
	node->pool = nodes.pool;
	node->is_head = nodes.is_head;
	node->awaited = resource->joined && !json_object_size(resource->joined) &&
			!is_failed(wait, resource);
	node->deadline_s = resource->created_s + limit_s;
	node->look_s = resource->created_s + MIN(limit_s / USUAL_PART, USUAL_MAX_S);
	if (!node->awaited)
		node->fate = NODE_JOINED;
	return node;
}

bool wait_find_nodes(Wait *wait)
{
	wait->now_s = rg_clock_now_s();
	wait->nodes = g_ptr_array_new_with_free_func(node_free);
	wait->snapshot = rg_store_load(wait->store, wait->cluster, wait->diags);
	const RgResourceSet *recorded = wait->snapshot ? wait->snapshot->recorded : NULL;
	for (size_t i = 0; recorded && i < rg_resource_set_size(recorded); i++) {
		const RgResource *resource = rg_resource_set_get(recorded, i);
		if (!is_machine(wait, resource))
			continue;
		Node *node = node_new(wait, resource);
		wait->result->awaited += node->awaited;
		g_ptr_array_add(wait->nodes, node);
		if (node->is_head && !is_failed(wait, resource))
			wait->head = node;
	}
	if (recorded)
		wait_find_suspects(wait);
	if (!wait->head) /* nobody can join */
		wait->result->awaited = 0;
	return wait->result->awaited;
}

void wait_clear(Wait *wait)
{
	g_ptr_array_unref(wait->nodes);
	rg_snapshot_free(wait->snapshot);
}

void rg_ready_result_clear(RgReadyResult *result)
{
	json_decref(result->failed);
	*result = (RgReadyResult){0};
}

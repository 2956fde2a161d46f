/* GPUs that failed: which nodes report, which the state remembers, and which the cloud gave back.
 */
#include "ready/internal.h"
#include "base/clock.h"
#include "resource/nodes.h"
#include "state/write.h"
#include <string.h>

/* Consoles that an apply reads only for this: with one bad GPU known, a pool of 1,000 new nodes
 * must not cost 1,000 calls. */
#define SUSPECTS_MAX 64

static bool is_same(const json_t *row, const char *key, const json_t *pin)
{
	const char *was = rg_json_str(row, key, NULL), *is = rg_json_str(pin, key, NULL);
	return !was || !is || g_str_equal(was, is);
}

/* Its GPUs may be among those that failed: another machine, made later, of the type and in the zone
 * of one of them. */
static bool may_have_known(const json_t *hardware, const RgResource *resource)
{
	const RgPoolNodes nodes = rg_nodes_get(resource, 0);
	rg_json_foreach (row, hardware) {
		if (g_strcmp0(rg_json_str(row, "id", ""), resource->id) != 0 &&
			resource->created_s >= rg_json_int(row, "failed_s", 0) &&
			is_same(row, "instance_type", nodes.pin) && is_same(row, "zone", nodes.pin))
			return true;
	}
	return false;
}

void wait_find_suspects(Wait *wait)
{
	unsigned n = 0;
	for (guint i = 0; i < wait->nodes->len && n < SUSPECTS_MAX; i++) {
		Node *node = wait->nodes->pdata[i];
		node->suspect =
			node->awaited && may_have_known(wait->snapshot->hardware, node->resource);
		n += node->suspect;
	}
}

static bool is_named(char *const *names, const char *name)
{
	return names && name && *name && g_strv_contains((const char *const *)names, name);
}

const json_t *wait_given_back(const Wait *wait, const Node *node)
{
	const RgConsole *own = node->console;
	rg_json_foreach (row, own ? wait->snapshot->hardware : NULL) {
		const char *gpu = rg_json_str(row, "gpu", NULL);
		if (g_strcmp0(rg_json_str(row, "id", ""), node->resource->id) != 0 &&
			(is_named(own->uuids, gpu) || is_named(own->bad_uuids, gpu) ||
				is_named(own->bad_serials, rg_json_str(row, "serial", NULL))))
			return row;
	}
	return NULL;
}

json_t *wait_bad_gpus(const Node *node)
{
	const RgConsole *own = node->console;
	json_t *gpus = json_array();
	size_t serials = own && own->bad_serials ? g_strv_length(own->bad_serials) : 0;
	for (size_t i = 0; own && own->bad_uuids && own->bad_uuids[i]; i++) {
		const char *serial = i < serials ? own->bad_serials[i] : "";
		if (*own->bad_uuids[i])
			json_array_append_new(
				gpus, json_pack("{s:s, s:s?}", "gpu", own->bad_uuids[i], "serial",
					      *serial ? serial : NULL));
	}
	if (node->given_back && !json_array_size(gpus))
		json_array_append_new(gpus,
			json_pack("{s:s, s:O}", "gpu", rg_json_str(node->given_back, "gpu", ""),
				"serial", json_object_get(node->given_back, "serial")));
	return gpus;
}

/* Completes the rows of one node. */
static void add_rows(json_t *rows, const Node *node, const char *reason)
{
	const RgPoolNodes nodes = rg_nodes_get(node->resource, 0);
	json_auto_t *gpus = wait_bad_gpus(node);
	bool own = node->console && node->console->bad_uuids;
	rg_json_foreach (row, gpus) {
		rg_json_set_str(row, "id", node->resource->id);
		rg_json_set_str(row, "address", node->resource->address);
		rg_json_set_str(
			row, "instance_type", rg_json_str(nodes.pin, "instance_type", NULL));
		rg_json_set_str(row, "zone", rg_json_str(nodes.pin, "zone", NULL));
		rg_json_set_str(row, "reason",
			own ? reason : rg_json_str(node->given_back, "reason", reason));
		if (own)
			json_object_set_new(row, "code", json_integer(node->console->code));
		json_array_append(rows, row);
	}
}

bool wait_keep_hardware(const Wait *wait)
{
	json_auto_t *rows = json_array();
	rg_ptr_foreach (const Node, node, wait->nodes) {
		const char *reason = node->console ? node->console->reason : NULL;
		if (node->fate == NODE_FAILED)
			add_rows(rows, node, reason ? reason : "");
	}
	return !json_array_size(rows) ||
	       rg_store_hardware_failed(wait->store, wait->cluster, rows, wait->diags);
}

/* ---- for drift: by the state alone */

static const json_t *first_failure(const json_t *hardware, const char *gpu)
{
	rg_json_foreach (row, hardware)
		if (g_str_equal(rg_json_str(row, "gpu", ""), gpu))
			return row;
	return NULL;
}

char *rg_ready_bad_hardware(const json_t *hardware, const RgResource *record)
{
	rg_json_foreach (row, hardware) {
		if (g_strcmp0(rg_json_str(row, "id", ""), record->id) != 0)
			continue;
		const char *gpu = rg_json_str(row, "gpu", "");
		const json_t *first = first_failure(hardware, gpu);
		g_autofree char *when = rg_clock_format(rg_json_int(first, "failed_s", 0));
		const char *was = rg_json_str(first, "address", ""),
			   *reason = rg_json_str(first, "reason", "");
		return first == row
			       ? g_strdup_printf("has a bad GPU, %s, which failed on %s: %s", gpu,
					 when, reason)
			       : g_strdup_printf("was given the same GPU, %s, that failed on %s "
						 "as part of %s: %s",
					 gpu, when, was, reason);
	}
	return NULL;
}

#include "workloads/topology.h"
#include <string.h>

/* A gang shares its gradients after every step. raygpu's own rule of thumb: a node should have this
 * much bandwidth for each dense FP16 TFLOPS of its GPUs. p4d (0.16) and p3dn (0.1) satisfy it; the
 * p3 types with 10 and 25 Gbps (0.02), which are known to wait for their network, do not. */
#define GBPS_A_TFLOPS 0.05
/* What the message is based on: gradients of a model of 7 billion parameters in 16 bits. */
#define GRADIENTS_GB 14.0

typedef struct {
	const RgCluster *cluster;
	const RgCatalog *catalog;
	const json_t *fitted, *report;
	RgDiags *diags;
} Topology;

/* A workload that was placed on several nodes of a pool at once. */
typedef struct {
	const char *name;
	unsigned nodes;
} Gang;

/* ---- what in the document belongs to a pool */

static const char *zone_of(const json_t *node)
{
	return rg_json_str(json_object_get(node, "offer"), "zone", "");
}

static size_t count_of(const json_t *node)
{
	const json_t *indexes = json_object_get(node, "indexes");
	return json_is_array(indexes) ? json_array_size(indexes)
				      : (size_t)rg_json_int(node, "max", 1);
}

static const json_t *first_of(const Topology *topology, const char *pool)
{
	rg_json_foreach (node, json_object_get(topology->fitted, "nodes")) {
		if (g_str_equal(rg_json_str(node, "pool", ""), pool))
			return node;
	}
	return NULL;
}

static const RgInstanceType *node_type(const Topology *topology, const json_t *node)
{
	const char *name = rg_json_str(json_object_get(node, "offer"), "instance_type", "");
	return rg_catalog_find_type(topology->catalog, name);
}

static bool is_placed_on(const json_t *load, const char *pool)
{
	rg_json_foreach (place, json_object_get(load, "pools")) {
		if (g_str_equal(rg_json_str(place, "pool", ""), pool))
			return rg_json_int(place, "placed", 0) > 1;
	}
	return false;
}

static bool find_gang(const Topology *topology, const char *pool, Gang *gang)
{
	rg_json_foreach (load, json_object_get(topology->report, "workloads")) {
		int64_t nodes = rg_json_int(load, "nodes", 0);
		if (nodes < 2 || !is_placed_on(load, pool))
			continue;
		*gang = (Gang){rg_json_str(load, "workload", ""), (unsigned)nodes};
		return true;
	}
	return false;
}

/* ---- findings */

/* The slowest type in the catalog with as many of the same GPUs and enough bandwidth. */
static const RgInstanceType *faster_type(
	const Topology *topology, const RgInstanceType *type, double gbps)
{
	const RgInstanceType *best = NULL;
	const GPtrArray *types = rg_catalog_get_types(topology->catalog);
	rg_ptr_foreach (const RgInstanceType, other, types) {
		if (!other->gpu || other->gpus < type->gpus ||
			other->gpu->compute_capability != type->gpu->compute_capability ||
			other->network_gbps < gbps ||
			rg_catalog_offer_state(topology->catalog, other,
				topology->cluster->provider.region) == RG_OFFER_NONE)
			continue;
		if (!best || other->network_gbps < best->network_gbps)
			best = other;
	}
	return best;
}

static void check_speed(
	const Topology *topology, const RgPool *pool, const RgInstanceType *type, const Gang *gang)
{
	double tflops = type->gpu->fp16_tflops * type->gpus;
	double wanted = tflops * GBPS_A_TFLOPS;
	if (type->network_gbps <= 0 || tflops <= 0 || type->network_gbps >= wanted)
		return;
	RgDiag *diag = rg_diags_warning(topology->diags, "topology.slow-network",
		"%s has %.4g Gbps for %u %s (%.0f TFLOPS): workload %s needs %.2g s per step to "
		"share %.0f GB of gradients",
		type->name, type->network_gbps, type->gpus, type->gpu->name, tflops, gang->name,
		2 * GRADIENTS_GB * 8 / type->network_gbps, GRADIENTS_GB);
	rg_diag_at(diag, pool->shape_source);
	const RgInstanceType *faster = faster_type(topology, type, wanted);
	if (faster)
		rg_diag_hint(diag, "%s has %.4g Gbps; network: {min_gbps: %.0f} requires it",
			faster->name, faster->network_gbps, wanted);
	else
		rg_diag_hint(diag,
			"GPUs of this kind need %.0f Gbps per node; keep the gang on one "
			"node where it fits",
			wanted);
}

static void check_zones(const Topology *topology, const RgPool *pool, const Gang *gang)
{
	g_autoptr(GString) list = g_string_new(NULL);
	size_t zones = 0;
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	rg_json_foreach (node, json_object_get(topology->fitted, "nodes")) {
		const char *zone = zone_of(node);
		if (!g_str_equal(rg_json_str(node, "pool", ""), pool->name) ||
			!g_hash_table_add(seen, (void *)(uintptr_t)zone))
			continue;
		g_string_append_printf(
			list, "%s%zu in %s", zones++ > 0 ? ", " : "", count_of(node), zone);
	}
	if (zones < 2)
		return;
	RgDiag *diag = rg_diags_warning(topology->diags, "topology.gang-over-zones",
		"workload %s needs %u nodes of pool %s at once, and they are in %zu zones: %s",
		gang->name, gang->nodes, pool->name, zones, list->str);
	rg_diag_at(diag, pool->source);
	rg_diag_hint(diag, "traffic between zones is slower and costs extra; list only one zone in "
			   "`zones`, or set network: {placement: cluster}");
}

static void check_placement(
	const Topology *topology, const RgPool *pool, const RgInstanceType *type, const Gang *gang)
{
	const RgWords *words = rg_catalog_words(topology->catalog);
	if (!pool->placement) {
		RgDiag *diag = rg_diags_warning(topology->diags, "topology.no-placement",
			"workload %s needs %u nodes of pool %s at once, and nothing places them "
			"near each other",
			gang->name, gang->nodes, pool->name);
		rg_diag_at(diag, pool->source);
		rg_diag_hint(diag, "network: {placement: cluster} puts them into one %s",
			words->placement_group);
	}
	if (type->rdma_adapters == 0 || pool->rdma)
		return;
	RgDiag *diag = rg_diags_warning(topology->diags, "topology.no-rdma",
		"%s can have %u %s adapters (%.4g Gbps), and pool %s has none: workload %s shares "
		"its gradients by TCP",
		type->name, type->rdma_adapters, words->fast_network, type->network_gbps,
		pool->name, gang->name);
	const char *libraries = words->fast_network_libraries;
	const char *without = words->without_fast_network;
	rg_diag_at(diag, pool->source);
	rg_diag_hint(diag, "network: {rdma: true} attaches them%s%s%s%s",
		libraries ? ", and the Ray image must contain " : "", libraries ? libraries : "",
		without ? "; " : "", without ? without : "");
}

/* Ray's control store is on the head: all tasks and objects are registered there. */
static void check_head(const Topology *topology)
{
	size_t near = 0, far = 0;
	const char *head = zone_of(first_of(topology, topology->cluster->head->name));
	rg_json_foreach (node, json_object_get(topology->fitted, "nodes")) {
		if (g_str_equal(rg_json_str(node, "role", ""), "head"))
			continue;
		if (g_str_equal(zone_of(node), head))
			near += count_of(node);
		else
			far += count_of(node);
	}
	if (far == 0 || near > 0)
		return;
	RgDiag *diag = rg_diags_warning(topology->diags, "topology.head-far",
		"the head is in %s, and all %zu workers are in other zones", head, far);
	rg_diag_at(diag, topology->cluster->head->source);
	rg_diag_hint(diag, "put the head into the workers' zone; an existing head keeps its zone "
			   "and address until it is replaced");
}

static void check_pool(const Topology *topology, const RgPool *pool)
{
	const json_t *node = first_of(topology, pool->name);
	const RgInstanceType *type = node ? node_type(topology, node) : NULL;
	Gang gang;
	if (!type || !type->gpu || !find_gang(topology, pool->name, &gang))
		return;
	check_speed(topology, pool, type, &gang);
	check_zones(topology, pool, &gang);
	check_placement(topology, pool, type, &gang);
}

void rg_fit_check_topology(const RgCluster *cluster, const RgCatalog *catalog, const json_t *fitted,
	const json_t *report, RgDiags *diags)
{
	Topology topology = {cluster, catalog, fitted, report, diags};
	check_head(&topology);
	for (guint i = 0; i < cluster->pools->len; i++)
		check_pool(&topology, cluster->pools->pdata[i]);
}

#include "base/clock.h"
#include "reach/internal.h"
#include "resource/nodes.h"

const RgResource *reach_head(const RgSchema *schema, const RgSnapshot *snapshot)
{
	rg_resource_foreach (resource, snapshot->recorded) {
		const RgKind *kind = rg_schema_kind(schema, resource->kind);
		if (!kind || !kind->node || resource->presence == RG_PENDING)
			continue;
		for (size_t n = 0; n < rg_nodes_pools(resource, kind); n++)
			if (rg_nodes_get(resource, n).is_head)
				return resource;
	}
	return NULL;
}

const char *reach_value(const RgSchema *schema, const RgResource *resource, const char *role)
{
	const RgKind *kind = resource ? rg_schema_kind(schema, resource->kind) : NULL;
	const RgAttribute *attribute = kind ? rg_kind_with_role(kind, role) : NULL;
	return attribute ? rg_json_str(rg_resource_outputs(resource), attribute->name, NULL) : NULL;
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

/* {pool: [id, ...]} of all nodes, in the order of their indexes. */
static json_t *node_ids(const RgSchema *schema, const RgSnapshot *snapshot)
{
	json_t *pools = json_object();
	rg_resource_foreach (resource, snapshot->recorded) {
		const RgKind *kind = rg_schema_kind(schema, resource->kind);
		const char *pool = rg_resource_pool(resource);
		if (!kind || !kind->node || !pool || !resource->id)
			continue;
		json_t *ids = json_object_get(pools, pool);
		if (!ids)
			json_object_set_new(pools, pool, ids = json_array());
		json_array_append_new(ids, json_string(resource->id));
	}
	return pools;
}

static json_t *local_url(const char *scheme, unsigned port)
{
	g_autofree char *url = g_strdup_printf("%s://127.0.0.1:%u", scheme, port);
	return json_string(url);
}

static json_t *end_of(const json_t *lease)
{
	int64_t end_s = rg_json_int(lease, "ends_s", 0);
	g_autofree char *end = rg_clock_format(end_s);
	return end_s ? json_string(end) : json_null();
}

/* The ends that the last apply recorded, in UTC. */
static void add_leases(json_t *outputs, const RgSnapshot *snapshot)
{
	const json_t *leases = json_object_get(snapshot->facts, "leases");
	json_t *pools = json_object_get(leases, "pools"), *ends = json_object();
	rg_json_foreach_member (pool, lease, pools)
		json_object_set_new(ends, pool, end_of(lease));
	json_object_set_new(outputs, "expires", end_of(json_object_get(leases, "cluster")));
	json_object_set_new(outputs, "pool_expires", ends);
}

json_t *rg_reach_outputs(const RgSchema *schema, const RgSnapshot *snapshot)
{
	const RgResource *head = reach_head(schema, snapshot);
	json_t *outputs = json_object();
	json_object_set_new(outputs, "cluster", json_string(snapshot->cluster));
	json_object_set_new(outputs, "provider", json_string(snapshot->provider));
	json_object_set_new(outputs, "region", json_string(snapshot->region));
	json_object_set_new(outputs, "head_id", text_or_null(head ? head->id : NULL));
	json_object_set_new(
		outputs, "head_address", text_or_null(reach_value(schema, head, RG_ROLE_ADDRESS)));
	json_object_set_new(outputs, "head_public_address",
		text_or_null(reach_value(schema, head, RG_ROLE_PUBLIC_ADDRESS)));
	/* the head serves both on its loopback interface or behind the token: `raygpu connect` */
	json_object_set_new(outputs, "dashboard_url", local_url("http", RG_REACH_DASHBOARD));
	json_object_set_new(outputs, "client_url", local_url("ray", RG_REACH_CLIENT));
	add_leases(outputs, snapshot);
	json_object_set_new(outputs, "node_ids", node_ids(schema, snapshot));
	return outputs;
}

const char *rg_reach_token(const RgSnapshot *snapshot)
{
	const RgResource *secret = rg_resource_set_find(snapshot->recorded, RG_SECRET_RAY_TOKEN);
	return secret ? rg_json_str(rg_resource_outputs(secret), "value", NULL) : NULL;
}

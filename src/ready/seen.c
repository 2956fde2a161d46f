/* What the cloud and the head's Ray show of each pool. */
#include "ready/internal.h"
#include "base/clock.h"
#include "resource/nodes.h"
#include <string.h>

static void add(json_t *pool, const char *key, int64_t n)
{
	json_object_set_new(pool, key, json_integer(rg_json_int(pool, key, 0) + n));
}

static json_t *pool_of(json_t *pools, const char *name)
{
	rg_json_foreach (pool, pools)
		if (g_str_equal(rg_json_str(pool, "pool", ""), name))
			return pool;
	json_t *pool = json_pack("{s:s, s:i, s:i, s:n, s:n, s:[]}", "pool", name, "running", 0,
		"gpus", 0, "joined", "gpus_in_ray", "drivers");
	json_array_append_new(pools, pool);
	return pool;
}

static void add_driver(json_t *pool, const char *driver)
{
	json_t *drivers = json_object_get(pool, "drivers");
	rg_json_foreach (known, drivers)
		if (g_str_equal(json_string_value(known), driver))
			return;
	if (*driver)
		json_array_append_new(drivers, json_string(driver));
}

static void add_member(json_t *pool, const RgMember *member)
{
	add(pool, "joined", member ? 1 : 0);
	add(pool, "gpus_in_ray", member ? MAX(member->gpus, 0) : 0);
	if (member)
		add_driver(pool, member->driver);
}

static void add_nodes(const RgReadyCheck *check, const RgRoster *roster, const RgResource *record,
	size_t i, json_t *pools)
{
	const RgPoolNodes nodes = rg_nodes_get(record, i);
	const RgResource *observed = rg_resource_set_find(check->observed, record->address);
	const bool there = observed && observed->presence == RG_PRESENT && !record->leaving;
	const unsigned n = rg_nodes_now(&nodes, observed);
	json_t *pool = pool_of(pools, nodes.pool);
	add(pool, "running", there ? n : 0);
	add(pool, "gpus", record->leaving ? 0 : n * rg_json_int(nodes.pin, "gpus", 0));
	if (there && roster && record->id && rg_nodes_are_plain(record))
		add_member(pool, rg_roster_find(roster, record->id));
}

/* "3xCPU:1+GPU:8,...": [{"count": 3, "resources": {"CPU": 1, "GPU": 8}}]; what is not of that form
 * is left out. */
static json_t *shapes_of(const char *text)
{
	g_auto(GStrv) shapes = g_strsplit(text ? text : "", ",", -1);
	json_t *rows = json_array();
	for (char **shape = shapes; *shape; shape++) {
		char *end = NULL;
		guint64 count = g_ascii_strtoull(*shape, &end, 10);
		g_auto(GStrv) parts = g_strsplit(*end == 'x' ? end + 1 : "", "+", -1);
		json_t *resources = json_object();
		for (char **part = parts; *part; part++) {
			char *colon = strchr(*part, ':');
			if (!colon || !g_utf8_validate(*part, -1, NULL))
				continue;
			*colon = '\0';
			json_object_set_new(
				resources, *part, json_real(g_ascii_strtod(colon + 1, NULL)));
		}
		if (count > 0 && json_object_size(resources))
			json_array_append_new(
				rows, json_pack("{s:I, s:O}", "count", (json_int_t)count,
					      "resources", resources));
		json_decref(resources);
	}
	return rows;
}

/* A new reference; null: not known. */
static json_t *demand_of(const RgConsole *head)
{
	const RgDemand *demand = head ? &head->demand : NULL;
	return demand && demand->at >= 0 && rg_clock_now_s() - demand->at <= WAIT_QUIET_MAX_S
		       ? json_pack("{s:I, s:I, s:I, s:o}", "at_s", (json_int_t)demand->at,
				 "requests", (json_int_t)demand->requests, "groups",
				 (json_int_t)demand->groups, "shapes", shapes_of(demand->shapes))
		       : json_null();
}

json_t *check_seen(const RgReadyCheck *check, const RgConsole *head)
{
	const RgRoster *roster = head ? head->roster : NULL;
	const RgSchema *schema = rg_provider_get_schema(check->provider);
	const RgResourceSet *recorded = check->snapshot->recorded;
	json_t *pools = json_array();
	rg_resource_foreach (record, recorded) {
		const RgKind *kind = rg_schema_kind(schema, record->kind);
		for (size_t i = 0; i < rg_nodes_pools(record, kind); i++)
			add_nodes(check, roster, record, i, pools);
	}
	return json_pack("{s:o, s:s?, s:o, s:o}", "at_s",
		roster ? json_integer(roster->at) : json_null(), "ray_version",
		roster ? roster->ray_version : NULL, "demand", demand_of(head), "pools", pools);
}

#include "refresh_fixture.h"

#include <string.h>

void world_clear(World *world)
{
	rg_resource_set_free(world->observed);
	rg_resource_set_free(world->recorded);
	g_hash_table_unref(world->tombstones);
	scripted_free(world->scripted);
}

void world_init(World *world, const char *script)
{
	memset(world, 0, sizeof(*world));
	world->scripted = scripted_open(script, true);
	world->recorded = rg_resource_set_new();
	world->tombstones = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	world->input = (RgRefreshInput){
		.cluster = "c",
		.lineage = "0123456789abcdef0123456789abcdef",
		.recorded = world->recorded,
		.tombstones = world->tombstones,
		.now_s = NOW,
		.settle_ms = 5000,
	};
}

void world_bury(World *world, const char *id, int64_t removed_s)
{
	g_hash_table_insert(
		world->tombstones, g_strdup(id), g_memdup2(&removed_s, sizeof(removed_s)));
}

RgResource *world_record(
	World *world, int64_t index, const char *id, int64_t created_s, const char *attrs)
{
	RgResource *resource = rg_resource_new("scripted.node", "p", index);
	resource->id = g_strdup(id);
	resource->attrs = scripted_json(attrs);
	resource->group = g_intern_string("p");
	resource->created_s = created_s;
	resource->presence = id ? RG_PRESENT : RG_PENDING;
	g_assert_true(rg_resource_set_add(world->recorded, resource));
	return resource;
}

const RgResource *world_look(World *world, const char *address)
{
	if (!world->observed)
		world->observed = rg_refresh(
			world->scripted->provider, &world->input, world->scripted->diags);
	return rg_resource_set_find(world->observed, address);
}

void world_assert_presence(World *world, const char *address, RgPresence presence)
{
	const RgResource *resource = world_look(world, address);
	g_assert_nonnull(resource);
	g_assert_cmpint(resource->presence, ==, presence);
}

const RgResource *world_extra(World *world, guint i)
{
	const GPtrArray *extras = rg_resource_set_extras(world->observed);
	g_assert_cmpuint(i, <, extras->len);
	return g_ptr_array_index(extras, i);
}

unsigned world_lists(World *world)
{
	return scripted_count(world->scripted, "list scripted.node");
}

void world_assert_quiet(World *world)
{
	if (rg_diags_count(world->scripted->diags) > 0)
		g_error("unexpected: %s", rg_diags_get(world->scripted->diags, 0)->summary);
}

#include "aws/sim/lifecycle.h"
#include "aws/sim/instances.h"
#include "aws/sim/interfaces.h"
#include "aws/sim/spot.h"
#include "aws/sim/volumes.h"

typedef struct {
	gint64 at_ms;
	char *region;
	char *id;
	char *state;
} Event;

static void event_free(void *data)
{
	Event *event = data;
	g_free(event->region);
	g_free(event->id);
	g_free(event->state);
	g_free(event);
}

static int compare_events(const void *a, const void *b, void *unused)
{
	const Event *left = a;
	const Event *right = b;
	return (left->at_ms > right->at_ms) - (left->at_ms < right->at_ms);
}

GSequence *rg_sim_lifecycle_queue_new(void)
{
	return g_sequence_new(event_free);
}

json_t *rg_sim_state_json(const char *state)
{
	static const struct {
		const char *name;
		int code;
	} states[] = {{"pending", 0}, {"running", 16}, {"shutting-down", 32}, {"terminated", 48},
		{"stopping", 64}, {"stopped", 80}};
	size_t i = 0;
	while (i + 1 < G_N_ELEMENTS(states) && !g_str_equal(states[i].name, state))
		i++;
	return json_pack("{s:i, s:s}", "code", states[i].code, "name", states[i].name);
}

const char *rg_sim_instance_state(const json_t *instance)
{
	return rg_sim_doc_str(json_object_get(instance, "instanceState"), "name");
}

void rg_sim_instance_set_state(json_t *instance, const char *state)
{
	json_object_set_new(instance, "instanceState", rg_sim_state_json(state));
	json_object_del(instance, "_due");
}

static void add_event(RgSimWorld *world, const char *region, const char *id, const json_t *due)
{
	Event *event = g_new0(Event, 1);
	event->at_ms = json_integer_value(json_object_get(due, "at"));
	event->region = g_strdup(region);
	event->id = g_strdup(id);
	event->state = g_strdup(rg_sim_doc_str(due, "state"));
	g_sequence_insert_sorted(world->due, event, compare_events, NULL);
}

void rg_sim_instance_plan(RgSimWorld *world, const RgSimRegion *region, json_t *instance,
	gint64 at_ms, const char *state)
{
	json_t *due = json_pack("{s:I, s:s}", "at", (json_int_t)at_ms, "state", state);
	json_object_set_new(instance, "_due", due);
	add_event(world, region->name, rg_sim_doc_str(instance, "instanceId"), due);
}

/* Interfaces and volumes go or become free; a terminated instance shows none of them. */
static void let_go(RgSimWorld *world, RgSimRegion *region, json_t *instance)
{
	size_t i;
	json_t *entry;
	json_array_foreach (json_object_get(instance, "_interfaces"), i, entry)
		rg_sim_interface_release(world, region, json_string_value(entry));
	json_array_foreach (json_object_get(instance, "blockDeviceMapping"), i, entry)
		rg_sim_volume_release(
			world, region, rg_sim_doc_str(json_object_get(entry, "ebs"), "volumeId"));
	json_object_set_new(instance, "_interfaces", json_array());
	json_object_set_new(instance, "blockDeviceMapping", json_array());
	rg_sim_instance_show_interfaces(region, instance);
}

static void apply(RgSimWorld *world, RgSimRegion *region, json_t *instance, const Event *event)
{
	if (g_str_equal(event->state, "reclaimed"))
		rg_sim_spot_take(world, region, instance);
	else
		rg_sim_instance_set_state(instance, event->state);
	if (g_str_equal(event->state, "stopped"))
		rg_sim_instance_drop_public(world, region, instance);
	if (g_str_equal(event->state, "terminated")) {
		let_go(world, region, instance);
		gint64 stays = json_integer_value(json_object_get(instance, "_terminatedMs"));
		rg_sim_instance_plan(world, region, instance, event->at_ms + stays, "gone");
	}
	rg_sim_world_put(world, region, RG_SIM_INSTANCE, instance);
}

/* An event counts only while the document still expects it. */
static bool is_expected(const json_t *instance, const Event *event)
{
	const json_t *due = json_object_get(instance, "_due");
	return due && json_integer_value(json_object_get(due, "at")) == event->at_ms &&
	       g_str_equal(rg_sim_doc_str(due, "state"), event->state);
}

static void happen(RgSimWorld *world, const Event *event)
{
	RgSimRegion *region = g_hash_table_lookup(world->regions, event->region);
	const json_t *truth = region ? rg_sim_world_find(region, RG_SIM_INSTANCE, event->id) : NULL;
	if (!truth || !is_expected(truth, event))
		return;
	if (g_str_equal(event->state, "gone"))
		rg_sim_world_remove(world, region, RG_SIM_INSTANCE, event->id);
	else
		apply(world, region, rg_sim_world_edit(region, RG_SIM_INSTANCE, event->id), event);
}

gint64 rg_sim_lifecycle_next(const RgSimWorld *world)
{
	GSequenceIter *first = g_sequence_get_begin_iter(world->due);
	return g_sequence_iter_is_end(first) ? G_MAXINT64 : ((Event *)g_sequence_get(first))->at_ms;
}

void rg_sim_lifecycle_run(RgSimWorld *world)
{
	gint64 now_ms = world->now_ms;
	while (rg_sim_lifecycle_next(world) <= now_ms) {
		GSequenceIter *first = g_sequence_get_begin_iter(world->due);
		const Event *event = g_sequence_get(first);
		/* Late readers must see it as of its own time, not of when somebody looked. */
		world->now_ms = event->at_ms;
		happen(world, event);
		g_sequence_remove(first);
	}
	world->now_ms = now_ms;
}

void rg_sim_lifecycle_restore(RgSimWorld *world, RgSimRegion *region)
{
	g_autoptr(GPtrArray) all = rg_sim_world_all(region, RG_SIM_INSTANCE);
	for (unsigned i = 0; i < all->len; i++) {
		const json_t *instance = g_ptr_array_index(all, i);
		const json_t *due = json_object_get(instance, "_due");
		if (due)
			add_event(world, region->name, rg_sim_doc_str(instance, "instanceId"), due);
	}
}

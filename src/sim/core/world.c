#include "sim/core/world.h"
#include "sim/core/cloud.h"

typedef struct {
	gint64 at_ms;
	RgSimRealm *realm;
	char *place;
	unsigned kind;
	char *id;
	char *state;
} Event;

static void event_free(void *data)
{
	Event *event = data;
	g_free(event->place);
	g_free(event->id);
	g_free(event->state);
	g_free(event);
}

static int compare_events(const void *a, const void *b, void *unused)
{
	const Event *left = a, *right = b;
	return (left->at_ms > right->at_ms) - (left->at_ms < right->at_ms);
}

static void place_free(void *data)
{
	RgSimPlace *place = data;
	const RgSimCloud *cloud = place->realm->cloud;
	for (unsigned kind = 0; kind < cloud->n_kinds; kind++)
		rg_sim_table_free(place->tables[kind]);
	if (cloud->place_clear)
		cloud->place_clear(place);
	g_free(place->tables);
	g_free(place->name);
	g_free(place);
}

static void realm_free(void *data)
{
	RgSimRealm *realm = data;
	g_hash_table_unref(realm->places);
	if (realm->cloud->data_free)
		realm->cloud->data_free(realm->data);
	g_free(realm);
}

void rg_sim_world_init(RgSim *sim)
{
	sim->due = g_sequence_new(event_free);
	sim->realms = g_ptr_array_new_with_free_func(realm_free);
	for (const RgSimCloud *const *cloud = sim->clouds; *cloud; cloud++) {
		RgSimRealm *realm = g_new0(RgSimRealm, 1);
		*realm = (RgSimRealm){.cloud = *cloud,
			.sim = sim,
			.data = (*cloud)->data_new ? (*cloud)->data_new() : NULL,
			.places = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, place_free)};
		g_ptr_array_add(sim->realms, realm);
	}
}

void rg_sim_world_clear(RgSim *sim)
{
	for (unsigned i = 0; i < sim->realms->len; i++)
		g_hash_table_remove_all(((RgSimRealm *)g_ptr_array_index(sim->realms, i))->places);
	g_sequence_remove_range(
		g_sequence_get_begin_iter(sim->due), g_sequence_get_end_iter(sim->due));
	sim->counter = 0;
	rg_sim_world_enter(sim);
}

void rg_sim_world_free(RgSim *sim)
{
	g_sequence_free(sim->due);
	g_ptr_array_unref(sim->realms);
}

static void realm_purge(RgSimRealm *realm)
{
	rg_hash_values (RgSimPlace, place, realm->places) {
		for (unsigned kind = 0; kind < realm->cloud->n_kinds; kind++)
			rg_sim_table_purge(place->tables[kind], realm->sim->keep_since_ms);
	}
}

void rg_sim_world_enter(RgSim *sim)
{
	sim->now_ms = MAX(sim->now_ms, g_get_real_time() / 1000 + sim->skipped_ms);
	sim->keep_since_ms = sim->now_ms - doc_int(sim->knobs, "consistency_ms");
	for (unsigned i = 0; i < sim->realms->len; i++)
		realm_purge(g_ptr_array_index(sim->realms, i));
}

RgSimPlace *rg_sim_place_bare(RgSimRealm *realm, const char *name)
{
	RgSimPlace *place = g_hash_table_lookup(realm->places, name);
	if (place || !realm->cloud->has_place(realm->data, name))
		return place;
	place = g_new0(RgSimPlace, 1);
	*place = (RgSimPlace){.realm = realm,
		.sim = realm->sim,
		.name = g_strdup(name),
		.tables = g_new0(RgSimTable *, realm->cloud->n_kinds)};
	for (unsigned kind = 0; kind < realm->cloud->n_kinds; kind++)
		place->tables[kind] = rg_sim_table_new();
	g_hash_table_insert(realm->places, place->name, place);
	return place;
}

RgSimPlace *rg_sim_place(RgSimRealm *realm, const char *name)
{
	RgSimPlace *place = rg_sim_place_bare(realm, name);
	if (!place || !realm->cloud->seed)
		return place;
	/* What every account has from the start existed long before any reader's delay. */
	gint64 now_ms = realm->sim->now_ms;
	realm->sim->now_ms = 0;
	realm->cloud->seed(place);
	realm->sim->now_ms = now_ms;
	return place;
}

static char *make_id(const char *prefix, const char *text)
{
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	return g_strdup_printf("%s%.17s", prefix, digest);
}

char *rg_sim_id(RgSim *sim, const char *prefix)
{
	g_autofree char *text = g_strdup_printf(
		"%" G_GUINT64_FORMAT "/%s%" G_GUINT64_FORMAT, sim->seed, prefix, ++sim->counter);
	return make_id(prefix, text);
}

char *rg_sim_fixed_id(const char *prefix, const char *place, const char *word)
{
	g_autofree char *text = g_strconcat(prefix, place, "/", word, NULL);
	return make_id(prefix, text);
}

json_t *rg_sim_find(const RgSimPlace *place, unsigned kind, const char *id)
{
	return rg_sim_table_find(place->tables[kind], id);
}

json_t *rg_sim_find_by(const RgSimPlace *place, unsigned kind, const char *member, const char *text)
{
	rg_sim_foreach (doc, place, kind) {
		if (g_str_equal(doc_str(doc, member), text))
			return doc;
	}
	return NULL;
}

json_t *rg_sim_entry(const json_t *list, const char *member, const char *text)
{
	rg_json_foreach (entry, list) {
		if (g_str_equal(doc_str(entry, member), text))
			return entry;
	}
	return NULL;
}

json_t *rg_sim_next(const RgSimPlace *place, unsigned kind, unsigned *at)
{
	const GPtrArray *order = place->tables[kind]->order;
	while (*at < order->len) {
		json_t *doc = rg_sim_item_view(g_ptr_array_index(order, (*at)++), G_MAXINT64);
		if (doc)
			return doc;
	}
	return NULL;
}

gint64 rg_sim_count(const RgSimPlace *place, unsigned kind, const char *member, const json_t *value)
{
	gint64 n = 0;
	rg_sim_foreach (doc, place, kind)
		n += json_equal(json_object_get(doc, member), value);
	return n;
}

void rg_sim_put(RgSimPlace *place, unsigned kind, json_t *doc)
{
	RgSim *sim = place->sim;
	const char *id = doc_str(doc, place->realm->cloud->kinds[kind].id_member);
	rg_sim_table_put(place->tables[kind], id, doc, sim->now_ms, sim->keep_since_ms);
	sim->changes++;
}

void rg_sim_remove(RgSimPlace *place, unsigned kind, const char *id)
{
	rg_sim_table_remove(place->tables[kind], id, place->sim->now_ms);
	place->sim->changes++;
}

json_t *rg_sim_edit(const RgSimPlace *place, unsigned kind, const char *id)
{
	return json_copy(rg_sim_find(place, kind, id));
}

void rg_sim_plan_known(RgSimPlace *place, unsigned kind, const json_t *doc)
{
	const json_t *due = json_object_get(doc, "_due");
	if (!due)
		return;
	Event *event = g_new0(Event, 1);
	*event = (Event){.at_ms = doc_int(due, "at"),
		.realm = place->realm,
		.place = g_strdup(place->name),
		.kind = kind,
		.id = g_strdup(doc_str(doc, place->realm->cloud->kinds[kind].id_member)),
		.state = g_strdup(doc_str(due, "state"))};
	g_sequence_insert_sorted(place->sim->due, event, compare_events, NULL);
}

void rg_sim_plan(RgSimPlace *place, unsigned kind, json_t *doc, gint64 at_ms, const char *state)
{
	json_object_set_new(
		doc, "_due", json_pack("{s:I, s:s}", "at", (json_int_t)at_ms, "state", state));
	rg_sim_plan_known(place, kind, doc);
}

/* An event applies only while the document still expects it. */
static bool is_expected(const json_t *doc, const Event *event)
{
	const json_t *due = json_object_get(doc, "_due");
	return due && doc_int(due, "at") == event->at_ms &&
	       g_str_equal(doc_str(due, "state"), event->state);
}

void rg_sim_world_run(RgSim *sim)
{
	gint64 now_ms = sim->now_ms;
	GSequenceIter *first;
	while (!g_sequence_iter_is_end(first = g_sequence_get_begin_iter(sim->due))) {
		const Event *event = g_sequence_get(first);
		if (event->at_ms > now_ms)
			break;
		/* Delayed readers must see it as of its own time, not of when someone asked. */
		sim->now_ms = event->at_ms;
		RgSimPlace *place = g_hash_table_lookup(event->realm->places, event->place);
		if (place && is_expected(rg_sim_find(place, event->kind, event->id), event))
			event->realm->cloud->due(place, event->kind, event->id, event->state);
		g_sequence_remove(first);
	}
	sim->now_ms = now_ms;
}

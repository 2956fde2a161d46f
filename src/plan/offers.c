#include "base/money.h"
#include "plan/internal.h"

static void offer_free(gpointer data)
{
	Offer *offer = data;
	json_decref(offer->pin);
	g_free(offer);
}

void offer_from_pin(Offer *offer, const json_t *pin)
{
	offer->instance_type = rg_json_str(pin, "instance_type", NULL);
	offer->accelerator = rg_json_str(pin, "accelerator", NULL);
	offer->price_date = rg_json_str(pin, "price_date", NULL);
	offer->price_quality = rg_json_str(pin, "price_quality", NULL);
	offer->reason = rg_json_str(pin, "reason", NULL);
	offer->market = rg_json_str(pin, "market", "on-demand");
	offer->price = rg_json_int(pin, "price_microusd_hour", RG_MONEY_UNKNOWN);
	offer->gpus = (unsigned)CLAMP(rg_json_int(pin, "gpus", 0), 0, G_MAXINT32);
}

static void copy_member(json_t *to, const char *name, const json_t *from, const char *key)
{
	const json_t *value = json_object_get(from, key);
	json_object_set_new(to, name, value ? json_incref(rg_json_unconst(value)) : json_null());
}

/* GPUs as Ray will see them: "A100 1g.5gb", 7 per GPU; different slices are all listed. */
static void set_slices(json_t *pin, const json_t *share)
{
	const json_t *slices = json_object_get(share, "mig");
	g_autoptr(GString) name = g_string_new(rg_json_str(pin, "accelerator", ""));
	const char *last = NULL;
	if (!slices)
		return;
	rg_json_foreach_at (i, slice, slices) {
		const char *profile = rg_json_str(slice, "profile", "");
		if (g_strcmp0(profile, last) != 0)
			g_string_append_printf(name, "%s%s", i > 0 ? "+" : " ", profile);
		last = profile;
	}
	rg_json_set_str(pin, "accelerator", name->str);
	copy_member(pin, "gpus", share, "ray_gpus");
}

json_t *rg_plan_own_labels(const json_t *node)
{
	json_t *labels = json_object_get(node, "labels"), *own = json_object();
	rg_json_foreach_member (key, value, labels) {
		if (!g_str_has_prefix(key, "ray.io/") && !g_str_has_prefix(key, "raygpu.io/"))
			json_object_set(own, key, value);
	}
	if (json_object_size(own) == 0)
		g_clear_pointer(&own, json_decref);
	return own;
}

/* The form that fit reads back, plus what counting GPUs of recorded nodes needs. */
json_t *rg_plan_pin(const json_t *node)
{
	const json_t *offer = json_object_get(node, "offer"),
		     *image = json_object_get(node, "image");
	json_t *pin = json_object();
	copy_member(pin, "instance_type", offer, "instance_type");
	copy_member(pin, "zone", offer, "zone");
	copy_member(pin, "image_key", image, "key");
	copy_member(pin, "image_id", image, "id");
	copy_member(pin, "price_microusd_hour", offer, "price_microusd_hour");
	copy_member(pin, "price_date", offer, "price_date");
	copy_member(pin, "price_quality", offer, "price_quality");
	if (!g_str_equal(rg_json_str(offer, "market", "on-demand"), "on-demand"))
		copy_member(pin, "market", offer, "market");
	if (json_object_get(offer, "reservation"))
		copy_member(pin, "reservation", offer, "reservation");
	if (json_object_get(offer, "reason"))
		copy_member(pin, "reason", offer, "reason");
	copy_member(pin, "accelerator", offer, "gpu");
	copy_member(pin, "gpus", offer, "gpus");
	set_slices(pin, json_object_get(node, "share"));
	json_t *labels = rg_plan_own_labels(node);
	if (labels)
		json_object_set_new(pin, "labels", labels);
	return pin;
}

static Offer *offer_new(json_t *pin)
{
	Offer *offer = g_new0(Offer, 1);
	offer->pin = pin;
	offer_from_pin(offer, pin);
	return offer;
}

static void add_node(Offers *offers, const json_t *node)
{
	const char *pool = rg_json_str(node, "pool", "");
	const json_t *indexes = json_object_get(node, "indexes");
	GHashTable *members = g_hash_table_lookup(offers->pools, pool);
	if (!members) {
		members = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, offer_free);
		g_hash_table_insert(offers->pools, (gpointer)(uintptr_t)pool, members);
	}
	json_auto_t *pin = rg_plan_pin(node);
	if (!json_is_array(indexes))
		g_hash_table_insert(members, NULL, offer_new(json_incref(pin)));
	rg_json_foreach (index, indexes) {
		gpointer key = (gpointer)(uintptr_t)(json_integer_value(index) + 1);
		g_hash_table_insert(members, key, offer_new(json_incref(pin)));
	}
}

void offers_init(Offers *offers, const json_t *fitted)
{
	offers->pools = g_hash_table_new_full(
		g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_hash_table_destroy);
	rg_json_foreach (node, json_object_get(fitted, "nodes"))
		add_node(offers, node);
}

void offers_clear(Offers *offers)
{
	g_clear_pointer(&offers->pools, g_hash_table_destroy);
}

/* By the first of the nodes; one offer stands for a whole elastic pool. */
static const Offer *offer_find(const Offers *offers, const RgPoolNodes *nodes)
{
	GHashTable *members = g_hash_table_lookup(offers->pools, nodes->pool);
	int64_t index = nodes->is_elastic ? -1 : nodes->first;
	gpointer key = (gpointer)(uintptr_t)(index + 1);
	return members ? g_hash_table_lookup(members, key) : NULL;
}

const RgResource *resource_after(const RgChange *change)
{
	bool stays = change->action == RG_ACTION_STOP || change->row == 0;
	return change->desired && !stays ? change->desired : change->recorded;
}

/* What the state keeps about such nodes of the change's resource. */
static const json_t *recorded_pin(const RgChange *change, const char *pool)
{
	const RgResource *recorded = change->recorded;
	for (size_t i = 0; recorded && i < rg_nodes_pools(recorded, NULL); i++) {
		const RgPoolNodes nodes = rg_nodes_get(recorded, i);
		if (g_str_equal(nodes.pool, pool))
			return nodes.pin;
	}
	return NULL;
}

Offer offer_of(const Maker *maker, const RgChange *change, const RgPoolNodes *nodes, bool wanted)
{
	const Offer *offer = wanted ? offer_find(&maker->offers, nodes) : NULL;
	Offer pinned = {0};
	if (offer)
		return *offer;
	offer_from_pin(&pinned, recorded_pin(change, nodes->pool));
	return pinned;
}

unsigned nodes_after(const RgChange *change, const RgPoolNodes *nodes)
{
	unsigned now = rg_nodes_now(nodes, change->observed);
	return change->action == RG_ACTION_NONE ? now : MIN(now, nodes->max);
}

static json_t *pin_of_nodes(const Maker *maker, const RgChange *change, const RgPoolNodes *nodes)
{
	const Offer *offer = offer_find(&maker->offers, nodes);
	const json_t *known = offer ? offer->pin : recorded_pin(change, nodes->pool);
	json_t *pin = json_object();
	if (known)
		json_object_update(pin, rg_json_unconst(known));
	rg_json_set_str(pin, "pool", nodes->pool);
	rg_json_set_str(pin, "role", nodes->is_head ? "head" : "worker");
	if (!nodes->is_head)
		json_object_set_new(pin, "first", json_integer(nodes->first));
	if (nodes->is_elastic)
		json_object_update_new(
			pin, json_pack("{s:I, s:I, s:I}", "min", (json_int_t)nodes->min, "max",
				     (json_int_t)nodes->max, "now",
				     (json_int_t)nodes_after(change, nodes)));
	else
		json_object_set_new(pin, "count", json_integer(nodes->min));
	return pin;
}

json_t *pin_after(const Maker *maker, const RgChange *change)
{
	const RgResource *desired = change->desired;
	if (rg_nodes_are_plain(desired)) {
		const RgPoolNodes nodes = rg_nodes_get(desired, 0);
		const Offer *offer = offer_find(&maker->offers, &nodes);
		return json_incref(offer	      ? offer->pin
				   : change->recorded ? change->recorded->pin
						      : NULL);
	}
	json_t *entries = json_array();
	for (size_t i = 0; i < rg_nodes_pools(desired, NULL); i++) {
		const RgPoolNodes nodes = rg_nodes_get(desired, i);
		json_array_append_new(entries, pin_of_nodes(maker, change, &nodes));
	}
	return json_pack("{s:o}", "nodes", entries);
}

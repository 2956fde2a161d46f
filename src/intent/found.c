/* Running resources without a record: what `state rebuild` and `import` share before they record
 * them. Reads only. */
#include "intent/found_internal.h"
#include "base/redact.h"
#include "resource/nodes.h"
#include <string.h>

/* ---- pins: what a node is determines its desired attributes, as if it had been recorded */

static const RgKind *kind_of(const RgFound *all, const RgResource *found)
{
	const RgSchema *schema = rg_provider_get_schema(all->provider);
	return rg_schema_kind(schema, found->kind);
}

static json_t *pin_observed(const RgFound *all, const RgResource *found)
{
	json_t *pin = json_object();
	const RgKind *kind = kind_of(all, found);
	static const char *const members[][2] = {{RG_ROLE_INSTANCE_TYPE, "instance_type"},
		{RG_ROLE_ZONE, "zone"}, {RG_ROLE_IMAGE, "image_id"}, {RG_ROLE_MARKET, "market"},
		{RG_ROLE_RESERVATION, "reservation"}};
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
		const RgAttribute *attribute = rg_kind_with_role(kind, members[i][0]);
		json_t *value = attribute ? json_object_get(found->attrs, attribute->name) : NULL;
		if (json_is_string(value) && *json_string_value(value))
			json_object_set(pin, members[i][1], value);
	}
	if (json_object_get(pin, "reservation"))
		rg_json_set_str(pin, "market", "reserved");
	if (rg_schema_has_no_zones(rg_provider_get_schema(all->provider)))
		rg_json_set_str(pin, "zone", "");
	return pin;
}

/* Of nodes of the pools that the cloud reports; the desired resources have more. */
static json_t *pin_of_pools(const RgFound *all, const RgResource *found)
{
	json_t *entries = json_array();
	rg_json_foreach_member (pool, n, found->nodes) {
		json_t *entry = pin_observed(all, found);
		rg_json_set_str(entry, "pool", pool);
		rg_json_set_str(entry, "role", g_str_equal(pool, "head") ? "head" : "worker");
		json_object_set(entry, "count", n);
		json_array_append_new(entries, entry);
	}
	return json_pack("{s:o}", "nodes", entries);
}

void rg_found_pin(RgFound *all)
{
	rg_resource_foreach (found, all->found) {
		const RgKind *kind = kind_of(all, found);
		if (!kind->node)
			continue;
		found->group = g_intern_string(found->name);
		found->pin = found->nodes ? pin_of_pools(all, found) : pin_observed(all, found);
		rg_pins_add(all->pins, found);
	}
}

/* A group without indexes is the whole pool. */
static bool has_index(const json_t *indexes, int64_t index)
{
	rg_json_foreach (one, indexes) {
		if (json_integer_value(one) == index)
			return true;
	}
	return !json_is_array(indexes);
}

/* Image (`chosen`: raygpu's earlier choice), accelerator and price of the fitted group that the
 * node is in. An image that the spec itself names is not pinned: that would hide that the node has
 * another. */
static void pin_fitted(json_t *pin, const json_t *node, bool chosen)
{
	static const char *const same[] = {"price_microusd_hour", "price_date", "price_quality"};
	const json_t *offer = json_object_get(node, "offer"),
		     *image = json_object_get(node, "image");
	/* if no attribute has the role, only the spec knows */
	if (!json_object_get(pin, "instance_type"))
		json_object_set(pin, "instance_type", json_object_get(offer, "instance_type"));
	const char *type = rg_json_str(pin, "instance_type", "");
	const char *key = rg_json_str(image, "key", "");
	if (chosen && !g_str_equal(key, rg_json_str(image, "id", "")))
		rg_json_set_str(pin, "image_key", key);
	if (!g_str_equal(type, rg_json_str(offer, "instance_type", "")))
		return;
	bool same_market = g_str_equal(rg_json_str(pin, "market", "on-demand"),
				   rg_json_str(offer, "market", "on-demand")) &&
			   g_strcmp0(rg_json_str(pin, "reservation", NULL),
				   rg_json_str(offer, "reservation", NULL)) == 0;
	for (size_t i = 0; i < G_N_ELEMENTS(same) && same_market; i++)
		json_object_set(pin, same[i], json_object_get(offer, same[i]));
	json_object_set(pin, "accelerator", json_object_get(offer, "gpu"));
	json_object_set(pin, "gpus", json_object_get(offer, "gpus"));
	json_t *labels = rg_plan_own_labels(node);
	if (labels)
		json_object_set_new(pin, "labels", labels);
}

/* The fitted group of nodes with that number in the pool. */
static const json_t *fitted_node(const RgFound *all, const RgPoolNodes *nodes)
{
	rg_json_foreach (node, json_object_get(all->fitted, "nodes")) {
		if (g_str_equal(rg_json_str(node, "pool", ""), nodes->pool) &&
			has_index(json_object_get(node, "indexes"),
				nodes->is_elastic ? -1 : nodes->first))
			return node;
	}
	return NULL;
}

/* The desired resource says which nodes it stands for. */
static void pin_as_wanted(const RgFound *all, RgResource *found)
{
	const RgResource *wanted = rg_resource_set_find(all->desired, found->address);
	if (!wanted || rg_nodes_are_plain(wanted))
		return;
	/* others may share the list of desired nodes */
	json_auto_t *nodes = rg_nodes_json(wanted);
	json_t *entries = json_array();
	rg_json_foreach (entry, nodes) {
		json_auto_t *observed = pin_observed(all, found);
		json_t *now = json_object_get(found->nodes, rg_json_str(entry, "pool", ""));
		json_t *whole = json_copy(entry);
		json_object_update(whole, observed);
		if (now && json_object_get(entry, "max"))
			json_object_set(whole, "now", now);
		json_array_append_new(entries, whole);
	}
	json_decref(found->pin);
	found->pin = json_pack("{s:o}", "nodes", entries);
	rg_pins_add(all->pins, found);
}

void rg_found_pin_fitted(RgFound *all)
{
	rg_resource_foreach (found, all->found) {
		if (!found->pin)
			continue;
		pin_as_wanted(all, found);
		for (size_t n = 0; n < rg_nodes_pools(found, NULL); n++) {
			const RgPoolNodes nodes = rg_nodes_get(found, n);
			const json_t *node = fitted_node(all, &nodes);
			if (node)
				pin_fitted(rg_json_unconst(nodes.pin), node,
					found_keeps(all, found) || found->lineage);
		}
	}
}

/* ---- what no list reports */

static bool has_unreadable(const RgKind *kind)
{
	rg_hash_values (RgAttribute, attribute, kind->attributes) {
		if (attribute->unreadable)
			return true;
	}
	return false;
}

static json_t *reveal_input(const RgFound *all, const char *kind)
{
	json_t *items = json_array();
	rg_resource_foreach (found, all->found) {
		if (g_str_equal(found->kind, kind))
			json_array_append_new(items, json_pack("{s:s, s:s}", "address",
							     found->address, "id", found->id));
	}
	return json_pack("{s:s, s:o}", "kind", kind, "items", items);
}

static bool take_revealed(RgFound *all, const RgItemResult *result)
{
	if (result->outcome == RG_OUTCOME_DONE) {
		g_hash_table_insert(
			all->revealed, g_strdup(result->address), json_incref(result->attributes));
		return true;
	}
	RgDiag *diag = rg_diags_error(all->diags, rg_class_code(result->class_),
		"could not read what the list leaves out of %s: %s", result->address,
		result->message ? result->message : "no reason given");
	rg_diag_address(diag, result->address, NULL);
	rg_diag_cloud(diag, rg_provider_name(all->provider), result->code, result->request_id);
	if (result->hint)
		rg_diag_hint(diag, "%s", result->hint);
	return false;
}

bool rg_found_reveal(RgFound *all)
{
	RgProvider *provider = all->provider;
	const RgSchema *schema = rg_provider_get_schema(provider);
	GStrv kinds = rg_schema_kinds(schema);
	bool ok = true;
	for (size_t i = 0; kinds[i] && rg_provider_offers(provider, "reveal"); i++) {
		if (!has_unreadable(rg_schema_kind(schema, kinds[i])))
			continue;
		json_auto_t *input = reveal_input(all, kinds[i]);
		g_autoptr(GPtrArray) results = rg_provider_reveal(provider, input, all->diags);
		/* one refusal is enough */
		for (guint r = 0; ok && r < results->len; r++)
			ok = take_revealed(all, results->pdata[r]);
	}
	return ok;
}

void rg_found_find_token(RgFound *all)
{
	const RgResourceSet *desired = all->desired;
	for (size_t i = 0; !all->token && i < rg_resource_set_size(desired); i++) {
		const RgResource *wanted = rg_resource_set_get(desired, i);
		const json_t *revealed = g_hash_table_lookup(all->revealed, wanted->address);
		if (revealed)
			all->token = found_token_in(kind_of(all, wanted), wanted, revealed);
	}
	if (all->token)
		rg_redact_add(all->token, strlen(all->token));
}

RgResource *rg_found_secret(RgFound *all)
{
	const RgResource *wanted = rg_resource_set_find(all->desired, RG_SECRET_RAY_TOKEN);
	if (!wanted)
		return NULL;
	RgResource *secret = rg_resource_new(wanted->kind, wanted->name, wanted->index);
	secret->attrs = json_incref(wanted->attrs);
	secret->outputs_json = json_object();
	rg_json_set_str(secret->outputs_json, "value", all->token);
	if (all->token)
		return secret;
	RgDiag *diag = rg_diags_warning(all->diags, "state.not-told",
		"the Ray token of the running nodes could not be read back");
	rg_diag_address(diag, RG_SECRET_RAY_TOKEN, NULL);
	rg_diag_hint(diag, "the next apply replaces all nodes to give them a new token. To keep "
			   "them, rebuild into another state (--state) with --ray-token-file and "
			   "the token of a running node");
	return secret;
}

/* A module for machines that exist: each rack has a finite number of each type, and a cluster
 * borrows some. Its inventory is a server of the test (test_depot.py). */
#include "../plain_module.h"

#define KIND "depot.machine"

static rgp_status fail(const Call *c, const char *why)
{
	struct rgp_diag diag = {
		.size = sizeof(diag), .class_ = RGP_CLASS_TRANSIENT, .summary = why};
	c->host->diag(c->call, &diag);
	return RGP_FAIL;
}

/* {TYPE: {RACK: number that are free}} */
static rgp_status resolve(const Call *c)
{
	char path[200];
	json_t *images = json_object(), *offerings = json_object(), *stock = json_object(), *want;
	size_t i;
	snprintf(path, sizeof(path), "free?region=%.64s", c->inst->region);
	Reply reply = request(c, "GET", path, NULL);
	json_array_foreach (json_object_get(c->input, "images"), i, want)
		json_object_set_new(images, str(want, "key"), json_pack("{s:s}", "id", "any"));
	json_array_foreach (json_object_get(c->input, "instance_types"), i, want) {
		json_t *free = json_object_get(reply.value, text_of(want)), *racks = json_array();
		const char *rack;
		json_t *n;
		json_object_foreach (free, rack, n)
			json_array_append_new(racks, json_string(rack));
		json_object_set_new(offerings, text_of(want), racks);
		if (free != NULL)
			json_object_set(stock, text_of(want), free);
	}
	json_t *facts = json_pack("{s:o, s:[s, s], s:o, s:o}", "images", images, "zones", "rack-1",
		"rack-2", "offerings", offerings, "stock", stock);
	json_decref(reply.value);
	if (reply.status == 200)
		return give(c, "facts", facts);
	json_decref(facts);
	return fail(c, "the depot gave no answer");
}

static void add(json_t *list, const json_t *node, json_t *index)
{
	char address[160];
	const char *pool = str(node, "pool"), *role = str(node, "role");
	const json_t *offer = json_object_get(node, "offer");
	snprintf(address, sizeof(address), index != NULL ? KIND ".%s[%d]" : KIND ".%s", pool,
		(int)json_integer_value(index));
	json_array_append_new(list,
		json_pack("{s:s, s:s, s:s, s:O?, s:s, s:s, s:[{s:s, s:s, s:i}], s:{s:s, s:s}}",
			"address", address, "kind", KIND, "name", pool, "index", index, "group",
			pool, "origin", str(node, "origin"), "nodes", "pool", pool, "role", role,
			"count", 1, "attributes", "shape", str(offer, "instance_type"), "rack",
			str(offer, "zone")));
}

static rgp_status lower(const Call *c)
{
	json_t *list = json_array(), *node, *index;
	size_t i, k;
	json_array_foreach (json_object_get(c->input, "nodes"), i, node) {
		if (strcmp(str(node, "role"), "head") == 0)
			add(list, node, NULL);
		json_array_foreach (json_object_get(node, "indexes"), k, index)
			add(list, node, index);
	}
	return give(c, "resources", list);
}

static json_t *observed(const Call *c, const json_t *thing)
{
	const json_t *asked = json_object_get(c->input, "lineage");
	const char *lineage = str(thing, "lineage"), *cluster = str(c->input, "cluster");
	int other = !json_is_string(asked) || strcmp(json_string_value(asked), lineage) != 0;
	int named = (!json_is_string(asked) || !other) &&
		    (!*cluster || strcmp(str(thing, "cluster"), cluster) == 0);
	const char *queued = json_string_value(json_object_get(thing, "queued"));
	const char *lost = json_string_value(json_object_get(thing, "lost"));
	return json_pack("{s:s, s:s*, s:s, s:s*, s:s, s:s*, s:O}", "id", str(thing, "id"),
		"address", named ? str(thing, "address") : NULL, "state",
		lost != NULL	 ? "unknown"
		: queued != NULL ? "queued"
				 : "present",
		"status", lost != NULL ? lost : queued, "token", str(thing, "token"), "lineage",
		other ? lineage : NULL, "attributes", json_object_get(thing, "attributes"));
}

/* What a search finds, by id; 0 if it failed. */
static int look(const Call *c, const char *kind, const char *search, json_t *resources)
{
	Reply reply = request(c, "GET", search, NULL);
	json_t *thing;
	size_t i;
	json_array_foreach (reply.value, i, thing)
		if (strcmp(str(thing, "kind"), kind) == 0)
			json_object_set_new(resources, str(thing, "id"), observed(c, thing));
	json_decref(reply.value);
	return reply.status == 200;
}

static rgp_status give_page(const Call *c, const char *kind, json_t *found, int ok)
{
	json_t *list = json_array(), *resource;
	const char *id;
	json_object_foreach (found, id, resource)
		json_array_append(list, resource);
	json_decref(found);
	rgp_status status =
		give(c, "page", json_pack("{s:s, s:o}", "kind", kind, "resources", list));
	if (!ok)
		return fail(c, "the depot gave no answer");
	return status == RGP_OK ? give(c, "done", json_pack("{s:b}", "complete", 1)) : status;
}

static rgp_status list(const Call *c)
{
	char search[200];
	const char *kind = text_of(json_array_get(json_object_get(c->input, "kinds"), 0));
	const json_t *known = json_object_get(json_object_get(c->input, "known"), kind), *id;
	json_t *found = json_object();
	size_t i;
	snprintf(search, sizeof(search), "things?cluster=%.64s", str(c->input, "cluster"));
	int ok = look(c, kind, search, found);
	json_array_foreach (known, i, id) {
		snprintf(search, sizeof(search), "things?id=%.64s", text_of(id));
		if (json_object_get(found, text_of(id)) == NULL)
			ok = look(c, kind, search, found) && ok;
	}
	return give_page(c, kind, found, ok);
}

static rgp_status find(const Call *c)
{
	char search[200];
	json_t *found = json_object();
	snprintf(search, sizeof(search), "things?token=%.64s", str(c->input, "token"));
	int ok = look(c, str(c->input, "kind"), search, found);
	return give_page(c, str(c->input, "kind"), found, ok);
}

/* The depot's answer has the outcome: done, or failed with class and message. */
static rgp_status give_item(const Call *c, const json_t *item, Reply reply)
{
	json_t *result = json_pack("{s:s, s:s, s:s}", "address", str(item, "address"), "outcome",
		"failed", "class", "transient");
	if (reply.value != NULL)
		json_object_update(result, json_object_get(reply.value, "item"));
	json_decref(reply.value);
	return give(c, "item", result);
}

static rgp_status create(const Call *c)
{
	json_t *marks = json_object_get(c->input, "marks");
	const json_t *item = json_array_get(json_object_get(c->input, "items"), 0);
	json_t *body =
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:O}", "kind", str(c->input, "kind"),
			"address", str(item, "address"), "token", str(c->input, "token"), "cluster",
			str(marks, "cluster"), "lineage", str(marks, "lineage"), "region",
			c->inst->region, "attributes", json_object_get(c->input, "attributes"));
	Reply reply = request(c, "POST", "things", body);
	json_decref(body);
	return give_item(c, item, reply);
}

/* Once for each item: the depot decides. */
static rgp_status each(const Call *c, const char *method)
{
	size_t i;
	const json_t *item;
	rgp_status status = RGP_OK;
	json_array_foreach (json_object_get(c->input, "items"), i, item) {
		char path[200];
		snprintf(path, sizeof(path), "things/%.100s", str(item, "id"));
		if (status == RGP_OK)
			status = give_item(c, item, request(c, method, path, NULL));
	}
	return status;
}

CALL(resolve, resolve(&c))
CALL(lower, lower(&c))
CALL(list, list(&c))
CALL(find, find(&c))
CALL(create, create(&c))
CALL(ready, each(&c, "GET"))
CALL(remove, each(&c, "DELETE"))

RGP_ENTRY(depot)
{
	static const struct rgp_provider provider = {.size = sizeof(provider),
		.abi_major = RGP_ABI_MAJOR,
		.abi_minor = RGP_ABI_MINOR,
		.name = "depot",
		.version = "1",
		.schema = call_schema,
		.open = call_open,
		.close = call_close,
		.resolve = call_resolve,
		.lower = call_lower,
		.list = call_list,
		.create = call_create,
		.remove = call_remove,
		.ready = call_ready,
		.find = call_find};
	return &provider;
}

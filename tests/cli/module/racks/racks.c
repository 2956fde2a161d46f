/* A module whose resources are not machines: a rack is up to three nodes of a pool, a fleet a pool
 * between two sizes. No attribute has a role. Its cloud stores resources as they are sent
 * (test_racks.py). */
#include "../plain_module.h"

#define A_RACK 3

/* The answer's JSON; NULL and a diagnostic if it is not a success. */
static json_t *answer_of(const Call *c, const char *method, const char *path, const json_t *body)
{
	Reply reply = request(c, method, path, body);
	struct rgp_diag diag = {.size = sizeof(diag),
		.class_ = RGP_CLASS_TRANSIENT,
		.summary = "the cloud of racks gave no answer"};
	if (reply.status == 200 && reply.value != NULL)
		return reply.value;
	json_decref(reply.value);
	c->host->diag(c->call, &diag);
	return NULL;
}

static rgp_status resolve(const Call *c)
{
	json_t *images = json_object(), *offerings = json_object(), *want;
	size_t i;
	json_array_foreach (json_object_get(c->input, "images"), i, want)
		json_object_set_new(images, str(want, "key"), json_pack("{s:s}", "id", "any"));
	json_array_foreach (json_object_get(c->input, "instance_types"), i, want)
		json_object_set_new(offerings, text_of(want),
			strncmp(text_of(want), "raygpu-check", 12) != 0 ? json_pack("[s]", "hall")
									: json_array());
	return give(c, "facts",
		json_pack("{s:o, s:[s], s:o}", "images", images, "zones", "hall", "offerings",
			offerings));
}

static void add(json_t *list, const json_t *node, const char *kind, json_t *index, json_t *nodes,
	json_t *attributes)
{
	char address[160];
	const char *pool = str(node, "pool");
	snprintf(address, sizeof(address), index != NULL ? "%s.%s[%d]" : "%s.%s", kind, pool,
		(int)json_integer_value(index));
	json_object_set_new(attributes, "shape",
		json_string(str(json_object_get(node, "offer"), "instance_type")));
	json_object_set_new(nodes, "pool", json_string(pool));
	json_object_set_new(nodes, "role", json_string(str(node, "role")));
	json_array_append_new(
		list, json_pack("{s:s, s:s, s:s, s:o?, s:s, s:s, s:[o], s:o}", "address", address,
			      "kind", kind, "name", pool, "index", index, "group", pool, "origin",
			      str(node, "origin"), "nodes", nodes, "attributes", attributes));
}

/* A pool has several groups of nodes where their offers differ; a rack's nodes are of one. */
static void add_racks(json_t *list, const json_t *node)
{
	const json_t *indexes = json_object_get(node, "indexes");
	int n = (int)json_array_size(indexes);
	for (int at = 0; at < n; at += A_RACK) {
		int first = (int)json_integer_value(json_array_get(indexes, (size_t)at));
		int count = n - at < A_RACK ? n - at : A_RACK;
		/* of full racks the first node follows from the index */
		add(list, node, "racks.rack", json_integer(first / A_RACK),
			json_pack("{s:i, s:o*}", "count", count, "first",
				count < A_RACK ? json_integer(first) : NULL),
			json_pack("{s:i}", "size", count));
	}
}

static rgp_status lower(const Call *c)
{
	json_t *list = json_array(), *node;
	size_t i;
	json_array_foreach (json_object_get(c->input, "nodes"), i, node) {
		json_t *min = json_object_get(node, "min"), *max = json_object_get(node, "max");
		if (strcmp(str(node, "role"), "head") == 0)
			add(list, node, "racks.rack", NULL, json_pack("{s:i}", "count", 1),
				json_pack("{s:i}", "size", 1));
		else if (max != NULL)
			add(list, node, "racks.fleet", NULL,
				json_pack("{s:O, s:O}", "min", min, "max", max),
				json_pack("{s:O, s:O}", "least", min, "most", max));
		else
			add_racks(list, node);
	}
	return give(c, "resources", list);
}

/* What carries another cluster's name, or another lineage, has no address for this one. */
static json_t *observed(const Call *c, const json_t *thing)
{
	const json_t *asked = json_object_get(c->input, "lineage");
	const char *lineage = str(thing, "lineage"), *cluster = str(c->input, "cluster");
	int other = !json_is_string(asked) || strcmp(json_string_value(asked), lineage) != 0;
	int named = (!json_is_string(asked) || !other) &&
		    (!*cluster || strcmp(str(thing, "cluster"), cluster) == 0);
	return json_pack("{s:s, s:s*, s:s, s:s, s:s*, s:O, s:O*}", "id", str(thing, "id"),
		"address", named ? str(thing, "address") : NULL, "state", "present", "token",
		str(thing, "token"), "lineage", other ? lineage : NULL, "attributes",
		json_object_get(thing, "attributes"), "nodes", json_object_get(thing, "nodes"));
}

/* What a search finds of the kind, by id; 0 if it failed. */
static int look(const Call *c, const char *kind, const char *search, json_t *resources)
{
	json_t *reply = answer_of(c, "GET", search, NULL), *thing;
	int ok = reply != NULL;
	size_t i;
	json_array_foreach (reply, i, thing) {
		if (strcmp(str(thing, "kind"), kind) == 0)
			json_object_set_new(resources, str(thing, "id"), observed(c, thing));
	}
	json_decref(reply);
	return ok;
}

static rgp_status give_page(const Call *c, const char *kind, const json_t *found)
{
	json_t *list = json_array(), *resource;
	const char *id;
	json_object_foreach ((json_t *)found, id, resource)
		json_array_append(list, resource);
	rgp_status status =
		give(c, "page", json_pack("{s:s, s:o}", "kind", kind, "resources", list));
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
	rgp_status status = ok ? give_page(c, kind, found) : RGP_FAIL;
	json_decref(found);
	return status;
}

static rgp_status find(const Call *c)
{
	char search[200];
	json_t *found = json_object();
	snprintf(search, sizeof(search), "things?token=%.64s", str(c->input, "token"));
	int ok = look(c, str(c->input, "kind"), search, found);
	rgp_status status = ok ? give_page(c, str(c->input, "kind"), found) : RGP_FAIL;
	json_decref(found);
	return status;
}

static rgp_status give_item(const Call *c, const json_t *item, json_t *reply)
{
	json_t *result = json_pack("{s:s, s:s, s:s, s:{}}", "address", str(item, "address"),
		"outcome", reply != NULL ? "done" : "failed", "id", str(reply, "id"), "attributes");
	if (reply == NULL)
		json_object_set_new(result, "class", json_string("transient"));
	json_decref(reply);
	return give(c, "item", result);
}

static rgp_status create(const Call *c)
{
	json_t *marks = json_object_get(c->input, "marks");
	const json_t *item = json_array_get(json_object_get(c->input, "items"), 0);
	json_t *body = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O}", "kind", str(c->input, "kind"),
		"address", str(item, "address"), "token", str(c->input, "token"), "cluster",
		str(marks, "cluster"), "lineage", str(marks, "lineage"), "attributes",
		json_object_get(c->input, "attributes"));
	json_t *reply = answer_of(c, "POST", "things", body);
	json_decref(body);
	return give_item(c, item, reply);
}

static rgp_status change(const Call *c, const char *method)
{
	const json_t *item = json_array_get(json_object_get(c->input, "items"), 0);
	char path[200];
	snprintf(path, sizeof(path), "things/%.100s", str(item, "id"));
	return give_item(c, item, answer_of(c, method, path, json_object_get(item, "attributes")));
}

CALL(resolve, resolve(&c))
CALL(lower, lower(&c))
CALL(list, list(&c))
CALL(find, find(&c))
CALL(create, create(&c))
CALL(update, change(&c, "PATCH"))
CALL(remove, change(&c, "DELETE"))

RGP_ENTRY(racks)
{
	static const struct rgp_provider provider = {.size = sizeof(provider),
		.abi_major = RGP_ABI_MAJOR,
		.abi_minor = RGP_ABI_MINOR,
		.name = "racks",
		.version = "1",
		.schema = call_schema,
		.open = call_open,
		.close = call_close,
		.resolve = call_resolve,
		.lower = call_lower,
		.list = call_list,
		.create = call_create,
		.remove = call_remove,
		.update = call_update,
		.find = call_find};
	return &provider;
}

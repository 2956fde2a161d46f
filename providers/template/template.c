/* A complete provider module for the smallest possible cloud: nodes, behind HTTP and JSON
 * (README.md has its API). Copy the folder, rename it, and replace this cloud with yours.
 *
 * Everything goes through the host: the module opens no socket, does not read the environment
 * itself, starts no thread, prints nothing. raygpu/provider.h defines the input and result of each
 * call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cloud.h"
#include "config.h"

#define KIND "template.node"
#define HEAD "template.node.head"
#define PAGE 100

/* `path` with a name from the cloud at its end: an id, or the name of an operation. */
static json_t *request_at(const Call *c, const char *what, const char *method, const char *path,
	const char *word, const char *query, const json_t *body, Failure *why)
{
	char full[256];
	if (!is_word(word)) {
		set_failure(why, RGP_CLASS_INVALID, "", "an id that this cloud cannot have given");
		return NULL;
	}
	snprintf(full, sizeof(full), "%s%s%s", path, word, query);
	return request(c, what, method, full, body, why);
}

static json_t *get_node(const Call *c, const char *id, Failure *why)
{
	return request_at(c, "GetNode", "GET", "/v1/nodes/", id, "", NULL, why);
}

/* A change of the node in the version that the plan saw, or that the last answer reported. The
 * cloud refuses any other version, so nobody's change is overwritten silently. */
static json_t *change_node(const Call *c, const char *what, const char *method, const json_t *item,
	const json_t *body, Failure *why)
{
	char query[48];
	const json_t *version = json_object_get(json_object_get(item, "observed"), "version");
	snprintf(query, sizeof(query), "?version=%" JSON_INTEGER_FORMAT,
		json_integer_value(version));
	return request_at(c, what, method, "/v1/nodes/", str(item, "id"), query, body, why);
}

/* ---- schema, open, close */

static rgp_status call_schema(const struct rgp_host *host, struct rgp_call *call)
{
	return host->result(
		call, "schema", (struct rgp_bytes){SCHEMA_JSON, sizeof(SCHEMA_JSON) - 1});
}

static void call_close(struct rgp_inst *inst)
{
	if (inst == NULL)
		return;
	free(inst->endpoint);
	free(inst->region);
	free(inst->authorization);
	free(inst);
}

static rgp_status call_open(const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, struct rgp_inst **inst)
{
	Call c = {NULL, host, call, json_loadb(args->input.data, args->input.len, 0, NULL)};
	const char *key = host->env(call, "TEMPLATE_API_KEY");
	Failure why;
	char line[512];
	*inst = NULL;
	if (key == NULL || *key == '\0' || strlen(key) > 400 || strpbrk(key, "\r\n") != NULL) {
		json_decref(c.input);
		set_failure(&why, RGP_CLASS_DENIED, "", "no key for the cloud was found");
		return fail(&c, &why, "put it into the environment as TEMPLATE_API_KEY");
	}
	host->secret(call, (struct rgp_bytes){key, strlen(key)});
	snprintf(line, sizeof(line), "Authorization: Bearer %s", key);
	*inst = calloc(1, sizeof(**inst));
	(*inst)->endpoint = strdup(str(json_object_get(c.input, "config"), "endpoint"));
	(*inst)->region = strdup(str(c.input, "region"));
	(*inst)->authorization = strdup(line);
	json_decref(c.input);
	return RGP_OK;
}

/* ---- resolve, lower: what exists, and what is desired */

static rgp_status resolve(const Call *c)
{
	char path[128];
	Failure why;
	size_t i;
	json_t *want, *images = json_object();
	json_t *offerings = json_object();
	snprintf(path, sizeof(path), "/v1/regions/%s", c->inst->region);
	json_t *region = request(c, "GetRegion", "GET", path, NULL, &why);
	json_array_foreach (json_object_get(c->input, "images"), i, want) {
		const char *given = str(want, "image");
		const char *id = *given ? given : str(region, "image");
		json_object_set_new(images, str(want, "key"), json_pack("{s:s}", "id", id));
	}
	json_array_foreach (json_object_get(c->input, "instance_types"), i, want) {
		const char *size = json_string_value(want);
		json_t *zones = json_object_get(json_object_get(region, "sizes"), size);
		json_object_set_new(offerings, size, zones ? json_incref(zones) : json_array());
	}
	json_t *facts = json_pack("{s:o, s:O?, s:o, s:O*}", "images", images, "zones",
		json_object_get(region, "zones"), "offerings", offerings, "stock",
		json_object_get(region, "free")); /* a cloud without limits has none */
	if (region == NULL) {
		json_decref(facts);
		return fail(c, &why,
			why.class_ == RGP_CLASS_GONE ? "is the region's name right?" : NULL);
	}
	json_decref(region);
	return give(c, "facts", facts);
}

/* boot writes "@head" for the head's address: this is the resource and attribute that it stands
 * for. */
static void point_at_head(json_t *value)
{
	const char *key;
	size_t i;
	json_t *member;
	if (strcmp(str(value, "$ref"), "@head") == 0)
		json_object_update_new(
			value, json_pack("{s:s, s:s}", "$ref", HEAD, "attr", "private_ip"));
	json_object_foreach (value, key, member)
		point_at_head(member);
	json_array_foreach (value, i, member)
		point_at_head(member);
}

static void lower_node(const json_t *node, const json_t *labels, const json_t *index, json_t *list)
{
	const json_t *offer = json_object_get(node, "offer"),
		     *image = json_object_get(node, "image");
	const char *pool = str(node, "pool");
	int is_head = strcmp(str(node, "role"), "head") == 0;
	char address[160];
	snprintf(address, sizeof(address), is_head ? HEAD : KIND ".%s[%d]", pool,
		(int)json_integer_value(index));
	json_t *user_data =
		json_deep_copy(json_object_get(json_object_get(node, "boot"), "user_data"));
	point_at_head(user_data);
	json_t *attributes = json_pack("{s:s, s:s, s:s, s:O, s:o*, s:O*, s:O*}", "size",
		str(offer, "instance_type"), "zone", str(offer, "zone"), "image", str(image, "id"),
		"labels", labels, "user_data", user_data, "links",
		json_object_get(json_object_get(node, "network"), "rdma"), "power_limit_w",
		json_object_get(json_object_get(node, "config"), "power_limit_w"));
	json_array_append_new(list,
		json_pack("{s:s, s:s, s:s, s:O?, s:s, s:s, s:[{s:s, s:s, s:i}], s:o, s:o}",
			"address", address, "kind", KIND, "name", is_head ? "head" : pool, "index",
			index, "group", pool, "origin", str(node, "origin"), "nodes", "pool", pool,
			"role", is_head ? "head" : "worker", "count", 1, "attributes", attributes,
			"depends_on", is_head ? json_array() : json_pack("[s]", HEAD)));
}

static rgp_status lower(const Call *c)
{
	size_t i, k;
	json_t *node, *index, *list = json_array();
	const json_t *labels = json_object_get(c->input, "labels");
	json_array_foreach (json_object_get(c->input, "nodes"), i, node) {
		if (strcmp(str(node, "role"), "head") == 0)
			lower_node(node, labels, NULL, list);
		json_array_foreach (json_object_get(node, "indexes"), k, index)
			lower_node(node, labels, index, list);
	}
	return give(c, "resources", list);
}

/* ---- list, find: what exists */

/* The lineage in a node's marks, if it differs from the input's; else NULL. */
static const char *other_lineage(const Call *c, const json_t *marks)
{
	const json_t *asked = json_object_get(c->input, "lineage");
	const char *lineage = str(marks, "lineage");
	if (asked == NULL ||
		(json_is_string(asked) && strcmp(str(c->input, "lineage"), lineage) == 0))
		return NULL;
	return *lineage ? lineage : NULL;
}

/* A node in the form of the ABI; NULL if it is invalid. Only the schema's attributes. A resource
 * that another state created has no address here. */
static json_t *observed(const Call *c, const json_t *node)
{
	const json_t *marks = json_object_get(node, "marks"),
		     *index = json_object_get(marks, "index");
	const char *id = str(node, "id"), *pool = str(marks, "pool"), *token = str(node, "token");
	const char *lineage = other_lineage(c, marks);
	char address[160] = "";
	if (!is_word(id))
		return NULL;
	if (lineage != NULL && json_is_string(json_object_get(c->input, "lineage")))
		pool = "";
	if (strcmp(pool, "head") == 0)
		snprintf(address, sizeof(address), HEAD);
	else if (*pool && json_is_integer(index))
		snprintf(address, sizeof(address), KIND ".%.100s[%d]", pool,
			(int)json_integer_value(index));
	return json_pack("{s:s, s:s*, s:s*, s:s, s:s, s:s*, s:{s:s, s:s, s:s, s:O*, s:O*, s:O*, "
			 "s:O*, s:O*}}",
		"id", id, "address", *address ? address : NULL, "lineage", lineage, "state",
		strcmp(str(node, "state"), "gone") == 0	    ? "gone"
		: strcmp(str(node, "state"), "queued") == 0 ? "queued"
							    : "present",
		"status", *str(node, "waits") ? str(node, "waits") : str(node, "state"), "token",
		*token ? token : NULL, "attributes", "size", str(node, "size"), "zone",
		str(node, "zone"), "image", str(node, "image"), "labels",
		json_object_get(node, "labels"), "private_ip", json_object_get(node, "private_ip"),
		"links", json_object_get(node, "links"), "power_limit_w",
		json_object_get(node, "power_limit_w"), "version",
		json_object_get(node, "version"));
}

/* Every page of a search; `seen` gets the ids. An error is a failed call, never a short list. */
static rgp_status give_pages(const Call *c, const char *search, json_t *seen)
{
	Failure why;
	char path[512], after[130] = "";
	do {
		snprintf(path, sizeof(path), "/v1/nodes?%s&limit=%d&after=%s", search, PAGE, after);
		json_t *reply = request(c, "ListNodes", "GET", path, NULL, &why), *node;
		const json_t *nodes = json_object_get(reply, "nodes");
		if (reply == NULL)
			return fail(c, &why, NULL);
		const char *next = str(reply, "next");
		json_t *resources = json_array();
		size_t i;
		int sound = json_is_array(nodes) && (!*next || is_word(next)) &&
			    strcmp(next, *after ? after : "-") != 0;
		json_array_foreach (nodes, i, node) {
			json_t *resource = observed(c, node);
			sound = sound && resource != NULL;
			json_object_set_new(seen, str(node, "id"), json_true());
			json_array_append_new(resources, resource);
		}
		snprintf(after, sizeof(after), "%s", next);
		json_decref(reply);
		rgp_status status = give(c, "page", json_pack("{s:o}", "resources", resources));
		set_failure(&why, RGP_CLASS_TRANSIENT, "", "a page of nodes makes no sense");
		if (!sound || status != RGP_OK)
			return fail(c, &why, NULL);
	} while (*after);
	return RGP_OK;
}

static rgp_status list(const Call *c)
{
	char search[160];
	json_t *id, *seen = json_object();
	size_t i;
	Failure why;
	/* Whatever the lineage: a name that another state uses must be visible. */
	snprintf(search, sizeof(search), "cluster=%.64s", str(c->input, "cluster"));
	rgp_status status = give_pages(c, search, seen);
	/* Ids that the search did not return: someone may have changed the marks. */
	const json_t *known = json_object_get(json_object_get(c->input, "known"), KIND);
	json_array_foreach (known, i, id) {
		if (status != RGP_OK || json_object_get(seen, json_string_value(id)) != NULL)
			continue;
		set_failure(&why, RGP_CLASS_TRANSIENT, "", "a node makes no sense");
		json_t *node = get_node(c, json_string_value(id), &why);
		json_t *resource = observed(c, node);
		if (resource != NULL)
			status = give(c, "page", json_pack("{s:[o]}", "resources", resource));
		else if (node != NULL || why.class_ != RGP_CLASS_GONE)
			status = fail(c, &why, NULL);
		json_decref(node);
	}
	json_decref(seen);
	return status == RGP_OK ? give(c, "done", json_pack("{s:b}", "complete", 1)) : status;
}

static rgp_status find(const Call *c)
{
	char search[160];
	json_t *seen = json_object();
	snprintf(search, sizeof(search), "token=%.64s", str(c->input, "token"));
	rgp_status status = give_pages(c, search, seen);
	json_decref(seen);
	return status == RGP_OK ? give(c, "done", json_pack("{s:b}", "complete", 1)) : status;
}

/* ---- create, ready, update, remove: one item at a time */

static rgp_status give_failed(const Call *c, const json_t *item, const Failure *why)
{
	/* With its id, this is the final answer for a node that ended; without, the host asks
	 * again. */
	const char *id = why->class_ == RGP_CLASS_GONE ? str(item, "id") : "";
	return give(c, "item",
		json_pack("{s:s, s:s, s:s*, s:s, s:s, s:s, s:b}", "address", str(item, "address"),
			"outcome", "failed", "id", *id ? id : NULL, "class",
			class_name(why->class_), "code", why->code, "message", why->message,
			"definite", why->definite));
}

static rgp_status give_item(
	const Call *c, const json_t *item, const char *outcome, const json_t *node)
{
	const char *id = str(node, "id");
	return give(c, "item",
		json_pack("{s:s, s:s, s:s*, s:O*, s:O*, s:{s:O*, s:O*}}", "address",
			str(item, "address"), "outcome", outcome, "id", *id ? id : NULL, "message",
			json_object_get(node, "waits"), "operation",
			json_object_get(node, "operation"), "attributes", "private_ip",
			json_object_get(node, "private_ip"), "version",
			json_object_get(node, "version")));
}

/* One request for all items; the token makes it safe to send again. The cloud creates as many nodes
 * as it can, in the order of `indexes`, and gives the reason for missing ones under "error". */
static rgp_status create(const Call *c)
{
	static const char *const sent[] = {
		"size", "zone", "image", "links", "power_limit_w", "labels", "user_data", NULL};
	const json_t *attributes = json_object_get(c->input, "attributes");
	json_t *items = json_object_get(c->input, "items"), *item, *indexes = json_array();
	size_t i;
	Failure why;
	json_array_foreach (items, i, item)
		json_array_append(indexes, json_object_get(item, "index"));
	json_t *body = json_pack("{s:s, s:o, s:O}", "token", str(c->input, "token"), "indexes",
		indexes, "marks", json_object_get(c->input, "marks"));
	for (i = 0; sent[i] != NULL; i++)
		json_object_set(body, sent[i], json_object_get(attributes, sent[i]));
	json_t *reply = request(c, "CreateNodes", "POST", "/v1/nodes", body, &why);
	if (reply != NULL)
		read_failure(0, reply, &why);
	json_array_foreach (items, i, item) {
		json_t *node = json_array_get(json_object_get(reply, "nodes"), i);
		if (is_word(str(node, "id")))
			give_item(c, item, "done", node);
		else
			give_failed(c, item, &why);
	}
	json_decref(body);
	json_decref(reply);
	return RGP_OK;
}

/* Checks once; the host repeats the call while something is "pending". */
static void ready_item(const Call *c, const json_t *item)
{
	Failure why;
	json_t *node = get_node(c, str(item, "id"), &why);
	const char *state = str(node, "state");
	if (node != NULL)
		set_failure(&why, RGP_CLASS_GONE, "", "the node ended while it started");
	if (strcmp(state, "running") == 0)
		give_item(c, item, "done", node);
	else if (strcmp(state, "queued") == 0) /* no time-out ends that */
		give_item(c, item, "queued", node);
	else if (strcmp(state, "starting") == 0)
		give_item(c, item, "pending", node);
	else
		give_failed(c, item, &why);
	json_decref(node);
}

/* Some changes take time: the cloud returns an operation to ask about. */
static void update_item(const Call *c, const json_t *item)
{
	Failure why;
	json_t *wanted = json_object_get(json_object_get(item, "attributes"), "labels");
	json_t *body = json_pack("{s:O*}", "labels", wanted);
	const char *operation = str(item, "operation");
	json_t *node = *operation ? request_at(c, "GetOperation", "GET", "/v1/operations/",
					    operation, "", NULL, &why)
				  : change_node(c, "ChangeNode", "PATCH", item, body, &why);
	if (node == NULL)
		give_failed(c, item, &why);
	else
		give_item(c, item, *str(node, "operation") ? "pending" : "done", node);
	json_decref(body);
	json_decref(node);
}

/* Sent again while the node stops; the cloud answers as the first time. */
static void remove_item(const Call *c, const json_t *item)
{
	Failure why;
	json_t *node = change_node(c, "DeleteNode", "DELETE", item, NULL, &why);
	if (node == NULL && why.class_ != RGP_CLASS_GONE) /* gone counts as done */
		give_failed(c, item, &why);
	else
		give_item(c, item, strcmp(str(node, "state"), "stopping") == 0 ? "pending" : "done",
			node);
	json_decref(node);
}

static rgp_status each(const Call *c, void (*act)(const Call *c, const json_t *item))
{
	size_t i;
	json_t *item;
	json_array_foreach (json_object_get(c->input, "items"), i, item)
		act(c, item);
	return RGP_OK;
}

/* ---- preflight: what the cloud reports in advance */

static rgp_status check_create(const Call *c, const json_t *create)
{
	Failure why;
	char path[256];
	const json_t *address = json_array_get(json_object_get(create, "addresses"), 0);
	snprintf(path, sizeof(path), "/v1/check?size=%.64s&count=%lld",
		str(json_object_get(create, "attributes"), "size"),
		(long long)json_integer_value(json_object_get(create, "count")));
	json_t *said = request(c, "Check", "GET", path, NULL, &why);
	if (said == NULL)
		return fail(c, &why, NULL);
	rgp_status status = RGP_OK;
	if (*str(said, "code"))
		status = give(c, "finding",
			json_pack("{s:s, s:s, s:s, s:O*, s:s?, s:s}", "severity",
				str(said, "severity"), "class",
				class_name(class_of_code(str(said, "code"))), "message",
				str(said, "message"), "hint", json_object_get(said, "hint"),
				"address", json_string_value(address), "attribute", "size"));
	json_decref(said);
	return status;
}

static rgp_status preflight(const Call *c)
{
	size_t i;
	const json_t *create;
	rgp_status status = RGP_OK;
	json_array_foreach (json_object_get(c->input, "creates"), i, create)
		status = status == RGP_OK ? check_create(c, create) : status;
	return status;
}

/* ---- the table */

#define CALL(name, run)                                                                            \
	static rgp_status call_##name(struct rgp_inst *inst, const struct rgp_host *host,          \
		struct rgp_call *call, const struct rgp_args *args)                                \
	{                                                                                          \
		Call c = {inst, host, call, NULL};                                                 \
		c.input = json_loadb(args->input.data, args->input.len, 0, NULL);                  \
		rgp_status status = c.input != NULL ? (run) : RGP_FAIL;                            \
		json_decref(c.input);                                                              \
		return status;                                                                     \
	}

CALL(resolve, resolve(&c))
CALL(lower, lower(&c))
CALL(list, list(&c))
CALL(find, find(&c))
CALL(create, create(&c))
CALL(ready, each(&c, ready_item))
CALL(update, each(&c, update_item))
CALL(remove, each(&c, remove_item))
CALL(preflight, preflight(&c))

static const struct rgp_provider provider = {
	.size = sizeof(provider),
	.abi_major = RGP_ABI_MAJOR,
	.abi_minor = RGP_ABI_MINOR,
	.flags = RGP_PARALLEL, /* an instance is immutable after open */
	.name = "template",
	.version = VERSION,
	.schema = call_schema,
	.open = call_open,
	.close = call_close,
	.resolve = call_resolve,
	.lower = call_lower,
	.list = call_list,
	.create = call_create,
	.remove = call_remove,
	.update = call_update,
	.ready = call_ready,
	.find = call_find,
	.preflight = call_preflight,
};

RGP_ENTRY(template)
{
	return &provider;
}

/* A cloud as unlike a provider of machines as can be: one resource is a whole Ray cluster, with a
 * version instead of a token, elastic groups, no regions, zones or instance types, containers that
 * the cloud starts by itself, and updates and removals that take their time (test_mesh.py). */
#include <signal.h>
#include <unistd.h>
#include "../plain_module.h"

/* As a library below a module might: $MESH_ENDS is where, such as "before create", and how. */
static void end_here(const char *where)
{
	const char *ends = getenv("MESH_ENDS");
	size_t n = strlen(where);
	if (ends == NULL || strncmp(ends, where, n) != 0)
		return;
	const char *how = ends + n + 1;
	if (strcmp(how, "exit") == 0)
		exit(0);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(0);
	if (strcmp(how, "_exit") == 0)
		_exit(0);
	if (strcmp(how, "_Exit") == 0)
		_Exit(0);
	if (strcmp(how, "abort") == 0)
		abort();
	raise(SIGSEGV);
}

/* The path is made from a format with an id and a version. */
static Reply ask(const Call *c, const char *method, const json_t *body, const char *format,
	const char *id, json_int_t version)
{
	char path[300];
	snprintf(path, sizeof(path), format, id, version);
	return request(c, method, path, body);
}

/* Nodes are shapes, such as "cpu" and "T4:1": nothing else is offered. */
static rgp_status resolve(const Call *c)
{
	json_t *images = json_object(), *offerings = json_object(), *want;
	size_t i;
	json_array_foreach (json_object_get(c->input, "images"), i, want)
		json_object_set_new(images, str(want, "key"), json_pack("{s:s}", "id", "none"));
	json_array_foreach (json_object_get(c->input, "instance_types"), i, want) {
		if (strchr(text_of(want), ':') == NULL && strcmp(text_of(want), "cpu") != 0)
			json_object_set_new(offerings, text_of(want), json_array());
	}
	return give(c, "facts", json_pack("{s:o, s:o}", "images", images, "offerings", offerings));
}

/* The command's texts; the head's address is a name that is known before anything runs. */
static json_t *command_of(const json_t *boot)
{
	json_t *words = json_array(), *word;
	size_t i;
	json_array_foreach (json_object_get(boot, "command"), i, word)
		json_array_append_new(
			words, json_is_string(word) ? json_incref(word) : json_string("head:6379"));
	return words;
}

static json_t *group_of(const json_t *node)
{
	const json_t *boot = json_object_get(node, "boot"), *offer = json_object_get(node, "offer");
	return json_pack("{s:O, s:O, s:O?, s:o, s:O}", "image", json_object_get(boot, "image"),
		"gpus", json_object_get(offer, "gpus"), "gpu", json_object_get(offer, "gpu"),
		"command", command_of(boot), "env", json_object_get(boot, "env"));
}

static rgp_status lower(const Call *c)
{
	json_t *groups = json_object(), *nodes = json_array(), *token = NULL, *node;
	size_t i;
	json_array_foreach (json_object_get(c->input, "nodes"), i, node) {
		json_t *group = group_of(node), *stands = json_object();
		json_t *min = json_object_get(node, "min"), *max = json_object_get(node, "max");
		json_t *indexes = json_object_get(node, "indexes");
		json_int_t count =
			json_is_array(indexes) ? (json_int_t)json_array_size(indexes) : 1;
		json_object_set(stands, "pool", json_object_get(node, "pool"));
		json_object_set(stands, "role", json_object_get(node, "role"));
		if (max == NULL)
			json_object_set_new(stands, "count", json_integer(count));
		json_object_set(stands, "min", min);
		json_object_set(stands, "max", max);
		json_object_set_new(group, "least", max ? json_incref(min) : json_integer(count));
		json_object_set_new(group, "most", max ? json_incref(max) : json_integer(count));
		json_object_set_new(groups, str(node, "pool"), group);
		json_array_append_new(nodes, stands);
		token = json_object_get(json_object_get(node, "boot"), "token");
	}
	return give(c, "resources",
		json_pack("[{s:s, s:s, s:s, s:n, s:n, s:s, s:o, s:{s:o, s:O, s:O*}}]", "address",
			"mesh.cluster.ray", "kind", "mesh.cluster", "name", "ray", "index", "group",
			"origin", "/cluster", "nodes", nodes, "attributes", "groups", groups,
			"labels", json_object_get(c->input, "labels"), "token", token));
}

/* What the cloud reports about a cluster; one of another lineage or name has no address here. */
static json_t *observed(const Call *c, const json_t *thing)
{
	const json_t *asked = json_object_get(c->input, "lineage"),
		     *marks = json_object_get(thing, "marks");
	const char *lineage = str(marks, "lineage"), *name = str(c->input, "cluster");
	int ours = *lineage && (!*name || strcmp(str(marks, "cluster"), name) == 0);
	int other = !json_is_string(asked) || strcmp(json_string_value(asked), lineage) != 0;
	const char *address =
		ours && (!json_is_string(asked) || !other) ? "mesh.cluster.ray" : NULL;
	return json_pack("{s:s, s:s*, s:s, s:s, s:s*, s:O, s:{s:O, s:O, s:O, s:s}}", "id",
		str(thing, "id"), "address", address, "state", "present", "token",
		str(marks, "token"), "lineage", other && *lineage ? lineage : NULL, "nodes",
		json_object_get(thing, "running"), "attributes", "groups",
		json_object_get(thing, "groups"), "labels", json_object_get(thing, "labels"),
		"version", json_object_get(thing, "version"), "address", "head");
}

static int is_known(const Call *c, const char *id)
{
	json_t *known = json_object_get(json_object_get(c->input, "known"), "mesh.cluster"), *one;
	size_t i;
	json_array_foreach (known, i, one) {
		if (strcmp(text_of(one), id) == 0)
			return 1;
	}
	return 0;
}

/* All clusters come in one answer; those of this name, of this token, or known. */
static rgp_status look(const Call *c)
{
	Reply reply = ask(c, "GET", NULL, "clusters", "", 0);
	json_t *list = json_array(), *thing;
	const char *token = str(c->input, "token"), *name = str(c->input, "cluster");
	size_t i;
	json_array_foreach (reply.value, i, thing) {
		const json_t *marks = json_object_get(thing, "marks");
		int named = *token ? strcmp(str(marks, "token"), token) == 0
				   : strcmp(str(marks, "cluster"), name) == 0 && *name;
		if (named || is_known(c, str(thing, "id")))
			json_array_append_new(list, observed(c, thing));
	}
	int ok = reply.status == 200;
	json_decref(reply.value);
	rgp_status status =
		give(c, "page", json_pack("{s:s, s:o}", "kind", "mesh.cluster", "resources", list));
	if (!ok || status != RGP_OK)
		return RGP_FAIL;
	return give(c, "done", json_pack("{s:b}", "complete", 1));
}

static rgp_status give_item(const Call *c, const json_t *item, Reply reply, int gone_is_done)
{
	const char *outcome = reply.status == 200		    ? "done"
			      : reply.status == 202		    ? "pending"
			      : reply.status == 404 && gone_is_done ? "done"
								    : "failed";
	json_t *result = json_pack("{s:s, s:s, s:{}}", "address", str(item, "address"), "outcome",
		outcome, "attributes");
	json_t *attributes = json_object_get(result, "attributes");
	if (json_object_get(reply.value, "id"))
		json_object_set(result, "id", json_object_get(reply.value, "id"));
	if (reply.status == 200 || reply.status == 202) {
		json_object_set(attributes, "version", json_object_get(reply.value, "version"));
		json_object_set_new(attributes, "address", json_string("head"));
	}
	if (strcmp(outcome, "failed") == 0) {
		json_object_set_new(result, "class",
			json_string(reply.status == 412 ? "conflict" : "transient"));
		json_object_set_new(result, "message",
			json_string(reply.status == 412 ? "the cluster has another version"
							: "the cloud gave no answer"));
		json_object_set_new(result, "definite", json_boolean(reply.status == 412));
	}
	json_decref(reply.value);
	return give(c, "item", result);
}

static rgp_status create(const Call *c)
{
	const json_t *item = json_array_get(json_object_get(c->input, "items"), 0);
	json_t *body = json_deep_copy(json_object_get(c->input, "attributes"));
	json_t *marks = json_object_get(c->input, "marks");
	json_object_set_new(body, "marks",
		json_pack("{s:s, s:s, s:s}", "cluster", str(marks, "cluster"), "lineage",
			str(marks, "lineage"), "token", str(c->input, "token")));
	end_here("before create");
	Reply reply = ask(c, "POST", body, "clusters", "", 0);
	end_here("after create");
	json_decref(body);
	return give_item(c, item, reply, 0);
}

static json_int_t version_of(const json_t *item)
{
	return json_integer_value(json_object_get(json_object_get(item, "observed"), "version"));
}

static rgp_status ready(const Call *c)
{
	const json_t *item = json_array_get(json_object_get(c->input, "items"), 0);
	Reply reply = ask(c, "GET", NULL, "clusters/%s", str(item, "id"), 0);
	if (reply.status == 200 && json_is_true(json_object_get(reply.value, "starting")))
		reply.status = 202;
	return give_item(c, item, reply, 0);
}

static rgp_status update(const Call *c)
{
	const json_t *item = json_array_get(json_object_get(c->input, "items"), 0);
	json_t *body = json_object(), *changed = json_object_get(item, "changed"), *name;
	const json_t *wanted = json_object_get(item, "attributes");
	size_t i;
	json_array_foreach (changed, i, name)
		json_object_set(body, text_of(name), json_object_get(wanted, text_of(name)));
	if (json_object_get(item, "marks"))
		json_object_set(body, "marks", json_object_get(item, "marks"));
	Reply reply = ask(
		c, "PATCH", body, "clusters/%s?version=%lld", str(item, "id"), version_of(item));
	json_decref(body);
	return give_item(c, item, reply, 0);
}

static rgp_status remove_it(const Call *c)
{
	const json_t *item = json_array_get(json_object_get(c->input, "items"), 0);
	end_here("before remove");
	Reply reply = ask(
		c, "DELETE", NULL, "clusters/%s?version=%lld", str(item, "id"), version_of(item));
	end_here("after remove");
	return give_item(c, item, reply, 1);
}

/* Pages of one cluster's members, and first its groups, as the cloud has them: {"groups": {pool:
 * {...}}, "members": {pool: [...]}, "next"}. */
static rgp_status give_members(const Call *c, const json_t *item)
{
	const char *address = str(item, "address"), *pool;
	json_int_t page = 0;
	rgp_status status = RGP_OK;
	do {
		Reply reply =
			ask(c, "GET", NULL, "clusters/%s/members?page=%lld", str(item, "id"), page);
		json_t *part;
		if (reply.status != 200 && reply.status != 404)
			status = RGP_FAIL;
		json_object_foreach (json_object_get(reply.value, "groups"), pool, part) {
			json_t *group = json_pack("{s:s, s:s}", "address", address, "pool", pool);
			json_object_update(group, part);
			status = status == RGP_OK ? give(c, "group", group) : status;
		}
		json_object_foreach (json_object_get(reply.value, "members"), pool, part) {
			if (status == RGP_OK)
				status = give(c, "page",
					json_pack("{s:s, s:s, s:O}", "address", address, "pool",
						pool, "members", part));
		}
		page = json_integer_value(json_object_get(reply.value, "next"));
		json_decref(reply.value);
	} while (page && status == RGP_OK);
	return status;
}

static rgp_status members(const Call *c)
{
	size_t i;
	const json_t *item;
	rgp_status status = RGP_OK;
	json_array_foreach (json_object_get(c->input, "items"), i, item)
		status = status == RGP_OK ? give_members(c, item) : status;
	return status == RGP_OK ? give(c, "done", json_pack("{s:b}", "complete", 1)) : status;
}

/* A line for each pool: "train A100:8 4", "train A100:8 4 gang". */
static rgp_status export(const Call *c)
{
	json_t *node, *document, *text = json_string("");
	size_t i;
	json_array_foreach (
		json_object_get(json_object_get(c->input, "fitted"), "nodes"), i, node) {
		const json_t *indexes = json_object_get(node, "indexes");
		json_t *line = json_sprintf("%s%s %s %d%s\n", text_of(text), str(node, "pool"),
			str(json_object_get(node, "offer"), "instance_type"),
			json_is_array(indexes) ? (int)json_array_size(indexes) : 1,
			json_is_true(json_object_get(node, "gang")) ? " gang" : "");
		json_decref(text);
		text = line;
	}
	document = json_pack("{s:o}", "text", text);
	return give(c, "document", document);
}

CALL(export, export(&c))
CALL(members, members(&c))
CALL(resolve, resolve(&c))
CALL(lower, lower(&c))
CALL(list, look(&c))
CALL(find, look(&c))
CALL(create, create(&c))
CALL(ready, ready(&c))
CALL(update, update(&c))
CALL(remove, remove_it(&c))

RGP_ENTRY(mesh)
{
	static const struct rgp_provider provider = {.size = sizeof(provider),
		.abi_major = RGP_ABI_MAJOR,
		.abi_minor = RGP_ABI_MINOR,
		.name = "mesh",
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
		.ready = call_ready,
		.find = call_find,
		.export_form = call_export,
		.members = call_members};
	end_here("load");
	return &provider;
}

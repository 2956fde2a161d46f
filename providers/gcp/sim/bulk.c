#include <string.h>
#include "gcp/sim/gce.h"

/* instances.bulkInsert: many instances of one form, all or at least minCount of them. */

/* cloud.google.com/compute/docs/instances/multiple/troubleshooting-bulk-vm-creation */
#define BULK_RUNNING_MAX 10
#define BULK_A_SECOND 20

typedef struct {
	RgSimCall *call;
	GceMachine machine;
	GPtrArray *names; /* owned */
	gint64 min;
	char *group;
	char *scope;
	json_t *made;	   /* documents */
	json_t *errors;	   /* of those that were not made: GceOperation.error */
	GPtrArray *failed; /* their names, borrowed */
} Bulk;

static bool read_count(RgSimCall *call, const char *member, gint64 otherwise, gint64 *count)
{
	const char *text = rg_json_str(call_body(call), member, NULL);
	g_autofree char *field = g_strconcat("resource.", member, NULL);
	*count = text ? g_ascii_strtoll(text, NULL, 10) : otherwise;
	return (*count >= 1 && *count <= 5000) ||
	       gce_fail_invalid(call, field, text ? text : "", "Must be from 1 to 5000.");
}

/* "node-###": the numbers that are free, from 1 on, with at least as many digits. */
static bool names_of_pattern(Bulk *bulk, const char *pattern, gint64 count)
{
	gsize hashes = strspn(pattern + strcspn(pattern, "#"), "#");
	if (!hashes || strchr(pattern + strcspn(pattern, "#") + hashes, '#'))
		return gce_fail_invalid(bulk->call, "resource.namePattern", pattern,
			"Must contain one sequence of '#'.");
	const char *rest = pattern + strcspn(pattern, "#") + hashes;
	for (gint64 number = 1; count > 0; number++) {
		g_autofree char *name = g_strdup_printf("%.*s%0*" G_GINT64_FORMAT "%s",
			(int)strcspn(pattern, "#"), pattern, (int)hashes, number, rest);
		g_autofree char *key = g_strjoin("/", bulk->scope, "instances", name, NULL);
		if (rg_sim_find(bulk->call->place, GCE_INSTANCE, key))
			continue;
		g_ptr_array_add(bulk->names, g_steal_pointer(&name));
		count--;
	}
	return true;
}

/* The key of each entry has to be repeated as its name. */
static bool names_of_entries(Bulk *bulk, const json_t *entries, gint64 count)
{
	if ((gint64)json_object_size(entries) != count)
		return gce_fail_invalid(bulk->call, "resource.perInstanceProperties", "",
			"It must have as many entries as count says.");
	rg_json_foreach_member (key, entry, entries) {
		const char *name = rg_json_str(entry, "name", key);
		if (!g_str_equal(name, key))
			return gce_fail_invalid(bulk->call, "resource.perInstanceProperties", key,
				"The name of an entry must be its key.");
		g_ptr_array_add(bulk->names, g_strdup(key));
	}
	return true;
}

static bool check_names(const Bulk *bulk)
{
	rg_ptr_foreach (const char, name, bulk->names) {
		if (!g_regex_match_simple(
			    "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", name, G_REGEX_DOLLAR_ENDONLY, 0))
			return gce_fail_invalid(bulk->call, "resource.perInstanceProperties", name,
				"Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'");
	}
	return true;
}

static bool bulk_read(Bulk *bulk)
{
	RgSimCall *call = bulk->call;
	const json_t *body = call_body(call);
	const json_t *properties = json_object_get(body, "instanceProperties");
	const json_t *given = json_object_get(body, "perInstanceProperties");
	const json_t *entries = json_object_size(given) ? given : NULL;
	const char *pattern = rg_json_str(body, "namePattern", NULL);
	gint64 count;
	if (!properties)
		return gce_fail_required(call, "resource.instanceProperties");
	if (!json_object_get(body, "count") && !entries)
		return gce_fail_required(call, "resource.count");
	if (!read_count(call, "count", (gint64)json_object_size(entries), &count) ||
		!read_count(call, "minCount", count, &bulk->min))
		return false;
	if (bulk->min > count)
		return gce_fail_invalid(call, "resource.minCount", doc_str(body, "minCount"),
			"Must not be greater than count.");
	if (!pattern == !entries)
		return gce_fail_invalid(call, "resource.namePattern", pattern ? pattern : "",
			"Either namePattern or perInstanceProperties must be given.");
	return (entries ? names_of_entries(bulk, entries, count)
			: names_of_pattern(bulk, pattern, count)) &&
	       check_names(bulk) && gce_machine_read(call, properties, true, &bulk->machine);
}

static bool check_rate(RgSimCall *call)
{
	gint64 running = 0;
	rg_sim_foreach (operation, call->place, GCE_OPERATION)
		running += g_str_equal(doc_str(operation, "operationType"), "bulkInsert") &&
			   !g_str_equal(doc_str(operation, "status"), "DONE");
	if (running >= BULK_RUNNING_MAX)
		return gce_fail_rate(call, "Concurrent bulk insert operations");
	return !doc_int(call->sim->knobs, "throttle") ||
	       rg_sim_take_tokens(call, "bulkInsert", BULK_A_SECOND, BULK_A_SECOND, 1) ||
	       gce_fail_rate(call, "Bulk insert requests");
}

/* One machine of many: a name that is taken is this machine's failure. */
static json_t *make_one(const Bulk *bulk, const char *name, json_t **error)
{
	g_autofree char *key = g_strjoin("/", bulk->scope, "instances", name, NULL);
	if (!rg_sim_find(bulk->call->place, GCE_INSTANCE, key))
		return gce_machine_make(bulk->call, &bulk->machine, name, error);
	*error = gce_error(409, "RESOURCE_ALREADY_EXISTS",
		g_strdup_printf("The resource 'projects/%s/%s' already exists",
			bulk->call->place_name, key));
	return NULL;
}

static void make_all(Bulk *bulk)
{
	rg_ptr_foreach (char, name, bulk->names) {
		json_t *error = NULL;
		json_t *doc = make_one(bulk, name, &error);
		if (doc) {
			json_array_append(bulk->made, doc);
		} else {
			json_array_append_new(bulk->errors, error);
			g_ptr_array_add(bulk->failed, name);
		}
	}
}

/* Capacity and quota are looked at before anything starts (knob bulk_precheck); what turns out
 * later is in the operation. */
static bool refuse_at_once(Bulk *bulk)
{
	const json_t *error = json_array_get(bulk->errors, 0);
	const json_t *first = json_array_get(json_object_get(error, "errors"), 0);
	const char *code = doc_str(first, "code");
	bool quota = g_str_equal(code, "QUOTA_EXCEEDED");
	if (!doc_int(bulk->call->sim->knobs, "bulk_precheck") ||
		!(quota || g_str_has_prefix(code, "ZONE_RESOURCE_POOL_EXHAUSTED")))
		return false;
	for (size_t i = 0; i < json_array_size(bulk->made); i++)
		gce_remove(bulk->call->place, GCE_INSTANCE,
			doc_str(json_array_get(bulk->made, i), GCE_KEY));
	rg_sim_fail(bulk->call, quota ? 403 : 503, quota ? "quotaExceeded" : "insufficientCapacity",
		"%s", doc_str(first, "message"));
	return true;
}

static void add_children(Bulk *bulk, bool rolled_back)
{
	rg_json_foreach (doc, bulk->made) {
		GceOperation child = {.type = "insert", .scope = bulk->scope, .group = bulk->group};
		gce_machine_effects(bulk->call->place, doc, &child);
		if (rolled_back) {
			json_decref(child.end);
			child.end = json_incref(child.undo);
		}
		gce_operation_start(bulk->call, &child);
	}
	for (size_t i = 0; i < json_array_size(bulk->errors); i++) {
		g_autofree char *key =
			g_strjoin("/", bulk->scope, "instances", bulk->failed->pdata[i], NULL);
		GceOperation child = {.type = "insert",
			.scope = bulk->scope,
			.target_key = key,
			.group = bulk->group,
			.ms = doc_int(bulk->call->sim->knobs, "boot_ms"),
			.error = json_incref(json_array_get(bulk->errors, i))};
		gce_operation_start(bulk->call, &child);
	}
}

/* VM_MIN_COUNT_NOT_REACHED stands first and the cause behind it. */
static json_t *min_count_error(const Bulk *bulk)
{
	const json_t *cause = json_array_get(bulk->errors, 0);
	json_t *error = gce_error((int)rg_json_int(cause, "http", 503), "VM_MIN_COUNT_NOT_REACHED",
		g_strdup_printf("Requested minimum count of %" G_GINT64_FORMAT
				" VMs could not be created.",
			bulk->min));
	json_array_extend(json_object_get(error, "errors"), json_object_get(cause, "errors"));
	return error;
}

static json_t *bulk_status(const Bulk *bulk, bool rolled_back)
{
	json_int_t made = (json_int_t)json_array_size(bulk->made);
	return json_pack("{s:{s:{s:{s:I, s:I, s:I, s:I, s:s}}}}",
		"instancesBulkInsertOperationMetadata", "perLocationStatus", bulk->scope,
		"targetVmCount", (json_int_t)bulk->names->len, "createdVmCount", made,
		"deletedVmCount", rolled_back ? made : 0, "failedToCreateVmCount",
		(json_int_t)json_array_size(bulk->errors), "status", "DONE");
}

static bool bulk_start(Bulk *bulk)
{
	RgSimCall *call = bulk->call;
	make_all(bulk);
	bool short_of = (gint64)json_array_size(bulk->made) < bulk->min;
	if (short_of && refuse_at_once(bulk))
		return false;
	add_children(bulk, short_of);
	g_autofree char *key = g_strjoin("/", bulk->scope, "instances", NULL);
	GceOperation operation = {.type = "bulkInsert",
		.scope = bulk->scope,
		.target_key = key,
		.group = bulk->group,
		.ms = doc_int(call->sim->knobs, "boot_ms"),
		.error = short_of ? min_count_error(bulk) : NULL,
		.finally = bulk_status(bulk, short_of)};
	return gce_operate(call, &operation);
}

static char *group_id(RgSim *sim)
{
	g_autofree char *a = rg_sim_id(sim, "");
	g_autofree char *b = rg_sim_id(sim, "");
	return g_strdup_printf("%.8s-%.4s-4%.3s-8%.3s-%.12s", a, a + 8, a + 12, b, b + 3);
}

static bool bulk_insert(RgSimCall *call)
{
	Bulk bulk = {.call = call,
		.names = g_ptr_array_new_with_free_func(g_free),
		.scope = gce_scope(call),
		.made = json_array(),
		.errors = json_array(),
		.failed = g_ptr_array_new()};
	bool good = check_rate(call) && bulk_read(&bulk);
	if (good) {
		bulk.group = group_id(call->sim);
		good = bulk_start(&bulk);
	}
	gce_machine_clear(&bulk.machine);
	g_ptr_array_unref(bulk.failed);
	g_ptr_array_unref(bulk.names);
	json_decref(bulk.made);
	json_decref(bulk.errors);
	g_free(bulk.group);
	g_free(bulk.scope);
	return good;
}

const RgSimAction gce_bulk_actions[] = {
	{"instances.bulkInsert", bulk_insert, true,
		GCE_MACHINE(".instanceProperties.") "requestId .count .minCount .namePattern "
						    ".perInstanceProperties"},
	{NULL},
};

#include "base/clock.h"
#include "base/caps.h"
#include "plan/members.h"
#include "resource/expr.h"
#include <string.h>

/* JSON -> plan. Files come from elsewhere and are not trusted. What apply uses is read from
 * "raygpu"; then the plan is written again and must give the same document, so that apply does
 * exactly what people, policies and hashes saw. */

/* In micro-USD or milligrams per hour: of one pool, and of all together, so that the amounts of a
 * month stay within 63 bits. */
#define MOST INT64_C(10000000000000)
#define MOST_OF_ALL (INT64_MAX / RG_MONTH_HOURS)

static GPtrArray *load_addresses(Loader *loader, const json_t *object, const char *key)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
	const json_t *array = load_value(loader, object, key, JSON_ARRAY);
	rg_json_foreach (item, array) {
		if (json_is_string(item))
			g_ptr_array_add(list, g_strdup(json_string_value(item)));
		else
			load_fail(loader, key, "contains something other than addresses");
	}
	return list;
}

static GStrv load_depends(Loader *loader, const json_t *object)
{
	GPtrArray *list = load_addresses(loader, object, "depends_on");
	g_ptr_array_add(list, NULL);
	return (GStrv)g_ptr_array_free(list, FALSE);
}

static RgPlanChange *load_change(Loader *loader, const json_t *entry)
{
	RgPlanChange *change = g_new0(RgPlanChange, 1);
	const json_t *own = json_object_get(entry, "raygpu");
	change->address = g_strdup(load_text(loader, entry, "address"));
	change->index = -1;
	if (!change->address ||
		!rg_address_parse(change->address, &change->kind, &change->name, &change->index))
		load_fail(loader, "address", "not an address");
	change->reason = g_strdup(load_text(loader, entry, "action_reason"));
	if (!action_parse(rg_json_str(own, "action", NULL), &change->action))
		load_fail(loader, "action", "missing or unknown");
	if (!grade_parse(rg_json_str(own, "grade", NULL), &change->grade))
		load_fail(loader, "grade", "missing or unknown");
	if (!json_is_integer(json_object_get(own, "row")))
		load_fail(loader, "row", "not a count");
	change->row = (int)CLAMP(rg_json_int(own, "row", 0), 0, 99);
	members_take(loader, change_members, change, own);
	GPtrArray *attrs = g_ptr_array_new_with_free_func(plan_attr_free);
	const json_t *list = load_value(loader, own, "attrs", JSON_ARRAY);
	rg_json_foreach (item, list) {
		RgPlanAttr *attr = g_new0(RgPlanAttr, 1);
		g_ptr_array_add(attrs, attr);
		members_take(loader, attr_members, attr, item);
	}
	change->attrs = attrs;
	change->depends_on = load_depends(loader, own);
	change->after = load_addresses(loader, own, "after");
	return change;
}

/* What apply assumes about the record of an import. */
static bool is_import(const RgPlanChange *change)
{
	static const struct {
		const char *name;
		json_type type;
	} members[] = {{"attrs", JSON_OBJECT}, {"outputs", JSON_OBJECT}, {"pin", JSON_OBJECT},
		{"depends_on", JSON_ARRAY}, {"group", JSON_STRING}, {"origin", JSON_STRING}};
	const json_t *record = json_object_get(change->import, "record");
	bool secret = g_str_equal(change->kind, RG_SECRET_KIND);
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
		const json_t *value = json_object_get(record, members[i].name);
		if (value ? json_typeof(value) != members[i].type
			  : members[i].type == JSON_OBJECT && i == 0)
			return false;
	}
	rg_json_foreach (need, json_object_get(record, "depends_on"))
		if (!json_is_string(need))
			return false;
	return (secret || *rg_json_str(change->import, "id", "")) &&
	       rg_expr_valid(json_object_get(record, "attrs"));
}

/* A word that a module's schema may have (`removal`): it is printed as it is. */
static bool is_word(const char *word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz ";
	return word && *word && strspn(word, letters) == strlen(word);
}

static bool is_removal(const json_t *removal)
{
	return is_word(rg_json_str(removal, "verb", NULL)) &&
	       is_word(rg_json_str(removal, "doing", NULL)) &&
	       is_word(rg_json_str(removal, "done", NULL));
}

/* What apply assumes about a change. */
static void check_change(Loader *loader, const RgPlanChange *change)
{
	bool wanted = change->action == RG_ACTION_CREATE || change->action == RG_ACTION_UPDATE ||
		      change->action == RG_ACTION_REPLACE || change->action == RG_ACTION_RECORD;
	if (change->nodes && rg_nodes_wrong(change->nodes))
		load_fail(loader, "nodes", rg_nodes_wrong(change->nodes));
	if (change->import && !is_import(change))
		load_fail(loader, "import", "not a record");
	if (change->removal && !is_removal(change->removal))
		load_fail(loader, "removal", "not the words of a removal");
	if (change->spec_changes && !json_is_array(change->spec_changes))
		load_fail(loader, "spec_changes", "of the wrong type");
	if (wanted && !change->desired)
		load_fail(loader, change->address, "it has no desired attributes");
	if (change->desired && !rg_expr_valid(change->desired))
		load_fail(loader, change->address, "a malformed expression");
	rg_json_foreach (value, change->computed)
		if (!json_is_string(value))
			load_fail(loader, change->address, "a computed attribute without a name");
	rg_json_foreach_member (name, value, change->sensitive)
		if (wanted && json_is_null(json_object_get(change->desired, name)))
			load_fail(loader, change->address,
				"it needs a sensitive value, which plan files never contain; run "
				"apply without a saved plan");
}

/* Changes wait only for earlier ones, and a creation depends only on earlier ones (a removal: on
 * later ones), so apply cannot wait in a cycle forever. */
static void check_order(Loader *loader, const RgPlanChange *change, GHashTable *later)
{
	for (guint i = 0; i < change->after->len; i++)
		if (!g_hash_table_contains(loader->seen, change->after->pdata[i]))
			load_fail(loader, change->address,
				"depends on a change that does not precede it");
	for (size_t i = 0; change->depends_on[i] != NULL; i++) {
		const char *name = change->depends_on[i];
		const RgPlanChange *other = g_hash_table_lookup(loader->seen, name);
		if (change->desired) {
			other = g_hash_table_lookup(later, name);
			if (other && other->desired)
				load_fail(loader, change->address,
					"depends on a resource that is created after it");
		} else if (other && !other->desired) {
			load_fail(loader, change->address, "is removed after its dependency");
		}
	}
}

static void load_changes(Loader *loader, RgPlan *plan, const json_t *list)
{
	g_autoptr(GHashTable) later = g_hash_table_new(g_str_hash, g_str_equal);
	if (!json_is_array(list) || json_array_size(list) > 4 * RG_CAP_NODES) {
		load_fail(loader, "resource_changes", "missing or too long");
		return;
	}
	rg_json_foreach (entry, list) {
		RgPlanChange *change = load_change(loader, entry);
		g_ptr_array_add(plan->changes, change);
		if (!loader->failed && !g_hash_table_insert(later, change->address, change))
			load_fail(loader, change->address, "is given twice");
		if (loader->failed)
			return;
	}
	for (guint c = 0; c < plan->changes->len && !loader->failed; c++) {
		RgPlanChange *change = plan->changes->pdata[c];
		check_change(loader, change);
		check_order(loader, change, later);
		g_hash_table_remove(later, change->address);
		g_hash_table_insert(loader->seen, change->address, change);
	}
}

/* Only known amounts may occur where sums are made. */
static void load_sum(Loader *loader, const json_t *from, RgPlanSum *sum)
{
	members_take(loader, sum_members, sum, from);
	members_take(loader, sum_carbon_members, sum, from);
	if (MIN(sum->microusd_hour, sum->carbon_mg_hour) < 0 ||
		MAX(sum->microusd_hour, sum->carbon_mg_hour) > MOST)
		load_fail(loader, "pools", "an amount that no pool has");
	else if (!loader->failed)
		loader->amounts += MAX(sum->microusd_hour, sum->carbon_mg_hour);
	if (loader->amounts > MOST_OF_ALL)
		load_fail(loader, "pools", "amounts that no cluster has");
}

static void load_side(Loader *loader, const json_t *from, RgPlanSide *side)
{
	const json_t *least = json_object_get(from, "least"), *most = json_object_get(from, "most");
	load_sum(loader, from, &side->now);
	load_sum(loader, least ? least : from, &side->least);
	load_sum(loader, most ? most : from, &side->most);
}

static void load_pools(Loader *loader, RgPlan *plan, const json_t *own)
{
	rg_json_foreach (item, json_object_get(own, "pools")) {
		RgPlanPool *pool = g_new0(RgPlanPool, 1);
		g_ptr_array_add(plan->pools, pool);
		members_take(loader, pool_members, pool, item);
		if (pool->removed && !is_word(pool->removed))
			load_fail(loader, "removed", "not the word of a removal");
		load_side(loader, json_object_get(item, "before"), &pool->before);
		load_side(loader, json_object_get(item, "after"), &pool->after);
		if (json_object_get(item, "forgotten"))
			load_sum(loader, json_object_get(item, "forgotten"), &pool->forgotten);
		if (pool->disabled)
			load_side(loader, json_object_get(item, "enabled"), &pool->enabled);
	}
}

static void load_markets(Loader *loader, RgPlan *plan, const json_t *cost)
{
	rg_json_foreach (item, json_object_get(cost, "markets")) {
		RgPlanMarket *market = g_new0(RgPlanMarket, 1);
		g_ptr_array_add(plan->markets, market);
		market->market = g_strdup(load_text(loader, item, "market"));
		if (!market->market)
			load_fail(loader, "market", "missing");
		load_sum(loader, json_object_get(item, "before"), &market->before);
		load_sum(loader, json_object_get(item, "after"), &market->after);
	}
}

static void load_limits(Loader *loader, RgPlan *plan, const json_t *own)
{
	rg_json_foreach (item, json_object_get(own, "limits")) {
		RgPlanLimit *limit = g_new0(RgPlanLimit, 1);
		g_ptr_array_add(plan->limits, limit);
		members_take(loader, limit_members, limit, item);
		const char *period = rg_json_str(item, "period", "hour");
		limit->hours = g_str_equal(period, "month") ? RG_MONTH_HOURS
			       : g_str_equal(period, "day") ? RG_DAY_HOURS
							    : 1;
		limit->gpus = json_object_get(item, "gpu_hours") != NULL;
		limit->most = rg_json_int(item, limit->gpus ? "gpu_hours" : "microusd", -1);
		if (limit->most < 0)
			load_fail(loader, "limits", "a limit without an amount");
	}
}

/* The end that is shown is the one that is recorded. */
static void check_leases(Loader *loader, const RgPlan *plan)
{
	const json_t *kept = json_object_get(plan->facts, "leases");
	rg_json_foreach (item, plan->leases) {
		const char *pool = rg_json_str(item, "pool", NULL);
		const json_t *lease = pool ? json_object_get(json_object_get(kept, "pools"), pool)
					   : json_object_get(kept, "cluster");
		g_autofree char *end = rg_clock_format(rg_json_int(lease, "ends_s", 0));
		if (g_strcmp0(rg_json_str(item, "after", NULL), lease ? end : NULL) != 0)
			load_fail(loader, "leases", "not what \"facts\" says");
	}
}

static void load_head(Loader *loader, RgPlan *plan, const json_t *own)
{
	members_take(loader, plan_members, plan, own);
	members_take(loader, spec_members, plan, json_object_get(own, "spec"));
	members_take(loader, git_members, plan, json_object_get(own, "git"));
	members_take(loader, money_members, plan, own);
	members_take(loader, touched_members, plan, own);
	members_take(loader, effort_members, plan, json_object_get(own, "budget"));
	const json_t *basis =
		load_value(loader, json_object_get(own, "carbon"), "basis", JSON_OBJECT);
	plan->carbon = json_incref(rg_json_unconst(basis));
	/* What people are shown must be what is recorded afterwards. */
	rg_json_foreach (item, plan->protection) {
		const char *pool = rg_json_str(item, "pool", NULL);
		const json_t *was = json_object_get(item, "before");
		const json_t *is = json_object_get(item, "after");
		bool listed = false;
		rg_json_foreach (name, plan->protect)
			listed |= g_strcmp0(json_string_value(name), pool) == 0;
		if (!pool || !json_is_boolean(was) || !json_is_boolean(is) || was == is ||
			listed != json_is_true(is))
			load_fail(loader, "protection", "not what \"protect\" says");
	}
	rg_json_foreach (item, plan->renames) {
		if (!rg_json_str(item, "from", NULL) || !rg_json_str(item, "to", NULL))
			load_fail(loader, "renames", "not a list of \"from\" and \"to\"");
	}
	check_leases(loader, plan);
	if (!plan->touched)
		load_fail(loader, "touched", "missing");
}

static void load_capacity(Loader *loader, RgPlan *plan, const json_t *own)
{
	const json_t *capacity = json_object_get(own, "capacity");
	if (capacity && !capacity_load(plan, capacity))
		load_fail(loader, "capacity", "not the candidates of a plan");
}

static void load_unmanaged(Loader *loader, RgPlan *plan, const json_t *own)
{
	rg_json_foreach (item, json_object_get(own, "unmanaged")) {
		if (!json_is_object(item))
			load_fail(loader, "unmanaged", "not an object");
		g_ptr_array_add(plan->unmanaged, json_incref(item));
	}
}

/* Every row must be listed, or a stale plan could be accepted as fresh. */
static void check_touched(Loader *loader, const RgPlan *plan)
{
	rg_ptr_foreach (const RgPlanChange, change, plan->changes)
		if (!json_object_get(plan->touched, change->address))
			load_fail(loader, change->address, "its row is not among those touched");
}

static void check_same(Loader *loader, const RgPlan *plan, const json_t *document)
{
	json_auto_t *again = rg_plan_to_json(plan);
	if (!json_equal(again, document))
		load_fail(loader, "its parts", "they contradict each other");
}

RgPlan *rg_plan_from_json(const json_t *document, RgDiags *diags)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(RgPlan) plan = g_new0(RgPlan, 1);
	plan->changes = g_ptr_array_new_with_free_func(plan_change_free);
	plan->pools = g_ptr_array_new_with_free_func(plan_pool_free);
	plan->markets = g_ptr_array_new_with_free_func(plan_market_free);
	plan->limits = g_ptr_array_new_with_free_func(rg_plan_limit_free);
	plan->unmanaged = g_ptr_array_new_with_free_func(rg_json_unref);
	const json_t *own = json_object_get(document, "raygpu");
	g_autoptr(GHashTable) unpacked =
		g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, rg_json_unref);
	Loader loader = {.blobs = json_object_get(document, "blobs"),
		.seen = seen,
		.unpacked = unpacked,
		.diags = diags};
	if (rg_json_int(document, "raygpu_format", 0) != 1) {
		load_fail(&loader, "raygpu_format", "not 1");
		return NULL;
	}
	load_head(&loader, plan, own);
	load_changes(&loader, plan, json_object_get(document, "resource_changes"));
	load_pools(&loader, plan, own);
	load_markets(&loader, plan, json_object_get(own, "cost"));
	load_limits(&loader, plan, own);
	load_unmanaged(&loader, plan, own);
	load_capacity(&loader, plan, own);
	plan->errored = rg_json_bool(document, "errored", false);
	plan_count(plan);
	if (!loader.failed)
		check_touched(&loader, plan);
	if (!loader.failed)
		check_same(&loader, plan, document);
	return loader.failed ? NULL : g_steal_pointer(&plan);
}

#include "base/caps.h"
#include "base/money.h"
#include "plan/internal.h"
#include "resource/expr.h"
#include <string.h>

/* JSON -> plan. Files come from elsewhere: nothing is believed. What apply uses is taken from
 * "raygpu"; then the plan is written again and must give the same document, so that what people,
 * policies and hashes saw is what apply does, and nothing beside it. */

#define CODE "plan.bad-file"
/* Of one pool, in micro-USD or milligrams an hour: 200 pools and 730 hours stay within 63 bits. */
#define MOST INT64_C(10000000000000)

typedef struct {
	const json_t *blobs;
	GHashTable *seen;     /* address -> RgPlanChange* */
	GHashTable *unpacked; /* json_t* in the document -> json_t* unpacked: equal nodes share */
	RgDiags *diags;
	bool failed;
} Loader;

static void fail(Loader *loader, const char *where, const char *what)
{
	if (loader->failed)
		return;
	loader->failed = true;
	RgDiag *diag = rg_diags_error(
		loader->diags, CODE, "not a raygpu plan, or edited since: %s: %s", where, what);
	rg_diag_hint(diag, "make it again with `raygpu plan --out FILE`; a plan can't be edited");
}

/* NULL when absent; anything but a text fails. */
static char *text_of(Loader *loader, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (!value)
		return NULL;
	if (!json_is_string(value) ||
		strlen(json_string_value(value)) != json_string_length(value)) {
		fail(loader, key, "not a text");
		return NULL;
	}
	return g_strdup(json_string_value(value));
}

static char *needed_text(Loader *loader, const json_t *object, const char *key)
{
	char *text = text_of(loader, object, key);
	if (!text)
		fail(loader, key, "missing");
	return text;
}

static bool flag_of(Loader *loader, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (value && !json_is_boolean(value))
		fail(loader, key, "neither true nor false");
	return json_is_true(value);
}

static unsigned count_of(Loader *loader, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	json_int_t number = json_integer_value(value);
	if (value && (!json_is_integer(value) || number < 0 || number > G_MAXUINT32)) {
		fail(loader, key, "not a count");
		return 0;
	}
	return (unsigned)number;
}

static int64_t money_of(Loader *loader, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (json_is_null(value))
		return RG_MONEY_UNKNOWN;
	if (value && (!json_is_integer(value) || json_integer_value(value) < 0))
		fail(loader, key, "not an amount");
	return json_integer_value(value);
}

/* A value of ours, found in "blobs" where it is long; of the type wanted. Borrowed, or NULL. */
static const json_t *value_of(Loader *loader, const json_t *object, const char *key, json_type type)
{
	const json_t *value = json_object_get(object, key);
	if (!value)
		return NULL;
	value = blobs_get(loader->blobs, value);
	if (!value || json_typeof(value) != type) {
		fail(loader, key, !value ? "leads to no blob" : "of the wrong type");
		return NULL;
	}
	return value;
}

static json_t *take_value(Loader *loader, const json_t *object, const char *key, json_type type)
{
	return json_incref(rg_json_unconst(value_of(loader, object, key, type)));
}

/* An object of values, some of which may lead to blobs themselves. */
static json_t *take_object(Loader *loader, const json_t *object, const char *key)
{
	const json_t *packed = value_of(loader, object, key, JSON_OBJECT);
	if (!packed)
		return NULL;
	json_t *known = g_hash_table_lookup(loader->unpacked, packed);
	if (!known) {
		known = blobs_unpack(loader->blobs, packed);
		if (!known) {
			fail(loader, key, "leads to no blob");
			return NULL;
		}
		g_hash_table_insert(loader->unpacked, (gpointer)(uintptr_t)packed, known);
	}
	return json_incref(known);
}

static json_t *take_long(Loader *loader, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (!value)
		return NULL;
	value = blobs_get(loader->blobs, value);
	if (!value)
		fail(loader, key, "leads to no blob");
	return json_incref(rg_json_unconst(value));
}

static RgPlanAttr *load_attr(Loader *loader, const json_t *object)
{
	RgPlanAttr *attr = g_new0(RgPlanAttr, 1);
	attr->name = needed_text(loader, object, "name");
	attr->before = take_long(loader, object, "before");
	attr->after = take_long(loader, object, "after");
	attr->recorded = take_long(loader, object, "recorded");
	attr->after_unknown = flag_of(loader, object, "after_unknown");
	attr->force_new = flag_of(loader, object, "force_new");
	attr->sensitive = flag_of(loader, object, "sensitive");
	attr->drift = flag_of(loader, object, "drift");
	return attr;
}

static GPtrArray *load_attrs(Loader *loader, const json_t *object)
{
	GPtrArray *attrs = g_ptr_array_new_with_free_func(plan_attr_free);
	const json_t *list = value_of(loader, object, "attrs", JSON_ARRAY), *item;
	size_t i;
	json_array_foreach (list, i, item) {
		RgPlanAttr *attr = load_attr(loader, item);
		if (!attr->name)
			plan_attr_free(attr);
		else
			g_ptr_array_add(attrs, attr);
	}
	return attrs;
}

static GPtrArray *load_addresses(Loader *loader, const json_t *object, const char *key)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
	const json_t *array = value_of(loader, object, key, JSON_ARRAY), *item;
	size_t i;
	json_array_foreach (array, i, item) {
		if (json_is_string(item))
			g_ptr_array_add(list, g_strdup(json_string_value(item)));
		else
			fail(loader, key, "holds something else than addresses");
	}
	return list;
}

static GStrv load_depends(Loader *loader, const json_t *object)
{
	GPtrArray *list = load_addresses(loader, object, "depends_on");
	g_ptr_array_add(list, NULL);
	return (GStrv)g_ptr_array_free(list, FALSE);
}

static void load_words(Loader *loader, RgPlanChange *change, const json_t *own)
{
	if (!action_parse(rg_json_str(own, "action", NULL), &change->action))
		fail(loader, "action", "missing or unknown");
	if (!grade_parse(rg_json_str(own, "grade", NULL), &change->grade))
		fail(loader, "grade", "missing or unknown");
	change->row = (int)MIN(count_of(loader, own, "row"), 99);
	change->group = text_of(loader, own, "group");
	change->id = text_of(loader, own, "id");
	change->note = text_of(loader, own, "note");
	change->origin = text_of(loader, own, "origin");
	change->accelerator = text_of(loader, own, "accelerator");
	change->drifted = flag_of(loader, own, "drifted");
	change->replay = flag_of(loader, own, "replay");
	change->price_microusd_hour = money_of(loader, own, "price_microusd_hour");
	change->gpus = count_of(loader, own, "gpus");
}

static void load_source(Loader *loader, RgPlanChange *change, const json_t *own)
{
	const json_t *source = json_object_get(own, "source");
	g_autofree char *file = text_of(loader, source, "file");
	change->source.file = file ? g_intern_string(file) : NULL;
	change->source.line = count_of(loader, source, "line");
	change->source.column = count_of(loader, source, "column");
}

static void load_name(Loader *loader, RgPlanChange *change, const json_t *entry)
{
	change->address = needed_text(loader, entry, "address");
	change->index = -1;
	if (!change->address ||
		!rg_address_parse(change->address, &change->kind, &change->name, &change->index))
		fail(loader, "address", "not an address");
	change->reason = text_of(loader, entry, "action_reason");
}

static json_t *load_nodes(Loader *loader, const json_t *own)
{
	json_t *nodes = json_object_get(own, "nodes");
	if (nodes && rg_nodes_wrong(nodes))
		fail(loader, "nodes", rg_nodes_wrong(nodes));
	return json_incref(nodes);
}

static RgPlanChange *load_change(Loader *loader, const json_t *entry)
{
	RgPlanChange *change = g_new0(RgPlanChange, 1);
	const json_t *own = json_object_get(entry, "raygpu");
	load_name(loader, change, entry);
	load_words(loader, change, own);
	load_source(loader, change, own);
	change->attrs = load_attrs(loader, own);
	change->spec_changes = take_value(loader, own, "spec_changes", JSON_ARRAY);
	change->desired = take_object(loader, own, "desired");
	change->before = take_object(loader, own, "before");
	change->observed = take_object(loader, own, "observed");
	change->pin = take_value(loader, own, "pin", JSON_OBJECT);
	change->nodes = load_nodes(loader, own);
	change->computed = take_value(loader, own, "computed", JSON_ARRAY);
	change->sensitive = take_value(loader, own, "sensitive", JSON_OBJECT);
	change->depends_on = load_depends(loader, own);
	change->after = load_addresses(loader, own, "after");
	return change;
}

/* What apply takes for granted of a change. */
static void check_change(Loader *loader, const RgPlanChange *change)
{
	bool wanted = change->action == RG_ACTION_CREATE || change->action == RG_ACTION_UPDATE ||
		      change->action == RG_ACTION_REPLACE || change->action == RG_ACTION_RECORD;
	json_t *value;
	const char *name;
	size_t i;
	if (wanted && !change->desired)
		fail(loader, change->address, "it has no desired attributes");
	if (change->desired && !rg_expr_valid(change->desired))
		fail(loader, change->address, "a malformed expression");
	json_array_foreach (change->computed, i, value)
		if (!json_is_string(value))
			fail(loader, change->address, "a computed attribute without a name");
	json_object_foreach (change->sensitive, name, value)
		if (wanted && json_is_null(json_object_get(change->desired, name)))
			fail(loader, change->address,
				"it needs a sensitive value, which no plan file carries; run apply "
				"without a saved plan");
}

/* Changes wait for earlier ones only, and what is made depends on what is made before it (what
 * leaves: on what leaves after it): so there is no circle that apply would wait in forever. */
static void check_order(Loader *loader, const RgPlanChange *change, GHashTable *later)
{
	for (guint i = 0; i < change->after->len; i++)
		if (!g_hash_table_contains(loader->seen, change->after->pdata[i]))
			fail(loader, change->address, "waits for something that is not before it");
	for (size_t i = 0; change->depends_on[i] != NULL; i++) {
		const char *name = change->depends_on[i];
		const RgPlanChange *other = g_hash_table_lookup(loader->seen, name);
		if (change->desired) {
			other = g_hash_table_lookup(later, name);
			if (other && other->desired)
				fail(loader, change->address, "depends on what is made after it");
		} else if (other && !other->desired) {
			fail(loader, change->address, "leaves after what it depends on");
		}
	}
}

static void load_changes(Loader *loader, RgPlan *plan, const json_t *list)
{
	g_autoptr(GHashTable) later = g_hash_table_new(g_str_hash, g_str_equal);
	const json_t *entry;
	size_t i;
	if (!json_is_array(list) || json_array_size(list) > 4 * RG_CAP_NODES) {
		fail(loader, "resource_changes", "missing or too long");
		return;
	}
	json_array_foreach (list, i, entry) {
		RgPlanChange *change = load_change(loader, entry);
		g_ptr_array_add(plan->changes, change);
		if (!loader->failed && !g_hash_table_insert(later, change->address, change))
			fail(loader, change->address, "is given twice");
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

/* A sum of unknowns is no sum: only known amounts may stand where sums are made. */
static void load_sum(Loader *loader, const json_t *from, RgPlanSum *sum)
{
	sum->nodes = count_of(loader, from, "nodes");
	sum->gpus = count_of(loader, from, "gpus");
	sum->unpriced = count_of(loader, from, "unpriced");
	sum->uncounted = count_of(loader, from, "uncounted");
	sum->microusd_hour = money_of(loader, from, "microusd_hour");
	sum->carbon_mg_hour = money_of(loader, from, "carbon_mg_hour");
	if (MIN(sum->microusd_hour, sum->carbon_mg_hour) < 0 ||
		MAX(sum->microusd_hour, sum->carbon_mg_hour) > MOST)
		fail(loader, "pools", "an amount that no pool has");
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
	const json_t *item;
	size_t i;
	json_array_foreach (json_object_get(own, "pools"), i, item) {
		RgPlanPool *pool = g_new0(RgPlanPool, 1);
		g_ptr_array_add(plan->pools, pool);
		pool->pool = needed_text(loader, item, "pool");
		pool->instance_type = text_of(loader, item, "instance_type");
		pool->accelerator = text_of(loader, item, "accelerator");
		pool->market = text_of(loader, item, "market");
		pool->reason = text_of(loader, item, "reason");
		pool->gang = json_is_true(json_object_get(item, "gang"));
		load_side(loader, json_object_get(item, "before"), &pool->before);
		load_side(loader, json_object_get(item, "after"), &pool->after);
	}
}

static void load_markets(Loader *loader, RgPlan *plan, const json_t *cost)
{
	const json_t *item;
	size_t i;
	json_array_foreach (json_object_get(cost, "markets"), i, item) {
		RgPlanMarket *market = g_new0(RgPlanMarket, 1);
		g_ptr_array_add(plan->markets, market);
		market->market = needed_text(loader, item, "market");
		load_sum(loader, json_object_get(item, "before"), &market->before);
		load_sum(loader, json_object_get(item, "after"), &market->after);
	}
}

static void load_limits(Loader *loader, RgPlan *plan, const json_t *own)
{
	const json_t *item;
	size_t i;
	json_array_foreach (json_object_get(own, "limits"), i, item) {
		const json_t *at = json_object_get(item, "source");
		g_autofree char *pool = text_of(loader, item, "pool");
		g_autofree char *period = needed_text(loader, item, "period");
		g_autofree char *file = text_of(loader, at, "file");
		RgSource source = {.file = file ? g_intern_string(file) : NULL,
			.line = count_of(loader, at, "line"),
			.column = count_of(loader, at, "column")};
		int64_t most = money_of(loader, item, "microusd");
		if (most < 0)
			fail(loader, "limits", "a limit without an amount");
		g_ptr_array_add(plan->limits,
			rg_plan_limit_new(pool, g_strcmp0(period, "month") == 0, most, source));
	}
}

/* What people are shown must be what is then recorded. */
static json_t *load_protection(Loader *loader, const RgPlan *plan, const json_t *own)
{
	const json_t *list = value_of(loader, own, "protection", JSON_ARRAY), *item, *name;
	size_t i, n;
	json_array_foreach (list, i, item) {
		g_autofree char *pool = needed_text(loader, item, "pool");
		bool after = flag_of(loader, item, "after"), listed = false;
		json_array_foreach (plan->protect, n, name)
			listed |= g_strcmp0(json_string_value(name), pool) == 0;
		if (listed != after || flag_of(loader, item, "before") == after)
			fail(loader, "protection", "not what \"protect\" says");
	}
	return json_incref(rg_json_unconst(list));
}

static void load_head(Loader *loader, RgPlan *plan, const json_t *own)
{
	const json_t *spec = json_object_get(own, "spec"), *git = json_object_get(own, "git");
	const json_t *budget = json_object_get(own, "budget"), *serial;
	plan->command = needed_text(loader, own, "command");
	plan->cluster = needed_text(loader, own, "cluster");
	plan->lineage = text_of(loader, own, "lineage");
	plan->provider = text_of(loader, own, "provider");
	plan->region = text_of(loader, own, "region");
	plan->config = take_value(loader, own, "config", JSON_OBJECT);
	plan->facts = take_value(loader, own, "facts", JSON_OBJECT);
	plan->labels = take_value(loader, own, "labels", JSON_OBJECT);
	plan->fit = take_value(loader, own, "fit", JSON_OBJECT);
	plan->protect = take_value(loader, own, "protect", JSON_ARRAY);
	plan->protection = load_protection(loader, plan, own);
	serial = json_object_get(own, "serial");
	if (!json_is_integer(serial))
		fail(loader, "serial", "missing");
	plan->serial = json_integer_value(serial);
	plan->state = text_of(loader, own, "state");
	plan->spec_file = text_of(loader, spec, "file");
	plan->spec_digest = text_of(loader, spec, "digest");
	plan->in_git = flag_of(loader, git, "in_git");
	plan->commit = text_of(loader, git, "commit");
	plan->dirty = flag_of(loader, git, "dirty");
	plan->catalog_date = text_of(loader, own, "catalog_date");
	plan->api_calls = count_of(loader, budget, "api_calls");
	plan->api_seconds = count_of(loader, budget, "api_seconds");
	plan->touched = take_value(loader, own, "touched", JSON_OBJECT);
	if (!plan->touched)
		fail(loader, "touched", "missing");
}

static void load_unmanaged(Loader *loader, RgPlan *plan, const json_t *own)
{
	json_t *item;
	size_t i;
	json_array_foreach (json_object_get(own, "unmanaged"), i, item) {
		if (!json_is_object(item))
			fail(loader, "unmanaged", "not an object");
		g_ptr_array_add(plan->unmanaged, json_incref(item));
	}
}

/* Every row must be named, or a stale plan could pass as fresh. */
static void check_touched(Loader *loader, const RgPlan *plan)
{
	for (guint i = 0; i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		if (!json_object_get(plan->touched, change->address))
			fail(loader, change->address, "its row is not among those touched");
	}
}

static void check_same(Loader *loader, const RgPlan *plan, const json_t *document)
{
	json_auto_t *again = rg_plan_to_json(plan);
	if (!json_equal(again, document))
		fail(loader, "its parts", "they contradict each other");
}

static RgPlan *plan_empty(void)
{
	RgPlan *plan = g_new0(RgPlan, 1);
	plan->changes = g_ptr_array_new_with_free_func(plan_change_free);
	plan->pools = g_ptr_array_new_with_free_func(plan_pool_free);
	plan->markets = g_ptr_array_new_with_free_func(plan_market_free);
	plan->limits = g_ptr_array_new_with_free_func(rg_plan_limit_free);
	plan->unmanaged = g_ptr_array_new_with_free_func(rg_json_unref);
	return plan;
}

RgPlan *rg_plan_from_json(const json_t *document, RgDiags *diags)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	g_autoptr(RgPlan) plan = plan_empty();
	const json_t *own = json_object_get(document, "raygpu");
	g_autoptr(GHashTable) unpacked =
		g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, rg_json_unref);
	Loader loader = {.blobs = json_object_get(document, "blobs"),
		.seen = seen,
		.unpacked = unpacked,
		.diags = diags};
	if (rg_json_int(document, "raygpu_format", 0) != 1) {
		fail(&loader, "raygpu_format", "not 1");
		return NULL;
	}
	load_head(&loader, plan, own);
	load_changes(&loader, plan, json_object_get(document, "resource_changes"));
	load_pools(&loader, plan, own);
	load_markets(&loader, plan, json_object_get(own, "cost"));
	load_limits(&loader, plan, own);
	plan->override = text_of(&loader, own, "budget_override");
	plan->carbon = take_value(&loader, json_object_get(own, "carbon"), "basis", JSON_OBJECT);
	plan->details = take_value(&loader, own, "details", JSON_OBJECT);
	load_unmanaged(&loader, plan, own);
	plan->errored = flag_of(&loader, document, "errored");
	plan_count(plan);
	if (!loader.failed)
		check_touched(&loader, plan);
	if (!loader.failed)
		check_same(&loader, plan, document);
	return loader.failed ? NULL : g_steal_pointer(&plan);
}

/* What apply may ask for where nodes can't be had: the candidates that the budget holds. */
#include "base/money.h"
#include "plan/internal.h"
#include "resource/expr.h"

#define UNPACKED_MAX (64 * 1024 * 1024)

static int64_t price_of(const json_t *entry)
{
	return rg_json_int(
		json_object_get(entry, "offer"), "price_microusd_hour", RG_MONEY_UNKNOWN);
}

/* The new nodes of one pool. */
typedef struct {
	const char *pool;
	int64_t floor;
	unsigned below, rest; /* how many there are, below the floor and above it */
	int64_t planned;      /* what they cost as planned */
} Created;

static Created created_of(const RgPlan *plan, const json_t *pool)
{
	Created created = {
		.pool = rg_json_str(pool, "pool", ""), .floor = rg_json_int(pool, "floor", 0)};
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		bool makes =
			change->action == RG_ACTION_CREATE || change->action == RG_ACTION_REPLACE;
		if (!makes || !change->pin || g_strcmp0(change->group, created.pool) != 0)
			continue;
		bool below = change->index >= 0 && change->index < created.floor;
		created.below += below;
		created.rest += !below;
		created.planned += MAX(change->price_microusd_hour, 0);
	}
	return created;
}

static bool is_limited(const RgPlan *plan, const char *pool)
{
	rg_ptr_foreach (const RgPlanLimit, limit, plan->limits)
		if (!limit->gpus && (!limit->pool || g_str_equal(limit->pool, pool)))
			return true;
	return false;
}

static const char *why_not(const RgPlan *plan, const Created *created, const json_t *candidate)
{
	const json_t *node = json_object_get(candidate, "node");
	const json_t *below = json_object_get(candidate, "floor");
	int64_t price = price_of(node), low = price_of(below ? below : node);
	bool known = (!created->rest || price != RG_MONEY_UNKNOWN) &&
		     (!created->below || low != RG_MONEY_UNKNOWN);
	if (!is_limited(plan, created->pool) || plan->override)
		return NULL;
	if (!known)
		return "no price is known to compare with the budget";
	int64_t more = created->rest * price + created->below * low - created->planned;
	return rg_plan_affords(plan, created->pool, more, more) ? NULL : "over the budget";
}

static void leave_out(json_t *left_out, const json_t *candidate, const char *why)
{
	const json_t *offer = json_object_get(json_object_get(candidate, "node"), "offer");
	rg_json_foreach (known, left_out) {
		if (json_equal(json_object_get(known, "instance_type"),
			    json_object_get(offer, "instance_type")) &&
			json_equal(
				json_object_get(known, "market"), json_object_get(offer, "market")))
			return;
	}
	json_array_append_new(left_out, json_pack("{s:O, s:O, s:s}", "instance_type",
						json_object_get(offer, "instance_type"), "market",
						json_object_get(offer, "market"), "why", why));
}

static json_t *affordable(const RgPlan *plan, const json_t *pool)
{
	const Created created = created_of(plan, pool);
	json_t *kept = json_array();
	json_t *left_out = json_copy(json_object_get(pool, "left_out"));
	rg_json_foreach_at (i, candidate, json_object_get(pool, "candidates")) {
		const char *why = i > 0 ? why_not(plan, &created, candidate) : NULL;
		if (why)
			leave_out(left_out, candidate, why);
		else
			json_array_append(kept, candidate);
	}
	json_t *copy = json_copy(rg_json_unconst(pool));
	json_object_set_new(copy, "candidates", kept);
	json_object_set_new(copy, "left_out", left_out);
	return copy;
}

void capacity_make(Maker *maker)
{
	RgPlan *plan = maker->plan;
	json_auto_t *pools = json_array();
	rg_json_foreach (pool, maker->input->candidates) {
		json_auto_t *kept = affordable(plan, pool);
		if (json_array_size(json_object_get(kept, "candidates")) > 0)
			json_array_append(pools, kept);
	}
	if (json_array_size(pools) && maker->input->fitted)
		plan->capacity =
			json_pack("{s:O, s:O}", "fitted", maker->input->fitted, "pools", pools);
}

/* ---- in a plan file: what people and policies read, and packed what apply reads. Each candidate
 * has the user data of its nodes, which differs from the next one's in a few words. */

static json_t *offer_json(const json_t *entry)
{
	static const char *const members[] = {"instance_type", "market", "zone",
		"price_microusd_hour", "price_date", "price_quality"};
	const json_t *offer = json_object_get(entry, "offer");
	json_t *shown = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
		json_object_set(shown, members[i], json_object_get(offer, members[i]));
	return shown;
}

static json_t *shown_pools(const json_t *pools)
{
	json_t *shown = json_array();
	rg_json_foreach (pool, pools) {
		json_t *offers = json_array();
		rg_json_foreach (candidate, json_object_get(pool, "candidates"))
			json_array_append_new(
				offers, offer_json(json_object_get(candidate, "node")));
		json_array_append_new(
			shown, json_pack("{s:O, s:o, s:O}", "pool", json_object_get(pool, "pool"),
				       "candidates", offers, "left_out",
				       json_object_get(pool, "left_out")));
	}
	return shown;
}

static json_t *pack(const json_t *value)
{
	g_autoptr(RgDiags) unsaid = rg_diags_new();
	g_autofree char *text = rg_json_canonical(value);
	json_auto_t *expression = json_pack("{s:s}", "$gzip_base64", text);
	return rg_expr_resolve(expression, NULL, NULL, unsaid);
}

/* Not in a file that lacks something sensitive of these nodes anyway. */
json_t *capacity_json(const RgPlan *plan)
{
	bool hidden = !plan->capacity;
	for (guint i = 0; i < plan->changes->len && !hidden; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		hidden = change->pin && change->sensitive;
	}
	if (hidden)
		return NULL;
	return json_pack("{s:o, s:o}", "pools",
		shown_pools(json_object_get(plan->capacity, "pools")), "data",
		plan->capacity_packed ? json_incref(plan->capacity_packed) : pack(plan->capacity));
}

static bool is_pool(const json_t *pool)
{
	rg_json_foreach (candidate, json_object_get(pool, "candidates")) {
		const json_t *below = json_object_get(candidate, "floor");
		if (!json_is_object(json_object_get(json_object_get(candidate, "node"), "offer")) ||
			(below && !json_is_object(json_object_get(below, "offer"))))
			return false;
	}
	return rg_json_str(pool, "pool", NULL) && json_is_array(json_object_get(pool, "left_out"));
}

bool capacity_load(RgPlan *plan, const json_t *capacity)
{
	const char *data = rg_json_str(capacity, "data", NULL);
	g_autofree char *text = data ? rg_expr_gunzip(data, UNPACKED_MAX) : NULL;
	plan->capacity = text ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
	plan->capacity_packed = json_incref(json_object_get(capacity, "data"));
	const json_t *pools = json_object_get(plan->capacity, "pools");
	bool good =
		json_is_array(pools) && rg_expr_valid(plan->capacity) &&
		json_is_array(json_object_get(json_object_get(plan->capacity, "fitted"), "nodes"));
	rg_json_foreach (pool, pools)
		good = good && is_pool(pool);
	return good;
}

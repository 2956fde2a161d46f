#include "base/money.h"
#include "plan/internal.h"
#include <string.h>

void plan_pool_free(gpointer data)
{
	RgPlanPool *pool = data;
	g_free(pool->pool);
	g_free(pool->instance_type);
	g_free(pool->accelerator);
	g_free(pool->market);
	g_free(pool->reason);
	g_free(pool);
}

void plan_market_free(gpointer data)
{
	RgPlanMarket *market = data;
	g_free(market->market);
	g_free(market);
}

static RgPlanPool *find_pool(GPtrArray *pools, GHashTable *by_name, const char *name)
{
	RgPlanPool *pool = g_hash_table_lookup(by_name, name);
	if (!pool) {
		pool = g_new0(RgPlanPool, 1);
		pool->pool = g_strdup(name);
		g_hash_table_insert(by_name, pool->pool, pool);
		g_ptr_array_add(pools, pool);
	}
	return pool;
}

static void newer_date(RgPlan *plan, const char *date)
{
	if (!date || (plan->catalog_date && strcmp(date, plan->catalog_date) <= 0))
		return;
	g_free(plan->catalog_date);
	plan->catalog_date = g_strdup(date);
}

/* Unknown prices are counted, never taken as nothing. */
static void add_price(int64_t price, int64_t *sum, unsigned *unpriced)
{
	if (price == RG_MONEY_UNKNOWN)
		(*unpriced)++;
	else
		*sum += price;
}

static RgPlanMarket *find_market(RgPlan *plan, const char *name)
{
	for (guint i = 0; i < plan->markets->len; i++) {
		RgPlanMarket *market = plan->markets->pdata[i];
		if (g_str_equal(market->market, name))
			return market;
	}
	RgPlanMarket *market = g_new0(RgPlanMarket, 1);
	market->market = g_strdup(name);
	g_ptr_array_add(plan->markets, market);
	return market;
}

/* The same for carbon, by instance type. */
static void add_carbon(const Maker *maker, const Offer *offer, int64_t *sum, unsigned *uncounted)
{
	const json_t *types = json_object_get(maker->input->carbon, "types");
	const json_t *mg = json_object_get(types, offer->instance_type ? offer->instance_type : "");
	if (json_is_integer(mg))
		*sum += json_integer_value(mg);
	else
		(*uncounted)++;
}

static void name_pool(RgPlanPool *pool, const Offer *offer)
{
	g_free(pool->instance_type);
	g_free(pool->accelerator);
	g_free(pool->market);
	g_free(pool->reason);
	pool->instance_type = g_strdup(offer->instance_type);
	pool->accelerator = g_strdup(offer->accelerator);
	pool->market = g_strdup(offer->market);
	pool->reason = g_strdup(offer->reason);
}

/* Nodes of one pool are on two markets while only some of them are to be replaced. */
static void mix_market(RgPlanPool *pool, const Offer *offer)
{
	if (g_strcmp0(pool->market, offer->market) == 0)
		return;
	g_free(pool->market);
	pool->market = g_strdup("mixed");
}

static void add_before(Maker *maker, RgPlanPool *pool, const RgChange *change)
{
	Offer offer = {0};
	offer_from_pin(&offer, change->recorded->pin);
	pool->nodes_before++;
	pool->gpus_before += offer.gpus;
	add_price(offer.price, &pool->microusd_hour_before, &pool->unpriced_before);
	add_carbon(maker, &offer, &pool->carbon_mg_hour_before, &pool->uncounted_before);
	RgPlanMarket *market = find_market(maker->plan, offer.market);
	market->nodes_before++;
	add_price(offer.price, &market->microusd_hour_before, &market->unpriced_before);
	newer_date(maker->plan, offer.price_date);
	if (pool->nodes_after == 0)
		name_pool(pool, &offer);
}

/* What is stopped or left out stays as it is recorded. */
static void add_after(Maker *maker, RgPlanPool *pool, const RgChange *change)
{
	const RgResource *desired = change->desired;
	bool stays = change->action == RG_ACTION_STOP || change->row == 0;
	Offer pinned = {0};
	const Offer *offer = desired && !stays
				     ? offers_find(&maker->offers, pool_of(desired), desired->index)
				     : NULL;
	if (!offer) {
		offer_from_pin(&pinned, change->recorded ? change->recorded->pin : NULL);
		offer = &pinned;
	}
	if (pool->nodes_after++ == 0)
		name_pool(pool, offer);
	mix_market(pool, offer);
	pool->gpus_after += offer->gpus;
	add_price(offer->price, &pool->microusd_hour_after, &pool->unpriced_after);
	add_carbon(maker, offer, &pool->carbon_mg_hour_after, &pool->uncounted_after);
	RgPlanMarket *market = find_market(maker->plan, offer->market);
	market->nodes_after++;
	add_price(offer->price, &market->microusd_hour_after, &market->unpriced_after);
	newer_date(maker->plan, offer->price_date);
}

static void add_node(Maker *maker, GPtrArray *pools, GHashTable *by_name, const RgChange *change)
{
	const RgResource *resource = change->desired ? change->desired : change->recorded;
	bool before = node_before(change), after = node_after(change);
	if (!before && !after)
		return;
	RgPlanPool *pool = find_pool(pools, by_name, pool_of(resource));
	if (before)
		add_before(maker, pool, change);
	if (after)
		add_after(maker, pool, change);
}

static void drop_empty(GPtrArray *pools)
{
	for (guint i = pools->len; i > 0; i--) {
		const RgPlanPool *pool = pools->pdata[i - 1];
		if (pool->nodes_before == 0 && pool->nodes_after == 0)
			g_ptr_array_remove_index(pools, i - 1);
	}
}

static gint compare_pools(gconstpointer a, gconstpointer b)
{
	return strcmp((*(RgPlanPool *const *)a)->pool, (*(RgPlanPool *const *)b)->pool);
}

static gint compare_markets(gconstpointer a, gconstpointer b)
{
	return strcmp((*(RgPlanMarket *const *)a)->market, (*(RgPlanMarket *const *)b)->market);
}

void pools_make(Maker *maker)
{
	GPtrArray *pools = g_ptr_array_new_with_free_func(plan_pool_free);
	maker->plan->pools = pools;
	maker->plan->markets = g_ptr_array_new_with_free_func(plan_market_free);
	g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
	const GPtrArray *order = maker->input->pool_order, *changes = maker->diff->changes;
	find_pool(pools, by_name, "head");
	for (guint i = 0; order && i < order->len; i++)
		find_pool(pools, by_name, order->pdata[i]);
	guint known = pools->len;
	for (guint i = 0; i < changes->len; i++) {
		const RgChange *change = changes->pdata[i];
		const RgResource *resource = change->desired ? change->desired : change->recorded;
		if (rg_schema_kind(maker->schema, resource->kind)->node)
			add_node(maker, pools, by_name, change);
	}
	for (guint i = 0; maker->input->gangs && i < maker->input->gangs->len; i++)
		find_pool(pools, by_name, maker->input->gangs->pdata[i])->gang = true;
	qsort(pools->pdata + known, pools->len - known, sizeof(gpointer), compare_pools);
	drop_empty(pools);
	g_ptr_array_sort(maker->plan->markets, compare_markets);
}

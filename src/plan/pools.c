#include "base/money.h"
#include "plan/members.h"
#include <string.h>

void plan_pool_free(gpointer data)
{
	RgPlanPool *pool = data;
	members_free(pool_members, pool);
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

static void keep_text(char **kept, const char *text)
{
	g_free(*kept);
	*kept = g_strdup(text);
}

/* The oldest is only kept beside a newer one. */
static void add_date(RgPlan *plan, const char *date)
{
	if (!date)
		return;
	int order = plan->catalog_date ? strcmp(date, plan->catalog_date) : 0;
	if (!plan->catalog_date) {
		plan->catalog_date = g_strdup(date);
	} else if (order > 0) {
		if (!plan->oldest_date)
			plan->oldest_date = g_strdup(plan->catalog_date);
		keep_text(&plan->catalog_date, date);
	} else if (order < 0 && (!plan->oldest_date || strcmp(date, plan->oldest_date) < 0)) {
		keep_text(&plan->oldest_date, date);
	}
}

static RgPlanMarket *find_market(RgPlan *plan, const char *name)
{
	rg_ptr_foreach (RgPlanMarket, market, plan->markets) {
		if (g_str_equal(market->market, name))
			return market;
	}
	RgPlanMarket *market = g_new0(RgPlanMarket, 1);
	market->market = g_strdup(name);
	g_ptr_array_add(plan->markets, market);
	return market;
}

/* Of n nodes. Unknown values are counted, never treated as zero. */
static void add_sum(const Maker *maker, RgPlanSum *sum, const Offer *offer, unsigned n)
{
	const json_t *types = json_object_get(maker->input->carbon, "types");
	const json_t *mg = json_object_get(types, offer->instance_type ? offer->instance_type : "");
	sum->nodes += n;
	sum->gpus += offer->gpus * n;
	if (offer->price == RG_MONEY_UNKNOWN)
		sum->unpriced += n;
	else
		sum->microusd_hour += offer->price * n;
	if (json_is_integer(mg))
		sum->carbon_mg_hour += json_integer_value(mg) * n;
	else
		sum->uncounted += n;
}

static void add_side(const Maker *maker, RgPlanSide *side, RgPlanSum *market, const Offer *offer,
	const RgPoolNodes *nodes, unsigned now)
{
	add_sum(maker, &side->now, offer, now);
	add_sum(maker, &side->least, offer, nodes->min);
	add_sum(maker, &side->most, offer, nodes->max);
	add_sum(maker, market, offer, now);
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

static void add_price(RgPlanPool *pool, const Offer *offer)
{
	const char *date = offer->price_date, *quality = offer->price_quality;
	if (offer->price == RG_MONEY_UNKNOWN)
		return;
	if (date && (!pool->price_date || strcmp(date, pool->price_date) < 0))
		keep_text(&pool->price_date, date);
	if (quality && (!pool->price_quality || g_str_equal(quality, "derived")))
		keep_text(&pool->price_quality, quality);
}

/* Nodes of one pool are on two markets only while some of them are being replaced. */
static void mix_market(char **market, const Offer *offer)
{
	if (!*market) {
		*market = g_strdup(offer->market);
	} else if (!g_str_equal(*market, offer->market)) {
		g_free(*market);
		*market = g_strdup("mixed");
	}
}

/* The value before, only if it is different afterwards. */
static void keep_changes(gpointer item, G_GNUC_UNUSED gpointer data)
{
	RgPlanPool *pool = item;
	if (pool->after.most.nodes == 0 ||
		g_strcmp0(pool->instance_type_before, pool->instance_type) == 0)
		g_clear_pointer(&pool->instance_type_before, g_free);
	if (pool->after.most.nodes == 0 || g_strcmp0(pool->market_before, pool->market) == 0)
		g_clear_pointer(&pool->market_before, g_free);
}

/* Of a node of the fitted document. */
static json_t *runs_of(const json_t *fitted, const json_t *node)
{
	static const char *const lists[] = {"initialization_commands", "setup_commands", "mounts"};
	const json_t *prepare = json_object_get(node, "prepare");
	size_t n_env = json_object_size(json_object_get(node, "env"));
	const char *image = rg_json_str(
		node, "ray_image", rg_json_str(json_object_get(fitted, "ray"), "image", NULL));
	if (!image)
		return NULL;
	json_t *runs = json_pack("{s:s}", "ray.image", image);
	for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
		size_t n = json_array_size(json_object_get(prepare, lists[i]));
		if (n)
			json_object_set_new(runs, lists[i], json_integer((json_int_t)n));
	}
	if (n_env)
		json_object_set_new(runs, "env", json_integer((json_int_t)n_env));
	return runs;
}

/* Nodes of one pool have the same commands; the first of them stands for all. */
static void pool_set_runs(const Maker *maker, RgPlanPool *pool)
{
	rg_json_foreach (node, json_object_get(maker->input->fitted, "nodes")) {
		if (!g_str_equal(rg_json_str(node, "pool", ""), pool->pool))
			continue;
		pool->runs = runs_of(maker->input->fitted, node);
		return;
	}
}

static void add_before(
	Maker *maker, RgPlanPool *pool, const RgChange *change, const RgPoolNodes *nodes)
{
	Offer offer = {0};
	offer_from_pin(&offer, nodes->pin);
	RgPlanMarket *market = find_market(maker->plan, offer.market);
	add_side(maker, &pool->before, &market->before, &offer, nodes,
		rg_nodes_now(nodes, change->observed));
	add_date(maker->plan, offer.price_date);
	unsigned now = rg_nodes_now(nodes, change->observed);
	if (change->action == RG_ACTION_DELETE) {
		pool->destroyed += now;
		if (!pool->removed)
			pool->removed = g_strdup(rg_json_str(change->removal, "done", NULL));
	}
	if (change->action == RG_ACTION_RELEASE)
		add_sum(maker, &pool->forgotten, &offer, now);
	if (pool->after.most.nodes == 0) {
		name_pool(pool, &offer);
		add_price(pool, &offer);
	}
	if (!pool->instance_type_before)
		pool->instance_type_before = g_strdup(offer.instance_type);
	mix_market(&pool->market_before, &offer);
}

static void add_after(
	Maker *maker, RgPlanPool *pool, const RgChange *change, const RgPoolNodes *nodes)
{
	bool made = change->action == RG_ACTION_CREATE || change->action == RG_ACTION_REPLACE;
	const bool wanted = resource_after(change) == change->desired;
	const Offer offer = offer_of(maker, change, nodes, wanted);
	if (pool->after.most.nodes == 0) {
		name_pool(pool, &offer);
		g_clear_pointer(&pool->price_date, g_free);
		g_clear_pointer(&pool->price_quality, g_free);
	}
	add_price(pool, &offer);
	if (made && !pool->runs)
		pool_set_runs(maker, pool);
	mix_market(&pool->market, &offer);
	RgPlanMarket *market = find_market(maker->plan, offer.market);
	add_side(maker, &pool->after, &market->after, &offer, nodes,
		made ? nodes->min : nodes_after(change, nodes));
	add_date(maker->plan, offer.price_date);
}

typedef void (*AddNodes)(
	Maker *maker, RgPlanPool *pool, const RgChange *change, const RgPoolNodes *nodes);

static void add_nodes(Maker *maker, GPtrArray *pools, GHashTable *by_name, const RgChange *change,
	const RgResource *resource, AddNodes add)
{
	const RgKind *kind = rg_schema_kind(maker->schema, resource->kind);
	for (size_t i = 0; i < rg_nodes_pools(resource, kind); i++) {
		const RgPoolNodes nodes = rg_nodes_get(resource, i);
		add(maker, find_pool(pools, by_name, nodes.pool), change, &nodes);
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

static void add_carbon(const Maker *maker, RgPlanSum *sum, const char *type)
{
	const json_t *types = json_object_get(maker->input->carbon, "types");
	const json_t *mg = type ? json_object_get(types, type) : NULL;
	sum->uncounted = json_is_integer(mg) ? 0 : sum->nodes;
	sum->carbon_mg_hour = json_integer_value(mg) * sum->nodes;
}

/* Its nodes of before say what it is, if it has any. */
static void add_disabled(const Maker *maker, RgPlanPool *pool, const RgPlanRule *rule)
{
	pool->disabled = rule->disabled;
	pool->again = g_strdup(rule->again);
	if (!rule->disabled)
		return;
	pool->disabled_at = plan_source(maker, rule->disabled_at);
	pool->enabled = rule->enabled;
	add_carbon(maker, &pool->enabled.now, rule->instance_type);
	add_carbon(maker, &pool->enabled.least, rule->instance_type);
	add_carbon(maker, &pool->enabled.most, rule->instance_type);
	if (pool->before.most.nodes || !rule->instance_type)
		return;
	const Offer offer = {.instance_type = rule->instance_type,
		.accelerator = rule->accelerator,
		.market = rule->market};
	name_pool(pool, &offer);
}

static void add_rules(const Maker *maker, GPtrArray *pools, GHashTable *by_name)
{
	g_autoptr(GHashTable) rolling = rolling_pools(maker->plan);
	for (size_t i = 0; i < maker->input->n_rules; i++) {
		const RgPlanRule *rule = &maker->input->rules[i];
		RgPlanPool *pool = find_pool(pools, by_name, rule->pool);
		pool->gang = rule->gang;
		add_disabled(maker, pool, rule);
		if (!g_hash_table_contains(rolling, rule->pool))
			continue;
		pool->max_surge = rule->max_surge;
		pool->max_unavailable = rule->max_surge ? 0 : rule->max_unavailable;
	}
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
	rg_ptr_foreach (const RgChange, change, changes) {
		/* what is imported was not the cluster's: for its budget, too, it is new */
		if (node_before(change) && !json_object_get(maker->input->imports, change->address))
			add_nodes(maker, pools, by_name, change, change->recorded, add_before);
		if (node_after(change))
			add_nodes(maker, pools, by_name, change, resource_after(change), add_after);
	}
	add_rules(maker, pools, by_name);
	qsort(pools->pdata + known, pools->len - known, sizeof(gpointer), compare_pools);
	for (guint i = pools->len; i > 0; i--) {
		const RgPlanPool *pool = pools->pdata[i - 1];
		if (!pool->disabled && pool->before.most.nodes == 0 && pool->after.most.nodes == 0)
			g_ptr_array_remove_index(pools, i - 1);
	}
	g_ptr_array_foreach(pools, keep_changes, NULL);
	g_ptr_array_sort(maker->plan->markets, compare_markets);
}

/* A finite stock: facts say how many nodes of a type are free in a zone. Nodes that the cluster has
 * are not in it; each new one takes one out. */
#include "fit/internal.h"

/* One pool, and what is left for it. */
typedef struct {
	RgStock *stock;
	const RgShape *shape;
	const char **zones; /* of its nodes */
	RgDiags *diags;
} Taking;

bool rg_fit_is_open(const RgFitNode *node, const char *zone)
{
	return !node->pin || node->is_kept || !node->same_type ||
	       g_strcmp0(zone, rg_json_str(node->pin, "zone", NULL)) != 0;
}

static int64_t left_of(const json_t *zones, const RgStock *stock, const char *key, const char *zone)
{
	const json_t *free = json_object_get(zones, zone);
	if (!json_is_integer(free))
		return INT64_MAX;
	return json_integer_value(free) - rg_json_int(json_object_get(stock->taken, key), zone, 0);
}

static char *pool_key(const RgPool *pool, const char *type)
{
	return g_strconcat(pool->name, "/", type, NULL);
}

/* How many are left, and suit the pool; INT64_MAX: no limit. */
static int64_t left_in(const Taking *taking, const char *type, const char *zone)
{
	const RgStock *stock = taking->stock;
	const RgPool *pool = taking->shape->pool;
	const json_t *suits = json_object_get(stock->suits, pool->name);
	g_autofree char *key = pool_key(pool, type);
	return MIN(left_of(json_object_get(json_object_get(stock->facts, "stock"), type), stock,
			   type, zone),
		left_of(json_object_get(suits, type), stock, key, zone));
}

static void take_as(RgStock *stock, const char *key, const char *zone, int64_t n)
{
	json_t *zones = json_object_get(stock->taken, key);
	if (!zones)
		json_object_set_new(stock->taken, key, zones = json_object());
	json_object_set_new(zones, zone, json_integer(rg_json_int(zones, zone, 0) + n));
}

static void take(const Taking *taking, const char *type, const char *zone, int64_t n)
{
	g_autofree char *key = pool_key(taking->shape->pool, type);
	take_as(taking->stock, type, zone, n);
	take_as(taking->stock, key, zone, n);
}

/* Whether all of its new nodes must be in one zone. */
static bool is_whole(const RgPool *pool)
{
	return pool->gang || pool->is_elastic || rg_fit_is_gathered(pool);
}

/* An elastic pool takes what it starts with. */
static int64_t nodes_of_one(const RgPool *pool)
{
	return pool->is_elastic ? pool->nodes : 1;
}

static bool is_taken(const Taking *taking, unsigned i, const char *type)
{
	const RgFitNode *node = &taking->shape->nodes[i];
	return rg_fit_is_open(node, taking->zones[i]) && g_str_equal(node->as->type->name, type);
}

static json_t *count_open(const Taking *taking)
{
	const RgPool *pool = taking->shape->pool;
	json_t *open = json_object();
	for (unsigned i = 0; i < rg_fit_count(pool); i++) {
		const RgFitNode *node = &taking->shape->nodes[i];
		const char *type = node->as->type->name;
		if (rg_fit_is_open(node, taking->zones[i]))
			json_object_set_new(open, type,
				json_integer(rg_json_int(open, type, 0) + nodes_of_one(pool)));
	}
	return open;
}

static bool has_held(const Taking *taking)
{
	for (unsigned i = 0; i < rg_fit_count(taking->shape->pool); i++)
		if (!rg_fit_is_open(&taking->shape->nodes[i], taking->zones[i]))
			return true;
	return false;
}

/* Where nodes of the type may be, best first: as chosen without regard to the stock, then the
 * rest. */
static GPtrArray *zones_of(const Taking *taking, const RgInstanceType *type, const char *chosen)
{
	const RgStock *stock = taking->stock;
	g_autoptr(GPtrArray) ranked =
		rg_fit_rank_zones(stock->shapes, taking->shape, type, stock->facts);
	GPtrArray *zones = g_ptr_array_new();
	g_ptr_array_add(zones, (void *)(uintptr_t)chosen);
	bool bound = rg_fit_is_gathered(taking->shape->pool) && has_held(taking);
	for (guint i = 0; i < ranked->len && !bound; i++)
		if (!g_str_equal(ranked->pdata[i], chosen))
			g_ptr_array_add(zones, ranked->pdata[i]);
	return zones;
}

static const char *zone_with_all(
	const Taking *taking, const GPtrArray *zones, const char *type, int64_t n)
{
	for (guint i = 0; i < zones->len; i++)
		if (left_in(taking, type, zones->pdata[i]) >= n)
			return zones->pdata[i];
	return NULL;
}

static int64_t sum_of(const Taking *taking, const GPtrArray *zones, const char *type)
{
	int64_t sum = 0;
	for (guint i = 0; i < zones->len; i++) {
		int64_t left = left_in(taking, type, zones->pdata[i]);
		sum = left > INT64_MAX - sum ? INT64_MAX : sum + MAX(left, 0);
	}
	return sum;
}

/* "3 of T4:1 are free in rack-1, 1 in rack-2" */
static char *tell_left(const Taking *taking, const GPtrArray *zones, const char *type)
{
	GString *text = g_string_new(NULL);
	for (guint i = 0; i < zones->len; i++) {
		const char *zone = zones->pdata[i];
		int64_t n = left_in(taking, type, zone);
		if (i == 0)
			g_string_append_printf(text, "%" G_GINT64_FORMAT " of %s %s free in %s", n,
				type, n == 1 ? "is" : "are", zone);
		else
			g_string_append_printf(text, ", %" G_GINT64_FORMAT " in %s", n, zone);
	}
	return g_string_free(text, FALSE);
}

static void report_short(
	const Taking *taking, const GPtrArray *zones, const char *type, int64_t wanted)
{
	const RgPool *pool = taking->shape->pool;
	g_autofree char *left = tell_left(taking, zones, type);
	RgDiag *diag = rg_diags_error(taking->diags, "fit.no-stock",
		"only %s, and %s%s needs %" G_GINT64_FORMAT "%s%s", left,
		pool->is_head ? "the " : "pool ", pool->name, wanted,
		has_held(taking) ? " more" : "",
		zones->len > 1 && is_whole(pool) ? " in one of them" : "");
	rg_diag_at(diag, pool->shape_source);
	const RgCluster *cluster = taking->stock->shapes->cluster;
	bool several = cluster->places && cluster->places->len > 1;
	if (several)
		rg_diag_detail(diag, "in %s",
			rg_place_name(cluster->provider.name, cluster->provider.region));
	else if (json_object_get(taking->stock->suits, pool->name))
		rg_diag_detail(diag, "only nodes that suit its `provider` settings count");
	else if (json_object_size(taking->stock->taken))
		rg_diag_detail(diag, "what other pools of the spec take is not counted as free");
	rg_diag_hint(diag, "use fewer nodes, admit another type or %s, or release nodes",
		rg_catalog_words(taking->stock->shapes->catalog)->zone);
	json_object_set_new(taking->stock->lacking, pool->name, json_string(type));
}

/* All in one zone if one has enough; else where there are some, unless the pool must not be
 * divided. */
static bool take_type(const Taking *taking, const char *type, int64_t wanted)
{
	const RgPool *pool = taking->shape->pool;
	unsigned first = 0;
	while (!is_taken(taking, first, type))
		first++;
	bool whole = is_whole(pool);
	g_autoptr(GPtrArray) zones =
		zones_of(taking, taking->shape->nodes[first].as->type, taking->zones[first]);
	const char *all = zone_with_all(taking, zones, type, wanted);
	if (!all && (whole || sum_of(taking, zones, type) < wanted)) {
		report_short(taking, zones, type, wanted);
		return false;
	}
	for (unsigned i = first; i < rg_fit_count(pool); i++) {
		if (!is_taken(taking, i, type))
			continue;
		taking->zones[i] = all ? all : zone_with_all(taking, zones, type, 1);
		take(taking, type, taking->zones[i], nodes_of_one(pool));
	}
	return true;
}

static bool take_pool(RgStock *stock, const RgShape *shape, const char **zones, RgDiags *diags)
{
	Taking taking = {.stock = stock, .shape = shape, .zones = zones, .diags = diags};
	json_auto_t *open = count_open(&taking);
	bool good = true;
	rg_json_foreach_member (type, n, open) {
		if (json_object_get(json_object_get(stock->facts, "stock"), type))
			good = take_type(&taking, type, json_integer_value(n)) && good;
	}
	return good;
}

/* Who has fewest choices is served first. */
static unsigned choices_of(const RgPool *pool)
{
	return (is_whole(pool) ? 0 : 2) + (pool->zones ? 0 : 1);
}

bool rg_fit_take_stock(RgStock *stock, const char ***zones, RgDiags *diags)
{
	const GPtrArray *shapes = stock->shapes->shapes;
	bool good = true;
	if (!json_object_size(json_object_get(stock->facts, "stock")))
		return true;
	for (unsigned choices = 0; choices < 4; choices++) {
		for (guint step = 1; step <= shapes->len; step++) {
			guint i =
				step % shapes->len; /* the head last, as in its choice of a zone */
			const RgShape *shape = shapes->pdata[i];
			if (choices_of(shape->pool) == choices)
				good = take_pool(stock, shape, zones[i], diags) && good;
		}
	}
	return good;
}

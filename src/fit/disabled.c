#include "fit/disabled.h"
#include "base/money.h"
#include "fit/internal.h"

/* Of the node of that index, which the pool would have: as remembered, else as today. */
static int64_t node_price(const RgShapes *shapes, const RgShape *shape, unsigned index)
{
	const json_t *pin = index < rg_fit_wanted(shape->pool) ? shape->nodes[index].pin : NULL;
	const json_t *pinned = json_object_get(pin, "price_microusd_hour");
	if (g_str_equal(rg_json_str(pin, "instance_type", ""), shape->type->name) && pinned)
		return json_is_integer(pinned) ? json_integer_value(pinned) : RG_MONEY_UNKNOWN;
	const char *region = shapes->cluster->provider.region;
	const RgPrice *price = rg_pool_is_spot(shape->pool, index)
				       ? rg_fit_spot_price(shape->type, region, NULL)
				       : rg_catalog_find_price(shape->type, region);
	return price ? price->microusd_hour : RG_MONEY_UNKNOWN;
}

static RgDisabledSum sum_of(const RgShapes *shapes, const RgShape *shape, unsigned nodes)
{
	RgDisabledSum sum = {.nodes = nodes, .gpus = nodes * shape->type->gpus};
	for (unsigned i = 0; i < nodes; i++) {
		int64_t price = node_price(shapes, shape, i);
		if (price == RG_MONEY_UNKNOWN)
			sum.unpriced++;
		else
			sum.microusd_hour += price;
	}
	return sum;
}

static const RgShape *pool_shape(const RgShapes *shapes, const RgPool *pool)
{
	guint i = 0;
	while (((RgShape *)shapes->shapes->pdata[i])->pool != pool)
		i++;
	return shapes->shapes->pdata[i];
}

char *rg_fit_again(const RgShapes *shapes, const RgPool *pool)
{
	const RgShape *shape = pool_shape(shapes, pool);
	g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(g_free);
	unsigned n = 0;
	for (unsigned i = 0; i < rg_fit_count(pool); i++) {
		const RgFitNode *node = &shape->nodes[i];
		if (!node->is_kept || !node->same_type)
			continue;
		g_autofree char *place =
			node->zone ? g_strdup_printf("%s in %s", node->as->type->name, node->zone)
				   : g_strdup(node->as->type->name);
		n++;
		if (!g_ptr_array_find_with_equal_func(places, place, g_str_equal, NULL))
			g_ptr_array_add(places, g_steal_pointer(&place));
	}
	if (n == 0)
		return NULL;
	g_ptr_array_add(places, NULL);
	g_autofree char *list = g_strjoinv(" and ", (char **)places->pdata);
	if (pool->is_elastic) /* its nodes are Ray's */
		return g_steal_pointer(&list);
	return g_strdup_printf("%u node%s, %s", n, n == 1 ? "" : "s", list);
}

RgDisabled rg_fit_disabled(const RgShapes *shapes, const RgPool *pool)
{
	const RgShape *shape = pool_shape(shapes, pool);
	return (RgDisabled){.instance_type = shape->type->name,
		.accelerator = shape->type->gpu ? shape->type->gpu->ray_type : NULL,
		.market = rg_fit_market_word(shape),
		.least = sum_of(shapes, shape, pool->wanted),
		.most = sum_of(shapes, shape, pool->wanted_max)};
}

/* What elastic pools cost at their minimum and maximum, compared with the budgets: Ray's autoscaler
 * moves between the two without a plan, so this is the only place to report it in advance. */
#include "fit/whole.h"
#include "pipeline/internal.h"

static RgPlanSum sum_of(const RgWhole *whole)
{
	return (RgPlanSum){.nodes = whole->nodes,
		.unpriced = whole->unpriced,
		.uncounted = whole->uncounted,
		.microusd_hour = whole->microusd_hour,
		.carbon_mg_hour = whole->carbon_mg_hour};
}

static void add_pool(GArray *pools, const RgCluster *cluster, const RgShapes *shapes,
	const RgCarbon *carbon, const char *name)
{
	RgWhole least = rg_fit_whole_of(cluster, shapes, carbon, name, false);
	RgWhole most = rg_fit_whole_of(cluster, shapes, carbon, name, true);
	RgPlanRange range = {name, sum_of(&least), sum_of(&most), most.unpriced_type};
	g_array_append_val(pools, range);
}

static json_t *side_json(const RgPlanSum *sum)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "nodes", (json_int_t)sum->nodes,
		"microusd_hour", (json_int_t)sum->microusd_hour, "unpriced",
		(json_int_t)sum->unpriced, "carbon_mg_hour", (json_int_t)sum->carbon_mg_hour,
		"uncounted", (json_int_t)sum->uncounted);
}

static json_t *range_json(const RgPlanRange *range)
{
	json_t *object = json_object();
	if (range->pool)
		rg_json_set_str(object, "pool", range->pool);
	json_object_set_new(object, "least", side_json(&range->least));
	json_object_set_new(object, "most", side_json(&range->most));
	return object;
}

json_t *pass_range(
	const RgCluster *cluster, RgTables *tables, const RgShapes *shapes, RgDiags *diags)
{
	const RgCarbon *carbon = rg_tables_carbon(tables, diags);
	if (!carbon)
		return NULL;
	g_autoptr(GArray) pools = g_array_new(FALSE, FALSE, sizeof(RgPlanRange));
	add_pool(pools, cluster, shapes, carbon, cluster->head->name);
	for (guint i = 0; i < cluster->pools->len; i++)
		add_pool(
			pools, cluster, shapes, carbon, ((RgPool *)cluster->pools->pdata[i])->name);
	g_autoptr(GPtrArray) limits = pass_limits(cluster, rg_tables_project(tables));
	rg_plan_check_range(pools, limits,
		rg_place_name(cluster->provider.name, cluster->provider.region), diags);
	json_t *rows = json_array();
	for (guint i = 0; i < pools->len; i++)
		json_array_append_new(rows, range_json(&g_array_index(pools, RgPlanRange, i)));
	RgPlanRange all = rg_plan_range_sum(pools, NULL);
	json_t *cost = range_json(&all);
	json_object_set_new(cost, "pools", rows);
	rg_json_set_str(cost, "price_date", rg_fit_whole(cluster, shapes, carbon, true).price_date);
	return cost;
}

/* What elastic pools cost at their minimum and maximum, compared with the budgets: Ray's autoscaler
 * moves between the two without a plan, so this is the only place to report it in advance. */
#include "fit/whole.h"
#include "pipeline/internal.h"

static RgPlanSum sum_of(const RgWhole *whole)
{
	return (RgPlanSum){.nodes = whole->nodes,
		.gpus = whole->gpus,
		.unpriced = whole->unpriced,
		.uncounted = whole->uncounted,
		.microusd_hour = whole->microusd_hour,
		.carbon_mg_hour = whole->carbon_mg_hour};
}

static json_t *side_json(const RgPlanSum *sum)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "nodes", (json_int_t)sum->nodes,
		"microusd_hour", (json_int_t)sum->microusd_hour, "unpriced",
		(json_int_t)sum->unpriced, "carbon_mg_hour", (json_int_t)sum->carbon_mg_hour,
		"uncounted", (json_int_t)sum->uncounted);
}

/* `most`: whose prices these are. */
static json_t *range_json(const RgPlanRange *range, const RgWhole *most)
{
	json_t *object = json_object();
	if (range->pool)
		rg_json_set_str(object, "pool", range->pool);
	json_object_set_new(object, "least", side_json(&range->least));
	json_object_set_new(object, "most", side_json(&range->most));
	rg_json_set_str(object, "price_date", most->price_date);
	rg_json_set_str(object, "oldest_price_date", most->oldest_date);
	json_object_set_new(object, "derived", json_integer(most->derived));
	return object;
}

/* `rows`: gets its JSON; NULL: not needed. */
static void add_pool(json_t *rows, GArray *pools, const RgCluster *cluster, const RgShapes *shapes,
	const RgCarbon *carbon, const char *name)
{
	RgWhole least = rg_fit_whole_of(cluster, shapes, carbon, name, false);
	RgWhole most = rg_fit_whole_of(cluster, shapes, carbon, name, true);
	RgPlanRange range = {
		name, sum_of(&least), sum_of(&most), most.unpriced_type, most.unpriced_spot};
	g_array_append_val(pools, range);
	if (rows)
		json_array_append_new(rows, range_json(&range, &most));
}

static GArray *pools_of(
	json_t *rows, const RgCluster *cluster, const RgShapes *shapes, const RgCarbon *carbon)
{
	GArray *pools = g_array_new(FALSE, FALSE, sizeof(RgPlanRange));
	add_pool(rows, pools, cluster, shapes, carbon, cluster->head->name);
	for (guint i = 0; i < cluster->pools->len; i++)
		add_pool(rows, pools, cluster, shapes, carbon,
			((RgPool *)cluster->pools->pdata[i])->name);
	return pools;
}

static bool check(const RgCluster *cluster, RgTables *tables, const GArray *pools, RgDiags *diags)
{
	g_autoptr(GPtrArray) limits = pass_limits(cluster, rg_tables_project(tables));
	return rg_plan_check_range(pools, limits,
		rg_place_name(cluster->provider.name, cluster->provider.region), diags);
}

bool pass_check_budget(const RgCluster *cluster, RgTables *tables, const RgShapes *shapes,
	const RgCarbon *carbon, RgDiags *diags)
{
	g_autoptr(GArray) pools = pools_of(NULL, cluster, shapes, carbon);
	return check(cluster, tables, pools, diags);
}

json_t *pass_range(
	const RgCluster *cluster, RgTables *tables, const RgShapes *shapes, RgDiags *diags)
{
	const RgCarbon *carbon = rg_tables_carbon(tables, diags);
	if (!carbon)
		return NULL;
	json_t *rows = json_array();
	g_autoptr(GArray) pools = pools_of(rows, cluster, shapes, carbon);
	check(cluster, tables, pools, diags);
	RgPlanRange all = rg_plan_range_sum(pools, NULL);
	const RgWhole whole = rg_fit_whole(cluster, shapes, carbon, true);
	json_t *cost = range_json(&all, &whole);
	json_object_set_new(cost, "pools", rows);
	return cost;
}

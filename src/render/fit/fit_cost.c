/* fit's results about cost: each pool at its minimum and maximum number of nodes. */
#include "render/fit/fit.h"
#include "base/money.h"
#include "render/text/paint.h"

/* "3", "3 to 11" */
static char *span(char *least, char *most)
{
	char *text = g_str_equal(least, most) ? g_strdup(most)
					      : g_strdup_printf("%s to %s", least, most);
	g_free(least);
	g_free(most);
	return text;
}

static char *number_of(const json_t *side)
{
	return g_strdup_printf("%" G_GINT64_FORMAT, rg_json_int(side, "nodes", 0));
}

/* ">= $1.05": without the nodes whose price is unknown; "unknown": that of all. */
static char *money_of(const json_t *side, int64_t hours)
{
	int64_t microusd = rg_json_int(side, "microusd_hour", 0);
	bool unpriced = rg_json_int(side, "unpriced", 0) > 0;
	g_autofree char *money = rg_money_format(microusd * hours);
	return unpriced && microusd == 0 ? g_strdup("unknown")
					 : g_strconcat(unpriced ? ">= " : "", money, NULL);
}

static char *carbon_of(const json_t *side)
{
	return g_strdup_printf("%s%.3f", rg_json_int(side, "uncounted", 0) > 0 ? ">= " : "",
		(double)rg_json_int(side, "carbon_mg_hour", 0) / 1e6);
}

/* The marks are those of the maximum, which is last in each cell. */
static void range_add_row(GPtrArray *rows, const char *name, const json_t *range,
	RgPriceMarks *seen, const char *today)
{
	const json_t *least = json_object_get(range, "least");
	const json_t *most = json_object_get(range, "most");
	g_autofree char *nodes = span(number_of(least), number_of(most));
	const char *marks =
		rg_price_mark(seen, rg_json_int(range, "derived", 0) > 0 ? "derived" : NULL,
			rg_json_str(range, "oldest_price_date", NULL), today);
	g_autofree char *hours = span(money_of(least, 1), money_of(most, 1));
	g_autofree char *months =
		span(money_of(least, RG_MONTH_HOURS), money_of(most, RG_MONTH_HOURS));
	g_autofree char *hour = g_strconcat(hours, marks, NULL);
	g_autofree char *month = g_strconcat(months, marks, NULL);
	g_autofree char *carbon = span(carbon_of(least), carbon_of(most));
	table_add(rows, name, nodes, hour, month, carbon, NULL);
}

/* Of all nodes neither price nor carbon is known. */
static bool knows_nothing(const json_t *cost)
{
	const json_t *most = json_object_get(cost, "most");
	int64_t nodes = rg_json_int(most, "nodes", 0);
	return nodes > 0 && rg_json_int(most, "unpriced", 0) == nodes &&
	       rg_json_int(most, "uncounted", 0) == nodes;
}

void rg_render_fit_cost_into(GString *text, const json_t *cost, const RgStyle *style)
{
	if (knows_nothing(cost)) {
		wrapf(text, style, "",
			"No price of any node is known; `catalog` of raygpu.yaml can "
			"give them (raygpu-spec(5)).");
		return;
	}
	g_autoptr(GPtrArray) rows = table_new("POOL,NODES,PER HOUR,PER MONTH,kgCO2e/h");
	const char *date = rg_json_str(cost, "price_date", NULL);
	RgPriceMarks seen = {0};
	rg_json_foreach (pool, json_object_get(cost, "pools"))
		range_add_row(rows, rg_json_str(pool, "pool", "?"), pool, &seen, style->today);
	range_add_row(rows, "total", cost, &seen, style->today);
	paint_rows(text, rows, style);
	add_price_legend(text, &seen, style);
	const char *oldest = rg_json_str(cost, "oldest_price_date", date);
	bool spans = date && !g_str_equal(oldest, date);
	wrapf(text, style, "", "All nodes new, at today's prices%s%s%s%s%s; a month has %d hours.",
		date ? " (of " : "", spans ? oldest : "", spans ? " to " : "", date ? date : "",
		date ? ")" : "", RG_MONTH_HOURS);
	const json_t *most = json_object_get(cost, "most");
	if (rg_json_int(most, "unpriced", 0) > 0 && rg_json_int(most, "microusd_hour", 0) > 0)
		wrapf(text, style, "", ">= excludes nodes of unknown price.");
}

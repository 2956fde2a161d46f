#include "render/paint.h"
#include "base/money.h"

/* The table of pools under a plan; GPUs as Ray will see them; the cost. */

#define MONTH_HOURS 730 /* as the clouds' own calculators have it */
#define COLUMNS 5

static char *arrow(unsigned before, unsigned after)
{
	return before == after ? g_strdup_printf("%u", after)
			       : g_strdup_printf("%u -> %u", before, after);
}

static char *money_arrow(int64_t before, int64_t after)
{
	g_autofree char *from = rg_money_format(before), *to = rg_money_format(after);
	return before == after ? g_steal_pointer(&to) : g_strdup_printf("%s -> %s", from, to);
}

static GStrv pool_row(const RgPlanPool *pool)
{
	GStrv row = g_new0(char *, COLUMNS + 1);
	g_autofree char *gpus = arrow(pool->gpus_before, pool->gpus_after);
	g_autofree char *cost = money_arrow(pool->microusd_hour_before, pool->microusd_hour_after);
	row[0] = clean(pool->pool);
	row[1] = clean(pool->instance_type ? pool->instance_type : "?");
	row[2] = arrow(pool->nodes_before, pool->nodes_after);
	g_autofree char *labelled =
		pool->accelerator ? g_strdup_printf("%s %s", pool->accelerator, gpus) : NULL;
	row[3] = labelled ? clean(labelled) : g_strdup("-");
	row[4] = pool->unpriced_after
			 ? g_strdup_printf("%s + %u unpriced", cost, pool->unpriced_after)
			 : g_steal_pointer(&cost);
	return row;
}

static void row_free(gpointer row)
{
	g_strfreev(row);
}

static GPtrArray *table_of(const RgPlan *plan)
{
	GPtrArray *rows = g_ptr_array_new_with_free_func(row_free);
	g_ptr_array_add(rows, g_strsplit("POOL,TYPE,NODES,GPUS,PER HOUR", ",", -1));
	for (guint i = 0; i < plan->pools->len; i++)
		g_ptr_array_add(rows, pool_row(plan->pools->pdata[i]));
	return rows;
}

static void add_table(GString *text, const RgPlan *plan, const RgStyle *style)
{
	g_autoptr(GPtrArray) rows = table_of(plan);
	unsigned widths[COLUMNS] = {0};
	for (guint i = 0; i < rows->len; i++) {
		for (guint c = 0; c < COLUMNS; c++)
			widths[c] = MAX(widths[c], columns_of(((GStrv)rows->pdata[i])[c]));
	}
	for (guint i = 0; i < rows->len; i++) {
		GStrv row = rows->pdata[i];
		g_autoptr(GString) line = g_string_new("  ");
		for (guint c = 0; c + 1 < COLUMNS; c++)
			g_string_append_printf(line, "%s%*s", row[c],
				(int)(widths[c] - columns_of(row[c])) + 2, "");
		g_string_append(line, row[COLUMNS - 1]);
		paint(text, i ? &(RgStyle){0} : style, BOLD, line->str);
		g_string_append_c(text, '\n');
	}
}

static void add_ray(GString *text, const RgPlan *plan, const RgStyle *style)
{
	g_autoptr(GString) line = g_string_new(NULL);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < plan->pools->len; i++) {
		char *name = ((RgPlanPool *)plan->pools->pdata[i])->accelerator;
		unsigned before = 0, after = 0;
		if (!name || !g_hash_table_add(seen, name))
			continue;
		for (guint k = i; k < plan->pools->len; k++) {
			const RgPlanPool *pool = plan->pools->pdata[k];
			before += g_strcmp0(pool->accelerator, name) == 0 ? pool->gpus_before : 0;
			after += g_strcmp0(pool->accelerator, name) == 0 ? pool->gpus_after : 0;
		}
		g_autofree char *text_of = arrow(before, after);
		g_string_append_printf(line, "%s%s %s", line->len ? ", " : "", name, text_of);
	}
	if (line->len)
		wrapf(text, style, "", "GPUs that Ray will see: %s", line->str);
}

static void add_cost(GString *text, const RgPlan *plan, const RgStyle *style)
{
	int64_t before = 0, after = 0;
	unsigned unpriced = 0;
	for (guint i = 0; i < plan->pools->len; i++) {
		const RgPlanPool *pool = plan->pools->pdata[i];
		before += pool->microusd_hour_before;
		after += pool->microusd_hour_after;
		unpriced += pool->unpriced_after;
	}
	g_autofree char *hour = money_arrow(before, after);
	g_autofree char *month = rg_money_format(after * MONTH_HOURS);
	g_string_append_printf(text, "Cost: %s per hour on demand", hour);
	if (plan->catalog_date)
		g_string_append_printf(text, " (prices of %s)", plan->catalog_date);
	g_string_append_printf(text, "\n      %s%s per month of %d hours\n",
		unpriced ? "at least " : "", month, MONTH_HOURS);
	if (unpriced)
		wrapf(text, style, "      ", "%u node%s without a known price not counted",
			unpriced, unpriced == 1 ? "" : "s");
}

void add_pools(GString *text, const RgPlan *plan, const RgStyle *style)
{
	if (!plan->pools->len)
		return;
	add_table(text, plan, style);
	g_string_append_c(text, '\n');
	add_ray(text, plan, style);
	add_cost(text, plan, style);
}

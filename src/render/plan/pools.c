#include "render/text/paint.h"
#include "base/money.h"
#include <string.h>

/* The table of pools under a plan; GPUs as Ray will see them; the cost. */

#define COLUMNS 6

char *count_change(unsigned before, unsigned after)
{
	return before == after ? g_strdup_printf("%u", after)
			       : g_strdup_printf("%u -> %u", before, after);
}

/* "3", or "3 of 2-8" if Ray changes it between 2 and 8. */
static char *count_text(const RgPlanSide *side)
{
	return rg_plan_is_range(side) ? g_strdup_printf("%u of %u-%u", side->now.nodes,
						side->least.nodes, side->most.nodes)
				      : g_strdup_printf("%u", side->now.nodes);
}

char *nodes_change(const RgPlanPool *pool)
{
	g_autofree char *before = count_text(&pool->before), *after = count_text(&pool->after);
	const char *why = pool->disabled	  ? " (disabled)"
			  : pool->forgotten.nodes ? " (forgotten)"
						  : "";
	return g_str_equal(before, after) ? g_strconcat(after, why, NULL)
					  : g_strdup_printf("%s -> %s%s", before, after, why);
}

char *word_change(const char *before, const char *after)
{
	g_autofree char *both = before ? g_strdup_printf("%s -> %s", before, after) : NULL;
	return clean(both ? both : after ? after : "?");
}

bool rg_sums_lack_prices(const RgPlanSum *before, const RgPlanSum *after)
{
	return before->nodes + after->nodes > 0 && before->unpriced == before->nodes &&
	       after->unpriced == after->nodes;
}

char *pool_cost(const RgPlanPool *pool, RgPriceMarks *seen, const char *today)
{
	const RgPlanSum *before = &pool->before.now, *after = &pool->after.now;
	bool priced = before->microusd_hour > 0 || after->microusd_hour > 0;
	const char *marks =
		priced ? rg_price_mark(seen, pool->price_quality, pool->price_date, today) : "";
	bool ends = after->microusd_hour == 0;
	g_autofree char *from = rg_money_format(before->microusd_hour),
			*to = rg_money_format(after->microusd_hour);
	g_autofree char *cost = before->microusd_hour == after->microusd_hour
					? g_strconcat(to, marks, NULL)
					: g_strdup_printf("%s%s -> %s%s", from, ends ? marks : "",
						  to, ends ? "" : marks);
	if (rg_sums_lack_prices(before, after))
		return g_strdup_printf("%u unpriced", MAX(before->unpriced, after->unpriced));
	if (!priced && pool->after.most.unpriced) /* an elastic pool that is empty now */
		return g_strdup_printf("up to %u unpriced", pool->after.most.unpriced);
	return after->unpriced ? g_strdup_printf("%s + %u unpriced", cost, after->unpriced)
			       : g_steal_pointer(&cost);
}

static GStrv pool_row(const RgPlanPool *pool, RgPriceMarks *seen, const char *today)
{
	GStrv row = g_new0(char *, COLUMNS + 1);
	unsigned n = 0;
	const RgPlanSum *before = &pool->before.now, *after = &pool->after.now;
	g_autofree char *gpus = count_change(before->gpus, after->gpus);
	row[n++] = clean(pool->pool);
	row[n++] = word_change(pool->instance_type_before, pool->instance_type);
	row[n++] = word_change(pool->market_before, pool->market);
	row[n++] = nodes_change(pool);
	g_autofree char *labelled =
		pool->accelerator ? g_strdup_printf("%s %s", pool->accelerator, gpus) : NULL;
	row[n++] = labelled ? clean(labelled) : g_strdup("-");
	row[n] = pool_cost(pool, seen, today);
	return row;
}

static void add_ray(GString *text, const RgPlan *plan, const RgStyle *style)
{
	g_autoptr(GString) line = g_string_new(NULL);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	for (guint i = 0; i < plan->pools->len; i++) {
		char *name = ((RgPlanPool *)plan->pools->pdata[i])->accelerator;
		unsigned before = 0, after = 0, forgotten = 0;
		if (!name || !g_hash_table_add(seen, name))
			continue;
		for (guint k = i; k < plan->pools->len; k++) {
			const RgPlanPool *pool = plan->pools->pdata[k];
			bool same = g_strcmp0(pool->accelerator, name) == 0;
			before += same ? pool->before.now.gpus : 0;
			after += same ? pool->after.now.gpus : 0;
			forgotten += same ? pool->forgotten.gpus : 0;
		}
		g_autofree char *text_of = count_change(before, after + forgotten);
		g_string_append_printf(line, "%s%s %s", line->len ? ", " : "", name, text_of);
		if (forgotten)
			g_string_append_printf(line, " (%u no longer managed)", forgotten);
	}
	if (line->len)
		wrapf(text, style, "", "GPUs that Ray will see: %s", line->str);
}

static unsigned made_in(const RgPlan *plan, const char *pool)
{
	unsigned made = 0;
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		bool makes =
			change->action == RG_ACTION_CREATE || change->action == RG_ACTION_REPLACE;
		if (!makes)
			continue;
		rg_json_foreach (entry, change->nodes) {
			bool same = g_str_equal(rg_json_str(entry, "pool", ""), pool);
			made += same ? (unsigned)rg_json_int(entry, "count", 0) : 0;
		}
		made += !change->nodes && change->index >= 0 && g_strcmp0(change->group, pool) == 0;
	}
	return made;
}

static void add_gangs(GString *text, const RgPlan *plan, const RgStyle *style)
{
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools) {
		unsigned made = pool->gang ? made_in(plan, pool->pool) : 0;
		if (made)
			wrapf(text, style, "",
				"Gang %s: %u new node%s, all or none; the nodes of an incomplete "
				"gang are removed again.",
				pool->pool, made, made == 1 ? "" : "s");
	}
}

static void add_rolling(GString *text, const RgPlan *plan, const RgStyle *style)
{
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools) {
		unsigned n = MAX(pool->max_unavailable, pool->max_surge);
		if (n)
			wrapf(text, style, "",
				"Pool %s is replaced %u node%s at a time%s. apply stops at the "
				"first new node that does not start.",
				pool->pool, n, n == 1 ? "" : "s",
				pool->max_surge ? ", each new node before its old one" : "");
	}
}

char *money_change(const RgPlanSum *before, const RgPlanSum *after, int64_t hours)
{
	int64_t from = before->microusd_hour * hours, to = after->microusd_hour * hours;
	g_autofree char *was = rg_money_format(from), *is = rg_money_format(to);
	g_autofree char *delta = rg_money_format(to - from);
	const char *least[] = {
		before->unpriced ? "at least " : "", after->unpriced ? "at least " : ""};
	bool same = from == to && before->unpriced == after->unpriced;
	if (same || !before->nodes)
		return g_strdup_printf(
			"%s%s%s%s", same ? "" : was, same ? "" : " -> ", least[1], is);
	if (before->unpriced || after->unpriced)
		return g_strdup_printf("%s%s -> %s%s", least[0], was, least[1], is);
	return g_strdup_printf("%s -> %s (%s%s)", was, is, to > from ? "+" : "", delta);
}

/* The markets that the money goes to: only the market's name if there is one. */
static void add_markets(GString *text, const RgPlan *plan, const RgStyle *style)
{
	g_autoptr(GString) line = g_string_new(NULL);
	bool buys_spot = false, reserves = false;
	rg_ptr_foreach (const RgPlanMarket, market, plan->markets) {
		buys_spot |= g_str_equal(market->market, "spot") && market->after.nodes > 0;
		reserves |= g_str_equal(market->market, "reserved") && market->after.nodes > 0;
		if (plan->markets->len == 1)
			break;
		g_autofree char *cost = money_change(&market->before, &market->after, 1);
		g_string_append_printf(
			line, "%s%s %s", line->len ? ", " : "", market->market, cost);
	}
	if (line->len)
		wrapf(text, style, "      ", "of it %s", line->str);
	if (buys_spot)
		wrapf(text, style, "      ", "spot prices move: counted as they were last seen");
	if (reserves)
		wrapf(text, style, "      ",
			"reserved: prepaid nodes count 0, others the on-demand price, which is "
			"billed whether they run or not");
}

/* Ray's autoscaler moves between the two without a plan. */
static void add_range(GString *text, const RgPlanSide *side, const RgStyle *style)
{
	if (!rg_plan_is_range(side))
		return;
	g_autofree char *least = rg_money_format(side->least.microusd_hour);
	g_autofree char *most = rg_money_format(side->most.microusd_hour);
	wrapf(text, style, "      ",
		"with elastic pools at their minimum %s%s per hour, at their maximum %s%s",
		side->least.unpriced ? "at least " : "", least,
		side->most.unpriced ? "at least " : "", most);
}

char *forgotten_text(const RgPlan *plan)
{
	RgPlanSum all = {0};
	for (guint i = 0; i < plan->pools->len; i++) {
		const RgPlanSum *sum = &((RgPlanPool *)plan->pools->pdata[i])->forgotten;
		all.nodes += sum->nodes;
		all.unpriced += sum->unpriced;
		all.microusd_hour += sum->microusd_hour;
	}
	if (!all.nodes)
		return NULL;
	g_autofree char *money = rg_money_format(all.microusd_hour);
	g_autofree char *cost = all.unpriced == all.nodes
					? g_strdup("an unknown amount")
					: g_strconcat(all.unpriced ? "at least " : "", money, NULL);
	return g_strdup_printf("+ %s per hour for %u node%s no longer counted", cost, all.nodes,
		all.nodes == 1 ? "" : "s");
}

static void add_cost(GString *text, const RgPlan *plan, const RgStyle *style)
{
	const RgPlanSide all = rg_plan_sum(plan, NULL, true);
	const RgPlanSum before = rg_plan_sum(plan, NULL, false).now, after = all.now;
	g_autofree char *hour = money_change(&before, &after, 1);
	g_autofree char *month = money_change(&before, &after, RG_MONTH_HOURS);
	g_autofree char *forgotten = forgotten_text(plan);
	g_autofree char *dates = price_dates(plan->oldest_date, plan->catalog_date);
	if (rg_sums_lack_prices(&before, &after)) {
		wrapf(text, style, "", "Cost: no price is known for these nodes");
		return;
	}
	wrapf(text, style, "", "Cost: %s per hour", hour);
	wrapf(text, style, "      ", "%s per month of %d hours%s%s", month, RG_MONTH_HOURS,
		plan->catalog_date ? ", at prices of " : "", dates);
	if (forgotten)
		wrapf(text, style, "      ", "%s", forgotten);
	add_range(text, &all, style);
	add_markets(text, plan, style);
	if (after.unpriced)
		wrapf(text, style, "      ", "%u node%s without a known price not counted",
			after.unpriced, after.unpriced == 1 ? "" : "s");
	if (before.unpriced)
		wrapf(text, style, "      ", "before, %u node%s without a known price",
			before.unpriced, before.unpriced == 1 ? " was" : "s were");
	if (plan->override)
		wrapf(text, style, "      ", "above the budget, overridden: %s", plan->override);
}

static char *kilograms(int64_t mg)
{
	int64_t grams = (mg + 500) / 1000;
	return g_strdup_printf(
		"%" G_GINT64_FORMAT ".%03" G_GINT64_FORMAT, grams / 1000, grams % 1000);
}

char *carbon_change(const RgPlanSum *before, const RgPlanSum *after)
{
	int64_t delta = after->carbon_mg_hour - before->carbon_mg_hour;
	g_autofree char *from = kilograms(before->carbon_mg_hour),
			*to = kilograms(after->carbon_mg_hour), *size = kilograms(ABS(delta));
	const char *least = after->uncounted ? "at least " : "";
	if (delta == 0)
		return g_strdup_printf("%s%s kg CO2e per hour", least, to);
	if (!before->nodes || before->uncounted || after->uncounted)
		return g_strdup_printf("%s -> %s%s kg CO2e per hour", from, least, to);
	return g_strdup_printf(
		"%s -> %s (%s%s) kg CO2e per hour", from, to, delta > 0 ? "+" : "-", size);
}

static void add_carbon(GString *text, const RgPlan *plan, const RgStyle *style)
{
	const RgPlanSum before = rg_plan_sum(plan, NULL, false).now,
			after = rg_plan_sum(plan, NULL, true).now;
	const char *region = rg_json_str(plan->carbon, "region", "?");
	const char *source = rg_json_str(plan->carbon, "source", NULL);
	if (!plan->carbon)
		return;
	if (!source) {
		wrapf(text, style, "", "Carbon: unknown, no grid figure for %s", region);
		return;
	}
	g_autofree char *change = carbon_change(&before, &after);
	g_string_append_printf(text, "Carbon: %s\n", change);
	if (style->detail == RG_DETAIL_VERBOSE)
		wrapf(text, style, "        ",
			"grid of %s %s: %s; %" G_GINT64_FORMAT " %% utilisation assumed", region,
			rg_json_str(plan->carbon, "year", "?"), source,
			rg_json_int(plan->carbon, "utilisation_percent", 0));
	if (after.uncounted)
		wrapf(text, style, "        ", "%u node%s without a figure not counted",
			after.uncounted, after.uncounted == 1 ? "" : "s");
}

static void add_count(GString *line, const RgPlan *plan, guint i, unsigned nodes)
{
	const char *pool = ((RgPlanPool *)plan->pools->pdata[i])->pool;
	if (!nodes)
		return;
	g_string_append(line, line->len ? ", " : "");
	if (i == 0) /* the head comes first */
		g_string_append(line, pool);
	else
		g_string_append_printf(line, "%u of %s", nodes, pool);
}

char *replaced_nodes(const RgPlan *plan, bool *head)
{
	GString *line = g_string_new(NULL);
	g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal); /* by pool */
	rg_ptr_foreach (const RgPlanChange, change, plan->changes) {
		if (!change->pin || change->action != RG_ACTION_REPLACE || !change->group)
			continue;
		guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, change->group));
		g_hash_table_insert(counts, change->group, GUINT_TO_POINTER(n + 1));
	}
	for (guint i = 0; i < plan->pools->len; i++) {
		const char *pool = ((RgPlanPool *)plan->pools->pdata[i])->pool;
		guint nodes = GPOINTER_TO_UINT(g_hash_table_lookup(counts, pool));
		add_count(line, plan, i, nodes);
		*head |= nodes && i == 0;
	}
	return g_string_free(line, FALSE);
}

char *destroyed_nodes(const RgPlan *plan, const char **label)
{
	GString *line = g_string_new(NULL);
	const char *removed = NULL;
	bool alike = true;
	for (guint i = 0; i < plan->pools->len; i++) {
		const RgPlanPool *pool = plan->pools->pdata[i];
		alike = alike &&
			(!pool->destroyed || !line->len || g_strcmp0(removed, pool->removed) == 0);
		removed = pool->destroyed ? pool->removed : removed;
		add_count(line, plan, i, pool->destroyed);
	}
	g_autofree char *own = alike && removed ? g_strdup(removed) : g_strdup("destroyed");
	*own = g_ascii_toupper(*own);
	*label = g_intern_string(own);
	return g_string_free(line, FALSE);
}

/* What nobody may overlook: which nodes go. */
static void add_destroyed(GString *text, const RgPlan *plan, const RgStyle *style)
{
	const char *label;
	g_autofree char *nodes = destroyed_nodes(plan, &label);
	if (!*nodes)
		return;
	paintf(text, style, RED, "%s:", label);
	g_autofree char *indent = g_strnfill(strlen(label) + 2, ' ');
	g_autoptr(GString) words = g_string_new(NULL);
	wrapf(words, style, indent, "%s", nodes);
	g_string_append(text, words->str + strlen(label) + 1);
}

#define REASONS_SHOWN 5

/* What nobody may overlook: which nodes are replaced, why, and what that ends. */
static void add_replaced(GString *text, const RgPlan *plan, const RgStyle *style)
{
	bool head = false;
	g_autofree char *nodes = replaced_nodes(plan, &head);
	if (!*nodes)
		return;
	paint(text, style, RED, "Replaced:");
	g_autoptr(GString) words = g_string_new(NULL);
	wrapf(words, style, "          ", "%s", nodes);
	g_string_append(text, words->str + strlen("Replaced:"));
	g_autoptr(GPtrArray) reasons = spec_change_lines(plan, false);
	for (guint i = 0; i < reasons->len && i < REASONS_SHOWN; i++)
		wrapf(text, style, "          ", "%s %s", i ? "and" : "because of",
			(char *)reasons->pdata[i]);
	if (reasons->len > REASONS_SHOWN)
		wrapf(text, style, "          ", "and %u more", reasons->len - REASONS_SHOWN);
	if (head)
		wrapf(text, style, "          ",
			"with the head, every running job and actor of the cluster ends");
}

void add_pools(GString *text, const RgPlan *plan, RgPriceMarks *told, const RgStyle *style)
{
	if (!plan->pools->len)
		return;
	g_autoptr(GPtrArray) rows = table_new("POOL,TYPE,MARKET,NODES,GPUS,PER HOUR");
	RgPriceMarks seen = {0};
	for (guint i = 0; i < plan->pools->len; i++)
		g_ptr_array_add(rows, pool_row(plan->pools->pdata[i], &seen, style->today));
	paint_rows(text, rows, style);
	add_new_legend(text, &seen, told, style);
	g_string_append_c(text, '\n');
	add_cost(text, plan, style);
	add_carbon(text, plan, style);
	add_ray(text, plan, style);
	add_disabled(text, plan, style);
	add_runs(text, plan, style);
	add_choices(text, plan, style);
	add_capacity(text, plan, told, style);
	add_gangs(text, plan, style);
	add_rolling(text, plan, style);
	add_destroyed(text, plan, style);
	add_replaced(text, plan, style);
	g_string_append_c(text, '\n');
}

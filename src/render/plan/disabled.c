#include "base/money.h"
#include "render/text/paint.h"

/* Pools with `enabled: false`: where that is said, and what they would cost. */

static char *money_text(const RgPlanSum *sum)
{
	g_autofree char *money = rg_money_format(sum->microusd_hour);
	return g_strdup_printf("%s%s", sum->unpriced ? "at least " : "", money);
}

static char *cost_text(const RgPlanSide *side)
{
	const RgPlanSum *least = &side->least, *most = &side->most;
	const char *plural = most->nodes == 1 ? "" : "s";
	if (most->nodes == 0)
		return g_strdup("has no nodes");
	if (most->unpriced == most->nodes)
		return g_strdup_printf(
			"has up to %u node%s without a known price", most->nodes, plural);
	g_autofree char *from = money_text(least), *to = money_text(most);
	if (least->nodes != most->nodes)
		return g_strdup_printf("has %u to %u nodes for %s to %s per hour", least->nodes,
			most->nodes, from, to);
	return g_strdup_printf("has %u node%s for %s per hour", most->nodes, plural, to);
}

char *disabled_text(const RgPlanPool *pool)
{
	g_autofree char *again =
		pool->again ? g_strdup_printf("Pool %s is enabled again, as it was: %s.",
				      pool->pool, pool->again)
			    : NULL;
	if (again)
		return clean(again);
	if (!pool->disabled)
		return NULL;
	g_autofree char *cost = cost_text(&pool->enabled);
	g_autofree char *at = pool->disabled_at.line > 0
				      ? g_strdup_printf(" (%s:%u)", pool->disabled_at.file,
						(unsigned)pool->disabled_at.line)
				      : g_strdup("");
	g_autofree char *text = g_strdup_printf("Pool %s is disabled%s; enabled, it %s%s%s.",
		pool->pool, at, cost, pool->instance_type ? ", as " : "",
		pool->instance_type ? pool->instance_type : "");
	return clean(text);
}

void add_disabled(GString *text, const RgPlan *plan, const RgStyle *style)
{
	for (guint i = 0; i < plan->pools->len; i++) {
		g_autofree char *line = disabled_text(plan->pools->pdata[i]);
		if (line)
			wrapf(text, style, "", "%s", line);
	}
}

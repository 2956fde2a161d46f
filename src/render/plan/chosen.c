#include "render/text/paint.h"
#include <string.h>

/* What new nodes run, and why a pool has its instance type, if there was a choice: the reason from
 * fit that the state keeps
 * ("cheapest of 4 offers of T4:1 in east-1"). */

bool is_choice(const char *reason)
{
	return reason && (strstr(reason, " offers of ") || strstr(reason, ", choice ") ||
				 strstr(reason, "; too few free of "));
}

/* "ray.image example/ray:1, setup_commands: 2" */
static char *runs_text(json_t *runs)
{
	g_autoptr(GString) text = g_string_new(NULL);
	rg_json_foreach_member (name, value, runs) {
		g_string_append(text, text->len ? ", " : "");
		if (json_is_string(value))
			g_string_append_printf(text, "%s %s", name, json_string_value(value));
		else
			g_string_append_printf(
				text, "%s: %" JSON_INTEGER_FORMAT, name, json_integer_value(value));
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

GPtrArray *runs_lines(const RgPlan *plan)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < plan->pools->len; i++) {
		const RgPlanPool *pool = plan->pools->pdata[i];
		bool first = pool->runs != NULL;
		for (guint k = 0; first && k < i; k++)
			first = !json_equal(
				pool->runs, ((const RgPlanPool *)plan->pools->pdata[k])->runs);
		if (!first)
			continue;
		g_autoptr(GString) names = g_string_new(NULL);
		for (guint k = i; k < plan->pools->len; k++) {
			const RgPlanPool *other = plan->pools->pdata[k];
			if (json_equal(pool->runs, other->runs))
				g_string_append_printf(
					names, "%s%s", names->len ? ", " : "", other->pool);
		}
		g_autofree char *what = runs_text(pool->runs);
		g_ptr_array_add(lines, g_strdup_printf("New nodes of %s: %s", names->str, what));
	}
	return lines;
}

void add_runs(GString *text, const RgPlan *plan, const RgStyle *style)
{
	if (style->detail == RG_DETAIL_SUMMARY)
		return;
	g_autoptr(GPtrArray) lines = runs_lines(plan);
	for (guint i = 0; i < lines->len; i++)
		wrapf(text, style, "", "%s", (const char *)lines->pdata[i]);
}

void add_choices(GString *text, const RgPlan *plan, const RgStyle *style)
{
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools) {
		bool grows = pool->after.most.nodes > pool->before.most.nodes;
		if ((grows || style->detail == RG_DETAIL_VERBOSE) && pool->after.most.nodes &&
			pool->instance_type && is_choice(pool->reason))
			wrapf(text, style, "", "Chosen for %s: %s, %s", pool->pool,
				pool->instance_type, pool->reason);
	}
}

#include "render/paint.h"
#include <string.h>

/* Why a pool has its instance type, if there was a choice: the reason from fit that the state keeps
 * ("cheapest of 4 offers of T4:1 in east-1"). */

bool is_choice(const char *reason)
{
	return reason && (strstr(reason, " offers of ") || strstr(reason, ", choice "));
}

void add_choices(GString *text, const RgPlan *plan, const RgStyle *style)
{
	for (guint i = 0; i < plan->pools->len; i++) {
		const RgPlanPool *pool = plan->pools->pdata[i];
		bool grows = pool->after.most.nodes > pool->before.most.nodes;
		if ((grows || style->detail == RG_DETAIL_VERBOSE) && pool->after.most.nodes &&
			pool->instance_type && is_choice(pool->reason))
			wrapf(text, style, "", "Chosen for %s: %s, %s", pool->pool,
				pool->instance_type, pool->reason);
	}
}

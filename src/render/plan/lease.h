/* Private to src/render: the leases of a plan. */
#pragma once
#include "render/text/paint.h"

/* One item of plan->leases, without whose it is; g_free it. */
char *lease_phrase(const json_t *lease);
/* "Leases:" and a line for each; nothing without any. */
void rg_render_leases(GString *text, const RgPlan *plan, const RgStyle *style);

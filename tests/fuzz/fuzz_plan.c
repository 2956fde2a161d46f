/* A saved plan: refused as plan.bad-file, or read and written again unchanged. */
#include "fuzz.h"
#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(RgDiags) diags = rg_diags_new();
	json_auto_t *document =
		rg_json_parse((const char *)data, size, "the plan", "plan.bad-file", diags);
	if (!document) {
		g_assert_true(rg_diags_has_errors(diags));
		return 0;
	}
	g_autoptr(RgPlan) plan = rg_plan_from_json(document, diags);
	g_assert_true((plan != NULL) != rg_diags_has_errors(diags));
	if (plan) {
		json_auto_t *again = rg_plan_to_json(plan);
		g_assert_true(json_equal(again, document));
	}
	return 0;
}

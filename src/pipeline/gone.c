/* What a plan takes for gone is looked for once more when the plan is carried out: it may have
 * waited for approval, for other clusters, or in a file, and a record that is given up for what
 * runs leaves a node that nobody knows. */
#include "pipeline/internal.h"

/* It is created again, or forgotten: rows 7, 11, 14 and 15 of decide.md. */
static bool takes_for_gone(const RgPlanChange *change)
{
	return change->row == RG_ROW_GONE || change->row == RG_ROW_GONE_MOVED ||
	       change->row == RG_ROW_GONE_LEFT ||
	       (change->row == RG_ROW_UNREAD && change->action == RG_ACTION_CREATE);
}

static bool report(const RgPlanChange *change, const RgResource *now, RgDiags *diags)
{
	bool was_unread = change->row == RG_ROW_UNREAD;
	RgDiag *diag = rg_diags_error(diags, "plan.stale",
		now->presence == RG_UNKNOWN ? "`%s` was gone when the plan was created, and now "
					      "it can't be read"
		: was_unread ? "Saved plan is stale: `%s` could not be read when it was created, "
			       "and now it can"
			     : "the plan is stale: `%s` was gone when it was created, and now it "
			       "is there",
		change->address);
	rg_diag_address(diag, change->address, NULL);
	rg_diag_hint(diag, "create a new plan");
	return false;
}

/* One that could not be read may be lost for good; one that was not there is known to be read. */
static bool is_still_gone(const RgPlanChange *change, const RgResource *now)
{
	return !now || now->presence == RG_ABSENT ||
	       (now->presence == RG_UNKNOWN && change->row == RG_ROW_UNREAD);
}

static bool is_about_gone(const RgPlan *plan)
{
	rg_ptr_foreach (const RgPlanChange, change, plan->changes)
		if (takes_for_gone(change))
			return true;
	return false;
}

bool pass_check_gone(const RgPass *pass, const RgPlan *plan, RgDiags *diags)
{
	if (!is_about_gone(plan))
		return true;
	g_autoptr(RgDiags) found = rg_diags_new();
	const RgRefreshInput input = pass_look_again(pass);
	g_autoptr(RgResourceSet) seen = rg_refresh(pass->provider, &input, found);
	bool ok = seen != NULL;
	for (guint i = 0; seen && i < plan->changes->len; i++) {
		const RgPlanChange *change = plan->changes->pdata[i];
		const RgResource *now = rg_resource_set_find(seen, change->address);
		if (takes_for_gone(change) && !is_still_gone(change, now))
			ok = report(change, now, diags);
	}
	if (!ok)
		rg_diags_take_all(diags, found);
	return ok;
}

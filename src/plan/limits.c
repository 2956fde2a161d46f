#include "base/clock.h"
#include "base/money.h"
#include "base/price.h"
#include "plan/internal.h"
#include <string.h>

/* Compares the plan's cost with the budget. A cost that grows above a limit is refused. One that is
 * already above it and does not grow is reported but allowed: a cluster that costs too much must be
 * able to shrink, and to be repaired on the way. An unknown price cannot be compared, so under a
 * budget nodes of unknown price cannot be added either. */

RgPlanLimit *rg_plan_limit_new(const RgPlanLimit *like)
{
	RgPlanLimit *limit = g_memdup2(like, sizeof *like);
	limit->pool = g_strdup(like->pool);
	return limit;
}

const char *rg_plan_limit_period(const RgPlanLimit *limit)
{
	return limit->hours == RG_MONTH_HOURS ? "month"
	       : limit->hours == RG_DAY_HOURS ? "day"
					      : "hour";
}

void rg_plan_limit_free(gpointer data)
{
	RgPlanLimit *limit = data;
	g_free(limit->pool);
	g_free(limit);
}

static void add_sum(RgPlanSum *to, const RgPlanSum *more)
{
	to->nodes += more->nodes;
	to->gpus += more->gpus;
	to->unpriced += more->unpriced;
	to->uncounted += more->uncounted;
	to->microusd_hour += more->microusd_hour;
	to->carbon_mg_hour += more->carbon_mg_hour;
}

bool rg_plan_is_range(const RgPlanSide *side)
{
	return side->least.nodes != side->most.nodes;
}

RgPlanSide rg_plan_sum(const RgPlan *plan, const char *name, bool after)
{
	RgPlanSide sum = {0};
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools) {
		if (name && !g_str_equal(pool->pool, name))
			continue;
		const RgPlanSide *side = after ? &pool->after : &pool->before;
		add_sum(&sum.now, &side->now);
		add_sum(&sum.least, &side->least);
		add_sum(&sum.most, &side->most);
	}
	return sum;
}

/* What a limit applies to: its sums in the limit's own unit of time. */
typedef struct {
	const RgPlanLimit *limit;
	RgPlanSum before, after;
	int64_t used; /* after, in the limit's unit */
	bool grows;
	const char *override;
	const char *place;
	GString *types;		/* "g6e.xlarge, p5e.48xlarge": those without a price */
	const RgPlanSum *least; /* `after` is the maximum, if a pool has a range */
	bool planned;		/* for a plan, not for `fit` */
	RgDiags *diags;
} Judged;

static int64_t in_unit(const RgPlanLimit *limit, int64_t an_hour)
{
	return an_hour * limit->hours;
}

static int64_t used_by(const RgPlanLimit *limit, const RgPlanSum *sum)
{
	return in_unit(limit, limit->gpus ? sum->gpus : sum->microusd_hour);
}

/* "cost at least $12.5", "use 192 GPU hours"; g_free. */
static char *use_text(const RgPlanLimit *limit, int64_t used, unsigned unpriced)
{
	if (limit->gpus)
		return g_strdup_printf("use %" G_GINT64_FORMAT " GPU hours", used);
	g_autofree char *money = rg_money_exact(used);
	return g_strdup_printf("cost %s$%s", unpriced > 0 ? "at least " : "", money);
}

/* For pools with a range, what they would cost at the minimum. */
static void tell_least(const Judged *judged, RgDiag *diag)
{
	g_autofree char *least = use_text(
		judged->limit, used_by(judged->limit, judged->least), judged->least->unpriced);
	if (judged->least->nodes < judged->after.nodes)
		rg_diag_detail(diag,
			"with every pool at its maximum, which Ray may reach at any time; at the "
			"minimum it would %s",
			least);
}

static const char *remedy_of(const Judged *judged, bool unknown)
{
	if (judged->planned)
		return unknown ? "give the price in `catalog` of raygpu.yaml (raygpu-spec(5)), "
				 "limit GPU hours, which need no price, or use "
				 "--override-budget REASON, which `raygpu log` keeps"
			       : "reduce the plan, raise the budget, or use --override-budget "
				 "REASON, which `raygpu log` keeps";
	if (unknown)
		return "give the price in `catalog` of raygpu.yaml (raygpu-spec(5)), or limit GPU "
		       "hours, which need no price";
	return judged->least->nodes < judged->after.nodes
		       ? "lower the max of a pool, or raise the budget"
		       : "reduce the spec, or raise the budget";
}

static RgDiag *limit_tell(const Judged *judged, const char *code, const char *summary)
{
	bool unknown = g_str_equal(code, "budget.unknown");
	bool refused = judged->grows && !judged->override;
	RgDiag *diag = refused ? rg_diags_error(judged->diags, code, "%s", summary)
			       : rg_diags_warning(judged->diags, code, "%s", summary);
	rg_diag_at(diag, judged->limit->source);
	if (refused)
		tell_least(judged, diag);
	if (!judged->planned || refused)
		rg_diag_hint(diag, "%s", remedy_of(judged, unknown));
	else if (judged->grows)
		rg_diag_detail(diag, "overridden: %s", judged->override);
	else
		rg_diag_detail(diag, "already over budget; this plan adds nothing");
	return diag;
}

static void tell_exceeded(const Judged *judged)
{
	const RgPlanLimit *limit = judged->limit;
	g_autofree char *use = use_text(limit, judged->used, judged->after.unpriced);
	g_autofree char *money = rg_money_exact(limit->most);
	g_autofree char *most = limit->gpus ? g_strdup_printf("%" G_GINT64_FORMAT, limit->most)
					    : g_strconcat("$", money, NULL);
	g_autofree char *summary = g_strdup_printf("%s%s would %s per %s%s; the budget is %s",
		limit->pool ? "pool " : "the cluster", limit->pool ? limit->pool : "", use,
		rg_plan_limit_period(limit), limit->hours == RG_MONTH_HOURS ? " of 730 hours" : "",
		most);
	limit_tell(judged, "budget.exceeded", summary);
}

static void tell_unknown(const Judged *judged)
{
	const RgPlanLimit *limit = judged->limit;
	unsigned n = judged->after.unpriced;
	g_autofree char *summary = g_strdup_printf(
		"no price is known for %s in %s (%u node%s%s%s), so the budget cannot be checked",
		judged->types->len > 0 ? judged->types->str : "what is planned", judged->place, n,
		n == 1 ? "" : "s", limit->pool ? " of pool " : "", limit->pool ? limit->pool : "");
	limit_tell(judged, "budget.unknown", summary);
}

static void add_type(GString *types, const char *type, bool is_spot)
{
	g_autofree char *name = g_strconcat(type, is_spot ? " on spot" : "", NULL);
	g_auto(GStrv) known = g_strsplit(types->str, ", ", -1);
	if (!g_strv_contains((const char *const *)known, name))
		g_string_append_printf(types, "%s%s", types->len > 0 ? ", " : "", name);
}

/* Nodes of one unknown price that become nodes of another. */
static bool unknown_changes(const RgPlan *plan, const char *name)
{
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools) {
		bool meant = !name || g_str_equal(pool->pool, name);
		if (meant && pool->after.most.unpriced > 0 &&
			(pool->instance_type_before || pool->market_before))
			return true;
	}
	return false;
}

static GString *unpriced_types(const RgPlan *plan, const char *name)
{
	GString *types = g_string_new(NULL);
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools) {
		bool meant = !name || g_str_equal(pool->pool, name);
		if (meant && pool->after.most.unpriced > 0 && pool->instance_type)
			add_type(types, pool->instance_type, g_strcmp0(pool->market, "spot") == 0);
	}
	return types;
}

static GString *unpriced_types_of_range(const GArray *pools, const char *name)
{
	GString *types = g_string_new(NULL);
	for (guint i = 0; i < pools->len; i++) {
		const RgPlanRange *pool = &g_array_index(pools, RgPlanRange, i);
		bool meant = !name || g_str_equal(pool->pool, name);
		if (meant && pool->unpriced_type)
			add_type(types, pool->unpriced_type, pool->unpriced_spot);
	}
	return types;
}

/* True: refused unless a reason is given. */
static bool judge(const Judged *judged)
{
	bool over = judged->used > judged->limit->most;
	bool unknown = !over && judged->grows && judged->after.unpriced > 0 && !judged->limit->gpus;
	if (over)
		tell_exceeded(judged);
	else if (unknown)
		tell_unknown(judged);
	return judged->grows && (over || unknown);
}

static bool cost_grows(const RgPlan *plan, const RgPlanLimit *limit, const Judged *judged)
{
	return judged->after.microusd_hour > judged->before.microusd_hour ||
	       judged->after.unpriced > judged->before.unpriced ||
	       unknown_changes(plan, limit->pool);
}

/* The oldest date of a price that is older than a year, of the pool or of all; NULL: none is. */
static const char *old_date(const RgPlan *plan, const char *name)
{
	g_autoptr(GDateTime) now = g_date_time_new_from_unix_utc(rg_clock_now_s());
	g_autofree char *today = now ? g_date_time_format(now, "%Y-%m-%d") : NULL;
	const char *oldest = NULL;
	rg_ptr_foreach (const RgPlanPool, pool, plan->pools) {
		if ((name && !g_str_equal(pool->pool, name)) || !pool->after.most.microusd_hour ||
			!*rg_price_marks(NULL, pool->price_date, today))
			continue;
		if (!oldest || strcmp(pool->price_date, oldest) < 0)
			oldest = pool->price_date;
	}
	return oldest;
}

/* A budget that is decided on old figures; once, at the first limit that is. */
static bool warn_of_old_prices(const RgPlan *plan, const RgPlanLimit *limit, RgDiags *diags)
{
	const char *date = limit->gpus ? NULL : old_date(plan, limit->pool);
	if (!date)
		return false;
	RgDiag *diag = rg_diags_warning(diags, "budget.old-prices",
		"the budget is compared with prices of %s, which are older than a year", date);
	rg_diag_at(diag, limit->source);
	rg_diag_hint(diag, "`catalog` in raygpu.yaml can have the current prices");
	return true;
}

bool rg_plan_check_budget(const RgPlan *plan, const char *override, bool *passed, RgDiags *diags)
{
	bool good = true, needed = false, told = false;
	rg_ptr_foreach (const RgPlanLimit, limit, plan->limits) {
		g_autoptr(GString) types = unpriced_types(plan, limit->pool);
		const RgPlanSide before = rg_plan_sum(plan, limit->pool, false),
				 after = rg_plan_sum(plan, limit->pool, true);
		Judged judged = {.limit = limit,
			.place = rg_place_name(plan->provider, plan->region),
			.types = types,
			.before = before.most,
			.after = after.most,
			.least = &after.least,
			.planned = true,
			.override = override,
			.diags = diags};
		judged.used = used_by(limit, &judged.after);
		judged.grows = limit->gpus ? judged.after.gpus > judged.before.gpus
					   : cost_grows(plan, limit, &judged);
		bool refused = judge(&judged);
		if (judged.grows && !told)
			told = warn_of_old_prices(plan, limit, diags);
		needed |= refused;
		good &= !refused || override;
	}
	if (passed)
		*passed = needed && override;
	return good;
}

bool rg_plan_affords(const RgPlan *plan, const char *pool, int64_t pool_more, int64_t more)
{
	for (guint i = 0; i < plan->limits->len && !plan->override; i++) {
		const RgPlanLimit *limit = plan->limits->pdata[i];
		int64_t added = limit->pool ? pool_more : more;
		if ((limit->pool && !g_str_equal(limit->pool, pool)) || added <= 0 || limit->gpus)
			continue;
		const RgPlanSide after = rg_plan_sum(plan, limit->pool, true);
		if (in_unit(limit, after.most.microusd_hour + added) > limit->most)
			return false;
	}
	return true;
}

RgPlanRange rg_plan_range_sum(const GArray *pools, const char *pool)
{
	RgPlanRange sum = {.pool = pool};
	for (guint i = 0; i < pools->len; i++) {
		const RgPlanRange *one = &g_array_index(pools, RgPlanRange, i);
		if (pool && !g_str_equal(pool, one->pool))
			continue;
		add_sum(&sum.least, &one->least);
		add_sum(&sum.most, &one->most);
	}
	return sum;
}

bool rg_plan_check_range(
	const GArray *pools, const GPtrArray *limits, const char *place, RgDiags *diags)
{
	bool good = true;
	rg_ptr_foreach (const RgPlanLimit, limit, limits) {
		RgPlanRange range = rg_plan_range_sum(pools, limit->pool);
		g_autoptr(GString) types = unpriced_types_of_range(pools, limit->pool);
		const Judged judged = {.limit = limit,
			.place = place,
			.types = types,
			.after = range.most,
			.used = used_by(limit, &range.most),
			.grows = range.most.nodes > 0,
			.least = &range.least,
			.diags = diags};
		good &= !judge(&judged);
	}
	return good;
}

#include "render/report/findings.h"
#include "base/money.h"
#include "render/text/paint.h"

/* What the overviews of several clusters count: the numbers in each plan's own summary. */

static void add_gpus(Tally *tally, const RgPlanPool *pool)
{
	tally->gpus_before += pool->before.now.gpus;
	tally->gpus_after += pool->after.now.gpus;
	if (!tally->accelerators || !pool->accelerator)
		return;
	GpuCount *count = g_hash_table_lookup(tally->accelerators, pool->accelerator);
	if (!count) {
		count = g_new0(GpuCount, 1);
		g_hash_table_insert(tally->accelerators, g_strdup(pool->accelerator), count);
	}
	count->before += pool->before.now.gpus;
	count->after += pool->after.now.gpus;
}

static void add_cost(Tally *tally, const RgPlanPool *pool)
{
	const RgPlanSum *before = &pool->before.now, *after = &pool->after.now;
	tally->microusd_hour_before += before->microusd_hour;
	tally->microusd_hour_after += after->microusd_hour;
	tally->unpriced += after->unpriced;
	/* the pool's date and quality are those of its nodes afterwards, if it has any */
	if (after->microusd_hour > 0)
		rg_price_basis_add(&tally->after, pool->price_quality, pool->price_date);
	else if (before->microusd_hour > 0)
		rg_price_basis_add(&tally->before, pool->price_quality, pool->price_date);
}

const RgPriceBasis *tally_basis(const Tally *tally)
{
	return tally->microusd_hour_after > 0 ? &tally->after : &tally->before;
}

char *tally_cost(const Tally *tally, const char *arrow, RgPriceMarks *seen, const char *today)
{
	const char *marks = rg_price_mark_sum(seen, tally_basis(tally), today);
	bool ends = tally->microusd_hour_after == 0;
	g_autofree char *before = rg_money_format(tally->microusd_hour_before),
			*after = rg_money_format(tally->microusd_hour_after);
	g_autofree char *sum = tally->microusd_hour_before == tally->microusd_hour_after
				       ? g_strconcat(after, marks, NULL)
				       : g_strconcat(before, ends ? marks : "", arrow, after,
						 ends ? "" : marks, NULL);
	if (tally->unpriced && !tally->microusd_hour_before && !tally->microusd_hour_after)
		return g_strdup_printf("%u unpriced", tally->unpriced);
	return tally->unpriced ? g_strdup_printf("%s + %u unpriced", sum, tally->unpriced)
			       : g_steal_pointer(&sum);
}

void tally_add(Tally *tally, const RgReport *report)
{
	if (report->plan) {
		tally->add += report->plan->create;
		tally->change += report->plan->update;
		tally->replace += report->plan->replace;
		tally->destroy += report->plan->remove;
		tally->import += report->plan->import;
		tally->forget += report->plan->forget + report->plan->release;
		rg_ptr_foreach (const RgPlanPool, pool, report->plan->pools) {
			add_gpus(tally, pool);
			add_cost(tally, pool);
		}
	}
	if (!report->drift)
		return;
	tally->add += drift_count(report->drift, RG_DRIFT_MISSING);
	tally->change += drift_count(report->drift, RG_DRIFT_CHANGED) +
			 drift_count(report->drift, RG_DRIFT_UNHEALTHY);
	tally->destroy += drift_count(report->drift, RG_DRIFT_UNMANAGED);
}

bool report_failed(const RgReport *report)
{
	return !report->not_run &&
	       ((!report->plan && !report->drift) || (report->plan && report->plan->errored) ||
		       (report->drift && report->drift->unread) || report_error(report));
}

const char *report_status(const RgReport *report)
{
	if (report->not_run)
		return "not run";
	if (report_failed(report))
		return "failed";
	if (report->drift)
		return report->drift->items->len ? "drift" : "no drift";
	return rg_plan_is_noop(report->plan) ? "no changes" : "changes";
}

const RgDiag *report_error(const RgReport *report)
{
	for (size_t i = 0; report->diags && i < rg_diags_count(report->diags); i++) {
		const RgDiag *diag = rg_diags_get(report->diags, i);
		if (diag->severity == RG_SEVERITY_ERROR)
			return diag;
	}
	return NULL;
}

static char *counts_of(const RgReports *reports, const Tally *all, bool something)
{
	if (g_str_equal(reports->command, "drift"))
		return something ? g_strdup_printf("%u missing, %u changed, %u unmanaged", all->add,
					   all->change, all->destroy)
				 : g_strdup("no drift");
	if (!something)
		return g_strdup("no changes");
	GString *text = g_string_new(NULL);
	if (all->import)
		g_string_append_printf(text, "%u to import, ", all->import);
	g_string_append_printf(text, "%u to add, %u to change, %u to destroy",
		all->add + all->replace, all->change, all->destroy + all->replace);
	if (all->forget)
		g_string_append_printf(text, ", %u to forget", all->forget);
	return g_string_free(text, FALSE);
}

char *reports_headline(const RgReports *reports)
{
	Tally all = {0};
	size_t failed = 0, missed = 0;
	bool something = false;
	for (size_t i = 0; i < reports->n; i++) {
		const char *status = report_status(&reports->items[i]);
		tally_add(&all, &reports->items[i]);
		failed += report_failed(&reports->items[i]);
		missed += reports->items[i].not_run;
		something =
			something || g_str_equal(status, "changes") || g_str_equal(status, "drift");
	}
	if (!reports->n)
		return g_strdup("No spec has changed.");
	something = something || all.add || all.change || all.replace || all.destroy;
	size_t sound = reports->n - failed - missed;
	g_autofree char *counts = counts_of(reports, &all, something);
	g_autoptr(GString) text = g_string_new(NULL);
	g_string_append_printf(text,
		"%s%zu cluster%s: ", reports->n > 1 && sound == reports->n ? "All " : "",
		reports->n, reports->n == 1 ? "" : "s");
	if (something || sound == reports->n)
		g_string_append(text, counts);
	else if (sound)
		g_string_append_printf(text, "%s in %zu", counts, sound);
	const char *comma = something || sound ? "; " : "";
	if (failed)
		g_string_append_printf(text, "%s%zu failed", comma, failed);
	if (missed)
		g_string_append_printf(text, "%s%zu not run", failed ? ", " : comma, missed);
	g_string_append_c(text, '.');
	return g_strdup(text->str);
}

#include "render/report/findings.h"
#include "render/text/paint.h"
#include "base/money.h"

/* The end of a report on several clusters, as text: a row per cluster, the sums, what failed. */

#define COLUMNS_MOST 8

static void add_number(GPtrArray *row, bool known, unsigned number)
{
	g_ptr_array_add(row, known ? g_strdup_printf("%u", number) : g_strdup("-"));
}

static GStrv row_of(const RgReports *reports, const char *name, const Tally *tally, bool known,
	const char *status, RgPriceMarks *seen)
{
	bool drift = g_str_equal(reports->command, "drift");
	GPtrArray *row = g_ptr_array_new();
	g_ptr_array_add(row, clean(name));
	add_number(row, known, tally->add);
	add_number(row, known, tally->change);
	if (!drift)
		add_number(row, known, tally->replace);
	add_number(row, known, tally->destroy);
	if (!drift) {
		g_ptr_array_add(row, known ? count_change(tally->gpus_before, tally->gpus_after)
					   : g_strdup("-"));
		g_ptr_array_add(row,
			known ? tally_cost(tally, " -> ", seen, reports->today) : g_strdup("-"));
	}
	g_ptr_array_add(row, g_strdup(status));
	g_ptr_array_add(row, NULL);
	return (GStrv)g_ptr_array_free(row, FALSE);
}

static void add_removed_rows(GPtrArray *rows, const RgReports *reports, RgPriceMarks *seen)
{
	for (guint i = 0; reports->removed && i < reports->removed->len; i++) {
		const RgRemoved *removed = reports->removed->pdata[i];
		const Tally tally = {.microusd_hour_before = removed->microusd_hour,
			.microusd_hour_after = removed->microusd_hour,
			.unpriced = removed->unpriced,
			.before = removed->basis,
			.after = removed->basis};
		GStrv row = row_of(reports, removed->cluster, &tally, false,
			removed->recorded ? "spec removed, runs on" : "spec removed", seen);
		if (g_strv_length(row) == COLUMNS_MOST && removed->recorded) {
			g_free(row[COLUMNS_MOST - 2]);
			row[COLUMNS_MOST - 2] = tally_cost(&tally, " -> ", seen, reports->today);
		}
		g_ptr_array_add(rows, row);
	}
}

static GPtrArray *rows_of(const RgReports *reports, RgPriceMarks *seen)
{
	GPtrArray *rows = table_new(g_str_equal(reports->command, "drift")
					    ? "CLUSTER,MISSING,CHANGED,UNMANAGED,STATUS"
					    : "CLUSTER,+,~,-/+,-,GPUS,PER HOUR,STATUS");
	Tally all = {0};
	size_t known = 0;
	for (size_t i = 0; i < reports->n; i++) {
		const RgReport *report = &reports->items[i];
		Tally tally = {0};
		tally_add(&tally, report);
		tally_add(&all, report);
		known += report->plan || report->drift;
		g_ptr_array_add(
			rows, row_of(reports, report_cluster(report), &tally,
				      report->plan || report->drift, report_status(report), seen));
	}
	if (reports->n > 1)
		g_ptr_array_add(
			rows, row_of(reports, "total", &all, known > 0,
				      known < reports->n ? "without the failed" : "", seen));
	add_removed_rows(rows, reports, seen);
	return rows;
}

static int by_name(gconstpointer a, gconstpointer b)
{
	return g_strcmp0(a, b);
}

static void add_gpus(GString *text, const RgReports *reports, const RgStyle *style)
{
	g_autoptr(GHashTable) gpus = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	Tally all = {.accelerators = gpus};
	for (size_t i = 0; i < reports->n; i++)
		tally_add(&all, &reports->items[i]);
	g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(gpus), by_name);
	g_autoptr(GString) line = g_string_new(NULL);
	for (GList *at = names; at; at = at->next) {
		const GpuCount *count = g_hash_table_lookup(gpus, at->data);
		g_autofree char *number = count_change(count->before, count->after);
		g_string_append_printf(
			line, "%s%s %s", line->len ? ", " : "", (char *)at->data, number);
	}
	if (line->len)
		wrapf(text, style, "", "GPUs of all clusters: %s", line->str);
}

char *rg_report_heading(const RgReport *report, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	g_autofree char *name = clean(report_cluster(report));
	g_autofree char *spec = clean(report->spec ? report->spec : "?");
	g_string_append_c(text, '\n');
	paintf(text, style, BOLD, "Cluster %s (%s)", name, spec);
	g_string_append(text, "\n\n");
	return text_finish(text, style);
}

char *rg_report_overview(const RgReports *reports, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	g_autofree char *headline = reports_headline(reports);
	if (reports->n || (reports->removed && reports->removed->len)) {
		RgPriceMarks seen = {0};
		g_autoptr(GPtrArray) rows = rows_of(reports, &seen);
		g_string_append_c(text, '\n');
		paint_rows(text, rows, style);
		add_price_legend(text, &seen, style);
		g_string_append_c(text, '\n');
		add_gpus(text, reports, style);
	}
	for (size_t i = 0; i < reports->n; i++) {
		const RgReport *report = &reports->items[i];
		const RgDiag *error = report_failed(report) ? report_error(report) : NULL;
		if (error)
			wrapf(text, style, "  ", "%s failed: %s [%s]", report_cluster(report),
				error->summary, error->code);
		else if (report_failed(report))
			wrapf(text, style, "  ", "%s failed", report_cluster(report));
	}
	if (reports->untouched)
		wrapf(text, style, "", "%u unchanged spec%s skipped.", reports->untouched,
			reports->untouched == 1 ? "" : "s");
	paint(text, style, BOLD, headline);
	g_string_append_c(text, '\n');
	return text_finish(text, style);
}

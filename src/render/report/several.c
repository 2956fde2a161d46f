#include "render/report/findings.h"
#include "render/text/paint.h"
#include "render/stream/stream_internal.h"

/* The JSON document on several clusters: schemas/plans.schema.json, drifts.schema.json. */

static void set_pair(json_t *to, const char *key, json_int_t before, json_int_t after)
{
	json_t *pair = json_object();
	json_object_set_new(pair, "before", json_integer(before));
	json_object_set_new(pair, "after", json_integer(after));
	json_object_set_new(to, key, pair);
}

static void set_basis(json_t *to, const RgPriceBasis *basis)
{
	if (basis->oldest)
		rg_json_set_str(to, "price_date", basis->oldest);
	if (basis->derived)
		rg_json_set_str(to, "price_quality", "derived");
}

static void set_sums(json_t *to, const Tally *tally, bool drift)
{
	json_t *counts = json_object();
	json_object_set_new(counts, drift ? "missing" : "add", json_integer(tally->add));
	json_object_set_new(counts, drift ? "changed" : "change", json_integer(tally->change));
	if (!drift)
		json_object_set_new(counts, "replace", json_integer(tally->replace));
	json_object_set_new(counts, drift ? "unmanaged" : "destroy", json_integer(tally->destroy));
	json_object_set_new(to, "counts", counts);
	if (drift)
		return;
	json_t *gpus = json_object();
	rg_hash_foreach (name, const GpuCount, count, tally->accelerators)
		set_pair(gpus, name, count->before, count->after);
	json_object_set_new(to, "gpus", gpus);
	set_pair(to, "microusd_hour", tally->microusd_hour_before, tally->microusd_hour_after);
	json_object_set_new(to, "unpriced_nodes", json_integer(tally->unpriced));
	set_basis(to, tally_basis(tally));
}

static GHashTable *accelerators_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

/* How it is with one cluster, without its plan or drift. */
static json_t *row_of(const RgReport *report, bool drift)
{
	json_t *item = json_object();
	g_autofree char *status = g_strdelimit(g_strdup(report_status(report)), " ", '-');
	g_autoptr(GHashTable) gpus = accelerators_new();
	Tally tally = {.accelerators = gpus};
	const char *name = report_cluster(report);
	rg_json_set_str(item, "cluster", g_str_equal(name, "?") ? NULL : name);
	message_set_name(item, "spec", report->spec);
	rg_json_set_str(item, "status", status);
	json_object_set_new(item, "exit_code", json_integer(report->exit_code));
	tally_add(&tally, report);
	if (report->plan || report->drift)
		set_sums(item, &tally, drift);
	return item;
}

static json_t *item_of(const RgReport *report, bool drift)
{
	json_t *item = row_of(report, drift);
	json_object_set_new(item, "diagnostics",
		report->diags ? rg_render_diags_json(report->diags) : json_array());
	json_t *document = report->drift  ? rg_render_drift_json(report->drift)
			   : report->plan ? rg_plan_to_json(report->plan)
					  : json_null();
	json_object_set_new(item, drift ? "drift" : "plan", document);
	return item;
}

static json_t *removed_json(const GPtrArray *removed)
{
	json_t *list = json_array();
	for (guint i = 0; removed && i < removed->len; i++) {
		const RgRemoved *one = removed->pdata[i];
		json_t *item = json_object();
		rg_json_set_str(item, "cluster", one->cluster);
		rg_json_set_str(item, "spec", one->spec);
		json_object_set_new(item, "recorded", json_integer(one->recorded));
		json_object_set_new(item, "microusd_hour", json_integer(one->microusd_hour));
		json_object_set_new(item, "unpriced_nodes", json_integer(one->unpriced));
		set_basis(item, &one->basis);
		json_array_append_new(list, item);
	}
	return list;
}

static json_t *totals_json(const RgReports *reports, bool drift)
{
	g_autoptr(GHashTable) gpus = accelerators_new();
	Tally all = {.accelerators = gpus};
	json_t *totals = json_object();
	for (size_t i = 0; i < reports->n; i++)
		tally_add(&all, &reports->items[i]);
	set_sums(totals, &all, drift);
	return totals;
}

static void append_name(json_t *list, const char *name)
{
	g_autofree char *valid = g_utf8_make_valid(name, -1);
	json_array_append_new(list, json_string(valid));
}

/* What is about no particular cluster. */
static void set_common(json_t *document, const RgReports *reports, bool drift)
{
	json_object_set_new(document, "totals", totals_json(reports, drift));
	json_object_set_new(document, "removed", removed_json(reports->removed));
	json_t *list = json_array();
	for (guint i = 0; reports->skipped && i < reports->skipped->len; i++)
		append_name(list, reports->skipped->pdata[i]);
	json_object_set_new(document, "skipped", list);
	json_object_set_new(document, "untouched", json_integer(reports->untouched));
}

json_t *rg_report_json(const RgReports *reports)
{
	bool drift = g_str_equal(reports->command, "drift");
	json_t *document = json_object(), *items = json_array();
	for (size_t i = 0; i < reports->n; i++)
		json_array_append_new(items, item_of(&reports->items[i], drift));
	json_object_set_new(document, "raygpu_format", json_integer(1));
	json_object_set_new(document, drift ? "drifts" : "plans", items);
	set_common(document, reports, drift);
	json_object_set_new(document, "diagnostics",
		reports->diags ? rg_render_diags_json(reports->diags) : json_array());
	json_object_set_new(document, "exit_code", json_integer(reports->exit_code));
	return document;
}

/* The counts of its report, without the rows. */
static json_t *drift_counts(const RgDrift *drift)
{
	json_t *document = rg_render_drift_json(drift);
	json_object_del(document, "drift");
	json_object_del(document, "cluster");
	json_object_del(document, "format_version");
	return document;
}

json_t *report_rows(const RgReports *reports)
{
	bool drift = g_str_equal(reports->command, "drift");
	json_t *document = json_object(), *rows = json_array();
	for (size_t i = 0; i < reports->n; i++) {
		const RgReport *report = &reports->items[i];
		json_t *row = row_of(report, drift);
		if (report->drift)
			json_object_set_new(row, "drift", drift_counts(report->drift));
		if (report->saved)
			message_set_name(row, "saved", report->saved);
		json_array_append_new(rows, row);
	}
	json_object_set_new(document, "clusters", rows);
	set_common(document, reports, drift);
	return document;
}

/* GitLab, "Terraform integration in merge requests": artifacts:reports:terraform is an object of
 * three counts. Its documentation computes it by counting the words in
 * resource_changes[].change.actions, so a replacement is one create and one delete. */
json_t *rg_report_gitlab(const RgReports *reports)
{
	Tally all = {0};
	bool drift = false;
	for (size_t i = 0; i < reports->n; i++) {
		tally_add(&all, &reports->items[i]);
		drift = drift || reports->items[i].drift;
	}
	json_t *counts = json_object();
	json_object_set_new(counts, "create", json_integer(all.add + all.replace));
	json_object_set_new(counts, "update", json_integer(all.change));
	json_object_set_new(counts, "delete", json_integer(drift ? 0 : all.destroy + all.replace));
	return counts;
}

/* fit's results as text: workloads, what stays unused, and Ray's options. */
#include "render/fit/fit.h"
#include <string.h>
#include "render/text/paint.h"

static char *number_text(const json_t *object, const char *key)
{
	return g_strdup_printf("%.6g", json_number_value(json_object_get(object, key)));
}

/* Where it was placed, else where it could be. */
static char *pools_text(const json_t *workload)
{
	const json_t *groups = json_object_get(workload, "ray");
	if (g_str_equal(rg_json_str(workload, "verdict", ""), "never"))
		return g_strdup("nowhere");
	g_autoptr(GString) names = g_string_new(NULL);
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	rg_json_foreach (group, groups) {
		const json_t *pools = json_object_get(group, "pools");
		for (size_t k = 0; k < json_array_size(pools); k++) {
			const char *name = json_string_value(json_array_get(pools, k));
			if (g_hash_table_add(seen, (gpointer)(uintptr_t)name))
				g_string_append_printf(
					names, "%s%s", names->len > 0 ? ", " : "", name);
		}
	}
	return g_strdup(names->len > 0 ? names->str : "nowhere");
}

static void add_workloads(GString *text, const json_t *fit, const RgStyle *style)
{
	g_autoptr(GPtrArray) rows = table_new("WORKLOAD,WANTED,ALONE,TOGETHER,VERDICT,RUNS ON");
	rg_json_foreach (workload, json_object_get(fit, "workloads")) {
		/* "8", "4 x 2 nodes", "8 as a gang" */
		int64_t nodes = rg_json_int(workload, "nodes", 0);
		g_autofree char *spans = nodes > 0
						 ? g_strdup_printf(" x %" G_GINT64_FORMAT " node%s",
							   nodes, nodes == 1 ? "" : "s")
						 : g_strdup("");
		g_autofree char *wanted = g_strdup_printf("%" G_GINT64_FORMAT "%s%s",
			rg_json_int(workload, "replicas", 0), spans,
			rg_json_bool(workload, "gang", false) ? ", gang" : "");
		g_autofree char *most = number_text(workload, "at_once");
		g_autofree char *least = number_text(workload, "at_once_min");
		g_autofree char *alone =
			rg_json_bool(fit, "elastic", false) && !g_str_equal(most, least)
				? g_strdup_printf("%s to %s", least, most)
				: g_steal_pointer(&most);
		g_autofree char *together = number_text(workload, "together");
		g_autofree char *pools = pools_text(workload);
		table_add(rows, rg_json_str(workload, "workload", "?"), wanted, alone, together,
			rg_json_str(workload, "verdict", "?"), pools, NULL);
	}
	paint_rows(text, rows, style);
}

/* "16 A100-40GB", "7 A100-40GB 1g.5gb", "2 T4 / 4" */
static char *gpus_text(const json_t *pool)
{
	const char *accelerator = rg_json_str(pool, "accelerator", NULL);
	const char *slice = rg_json_str(pool, "slice", NULL);
	int64_t turns = rg_json_int(pool, "time_slices", 0);
	if (!accelerator)
		return g_strdup("-");
	g_autofree char *gpus = number_text(pool, "gpus");
	g_autofree char *shared =
		turns > 0 ? g_strdup_printf(" / %" G_GINT64_FORMAT, turns) : g_strdup("");
	return g_strdup_printf(
		"%s %s%s%s%s", gpus, accelerator, slice ? " " : "", slice ? slice : "", shared);
}

static void add_pool_rows(GString *text, const json_t *fit, const RgStyle *style)
{
	g_autoptr(GPtrArray) rows = table_new("POOL,TYPE,NODES,GPUS,USED,STRANDED");
	rg_json_foreach (pool, json_object_get(fit, "pools")) {
		g_autofree char *most = number_text(pool, "nodes");
		g_autofree char *least = number_text(pool, "nodes_min");
		g_autofree char *nodes = !g_str_equal(most, least)
						 ? g_strdup_printf("%s to %s", least, most)
						 : g_strdup(most);
		g_autofree char *gpus = gpus_text(pool);
		g_autofree char *used = number_text(pool, "gpus_used");
		g_autofree char *stranded = number_text(pool, "gpus_stranded");
		bool has = !g_str_equal(gpus, "-");
		table_add(rows, rg_json_str(pool, "pool", "?"),
			rg_json_str(pool, "instance_type", "?"), nodes, gpus, has ? used : "-",
			has ? stranded : "-", NULL);
	}
	paint_rows(text, rows, style);
}

static char *json_text(const json_t *value)
{
	return json_dumps(value, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
}

/* "2 x {"CPU": 1, "GPU": 8} on {"ray.io/node-group": "train"}" */
static char *bundles_text(const json_t *bundles)
{
	g_autoptr(GString) text = g_string_new(NULL);
	rg_json_foreach_at (i, bundle, bundles) {
		const json_t *selector = json_object_get(bundle, "label_selector");
		g_autofree char *resources = json_text(json_object_get(bundle, "resources"));
		g_autofree char *labels = selector ? json_text(selector) : NULL;
		g_string_append_printf(text, "%s%" G_GINT64_FORMAT " x %s%s%s", i > 0 ? ", " : "",
			rg_json_int(bundle, "count", 0), resources, labels ? " on " : "",
			labels ? labels : "");
	}
	return g_strdup(text->str);
}

static void add_entry(
	GString *text, const json_t *workload, const json_t *entry, const RgStyle *style)
{
	const json_t *group = json_object_get(entry, "placement_group");
	const char *name = rg_json_str(workload, "workload", "?");
	int64_t replicas = rg_json_int(entry, "replicas", 0);
	int64_t groups = rg_json_int(entry, "groups", 0);
	bool some = json_array_size(json_object_get(workload, "ray")) > 1;
	g_autofree char *of =
		replicas == 0 ? g_strdup(" (not placed)")
		: some	      ? g_strdup_printf(" (%" G_GINT64_FORMAT " of the replicas)", replicas)
			      : g_strdup("");
	if (!group) {
		g_autofree char *options = json_text(json_object_get(entry, "options"));
		wrapf(text, style, "  ", "%s%s: %s", name, of, options);
		return;
	}
	g_autofree char *bundles = bundles_text(json_object_get(group, "bundles"));
	g_autofree char *count =
		groups > 1 ? g_strdup_printf("%" G_GINT64_FORMAT " placement groups", groups)
			   : g_strdup("placement group");
	wrapf(text, style, "  ", "%s%s: %s %s of %s", name, of, count,
		rg_json_str(group, "strategy", ""), bundles);
}

static void add_options(GString *text, const json_t *fit, const RgStyle *style)
{
	rg_json_foreach (workload, json_object_get(fit, "workloads")) {
		rg_json_foreach (entry, json_object_get(workload, "ray"))
			add_entry(text, workload, entry, style);
	}
}

static bool has_options(const json_t *fit)
{
	rg_json_foreach (workload, json_object_get(fit, "workloads")) {
		if (json_array_size(json_object_get(workload, "ray")) > 0)
			return true;
	}
	return false;
}

static void add_heading(GString *text, const RgStyle *style, const char *heading)
{
	g_string_append_c(text, '\n');
	paint(text, style, BOLD, heading);
	g_string_append(text, "\n");
}

static bool needs_gpus(const json_t *fit)
{
	rg_json_foreach (workload, json_object_get(fit, "workloads")) {
		if (json_number_value(json_object_get(workload, "gpus")) > 0)
			return true;
	}
	return false;
}

/* How the sentence about used GPUs ends. */
static char *stranded_text(const json_t *fit)
{
	const json_t *gpus = json_object_get(fit, "gpus");
	if (json_number_value(json_object_get(gpus, "stranded")) <= 0)
		return g_strdup(".");
	g_autofree char *stranded = number_text(gpus, "stranded");
	return g_strdup_printf(" and %s stranded (fragmentation %.1f %%): free, but on nodes where "
			       "no workload fits any more.",
		stranded, 100 * json_number_value(json_object_get(fit, "fragmentation")));
}

/* What it depends on whether Ray starts all of it. */
static void add_start(GString *text, const json_t *fit, const RgStyle *style)
{
	const char *start = rg_json_str(fit, "start", "");
	g_autoptr(GString) order = g_string_new(NULL);
	rg_json_foreach_at (i, name, json_object_get(fit, "start_order"))
		g_string_append_printf(order, "%s%s", i > 0 ? ", " : "", json_string_value(name));
	if (g_str_equal(start, "in_order"))
		wrapf(text, style, "",
			"Ray places what it is given one by one and moves nothing later: start the "
			"workloads in this order, each when the one before it runs: %s.",
			order->str);
	else if (g_str_equal(start, "uncertain"))
		wrapf(text, style, "",
			"Ray places what it is given one by one and moves nothing later: in each "
			"order that was simulated, something waits although it has a place.");
}

void rg_render_fit_into(GString *text, const json_t *fit, const RgStyle *style)
{
	bool all = rg_json_bool(fit, "all_fit", false);
	const char *start = rg_json_str(fit, "start", "any_order");
	paintf(text, style, all && !g_str_equal(start, "uncertain") ? GREEN : YELLOW,
		"Workloads: %s",
		!all ? "not all of them fit at once; see the findings."
		: g_str_equal(start, "in_order")
			? "all of them fit at once if they start in the order below."
		: g_str_equal(start, "uncertain")
			? "all of them fit at once, but Ray's scheduler may not find how."
			: "all of them fit at once.");
	g_string_append_c(text, '\n');
	add_workloads(text, fit, style);
	g_string_append_c(text, '\n');
	add_pool_rows(text, fit, style);
	const json_t *gpus = json_object_get(fit, "gpus");
	g_autofree char *total = number_text(gpus, "total");
	g_autofree char *used = number_text(gpus, "used");
	g_autofree char *stranded = stranded_text(fit);
	if (!needs_gpus(fit))
		wrapf(text, style, "", "No workload needs a GPU; the cluster has %s.", total);
	else
		wrapf(text, style, "", "With %s placed, %s of %s GPUs are used%s",
			all ? "all workloads" : "what fits", used, total, stranded);
	if (rg_json_bool(fit, "leans_on_packing", false))
		wrapf(text, style, "",
			"Not all of this fits if Ray spreads tasks over the nodes, as its default "
			"scheduler does once a node is half used. The placement groups below keep "
			"them together.");
	add_start(text, fit, style);
	if (!rg_json_bool(fit, "exact", true))
		wrapf(text, style, "",
			"Found by a search that may miss a better placement: there are too many "
			"combinations to try all.");
}

static void add_workload_part(GString *text, const json_t *fit, const RgStyle *style)
{
	rg_render_fit_into(text, fit, style);
	size_t before = text->len;
	rg_json_foreach (workload, json_object_get(fit, "workloads")) {
		rg_json_foreach (pool, json_object_get(workload, "pools")) {
			const char *why = rg_json_str(pool, "why", NULL);
			if (why && !g_str_equal(why, "not named by pool"))
				wrapf(text, style, "  ", "%s not on %s: %s",
					rg_json_str(workload, "workload", "?"),
					rg_json_str(pool, "pool", "?"), why);
		}
	}
	if (text->len > before) {
		g_autofree char *reasons = g_strdup(text->str + before);
		g_string_truncate(text, before);
		add_heading(text, style, "Pools that cannot take a workload:");
		g_string_append(text, reasons);
	}
	if (has_options(fit)) {
		add_heading(
			text, style, "Ray's options (`--emit python` writes them as a module):");
		add_options(text, fit, style);
	}
}

char *rg_render_fit(const json_t *fit, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	const json_t *cost = json_object_get(fit, "cost");
	if (json_is_array(json_object_get(fit, "workloads")))
		add_workload_part(text, fit, style);
	if (cost) {
		if (text->len > 0)
			add_heading(text, style, "Cost:");
		rg_render_fit_cost_into(text, cost, style);
	}
	return text_finish(text, style);
}

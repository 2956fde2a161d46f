/* Why a workload can, or cannot, run on each pool, as a table. */
#include "render/fit/fit.h"
#include <string.h>
#include "render/text/paint.h"

static void add_amount(GString *text, const char *what, double amount, const char *unit)
{
	if (amount > 0)
		g_string_append_printf(
			text, "%s%.6g%s%s", text->len > 0 ? ", " : "", amount, unit, what);
}

/* "8 GPUs, 40 GB of GPU memory, 1 CPU" */
static char *needs_text(const json_t *bundle)
{
	g_autoptr(GString) text = g_string_new(NULL);
	double gpus = json_number_value(json_object_get(bundle, "gpus"));
	double cpus = json_number_value(json_object_get(bundle, "cpus"));
	add_amount(text, gpus > 1 ? "GPUs" : "GPU", gpus, " ");
	add_amount(text, "GB of GPU memory",
		json_number_value(json_object_get(bundle, "gpu_memory_gb")), " ");
	add_amount(text, "GiB of GPU memory",
		json_number_value(json_object_get(bundle, "gpu_memory_gib")), " ");
	add_amount(text, cpus > 1 ? "CPUs" : "CPU", cpus, " ");
	add_amount(text, "GiB of memory", json_number_value(json_object_get(bundle, "memory_gib")),
		" ");
	rg_json_foreach_member (name, amount, json_object_get(bundle, "resources"))
		add_amount(text, name, json_number_value(amount), " ");
	return g_strdup(text->str);
}

static void add_row(GPtrArray *rows, const json_t *row)
{
	const bool lacks = json_array_size(json_object_get(row, "lacks")) > 0;
	g_autofree char *nodes = g_strdup_printf("%" G_GINT64_FORMAT, rg_json_int(row, "nodes", 0));
	g_autofree char *room =
		g_strdup_printf("%" G_GINT64_FORMAT, rg_json_int(row, "per_node", 0));
	table_add(rows, rg_json_str(row, "pool", "?"), rg_json_str(row, "instance_type", "?"),
		nodes, lacks ? "0" : room, lacks ? "-" : rg_json_str(row, "binds", "-"), NULL);
}

/* "not on serve: needs 40 GB on one GPU; T4 has 16 GB" */
static void add_lacks(GString *text, const json_t *row, const RgStyle *style)
{
	rg_json_foreach (lack, json_object_get(row, "lacks"))
		wrapf(text, style, "  ", "not on %s: %s", rg_json_str(row, "pool", "?"),
			rg_json_str(lack, "why", "?"));
}

static bool is_of(const json_t *row, size_t bundle)
{
	return rg_json_int(row, "bundle", 0) == (int64_t)bundle;
}

/* "Each of 2 replicas of finetune needs on each of 4 nodes" */
static char *subject_text(const json_t *explained, size_t i)
{
	const json_t *bundles = json_object_get(explained, "bundles");
	const char *name = rg_json_str(explained, "workload", "?");
	int64_t replicas = rg_json_int(explained, "replicas", 1);
	int64_t nodes = rg_json_int(explained, "nodes", 0);
	g_autoptr(GString) text = g_string_new(NULL);
	if (replicas > 1)
		g_string_append_printf(text, "Each of %" G_GINT64_FORMAT " replicas of ", replicas);
	g_string_append(text, name);
	if (json_array_size(bundles) > 1)
		g_string_append_printf(text, ", bundle %zu (%" G_GINT64_FORMAT " of it)", i + 1,
			rg_json_int(json_array_get(bundles, i), "count", 1));
	if (nodes > 1)
		g_string_append_printf(text, " needs on each of %" G_GINT64_FORMAT " nodes", nodes);
	else
		g_string_append(text, " needs on one node");
	return g_strdup(text->str);
}

/* What the bundles of a group have to do with each other. */
static void add_strategy(GString *text, const json_t *explained, const RgStyle *style)
{
	const char *strategy = rg_json_str(explained, "strategy", "");
	bool packed = g_str_equal(strategy, "STRICT_PACK");
	if (json_array_size(json_object_get(explained, "bundles")) < 2 ||
		!(packed || g_str_equal(strategy, "STRICT_SPREAD")))
		return;
	g_string_append_c(text, '\n');
	wrapf(text, style, "", "%s: %s.", strategy,
		packed ? "all bundles of a replica are on one node"
		       : "each bundle of a replica is on another node");
}

char *rg_render_fit_explained(const json_t *explained, const RgStyle *style)
{
	GString *text = g_string_new(NULL);
	const json_t *bundles = json_object_get(explained, "bundles");
	rg_json_foreach_at (i, bundle, bundles) {
		g_autofree char *needs = needs_text(bundle);
		g_autofree char *subject = subject_text(explained, i);
		if (i > 0)
			g_string_append_c(text, '\n');
		wrapf(text, style, "", "%s: %s.", subject, needs);
		g_autoptr(GPtrArray) rows = table_new("POOL,TYPE,NODES,PER NODE,LIMITED BY");
		rg_json_foreach (row, json_object_get(explained, "rows")) {
			if (is_of(row, i))
				add_row(rows, row);
		}
		paint_rows(text, rows, style);
		rg_json_foreach (row, json_object_get(explained, "rows")) {
			if (is_of(row, i))
				add_lacks(text, row, style);
		}
	}
	add_strategy(text, explained, style);
	return text_finish(text, style);
}

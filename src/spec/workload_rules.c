#include <math.h>
#include <string.h>
#include "spec/check.h"
#include "spec/words.h"

#define ZONE_LABEL "ray.io/availability-zone"
/* Ray counts resources in steps of this size (its FixedPoint); smaller amounts become zero. */
#define LEAST_PART 0.0001

/* The member of a workload, NULL if it is absent or spoiled. */
static const json_t *find_good(RgDocument *document, const char *pointer, const char *key)
{
	g_autofree char *member = rg_json_pointer_add(pointer, key);
	return rg_document_is_spoiled(document, member) ? NULL
							: rg_json_at(document->value, member);
}

static RgDiag *report_member(RgDocument *document, const char *pointer, const char *key,
	RgDiags *diags, const char *what)
{
	g_autofree char *member = rg_json_pointer_add(pointer, key);
	g_autofree char *path = rg_spec_path(document, member);
	return rg_spec_report(document, member, "spec.bad-value", diags, "%s %s", path, what);
}

static void check_gpus(RgDocument *document, const char *pointer, RgDiags *diags)
{
	const json_t *value = find_good(document, pointer, "gpus");
	double gpus = json_number_value(value);
	if (!value)
		return;
	if (gpus > 1 && gpus != floor(gpus))
		rg_diag_hint(report_member(document, pointer, "gpus", diags,
				     "is neither a whole number nor below 1"),
			"Ray assigns whole GPUs, or a fraction of one");
	else if (gpus > 0 && gpus < LEAST_PART)
		report_member(document, pointer, "gpus", diags,
			"is too small: Ray counts in steps of 0.0001");
	const json_t *cpus = find_good(document, pointer, "cpus");
	if (gpus == 0 && cpus && json_number_value(cpus) == 0)
		report_member(document, pointer, "cpus", diags,
			"is 0, and so are the GPUs: the workload needs nothing");
	if (gpus == 0 && find_good(document, pointer, "gpu_memory"))
		report_member(document, pointer, "gpu_memory", diags,
			"is a requirement for GPUs, but gpus is 0");
}

/* Of `bundles`; returns whether any has GPUs. */
static bool check_bundles(RgDocument *document, const char *pointer, RgDiags *diags)
{
	g_autofree char *list = rg_json_pointer_add(pointer, "bundles");
	const json_t *bundles = find_good(document, pointer, "bundles");
	bool any = false;
	for (size_t i = 0; i < json_array_size(bundles); i++) {
		g_autofree char *at = g_strdup_printf("%s/%zu", list, i);
		if (rg_document_is_spoiled(document, at))
			continue;
		check_gpus(document, at, diags);
		any |= json_number_value(json_object_get(json_array_get(bundles, i), "gpus")) > 0;
	}
	static const char *const of_each[] = {
		"gpu_memory", "nodes", "cpus", "memory", "resources", NULL};
	for (size_t i = 0; bundles && of_each[i]; i++) {
		if (find_good(document, pointer, of_each[i]))
			rg_diag_hint(report_member(document, pointer, of_each[i], diags,
					     "cannot be given together with bundles"),
				g_str_equal(of_each[i], "nodes")
					? "`count` of a bundle says how many there are, and "
					  "`strategy: STRICT_SPREAD` puts each on another node"
					: "each bundle has its own");
	}
	return any;
}

static void check_models(RgDocument *document, const char *pointer, RgDiags *diags)
{
	static const char *const of_gpus[] = {"compute_capability", "accelerators", NULL};
	for (size_t i = 0; of_gpus[i]; i++) {
		if (find_good(document, pointer, of_gpus[i]))
			report_member(document, pointer, of_gpus[i], diags,
				"is a requirement for GPUs, but gpus is 0");
	}
}

/* What only a placement group has. */
static void check_group(RgDocument *document, const char *pointer, RgDiags *diags)
{
	const json_t *workload = rg_json_at(document->value, pointer);
	const json_t *nodes = json_object_get(workload, "nodes");
	bool group = nodes || json_object_get(workload, "bundles") ||
		     json_is_true(json_object_get(workload, "gang"));
	static const char *const of_group[] = {"strategy", "same_gpu", NULL};
	for (size_t i = 0; !group && of_group[i]; i++) {
		if (find_good(document, pointer, of_group[i]))
			rg_diag_hint(report_member(document, pointer, of_group[i], diags,
					     "has no effect: each replica is one task or actor"),
				"it is for workloads with nodes, bundles or gang");
	}
	const char *strategy = json_string_value(find_good(document, pointer, "strategy"));
	if (nodes && strategy && g_str_has_suffix(strategy, "PACK"))
		rg_diag_hint(report_member(document, pointer, "strategy", diags,
				     "contradicts nodes, which puts each bundle on another node"),
			"use `bundles: [{count: ...}]` for bundles that share nodes");
}

static void check_pool_name(
	RgDocument *document, const char *pointer, const char *name, RgDiags *diags)
{
	json_t *pools = json_object_get(document->value, "pools");
	if (!name || g_str_equal(name, "head") || json_object_get(pools, name) ||
		rg_document_is_spoiled(document, pointer))
		return;
	g_autofree char *path = rg_spec_path(document, pointer);
	g_autofree char *quoted = rg_words_quote(name);
	RgDiag *diag = rg_spec_report(document, pointer, "spec.bad-value", diags,
		"%s is %s, which is not a pool of this spec", path, quoted);
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	rg_json_foreach_member (key, pool, pools)
		g_ptr_array_add(names, (gpointer)(uintptr_t)key);
	g_ptr_array_add(names, NULL);
	const char *near = rg_nearest_word(name, (const char *const *)names->pdata);
	if (near)
		rg_diag_hint(diag, "did you mean `%s`?", near);
}

static void check_pool_names(RgDocument *document, const char *pointer, RgDiags *diags)
{
	g_autofree char *member = rg_json_pointer_add(pointer, "pool");
	const json_t *value = find_good(document, pointer, "pool");
	if (json_is_string(value))
		check_pool_name(document, member, json_string_value(value), diags);
	for (size_t i = 0; i < json_array_size(value); i++) {
		g_autofree char *at = g_strdup_printf("%s/%zu", member, i);
		check_pool_name(document, at, json_string_value(json_array_get(value, i)), diags);
	}
}

/* The cloud determines which zone a pool's nodes get, after fit has checked the workloads. */
static void check_zone_label(RgDocument *document, const char *pointer, RgDiags *diags)
{
	g_autofree char *labels = rg_json_pointer_add(pointer, "labels");
	g_autofree char *at = rg_json_pointer_add(labels, ZONE_LABEL);
	if (!rg_json_at(document->value, at) || rg_document_is_spoiled(document, at))
		return;
	g_autofree char *path = rg_spec_path(document, at);
	RgDiag *diag = rg_spec_report(document, at, "spec.reserved-label", diags,
		"%s cannot be selected by a workload", path);
	rg_diag_hint(diag, "select the pool, and set that pool's zones");
}

void rg_spec_check_workloads(RgDocument *document, RgDiags *diags)
{
	json_t *workloads = json_object_get(document->value, "workloads");
	rg_json_foreach_member (name, workload, workloads) {
		g_autofree char *pointer = rg_json_pointer_add("/workloads", name);
		if (!json_is_object(workload) || rg_document_is_spoiled(document, pointer))
			continue;
		const json_t *gpus = json_object_get(workload, "gpus");
		check_gpus(document, pointer, diags);
		bool any = check_bundles(document, pointer, diags);
		if (!any && json_number_value(gpus) == 0)
			check_models(document, pointer, diags);
		check_group(document, pointer, diags);
		check_pool_names(document, pointer, diags);
		check_zone_label(document, pointer, diags);
	}
}

double rg_spec_check_nodes(RgDocument *document, const char *pointer, RgDiags *diags)
{
	g_autofree char *at_max = rg_json_pointer_add(pointer, "max");
	g_autofree char *at_min = rg_json_pointer_add(pointer, "min");
	const json_t *nodes = rg_json_at(document->value, pointer);
	if (rg_document_is_spoiled(document, pointer) || rg_document_is_spoiled(document, at_max))
		return 0;
	if (!json_is_object(nodes))
		return json_number_value(nodes);
	double min = json_number_value(json_object_get(nodes, "min"));
	double max = json_number_value(json_object_get(nodes, "max"));
	if (min > max && json_object_get(nodes, "max") &&
		!rg_document_is_spoiled(document, at_min)) {
		g_autofree char *path = rg_spec_path(document, at_min);
		rg_spec_report(document, at_min, "spec.out-of-range", diags,
			"%s must be at most max, %.0f, not %.0f", path, max, min);
	}
	return max;
}

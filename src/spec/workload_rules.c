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
	static const char *const of_gpus[] = {
		"gpu_memory", "compute_capability", "accelerators", NULL};
	for (size_t i = 0; gpus == 0 && of_gpus[i]; i++) {
		if (find_good(document, pointer, of_gpus[i]))
			report_member(document, pointer, of_gpus[i], diags,
				"is a requirement for GPUs, but gpus is 0");
	}
}

static void check_pool_name(
	RgDocument *document, const char *pointer, const char *name, RgDiags *diags)
{
	json_t *pools = json_object_get(document->value, "pools"), *pool;
	if (!name || g_str_equal(name, "head") || json_object_get(pools, name) ||
		rg_document_is_spoiled(document, pointer))
		return;
	g_autofree char *path = rg_spec_path(document, pointer);
	g_autofree char *quoted = rg_words_quote(name);
	RgDiag *diag = rg_spec_report(document, pointer, "spec.bad-value", diags,
		"%s is %s, which is not a pool of this spec", path, quoted);
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	const char *key;
	json_object_foreach (pools, key, pool)
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
	json_t *workloads = json_object_get(document->value, "workloads"), *workload;
	const char *name;
	json_object_foreach (workloads, name, workload) {
		g_autofree char *pointer = rg_json_pointer_add("/workloads", name);
		if (!json_is_object(workload) || rg_document_is_spoiled(document, pointer))
			continue;
		check_gpus(document, pointer, diags);
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

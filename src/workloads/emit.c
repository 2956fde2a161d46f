#include "workloads/demand.h"
#include "workloads/emit_internal.h"

typedef struct {
	const RgCluster *cluster;
	const RgShapes *shapes;
	RgEmit form;
	RgDiags *diags;
} Emit;

/* ---- the report */

/* num_cpus and the other options of one task as the resources of a bundle. */
static json_t *bundle_of_options(const json_t *options)
{
	static const char *const names[][2] = {
		{"num_cpus", "CPU"}, {"num_gpus", "GPU"}, {"memory", "memory"}};
	json_t *resources = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		json_t *amount = json_object_get(options, names[i][0]);
		if (json_number_value(amount) > 0)
			json_object_set(resources, names[i][1], amount);
	}
	json_object_update(resources, json_object_get(options, "resources"));
	json_t *bundle = json_pack("{s:i, s:o}", "count", 1, "resources", resources);
	json_t *selector = json_object_get(options, "label_selector");
	if (selector)
		json_object_set(bundle, "label_selector", selector);
	return bundle;
}

/* A single task of a group that only keeps several of them on a node. */
static json_t *bundle_of_group(const json_t *group)
{
	json_t *bundle = json_copy(json_array_get(json_object_get(group, "bundles"), 0));
	json_object_set_new(bundle, "count", json_integer(1));
	json_object_del(bundle, "options");
	json_object_del(bundle, "pools");
	return bundle;
}

/* {"pools", "strategy", "bundles", "replicas", "shares"} of an entry of the report. Groups of
 * single tasks are for ray.util.placement_group alone: the libraries place their replicas one by
 * one. */
static json_t *form_of(const json_t *said, const json_t *entry)
{
	const char *strategy = rg_json_str(said, "strategy", NULL);
	const json_t *group = json_object_get(entry, "placement_group");
	json_t *bundles = NULL;
	if (strategy && group)
		bundles = json_incref(json_object_get(group, "bundles"));
	else
		bundles = json_pack(
			"[o]", group ? bundle_of_group(group)
				     : bundle_of_options(json_object_get(entry, "options")));
	return json_pack("{s:O, s:s?, s:o, s:I, s:b}", "pools", json_object_get(entry, "pools"),
		"strategy", group ? strategy : NULL, "bundles", bundles, "replicas",
		(json_int_t)rg_json_int(entry, strategy && group ? "groups" : "replicas", 0),
		"shares", group && !strategy);
}

static bool is_same(const json_t *a, const json_t *b)
{
	static const char *const keys[] = {"pools", "strategy", "bundles"};
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
		if (!json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
			return false;
	}
	return true;
}

/* Each form once, with all its replicas. */
static json_t *forms_of(const json_t *said)
{
	json_t *forms = json_array();
	rg_json_foreach (entry, json_object_get(said, "ray")) {
		json_t *form = form_of(said, entry);
		size_t k = 0;
		while (k < json_array_size(forms) && !is_same(json_array_get(forms, k), form))
			k++;
		if (k == json_array_size(forms)) {
			json_array_append_new(forms, form);
			continue;
		}
		json_t *known = json_array_get(forms, k);
		int64_t sum = rg_json_int(known, "replicas", 0) + rg_json_int(form, "replicas", 0);
		json_object_set_new(known, "replicas", json_integer(sum));
		if (rg_json_bool(form, "shares", false))
			json_object_set_new(known, "shares", json_true());
		json_decref(form);
	}
	return forms;
}

static const RgWorkload *find_workload(const RgCluster *cluster, const char *name)
{
	rg_ptr_foreach (const RgWorkload, workload, cluster->workloads)
		if (g_str_equal(workload->name, name))
			return workload;
	return NULL;
}

/* ---- which nodes */

static const char *ray_type_of(const RgShape *shape)
{
	const RgGpuModel *gpu = shape->type->gpu;
	return gpu && *gpu->ray_type ? gpu->ray_type : NULL;
}

/* Of all the pools. */
static const char *common_type(const RgShapes *shapes, const json_t *pools)
{
	const char *common = NULL;
	rg_ptr_foreach (const RgShape, shape, shapes->shapes) {
		const char *type = ray_type_of(shape);
		if (!rg_json_has_text(pools, shape->pool->name))
			continue;
		if (!type || (common && !g_str_equal(common, type)))
			return NULL;
		common = type;
	}
	return common;
}

/* Whether nodes of other pools have the same GPUs, so that their name does not choose the pools. */
static bool is_ambiguous(const Emit *emit, const RgEmitEntry *entry)
{
	if (!entry->ray_type || json_object_size(entry->workload->labels) > 0)
		return true;
	rg_ptr_foreach (const RgShape, shape, emit->shapes->shapes)
		if (!rg_json_has_text(entry->pools, shape->pool->name) &&
			g_strcmp0(ray_type_of(shape), entry->ray_type) == 0)
			return true;
	return false;
}

/* Without selectors only the name of the GPU chooses the nodes. */
static void check_selectors(const Emit *emit, const RgEmitEntry *entry)
{
	bool train = emit->form == RG_EMIT_TRAIN;
	const char *api = train ? "train" : "serve_actor";
	if (rg_emit_has(entry, api, "label_selector") || !is_ambiguous(emit, entry))
		return;
	const char *from = rg_compat_option_from(entry->compat, api, "label_selector");
	g_autofree char *hint =
		g_strdup_printf("use Ray %s or later, or give the pools different GPUs", from);
	rg_emit_complain(entry,
		g_strdup_printf(
			"Ray %s of Ray %s cannot select nodes by label: workload %s may run "
			"on other pools",
			train ? "Train" : "Serve", entry->cluster->ray.version,
			entry->workload->name),
		hint);
}

/* Ray spreads single tasks once a node is half full. */
static void check_packing(const Emit *emit, const RgEmitEntry *entry)
{
	bool train = emit->form == RG_EMIT_TRAIN;
	rg_emit_complain(entry,
		g_strdup_printf("all workloads fit only if replicas of %s share nodes, and Ray %s "
				"places each by itself",
			entry->workload->name, train ? "Train" : "Serve"),
		train ? "start the runs in the placement groups of --emit python"
		      : "set RAY_SERVE_USE_PACK_SCHEDULING_STRATEGY=1 in `env` of the head");
}

/* ---- all of it */

static json_t *emit_entry(const Emit *emit, const json_t *said, const json_t *form, bool alone)
{
	RgEmitEntry entry = {.cluster = emit->cluster,
		.compat = emit->shapes->compat,
		.workload = find_workload(emit->cluster, rg_json_str(said, "workload", "")),
		.said = said,
		.pools = json_object_get(form, "pools"),
		.strategy = rg_json_str(form, "strategy", NULL),
		.bundles = json_object_get(form, "bundles"),
		.replicas = rg_json_int(form, "replicas", 0),
		.alone = alone,
		.diags = emit->diags};
	g_return_val_if_fail(entry.workload != NULL, NULL);
	entry.each = rg_demand_is_packed(entry.workload) ? entry.workload->replicas : 1;
	if (alone || entry.replicas == 0) /* all that the spec asks for */
		entry.replicas = rg_json_int(said, "replicas", 1) / entry.each;
	entry.ray_type = common_type(emit->shapes, entry.pools);
	json_t *arguments =
		emit->form == RG_EMIT_TRAIN ? rg_emit_train(&entry) : rg_emit_serve(&entry);
	if (!arguments)
		return NULL;
	check_selectors(emit, &entry);
	if (rg_json_bool(form, "shares", false))
		check_packing(emit, &entry);
	return json_pack("{s:O, s:I, s:o}", "pools", json_object_get(form, "pools"), "replicas",
		(json_int_t)entry.replicas, "arguments", arguments);
}

json_t *rg_fit_emit(const RgCluster *cluster, const RgShapes *shapes, const json_t *report,
	RgEmit form, RgDiags *diags)
{
	const Emit emit = {cluster, shapes, form, diags};
	json_t *workloads = json_array();
	rg_json_foreach (said, json_object_get(report, "workloads")) {
		json_t *entries = json_array();
		json_auto_t *forms = forms_of(said);
		rg_json_foreach (one, forms) {
			json_t *entry = emit_entry(&emit, said, one, json_array_size(forms) == 1);
			if (entry)
				json_array_append_new(entries, entry);
		}
		json_array_append_new(
			workloads, json_pack("{s:O, s:o}", "workload",
					   json_object_get(said, "workload"), "entries", entries));
	}
	return json_pack("{s:s, s:s, s:O*, s:o}", "cluster", cluster->name, "ray",
		cluster->ray.version, "start_order", json_object_get(report, "start_order"),
		"workloads", workloads);
}
